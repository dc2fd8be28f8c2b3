/* SPDX-License-Identifier: Apache-2.0 */
/* Classes among nodes: all agree on where a measurement lies, whatever each knows of classes. */
#include "fleet_fixture.h"

struct two {
    struct node *a;
    struct node *b;
};

/* As the journal does. */
static void settle(struct node *node, enum vv_registry_kind kind, uint32_t number)
{
    struct vv_buffer record = {0};
    uint64_t version = vv_registry_encode(node->registry, kind, number, &record);
    vv_registry_settle(node->registry, kind, number, version);
    vv_buffer_deinit(&record);
}

static uint32_t tenant_of(struct node *node)
{
    uint32_t tenant = node_tenant(node, "t");
    settle(node, VV_REGISTRY_TENANT, tenant);
    return tenant;
}

static struct two open_two(void)
{
    fake_begin(7);
    hub.has_peers = true;
    struct two two = {node_open(1), node_open(2)};
    tenant_of(two.a);
    tenant_of(two.b);
    node_learn(two.a);
    node_learn(two.b);
    return two;
}

static void close_two(struct two *two)
{
    node_close(two->a);
    node_close(two->b);
    fake_end();
}

/* With hours of its own. */
static uint32_t make_class(struct node *node, const char *name, const char *patterns)
{
    uint32_t class = VV_REGISTRY_NONE;
    uint32_t hours = VV_REGISTRY_NONE;
    struct vv_registry *registry = node->registry;
    assert_int_equal(
        vv_registry_make_class(registry, tenant_of(node), vv_str_of(name), VV_DAY, &class, NULL),
        VV_OK);
    assert_int_equal(vv_registry_space(registry, class, VV_SPACE_HOUR, true, &hours, NULL), VV_OK);
    assert_int_equal(vv_registry_set_class_patterns(registry, class, vv_str_of(patterns), NULL),
                     VV_OK);
    settle(node, VV_REGISTRY_TENANT, hours);
    settle(node, VV_REGISTRY_TENANT, class);
    node_touch(node, VV_REGISTRY_TENANT, hours);
    node_touch(node, VV_REGISTRY_TENANT, class);
    return class;
}

/* What the engine does every second. */
static void go_on(struct node *node)
{
    struct vv_error error = {0};
    assert_true(vv_fleet_tell_rest(node->fleet, 1000, &error) != VV_IO);
    node_learn(node);
    node_keep(node);
    enum vv_status status = vv_fleet_tell_heard(node->fleet, &error);
    assert_true(status == VV_OK || status == VV_DONE);
    node_keep(node);
}

static void bring_to_all(struct two *two)
{
    for (int i = 0; i < 5; i++) {
        go_on(two->a);
        go_on(two->b);
    }
}

/* Journaled: what the door does with its first point. */
static uint32_t write_first(struct node *node, const char *name)
{
    uint32_t measurement = VV_REGISTRY_NONE;
    assert_int_equal(vv_registry_measurement(node->registry, tenant_of(node), vv_str_of(name), true,
                                             &measurement, NULL),
                     VV_OK);
    settle(node, VV_REGISTRY_MEASUREMENT, measurement);
    node_touch(node, VV_REGISTRY_MEASUREMENT, measurement);
    vv_registry_want_place(node->registry, measurement); /* as the flush that has it */
    return measurement;
}

/* "t", "t/@debug"; "?": it is not agreed on. */
static void assert_place(struct node *node, const char *name, const char *expected)
{
    char text[VV_SPACE_NAME_MAX + 1];
    uint32_t measurement = VV_REGISTRY_NONE;
    assert_int_equal(vv_registry_measurement(node->registry, tenant_of(node), vv_str_of(name),
                                             false, &measurement, NULL),
                     VV_OK);
    struct vv_str place =
        vv_registry_is_placed(node->registry, measurement)
            ? vv_registry_tenant_name(node->registry,
                                      vv_registry_first_place(node->registry, measurement))
            : TEXT("?");
    snprintf(text, sizeof text, "%.*s", VV_STR_ARG(place));
    assert_string_equal(text, expected);
}

static void place(struct node *node)
{
    struct vv_error error = {0};
    enum vv_status status;
    do {
        status = vv_fleet_place(node->fleet, &error);
    } while (status == VV_OK);
    assert_string_equal(error.message, "");
    assert_int_equal(status, VV_DONE);
}

static void a_class_takes_nothing_before_all_nodes_know_it(void **state)
{
    (void)state;
    struct two two = open_two();
    uint32_t class = make_class(two.a, "debug", "debug*\n");
    go_on(two.a);
    go_on(two.a);
    assert_false(vv_registry_class_is_ready(two.a->registry, class));
    write_first(two.a, "debug1");
    assert_place(two.a, "debug1", "?");
    place(two.a);
    assert_place(two.a, "debug1", "t");
    bring_to_all(&two);
    assert_true(vv_registry_class_is_ready(two.a->registry, class));
    write_first(two.a, "debug2");
    write_first(two.a, "energy");
    place(two.a);
    assert_place(two.a, "debug2", "t/@debug");
    assert_place(two.a, "energy", "t");
    assert_place(two.a, "debug1", "t");
    go_on(two.b);
    assert_place(two.b, "debug1", "t");
    assert_place(two.b, "debug2", "t/@debug");
    assert_place(two.b, "energy", "t");
    close_two(&two);
}

/* It knows the tiers, too, and those of the tenant, which it may have heard of by the class:
 * whatever it writes makes them stale. */
static void who_knows_a_class_knows_its_tiers(void **state)
{
    (void)state;
    struct two two = open_two();
    uint32_t days = VV_REGISTRY_NONE;
    assert_int_equal(
        vv_registry_space(two.a->registry, tenant_of(two.a), VV_SPACE_DAY, true, &days, NULL),
        VV_OK);
    settle(two.a, VV_REGISTRY_TENANT, days);
    make_class(two.a, "debug", "debug*\n");
    bring_to_all(&two);
    uint32_t class = vv_registry_class(two.b->registry, tenant_of(two.b), TEXT("debug"));
    assert_true(vv_registry_class_is_ready(two.b->registry, class));
    assert_int_not_equal(vv_registry_tiers(two.b->registry, class).spaces[VV_SPACE_HOUR],
                         VV_REGISTRY_NONE);
    assert_int_equal(vv_registry_owner(two.b->registry, class), tenant_of(two.b));
    assert_int_equal(vv_registry_retention(two.b->registry, class), VV_DAY);
    assert_int_not_equal(vv_registry_tiers(two.b->registry, tenant_of(two.b)).spaces[VV_SPACE_DAY],
                         VV_REGISTRY_NONE);
    close_two(&two);
}

/* It had no reason to ask anybody. */
static void what_a_node_placed_without_knowing_the_class_stays(void **state)
{
    (void)state;
    struct two two = open_two();
    write_first(two.b, "debug1");
    place(two.b);
    assert_place(two.b, "debug1", "t");
    make_class(two.a, "debug", "debug*\n");
    write_first(two.a, "debug1");
    bring_to_all(&two);
    place(two.a);
    assert_place(two.a, "debug1", "t");
    close_two(&two);
}

/* What it has placed before is not heard of yet, so it must not seem to be. */
static void a_node_with_something_untold_does_not_say_that_it_knows(void **state)
{
    (void)state;
    struct two two = open_two();
    make_class(two.a, "debug", "debug*\n");
    hub.nodes[2].parked_told = 1;
    bring_to_all(&two);
    write_first(two.a, "debug1");
    place(two.a);
    assert_place(two.a, "debug1", "t");
    hub.nodes[2].parked_told = 0;
    bring_to_all(&two);
    write_first(two.a, "debug2");
    place(two.a);
    assert_place(two.a, "debug2", "t/@debug");
    close_two(&two);
}

static void who_asks_first_has_chosen(void **state)
{
    (void)state;
    struct two two = open_two();
    make_class(two.a, "debug", "debug*\n");
    uint32_t trace = make_class(two.a, "trace", "trace*\n");
    bring_to_all(&two);
    hub.nodes[2].deaf_to = 1; /* b hears of no change any more */
    assert_int_equal(
        vv_registry_set_class_patterns(two.a->registry, trace, TEXT("debug.x*\n"), NULL), VV_OK);
    settle(two.a, VV_REGISTRY_TENANT, trace);
    write_first(two.a, "debug.x1");
    write_first(two.b, "debug.x1");
    write_first(two.b, "debug.x2");
    write_first(two.a, "debug.x2");
    place(two.a);
    place(two.b);
    assert_place(two.a, "debug.x1", "t/@trace");
    assert_place(two.b, "debug.x1", "t/@trace");
    assert_place(two.a, "debug.x2", "t/@trace");
    assert_place(two.b, "debug.x2", "t/@trace");
    write_first(two.b, "debug.x3");
    write_first(two.a, "debug.x3");
    place(two.b);
    place(two.a);
    assert_place(two.a, "debug.x3", "t/@debug");
    assert_place(two.b, "debug.x3", "t/@debug");
    close_two(&two);
}

/* Others may have placed it without being heard. */
static void who_does_not_hear_the_others_puts_nothing_into_a_class(void **state)
{
    (void)state;
    struct two two = open_two();
    make_class(two.a, "debug", "debug*\n");
    bring_to_all(&two);
    write_first(two.a, "debug1");
    hub.nodes[1].fail = 1; /* the learning */
    place(two.a);
    assert_place(two.a, "debug1", "t");
    close_two(&two);
}

static void a_measurement_is_in_its_class_after_a_restart(void **state)
{
    (void)state;
    for (int hard = 0; hard < 2; hard++) {
        struct two two = open_two();
        make_class(two.a, "debug", "debug*\n");
        bring_to_all(&two);
        write_first(two.a, "debug1");
        place(two.a);
        node_flush(two.a);
        node_restart(two.a, hard);
        assert_place(two.a, "debug1", "t/@debug");
        go_on(two.b);
        node_flush(two.b);
        node_restart(two.b, hard);
        go_on(two.b);
        assert_place(two.b, "debug1", "t/@debug");
        close_two(&two);
    }
}

/* Nothing of it was stored: it is asked for again, and is what was agreed. */
static void what_was_agreed_before_a_crash_is_found_again(void **state)
{
    (void)state;
    struct two two = open_two();
    make_class(two.a, "debug", "debug*\n");
    bring_to_all(&two);
    node_flush(two.a);
    node_flush(two.b);
    write_first(two.a, "debug1");
    hub.nodes[1].wait = 2; /* learning and asking succeed, the confirm fails */
    hub.nodes[1].fail = 100;
    struct vv_error error = {0};
    assert_int_equal(vv_fleet_place(two.a->fleet, &error), VV_IO);
    hub.nodes[1].fail = 0;
    uint32_t class = vv_registry_class(two.b->registry, tenant_of(two.b), TEXT("debug"));
    assert_int_equal(vv_registry_set_class_patterns(two.b->registry, class, TEXT(""), NULL), VV_OK);
    write_first(two.b, "debug1");
    place(two.b);
    assert_place(two.b, "debug1", "t/@debug");
    node_restart(two.a, true);
    place(two.a);
    assert_place(two.a, "debug1", "t/@debug");
    close_two(&two);
}

/* Each has as many as it may set: who could not take some would flush nothing of what is in them.
 */
static void what_nodes_set_at_the_same_time_is_taken(void **state)
{
    (void)state;
    struct two two = open_two();
    struct node *late = node_open(3);
    for (int i = 0; i < VV_CLASSES_SET_MAX; i++) {
        char name[2][16];
        char patterns[2][16];
        for (int j = 0; j < 2; j++) {
            snprintf(name[j], sizeof name[0], "c%d%c", i, 'a' + j);
            snprintf(patterns[j], sizeof patterns[0], "%s.*\n", name[j]);
            make_class(j ? two.b : two.a, name[j], patterns[j]);
        }
    }
    for (int i = 0; i < 3; i++) {
        bring_to_all(&two);
        go_on(late);
    }
    uint32_t classes[VV_CLASSES_OF_TENANT_MAX];
    struct node *const all[] = {two.a, two.b, late};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(vv_registry_classes(all[i]->registry, tenant_of(all[i]), classes),
                         2 * VV_CLASSES_SET_MAX);
    }
    write_first(two.a, "c0a.x");
    write_first(two.b, "c15b.x");
    place(two.a);
    place(two.b);
    write_first(late, "c0a.x");
    write_first(late, "c15b.x");
    place(late);
    assert_place(late, "c0a.x", "t/@c0a");
    assert_place(late, "c15b.x", "t/@c15b");
    node_close(late);
    close_two(&two);
}

/* Only where there are several regions, which have no classes. */
static void classes_of_other_regions_are_left_out(void **state)
{
    (void)state;
    struct two two = open_two();
    hub.nodes[2].region = 1;
    make_class(two.a, "debug", "debug*\n");
    go_on(two.a);
    go_on(two.a);
    write_first(two.a, "debug1");
    place(two.a);
    assert_place(two.a, "debug1", "t/@debug"); /* it waits for no node of another region */
    go_on(two.b);
    assert_int_equal(vv_registry_class(two.b->registry, tenant_of(two.b), TEXT("debug")),
                     VV_REGISTRY_NONE);
    struct vv_fleet_figures figures;
    vv_fleet_read_figures(two.b->fleet, &figures);
    assert_true(figures.refused > 0);
    close_two(&two);
}

/* Whatever it hears of them later: answers lack what is in them. */
static void that_another_region_has_classes_is_kept(void **state)
{
    (void)state;
    struct two two = open_two();
    hub.nodes[2].region = 1;
    make_class(two.a, "debug", "debug*\n");
    go_on(two.a);
    assert_int_equal(vv_fleet_far_classes(two.b->fleet), 0);
    assert_false(vv_fleet_has_learnt(two.b->fleet));
    node_learn(two.b);
    assert_int_equal(vv_fleet_far_classes(two.b->fleet), 1u << 1);
    assert_true(vv_fleet_has_learnt(two.b->fleet)); /* so it is confirmed soon */
    node_keep(two.b);
    assert_false(vv_fleet_has_learnt(two.b->fleet));
    hub.nodes[2].deaf_to = 1;
    node_restart(two.b, true);
    assert_int_equal(vv_fleet_far_classes(two.b->fleet), 1u << 1);
    hub.n_regions = 1; /* the settings have its own only */
    node_restart(two.b, true);
    assert_int_equal(vv_fleet_far_classes(two.b->fleet), 0);
    node_keep(two.b);
    hub.n_regions = 2;
    node_restart(two.b, true);
    assert_int_equal(vv_fleet_far_classes(two.b->fleet), 0);
    close_two(&two);
}

/* Rows of nodes stay, also of other regions'. */
static void a_class_is_ready_however_many_nodes_there_were(void **state)
{
    (void)state;
    struct two two = open_two();
    uint32_t class = make_class(two.a, "debug", "debug*\n");
    hub.far_peers = 300;
    bring_to_all(&two);
    assert_true(vv_registry_class_is_ready(two.a->registry, class));
    close_two(&two);
}

/* Who made the class had told it where others learn it from, but not where it stays. */
static void a_class_outlives_its_maker(void **state)
{
    (void)state;
    struct two two = open_two();
    make_class(two.a, "debug", "debug*\n");
    bring_to_all(&two);
    hub.nodes[1].is_removed = true;
    for (size_t i = 0; i < hub.n; i++) {
        hub.log[i].told.node = hub.log[i].told.node == 1 ? 0 : hub.log[i].told.node;
    }
    struct node *late = node_open(3);
    tenant_of(late);
    node_learn(late);
    node_keep(late);
    uint32_t class = vv_registry_class(late->registry, tenant_of(late), TEXT("debug"));
    assert_int_not_equal(class, VV_REGISTRY_NONE);
    assert_int_equal(vv_registry_retention(late->registry, class), VV_DAY);
    assert_int_not_equal(vv_registry_tiers(late->registry, class).spaces[VV_SPACE_HOUR],
                         VV_REGISTRY_NONE);
    node_close(late);
    close_two(&two);
}

/* ---- what a node may not know ---- */

/* What was told of this place and its tiers: damaged for whoever has not learnt it. */
static void damage_all_of(const char *place)
{
    for (size_t i = 0; i < hub.n; i++) {
        struct vv_told *told = &hub.log[i].told;
        if (vv_str_equal(vv_space_place_name(told->tenant), vv_str_of(place))) {
            memset((char *)told->value.data, 0, told->value.size);
        }
    }
}

/* Cohorts go on: their members are known. */
static void what_is_not_known_of_a_class_lacks_no_source(void **state)
{
    (void)state;
    struct two two = open_two();
    make_class(two.a, "debug", "debug*\n");
    bring_to_all(&two);
    damage_all_of("t/@debug");
    struct node *late = node_open(3);
    tenant_of(late);
    node_learn(late);
    struct vv_fleet_figures figures;
    vv_fleet_read_figures(late->fleet, &figures);
    assert_true(figures.refused > 0);
    assert_false(vv_fleet_lacks_any(late->fleet, TEXT("t")));
    assert_false(vv_fleet_lacks_any(late->fleet, TEXT("t/@debug")));
    node_close(late);
    close_two(&two);
}

/* Nothing of it may be stored. */
static void place_fails(struct node *node, const char *name, const char *why)
{
    struct vv_error error = {0};
    uint32_t measurement = write_first(node, name);
    enum vv_status status = vv_fleet_place(node->fleet, &error);
    if (status == VV_DONE) {
        status = vv_fleet_check_place(node->fleet, measurement, &error);
    }
    assert_int_equal(status, VV_IO);
    if (!strstr(error.message, why)) {
        fail_msg("%s", error.message);
    }
}

static void fail_to_place(struct node *node)
{
    struct vv_error error = {0};
    hub.nodes[node->number].fail = 1; /* the telling */
    assert_int_equal(vv_fleet_place(node->fleet, &error), VV_IO);
    hub.nodes[node->number].fail = 0;
    assert_place(node, "debug1", "t");
}

/* It had placed it, and could tell nobody when it died: the journal has it. */
static void what_comes_from_the_journal_is_told_before_a_node_says_that_it_knows(void **state)
{
    (void)state;
    struct two two = open_two();
    go_on(two.b);
    write_first(two.b, "debug1");
    fail_to_place(two.b);
    node_restart(two.b, true);
    assert_place(two.b, "debug1", "t");
    make_class(two.a, "debug", "debug*\n");
    bring_to_all(&two);
    write_first(two.a, "debug1");
    place(two.a);
    assert_place(two.a, "debug1", "t");
    write_first(two.a, "debug2");
    place(two.a);
    assert_place(two.a, "debug2", "t/@debug");
    close_two(&two);
}

/* A node that is gone for ever has told a metric, and not where its measurement lies, as nothing of
 * that was stored; a has heard nothing of it. */
static void tell_metric_only(struct two *two)
{
    struct node *gone = node_open(3);
    hub.nodes[1].deaf_to = 3;
    node_learn(gone);
    uint32_t measurement = write_first(gone, "debug1");
    uint32_t metric = VV_REGISTRY_NONE;
    enum vv_value_type type;
    assert_int_equal(vv_registry_metric(gone->registry, measurement, TEXT("f"), VV_FLOAT64, true,
                                        &metric, &type, NULL),
                     VV_OK);
    node_touch(gone, VV_REGISTRY_METRIC, metric);
    node_flush(gone);
    node_close(gone);
    hub.nodes[3].is_removed = true;
    go_on(two->a);
}

static void assert_both_have_it(struct two *two)
{
    make_class(two->a, "debug", "debug*\n");
    bring_to_all(two);
    write_first(two->a, "debug1");
    write_first(two->a, "debug2");
    place(two->a);
    assert_place(two->b, "debug1", "t");
    assert_place(two->a, "debug1", "t");
    assert_place(two->a, "debug2", "t/@debug");
}

/* That others know the metric does not say that they know where it lies. */
static void a_place_is_told_though_others_know_a_metric_of_it(void **state)
{
    (void)state;
    struct two two = open_two();
    write_first(two.b, "debug1");
    fail_to_place(two.b);
    tell_metric_only(&two);
    assert_both_have_it(&two);
    close_two(&two);
}

/* Records are there at once, and a crash may come before they are told. */
static void a_place_is_told_though_its_record_was_there_at_the_start(void **state)
{
    (void)state;
    struct two two = open_two();
    go_on(two.b);
    tell_metric_only(&two);
    go_on(two.b);
    write_first(two.b, "debug1");
    two.b->n_touched = 0; /* its name is in no journal: others had told it */
    fail_to_place(two.b);
    node_restart(two.b, false);
    assert_place(two.b, "debug1", "t");
    assert_both_have_it(&two);
    close_two(&two);
}

/* What it has learnt is in no metadata yet, nor is the class linked to its tenant. */
static void who_has_just_heard_of_a_class_asks(void **state)
{
    (void)state;
    struct two two = open_two();
    make_class(two.a, "debug", "debug*\n");
    bring_to_all(&two);
    struct node *late = node_open(3);
    node_learn(late);
    write_first(late, "debug1");
    write_first(late, "debug2");
    write_first(two.a, "debug1");
    place(two.a);
    place(late);
    assert_place(two.a, "debug1", "t/@debug");
    assert_place(late, "debug1", "t/@debug");
    write_first(two.a, "debug2");
    hub.nodes[1].deaf_to = 3;
    place(two.a);
    assert_place(two.a, "debug2", "t");
    assert_place(late, "debug2", "t");
    node_close(late);
    close_two(&two);
}

/* It has left out the class, and all that was told of it. */
static struct node *open_lacking(struct two *two)
{
    make_class(two->a, "debug", "debug*\n");
    bring_to_all(two);
    damage_all_of("t/@debug");
    struct node *late = node_open(3);
    node_learn(late);
    hub.nodes[1].deaf_to = 3;
    return late;
}

/* Nor does it forget that it could not. */
static void who_could_not_take_a_class_asks(void **state)
{
    (void)state;
    struct two two = open_two();
    struct node *late = open_lacking(&two);
    write_first(late, "debug1");
    place(late);
    write_first(two.a, "debug1");
    place(two.a);
    assert_place(late, "debug1", "t");
    assert_place(two.a, "debug1", "t");
    node_keep(late);
    node_restart(late, true);
    hub.nodes[3].fail = 1; /* the learning */
    write_first(late, "debug2");
    place(late);
    write_first(two.a, "debug2");
    place(two.a);
    assert_place(late, "debug2", "t");
    assert_place(two.a, "debug2", "t");
    node_close(late);
    close_two(&two);
}

/* It would put it where nobody looks. */
static void nothing_is_stored_in_a_class_that_is_known_by_name_only(void **state)
{
    (void)state;
    struct two two = open_two();
    struct node *late = open_lacking(&two);
    write_first(two.a, "debug1");
    place(two.a);
    place_fails(late, "debug1", "damaged"); /* where it lies was told */
    hub.nodes[3].deaf_to = 1;
    write_first(two.a, "debug2");
    place(two.a);
    place_fails(late, "debug2", "damaged"); /* or agreed on */
    node_close(late);
    close_two(&two);
}

/* Whatever the order, and longer is not better. */
static void the_retention_that_was_set_last_counts(void **state)
{
    (void)state;
    struct two two = open_two();
    for (int i = 0; i < 2; i++) {
        struct node *node = i ? two.b : two.a;
        uint32_t class = VV_REGISTRY_NONE;
        vv_sim_clock_advance(&two.a->clock, VV_MINUTE);
        vv_sim_clock_advance(&two.b->clock, VV_MINUTE);
        assert_int_equal(vv_registry_make_class(node->registry, tenant_of(node), TEXT("debug"),
                                                i ? VV_HOUR : VV_DAY, &class, NULL),
                         VV_OK);
        settle(node, VV_REGISTRY_TENANT, class);
        node_touch(node, VV_REGISTRY_TENANT, class);
        node_flush(node);
    }
    bring_to_all(&two);
    for (int i = 0; i < 2; i++) {
        struct node *node = i ? two.b : two.a;
        uint32_t class = vv_registry_class(node->registry, tenant_of(node), TEXT("debug"));
        assert_int_equal(vv_registry_retention(node->registry, class), VV_HOUR);
    }
    close_two(&two);
}

/* "Stays where it is" was said of it when the class came. */
static void what_was_made_before_the_class_stays(void **state)
{
    (void)state;
    struct two two = open_two();
    write_first(two.a, "debug1");
    make_class(two.a, "debug", "debug*\n");
    bring_to_all(&two);
    write_first(two.a, "debug2");
    place(two.a);
    assert_place(two.a, "debug1", "t");
    assert_place(two.a, "debug2", "t/@debug");
    close_two(&two);
}

static uint32_t tell_metric_of(struct node *node, uint32_t measurement)
{
    uint32_t metric;
    enum vv_value_type type;
    struct vv_error error = {0};
    assert_int_equal(vv_registry_metric(node->registry, measurement, TEXT("f"), VV_FLOAT64, true,
                                        &metric, &type, NULL),
                     VV_OK);
    settle(node, VV_REGISTRY_METRIC, metric);
    assert_int_equal(vv_fleet_tell(node->fleet, VV_REGISTRY_METRIC, metric, &error), VV_OK);
    node_keep(node);
    return metric;
}

/* It can't place it, and has nothing of it to store. */
static void what_is_only_known_holds_up_nobody(void **state)
{
    (void)state;
    struct two two = open_two();
    struct node *late = open_lacking(&two);
    uint32_t measurement;
    hub.nodes[1].deaf_to = 0;
    hub.nodes[3].deaf_to = 1;
    write_first(two.a, "debug1");
    place(two.a);
    assert_place(two.a, "debug1", "t/@debug");
    go_on(two.b);
    assert_int_equal(vv_registry_measurement(two.b->registry, tenant_of(two.b), TEXT("debug1"),
                                             false, &measurement, NULL),
                     VV_OK);
    tell_metric_of(two.b, measurement);
    node_learn(late);
    node_keep(late);
    write_first(late, "other");
    place(late);
    assert_place(late, "other", "t");
    node_close(late);
    close_two(&two);
}

/* A deletion tells of a measurement of which nothing is stored yet. */
static void who_only_knows_of_a_measurement_does_not_choose(void **state)
{
    (void)state;
    struct two two = open_two();
    uint32_t measurement = write_first(two.a, "debug1");
    make_class(two.a, "debug", "debug*\n");
    bring_to_all(&two);
    tell_metric_of(two.a, measurement);
    node_learn(two.b);
    node_keep(two.b);
    write_first(two.b, "other");
    place(two.b);
    place(two.a);
    assert_place(two.a, "debug1", "t");
    close_two(&two);
}

/* Nobody waited for it. */
static void what_was_heard_before_joining_does_not_count(void **state)
{
    (void)state;
    struct two two = open_two();
    struct node *late = node_open(3);
    hub.nodes[3].is_removed = true;
    node_learn(late);
    make_class(two.a, "debug", "debug*\n");
    bring_to_all(&two);
    hub.nodes[3].is_removed = false;
    hub.nodes[3].fail = 1; /* the learning */
    assert_int_equal(vv_fleet_learn(late->fleet, NULL), VV_IO);
    write_first(late, "debug1");
    write_first(two.a, "debug1");
    place(two.a);
    place(late);
    assert_place(two.a, "debug1", "t/@debug");
    assert_place(late, "debug1", "t/@debug");
    node_close(late);
    close_two(&two);
}

/* Whatever could not be told since. */
static void a_class_that_is_ready_is_so_after_a_restart(void **state)
{
    (void)state;
    struct two two = open_two();
    make_class(two.a, "debug", "debug*\n");
    bring_to_all(&two);
    node_flush(two.a);
    node_restart(two.a, false);
    node_learn(two.a);
    hub.nodes[1].parked_told = 1;
    write_first(two.a, "debug1");
    place(two.a);
    assert_place(two.a, "debug1", "t/@debug");
    close_two(&two);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_class_takes_nothing_before_all_nodes_know_it),
        cmocka_unit_test(who_knows_a_class_knows_its_tiers),
        cmocka_unit_test(what_a_node_placed_without_knowing_the_class_stays),
        cmocka_unit_test(a_node_with_something_untold_does_not_say_that_it_knows),
        cmocka_unit_test(who_asks_first_has_chosen),
        cmocka_unit_test(who_does_not_hear_the_others_puts_nothing_into_a_class),
        cmocka_unit_test(a_measurement_is_in_its_class_after_a_restart),
        cmocka_unit_test(what_was_agreed_before_a_crash_is_found_again),
        cmocka_unit_test(what_nodes_set_at_the_same_time_is_taken),
        cmocka_unit_test(classes_of_other_regions_are_left_out),
        cmocka_unit_test(that_another_region_has_classes_is_kept),
        cmocka_unit_test(a_class_is_ready_however_many_nodes_there_were),
        cmocka_unit_test(a_class_outlives_its_maker),
        cmocka_unit_test(what_is_not_known_of_a_class_lacks_no_source),
        cmocka_unit_test(what_comes_from_the_journal_is_told_before_a_node_says_that_it_knows),
        cmocka_unit_test(a_place_is_told_though_others_know_a_metric_of_it),
        cmocka_unit_test(a_place_is_told_though_its_record_was_there_at_the_start),
        cmocka_unit_test(who_has_just_heard_of_a_class_asks),
        cmocka_unit_test(who_could_not_take_a_class_asks),
        cmocka_unit_test(nothing_is_stored_in_a_class_that_is_known_by_name_only),
        cmocka_unit_test(the_retention_that_was_set_last_counts),
        cmocka_unit_test(what_was_made_before_the_class_stays),
        cmocka_unit_test(what_is_only_known_holds_up_nobody),
        cmocka_unit_test(who_only_knows_of_a_measurement_does_not_choose),
        cmocka_unit_test(what_was_heard_before_joining_does_not_count),
        cmocka_unit_test(a_class_that_is_ready_is_so_after_a_restart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
