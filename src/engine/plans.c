/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans that change: on request, and when a source has outgrown its own.
 *
 * A change never touches what is there. It begins behind the latest time that any node may have
 * taken a point for, or may take one for before it has learnt of the change: now, the accepted
 * future, the time until all know, and what clocks may differ by. A node that has not learnt for
 * longer asks the store for the plans of each source that has points so late (fleet/doubt.c).
 *
 * A history has room for VV_PLANS_MAX plans, some of which are left for nodes that change one at
 * the same time.
 */
#include "engine/engine_private.h"

#include "base/log.h"

#define HISTORY_MAX      (VV_PLANS_MAX - 8)
#define DISTANCE_NS_MIN  VV_HOUR /* of changes that nobody asked for */
#define DISTANCE_NS_MAX  VV_DAY
#define OUTGROWN_AT_ONCE 8
#define LOOKS_AT_FUTURE  8

static int64_t wall(struct vv_engine *engine)
{
    return engine->clock->wall_ns(engine->clock);
}

static int64_t later(int64_t time_ns, int64_t by_ns)
{
    int64_t sum;
    return __builtin_add_overflow(time_ns, by_ns, &sum) ? INT64_MAX : sum;
}

int64_t vv_plans_reach(const struct vv_engine *engine)
{
    int64_t lead = engine->store->ops->shared ? vv_settings_lead_ns(&engine->settings) : 0;
    return later(engine->settings.future_ns_max, lead);
}

/* What lies behind this, after `time`, no node has taken without knowing what was told at `time`,
 * if clocks were the same. */
static int64_t reach(struct vv_engine *engine, int64_t time_ns)
{
    return later(time_ns, vv_plans_reach(engine));
}

int64_t vv_plans_known_until(struct vv_engine *engine)
{
    if (!engine->fleet) {
        return INT64_MAX;
    }
    int64_t heard = vv_fleet_heard_wall_ns(engine->fleet);
    return heard == INT64_MIN ? VV_TIME_MIN : reach(engine, heard);
}

/* ---- what and from when ---- */

/* The longest bucket that the tenant's retention allows; 0: any. */
static int64_t bucket_max(struct vv_engine *engine, uint32_t source)
{
    uint32_t tenant = vv_registry_source_tenant(engine->registry, source);
    return vv_registry_bucket_max(engine->registry, tenant);
}

static enum vv_status complete(struct vv_engine *engine, uint32_t source,
                               const struct vv_plan_wish *wish, const struct vv_plan *present,
                               struct vv_plan *plan_out, struct vv_error *error)
{
    struct vv_plan plan = {
        .from_ns = VV_TIME_MIN,
        .bucket_ns = wish->bucket_ns ? wish->bucket_ns : present->bucket_ns,
        .span_ns = wish->span_ns ? wish->span_ns : present->span_ns,
        .splits = wish->splits ? wish->splits : present->splits,
    };
    if (!wish->is_alone && plan.splits == 1 &&
        plan.bucket_ns <= present->bucket_ns) { /* it holds no more */
        plan.share_bits = present->share_bits;
    }
    if (wish->span_ns == 0 && plan.bucket_ns % plan.span_ns != 0) {
        plan.span_ns = plan.bucket_ns % VV_HOUR == 0 ? VV_HOUR : plan.bucket_ns;
    }
    int64_t most = bucket_max(engine, source);
    if (wish->bucket_ns && most > 0 && plan.bucket_ns > most) {
        char text[VV_TIME_TEXT_SIZE];
        vv_duration_format(most, text);
        return vv_error_set(error, VV_INVALID,
                            "a bucket may be an eighth of the tenant's retention, here %s", text);
    }
    *plan_out = plan;
    return vv_plan_check(&plan, error);
}

/* The first bucket from `from` on that has something in any of the tenant's places; VV_DONE: none
 * has. */
static enum vv_status nearest(struct vv_engine *engine, uint32_t source, int64_t from,
                              int64_t *found_out, struct vv_error *error)
{
    struct vv_store *store = engine->store;
    uint32_t places[VV_PLACES_MAX];
    size_t n = vv_registry_places(engine->registry,
                                  vv_registry_source_tenant(engine->registry, source), places);
    *found_out = INT64_MAX;
    for (size_t i = 0; i < n; i++) {
        int64_t found;
        enum vv_status status =
            store->ops->nearest(store, 0, places[i], source, from, true, &found, error);
        if (status != VV_OK && status != VV_DONE) {
            return status;
        }
        *found_out = status == VV_OK && found < *found_out ? found : *found_out;
    }
    return *found_out < INT64_MAX ? VV_OK : VV_DONE;
}

/* Not where anything lies already: a node may have accepted a farther future once. */
static enum vv_status find_begin(struct vv_engine *engine, uint32_t source,
                                 const struct vv_plan *present, struct vv_plan *plan,
                                 struct vv_error *error)
{
    int64_t first;
    int64_t last;
    int64_t at = reach(engine, later(wall(engine), engine->fleet ? VV_CLOCKS_DIFFER_NS : 0));
    at = at > present->from_ns ? at : present->from_ns + 1;
    if (vv_registry_source_times(engine->registry, source, &first, &last) && last >= at) {
        at = last + 1;
    }
    for (int i = 0; i < LOOKS_AT_FUTURE; i++) {
        int64_t found;
        plan->from_ns = vv_plan_begin(plan->bucket_ns, at);
        if (plan->from_ns == INT64_MAX) {
            break;
        }
        enum vv_status status = nearest(engine, source, plan->from_ns, &found, error);
        if (status != VV_OK) {
            return status == VV_DONE ? VV_OK : status;
        }
        at = later(found, present->bucket_ns);
    }
    return vv_error_set(error, VV_INVALID,
                        "the source has points far in the future: a plan can change behind them "
                        "only");
}

/* ---- changing ---- */

static enum vv_status put_record(struct vv_engine *engine, uint32_t source, struct vv_error *error)
{
    enum vv_status status =
        vv_flush_put_record(engine->registry, engine->store, VV_REGISTRY_SOURCE, source, error);
    return status == VV_NO_MEMORY
               ? vv_error_set(error, status, "out of memory while changing a plan")
               : status;
}

static enum vv_status append(struct vv_engine *engine, uint32_t source, const struct vv_plan *plan,
                             struct vv_error *error)
{
    struct vv_plan plans[VV_PLANS_MAX];
    struct vv_plans known = vv_registry_source_plans(engine->registry, source);
    memcpy(plans, known.plans, known.n * sizeof *plans);
    plans[known.n] = *plan;
    enum vv_status status =
        vv_registry_source_set_plans(engine->registry, source, plans, known.n + 1);
    return status == VV_OK
               ? VV_OK
               : vv_error_set(error, status, "the plan cannot be kept: %s", vv_status_name(status));
}

static void log_change(struct vv_engine *engine, uint32_t source, const struct vv_plan *plan,
                       const char *reason)
{
    char id[600];
    char from[VV_TIME_TEXT_SIZE];
    char bucket[VV_TIME_TEXT_SIZE];
    struct vv_str name = vv_registry_source_id(engine->registry, source);
    vv_time_format(plan->from_ns, from);
    vv_duration_format(plan->bucket_ns, bucket);
    vv_log(VV_LOG_INFO, "plan_changed", "source=%s reason=%s from=%s bucket=%s splits=%u",
           vv_log_quote(name.data, name.size, id, sizeof id), reason, from, bucket,
           (unsigned)plan->splits);
}

/* Lasts with the next confirm. *changed_out: else the present plan is as it is wished. */
static enum vv_status change(struct vv_engine *engine, uint32_t source,
                             const struct vv_plan_wish *wish, const char *reason,
                             struct vv_plan *plan_out, bool *changed_out, struct vv_error *error)
{
    struct vv_plans plans = vv_registry_source_plans(engine->registry, source);
    *changed_out = false;
    if (plans.n == 0) {
        return vv_error_set(error, VV_NOT_FOUND,
                            "the source has no plan yet: it gets one when its first points are "
                            "written to the store");
    }
    if (plans.is_moving || (engine->fleet && vv_fleet_waits_for_plan(engine->fleet, source))) {
        return vv_error_set(error, VV_OVERLOAD,
                            "the source's first plan is being agreed on: try again later");
    }
    const struct vv_plan *present = &plans.plans[plans.n - 1];
    enum vv_status status = complete(engine, source, wish, present, plan_out, error);
    if (status == VV_OK && vv_plan_divides_alike(plan_out, present)) {
        *plan_out = *present;
        return VV_OK;
    }
    if (status == VV_OK && plans.n >= HISTORY_MAX) {
        atomic_fetch_add(&engine->counters.plans_full, 1);
        status = vv_error_set(error, VV_TOO_LARGE,
                              "the plan of this source has changed %d times, and no more changes "
                              "can be kept",
                              HISTORY_MAX - 1);
    }
    if (status == VV_OK) {
        status = find_begin(engine, source, present, plan_out, error);
    }
    if (status == VV_OK) {
        status = engine->fleet ? vv_fleet_change_plan(engine->fleet, source, plan_out, error)
                               : append(engine, source, plan_out, error);
    }
    if (status == VV_OK) {
        status = put_record(engine, source, error);
    }
    if (status == VV_OK) {
        *changed_out = true;
        atomic_fetch_add(&engine->counters.plans_changed, 1);
        log_change(engine, source, plan_out, reason);
    }
    return status;
}

/* Nothing of the store: what was asked for is at fault. */
static bool is_refusal(enum vv_status status)
{
    return status == VV_INVALID || status == VV_NOT_FOUND || status == VV_TOO_LARGE ||
           status == VV_CORRUPT || status == VV_OVERLOAD;
}

/* ---- sources that have outgrown their plans ---- */

static int64_t distance(const struct vv_plan *plan)
{
    int64_t bucket_ns = plan->bucket_ns;
    bucket_ns = bucket_ns > DISTANCE_NS_MIN ? bucket_ns : DISTANCE_NS_MIN;
    return bucket_ns < DISTANCE_NS_MAX ? bucket_ns : DISTANCE_NS_MAX;
}

/* Only what is written now says something of what will be. A plan is worth changing when
 * partitions become half as large at least. */
static bool wants_change(struct vv_engine *engine, const struct vv_load_source *seen,
                         struct vv_plan_wish *wish_out)
{
    struct vv_plans plans = vv_registry_source_plans(engine->registry, seen->source);
    if (plans.n == 0 || engine->settings.bucket_ns > 0 || !engine->settings.partition_adapt) {
        return false;
    }
    const struct vv_plan *present = &plans.plans[plans.n - 1];
    int64_t now = wall(engine);
    bool is_new = plans.n > 1 && now < later(present->from_ns, distance(present));
    bool is_past = later(seen->bucket_start, 2 * present->bucket_ns) < now;
    if (is_new || is_past) {
        return false;
    }
    struct vv_plan plan =
        vv_plan_fit(seen->rows, seen->load, seen->range_ns, bucket_max(engine, seen->source));
    if (engine->settings.splits > 1) {
        plan.splits = (uint16_t)engine->settings.splits;
    }
    *wish_out = (struct vv_plan_wish){plan.bucket_ns, plan.span_ns, plan.splits, true};
    return 2 * vv_plan_load(&plan, seen->load, seen->range_ns) <=
           vv_plan_load(present, seen->load, seen->range_ns);
}

static void log_refusal(struct vv_engine *engine, uint32_t source, const struct vv_error *error)
{
    char id[600];
    char text[600];
    struct vv_str name = vv_registry_source_id(engine->registry, source);
    vv_log(VV_LOG_WARN, "plan_not_changed", "source=%s message=%s",
           vv_log_quote(name.data, name.size, id, sizeof id),
           vv_log_quote(error->message, strlen(error->message), text, sizeof text));
}

static enum vv_status adapt(struct vv_engine *engine, bool *changed, struct vv_error *error)
{
    struct vv_load_source seen;
    enum vv_status status = VV_OK;
    for (int i = 0; i < OUTGROWN_AT_ONCE && status == VV_OK && vv_load_next(engine->load, &seen);
         i++) {
        struct vv_plan_wish wish;
        struct vv_plan plan;
        bool is_changed = false;
        if (wants_change(engine, &seen, &wish)) {
            status = change(engine, seen.source, &wish, "outgrown", &plan, &is_changed, error);
        }
        *changed |= is_changed;
        atomic_fetch_add(&engine->counters.plans_outgrown, is_changed);
        if (is_refusal(status)) {
            log_refusal(engine, seen.source, error);
            status = VV_OK;
        }
    }
    return status;
}

/* ---- on request ---- */

static struct vv_plan_request *take_request(struct vv_engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    struct vv_plan_request *request = engine->plan_request;
    if (request) {
        engine->plan_request = request->next;
        request->taken = true;
    }
    pthread_mutex_unlock(&engine->lock);
    return request;
}

static void answer(struct vv_engine *engine, struct vv_plan_request *request, enum vv_status status)
{
    pthread_mutex_lock(&engine->lock);
    request->status = status;
    request->done = true;
    pthread_cond_broadcast(&engine->waiters_wake);
    pthread_mutex_unlock(&engine->lock);
}

static enum vv_status serve(struct vv_engine *engine, struct vv_plan_request *request,
                            struct vv_error *error)
{
    bool changed;
    enum vv_status status = change(engine, request->source, &request->wish, "request",
                                   &request->plan, &changed, &request->error);
    if (status == VV_OK && changed) {
        status = vv_engine_confirm(engine, &request->error);
    }
    answer(engine, request, status);
    if (status == VV_OK || is_refusal(status)) {
        return VV_OK;
    }
    return vv_error_set(error, status, "a plan could not be changed");
}

enum vv_status vv_plans_step(struct vv_engine *engine, struct vv_error *error)
{
    bool changed = false;
    bool served = false;
    struct vv_plan_request *request;
    enum vv_status status = adapt(engine, &changed, error);
    if (status == VV_OK && changed) {
        status = vv_engine_confirm(engine, error);
    }
    while (status == VV_OK && (request = take_request(engine))) {
        served = true;
        status = serve(engine, request, error);
    }
    return status == VV_OK && !changed && !served ? VV_DONE : status;
}

/* Leaves the list, unless the storage thread has it. Under the lock. */
static bool withdraw(struct vv_engine *engine, struct vv_plan_request *request)
{
    struct vv_plan_request **link = &engine->plan_request;
    while (*link && *link != request) {
        link = &(*link)->next;
    }
    if (*link) {
        *link = request->next;
    }
    return !request->taken;
}

static void wait_for(struct vv_engine *engine, struct vv_plan_request *request)
{
    pthread_mutex_lock(&engine->lock);
    struct vv_plan_request **link = &engine->plan_request;
    while (*link) {
        link = &(*link)->next;
    }
    *link = request;
    pthread_cond_broadcast(&engine->storage_wakes);
    while (!request->done) {
        bool is_over = engine->committed || atomic_load(&engine->store_failed);
        if (is_over && withdraw(engine, request)) {
            request->status = vv_error_set(&request->error, VV_IO,
                                           "the store cannot be written, or the server is "
                                           "stopping: the plan stays");
            break;
        }
        pthread_cond_wait(&engine->waiters_wake, &engine->lock);
    }
    pthread_mutex_unlock(&engine->lock);
}

enum vv_status vv_engine_change_plan(struct vv_engine *engine, struct vv_str tenant,
                                     struct vv_str source, const struct vv_plan_wish *wish,
                                     struct vv_plan *plan_out, struct vv_error *error)
{
    uint32_t number;
    struct vv_plan_request request = {.wish = *wish};
    enum vv_status status = vv_registry_tenant(engine->registry, tenant, false, &number, error);
    if (status == VV_OK &&
        vv_registry_source_by_id(engine->registry, number, source, &request.source) != VV_OK) {
        status = vv_error_set(error, VV_NOT_FOUND, "there is no source %.*s", VV_STR_ARG(source));
    }
    if (status != VV_OK) {
        return status;
    }
    if (engine->manual) {
        engine->plan_request = &request;
        status = vv_storage_plans(engine, error);
        if (!request.done) {
            engine->plan_request = NULL;
            return status;
        }
    } else {
        wait_for(engine, &request);
    }
    *plan_out = request.plan;
    return request.status == VV_OK
               ? VV_OK
               : vv_error_set(error, request.status, "%s", request.error.message);
}
