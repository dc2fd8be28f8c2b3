/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes that share a store move measurements that have points: they agree on each, by the
 * measurement and the day, before any of them stores a point of then.
 */
#include "nodes_rig.h"

#include "support/fake_fleet.h"

#include "engine/engine_private.h"
#include "registry/shared.h"

#define TEXT(text) ((struct vv_str)VV_STR_LITERAL(text))
#define NODES      2
/* The first that lies behind a day's notice, and what clocks may do. */
#define DAY (vv_time_floor(RIG_START, VV_DAY) + 2 * VV_DAY)

struct nodes {
    struct rig rigs[NODES];
};

static struct vv_registry *registry_of(struct rig *rig)
{
    return vv_engine_query_context(rig->engine)->registry;
}

static void prepare(struct rig *rig, struct vv_settings *settings,
                    struct vv_engine_options *options)
{
    (void)rig;
    (void)options;
    settings->bucket_ns = VV_HOUR;
    settings->span_ns = VV_HOUR;
}

static void begin(struct nodes *nodes)
{
    fake_begin(7);
    hub.has_peers = true;
    for (uint32_t i = 0; i < NODES; i++) {
        struct rig *rig = &nodes->rigs[i];
        vv_log_level_set(VV_LOG_OFF);
        *rig = (struct rig){.disk = vv_sim_disk_create(i + 1), .prepare = prepare};
        struct vv_disk *disk = vv_sim_disk_interface(rig->disk);
        assert_int_equal(disk->ops->make_folder(disk, "/data", NULL), VV_OK);
        assert_int_equal(disk->ops->make_folder(disk, "/data/journal", NULL), VV_OK);
        vv_sim_clock_init(&rig->clock, RIG_START);
        rig->store = fake_open(i + 1);
        rig_open(rig);
        hub.nodes[i + 1].registry = registry_of(rig);
    }
}

static void end(struct nodes *nodes)
{
    for (int i = 0; i < NODES; i++) {
        vv_engine_close(nodes->rigs[i].engine);
        vv_sim_disk_destroy(nodes->rigs[i].disk);
    }
    fake_end();
}

static void crash(struct nodes *nodes, uint32_t i)
{
    struct rig *rig = &nodes->rigs[i];
    vv_engine_close(rig->engine);
    fake_crash(i + 1);
    vv_sim_disk_restart(rig->disk);
    rig_open(rig);
    hub.nodes[i + 1].registry = registry_of(rig);
}

static void learn(struct rig *rig)
{
    enum vv_status status = rig_step(rig, VV_TASK_LEARN);
    assert_true(status == VV_OK || status == VV_DONE);
}

static void learn_all(struct nodes *nodes)
{
    for (int i = 0; i < 6; i++) {
        for (int node = 0; node < NODES; node++) {
            vv_sim_clock_advance(&nodes->rigs[node].clock, VV_SECOND);
            learn(&nodes->rigs[node]);
        }
    }
}

/* Of one node, or (NODES) of all. */
static void go_to(struct nodes *nodes, uint32_t which, int64_t time)
{
    for (uint32_t i = 0; i < NODES; i++) {
        struct vv_sim_clock *clock = &nodes->rigs[i].clock;
        int64_t now = clock->clock.wall_ns(&clock->clock);
        if ((which == NODES || which == i) && now < time) {
            vv_sim_clock_advance(clock, time - now);
        }
    }
}

static void write_at(struct rig *rig, const char *measurement, int64_t time)
{
    struct vv_staging staging;
    struct vv_line_parser *parser;
    char line[96];
    struct rig_outcome outcome = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false,
                                  VV_UNKNOWN};
    assert_int_equal(vv_engine_stage(rig->engine, TEXT("t"), &staging, NULL), VV_OK);
    assert_int_equal(vv_line_parser_create(&staging, 1, &parser), VV_OK);
    snprintf(line, sizeof line, "%s,id=x v=1 %lld\n", measurement, (long long)time);
    assert_int_equal(vv_line_parser_feed(parser, line, strlen(line)), VV_OK);
    assert_int_equal(vv_line_parser_finish(parser), VV_OK);
    vv_line_parser_destroy(parser);
    struct vv_batch *batch = vv_staging_take_batch(&staging);
    assert_int_equal(staging.n_refusals, 0);
    vv_staging_deinit(&staging);
    vv_engine_submit(rig->engine, batch, rig_set_outcome, &outcome);
    assert_int_equal(rig_step(rig, VV_TASK_COMMIT), VV_OK);
    assert_int_equal(outcome.status, VV_OK);
}

static void flush(struct rig *rig)
{
    for (int i = 0; i < 3; i++) { /* older jobs first, then what is active */
        assert_int_equal(rig_step(rig, VV_TASK_FLUSH), VV_OK);
    }
}

static struct vv_class_effect set_class(struct rig *rig, const char *name, const char *measurements)
{
    struct vv_class_effect effect;
    struct vv_error error = {0};
    struct vv_class_wish wish = {
        .name = vv_str_of(name),
        .has_measurements = true,
        .measurements = vv_str_of(measurements),
        .retentions = {40 * VV_DAY, {VV_RETENTION_AS_IS, VV_RETENTION_AS_IS, VV_RETENTION_AS_IS}}};
    if (vv_engine_set_class(rig->engine, TEXT("t"), &wish, &effect, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
    return effect;
}

static uint32_t number_of(struct rig *rig, const char *name)
{
    uint32_t tenant = VV_REGISTRY_NONE;
    uint32_t measurement = VV_REGISTRY_NONE;
    assert_int_equal(vv_registry_tenant(registry_of(rig), TEXT("t"), false, &tenant, NULL), VV_OK);
    assert_int_equal(vv_registry_measurement(registry_of(rig), tenant, vv_str_of(name), false,
                                             &measurement, NULL),
                     VV_OK);
    return measurement;
}

/* Where its points of a time lie: "t", "t/@c". */
static const char *place_at(struct rig *rig, const char *name, int64_t time)
{
    static char text[VV_SPACE_NAME_MAX + 1];
    struct vv_stay stay = vv_registry_stay(registry_of(rig), number_of(rig, name), time);
    struct vv_str place = vv_registry_tenant_name(registry_of(rig), stay.place);
    snprintf(text, sizeof text, "%.*s", VV_STR_ARG(place));
    return text;
}

static void assert_settled(struct nodes *nodes, const char *name, int64_t day, const char *place)
{
    for (int i = 0; i < NODES; i++) {
        struct rig *rig = &nodes->rigs[i];
        assert_int_equal(vv_registry_next_agreeing(registry_of(rig), 0), VV_REGISTRY_NONE);
        assert_string_equal(place_at(rig, name, day - 1), "t");
        assert_string_equal(place_at(rig, name, day), place);
        assert_int_equal(vv_registry_waits_from(registry_of(rig), number_of(rig, name)), 0);
    }
}

static bool is_agreeing(struct rig *rig)
{
    return vv_registry_next_agreeing(registry_of(rig), 0) != VV_REGISTRY_NONE;
}

/* Both have points of "m"; the first sets a class for it. The time by which all have to know. */
static int64_t propose(struct nodes *nodes)
{
    begin(nodes);
    for (int i = 0; i < NODES; i++) {
        write_at(&nodes->rigs[i], "m", RIG_START - VV_HOUR);
        flush(&nodes->rigs[i]);
    }
    learn_all(nodes);
    struct vv_class_effect effect = set_class(&nodes->rigs[0], "c", "m\n");
    assert_int_equal(effect.moved.n, 1);
    assert_int_equal(effect.elsewhere.n, 0);
    assert_int_equal(effect.moved_from, DAY);
    assert_true(effect.known_by > RIG_START && effect.known_by < DAY - VV_DAY);
    return effect.known_by;
}

/* A run of the time lies there, as that node's store has it. */
static bool has_run(struct rig *rig, const char *place, int64_t time)
{
    uint32_t number;
    int64_t found;
    uint32_t source = 0;
    assert_int_equal(
        vv_registry_space_named(registry_of(rig), vv_str_of(place), false, &number, NULL), VV_OK);
    enum vv_status status =
        rig->store->ops->nearest(rig->store, 0, number, source, time - VV_HOUR, true, &found, NULL);
    return status == VV_OK && found <= time;
}

static void all_nodes_move_a_measurement_on_the_same_day(void **state)
{
    (void)state;
    struct nodes nodes;
    int64_t known_by = propose(&nodes);
    learn_all(&nodes);
    for (int i = 0; i < NODES; i++) { /* it counts for nothing yet */
        assert_true(is_agreeing(&nodes.rigs[i]));
        assert_string_equal(place_at(&nodes.rigs[i], "m", DAY), "t");
        assert_int_equal(vv_registry_waits_from(registry_of(&nodes.rigs[i]), 0), 0);
    }
    go_to(&nodes, NODES, known_by);
    learn_all(&nodes);
    assert_settled(&nodes, "m", DAY, "t/@c");
    go_to(&nodes, NODES, DAY + VV_HOUR);
    learn_all(&nodes);
    for (int i = 0; i < NODES; i++) {
        struct rig *rig = &nodes.rigs[i];
        write_at(rig, "m", DAY - VV_MINUTE);
        write_at(rig, "m", DAY);
        flush(rig);
        assert_true(has_run(rig, "t", DAY - VV_MINUTE));
        assert_true(has_run(rig, "t/@c", DAY));
        assert_false(has_run(rig, "t", DAY + VV_DAY));
        crash(&nodes, (uint32_t)i);
        assert_string_equal(place_at(&nodes.rigs[i], "m", DAY), "t/@c");
    }
    assert_int_equal(hub.n_places, 1); /* the day's; nobody knew of a class before the first */
    end(&nodes);
}

/* Wherever the one that proposed it ends. */
static void what_was_proposed_outlives_a_crash(void **state)
{
    (void)state;
    for (int stage = 0; stage < 4; stage++) {
        struct nodes nodes;
        int64_t known_by = propose(&nodes);
        if (stage > 0) {
            learn(&nodes.rigs[0]);
        }
        if (stage > 1) {
            learn_all(&nodes);
        }
        if (stage > 2) {
            go_to(&nodes, NODES, known_by);
            learn(&nodes.rigs[0]);
        }
        crash(&nodes, 0);
        learn_all(&nodes);
        go_to(&nodes, NODES, known_by);
        crash(&nodes, 1);
        learn_all(&nodes);
        assert_settled(&nodes, "m", DAY, "t/@c");
        end(&nodes);
    }
}

/* The others settle it though the one that proposed it is gone. */
static void a_move_needs_its_node_only_until_it_is_told(void **state)
{
    (void)state;
    struct nodes nodes;
    int64_t known_by = propose(&nodes);
    learn_all(&nodes);
    go_to(&nodes, 1, known_by);
    learn(&nodes.rigs[1]);
    assert_string_equal(place_at(&nodes.rigs[1], "m", DAY), "t/@c");
    go_to(&nodes, 0, DAY);
    learn(&nodes.rigs[0]);
    assert_settled(&nodes, "m", DAY, "t/@c");
    end(&nodes);
}

/* Nobody is for what could not be told, or what not all know the class of, in time. */
static void what_not_all_know_in_time_stays(void **state)
{
    (void)state;
    for (int is_told = 0; is_told < 2; is_told++) {
        struct nodes nodes;
        int64_t known_by = propose(&nodes);
        if (is_told) { /* the other says nothing of the class */
            for (int i = 0; i < 3; i++) {
                vv_sim_clock_advance(&nodes.rigs[0].clock, VV_SECOND);
                learn(&nodes.rigs[0]);
            }
        }
        go_to(&nodes, NODES, known_by);
        learn_all(&nodes);
        assert_settled(&nodes, "m", DAY, "t");
        go_to(&nodes, NODES, DAY);
        write_at(&nodes.rigs[1], "m", DAY);
        flush(&nodes.rigs[1]);
        assert_true(has_run(&nodes.rigs[1], "t", DAY));
        end(&nodes);
    }
}

/* One that hears nothing for longer than the notice stores nothing of then. */
static void who_has_not_heard_of_a_move_holds_back_what_it_is_about(void **state)
{
    (void)state;
    struct nodes nodes;
    struct vv_error error = {0};
    begin(&nodes);
    write_at(&nodes.rigs[0], "m", RIG_START - VV_HOUR);
    flush(&nodes.rigs[0]);
    (void)set_class(&nodes.rigs[0], "c", "x\n");
    learn_all(&nodes);
    hub.nodes[2].deaf_to = 1;
    struct vv_class_effect effect = set_class(&nodes.rigs[0], "c", "m\n");
    assert_int_equal(effect.moved_from, DAY);
    go_to(&nodes, NODES, DAY - VV_DAY - VV_HOUR);
    learn(&nodes.rigs[0]);
    hub.nodes[2].is_deaf = true; /* it can't hear, so it knows that it does not know */
    go_to(&nodes, NODES, DAY + VV_HOUR);
    learn(&nodes.rigs[0]);
    write_at(&nodes.rigs[1], "m", DAY);
    assert_int_not_equal(vv_engine_step(nodes.rigs[1].engine, VV_TASK_FLUSH, &error), VV_OK);
    assert_non_null(strstr(error.message, "has not heard the others for a day"));
    hub.nodes[2].is_deaf = false;
    hub.nodes[2].deaf_to = 0;
    vv_sim_clock_advance(&nodes.rigs[1].clock, VV_MINUTE);
    (void)!vv_engine_step(nodes.rigs[1].engine, VV_TASK_LEARN, &error);
    vv_sim_clock_advance(&nodes.rigs[1].clock, 2 * VV_MINUTE);
    learn(&nodes.rigs[1]);
    flush(&nodes.rigs[1]);
    assert_true(has_run(&nodes.rigs[1], "t/@c", DAY));
    assert_false(has_run(&nodes.rigs[1], "t", DAY));
    learn_all(&nodes);
    assert_settled(&nodes, "m", DAY, "t/@c");
    end(&nodes);
}

/* One that can't ask says so, to who reads and to who writes. */
static void what_is_not_agreed_on_when_it_begins_is_waited_for(void **state)
{
    (void)state;
    struct nodes nodes;
    struct vv_error error = {0};
    int64_t known_by = propose(&nodes);
    learn_all(&nodes);
    hub.nodes[2].places_away = true;
    go_to(&nodes, NODES, known_by);
    learn(&nodes.rigs[0]);
    (void)!vv_engine_step(nodes.rigs[1].engine, VV_TASK_LEARN, &error);
    uint32_t measurement = number_of(&nodes.rigs[1], "m");
    assert_int_equal(vv_registry_waits_from(registry_of(&nodes.rigs[1]), measurement), 0);
    go_to(&nodes, NODES, DAY);
    (void)!vv_engine_step(nodes.rigs[1].engine, VV_TASK_LEARN, &error);
    assert_int_equal(vv_registry_waits_from(registry_of(&nodes.rigs[1]), measurement), DAY);
    write_at(&nodes.rigs[1], "m", DAY);
    assert_int_not_equal(vv_engine_step(nodes.rigs[1].engine, VV_TASK_FLUSH, &error), VV_OK);
    hub.nodes[2].places_away = false;
    vv_sim_clock_advance(&nodes.rigs[1].clock, VV_MINUTE);
    flush(&nodes.rigs[1]);
    assert_true(has_run(&nodes.rigs[1], "t/@c", DAY));
    learn_all(&nodes);
    assert_settled(&nodes, "m", DAY, "t/@c");
    end(&nodes);
}

/* Points of then that one has already lie where they were put. */
static void who_has_points_of_then_is_against_it(void **state)
{
    (void)state;
    struct nodes nodes;
    begin(&nodes);
    write_at(&nodes.rigs[0], "m", RIG_START - VV_HOUR);
    flush(&nodes.rigs[0]);
    go_to(&nodes, 1, DAY + VV_HOUR); /* a wrong clock */
    learn(&nodes.rigs[1]);
    write_at(&nodes.rigs[1], "m", DAY);
    flush(&nodes.rigs[1]);
    vv_sim_clock_jump(&nodes.rigs[1].clock, RIG_START);
    learn_all(&nodes);
    struct vv_class_effect effect = set_class(&nodes.rigs[0], "c", "m\n");
    assert_int_equal(effect.moved_from, DAY);
    learn_all(&nodes);
    learn_all(&nodes);
    go_to(&nodes, NODES, effect.known_by);
    learn_all(&nodes);
    assert_settled(&nodes, "m", DAY, "t");
    end(&nodes);
}

static void a_move_can_be_taken_back_and_another_one_proposed(void **state)
{
    (void)state;
    for (int is_told = 0; is_told < 2; is_told++) {
        struct nodes nodes;
        int64_t known_by = propose(&nodes);
        if (is_told) {
            learn_all(&nodes);
        }
        struct vv_class_effect effect = set_class(&nodes.rigs[0], "c", "x\n");
        assert_int_equal(effect.moved.n, 1);
        learn_all(&nodes);
        (void)set_class(&nodes.rigs[0], "d", "m\n");
        learn_all(&nodes);
        go_to(&nodes, NODES, known_by + VV_DAY);
        learn_all(&nodes);
        assert_settled(&nodes, "m", DAY + VV_DAY, "t/@d");
        assert_string_equal(place_at(&nodes.rigs[1], "m", DAY), "t");
        end(&nodes);
    }
}

/* What is settled is moved back behind it. */
static void what_is_agreed_on_stays_so(void **state)
{
    (void)state;
    struct nodes nodes;
    int64_t known_by = propose(&nodes);
    learn_all(&nodes);
    go_to(&nodes, NODES, known_by);
    learn_all(&nodes);
    struct vv_class_effect effect = set_class(&nodes.rigs[1], "c", "x\n");
    assert_int_equal(effect.moved.n, 1);
    assert_true(effect.moved_from > DAY);
    learn_all(&nodes);
    go_to(&nodes, NODES, effect.known_by);
    learn_all(&nodes);
    for (int i = 0; i < NODES; i++) {
        assert_string_equal(place_at(&nodes.rigs[i], "m", DAY), "t/@c");
        assert_string_equal(place_at(&nodes.rigs[i], "m", effect.moved_from), "t");
    }
    end(&nodes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_nodes_move_a_measurement_on_the_same_day),
        cmocka_unit_test(what_was_proposed_outlives_a_crash),
        cmocka_unit_test(a_move_needs_its_node_only_until_it_is_told),
        cmocka_unit_test(what_not_all_know_in_time_stays),
        cmocka_unit_test(who_has_not_heard_of_a_move_holds_back_what_it_is_about),
        cmocka_unit_test(what_is_not_agreed_on_when_it_begins_is_waited_for),
        cmocka_unit_test(who_has_points_of_then_is_against_it),
        cmocka_unit_test(a_move_can_be_taken_back_and_another_one_proposed),
        cmocka_unit_test(what_is_agreed_on_stays_so),
    };
    return cmocka_run_group_tests_name("engine/move_nodes", tests, NULL, NULL);
}
