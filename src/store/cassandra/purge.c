/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose turn it is in a purge, from the rows of `purges` alone: any node may stop at any point, and
 * who comes next reads where it stands. README.md has the states.
 */
#include "store/cassandra/cassandra.h"

#include "base/log.h"

#include <stdlib.h>

#define WAIT_LEADS     4
#define READ_LEADS     2
#define REST_LEADS     10
#define LOOK_LEADS_NTH 16 /* a purge is looked at so often in a lead */
/* Who was held up for longer between its turn and truncating leaves it. */
#define TURN_NS      (30 * VV_SECOND)
#define COPY_NS      (200 * VV_MILLISECOND) /* then flushes and beats have theirs */
#define LOG_AGAIN_NS (10 * VV_MINUTE)
/* No purge begins before a node that reads other tables has been away for a day. */
#define LOOK_NS_MAX (12 * VV_HOUR)

static int64_t monotonic(const struct vv_cassandra *store)
{
    return store->clock->monotonic_ns(store->clock);
}

static int64_t wall_ms(const struct vv_cassandra *store)
{
    return store->clock->wall_ns(store->clock) / VV_MILLISECOND;
}

int64_t vv_purge_rest_ns(const struct vv_cassandra *store)
{
    return REST_LEADS * store->lead_ns;
}

int64_t vv_purge_wait_ns(const struct vv_cassandra *store)
{
    return WAIT_LEADS * store->lead_ns;
}

bool vv_purge_is_too_long(const struct vv_cassandra *store, int64_t read_since_ns)
{
    return store->purges && store->lead_ns > 0 &&
           monotonic(store) - read_since_ns > READ_LEADS * store->lead_ns;
}

void vv_purge_deinit(struct vv_cassandra *store)
{
    vv_purge_range_end(&store->purge.range);
    free(store->purge.tables);
    free(store->purge.seen);
}

static const char *state_name(enum vv_purge_state state)
{
    static const char *const names[] = {"idle", "moving", "copying", "waiting", "dropping"};
    return (size_t)state < sizeof names / sizeof names[0] ? names[state] : "unknown";
}

/* A step of a purge, as it was read. */
struct step {
    struct vv_cassandra *store;
    size_t class;
    struct vv_purge_row row;
    int64_t number; /* of the purge that goes on, or begins */
    int64_t now_ns;
    uint64_t work_bytes;
    bool more;
    int64_t turn_ns; /* monotonic, and … */
    int64_t turn_ms; /* … wall time: when its turn to truncate began */
    struct vv_error *error;
};

static enum vv_status move(struct step *step, enum vv_purge_state state)
{
    char class[VV_CLASS_NAME_SIZE];
    bool moved;
    enum vv_status status = vv_purge_move(step->store, step->class, &step->row, state, step->number,
                                          &moved, step->error);
    step->more = moved;
    if (moved) {
        vv_schema_class_name(step->store->classes[step->class].retention_ns, class);
        vv_log(VV_LOG_INFO, "purge", "class=%s number=%lld state=%s", class,
               (long long)step->row.number, state_name(step->row.state));
    }
    return status == VV_OK && !moved ? VV_DONE : status;
}

static bool owns(const struct vv_cassandra *store, uint32_t shard)
{
    return atomic_load(&store->shared.shards[shard].is_owned);
}

/* For how long this node has seen the class in this state: clocks on the wall may differ. */
static int64_t seen_for_ns(struct step *step)
{
    struct vv_cassandra *store = step->store;
    const struct vv_purge_row *row = &step->row;
    struct vv_purge_seen *seen = &store->purge.seen[step->class];
    int64_t now = monotonic(store);
    if (seen->seen_ns == 0 || seen->number != row->number || seen->state != row->state ||
        seen->since_ms != row->since_ms) {
        *seen = (struct vv_purge_seen){row->number, row->state, row->since_ms, now};
    }
    return now - seen->seen_ns;
}

/* ---- beginning ---- */

/* Not right behind the last one: a statement that truncates may be on its way still. */
static bool is_due(struct step *step)
{
    const struct vv_purge_row *row = &step->row;
    bool has_rested = seen_for_ns(step) >= vv_purge_rest_ns(step->store) || row->number == 0;
    bool is_asked = row->asked_ms >= row->since_ms;
    int64_t every_ms = step->store->purge_every_ns / VV_MILLISECOND;
    return has_rested && (is_asked || wall_ms(step->store) >= row->since_ms + every_ms);
}

static enum vv_status check_nodes(struct step *step)
{
    uint32_t node;
    enum vv_status status = vv_purge_check_nodes(step->store, &node, step->error);
    if (status == VV_OK && node != 0) {
        return vv_error_set(step->error, VV_INVALID,
                            "node %u reads other tables than this one, or for longer: "
                            "cassandra.classes, query.time_max, cassandra.request_timeout and "
                            "fleet.poll must be the same on all nodes, and cassandra.purge_every "
                            "be set",
                            node);
    }
    return status;
}

/* Above that of any shard: where the row was lost, or restored from long ago, they tell which table
 * is written. */
static enum vv_status choose_number(struct step *step)
{
    int64_t numbers[VV_CASSANDRA_SHARDS];
    int64_t retention_ns = step->store->classes[step->class].retention_ns;
    enum vv_status status = vv_shared_read_purges(step->store, retention_ns, numbers, step->error);
    for (uint32_t i = 0; i < VV_CASSANDRA_SHARDS && status == VV_OK; i++) {
        step->number = numbers[i] > step->number ? numbers[i] : step->number;
    }
    step->number += status == VV_OK;
    return status;
}

static enum vv_status begin(struct step *step)
{
    struct vv_cassandra *store = step->store;
    bool is_due_now = is_due(step);
    if (!owns(store, 0)) {
        return VV_OK;
    }
    if (!step->row.exists) {
        return move(step, VV_PURGE_IDLE);
    }
    if (!is_due_now) {
        return VV_OK;
    }
    enum vv_status status = vv_purge_check_partitioner(store, step->error);
    status = status == VV_OK ? check_nodes(step) : status;
    status = status == VV_OK ? choose_number(step) : status;
    return status == VV_OK ? move(step, VV_PURGE_MOVING) : status;
}

/* ---- moving ---- */

static enum vv_status move_shards(struct step *step)
{
    struct vv_cassandra *store = step->store;
    int64_t retention_ns = store->classes[step->class].retention_ns;
    bool shards[VV_CASSANDRA_SHARDS];
    int64_t numbers[VV_CASSANDRA_SHARDS];
    enum vv_status status = check_nodes(step); /* once more: some may have started since */
    if (status != VV_OK) {
        return status;
    }
    status = vv_shared_read_purges(store, retention_ns, numbers, step->error);
    bool all = true;
    bool some = false;
    for (uint32_t i = 0; i < VV_CASSANDRA_SHARDS && status == VV_OK; i++) {
        if (numbers[i] > step->row.number) {
            return vv_error_set(step->error, VV_INVALID,
                                "a shard is in purge %lld, which has not begun: is the table "
                                "`purges` an older one?",
                                (long long)numbers[i]);
        }
        all &= numbers[i] == step->row.number;
        shards[i] = numbers[i] < step->row.number && owns(store, i);
        some |= shards[i];
    }
    if (status == VV_OK && all) {
        return move(step, VV_PURGE_COPYING);
    }
    step->more = some;
    return status == VV_OK && some
               ? vv_shared_move_purge(store, shards, retention_ns, step->row.number, step->error)
               : status;
}

/* ---- copying ---- */

/* What is left of a range that is under way, or the whole of one. */
static enum vv_status copy_range(struct step *step, uint32_t number, struct vv_purge_turn *turn)
{
    struct vv_cassandra *store = step->store;
    struct vv_purge_range *range = &store->purge.range;
    bool done = false;
    if (!range->is_under_way) {
        *range = (struct vv_purge_range){.is_under_way = true,
                                         .class = step->class,
                                         .number = step->row.number,
                                         .range = number};
    }
    enum vv_status status = vv_purge_copy(store, range, turn, &done, step->error);
    if (status == VV_OK && done) {
        status = vv_purge_put_range(store, step->class, &step->row, number, step->error);
    }
    if (done || status != VV_OK) { /* what has failed begins anew */
        vv_purge_range_end(range);
    }
    return status;
}

/* The earliest of three clocks: this one's, that of who began to copy, and Cassandra's of then. One
 * that is wrong can't say that all is over. */
static int64_t surely_now(const struct step *step)
{
    int64_t now_ns = step->now_ns;
    int64_t since_ns = step->row.since_ms * VV_MILLISECOND;
    int64_t set_ns = step->row.set_us * 1000;
    now_ns = since_ns < now_ns ? since_ns : now_ns;
    return set_ns < now_ns ? set_ns : now_ns;
}

/* Ranges are divided among nodes as shards are. */
static enum vv_status copy(struct step *step)
{
    struct vv_cassandra *store = step->store;
    const struct vv_purge_range *range = &store->purge.range;
    bool done[VV_PURGE_RANGES];
    bool all = true;
    struct vv_purge_turn turn = {.now_ns = surely_now(step),
                                 .until_ns = monotonic(store) + COPY_NS,
                                 .work_max = step->work_bytes};
    if (range->class != step->class || range->number != step->row.number) {
        vv_purge_range_end(&store->purge.range);
    }
    if (!vv_cassandra_is_current(store)) {
        return vv_error_set(step->error, VV_OVERLOAD,
                            "the other nodes were not heard lately: a retention may be longer "
                            "than this node knows");
    }
    enum vv_status status =
        vv_purge_read_ranges(store, step->class, step->row.number, done, step->error);
    if (status == VV_OK && range->is_under_way) {
        done[range->range] = true;
        status = copy_range(step, range->range, &turn);
        all = false;
    }
    for (uint32_t i = 0; i < VV_PURGE_RANGES && status == VV_OK; i++) {
        all &= done[i];
        if (!done[i] && owns(store, i) && !range->is_under_way &&
            !vv_purge_turn_is_over(store, &turn)) {
            status = copy_range(step, i, &turn);
        }
    }
    step->more = turn.work > 0;
    return status == VV_OK && all ? move(step, VV_PURGE_WAITING) : status;
}

/* ---- dropping ---- */

/* Right behind its own turn only, by both clocks, and while the row is as it was set then: a
 * statement that comes later than the next purge has begun would take what lives. */
static enum vv_status truncate(struct step *step, bool is_late)
{
    struct vv_cassandra *store = step->store;
    struct vv_purge_row rows[VV_CASSANDRA_CLASSES_MAX + 1];
    const struct vv_purge_row *row = &rows[step->class];
    enum vv_status status = vv_purge_read(store, rows, step->error);
    bool is_mine = status == VV_OK && row->number == step->row.number &&
                   row->state == step->row.state && row->since_ms == step->row.since_ms &&
                   row->node == store->shared.node;
    int64_t age_ms = wall_ms(store) - step->turn_ms;
    bool is_recent = monotonic(store) - step->turn_ns <= TURN_NS && age_ms >= 0 &&
                     age_ms <= TURN_NS / VV_MILLISECOND;
    if (status == VV_OK && !(is_mine && is_recent)) {
        return vv_error_set(step->error, VV_OVERLOAD, "this node's turn to truncate is over");
    }
    return status == VV_OK
               ? vv_purge_truncate(store, step->class, step->row.number, is_late, step->error)
               : status;
}

static enum vv_status drop(struct step *step)
{
    struct vv_cassandra *store = step->store;
    step->turn_ns = monotonic(store);
    step->turn_ms = wall_ms(store);
    enum vv_status status = move(step, VV_PURGE_DROPPING);
    if (status == VV_OK) {
        status = truncate(step, false);
    }
    if (status == VV_OK) {
        status = truncate(step, true);
    }
    if (status == VV_OK) {
        status = move(step, VV_PURGE_IDLE);
    }
    if (status == VV_OK) {
        atomic_store(&store->purge.figures.last_end_ns, store->clock->wall_ns(store->clock));
    }
    return status;
}

/* All shards are in this purge still, and all nodes read what it fills: also after a restore of
 * some tables. */
static enum vv_status check_all(struct step *step)
{
    int64_t numbers[VV_CASSANDRA_SHARDS];
    int64_t retention_ns = step->store->classes[step->class].retention_ns;
    enum vv_status status = check_nodes(step);
    if (status == VV_OK) {
        status = vv_shared_read_purges(step->store, retention_ns, numbers, step->error);
    }
    for (uint32_t i = 0; i < VV_CASSANDRA_SHARDS && status == VV_OK; i++) {
        if (numbers[i] != step->row.number) {
            status = vv_error_set(step->error, VV_INVALID,
                                  "a shard is in purge %lld, not in %lld: are `seals` and "
                                  "`purges` of the same time?",
                                  (long long)numbers[i], (long long)step->row.number);
        }
    }
    return status;
}

static enum vv_status wait_and_drop(struct step *step)
{
    bool is_over = seen_for_ns(step) >= vv_purge_wait_ns(step->store);
    if (!owns(step->store, 0) || !is_over) {
        return VV_OK;
    }
    enum vv_status status = check_all(step);
    return status == VV_OK ? drop(step) : status;
}

/* Its own turn is taken anew, another node's when that is over for long. */
static enum vv_status drop_again(struct step *step)
{
    struct vv_cassandra *store = step->store;
    bool is_over = seen_for_ns(step) >= vv_purge_rest_ns(store);
    if (!owns(store, 0) || (step->row.node != store->shared.node && !is_over)) {
        return VV_OK;
    }
    enum vv_status status = check_all(step);
    return status == VV_OK ? drop(step) : status;
}

/* ---- all classes ---- */

static enum vv_status take_step(struct step *step)
{
    step->number = step->row.number;
    switch (step->row.state) {
    case VV_PURGE_IDLE:
        return begin(step);
    case VV_PURGE_MOVING:
        return move_shards(step);
    case VV_PURGE_COPYING:
        return copy(step);
    case VV_PURGE_WAITING:
        return wait_and_drop(step);
    case VV_PURGE_DROPPING:
        return drop_again(step);
    }
    return vv_error_set(step->error, VV_NEWER, "a purge is in a state that is not known here");
}

/* That has been at rest for longest, so that none comes never. */
static size_t oldest(const struct vv_purge_row *rows, const bool *had_its_turn, size_t n)
{
    size_t found = n;
    for (size_t i = 0; i < n; i++) {
        if (!had_its_turn[i] && (found == n || rows[i].since_ms < rows[found].since_ms)) {
            found = i;
        }
    }
    return found;
}

/* The one that is under way, or else those that may begin, one after the other. */
static enum vv_status go_on(struct step *step)
{
    struct vv_cassandra *store = step->store;
    struct vv_purge_row rows[VV_CASSANDRA_CLASSES_MAX + 1];
    enum vv_status status = vv_purge_read(store, rows, step->error);
    bool is_under_way = false;
    int64_t since_ms = 0;
    for (size_t i = 0; i < store->n_classes && status == VV_OK; i++) {
        since_ms = rows[i].state != VV_PURGE_IDLE ? rows[i].since_ms : since_ms;
    }
    if (status == VV_OK) {
        atomic_store(&store->purge.figures.since_ms, since_ms);
    }
    for (size_t i = 0; i < store->n_classes && status == VV_OK && !is_under_way; i++) {
        if (rows[i].state != VV_PURGE_IDLE) {
            is_under_way = true;
            step->class = i;
            step->row = rows[i];
            status = take_step(step);
        }
    }
    bool had_its_turn[VV_CASSANDRA_CLASSES_MAX + 1] = {false};
    for (size_t i = 0; i < store->n_classes && status == VV_OK && !is_under_way; i++) {
        step->class = oldest(rows, had_its_turn, store->n_classes);
        step->row = rows[step->class];
        had_its_turn[step->class] = true;
        status = take_step(step);
        is_under_way = step->row.state != VV_PURGE_IDLE;
    }
    return status == VV_DONE ? VV_OK : status; /* another node was faster */
}

/* What goes on failing is logged again now and then. */
static void note(struct vv_cassandra *store, enum vv_status status, const struct vv_error *error)
{
    struct vv_purge *purge = &store->purge;
    int64_t now = monotonic(store);
    if (status == VV_OK) {
        purge->log_at_ns = 0;
    } else if (now >= purge->log_at_ns) {
        purge->log_at_ns = now + LOG_AGAIN_NS;
        vv_log(VV_LOG_WARN, "purge_put_off", "status=%s reason=\"%s\"", vv_status_name(status),
               error->message);
    }
}

/* ---- of a node that does not purge ---- */

void vv_purge_note_look(struct vv_cassandra *store)
{
    int64_t now = monotonic(store);
    atomic_store(&store->purge.looked_ns, store->purges ? 0 : now > 0 ? now : 1);
}

/* The others may have begun to purge while it was away. */
static enum vv_status look_at_others(struct vv_cassandra *store, struct vv_error *error)
{
    struct vv_purge_row rows[VV_CASSANDRA_CLASSES_MAX + 1];
    bool purged = false;
    enum vv_status status = vv_purge_read(store, rows, error);
    for (size_t i = 0; i < store->n_classes && status == VV_OK; i++) {
        purged |= rows[i].number > 0;
    }
    if (status == VV_OK) {
        vv_purge_note_look(store);
    }
    if (purged && !atomic_exchange(&store->purge.is_elsewhere, true)) {
        vv_log(VV_LOG_ERROR, "purged_elsewhere",
               "message=\"other nodes purge by copying: set cassandra.purge_every as there, and "
               "start this one again; until then it answers no questions\"");
    }
    return status;
}

enum vv_status vv_purge_check_read(struct vv_cassandra *store, struct vv_error *error)
{
    int64_t looked_ns = atomic_load(&store->purge.looked_ns);
    bool is_old = looked_ns != 0 && monotonic(store) - looked_ns > LOOK_NS_MAX;
    enum vv_status status = is_old ? look_at_others(store, error) : VV_OK;
    if (status == VV_OK && atomic_load(&store->purge.is_elsewhere)) {
        return vv_error_set(error, VV_IO,
                            "other nodes purge by copying, into tables that this one does not "
                            "read: set cassandra.purge_every as there, and start it again");
    }
    return status;
}

/* ---- a turn ---- */

void vv_purge_go_on(struct vv_cassandra *store, int64_t now_ns, uint64_t work_bytes, bool *more_out)
{
    struct vv_error error = {0};
    struct step step = {
        .store = store, .now_ns = now_ns, .work_bytes = work_bytes, .error = &error};
    *more_out = false;
    if (!store->has_joined || monotonic(store) < store->purge.look_at_ns) {
        return;
    }
    if (!store->purges) { /* what fails is tried again, by whoever reads in the end */
        store->purge.look_at_ns = monotonic(store) + store->lead_ns;
        (void)look_at_others(store, &error);
        return;
    }
    if (!store->purge.seen) {
        store->purge.seen = calloc(store->n_classes, sizeof *store->purge.seen);
        if (!store->purge.seen) {
            return; /* the next time */
        }
    }
    vv_shared_divide(store);
    enum vv_status status = go_on(&step);
    *more_out = status == VV_OK && step.more;
    int64_t wait_ns = status == VV_OK ? store->lead_ns / LOOK_LEADS_NTH : store->lead_ns;
    store->purge.look_at_ns = *more_out ? 0 : monotonic(store) + wait_ns;
    note(store, status, &error);
}

/* ---- what others see of it ---- */

static enum vv_status read_for_others(struct vv_cassandra *store,
                                      struct vv_purge_row rows_out[VV_CASSANDRA_CLASSES_MAX + 1],
                                      struct vv_error *error)
{
    return store->purges ? vv_purge_read(store, rows_out, error)
                         : vv_error_set(error, VV_INVALID,
                                        "nothing is purged by copying here, what is stored has a "
                                        "TTL: see cassandra.purge_every");
}

static enum vv_status count_done(struct vv_cassandra *store, size_t class,
                                 const struct vv_purge_row *row, uint32_t *done_out,
                                 struct vv_error *error)
{
    bool done[VV_PURGE_RANGES];
    *done_out = 0;
    if (row->state != VV_PURGE_COPYING) {
        return VV_OK;
    }
    enum vv_status status = vv_purge_read_ranges(store, class, row->number, done, error);
    for (uint32_t i = 0; i < VV_PURGE_RANGES && status == VV_OK; i++) {
        *done_out += done[i];
    }
    return status;
}

enum vv_status vv_shared_purges(struct vv_store *base,
                                struct vv_purge_progress progress_out[VV_PURGES_MAX], size_t *n_out,
                                struct vv_error *error)
{
    struct vv_cassandra *store = vv_cassandra_of(base);
    struct vv_purge_row rows[VV_CASSANDRA_CLASSES_MAX + 1];
    enum vv_status status = read_for_others(store, rows, error);
    *n_out = store->n_classes;
    for (size_t i = 0; i < store->n_classes && status == VV_OK; i++) {
        const struct vv_purge_row *row = &rows[i];
        struct vv_purge_progress *progress = &progress_out[i];
        *progress =
            (struct vv_purge_progress){.state = state_name(row->state),
                                       .number = row->number,
                                       .since_ns = row->since_ms * VV_MILLISECOND,
                                       .is_asked = row->state == VV_PURGE_IDLE &&
                                                   row->asked_ms >= row->since_ms && row->exists,
                                       .ranges = VV_PURGE_RANGES};
        vv_schema_class_name(store->classes[i].retention_ns, progress->class);
        status = count_done(store, i, row, &progress->done, error);
    }
    return status;
}

enum vv_status vv_shared_ask_purge(struct vv_store *base, struct vv_error *error)
{
    struct vv_cassandra *store = vv_cassandra_of(base);
    struct vv_purge_row rows[VV_CASSANDRA_CLASSES_MAX + 1];
    enum vv_status status = read_for_others(store, rows, error);
    for (size_t i = 0; i < store->n_classes && status == VV_OK; i++) {
        bool made;
        if (!rows[i].exists) { /* whoever makes it */
            status = vv_purge_move(store, i, &rows[i], VV_PURGE_IDLE, 0, &made, error);
        }
        if (status == VV_OK) {
            status = vv_purge_put_asked(store, i, &rows[i], error);
        }
    }
    return status;
}
