/* SPDX-License-Identifier: Apache-2.0 */
/* What the settings say about the schema in Cassandra. */
#include "engine/schema_options.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct vv_settings settings_with(const char *name, const char *value)
{
    struct vv_settings settings;
    vv_settings_init(&settings);
    assert_int_equal(vv_settings_set(&settings, name, value, NULL), VV_OK);
    return settings;
}

static void defaults_give_a_schema(void **state)
{
    (void)state;
    struct vv_schema_setup setup;
    struct vv_settings settings;
    vv_settings_init(&settings);
    assert_int_equal(vv_schema_setup_of(&settings, &setup, NULL), VV_OK);
    assert_string_equal(setup.options.keyspace, "varve");
    assert_int_equal(setup.options.n_classes, 4);
    assert_int_equal(setup.options.classes_ns[3], 365 * VV_DAY);
    assert_int_equal(setup.options.n_replication, 1);
    assert_true(
        vv_str_equal(setup.options.replication[0].datacenter, VV_STR_LITERAL("datacenter1")));
    assert_int_equal(setup.options.replication[0].replicas, 3);
    assert_int_equal(setup.options.repair_interval_ns, 0);
    struct vv_buffer text = {0};
    assert_int_equal(vv_schema_print(&setup.options, &text, NULL), VV_OK);
    vv_buffer_deinit(&text);
}

/* The own region's, wherever it stands in the list. */
static void a_region_has_a_schema_of_its_own(void **state)
{
    (void)state;
    struct vv_schema_setup setup;
    struct vv_settings settings = settings_with("cassandra.keyspace", "varve_{region}");
    assert_int_equal(vv_settings_set(&settings, "cassandra.region", "two", NULL), VV_OK);
    assert_int_equal(vv_settings_set(&settings, "cassandra.regions", "one,two", NULL), VV_OK);
    assert_int_equal(vv_settings_set(&settings, "cassandra.replication", "dc2:3", NULL), VV_OK);
    assert_int_equal(vv_schema_setup_of(&settings, &setup, NULL), VV_OK);
    assert_string_equal(setup.options.keyspace, "varve_two");
    assert_int_equal(setup.options.n_replication, 1);
    assert_int_equal(setup.regions.own, 1);
}

/* Runs expire when their bucket is over and the slack has passed. */
static void runs_live_as_long_as_buckets_and_slack(void **state)
{
    (void)state;
    struct vv_schema_setup setup;
    struct vv_settings settings = settings_with("cassandra.slack", "12h");
    assert_int_equal(vv_schema_setup_of(&settings, &setup, NULL), VV_OK);
    assert_int_equal(setup.options.run_life_ns, 36 * VV_HOUR);
    assert_int_equal(vv_settings_set(&settings, "partition.bucket", "7d", NULL), VV_OK);
    assert_int_equal(vv_schema_setup_of(&settings, &setup, NULL), VV_OK);
    assert_int_equal(setup.options.run_life_ns, 7 * VV_DAY + 12 * VV_HOUR);
}

static void gc_grace_below_a_day_must_be_insisted_on(void **state)
{
    (void)state;
    struct vv_schema_setup setup;
    struct vv_settings settings;
    vv_settings_init(&settings);
    assert_int_equal(vv_schema_setup_of(&settings, &setup, NULL), VV_OK);
    assert_int_equal(vv_schema_gc_grace_s(&setup.options, 7 * VV_DAY), 86400);
    assert_int_equal(vv_settings_set(&settings, "cassandra.gc_grace_min", "4h", NULL), VV_OK);
    assert_int_equal(vv_schema_setup_of(&settings, &setup, NULL), VV_OK);
    assert_int_equal(vv_schema_gc_grace_s(&setup.options, 7 * VV_DAY), 4 * 3600);
    assert_int_equal(vv_settings_set(&settings, "cassandra.gc_grace_min", "3h", NULL), VV_INVALID);
}

static void wrong_texts_are_refused(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"cassandra.classes", "2d,1d"},
        {"cassandra.replication", "dc1"},
        {"cassandra.keyspace", "a;b"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct vv_schema_setup setup;
        struct vv_error error = {0};
        struct vv_settings settings = settings_with(cases[i][0], cases[i][1]);
        assert_int_equal(vv_schema_setup_of(&settings, &setup, &error), VV_INVALID);
        assert_true(error.message[0] != '\0');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_give_a_schema),
        cmocka_unit_test(a_region_has_a_schema_of_its_own),
        cmocka_unit_test(runs_live_as_long_as_buckets_and_slack),
        cmocka_unit_test(gc_grace_below_a_day_must_be_insisted_on),
        cmocka_unit_test(wrong_texts_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
