/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads that are asked for ahead: a store whose answers hold what was there when they were asked
 * for, while flushes and seals go on between asking and using.
 */
#include "query_model.h"
#include "slow_store.h"

#define SEEDS    10
#define REQUESTS 40

static void check_seeds(bool moves, unsigned fail_every)
{
    static struct model m;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct slow slow;
        model_init(&m, seed);
        slow_init(&slow, &m.f, seed);
        slow.ops.shared = model_hides ? &slow_shared_ops : NULL;
        slow.moves = moves;
        slow.fail_every = fail_every;
        for (int i = 0; i < REQUESTS; i++) {
            int group = vv_random_below(&m.random, 2) ? MODEL_WITH_SITE : 0;
            struct model_query q = model_request(&m, vv_random_below(&m.random, 2) == 0, group);
            model_write_words(&q);
            model_print(seed, &q);
            model_check(&m, &q);
            assert_int_equal(slow.unused, 0);
        }
        assert_true(slow.begun > 0);
        fixture_deinit(&m.f);
    }
}

static void answers_equal_a_naive_model(void **state)
{
    (void)state;
    check_seeds(false, 0);
}

/* The head is looked at before the store is used, but what was asked for earlier is older. */
static void flushes_between_asking_and_using_lose_nothing(void **state)
{
    (void)state;
    check_seeds(true, 0);
}

static void what_others_wrote_is_asked_for_as_well(void **state)
{
    (void)state;
    model_hides = true;
    check_seeds(false, 0);
    check_seeds(true, 0);
    model_hides = false;
}

/* Two sources with a bucket a day, and later points of the same days in the head. While the first
 * is read the second one's answers are there already, without what is flushed then. */
static void a_flush_at_any_read_loses_nothing(void **state)
{
    (void)state;
    enum { DAYS = 4 };
    for (unsigned at = 1; at <= 2 * DAYS; at++) {
        struct fixture f;
        struct slow slow;
        fixture_init(&f);
        f.flush.bucket_ns = VV_DAY;
        f.flush.span_ns = VV_DAY;
        uint32_t metric = fixture_metric(&f, "m", "v", VV_FLOAT64);
        uint32_t sources[2] = {fixture_source(&f, "a", "x"), fixture_source(&f, "b", "x")};
        for (int late = 0; late < 2; late++) {
            for (int i = 0; i < 2 * DAYS; i++) {
                fixture_point(&f, sources[i / DAYS], metric,
                              FIXTURE_NOW - (6 - i % DAYS) * VV_DAY + late * VV_MINUTE, i);
            }
            if (!late) {
                fixture_flush(&f);
            }
        }
        slow_init(&slow, &f, 1);
        slow.flush_at = at;
        char *text;
        assert_int_equal(
            fixture_answer(&f, VV_REQUEST_QUERY, WORDS("metric=m.v", "from=-60d"), 1 << 20, &text),
            VV_OK);
        assert_int_equal(f.facts.rows, 4 * DAYS);
        free(text);
        fixture_deinit(&f);
    }
}

static void what_failed_ahead_is_asked_for_again(void **state)
{
    (void)state;
    struct fixture f;
    struct slow slow;
    fixture_init(&f);
    uint32_t source = fixture_source(&f, "a", "north");
    uint32_t metric = fixture_metric(&f, "m", "v", VV_FLOAT64);
    for (int i = 0; i < 40; i++) {
        fixture_point(&f, source, metric, FIXTURE_NOW - 41 * VV_DAY + i * VV_DAY, i);
    }
    f.flush.bucket_ns = VV_DAY;
    f.flush.span_ns = VV_DAY;
    fixture_flush(&f);
    slow_init(&slow, &f, 1);
    slow.fail_every = 1000;
    slow.begun = 999 - 5; /* the sixth */
    char *text;
    assert_int_equal(
        fixture_answer(&f, VV_REQUEST_QUERY, WORDS("metric=m.v", "from=-60d"), 1 << 20, &text),
        VV_OK);
    assert_int_equal(f.facts.rows, 40);
    free(text);
    slow.fail_every = 1; /* always: then it is an error */
    assert_int_equal(
        fixture_answer(&f, VV_REQUEST_QUERY, WORDS("metric=m.v", "from=-60d"), 1 << 20, &text),
        VV_OVERLOAD);
    fixture_deinit(&f);
}

/* Every third bucket's partition can't be read. */
static void what_can_not_be_read_is_named_where_that_is_allowed(void **state)
{
    (void)state;
    struct fixture f;
    struct slow slow;
    fixture_init(&f);
    f.flush.bucket_ns = VV_DAY;
    f.flush.span_ns = VV_DAY;
    uint32_t source = fixture_source(&f, "a", "north");
    uint32_t metric = fixture_metric(&f, "m", "v", VV_FLOAT64);
    for (int i = 0; i < 12; i++) {
        fixture_point(&f, source, metric, FIXTURE_NOW - 13 * VV_DAY + i * VV_DAY, i);
    }
    fixture_flush(&f);
    fixture_point(&f, source, metric, FIXTURE_NOW - VV_HOUR, 99);
    slow_init(&slow, &f, 1);
    slow.fails_day = true;
    expect_error(&f, VV_REQUEST_QUERY, WORDS("metric=m.v", "from=-60d"), VV_OVERLOAD, "bad time");
    json_t *answer =
        ask_json(&f, VV_REQUEST_QUERY, WORDS("metric=m.v", "from=-60d", "partial=allowed"));
    const json_t *facts = json_object_get(answer, "facts");
    assert_false(json_boolean_value(json_object_get(facts, "complete")));
    assert_int_equal(json_integer_value(json_object_get(facts, "partitions_missing")), 4);
    assert_int_equal(json_integer_value(json_object_get(facts, "rows")), 9);
    const json_t *missing = json_object_get(facts, "missing");
    assert_int_equal(json_array_size(missing), 4);
    const json_t *first = json_array_get(missing, 0);
    assert_string_equal(json_string_value(json_object_get(first, "source")), "a");
    assert_string_equal(json_string_value(json_object_get(first, "to")), "2024-09-24T00:00:00Z");
    json_decref(answer);
    char *text;
    assert_int_equal(
        fixture_answer(&f, VV_REQUEST_QUERY,
                       WORDS("metric=m.v", "from=-60d", "partial=allowed", "format=csv"), 1 << 20,
                       &text),
        VV_OK);
    assert_non_null(strstr(text, "# incomplete: 4 partitions could not be read\n"));
    free(text);
    fixture_deinit(&f);
}

/* A bucket each for 200 days and three sources. */
static void check_asking_ahead(bool unseen)
{
    struct fixture f;
    struct slow slow;
    fixture_init(&f);
    f.unseen = unseen;
    uint32_t metric = fixture_metric(&f, "m", "v", VV_FLOAT64);
    char id[2] = "a";
    for (; id[0] < 'd'; id[0]++) {
        uint32_t source = fixture_source(&f, id, "north");
        for (int i = 0; i < 200; i++) {
            fixture_point(&f, source, metric, FIXTURE_NOW - 201 * VV_DAY + i * VV_DAY, i);
        }
    }
    f.flush.bucket_ns = VV_DAY;
    f.flush.span_ns = VV_DAY;
    fixture_flush(&f);
    slow_init(&slow, &f, 1);
    slow.ops.shared = unseen ? &slow_shared_ops : NULL;
    char *text;
    assert_int_equal(
        fixture_answer(&f, VV_REQUEST_QUERY, WORDS("metric=m.v", "from=-300d"), 1 << 20, &text),
        VV_OK);
    assert_int_equal(f.facts.rows, 600);
    assert_in_range(slow.unused_most, 20, 33);
    free(text);
    unsigned all = slow.begun;
    slow.begun = 0;
    assert_int_equal(
        fixture_answer(&f, VV_REQUEST_QUERY,
                       WORDS("metric=m.v", "source=b", "from=-300d", "order=desc", "limit=1"),
                       1 << 20, &text),
        VV_OK);
    assert_true(slow.begun * 20 < all); /* where one row is enough, hardly anything is asked for */
    free(text);
    fixture_deinit(&f);
}

static void asking_runs_ahead_within_a_bound(void **state)
{
    (void)state;
    check_asking_ahead(false);
    check_asking_ahead(true);
}

/* Forty days of one source with so many points each: how many partitions wait to be used at most.
 */
static unsigned most_ahead(size_t points_a_day, size_t memory)
{
    enum { DAYS = 40, POINTS_MAX = 3000 };
    static int64_t times[POINTS_MAX];
    static uint64_t values[POINTS_MAX];
    struct vv_random random = {7}; /* so that nothing can be packed */
    struct fixture f;
    struct slow slow;
    fixture_init(&f);
    uint32_t metric = fixture_metric(&f, "m", "v", VV_FLOAT64);
    uint32_t source = fixture_source(&f, "a", "north");
    for (int day = 0; day < DAYS; day++) {
        for (size_t i = 0; i < points_a_day; i++) {
            times[i] = FIXTURE_NOW - (DAYS - day) * VV_DAY + (int64_t)i * VV_SECOND;
            values[i] = vv_bits_of_double(vv_random_unit(&random));
        }
        fixture_write(&f, source, metric, times, values, points_a_day);
    }
    f.flush.bucket_ns = VV_DAY;
    f.flush.span_ns = VV_DAY;
    fixture_flush(&f);
    slow_init(&slow, &f, 1);
    f.limits.memory_bytes_max = memory;
    char *text;
    assert_int_equal(fixture_answer(&f, VV_REQUEST_QUERY,
                                    WORDS("metric=m.v", "from=-60d", "step=1d", "agg=count"),
                                    1 << 20, &text),
                     VV_OK);
    assert_int_equal(f.facts.points_read, DAYS * points_a_day);
    free(text);
    fixture_deinit(&f);
    return slow.unused_most;
}

/* The fuller partitions are, the fewer are asked for at once; it is the memory that counts. */
static void asking_ahead_is_adapted_to_density(void **state)
{
    (void)state;
    assert_in_range(most_ahead(10, 1 << 20), 20, 33);
    assert_in_range(most_ahead(2000, 1 << 20), 2, 12);
    assert_in_range(most_ahead(2000, 64 << 20), 20, 33);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_equal_a_naive_model),
        cmocka_unit_test(flushes_between_asking_and_using_lose_nothing),
        cmocka_unit_test(what_others_wrote_is_asked_for_as_well),
        cmocka_unit_test(a_flush_at_any_read_loses_nothing),
        cmocka_unit_test(what_failed_ahead_is_asked_for_again),
        cmocka_unit_test(what_can_not_be_read_is_named_where_that_is_allowed),
        cmocka_unit_test(asking_runs_ahead_within_a_bound),
        cmocka_unit_test(asking_ahead_is_adapted_to_density),
    };
    setenv("TZ", "Europe/Berlin", 1); /* the model's calendar */
    tzset();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
