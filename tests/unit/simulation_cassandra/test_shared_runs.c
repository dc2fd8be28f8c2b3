/* SPDX-License-Identifier: Apache-2.0 */
/* Sources that send little share partitions of runs: what a flush has of them goes there together,
 * and each one's points are found, sealed and kept by themselves. */
#include "engines_fixture.h"

#define SOURCES 2000

/* A point of each. */
static void write_all(struct node *node, int64_t time_ns)
{
    struct vv_buffer lines = {0};
    for (int i = 0; i < SOURCES; i++) {
        written++;
        vv_buffer_format(&lines, "m,id=s%d v=%lldi %lld\n", i, written,
                         (long long)time_ns + written);
    }
    vv_buffer_u8(&lines, 0);
    assert_int_equal(vv_buffer_status(&lines), VV_OK);
    rig_write_line(&node->rig, (const char *)lines.data);
    vv_buffer_deinit(&lines);
}

static uint64_t requests(void)
{
    struct vv_sim_cassandra_figures figures;
    vv_sim_cassandra_read_figures(model, &figures);
    return figures.requests;
}

static uint64_t requests_of_a_flush(struct node *node)
{
    uint64_t before = requests();
    assert_int_equal(rig_step(&node->rig, VV_TASK_FLUSH), VV_OK);
    return requests() - before;
}

static void begin(uint64_t seed)
{
    make_cluster(seed);
    for (uint32_t i = 0; i < 2; i++) {
        (void)make_node(i);
    }
    for (size_t i = 0; i < 4; i++) {
        (void)rig_step(&nodes[i % 2].rig, VV_TASK_BEAT);
        (void)rig_step(&nodes[i % 2].rig, VV_TASK_LEARN);
    }
}

/* Plans and names have been told by then. A run alone would be a request. */
static void runs_of_sources_that_share_go_together(void **state)
{
    (void)state;
    begin(1);
    write_all(&nodes[0], RIG_START - 5 * VV_HOUR);
    (void)requests_of_a_flush(&nodes[0]);
    write_all(&nodes[0], RIG_START - 5 * VV_HOUR);
    uint64_t n = requests_of_a_flush(&nodes[0]);
    if (n > SOURCES / 2) {
        fail_msg("%llu requests for %d runs", (unsigned long long)n, SOURCES);
    }
    assert_int_equal(count_points(&nodes[0]), written);
    drop_cluster();
}

/* Each source writes into three buckets at a time. */
static void runs_of_several_buckets_go_together_too(void **state)
{
    (void)state;
    begin(3);
    for (int round = 0; round < 2; round++) {
        for (int bucket = 0; bucket < 3; bucket++) {
            write_all(&nodes[0], RIG_START - (1 + 2 * bucket) * 10 * VV_DAY);
        }
        uint64_t n = requests_of_a_flush(&nodes[0]);
        if (round > 0 && n > 3 * SOURCES / 2) {
            fail_msg("%llu requests for %d runs", (unsigned long long)n, 3 * SOURCES);
        }
    }
    assert_int_equal(count_points(&nodes[0]), written);
    drop_cluster();
}

/* Two nodes write, each seals some of the shards, and a third one that starts later reads. */
static void each_ones_points_are_found_and_sealed(void **state)
{
    (void)state;
    begin(2);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < 2; i++) {
            write_all(&nodes[i], RIG_START - 5 * VV_HOUR + round * VV_MINUTE);
            work(&nodes[i]);
        }
    }
    for (int i = 0; i < 8; i++) {
        (void)rig_step(&nodes[i % 2].rig, VV_TASK_SEAL_ALL);
        work(&nodes[i % 2]);
    }
    (void)make_node(2);
    for (int i = 0; i < 6; i++) {
        work(&nodes[i % 3]);
        advance(VV_SECOND);
    }
    assert_int_equal(count_points(&nodes[2]), written);
    advance(9 * VV_DAY); /* the runs have expired: what is there is in blocks */
    for (size_t i = 0; i < 3; i++) {
        (void)rig_step(&nodes[i].rig, VV_TASK_LEARN);
        assert_int_equal(count_points(&nodes[i]), written);
    }
    drop_cluster();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_of_sources_that_share_go_together),
        cmocka_unit_test(runs_of_several_buckets_go_together_too),
        cmocka_unit_test(each_ones_points_are_found_and_sealed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
