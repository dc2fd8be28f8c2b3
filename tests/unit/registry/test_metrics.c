/* SPDX-License-Identifier: Apache-2.0 */
/* Measurements and metrics: names, types, limits, descriptions and patterns. */
#include "registry_fixture.h"

static void metrics_belong_to_measurements(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open(NULL);
    uint32_t a = fixture_tenant(registry, "a");
    uint32_t b = fixture_tenant(registry, "b");
    uint32_t cpu = fixture_measurement(registry, a, "cpu");
    assert_int_equal(fixture_measurement(registry, a, "cpu"), cpu);
    assert_int_not_equal(fixture_measurement(registry, b, "cpu"), cpu);
    uint32_t memory = fixture_measurement(registry, a, "memory");
    uint32_t user = fixture_metric(registry, cpu, "user", VV_FLOAT64);
    uint32_t used = fixture_metric(registry, memory, "user", VV_INT64);
    assert_int_not_equal(user, used);
    assert_int_equal(fixture_metric(registry, cpu, "user", VV_FLOAT64), user);
    assert_str(vv_registry_measurement_name(registry, cpu), "cpu");

    struct vv_metric_info info;
    vv_registry_metric_info(registry, used, &info);
    assert_int_equal(info.metric, used);
    assert_int_equal(info.tenant, a);
    assert_int_equal(info.measurement, memory);
    assert_int_equal(info.type, VV_INT64);
    assert_str(info.name, "memory.user");
    assert_str(info.unit, "");
    assert_str(info.description, "");
    vv_registry_metric_info(registry, 77, &info);
    assert_int_equal(info.tenant, VV_REGISTRY_NONE);
    assert_str(info.name, "");
    vv_registry_destroy(registry);
}

static void the_first_type_stays(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open(NULL);
    uint32_t cpu = fixture_measurement(registry, fixture_tenant(registry, "a"), "cpu");
    uint32_t metric = fixture_metric(registry, cpu, "n", VV_INT64);
    uint32_t again = VV_REGISTRY_NONE;
    enum vv_value_type type = VV_FLOAT64;
    assert_int_equal(
        vv_registry_metric(registry, cpu, TEXT("n"), VV_FLOAT64, true, &again, &type, NULL), VV_OK);
    assert_int_equal(again, metric);
    assert_int_equal(type, VV_INT64);
    vv_registry_destroy(registry);
}

static void a_name_stands_for_one_metric(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open(NULL);
    uint32_t tenant = fixture_tenant(registry, "a");
    uint32_t one = fixture_measurement(registry, tenant, "a");
    uint32_t other = fixture_measurement(registry, tenant, "a.b");
    fixture_metric(registry, one, "b.c", VV_FLOAT64);
    uint32_t metric = 0;
    enum vv_value_type type = VV_FLOAT64;
    struct vv_error error = {0};
    assert_int_equal(
        vv_registry_metric(registry, other, TEXT("c"), VV_FLOAT64, true, &metric, &type, &error),
        VV_EXISTS);
    assert_int_equal(metric, VV_REGISTRY_NONE);
    assert_non_null(strstr(error.message, "'a.b.c'"));
    fixture_metric(registry, other, "d", VV_FLOAT64);
    uint32_t elsewhere = fixture_measurement(registry, fixture_tenant(registry, "b"), "a.b");
    uint32_t c = fixture_metric(registry, elsewhere, "c", VV_FLOAT64);
    assert_int_equal(
        vv_registry_metric_named(registry, fixture_tenant(registry, "b"), TEXT("a.b.c")), c);
    assert_int_not_equal(vv_registry_metric_named(registry, tenant, TEXT("a.b.c")), c);
    assert_int_equal(vv_registry_metric_named(registry, tenant, TEXT("a.b")), VV_REGISTRY_NONE);
    assert_int_equal(vv_registry_metric_named(registry, 9, TEXT("a.b.c")), VV_REGISTRY_NONE);
    vv_registry_destroy(registry);
}

static void finding_does_not_make(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open(NULL);
    uint32_t tenant = fixture_tenant(registry, "a");
    uint32_t number = 0;
    enum vv_value_type type = VV_FLOAT64;
    struct vv_error error = {0};
    assert_int_equal(vv_registry_measurement(registry, tenant, TEXT("cpu"), false, &number, &error),
                     VV_NOT_FOUND);
    assert_non_null(strstr(error.message, "cpu"));
    assert_int_equal(vv_registry_measurement(registry, 9, TEXT("cpu"), true, &number, &error),
                     VV_NOT_FOUND);
    uint32_t cpu = fixture_measurement(registry, tenant, "cpu");
    assert_int_equal(
        vv_registry_metric(registry, cpu, TEXT("user"), VV_INT64, false, &number, &type, &error),
        VV_NOT_FOUND);
    assert_int_equal(
        vv_registry_metric(registry, 9, TEXT("user"), VV_INT64, true, &number, &type, &error),
        VV_NOT_FOUND);
    struct vv_registry_figures figures;
    vv_registry_read_figures(registry, &figures);
    assert_int_equal(figures.measurements, 1);
    assert_int_equal(figures.metrics, 0);
    vv_registry_destroy(registry);
}

static void bad_names_are_refused(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open(NULL);
    uint32_t tenant = fixture_tenant(registry, "a");
    uint32_t cpu = fixture_measurement(registry, tenant, "cpu");
    static char large[VV_NAME_BYTES_MAX + 1];
    memset(large, 'x', sizeof large);
    const struct vv_str bad[] = {TEXT(""), TEXT("a\rb"), TEXT("a\xC3"), {large, sizeof large}};
    const enum vv_status expected[] = {VV_INVALID, VV_INVALID, VV_INVALID, VV_TOO_LARGE};
    for (size_t i = 0; i < 4; i++) {
        uint32_t number = 0;
        enum vv_value_type type = VV_FLOAT64;
        assert_int_equal(vv_registry_measurement(registry, tenant, bad[i], true, &number, NULL),
                         expected[i]);
        assert_int_equal(
            vv_registry_metric(registry, cpu, bad[i], VV_INT64, true, &number, &type, NULL),
            expected[i]);
    }
    const struct vv_str longest = {large, VV_NAME_BYTES_MAX};
    uint32_t number = 0;
    enum vv_value_type type = VV_FLOAT64;
    assert_int_equal(vv_registry_measurement(registry, tenant, longest, true, &number, NULL),
                     VV_OK);
    assert_int_equal(
        vv_registry_metric(registry, number, longest, VV_INT64, true, &number, &type, NULL), VV_OK);
    struct vv_metric_info info;
    vv_registry_metric_info(registry, number, &info);
    assert_int_equal(info.name.size, 2 * VV_NAME_BYTES_MAX + 1);
    vv_registry_destroy(registry);
}

static void metrics_have_a_limit(void **state)
{
    (void)state;
    struct vv_registry_options options = fixture_defaults;
    options.metrics_max = 4;
    struct vv_registry *registry = NULL;
    assert_int_equal(vv_registry_create(&options, &registry), VV_OK);
    uint32_t tenant = fixture_tenant(registry, "a");
    uint32_t cpu = fixture_measurement(registry, tenant, "cpu");
    fixture_metric(registry, cpu, "1", VV_INT64);
    fixture_metric(registry, cpu, "2", VV_INT64);
    fixture_metric(registry, cpu, "3", VV_INT64);
    uint32_t number = 0;
    enum vv_value_type type = VV_FLOAT64;
    struct vv_error error = {0};
    assert_int_equal(
        vv_registry_metric(registry, cpu, TEXT("4"), VV_INT64, true, &number, &type, &error),
        VV_TOO_LARGE);
    assert_non_null(strstr(error.message, "limit"));
    assert_int_equal(vv_registry_measurement(registry, tenant, TEXT("m"), true, &number, NULL),
                     VV_TOO_LARGE);
    fixture_metric(registry, cpu, "2", VV_INT64);
    vv_registry_destroy(registry);
}

static void units_and_descriptions(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open(NULL);
    uint32_t cpu = fixture_measurement(registry, fixture_tenant(registry, "a"), "cpu");
    uint32_t metric = fixture_metric(registry, cpu, "user", VV_FLOAT64);
    const struct vv_str keep = {NULL, 0};
    struct vv_metric_info old;
    struct vv_metric_info info;
    assert_int_equal(vv_registry_describe(registry, metric, TEXT("%"), TEXT("user time"), NULL),
                     VV_OK);
    vv_registry_metric_info(registry, metric, &old);
    assert_int_equal(vv_registry_describe(registry, metric, keep, TEXT("time"), NULL), VV_OK);
    assert_int_equal(vv_registry_describe(registry, metric, TEXT("s"), keep, NULL), VV_OK);
    vv_registry_metric_info(registry, metric, &info);
    assert_str(info.unit, "s");
    assert_str(info.description, "time");
    assert_str(old.unit, "%");
    assert_str(old.description, "user time");
    assert_int_equal(vv_registry_describe(registry, metric, TEXT(""), TEXT(""), NULL), VV_OK);
    vv_registry_metric_info(registry, metric, &info);
    assert_str(info.unit, "");
    assert_str(info.description, "");

    static char large[VV_DESCRIPTION_BYTES_MAX + 1];
    memset(large, 'x', sizeof large);
    const struct vv_str too_long = {large, sizeof large};
    assert_int_equal(vv_registry_describe(registry, metric, too_long, keep, NULL), VV_TOO_LARGE);
    assert_int_equal(vv_registry_describe(registry, metric, keep, too_long, NULL), VV_TOO_LARGE);
    assert_int_equal(vv_registry_describe(registry, metric, TEXT("\n"), keep, NULL), VV_INVALID);
    assert_int_equal(vv_registry_describe(registry, 99, keep, keep, NULL), VV_NOT_FOUND);
    vv_registry_destroy(registry);
}

static void describing_settles_and_is_bounded(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open(NULL);
    uint32_t cpu = fixture_measurement(registry, fixture_tenant(registry, "a"), "cpu");
    uint32_t metric = fixture_metric(registry, cpu, "user", VV_FLOAT64);
    const struct vv_str keep = {NULL, 0};
    vv_registry_settle(registry, VV_REGISTRY_METRIC, metric, 1);
    assert_true(vv_registry_settled(registry, VV_REGISTRY_METRIC, metric));
    assert_int_equal(vv_registry_describe(registry, metric, keep, keep, NULL), VV_OK);
    assert_int_equal(vv_registry_describe(registry, metric, TEXT(""), keep, NULL), VV_OK);
    assert_true(vv_registry_settled(registry, VV_REGISTRY_METRIC, metric));
    assert_int_equal(vv_registry_describe(registry, metric, TEXT("s"), keep, NULL), VV_OK);
    assert_false(vv_registry_settled(registry, VV_REGISTRY_METRIC, metric));

    char text[VV_DESCRIPTION_BYTES_MAX];
    memset(text, 'x', sizeof text);
    struct vv_error error = {0};
    enum vv_status status = VV_OK;
    int changes = 0;
    while (status == VV_OK && changes < 5000) {
        text[0] = (char)('a' + changes % 2);
        status = vv_registry_describe(registry, metric, keep, (struct vv_str){text, sizeof text},
                                      &error);
        changes += status == VV_OK;
    }
    assert_int_equal(status, VV_OVERLOAD);
    assert_non_null(strstr(error.message, "restart"));
    assert_int_equal(changes, VV_DESCRIBE_BYTES_MAX / VV_DESCRIPTION_BYTES_MAX + 1);
    uint32_t more = fixture_metric(registry, cpu, "system", VV_FLOAT64);
    assert_int_equal(vv_registry_describe(registry, more, TEXT("s"), TEXT("new"), NULL), VV_OK);
    vv_registry_destroy(registry);
}

static struct vv_registry *registry_with_metrics(uint32_t *tenant_out)
{
    struct vv_registry *registry = fixture_open(NULL);
    *tenant_out = fixture_tenant(registry, "a");
    uint32_t other = fixture_tenant(registry, "b");
    uint32_t cpu = fixture_measurement(registry, *tenant_out, "cpu");
    uint32_t disk = fixture_measurement(registry, *tenant_out, "disk");
    fixture_metric(registry, cpu, "user", VV_FLOAT64);
    fixture_metric(registry, disk, "used", VV_INT64);
    fixture_metric(registry, cpu, "system", VV_FLOAT64);
    fixture_metric(registry, disk, "a*b", VV_INT64);
    fixture_metric(registry, fixture_measurement(registry, other, "cpu"), "idle", VV_FLOAT64);
    return registry;
}

/* The names found, joined; or the status and message. */
static void assert_found(const char *const *patterns, size_t n, const char *expected)
{
    uint32_t tenant = 0;
    struct vv_registry *registry = registry_with_metrics(&tenant);
    struct vv_str texts[8];
    for (size_t i = 0; i < n; i++) {
        texts[i] = vv_str_of(patterns[i]);
    }
    uint32_t *metrics = NULL;
    size_t count = 0;
    struct vv_error error = {0};
    enum vv_status status =
        vv_registry_find_metrics(registry, tenant, texts, n, &metrics, &count, &error);
    char text[1024] = "";
    for (size_t i = 0; i < count; i++) {
        struct vv_metric_info info;
        vv_registry_metric_info(registry, metrics[i], &info);
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%.*s", i ? " " : "",
                 VV_STR_ARG(info.name));
    }
    assert_string_equal(status == VV_OK ? text : error.message, expected);
    assert_int_equal(status, error.message[0] ? VV_NOT_FOUND : VV_OK);
    free(metrics);
    vv_registry_destroy(registry);
}

#define FOUND(expected, ...)                                                                       \
    assert_found((const char *const[]){__VA_ARGS__},                                               \
                 sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *), expected)

static void metrics_by_pattern(void **state)
{
    (void)state;
    assert_found(NULL, 0, "cpu.system cpu.user disk.a*b disk.used");
    FOUND("cpu.user", "cpu.user");
    FOUND("cpu.system cpu.user", "cpu.*");
    FOUND("cpu.user disk.used", "*us*");
    FOUND("cpu.system cpu.user", "cpu.user", "cpu.*", "cpu.us??");
    FOUND("disk.a*b", "disk.a\\*b");
    FOUND("disk.a*b disk.used", "disk.*");
    FOUND("", "nothing*");
    FOUND("there is no metric 'cpu.idle'", "cpu.idle");
    FOUND("there is no metric 'cpu.idle'", "cpu.*", "cpu.idle");
    FOUND("there is no metric '?'", "cpu.\xFF");
    FOUND("there is no metric ''", "");
}

static void a_very_long_literal_matches_nothing(void **state)
{
    (void)state;
    uint32_t tenant = 0;
    struct vv_registry *registry = registry_with_metrics(&tenant);
    char *text = malloc(100000);
    assert_non_null(text);
    memset(text, 'x', 100000);
    const struct vv_str pattern = {text, 100000};
    uint32_t *metrics = NULL;
    size_t n = 0;
    assert_int_equal(vv_registry_find_metrics(registry, tenant, &pattern, 1, &metrics, &n, NULL),
                     VV_NOT_FOUND);
    assert_int_equal(vv_registry_find_metrics(registry, 99, NULL, 0, &metrics, &n, NULL), VV_OK);
    assert_int_equal(n, 0);
    free(text);
    vv_registry_destroy(registry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metrics_belong_to_measurements),
        cmocka_unit_test(the_first_type_stays),
        cmocka_unit_test(a_name_stands_for_one_metric),
        cmocka_unit_test(finding_does_not_make),
        cmocka_unit_test(bad_names_are_refused),
        cmocka_unit_test(metrics_have_a_limit),
        cmocka_unit_test(units_and_descriptions),
        cmocka_unit_test(describing_settles_and_is_bounded),
        cmocka_unit_test(metrics_by_pattern),
        cmocka_unit_test(a_very_long_literal_matches_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
