/* SPDX-License-Identifier: Apache-2.0 */
/* Scans: how little is read, plans that change, little memory, and flushes in between. */
#include "query/scan.h"
#include "query_fixture.h"

#include <pthread.h>
#include <stdatomic.h>

#define SEED 3

struct scanned {
    int64_t times[20000];
    uint64_t values[20000];
    size_t n;
    enum vv_status status;
};

/* All that a scan gives, in the order in which it gives it. */
static void scan_all(struct fixture *f, uint32_t source, uint32_t metric, int64_t from, int64_t to,
                     bool descending, bool few, size_t memory, struct scanned *out)
{
    struct vv_metric_info info;
    vv_registry_metric_info(f->registry, metric, &info);
    struct vv_scan_options options = {.place = f->tenant,
                                      .source = source,
                                      .measurement = info.measurement,
                                      .metrics = &metric,
                                      .types = &info.type,
                                      .n_metrics = 1,
                                      .from = from,
                                      .to = to,
                                      .descending = descending,
                                      .few = few,
                                      .memory_max = memory};
    struct vv_scan *scan;
    f->facts = (struct vv_result_facts){0};
    out->n = 0;
    assert_int_equal(vv_scan_open(&f->context, &options, &f->facts, &scan), VV_OK);
    const struct vv_rows *rows;
    while ((out->status = vv_scan_next(scan, &rows, &f->error)) == VV_OK) {
        for (size_t i = 0; rows && i < rows->n_rows; i++) {
            size_t at = descending ? rows->n_rows - 1 - i : i;
            assert_true(out->n < 20000);
            out->times[out->n] = rows->times[at];
            out->values[out->n++] = rows->columns[0].values[at];
        }
        int64_t reached = vv_scan_reached(scan);
        if (out->n > 0) {
            int64_t last = out->times[out->n - 1];
            assert_true(descending ? reached <= last : reached > last);
        }
    }
    vv_scan_close(scan);
}

static void write_minutes(struct fixture *f, uint32_t source, uint32_t metric, int64_t start,
                          int minutes)
{
    static int64_t times[20000];
    static uint64_t values[20000];
    for (int i = 0; i < minutes; i++) {
        times[i] = start + i * VV_MINUTE;
        values[i] = vv_bits_of_double(i);
    }
    fixture_write(f, source, metric, times, values, (size_t)minutes);
}

/* What a scan must give: minutes in [from, to), numbered from start. */
static void expect_minutes(const struct scanned *got, int64_t start, int first, int end,
                           bool descending)
{
    assert_int_equal(got->status, VV_DONE);
    assert_int_equal(got->n, end - first);
    for (int i = 0; i < end - first; i++) {
        int minute = descending ? end - 1 - i : first + i;
        assert_true(got->times[i] == start + minute * VV_MINUTE);
        assert_true(got->values[i] == vv_bits_of_double(minute));
    }
}

static struct scanned got;

static void init_days(struct fixture *f)
{
    fixture_init(f);
    f->flush.bucket_ns = VV_DAY;
    f->flush.span_ns = VV_HOUR;
}

static void a_range_reads_its_partitions_only(void **state)
{
    (void)state;
    struct fixture f;
    init_days(&f);
    uint32_t source = fixture_source(&f, "a", NULL);
    uint32_t metric = fixture_metric(&f, "m", "v", VV_FLOAT64);
    int64_t start = FIXTURE_NOW - 10 * VV_DAY - 12 * VV_HOUR;
    write_minutes(&f, source, metric, start, 10 * 1440);
    fixture_flush(&f);
    fixture_seal(&f);
    scan_all(&f, source, metric, VV_TIME_MIN, VV_TIME_MAX, false, false, 64 << 20, &got);
    expect_minutes(&got, start, 0, 14400, false);
    assert_int_equal(f.facts.partitions_read, 10);
    scan_all(&f, source, metric, start + 3 * VV_DAY + VV_HOUR, start + 4 * VV_DAY, false, false,
             64 << 20, &got);
    expect_minutes(&got, start, 3 * 1440 + 60, 4 * 1440, false);
    assert_int_equal(f.facts.partitions_read, 1);
    scan_all(&f, source, metric, start + 3 * VV_DAY, start + 3 * VV_DAY + 1, true, false, 64 << 20,
             &got);
    expect_minutes(&got, start, 3 * 1440, 3 * 1440 + 1, true);
    assert_int_equal(f.facts.partitions_read, 1);
    fixture_deinit(&f);
}

/* Of all times; with how many calls. */
static size_t count_rows(struct fixture *f, uint32_t source, uint32_t metric, bool descending,
                         int *calls_out)
{
    struct vv_metric_info info;
    vv_registry_metric_info(f->registry, metric, &info);
    struct vv_scan_options options = {.place = f->tenant,
                                      .source = source,
                                      .measurement = info.measurement,
                                      .metrics = &metric,
                                      .types = &info.type,
                                      .n_metrics = 1,
                                      .from = VV_TIME_MIN,
                                      .to = VV_TIME_MAX + 1,
                                      .descending = descending,
                                      .memory_max = 64 << 20};
    struct vv_scan *scan;
    struct vv_result_facts facts = {0};
    const struct vv_rows *rows;
    size_t n = 0;
    *calls_out = 0;
    assert_int_equal(vv_scan_open(&f->context, &options, &facts, &scan), VV_OK);
    while (vv_scan_next(scan, &rows, NULL) == VV_OK) {
        n += rows ? rows->n_rows : 0;
        *calls_out += 1;
    }
    vv_scan_close(scan);
    return n;
}

/* Years of nothing between two stretches. */
static void empty_stretches_cost_nothing(void **state)
{
    (void)state;
    struct fixture f;
    init_days(&f);
    uint32_t source = fixture_source(&f, "a", NULL);
    uint32_t metric = fixture_metric(&f, "m", "v", VV_FLOAT64);
    int64_t start = FIXTURE_NOW - 9000 * VV_DAY;
    write_minutes(&f, source, metric, start, 100);
    write_minutes(&f, source, metric, FIXTURE_NOW - VV_HOUR, 10);
    fixture_flush(&f);
    write_minutes(&f, source, metric, FIXTURE_NOW - 4000 * VV_DAY, 5); /* in the head only */
    for (int descending = 0; descending < 2; descending++) {
        int calls = 0;
        size_t n = count_rows(&f, source, metric, descending, &calls);
        assert_int_equal(n, 115);
        assert_true(calls < 20);
    }
    fixture_deinit(&f);
}

/* A clock that never stands still. */
struct ticking {
    struct vv_clock base;
    int64_t wall_ns;
};

static int64_t tick(struct vv_clock *clock)
{
    struct ticking *ticking = (struct ticking *)(void *)clock;
    return ticking->wall_ns += VV_MILLISECOND;
}

/* What has expired when a scan begins is passed over, however time goes on. */
static void what_expires_meanwhile_holds_nothing_up(void **state)
{
    (void)state;
    struct fixture f;
    init_days(&f);
    uint32_t source = fixture_source(&f, "a", NULL);
    uint32_t metric = fixture_metric(&f, "m", "v", VV_FLOAT64);
    struct ticking ticking = {{tick, tick}, FIXTURE_NOW};
    write_minutes(&f, source, metric, FIXTURE_NOW - 40 * VV_DAY, 100);
    write_minutes(&f, source, metric, FIXTURE_NOW - VV_HOUR, 10);
    fixture_flush(&f);
    vv_registry_set_retention(f.registry, f.tenant, VV_DAY);
    f.context.clock = &ticking.base;
    for (int descending = 0; descending < 2; descending++) {
        int calls = 0;
        size_t n = count_rows(&f, source, metric, descending, &calls);
        assert_int_equal(n, 10);
    }
    fixture_deinit(&f);
}

static void a_few_newest_rows_read_one_span(void **state)
{
    (void)state;
    struct fixture f;
    init_days(&f);
    uint32_t source = fixture_source(&f, "a", NULL);
    uint32_t metric = fixture_metric(&f, "m", "v", VV_FLOAT64);
    int64_t start = FIXTURE_NOW - 10 * VV_DAY;
    write_minutes(&f, source, metric, start, 10 * 1440);
    fixture_flush(&f);
    fixture_seal(&f);
    scan_all(&f, source, metric, VV_TIME_MIN, VV_TIME_MAX, true, true, 64 << 20, &got);
    expect_minutes(&got, start, 0, 14400, true);
    /* Through the whole door: */
    json_t *answer = ask_json(&f, VV_REQUEST_QUERY, WORDS("order=desc", "limit=3"));
    assert_int_equal(f.facts.rows, 3);
    assert_int_equal(f.facts.partitions_read, 1);
    assert_int_equal(f.facts.pieces_read, 1);
    json_decref(answer);
    answer = ask_json(&f, VV_REQUEST_QUERY, WORDS("limit=3"));
    assert_int_equal(f.facts.partitions_read, 1);
    assert_int_equal(f.facts.pieces_read, 1);
    json_decref(answer);
    answer =
        ask_json(&f, VV_REQUEST_QUERY, WORDS("order=desc", "limit=2", "step=1d", "agg=mean,max"));
    assert_int_equal(f.facts.rows, 2);
    assert_int_equal(f.facts.partitions_read, 2); /* a row is known once its step is passed */
    json_decref(answer);
    answer = ask_json(&f, VV_REQUEST_QUERY, WORDS("before=2024-09-30T12:00:00Z", "limit=1"));
    assert_int_equal(f.facts.rows, 1);
    assert_int_equal(f.facts.partitions_read, 1);
    json_decref(answer);
    fixture_deinit(&f);
}

/* Plans that change, aligned or not, are read as they are written. */
static void plans_may_change(void **state)
{
    (void)state;
    struct vv_random random = {SEED};
    for (int round = 0; round < 40; round++) {
        struct fixture f;
        fixture_init(&f);
        uint32_t source = fixture_source(&f, "a", NULL);
        uint32_t metric = fixture_metric(&f, "m", "v", VV_FLOAT64);
        static const int64_t buckets[] = {15 * VV_MINUTE, VV_HOUR, 6 * VV_HOUR, VV_DAY, 5 * VV_DAY};
        int64_t start = FIXTURE_NOW - 5 * VV_DAY;
        struct vv_plan plans[5];
        size_t n = 1 + (size_t)vv_random_below(&random, 5);
        for (size_t i = 0; i < n; i++) {
            int64_t bucket = buckets[vv_random_below(&random, 5)];
            int64_t from = start + (int64_t)i * VV_DAY + 3 * VV_HOUR;
            if (vv_random_below(&random, 2)) {
                from += (int64_t)vv_random_below(&random, (uint64_t)(10 * VV_HOUR));
            }
            plans[i] = (struct vv_plan){.from_ns = i ? from : VV_TIME_MIN,
                                        .bucket_ns = bucket,
                                        .span_ns = bucket < VV_HOUR ? bucket : VV_HOUR,
                                        .splits = (uint16_t)(1 + vv_random_below(&random, 4))};
        }
        assert_int_equal(vv_registry_source_set_plans(f.registry, source, plans, n), VV_OK);
        int minutes = 1440 * 5;
        write_minutes(&f, source, metric, start, minutes);
        fixture_flush(&f);
        if (round % 2) {
            fixture_seal(&f);
        }
        for (int i = 0; i < 10; i++) {
            int first = (int)vv_random_below(&random, (uint64_t)minutes);
            int end = first + (int)vv_random_below(&random, (uint64_t)(minutes - first + 1));
            bool descending = vv_random_below(&random, 2);
            scan_all(&f, source, metric, start + first * VV_MINUTE, start + end * VV_MINUTE,
                     descending, vv_random_below(&random, 2), 64 << 20, &got);
            expect_minutes(&got, start, first, end, descending);
        }
        fixture_deinit(&f);
    }
}

/* The same with holes, so that stretches under differing plans are skipped. */
static void holes_under_changing_plans(void **state)
{
    (void)state;
    struct vv_random random = {SEED + 1};
    static const int64_t buckets[] = {VV_HOUR, 6 * VV_HOUR, VV_DAY, 5 * VV_DAY};
    for (int round = 0; round < 60; round++) {
        struct fixture f;
        fixture_init(&f);
        uint32_t source = fixture_source(&f, "a", NULL);
        uint32_t metric = fixture_metric(&f, "m", "v", VV_FLOAT64);
        struct vv_plan plans[4];
        int64_t start = FIXTURE_NOW - 60 * VV_DAY;
        for (int i = 0; i < 4; i++) {
            int64_t shift = (int64_t)vv_random_below(&random, (uint64_t)VV_DAY);
            plans[i] =
                (struct vv_plan){.from_ns = i ? start + i * 15 * VV_DAY + shift : VV_TIME_MIN,
                                 .bucket_ns = buckets[vv_random_below(&random, 4)],
                                 .span_ns = VV_HOUR,
                                 .splits = (uint16_t)(1 + vv_random_below(&random, 2))};
        }
        assert_int_equal(vv_registry_source_set_plans(f.registry, source, plans, 4), VV_OK);
        int64_t times[30];
        size_t n = 1 + (size_t)vv_random_below(&random, 30);
        int64_t time = start;
        for (size_t i = 0; i < n; i++) {
            time += 1 + (int64_t)vv_random_below(&random, (uint64_t)(4 * VV_DAY));
            times[i] = time;
            fixture_point(&f, source, metric, time, (double)i);
            if (vv_random_below(&random, 3) == 0) {
                fixture_flush(&f);
            }
        }
        for (int descending = 0; descending < 2; descending++) {
            scan_all(&f, source, metric, VV_TIME_MIN, VV_TIME_MAX + 1, descending, round % 2,
                     64 << 20, &got);
            assert_int_equal(got.status, VV_DONE);
            assert_int_equal(got.n, n);
            for (size_t i = 0; i < n; i++) {
                assert_true(got.times[i] == times[descending ? n - 1 - i : i]);
            }
        }
        fixture_deinit(&f);
    }
}

static void little_memory_takes_narrower_windows(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    f.flush.bucket_ns = VV_DAY;
    f.flush.span_ns = VV_DAY;
    uint32_t source = fixture_source(&f, "a", NULL);
    uint32_t metric = fixture_metric(&f, "m", "v", VV_FLOAT64);
    int64_t start = FIXTURE_NOW - 5 * VV_DAY;
    write_minutes(&f, source, metric, start, 7200);
    fixture_flush(&f);
    fixture_seal(&f);
    write_minutes(&f, source, metric, start, 3000); /* again, in the head */
    size_t memories[] = {1 << 20, 100000, 40000};
    for (size_t i = 0; i < 3; i++) {
        for (int descending = 0; descending < 2; descending++) {
            scan_all(&f, source, metric, VV_TIME_MIN, VV_TIME_MAX, descending, false, memories[i],
                     &got);
            assert_string_equal(f.error.message, "");
            expect_minutes(&got, start, 0, 7200, descending);
        }
    }
    scan_all(&f, source, metric, VV_TIME_MIN, VV_TIME_MAX, false, false, 8, &got);
    assert_int_equal(got.status, VV_TOO_LARGE);
    assert_non_null(strstr(f.error.message, "query.memory_bytes_max"));
    assert_non_null(strstr(f.error.message, "'a'"));
    fixture_deinit(&f);
}

/* Flushes and seals between the calls of a scan: nothing is lost, nothing is seen twice. */
static void flushes_in_between_lose_nothing(void **state)
{
    (void)state;
    struct vv_random random = {SEED + 2};
    for (int round = 0; round < 60; round++) {
        struct fixture f;
        fixture_init(&f);
        f.flush.bucket_ns = round % 3 ? VV_HOUR : 0;
        uint32_t source = fixture_source(&f, "a", NULL);
        uint32_t metric = fixture_metric(&f, "m", "v", VV_FLOAT64);
        int64_t start = FIXTURE_NOW - 5 * VV_DAY;
        write_minutes(&f, source, metric, start, 500);
        if (round % 2) {
            fixture_flush(&f);
            write_minutes(&f, source, metric, start, 1000);
        }
        bool descending = vv_random_below(&random, 2);
        struct vv_metric_info info;
        vv_registry_metric_info(f.registry, metric, &info);
        struct vv_scan_options options = {.place = f.tenant,
                                          .source = source,
                                          .measurement = info.measurement,
                                          .metrics = &metric,
                                          .types = &info.type,
                                          .n_metrics = 1,
                                          .from = VV_TIME_MIN,
                                          .to = VV_TIME_MAX + 1,
                                          .descending = descending,
                                          .few = vv_random_below(&random, 2),
                                          .memory_max = 100000};
        struct vv_scan *scan;
        const struct vv_rows *rows;
        size_t n = 0;
        int64_t last = descending ? INT64_MAX : INT64_MIN;
        assert_int_equal(vv_scan_open(&f.context, &options, &f.facts, &scan), VV_OK);
        while (vv_scan_next(scan, &rows, &f.error) == VV_OK) {
            for (size_t i = 0; rows && i < rows->n_rows; i++) {
                int64_t time = rows->times[descending ? rows->n_rows - 1 - i : i];
                assert_true(descending ? time < last : time > last);
                last = time;
                n++;
            }
            uint64_t what = vv_random_below(&random, 6);
            if (what < 2) {
                fixture_flush(&f);
            }
            if (what == 0) {
                fixture_seal(&f);
            }
            if (what == 3) { /* a point of another time, outside of what is counted */
                fixture_point(&f, source, metric, FIXTURE_NOW + VV_HOUR, 1);
            }
        }
        assert_string_equal(f.error.message, "");
        assert_int_equal(n, round % 2 ? 1000 : 500);
        vv_scan_close(scan);
        fixture_deinit(&f);
    }
}

/* One thread writes, flushes and seals; this one reads what was acknowledged before. */
struct writing {
    struct fixture *f;
    uint32_t source;
    uint32_t metric;
    _Atomic int written; /* minutes since FIXTURE_NOW − 5 days */
};

#define WRITTEN_MAX 6000

static void *write_and_flush(void *context)
{
    struct writing *writing = context;
    struct fixture *f = writing->f;
    for (int i = 0; i < WRITTEN_MAX; i += 20) {
        int64_t times[20];
        uint64_t values[20];
        for (int k = 0; k < 20; k++) {
            times[k] = FIXTURE_NOW - 5 * VV_DAY + (i + k) * VV_MINUTE;
            values[k] = vv_bits_of_double(i + k);
        }
        fixture_write(f, writing->source, writing->metric, times, values, 20);
        atomic_store(&writing->written, i + 20);
        if (i % 60 == 0) {
            fixture_flush(f);
        }
        if (i % 400 == 0) {
            fixture_seal(f);
        }
    }
    return NULL;
}

static void acknowledged_points_are_always_seen(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    f.flush.bucket_ns = 6 * VV_HOUR;
    f.flush.span_ns = VV_HOUR;
    struct writing writing = {.f = &f};
    writing.source = fixture_source(&f, "a", NULL);
    writing.metric = fixture_metric(&f, "m", "v", VV_FLOAT64);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, write_and_flush, &writing), 0);
    int rounds = 0;
    for (int written = 0; written < WRITTEN_MAX; rounds++) {
        written = atomic_load(&writing.written);
        scan_all(&f, writing.source, writing.metric, VV_TIME_MIN, VV_TIME_MAX, rounds & 1,
                 rounds & 2, 64 << 20, &got);
        assert_int_equal(got.status, VV_DONE);
        assert_true(got.n >= (size_t)written);
        for (size_t i = 0; i < got.n; i++) {
            size_t minute = rounds & 1 ? got.n - 1 - i : i;
            assert_true(got.values[i] == vv_bits_of_double((double)minute));
        }
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(got.n, WRITTEN_MAX);
    fixture_deinit(&f);
}

static void the_ends_of_time(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    uint32_t source = fixture_source(&f, "a", NULL);
    uint32_t metric = fixture_metric(&f, "m", "v", VV_FLOAT64);
    fixture_point(&f, source, metric, VV_TIME_MIN, 1);
    fixture_point(&f, source, metric, VV_TIME_MAX, 2);
    fixture_point(&f, source, metric, -1, 3);
    for (int flushed = 0; flushed < 2; flushed++) {
        for (int k = 0; k < 4; k++) {
            scan_all(&f, source, metric, VV_TIME_MIN, VV_TIME_MAX + 1, k & 1, k & 2, 1 << 20, &got);
            assert_int_equal(got.status, VV_DONE);
            assert_int_equal(got.n, 3);
        }
        fixture_flush(&f);
    }
    expect_csv(
        &f, VV_REQUEST_QUERY,
        WORDS("format=csv", "step=1d", "agg=count", "time_format=s", "to=2255-12-31", "order=desc"),
        "source,metric,time,count\n"
        "a,m.v,8999942400,1\n" /* 2255-03-14 */
        "a,m.v,-86400,1\n"
        "a,m.v,-9000028800,1\n");
    fixture_deinit(&f);
}

static void a_damaged_piece_is_named(void **state)
{
    (void)state;
    struct fixture f;
    init_days(&f);
    uint32_t source = fixture_source(&f, "press 4", NULL);
    uint32_t metric = fixture_metric(&f, "m", "v", VV_FLOAT64);
    write_minutes(&f, source, metric, FIXTURE_NOW - VV_DAY, 100);
    fixture_flush(&f);
    struct vv_plans plans = vv_registry_source_plans(f.registry, source);
    struct vv_bucket bucket = vv_bucket_of(plans.plans, plans.n, FIXTURE_NOW - VV_DAY);
    struct vv_metric_info info;
    vv_registry_metric_info(f.registry, metric, &info);
    struct vv_piece piece = {.kind = VV_PIECE_BLOCK,
                             .key = {.partition = {.tenant = f.tenant,
                                                   .source = source,
                                                   .bucket_start = bucket.start,
                                                   .bucket_ns = bucket.bucket_ns},
                                     .measurement = info.measurement,
                                     .span_start = vv_span_of(&bucket, FIXTURE_NOW - VV_DAY)},
                             .bytes = VV_STR_LITERAL("this is not a block at all")};
    assert_int_equal(f.store->ops->put_blocks(f.store, &piece, 1, NULL), VV_OK);
    expect_error(&f, VV_REQUEST_QUERY, WORDS("metric=m.v"), VV_CORRUPT, "source 'press 4'");
    expect_error(&f, VV_REQUEST_QUERY, WORDS("metric=m.v"), VV_CORRUPT, "damaged");
    fixture_deinit(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_range_reads_its_partitions_only),
        cmocka_unit_test(empty_stretches_cost_nothing),
        cmocka_unit_test(what_expires_meanwhile_holds_nothing_up),
        cmocka_unit_test(a_few_newest_rows_read_one_span),
        cmocka_unit_test(plans_may_change),
        cmocka_unit_test(holes_under_changing_plans),
        cmocka_unit_test(little_memory_takes_narrower_windows),
        cmocka_unit_test(flushes_in_between_lose_nothing),
        cmocka_unit_test(acknowledged_points_are_always_seen),
        cmocka_unit_test(the_ends_of_time),
        cmocka_unit_test(a_damaged_piece_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
