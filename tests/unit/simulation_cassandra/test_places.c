/* SPDX-License-Identifier: Apache-2.0 */
/* Two nodes agree on the places of measurements, on the model of a cluster. */
#include "regions_fixture.h"

static int set_up_nodes(void **state)
{
    set_up(state);
    one = open_node(1, 0);
    two = open_node(1, 0);
    return 0;
}

/* "m0:debug m1:": what the node wishes, and what is agreed. */
static const char *agree_from(struct vv_store *store, int64_t from_ns,
                              const char *const *class_names, size_t n)
{
    static char text[512];
    static char measurements[8][8];
    struct vv_place_wish wishes[8] = {{.tenant = VV_STR_LITERAL("t1")}};
    struct vv_error error = {0};
    for (size_t i = 0; i < n; i++) {
        snprintf(measurements[i], sizeof measurements[0], "m%zu", i);
        wishes[i].from_ns = from_ns;
        wishes[i].tenant = (struct vv_str)VV_STR_LITERAL("t1");
        wishes[i].measurement = vv_str_of(measurements[i]);
        snprintf(wishes[i].class_name, sizeof wishes[i].class_name, "%s", class_names[i]);
    }
    if (store->ops->shared->agree_places(store, wishes, n, &error) != VV_OK) {
        return error.message[0] ? strcpy(text, error.message) : "no message";
    }
    text[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%sm%zu:%s", used ? " " : "", i,
                 wishes[i].class_name);
    }
    return text;
}

static const char *agree(struct vv_store *store, const char *const *class_names, size_t n)
{
    return agree_from(store, VV_TIME_MIN, class_names, n);
}

static void who_asks_first_has_chosen_all_places(void **state)
{
    (void)state;
    static const char *const mine[] = {"debug", "", "trace"};
    static const char *const others[] = {"", "debug", "debug"};
    assert_string_equal(agree(one, mine, 2), "m0:debug m1:");
    assert_string_equal(agree(two, others, 3), "m0:debug m1: m2:debug");
    assert_string_equal(agree(one, mine, 3), "m0:debug m1: m2:debug");
}

static void each_day_is_agreed_on_by_itself(void **state)
{
    (void)state;
    static const char *const mine[] = {"debug", ""};
    static const char *const others[] = {"", "trace"};
    assert_string_equal(agree(one, others, 2), "m0: m1:trace");
    assert_string_equal(agree_from(one, 3 * VV_DAY, mine, 2), "m0:debug m1:");
    assert_string_equal(agree_from(two, 3 * VV_DAY, others, 2), "m0:debug m1:");
    assert_string_equal(agree_from(two, 4 * VV_DAY, others, 2), "m0: m1:trace");
    assert_string_equal(agree_from(one, 4 * VV_DAY, mine, 2), "m0: m1:trace");
    assert_string_equal(agree(two, mine, 2), "m0: m1:trace");
    execute("INSERT INTO varve_one.moves (region, tenant, measurement, valid_from, class) VALUES "
            "('one', 't1', 'm0', 432000000000000, 'a/b')",
            NULL);
    assert_non_null(strstr(agree_from(one, 5 * VV_DAY, mine, 1), "in varve_one.moves is not one"));
}

static void a_place_that_is_no_class_is_damage(void **state)
{
    (void)state;
    static const char *const mine[] = {"debug"};
    execute("INSERT INTO varve_one.places (region, tenant, measurement, class) VALUES "
            "('one', 't1', 'm0', 'a/b')",
            NULL);
    assert_non_null(strstr(agree(one, mine, 1), "in varve_one.places is not one"));
}

/* A program that knows no places would put points of all measurements into their tenant. */
static void programs_without_places_are_kept_out(void **state)
{
    (void)state;
    struct vv_error error = {0};
    struct vv_store *store;
    struct vv_store *local = new_local();
    wait_ns(VV_SECOND);
    execute("INSERT INTO varve_two.varve_schema (id, version) VALUES ('schema', 4)", NULL);
    assert_int_equal(try_open(local, &list[1], 1, 0, &store, &error), VV_NOT_FOUND);
    assert_non_null(strstr(error.message, "version 4"));
    wait_ns(VV_SECOND);
    make_region("varve_two", "dc1"); /* as `varve schema --apply` */
    local = new_local();
    assert_int_equal(try_open(local, &list[1], 1, 0, &store, &error), VV_OK);
    store->ops->close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(who_asks_first_has_chosen_all_places, set_up_nodes,
                                        tear_down),
        cmocka_unit_test_setup_teardown(each_day_is_agreed_on_by_itself, set_up_nodes, tear_down),
        cmocka_unit_test_setup_teardown(a_place_that_is_no_class_is_damage, set_up_nodes,
                                        tear_down),
        CASE(programs_without_places_are_kept_out),
    };
    vv_log_level_set(VV_LOG_OFF);
    return cmocka_run_group_tests_name("simulation_cassandra/places", tests, NULL, NULL);
}
