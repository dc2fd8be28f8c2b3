/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tentative plans: nobody could be asked for a source's first plan, so this node's own holds for
 * what is parked, until all have agreed.
 *
 * Taking one: the store confirms that it keeps the plan, then the registry takes it. So a plan that
 * is in the registry or in a record is known to be tentative for as long as it is.
 *
 * The plan of a source may be agreed long ago and yet be tentative, as nobody knows whether others
 * have followed it (doubt.c): asking for the first one says nothing of that. So who settles has
 * just heard the others. Later plans that they tell of a tentative one's source are taken at once,
 * and what is parked is placed by them, but stays.
 *
 * Settling one, once it is agreed as P: the registry takes P, and its readers know that it moves;
 * the record and what others are told of P are confirmed; the store places what is parked by P;
 * the move ends. Where the process ends before the store has done so, its list still has the old
 * plan: what is parked is placed at the next start, before anybody reads. What a failure leaves is
 * tried again, and ends also when the others can't be heard any more: then, and at a start, it is
 * only placed, and settled when they are heard.
 *
 * Where P is learnt from another node before it is asked for again, the move begins in the learning
 * thread, and the storage thread goes on with it: from then on this node may claim to know what
 * others have put where P says.
 */
#include "fleet/fleet_private.h"

#include <stdlib.h>

#define ASK_AT_ONCE 256

static bool is_same_plan(const struct vv_plan *a, const struct vv_plan *b)
{
    return a->from_ns == b->from_ns && vv_plan_divides_alike(a, b);
}

bool vv_fleet_is_tentative(struct vv_fleet *fleet, uint32_t source)
{
    return source < fleet->known.sources.capacity &&
           vv_known_source(&fleet->known, source)->is_tentative;
}

bool vv_fleet_waits_for_plan(struct vv_fleet *fleet, uint32_t source)
{
    pthread_mutex_lock(&fleet->lock);
    bool waits = vv_fleet_is_tentative(fleet, source);
    pthread_mutex_unlock(&fleet->lock);
    return waits;
}

/* Others know nothing of a plan that is tentative. */
static bool mark(struct vv_fleet *fleet, uint32_t source, bool is_tentative)
{
    pthread_mutex_lock(&fleet->lock);
    struct vv_known_source *known = vv_known_source(&fleet->known, source);
    if (known) {
        known->plans = is_tentative ? 0 : known->plans;
        known->is_tentative = is_tentative;
    }
    pthread_mutex_unlock(&fleet->lock);
    return known != NULL;
}

static enum vv_status no_memory(struct vv_error *error)
{
    return vv_error_set(error, VV_NO_MEMORY, "out of memory while agreeing on plans");
}

/* Room for one more item of `size` bytes. */
static bool make_room(void **items, size_t n, size_t *capacity, size_t size)
{
    if (n < *capacity) {
        return true;
    }
    size_t larger = *capacity ? *capacity * 2 : 64;
    void *bigger = realloc(*items, larger * size);
    if (bigger) {
        *items = bigger;
        *capacity = larger;
    }
    return bigger != NULL;
}

/* ---- taking ---- */

enum vv_status vv_fleet_note_pending(struct vv_fleet *fleet, const struct vv_first_plan *plan,
                                     struct vv_error *error)
{
    void *items = fleet->pending;
    bool fits = make_room(&items, fleet->n_pending, &fleet->pending_capacity, sizeof *plan);
    fleet->pending = items;
    if (!fits) {
        return no_memory(error);
    }
    fleet->pending[fleet->n_pending++] = *plan;
    return VV_OK;
}

/* By all plans that are known now: settled, or still tentative, where others only told more. */
static enum vv_status place_with_store(struct vv_fleet *fleet, const struct vv_first_plan *from,
                                       bool is_agreed, struct vv_error *error)
{
    const struct vv_shared_ops *ops = vv_fleet_ops(fleet);
    struct vv_plans plans = vv_registry_source_plans(fleet->registry, from->source);
    return (is_agreed ? ops->settle_plan : ops->place_parked)(
        fleet->store, from->tenant, from->source, plans.plans, plans.n, error);
}

/* Where another plan was learnt meanwhile, all have agreed on that one; nothing is parked yet. */
static enum vv_status take(struct vv_fleet *fleet, const struct vv_first_plan *pending,
                           struct vv_error *error)
{
    pthread_mutex_lock(&fleet->lock);
    struct vv_known_source *known = vv_known_source(&fleet->known, pending->source);
    enum vv_status status = known ? vv_registry_learn_plans(fleet->registry, pending->source, 0,
                                                            &pending->plan, 1, error)
                                  : no_memory(error);
    if (status == VV_OK) {
        known->is_tentative = true;
        known->plans = 0;
    }
    pthread_mutex_unlock(&fleet->lock);
    return status == VV_CORRUPT ? place_with_store(fleet, pending, true, error) : status;
}

enum vv_status vv_fleet_take_pending(struct vv_fleet *fleet, struct vv_error *error)
{
    enum vv_status status = VV_OK;
    while (fleet->n_pending > 0 && status == VV_OK) {
        status = take(fleet, &fleet->pending[fleet->n_pending - 1], error);
        fleet->n_pending -= status == VV_OK;
    }
    return status;
}

/* ---- told by others ---- */

/* Readers of the source wait from now on. */
static enum vv_status begin_told(struct vv_fleet *fleet, const struct vv_fleet_move *move,
                                 struct vv_error *error)
{
    size_t n = atomic_load_explicit(&fleet->n_told_moves, memory_order_relaxed);
    void *items = fleet->told_moves;
    bool fits = make_room(&items, n, &fleet->told_moves_capacity, sizeof *fleet->told_moves);
    fleet->told_moves = items;
    if (!fits) {
        return no_memory(error);
    }
    fleet->told_moves[n] = *move;
    enum vv_status status =
        vv_registry_begin_move(fleet->registry, move->from.source, &move->to, error);
    if (status == VV_OK) {
        atomic_store_explicit(&fleet->n_told_moves, n + 1, memory_order_release);
    }
    return status;
}

static struct vv_first_plan tentative_of(const struct vv_fleet *fleet, uint32_t source,
                                         const struct vv_plans *plans)
{
    return (struct vv_first_plan){.tenant = vv_registry_source_tenant(fleet->registry, source),
                                  .source = source,
                                  .plan = plans->plans[0],
                                  .is_tentative = true};
}

enum vv_status vv_fleet_begin_told_move(struct vv_fleet *fleet, uint32_t source,
                                        const struct vv_plan *to, struct vv_error *error)
{
    struct vv_plans plans = vv_registry_source_plans(fleet->registry, source);
    if (plans.is_moving || is_same_plan(&plans.plans[0], to)) {
        return vv_error_set(error, VV_CORRUPT, "two nodes have told different plans");
    }
    const struct vv_fleet_move move = {.from = tentative_of(fleet, source, &plans), .to = *to};
    return begin_told(fleet, &move, error);
}

enum vv_status vv_fleet_begin_told_growth(struct vv_fleet *fleet, uint32_t source,
                                          struct vv_error *error)
{
    struct vv_plans plans = vv_registry_source_plans(fleet->registry, source);
    if (plans.is_moving) {
        return VV_OK; /* whoever ends the move looks at what has come meanwhile */
    }
    const struct vv_fleet_move move = {
        .from = tentative_of(fleet, source, &plans), .to = plans.plans[0], .is_growth = true};
    return begin_told(fleet, &move, error);
}

bool vv_fleet_has_told_moves(const struct vv_fleet *fleet)
{
    return atomic_load_explicit(&fleet->n_told_moves, memory_order_acquire) > 0;
}

bool vv_fleet_has_moves(const struct vv_fleet *fleet)
{
    return fleet->n_moves > 0 || vv_fleet_has_told_moves(fleet);
}

/* ---- settling ---- */

static bool add_move(struct vv_fleet *fleet, const struct vv_fleet_move *move)
{
    void *items = fleet->moves;
    bool fits = make_room(&items, fleet->n_moves, &fleet->moves_capacity, sizeof *fleet->moves);
    fleet->moves = items;
    if (fits) {
        fleet->moves[fleet->n_moves++] = *move;
    }
    return fits;
}

/* Whether one of the first `n`, that a try before left, is the source's: that one does it all. */
static bool has_move(const struct vv_fleet *fleet, size_t n, uint32_t source)
{
    bool has = false;
    for (size_t i = 0; i < n && !has; i++) {
        has = fleet->moves[i].from.source == source;
    }
    return has;
}

/* Those that are still tentative: what was agreed here meanwhile is settled already, and what is
 * parked for it since then must not be placed again. The round ends, since it has them, too. */
static enum vv_status take_told_moves(struct vv_fleet *fleet, struct vv_error *error)
{
    bool fits = true;
    size_t left = fleet->n_moves;
    pthread_mutex_lock(&fleet->lock);
    size_t n = atomic_load_explicit(&fleet->n_told_moves, memory_order_relaxed);
    for (; n > 0 && fits; n -= fits) {
        const struct vv_fleet_move *told = &fleet->told_moves[n - 1];
        fits = !vv_fleet_is_tentative(fleet, told->from.source) ||
               has_move(fleet, left, told->from.source) || add_move(fleet, told);
    }
    atomic_store_explicit(&fleet->n_told_moves, n, memory_order_release);
    pthread_mutex_unlock(&fleet->lock);
    fleet->asked = fleet->n_asking;
    return fits ? VV_OK : no_memory(error);
}

/* From now on readers wait, unless nothing changes its place. */
static enum vv_status begin_move(struct vv_fleet *fleet, const struct vv_fleet_move *move,
                                 struct vv_error *error)
{
    uint32_t source = move->from.source;
    bool is_moving = vv_registry_source_plans(fleet->registry, source).is_moving;
    if (is_moving || is_same_plan(&move->from.plan, &move->to)) {
        return VV_OK; /* the first: a try before failed behind this */
    }
    pthread_mutex_lock(&fleet->lock);
    enum vv_status status = vv_registry_begin_move(fleet->registry, source, &move->to, error);
    pthread_mutex_unlock(&fleet->lock);
    return status;
}

/* Its record is put with the next confirm, and its plan told, unless it stays tentative. */
static enum vv_status note_agreed(struct vv_fleet *fleet, uint32_t source, bool is_tentative,
                                  struct vv_error *error)
{
    pthread_mutex_lock(&fleet->learning);
    bool noted = vv_fleet_note_learnt(fleet, VV_REGISTRY_SOURCE, source, false);
    pthread_mutex_unlock(&fleet->learning);
    return noted && mark(fleet, source, is_tentative) ? VV_OK : no_memory(error);
}

static bool is_failure(enum vv_status status)
{
    return status == VV_IO || status == VV_FULL;
}

/* Again, when more was learnt meanwhile: readers wait until all of it has been placed. */
static enum vv_status finish_move(struct vv_fleet *fleet, const struct vv_fleet_move *move,
                                  bool settles, struct vv_error *error)
{
    uint32_t source = move->from.source;
    enum vv_status status = VV_OK;
    for (bool ended = false; !ended && status == VV_OK;) {
        size_t n = vv_registry_source_plans(fleet->registry, source).n;
        status = place_with_store(fleet, &move->from, settles, error);
        pthread_mutex_lock(&fleet->lock);
        ended = vv_registry_source_plans(fleet->registry, source).n == n;
        if (status == VV_OK && ended) {
            vv_registry_end_move(fleet->registry, source);
        }
        pthread_mutex_unlock(&fleet->lock);
    }
    return status;
}

static void swap_moves(struct vv_fleet *fleet, size_t a, size_t b)
{
    struct vv_fleet_move move = fleet->moves[a];
    fleet->moves[a] = fleet->moves[b];
    fleet->moves[b] = move;
}

/* Those that fail come first: they hold nobody up. */
static enum vv_status begin_moves(struct vv_fleet *fleet, bool is_current, size_t *failing_out,
                                  struct vv_error *error)
{
    enum vv_status status = VV_OK;
    *failing_out = 0;
    for (size_t i = 0; i < fleet->n_moves; i++) {
        const struct vv_fleet_move *move = &fleet->moves[i];
        enum vv_status begun = begin_move(fleet, move, error);
        if (begun == VV_OK && !move->is_growth) {
            begun = note_agreed(fleet, move->from.source, !is_current, error);
        }
        if (begun != VV_OK) {
            status = begun;
            swap_moves(fleet, i, (*failing_out)++);
        }
    }
    return status;
}

/* What is left waits behind what comes; it is tentative until it has been settled. */
static enum vv_status finish_moves(struct vv_fleet *fleet, bool is_current, bool *failed_out,
                                   struct vv_error *error)
{
    size_t failing;
    enum vv_status status = begin_moves(fleet, is_current, &failing, error);
    enum vv_status confirmed = vv_fleet_confirm(fleet, error);
    bool failed = confirmed != VV_OK;
    status = failed ? confirmed : status;
    while (!failed && fleet->n_moves > failing) {
        size_t last = fleet->n_moves - 1;
        bool settles = is_current && !fleet->moves[last].is_growth;
        enum vv_status finished = finish_move(fleet, &fleet->moves[last], settles, error);
        if (finished == VV_OK) {
            fleet->n_moves--;
        } else {
            status = finished;
            failed = is_failure(finished);
            swap_moves(fleet, last, failing++);
        }
    }
    for (size_t i = 0; i < fleet->n_moves; i++) {
        (void)mark(fleet, fleet->moves[i].from.source, true);
    }
    *failed_out = failed && is_failure(status);
    return status;
}

/* The store's list, in memory of the caller's; NULL when it is empty, or memory is out. */
static struct vv_first_plan *list_tentative(struct vv_fleet *fleet, size_t *n_out,
                                            enum vv_status *status_out)
{
    const struct vv_shared_ops *ops = vv_fleet_ops(fleet);
    struct vv_first_plan none;
    *n_out = 0;
    *status_out = VV_OK;
    size_t room = ops->tentative(fleet->store, &none, 0);
    struct vv_first_plan *plans = room > 0 ? calloc(room, sizeof *plans) : NULL;
    if (room > 0 && !plans) {
        *status_out = VV_NO_MEMORY;
    }
    if (plans) {
        size_t n = ops->tentative(fleet->store, plans, room);
        *n_out = n < room ? n : room;
    }
    return plans;
}

/* A round asks for each once. */
static enum vv_status begin_round(struct vv_fleet *fleet)
{
    enum vv_status status;
    fleet->asked = 0;
    free(fleet->asking);
    fleet->asking = list_tentative(fleet, &fleet->n_asking, &status);
    return status;
}

static enum vv_status ask_some(struct vv_fleet *fleet, struct vv_error *error)
{
    struct vv_first_plan agreed[ASK_AT_ONCE];
    size_t left = fleet->n_asking - fleet->asked;
    size_t n = left < ASK_AT_ONCE ? left : ASK_AT_ONCE;
    const struct vv_first_plan *asked = &fleet->asking[fleet->asked];
    memcpy(agreed, asked, n * sizeof *agreed);
    enum vv_status status = vv_fleet_ops(fleet)->agree_plans(fleet->store, agreed, n, error);
    size_t before = fleet->n_moves;
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        const struct vv_fleet_move move = {asked[i], agreed[i].plan, false};
        bool waits = agreed[i].is_tentative || has_move(fleet, before, asked[i].source);
        if (!waits && !add_move(fleet, &move)) {
            status = no_memory(error);
        }
    }
    fleet->asked += n; /* those of a failure come again in the next round */
    return status;
}

/* The next of a round. */
static enum vv_status ask(struct vv_fleet *fleet, struct vv_error *error)
{
    if (fleet->asked == fleet->n_asking && begin_round(fleet) != VV_OK) {
        return no_memory(error);
    }
    return fleet->n_asking > 0 ? ask_some(fleet, error) : VV_OK;
}

enum vv_status vv_fleet_settle(struct vv_fleet *fleet, bool is_current, bool *failed_out,
                               struct vv_error *error)
{
    enum vv_status asked = VV_OK;
    enum vv_status status = VV_OK;
    *failed_out = false;
    if (vv_fleet_has_told_moves(fleet)) {
        asked = take_told_moves(fleet, error);
    } else if (is_current) {
        asked = ask(fleet, error);
    }
    if (fleet->n_moves > 0) {
        status = finish_moves(fleet, is_current, failed_out, error);
    }
    if (status != VV_OK || asked != VV_OK) {
        return status != VV_OK ? status : asked;
    }
    return !is_current || fleet->asked == fleet->n_asking ? VV_DONE : VV_OK;
}

/* ---- at start ---- */

/* Placed before anybody reads, but not settled: what follows the plan may have been told since
 * then, which this process has not heard yet. */
static enum vv_status load_agreed(struct vv_fleet *fleet, const struct vv_first_plan *tentative,
                                  const struct vv_plan *agreed, struct vv_error *error)
{
    struct vv_fleet_move move = {*tentative, *agreed, false};
    if (!mark(fleet, tentative->source, true)) {
        return no_memory(error);
    }
    if (place_with_store(fleet, tentative, false, NULL) == VV_OK) {
        move.from.plan = *agreed;
    }
    return add_move(fleet, &move) ? begin_move(fleet, &move, error) : no_memory(error);
}

static enum vv_status load(struct vv_fleet *fleet, const struct vv_first_plan *tentative,
                           struct vv_error *error)
{
    uint32_t source = tentative->source;
    if (vv_registry_source_id(fleet->registry, source).size == 0) {
        return VV_OK; /* the journal lost it */
    }
    struct vv_plans plans = vv_registry_source_plans(fleet->registry, source);
    if (plans.n > 0 && !is_same_plan(&plans.plans[0], &tentative->plan)) {
        return load_agreed(fleet, tentative, &plans.plans[0], error);
    }
    enum vv_status status =
        vv_registry_learn_plans(fleet->registry, source, 0, &tentative->plan, 1, error);
    if (status == VV_OK && !mark(fleet, source, true)) {
        status = no_memory(error);
    }
    if (status == VV_OK && plans.n > 1 &&
        place_with_store(fleet, tentative, false, NULL) != VV_OK) {
        pthread_mutex_lock(&fleet->lock);
        status = vv_fleet_begin_told_growth(fleet, source, error);
        pthread_mutex_unlock(&fleet->lock);
    }
    return status;
}

enum vv_status vv_fleet_load_tentative(struct vv_fleet *fleet, struct vv_error *error)
{
    size_t n;
    enum vv_status status;
    struct vv_first_plan *plans = list_tentative(fleet, &n, &status);
    if (status != VV_OK) {
        return no_memory(error);
    }
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        status = load(fleet, &plans[i], error);
    }
    free(plans);
    return status;
}
