/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves: measurements that have points already, and whose class is another one now. From a day on
 * that lies ahead their points go there; what is earlier stays where it is, and is kept as before.
 * So nothing is copied, each point has one place by its time, and no step of a tier is divided.
 *
 * The day begins behind all points that there are, and all that may be taken before the move is
 * journaled: what is flushed meanwhile is placed alike with and without it. Where nodes share the
 * store the move is proposed, for a day so far ahead that they have agreed on it before they take
 * such points (fleet/moves.c).
 */
#include "base/log.h"
#include "engine/engine_private.h"
#include "registry/shared.h"

#include <inttypes.h>

#define DISTANCE_NS VV_HOUR /* clocks that are set back meanwhile */
#define AT_ONCE     1000    /* that are journaled together */
#define SPARE       4       /* for what other nodes propose at the same time */

struct moving {
    struct vv_engine *engine;
    uint32_t tenant;
    uint32_t class;
    bool has_day;
    int64_t day;        /* the first that is possible for all of them */
    int64_t moved_from; /* the latest that any was moved from */
    struct vv_class_effect *effect;
    struct vv_error *error;
    struct { /* that are to be journaled */
        uint32_t measurement;
        const struct vv_moves *before;
        int64_t from_ns; /* where nodes agree: of the one that was proposed; 0: none was */
        bool stays;      /* it is said of it already */
    } moved[AT_ONCE];
    size_t n;
};

/* Behind what the clock allows, and what any source has: it may have come by another clock, or
 * setting. Once. VV_INVALID: there is no such day. */
static enum vv_status find_day(struct moving *moving)
{
    struct vv_engine *engine = moving->engine;
    struct vv_registry *registry = engine->registry;
    if (moving->has_day) {
        return VV_OK;
    }
    int64_t at = engine->clock->wall_ns(engine->clock);
    int64_t ahead = vv_plans_reach(engine);
    int64_t last = vv_registry_last_time(registry, moving->tenant);
    at = at < VV_TIME_MAX - ahead ? at + ahead : VV_TIME_MAX;
    at = engine->fleet && at < VV_TIME_MAX ? at + VV_FLEET_NOTICE_NS : at;
    at = last > at ? last : at;
    if (at > VV_TIME_MAX - DISTANCE_NS - VV_DAY) {
        return vv_error_set(moving->error, VV_INVALID,
                            "a source has points of the year 2255: measurements that have points "
                            "can't change their class behind these");
    }
    moving->day = vv_time_floor(at + DISTANCE_NS, VV_DAY) + VV_DAY;
    moving->has_day = true;
    return VV_OK;
}

static void take_back(struct moving *moving)
{
    for (size_t i = 0; i < moving->n; i++) {
        if (moving->engine->fleet) { /* others may have heard of it by now */
            (void)!vv_registry_withdraw_move(moving->engine->registry, moving->moved[i].measurement,
                                             moving->moved[i].from_ns, moving->error);
        } else {
            vv_registry_take_back(moving->engine->registry, moving->moved[i].measurement,
                                  moving->moved[i].before);
        }
    }
}

static void tell(struct moving *moving)
{
    for (size_t i = 0; i < moving->n; i++) {
        struct vv_str name =
            vv_registry_measurement_name(moving->engine->registry, moving->moved[i].measurement);
        if (!moving->moved[i].stays) {
            vv_class_names_add(&moving->effect->moved, name);
        }
    }
    int64_t from = moving->moved_from > moving->day ? moving->moved_from : moving->day;
    moving->effect->moved_from = from;
    if (moving->engine->fleet) {
        moving->effect->known_by = vv_fleet_move_known_by(moving->engine->fleet, from);
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
        status = vv_batch_define(batch, VV_REGISTRY_MEASUREMENT, moving->moved[i].measurement);
    }
    status = vv_engine_journal_made(moving->engine, status, batch, moving->error);
    if (status != VV_OK && status != VV_UNKNOWN) {
        take_back(moving);
    } else {
        tell(moving);
    }
    moving->n = 0;
    return status;
}

static void leave(struct moving *moving, uint32_t measurement)
{
    vv_class_names_add(&moving->effect->elsewhere,
                       vv_registry_measurement_name(moving->engine->registry, measurement));
}

static enum vv_status move(struct moving *moving, uint32_t measurement, uint32_t place)
{
    enum vv_status status =
        vv_registry_move(moving->engine->registry, measurement, place, moving->day,
                         &moving->moved[moving->n].before, moving->error);
    if (status == VV_EXISTS) { /* the others are moved all the same */
        leave(moving, measurement);
        return VV_OK;
    }
    if (status != VV_OK) {
        return status;
    }
    moving->moved[moving->n++].measurement = measurement;
    return moving->n == AT_ONCE ? journal(moving) : VV_OK;
}

/* ---- where nodes share the store ---- */

/* Behind whatever is known of it, also what went nowhere. */
static enum vv_status propose(struct moving *moving, uint32_t measurement, uint32_t place,
                              int64_t *from_out)
{
    struct vv_registry *registry = moving->engine->registry;
    struct vv_move moves[VV_MOVES_MAX];
    size_t n = vv_registry_moves(registry, measurement, moves);
    int64_t next = n > 0 ? moves[n - 1].from_ns + VV_DAY : moving->day;
    int64_t now = moving->engine->clock->wall_ns(moving->engine->clock);
    struct vv_move move = {.from_ns = next > moving->day ? next : moving->day,
                           .place = place,
                           .state = VV_MOVE_PROPOSED,
                           .is_own = true};
    enum vv_status status = vv_registry_add_move(registry, measurement, &move, SPARE,
                                                 now - VV_FLEET_IDLE_NS, moving->error);
    if (status == VV_OK) {
        *from_out = move.from_ns;
        moving->moved_from = move.from_ns > moving->moved_from ? move.from_ns : moving->moved_from;
    }
    return status == VV_DONE /* another node's came this moment */
               ? vv_error_set(moving->error, VV_OVERLOAD,
                              "another node changes this class: try again later")
               : status;
}

/* Where its points will lie at last, as this node would have it, from when on, and whether that can
 * still be withdrawn: nobody has asked for it yet, whose clock is not an hour ahead. */
struct intended {
    uint32_t place;
    int64_t from_ns;
    bool is_open;
};

static struct intended intended_of(const struct moving *moving, uint32_t measurement)
{
    struct vv_registry *registry = moving->engine->registry;
    struct vv_move moves[VV_MOVES_MAX];
    struct intended intended = {vv_registry_first_place(registry, measurement), VV_TIME_MIN, false};
    size_t n = vv_registry_moves(registry, measurement, moves);
    int64_t now = moving->engine->clock->wall_ns(moving->engine->clock);
    for (size_t i = 0; i < n; i++) {
        if (moves[i].state != VV_MOVE_WITHDRAWN && moves[i].place != intended.place) {
            int64_t by = vv_fleet_move_known_by(moving->engine->fleet, moves[i].from_ns);
            bool is_open = moves[i].state != VV_MOVE_SETTLED && now < by - DISTANCE_NS;
            intended = (struct intended){moves[i].place, moves[i].from_ns, is_open};
        }
    }
    return intended;
}

static enum vv_status agree_to_move(struct moving *moving, uint32_t measurement, uint32_t wanted)
{
    struct intended intended = intended_of(moving, measurement);
    enum vv_status status = VV_OK;
    int64_t proposed_ns = 0;
    bool is_changed = intended.is_open;
    if (intended.is_open) {
        status = vv_registry_withdraw_move(moving->engine->registry, measurement, intended.from_ns,
                                           moving->error);
        status = status == VV_DONE ? VV_OK : status; /* it is settled by now */
        intended = intended_of(moving, measurement);
    }
    if (status == VV_OK && intended.place != wanted) {
        status = propose(moving, measurement, wanted, &proposed_ns);
        is_changed |= status == VV_OK;
    }
    bool stays = status == VV_EXISTS; /* the others are moved all the same */
    if (stays) {
        leave(moving, measurement);
    }
    if ((status != VV_OK && !stays) || !is_changed) {
        return stays ? VV_OK : status;
    }
    moving->moved[moving->n].measurement = measurement;
    moving->moved[moving->n].from_ns = proposed_ns;
    moving->moved[moving->n++].stays = stays;
    return moving->n == AT_ONCE ? journal(moving) : VV_OK;
}

/* ---- all ---- */

/* Moves one that was made when the class's patterns did not name it and they do now, or the other
 * way round; and what lies farther ahead than it must to an earlier day. */
static enum vv_status look_at(struct moving *moving, uint32_t measurement)
{
    struct vv_registry *registry = moving->engine->registry;
    struct vv_stay stays[VV_STAYS_MAX];
    size_t n = vv_registry_stays(registry, measurement, stays);
    if (n == 0 || vv_registry_measurement_tenant(registry, measurement) != moving->tenant) {
        return VV_OK;
    }
    const struct vv_stay *last = &stays[n - 1];
    bool is_agreed = moving->engine->fleet != NULL;
    uint32_t present = is_agreed ? intended_of(moving, measurement).place : last->place;
    uint32_t wanted = vv_registry_match_class(registry, moving->tenant,
                                              vv_registry_measurement_name(registry, measurement));
    bool is_meant = wanted == moving->class || present == moving->class;
    if (!is_meant || (wanted == present && (is_agreed || n == 1))) {
        return VV_OK;
    }
    enum vv_status status = find_day(moving);
    if (status == VV_OK && is_agreed) {
        return agree_to_move(moving, measurement, wanted);
    }
    bool is_there = wanted == present && last->from <= moving->day;
    return status != VV_OK || is_there ? status : move(moving, measurement, wanted);
}

static void log_moved(const struct moving *moving)
{
    struct vv_registry *registry = moving->engine->registry;
    struct vv_str name = vv_registry_tenant_name(registry, moving->tenant);
    struct vv_str class_name =
        vv_space_class_name(vv_registry_tenant_name(registry, moving->class));
    char quoted[2 * VV_TENANT_NAME_MAX + 3];
    char from[VV_TIME_TEXT_SIZE];
    vv_time_format(moving->effect->moved_from, from);
    vv_log(VV_LOG_INFO, "measurements_moved",
           "tenant=%s class=%.*s measurements=%" PRIu64
           " from=%s message=\"their points of then and later go into the class, or out of it\"",
           vv_log_quote(name.data, name.size, quoted, sizeof quoted), VV_STR_ARG(class_name),
           moving->effect->moved.n, from);
}

enum vv_status vv_engine_move_measurements(struct vv_engine *engine, uint32_t tenant,
                                           uint32_t class, struct vv_class_effect *effect,
                                           struct vv_error *error)
{
    struct vv_registry *registry = engine->registry;
    struct moving moving = {
        .engine = engine, .tenant = tenant, .class = class, .effect = effect, .error = error};
    uint32_t n = vv_registry_measurement_count(registry);
    enum vv_status status = VV_OK;
    for (uint32_t i = 0; i < n && status == VV_OK; i++) {
        status = look_at(&moving, i);
    }
    enum vv_status journaled = journal(&moving);
    if (effect->moved.n > 0) {
        log_moved(&moving);
    }
    return status == VV_OK ? journaled : status;
}
