/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of two regions: what one tells, when and how often the other learns it. */
#include "regions_fixture.h"

static void what_is_told_is_learnt_with_its_region(void **state)
{
    (void)state;
    struct vv_store *second = open_node(2, 1);
    tell(one, "s1", "a");
    tell(two, "s2", "b");
    confirm(one);
    confirm(two);
    beat(one);
    beat(two);
    assert_string_equal(learn(one), "0/1:s1=a 0/1:s1=a 1/2:s2=b"); /* its region's of both tables */
    assert_string_equal(learn(two), "0/2:s2=b 0/2:s2=b 1/1:s1=a");
    assert_string_equal(learn(second), "0/2:s2=b 0/2:s2=b 1/1:s1=a");
    tell(one, "s1", "c");
    confirm(one);
    assert_non_null(strstr(learn(two), "1/1:s1=c"));
    assert_string_equal(learn(two), "");
    assert_string_equal(peers_text(second), "1/1 0/2");
}

/* One change of node 1 in region one, as if it had been written then. */
static void change_late(int64_t before_us, const char *name)
{
    char cql[256];
    struct vv_buffer entry = {0};
    vv_buffer_u8(&entry, 4);
    vv_buffer_sized(&entry, VV_STR_LITERAL("t1"));
    vv_buffer_sized(&entry, vv_str_of(name));
    vv_buffer_zigzag(&entry, 0);
    vv_buffer_sized(&entry, VV_STR_LITERAL("late"));
    snprintf(cql, sizeof cql,
             "INSERT INTO varve_one.changes (region, node, slot, written, definitions) "
             "VALUES ('one', 1, 0, %lld, ?)",
             (long long)(sim.clock.wall_ns(&sim.clock) / 1000 - before_us));
    execute(cql, &entry);
    vv_buffer_deinit(&entry);
}

static void what_comes_late_from_another_region_is_learnt(void **state)
{
    (void)state;
    wait_ns(VV_HOUR);
    beat(one);
    tell(one, "s1", "a");
    confirm(one);
    beat(one);
    assert_string_equal(learn(two), "1/1:s1=a");
    (void)learn(two);
    change_late(300 * SECONDS, "s9");
    assert_string_equal(learn(two), ""); /* it is behind what was seen */
    wait_ns(20 * VV_SECOND);
    beat(one);
    assert_string_equal(learn(two), "");
    wait_ns(11 * VV_SECOND);
    beat(one);
    assert_non_null(strstr(learn(two), "1/1:s9=late"));
}

/* Until what was told so far is in the newest changes no more. */
static void live_on(struct vv_store *far, struct vv_store *near)
{
    for (int i = 0; i < 60; i++) {
        wait_ns(20 * VV_SECOND);
        beat(far);
        (void)learn(near);
    }
    assert_string_equal(learn(near), "");
}

static void all_is_read_again_when_a_region_comes_back(void **state)
{
    (void)state;
    tell(one, "s1", "a");
    confirm(one);
    beat(one);
    assert_string_equal(learn(two), "1/1:s1=a");
    live_on(one, two);
    wait_ns(40 * VV_SECOND);
    assert_string_equal(learn(two), "");
    assert_string_equal(peers_text(two), "1/1 gone");
    beat(one);
    assert_string_equal(learn(two), "1/1:s1=a");
    assert_string_equal(peers_text(two), "1/1");
    int again = 0; /* as what was kept for it comes slowly */
    for (int i = 0; i < 40; i++) {
        wait_ns(20 * VV_SECOND);
        beat(one);
        again += learn(two)[0] != '\0';
    }
    assert_int_equal(again, 1);
}

static void who_is_silent_is_gone_after_as_long_as_is_set(void **state)
{
    (void)state;
    assert_int_equal(vv_cassandra_of(two)->gone_ns, 30 * VV_SECOND);
    vv_cassandra_of(two)->gone_ns = 5 * VV_SECOND;
    beat(one);
    assert_string_equal(learn(two), "");
    wait_ns(4 * VV_SECOND);
    assert_string_equal(peers_text(two), "1/1");
    wait_ns(2 * VV_SECOND);
    assert_string_equal(peers_text(two), "1/1 gone");
}

static void missing_names_are_looked_for(void **state)
{
    (void)state;
    tell(one, "s1", "a");
    confirm(one);
    beat(one);
    assert_string_equal(learn(two), "1/1:s1=a");
    live_on(one, two);
    vv_regions_lack_names(vv_cassandra_of(two), 1);
    assert_string_equal(learn(two), "1/1:s1=a");
    vv_regions_lack_names(vv_cassandra_of(two), 1);
    assert_string_equal(learn(two), ""); /* that was a moment ago */
}

/* What is put aside for a tenant that is not known is so once, however often it comes. */
static void what_comes_again_is_put_aside_once(void **state)
{
    (void)state;
    struct vv_buffer record = {0};
    vv_buffer_be64(&record, 0);
    vv_buffer_u8(&record, VV_LAYOUT_BLOCKS);
    vv_buffer_be64(&record, 0);
    const struct vv_told told = {.kind = VV_TOLD_CLASSES,
                                 .tenant = VV_STR_LITERAL("nobody"),
                                 .value = {(char *)record.data, record.size}};
    assert_int_equal(one->ops->shared->tell(one, &told, NULL), VV_OK);
    vv_buffer_deinit(&record);
    confirm(one);
    beat(one);
    for (int i = 0; i < 4; i++) {
        assert_string_equal(learn(two), "");
        wait_ns(31 * VV_SECOND);
        beat(one);
    }
    assert_int_equal(vv_cassandra_of(two)->shared.n_unplaced, 1);
}

/* Each request takes its time. */
static void pass_time(void *context, uint32_t client)
{
    (void)context;
    (void)client;
    wait_ns(2 * VV_MILLISECOND);
}

static void much_is_learnt_in_steps(void **state)
{
    (void)state;
    for (int i = 0; i < 30; i++) {
        char name[16];
        snprintf(name, sizeof name, "s%d", i);
        tell(one, name, "a");
    }
    confirm(one);
    beat(one);
    vv_sim_cassandra_set_hook(model, pass_time, NULL);
    size_t steps = 0;
    size_t learnt = 0;
    size_t most = 0;
    for (; learnt < 30 && steps < 20; steps++) {
        size_t n = 0;
        for (const char *at = learn(two); (at = strstr(at, "=a")) != NULL; at++) {
            n++;
        }
        learnt += n;
        most = n > most ? n : most;
    }
    vv_sim_cassandra_set_hook(model, NULL, NULL);
    assert_int_equal(learnt, 30);
    assert_true(steps > 2 && steps < 20 && most < 25);
}

static void what_fails_elsewhere_hinders_nothing_here(void **state)
{
    (void)state;
    struct vv_store *second = open_node(2, 1);
    beat(one);
    beat(two);
    (void)learn(second);
    struct vv_buffer damage = {0};
    vv_buffer_u8(&damage, 200);
    wait_ns(VV_SECOND);
    execute("INSERT INTO varve_one.changes (region, node, slot, written, definitions) "
            "VALUES ('one', 1, 0, 9000000000000000, ?)",
            &damage);
    vv_buffer_deinit(&damage);
    tell(two, "s2", "b");
    confirm(two);
    beat(one);
    assert_string_equal(learn(second), "0/2:s2=b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE_TWO(what_is_told_is_learnt_with_its_region),
        CASE_TWO(what_comes_late_from_another_region_is_learnt),
        CASE_TWO(all_is_read_again_when_a_region_comes_back),
        CASE_TWO(who_is_silent_is_gone_after_as_long_as_is_set),
        CASE_TWO(missing_names_are_looked_for),
        CASE_TWO(what_comes_again_is_put_aside_once),
        CASE_TWO(much_is_learnt_in_steps),
        CASE_TWO(what_fails_elsewhere_hinders_nothing_here),
    };
    vv_log_level_set(VV_LOG_OFF);
    return cmocka_run_group_tests_name("simulation_cassandra/regions_told", tests, NULL, NULL);
}
