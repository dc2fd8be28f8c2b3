/* SPDX-License-Identifier: Apache-2.0 */
/* Where retentions change, the notes of which buckets there are live as long as what is in these.
 */
#include "longer_fixture.h"

static void keep_raw(struct node *node, int64_t retention_ns)
{
    keep_for(node, retention_ns);
    let_all_know();
}

static void write_one(struct node *node)
{
    assert_int_equal(write_some(node, "m,id=x", now_ns() + ++written, VV_SECOND, 1), 1);
    settle();
}

static void begin_kept_for(int64_t retention_ns)
{
    make_cluster(1);
    add_nodes(2);
    keep_raw(&nodes[0], retention_ns);
    advance(vv_time_floor(now_ns(), VV_DAY) + VV_DAY - now_ns()); /* the bucket's begin */
}

static void assert_all_are_found(void)
{
    for (size_t i = 0; i < 2; i++) {
        restart_node(&nodes[i], 1);
        assert_int_equal(count_points(&nodes[i]), written);
    }
}

/* Who puts into a bucket what lives longer than what it put there before. */
static void what_is_kept_for_longer_from_now_on_is_found(void **state)
{
    (void)state;
    begin_kept_for(5 * VV_DAY);
    write_one(&nodes[1]);
    keep_raw(&nodes[1], 60 * VV_DAY);
    write_one(&nodes[1]);
    live_all(30, VV_DAY);
    written--; /* the first one has gone */
    assert_all_are_found();
    end();
}

/* Another node puts into the bucket what lives for less. */
static void what_is_kept_for_less_shortens_nothing(void **state)
{
    (void)state;
    begin_kept_for(60 * VV_DAY);
    write_one(&nodes[1]);
    keep_raw(&nodes[1], 5 * VV_DAY);
    write_one(&nodes[0]);
    keep_raw(&nodes[1], 60 * VV_DAY);
    live_all(30, VV_DAY);
    written--; /* the second one was to go */
    assert_all_are_found();
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_kept_for_longer_from_now_on_is_found),
        cmocka_unit_test(what_is_kept_for_less_shortens_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
