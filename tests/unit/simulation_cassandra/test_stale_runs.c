/* SPDX-License-Identifier: Apache-2.0 */
/* However often a unit is made stale, each node has one run there that says so; and each time
 * counts. */
#include "tiers_fixture.h"

#define TIMES 6

static struct vv_store_read unit_of(struct node *node, enum vv_space tier, int64_t time)
{
    struct vv_registry *registry = vv_engine_query_context(node->rig.engine)->registry;
    uint32_t source = number_of_source(node);
    struct vv_tiers tiers =
        vv_registry_tiers(registry, vv_registry_source_tenant(registry, source));
    int64_t from = vv_time_floor(time, vv_tier_unit_ns_max(tier));
    const struct vv_span_key key = vv_unit_key(tier, tiers.spaces[tier], source, 0, from);
    return (struct vv_store_read){.partition = key.partition,
                                  .measurement = key.measurement,
                                  .span_from = key.span_start,
                                  .span_to = key.span_start + 1};
}

static enum vv_status count_run(void *context, const struct vv_piece *piece)
{
    *(int *)context += piece->kind == VV_PIECE_RUN;
    return VV_OK;
}

/* Runs that make the unit stale, and are in none that was built. */
static int runs_of(struct node *node, enum vv_space tier, int64_t time)
{
    struct vv_store *store = node->rig.engine->store;
    const struct vv_store_read read = unit_of(node, tier, time);
    int n = 0;
    assert_int_equal(store->ops->read(store, &read, count_run, &n, NULL), VV_OK);
    return n;
}

/* Points of one hour of long ago, one flush each. */
static void write_late(struct node *node, int64_t hour)
{
    for (int i = 0; i < TIMES; i++) {
        write_at(node, hour);
        work(node);
        advance(VV_SECOND);
    }
}

static void expect_runs(int64_t hour, int n)
{
    static const enum vv_space tiers[] = {VV_SPACE_MINUTE, VV_SPACE_HOUR};
    for (size_t i = 0; i < sizeof tiers / sizeof tiers[0]; i++) {
        for (size_t j = 0; j < 2; j++) {
            (void)rig_step(&nodes[j].rig, VV_TASK_LEARN);
            assert_int_equal(runs_of(&nodes[j], tiers[i], hour), n);
        }
    }
}

static void seal_all(void)
{
    seal(&nodes[0]);
    seal(&nodes[1]);
}

static void a_node_has_one_run_a_unit(void **state)
{
    (void)state;
    begin("blocks", 5);
    int64_t hour = vv_time_floor(now_ns() - 10 * VV_DAY, VV_HOUR);
    write_late(&nodes[0], hour);
    expect_runs(hour, 1);
    write_late(&nodes[1], hour);
    expect_runs(hour, 2);
    seal_all();
    expect_runs(hour, 0);
    assert_int_equal(count_by_hours(&nodes[0]), written);
    end();
}

/* The same run as before comes again, when what it was before is covered. */
static void what_comes_after_it_was_built_makes_it_stale_again(void **state)
{
    (void)state;
    begin("blocks", 6);
    int64_t hour = vv_time_floor(now_ns() - 10 * VV_DAY, VV_HOUR);
    for (int round = 0; round < 3; round++) {
        struct node *node = &nodes[round % 2];
        write_late(node, hour);
        expect_runs(hour, 1);
        assert_int_equal(count_by_hours(&nodes[0]), written); /* of what is finer */
        seal_all();
        expect_runs(hour, 0);
        assert_int_equal(count_by_hours(&nodes[1]), written);
    }
    end();
}

static void write_of(struct node *node, const char *source, int64_t time_ns)
{
    char line[80];
    written++;
    snprintf(line, sizeof line, "m,id=%s v=%lldi %lld\n", source, written,
             (long long)time_ns + written);
    rig_write_line(&node->rig, line);
}

static void flush(struct node *node)
{
    enum vv_status status;
    for (int i = 0; (status = rig_step(&node->rig, VV_TASK_FLUSH)) != VV_OK && i < 20; i++) {
        advance(5 * VV_SECOND);
    }
    assert_int_equal(status, VV_OK);
}

/* While something is parked the unit of minutes that a late point makes stale is all of its day.
 * The next one is the first hour of the day, which begins where that did. Whether the set is one of
 * which something is parked. */
static bool write_around_what_is_parked(const char *layout, uint32_t set)
{
    begin(layout, set + 1);
    int64_t day = vv_time_floor(now_ns() - 10 * VV_DAY, VV_DAY);
    write_of(&nodes[0], "x", day + 10 * VV_HOUR);
    write_of(&nodes[0], "x", day);
    write_of(&nodes[0], "y", now_ns());
    work(&nodes[0]);
    for (int i = 0; i < 3; i++) {
        seal_all();
    }
    vv_sim_cassandra_set_away(model, UINT32_C(1) << set);
    for (int i = 0; i < 4 && parked(&nodes[0]) == 0; i++) {
        write_of(&nodes[0], "y", now_ns());
        flush(&nodes[0]);
        advance(3 * VV_SECOND);
    }
    vv_sim_cassandra_set_away(model, 0);
    bool is_parked = parked(&nodes[0]) > 0;
    if (is_parked) {
        advance(VV_MINUTE + VV_SECOND);
        write_of(&nodes[0], "x", day + 10 * VV_HOUR + VV_MINUTE);
        flush(&nodes[0]);
        deliver_all(&nodes[0]);
        write_of(&nodes[0], "x", day + VV_MINUTE);
        flush(&nodes[0]);
        (void)rig_step(&nodes[1].rig, VV_TASK_LEARN);
        assert_int_equal(count_by(&nodes[1], VV_SPACE_MINUTE), written);
        assert_int_equal(count_by_hours(&nodes[1]), written);
    }
    end();
    return is_parked;
}

static void what_says_less_does_not_replace_what_says_more(void **state)
{
    static const char *const layouts[] = {"blocks", "rows"};
    (void)state;
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
        int n = 0;
        for (uint32_t set = 0; set < VV_SIM_CASSANDRA_SETS; set++) {
            n += write_around_what_is_parked(layouts[i], set);
        }
        assert_true(n > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_has_one_run_a_unit),
        cmocka_unit_test(what_comes_after_it_was_built_makes_it_stale_again),
        cmocka_unit_test(what_says_less_does_not_replace_what_says_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
