/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine and queries of the test's making, in place of the real ones: outcomes, delays and
 * failures are what the test says. Ingest and the registry are real. Include it in one source file
 * of a program; it defines all of engine.h and query.h that the door calls.
 */
#ifndef VV_TEST_FAKE_ENGINE_H
#define VV_TEST_FAKE_ENGINE_H

#include "engine/engine.h"
#include "simulation/sim_memory.h"

#include <jansson.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum fake_mode {
    FAKE_NOW,   /* outcomes come before vv_engine_submit returns */
    FAKE_LATER, /* from another thread, as soon as it can */
    FAKE_HELD,  /* when the test says so */
};

struct fake_submission {
    struct vv_batch *batch;
    vv_write_done done;
    void *context;
    struct fake_submission *next;
};

/* What the engine saw. */
struct fake_seen {
    size_t batches;
    size_t batches_to_store;
    size_t batches_empty;
    uint64_t points_stored;
    size_t bytes_largest;
    uint64_t received; /* by vv_engine_account */
    uint64_t refused;
    uint64_t staged;
    size_t accounts;
    size_t queries_done;
    size_t queries_cancelled;
    size_t results_open;
    size_t result_calls;
    size_t describes;
    char last_tenant[64];
    char last_metric[64];
    char last_unit[64];
    size_t flushes;
    bool last_seal;
};

struct vv_engine {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    bool ending;
    struct vv_query_context context;
    struct vv_query_limits limits;
    /* set by the test */
    atomic_int admit;
    atomic_bool in_spite; /* ready, and there is a reason not to be */
    atomic_int mode;
    atomic_int outcome;     /* of the batches from fail_from on; VV_OK before */
    atomic_ulong fail_from; /* counted from 0 */
    atomic_bool recovering;
    atomic_bool alone; /* no other nodes */
    atomic_bool hold;  /* the thread that asks for the health, */
    atomic_bool held;  /* and it is */
    atomic_int admin_outcome;
    atomic_ulong fail_allocation; /* the k-th one of a thread's part of a request; 0: none */
    atomic_bool allocation_failed;
    uint32_t line_bytes_max;
    atomic_long frozen_before; /* rows that are older are in doubt; of each other 1000 ns frozen */
    atomic_int look_outcome;   /* of who asks that */
    bool holds_looks;          /* they wait, so many of them; under the lock */
    size_t n_looking;
    struct fake_seen seen; /* under the lock */
    struct fake_submission *first;
    struct fake_submission **last;
    size_t n_waiting;
};

static inline struct fake_seen fake_look(struct vv_engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    struct fake_seen seen = engine->seen;
    pthread_mutex_unlock(&engine->lock);
    return seen;
}

static inline void fake_finish(struct vv_engine *engine, struct fake_submission *submission)
{
    pthread_mutex_lock(&engine->lock);
    bool good = engine->seen.batches++ < atomic_load(&engine->fail_from);
    if (good) {
        engine->seen.points_stored += submission->batch->points;
    }
    pthread_cond_broadcast(&engine->changed);
    pthread_mutex_unlock(&engine->lock);
    enum vv_status status = good ? VV_OK : (enum vv_status)atomic_load(&engine->outcome);
    submission->done(submission->context, status, good ? "" : "the test says so");
    vv_batch_destroy(submission->batch);
    free(submission);
}

static inline struct fake_submission *fake_take(struct vv_engine *engine)
{
    struct fake_submission *submission = engine->first;
    if (submission) {
        engine->first = submission->next;
        engine->last = engine->first ? engine->last : &engine->first;
        engine->n_waiting--;
    }
    return submission;
}

static inline void *fake_thread(void *context)
{
    struct vv_engine *engine = context;
    pthread_mutex_lock(&engine->lock);
    while (!engine->ending) {
        bool may = atomic_load(&engine->mode) != FAKE_HELD;
        struct fake_submission *submission = may ? fake_take(engine) : NULL;
        if (!submission) {
            pthread_cond_wait(&engine->changed, &engine->lock);
            continue;
        }
        pthread_mutex_unlock(&engine->lock);
        fake_finish(engine, submission);
        pthread_mutex_lock(&engine->lock);
    }
    pthread_mutex_unlock(&engine->lock);
    return NULL;
}

static inline void fake_set_mode(struct vv_engine *engine, enum fake_mode mode)
{
    pthread_mutex_lock(&engine->lock);
    atomic_store(&engine->mode, (int)mode);
    pthread_cond_broadcast(&engine->changed);
    pthread_mutex_unlock(&engine->lock);
}

static inline void fake_wait_waiting(struct vv_engine *engine, size_t n)
{
    pthread_mutex_lock(&engine->lock);
    while (engine->n_waiting < n) {
        pthread_cond_wait(&engine->changed, &engine->lock);
    }
    pthread_mutex_unlock(&engine->lock);
}

static inline void fake_wait_accounts(struct vv_engine *engine, size_t n)
{
    pthread_mutex_lock(&engine->lock);
    while (engine->seen.accounts < n) {
        pthread_cond_wait(&engine->changed, &engine->lock);
    }
    pthread_mutex_unlock(&engine->lock);
}

static inline struct vv_engine *fake_engine_create(void)
{
    struct vv_engine *engine = vv_sim_calloc(1, sizeof *engine);
    pthread_mutex_init(&engine->lock, NULL);
    pthread_cond_init(&engine->changed, NULL);
    engine->last = &engine->first;
    engine->line_bytes_max = 262144;
    atomic_init(&engine->mode, FAKE_LATER);
    atomic_init(&engine->fail_from, (unsigned long)-1);
    struct vv_registry_options options = {
        .tenants_max = 4, .sources_max = 100000, .metrics_max = 10000, .cache_bytes = 1u << 20};
    vv_invariant(vv_registry_create(&options, &engine->context.registry) == VV_OK);
    engine->context.clock = vv_clock_system();
    vv_invariant(pthread_create(&engine->thread, NULL, fake_thread, engine) == 0);
    return engine;
}

/* Outcomes that are still held come now: after the door has stopped. */
static inline void fake_engine_destroy(struct vv_engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    engine->ending = true;
    pthread_cond_broadcast(&engine->changed);
    pthread_mutex_unlock(&engine->lock);
    pthread_join(engine->thread, NULL);
    for (struct fake_submission *left = fake_take(engine); left; left = fake_take(engine)) {
        fake_finish(engine, left);
    }
    vv_invariant(engine->seen.results_open == 0);
    vv_registry_destroy(engine->context.registry);
    pthread_cond_destroy(&engine->changed);
    pthread_mutex_destroy(&engine->lock);
    free(engine);
}

/* A part of a request begins in this thread: its k-th allocation fails if the test wants that. */
static inline void fake_arm(struct vv_engine *engine)
{
    vv_sim_memory_fail(atomic_load(&engine->fail_allocation));
}

/* It has ended. */
static inline void fake_disarm(struct vv_engine *engine)
{
    if (vv_sim_memory_failed()) {
        atomic_store(&engine->allocation_failed, true);
    }
}

/* Whether a row's span is frozen. */
static inline enum vv_status fake_look_up(void *context, struct vv_staging_frozen *asked,
                                          struct vv_error *error)
{
    struct vv_engine *engine = context;
    pthread_mutex_lock(&engine->lock);
    engine->n_looking++;
    pthread_cond_broadcast(&engine->changed);
    while (engine->holds_looks) {
        pthread_cond_wait(&engine->changed, &engine->lock);
    }
    engine->n_looking--;
    pthread_mutex_unlock(&engine->lock);
    asked->from = vv_time_floor(asked->time, 1000);
    asked->to = asked->from + 1000;
    asked->is_frozen = asked->from / 1000 % 2 != 0;
    return vv_error_set(error, (enum vv_status)atomic_load(&engine->look_outcome),
                        "the test says so");
}

static inline void fake_hold_looks(struct vv_engine *engine, bool hold)
{
    pthread_mutex_lock(&engine->lock);
    engine->holds_looks = hold;
    pthread_cond_broadcast(&engine->changed);
    pthread_mutex_unlock(&engine->lock);
}

static inline void fake_wait_looking(struct vv_engine *engine, size_t n)
{
    pthread_mutex_lock(&engine->lock);
    while (engine->n_looking < n) {
        pthread_cond_wait(&engine->changed, &engine->lock);
    }
    pthread_mutex_unlock(&engine->lock);
}

/* ---- engine.h ---- */

enum vv_status vv_engine_admit(struct vv_engine *engine, struct vv_error *error)
{
    fake_arm(engine); /* until the account, in the same thread */
    return vv_error_set(error, (enum vv_status)atomic_load(&engine->admit), "the test says so");
}

enum vv_status vv_engine_stage(struct vv_engine *engine, struct vv_str tenant,
                               struct vv_staging *staging_out, struct vv_error *error)
{
    struct vv_staging_options options = {.registry = engine->context.registry,
                                         .now_ns = INT64_C(1700000000) * VV_SECOND,
                                         .future_ns_max = 10 * VV_MINUTE,
                                         .fields_max = 1000,
                                         .line_bytes_max = engine->line_bytes_max,
                                         .frozen_before = atomic_load(&engine->frozen_before),
                                         .look = fake_look_up,
                                         .look_context = engine};
    options.look = options.frozen_before == 0 ? NULL : options.look;
    enum vv_status status =
        vv_registry_tenant(engine->context.registry, tenant, true, &options.tenant, error);
    return status == VV_OK ? vv_staging_init(staging_out, &options) : status;
}

void vv_engine_submit(struct vv_engine *engine, struct vv_batch *take_batch, vv_write_done done,
                      void *context)
{
    struct fake_submission *submission = vv_sim_calloc(1, sizeof *submission);
    *submission = (struct fake_submission){.batch = take_batch, .done = done, .context = context};
    pthread_mutex_lock(&engine->lock);
    if (take_batch->bytes > engine->seen.bytes_largest) {
        engine->seen.bytes_largest = take_batch->bytes;
    }
    bool now = atomic_load(&engine->mode) == FAKE_NOW;
    if (!now) {
        *engine->last = submission;
        engine->last = &submission->next;
        engine->n_waiting++;
        pthread_cond_broadcast(&engine->changed);
    }
    pthread_mutex_unlock(&engine->lock);
    if (now) {
        fake_finish(engine, submission);
    }
}

void vv_engine_submit_to_store(struct vv_engine *engine, struct vv_batch *take_batch,
                               vv_write_done done, void *context)
{
    pthread_mutex_lock(&engine->lock);
    engine->seen.batches_to_store++;
    engine->seen.batches_empty += take_batch->points == 0;
    pthread_mutex_unlock(&engine->lock);
    vv_engine_submit(engine, take_batch, done, context);
}

void vv_engine_account(struct vv_engine *engine, const struct vv_staging *staging)
{
    fake_disarm(engine);
    pthread_mutex_lock(&engine->lock);
    engine->seen.accounts++;
    engine->seen.received += staging->points_received;
    engine->seen.staged += staging->points_staged;
    for (int i = 0; i < VV_REASON_COUNT; i++) {
        engine->seen.refused += staging->refused[i];
    }
    pthread_cond_broadcast(&engine->changed);
    pthread_mutex_unlock(&engine->lock);
}

bool vv_engine_shares_store(const struct vv_engine *engine)
{
    return !atomic_load(&engine->alone);
}

const struct vv_query_context *vv_engine_query_context(struct vv_engine *engine)
{
    return &engine->context;
}

void vv_engine_query_begin(struct vv_engine *engine)
{
    (void)engine;
}

void vv_engine_query_limits(struct vv_engine *engine, struct vv_query_limits *limits_out)
{
    *limits_out = engine->limits;
}

void vv_engine_query_done(struct vv_engine *engine, enum vv_request_kind kind,
                          enum vv_status status, const struct vv_result_facts *facts)
{
    fake_disarm(engine);
    (void)kind;
    (void)facts;
    pthread_mutex_lock(&engine->lock);
    engine->seen.queries_done++;
    engine->seen.queries_cancelled += status == VV_CANCELLED;
    pthread_cond_broadcast(&engine->changed);
    pthread_mutex_unlock(&engine->lock);
}

enum vv_status vv_engine_create_tenant(struct vv_engine *engine, struct vv_str name,
                                       struct vv_error *error)
{
    uint32_t tenant;
    enum vv_status outcome = (enum vv_status)atomic_load(&engine->admin_outcome);
    if (outcome != VV_OK) {
        return vv_error_set(error, outcome, "the test says so");
    }
    return vv_registry_tenant(engine->context.registry, name, true, &tenant, error);
}

enum vv_status vv_engine_describe(struct vv_engine *engine, struct vv_str tenant,
                                  struct vv_str metric, struct vv_str unit,
                                  struct vv_str description, struct vv_error *error)
{
    (void)description;
    enum vv_status outcome = (enum vv_status)atomic_load(&engine->admin_outcome);
    if (outcome != VV_OK || vv_str_equal(metric, VV_STR_LITERAL("missing"))) {
        return vv_error_set(error, outcome ? outcome : VV_NOT_FOUND, "there is no such metric");
    }
    fake_arm(engine); /* until the end of the work: the next request's beginning disarms it */
    pthread_mutex_lock(&engine->lock);
    engine->seen.describes++;
    snprintf(engine->seen.last_tenant, sizeof engine->seen.last_tenant, "%.*s", VV_STR_ARG(tenant));
    snprintf(engine->seen.last_metric, sizeof engine->seen.last_metric, "%.*s", VV_STR_ARG(metric));
    snprintf(engine->seen.last_unit, sizeof engine->seen.last_unit, "%.*s", (int)unit.size,
             unit.data ? unit.data : "");
    pthread_mutex_unlock(&engine->lock);
    return VV_OK;
}

enum vv_status vv_engine_set_retention(struct vv_engine *engine, struct vv_str tenant,
                                       int64_t retention_ns, struct vv_error *error)
{
    uint32_t number;
    enum vv_status status =
        vv_registry_tenant(engine->context.registry, tenant, true, &number, error);
    if (status == VV_OK) {
        vv_registry_set_retention(engine->context.registry, number, retention_ns);
    }
    return status;
}

enum vv_status vv_engine_set_late(struct vv_engine *engine, struct vv_str tenant,
                                  const struct vv_late_wish *wish, struct vv_error *error)
{
    struct vv_registry *registry = engine->context.registry;
    uint32_t number;
    enum vv_status status = vv_registry_tenant(registry, tenant, true, &number, error);
    if (status == VV_OK) {
        struct vv_late late = vv_registry_late(registry, number);
        late.policy = wish->has_policy ? wish->policy : late.policy;
        late.limit_ns = wish->limit_ns > 0 ? wish->limit_ns : 3600 * VV_SECOND;
        vv_registry_set_late(registry, number, late);
    }
    return status;
}

static void fake_settle(struct vv_registry *registry, uint32_t number)
{
    struct vv_buffer record = {0};
    uint64_t version = vv_registry_encode(registry, VV_REGISTRY_TENANT, number, &record);
    vv_registry_settle(registry, VV_REGISTRY_TENANT, number, version);
    vv_buffer_deinit(&record);
}

static enum vv_status fake_change_retentions(struct vv_registry *registry, uint32_t number,
                                             const struct vv_retentions *retentions,
                                             struct vv_error *error)
{
    enum vv_status status = VV_OK;
    if (retentions->raw_ns != VV_RETENTION_AS_IS) {
        vv_registry_set_retention(registry, number, retentions->raw_ns);
    }
    for (int i = 0; i < VV_SPACES && status == VV_OK; i++) {
        uint32_t space;
        if (retentions->tiers_ns[i] == VV_RETENTION_AS_IS) {
            continue;
        }
        status = vv_registry_space(registry, number, (enum vv_space)i, true, &space, error);
        if (status == VV_OK) {
            vv_registry_set_retention(registry, space, retentions->tiers_ns[i]);
            fake_settle(registry, space);
        }
    }
    return status;
}

enum vv_status vv_engine_set_retentions(struct vv_engine *engine, struct vv_str tenant,
                                        const struct vv_retentions *retentions,
                                        struct vv_error *error)
{
    struct vv_registry *registry = engine->context.registry;
    uint32_t number;
    enum vv_status status = vv_registry_tenant(registry, tenant, true, &number, error);
    return status == VV_OK ? fake_change_retentions(registry, number, retentions, error) : status;
}

struct vv_retentions vv_engine_retentions(const struct vv_engine *engine, uint32_t place)
{
    struct vv_registry *registry = engine->context.registry;
    struct vv_tiers tiers = vv_registry_tiers(registry, place);
    struct vv_retentions retentions = {.raw_ns = vv_registry_retention(registry, place)};
    for (int i = 0; i < VV_SPACES; i++) {
        bool is_on = tiers.spaces[i] != VV_REGISTRY_NONE;
        retentions.tiers_ns[i] =
            is_on ? vv_registry_retention(registry, tiers.spaces[i]) : VV_SPACE_OFF_NS;
    }
    return retentions;
}

/* Of each class it says that one measurement is elsewhere; one named "refused" is. */
enum vv_status vv_engine_set_class(struct vv_engine *engine, struct vv_str tenant,
                                   const struct vv_class_wish *wish,
                                   struct vv_class_effect *effect_out, struct vv_error *error)
{
    struct vv_registry *registry = engine->context.registry;
    uint32_t number;
    uint32_t class;
    *effect_out = (struct vv_class_effect){0};
    vv_class_names_add(&effect_out->elsewhere, VV_STR_LITERAL("old"));
    if (vv_str_equal(wish->name, VV_STR_LITERAL("moved"))) {
        *effect_out = (struct vv_class_effect){.moved_from = 20000 * VV_DAY};
        for (int i = 0; i <= VV_CLASS_EXAMPLES; i++) {
            vv_class_names_add(&effect_out->moved, i ? VV_STR_LITERAL("x") : VV_STR_LITERAL("old"));
        }
    }
    effect_out->is_awaited = vv_str_equal(wish->name, VV_STR_LITERAL("awaited"));
    if (vv_str_equal(wish->name, VV_STR_LITERAL("refused"))) {
        return vv_error_set(error, VV_OVERLOAD, "the test says so");
    }
    enum vv_status status = vv_registry_tenant(registry, tenant, true, &number, error);
    if (status == VV_OK) {
        status = vv_registry_make_class(registry, number, wish->name, 0, &class, error);
    }
    if (status == VV_OK && wish->has_measurements) {
        status = vv_registry_set_class_patterns(registry, class, wish->measurements, error);
    }
    if (status == VV_OK) {
        status = fake_change_retentions(registry, class, &wish->retentions, error);
        fake_settle(registry, number);
        fake_settle(registry, class);
    }
    return status;
}

enum vv_status vv_engine_change_plan(struct vv_engine *engine, struct vv_str tenant,
                                     struct vv_str source, const struct vv_plan_wish *wish,
                                     struct vv_plan *plan_out, struct vv_error *error)
{
    struct vv_registry *registry = engine->context.registry;
    uint32_t number;
    uint32_t found;
    if (vv_registry_tenant(registry, tenant, false, &number, error) != VV_OK ||
        vv_registry_source_by_id(registry, number, source, &found) != VV_OK) {
        return vv_error_set(error, VV_NOT_FOUND, "there is no such source");
    }
    if (wish->span_ns > wish->bucket_ns) {
        return vv_error_set(error, VV_INVALID, "the test says so");
    }
    *plan_out = (struct vv_plan){VV_TIME_MIN, wish->bucket_ns, VV_MINUTE, wish->splits, 0};
    plan_out->splits = plan_out->splits ? plan_out->splits : 1;
    return vv_registry_source_set_plans(registry, found, plan_out, 1);
}

enum vv_status vv_engine_flush(struct vv_engine *engine, bool seal, struct vv_error *error)
{
    pthread_mutex_lock(&engine->lock);
    engine->seen.flushes++;
    engine->seen.last_seal = seal;
    pthread_mutex_unlock(&engine->lock);
    enum vv_status outcome = (enum vv_status)atomic_load(&engine->admin_outcome);
    return vv_error_set(error, outcome, "the test says so");
}

enum vv_status vv_engine_read_frozen(struct vv_engine *engine, struct vv_str tenant,
                                     int64_t *until_out, struct vv_error *error)
{
    (void)tenant;
    *until_out = INT64_C(1709251200) * VV_SECOND;
    enum vv_status outcome = (enum vv_status)atomic_load(&engine->admin_outcome);
    return vv_error_set(error, outcome, "the test says so");
}

enum vv_status vv_engine_stage_frozen(struct vv_engine *engine, struct vv_str tenant,
                                      struct vv_staging *staging_out, struct vv_error *error)
{
    return vv_engine_stage(engine, tenant, staging_out, error);
}

enum vv_status vv_engine_replace(struct vv_engine *engine, struct vv_batch *take_batch,
                                 struct vv_error *error)
{
    enum vv_status outcome = (enum vv_status)atomic_load(&engine->admin_outcome);
    pthread_mutex_lock(&engine->lock);
    engine->seen.points_stored += outcome == VV_OK ? take_batch->points : 0;
    pthread_mutex_unlock(&engine->lock);
    vv_batch_destroy(take_batch);
    return vv_error_set(error, outcome, "the test says so");
}

enum vv_status vv_engine_reroll(struct vv_engine *engine, const struct vv_request *request,
                                uint64_t *id_out, struct vv_error *error)
{
    (void)request;
    *id_out = 7;
    enum vv_status outcome = (enum vv_status)atomic_load(&engine->admin_outcome);
    return vv_error_set(error, outcome, "the test says so");
}

enum vv_status vv_engine_read_reroll(struct vv_engine *engine, uint64_t id, bool cancel,
                                     struct vv_rerolled *rerolled_out, struct vv_error *error)
{
    (void)engine;
    *rerolled_out = (struct vv_rerolled){
        .id = id,
        .state = cancel ? VV_REROLLED_CANCELLED : VV_REROLLED_RUNNING,
        .sources = 2,
        .units = {[VV_REROLL_SAME] = 3, [VV_REROLL_DIFFERENT] = 1, [VV_REROLL_EXPIRED] = 4},
        .repaired = 1,
        .n_examples = 1,
        .examples[0] = {.tier = VV_SPACE_HOUR,
                        .result = {.verdict = VV_REROLL_DIFFERENT,
                                   .is_repaired = true,
                                   .unit = {0, VV_DAY},
                                   .steps = 5,
                                   .start = VV_HOUR,
                                   .what = "count"}},
    };
    return id == 7 ? VV_OK : vv_error_set(error, VV_NOT_FOUND, "there is no such reroll");
}

struct vv_str vv_engine_source_id(struct vv_engine *engine, uint32_t source)
{
    (void)engine;
    return source == 0 ? VV_STR_LITERAL("a") : VV_STR_LITERAL("?");
}

struct vv_str vv_engine_measurement(struct vv_engine *engine, uint32_t measurement)
{
    (void)engine;
    return measurement == 0 ? VV_STR_LITERAL("m") : VV_STR_LITERAL("?");
}

struct vv_str vv_engine_metric(struct vv_engine *engine, uint32_t metric)
{
    (void)engine;
    return metric == 0 ? VV_STR_LITERAL("m.v") : VV_STR_LITERAL("?");
}

enum vv_status vv_engine_read_sealing(struct vv_engine *engine, struct vv_str tenant, int64_t from,
                                      int64_t to, uint32_t *part, uint64_t marks_max,
                                      struct vv_sealing *sealing_out, struct vv_error *error)
{
    *part = *part + marks_max < 256 ? *part + (uint32_t)marks_max : VV_MARKS_END;
    enum vv_status outcome = (enum vv_status)atomic_load(&engine->admin_outcome);
    bool is_asked = vv_str_equal(tenant, VV_STR_LITERAL("plant")) && from == VV_SECOND;
    *sealing_out = (struct vv_sealing){0};
    if (is_asked && to == 2 * VV_SECOND) {
        *sealing_out = (struct vv_sealing){.spans = 1, .units = {2, 3, 4}, .open = 5, .due = 6};
    }
    return vv_error_set(error, outcome, "the test says so");
}

void vv_engine_read_health(struct vv_engine *engine, struct vv_engine_health *health_out)
{
    while (atomic_load(&engine->hold)) {
        atomic_store(&engine->held, true);
        sched_yield();
    }
    bool recovering = atomic_load(&engine->recovering);
    bool good = !recovering && atomic_load(&engine->admit) == VV_OK;
    bool in_spite = atomic_load(&engine->in_spite);
    *health_out = (struct vv_engine_health){.live = true,
                                            .ready = good,
                                            .recovering = recovering,
                                            .reason = good && !in_spite ? "" : "the test says so",
                                            .replayed_bytes = 42};
}

enum vv_status vv_engine_read_nodes(struct vv_engine *engine, struct vv_engine_node **nodes_out,
                                    size_t *n_out)
{
    int64_t now = engine->context.clock->wall_ns(engine->context.clock);
    const struct vv_engine_node nodes[] = {
        {.node = 2, .is_self = true, .is_known = true, .flushed_until_ns = now + VV_HOUR},
        {.node = 1,
         .region = 1,
         .is_known = true,
         .flushed_until_ns = 90 * VV_SECOND,
         .is_gone = true,
         .is_partial = true},
        {.node = 3, .flushed_until_ns = INT64_MIN},
    };
    *n_out = atomic_load(&engine->alone) ? 1 : 3;
    *nodes_out = calloc(3, sizeof **nodes_out);
    if (!*nodes_out) {
        return VV_NO_MEMORY;
    }
    memcpy(*nodes_out, nodes, sizeof nodes);
    return VV_OK;
}

size_t vv_engine_read_regions(struct vv_engine *engine,
                              struct vv_region regions_out[VV_REGIONS_MAX])
{
    const struct vv_region regions[] = {{"east", VV_REGION_READABLE}, {"west", VV_REGION_ABSENT}};
    memcpy(regions_out, regions, sizeof regions);
    return atomic_load(&engine->alone) ? 0 : 2;
}

void vv_engine_write_metrics(struct vv_engine *engine, struct vv_buffer *buffer)
{
    (void)engine;
    vv_buffer_text(buffer, "fake_engine 1\n");
}

void vv_engine_read_account(struct vv_engine *engine, uint32_t tenant,
                            struct vv_account *account_out)
{
    (void)engine;
    *account_out = (struct vv_account){.received = 10 + tenant, .accepted = 5, .accepted_here = 5};
    account_out->refused[VV_REASON_SYNTAX] = 5 + tenant;
}

/* ---- query.h ---- */

struct vv_request {
    long rows;       /* to answer */
    long fail_after; /* rows, then fail with `status` */
    long status;     /* also of open, when fail_after is absent */
    long quiet;      /* calls that give nothing before each row's worth */
    bool csv;
    bool json;
    char tenant[64];
};

struct vv_result {
    struct vv_request *request;
    long row;
    long quiet;
};

/* The engine of results: there is one in a program of tests. */
static struct vv_engine *fake_engine_of_results;

static inline enum vv_status fake_number(struct vv_str text, long *number_out,
                                         struct vv_error *error)
{
    char copy[32] = "";
    snprintf(copy, sizeof copy, "%.*s", (int)(text.size > 30 ? 30 : text.size), text.data);
    char *end = NULL;
    *number_out = strtol(copy, &end, 10);
    if (end == copy || *end) {
        return vv_error_set(error, VV_INVALID, "'%s' is no number", copy);
    }
    return VV_OK;
}

static inline enum vv_status fake_set(struct vv_request *request, struct vv_str name,
                                      struct vv_str value, struct vv_error *error)
{
    const struct {
        const char *name;
        long *target;
    } numbers[] = {{"rows", &request->rows},
                   {"fail_after", &request->fail_after},
                   {"status", &request->status},
                   {"quiet", &request->quiet}};
    for (size_t i = 0; i < 4; i++) {
        if (vv_str_equal(name, vv_str_of(numbers[i].name))) {
            return fake_number(value, numbers[i].target, error);
        }
    }
    if (vv_str_equal(name, VV_STR_LITERAL("format"))) {
        request->csv = vv_str_equal(value, VV_STR_LITERAL("csv"));
        request->json = !request->csv;
        return VV_OK;
    }
    if (vv_str_equal(name, VV_STR_LITERAL("tenant"))) {
        snprintf(request->tenant, sizeof request->tenant, "%.*s", VV_STR_ARG(value));
        return VV_OK;
    }
    return vv_error_set(error, VV_INVALID, "'%.*s' is not allowed", VV_STR_ARG(name));
}

enum vv_status vv_request_parse(enum vv_request_kind kind, const struct vv_parameter *parameters,
                                size_t n, int64_t now_ns, struct vv_request **request_out,
                                struct vv_error *error)
{
    (void)now_ns;
    struct vv_request *request = vv_sim_calloc(1, sizeof *request);
    request->fail_after = -1;
    for (size_t i = 0; i < n; i++) {
        if (kind == VV_REQUEST_DELETE && vv_str_equal(parameters[i].name, VV_STR_LITERAL("tag"))) {
            continue; /* what predicates become: test_delete.c looks at it */
        }
        enum vv_status status = fake_set(request, parameters[i].name, parameters[i].value, error);
        if (status != VV_OK) {
            free(request);
            return status;
        }
    }
    *request_out = request;
    return VV_OK;
}

enum vv_status vv_request_parse_json(enum vv_request_kind kind, struct vv_str json, int64_t now_ns,
                                     struct vv_request **request_out, struct vv_error *error)
{
    (void)kind;
    (void)now_ns;
    json_error_t problem;
    json_t *root = json_loadb(json.data, json.size, 0, &problem);
    if (!root) {
        return vv_error_set(error, VV_INVALID, "no JSON: %s", problem.text);
    }
    struct vv_request *request = vv_sim_calloc(1, sizeof *request);
    request->fail_after = -1;
    request->rows = (long)json_integer_value(json_object_get(root, "rows"));
    json_decref(root);
    *request_out = request;
    return VV_OK;
}

void vv_request_destroy(struct vv_request *request)
{
    free(request);
}

/* As many sources as rows are asked for. */
enum vv_status vv_engine_delete(struct vv_engine *engine, const struct vv_request *request,
                                struct vv_deleted *deleted_out, struct vv_error *error)
{
    (void)engine;
    *deleted_out = (struct vv_deleted){.sources = (uint64_t)request->rows,
                                       .metrics = 2,
                                       .markers = 3,
                                       .from = request->quiet ? VV_TIME_MIN : VV_SECOND,
                                       .to = request->quiet ? VV_TIME_MAX + 1 : VV_DAY,
                                       .dry_run = request->rows == 0};
    return request->status == VV_OK
               ? VV_OK
               : vv_error_set(error, (enum vv_status)request->status, "the test says so");
}

struct vv_str vv_request_tenant(const struct vv_request *request)
{
    return vv_str_of(request->tenant);
}

enum vv_format vv_request_format(const struct vv_request *request, enum vv_format fallback)
{
    return request->csv ? VV_FORMAT_CSV : request->json ? VV_FORMAT_JSON : fallback;
}

enum vv_status vv_result_open(const struct vv_query_context *context,
                              const struct vv_query_limits *limits, struct vv_request *take_request,
                              enum vv_format format, struct vv_result **result_out,
                              struct vv_error *error)
{
    (void)context;
    (void)limits;
    (void)format;
    if (take_request->status != VV_OK && take_request->fail_after < 0) {
        enum vv_status status = (enum vv_status)take_request->status;
        free(take_request);
        return vv_error_set(error, status, "the test says so");
    }
    fake_arm(fake_engine_of_results); /* until the end of the first piece */
    struct vv_result *result = vv_sim_calloc(1, sizeof *result);
    result->request = take_request;
    result->quiet = take_request->quiet;
    *result_out = result;
    pthread_mutex_lock(&fake_engine_of_results->lock);
    fake_engine_of_results->seen.results_open++;
    pthread_mutex_unlock(&fake_engine_of_results->lock);
    return VV_OK;
}

void vv_result_close(struct vv_result *result)
{
    if (result) {
        pthread_mutex_lock(&fake_engine_of_results->lock);
        fake_engine_of_results->seen.results_open--;
        pthread_cond_broadcast(&fake_engine_of_results->changed);
        pthread_mutex_unlock(&fake_engine_of_results->lock);
        free(result->request);
        free(result);
    }
}

enum vv_status vv_result_write(struct vv_result *result, struct vv_buffer *buffer, size_t enough,
                               struct vv_error *error)
{
    pthread_mutex_lock(&fake_engine_of_results->lock);
    fake_engine_of_results->seen.result_calls++;
    pthread_cond_broadcast(&fake_engine_of_results->changed);
    pthread_mutex_unlock(&fake_engine_of_results->lock);
    if (result->quiet != 0) {
        result->quiet -= result->quiet > 0; /* below 0: for ever */
        return VV_OK;
    }
    size_t before = buffer->size;
    while (result->row < result->request->rows && buffer->size - before < enough) {
        if (result->row == result->request->fail_after) {
            return vv_error_set(error, (enum vv_status)result->request->status, "the test says so");
        }
        vv_buffer_format(buffer, "row %ld of the answer\n", result->row++);
    }
    return result->row == result->request->rows ? VV_DONE : VV_OK;
}

void vv_result_abort(struct vv_result *result, struct vv_buffer *buffer, enum vv_status status,
                     const struct vv_error *error)
{
    (void)result;
    vv_buffer_format(buffer, "aborted: %s: %s\n", vv_status_name(status), error->message);
}

void vv_result_read_facts(const struct vv_result *result, struct vv_result_facts *facts_out)
{
    *facts_out = (struct vv_result_facts){.rows = (uint64_t)result->row};
}

#endif
