/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that change the plan of one source at the same moment, do not hear what became of it, or
 * die in it: afterwards all have the same plans, and find every point, whenever it was written. */
#include "engines_fixture.h"

static struct node *a;
static struct node *b;

/* Two nodes that know the source and each other. */
static void begin(uint64_t seed)
{
    make_cluster(seed);
    a = make_node(0);
    b = make_node(1);
    live(20 * VV_MINUTE);
    assert_same_plans(a, b);
    assert_int_equal(plans_of(a).n, 1);
}

/* ---- at the same moment ---- */

/* The other node changes it, too, while request number `at` of the first one is on its way. */
struct meanwhile {
    uint32_t at;
    uint32_t seen;
    int64_t bucket_ns;
    uint16_t splits;
    bool is_done;
    struct vv_plan plan;
};

static void change_meanwhile(void *context, uint32_t client)
{
    struct meanwhile *meanwhile = context;
    if (client == a->client && !meanwhile->is_done && meanwhile->seen++ == meanwhile->at) {
        meanwhile->is_done = true;
        assert_int_equal(change_plan(b, meanwhile->bucket_ns, meanwhile->splits, &meanwhile->plan),
                         VV_OK);
    }
}

/* Two changes, whose begins are the same or not; how many plans there are then, 0 when the first
 * one was through before the second began. */
static size_t change_both(uint32_t at, int64_t bucket_ns, uint16_t splits)
{
    struct meanwhile meanwhile = {.at = at, .bucket_ns = bucket_ns, .splits = splits};
    struct vv_plan plan;
    begin(at + 1);
    vv_sim_cassandra_set_hook(model, change_meanwhile, &meanwhile);
    assert_int_equal(change_plan(a, VV_HOUR, 1, &plan), VV_OK);
    vv_sim_cassandra_set_hook(model, NULL, NULL);
    live(90 * VV_MINUTE);
    assert_all_is_there();
    size_t n = plans_of(a).n;
    if (meanwhile.is_done && plan.from_ns == meanwhile.plan.from_ns) {
        assert_int_equal(plan.splits, meanwhile.plan.splits);
        assert_int_equal(n, 2);
    }
    drop_cluster();
    return meanwhile.is_done ? n : 0;
}

static void one_of_two_from_the_same_time_holds(void **state)
{
    (void)state;
    uint32_t at = 0;
    while (change_both(at, VV_HOUR, 3) > 0) {
        at++;
    }
    assert_true(at > 5);
}

static void two_from_different_times_hold_both(void **state)
{
    (void)state;
    uint32_t at = 0;
    size_t n;
    while ((n = change_both(at, 20 * VV_MINUTE, 2)) > 0) {
        assert_int_equal(n, 3);
        at++;
    }
    assert_true(at > 5);
}

/* ---- not known ---- */

static void an_unknown_change_is_looked_up(void **state)
{
    (void)state;
    static const struct vv_sim_cassandra_faults unknown[] = {{.transaction_done = 1000000},
                                                             {.transaction_open = 1000000},
                                                             {.transaction_lost = 1000000}};
    for (size_t i = 0; i < 3; i++) {
        struct vv_plan plan;
        begin(i + 1);
        vv_sim_cassandra_set_faults(model, &unknown[i]);
        enum vv_status status = change_plan(a, VV_HOUR, 1, &plan);
        vv_sim_cassandra_set_faults(model, NULL);
        assert_true(status == VV_OK || i > 0);
        assert_int_equal(change_plan(b, VV_HOUR, 3, &plan), VV_OK);
        assert_int_equal(plan.splits, status == VV_OK ? 1 : 3);
        live(90 * VV_MINUTE);
        assert_all_is_there();
        assert_int_equal(plans_of(a).n, 2);
        drop_cluster();
    }
}

/* ---- dying ---- */

struct death {
    uint32_t at;
    uint32_t seen;
};

static void die(void *context, uint32_t client)
{
    struct death *death = context;
    if (client == a->client && !a->is_killed && death->seen++ == death->at) {
        kill_node(a);
    }
}

/* The node dies at its request number `at`, and is away for as long. False: it came through. */
static bool die_in_change(uint32_t at, int64_t away_ns, uint64_t seed, bool deferred)
{
    struct death death = {.at = at};
    struct vv_plan plan;
    begin(seed);
    vv_sim_cassandra_set_deferred(model, deferred);
    vv_sim_cassandra_set_hook(model, die, &death);
    enum vv_status status = change_plan(a, VV_HOUR, 3, &plan);
    vv_sim_cassandra_set_hook(model, NULL, NULL);
    bool was_killed = a->is_killed;
    assert_true(was_killed || status == VV_OK);
    if (was_killed) {
        bury_node(a, seed);
        live(away_ns);
        rig_open(&a->rig);
    }
    live(90 * VV_MINUTE);
    make_node(2);
    live(20 * VV_MINUTE);
    assert_all_is_there();
    drop_cluster();
    return was_killed;
}

static void a_node_that_dies_in_a_change_hides_nothing(void **state)
{
    (void)state;
    static const int64_t away[] = {0, 2 * VV_HOUR};
    for (size_t i = 0; i < 2; i++) {
        uint32_t at = 0;
        while (die_in_change(at, away[i], at + 1, false)) {
            at++;
        }
        assert_true(at > 5);
    }
}

/* Of what it had asked for at once, some is carried out. */
static void whatever_of_it_is_carried_out(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        (void)die_in_change((uint32_t)(seed % 10), seed % 2 ? 0 : 2 * VV_HOUR, seed, true);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_of_two_from_the_same_time_holds),
        cmocka_unit_test(two_from_different_times_hold_both),
        cmocka_unit_test(an_unknown_change_is_looked_up),
        cmocka_unit_test(a_node_that_dies_in_a_change_hides_nothing),
        cmocka_unit_test(whatever_of_it_is_carried_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
