/* SPDX-License-Identifier: Apache-2.0 */
/* What classes cost who has them, and who has none: steps of the storage thread stay short, and
 * what could not be made leaves nothing behind. */
#include "nodes_rig.h"

#include "registry/shared.h"

#define SIM     VV_STR_LITERAL("t")
#define AS      VV_RETENTION_AS_IS
#define OFF     VV_SPACE_OFF_NS
#define CLASSES 16
#define DAYS    40

static struct vv_registry *registry_of(struct rig *rig)
{
    return vv_engine_query_context(rig->engine)->registry;
}

static uint32_t tenant_of(struct rig *rig)
{
    uint32_t tenant = VV_REGISTRY_NONE;
    assert_int_equal(vv_registry_tenant(registry_of(rig), SIM, false, &tenant, NULL), VV_OK);
    return tenant;
}

static enum vv_status set_class(struct rig *rig, const char *name, int64_t hours_ns,
                                struct vv_error *error)
{
    struct vv_class_effect effect;
    char measurements[32];
    snprintf(measurements, sizeof measurements, "%s.*\n", name);
    struct vv_class_wish wish = {.name = vv_str_of(name),
                                 .has_measurements = true,
                                 .measurements = vv_str_of(measurements),
                                 .retentions = {0, {OFF, hours_ns, OFF}}};
    return vv_engine_set_class(rig->engine, SIM, &wish, &effect, error);
}

static void name_class(size_t number, char name_out[8])
{
    snprintf(name_out, 8, "c%zu", number);
}

/* ---- steps of a sweep ---- */

static enum vv_status (*inner_nearest)(struct vv_store *, uint8_t, uint32_t, uint32_t, int64_t,
                                       bool, int64_t *, struct vv_error *);
static uint32_t with_values; /* the only number that has single values */
static size_t asked;         /* where there is something … */
static size_t asked_others;  /* … of these where there can be none */
static size_t removed;
static bool in_values; /* nothing else is swept any more */

static enum vv_status count_nearest(struct vv_store *store, uint8_t region, uint32_t tenant,
                                    uint32_t source, int64_t start, bool forward,
                                    int64_t *start_out, struct vv_error *error)
{
    asked++;
    asked_others += in_values && tenant != with_values;
    return inner_nearest(store, region, tenant, source, start, forward, start_out, error);
}

static enum vv_status count_removal(struct vv_store *store, const struct vv_value_removal *removal,
                                    struct vv_error *error)
{
    (void)store;
    (void)error;
    assert_int_equal(removal->partition.tenant, with_values);
    removed++;
    in_values = true;
    return VV_OK;
}

static bool has_values(struct vv_store *store, uint32_t tenant)
{
    (void)store;
    return tenant == with_values;
}

static bool all_have_values(struct vv_store *store, uint32_t tenant)
{
    (void)store;
    (void)tenant;
    return true;
}

static enum vv_status ignore_removal(struct vv_store *store, const struct vv_value_removal *removal,
                                     struct vv_error *error)
{
    (void)store;
    (void)removal;
    (void)error;
    removed++;
    return VV_OK;
}

static void delete_all(struct rig *rig)
{
    static const struct vv_parameter parameters[] = {
        {VV_STR_LITERAL("tenant"), SIM},
        {VV_STR_LITERAL("all"), VV_STR_LITERAL("true")},
        {VV_STR_LITERAL("time"), VV_STR_LITERAL("all")}};
    struct vv_request *request;
    struct vv_deleted deleted;
    struct vv_error error = {0};
    assert_int_equal(
        vv_request_parse(VV_REQUEST_DELETE, parameters, 3, RIG_START, &request, &error), VV_OK);
    if (vv_engine_delete(rig->engine, request, &deleted, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
    vv_request_destroy(request);
}

static void prepare(struct rig *rig, struct vv_settings *settings,
                    struct vv_engine_options *options)
{
    (void)rig;
    (void)options;
    settings->bucket_ns = VV_DAY;
    settings->span_ns = VV_DAY;
}

/* A source with points on many days, of a tenant with many classes, all of which is deleted. */
static void begin_sweep(struct rig *rig)
{
    rig_init(rig, 1, false);
    rig->prepare = prepare;
    vv_engine_close(rig->engine);
    rig_open(rig);
    (void)!rig_step(rig, VV_TASK_LEARN);
    for (size_t i = 0; i < CLASSES; i++) {
        char name[8];
        struct vv_error error = {0};
        name_class(i, name);
        assert_int_equal(set_class(rig, name, OFF, &error), VV_OK);
    }
    for (int day = 0; day < DAYS; day++) {
        char line[80];
        snprintf(line, sizeof line, "m,id=x v=1 %lld\n",
                 (long long)(RIG_START - day * VV_DAY - VV_HOUR));
        rig_write_line(rig, line);
    }
    assert_int_equal(rig_step(rig, VV_TASK_FLUSH), VV_OK);
    inner_nearest = rig->fake->ops.nearest;
    rig->fake->ops.nearest = count_nearest;
    with_values = tenant_of(rig);
    asked = asked_others = removed = 0;
    in_values = false;
}

/* Beats and flushes wait for a step. */
static void a_step_of_a_sweep_is_as_short_with_classes(void **state)
{
    (void)state;
    struct rig rig;
    begin_sweep(&rig);
    rig.fake->ops.has_values = all_have_values;
    rig.fake->ops.remove_values = ignore_removal;
    delete_all(&rig);
    assert_int_equal(rig_step(&rig, VV_TASK_FLUSH), VV_OK);
    size_t most = 0;
    for (int i = 0; i < 20 * DAYS; i++) {
        size_t before = asked + removed;
        vv_sim_clock_advance(&rig.clock, VV_SECOND);
        enum vv_status status = rig_step(&rig, VV_TASK_SWEEP);
        assert_true(status == VV_OK || status == VV_DONE);
        most = asked + removed - before > most ? asked + removed - before : most;
    }
    assert_true(removed >= DAYS * (CLASSES + 1));
    assert_in_range(most, 1, 128 + 2 * (CLASSES + 1));
    rig_deinit(&rig);
}

static void single_values_are_looked_for_where_there_can_be_some(void **state)
{
    (void)state;
    struct rig rig;
    begin_sweep(&rig);
    rig.fake->ops.has_values = has_values;
    rig.fake->ops.remove_values = count_removal;
    delete_all(&rig);
    assert_int_equal(rig_step(&rig, VV_TASK_FLUSH), VV_OK);
    for (int i = 0; i < 20 * DAYS; i++) {
        vv_sim_clock_advance(&rig.clock, VV_SECOND);
        enum vv_status status = rig_step(&rig, VV_TASK_SWEEP);
        assert_true(status == VV_OK || status == VV_DONE);
    }
    assert_true(removed >= DAYS);
    assert_int_equal(asked_others, 0);
    rig_deinit(&rig);
}

/* ---- what could not be made ---- */

/* While others can't be heard; where they can be, all of them may be made. */
static void a_class_that_is_refused_leaves_nothing_behind(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 1, false);
    (void)!rig_step(&rig, VV_TASK_LEARN);
    rig_write_line(&rig, "m,id=x v=1\n");
    vv_sim_clock_advance(&rig.clock, VV_HOUR);
    for (size_t i = 0; i < 100; i++) {
        char name[8];
        struct vv_error error = {0};
        name_class(i, name);
        assert_int_equal(set_class(&rig, name, 90 * VV_DAY, &error), VV_OVERLOAD);
        assert_non_null(strstr(error.message, "could not be heard"));
    }
    assert_false(vv_registry_may_have_classes(registry_of(&rig), tenant_of(&rig)));
    (void)!rig_step(&rig, VV_TASK_LEARN);
    for (size_t i = 0; i < CLASSES; i++) {
        char name[8];
        struct vv_error error = {0};
        name_class(i, name);
        if (set_class(&rig, name, 90 * VV_DAY, &error) != VV_OK) {
            fail_msg("%s", error.message);
        }
    }
    rig_deinit(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_of_a_sweep_is_as_short_with_classes),
        cmocka_unit_test(single_values_are_looked_for_where_there_can_be_some),
        cmocka_unit_test(a_class_that_is_refused_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
