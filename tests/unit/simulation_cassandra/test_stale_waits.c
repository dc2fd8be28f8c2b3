/* SPDX-License-Identifier: Apache-2.0 */
/* Each node has one run that makes a unit stale: one that is parked, or written again so that it
 * does not expire, must not be taken for another one of the same key. */
#include "parking_fixture.h"

#include "store/keys.h"
#include "tier/unit.h"

#define STALE vv_stamp_make(1441, 0) /* as src/seal/stale.c has it, whatever the time is */

static struct vv_span_key unit_of(uint32_t source)
{
    const struct vv_plan plan = {VV_TIME_MIN, VV_DAY, VV_DAY, 1, 0};
    struct vv_unit unit = vv_unit_of(VV_SPACE_HOUR, &plan, 1, START);
    return vv_unit_key(VV_SPACE_HOUR, SPACES + (uint32_t)VV_SPACE_HOUR, source, 1, unit.from);
}

static struct vv_mark mark_of_unit(uint32_t source)
{
    return (struct vv_mark){
        .due_ns = START - VV_DAY, .key = unit_of(source), .span_ns = VV_HOUR, .run = STALE};
}

static void make_stale(struct node *node, uint32_t source)
{
    struct vv_error error = {0};
    const struct vv_piece run = {.kind = VV_PIECE_RUN,
                                 .key = unit_of(source),
                                 .run = STALE,
                                 .bytes = VV_STR_LITERAL("stale")};
    const struct vv_mark mark = mark_of_unit(source);
    for (int i = 0; i < 20; i++) {
        if (node->store->ops->put_run(node->store, &run, &error) == VV_OK &&
            node->store->ops->put_mark(node->store, &mark, &error) == VV_OK &&
            confirm(node) == VV_OK) {
            return;
        }
        assert_int_equal(recover(node), VV_OK);
    }
    fail_msg("%s", error.message);
}

/* Those that make it stale. */
static struct runs runs_of_unit(struct node *node, uint32_t source)
{
    const struct vv_span_key key = unit_of(source);
    return runs_of(node, &key);
}

/* Time passes, and the node writes again what would expire. */
static void pass_time(struct node *node, int64_t ns)
{
    struct vv_error error = {0};
    struct marks marks;
    bool more = true;
    advance(ns);
    (void)scan(node, &marks);
    int64_t now = clock_of_all.clock.wall_ns(&clock_of_all.clock);
    while (more) {
        assert_int_equal(node->store->ops->expire(node->store, now, 1u << 20, &more, &error),
                         VV_OK);
        assert_int_equal(confirm(node), VV_OK);
    }
}

static void build(struct node *node, uint32_t source)
{
    const struct vv_mark mark = mark_of_unit(source);
    seal(node, &mark, VV_STR_LITERAL("record"));
    assert_int_equal(runs_of_unit(node, source).n, 0);
}

/* Raw data of the source waits with the node, so what makes its units stale does. */
static bool waits(struct node *node, uint32_t source)
{
    struct vv_cassandra *store = vv_cassandra_of(node->store);
    const struct vv_span_key raw = span_of(source, 0);
    const struct vv_span_key unit = unit_of(source);
    return vv_parking_has_partition(&store->parking, &raw.partition) &&
           !vv_park_is_away(store, &unit.partition);
}

/* b has made units stale, and does again while a part is away: where[i] tells of which sources the
 * second run waits with it. Returns how many. */
static uint32_t park_second_runs(bool where[SOURCES])
{
    uint32_t n = 0;
    for (uint32_t source = 0; source < SOURCES; source++) {
        make_stale(&b, source);
    }
    advance(10 * VV_SECOND);
    set_away(HALF);
    (void)flush(&b, SOURCES, 0, 200);
    for (uint32_t source = 0; source < SOURCES; source++) {
        where[source] = waits(&b, source);
        if (where[source]) {
            make_stale(&b, source);
            n++;
        }
    }
    set_away(0);
    assert_true(n > 0);
    return n;
}

/* a has written the first run again, and built the unit, before the second one comes. */
static void what_is_delivered_later_counts_beside_a_copy(void **state)
{
    bool where[SOURCES];
    uint32_t n = park_second_runs(where);
    (void)state;
    pass_time(&a, 13 * VV_HOUR);
    assert_true(vv_cassandra_of(a.store)->runs_refreshed >= n);
    for (uint32_t source = 0; source < SOURCES; source++) {
        if (where[source]) {
            build(&a, source);
        }
    }
    deliver_all(&b);
    assert_int_equal(parked(&b), 0);
    for (uint32_t source = 0; source < SOURCES; source++) {
        assert_int_equal(runs_of_unit(&a, source).n, 1);
    }
}

/* For longer than runs live. */
static void what_others_see_lasts_while_a_later_one_waits(void **state)
{
    bool where[SOURCES];
    (void)state;
    (void)park_second_runs(where);
    for (int i = 0; i < 24; i++) {
        pass_time(&b, VV_DAY / 4);
    }
    for (uint32_t source = 0; source < SOURCES; source++) {
        assert_int_equal(runs_of_unit(&a, source).n, 1);
    }
}

/* Even where what is written again has to wait, too. */
static void a_copy_does_not_take_the_place_of_what_waits(void **state)
{
    struct vv_cassandra *store = vv_cassandra_of(b.store);
    struct vv_error error = {0};
    bool where[SOURCES];
    uint32_t source = 0;
    int64_t version;
    (void)state;
    (void)park_second_runs(where);
    while (!where[source]) {
        source++;
    }
    struct runs seen = runs_of_unit(&a, source);
    assert_int_equal(seen.n, 1);
    assert_int_equal(vv_parked_version(store, &seen.items[0], &version, &error), VV_OK);
    assert_true(version > seen.items[0].version);
    seen.items[0].bytes = VV_STR_LITERAL("stale");
    assert_int_equal(vv_park_run(store, &seen.items[0], &error), VV_OK);
    int64_t after;
    assert_int_equal(vv_parked_version(store, &seen.items[0], &after, &error), VV_OK);
    assert_int_equal(after, version);
}

/* What was put a moment ago is not written again with each pass. */
static void what_is_young_is_not_copied(void **state)
{
    (void)state;
    make_stale(&b, 0);
    pass_time(&b, VV_HOUR);
    assert_int_equal(vv_cassandra_of(b.store)->runs_refreshed, 0);
    pass_time(&b, 13 * VV_HOUR);
    assert_int_equal(vv_cassandra_of(b.store)->runs_refreshed, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_delivered_later_counts_beside_a_copy, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_others_see_lasts_while_a_later_one_waits, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_copy_does_not_take_the_place_of_what_waits, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_is_young_is_not_copied, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
