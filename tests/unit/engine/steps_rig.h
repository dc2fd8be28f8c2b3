/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of what only tiers hold share: an engine whose points have expired, and how much its
 * tiers have. */
#ifndef TESTS_UNIT_ENGINE_STEPS_RIG_H
#define TESTS_UNIT_ENGINE_STEPS_RIG_H

#include "base/log.h"
#include "engine/engine.h"
#include "ingest/line_protocol.h"
#include "simulation/sim_clock.h"
#include "simulation/sim_disk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TENANT VV_STR_LITERAL("t")
#define DAYS   3
#define HOURS  (DAYS * 24)
#define EACH   60 /* values of a metric of a source in an hour */

static const int64_t start = 20454 * VV_DAY; /* 2026-01-01 */
static int64_t span_ns = VV_HOUR;

struct place {
    struct vv_sim_disk *disk;
    struct vv_sim_clock clock;
    struct vv_store *store;
    struct vv_engine *engine;
};

static inline void open_engine(struct place *place)
{
    struct vv_settings settings;
    struct vv_error error = {0};
    vv_settings_init(&settings);
    strcpy(settings.data, "/data");
    settings.disk_reserve_bytes = 0;
    settings.series_cache_bytes = 1 << 20;
    settings.journal_segment_bytes = 64 << 10;
    settings.seal_quiet_ns = VV_SECOND;
    settings.bucket_ns = span_ns > VV_DAY ? span_ns : VV_DAY;
    settings.span_ns = span_ns;
    struct vv_engine_options options = {.settings = &settings,
                                        .disk = vv_sim_disk_interface(place->disk),
                                        .clock = &place->clock.clock,
                                        .store = place->store,
                                        .manual = true};
    if (vv_engine_open(&options, &place->engine, &error) != VV_OK ||
        vv_engine_recover(place->engine, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
}

static inline enum vv_status step(struct place *place, enum vv_engine_task task)
{
    struct vv_error error = {0};
    return vv_engine_step(place->engine, task, &error);
}

static inline void step_all(struct place *place, enum vv_engine_task task)
{
    enum vv_status status;
    do {
        vv_sim_clock_advance(&place->clock, VV_SECOND);
        status = step(place, task);
    } while (status == VV_OK);
    assert_int_equal(status, VV_DONE);
}

static inline void seal_all(struct place *place)
{
    step_all(place, VV_TASK_SEAL_ALL);
}

static inline void sweep_all(struct place *place)
{
    step_all(place, VV_TASK_SWEEP);
}

static inline void expire(struct place *place)
{
    assert_int_equal(step(place, VV_TASK_EXPIRE), VV_OK);
}

static inline void set_retentions(struct place *place, int64_t raw_ns, int64_t minute_ns,
                                  int64_t hour_ns)
{
    struct vv_error error = {0};
    const struct vv_retentions retentions = {.raw_ns = raw_ns, .tiers_ns = {minute_ns, hour_ns, 0}};
    if (vv_engine_set_retentions(place->engine, TENANT, &retentions, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
}

static inline void crash(struct place *place, uint64_t seed)
{
    vv_engine_close(place->engine);
    vv_store_memory_crash(place->store, seed);
    vv_sim_disk_restart(place->disk);
    open_engine(place);
}

static inline void keep_status(void *context, enum vv_status status, const char *message)
{
    (void)message;
    *(enum vv_status *)context = status;
}

static inline void write_text(struct place *place, struct vv_str text)
{
    struct vv_staging staging;
    struct vv_line_parser *parser;
    enum vv_status outcome = VV_UNKNOWN;
    assert_int_equal(vv_engine_stage(place->engine, TENANT, &staging, NULL), VV_OK);
    assert_int_equal(vv_line_parser_create(&staging, 1, &parser), VV_OK);
    assert_int_equal(vv_line_parser_feed(parser, text.data, text.size), VV_OK);
    assert_int_equal(vv_line_parser_finish(parser), VV_OK);
    vv_line_parser_destroy(parser);
    vv_engine_account(place->engine, &staging);
    vv_engine_submit(place->engine, vv_staging_take_batch(&staging), keep_status, &outcome);
    vv_staging_deinit(&staging);
    assert_int_equal(step(place, VV_TASK_COMMIT), VV_OK);
    assert_int_equal(outcome, VV_OK);
}

/* Two sources and metrics, a point a minute; and a source that has 30 in each minute of an hour. */
static inline void write_all(struct place *place)
{
    struct vv_buffer text = {0};
    for (int minute = 0; minute < HOURS * 60; minute++) {
        for (int source = 0; source < 2; source++) {
            vv_buffer_format(&text, "m,h=%c v=%d,w=%d.5 %lld\n", 'a' + source, minute, minute,
                             (long long)(start + minute * VV_MINUTE));
        }
    }
    for (int point = 0; point < 60 * 30; point++) {
        vv_buffer_format(&text, "n,h=dense v=%d %lld\n", point,
                         (long long)(start + point * 2 * VV_SECOND));
    }
    write_text(place, (struct vv_str){(char *)text.data, text.size});
    vv_buffer_deinit(&text);
}

/* All tiers are built of points that are kept for ever. */
static inline void begin_whole(struct place *place)
{
    vv_log_level_set(VV_LOG_OFF);
    place->disk = vv_sim_disk_create(1);
    struct vv_disk *disk = vv_sim_disk_interface(place->disk);
    assert_int_equal(disk->ops->make_folder(disk, "/data", NULL), VV_OK);
    assert_int_equal(disk->ops->make_folder(disk, "/data/journal", NULL), VV_OK);
    vv_sim_clock_init(&place->clock, start + DAYS * VV_DAY);
    struct vv_store_options options = {.folder = "/data/store", .eras = 24};
    assert_int_equal(vv_store_memory_open(&options, &place->store, NULL), VV_OK);
    open_engine(place);
    set_retentions(place, 0, 0, 0);
    write_all(place);
    assert_int_equal(step(place, VV_TASK_FLUSH), VV_OK);
    vv_sim_clock_advance(&place->clock, 40 * VV_DAY);
    seal_all(place);
}

/* Points are gone, and minutes, unless they are kept for so long. */
static inline void begin_without_points(struct place *place, int64_t minute_ns)
{
    begin_whole(place);
    set_retentions(place, 2 * VV_DAY, minute_ns, 60 * VV_DAY);
    expire(place);
}

static inline void begin(struct place *place)
{
    begin_without_points(place, 3 * VV_DAY);
}

static inline void end(struct place *place)
{
    vv_engine_close(place->engine);
    place->store->ops->close(place->store);
    vv_sim_disk_destroy(place->disk);
}

/* ---- asking ---- */

/* How many values the steps of a tier have, of the metrics and sources that match. */
static inline uint64_t count(struct place *place, const char *tier, const char *length,
                             const char *metric, const char *tag)
{
    const struct vv_parameter parameters[] = {
        {VV_STR_LITERAL("tenant"), TENANT},
        {VV_STR_LITERAL("metric"), vv_str_of(metric)},
        {VV_STR_LITERAL("agg"), VV_STR_LITERAL("count")},
        {VV_STR_LITERAL("step"), vv_str_of(length)},
        {VV_STR_LITERAL("tier"), vv_str_of(tier)},
        {vv_str_of(tag ? "tag" : "group_by"), vv_str_of(tag ? tag : "all")},
    };
    struct vv_request *request;
    struct vv_result *result = NULL;
    struct vv_query_limits limits;
    struct vv_buffer text = {0};
    struct vv_error error = {0};
    vv_engine_query_limits(place->engine, &limits);
    enum vv_status status =
        vv_request_parse(VV_REQUEST_QUERY, parameters, 6,
                         place->clock.clock.wall_ns(&place->clock.clock), &request, &error);
    if (status == VV_OK) {
        status = vv_result_open(vv_engine_query_context(place->engine), &limits, request,
                                VV_FORMAT_CSV, &result, &error);
    }
    while (status == VV_OK) {
        status = vv_result_write(result, &text, 4096, &error);
    }
    if (status != VV_DONE) {
        fail_msg("%s", error.message);
    }
    vv_result_close(result);
    vv_buffer_u8(&text, 0);
    uint64_t sum = 0;
    for (char *line = strtok((char *)text.data, "\r\n"); line; line = strtok(NULL, "\r\n")) {
        const char *last = line[0] == '#' ? NULL : strrchr(line, ',');
        sum += last ? strtoull(last + 1, NULL, 10) : 0; /* the header counts for nothing */
    }
    vv_buffer_deinit(&text);
    return sum;
}

static inline uint64_t hours(struct place *place, const char *metric, const char *tag)
{
    return count(place, "hour", "1h", metric, tag);
}

static inline uint64_t days(struct place *place, const char *metric, const char *tag)
{
    return count(place, "day", "1d", metric, tag);
}

#endif
