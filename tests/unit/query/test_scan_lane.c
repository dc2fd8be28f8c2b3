/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What other regions have of a source: found by their own plans, merged with what this region has,
 * with as few looks at them as need be.
 */
#include "query/scan.h"
#include "query_model.h"
#include "registry/shared.h"
#include "slow_store.h"
#include "support/fake_shared.h"

#define NOON FIXTURE_NOW
#define FAR  2 /* other regions */

/* The model's fixture is the own region; the others have their own registry and store. */
struct world {
    struct model m;
    struct fixture far[FAR];
    struct fake_shared *fake;
};

static struct world w;

static void world_begin(uint64_t seed)
{
    static const char *const names[FAR] = {"east", "west"};
    model_begin(&w.m, seed);
    w.fake = fake_shared_wrap(w.m.f.store, 1);
    fake_shared_add_region(w.fake, "home", VV_REGION_READABLE, NULL);
    for (int i = 0; i < FAR; i++) {
        fixture_init(&w.far[i]);
        model_names_in(&w.m, &w.far[i]);
        fake_shared_add_region(w.fake, names[i], VV_REGION_READABLE, w.far[i].store);
    }
}

static void world_end(void)
{
    fixture_deinit(&w.m.f);
    for (int i = 0; i < FAR; i++) {
        fixture_deinit(&w.far[i]);
    }
}

/* Region 0 is the own one. */
static struct fixture *fixture_of(int region)
{
    return region ? &w.far[region - 1] : &w.m.f;
}

/* The own region learns the plans of the others. */
static void learn_plans(void)
{
    for (int region = 1; region <= FAR; region++) {
        for (uint32_t s = 0; s < MODEL_SOURCES; s++) {
            struct vv_plans plans = vv_registry_source_plans(fixture_of(region)->registry, s);
            enum vv_status status =
                plans.n == 0 ? VV_OK
                             : vv_registry_learn_plans(w.m.f.registry, s, (uint8_t)region,
                                                       plans.plans, plans.n, NULL);
            assert_int_equal(status, VV_OK);
        }
    }
}

/* Of all regions the one that writes last has the highest stamp; what others write is flushed at
 * once, as this node does not see their heads. */
static struct fixture *begin_writing(int region)
{
    struct fixture *f = fixture_of(region);
    f->stamp = w.m.f.stamp;
    return f;
}

static void end_writing(struct fixture *f)
{
    if (f != &w.m.f) {
        fixture_flush(f);
    }
    w.m.f.stamp = f->stamp;
}

static void write_minutes(int region, int64_t start, int first, int end, int64_t offset)
{
    static int64_t times[20000];
    static uint64_t values[20000];
    struct fixture *f = begin_writing(region);
    for (int i = first; i < end; i++) {
        times[i - first] = start + i * VV_MINUTE + offset;
        values[i - first] = vv_bits_of_double(i);
    }
    fixture_write(f, w.m.sources[0], w.m.metrics[1], times, values, (size_t)(end - first));
    end_writing(f);
}

static void set_plan(int region, int64_t bucket_ns, int64_t span_ns)
{
    struct fixture *f = fixture_of(region);
    f->flush.bucket_ns = bucket_ns;
    f->flush.span_ns = span_ns;
    f->flush.splits = 1;
}

/* ---- against a naive model ---- */

static void random_plans(struct fixture *f, uint32_t source)
{
    static const int64_t buckets[] = {15 * VV_MINUTE, VV_HOUR,    6 * VV_HOUR,
                                      VV_DAY,         5 * VV_DAY, 30 * VV_DAY};
    struct vv_random *random = &w.m.random;
    struct vv_plan plans[3];
    size_t n = (size_t)vv_random_below(random, 4); /* 0: the flush chooses */
    int64_t from = w.m.start;
    for (size_t i = 0; i < n; i++) {
        int64_t bucket = buckets[vv_random_below(random, 6)];
        int64_t span = vv_random_below(random, 2) && bucket <= VV_DAY ? bucket : VV_HOUR;
        plans[i] = (struct vv_plan){.from_ns = i ? from : VV_TIME_MIN,
                                    .bucket_ns = bucket,
                                    .span_ns = bucket < VV_HOUR ? bucket : span,
                                    .splits = (uint16_t)(1 + vv_random_below(random, 3))};
        from += VV_DAY + (int64_t)vv_random_below(random, (uint64_t)w.m.length / 2);
    }
    if (n > 0) {
        assert_int_equal(vv_registry_source_set_plans(f->registry, source, plans, n), VV_OK);
    }
}

/* A point that is known is written again, by any region. */
static void write_again(int region)
{
    struct model_point *point = &w.m.points[vv_random_below(&w.m.random, w.m.n)];
    uint64_t counter = 100;
    struct fixture *f = begin_writing(region);
    point->bits = model_value(&w.m, point->metric, &counter);
    fixture_write(f, w.m.sources[point->source], w.m.metrics[point->metric], &point->time,
                  &point->bits, 1);
    end_writing(f);
}

static void random_world(uint64_t seed)
{
    world_begin(seed);
    for (int region = 0; region <= FAR; region++) {
        for (int s = 0; s < MODEL_SOURCES; s++) {
            random_plans(fixture_of(region), w.m.sources[s]);
        }
    }
    for (int i = 0; i < 50; i++) {
        int region = (int)vv_random_below(&w.m.random, FAR + 1);
        struct fixture *f = begin_writing(region);
        model_burst_in(&w.m, f);
        end_writing(f);
        for (int k = 0; k < 5; k++) {
            write_again((int)vv_random_below(&w.m.random, FAR + 1));
        }
        uint64_t what = vv_random_below(&w.m.random, 8);
        if (what < 2) {
            f = begin_writing(0);
            fixture_flush(f);
            end_writing(f);
        }
        if (what == 0) {
            fixture_seal(fixture_of(region));
        }
    }
    learn_plans();
}

static void ask_some(uint64_t seed, int requests)
{
    for (int i = 0; i < requests; i++) {
        int group = vv_random_below(&w.m.random, 2) ? MODEL_WITH_SITE : 0;
        struct model_query q = model_request(&w.m, vv_random_below(&w.m.random, 2) == 0, group);
        model_write_words(&q);
        model_print(seed, &q);
        model_check(&w.m, &q);
    }
}

static void answers_equal_a_naive_model(void **state)
{
    (void)state;
    for (uint64_t seed = 501; seed <= 506; seed++) {
        model_hides = seed % 2;
        random_world(seed);
        ask_some(seed, 40);
        assert_true(w.fake->reads_far > 0);
        world_end();
    }
    model_hides = false;
}

static void check_asked_ahead(uint64_t first_seed, bool moves)
{
    for (uint64_t seed = first_seed; seed < first_seed + 3; seed++) {
        struct slow slow;
        random_world(seed);
        slow_init(&slow, &w.m.f, seed);
        slow.ops.shared = &slow_shared_ops;
        slow.moves = moves;
        ask_some(seed, 40);
        assert_int_equal(slow.unused, 0);
        assert_true(w.fake->reads_far > 0);
        world_end();
    }
}

static void what_is_asked_ahead_equals_the_model(void **state)
{
    (void)state;
    check_asked_ahead(601, false);
}

static void flushes_between_asking_and_using_lose_nothing(void **state)
{
    (void)state;
    check_asked_ahead(651, true);
}

/* The newest values and an export, whose rows have several columns. */
static void other_answers_have_all_regions(void **state)
{
    (void)state;
    world_begin(1);
    set_plan(1, VV_DAY, VV_DAY);
    set_plan(2, VV_HOUR, VV_HOUR);
    fixture_integer(&w.m.f, w.m.sources[0], w.m.metrics[0], NOON - 3 * VV_DAY, 1);
    fixture_flush(&w.m.f);
    struct fixture *f = begin_writing(1);
    fixture_point(f, w.m.sources[0], w.m.metrics[1], NOON - 3 * VV_DAY, 2.5); /* one row */
    fixture_integer(f, w.m.sources[0], w.m.metrics[0], NOON - VV_DAY, 7);
    end_writing(f);
    f = begin_writing(2);
    fixture_integer(f, w.m.sources[0], w.m.metrics[0], NOON - 3 * VV_DAY, 9); /* later */
    fixture_point(f, w.m.sources[1], w.m.metrics[2], NOON - 400 * VV_DAY, 4.5);
    end_writing(f);
    learn_plans();
    expect_csv(&w.m.f, VV_REQUEST_EXPORT, WORDS("format=csv"),
               "source,measurement,field,time,type,value\n"
               "a,press,count,1727784000000000000,int,9\n"
               "a,press,level,1727784000000000000,float,2.5\n"
               "a,press,count,1727956800000000000,int,7\n"
               "b,press,temp,1693483200000000000,float,4.5\n");
    char *text;
    assert_int_equal(fixture_answer(&w.m.f, VV_REQUEST_LATEST, WORDS("format=csv", "time_format=s"),
                                    1 << 20, &text),
                     VV_OK);
    const char *expected = "source,metric,time,value\n"
                           "a,press.count,1727956800,7\na,press.level,1727784000,2.5\n"
                           "b,press.temp,1693483200,4.5\n";
    assert_memory_equal(text, expected, strlen(expected));
    free(text);
    world_end();
}

/* ---- how little is read ---- */

static void expect_reads(uint64_t reads_max, uint64_t nearest_max)
{
    if (w.fake->reads_far > reads_max || w.fake->nearest_far > nearest_max) {
        fail_msg("%llu reads and %llu questions", (unsigned long long)w.fake->reads_far,
                 (unsigned long long)w.fake->nearest_far);
    }
}

static uint64_t ask_rows(const char *const *words)
{
    char *text;
    fake_shared_forget_calls(w.fake);
    assert_int_equal(fixture_answer(&w.m.f, VV_REQUEST_QUERY, words, 1 << 20, &text), VV_OK);
    free(text);
    return w.m.f.facts.rows;
}

static void without_other_plans_no_other_region_is_asked(void **state)
{
    (void)state;
    world_begin(1);
    write_minutes(0, NOON - VV_DAY, 0, 1000, 0);
    assert_int_equal(ask_rows(WORDS("from=-2d")), 1000);
    assert_int_equal(ask_rows(WORDS("order=desc", "limit=5")), 5);
    expect_reads(0, 0);
    world_end();
}

static void a_few_newest_rows_read_little(void **state)
{
    (void)state;
    world_begin(1);
    set_plan(0, VV_HOUR, VV_HOUR);
    set_plan(1, 5 * VV_DAY, VV_DAY);
    write_minutes(0, NOON - 10 * VV_DAY, 0, 14400, 0);
    write_minutes(1, NOON - 10 * VV_DAY, 0, 14400, 30 * VV_SECOND);
    fixture_flush(&w.m.f);
    fixture_seal(&w.m.f);
    fixture_seal(&w.far[0]);
    learn_plans();
    assert_int_equal(
        ask_rows(WORDS("metric=press.level", "order=desc", "limit=3", "to=2024-10-04T12:00:00Z")),
        3);
    assert_int_equal(w.m.f.facts.partitions_read, 2);
    expect_reads(1, 1);
    assert_int_equal(ask_rows(WORDS("from=-2h", "to=now", "metric=press.level")), 240);
    expect_reads(3, 0); /* a first bucket is tried where few would have to be */
    assert_int_equal(ask_rows(WORDS("metric=press.level")), 28800);
    expect_reads(260, 2);
    world_end();
}

/* A device that moved: each region has a part of its time, and is not asked on and on about the
 * rest. */
static void where_a_region_has_nothing_it_is_asked_once(void **state)
{
    (void)state;
    for (int moved = 0; moved < 2; moved++) {
        world_begin(1);
        set_plan(0, VV_HOUR, VV_HOUR);
        set_plan(1, VV_HOUR, VV_HOUR);
        int64_t start = NOON - 20 * VV_DAY;
        write_minutes(moved, start, 0, 14400, 0);
        write_minutes(!moved, start, 14400, 28000, 0);
        fixture_flush(&w.m.f);
        learn_plans();
        assert_int_equal(ask_rows(WORDS("metric=press.level")), 28000);
        expect_reads(245, 4);
        assert_int_equal(ask_rows(WORDS("metric=press.level", "order=desc")), 28000);
        expect_reads(245, 4);
        const char *const old[] = {"from=-21d", "from=-9d"};
        const char *const until[] = {"to=-11d", "to=now"};
        assert_int_equal(ask_rows(WORDS("metric=press.level", old[moved], until[moved])) > 0, true);
        expect_reads(2, 4);
        world_end();
    }
}

/* ---- beside flushes, and with little memory ---- */

/* This region's points are in the head and flushed in between, in the midst of what the other has;
 * the store may say of a stretch that it has nothing, and have it later. */
static void flushes_in_between_lose_nothing(void **state)
{
    (void)state;
    for (uint64_t round = 0; round < 60; round++) {
        world_begin(round);
        set_plan(0, round % 3 ? VV_HOUR : VV_DAY, VV_HOUR);
        set_plan(1, round % 2 ? 15 * VV_MINUTE : VV_DAY, 15 * VV_MINUTE);
        int64_t start = NOON - 5 * VV_DAY;
        write_minutes(0, start, 0, 10, 0); /* so that the own region has a plan */
        fixture_flush(&w.m.f);
        write_minutes(1, start, 0, 3000, 30 * VV_SECOND);
        write_minutes(0, start, 1000, 2500, 0);
        learn_plans();
        bool descending = vv_random_below(&w.m.random, 2);
        struct vv_metric_info info;
        vv_registry_metric_info(w.m.f.registry, w.m.metrics[1], &info);
        struct vv_scan_options options = {.place = w.m.f.tenant,
                                          .source = w.m.sources[0],
                                          .measurement = info.measurement,
                                          .metrics = &w.m.metrics[1],
                                          .types = &info.type,
                                          .n_metrics = 1,
                                          .from = VV_TIME_MIN,
                                          .to = VV_TIME_MAX + 1,
                                          .descending = descending,
                                          .few = vv_random_below(&w.m.random, 2),
                                          .memory_max = round % 4 ? 64 << 20 : 60000};
        struct vv_scan *scan;
        const struct vv_rows *rows;
        size_t n = 0;
        int64_t last = descending ? INT64_MAX : INT64_MIN;
        assert_int_equal(vv_scan_open(&w.m.f.context, &options, &w.m.f.facts, &scan), VV_OK);
        while (vv_scan_next(scan, &rows, &w.m.f.error) == VV_OK) {
            for (size_t i = 0; rows && i < rows->n_rows; i++) {
                int64_t time = rows->times[descending ? rows->n_rows - 1 - i : i];
                assert_true(descending ? time < last : time > last);
                last = time;
                n++;
            }
            uint64_t what = vv_random_below(&w.m.random, 6);
            if (what < 2) {
                fixture_flush(&w.m.f);
            }
            if (what == 0) {
                fixture_seal(&w.m.f);
            }
        }
        assert_string_equal(w.m.f.error.message, "");
        assert_int_equal(n, 3000 + 1500 + 10);
        vv_scan_close(scan);
        world_end();
    }
}

/* ---- a region that cannot be read ---- */

static void a_region_that_is_away_is_named(void **state)
{
    (void)state;
    static const char *const orders[] = {"order=asc", "order=desc"};
    world_begin(1);
    set_plan(0, VV_DAY, VV_HOUR);
    set_plan(1, VV_HOUR, VV_HOUR);
    write_minutes(0, NOON - VV_DAY, 0, 100, 0);
    write_minutes(1, NOON - VV_DAY, 0, 100, 30 * VV_SECOND);
    write_minutes(2, NOON - VV_DAY, 0, 100, 40 * VV_SECOND);
    learn_plans();
    w.fake->region_status[1] = VV_OVERLOAD;
    expect_error(&w.m.f, VV_REQUEST_QUERY, WORDS("metric=press.level"), VV_OVERLOAD,
                 "region 'east': that region is away");
    expect_error(&w.m.f, VV_REQUEST_QUERY, WORDS("metric=press.level", "from=-25h"), VV_OVERLOAD,
                 "source 'a'");
    for (size_t i = 0; i < 2; i++) {
        json_t *answer = ask_json(&w.m.f, VV_REQUEST_QUERY,
                                  WORDS("metric=press.level", "partial=allowed", orders[i]));
        const json_t *facts = json_object_get(answer, "facts");
        const json_t *missing = json_object_get(facts, "missing");
        assert_false(json_boolean_value(json_object_get(facts, "complete")));
        assert_int_equal(w.m.f.facts.rows, 200);
        assert_int_equal(json_array_size(missing), 1); /* as a whole */
        const json_t *first = json_array_get(missing, 0);
        assert_string_equal(json_string_value(json_object_get(first, "region")), "east");
        assert_string_equal(json_string_value(json_object_get(first, "source")), "a");
        json_decref(answer);
        answer = ask_json(&w.m.f, VV_REQUEST_QUERY,
                          WORDS("metric=press.level", "partial=allowed", orders[i], "from=-25h",
                                "to=2024-10-03T15:00:00Z"));
        assert_int_equal(w.m.f.facts.rows, 200);
        assert_in_range(w.m.f.facts.partitions_missing, 1, 4);
        json_decref(answer);
    }
    w.fake->region_status[1] = VV_OK;
    json_t *answer = ask_json(&w.m.f, VV_REQUEST_QUERY, WORDS("metric=press.level"));
    assert_int_equal(w.m.f.facts.rows, 300);
    assert_null(json_object_get(json_object_get(answer, "facts"), "missing"));
    json_decref(answer);
    world_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_equal_a_naive_model),
        cmocka_unit_test(what_is_asked_ahead_equals_the_model),
        cmocka_unit_test(flushes_between_asking_and_using_lose_nothing),
        cmocka_unit_test(other_answers_have_all_regions),
        cmocka_unit_test(without_other_plans_no_other_region_is_asked),
        cmocka_unit_test(a_few_newest_rows_read_little),
        cmocka_unit_test(where_a_region_has_nothing_it_is_asked_once),
        cmocka_unit_test(flushes_in_between_lose_nothing),
        cmocka_unit_test(a_region_that_is_away_is_named),
    };
    setenv("TZ", "Europe/Berlin", 1); /* the model's calendar */
    tzset();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
