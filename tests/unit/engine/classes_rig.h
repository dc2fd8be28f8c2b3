/* SPDX-License-Identifier: Apache-2.0 */
/* An engine whose tenant "t" has classes: setting them, writing into them, and what lies where. */
#ifndef VV_TESTS_UNIT_ENGINE_CLASSES_RIG_H
#define VV_TESTS_UNIT_ENGINE_CLASSES_RIG_H

#include "nodes_rig.h"

#include "tier/unit.h"

#define SIM VV_STR_LITERAL("t")
#define AS  VV_RETENTION_AS_IS
#define OFF VV_SPACE_OFF_NS
#define KEEP                                                                                       \
    {                                                                                              \
        AS,                                                                                        \
        {                                                                                          \
            AS, AS, AS                                                                             \
        }                                                                                          \
    }

__attribute__((unused)) static const struct vv_retentions six_hours = {6 * VV_HOUR,
                                                                       {OFF, OFF, OFF}};

static inline void prepare(struct rig *rig, struct vv_settings *settings,
                           struct vv_engine_options *options)
{
    (void)rig;
    (void)options;
    settings->journal_segment_bytes = 64 << 10;
    settings->series_cache_bytes = 1 << 20;
    settings->seal_quiet_ns = VV_SECOND;
    settings->bucket_ns = VV_HOUR;
    settings->span_ns = VV_HOUR;
}

static inline void begin(struct rig *rig)
{
    rig_init(rig, 0, false);
    rig->prepare = prepare;
    vv_engine_close(rig->engine);
    rig_open(rig);
}

static inline void crash(struct rig *rig, uint64_t seed)
{
    vv_engine_close(rig->engine);
    if (rig->fake) {
        fake_shared_fail(rig->fake, VV_OK, 0);
        fake_shared_crash(rig->fake, seed);
    } else {
        vv_store_memory_fail(rig->store, VV_OK, 0);
        vv_store_memory_crash(rig->store, seed);
    }
    vv_sim_disk_restart(rig->disk);
    vv_sim_disk_heal(rig->disk);
    rig_open(rig);
}

static inline struct vv_registry *registry_of(struct rig *rig)
{
    return vv_engine_query_context(rig->engine)->registry;
}

static inline enum vv_status try_class(struct rig *rig, const char *name, const char *measurements,
                                       const struct vv_retentions *retentions,
                                       struct vv_class_effect *effect, struct vv_error *error)
{
    struct vv_class_wish wish = {.name = vv_str_of(name),
                                 .has_measurements = measurements != NULL,
                                 .measurements = vv_str_of(measurements ? measurements : ""),
                                 .retentions = *retentions};
    return vv_engine_set_class(rig->engine, SIM, &wish, effect, error);
}

static inline void set_class(struct rig *rig, const char *name, const char *measurements,
                             const struct vv_retentions *retentions)
{
    struct vv_class_effect effect;
    struct vv_error error = {0};
    if (try_class(rig, name, measurements, retentions, &effect, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
}

static inline void set_tenant(struct rig *rig, int64_t raw, int64_t hour)
{
    const struct vv_retentions retentions = {raw, {OFF, hour, OFF}};
    assert_int_equal(vv_engine_set_retentions(rig->engine, SIM, &retentions, NULL), VV_OK);
}

static inline void step_all(struct rig *rig, enum vv_engine_task task)
{
    enum vv_status status;
    struct vv_error error = {0};
    do {
        vv_sim_clock_advance(&rig->clock, VV_SECOND);
        status = vv_engine_step(rig->engine, task, &error);
    } while (status == VV_OK);
    assert_int_equal(status, VV_DONE);
}

static inline void step(struct rig *rig, enum vv_engine_task task)
{
    assert_int_equal(vv_engine_step(rig->engine, task, NULL), VV_OK);
}

/* A line of the measurement, so old; what was refused of it. */
static inline uint64_t write_old(struct rig *rig, const char *measurement, int64_t age_ns,
                                 char detail[160])
{
    char line[128];
    struct vv_staging staging;
    struct vv_line_parser *parser;
    struct rig_outcome outcome = {.lock = PTHREAD_MUTEX_INITIALIZER,
                                  .wakes = PTHREAD_COND_INITIALIZER};
    int64_t now = rig->clock.clock.wall_ns(&rig->clock.clock);
    int size = snprintf(line, sizeof line, "%s,h=x v=1,w=2 %lld\n", measurement,
                        (long long)(now - age_ns));
    assert_int_equal(vv_engine_stage(rig->engine, SIM, &staging, NULL), VV_OK);
    assert_int_equal(vv_line_parser_create(&staging, 1, &parser), VV_OK);
    assert_int_equal(vv_line_parser_feed(parser, line, (size_t)size), VV_OK);
    assert_int_equal(vv_line_parser_finish(parser), VV_OK);
    vv_staging_decide(&staging);
    vv_line_parser_destroy(parser);
    uint64_t refused = staging.refused[VV_REASON_RETENTION];
    if (detail && refused > 0) {
        memcpy(detail, staging.refusals[0].detail, 160);
    }
    struct vv_batch *batch = vv_staging_take_batch(&staging);
    vv_staging_deinit(&staging);
    if (batch) {
        vv_engine_submit(rig->engine, batch, rig_set_outcome, &outcome);
        step(rig, VV_TASK_COMMIT);
        assert_true(outcome.known && outcome.status == VV_OK);
    }
    return refused;
}

static inline void write_now(struct rig *rig, const char *measurement)
{
    assert_int_equal(write_old(rig, measurement, 0, NULL), 0);
}

__attribute__((unused)) static struct vv_result_facts facts_read; /* of the last answer */

/* How many rows there are; -1: refused, with the message in `error`. */
static inline int ask_for(struct rig *rig, const struct vv_parameter *parameters, size_t n,
                          bool bare, struct vv_error *error)
{
    struct vv_request *request;
    struct vv_result *result = NULL;
    struct vv_query_limits limits;
    struct vv_result_facts facts;
    struct vv_buffer text = {0};
    struct vv_query_context context = *vv_engine_query_context(rig->engine);
    context.deletions = bare ? NULL : context.deletions;
    vv_engine_query_limits(rig->engine, &limits);
    assert_int_equal(vv_request_parse(VV_REQUEST_QUERY, parameters, n,
                                      rig->clock.clock.wall_ns(&rig->clock.clock), &request, error),
                     VV_OK);
    enum vv_status status =
        vv_result_open(&context, &limits, request, VV_FORMAT_CSV, &result, error);
    if (status != VV_OK) {
        return -1;
    }
    while ((status = vv_result_write(result, &text, 4096, error)) == VV_OK) {
    }
    assert_int_equal(status, VV_DONE);
    vv_result_read_facts(result, &facts);
    facts_read = facts;
    vv_result_close(result);
    vv_buffer_deinit(&text);
    return (int)facts.rows;
}

/* Of all metrics that the pattern names, of a tier of all sources together. */
static inline int ask(struct rig *rig, const char *metric, const char *tier, bool bare,
                      struct vv_error *error)
{
    const struct vv_parameter parameters[6] = {
        {VV_STR_LITERAL("tenant"), SIM},
        {VV_STR_LITERAL("metric"), vv_str_of(metric)},
        {VV_STR_LITERAL("agg"), VV_STR_LITERAL("sum")},
        {VV_STR_LITERAL("step"), VV_STR_LITERAL("1h")},
        {VV_STR_LITERAL("tier"), vv_str_of(tier ? tier : "")},
        {VV_STR_LITERAL("group_by"), VV_STR_LITERAL("all")},
    };
    return ask_for(rig, parameters, tier ? 6 : 2, bare, error);
}

static inline int count(struct rig *rig, const char *metric)
{
    struct vv_error error = {0};
    return ask(rig, metric, NULL, false, &error);
}

static inline void go_to(struct rig *rig, int64_t time)
{
    vv_sim_clock_advance(&rig->clock, time - rig->clock.clock.wall_ns(&rig->clock.clock));
}

static inline void seal(struct rig *rig)
{
    for (int i = 0; i < 3; i++) { /* older jobs first, then what is active */
        step(rig, VV_TASK_FLUSH);
    }
    step_all(rig, VV_TASK_SEAL_ALL);
}

static inline enum vv_status try_delete(struct rig *rig, const struct vv_parameter *parameters,
                                        size_t n, struct vv_deleted *deleted,
                                        struct vv_error *error)
{
    struct vv_request *request;
    int64_t now = rig->clock.clock.wall_ns(&rig->clock.clock);
    assert_int_equal(vv_request_parse(VV_REQUEST_DELETE, parameters, n, now, &request, error),
                     VV_OK);
    enum vv_status status = vv_engine_delete(rig->engine, request, deleted, error);
    vv_request_destroy(request);
    return status;
}

/* ---- what lies where ---- */

static inline uint32_t place_of(struct rig *rig, const char *class_name)
{
    uint32_t tenant;
    assert_int_equal(vv_registry_tenant(registry_of(rig), SIM, false, &tenant, NULL), VV_OK);
    return class_name ? vv_registry_class(registry_of(rig), tenant, vv_str_of(class_name)) : tenant;
}

static inline enum vv_status count_piece(void *context, const struct vv_piece *piece)
{
    (void)piece;
    *(size_t *)context += 1;
    return VV_OK;
}

/* Pieces of any measurement that a number has in the hours around `time`. */
static inline size_t pieces_at(struct rig *rig, uint32_t number, int64_t time)
{
    size_t n = 0;
    struct vv_plans plans = vv_registry_source_plans(registry_of(rig), 0);
    for (int64_t at = time - VV_HOUR; at <= time + VV_HOUR && plans.n > 0; at += VV_HOUR) {
        struct vv_bucket bucket = vv_bucket_of(plans.plans, plans.n, at);
        for (uint32_t measurement = 0; measurement < 4; measurement++) {
            const struct vv_store_read read = {.partition = {.tenant = number,
                                                             .source = 0,
                                                             .bucket_start = bucket.start,
                                                             .bucket_ns = bucket.bucket_ns,
                                                             .split = vv_split_of(&bucket, at)},
                                               .measurement = measurement,
                                               .span_from = bucket.start,
                                               .span_to = bucket.end};
            assert_int_equal(rig->store->ops->read(rig->store, &read, count_piece, &n, NULL),
                             VV_OK);
        }
    }
    return n;
}

static inline size_t units_of(struct rig *rig, uint32_t space, int64_t time)
{
    size_t n = 0;
    for (uint32_t measurement = 0; measurement < 4; measurement++) {
        struct vv_span_key key =
            vv_unit_key(VV_SPACE_HOUR, space, 0, measurement, vv_time_floor(time, VV_DAY));
        const struct vv_store_read read = {.partition = key.partition,
                                           .measurement = measurement,
                                           .span_from = key.span_start,
                                           .span_to = key.span_start + VV_DAY};
        assert_int_equal(rig->store->ops->read(rig->store, &read, count_piece, &n, NULL), VV_OK);
    }
    return n;
}

#endif
