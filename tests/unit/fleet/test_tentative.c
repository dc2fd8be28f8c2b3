/* SPDX-License-Identifier: Apache-2.0 */
/* Plans that nobody could be asked for: not told, asked for again, settled in an order that loses
 * nothing whenever a call fails or the process ends. */
#include "fleet_fixture.h"

static const struct vv_plan own = {VV_TIME_MIN, VV_DAY, VV_HOUR, 1, 0};
static const struct vv_plan others = {VV_TIME_MIN, VV_HOUR, VV_HOUR, 2, 0};
static const struct vv_plan later = {VV_DAY, 2 * VV_HOUR, VV_HOUR, 1, 0};

static struct node *a;
static struct node *b;

static void begin(uint64_t seed)
{
    fake_begin(seed);
    a = node_open(1);
    b = node_open(2);
}

static void end(void)
{
    node_close(a);
    node_close(b);
    fake_end();
}

static struct vv_plans plans_of(struct node *node, const char *id)
{
    uint32_t tenant;
    uint32_t source;
    assert_int_equal(vv_registry_tenant(node->registry, TEXT("t"), false, &tenant, NULL), VV_OK);
    assert_int_equal(vv_registry_source_by_id(node->registry, tenant, vv_str_of(id), &source),
                     VV_OK);
    return vv_registry_source_plans(node->registry, source);
}

static void assert_plan(struct node *node, const char *id, const struct vv_plan *expected)
{
    struct vv_plans plans = plans_of(node, id);
    assert_int_equal(plans.n, expected ? 1 : 0);
    assert_false(plans.is_moving);
    assert_true(!expected || plans.plans[0].bucket_ns == expected->bucket_ns);
}

/* As an engine's start, after the journal's replay. */
static void restart(struct node *node, bool hard)
{
    node_restart(node, hard);
    assert_int_equal(vv_fleet_load_tentative(node->fleet, NULL), VV_OK);
}

static enum vv_status settle_when(struct node *node, bool is_current)
{
    bool failed;
    struct vv_error error = {0};
    enum vv_status status = vv_fleet_settle(node->fleet, is_current, &failed, &error);
    assert_true(!failed || status == VV_IO);
    return status;
}

static enum vv_status settle(struct node *node)
{
    return settle_when(node, true);
}

/* A source of `a` whose plan is tentative, and in its record. */
static uint32_t park(const char *tags)
{
    uint32_t source = node_source(a, "t", tags, 5);
    hub.nodes[1].plans_away = true;
    node_agree(a, source, own);
    node_flush(a);
    return source;
}

/* A source of both whose plan is agreed and told, and doubted by `a`. */
static uint32_t park_agreed(const char *tags)
{
    node_agree(b, node_source(b, "t", tags, 5), own);
    node_flush(b);
    node_learn(a);
    uint32_t source = node_source(a, "t", tags, 5);
    struct vv_plan_doubt doubt = {.source = source, .until_ns = 0};
    hub.nodes[1].plans_away = true;
    assert_int_equal(vv_fleet_doubt(a->fleet, &doubt, 1, NULL), VV_OK);
    assert_int_equal(vv_fleet_confirm(a->fleet, NULL), VV_OK);
    assert_true(vv_fleet_waits_for_plan(a->fleet, source));
    return source;
}

/* Node b tells two plans of a source. */
static void tell_two(const char *tags, const struct vv_plan plans[2])
{
    uint32_t source = node_source(b, "t", tags, 5);
    assert_int_equal(vv_registry_source_set_plans(b->registry, source, plans, 2), VV_OK);
    node_touch(b, VV_REGISTRY_SOURCE, source);
    node_flush(b);
}

static void a_plan_is_taken_when_it_is_confirmed_and_is_not_told(void **state)
{
    (void)state;
    begin(1);
    uint32_t source = node_source(a, "t", "id=x", 5);
    struct vv_first_plan first = {0, source, own, false};
    hub.nodes[1].plans_away = true;
    assert_int_equal(vv_fleet_agree(a->fleet, &first, 1, NULL), VV_OK);
    assert_plan(a, "x", NULL);
    hub.nodes[1].fail = 1;
    assert_int_equal(vv_fleet_confirm(a->fleet, NULL), VV_IO);
    assert_int_equal(vv_fleet_tell_again(a->fleet, NULL), VV_OK); /* the store was recovered */
    assert_int_equal(vv_fleet_confirm(a->fleet, NULL), VV_OK);
    assert_plan(a, "x", NULL); /* nobody knows any more that it is tentative */
    assert_false(vv_fleet_waits_for_plan(a->fleet, source));
    node_agree(a, source, own);
    assert_plan(a, "x", &own);
    assert_true(vv_fleet_waits_for_plan(a->fleet, source));
    node_flush(a);
    for (int i = 0; i < 2; i++) {
        node_learn(b);
        assert_plan(b, "x", NULL);
        node_source(a, "t", "id=x,k=v", 10 + i); /* more is told of it */
        node_flush(a);
        restart(a, i);
        assert_plan(a, "x", &own);
        node_source(a, "t", "id=x,k=w", 20 + i);
        node_flush(a);
    }
    node_learn(b);
    assert_plan(b, "x", NULL);
    end();
}

static void it_is_asked_for_again_until_all_agree(void **state)
{
    (void)state;
    begin(2);
    park("id=x");
    assert_int_equal(settle(a), VV_DONE);
    assert_int_equal(hub.nodes[1].settled, 0);
    hub.nodes[1].plans_away = false;
    assert_int_equal(settle(a), VV_DONE);
    assert_int_equal(hub.nodes[1].settled, 1);
    assert_false(hub.nodes[1].settled_while_moving); /* nothing changes its place */
    assert_plan(a, "x", &own);
    node_learn(b);
    assert_plan(b, "x", &own);
    assert_int_equal(settle(a), VV_DONE);
    assert_int_equal(hub.nodes[1].settled, 1);
    restart(a, true);
    assert_plan(a, "x", &own);
    assert_same_nodes(a, b);
    end();
}

static void another_plan_takes_its_place(void **state)
{
    (void)state;
    begin(3);
    park("id=x");
    node_agree(b, node_source(b, "t", "id=x", 5), others);
    node_flush(b);
    hub.nodes[1].plans_away = false;
    uint32_t confirms = hub.nodes[1].confirms;
    const struct vv_plan *held = plans_of(a, "x").plans; /* by a reader */
    assert_int_equal(settle(a), VV_DONE);
    assert_int_equal(hub.nodes[1].settled, 1);
    assert_true(hub.nodes[1].settled_from.bucket_ns == own.bucket_ns);
    assert_true(hub.nodes[1].settled_to.bucket_ns == others.bucket_ns);
    assert_true(hub.nodes[1].settled_while_moving);
    assert_int_equal(hub.nodes[1].settled_confirms, confirms + 1); /* its record before */
    assert_plan(a, "x", &others);
    assert_true(held->bucket_ns == own.bucket_ns);
    node_learn(b);
    assert_same_nodes(a, b);
    restart(a, true);
    assert_same_nodes(a, b);
    end();
}

/* What others have flushed lies where it says: nobody reads by the tentative one any more, and it
 * takes nobody to ask. */
static void a_plan_that_others_tell_holds_at_once(void **state)
{
    (void)state;
    for (int ends = 0; ends < 3; ends++) {
        begin(8);
        uint32_t source = park("id=x");
        park("id=y");
        const struct vv_plans held = plans_of(a, "x"); /* by a reader */
        node_agree(b, node_source(b, "t", "id=x", 5), others);
        node_flush(b);
        assert_false(vv_fleet_has_told_moves(a->fleet));
        node_learn(a);
        assert_true(plans_of(a, "x").is_moving);
        assert_true(plans_of(a, "x").plans[0].bucket_ns == others.bucket_ns);
        assert_false(vv_registry_plans_hold(a->registry, source, &held));
        assert_true(vv_fleet_has_told_moves(a->fleet));
        if (ends > 0) { /* with its record, or without */
            if (ends == 1) {
                node_keep(a);
            }
            restart(a, true);
            node_learn(a);
        }
        assert_int_equal(settle(a), VV_DONE); /* where the plans are is away still */
        assert_false(vv_fleet_has_told_moves(a->fleet));
        assert_int_equal(hub.nodes[1].settled, 1);
        assert_true(hub.nodes[1].settled_to.bucket_ns == others.bucket_ns);
        assert_plan(a, "x", &others);
        assert_plan(a, "y", &own);
        assert_int_equal(hub.nodes[1].tentative.n, 1);
        end();
    }
}

/* What is parked of it since then has its marks, which placing it again would take. */
static void what_is_told_of_a_settled_plan_places_nothing_again(void **state)
{
    (void)state;
    begin(9);
    park("id=x");
    park("id=y");
    assert_int_equal(settle(a), VV_DONE);
    node_agree(b, node_source(b, "t", "id=x", 5), others);
    node_flush(b);
    node_learn(a);
    hub.nodes[1].plans_away = false;
    assert_int_equal(settle(a), VV_DONE); /* y waits for the next round */
    assert_int_equal(hub.nodes[1].settled, 1);
    uint32_t source = node_source(b, "t", "id=x", 5);
    node_touch(b, VV_REGISTRY_SOURCE, source);
    node_flush(b);
    node_learn(a);
    assert_false(vv_fleet_has_told_moves(a->fleet));
    assert_int_equal(settle(a), VV_DONE);
    assert_int_equal(hub.nodes[1].settled, 2);
    assert_int_equal(hub.nodes[1].tentative.n, 0);
    assert_plan(a, "x", &others);
    assert_plan(a, "y", &own);
    end();
}

static void plans_that_follow_another_first_one_are_not_lost(void **state)
{
    (void)state;
    begin(4);
    park("id=x");
    node_agree(b, node_source(b, "t", "id=x", 5), others);
    const struct vv_plan both[] = {others, later};
    tell_two("id=x", both);
    node_learn(a);
    assert_int_equal(plans_of(a, "x").n, 2);
    node_keep(a);
    restart(a, false);
    hub.nodes[1].plans_away = false;
    assert_int_equal(settle(a), VV_DONE);
    node_learn(b);
    assert_same_nodes(a, b);
    end();
}

/* They are agreed on, but its first plan may still be another one; what is parked stays so. */
static void plans_that_follow_a_tentative_one_are_taken_at_once(void **state)
{
    (void)state;
    for (int ends = 0; ends < 2; ends++) {
        begin(10);
        uint32_t source = park_agreed("id=x");
        assert_true(vv_fleet_trusts_plans(a->fleet, source, 0));
        const struct vv_plans held = plans_of(a, "x"); /* by a reader */
        const struct vv_plan both[] = {own, later};
        tell_two("id=x", both);
        node_learn(a);
        assert_true(plans_of(a, "x").is_moving);
        assert_int_equal(plans_of(a, "x").n, 2);
        assert_false(vv_registry_plans_hold(a->registry, source, &held));
        node_learn(a);
        if (ends) { /* with its record */
            node_keep(a);
            restart(a, true);
        }
        assert_int_equal(settle(a), VV_DONE);
        assert_false(plans_of(a, "x").is_moving);
        assert_int_equal(hub.nodes[1].placed, 1);
        assert_int_equal(hub.nodes[1].placed_plans, 2);
        assert_int_equal(hub.nodes[1].tentative.n, 1);
        hub.nodes[1].plans_away = false;
        assert_int_equal(settle(a), VV_DONE);
        assert_int_equal(hub.nodes[1].settled, 1);
        assert_int_equal(hub.nodes[1].tentative.n, 0);
        assert_int_equal(plans_of(a, "x").n, 2);
        assert_same_nodes(a, b);
        end();
    }
}

/* Whoever could not be heard may have told what follows them: nothing is settled. */
static void readers_do_not_wait_until_all_are_heard(void **state)
{
    (void)state;
    const struct vv_plan both[] = {own, later};
    for (int ends = 0; ends < 2; ends++) {
        begin(12);
        park_agreed("id=x");
        park("id=y");
        node_agree(b, node_source(b, "t", "id=y", 5), others);
        tell_two("id=x", both);
        node_learn(a);
        assert_true(vv_fleet_has_moves(a->fleet));
        hub.nodes[1].fail = 1;
        assert_int_equal(settle_when(a, false), VV_IO); /* the confirm */
        assert_true(plans_of(a, "x").is_moving);
        assert_true(plans_of(a, "y").is_moving);
        if (ends) {
            restart(a, true);
            node_learn(a);
        } else {
            assert_int_equal(vv_fleet_tell_again(a->fleet, NULL), VV_OK);
        }
        assert_true(vv_fleet_has_moves(a->fleet));
        assert_int_equal(settle_when(a, false), VV_DONE);
        assert_false(vv_fleet_has_moves(a->fleet));
        assert_false(plans_of(a, "x").is_moving);
        assert_plan(a, "y", &others);
        assert_in_range(hub.nodes[1].placed, 2, ends ? 4 : 2); /* also at the start */
        assert_int_equal(hub.nodes[1].settled, 0);
        assert_int_equal(hub.nodes[1].tentative.n, 2);
        hub.nodes[1].plans_away = false;
        assert_int_equal(settle_when(a, false), VV_DONE);
        assert_int_equal(hub.nodes[1].settled, 0);
        assert_int_equal(settle(a), VV_DONE);
        assert_int_equal(hub.nodes[1].settled, 2);
        assert_int_equal(hub.nodes[1].tentative.n, 0);
        assert_same_nodes(a, b);
        end();
    }
}

/* It was agreed while all were heard; when it is tried again they are not any more. */
static void what_was_agreed_is_not_settled_later_unheard(void **state)
{
    (void)state;
    const struct vv_plan both[] = {own, later};
    for (int moves = 0; moves < 2; moves++) {
        begin(13);
        uint32_t source = moves ? park("id=x") : park_agreed("id=x");
        if (moves) {
            node_agree(b, node_source(b, "t", "id=x", 5), others);
        }
        hub.nodes[1].plans_away = false;
        hub.nodes[1].wait = moves ? 2 : 1; /* agree, tell */
        hub.nodes[1].fail = 1;
        assert_int_equal(settle(a), VV_IO);
        assert_int_equal(vv_fleet_tell_again(a->fleet, NULL), VV_OK);
        assert_true(vv_fleet_waits_for_plan(a->fleet, source));
        assert_int_equal(settle_when(a, false), VV_DONE);
        assert_int_equal(hub.nodes[1].settled, 0);
        assert_int_equal(hub.nodes[1].tentative.n, 1);
        assert_true(vv_fleet_waits_for_plan(a->fleet, source));
        assert_plan(a, "x", moves ? &others : &own);
        restart(a, true);
        assert_true(vv_fleet_waits_for_plan(a->fleet, source));
        assert_plan(a, "x", moves ? &others : &own);
        if (!moves) {
            tell_two("id=x", both);
            node_learn(a);
        }
        assert_int_equal(settle(a), VV_DONE);
        assert_int_equal(settle(a), VV_DONE);
        assert_int_equal(hub.nodes[1].settled, 1);
        assert_false(vv_fleet_waits_for_plan(a->fleet, source));
        assert_int_equal(plans_of(a, "x").n, moves ? 1 : 2);
        node_flush(b);
        node_learn(a);
        node_learn(b);
        assert_same_nodes(a, b);
        end();
    }
}

static void swap_told_plans(void)
{
    struct fake_told *first = NULL;
    for (size_t i = 0; i < hub.n; i++) {
        struct fake_told *each = &hub.log[i];
        if (each->told.kind == 6 && first) { /* a plan */
            uint64_t sequence = each->sequence;
            each->sequence = first->sequence;
            first->sequence = sequence;
            return;
        }
        first = each->told.kind == 6 ? each : first;
    }
    fail();
}

/* As what was parked may be told: the later plan first. */
static void another_first_plan_may_be_told_with_a_later_one(void **state)
{
    (void)state;
    const struct vv_plan both[] = {others, later};
    begin(14);
    uint32_t source = park("id=x");
    node_agree(b, node_source(b, "t", "id=x", 5), others);
    tell_two("id=x", both);
    swap_told_plans();
    node_learn(a);
    struct vv_fleet_figures figures;
    vv_fleet_read_figures(a->fleet, &figures);
    assert_int_equal(figures.refused, 0);
    assert_int_equal(plans_of(a, "x").n, 2);
    assert_true(plans_of(a, "x").is_moving);
    assert_int_equal(settle(a), VV_DONE);
    assert_false(plans_of(a, "x").is_moving);
    assert_int_equal(hub.nodes[1].settled, 1);
    assert_false(vv_fleet_waits_for_plan(a->fleet, source));
    assert_same_nodes(a, b);
    end();
}

/* What cannot be placed: its readers wait, nobody else's. */
static void one_that_fails_holds_up_no_other(void **state)
{
    (void)state;
    begin(15);
    uint32_t x = park("id=x");
    uint32_t y = park("id=y");
    uint32_t z = park("id=z");
    node_agree(b, node_source(b, "t", "id=x", 5), others);
    node_agree(b, node_source(b, "t", "id=y", 5), others);
    hub.nodes[1].plans_away = false;
    hub.nodes[1].damaged = z + 1;
    assert_int_equal(settle(a), VV_CORRUPT);
    assert_int_equal(hub.nodes[1].settled, 2);
    assert_plan(a, "x", &others);
    assert_plan(a, "y", &others);
    assert_true(vv_fleet_waits_for_plan(a->fleet, z));
    assert_false(vv_fleet_waits_for_plan(a->fleet, x));
    assert_false(vv_fleet_waits_for_plan(a->fleet, y));
    hub.nodes[1].plans_away = true;
    park("id=told");
    park("id=asked");
    node_agree(b, node_source(b, "t", "id=told", 5), others);
    node_flush(b);
    node_learn(a);
    hub.nodes[1].plans_away = false;
    assert_int_equal(settle(a), VV_CORRUPT);
    assert_plan(a, "told", &others);
    assert_int_equal(settle(a), VV_CORRUPT);
    assert_int_equal(hub.nodes[1].settled, 4);
    hub.nodes[1].damaged = 0;
    assert_int_equal(settle(a), VV_DONE);
    assert_int_equal(hub.nodes[1].settled, 5);
    assert_int_equal(hub.nodes[1].tentative.n, 0);
    node_learn(b);
    assert_same_nodes(a, b);
    end();
}

/* As long as what was heard then would hold. */
static void what_the_store_said_of_plans_is_remembered(void **state)
{
    (void)state;
    begin(11);
    uint32_t source = node_source(a, "t", "id=x", 5);
    node_agree(a, source, own);
    int64_t now = a->clock.clock.wall_ns(&a->clock.clock);
    struct vv_plan_doubt doubt = {.source = source, .until_ns = now};
    assert_false(vv_fleet_trusts_plans(a->fleet, source, now));
    assert_int_equal(vv_fleet_doubt(a->fleet, &doubt, 1, NULL), VV_OK);
    assert_true(vv_fleet_trusts_plans(a->fleet, source, now));
    assert_true(vv_fleet_trusts_plans(a->fleet, source, now + 59 * VV_MINUTE));
    assert_false(vv_fleet_trusts_plans(a->fleet, source, now + VV_HOUR));
    assert_false(vv_fleet_trusts_plans(a->fleet, source + 1, now));
    end();
}

/* Learnt after it was asked for, before the store has confirmed. */
static void a_plan_that_is_learnt_meanwhile_is_the_agreed_one(void **state)
{
    (void)state;
    begin(5);
    uint32_t source = node_source(a, "t", "id=x", 5);
    struct vv_first_plan first = {0, source, own, false};
    hub.nodes[1].plans_away = true;
    assert_int_equal(vv_fleet_agree(a->fleet, &first, 1, NULL), VV_OK);
    node_agree(b, node_source(b, "t", "id=x", 5), others);
    node_flush(b);
    node_learn(a);
    assert_plan(a, "x", &others);
    assert_int_equal(vv_fleet_confirm(a->fleet, NULL), VV_OK);
    assert_plan(a, "x", &others);
    assert_int_equal(hub.nodes[1].settled, 1);
    assert_int_equal(hub.nodes[1].tentative.n, 0);
    end();
}

static void all_are_asked_for_in_slices(void **state)
{
    (void)state;
    begin(6);
    for (int i = 0; i < 600; i++) {
        char tags[16];
        snprintf(tags, sizeof tags, "id=s%d", i);
        park(tags);
    }
    int calls = 1;
    while (settle(a) == VV_OK) { /* a round in vain ends, too */
        calls++;
    }
    assert_int_equal(calls, 3);
    hub.nodes[1].plans_away = false;
    while (settle(a) == VV_OK) {
    }
    assert_int_equal(hub.nodes[1].settled, 600);
    node_learn(b);
    assert_same_nodes(a, b);
    end();
}

/* Each call fails once; then the process goes on, or ends there. */
static void whatever_fails_it_is_settled_in_the_end(void **state)
{
    (void)state;
    uint32_t moved = 0;
    for (uint32_t k = 0; k < 64; k++) {
        bool ends = k % 2;
        begin(100 + k);
        park("id=x");
        park("id=y");
        node_agree(b, node_source(b, "t", "id=x", 5), others);
        node_flush(b);
        if (k % 4 / 2) {
            node_learn(a);
        }
        hub.nodes[1].plans_away = false;
        hub.nodes[1].wait = k / 4 % 8;
        hub.nodes[1].fail = 1;
        (void)!settle(a);
        moved += plans_of(a, "x").is_moving;
        hub.nodes[1].fail = 0;
        hub.nodes[1].wait = 0;
        if (ends) {
            restart(a, true);
        } else {
            assert_int_equal(vv_fleet_tell_again(a->fleet, NULL), VV_OK);
        }
        assert_int_equal(settle(a), VV_DONE);
        assert_int_equal(settle(a), VV_DONE);
        assert_int_equal(hub.nodes[1].tentative.n, 0);
        assert_plan(a, "x", &others);
        assert_plan(a, "y", &own);
        node_learn(a);
        node_flush(a);
        node_learn(b);
        assert_same_nodes(a, b);
        restart(a, true);
        assert_same_nodes(a, b);
        end();
    }
    print_message("%u of 64 were left between\n", (unsigned)moved);
    assert_true(moved > 4);
}

/* The process ended between the record and the store's part: nothing is read before that. */
static void a_start_finishes_what_was_agreed(void **state)
{
    (void)state;
    for (int fails = 0; fails < 2; fails++) {
        begin(7);
        park("id=x");
        node_agree(b, node_source(b, "t", "id=x", 5), others);
        hub.nodes[1].plans_away = false;
        hub.nodes[1].wait = 3; /* agree, tell, confirm */
        hub.nodes[1].fail = 1;
        assert_int_equal(settle(a), VV_IO);
        assert_true(plans_of(a, "x").is_moving);
        node_restart(a, true);
        hub.nodes[1].fail = (uint32_t)fails;
        assert_int_equal(vv_fleet_load_tentative(a->fleet, NULL), VV_OK);
        hub.nodes[1].fail = 0;
        assert_int_equal(plans_of(a, "x").is_moving, fails);
        assert_int_equal(hub.nodes[1].placed, !fails);
        assert_int_equal(hub.nodes[1].settled, 0); /* nobody was heard yet */
        assert_int_equal(settle(a), VV_DONE);
        assert_plan(a, "x", &others);
        assert_int_equal(hub.nodes[1].tentative.n, 0);
        end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_is_taken_when_it_is_confirmed_and_is_not_told),
        cmocka_unit_test(it_is_asked_for_again_until_all_agree),
        cmocka_unit_test(another_plan_takes_its_place),
        cmocka_unit_test(a_plan_that_others_tell_holds_at_once),
        cmocka_unit_test(what_is_told_of_a_settled_plan_places_nothing_again),
        cmocka_unit_test(plans_that_follow_another_first_one_are_not_lost),
        cmocka_unit_test(plans_that_follow_a_tentative_one_are_taken_at_once),
        cmocka_unit_test(readers_do_not_wait_until_all_are_heard),
        cmocka_unit_test(what_was_agreed_is_not_settled_later_unheard),
        cmocka_unit_test(another_first_plan_may_be_told_with_a_later_one),
        cmocka_unit_test(one_that_fails_holds_up_no_other),
        cmocka_unit_test(what_the_store_said_of_plans_is_remembered),
        cmocka_unit_test(a_plan_that_is_learnt_meanwhile_is_the_agreed_one),
        cmocka_unit_test(all_are_asked_for_in_slices),
        cmocka_unit_test(whatever_fails_it_is_settled_in_the_end),
        cmocka_unit_test(a_start_finishes_what_was_agreed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
