/* SPDX-License-Identifier: Apache-2.0 */
/* Two stores of two regions on the model of one cluster: who reads what of whom. */
#include "regions_fixture.h"

static void numbers_are_unique_over_all_regions(void **state)
{
    (void)state;
    struct vv_store *nodes[] = {open_node(2, 0), open_node(2, 1), open_node(2, 1), open_node(2, 0)};
    static const uint32_t expected[] = {1, 2, 10, 9};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(nodes[i]->ops->shared->node(nodes[i]), expected[i]);
    }
}

static void a_region_reads_what_another_stores(void **state)
{
    (void)state;
    struct vv_span_key key = span_of(0, 1);
    struct vv_span_key other = span_of(0, 2);
    assert_int_equal(put(one, VV_PIECE_RUN, &key, "of one"), VV_OK);
    assert_int_equal(put(two, VV_PIECE_RUN, &key, "of two"), VV_OK);
    assert_int_equal(put(one, VV_PIECE_BLOCK, &other, "sealed"), VV_OK);
    confirm(one);
    confirm(two);
    assert_read(one, 0, 1, "R=of one");
    assert_read(one, 1, 1, "R=of two");
    assert_read(two, 0, 1, "R=of two");
    assert_read(two, 1, 1, "R=of one");
    assert_read(two, 1, 2, "B=sealed");
    assert_read(two, 0, 2, "");
    assert_read(two, 2, 1, ""); /* there is none */
    assert_true(has_bucket(two, 1, 1) && has_bucket(two, 0, 1));
    assert_false(has_bucket(two, 1, 3));
    assert_false(has_bucket(two, 2, 1));
    key.partition.region = 1;
    assert_int_equal(put(two, VV_PIECE_RUN, &key, "no"), VV_INVALID);
    assert_int_equal(put(two, VV_PIECE_BLOCK, &key, "no"), VV_INVALID);
}

static void only_own_nodes_share_the_work(void **state)
{
    (void)state;
    beat(one);
    (void)learn(two);
    assert_string_equal(peers_text(two), "1/1");
    vv_shared_divide(vv_cassandra_of(two));
    for (size_t i = 0; i < VV_CASSANDRA_SHARDS; i++) {
        assert_true(vv_cassandra_of(two)->shared.shards[i].is_owned);
    }
}

static void regions_appear_and_are_missed(void **state)
{
    (void)state;
    one = open_node(3, 0);
    assert_string_equal(regions_text(one), "one:readable two:readable three:absent");
    assert_read(one, 2, 1, "");
    assert_false(has_bucket(one, 2, 1));
    make_region("varve_three", "dc1");
    struct vv_store *three = open_node(3, 2);
    struct vv_span_key key = span_of(0, 1);
    assert_int_equal(put(three, VV_PIECE_RUN, &key, "of three"), VV_OK);
    confirm(three);
    assert_string_equal(learn(one), "");
    assert_string_equal(regions_text(one), "one:readable two:readable three:absent");
    wait_ns(VV_MINUTE);
    (void)learn(one);
    assert_string_equal(regions_text(one), "one:readable two:readable three:readable");
    assert_read(one, 2, 1, "R=of three");
    assert_string_equal(regions_text(three), "three:readable one:readable two:readable");
}

static void a_keyspace_without_copies_here_is_absent(void **state)
{
    (void)state;
    make_region("varve_three", "dc2");
    one = open_node(3, 0);
    assert_string_equal(regions_text(one), "one:readable two:readable three:absent");
}

/* Where those tables come later, or were never wanted, all that came in time is read. */
static void a_class_without_late_points_is_read(void **state)
{
    (void)state;
    two = open_node(2, 1);
    struct vv_span_key key = span_of(0, 2);
    assert_int_equal(put(two, VV_PIECE_BLOCK, &key, "sealed"), VV_OK);
    confirm(two);
    wait_ns(VV_SECOND);
    execute("DELETE FROM system_schema.tables WHERE keyspace_name = 'varve_two' AND "
            "table_name = 'late_7d'",
            NULL);
    execute("DELETE FROM system_schema.tables WHERE keyspace_name = 'varve_two' AND "
            "table_name = 'late_forever'",
            NULL);
    one = open_node(2, 0);
    assert_string_equal(regions_text(one), "one:readable two:readable");
    assert_read(one, 1, 2, "B=sealed");
}

/* The row with the version is copied like others: it may come late. */
static void a_keyspace_of_another_version_is_absent(void **state)
{
    (void)state;
    wait_ns(VV_SECOND);
    execute("DELETE FROM varve_two.varve_schema WHERE id = 'schema'", NULL);
    one = open_node(2, 0);
    assert_string_equal(regions_text(one), "one:readable two:readable");
    wait_ns(VV_MINUTE);
    execute("INSERT INTO varve_two.varve_schema (id, version) VALUES ('schema', 99)", NULL);
    assert_string_equal(learn(one), "");
    assert_string_equal(regions_text(one), "one:readable two:absent");
}

/* Opens and closes. */
static enum vv_status open_on(struct vv_store *local, const struct vv_cassandra_region *all,
                              size_t n, size_t own, struct vv_error *error)
{
    struct vv_store *store;
    enum vv_status status = try_open(local, all, n, own, &store, error);
    if (status == VV_OK) {
        store->ops->close(store);
    }
    return status;
}

/* The local store outlives the nodes. */
static void stay_open(struct vv_store *store)
{
    (void)store;
}

static void the_order_of_regions_is_kept(void **state)
{
    (void)state;
    struct vv_store *local = new_local();
    const struct vv_store_ops *ops = local->ops;
    struct vv_store_ops lasting = *ops;
    lasting.close = stay_open;
    local->ops = &lasting;
    const struct vv_cassandra_region turned[] = {list[0], list[2], list[1]};
    const struct vv_cassandra_region longer[] = {list[0], {"twofold", "varve_two"}};
    struct vv_error error = {0};
    assert_int_equal(open_on(local, list, 1, 0, &error), VV_OK);
    assert_int_equal(open_on(local, list, 2, 0, &error), VV_OK);
    assert_int_equal(open_on(local, turned, 3, 0, &error), VV_INVALID);
    assert_non_null(strstr(error.message, "append new ones"));
    assert_int_equal(open_on(local, longer, 2, 0, &error), VV_INVALID);
    assert_int_equal(open_on(local, list, 1, 0, &error), VV_INVALID);
    assert_int_equal(open_on(local, list, 3, 0, &error), VV_OK);
    local->ops = ops;
    local->ops->close(local);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(numbers_are_unique_over_all_regions),
        CASE_TWO(a_region_reads_what_another_stores),
        CASE_TWO(only_own_nodes_share_the_work),
        CASE(regions_appear_and_are_missed),
        CASE(a_keyspace_without_copies_here_is_absent),
        CASE(a_class_without_late_points_is_read),
        CASE(a_keyspace_of_another_version_is_absent),
        CASE(the_order_of_regions_is_kept),
    };
    vv_log_level_set(VV_LOG_OFF);
    return cmocka_run_group_tests_name("simulation_cassandra/regions", tests, NULL, NULL);
}
