/* SPDX-License-Identifier: Apache-2.0 */
/* Plans that nobody can be asked for are tentative: what follows them is parked, and placed by the
 * plan that is agreed on later. And values that are kept as rows, parked as runs. */
#include "parking_fixture.h"

#include "model/merge.h"
#include "model/piece.h"
#include "simulation/sim_memory.h"

#define ROWS 200

static const struct vv_plan by_day = {VV_TIME_MIN, VV_DAY, VV_HOUR, 1, 8};
static const struct vv_plan by_day_shared_less = {VV_TIME_MIN, VV_DAY, VV_HOUR, 1, 9};
static const struct vv_plan by_day_alone = {VV_TIME_MIN, VV_DAY, VV_HOUR, 1, 0};
static const struct vv_plan by_hours = {VV_TIME_MIN, 6 * VV_HOUR, 2 * VV_HOUR, 3, 0};

/* A reading each quarter of an hour from START on; its value is its number. */
static struct vv_str encode(struct vv_piece_encoder *encoder, size_t first, size_t end)
{
    struct vv_rows rows;
    struct vv_str bytes;
    assert_int_equal(vv_rows_alloc(end - first, 1, &rows), VV_OK);
    rows.columns[0].metric = 7;
    rows.columns[0].type = VV_INT64;
    for (size_t i = 0; i < rows.n_rows; i++) {
        rows.times[i] = START + (int64_t)(first + i) * 15 * VV_MINUTE;
        rows.stamps[i] = vv_stamp_make(1000 + first + i, 1);
        rows.columns[0].values[i] = first + i;
        vv_column_mark(&rows.columns[0], i);
    }
    assert_int_equal(vv_piece_encode(encoder, &rows, 0, rows.n_rows, &bytes, NULL), VV_OK);
    vv_rows_free(&rows);
    return bytes;
}

/* The first `n` readings of the source by one plan, a piece for each span of an hour. */
static enum vv_status put_run(struct node *node, uint32_t source, vv_stamp run, size_t n)
{
    struct vv_piece_encoder encoder = {.rows_max = ROWS, .bytes_max = 1u << 20};
    struct vv_error error = {0};
    enum vv_status status = VV_OK;
    for (size_t first = 0; first < n && status == VV_OK; first += 4) {
        int64_t time = START + (int64_t)first * 15 * VV_MINUTE;
        struct vv_piece piece = {.kind = VV_PIECE_RUN,
                                 .key = span_of(source, (time - START) / VV_DAY),
                                 .run = run,
                                 .bytes = encode(&encoder, first, first + 4)};
        piece.key.partition.split = (uint16_t)(by_day.share_bits << 8);
        piece.key.span_start = time;
        const struct vv_mark mark = {time + 2 * VV_HOUR, piece.key, VV_HOUR, run, false};
        status = node->store->ops->put_run(node->store, &piece, &error);
        if (status == VV_OK) {
            status = node->store->ops->put_mark(node->store, &mark, &error);
        }
    }
    vv_piece_encoder_deinit(&encoder);
    return status == VV_OK ? confirm(node) : status;
}

static enum vv_status put_readings(struct node *node, uint32_t source)
{
    return put_run(node, source, 100, ROWS);
}

struct readings {
    uint32_t times[ROWS]; /* how often each was seen */
    size_t n;
    int64_t from; /* of the bucket, and of the split: where they must lie */
    int64_t to;
    const struct vv_plan *plans;
    size_t n_plans;
    uint16_t split;
};

static enum vv_status count_readings(void *context, const struct vv_piece *piece)
{
    struct readings *readings = context;
    struct vv_block block;
    int64_t times[ROWS];
    uint64_t values[ROWS];
    uint8_t present[ROWS / 8 + 1];
    assert_int_equal(vv_block_open((const uint8_t *)piece->bytes.data, piece->bytes.size, &block),
                     VV_BLOCK_OK);
    assert_true(block.n_rows <= ROWS && block.n_columns == 1);
    assert_int_equal(vv_block_times(&block, times), VV_BLOCK_OK);
    assert_int_equal(vv_block_values(&block, 0, values, present), VV_BLOCK_OK);
    for (size_t i = 0; i < block.n_rows; i++) {
        struct vv_bucket bucket = vv_bucket_of(readings->plans, readings->n_plans, times[i]);
        assert_true(times[i] >= readings->from && times[i] < readings->to);
        assert_int_equal(vv_split_of(&bucket, times[i]), readings->split);
        assert_int_equal(vv_span_of(&bucket, times[i]), piece->key.span_start);
        assert_true(values[i] < ROWS);
        assert_int_equal(times[i], START + (int64_t)values[i] * 15 * VV_MINUTE);
        readings->times[values[i]]++;
        readings->n++;
    }
    return VV_OK;
}

/* By the plans, in buckets that begin in [from, to); how often each reading is there. */
static void count_by_plans(struct node *node, uint32_t source, struct readings *readings,
                           int64_t from, int64_t to)
{
    const struct vv_plan *plans = readings->plans;
    struct vv_bucket bucket = vv_bucket_of(plans, readings->n_plans, from);
    for (; bucket.start < to; bucket = vv_bucket_of(plans, readings->n_plans, bucket.end)) {
        for (uint16_t split = 0; split < bucket.splits; split++) {
            struct vv_error error = {0};
            const struct vv_store_read read = {
                .partition = {TENANT, source, bucket.start, bucket.bucket_ns,
                              vv_split_name(&bucket, split), 0},
                .measurement = 1,
                .span_from = bucket.start,
                .span_to = bucket.start + bucket.bucket_ns,
                .span_ns = bucket.span_ns,
            };
            readings->from = bucket.start;
            readings->to = bucket.end;
            readings->split = read.partition.split;
            assert_int_equal(
                node->store->ops->read(node->store, &read, count_readings, readings, &error),
                VV_OK);
        }
    }
}

/* Each reading is there at least once, and once only when `once`. */
static size_t count_history(struct node *node, uint32_t source, const struct vv_plan *plans,
                            size_t n_plans, bool once)
{
    struct readings readings = {.plans = plans, .n_plans = n_plans};
    size_t n = 0;
    count_by_plans(node, source, &readings, START, START + 3 * VV_DAY);
    for (size_t i = 0; i < ROWS; i++) {
        assert_true(!once || readings.times[i] <= 1);
        n += readings.times[i] > 0;
    }
    return n;
}

static size_t count_all(struct node *node, uint32_t source, const struct vv_plan *plan, bool once)
{
    return count_history(node, source, plan, 1, once);
}

/* The set that the source's first plan belongs to. */
static uint32_t set_of_plan(uint32_t source)
{
    for (uint32_t i = 0; i < VV_SIM_CASSANDRA_SETS; i++) {
        struct vvcql_result *result;
        struct vv_cassandra *store = vv_cassandra_of(b.store);
        struct vvcql_statement *statement = vvcql_statement_prepared(store->shared.read_plan);
        vv_cassandra_add_str(statement, VV_STR_LITERAL("here"));
        assert_int_equal(vv_cassandra_add_source(store, statement, TENANT, source, NULL), VV_OK);
        vvcql_add_bigint(statement, VV_TIME_MIN);
        set_away(UINT32_C(1) << i);
        enum vvcql_status status = vvcql_wait(store->session, statement, &result, NULL);
        set_away(0);
        if (status != VVCQL_OK) {
            return UINT32_C(1) << i;
        }
        vvcql_result_destroy(result);
    }
    fail_msg("the plan is in no set");
    return 0;
}

static struct vv_first_plan agree(struct node *node, uint32_t source, const struct vv_plan *wish)
{
    struct vv_first_plan plan = {.tenant = TENANT, .source = source, .plan = *wish};
    struct vv_error error = {0};
    for (int i = 0; i < 5; i++) {
        if (node->store->ops->shared->agree_plans(node->store, &plan, 1, &error) == VV_OK) {
            return plan;
        }
        assert_int_equal(recover(node), VV_OK);
    }
    fail_msg("no plan: %s", error.message);
    return plan;
}

static void put_tentatively(uint32_t source)
{
    struct vv_first_plan list[2];
    set_away(set_of_plan(source));
    struct vv_first_plan mine = agree(&a, source, &by_day);
    assert_true(mine.is_tentative);
    assert_int_equal(mine.plan.bucket_ns, VV_DAY);
    while (put_readings(&a, source) != VV_OK) {
        assert_int_equal(recover(&a), VV_OK);
    }
    set_away(0);
    crash_node(&a, 5);
    assert_int_equal(a.store->ops->shared->tentative(a.store, list, 2), 1);
    assert_int_equal(list[0].source, source);
    assert_int_equal(list[0].plan.bucket_ns, VV_DAY);
    assert_int_equal(list[0].plan.span_ns, VV_HOUR);
    assert_int_equal(count_all(&a, source, &by_day, true), ROWS);
    /* It waits for the plan, though all is there. */
    deliver_all(&a);
    assert_true(has_parked(&a));
    assert_int_equal(count_all(&b, source, &by_day, true), 0);
}

static void settle(uint32_t source, const struct vv_plan *to)
{
    struct vv_error error = {0};
    struct vv_first_plan list[2];
    struct vv_first_plan agreed = agree(&a, source, &by_day);
    assert_false(agreed.is_tentative);
    assert_int_equal(agreed.plan.bucket_ns, to->bucket_ns);
    assert_int_equal(
        a.store->ops->shared->settle_plan(a.store, TENANT, source, &agreed.plan, 1, &error), VV_OK);
    assert_int_equal(a.store->ops->shared->tentative(a.store, list, 2), 0);
}

static void a_tentative_plan_is_kept(void **state)
{
    (void)state;
    static struct marks marks;
    put_tentatively(9);
    settle(9, &by_day);
    deliver_all(&a);
    assert_int_equal(parked(&a), 0);
    assert_int_equal(count_all(&b, 9, &by_day, true), ROWS);
    assert_int_equal(scan(&a, &marks), ROWS / 4);
}

static void a_tentative_plan_gives_way(void **state)
{
    (void)state;
    static struct marks marks;
    struct vv_error error = {0};
    int64_t start;
    assert_false(agree(&b, 9, &by_hours).is_tentative);
    put_tentatively(9);
    settle(9, &by_hours);
    crash_node(&a, 6);
    assert_int_equal(count_all(&a, 9, &by_hours, true), ROWS);
    assert_int_equal(count_all(&a, 9, &by_day, true), 0);
    deliver_all(&a);
    assert_int_equal(parked(&a), 0);
    assert_int_equal(count_all(&b, 9, &by_hours, true), ROWS);
    assert_int_equal(count_all(&b, 9, &by_day, true), 0);
    /* A mark for each span that has something, and the buckets. */
    scan(&a, &marks);
    assert_in_range(marks.n, ROWS / 8, 3 * ROWS / 8);
    for (size_t i = 0; i < marks.n; i++) {
        assert_int_equal(marks.items[i].key.partition.bucket_ns, 6 * VV_HOUR);
        assert_int_equal(marks.items[i].span_ns, 2 * VV_HOUR);
        assert_int_equal(marks.items[i].due_ns, marks.items[i].key.span_start + 3 * VV_HOUR);
    }
    assert_int_equal(
        b.store->ops->nearest(b.store, 0, TENANT, 9, START + 7 * VV_HOUR, true, &start, &error),
        VV_OK);
    assert_int_equal(start, START + 12 * VV_HOUR);
}

/* Two nodes that count other sources may choose other numbers of bits: nothing else differs. */
static void give_way_to(const struct vv_plan *agreed)
{
    static struct marks marks;
    assert_false(agree(&b, 9, agreed).is_tentative);
    put_tentatively(9);
    settle(9, agreed);
    crash_node(&a, 6);
    assert_int_equal(count_all(&a, 9, agreed, true), ROWS);
    assert_int_equal(count_all(&a, 9, &by_day, true), 0);
    deliver_all(&a);
    assert_int_equal(parked(&a), 0);
    assert_int_equal(count_all(&b, 9, agreed, true), ROWS);
    assert_int_equal(count_all(&b, 9, &by_day, true), 0);
    scan(&a, &marks);
    assert_int_equal(marks.n, ROWS / 4);
    for (size_t i = 0; i < marks.n; i++) {
        assert_int_equal(vv_split_share_bits(marks.items[i].key.partition.split),
                         agreed->share_bits);
    }
}

static void what_a_tentative_plan_shares_gives_way(void **state)
{
    (void)state;
    give_way_to(&by_day_shared_less);
}

static void a_tentative_plan_that_shares_gives_way_to_one_that_does_not(void **state)
{
    (void)state;
    give_way_to(&by_day_alone);
}

/* The settings want rows, but until others know of that runs are written: whatever is placed anew
 * has marks, or nobody would seal it before it expires. */
static void what_waits_for_its_turn_is_placed_with_marks(void **state)
{
    (void)state;
    static struct marks marks;
    assert_false(agree(&b, 9, &by_hours).is_tentative);
    put_tentatively(9);
    close_node(&a);
    a.rows_tenants = "t1";
    a.lead_ns = VV_HOUR;
    open_node(&a);
    settle(9, &by_hours);
    deliver_all(&a);
    assert_int_equal(parked(&a), 0);
    assert_int_equal(count_all(&b, 9, &by_hours, true), ROWS);
    assert_in_range(scan(&a, &marks), ROWS / 8, 3 * ROWS / 8);
}

/* Killed at whatever change of the local store: doing it again comes to the same. */
static void recutting_can_be_interrupted(void **state)
{
    (void)state;
    struct vv_error error = {0};
    assert_false(agree(&b, 9, &by_hours).is_tentative);
    put_tentatively(9);
    uint32_t rounds = 0;
    enum vv_status status;
    do {
        a.local->ops = a.memory_ops;
        vv_store_memory_fail_later(a.local, VV_IO, rounds * 7, 1000000);
        a.local->ops = &a.local_ops;
        status = a.store->ops->shared->settle_plan(a.store, TENANT, 9, &by_hours, 1, &error);
        a.local->ops = a.memory_ops;
        vv_store_memory_fail(a.local, VV_OK, 0);
        a.local->ops = &a.local_ops;
        crash_node(&a, rounds++);
    } while (status != VV_OK);
    assert_true(rounds > 5);
    assert_int_equal(count_all(&a, 9, &by_hours, false), ROWS);
    deliver_all(&a);
    assert_int_equal(parked(&a), 0);
    assert_int_equal(count_all(&b, 9, &by_hours, true), ROWS);
}

/* Else others would place points without it, which nobody would find when they hear of it. */
static void a_change_waits_until_it_can_be_told(void **state)
{
    (void)state;
    struct vv_error error = {0};
    int untold = 0;
    for (uint32_t i = 0; i < VV_SIM_CASSANDRA_SETS; i++) {
        set_away(UINT32_C(1) << i);
        (void)flush(&a, SOURCES, i, 100);
        bool is_away = vv_told_is_away(vv_cassandra_of(a.store));
        for (uint32_t source = 0; source < 8; source++) { /* their plans are in several sets */
            struct vv_first_plan plan = {.tenant = TENANT,
                                         .source = source,
                                         .plan = {START + (i + 1) * VV_DAY, VV_DAY, VV_HOUR, 1, 0}};
            enum vv_status status = a.store->ops->shared->agree_plans(a.store, &plan, 1, &error);
            assert_true(status == VV_OVERLOAD || (status == VV_OK && !is_away));
            assert_false(plan.is_tentative);
        }
        untold += is_away;
        set_away(0);
        deliver_all(&a);
    }
    assert_int_equal(untold, 1);
}

/* The first plan stays; what lies behind the change is placed by the later one, whenever that is
 * interrupted, and the rest of its run with it, once. */
static void a_later_plan_is_followed(void **state)
{
    (void)state;
    struct vv_error error = {0};
    struct vv_first_plan list[2];
    const struct vv_plan both[] = {by_day, {START + 30 * VV_HOUR, 6 * VV_HOUR, 2 * VV_HOUR, 3, 0}};
    put_tentatively(9);
    uint32_t rounds = 0;
    enum vv_status status;
    do {
        a.local->ops = a.memory_ops;
        vv_store_memory_fail_later(a.local, VV_IO, rounds * 7, 1000000);
        a.local->ops = &a.local_ops;
        status = a.store->ops->shared->place_parked(a.store, TENANT, 9, both, 2, &error);
        a.local->ops = a.memory_ops;
        vv_store_memory_fail(a.local, VV_OK, 0);
        a.local->ops = &a.local_ops;
        crash_node(&a, rounds++);
        assert_int_equal(a.store->ops->shared->tentative(a.store, list, 2), 1);
    } while (status != VV_OK);
    assert_true(rounds > 5);
    assert_int_equal(count_history(&a, 9, both, 2, false), ROWS);
    deliver_all(&a);
    assert_true(has_parked(&a));
    uint64_t before = parked(&a);
    assert_int_equal(a.store->ops->shared->place_parked(a.store, TENANT, 9, both, 2, &error),
                     VV_OK);
    assert_int_equal(parked(&a), before);
    assert_int_equal(a.store->ops->shared->settle_plan(a.store, TENANT, 9, both, 2, &error), VV_OK);
    deliver_all(&a);
    assert_int_equal(parked(&a), 0);
    assert_int_equal(count_history(&b, 9, both, 2, true), ROWS);
}

/* ---- room ---- */

struct watching {
    vv_meta_visit visit;
    void *context;
};
static size_t taken; /* the largest allocation while something that is parked was looked at */

static enum vv_status watch_record(void *context, struct vv_str key, struct vv_str value)
{
    struct watching *watching = context;
    (void)vv_sim_memory_largest();
    enum vv_status status = watching->visit(watching->context, key, value);
    size_t largest = vv_sim_memory_largest();
    taken = largest > taken ? largest : taken;
    return status;
}

static enum vv_status watch_scan(struct vv_store *local, uint8_t kind, struct vv_str prefix,
                                 vv_meta_visit visit, void *context, struct vv_error *error)
{
    struct watching watching = {visit, context};
    return a.memory_ops->scan_meta(local, kind, prefix, watch_record, &watching, error);
}

static enum vv_status place(const struct vv_plan *plans, size_t n)
{
    struct vv_error error = {0};
    taken = 0;
    return a.store->ops->shared->place_parked(a.store, TENANT, 9, plans, n, &error);
}

/* Much may be parked: it is not all in memory, nor parked twice. */
static void what_is_parked_may_be_large(void **state)
{
    (void)state;
    const struct vv_plan both[] = {by_day, {START + 30 * VV_HOUR, 6 * VV_HOUR, 2 * VV_HOUR, 3, 0}};
    const struct vv_plan by_half = {VV_TIME_MIN, 12 * VV_HOUR, VV_HOUR, 1, 0};
    put_tentatively(9);
    for (vv_stamp run = 101; run < 160; run++) {
        assert_int_equal(put_run(&a, 9, run, 96), VV_OK);
    }
    uint64_t bytes = parked_of(&a).bytes;
    assert_true(bytes > 256u << 10);
    a.local_ops.scan_meta = watch_scan;
    assert_int_equal(place(&by_day, 1), VV_OK);
    assert_true(taken < 1u << 10);
    assert_int_equal(parked_of(&a).bytes, bytes);
    assert_int_equal(place(both, 2), VV_OK); /* one run of sixty */
    assert_in_range(taken, 1, 16u << 10);
    assert_int_equal(count_history(&a, 9, both, 2, false), ROWS);
    vv_cassandra_of(a.store)->parking.bytes_max = parked_of(&a).bytes + bytes / 4;
    assert_int_equal(place(&by_half, 1), VV_OK); /* all of them */
    assert_int_equal(count_all(&a, 9, &by_half, false), ROWS);
    crash_node(&a, 3);
    assert_int_equal(count_all(&a, 9, &by_half, false), ROWS);
}

static void rows_are_parked_as_runs(void **state)
{
    (void)state;
    struct node *const nodes[] = {&a, &b};
    for (int i = 0; i < 2; i++) {
        close_node(nodes[i]);
        nodes[i]->rows_tenants = "t1";
        open_node(nodes[i]);
    }
    set_away(HALF);
    for (uint32_t source = 0; source < 12; source++) {
        while (put_readings(&a, source) != VV_OK) {
            assert_int_equal(recover(&a), VV_OK);
        }
    }
    assert_true(has_parked(&a));
    set_away(0);
    size_t early = 0;
    for (uint32_t source = 0; source < 12; source++) {
        assert_int_equal(count_all(&a, source, &by_day, true), ROWS);
        early += count_all(&b, source, &by_day, true);
    }
    assert_in_range(early, 1, 12 * ROWS - 1);
    deliver_all(&a);
    assert_int_equal(parked(&a), 0);
    for (uint32_t source = 0; source < 12; source++) {
        assert_int_equal(count_all(&a, source, &by_day, true), ROWS);
        assert_int_equal(count_all(&b, source, &by_day, true), ROWS);
    }
}

/* Whoever keeps rows has not learnt yet that another node writes runs: it seals what they are, and
 * does not take their span for an empty one. */
static void runs_are_sealed_by_who_keeps_rows(void **state)
{
    (void)state;
    struct vv_error error = {0};
    struct marks marks;
    bool mine[MARKS];
    close_node(&a);
    a.rows_tenants = "*";
    open_node(&a);
    assert_int_equal(put_readings(&a, 5), VV_OK);
    assert_int_equal(put(&b, 6, 0, 100, VV_STR_LITERAL("of b")), VV_OK);
    assert_int_equal(confirm(&b), VV_OK);
    assert_int_equal(scan(&a, &marks), 1);
    assert_int_equal(a.store->ops->shared->begin_seal(a.store, marks.items, 1, mine, &error),
                     VV_OK);
    assert_true(mine[0]);
    assert_string_equal(read_source(&a, 6, 0), "of b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_tentative_plan_is_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_tentative_plan_gives_way, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_a_tentative_plan_shares_gives_way, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_tentative_plan_that_shares_gives_way_to_one_that_does_not,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_waits_for_its_turn_is_placed_with_marks, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(recutting_can_be_interrupted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_change_waits_until_it_can_be_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_later_plan_is_followed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_parked_may_be_large, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rows_are_parked_as_runs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(runs_are_sealed_by_who_keeps_rows, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
