/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves: from a day on the points of a measurement lie in another place. What is settled stands in
 * the table of places, by measurement and day: who asks first has chosen, and asks with what it is
 * for. So all agree; what has to hold beside that is that whoever stores a point of then has asked.
 *
 *   day - reach - notice   nobody who has not been for the move by then is
 *   day - reach            points of then may come
 *
 * A node is for a move when it knows of it before the first of these, can be sure that all others
 * can know of it, too (what it proposed itself is confirmed; what it learnt was), and all know the
 * class. So whoever has been heard by others, and heard them, within the notice before it stores a
 * point of then knows of every move that anybody may be for, and has asked for it before
 * (vv_fleet_check_moves); what it does not know of nobody is for. Who learns of one later is
 * against it, as is who has points of then already (by a wrong clock, or a farther future that was
 * accepted once): it asks at once, for where they were before. Who is away with such points can't.
 */
#include "fleet/fleet_private.h"

#include "base/log.h"

#define AGAIN_NS (30 * VV_SECOND) /* after a failure; there is a day for it */
#define STEP_NS  (2 * VV_SECOND)  /* a step ends when it has taken so long */
#define AT_ONCE  64

static int64_t earlier(int64_t time_ns, int64_t by_ns)
{
    int64_t difference;
    return __builtin_sub_overflow(time_ns, by_ns, &difference) ? INT64_MIN : difference;
}

int64_t vv_fleet_move_known_by(const struct vv_fleet *fleet, int64_t from_ns)
{
    return earlier(earlier(from_ns, fleet->reach_ns), VV_FLEET_NOTICE_NS);
}

static int64_t later(int64_t time_ns, int64_t by_ns)
{
    int64_t sum;
    return __builtin_add_overflow(time_ns, by_ns, &sum) ? INT64_MAX : sum;
}

int64_t vv_fleet_moves_known_until(struct vv_fleet *fleet, int64_t known_until_ns)
{
    int64_t until = later(known_until_ns, VV_FLEET_NOTICE_NS - VV_CLOCKS_DIFFER_NS);
    int64_t ordinary = later(fleet->clock->wall_ns(fleet->clock), fleet->reach_ns);
    return until > ordinary ? INT64_MAX : until; /* against what begins later it has points */
}

/* One of a measurement. */
struct moved {
    uint32_t measurement;
    struct vv_move move;
};

/* What is looked at once. */
struct looking {
    struct vv_fleet *fleet;
    int64_t now;
    int64_t until;    /* what begins by then is due */
    int64_t stop_ns;  /* monotonic: what is left then is left for the next time */
    bool has_refused; /* something can't be taken here yet */
    bool did;
    uint32_t tenant; /* whose last point was looked for */
    int64_t last;
    struct vv_error *error;
};

/* Its record is put with the next confirm. */
static enum vv_status change(struct looking *looking, const struct moved *moved,
                             enum vv_move_state state)
{
    struct vv_fleet *fleet = looking->fleet;
    struct vv_move to = moved->move;
    to.state = state;
    pthread_mutex_lock(&fleet->learning);
    enum vv_status status = vv_registry_change_move(fleet->registry, moved->measurement,
                                                    moved->move.state, &to, looking->error);
    bool is_changed = status == VV_OK;
    if (is_changed &&
        !vv_fleet_note_learnt(fleet, VV_REGISTRY_MEASUREMENT, moved->measurement, false)) {
        status = vv_error_set(looking->error, VV_NO_MEMORY, "out of memory while moving");
    }
    pthread_mutex_unlock(&fleet->learning);
    looking->did |= is_changed;
    return status == VV_DONE ? VV_OK : status; /* changed meanwhile: the next time */
}

static bool is_over(const struct looking *looking)
{
    struct vv_clock *clock = looking->fleet->clock;
    return clock->monotonic_ns(clock) >= looking->stop_ns;
}

/* ---- telling ---- */

static size_t find_proposed(struct vv_fleet *fleet, struct moved found_out[AT_ONCE])
{
    size_t n = 0;
    for (uint32_t i = vv_registry_next_agreeing(fleet->registry, 0);
         i != VV_REGISTRY_NONE && n < AT_ONCE;
         i = vv_registry_next_agreeing(fleet->registry, i + 1)) {
        struct vv_move moves[VV_MOVES_MAX];
        size_t n_moves = vv_registry_moves(fleet->registry, i, moves);
        for (size_t k = 0; k < n_moves && n < AT_ONCE; k++) {
            if (moves[k].state == VV_MOVE_PROPOSED) {
                found_out[n++] = (struct moved){i, moves[k]};
            }
        }
    }
    return n;
}

/* Whatever was told is in the store, for all to see. */
static bool is_all_told(struct vv_fleet *fleet)
{
    struct vv_parked parked;
    vv_fleet_ops(fleet)->parked(fleet->store, &parked);
    return parked.n_told == 0 && fleet->n_unconfirmed == 0;
}

static enum vv_status tell_some(struct looking *looking, bool *more_out)
{
    struct vv_fleet *fleet = looking->fleet;
    struct moved proposed[AT_ONCE];
    size_t n = find_proposed(fleet, proposed);
    enum vv_status status = VV_OK;
    *more_out = n == AT_ONCE;
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        status =
            vv_fleet_tell_move(fleet, proposed[i].measurement, &proposed[i].move, looking->error);
    }
    if (n > 0 && status == VV_OK) {
        status = vv_fleet_confirm(fleet, looking->error);
    }
    bool are_told = status == VV_OK && is_all_told(fleet);
    *more_out = *more_out && are_told;
    for (size_t i = 0; i < n && are_told && status == VV_OK; i++) {
        status = change(looking, &proposed[i], VV_MOVE_TOLD);
    }
    return status;
}

static enum vv_status tell_proposed(struct looking *looking)
{
    bool more = true;
    enum vv_status status = VV_OK;
    while (more && status == VV_OK && !is_over(looking)) {
        status = tell_some(looking, &more);
    }
    return status;
}

/* ---- being for it, or against it ---- */

/* Of any source of the tenant, of which this node has points. */
static int64_t last_point(struct looking *looking, uint32_t tenant)
{
    if (tenant != looking->tenant) {
        looking->tenant = tenant;
        looking->last = vv_registry_last_time(looking->fleet->registry, tenant);
    }
    return looking->last;
}

static enum vv_status decide(struct looking *looking, const struct moved *moved)
{
    struct vv_registry *registry = looking->fleet->registry;
    const struct vv_move *move = &moved->move;
    uint32_t tenant = vv_registry_measurement_tenant(registry, moved->measurement);
    bool is_known = move->place == tenant || (vv_registry_class_is_told(registry, move->place) &&
                                              vv_registry_class_is_ready(registry, move->place));
    bool is_early = looking->now < vv_fleet_move_known_by(looking->fleet, move->from_ns);
    if (move->state != VV_MOVE_TOLD || !is_early || !is_known) {
        return VV_OK;
    }
    return change(looking, moved,
                  last_point(looking, tenant) < move->from_ns ? VV_MOVE_SURE : VV_MOVE_WITHDRAWN);
}

static enum vv_status decide_all(struct looking *looking)
{
    struct vv_registry *registry = looking->fleet->registry;
    enum vv_status status = VV_OK;
    for (uint32_t i = vv_registry_next_agreeing(registry, 0);
         i != VV_REGISTRY_NONE && status == VV_OK; i = vv_registry_next_agreeing(registry, i + 1)) {
        struct vv_move moves[VV_MOVES_MAX];
        size_t n = vv_registry_moves(registry, i, moves);
        for (size_t k = 0; k < n && status == VV_OK; k++) {
            status = decide(looking, &(struct moved){i, moves[k]});
        }
    }
    return status;
}

/* ---- asking ---- */

struct asking {
    struct looking *looking;
    struct moved moved[AT_ONCE];
    struct vv_place_wish wishes[AT_ONCE];
    size_t n;
    uint64_t n_moved;
    uint64_t n_stayed;
};

static bool is_due(const struct looking *looking, const struct vv_move *move)
{
    return move->state == VV_MOVE_WITHDRAWN || move->from_ns <= looking->until ||
           looking->now >= vv_fleet_move_known_by(looking->fleet, move->from_ns);
}

static struct vv_place_wish wish_of(const struct looking *looking, const struct moved *moved)
{
    struct vv_registry *registry = looking->fleet->registry;
    uint32_t tenant = vv_registry_measurement_tenant(registry, moved->measurement);
    uint32_t before = vv_registry_stay(registry, moved->measurement, moved->move.from_ns - 1).place;
    uint32_t place = moved->move.state == VV_MOVE_SURE ? moved->move.place : before;
    struct vv_str class = vv_space_class_name(vv_registry_tenant_name(registry, place));
    struct vv_place_wish wish = {.from_ns = moved->move.from_ns,
                                 .tenant = vv_registry_tenant_name(registry, tenant),
                                 .measurement =
                                     vv_registry_measurement_name(registry, moved->measurement)};
    memcpy(wish.class_name, class.data, class.size);
    return wish;
}

/* Once: it is asked for again all the time. */
static void log_waits(struct vv_fleet *fleet, const struct vv_error *why)
{
    char text[600];
    if (!fleet->move_waits_logged) {
        fleet->move_waits_logged = true;
        vv_log(VV_LOG_ERROR, "move_waits", "message=%s",
               vv_log_quote(why->message, strlen(why->message), text, sizeof text));
    }
}

/* A class that is not known here holds up that measurement only. */
static enum vv_status take_agreed(struct asking *asking, const struct moved *moved,
                                  const struct vv_place_wish *agreed)
{
    struct looking *looking = asking->looking;
    struct moved settled = *moved;
    uint32_t before =
        vv_registry_stay(looking->fleet->registry, moved->measurement, moved->move.from_ns - 1)
            .place;
    struct vv_error why = {0};
    enum vv_status status =
        vv_fleet_find_agreed(looking->fleet, moved->measurement, vv_str_of(agreed->class_name),
                             &settled.move.place, &why);
    if (status != VV_OK) {
        looking->has_refused = true;
        log_waits(looking->fleet, &why);
        return VV_OK;
    }
    asking->n_moved += settled.move.place != before;
    asking->n_stayed += settled.move.place == before;
    bool is_idle = settled.move.place == before;
    bool tells = is_idle && (moved->move.is_own || moved->move.state == VV_MOVE_WITHDRAWN);
    status = change(looking, &settled, VV_MOVE_SETTLED);
    if (status == VV_OK && tells) { /* else others would go on to be for it, or to learn it */
        settled.move.state = VV_MOVE_SETTLED;
        status =
            vv_fleet_tell_move(looking->fleet, moved->measurement, &settled.move, looking->error);
    }
    return status;
}

static void log_settled(const struct asking *asking, uint64_t moved, uint64_t stayed)
{
    char from[VV_TIME_TEXT_SIZE];
    char text[600];
    struct vv_str name = asking->wishes[0].measurement;
    vv_time_format(asking->wishes[0].from_ns, from);
    vv_log(VV_LOG_INFO, "moves_settled",
           "tenant=%.*s from=%s moved=%llu stay=%llu example=%s message=\"the nodes have agreed on "
           "where the points of measurements lie from then on\"",
           VV_STR_ARG(asking->wishes[0].tenant), from, (unsigned long long)moved,
           (unsigned long long)stayed, vv_log_quote(name.data, name.size, text, sizeof text));
}

static enum vv_status ask(struct asking *asking)
{
    struct looking *looking = asking->looking;
    struct vv_fleet *fleet = looking->fleet;
    uint64_t moved = asking->n_moved;
    uint64_t stayed = asking->n_stayed;
    if (asking->n == 0) {
        return VV_OK;
    }
    enum vv_status status =
        vv_fleet_ops(fleet)->agree_places(fleet->store, asking->wishes, asking->n, looking->error);
    for (size_t i = 0; i < asking->n && status == VV_OK; i++) {
        status = take_agreed(asking, &asking->moved[i], &asking->wishes[i]);
    }
    if (asking->n_moved + asking->n_stayed > moved + stayed) {
        log_settled(asking, asking->n_moved - moved, asking->n_stayed - stayed);
    }
    asking->n = 0;
    return status;
}

/* The first one that is not settled, if it is due: where the points were before is known then. Of
 * what has no place yet nothing is stored. */
static enum vv_status add_first(struct asking *asking, uint32_t measurement)
{
    struct looking *looking = asking->looking;
    struct vv_registry *registry = looking->fleet->registry;
    struct vv_move moves[VV_MOVES_MAX];
    bool is_placed = vv_registry_is_placed(registry, measurement);
    size_t n = is_placed ? vv_registry_moves(registry, measurement, moves) : 0;
    size_t first = 0;
    while (first < n && moves[first].state == VV_MOVE_SETTLED) {
        first++;
    }
    if (first < n && is_due(looking, &moves[first])) {
        asking->moved[asking->n] = (struct moved){measurement, moves[first]};
        asking->wishes[asking->n] = wish_of(looking, &asking->moved[asking->n]);
        asking->n++;
    }
    return asking->n == AT_ONCE ? ask(asking) : VV_OK;
}

static enum vv_status ask_first(struct asking *asking)
{
    struct looking *looking = asking->looking;
    struct vv_registry *registry = looking->fleet->registry;
    enum vv_status status = VV_OK;
    for (uint32_t i = vv_registry_next_agreeing(registry, 0);
         i != VV_REGISTRY_NONE && status == VV_OK && !is_over(looking);
         i = vv_registry_next_agreeing(registry, i + 1)) {
        status = add_first(asking, i);
    }
    return status == VV_OK ? ask(asking) : status;
}

static enum vv_status ask_due(struct looking *looking)
{
    struct asking asking = {.looking = looking};
    enum vv_status status = VV_OK;
    for (uint64_t before = UINT64_MAX;
         status == VV_OK && !is_over(looking) && before != asking.n_moved + asking.n_stayed;) {
        before = asking.n_moved + asking.n_stayed;
        status = ask_first(&asking);
    }
    return status;
}

/* ---- from outside ---- */

static struct looking look(struct vv_fleet *fleet, int64_t until, int64_t stop_ns,
                           struct vv_error *error)
{
    return (struct looking){.fleet = fleet,
                            .now = fleet->clock->wall_ns(fleet->clock),
                            .until = until,
                            .stop_ns = stop_ns,
                            .tenant = VV_REGISTRY_NONE,
                            .error = error};
}

enum vv_status vv_fleet_step_moves(struct vv_fleet *fleet, struct vv_error *error)
{
    int64_t at = fleet->clock->monotonic_ns(fleet->clock);
    struct looking looking = look(fleet, INT64_MIN, at + STEP_NS, error);
    bool any = vv_registry_next_agreeing(fleet->registry, 0) != VV_REGISTRY_NONE;
    if (!any || at < fleet->moves_again_ns) {
        return VV_DONE;
    }
    enum vv_status status = tell_proposed(&looking);
    status = status == VV_OK ? decide_all(&looking) : status;
    status = status == VV_OK ? ask_due(&looking) : status;
    bool waits = status != VV_OK || looking.has_refused;
    fleet->moves_again_ns = waits ? at + AGAIN_NS : 0;
    return status == VV_OK && !looking.did ? VV_DONE : status;
}

enum vv_status vv_fleet_settle_moves(struct vv_fleet *fleet, uint32_t measurement, int64_t until_ns,
                                     bool *did, struct vv_error *error)
{
    struct looking looking = look(fleet, until_ns, INT64_MAX, error);
    struct asking asking = {.looking = &looking};
    enum vv_status status = VV_OK;
    for (bool more = true; more && status == VV_OK;) {
        uint64_t before = asking.n_moved + asking.n_stayed;
        status = add_first(&asking, measurement);
        status = status == VV_OK ? ask(&asking) : status;
        more = asking.n_moved + asking.n_stayed > before;
    }
    *did |= looking.did;
    return status;
}

/* Of any measurement; so far ahead as points may lie. */
enum vv_status vv_fleet_check_waits(struct vv_fleet *fleet, struct vv_error *error)
{
    struct vv_registry *registry = fleet->registry;
    int64_t until = later(fleet->clock->wall_ns(fleet->clock), fleet->reach_ns);
    for (uint32_t i = vv_registry_next_agreeing(registry, 0); i != VV_REGISTRY_NONE;
         i = vv_registry_next_agreeing(registry, i + 1)) {
        if (vv_registry_waits_from(registry, i, until) != 0) {
            return vv_error_set(error, VV_OVERLOAD,
                                "it is not agreed on yet where the points of a measurement that "
                                "changes its class lie: try again later");
        }
    }
    return VV_OK;
}

enum vv_status vv_fleet_check_moves(struct vv_fleet *fleet, uint32_t measurement, int64_t last_ns,
                                    int64_t known_until_ns, struct vv_error *error)
{
    struct vv_registry *registry = fleet->registry;
    uint32_t tenant = vv_registry_measurement_tenant(registry, measurement);
    struct vv_move moves[VV_MOVES_MAX];
    size_t n = vv_registry_moves(registry, measurement, moves);
    for (size_t i = 0; i < n; i++) {
        if (moves[i].state != VV_MOVE_SETTLED && moves[i].from_ns <= last_ns) {
            return vv_error_set(error, VV_IO,
                                "it is not agreed on where a measurement lies from a day on");
        }
    }
    if (!vv_registry_may_have_classes(registry, tenant)) {
        return VV_OK;
    }
    if (vv_fleet_lacks_moves(fleet)) {
        return vv_error_set(error, VV_IO,
                            "this node could not take all that others told of measurements that "
                            "change their class: raise the limits that its log names");
    }
    return last_ns < known_until_ns
               ? VV_OK
               : vv_error_set(error, VV_IO,
                              "this node has not heard the others for a day, and can't know where "
                              "measurements lie by now");
}
