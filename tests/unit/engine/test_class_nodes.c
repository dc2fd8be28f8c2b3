/* SPDX-License-Identifier: Apache-2.0 */
/* Engines of one shared store that has classes: what is acknowledged comes to lie where all look
 * for it, wherever a process ends. */
#include "../fleet/fleet_fixture.h"
#include "nodes_rig.h"
#include "registry/registry_private.h"

static struct vv_registry *registry_of(struct rig *rig)
{
    return vv_engine_query_context(rig->engine)->registry;
}

static void open_node(struct rig *rig, uint32_t number)
{
    struct vv_disk *disk;
    vv_log_level_set(VV_LOG_OFF);
    *rig = (struct rig){.disk = vv_sim_disk_create(number)};
    disk = vv_sim_disk_interface(rig->disk);
    assert_int_equal(disk->ops->make_folder(disk, "/data", NULL), VV_OK);
    assert_int_equal(disk->ops->make_folder(disk, "/data/journal", NULL), VV_OK);
    vv_sim_clock_init(&rig->clock, RIG_START);
    rig->store = fake_open(number);
    rig_open(rig);
    hub.nodes[number].registry = registry_of(rig);
}

static void close_node(struct rig *rig)
{
    vv_engine_close(rig->engine);
    vv_sim_disk_destroy(rig->disk);
}

static void end_hard(struct rig *rig, uint32_t number)
{
    vv_engine_close(rig->engine);
    fake_crash(number);
    vv_sim_disk_restart(rig->disk);
    rig_open(rig);
    hub.nodes[number].registry = registry_of(rig);
}

/* Lines of measurements of this name, each with a number behind it. */
static void write_many(struct rig *rig, const char *name, int n)
{
    struct vv_staging staging;
    struct vv_line_parser *parser;
    struct rig_outcome outcome = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false,
                                  VV_UNKNOWN};
    assert_int_equal(vv_engine_stage(rig->engine, TEXT("t"), &staging, NULL), VV_OK);
    assert_int_equal(vv_line_parser_create(&staging, 1, &parser), VV_OK);
    for (int i = 0; i < n; i++) {
        char line[96];
        snprintf(line, sizeof line, "%s%d,id=x v=1 %lld\n", name, i,
                 (long long)(RIG_START - VV_HOUR));
        assert_int_equal(vv_line_parser_feed(parser, line, strlen(line)), VV_OK);
    }
    assert_int_equal(vv_line_parser_finish(parser), VV_OK);
    vv_staging_decide(&staging);
    vv_line_parser_destroy(parser);
    struct vv_batch *batch = vv_staging_take_batch(&staging);
    assert_int_equal(staging.n_refusals, 0);
    vv_staging_deinit(&staging);
    vv_engine_submit(rig->engine, batch, rig_set_outcome, &outcome);
    assert_int_equal(rig_step(rig, VV_TASK_COMMIT), VV_OK);
    assert_int_equal(outcome.status, VV_OK);
}

static struct vv_class_effect set_class(struct rig *rig)
{
    struct vv_class_effect effect;
    struct vv_error error = {0};
    struct vv_class_wish wish = {
        .name = TEXT("debug"),
        .has_measurements = true,
        .measurements = TEXT("debug*\n"),
        .retentions = {6 * VV_HOUR, {VV_RETENTION_AS_IS, VV_RETENTION_AS_IS, VV_RETENTION_AS_IS}}};
    if (vv_engine_set_class(rig->engine, TEXT("t"), &wish, &effect, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
    return effect;
}

static void learn(struct rig *rig)
{
    enum vv_status status = rig_step(rig, VV_TASK_LEARN);
    assert_true(status == VV_OK || status == VV_DONE);
}

/* The class that it sets is known to all. */
static void bring_to_all(struct rig *a, struct rig *b)
{
    assert_int_equal(rig_step(a, VV_TASK_FLUSH), VV_OK);
    for (int i = 0; i < 5; i++) {
        learn(a);
        learn(b);
    }
}

/* "t", "t/@debug"; "?": it is not agreed on. */
static void assert_place(struct rig *rig, const char *name, const char *expected)
{
    char text[VV_SPACE_NAME_MAX + 1];
    struct vv_registry *registry = registry_of(rig);
    uint32_t tenant = VV_REGISTRY_NONE;
    uint32_t measurement = VV_REGISTRY_NONE;
    assert_int_equal(vv_registry_tenant(registry, TEXT("t"), false, &tenant, NULL), VV_OK);
    assert_int_equal(
        vv_registry_measurement(registry, tenant, vv_str_of(name), false, &measurement, NULL),
        VV_OK);
    struct vv_str place =
        vv_registry_is_placed(registry, measurement)
            ? vv_registry_tenant_name(registry, vv_registry_first_place(registry, measurement))
            : TEXT("?");
    snprintf(text, sizeof text, "%.*s", VV_STR_ARG(place));
    assert_string_equal(text, expected);
}

/* Until it moves. */
static void what_was_made_before_the_class_is_in_its_tenant(void **state)
{
    (void)state;
    struct rig a;
    struct rig b;
    fake_begin(1);
    open_node(&a, 1);
    open_node(&b, 2);
    write_many(&a, "debug", 1);
    struct vv_class_effect effect = set_class(&a);
    assert_int_equal(effect.moved.n, 1);
    assert_true(effect.is_awaited);
    bring_to_all(&a, &b);
    assert_place(&a, "debug0", "t");
    effect = set_class(&a);
    assert_int_equal(effect.moved.n, 0);
    assert_false(effect.is_awaited);
    write_many(&a, "debug", 2);
    assert_int_equal(rig_step(&a, VV_TASK_FLUSH), VV_OK);
    assert_place(&a, "debug0", "t");
    assert_place(&a, "debug1", "t/@debug");
    close_node(&a);
    close_node(&b);
    fake_end();
}

/* The class that a measurement lies in is known from another node only, and not kept yet, when the
 * journal gets the measurement. */
static void a_journal_can_be_replayed_wherever_the_process_ends(void **state)
{
    (void)state;
    for (int stage = 0; stage < 3; stage++) {
        struct rig a;
        struct rig b;
        fake_begin(2);
        open_node(&a, 1);
        set_class(&a);
        assert_int_equal(rig_step(&a, VV_TASK_FLUSH), VV_OK);
        write_many(&a, "debug", 1);
        for (int i = 0; i < 3; i++) {
            learn(&a);
        }
        assert_int_equal(rig_step(&a, VV_TASK_FLUSH), VV_OK);
        assert_place(&a, "debug0", "t/@debug");
        open_node(&b, 2); /* it learns at its start, and keeps nothing */
        assert_place(&b, "debug0", "t/@debug");
        write_many(&b, "debug", 1);
        if (stage == 1) {
            hub.nodes[2].fail = 1;
            assert_int_not_equal(rig_step(&b, VV_TASK_FLUSH), VV_OK);
            hub.nodes[2].fail = 0;
        } else if (stage == 2) {
            assert_int_equal(rig_step(&b, VV_TASK_FLUSH), VV_OK);
        }
        end_hard(&b, 2);
        assert_place(&b, "debug0", "t/@debug");
        vv_sim_clock_advance(&b.clock, VV_MINUTE);
        (void)!rig_step(&b, VV_TASK_FLUSH);
        assert_place(&b, "debug0", "t/@debug");
        close_node(&a);
        close_node(&b);
        fake_end();
    }
}

/* The transactions take longer than others believe that this one is there. */
static void a_node_is_heard_while_it_places_very_many(void **state)
{
    (void)state;
    struct rig a;
    struct rig b;
    fake_begin(3);
    open_node(&a, 1);
    open_node(&b, 2);
    set_class(&a);
    bring_to_all(&a, &b);
    write_many(&a, "debug", 600);
    hub.nodes[1].asked_clock = &a.clock;
    hub.nodes[1].asked_ns = 5 * VV_SECOND; /* for each 64 */
    uint32_t beats = hub.nodes[1].beats;
    assert_int_equal(rig_step(&a, VV_TASK_FLUSH), VV_OK);
    hub.nodes[1].asked_clock = NULL;
    assert_true(hub.nodes[1].beats >= beats + 8);
    assert_place(&a, "debug599", "t/@debug");
    close_node(&a);
    close_node(&b);
    fake_end();
}

static enum vv_status start_again(struct rig *rig, uint32_t number, struct vv_error *error)
{
    struct vv_settings settings;
    vv_engine_close(rig->engine);
    fake_crash(number);
    vv_sim_disk_restart(rig->disk);
    vv_settings_init(&settings);
    strcpy(settings.data, "/data");
    settings.disk_reserve_bytes = 0;
    settings.journal_segment_bytes = 1 << 20;
    struct vv_engine_options options = {.settings = &settings,
                                        .disk = vv_sim_disk_interface(rig->disk),
                                        .clock = &rig->clock.clock,
                                        .store = rig->store,
                                        .manual = true};
    assert_int_equal(vv_engine_open(&options, &rig->engine, error), VV_OK);
    return vv_engine_recover(rig->engine, error);
}

/* That other one was made while it had one region only. */
static void a_node_does_not_start_beside_classes_of_another_region(void **state)
{
    (void)state;
    struct rig a;
    struct rig b;
    struct vv_error error = {0};
    fake_begin(4);
    open_node(&a, 1);
    set_class(&a);
    assert_int_equal(rig_step(&a, VV_TASK_FLUSH), VV_OK);
    open_node(&b, 3);
    hub.nodes[3].region = 1;
    hub.nodes[3].learnt = 0;
    assert_int_equal(start_again(&b, 3, &error), VV_INVALID);
    assert_non_null(strstr(error.message, "another region"));
    vv_engine_close(b.engine);
    vv_sim_disk_destroy(b.disk);
    close_node(&a);
    fake_end();
}

/* One that started before it could hear of them: what they have is in no answer of it, which
 * answers say. */
static void classes_of_another_region_are_said_to_be_lacking(void **state)
{
    (void)state;
    struct rig a;
    struct rig b;
    struct vv_error error = {0};
    struct vv_region regions[VV_REGIONS_MAX];
    fake_begin(6);
    open_node(&a, 1);
    open_node(&b, 3);
    hub.nodes[3].region = 1;
    set_class(&a);
    hub.n_regions = 2;
    assert_int_equal(rig_step(&a, VV_TASK_FLUSH), VV_OK);
    const struct vv_query_context *context = vv_engine_query_context(b.engine);
    assert_int_equal(context->regions_in_part(context->whole_context), 0);
    assert_int_equal(vv_engine_step(b.engine, VV_TASK_LEARN, &error), VV_INVALID);
    assert_int_equal(context->regions_in_part(context->whole_context), 1u << 1);
    assert_int_equal(vv_engine_read_regions(b.engine, regions), 2);
    assert_int_equal(regions[0].state, VV_REGION_READABLE);
    assert_int_equal(regions[1].state, VV_REGION_IN_PART);
    hub.nodes[3].deaf_to = 1;
    assert_int_equal(start_again(&b, 3, &error), VV_INVALID);
    assert_non_null(strstr(error.message, "another region"));
    hub.n_regions = 1;
    assert_int_equal(start_again(&b, 3, &error), VV_OK);
    close_node(&a);
    close_node(&b);
    fake_end();
}

/* The one does not know of what the other sets. */
static void a_class_has_a_space_of_late_points_whoever_keeps_them_apart(void **state)
{
    (void)state;
    struct rig a;
    struct rig b;
    struct vv_error error = {0};
    fake_begin(5);
    open_node(&a, 1);
    open_node(&b, 2);
    write_many(&a, "plain", 1);
    bring_to_all(&a, &b);
    set_class(&a);
    const struct vv_late_wish wish = {
        .has_policy = true, .policy = VV_LATE_SEPARATE, .limit_ns = VV_HOUR};
    if (vv_engine_set_late(b.engine, TEXT("t"), &wish, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
    assert_int_equal(rig_step(&b, VV_TASK_FLUSH), VV_OK);
    for (int i = 0; i < 3; i++) {
        bring_to_all(&a, &b);
    }
    struct rig *rigs[] = {&a, &b};
    for (int i = 0; i < 2; i++) {
        struct vv_registry *registry = registry_of(rigs[i]);
        uint32_t tenant;
        assert_int_equal(vv_registry_tenant(registry, TEXT("t"), false, &tenant, NULL), VV_OK);
        uint32_t class = vv_registry_class(registry, tenant, TEXT("debug"));
        assert_int_not_equal(class, VV_REGISTRY_NONE);
        assert_true(vv_registry_class_is_ready(registry, class));
        assert_int_not_equal(vv_registry_late_space(registry, class), VV_REGISTRY_NONE);
    }
    close_node(&a);
    close_node(&b);
    fake_end();
}

static const char *reason_of(struct rig *rig)
{
    struct vv_engine_health health;
    vv_engine_read_health(rig->engine, &health);
    assert_true(health.ready);
    return health.reason;
}

static bool is_ready(struct rig *rig)
{
    struct vv_registry *registry = registry_of(rig);
    uint32_t tenant;
    assert_int_equal(vv_registry_tenant(registry, TEXT("t"), false, &tenant, NULL), VV_OK);
    uint32_t class = vv_registry_class(registry, tenant, TEXT("debug"));
    return class != VV_REGISTRY_NONE && vv_registry_class_is_ready(registry, class);
}

/* The one sets the class, the other that late points are kept apart, and has no room for one more
 * name when it has learnt of the class. */
static void a_class_that_waits_for_a_place_of_its_late_points_says_so(void **state)
{
    (void)state;
    struct rig a;
    struct rig b;
    struct vv_error error = {0};
    const struct vv_late_wish wish = {
        .has_policy = true, .policy = VV_LATE_SEPARATE, .limit_ns = VV_HOUR};
    fake_begin(5);
    open_node(&a, 1);
    open_node(&b, 2);
    write_many(&a, "plain", 1);
    bring_to_all(&a, &b);
    set_class(&a);
    assert_int_equal(rig_step(&a, VV_TASK_FLUSH), VV_OK);
    if (vv_engine_set_late(b.engine, TEXT("t"), &wish, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
    learn(&b);
    assert_string_equal(reason_of(&b), "");
    size_t most = registry_of(&b)->bytes_max;
    registry_of(&b)->bytes_max = 0;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(rig_step(&b, VV_TASK_FLUSH), VV_OK);
        learn(&b);
    }
    assert_false(is_ready(&b));
    assert_non_null(strstr(reason_of(&b), "class_waits"));
    registry_of(&b)->bytes_max = most;
    for (int i = 0; i < 3; i++) {
        bring_to_all(&a, &b);
    }
    assert_true(is_ready(&a) && is_ready(&b));
    assert_string_equal(reason_of(&b), "");
    close_node(&a);
    close_node(&b);
    fake_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_made_before_the_class_is_in_its_tenant),
        cmocka_unit_test(a_journal_can_be_replayed_wherever_the_process_ends),
        cmocka_unit_test(a_node_is_heard_while_it_places_very_many),
        cmocka_unit_test(a_node_does_not_start_beside_classes_of_another_region),
        cmocka_unit_test(classes_of_another_region_are_said_to_be_lacking),
        cmocka_unit_test(a_class_has_a_space_of_late_points_whoever_keeps_them_apart),
        cmocka_unit_test(a_class_that_waits_for_a_place_of_its_late_points_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
