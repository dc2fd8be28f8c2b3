/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations that fail: each operation either happens or leaves everything as it was. */
#include "base/random.h"
#include "registry/shared.h"
#include "registry_fixture.h"
#include "simulation/sim_memory.h"

#define ATTEMPTS_MAX 400

static void creating_a_registry(void **state)
{
    (void)state;
    bool failed = true;
    for (uint64_t k = 1; failed; k++) {
        struct vv_registry_options options = fixture_defaults;
        options.id_tag = "id";
        struct vv_registry *registry = NULL;
        vv_sim_memory_fail(k);
        enum vv_status status = vv_registry_create(&options, &registry);
        failed = vv_sim_memory_failed();
        assert_int_equal(status, failed ? VV_NO_MEMORY : VV_OK);
        vv_registry_destroy(failed ? NULL : registry);
        assert_true(k < ATTEMPTS_MAX);
    }
}

/* Everything that can be seen of the registry, as records and figures. */
static void describe_all(struct vv_registry *registry, struct vv_buffer *out)
{
    struct vv_registry_figures figures;
    vv_registry_read_figures(registry, &figures);
    vv_buffer_format(out, "%llu %llu %llu %llu %llu %llu;", (unsigned long long)figures.tenants,
                     (unsigned long long)figures.measurements, (unsigned long long)figures.metrics,
                     (unsigned long long)figures.sources, (unsigned long long)figures.tag_values,
                     (unsigned long long)figures.tag_changes);
    for (int kind = VV_REGISTRY_TENANT; kind <= VV_REGISTRY_TIMES; kind++) {
        for (uint32_t number = 0; number < 400; number++) {
            vv_registry_encode(registry, (enum vv_registry_kind)kind, number, out);
        }
    }
    for (uint8_t region = 1; region < VV_REGIONS_MAX; region++) {
        struct vv_plans plans = vv_registry_source_plans_in(registry, 0, region);
        for (size_t i = 0; i < plans.n; i++) {
            vv_buffer_format(out, "%u:%lld,", region, (long long)plans.plans[i].from_ns);
        }
    }
    assert_int_equal(vv_buffer_status(out), VV_OK);
}

struct step {
    struct vv_registry *registry;
    uint32_t i;
};

static enum vv_status step_tenant(const struct step *step)
{
    char name[16];
    uint32_t tenant = 0;
    snprintf(name, sizeof name, "t%u", step->i % 100);
    return vv_registry_tenant(step->registry, vv_str_of(name), true, &tenant, NULL);
}

static enum vv_status step_measurement(const struct step *step)
{
    char name[16];
    uint32_t measurement = 0;
    snprintf(name, sizeof name, "m%u", step->i % 1000);
    return vv_registry_measurement(step->registry, 0, vv_str_of(name), true, &measurement, NULL);
}

static enum vv_status step_metric(const struct step *step)
{
    char name[16];
    uint32_t metric = 0;
    enum vv_value_type type = VV_FLOAT64;
    snprintf(name, sizeof name, "f%u", step->i % 1000);
    return vv_registry_metric(step->registry, 0, vv_str_of(name), VV_INT64, true, &metric, &type,
                              NULL);
}

static enum vv_status step_describe(const struct step *step)
{
    char text[1000];
    memset(text, 'a' + (int)(step->i % 26), sizeof text);
    return vv_registry_describe(step->registry, 0, TEXT("s"), (struct vv_str){text, sizeof text},
                                NULL);
}

static enum vv_status step_source(const struct step *step)
{
    char text[64];
    uint32_t source = 0;
    snprintf(text, sizeof text, "h=%u,r=%u,k%u=v", step->i % 300, step->i % 3, step->i % 300);
    return fixture_try_source(step->registry, 0, text, 0, &source, NULL);
}

static enum vv_status step_change(const struct step *step)
{
    char text[64];
    uint32_t source = 0;
    snprintf(text, sizeof text, "id=p,n=%u,k%u=v", step->i, step->i % 70);
    return fixture_try_source(step->registry, 0, text, step->i, &source, NULL);
}

static enum vv_status step_plans(const struct step *step)
{
    const struct vv_plan plans[] = {
        {VV_TIME_MIN, VV_DAY, VV_HOUR, 1, 0},
        {(int64_t)step->i * VV_DAY, VV_HOUR, VV_HOUR, 1, 0},
        {(int64_t)(step->i + 1) * VV_DAY, VV_DAY, VV_HOUR, 1, 0},
        {(int64_t)(step->i + 2) * VV_DAY, VV_HOUR, VV_HOUR, 1, 0},
        {(int64_t)(step->i + 3) * VV_DAY, VV_DAY, VV_HOUR, 1, 0},
    };
    return vv_registry_source_set_plans(step->registry, 0, plans, step->i % 2 ? 5 : 2);
}

static enum vv_status step_region_plans(const struct step *step)
{
    const struct vv_plan plans[] = {
        {VV_TIME_MIN, VV_DAY, VV_HOUR, 1, 0},
        {(int64_t)step->i * VV_DAY, VV_HOUR, VV_HOUR, 1, 0},
    };
    uint8_t region = (uint8_t)(1 + step->i % (VV_REGIONS_MAX - 1));
    return vv_registry_learn_plans(step->registry, 0, region, plans, 2, NULL);
}

/* Lets the step's first, second, … allocation fail, until it succeeds. */
static void try_with_failures(enum vv_status (*run)(const struct step *), const struct step *step)
{
    struct vv_buffer before = {0};
    describe_all(step->registry, &before);
    bool failed = true;
    for (uint64_t k = 1; failed; k++) {
        vv_sim_memory_fail(k);
        enum vv_status status = run(step);
        failed = vv_sim_memory_failed();
        assert_int_equal(status, failed ? VV_NO_MEMORY : VV_OK);
        if (failed) {
            struct vv_buffer after = {0};
            describe_all(step->registry, &after);
            assert_int_equal(after.size, before.size);
            assert_memory_equal(after.data, before.data, before.size);
            vv_buffer_deinit(&after);
        }
        assert_true(k < ATTEMPTS_MAX);
    }
    vv_buffer_deinit(&before);
}

static void changes_happen_whole_or_not_at_all(void **state)
{
    (void)state;
    enum vv_status (*const steps[])(const struct step *) = {
        step_tenant, step_measurement, step_metric, step_describe,
        step_source, step_change,      step_plans,  step_region_plans,
    };
    struct vv_registry *registry = fixture_open("id");
    fixture_tenant(registry, "t0");
    fixture_measurement(registry, 0, "m0");
    fixture_metric(registry, 0, "f0", VV_INT64);
    fixture_source(registry, 0, "id=p", 0);
    for (size_t s = 0; s < sizeof steps / sizeof steps[0]; s++) {
        for (uint32_t i = 1; i < 120; i++) {
            const struct step step = {registry, i};
            try_with_failures(steps[s], &step);
        }
    }
    vv_registry_destroy(registry);
}

static bool count(void *context, struct vv_str text, uint64_t sources)
{
    (void)text;
    *(uint64_t *)context += sources;
    return true;
}

/* All that reads; the first status that is not VV_OK. */
static enum vv_status read_everything(struct vv_registry *registry)
{
    struct vv_arena arena = {0};
    struct vv_tag_version versions[VV_TAG_HISTORY_MAX];
    uint32_t *found = NULL;
    uint32_t *metrics = NULL;
    size_t n = 0;
    uint64_t sources = 0;
    const struct vv_str pattern = TEXT("*");
    const struct vv_matcher matcher = {TEXT("r"), VV_MATCH_GLOB, &pattern, 1};
    const struct vv_selector selector = {
        .id_patterns = &pattern, .n_id_patterns = 1, .matchers = &matcher, .n_matchers = 1};
    enum vv_status status = vv_registry_source_tags(registry, 1, &arena, versions);
    if (status == VV_OK) {
        status = vv_registry_source_history(registry, 0, &arena, versions, &n);
    }
    if (status == VV_OK) {
        status = vv_registry_tags(registry, 0, TEXT("h"), count, &sources);
    }
    if (status == VV_OK) {
        status = vv_registry_find_metrics(registry, 0, &pattern, 1, &metrics, &n, NULL);
    }
    if (status == VV_OK) {
        status = vv_registry_select(registry, 0, &selector, VV_REGISTRY_NONE, 9, &found, &n, NULL);
        assert_int_equal(status == VV_OK, n == 9);
    }
    free(found);
    free(metrics);
    vv_arena_deinit(&arena);
    return status;
}

static struct vv_registry *registry_with_everything(void)
{
    struct vv_registry *registry = fixture_open("id");
    fixture_tenant(registry, "t0");
    fixture_measurement(registry, 0, "m0");
    fixture_source(registry, 0, "id=p", 0);
    for (uint32_t i = 1; i < 40; i++) {
        const struct step step = {registry, i};
        assert_int_equal(step_metric(&step), VV_OK);
        assert_int_equal(step_source(&step), VV_OK);
        assert_int_equal(step_change(&step), VV_OK);
        assert_int_equal(step_plans(&step), VV_OK);
    }
    return registry;
}

static void reading_fails_cleanly(void **state)
{
    (void)state;
    struct vv_registry *registry = registry_with_everything();
    bool failed = true;
    for (uint64_t k = 1; failed; k++) {
        vv_sim_memory_fail(k);
        enum vv_status status = read_everything(registry);
        failed = vv_sim_memory_failed();
        assert_int_equal(status, failed ? VV_NO_MEMORY : VV_OK);
        assert_true(k < ATTEMPTS_MAX);
    }
    vv_registry_destroy(registry);
}

static void applying_records_can_be_tried_again(void **state)
{
    (void)state;
    struct vv_registry *registry = registry_with_everything();
    struct vv_registry *again = fixture_open("id");
    for (int kind = VV_REGISTRY_TENANT; kind <= VV_REGISTRY_SOURCE; kind++) {
        for (uint32_t number = 0; number < 40; number++) {
            struct vv_buffer record = {0};
            enum vv_registry_kind one = (enum vv_registry_kind)kind;
            if (vv_registry_encode(registry, one, number, &record) == 0) {
                continue;
            }
            bool failed = true;
            for (uint64_t k = 1; failed; k++) {
                struct vv_error error = {0};
                const struct vv_str bytes = {(const char *)record.data, record.size};
                vv_sim_memory_fail(k);
                enum vv_status status = vv_registry_apply(again, one, bytes, &error);
                failed = vv_sim_memory_failed();
                assert_int_equal(status, failed ? VV_NO_MEMORY : VV_OK);
                assert_int_equal(error.message[0] != '\0', failed);
                assert_true(k < ATTEMPTS_MAX);
            }
            vv_buffer_deinit(&record);
        }
    }
    struct vv_buffer a = {0};
    struct vv_buffer b = {0};
    for (int kind = VV_REGISTRY_TENANT; kind <= VV_REGISTRY_SOURCE; kind++) {
        for (uint32_t number = 0; number < 40; number++) {
            vv_registry_encode(registry, (enum vv_registry_kind)kind, number, &a);
            vv_registry_encode(again, (enum vv_registry_kind)kind, number, &b);
        }
    }
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.data, b.data, a.size);
    vv_buffer_deinit(&a);
    vv_buffer_deinit(&b);
    vv_registry_destroy(again);
    vv_registry_destroy(registry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(creating_a_registry),
        cmocka_unit_test(changes_happen_whole_or_not_at_all),
        cmocka_unit_test(reading_fails_cleanly),
        cmocka_unit_test(applying_records_can_be_tried_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
