/* SPDX-License-Identifier: Apache-2.0 */
/* Some sets of replicas are away: what is for them is parked, all else goes on; it is delivered
 * when they are back. */
#include "parking_fixture.h"

#include "base/random.h"

static enum vv_status ignore(void *context, const struct vv_told *told)
{
    (void)context;
    (void)told;
    return VV_OK;
}

static void what_is_for_living_sets_goes_on(void **state)
{
    (void)state;
    static struct marks marks;
    set_away(HALF);
    assert_int_not_equal(flush_once(&a, SOURCES, 0, 100), VV_OK);
    assert_int_equal(recover(&a), VV_OK);
    (void)flush(&a, SOURCES, 0, 100);
    assert_true(parked(&a) > SOURCES / 8);
    assert_true(parked_of(&a).bytes > 0);
    assert_int_equal(parked_of(&a).since_ns, START);
    assert_true(has_parked(&a));
    assert_false(a.store->ops->shared->has_parked(a.store, TENANT + 1));
    uint32_t living = readable(&b, SOURCES, 0);
    assert_in_range(living, SOURCES / 5, SOURCES * 4 / 5);
    assert_in_range(scan(&a, &marks), 1, living);
    for (size_t i = 0; i < marks.n; i++) { /* none comes before its run */
        const char *found = read_source(&b, marks.items[i].key.partition.source, 0);
        assert_true(strcmp(found, "") != 0 && strcmp(found, "?") != 0);
    }
    /* It is tried again, in vain. */
    deliver_all(&a);
    assert_true(has_parked(&a));
    assert_int_equal(readable(&b, SOURCES, 0), living);
    /* What comes next needs no second try: the sets are known. */
    assert_int_equal(flush_once(&a, SOURCES, 1, 200), VV_OK);
    set_away(0);
    deliver_all(&a);
    assert_int_equal(parked(&a), 0);
    assert_int_equal(parked_of(&a).bytes, 0);
    assert_int_equal(parked_of(&a).since_ns, 0);
    assert_false(has_parked(&a));
    for (int64_t day = 0; day < 2; day++) {
        assert_int_equal(readable(&a, SOURCES, day), SOURCES);
        assert_int_equal(readable(&b, SOURCES, day), SOURCES);
    }
    assert_int_equal(scan(&a, &marks), 2 * SOURCES);
    /* Another node finds them all in the ledger when this one is gone. */
    struct vv_error error = {0};
    assert_int_equal(b.store->ops->shared->learn(b.store, ignore, NULL, &error), VV_OK);
    advance(VV_MINUTE);
    assert_int_equal(scan(&b, &marks), 2 * SOURCES);
}

static void what_is_parked_is_read_by_its_node(void **state)
{
    (void)state;
    set_away(HALF);
    (void)flush(&a, SOURCES, 0, 100);
    uint32_t living = readable(&a, SOURCES, 0);
    /* Readable again, and not delivered yet. */
    set_away(0);
    assert_int_equal(readable(&a, SOURCES, 0), SOURCES);
    assert_int_equal(readable(&b, SOURCES, 0), living);
    assert_true(has_parked(&a));
}

static void a_restart_keeps_what_is_parked(void **state)
{
    (void)state;
    set_away(HALF);
    (void)flush(&a, SOURCES, 0, 100);
    struct vv_parked before = parked_of(&a);
    set_away(0);
    for (uint64_t seed = 1; seed < 4; seed++) {
        crash_node(&a, seed);
        struct vv_parked after = parked_of(&a);
        assert_int_equal(after.n, before.n);
        assert_int_equal(after.bytes, before.bytes);
        assert_int_equal(after.since_ns, before.since_ns);
        assert_true(has_parked(&a));
        assert_int_equal(readable(&a, SOURCES, 0), SOURCES);
    }
    deliver_all(&a);
    assert_int_equal(parked(&a), 0);
    assert_int_equal(readable(&b, SOURCES, 0), SOURCES);
}

/* Delivered, and killed before that is noted. */
static void what_is_delivered_twice_is_there_once(void **state)
{
    (void)state;
    static struct marks marks;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        int64_t day = (int64_t)seed;
        set_away(HALF);
        (void)flush(&a, 8, day, 100 + seed);
        set_away(0);
        deliver_all(&a);
        crash_node(&a, seed);
        deliver_all(&a);
        assert_int_equal(parked(&a), 0);
        assert_int_equal(readable(&a, 8, day), 8);
        assert_int_equal(readable(&b, 8, day), 8);
        assert_int_equal(scan(&a, &marks), 8 * seed);
    }
}

/* The next flush fails, and when it is repeated its points belong elsewhere: they have come late.
 */
static void a_mark_that_waits_stays_when_what_renews_it_never_lands(void **state)
{
    (void)state;
    struct marks marks;
    set_away(HALF);
    (void)flush(&a, SOURCES, 0, 1);
    assert_true(parked(&a) > 0);
    set_away(0);
    for (uint32_t source = 0; source < SOURCES; source++) {
        assert_int_equal(put(&a, source, 0, 2, VV_STR_LITERAL("late")), VV_OK);
    }
    set_away(ALL);
    assert_int_not_equal(confirm(&a), VV_OK);
    set_away(0);
    assert_int_equal(recover(&a), VV_OK);
    deliver_all(&a);
    assert_int_equal(parked(&a), 0);
    assert_int_equal(scan(&a, &marks), SOURCES);
}

static void without_any_host_all_is_as_before(void **state)
{
    (void)state;
    set_away(ALL);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(flush_once(&a, SOURCES, 0, 100), VV_IO);
        assert_int_equal(recover(&a), VV_IO);
        assert_int_equal(parked(&a), 0);
        advance(5 * VV_SECOND);
    }
    set_away(0);
    assert_int_equal(recover(&a), VV_OK);
    assert_int_equal(flush_once(&a, SOURCES, 0, 100), VV_OK);
    assert_int_equal(parked(&a), 0);
    assert_int_equal(readable(&b, SOURCES, 0), SOURCES);
}

static void no_more_is_parked_than_is_allowed(void **state)
{
    (void)state;
    drop_node(&a);
    make_node(&a, 0);
    close_node(&a);
    a.parked_max = 1000;
    open_node(&a);
    set_away(HALF);
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 3; j++) { /* the first time it is only noted */
            assert_int_equal(flush_once(&a, SOURCES, 0, 100), VV_IO);
            assert_int_equal(recover(&a), VV_OK);
        }
        assert_true(parked_of(&a).bytes <= 1250);
        deliver_all(&a);
    }
    set_away(0);
    deliver_all(&a);
    assert_int_equal(recover(&a), VV_OK);
    (void)flush(&a, SOURCES, 0, 100);
    deliver_all(&a);
    assert_int_equal(parked(&a), 0);
    assert_int_equal(readable(&b, SOURCES, 0), SOURCES);
}

/* Nothing may be parked: a set that is away stops all, and none is noted. */
static void parking_can_be_off(void **state)
{
    (void)state;
    close_node(&a);
    a.parked_max = 0;
    open_node(&a);
    set_away(HALF);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(flush_once(&a, SOURCES, 0, 100), VV_IO);
        (void)!recover(&a);
    }
    set_away(0);
    assert_int_equal(recover(&a), VV_OK);
    assert_int_equal(flush_once(&a, SOURCES, 0, 100), VV_OK);
    assert_int_equal(readable(&b, SOURCES, 0), SOURCES);
}

static int64_t beat_seen_by_b(void)
{
    struct vv_error error = {0};
    struct vv_peer peers[4];
    assert_int_equal(b.store->ops->shared->learn(b.store, ignore, NULL, &error), VV_OK);
    assert_int_equal(b.store->ops->shared->peers(b.store, peers, 4), 1);
    return peers[0].flushed_until_ns;
}

static enum vv_status beat(int64_t until)
{
    struct vv_error error = {0};
    return a.store->ops->shared->beat(a.store, until, &error);
}

static void beats_do_not_claim_what_is_parked(void **state)
{
    (void)state;
    assert_int_equal(beat(START + 1), VV_OK);
    set_away(HALF);
    (void)flush(&a, SOURCES, 0, 100);
    set_away(0);
    assert_int_equal(beat(START + 2), VV_OK);
    assert_int_equal(beat_seen_by_b(), START + 1);
    crash_node(&a, 1);
    assert_int_equal(beat(START + 3), VV_OK);
    assert_int_equal(beat_seen_by_b(), START + 1);
    deliver_all(&a);
    assert_int_equal(beat(START + 4), VV_OK);
    assert_int_equal(beat_seen_by_b(), START + 4);
    /* After a restart it is known what was said. */
    crash_node(&a, 2);
    set_away(HALF);
    (void)flush(&a, SOURCES, 1, 200);
    set_away(0);
    assert_int_equal(beat(START + 5), VV_OK);
    assert_int_equal(beat_seen_by_b(), START + 4);
}

static void sealing_passes_over_dead_sets(void **state)
{
    (void)state;
    static struct marks marks;
    struct vv_error error = {0};
    bool mine[MARKS] = {false};
    size_t n_mine = 0;
    assert_int_equal(flush(&a, SOURCES, 0, 100), 0);
    assert_int_equal(scan(&a, &marks), SOURCES);
    set_away(HALF);
    /* The first time nobody knows. */
    enum vv_status status =
        a.store->ops->shared->begin_seal(a.store, marks.items, marks.n, mine, &error);
    assert_int_equal(status, VV_OK);
    for (size_t i = 0; i < marks.n; i++) {
        n_mine += mine[i];
    }
    assert_in_range(n_mine, 1, SOURCES - 1);
    (void)flush(&a, SOURCES, 1, 200); /* now all of them are noted */
    size_t left = scan(&a, &marks);
    assert_in_range(left, 1, SOURCES);
    assert_int_equal(a.store->ops->shared->begin_seal(a.store, marks.items, marks.n, mine, &error),
                     VV_OK);
    for (size_t i = 0; i < marks.n; i++) {
        assert_true(mine[i]);
        assert_string_not_equal(read_source(&a, marks.items[i].key.partition.source,
                                            (marks.items[i].key.span_start - START) / VV_DAY),
                                "?");
    }
    assert_int_equal(a.store->ops->retire_marks(a.store, marks.items, marks.n, &error), VV_OK);
    assert_int_equal(confirm(&a), VV_OK);
    set_away(0);
    deliver_all(&a);
    advance(VV_MINUTE);
    assert_int_equal(scan(&a, &marks), 2 * SOURCES - left);
}

/* ---- what is told ---- */

struct learnt {
    bool has[SOURCES];
    int64_t newest[SOURCES];
};

static enum vv_status note_told(void *context, const struct vv_told *told)
{
    struct learnt *learnt = context;
    uint32_t source;
    if (find_source(NULL, TENANT, told->name, &source)) {
        learnt->has[source] = true;
        learnt->newest[source] = told->value.size > 0 ? told->value.data[0] : 0;
    }
    return VV_OK;
}

static enum vv_status tell(uint32_t source, const char *value)
{
    struct vv_error error = {0};
    const struct vv_told told = {.kind = 1,
                                 .tenant = tenant_name(NULL, TENANT),
                                 .name = source_name(NULL, source),
                                 .value = vv_str_of(value)};
    return a.store->ops->shared->tell(a.store, &told, &error);
}

static void tell_all(const char *value)
{
    for (int i = 0; i < 20; i++) {
        enum vv_status status = VV_OK;
        for (uint32_t source = 0; source < SOURCES && status == VV_OK; source++) {
            status = tell(source, value);
        }
        if (status == VV_OK && confirm(&a) == VV_OK) {
            return;
        }
        assert_int_equal(recover(&a), VV_OK);
    }
    fail_msg("telling does not come to an end");
}

/* Each set of the sixteen in turn, so that each table's partitions are away once. */
static void what_is_told_comes_later(void **state)
{
    (void)state;
    struct vv_error error = {0};
    static struct learnt learnt;
    for (uint32_t i = 0; i < 8; i++) {
        const char value[2] = {(char)('a' + i), 0};
        learnt = (struct learnt){0};
        set_away(UINT32_C(0x0101) << i);
        tell_all(value);
        set_away(0);
        deliver_all(&a);
        assert_int_equal(parked(&a), 0);
        assert_int_equal(beat(START + (int64_t)i), VV_OK);
        assert_int_equal(b.store->ops->shared->learn(b.store, note_told, &learnt, &error), VV_OK);
        for (uint32_t source = 0; source < SOURCES; source++) {
            assert_true(learnt.has[source]);
            assert_int_equal(learnt.newest[source], value[0]);
        }
    }
    /* Who comes new learns the same of the definitions. */
    learnt = (struct learnt){0};
    close_node(&b);
    open_node(&b);
    assert_int_equal(b.store->ops->shared->learn(b.store, note_told, &learnt, &error), VV_OK);
    for (uint32_t source = 0; source < SOURCES; source++) {
        assert_int_equal(learnt.newest[source], 'h');
    }
}

/* It goes by the tenant's name; of what is in a class, or above, others may know as little. */
static void what_is_told_waits_for_all_places_of_its_tenant(void **state)
{
    (void)state;
    set_away(HALF);
    tell_all("a");
    assert_true(parked_of(&a).n_told > 0);
    for (uint32_t place = 0; place < TENANTS; place++) {
        bool is_of_tenant = place == TENANT || place >= SPACES;
        assert_int_equal(a.store->ops->shared->has_parked(a.store, place), is_of_tenant);
    }
    set_away(0);
    deliver_all(&a);
    for (uint32_t place = 0; place < TENANTS; place++) {
        assert_false(a.store->ops->shared->has_parked(a.store, place));
    }
}

/* Nobody hears of it by reading all definitions while a change has not told it: by then, hours may
 * have gone. */
static void a_change_is_delivered_before_definitions(void **state)
{
    (void)state;
    struct vv_error error = {0};
    static struct learnt learnt;
    int held = 0;
    for (uint32_t i = 0; i < VV_SIM_CASSANDRA_SETS; i++) {
        const char value[2] = {(char)('a' + i), 0};
        set_away(UINT32_C(1) << i);
        tell_all(value);
        if (vv_told_is_away(vv_cassandra_of(a.store))) {
            held++;
            advance(VV_MINUTE); /* it is not noted any more */
            deliver(&a);
            set_away(0);
            close_node(&b);
            open_node(&b);
            learnt = (struct learnt){0};
            assert_int_equal(b.store->ops->shared->learn(b.store, note_told, &learnt, &error),
                             VV_OK);
            for (uint32_t source = 0; source < SOURCES; source++) {
                assert_int_not_equal(learnt.newest[source], value[0]);
            }
        }
        set_away(0);
        deliver_all(&a);
        assert_int_equal(parked(&a), 0);
        assert_int_equal(beat(START + (int64_t)i), VV_OK);
        assert_int_equal(b.store->ops->shared->learn(b.store, note_told, &learnt, &error), VV_OK);
        for (uint32_t source = 0; source < SOURCES; source++) {
            assert_int_equal(learnt.newest[source], value[0]);
        }
    }
    assert_int_equal(held, 1);
}

/* The fleet tells its own again after each recovery; what the store itself told stays. */
static void what_is_told_again_is_kept_once(void **state)
{
    (void)state;
    struct vv_error error = {0};
    static struct learnt learnt;
    const struct vv_buffer *told;
    size_t most = 0;
    close_node(&a);
    a.parked_max = 1000;
    open_node(&a);
    told = &vv_cassandra_of(a.store)->shared.told;
    assert_int_equal(a.store->ops->set_retention(a.store, TENANT, 20 * VV_DAY, &error), VV_OK);
    size_t own = told->size;
    assert_true(own > 0);
    set_away(HALF);
    for (int i = 0; i < 10; i++) {
        for (uint32_t source = 0; source < SOURCES; source++) {
            assert_int_equal(tell(source, "x"), VV_OK);
        }
        most = most ? most : told->size;
        assert_int_equal(told->size, most);
        assert_true(told->size > own);
        assert_int_equal(confirm(&a), VV_IO);
        assert_int_equal(recover(&a), VV_OK);
    }
    set_away(0);
    advance(VV_MINUTE);
    tell_all("y");
    assert_int_equal(told->size, 0);
    deliver_all(&a);
    assert_int_equal(b.store->ops->shared->learn(b.store, note_told, &learnt, &error), VV_OK);
    for (uint32_t source = 0; source < SOURCES; source++) {
        assert_int_equal(learnt.newest[source], 'y');
    }
}

/* ---- buckets ---- */

static void buckets_are_found(void **state)
{
    (void)state;
    struct vv_error error = {0};
    int64_t start;
    set_away(HALF);
    (void)flush(&a, SOURCES, 3, 100);
    set_away(0);
    for (int round = 0; round < 2; round++) {
        for (uint32_t source = 0; source < SOURCES; source++) {
            assert_int_equal(
                a.store->ops->nearest(a.store, 0, TENANT, source, START, true, &start, &error),
                VV_OK);
            assert_int_equal(start, START + 3 * VV_DAY);
            assert_int_equal(a.store->ops->nearest(a.store, 0, TENANT, source, START + 9 * VV_DAY,
                                                   false, &start, &error),
                             VV_OK);
            assert_int_equal(start, START + 3 * VV_DAY);
        }
        deliver_all(&a);
        assert_int_equal(parked(&a), 0);
    }
    assert_int_equal(b.store->ops->nearest(b.store, 0, TENANT, 5, START, true, &start, &error),
                     VV_OK);
}

/* ---- threads ---- */

struct reading_thread {
    _Atomic bool stops;
    _Atomic int64_t days; /* that are flushed */
    uint64_t reads;
    uint64_t missed;
};

/* What is flushed is in each answer that there is. */
static void *read_on(void *context)
{
    struct reading_thread *thread = context;
    struct vv_first_plan plans[1];
    while (!atomic_load(&thread->stops)) {
        int64_t days = atomic_load(&thread->days);
        for (int64_t day = 0; day < days; day++) {
            for (uint32_t source = 0; source < 16; source++) {
                struct seen seen = {0};
                struct vv_error error = {0};
                const struct vv_span_key key = span_of(source, day);
                const struct vv_store_read read = {.partition = key.partition,
                                                   .measurement = 1,
                                                   .span_from = key.span_start,
                                                   .span_to = key.span_start + VV_DAY};
                enum vv_status status = a.store->ops->read(a.store, &read, see, &seen, &error);
                thread->reads += status == VV_OK;
                thread->missed += status == VV_OK && seen.n == 0;
            }
        }
        (void)has_parked(&a);
        (void)parked_of(&a);
        (void)a.store->ops->shared->tentative(a.store, plans, 1);
    }
    return NULL;
}

static void readers_miss_nothing_meanwhile(void **state)
{
    (void)state;
    static struct reading_thread thread;
    pthread_t reader;
    thread = (struct reading_thread){0};
    assert_int_equal(pthread_create(&reader, NULL, read_on, &thread), 0);
    for (int64_t day = 0; day < 12; day++) {
        set_away(day % 3 == 2 ? 0 : HALF << (day % 2));
        (void)flush(&a, 16, day, 100 + (vv_stamp)day);
        atomic_store(&thread.days, day + 1);
        set_away(0);
        if (day % 2) {
            advance(11 * VV_SECOND);
            deliver(&a);
        }
    }
    deliver_all(&a);
    atomic_store(&thread.stops, true);
    assert_int_equal(pthread_join(reader, NULL), 0);
    assert_int_equal(thread.missed, 0);
    assert_int_equal(parked(&a), 0);
}

/* ---- all at random ---- */

static void nothing_is_lost_whatever_is_away(void **state)
{
    (void)state;
    struct vv_random random = {99};
    int64_t days = 0;
    for (int round = 0; round < 40; round++) {
        uint32_t away = (uint32_t)(vv_random_next(&random) & vv_random_next(&random) & ALL);
        set_away(away == ALL ? 0 : away);
        if (vv_random_below(&random, 3) > 0) {
            (void)flush(&a, 16, days, 100 + (vv_stamp)days);
            days++;
        }
        if (vv_random_below(&random, 2) == 0) {
            advance((int64_t)vv_random_below(&random, 60) * VV_SECOND);
            deliver(&a);
        }
        if (vv_random_below(&random, 5) == 0) {
            set_away(0); /* else it may not start */
            crash_node(&a, vv_random_next(&random));
        }
    }
    set_away(0);
    deliver_all(&a);
    assert_int_equal(parked(&a), 0);
    for (int64_t day = 0; day < days; day++) {
        assert_int_equal(readable(&a, 16, day), 16);
        assert_int_equal(readable(&b, 16, day), 16);
    }
}

/* ---- hearing ---- */

struct heard {
    int of_b;
    int of_c;
};

static enum vv_status hear(void *context, const struct vv_told *told)
{
    struct heard *heard = context;
    heard->of_b += told->name.size > 0 && told->name.data[0] == 'b';
    heard->of_c += told->name.size > 0 && told->name.data[0] == 'c';
    return VV_OK;
}

static enum vv_status learn(struct node *node, struct heard *heard)
{
    struct vv_error error = {0};
    *heard = (struct heard){0};
    return node->store->ops->shared->learn(node->store, hear, heard, &error);
}

static void tell_by(struct node *node, const char *name)
{
    struct vv_error error = {0};
    const struct vv_told told = {.kind = 1,
                                 .tenant = VV_STR_LITERAL("t1"),
                                 .name = vv_str_of(name),
                                 .value = VV_STR_LITERAL("x")};
    assert_int_equal(node->store->ops->shared->tell(node->store, &told, &error), VV_OK);
    assert_int_equal(confirm(node), VV_OK);
    assert_int_equal(node->store->ops->shared->beat(node->store, 1, &error), VV_OK);
}

/* What it told comes when it can be read, and what the others told does not wait for it. */
static void where_one_node_cannot_be_heard_the_others_are(void **state)
{
    (void)state;
    static struct node c;
    struct heard heard;
    int only_c = 0;
    make_node(&c, 2);
    tell_by(&b, "b");
    tell_by(&c, "c");
    assert_int_equal(learn(&a, &heard), VV_OK);
    for (uint32_t i = 0; i < VV_SIM_CASSANDRA_SETS; i++) {
        tell_by(&b, "b again");
        tell_by(&c, "c again");
        set_away(UINT32_C(1) << i);
        enum vv_status status = learn(&a, &heard);
        bool had_b = heard.of_b > 0;
        bool had_c = heard.of_c > 0;
        if (had_c && !had_b) {
            assert_int_not_equal(learn(&a, &heard), VV_OK);
            assert_int_equal(heard.of_c, 0); /* not over and over */
            only_c++;
        }
        assert_int_equal(status == VV_OK, had_b && had_c);
        set_away(0);
        assert_int_equal(learn(&a, &heard), VV_OK);
        assert_int_equal(heard.of_b > 0, !had_b); /* the rest, and nothing again */
        assert_int_equal(heard.of_c > 0, !had_c);
    }
    assert_true(only_c > 0);
    drop_node(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(where_one_node_cannot_be_heard_the_others_are, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_is_for_living_sets_goes_on, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_parked_is_read_by_its_node, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_restart_keeps_what_is_parked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_delivered_twice_is_there_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_mark_that_waits_stays_when_what_renews_it_never_lands,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_any_host_all_is_as_before, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_more_is_parked_than_is_allowed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(parking_can_be_off, set_up, tear_down),
        cmocka_unit_test_setup_teardown(beats_do_not_claim_what_is_parked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sealing_passes_over_dead_sets, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_told_comes_later, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_told_waits_for_all_places_of_its_tenant, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_change_is_delivered_before_definitions, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_is_told_again_is_kept_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(buckets_are_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(readers_miss_nothing_meanwhile, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_is_lost_whatever_is_away, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
