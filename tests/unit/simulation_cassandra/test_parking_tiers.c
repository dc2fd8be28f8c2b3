/* SPDX-License-Identifier: Apache-2.0 */
/* Tiers above what is parked: what makes a unit stale comes after what it is built of. */
#include "parking_fixture.h"

#include "store/keys.h"
#include "tier/cohort.h"
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
    uint32_t spaces = raw_tenant == CLASS ? CLASS_SPACES : SPACES;
    return vv_unit_key(tier, spaces + (uint32_t)tier, source, 1, unit.from);
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

/* At first, and when a node has not heard the others for long; not while a part of it is away. */
static void reading_all_that_is_told_is_counted(void **state)
{
    const struct vv_shared_ops *shared = a.store->ops->shared;
    (void)state;
    set_away(HALF);
    (void)!shared->learn(a.store, ignore, NULL, NULL);
    assert_int_equal(shared->learnt_all(a.store), 0);
    set_away(0);
    for (uint64_t times = 1; times < 4; times++) {
        for (int i = 0; i < 5; i++) {
            advance(VV_MINUTE);
            assert_int_equal(shared->learn(a.store, ignore, NULL, NULL), VV_OK);
        }
        assert_int_equal(shared->learnt_all(a.store), times);
        advance(2 * VV_DAY);
    }
}

/* As any place has its raw data and its tiers. */
static void nor_is_a_unit_of_a_class_stale_before_what_is_below(void **state)
{
    raw_tenant = CLASS;
    what_makes_units_stale_waits_for_what_is_parked(state);
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

/* Parks a run as it is, and says whether runs of a cohort wait for it. */
static bool waits_for(struct vv_piece piece)
{
    struct vv_cassandra *store = (struct vv_cassandra *)(void *)a.store;
    const struct vv_span_key cohort = unit_of(VV_SPACE_HOUR, VV_COHORT_NUMBER | 3);
    const struct vv_span_key other = unit_of(VV_SPACE_HOUR, 2);
    uint8_t key[VV_KEY_RUN_SIZE];
    assert_false(vv_parked_below(store, &cohort.partition));
    piece.kind = VV_PIECE_RUN;
    piece.run = 100;
    piece.bytes = VV_STR_LITERAL("run");
    assert_int_equal(vv_park_run(store, &piece, NULL), VV_OK);
    bool waits = vv_parked_below(store, &cohort.partition);
    assert_false(vv_parked_below(store, &other.partition));
    piece.run = vv_cassandra_own(store, piece.run);
    vv_key_from_run(&piece, key);
    assert_int_equal(
        vv_unpark(store, VV_PARKED_RUN, (struct vv_str){(char *)key, sizeof key}, NULL), VV_OK);
    return waits;
}

static void what_makes_a_cohort_stale_waits_for_any_of_its_tenant(void **state)
{
    (void)state;
    struct vv_piece raw = {.key = span_of(1, 0)};
    struct vv_piece late = raw;
    struct vv_piece beside = raw;
    late.key.partition.tenant = raw_tenant == CLASS ? CLASS_LATE : LATE;
    beside.key.partition.tenant = raw_tenant == CLASS ? TENANT : TENANT + 1;
    assert_true(waits_for(raw));
    assert_true(waits_for(late));
    assert_true(waits_for((struct vv_piece){.key = unit_of(VV_SPACE_MINUTE, 1)}));
    assert_true(waits_for((struct vv_piece){.key = unit_of(VV_SPACE_HOUR, 1)}));
    assert_false(waits_for((struct vv_piece){.key = unit_of(VV_SPACE_DAY, 1)}));
    assert_false(waits_for((struct vv_piece){.key = unit_of(VV_SPACE_HOUR, VV_COHORT_NUMBER)}));
    assert_false(waits_for(beside));
}

/* What is parked of the rest of the tenant is in none of its cohorts. */
static void nor_is_a_cohort_of_a_class_stale_before_what_is_below(void **state)
{
    raw_tenant = CLASS;
    what_makes_a_cohort_stale_waits_for_any_of_its_tenant(state);
}

/* What is looked for by its bucket is not found before. */
static void what_makes_units_stale_waits_for_the_notes_of_buckets(void **state)
{
    struct vv_cassandra *store = (struct vv_cassandra *)(void *)a.store;
    const struct vv_span_key raw = span_of(1, 0);
    const struct vv_span_key units[] = {unit_of(VV_SPACE_HOUR, 1), unit_of(VV_SPACE_HOUR, 2),
                                        unit_of(VV_SPACE_HOUR, VV_COHORT_NUMBER | 3)};
    uint8_t key[VV_KEY_PARTITION_SIZE];
    (void)state;
    for (int parks = 1; parks >= 0; parks--) {
        vv_key_from_partition(&raw.partition, key);
        enum vv_status status = parks ? vv_park_bucket(store, &raw.partition, VV_DAY, NULL)
                                      : vv_unpark(store, VV_PARKED_BUCKET,
                                                  (struct vv_str){(char *)key, sizeof key}, NULL);
        assert_int_equal(status, VV_OK);
        assert_int_equal(vv_parked_below(store, &units[0].partition), parks);
        assert_false(vv_parked_below(store, &units[1].partition));
        assert_int_equal(vv_parked_below(store, &units[2].partition), parks);
    }
}

static void see_time_pass(struct node *node, int64_t ns)
{
    bool more = true;
    advance(ns);
    int64_t now = clock_of_all.clock.wall_ns(&clock_of_all.clock);
    while (more) {
        assert_int_equal(node->store->ops->expire(node->store, now, 1u << 20, &more, NULL), VV_OK);
        assert_int_equal(confirm(node), VV_OK);
    }
}

/* It must not expire while others know of what it is about, and see that this node goes on. */
static void what_others_see_lasts_whatever_waits(void **state)
{
    struct vv_cassandra *store = (struct vv_cassandra *)(void *)a.store;
    (void)state;
    make_stale(&a, SOURCES, 100);
    for (uint32_t source = 0; source < SOURCES; source++) {
        const struct vv_span_key raw = span_of(source, 0);
        assert_int_equal(vv_park_bucket(store, &raw.partition, VV_DAY, NULL), VV_OK);
    }
    assert_int_equal(confirm(&a), VV_OK);
    for (int i = 0; i < 8; i++) {
        see_time_pass(&a, VV_DAY / 4);
        assert_int_equal(stale_at(&b), SOURCES);
    }
    assert_int_equal(parked(&a), SOURCES);
}

/* Another thread may find in between that a part is away: then the confirm parks what is in it, and
 * whoever looks behind it knows. */
static void what_is_parked_while_it_is_sent_is_held_behind_it(void **state)
{
    struct vv_cassandra *store = (struct vv_cassandra *)(void *)a.store;
    size_t silently = 0;
    (void)state;
    (void)flush(&a, SOURCES, 0, 1);
    for (uint32_t set = 1; set < VV_SIM_CASSANDRA_SETS; set++) {
        set_away(1u); /* an outage is known */
        (void)flush(&a, SOURCES, (int64_t)set, 2);
        const struct vv_mark mark = mark_of(0, 40 + (int64_t)set, 1);
        uint64_t before = store->parking.n[VV_PARKED_SLOT] + store->parking.n[VV_PARKED_MARK];
        assert_int_equal(a.store->ops->put_mark(a.store, &mark, NULL), VV_OK);
        bool is_held = vv_shared_is_held(a.store, &mark, false);
        set_away(1u | 1u << set);
        for (uint32_t source = 0; source < SOURCES; source++) {
            (void)read_source(&a, source, 0);
        }
        enum vv_status status = confirm(&a);
        uint64_t behind = store->parking.n[VV_PARKED_SLOT] + store->parking.n[VV_PARKED_MARK];
        if (status == VV_OK && !is_held && behind > before) {
            silently++;
            assert_true(vv_shared_is_held(a.store, &mark, false));
        }
        set_away(0);
        for (int i = 0; i < 20 && status != VV_OK; i++) {
            (void)recover(&a);
            status = confirm(&a);
        }
        assert_int_equal(status, VV_OK);
        deliver_all(&a);
        advance(VV_MINUTE);
    }
    assert_true(silently > 0);
}

/* If this node was lost nobody might read its slot of the ledger again, however alive all else is.
 */
static void what_would_be_parked_with_a_mark_is_held(void **state)
{
    struct vv_cassandra *store = (struct vv_cassandra *)(void *)a.store;
    size_t slots = 0;
    (void)state;
    for (uint32_t set = 0; set < VV_SIM_CASSANDRA_SETS; set++) {
        set_away(1u << set);
        for (uint32_t source = 0; source < SOURCES; source++) {
            const struct vv_mark mark = mark_of(source, 40 + (int64_t)set, 1);
            for (int i = 0; i < 20; i++) {
                if (a.store->ops->put_mark(a.store, &mark, NULL) == VV_OK && confirm(&a) == VV_OK) {
                    break;
                }
                assert_int_equal(recover(&a), VV_OK);
            }
            bool has_parked =
                store->parking.n[VV_PARKED_SLOT] > 0 || store->parking.n[VV_PARKED_MARK] > 0;
            slots += store->parking.n[VV_PARKED_SLOT] > 0;
            assert_true(!has_parked || vv_shared_is_held(a.store, &mark, false));
            set_away(0);
            deliver_all(&a);
            assert_int_equal(parked(&a), 0);
            set_away(1u << set);
        }
    }
    assert_true(slots > 0);
    set_away(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_makes_units_stale_waits_for_what_is_parked, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(reading_all_that_is_told_is_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nor_is_a_unit_of_a_class_stale_before_what_is_below, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_others_see_lasts_whatever_waits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_parked_while_it_is_sent_is_held_behind_it, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(its_own_node_sees_at_once_what_is_stale, set_up, tear_down),
        cmocka_unit_test_setup_teardown(beats_wait_for_units_to_be_stale, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_makes_a_cohort_stale_waits_for_any_of_its_tenant,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(nor_is_a_cohort_of_a_class_stale_before_what_is_below,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_not_above_it_does_not_wait, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_makes_units_stale_waits_for_the_notes_of_buckets,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_would_be_parked_with_a_mark_is_held, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
