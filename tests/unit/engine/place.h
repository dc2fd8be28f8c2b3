/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of an engine that is stepped by hand share: where it lives, and what is written. */
#ifndef TESTS_UNIT_ENGINE_PLACE_H
#define TESTS_UNIT_ENGINE_PLACE_H

#include "base/log.h"
#include "ingest/line_protocol.h"
#include "simulation/sim_clock.h"
#include "simulation/sim_disk.h"
#include "start.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TENANT VV_STR_LITERAL("t")

static int64_t span_ns = VV_HOUR; /* as open_engine sets it */

struct place {
    struct vv_sim_disk *disk;
    struct vv_sim_clock clock;
    struct vv_store *store;
    struct vv_engine *engine;
};

static inline void open_engine(struct place *place)
{
    struct vv_settings settings;
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
    place->engine = start_engine(&options);
}

/* A new disk and store, and an engine that has nothing yet. */
static inline void begin_empty(struct place *place, int64_t now_ns)
{
    vv_log_level_set(VV_LOG_OFF);
    place->disk = vv_sim_disk_create(1);
    struct vv_disk *disk = vv_sim_disk_interface(place->disk);
    assert_int_equal(disk->ops->make_folder(disk, "/data", NULL), VV_OK);
    assert_int_equal(disk->ops->make_folder(disk, "/data/journal", NULL), VV_OK);
    vv_sim_clock_init(&place->clock, now_ns);
    struct vv_store_options options = {.folder = "/data/store", .eras = 24};
    assert_int_equal(vv_store_memory_open(&options, &place->store, NULL), VV_OK);
    open_engine(place);
}

static inline void end(struct place *place)
{
    vv_engine_close(place->engine);
    place->store->ops->close(place->store);
    vv_sim_disk_destroy(place->disk);
}

/* kill -9: the store has a prefix, by the seed, of what was not confirmed. */
static inline void crash(struct place *place, uint64_t seed)
{
    vv_engine_close(place->engine);
    vv_store_memory_fail(place->store, VV_OK, 0);
    vv_store_memory_crash(place->store, seed);
    vv_sim_disk_restart(place->disk);
    vv_sim_disk_heal(place->disk);
    open_engine(place);
}

static inline enum vv_status step(struct place *place, enum vv_engine_task task)
{
    struct vv_error error = {0};
    return vv_engine_step(place->engine, task, &error);
}

/* A vv_store_ops.read of a store in which all is damaged. */
static inline enum vv_status read_badly(struct vv_store *store, const struct vv_store_read *read,
                                        vv_piece_visit visit, void *context, struct vv_error *error)
{
    (void)store;
    (void)read;
    (void)visit;
    (void)context;
    return vv_error_set(error, VV_CORRUPT, "the store is damaged");
}

/* Until there is nothing left to do; before each step this much time passes. */
static inline void step_all(struct place *place, enum vv_engine_task task, int64_t ns)
{
    enum vv_status status;
    do {
        vv_sim_clock_advance(&place->clock, ns);
        status = step(place, task);
    } while (status == VV_OK);
    assert_int_equal(status, VV_DONE);
}

static inline void flush(struct place *place)
{
    assert_int_equal(step(place, VV_TASK_FLUSH), VV_OK);
}

static inline void sweep_all(struct place *place)
{
    step_all(place, VV_TASK_SWEEP, VV_SECOND);
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

static inline void keep_status(void *context, enum vv_status status, const char *message)
{
    (void)message;
    *(enum vv_status *)context = status;
}

static inline void parse_text(struct vv_staging *staging, struct vv_str text)
{
    struct vv_line_parser *parser;
    assert_int_equal(vv_line_parser_create(staging, 1, &parser), VV_OK);
    assert_int_equal(vv_line_parser_feed(parser, text.data, text.size), VV_OK);
    assert_int_equal(vv_line_parser_finish(parser), VV_OK);
    vv_staging_decide(staging);
    vv_line_parser_destroy(parser);
}

/* Lines of the tenant, which are accepted. */
static inline void write_text(struct place *place, struct vv_str text)
{
    struct vv_staging staging;
    enum vv_status outcome = VV_UNKNOWN;
    assert_int_equal(vv_engine_stage(place->engine, TENANT, &staging, NULL), VV_OK);
    parse_text(&staging, text);
    vv_engine_account(place->engine, &staging);
    vv_engine_submit(place->engine, vv_staging_take_batch(&staging), keep_status, &outcome);
    vv_staging_deinit(&staging);
    assert_int_equal(step(place, VV_TASK_COMMIT), VV_OK);
    assert_int_equal(outcome, VV_OK);
}

#endif
