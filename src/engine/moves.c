/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves: measurements that have points already, and whose class is another one now. From a day on
 * that lies ahead their points go there; what is earlier stays where it is, and is kept as before.
 * So nothing is copied, each point has one place by its time, and no step of a tier is divided.
 *
 * The day begins behind all points that there are, and all that may be taken before the move is
 * journaled: what is flushed meanwhile is placed alike with and without it. For a store of one
 * node: others would have to know the move before they take such points.
 */
#include "base/log.h"
#include "engine/engine_private.h"
#include "registry/shared.h"

#include <inttypes.h>

#define DISTANCE_NS VV_HOUR /* clocks that are set back meanwhile */
#define AT_ONCE     1000    /* that are journaled together */

struct moving {
    struct vv_engine *engine;
    uint32_t tenant;
    int64_t from; /* the first day that is possible for all of them */
    struct vv_class_effect *effect;
    struct vv_error *error;
    uint32_t moved[AT_ONCE];  /* that are to be journaled … */
    uint32_t before[AT_ONCE]; /* … and where their points of the day lay before */
    size_t n;
};

static int64_t later_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Behind what the clock allows, and what any source has: it may have come by another clock, or
 * setting. VV_DONE: there is no such day. */
static enum vv_status find_day(struct moving *moving)
{
    struct vv_engine *engine = moving->engine;
    struct vv_registry *registry = engine->registry;
    int64_t at = engine->clock->wall_ns(engine->clock);
    uint32_t n = vv_registry_source_count(registry);
    at = at < VV_TIME_MAX - vv_plans_reach(engine) ? at + vv_plans_reach(engine) : VV_TIME_MAX;
    for (uint32_t i = 0; i < n; i++) {
        int64_t first;
        int64_t last;
        if (vv_registry_source_tenant(registry, i) == moving->tenant &&
            vv_registry_source_times(registry, i, &first, &last)) {
            at = later_of(at, last);
        }
    }
    if (at > VV_TIME_MAX - DISTANCE_NS - VV_DAY) {
        return VV_DONE;
    }
    moving->from = vv_time_floor(at + DISTANCE_NS, VV_DAY) + VV_DAY;
    return VV_OK;
}

/* As they were. */
static void take_back(struct moving *moving)
{
    for (size_t i = 0; i < moving->n; i++) {
        struct vv_registry *registry = moving->engine->registry;
        struct vv_stay stays[VV_STAYS_MAX];
        size_t n = vv_registry_stays(registry, moving->moved[i], stays);
        int64_t from = later_of(moving->from, stays[n - 1].from);
        if (vv_registry_move(registry, moving->moved[i], moving->before[i], from, NULL) != VV_OK) {
            vv_log(VV_LOG_WARN, "class_not_set_back", "message=\"out of memory\"");
            return;
        }
    }
}

static enum vv_status journal(struct moving *moving)
{
    struct vv_batch *batch = NULL;
    enum vv_status status = VV_OK;
    if (moving->n == 0) {
        return VV_OK;
    }
    status = vv_batch_create(moving->tenant, &batch);
    for (size_t i = 0; i < moving->n && status == VV_OK; i++) {
        status = vv_batch_define(batch, VV_REGISTRY_MEASUREMENT, moving->moved[i]);
    }
    status = vv_engine_journal_made(moving->engine, status, batch, moving->error);
    if (status != VV_OK && status != VV_UNKNOWN) {
        take_back(moving);
    } else {
        moving->effect->moved += moving->n;
    }
    moving->n = 0;
    return status;
}

static enum vv_status move(struct moving *moving, uint32_t measurement, const struct vv_stay *last,
                           uint32_t place)
{
    struct vv_registry *registry = moving->engine->registry;
    struct vv_class_effect *effect = moving->effect;
    /* Of two changes of one day the later one counts: nothing of that day is there yet. */
    int64_t from = later_of(moving->from, last->from);
    uint32_t before = vv_registry_stay(registry, measurement, from).place;
    enum vv_status status = vv_registry_move(registry, measurement, place, from, moving->error);
    if (status != VV_OK) {
        return status;
    }
    if (effect->moved + moving->n < VV_CLASS_EXAMPLES) {
        effect->examples[effect->moved + moving->n] =
            vv_registry_measurement_name(registry, measurement);
    }
    effect->moved_from = later_of(effect->moved_from, from);
    moving->moved[moving->n] = measurement;
    moving->before[moving->n++] = before;
    return moving->n == AT_ONCE ? journal(moving) : VV_OK;
}

static void log_moved(const struct moving *moving, uint32_t class)
{
    struct vv_registry *registry = moving->engine->registry;
    struct vv_str name = vv_registry_tenant_name(registry, moving->tenant);
    struct vv_str class_name = vv_space_class_name(vv_registry_tenant_name(registry, class));
    char quoted[2 * VV_TENANT_NAME_MAX + 3];
    char from[VV_TIME_TEXT_SIZE];
    vv_time_format(moving->effect->moved_from, from);
    vv_log(VV_LOG_INFO, "measurements_moved",
           "tenant=%s class=%.*s measurements=%" PRIu64
           " from=%s message=\"their points of then and later go into the class, or out of it\"",
           vv_log_quote(name.data, name.size, quoted, sizeof quoted), VV_STR_ARG(class_name),
           moving->effect->moved, from);
}

enum vv_status vv_engine_move_measurements(struct vv_engine *engine, uint32_t tenant,
                                           uint32_t class, struct vv_class_effect *effect,
                                           struct vv_error *error)
{
    struct vv_registry *registry = engine->registry;
    struct moving moving = {.engine = engine, .tenant = tenant, .effect = effect, .error = error};
    uint32_t n = vv_registry_measurement_count(registry);
    bool has_day = false;
    enum vv_status status = VV_OK;
    for (uint32_t i = 0; i < n && status == VV_OK; i++) {
        struct vv_stay stays[VV_STAYS_MAX];
        size_t n_stays = vv_registry_stays(registry, i, stays);
        if (n_stays == 0 || vv_registry_measurement_tenant(registry, i) != tenant) {
            continue;
        }
        struct vv_stay *last = &stays[n_stays - 1];
        struct vv_str name = vv_registry_measurement_name(registry, i);
        uint32_t wanted = vv_registry_match_class(registry, tenant, name);
        if (wanted == last->place || (wanted != class && last->place != class)) {
            continue;
        }
        status = has_day ? VV_OK : find_day(&moving);
        has_day = true;
        if (status == VV_DONE) {
            return vv_error_set(error, VV_INVALID,
                                "a source has points of the year 2255: measurements that have "
                                "points can't change their class behind these");
        }
        status = status == VV_OK ? move(&moving, i, last, wanted) : status;
    }
    enum vv_status journaled = journal(&moving);
    if (effect->moved > 0) {
        log_moved(&moving, class);
    }
    return status == VV_OK ? journaled : status;
}
