/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows of tiers that are asked for ahead: answers hold what was there when they were asked for,
 * while flushes and deletions go on between asking and using.
 */
#include "tier_place.h"

static json_t *ask_slowly(struct place *p, struct slow *slow, const char *const *words)
{
    slow_init(slow, &p->f, 1);
    slow->may_read = true;
    json_t *answer = ask_json(&p->f, VV_REQUEST_QUERY, words);
    assert_int_equal(slow->unused, 0);
    p->f.context.store = p->f.store;
    return answer;
}

/* Two buckets of hours and one of days for each source. */
static void answers_are_those_of_reads_one_by_one(void **state)
{
    (void)state;
    struct place p;
    struct slow slow;
    place_init(&p);
    build_all(&p);
    const char *const *const questions[] = {
        ASK("from=2024-09-14", "step=1h", ALL_AGG),
        ASK("from=2024-09-14", "step=1h", "agg=max", "order=desc"),
        ASK("from=2024-09-14", "step=1d", ALL_AGG),
        ASK("from=2024-09-20T05:07:00Z", "step=7m", "agg=mean", "order=desc"),
        ASK("from=2024-09-14", "step=6h", "agg=max", "group_by=all"),
        ASK("from=2024-09-14", "step=1h", "agg=max", "limit=3", "order=desc"),
    };
    for (size_t i = 0; i < sizeof questions / sizeof questions[0]; i++) {
        json_t *one_by_one = ask_json(&p.f, VV_REQUEST_QUERY, questions[i]);
        json_t *ahead = ask_slowly(&p, &slow, questions[i]);
        assert_true(slow.begun > 0);
        assert_true(
            json_equal(json_object_get(one_by_one, "series"), json_object_get(ahead, "series")));
        json_decref(one_by_one);
        json_decref(ahead);
    }
    place_deinit(&p);
}

/* Of the second source while the first one's are used; nothing of it where a row is enough. */
static void other_sources_are_asked_for_before_they_are_read(void **state)
{
    (void)state;
    struct place p;
    struct slow slow;
    place_init(&p);
    build_all(&p);
    json_decref(
        ask_slowly(&p, &slow, ASK("metric=pump.flow", "from=2024-09-14", "step=1h", "agg=max")));
    unsigned all = slow.begun;
    assert_true(slow.unused_most >= all - 1 && all >= SOURCES);
    json_decref(ask_slowly(
        &p, &slow,
        ASK("metric=pump.flow", "from=2024-09-14", "step=1h", "agg=max", "limit=1", "order=desc")));
    assert_true(slow.begun <= all);
    place_deinit(&p);
}

/* How many reads a question takes one by one. */
static unsigned count_reads(struct place *p, const char *const *words)
{
    struct slow slow;
    slow_init(&slow, &p->f, 1);
    slow.may_read = true;
    slow.ops.begin_read = NULL;
    json_decref(ask_json(&p->f, VV_REQUEST_QUERY, words));
    p->f.context.store = p->f.store;
    return slow.read_at_once;
}

/* Cohorts with gaps at both ends leave their sources two short stretches each, and of a limit the
 * first window is mostly enough. */
static void hardly_anything_is_asked_for_in_vain(void **state)
{
    (void)state;
    struct place p;
    struct slow slow;
    place_init(&p);
    fixture_seal(&p.f);
    fixture_point(&p.f, p.sources[0], p.metrics[2], START + VV_DAY + 1, 5);
    fixture_point(&p.f, p.sources[1], p.metrics[2], START + 16 * VV_DAY + 1, 5);
    const char *const *const questions[] = {
        ASK("metric=pump.flow", "from=2024-09-14", "step=1h", "agg=max", "group_by=all"),
        ASK("metric=pump.flow", "from=2024-09-14", "step=1h", "agg=max", "limit=1"),
        ASK("metric=pump.flow", "from=2024-09-14", "step=1h", "agg=max", "limit=1", "order=desc"),
        ASK("from=2024-09-14", "step=1h", "agg=max"),
    };
    for (size_t i = 0; i < sizeof questions / sizeof questions[0]; i++) {
        unsigned one_by_one = count_reads(&p, questions[i]);
        json_decref(ask_slowly(&p, &slow, questions[i]));
        assert_in_range(slow.begun + slow.read_at_once, 1, one_by_one + 1);
    }
    place_deinit(&p);
}

/* Points are of all sources, as are the empty records above them: the second one's while those of
 * the first are used. */
static void gaps_of_other_sources_are_asked_for_before_they_are_read(void **state)
{
    (void)state;
    struct place p;
    struct slow slow;
    place_init(&p);
    static const char *const orders[] = {"order=asc", "order=desc"};
    for (size_t i = 0; i < 2; i++) { /* two days of hours, and ten of minutes */
        const char *const *hours = ASK("metric=pump.flow", "from=2024-09-14", "to=2024-09-16",
                                       "step=1h", "agg=max", orders[i]);
        json_decref(ask_slowly(&p, &slow, hours));
        assert_int_equal(slow.looked, 0);
        assert_int_equal(slow.unused_most, 4); /* of two levels, and points of both */
        const char *const *minutes = ASK("metric=pump.flow", "from=2024-09-14", "to=2024-09-24",
                                         "step=1m", "agg=max", orders[i]);
        json_decref(ask_slowly(&p, &slow, minutes));
        assert_int_equal(slow.looked, 0);
        assert_int_equal(raw_parts(&p), SOURCES);
    }
    place_deinit(&p);
}

/* A bucket of minutes is two days: of eighteen days one is read of each source. */
static void of_a_limit_no_further_window_is_asked_for(void **state)
{
    (void)state;
    struct place p;
    struct slow slow;
    place_init(&p);
    build_all(&p);
    const char *const *words = ASK("metric=pump.flow", "from=2024-09-14", "step=1m", "agg=max",
                                   "tier=minute", "limit=1", "order=desc");
    unsigned one_by_one = count_reads(&p, words);
    json_decref(ask_slowly(&p, &slow, words));
    assert_int_equal(slow.begun + slow.read_at_once, one_by_one);
    place_deinit(&p);
}

/* Answers that were used are kept for other metrics, but not beyond the question's memory. */
static void little_memory_keeps_little(void **state)
{
    (void)state;
    struct place p;
    struct slow slow;
    place_init(&p);
    build_all(&p);
    p.f.limits.memory_bytes_max = 64 << 10;
    json_decref(ask_slowly(&p, &slow, ASK("from=2024-09-14", "step=1h", "agg=p99")));
    size_t most = slow.bytes_most; /* the first ones are asked for before their size is known */
    p.f.limits.memory_bytes_max = 64 << 20;
    json_decref(ask_slowly(&p, &slow, ASK("from=2024-09-14", "step=1h", "agg=p99")));
    assert_true(most < slow.bytes_most * 3 / 4);
    place_deinit(&p);
}

/* A store that does something else at one of its reads. */
static void begin_slow(struct slow *slow, struct place *p, unsigned at, void (*act)(void *),
                       void *context)
{
    slow_init(slow, &p->f, 1);
    slow->may_read = true; /* finer tiers */
    slow->act_at = at;
    slow->act = act;
    slow->act_context = context;
}

static void flush_late_points(void *context)
{
    struct place *p = context;
    fixture_flush(&p->f);
    for (int source = 0; source < SOURCES; source++) {
        tiers_soil(&p->t, p->sources[source], p->pump, START + 3 * VV_DAY);
    }
}

/* Late points are in the head when the question begins, and flushed at some read of it: the units
 * that they are in are stale from then on, which an answer from before does not say. */
static void a_flush_at_any_read_loses_nothing(void **state)
{
    (void)state;
    for (unsigned at = 1; at <= 6; at++) {
        struct place p;
        struct slow slow;
        place_init(&p);
        build_all(&p);
        int64_t time = START + 3 * VV_DAY + VV_SECOND;
        uint64_t high = vv_bits_of_double(1e6);
        for (int source = 0; source < SOURCES; source++) {
            fixture_write(&p.f, p.sources[source], p.metrics[2], &time, &high, 1);
        }
        begin_slow(&slow, &p, at, flush_late_points, &p);
        char *text;
        assert_int_equal(
            fixture_answer(&p.f, VV_REQUEST_QUERY,
                           ASK("metric=pump.flow", "from=2024-09-14", "step=1d", "agg=max"),
                           1 << 20, &text),
            VV_OK);
        int n = 0;
        for (const char *found = text; (found = strstr(found, "1000000")); found++) {
            n++;
        }
        assert_int_equal(n, SOURCES);
        free(text);
        place_deinit(&p);
    }
}

struct sweeping {
    struct place *p;
    struct vv_deletions *deletions;
};

/* As the sweep does: what is to be made anew is noted in the store, then the marker is swept. */
static void sweep(void *context)
{
    struct sweeping *sweeping = context;
    struct place *p = sweeping->p;
    for (int source = 0; source < SOURCES; source++) {
        struct vv_marker markers[4];
        tiers_soil(&p->t, p->sources[source], p->pump, START + 3 * VV_DAY);
        size_t n = vv_deletions_read(sweeping->deletions, p->sources[source], VV_MARKER_UNSWEPT,
                                     markers, 4);
        for (size_t i = 0; i < n; i++) {
            markers[i].is_swept = true;
        }
        vv_deletions_note_done(sweeping->deletions, p->sources[source], markers, n);
    }
}

static void delete_a_day(struct place *p, struct vv_deletions *deletions)
{
    const struct vv_deletion_order order = {
        .tenant = p->f.tenant,
        .sources = p->sources,
        .n_sources = SOURCES,
        .scope = VV_DELETION_MEASUREMENT,
        .numbers = &p->pump,
        .n_numbers = 1,
        .from = START + 3 * VV_DAY,
        .to = START + 4 * VV_DAY,
    };
    p->f.stamp = vv_stamp_next(p->f.stamp, FIXTURE_NOW, 0);
    assert_int_equal(vv_deletions_prepare(deletions, &order, p->f.stamp), VV_OK);
    vv_deletions_publish(deletions);
}

/* A day is deleted before the question begins, and swept at some read of it. */
static void a_deletion_that_is_swept_at_any_read_holds(void **state)
{
    (void)state;
    for (unsigned at = 1; at <= 6; at++) {
        struct place p;
        struct slow slow;
        struct sweeping sweeping = {.p = &p};
        place_init(&p);
        build_all(&p);
        assert_int_equal(vv_deletions_create(100, &sweeping.deletions), VV_OK);
        p.f.context.deletions = sweeping.deletions;
        delete_a_day(&p, sweeping.deletions);
        begin_slow(&slow, &p, at, sweep, &sweeping);
        char *text;
        assert_int_equal(
            fixture_answer(&p.f, VV_REQUEST_QUERY,
                           ASK("metric=pump.flow", "from=2024-09-14", "step=1d", "agg=count"),
                           1 << 20, &text),
            VV_OK);
        assert_int_equal(p.f.facts.rows, SOURCES * (DAYS - 1));
        free(text);
        vv_deletions_destroy(sweeping.deletions);
        place_deinit(&p);
    }
}

static void what_failed_ahead_is_asked_for_again(void **state)
{
    (void)state;
    struct place p;
    struct slow slow;
    place_init(&p);
    build_all(&p);
    const char *const *words = ASK("metric=pump.flow", "from=2024-09-14", "step=1h", "agg=max");
    char *text;
    slow_init(&slow, &p.f, 1);
    slow.fail_every = 1000;
    slow.begun = 999 - 1; /* the second one */
    assert_int_equal(fixture_answer(&p.f, VV_REQUEST_QUERY, words, 1 << 20, &text), VV_OK);
    assert_int_equal(p.f.facts.rows, SOURCES * DAYS * 24);
    free(text);
    slow.fail_every = 1;
    assert_int_equal(fixture_answer(&p.f, VV_REQUEST_QUERY, words, 1 << 20, &text), VV_OVERLOAD);
    assert_int_equal(slow.unused, 0);
    place_deinit(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_those_of_reads_one_by_one),
        cmocka_unit_test(other_sources_are_asked_for_before_they_are_read),
        cmocka_unit_test(hardly_anything_is_asked_for_in_vain),
        cmocka_unit_test(gaps_of_other_sources_are_asked_for_before_they_are_read),
        cmocka_unit_test(of_a_limit_no_further_window_is_asked_for),
        cmocka_unit_test(little_memory_keeps_little),
        cmocka_unit_test(a_flush_at_any_read_loses_nothing),
        cmocka_unit_test(a_deletion_that_is_swept_at_any_read_holds),
        cmocka_unit_test(what_failed_ahead_is_asked_for_again),
    };
    return cmocka_run_group_tests_name("query/fetch_tiers", tests, NULL, NULL);
}
