/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of what only tiers hold share: an engine whose points have expired, and how much its
 * tiers have. */
#ifndef TESTS_UNIT_ENGINE_STEPS_RIG_H
#define TESTS_UNIT_ENGINE_STEPS_RIG_H

#include "place.h"

#define DAYS  3
#define HOURS (DAYS * 24)
#define EACH  60 /* values of a metric of a source in an hour */

static const int64_t start = 20454 * VV_DAY; /* 2026-01-01 */

static inline void seal_all(struct place *place)
{
    step_all(place, VV_TASK_SEAL_ALL, VV_SECOND);
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

/* All tiers are built of points that are kept for ever, when so much time has passed. */
static inline void begin_whole_after(struct place *place, int64_t passed_ns)
{
    begin_empty(place, start + DAYS * VV_DAY);
    set_retentions(place, 0, 0, 0);
    expire(place); /* which notes that tiers are whole from now on */
    write_all(place);
    flush(place);
    vv_sim_clock_advance(&place->clock, passed_ns);
    seal_all(place);
}

static inline void begin_whole(struct place *place)
{
    begin_whole_after(place, 40 * VV_DAY);
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

/* ---- replacing days ---- */

static inline enum vv_status try_replace(struct place *place, struct vv_str text,
                                         struct vv_error *error)
{
    struct vv_staging staging;
    enum vv_status status = vv_engine_stage_frozen(place->engine, TENANT, &staging, error);
    if (status != VV_OK) {
        return status;
    }
    parse_text(&staging, text);
    status = vv_engine_replace(place->engine, vv_staging_take_batch(&staging), error);
    vv_staging_deinit(&staging);
    return status;
}

/* n points of v in each hour of the day. */
static inline void fill_day(struct vv_buffer *text, const char *series, int day, int n)
{
    for (int i = 0; i < 24 * n; i++) {
        vv_buffer_format(text, "%s v=%d %lld\n", series, i,
                         (long long)(start + day * VV_DAY + i * (VV_HOUR / n)));
    }
}

static inline enum vv_status replace_day(struct place *place, const char *series, int day, int n)
{
    struct vv_buffer text = {0};
    struct vv_error error = {0};
    fill_day(&text, series, day, n);
    enum vv_status status =
        try_replace(place, (struct vv_str){(char *)text.data, text.size}, &error);
    vv_buffer_deinit(&text);
    return status;
}

/* ---- deleting ---- */

/* [from, to), from the start on, of what one parameter selects. */
static inline enum vv_status try_delete(struct place *place, const char *name, const char *value,
                                        int64_t from, int64_t to, struct vv_deleted *deleted,
                                        struct vv_error *error)
{
    char times[2][32];
    snprintf(times[0], sizeof times[0], "%lld", (long long)(start + from));
    snprintf(times[1], sizeof times[1], "%lld", (long long)(start + to));
    const struct vv_parameter parameters[] = {{VV_STR_LITERAL("tenant"), TENANT},
                                              {vv_str_of(name), vv_str_of(value)},
                                              {VV_STR_LITERAL("from"), vv_str_of(times[0])},
                                              {VV_STR_LITERAL("to"), vv_str_of(times[1])}};
    struct vv_request *request;
    enum vv_status status =
        vv_request_parse(VV_REQUEST_DELETE, parameters, 4,
                         place->clock.clock.wall_ns(&place->clock.clock), &request, error);
    if (status == VV_OK) {
        status = vv_engine_delete(place->engine, request, deleted, error);
        vv_request_destroy(request);
    }
    return status;
}

static inline void order_deletion(struct place *place, const char *name, const char *value,
                                  int64_t from, int64_t to)
{
    struct vv_error error = {0};
    struct vv_deleted deleted;
    if (try_delete(place, name, value, from, to, &deleted, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
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

static inline uint64_t minutes(struct place *place, const char *metric, const char *tag)
{
    return count(place, "minute", "1m", metric, tag);
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
