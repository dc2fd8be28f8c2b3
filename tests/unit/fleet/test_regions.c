/* SPDX-License-Identifier: Apache-2.0 */
/* What is learnt from another region: known here, told by nobody here until it is used. */
#include "fleet_fixture.h"

/* Node 1 in a region of its own, 2 and 3 together in another; 3 hears nothing of 1. */
struct three {
    struct node *far;
    struct node *near;
    struct node *friend;
};

static struct three open_three(void)
{
    fake_begin(11);
    struct three three = {node_open(1), node_open(2), node_open(3)};
    hub.nodes[2].region = 1;
    hub.nodes[3].region = 1;
    hub.nodes[3].deaf_to = 1;
    return three;
}

static void close_three(struct three *three)
{
    node_close(three->far);
    node_close(three->near);
    node_close(three->friend);
    fake_end();
}

static void tell_some(struct node *far)
{
    vv_registry_set_retention(far->registry, node_tenant(far, "t"), VV_DAY);
    node_metric(far, "t", "pump", "temp", VV_FLOAT64);
    node_source(far, "t", "id=p1,site=x", 100);
    node_source(far, "t", "id=p1,site=y", 200);
    node_flush(far);
}

/* All that a node told: "tenant pump …", by kinds. */
static void assert_told(uint32_t number, const char *expected)
{
    char text[256] = "";
    for (size_t i = 0; i < hub.n; i++) {
        const struct vv_told *told = &hub.log[i].told;
        size_t used = strlen(text);
        if (told->node == number) {
            snprintf(text + used, sizeof text - used, "%s%u:%.*s/%lld", used ? " " : "", told->kind,
                     VV_STR_ARG(told->name), (long long)told->item);
        }
    }
    assert_string_equal(text, expected);
}

static void use_all(struct node *node)
{
    uint32_t source = VV_REGISTRY_NONE;
    struct vv_error error = {0};
    assert_int_equal(vv_registry_source_by_id(node->registry, 0, TEXT("p1"), &source), VV_OK);
    assert_int_equal(vv_fleet_use(node->fleet, VV_REGISTRY_TENANT, 0, &error), VV_OK);
    assert_int_equal(vv_fleet_use(node->fleet, VV_REGISTRY_SOURCE, source, &error), VV_OK);
    assert_int_equal(vv_fleet_use(node->fleet, VV_REGISTRY_MEASUREMENT, 0, &error), VV_OK);
    assert_int_equal(vv_fleet_use(node->fleet, VV_REGISTRY_METRIC, 0, &error), VV_OK);
    node_keep(node);
}

#define ALL "1:/0 4:p1/0 5:p1/100 5:p1/200 2:pump/0 3:pump.temp/0"

static void names_of_another_region_are_known_and_not_told(void **state)
{
    (void)state;
    struct three three = open_three();
    tell_some(three.far);
    node_learn(three.near);
    node_keep(three.near);
    assert_same_nodes(three.far, three.near);
    assert_told(2, "");
    node_restart(three.near, true);
    node_learn(three.near);
    node_keep(three.near);
    assert_told(2, "");
    close_three(&three);
}

static void what_is_used_is_told_once(void **state)
{
    (void)state;
    struct three three = open_three();
    tell_some(three.far);
    node_learn(three.near);
    node_keep(three.near);
    use_all(three.near);
    assert_told(2, ALL);
    uint64_t told = hub.nodes[2].told;
    use_all(three.near);
    assert_int_equal(hub.nodes[2].told, told);
    node_learn(three.friend); /* knows all of it without the other region */
    assert_same_nodes(three.friend, three.far);
    node_restart(three.near, false);
    use_all(three.near);
    assert_int_equal(hub.nodes[2].told, told);
    close_three(&three);
}

static void what_is_used_after_a_restart_is_told(void **state)
{
    (void)state;
    struct three three = open_three();
    tell_some(three.far);
    node_learn(three.near);
    node_keep(three.near);
    node_restart(three.near, false);
    use_all(three.near);
    assert_told(2, ALL);
    close_three(&three);
}

static void what_a_friend_told_is_not_told_again(void **state)
{
    (void)state;
    struct three three = open_three();
    tell_some(three.far);
    node_learn(three.near);
    node_keep(three.near);
    hub.nodes[3].deaf_to = 0;
    node_learn(three.friend);
    node_keep(three.friend);
    use_all(three.near);
    node_learn(three.friend);
    node_keep(three.friend);
    use_all(three.friend);
    assert_told(3, "");
    close_three(&three);
}

static void own_news_of_it_is_told(void **state)
{
    (void)state;
    struct three three = open_three();
    tell_some(three.far);
    node_learn(three.near);
    node_keep(three.near);
    node_source(three.near, "t", "id=p1,site=z", 300);
    node_flush(three.near);
    assert_told(2, "1:/0 4:p1/0 5:p1/100 5:p1/200 5:p1/300");
    node_learn(three.far);
    assert_same_nodes(three.far, three.near);
    close_three(&three);
}

static void plans_are_each_regions_own(void **state)
{
    (void)state;
    struct three three = open_three();
    const struct vv_plan day = {VV_TIME_MIN, VV_DAY, VV_HOUR, 2, 0};
    const struct vv_plan hour = {VV_TIME_MIN, VV_HOUR, VV_HOUR, 1, 0};
    uint32_t far = node_source(three.far, "t", "id=p1", 100);
    node_agree(three.far, far, day);
    node_flush(three.far);
    node_learn(three.near);
    node_keep(three.near);
    uint32_t near = VV_REGISTRY_NONE;
    assert_int_equal(vv_registry_source_by_id(three.near->registry, 0, TEXT("p1"), &near), VV_OK);
    assert_int_equal(vv_registry_source_plans(three.near->registry, near).n, 0);
    struct vv_plans plans = vv_registry_source_plans_in(three.near->registry, near, 1);
    assert_int_equal(plans.n, 1);
    assert_int_equal(plans.plans[0].bucket_ns, VV_DAY);
    node_agree(three.near, near, hour);
    node_flush(three.near);
    node_learn(three.far);
    plans = vv_registry_source_plans(three.far->registry, far);
    assert_int_equal(plans.plans[0].bucket_ns, VV_DAY);
    plans = vv_registry_source_plans_in(three.far->registry, far, 1);
    assert_int_equal(plans.plans[0].bucket_ns, VV_HOUR);
    node_learn(three.friend); /* of whom it does not hear */
    uint32_t third = VV_REGISTRY_NONE;
    assert_int_equal(vv_registry_source_by_id(three.friend->registry, 0, TEXT("p1"), &third),
                     VV_OK);
    plans = vv_registry_source_plans(three.friend->registry, third);
    assert_int_equal(plans.n, 1);
    assert_int_equal(plans.plans[0].bucket_ns, VV_HOUR);
    close_three(&three);
}

static void float_wins_over_int_across_regions(void **state)
{
    (void)state;
    struct three three = open_three();
    struct vv_metric_info info;
    tell_some(three.far);
    uint32_t metric = node_metric(three.near, "t", "pump", "temp", VV_INT64);
    node_flush(three.near);
    node_learn(three.near);
    vv_registry_metric_info(three.near->registry, metric, &info);
    assert_int_equal(info.type, VV_FLOAT64);
    node_learn(three.far);
    vv_registry_metric_info(three.far->registry, 0, &info);
    assert_int_equal(info.type, VV_FLOAT64);
    close_three(&three);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_another_region_are_known_and_not_told),
        cmocka_unit_test(what_is_used_is_told_once),
        cmocka_unit_test(what_is_used_after_a_restart_is_told),
        cmocka_unit_test(what_a_friend_told_is_not_told_again),
        cmocka_unit_test(own_news_of_it_is_told),
        cmocka_unit_test(plans_are_each_regions_own),
        cmocka_unit_test(float_wins_over_int_across_regions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
