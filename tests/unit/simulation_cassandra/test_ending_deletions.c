/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiers and retentions that change on nodes that share a store, while ranges of time are deleted:
 * days have exactly what was taken and not deleted since.
 */
#include "longer_fixture.h"

#include "support/taken.h"

static struct taken taken;

static void sweep_all(void)
{
    for (int i = 0; i < 20; i++) {
        work_all();
        for (size_t n = 0; n < n_nodes; n++) {
            (void)rig_step(&nodes[n].rig, VV_TASK_SWEEP);
            (void)rig_step(&nodes[n].rig, VV_TASK_EXPIRE);
        }
        advance(2 * VV_SECOND);
    }
}

static void live_swept(int times, int64_t length_ns)
{
    for (int i = 0; i < times; i++) {
        advance(length_ns);
        sweep_all();
        settle();
    }
}

static void check_days(uint64_t seed)
{
    live_swept(33, VV_DAY);
    for (size_t n = 0; n < n_nodes; n++) {
        long long count = count_by(&nodes[n], VV_SPACE_DAY);
        if (taken.n > 0 ? count != (long long)taken.n : count > 0) { /* -1: there is no metric */
            fail_msg("seed %llu: days have %lld of %zu", (unsigned long long)seed, count, taken.n);
        }
    }
}

/* A month, a day, an hour or a few minutes, where something is; it may be refused, as only whole
 * steps can go, or for now. */
static void delete_any(void)
{
    static const int64_t lengths[] = {10 * VV_MINUTE, VV_HOUR, VV_DAY, 30 * VV_DAY};
    if (taken.n == 0) {
        return;
    }
    int64_t length_ns = lengths[below(4)];
    int64_t from =
        vv_time_floor(taken.times[below(taken.n)], length_ns < VV_DAY ? length_ns : VV_DAY);
    struct vv_error error = {0};
    hear_each_other(); /* of new sources; and its stamp is above those of what others took */
    enum vv_status status = try_delete(any_node(), from, from + length_ns, &error);
    if (status == VV_OK) {
        taken_forget(&taken, from, from + length_ns);
        hear_each_other(); /* what comes now is above it */
    } else if (status != VV_INVALID && status != VV_OVERLOAD) {
        fail_msg("%d: %s", status, error.message);
    }
}

static void write_more(void)
{
    struct request request = write_any_request();
    int64_t refused = (int64_t)(request.n - request.taken);
    taken_add(&taken, request.from + refused * VV_MINUTE, VV_MINUTE, request.taken);
}

/* Late points are kept apart until they are folded, or no more. */
static void change_late(void)
{
    static const int64_t limits[] = {VV_HOUR, 3 * VV_DAY, 20 * VV_DAY};
    struct vv_late_wish wish = {true, below(3) > 0 ? VV_LATE_SEPARATE : VV_LATE_ACCEPT, 0};
    wish.limit_ns = limits[below(3)];
    struct vv_error error = {0};
    enum vv_status status =
        vv_engine_set_late(any_node()->rig.engine, VV_STR_LITERAL("t"), &wish, &error);
    if (status != VV_OK && status != VV_INVALID) {
        fail_msg("%s", error.message);
    }
    hear_each_other();
}

static bool has_late;

static void live_with_deletions(uint64_t seed)
{
    switch (below(has_late ? 11 : 10)) {
    case 0:
    case 1:
        change_tiers();
        break;
    case 2:
    case 3:
        live_swept(1 + (int)below(10), 12 * VV_HOUR);
        break;
    case 4:
        restart_node(any_node(), below(1000));
        hear_each_other();
        break;
    case 5:
        if (below(4) == 0) {
            check_days(seed);
        }
        break;
    case 6:
    case 7:
        delete_any();
        break;
    case 10:
        change_late();
        break;
    default:
        write_more();
    }
}

static void walk_with_deletions(uint64_t seed)
{
    const struct vv_retentions first = {40 * VV_DAY, {0, 0, 0}};
    begin_walk(seed);
    taken.n = 0;
    seal_task = seed % 2 == 0 ? VV_TASK_SEAL_ALL : VV_TASK_SEAL;
    has_late = seed % 4 >= 2;
    add_nodes(1 + (uint32_t)below(3));
    assert_true(try_lives(any_node(), &first));
    let_all_know();
    write_more();
    hear_each_other();
    for (int i = 0; i < 60; i++) {
        live_with_deletions(seed);
    }
    check_days(seed);
    end();
}

static void days_have_what_was_taken_and_not_deleted(void **state)
{
    (void)state;
    if (!walk_those_asked_for(walk_with_deletions)) {
        walk_with_deletions(1);  /* units are built when they are due … */
        walk_with_deletions(46); /* … or at once, and late points are kept apart; seen: a note that
                                    ended before what was in its bucket */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(days_have_what_was_taken_and_not_deleted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
