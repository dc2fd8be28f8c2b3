/* SPDX-License-Identifier: Apache-2.0 */
/* What is deleted, among nodes: told by names, learnt into each node's own numbers, in any order.
 */
#include "fleet_fixture.h"

struct pair {
    struct node *a;
    struct node *b;
};

static struct pair open_pair(void)
{
    fake_begin(7);
    return (struct pair){node_open(1), node_open(2)};
}

static void close_pair(struct pair *pair)
{
    node_close(pair->a);
    node_close(pair->b);
    fake_end();
}

/* An order of one node, as its journal would have it. */
static void delete (struct node *node, uint32_t source, uint8_t scope, uint32_t number,
                    int64_t from, int64_t to, uint64_t us)
{
    bool is_source = scope == VV_DELETION_SOURCE;
    struct vv_deletion_order *order = vv_deletion_order_create(is_source ? 0 : 1, 1);
    assert_non_null(order);
    order->scope = scope;
    order->from = from;
    order->to = to;
    order->sources[0] = source;
    if (!is_source) {
        order->numbers[0] = number;
    }
    assert_int_equal(vv_deletions_prepare(node->deletions, order, vv_stamp_make(us, node->number)),
                     VV_OK);
    vv_deletions_publish(node->deletions);
    free(order);
}

/* What the learning step of a node does. */
static void tell(struct node *node)
{
    struct vv_error error = {0};
    enum vv_status status = vv_fleet_tell_all_markers(node->fleet, 1000, &error);
    assert_true(status == VV_OK || status == VV_DONE);
    assert_int_equal(vv_fleet_confirm(node->fleet, &error), VV_OK);
}

static uint32_t source_of(struct node *node, const char *tenant, const char *id)
{
    uint32_t number;
    uint32_t source;
    assert_int_equal(vv_registry_tenant(node->registry, vv_str_of(tenant), false, &number, NULL),
                     VV_OK);
    assert_int_equal(vv_registry_source_by_id(node->registry, number, vv_str_of(id), &source),
                     VV_OK);
    return source;
}

static uint32_t metric_of(struct node *node, const char *tenant, const char *name)
{
    uint32_t number;
    assert_int_equal(vv_registry_tenant(node->registry, vv_str_of(tenant), false, &number, NULL),
                     VV_OK);
    uint32_t metric = vv_registry_metric_named(node->registry, number, vv_str_of(name));
    assert_int_not_equal(metric, VV_REGISTRY_NONE);
    return metric;
}

static void a_deletion_is_learnt_into_the_learners_own_numbers(void **state)
{
    (void)state;
    struct pair pair = open_pair();
    node_metric(pair.b, "other", "x", "y", VV_FLOAT64); /* so that numbers differ */
    node_source(pair.b, "other", "id=o", 1);
    node_source(pair.b, "t", "host=first", 1);
    uint32_t metric = node_metric(pair.a, "t", "pump", "temp", VV_INT64);
    uint32_t source = node_source(pair.a, "t", "host=h", 100);
    delete (pair.a, source, VV_DELETION_METRIC, metric, 10, 20, 500);
    delete (pair.a, source, VV_DELETION_SOURCE, 0, 30, 40, 501);
    tell(pair.a); /* before anything else was flushed: the names go with it */
    node_learn(pair.b);
    uint32_t there = source_of(pair.b, "t", "host=h");
    uint32_t named = metric_of(pair.b, "t", "pump.temp");
    assert_int_not_equal(there, source);
    assert_int_not_equal(named, metric);
    struct vv_marker markers[4];
    assert_int_equal(vv_deletions_read(pair.b->deletions, there, 0, markers, 4), 2);
    size_t of_metric = markers[0].scope == VV_DELETION_METRIC ? 0 : 1;
    assert_int_equal(markers[of_metric].number, named);
    assert_int_equal(markers[of_metric].from, 10);
    assert_int_equal(markers[of_metric].to, 20);
    assert_int_equal(markers[of_metric].stamp, vv_stamp_make(500, 1));
    assert_int_equal(markers[1 - of_metric].scope, VV_DELETION_SOURCE);
    assert_true(vv_deletions_newest(pair.b->deletions, INT64_MAX) == vv_stamp_make(501, 1));
    uint64_t told = hub.nodes[2].told;
    tell(pair.b); /* not told back */
    assert_int_equal(hub.nodes[2].told - told, 0);
    close_pair(&pair);
}

static void a_deletion_of_a_source_that_is_not_known_yet_waits_for_it(void **state)
{
    (void)state;
    struct pair pair = open_pair();
    uint32_t source = node_source(pair.a, "t", "host=h", 100);
    delete (pair.a, source, VV_DELETION_SOURCE, 0, 30, 40, 501);
    tell(pair.a);
    node_learn(pair.b);
    node_keep(pair.b);
    uint32_t there = node_source(pair.b, "t", "host=h", 200); /* a client writes it here */
    assert_true(vv_deletions_has(pair.b->deletions, there));
    close_pair(&pair);
}

static void what_is_learnt_of_deletions_is_kept(void **state)
{
    (void)state;
    struct pair pair = open_pair();
    uint32_t source = node_source(pair.a, "t", "host=h", 100);
    delete (pair.a, source, VV_DELETION_SOURCE, 0, 30, 40, 501);
    tell(pair.a);
    node_learn(pair.b);
    node_keep(pair.b);
    uint32_t there = source_of(pair.b, "t", "host=h");
    struct vv_buffer value = {0};
    uint8_t key[4];
    vv_registry_key(there, key);
    assert_int_equal(pair.b->store->ops->get_meta(pair.b->store, VV_META_DELETION,
                                                  (struct vv_str){(const char *)key, 4}, &value,
                                                  NULL),
                     VV_OK);
    struct vv_deletions *again;
    assert_int_equal(vv_deletions_create(10, &again), VV_OK);
    assert_int_equal(vv_deletions_apply(
                         again, there, (struct vv_str){(const char *)value.data, value.size}, NULL),
                     VV_OK);
    assert_true(vv_deletions_has(again, there));
    vv_deletions_destroy(again);
    vv_buffer_deinit(&value);
    close_pair(&pair);
}

static void that_it_is_swept_is_told_too(void **state)
{
    (void)state;
    struct pair pair = open_pair();
    struct vv_marker marker;
    uint32_t source = node_source(pair.a, "t", "host=h", 100);
    delete (pair.a, source, VV_DELETION_SOURCE, 0, 30, 40, 501);
    tell(pair.a);
    node_learn(pair.b);
    uint32_t there = source_of(pair.b, "t", "host=h");
    assert_int_equal(vv_deletions_next(pair.b->deletions, 0, VV_MARKER_UNSWEPT), there);
    assert_int_equal(vv_deletions_read(pair.a->deletions, source, 0, &marker, 1), 1);
    marker.is_swept = true;
    vv_deletions_note_done(pair.a->deletions, source, &marker, 1);
    tell(pair.a);
    node_learn(pair.b);
    assert_int_equal(vv_deletions_next(pair.b->deletions, 0, VV_MARKER_UNSWEPT), UINT32_MAX);
    assert_int_equal(vv_deletions_next(pair.b->deletions, 0, VV_MARKER_UNCLEARED), there);
    close_pair(&pair);
}

/* More than one value takes. */
static void many_markers_are_told_in_parts(void **state)
{
    (void)state;
    struct pair pair = open_pair();
    char field[200];
    uint32_t source = node_source(pair.a, "t", "host=h", 100);
    memset(field, 'x', sizeof field);
    field[sizeof field - 1] = '\0';
    for (uint32_t i = 0; i < 3 * VV_TOLD_MARKERS_MAX; i++) {
        field[0] = (char)('a' + i % 26);
        field[1] = (char)('a' + i / 26);
        uint32_t metric = node_metric(pair.a, "t", "pump", field, VV_FLOAT64);
        delete (pair.a, source, VV_DELETION_METRIC, metric, 10, 20, 500 + i);
    }
    tell(pair.a);
    node_learn(pair.b);
    uint32_t there = source_of(pair.b, "t", "host=h");
    struct vv_marker none;
    assert_int_equal(vv_deletions_read(pair.b->deletions, there, 0, &none, 0),
                     3 * VV_TOLD_MARKERS_MAX);
    close_pair(&pair);
}

static void what_was_told_in_vain_of_deletions_is_told_again(void **state)
{
    (void)state;
    struct pair pair = open_pair();
    struct vv_error error = {0};
    uint32_t source = node_source(pair.a, "t", "host=h", 100);
    delete (pair.a, source, VV_DELETION_SOURCE, 0, 30, 40, 501);
    assert_int_equal(vv_fleet_tell_markers(pair.a->fleet, source, &error), VV_OK);
    fake_crash(1); /* of the store: nothing was confirmed */
    assert_int_equal(vv_fleet_tell_again(pair.a->fleet, &error), VV_OK);
    assert_int_equal(vv_fleet_confirm(pair.a->fleet, &error), VV_OK);
    node_learn(pair.b);
    assert_true(vv_deletions_has(pair.b->deletions, source_of(pair.b, "t", "host=h")));
    close_pair(&pair);
}

/* Who has heard of it from there may not mark spans for it before those here can know of it. */
static void a_deletion_of_another_region_is_told_here_before_it_counts_as_known(void **state)
{
    (void)state;
    struct pair pair = open_pair();
    struct node *friend = node_open(3);
    struct vv_marker marker;
    hub.nodes[2].region = 1;
    hub.nodes[3].region = 1;
    hub.nodes[3].deaf_to = 1;
    delete (pair.a, node_source(pair.a, "t", "host=h", 100), VV_DELETION_SOURCE, 0, 10, 20, 500);
    tell(pair.a);
    node_learn(pair.b);
    uint32_t there = source_of(pair.b, "t", "host=h");
    assert_int_equal(vv_deletions_read(pair.b->deletions, there, 0, &marker, 1), 1);
    assert_false(marker.is_told);
    tell(pair.b);
    assert_int_equal(vv_deletions_read(pair.b->deletions, there, 0, &marker, 1), 1);
    assert_true(marker.is_told);
    node_learn(friend);
    uint32_t known = source_of(friend, "t", "host=h");
    assert_int_equal(vv_deletions_read(friend->deletions, known, 0, &marker, 1), 1);
    assert_int_equal(marker.stamp, vv_stamp_make(500, 1));
    uint64_t told[] = {hub.nodes[1].told, hub.nodes[2].told, hub.nodes[3].told};
    for (int i = 0; i < 3; i++) { /* it is not told to and fro */
        node_learn(pair.a);
        tell(pair.a);
        node_learn(pair.b);
        tell(pair.b);
        node_learn(friend);
        tell(friend);
    }
    for (int i = 0; i < 3; i++) {
        assert_int_equal(hub.nodes[i + 1].told, told[i]);
    }
    node_close(friend);
    close_pair(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_deletion_is_learnt_into_the_learners_own_numbers),
        cmocka_unit_test(a_deletion_of_a_source_that_is_not_known_yet_waits_for_it),
        cmocka_unit_test(what_is_learnt_of_deletions_is_kept),
        cmocka_unit_test(that_it_is_swept_is_told_too),
        cmocka_unit_test(many_markers_are_told_in_parts),
        cmocka_unit_test(what_was_told_in_vain_of_deletions_is_told_again),
        cmocka_unit_test(a_deletion_of_another_region_is_told_here_before_it_counts_as_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
