/* SPDX-License-Identifier: Apache-2.0 */
/*
 * On an embedded store what was to live for longer does until all is built of it that waits for
 * that; then it goes. Marks tell what waits, and points that are only in memory have none yet; so a
 * life ends in two rounds of expiry:
 *
 *   round    nothing that is marked needs it → late points are refused for now, the rest is flushed
 *   next     it is flushed, and still nothing needs it → it ends, and late points are judged by
 * that
 *
 * The turn (engine->lives_turn) is odd between the two. A batch has the one in which it was judged
 * (vv_engine_stage), and one with late points of a tenant of which something was to end in that
 * turn or a later one is not committed: it may have been judged by what is not there any more.
 */
#include "engine/lives.h"

#include "registry/shared.h"
#include "seal/gone.h"
#include "tier/unit.h"

#include <stdlib.h>
#include <string.h>

#define TAKEN_BACK_MAX 10

/* Places of which something lives on: whether something that waits to be sealed or built would be
 * built of less without that. */
struct waiting_place {
    bool lives_on;
    bool needs;
    bool is_built_of; /* there is a tier, and were points */
    struct vv_tiers tiers;
    struct vv_retentions retentions;
    struct vv_reroll_bounds bounds;
};
struct waiting {
    struct vv_engine *engine;
    int64_t now_ns;
    struct waiting_place *places;
    uint32_t n;
    uint32_t n_open; /* that live on and of which nothing is known to need that */
};

static bool is_built_of(struct vv_engine *engine, uint32_t place)
{
    struct vv_account account;
    vv_engine_read_account(engine, vv_registry_owner(engine->registry, place), &account);
    return vv_registry_tiers_built(engine->registry, place).any && account.accepted > 0;
}

/* Marks are many: what holds for all of a place is looked up before. */
static void look_at_places(struct waiting *waiting)
{
    struct vv_engine *engine = waiting->engine;
    struct vv_registry *registry = engine->registry;
    for (uint32_t i = 0; i < waiting->n; i++) {
        uint32_t place = vv_registry_place_of(registry, i);
        bool lives_on = vv_registry_lives_on(registry, i, waiting->now_ns) ||
                        vv_registry_is_ending(registry, i);
        if (!lives_on || place >= waiting->n || waiting->places[place].lives_on) {
            continue;
        }
        waiting->places[place] =
            (struct waiting_place){.lives_on = true,
                                   .is_built_of = is_built_of(engine, place),
                                   .tiers = vv_registry_tiers(registry, place),
                                   .retentions = vv_engine_retentions(engine, place),
                                   .bounds = vv_whole_bounds(engine, place)};
        waiting->n_open++;
    }
}

/* By what is whole when it is due if nothing lives on: a unit that is open is built weeks ahead. */
static bool unit_needs(const struct waiting *waiting, const struct waiting_place *of,
                       enum vv_space tier, int64_t from, int64_t due_ns)
{
    int64_t at = due_ns > waiting->now_ns ? due_ns : waiting->now_ns;
    struct vv_reroll_bounds bounds = of->bounds;
    vv_lives_limit(&bounds, &of->retentions, at);
    return of->tiers.spaces[tier] != VV_REGISTRY_NONE &&
           from < vv_gone_whole_below(&of->tiers, &bounds, tier);
}

/* The unit of a mark, or the raw span; and all that it lies in, which need not be marked yet. */
static bool mark_needs(const struct waiting *waiting, const struct waiting_place *of,
                       const struct vv_mark *mark)
{
    struct vv_registry *registry = waiting->engine->registry;
    int64_t start = mark->key.span_start;
    int64_t raw_ns = of->retentions.raw_ns;
    enum vv_space own;
    uint32_t owner;
    bool is_unit = vv_registry_space_of(registry, mark->key.partition.tenant, &owner, &own);
    bool needs = is_unit ? unit_needs(waiting, of, own, start, mark->due_ns)
                         : raw_ns > 0 && start < waiting->now_ns - raw_ns;
    for (int i = is_unit ? (int)own + 1 : 0; i < VV_SPACES && !needs; i++) {
        int64_t unit_ns = vv_tier_unit_ns_max((enum vv_space)i);
        int64_t from = vv_time_floor(start, unit_ns);
        int64_t wait_ns = vv_lives_due_ns((enum vv_space)i);
        needs = unit_needs(waiting, of, (enum vv_space)i, from, from + unit_ns + wait_ns);
    }
    return needs;
}

static enum vv_status note_waiting(void *context, const struct vv_mark *mark)
{
    struct waiting *waiting = context;
    struct vv_registry *registry = waiting->engine->registry;
    uint32_t place = vv_registry_place_of(registry, mark->key.partition.tenant);
    struct waiting_place *of = place < waiting->n ? &waiting->places[place] : NULL;
    if (!of || !of->lives_on || of->needs || vv_volume_is_marked(registry, mark) ||
        !mark_needs(waiting, of, mark)) {
        return VV_OK;
    }
    of->needs = true;
    return --waiting->n_open == 0 ? VV_DONE : VV_OK;
}

static bool any_lives_on(const struct vv_engine *engine, uint32_t n, int64_t now)
{
    bool any = false;
    for (uint32_t i = 0; i < n && !any; i++) {
        any = vv_registry_lives_on(engine->registry, i, now) ||
              vv_registry_is_ending(engine->registry, i);
    }
    return any;
}

/* Whether nothing is in memory. Who steps it need not flush nothing. */
static bool is_idle(struct vv_engine *engine)
{
    struct vv_head_figures figures;
    vv_head_read_figures(engine->head, &figures);
    return engine->manual && figures.series == 0;
}

bool vv_lives_are_flushed(struct vv_engine *engine)
{
    bool idle = is_idle(engine);
    pthread_mutex_lock(&engine->lock);
    bool is = idle || engine->flush_done >= engine->lives_after;
    pthread_mutex_unlock(&engine->lock);
    return is;
}

/* ---- turns ---- */

/* Whether late points that were judged in a turn may be committed in this one. Who is to end
 * nothing while late points come has to refuse some at last. Under the lock. */
static bool may_come(struct vv_ending *ending, uint64_t turn, uint64_t judged)
{
    bool is_to_end = turn % 2 == 1 && ending->announced == turn;
    bool is_behind = ending->ended == 0 || judged > ending->ended;
    if (is_behind && is_to_end && ending->taken_back < TAKEN_BACK_MAX) {
        ending->taken_back++;
        ending->announced = 0;
        is_to_end = false;
    }
    return is_behind && !is_to_end;
}

bool vv_lives_are_judged(struct vv_engine *engine, const struct vv_batch *batch)
{
    uint64_t turn = atomic_load(&engine->lives_turn);
    int64_t now = engine->clock->wall_ns(engine->clock);
    if ((turn % 2 == 0 && batch->turn == turn) || /* as nearly always */
        !vv_batch_has_before(batch, now - engine->settings.seal_lateness_ns)) {
        return true;
    }
    pthread_mutex_lock(&engine->lock);
    bool may =
        batch->tenant >= engine->n_ending ||
        may_come(&engine->ending[batch->tenant], atomic_load(&engine->lives_turn), batch->turn);
    pthread_mutex_unlock(&engine->lock);
    return may;
}

/* The turns of the place's tenant; NULL: nothing of it was ever to end. Under the lock. */
static struct vv_ending *ending_of(const struct vv_engine *engine, uint32_t place)
{
    uint32_t tenant = vv_registry_owner(engine->registry, place);
    return tenant < engine->n_ending ? &engine->ending[tenant] : NULL;
}

static bool fit(struct vv_engine *engine, uint32_t n)
{
    if (n <= engine->n_ending) {
        return true;
    }
    struct vv_ending *bigger = realloc(engine->ending, n * sizeof *bigger);
    if (bigger) {
        memset(bigger + engine->n_ending, 0, (n - engine->n_ending) * sizeof *bigger);
        engine->ending = bigger;
        engine->n_ending = n;
    }
    return bigger != NULL;
}

/* Whether something is to end in the turn behind this one. Under the lock. */
static bool announce(struct vv_engine *engine, const struct waiting *waiting, uint64_t turn)
{
    bool any = false;
    for (uint32_t place = 0; place < waiting->n; place++) {
        const struct waiting_place *of = &waiting->places[place];
        if (of->lives_on && !of->needs && of->is_built_of) {
            ending_of(engine, place)->announced = turn + 1;
            any = true;
        }
    }
    return any;
}

static bool nothing_is_unswept(struct vv_engine *engine)
{
    return vv_deletions_next(engine->deletions, 0, VV_MARKER_UNSWEPT) == UINT32_MAX;
}

/* Before the flush is requested, so that all that was taken in the turn before is in it. */
static enum vv_status begin_turn(struct vv_engine *engine, const struct waiting *waiting,
                                 uint64_t turn, struct vv_error *error)
{
    if (turn % 2 == 1 || !nothing_is_unswept(engine)) {
        return VV_OK;
    }
    pthread_mutex_lock(&engine->lock);
    bool fits = fit(engine, waiting->n);
    bool begins =
        fits && atomic_load(&engine->lives_turn) == turn && announce(engine, waiting, turn);
    if (begins) {
        atomic_store(&engine->lives_turn, turn + 1);
    }
    pthread_mutex_unlock(&engine->lock);
    if (begins) {
        vv_engine_flush_before(engine);
    }
    return fits ? VV_OK : vv_error_set(error, VV_NO_MEMORY, "out of memory");
}

void vv_lives_changed(struct vv_engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    uint64_t turn = atomic_load(&engine->lives_turn);
    atomic_store(&engine->lives_turn, turn + turn % 2);
    pthread_mutex_unlock(&engine->lock);
}

/* ---- ending ---- */

/* Of what is built of it, when all that was taken has its marks. Under the lock. */
static bool may_end(const struct vv_engine *engine, const struct waiting_place *of, uint32_t place,
                    uint64_t turn)
{
    const struct vv_ending *ending = ending_of(engine, place);
    bool is_announced = turn % 2 == 1 && ending && ending->announced == turn;
    return !of->needs && (!of->is_built_of || is_announced);
}

/* One that is off can't be switched on again until the next round has removed what it had. Under
 * the lock. */
static void end_one(struct vv_engine *engine, uint32_t number, uint64_t turn)
{
    struct vv_ending *ending = ending_of(engine, vv_registry_place_of(engine->registry, number));
    if (ending && ending->announced == turn) {
        *ending = (struct vv_ending){.announced = turn, .ended = turn};
    }
    if (vv_registry_is_ending(engine->registry, number)) {
        engine->expire_after = engine->expire_begun;
    }
    vv_registry_end_life(engine->registry, number);
}

/* Under the lock: what lives on and has time left ends if it may. */
static void end_built(struct vv_engine *engine, const struct waiting *waiting, bool any_may,
                      uint64_t turn)
{
    struct vv_registry *registry = engine->registry;
    for (uint32_t i = 0; i < waiting->n; i++) {
        uint32_t place = vv_registry_place_of(registry, i);
        bool lives_on = vv_registry_lives_on(registry, i, waiting->now_ns);
        if (place >= waiting->n || (!lives_on && !vv_registry_is_ending(registry, i))) {
            continue;
        }
        if (!lives_on || (any_may && may_end(engine, &waiting->places[place], place, turn))) {
            end_one(engine, i, turn);
        }
    }
}

/* What steps are built of that are deleted in part must not end: neither of an order that is taken
 * just now, nor of one that is not swept. Nothing ends if a retention was changed meanwhile. */
static void end_those_built(struct vv_engine *engine, const struct waiting *waiting, uint64_t turn)
{
    bool is_alone = pthread_mutex_trylock(&engine->delete_lock) == 0;
    bool any_may = is_alone && nothing_is_unswept(engine);
    pthread_mutex_lock(&engine->lock);
    if (atomic_load(&engine->lives_turn) == turn) {
        end_built(engine, waiting, any_may, turn);
    }
    pthread_mutex_unlock(&engine->lock);
    if (is_alone) {
        pthread_mutex_unlock(&engine->delete_lock);
    }
}

static enum vv_status end_in(struct vv_engine *engine, uint64_t turn, struct vv_error *error)
{
    uint32_t n = vv_registry_tenant_count(engine->registry);
    int64_t now = engine->clock->wall_ns(engine->clock);
    if (!any_lives_on(engine, n, now) || !vv_lives_are_flushed(engine)) {
        return VV_OK;
    }
    struct waiting waiting = {engine, now, calloc(n, sizeof *waiting.places), n, 0};
    if (!waiting.places) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory");
    }
    look_at_places(&waiting);
    struct vv_store *store = engine->store;
    enum vv_status status =
        store->ops->scan_marks(store, INT64_MAX, NULL, note_waiting, &waiting, error);
    status = status == VV_DONE ? VV_OK : status;
    if (status == VV_OK) {
        end_those_built(engine, &waiting, turn);
        status = begin_turn(engine, &waiting, turn, error);
    }
    free(waiting.places);
    return status;
}

enum vv_status vv_lives_end(struct vv_engine *engine, struct vv_error *error)
{
    if (engine->fleet) {
        return VV_OK;
    }
    uint64_t turn = atomic_load(&engine->lives_turn);
    enum vv_status status = end_in(engine, turn, error);
    bool begins = turn % 2 == 0 && atomic_load(&engine->lives_turn) == turn + 1;
    if (begins && is_idle(engine)) {
        status = end_in(engine, ++turn, error);
    }
    if (turn % 2 == 1) {
        vv_lives_changed(engine);
    }
    return status;
}
