/* SPDX-License-Identifier: Apache-2.0 */
/* Tiers above what is parked: what makes a unit stale comes after what it is built of. */
#include "parking_fixture.h"

#include "tier/unit.h"

static enum vv_status ignore(void *context, const struct vv_told *told)
{
    (void)context;
    (void)told;
    return VV_OK;
}

static struct vv_span_key unit_of(enum vv_space tier, uint32_t source)
{
    const struct vv_plan plan = {VV_TIME_MIN, VV_DAY, VV_DAY, 1, 0};
    struct vv_unit unit = vv_unit_of(tier, &plan, 1, START);
    return vv_unit_key(tier, SPACES + (uint32_t)tier, source, 1, unit.from);
}

/* As the flush does it when raw data has landed or is parked, without what it waits for. */
static enum vv_status make_stale_once(struct node *node, vv_stamp run)
{
    struct vv_error error = {0};
    enum vv_status status = VV_OK;
    for (int tier = 0; tier < VV_SPACES && status == VV_OK; tier++) {
        for (uint32_t source = 0; source < SOURCES && status == VV_OK; source++) {
            const struct vv_piece piece = {.kind = VV_PIECE_RUN,
                                           .key = unit_of((enum vv_space)tier, source),
                                           .run = run,
                                           .bytes = VV_STR_LITERAL("stale")};
            const struct vv_mark mark = {.due_ns = START + VV_DAY,
                                         .key = piece.key,
                                         .span_ns = vv_tier_unit_ns_max((enum vv_space)tier),
                                         .run = run};
            status = node->store->ops->put_run(node->store, &piece, &error);
            if (status == VV_OK) {
                status = node->store->ops->put_mark(node->store, &mark, &error);
            }
        }
        status = status == VV_OK ? confirm(node) : status;
    }
    return status;
}

static void make_stale(struct node *node, uint32_t sources, vv_stamp run)
{
    for (int i = 0; i < 20; i++) { /* as the engine does it */
        if (flush_once(node, sources, 0, run) == VV_OK && make_stale_once(node, run) == VV_OK) {
            return;
        }
        assert_int_equal(recover(node), VV_OK);
    }
    fail_msg("the flush does not come to an end");
}

enum found { UNREADABLE, NOTHING, SOMETHING };

static enum found find(struct node *node, const struct vv_span_key *key)
{
    struct seen seen = {0};
    const struct vv_store_read read = {.partition = key->partition,
                                       .measurement = 1,
                                       .span_from = key->span_start,
                                       .span_to = key->span_start + 1};
    if (node->store->ops->read(node->store, &read, see, &seen, NULL) != VV_OK) {
        return UNREADABLE;
    }
    return seen.n > 0 ? SOMETHING : NOTHING;
}

/* What a node finds of a source: of raw data, then of the tiers. */
static void look(struct node *node, uint32_t source, enum found found_out[1 + VV_SPACES])
{
    struct vv_span_key key = span_of(source, 0);
    found_out[0] = find(node, &key);
    for (int tier = 0; tier < VV_SPACES; tier++) {
        key = unit_of((enum vv_space)tier, source);
        found_out[1 + tier] = find(node, &key);
    }
}

/* How many of the sources the other node finds stale somewhere; nowhere before what is below. */
static uint32_t stale_at(struct node *node)
{
    uint32_t n = 0;
    for (uint32_t source = 0; source < SOURCES; source++) {
        enum found found[1 + VV_SPACES];
        look(node, source, found);
        for (int above = 1; above <= VV_SPACES; above++) {
            for (int below = 0; below < above; below++) {
                if (found[above] == SOMETHING && found[below] == NOTHING) {
                    fail_msg("source %u: tier %d is stale before %d has landed", source, above - 1,
                             below - 1);
                }
            }
        }
        n += found[1 + VV_SPACE_DAY] == SOMETHING;
    }
    return n;
}

static void what_makes_units_stale_waits_for_what_is_parked(void **state)
{
    struct marks marks;
    bool more = true;
    (void)state;
    set_away(HALF);
    make_stale(&a, SOURCES, 100);
    uint32_t living = stale_at(&b);
    assert_in_range(living, 0, SOURCES / 2);
    /* All is there again, and nothing is delivered yet: where raw data is not, nothing is stale. */
    set_away(0);
    stale_at(&b);
    for (int i = 0; i < 4; i++) {
        advance(11 * VV_SECOND);
        more = true;
        while (more) {
            assert_int_equal(a.store->ops->shared->deliver(a.store, &more, NULL), VV_OK);
            stale_at(&b);
        }
    }
    assert_int_equal(parked(&a), 0);
    assert_int_equal(stale_at(&b), SOURCES);
    assert_int_equal(scan(&a, &marks), SOURCES + VV_SPACES * SOURCES);
    assert_int_equal(b.store->ops->shared->learn(b.store, ignore, NULL, NULL), VV_OK);
}

static void its_own_node_sees_at_once_what_is_stale(void **state)
{
    (void)state;
    set_away(HALF);
    make_stale(&a, SOURCES, 100);
    set_away(0);
    assert_int_equal(stale_at(&a), SOURCES);
}

static void beats_wait_for_units_to_be_stale(void **state)
{
    struct vv_error error = {0};
    (void)state;
    set_away(HALF);
    make_stale(&a, SOURCES, 100);
    assert_true(parked(&a) > 0);
    set_away(0);
    bool more = true;
    advance(11 * VV_SECOND);
    while (more && parked(&a) > 0) { /* while anything of it is left */
        assert_int_equal(vv_parking_bound(&((struct vv_cassandra *)(void *)a.store)->parking,
                                          START + VV_DAY) < START + VV_DAY,
                         1);
        assert_int_equal(a.store->ops->shared->deliver(a.store, &more, &error), VV_OK);
    }
}

/* Where nothing is parked, nothing waits. */
static void what_is_not_above_it_does_not_wait(void **state)
{
    (void)state;
    make_stale(&a, SOURCES, 100);
    assert_int_equal(parked(&a), 0);
    assert_int_equal(stale_at(&b), SOURCES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_makes_units_stale_waits_for_what_is_parked, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(its_own_node_sees_at_once_what_is_stale, set_up, tear_down),
        cmocka_unit_test_setup_teardown(beats_wait_for_units_to_be_stale, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_not_above_it_does_not_wait, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
