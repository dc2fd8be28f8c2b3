/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deleting what only tiers hold. What is frozen, so old that no points of it are taken any more,
 * can't be built again from points, so what is deleted of it is taken out of the records of tiers
 * by the sweep, the finest tier first: whole steps go, and a coarser step of which only a part is
 * deleted is built again of finer ones. Whether that can be is looked at before the order is taken;
 * and until it is swept nothing expires of what there was when it was taken (storage.c). Where
 * nodes share the store the sweep makes the units stale (steps_shared.c), and who owns them does
 * it.
 */
#include "base/log.h"
#include "engine/lives.h"
#include "registry/shared.h"
#include "seal/cut.h"
#include "seal/gone.h"

#include <inttypes.h>

#define LOOKS_MAX  100000u        /* steps that are looked at for an order */
#define TIMES_ROOM (400 * VV_DAY) /* so that no bucket of a tier is cut off */

static int64_t later_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ---- what is frozen ---- */

/* Units of the finest tier that are built of points must find all of them. */
static int64_t whole_points_from(const struct vv_tiers *tiers, int64_t raw_from)
{
    int tier = 0;
    while (tier < VV_SPACES && tiers->spaces[tier] == VV_REGISTRY_NONE) {
        tier++;
    }
    bool is_bound =
        tier < VV_SPACES && raw_from > VV_TIME_MIN && raw_from < VV_TIME_MAX - VV_DAY * 100;
    return is_bound ? raw_from + vv_tier_unit_ns_max((enum vv_space)tier) : VV_TIME_MIN;
}

/* 0: as old as it likes. */
static int64_t before_age(int64_t now_ns, int64_t age_ns)
{
    return age_ns > 0 && now_ns > VV_TIME_MIN + age_ns ? now_ns - age_ns : VV_TIME_MIN;
}

int64_t vv_steps_frozen(struct vv_engine *engine, uint32_t place, int64_t now_ns)
{
    struct vv_tiers tiers = vv_registry_tiers(engine->registry, place);
    struct vv_reroll_bounds bounds = vv_whole_bounds(engine, place);
    int64_t frozen = before_age(now_ns, vv_engine_accepted_age(engine, place));
    int64_t gone = whole_points_from(&tiers, bounds.raw_from); /* retention may be longer now */
    return later_of(frozen, gone);
}

/* Units of a tier must find all that they are built of: from when on all of them do. */
static int64_t first_whole_of(const struct vv_tiers *tiers, const struct vv_reroll_bounds *bounds,
                              enum vv_space tier)
{
    int64_t from = vv_gone_whole_below(tiers, bounds, tier);
    int64_t unit_ns = vv_tier_unit_ns_max(tier);
    bool is_bound = tiers->spaces[tier] != VV_REGISTRY_NONE && from > VV_TIME_MIN &&
                    from < VV_TIME_MAX - 2 * unit_ns;
    return is_bound ? vv_time_floor(from + unit_ns - 1, unit_ns) : VV_TIME_MIN;
}

static int64_t first_whole(const struct vv_tiers *tiers, const struct vv_reroll_bounds *bounds)
{
    int64_t first = VV_TIME_MIN;
    for (int tier = 0; tier < VV_SPACES; tier++) {
        first = later_of(first, first_whole_of(tiers, bounds, (enum vv_space)tier));
    }
    return first;
}

/* From when on what holds for `time` holds until then: units of the same tiers may not find all
 * that they are built of, and these are the same. */
static int64_t same_from(const struct vv_tiers *tiers, const struct vv_reroll_bounds *bounds,
                         const struct vv_plans *plans, int64_t time)
{
    int64_t from = VV_TIME_MIN;
    for (int i = 0; i < VV_SPACES; i++) {
        enum vv_space tier = (enum vv_space)i;
        int64_t first = first_whole_of(tiers, bounds, tier);
        from = later_of(from,
                        first > time ? vv_unit_of(tier, plans->plans, plans->n, time).from : first);
    }
    return from;
}

enum vv_status vv_steps_frozen_in(struct vv_engine *engine, uint32_t place, uint32_t source,
                                  uint32_t measurement, int64_t now_ns, int64_t *frozen_out,
                                  struct vv_error *error)
{
    struct vv_tiers tiers = vv_registry_tiers_built(engine->registry, place);
    struct vv_reroll_bounds bounds = vv_whole_bounds(engine, place);
    struct vv_plans plans = vv_registry_source_plans(engine->registry, source);
    struct vv_retentions lives = vv_lives_retentions(engine, place, now_ns);
    int64_t age = vv_engine_age_by(engine, &lives, vv_registry_late(engine->registry, place));
    /* A look takes what is finer for something to build of, which may go with what is deleted. */
    int64_t least = later_of(before_age(now_ns, age), whole_points_from(&tiers, bounds.raw_from));
    int64_t frozen = first_whole(&tiers, &bounds);
    enum vv_status status = VV_OK;
    bool is_frozen = plans.n == 0;
    while (status == VV_OK && frozen > least && !is_frozen) {
        int64_t time = frozen - 1;
        status = vv_frozen_is(engine, place, source, measurement, time, &is_frozen, error);
        if (vv_sweep_passes_over(engine, status)) { /* what can't be read is left as it is */
            is_frozen = true;
            status = VV_OK;
        }
        if (status == VV_OK && !is_frozen) {
            frozen = later_of(least, same_from(&tiers, &bounds, &plans, time));
        }
    }
    *frozen_out = later_of(frozen, least);
    return status;
}

/* The end of the span that `time` lies inside of; `time` where none does. */
static int64_t long_span_end(const struct vv_plans *plans, int64_t time)
{
    struct vv_bucket bucket = vv_bucket_of(plans->plans, plans->n, time);
    int64_t start = vv_span_of(&bucket, time);
    if (bucket.span_ns <= VV_DAY || start == time) {
        return time;
    }
    return start + bucket.span_ns < bucket.end ? start + bucket.span_ns : bucket.end;
}

int64_t vv_steps_frozen_of(struct vv_engine *engine, uint32_t source, int64_t frozen)
{
    struct vv_plans plans = vv_registry_source_plans(engine->registry, source);
    if (plans.n == 0 || frozen == VV_TIME_MIN) {
        return frozen;
    }
    int64_t before;
    do { /* that span's plan may end inside one of the next */
        before = frozen;
        frozen = long_span_end(&plans, before);
    } while (frozen > before);
    return frozen;
}

/* ---- before an order is taken ---- */

#define EXPIRY_AHEAD_NS (2 * VV_HOUR) /* what is not gone by then stays until the sweep is done */

/* What counts as whole: not what may expire before the order is taken. */
static struct vv_reroll_bounds bounds_for(struct vv_engine *engine, uint32_t place, int64_t now)
{
    struct vv_reroll_bounds bounds = vv_whole_bounds(engine, place);
    struct vv_retentions retentions = vv_engine_retentions(engine, place);
    int64_t ahead = now + EXPIRY_AHEAD_NS;
    vv_lives_limit(&bounds, &retentions, ahead);
    for (int tier = 0; tier < VV_SPACES; tier++) {
        if (retentions.tiers_ns[tier] > 0) {
            bounds.tier_gone[tier] = ahead - retentions.tiers_ns[tier];
        }
    }
    return bounds;
}

struct checking {
    struct vv_engine *engine;
    const struct vv_deletion_order *order;
    uint32_t place; /* of the measurements that are looked at now … */
    struct vv_reroll_bounds bounds;
    int64_t frozen;  /* … what is frozen of them … */
    int64_t reaches; /* … and how far it goes in the spans of the order's sources */
    uint64_t looks;
    struct vv_error *error;
};

/* What was refused, and where. */
struct obstacle {
    enum vv_reroll_verdict verdict; /* VV_REROLL_NOTHING: nothing */
    enum vv_space tier;
};

static enum vv_status look_at_step(struct checking *checking, enum vv_space tier,
                                   struct vv_cut *cut, int64_t start, struct obstacle *obstacle)
{
    if (++checking->looks > LOOKS_MAX) {
        return vv_error_set(
            checking->error, VV_TOO_LARGE,
            "too many steps of tiers would have to be looked at: delete whole days, "
            "or narrow it with source or tag");
    }
    if (start >= cut->before) {
        return VV_OK;
    }
    obstacle->tier = tier;
    return vv_cut_look(checking->engine->steps_looker, tier, cut, start, &checking->bounds,
                       &obstacle->verdict, checking->error);
}

/* A measurement of a source, or a metric of it. */
static enum vv_status look_at_series(struct checking *checking, enum vv_space tier, int64_t start,
                                     uint32_t measurement, uint32_t metric,
                                     struct obstacle *obstacle)
{
    const struct vv_deletion_order *order = checking->order;
    enum vv_status status = VV_OK;
    for (size_t i = 0;
         i < order->n_sources && status == VV_OK && obstacle->verdict == VV_REROLL_NOTHING; i++) {
        uint32_t source = order->sources[i];
        struct vv_cut cut = {.place = checking->place,
                             .source = source,
                             .measurement = measurement,
                             .metric = metric,
                             .from = order->from,
                             .to = order->to,
                             .before =
                                 vv_steps_frozen_of(checking->engine, source, checking->frozen)};
        status = look_at_step(checking, tier, &cut, start, obstacle);
    }
    return status;
}

/* Of all that the order names. */
static enum vv_status look_at_all(struct checking *checking, enum vv_space tier, int64_t start,
                                  struct obstacle *obstacle)
{
    const struct vv_deletion_order *order = checking->order;
    struct vv_registry *registry = checking->engine->registry;
    enum vv_status status = VV_OK;
    for (size_t i = 0;
         i < order->n_numbers && status == VV_OK && obstacle->verdict == VV_REROLL_NOTHING; i++) {
        struct vv_metric_info info = {.measurement = order->numbers[i]};
        bool is_metric = order->scope == VV_DELETION_METRIC;
        if (is_metric) {
            vv_registry_metric_info(registry, order->numbers[i], &info);
        }
        if (vv_registry_stay(registry, info.measurement, start).place == checking->place) {
            status =
                look_at_series(checking, tier, start, info.measurement,
                               is_metric ? order->numbers[i] : VV_ROLLUP_ALL_METRICS, obstacle);
        }
    }
    uint32_t n = order->n_numbers == 0 ? vv_registry_measurement_count(registry) : 0;
    for (uint32_t i = 0; i < n && status == VV_OK && obstacle->verdict == VV_REROLL_NOTHING; i++) {
        if (vv_registry_measurement_tenant(registry, i) == order->tenant &&
            vv_registry_stay(registry, i, start).place == checking->place) {
            status = look_at_series(checking, tier, start, i, VV_ROLLUP_ALL_METRICS, obstacle);
        }
    }
    return status;
}

/* Whether an end lies inside a step of the tier that is frozen; then *start_out is the step's. */
static bool is_inside(const struct checking *checking, enum vv_space tier, int64_t end,
                      int64_t *start_out)
{
    *start_out = vv_time_floor(end, vv_tier_step_ns(tier));
    return end > VV_TIME_MIN && end <= VV_TIME_MAX && *start_out < end &&
           *start_out < checking->reaches;
}

/* The coarsest tier counts: what fits its steps fits those of the finer ones. */
static enum vv_status find_obstacle(struct checking *checking, struct obstacle *obstacle)
{
    const struct vv_deletion_order *order = checking->order;
    struct vv_tiers tiers = vv_registry_tiers_built(checking->engine->registry, checking->place);
    enum vv_status status = VV_OK;
    for (int tier = VV_SPACES - 1; tier >= 0; tier--) {
        const int64_t ends[] = {order->from, order->to};
        for (size_t i = 0; i < 2 && tiers.spaces[tier] != VV_REGISTRY_NONE; i++) {
            int64_t start;
            if (!is_inside(checking, (enum vv_space)tier, ends[i], &start)) {
                continue;
            }
            status = look_at_all(checking, (enum vv_space)tier, start, obstacle);
            if (status != VV_OK || obstacle->verdict != VV_REROLL_NOTHING) {
                return status;
            }
        }
    }
    return VV_OK;
}

static enum vv_status refuse(const struct checking *checking, const struct obstacle *obstacle)
{
    static const char *const words[VV_SPACES] = {"minutes", "hours", "days"};
    char from[VV_TIME_TEXT_SIZE];
    char to[VV_TIME_TEXT_SIZE];
    char frozen[VV_TIME_TEXT_SIZE];
    int64_t step_ns = vv_tier_step_ns(obstacle->tier);
    int64_t first = checking->order->from;
    int64_t end = checking->order->to;
    int64_t start;
    if (is_inside(checking, obstacle->tier, first, &start)) {
        first = start;
    }
    if (is_inside(checking, obstacle->tier, end, &start)) {
        end = start + step_ns;
    }
    vv_time_format(first > VV_TIME_MIN ? first : VV_TIME_MIN, from);
    vv_time_format(end <= VV_TIME_MAX ? end : VV_TIME_MAX, to);
    vv_time_format(checking->reaches, frozen);
    if (obstacle->verdict == VV_REROLL_UNSEALED) {
        return vv_error_set(checking->error, VV_OVERLOAD,
                            "what the %s of a part of the range are built of waits to be sealed or "
                            "built: try again later, or delete whole ones, as from %s to %s",
                            words[obstacle->tier], from, to);
    }
    return vv_error_set(
        checking->error, VV_INVALID,
        "only whole %s can be deleted there: before %s points may be gone, and what "
        "these %s were built of %s; the nearest range that can be deleted is from "
        "%s to %s",
        words[obstacle->tier], frozen, words[obstacle->tier],
        obstacle->verdict == VV_REROLL_DAMAGED ? "can't be read" : "is not all there any more",
        from, to);
}

/* Others may have changed the tiers, or be sealing what this node has not heard of. */
static enum vv_status check_heard(const struct checking *checking)
{
    struct vv_engine *engine = checking->engine;
    bool is_current = !engine->fleet ||
                      vv_fleet_is_current(engine->fleet, vv_settings_lead_ns(&engine->settings));
    return is_current ? VV_OK
                      : vv_error_set(checking->error, VV_OVERLOAD,
                                     "only tiers have what there was in a part of the range, and "
                                     "other nodes, which may have changed them, could not be heard "
                                     "for a while: try again in some seconds");
}

/* What of the order's range may be of the place, of any measurement; false: nothing. */
static bool find_range(const struct checking *checking, int64_t *from_out, int64_t *to_out)
{
    const struct vv_deletion_order *order = checking->order;
    struct vv_registry *registry = checking->engine->registry;
    bool is_any = order->n_numbers == 0;
    *from_out = is_any ? order->from : order->to;
    *to_out = is_any ? order->to : order->from;
    for (size_t i = 0; i < order->n_numbers; i++) {
        struct vv_metric_info info = {.measurement = order->numbers[i]};
        struct vv_stay stays[VV_STAYS_MAX];
        if (order->scope == VV_DELETION_METRIC) {
            vv_registry_metric_info(registry, order->numbers[i], &info);
        }
        size_t n = vv_registry_stays(registry, info.measurement, stays);
        for (size_t k = 0; k < n; k++) {
            int64_t from = stays[k].from > order->from ? stays[k].from : order->from;
            int64_t to = stays[k].to < order->to ? stays[k].to : order->to;
            if (stays[k].place == checking->place && from < to) {
                *from_out = from < *from_out ? from : *from_out;
                *to_out = to > *to_out ? to : *to_out;
            }
        }
    }
    return *from_out < *to_out;
}

static int64_t find_reach(const struct checking *checking)
{
    const struct vv_deletion_order *order = checking->order;
    int64_t reaches = checking->frozen;
    for (size_t i = 0; i < order->n_sources; i++) {
        int64_t frozen = vv_steps_frozen_of(checking->engine, order->sources[i], checking->frozen);
        reaches = frozen > reaches ? frozen : reaches;
    }
    return reaches;
}

/* The measurements of one place. */
static enum vv_status check_place(struct checking *checking, int64_t now,
                                  struct vv_deleted *deleted)
{
    struct vv_engine *engine = checking->engine;
    struct obstacle obstacle = {.verdict = VV_REROLL_NOTHING};
    checking->frozen = vv_steps_frozen(engine, checking->place, now + VV_MINUTE); /* when stamped */
    checking->reaches = find_reach(checking);
    int64_t from;
    int64_t to;
    if (!vv_registry_tiers_built(engine->registry, checking->place).any ||
        !find_range(checking, &from, &to) || from >= checking->reaches) {
        return VV_OK;
    }
    to = to < checking->reaches ? to : checking->reaches;
    bool is_first = deleted->tiers_from == deleted->tiers_to;
    deleted->tiers_from = is_first || from < deleted->tiers_from ? from : deleted->tiers_from;
    deleted->tiers_to = is_first || to > deleted->tiers_to ? to : deleted->tiers_to;
    checking->bounds = bounds_for(engine, checking->place, now);
    enum vv_status status = check_heard(checking);
    status = status == VV_OK ? find_obstacle(checking, &obstacle) : status;
    return status == VV_OK && obstacle.verdict != VV_REROLL_NOTHING ? refuse(checking, &obstacle)
                                                                    : status;
}

enum vv_status vv_steps_check(struct vv_engine *engine, const struct vv_deletion_order *order,
                              struct vv_deleted *deleted, struct vv_error *error)
{
    uint32_t places[VV_PLACES_MAX];
    size_t n = vv_registry_places(engine->registry, order->tenant, places);
    int64_t now = engine->clock->wall_ns(engine->clock);
    struct checking checking = {.engine = engine, .order = order, .error = error};
    enum vv_status status = vv_engine_check_waits(engine, error);
    if (status == VV_OK) {
        status = vv_reroll_make(engine, &engine->steps_looker);
    }
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        checking.place = places[i];
        status = check_place(&checking, now, deleted);
    }
    return status == VV_NO_MEMORY ? vv_error_set(error, status, "out of memory: try again later")
                                  : status;
}

/* ---- the sweep ---- */

static struct vv_cut cut_of(struct vv_engine *engine, const struct vv_marker *marker)
{
    const struct vv_sweep *sweep = &engine->sweep;
    bool is_metric = marker->scope == VV_DELETION_METRIC;
    return (struct vv_cut){.place = sweep->stay.place,
                           .source = sweep->source,
                           .measurement = sweep->measurement,
                           .metric = is_metric ? marker->number : VV_ROLLUP_ALL_METRICS,
                           .from =
                               marker->from > sweep->stay.from ? marker->from : sweep->stay.from,
                           .to = sweep->to,
                           .before = sweep->frozen};
}

static void note(struct vv_engine *engine, const struct vv_cut_figures *figures)
{
    atomic_fetch_add(&engine->counters.records_cut, figures->records);
    atomic_fetch_add(&engine->counters.sweep_damaged, figures->damaged);
    if (figures->kept + figures->damaged > 0) {
        struct vv_str word = vv_space_word((enum vv_space)engine->sweep.tier);
        vv_log(
            VV_LOG_WARN, "steps_not_deleted",
            "tier=%.*s steps=%" PRIu64 " damaged=%" PRIu64
            " message=\"steps of which a part was deleted stay, since what they were built of is "
            "not there any more\"",
            VV_STR_ARG(word), figures->kept, figures->damaged);
    }
}

/* The tier's next bucket from the sweep's time on that has something; false: there is none. Where
 * damage hides which one that is, each may be. */
static enum vv_status next_bucket(struct vv_engine *engine, uint32_t space, int64_t to,
                                  int64_t *bucket_out, bool *found_out, struct vv_error *error)
{
    const struct vv_sweep *sweep = &engine->sweep;
    struct vv_store *store = engine->store;
    enum vv_space tier = (enum vv_space)sweep->tier;
    int64_t time = later_of(sweep->time, VV_TIME_MIN + TIMES_ROOM);
    int64_t at = vv_time_floor(vv_unit_earliest(tier, time), vv_tier_plan(tier).bucket_ns);
    enum vv_status status =
        store->ops->nearest(store, 0, space, sweep->source, at, true, bucket_out, error);
    if (vv_sweep_passes_over(engine, status)) {
        *bucket_out = at;
        status = VV_OK;
    }
    *found_out = status == VV_OK && *bucket_out < to;
    return status == VV_DONE ? VV_OK : status;
}

static enum vv_status list_stale(struct vv_engine *engine, const struct vv_tiers *tiers,
                                 int64_t bucket, int64_t to, size_t *reads, struct vv_error *error)
{
    struct vv_sweep *sweep = &engine->sweep;
    enum vv_status status =
        vv_steps_list_stale(engine, &sweep->markers[sweep->at], tiers, bucket, to, error);
    *reads += 1;
    sweep->time = bucket + vv_tier_plan((enum vv_space)sweep->tier).bucket_ns;
    return vv_sweep_passes_over(engine, status) ? VV_OK : status;
}

/* What can't be read stays, as for the sealer. */
static enum vv_status cut_bucket(struct vv_engine *engine, const struct vv_cut *cut, int64_t bucket,
                                 const struct vv_reroll_bounds *bounds, size_t *reads,
                                 struct vv_error *error)
{
    struct vv_sweep *sweep = &engine->sweep;
    struct vv_cut_figures figures = {0};
    enum vv_space tier = (enum vv_space)sweep->tier;
    enum vv_status status = vv_cut_bucket(sweep->cutter, tier, cut, bucket, bounds,
                                          engine->clock->wall_ns(engine->clock), &figures, error);
    if (status == VV_CORRUPT || status == VV_NEWER) {
        figures.damaged++;
        status = VV_OK;
    }
    note(engine, &figures);
    *reads += 1 + figures.records;
    sweep->time = bucket + vv_tier_plan(tier).bucket_ns;
    return status;
}

enum vv_status vv_steps_sweep(struct vv_engine *engine, size_t *reads, size_t reads_max,
                              bool *is_done_out, struct vv_error *error)
{
    struct vv_sweep *sweep = &engine->sweep;
    uint32_t place = sweep->stay.place;
    struct vv_tiers tiers = vv_registry_tiers_built(engine->registry, place);
    struct vv_cut cut = cut_of(engine, &sweep->markers[sweep->at]);
    struct vv_reroll_bounds bounds = vv_whole_bounds(engine, place);
    int64_t to = cut.to < cut.before ? cut.to : cut.before;
    enum vv_status status = vv_reroll_make(engine, &sweep->cutter);
    while (sweep->tier < VV_SPACES && *reads < reads_max && status == VV_OK) {
        uint32_t space = tiers.spaces[sweep->tier];
        int64_t bucket;
        bool found = false;
        if (space != VV_REGISTRY_NONE && sweep->time < to) {
            status = next_bucket(engine, space, to, &bucket, &found, error);
            *reads += 1;
        }
        if (status == VV_OK && !found) {
            sweep->tier++;
            sweep->time = sweep->first;
        } else if (status == VV_OK) {
            status = engine->store->ops->shared
                         ? list_stale(engine, &tiers, bucket, to, reads, error)
                         : cut_bucket(engine, &cut, bucket, &bounds, reads, error);
        }
    }
    *is_done_out = sweep->tier >= VV_SPACES;
    return status;
}
