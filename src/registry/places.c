/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places: where a measurement's points lie, by their time. The first one is settled when it is
 * made, or agreed on; a move takes those from a time on to another one. Looked up without a lock:
 * the list of moves is never changed, another one takes its place.
 */
#include "registry/registry_private.h"
#include "registry/shared.h"

uint32_t vv_registry_first_place(struct vv_registry *registry, uint32_t number)
{
    struct vv_measurement *measurement = vv_measurement_at(registry, number);
    return measurement ? atomic_load_explicit(&measurement->place, memory_order_acquire)
                       : VV_REGISTRY_NONE;
}

bool vv_registry_is_placed(struct vv_registry *registry, uint32_t number)
{
    struct vv_measurement *measurement = vv_measurement_at(registry, number);
    return measurement && atomic_load_explicit(&measurement->is_placed, memory_order_acquire);
}

bool vv_registry_set_place(struct vv_registry *registry, uint32_t number, uint32_t place)
{
    struct vv_measurement *measurement = vv_measurement_at(registry, number);
    if (!measurement) {
        return true;
    }
    pthread_mutex_lock(&registry->metrics.lock);
    bool is_new = !atomic_load_explicit(&measurement->is_placed, memory_order_relaxed);
    if (is_new) {
        vv_measurement_place(registry, measurement, place, true);
        vv_state_change(&measurement->state);
    }
    bool agrees = vv_registry_first_place(registry, number) == place;
    pthread_mutex_unlock(&registry->metrics.lock);
    return agrees;
}

void vv_registry_want_place(struct vv_registry *registry, uint32_t number)
{
    struct vv_measurement *measurement = vv_measurement_at(registry, number);
    if (measurement) {
        atomic_store_explicit(&measurement->wants_place, true, memory_order_release);
    }
}

bool vv_registry_wants_place(struct vv_registry *registry, uint32_t number)
{
    struct vv_measurement *measurement = vv_measurement_at(registry, number);
    return measurement && atomic_load_explicit(&measurement->wants_place, memory_order_acquire);
}

uint32_t vv_registry_next_unplaced(struct vv_registry *registry, uint32_t from)
{
    bool has_any = atomic_load_explicit(&registry->n_unplaced, memory_order_relaxed) > 0;
    uint32_t end = has_any ? vv_registry_measurement_count(registry) : 0;
    for (uint32_t i = from; i < end; i++) {
        if (vv_measurement_at(registry, i) && !vv_registry_is_placed(registry, i)) {
            return i;
        }
    }
    return VV_REGISTRY_NONE;
}

size_t vv_registry_places(struct vv_registry *registry, uint32_t tenant,
                          uint32_t places_out[VV_PLACES_MAX])
{
    places_out[0] = tenant;
    return 1 + vv_registry_classes(registry, tenant, places_out + 1);
}

/* ---- stays ---- */

static const struct vv_moves no_moves = {0};

static const struct vv_moves *moves_of(const struct vv_measurement *measurement)
{
    const struct vv_moves *moves = atomic_load_explicit(&measurement->moves, memory_order_acquire);
    return moves ? moves : &no_moves;
}

/* Those that are settled, and go anywhere else. */
static size_t stays_of(struct vv_measurement *measurement, const struct vv_moves *moves,
                       struct vv_stay stays_out[VV_STAYS_MAX])
{
    size_t n = 1;
    stays_out[0] = (struct vv_stay){atomic_load_explicit(&measurement->place, memory_order_acquire),
                                    INT64_MIN, INT64_MAX};
    for (size_t i = 0; i < moves->n; i++) {
        const struct vv_move *move = &moves->items[i];
        if (move->state == VV_MOVE_SETTLED && move->place != stays_out[n - 1].place &&
            n < VV_STAYS_MAX) {
            stays_out[n - 1].to = move->from_ns;
            stays_out[n++] = (struct vv_stay){move->place, move->from_ns, INT64_MAX};
        }
    }
    return n;
}

struct vv_stay vv_registry_stay(struct vv_registry *registry, uint32_t number, int64_t time)
{
    struct vv_measurement *measurement = vv_measurement_at(registry, number);
    struct vv_stay stays[VV_STAYS_MAX];
    if (!measurement) {
        return (struct vv_stay){VV_REGISTRY_NONE, INT64_MIN, INT64_MAX};
    }
    size_t n = stays_of(measurement, moves_of(measurement), stays);
    while (n > 1 && stays[n - 1].from > time) {
        n--;
    }
    return stays[n - 1];
}

size_t vv_registry_stays(struct vv_registry *registry, uint32_t number,
                         struct vv_stay stays_out[VV_STAYS_MAX])
{
    struct vv_measurement *measurement = vv_measurement_at(registry, number);
    return measurement ? stays_of(measurement, moves_of(measurement), stays_out) : 0;
}

bool vv_registry_stays_in(struct vv_registry *registry, uint32_t number, uint32_t place,
                          int64_t from, int64_t to)
{
    struct vv_stay stays[VV_STAYS_MAX];
    size_t n = vv_registry_stays(registry, number, stays);
    bool stays_there = false;
    for (size_t i = 0; i < n; i++) {
        stays_there |= stays[i].place == place && stays[i].from < to && stays[i].to > from;
    }
    return stays_there;
}

uint32_t vv_registry_place_named(struct vv_registry *registry, uint32_t tenant, struct vv_str name,
                                 int64_t time)
{
    uint32_t measurement = vv_measurement_find(registry, tenant, name);
    return measurement != VV_REGISTRY_NONE ? vv_registry_stay(registry, measurement, time).place
                                           : vv_registry_match_class(registry, tenant, name);
}

/* ---- moves ---- */

static bool is_agreeing(const struct vv_move *moves, size_t n)
{
    bool is_open = false;
    for (size_t i = 0; i < n; i++) {
        is_open |= moves[i].state != VV_MOVE_SETTLED;
    }
    return is_open;
}

enum vv_status vv_measurement_set_moves(struct vv_registry *registry,
                                        struct vv_measurement *measurement,
                                        const struct vv_move *moves, size_t n)
{
    struct vv_moves *kept = NULL;
    bool was_agreeing = is_agreeing(moves_of(measurement)->items, moves_of(measurement)->n);
    if (n > 0) {
        kept = vv_registry_keep(registry, sizeof *kept + n * sizeof kept->items[0]);
        if (!kept) {
            return VV_NO_MEMORY;
        }
        kept->n = n;
        memcpy(kept->items, moves, n * sizeof kept->items[0]);
    }
    atomic_store_explicit(&measurement->moves, kept, memory_order_release);
    if (is_agreeing(moves, n) != was_agreeing) {
        atomic_fetch_add_explicit(&registry->n_agreeing, was_agreeing ? UINT32_MAX : 1,
                                  memory_order_relaxed);
    }
    return VV_OK;
}

size_t vv_measurement_moves(struct vv_measurement *measurement,
                            struct vv_move moves_out[VV_MOVES_MAX])
{
    const struct vv_moves *moves = moves_of(measurement);
    for (size_t i = 0; i < moves->n; i++) {
        moves_out[i] = moves->items[i];
    }
    return moves->n;
}

bool vv_moves_are_good(const struct vv_move *moves, size_t n)
{
    bool are_good = n < VV_MOVES_MAX;
    for (size_t i = 0; i < n && are_good; i++) {
        are_good = moves[i].from_ns > VV_TIME_MIN && moves[i].from_ns <= VV_TIME_MAX &&
                   moves[i].from_ns % VV_DAY == 0 && moves[i].state <= VV_MOVE_WITHDRAWN &&
                   (i == 0 || moves[i].from_ns > moves[i - 1].from_ns);
    }
    return are_good;
}

static enum vv_status too_often(struct vv_error *error)
{
    return vv_error_set(error, VV_EXISTS, "it has changed its class %d times, which is the limit",
                        VV_STAYS_MAX - 1);
}

/* Those that begin before `from_ns` stay, and this one behind them where it goes anywhere else. */
static size_t add_move(struct vv_measurement *measurement, struct vv_move *moves, size_t n,
                       struct vv_move added)
{
    while (n > 0 && moves[n - 1].from_ns >= added.from_ns) {
        n--;
    }
    uint32_t before = n > 0 ? moves[n - 1].place
                            : atomic_load_explicit(&measurement->place, memory_order_relaxed);
    if (before != added.place) {
        moves[n++] = added;
    }
    return n;
}

enum vv_status vv_registry_move(struct vv_registry *registry, uint32_t number, uint32_t place,
                                int64_t from_ns, const struct vv_moves **before_out,
                                struct vv_error *error)
{
    struct vv_measurement *measurement = vv_measurement_at(registry, number);
    struct vv_move moves[VV_MOVES_MAX];
    if (!measurement) {
        return vv_error_set(error, VV_NOT_FOUND, "there is no such measurement");
    }
    enum vv_status status = vv_registry_check_room(registry, error);
    if (status != VV_OK) {
        return status;
    }
    pthread_mutex_lock(&registry->metrics.lock);
    *before_out = atomic_load_explicit(&measurement->moves, memory_order_relaxed);
    size_t n = vv_measurement_moves(measurement, moves);
    n = add_move(measurement, moves, n, (struct vv_move){from_ns, place, VV_MOVE_SETTLED, false});
    bool is_too_often = n == VV_STAYS_MAX;
    status = is_too_often ? VV_EXISTS : vv_measurement_set_moves(registry, measurement, moves, n);
    if (status == VV_OK) {
        vv_state_change(&measurement->state);
    }
    pthread_mutex_unlock(&registry->metrics.lock);
    if (is_too_often) {
        return too_often(error);
    }
    return status == VV_OK ? VV_OK : vv_error_set(error, status, "out of memory: try again later");
}

void vv_registry_take_back(struct vv_registry *registry, uint32_t number,
                           const struct vv_moves *before)
{
    struct vv_measurement *measurement = vv_measurement_at(registry, number);
    if (measurement) {
        pthread_mutex_lock(&registry->metrics.lock);
        atomic_store_explicit(&measurement->moves, before, memory_order_release);
        vv_state_change(&measurement->state);
        pthread_mutex_unlock(&registry->metrics.lock);
    }
}

/* ---- moves that nodes agree on ---- */

size_t vv_registry_moves(struct vv_registry *registry, uint32_t number,
                         struct vv_move moves_out[VV_MOVES_MAX])
{
    struct vv_measurement *measurement = vv_measurement_at(registry, number);
    return measurement ? vv_measurement_moves(measurement, moves_out) : 0;
}

size_t vv_registry_places_of(struct vv_registry *registry, uint32_t number,
                             uint32_t places_out[VV_MOVES_MAX])
{
    struct vv_move moves[VV_MOVES_MAX];
    size_t n = vv_registry_moves(registry, number, moves);
    places_out[0] = vv_registry_first_place(registry, number);
    for (size_t i = 0; i < n; i++) {
        places_out[1 + i] = moves[i].place;
    }
    return 1 + n;
}

/* The oldest one that is settled and goes nowhere, from before then: whether others do is not known
 * behind one that is not settled. */
static size_t drop_idle(struct vv_measurement *measurement, struct vv_move *moves, size_t n,
                        int64_t idle_ns)
{
    uint32_t place = atomic_load_explicit(&measurement->place, memory_order_relaxed);
    for (size_t i = 0; i < n && moves[i].state == VV_MOVE_SETTLED && moves[i].from_ns < idle_ns;
         i++) {
        if (moves[i].place == place) {
            memmove(&moves[i], &moves[i + 1], (n - i - 1) * sizeof *moves);
            return n - 1;
        }
        place = moves[i].place;
    }
    return n;
}

/* Those that go anywhere else, or may. */
static size_t count_changes(struct vv_measurement *measurement, const struct vv_move *moves,
                            size_t n)
{
    uint32_t place = atomic_load_explicit(&measurement->place, memory_order_relaxed);
    size_t changes = 0;
    for (size_t i = 0; i < n; i++) {
        bool is_settled = moves[i].state == VV_MOVE_SETTLED;
        changes += is_settled ? moves[i].place != place : moves[i].state != VV_MOVE_WITHDRAWN;
        place = is_settled ? moves[i].place : place;
    }
    return changes;
}

/* Among the others by its time; n + 1 of them, n where there is one of that time already. */
static size_t insert_move(struct vv_move *moves, size_t n, const struct vv_move *added)
{
    size_t at = n;
    while (at > 0 && moves[at - 1].from_ns >= added->from_ns) {
        at--;
    }
    if (at < n && moves[at].from_ns == added->from_ns) {
        return n;
    }
    memmove(&moves[at + 1], &moves[at], (n - at) * sizeof *moves);
    moves[at] = *added;
    return n + 1;
}

static enum vv_status change_moves(struct vv_registry *registry, struct vv_measurement *measurement,
                                   const struct vv_move *moves, size_t n, struct vv_error *error)
{
    enum vv_status status = vv_measurement_set_moves(registry, measurement, moves, n);
    if (status != VV_OK) {
        return vv_error_set(error, status, "out of memory: try again later");
    }
    vv_state_change(&measurement->state);
    return VV_OK;
}

enum vv_status vv_registry_add_move(struct vv_registry *registry, uint32_t number,
                                    const struct vv_move *move, size_t spare, int64_t idle_ns,
                                    struct vv_error *error)
{
    struct vv_measurement *measurement = vv_measurement_at(registry, number);
    struct vv_move moves[VV_MOVES_MAX];
    if (!measurement || !vv_moves_are_good(move, 1)) {
        return vv_error_set(error, VV_INVALID, "no measurement can be moved to that time");
    }
    enum vv_status status = vv_registry_check_room(registry, error);
    if (status != VV_OK) {
        return status;
    }
    pthread_mutex_lock(&registry->metrics.lock);
    size_t before = vv_measurement_moves(measurement, moves);
    size_t n = insert_move(moves, before, move);
    if (n == before) {
        status = VV_DONE;
    } else {
        n = n == VV_MOVES_MAX ? drop_idle(measurement, moves, n, idle_ns) : n;
        bool is_full = count_changes(measurement, moves, n) + spare >= VV_STAYS_MAX;
        status = n == VV_MOVES_MAX || is_full ? too_often(error) : VV_OK;
    }
    if (status == VV_OK) {
        status = change_moves(registry, measurement, moves, n, error);
    }
    pthread_mutex_unlock(&registry->metrics.lock);
    return status;
}

/* The first of the moves of this time whose state is one of those (bits) becomes as `after` says;
 * with NULL it is withdrawn. VV_DONE if there is none. */
static enum vv_status change_one(struct vv_registry *registry, uint32_t number, int64_t from_ns,
                                 unsigned states, const struct vv_move *after,
                                 struct vv_error *error)
{
    struct vv_measurement *measurement = vv_measurement_at(registry, number);
    struct vv_move moves[VV_MOVES_MAX];
    if (!measurement) {
        return VV_DONE;
    }
    pthread_mutex_lock(&registry->metrics.lock);
    enum vv_status status = VV_DONE;
    size_t n = vv_measurement_moves(measurement, moves);
    for (size_t i = 0; i < n && status == VV_DONE; i++) {
        if (moves[i].from_ns != from_ns || !(states & 1U << moves[i].state)) {
            continue;
        }
        if (after) {
            bool is_own = moves[i].is_own || after->is_own;
            moves[i] = *after;
            moves[i].is_own = is_own;
        } else {
            moves[i].state = VV_MOVE_WITHDRAWN;
        }
        status = change_moves(registry, measurement, moves, n, error);
    }
    pthread_mutex_unlock(&registry->metrics.lock);
    return status;
}

enum vv_status vv_registry_change_move(struct vv_registry *registry, uint32_t number,
                                       enum vv_move_state before, const struct vv_move *move,
                                       struct vv_error *error)
{
    return change_one(registry, number, move->from_ns, 1U << before, move, error);
}

enum vv_status vv_registry_withdraw_move(struct vv_registry *registry, uint32_t number,
                                         int64_t from_ns, struct vv_error *error)
{
    const unsigned open = 1U << VV_MOVE_PROPOSED | 1U << VV_MOVE_TOLD | 1U << VV_MOVE_SURE;
    return change_one(registry, number, from_ns, open, NULL, error);
}

uint32_t vv_registry_next_agreeing(struct vv_registry *registry, uint32_t from)
{
    bool has_any = atomic_load_explicit(&registry->n_agreeing, memory_order_relaxed) > 0;
    uint32_t end = has_any ? vv_registry_measurement_count(registry) : 0;
    for (uint32_t i = from; i < end; i++) {
        struct vv_measurement *measurement = vv_measurement_at(registry, i);
        const struct vv_moves *moves = measurement ? moves_of(measurement) : &no_moves;
        if (is_agreeing(moves->items, moves->n)) {
            return i;
        }
    }
    return VV_REGISTRY_NONE;
}

int64_t vv_registry_waits_from(struct vv_registry *registry, uint32_t number, int64_t until_ns)
{
    bool has_any = atomic_load_explicit(&registry->n_agreeing, memory_order_relaxed) > 0;
    struct vv_measurement *measurement = has_any ? vv_measurement_at(registry, number) : NULL;
    bool is_placed = measurement && vv_registry_is_placed(registry, number);
    const struct vv_moves *moves = is_placed ? moves_of(measurement) : &no_moves;
    for (size_t i = 0; i < moves->n && moves->items[i].from_ns <= until_ns; i++) {
        if (moves->items[i].state != VV_MOVE_SETTLED) {
            return moves->items[i].from_ns;
        }
    }
    return 0;
}

/* ---- retentions of all ---- */

/* Where nodes share the store, what was put before a retention was made shorter is hidden, and may
 * be there for as long as it was to be. */
static int64_t longest_of_place(struct vv_registry *registry, uint32_t place)
{
    int64_t retention_ns = vv_registry_retention(registry, place);
    struct vv_whole whole = vv_registry_whole(registry, place);
    for (size_t i = 0; i < whole.n_shorter && vv_registry_is_shared(registry); i++) {
        retention_ns = vv_retention_longer(retention_ns, whole.shorter[i].before_ns);
    }
    return retention_ns;
}

int64_t vv_registry_longest_retention(struct vv_registry *registry, uint32_t tenant)
{
    uint32_t places[VV_PLACES_MAX];
    size_t n = vv_registry_places(registry, tenant, places);
    int64_t longest_ns = longest_of_place(registry, tenant);
    for (size_t i = 1; i < n; i++) {
        longest_ns = vv_retention_longer(longest_ns, longest_of_place(registry, places[i]));
    }
    return longest_ns;
}

/* An eighth of a retention: what expires at once is that much of it. */
static int64_t eighth_of(int64_t retention_ns, int64_t least_ns)
{
    int64_t eighth_ns = retention_ns / 8;
    return eighth_ns > 0 && eighth_ns < least_ns ? least_ns : eighth_ns;
}

int64_t vv_registry_bucket_max(struct vv_registry *registry, uint32_t tenant)
{
    uint32_t places[VV_PLACES_MAX];
    size_t n = vv_registry_places(registry, tenant, places);
    int64_t most_ns = eighth_of(vv_registry_retention(registry, tenant), VV_BUCKET_NS_MIN);
    for (size_t i = 1; i < n; i++) {
        int64_t class_ns = eighth_of(vv_registry_retention(registry, places[i]), VV_DAY);
        bool is_less = class_ns > 0 && (most_ns == 0 || class_ns < most_ns);
        most_ns = is_less ? class_ns : most_ns;
    }
    return most_ns;
}
