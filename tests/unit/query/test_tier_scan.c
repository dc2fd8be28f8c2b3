/* SPDX-License-Identifier: Apache-2.0 */
/* Answers from tiers: what is stitched of tiers and raw points is what raw points say. */
#include "registry/shared.h"
#include "tier_place.h"

/* ---- stitching ---- */

static void whole_steps_come_from_the_tier_alone(void **state)
{
    (void)state;
    struct place p;
    place_init(&p);
    build_all(&p);
    check_same(&p, ASK("from=2024-09-15", "to=2024-09-20", "step=6h", ALL_AGG));
    assert_int_equal(steps_of(&p, VV_SPACE_HOUR), 5 * 24 * SOURCES * METRICS);
    assert_int_equal(steps_of(&p, VV_SPACE_MINUTE), 0);
    assert_int_equal(raw_parts(&p), 0);
    assert_true(p.f.facts.points_read == 0);
    assert_true(p.f.facts.percentile_error == VV_SKETCH_ALPHA_DEFAULT);
    check_same(&p, ASK("from=2024-09-15", "to=2024-09-20", "step=6h", "group_by=all", ALL_AGG));
    assert_int_equal(steps_of(&p, VV_SPACE_HOUR), 5 * 24 * SOURCES * METRICS);
    check_same(&p, ASK("from=2024-09-15", "to=2024-09-20", "step=1d", "order=desc", ALL_AGG));
    assert_int_equal(steps_of(&p, VV_SPACE_DAY), 5 * SOURCES * METRICS);
    check_same(&p, ASK("from=2024-09-15", "to=2024-09-16", "step=7m", "order=desc", ALL_AGG));
    assert_true(steps_of(&p, VV_SPACE_MINUTE) > 0);
    assert_int_equal(steps_of(&p, VV_SPACE_HOUR), 0);
    place_deinit(&p);
}

static void edges_come_from_finer_tiers_and_raw_points(void **state)
{
    (void)state;
    struct place p;
    place_init(&p);
    build_all(&p);
    const char *const *words =
        ASK("from=2024-09-15T10:20:03.5Z", "to=2024-09-20T03:33:33.25Z", "step=1d", ALL_AGG);
    check_same(&p, words);
    assert_int_equal(steps_of(&p, VV_SPACE_DAY), 4 * SOURCES * METRICS);
    assert_int_equal(steps_of(&p, VV_SPACE_HOUR), (13 + 3) * SOURCES * METRICS);
    assert_int_equal(raw_parts(&p), 2 * SOURCES * METRICS);
    assert_true(p.f.facts.points_read <= 4 * SOURCES * METRICS);
    check_same(&p, ASK("from=2024-09-15T10:21:03.5Z", "to=2024-09-20T03:33:33.25Z", ALL_AGG));
    assert_int_equal(steps_of(&p, VV_SPACE_DAY), 4 * SOURCES * METRICS);
    check_same(&p, ASK("from=2024-09-15T10:20:03.5Z", "to=2024-09-15T10:20:59Z", ALL_AGG,
                       "metric=press.temp", "source=a"));
    assert_int_equal(raw_parts(&p), 1);
    place_deinit(&p);
}

/* A source that reports something else alone: nothing is answered of its points. */
static void a_source_without_the_metric_names_no_points(void **state)
{
    (void)state;
    struct place p;
    place_init(&p);
    build_all(&p);
    uint32_t other = fixture_source(&p.f, "z", "east");
    uint32_t metric = fixture_metric(&p.f, "elsewhere", "v", VV_FLOAT64);
    for (int i = 0; i < 100; i++) {
        fixture_point(&p.f, other, metric, START + VV_DAY + i * VV_HOUR, 1);
    }
    fixture_flush(&p.f);
    check_same(&p,
               ASK("from=2024-09-15", "to=2024-09-20", "step=6h", "metric=press.temp", ALL_AGG));
    assert_int_equal(raw_parts(&p), 0);
    check_same(&p, ASK("from=2024-09-15", "to=2024-09-20", "step=6h", "metric=press.temp",
                       "group_by=all", ALL_AGG));
    assert_int_equal(raw_parts(&p), 0);
    check_same(&p, ASK("from=2024-09-15", "to=2024-09-20", "step=6h", "metric=elsewhere.v",
                       "source=z", ALL_AGG));
    assert_true(raw_parts(&p) > 0);
    place_deinit(&p);
}

/* One source, of which nothing is there on the third day; of all days there are hours. */
static void begin_without_third_day(struct place *p)
{
    place_name(p);
    tiers_init(&p->t, &p->f);
    write_series(p, 0, 1, START, START + 2 * VV_DAY, GAP);
    write_series(p, 0, 1, START + 3 * VV_DAY, START + DAYS * VV_DAY, GAP);
    fixture_flush(&p->f);
    tiers_build(&p->t, p->sources[0], p->press, VV_SPACE_HOUR, START, START + DAYS * VV_DAY);
}

/* That an edge has nothing says nothing of what lies behind it in the same bucket. */
static void check_behind_empty_edge(struct place *p, const char *const *words, uint64_t hours)
{
    int64_t of_points = vv_registry_retention(p->f.registry, p->f.tenant);
    check_same(p, words);
    assert_int_equal(steps_of(p, VV_SPACE_HOUR), hours);
    json_t *before = ask_json(&p->f, VV_REQUEST_QUERY, words);
    vv_registry_set_retention(p->f.registry, p->f.tenant, VV_DAY);
    tiers_keep(&p->t, VV_SPACE_MINUTE, VV_DAY);
    json_t *after = ask_json(&p->f, VV_REQUEST_QUERY, words);
    assert_true(json_equal(json_object_get(after, "series"), json_object_get(before, "series")));
    vv_registry_set_retention(p->f.registry, p->f.tenant, of_points);
    tiers_keep(&p->t, VV_SPACE_MINUTE, 0);
    json_decref(before);
    json_decref(after);
}

static void an_edge_without_points_hides_nothing_behind_it(void **state)
{
    (void)state;
    static const char *const steps[] = {"step=1d", "step=7d", "step=12h", "fill=none"};
    static const char *const orders[] = {"order=asc", "order=desc"};
    struct place p;
    begin_without_third_day(&p);
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < 2; k++) {
            check_behind_empty_edge(&p,
                                    ASK("from=2024-09-16T11:00:00Z", "to=2024-10-02", "source=a",
                                        "agg=count,max,p90", steps[i], orders[k]),
                                    15 * 24);
            check_behind_empty_edge(&p,
                                    ASK("from=2024-09-14", "to=2024-09-16T11:00:00Z", "source=a",
                                        "agg=count,max,p90", steps[i], orders[k]),
                                    2 * 24);
        }
    }
    place_deinit(&p);
}

static void gaps_and_the_open_tail_come_from_what_is_finer(void **state)
{
    (void)state;
    struct place p;
    place_init(&p);
    build(&p, VV_SPACE_MINUTE, START, START + 12 * VV_DAY);
    build(&p, VV_SPACE_HOUR, START, START + 5 * VV_DAY);
    build(&p, VV_SPACE_HOUR, START + 7 * VV_DAY, START + 10 * VV_DAY);
    check_same(&p, ASK("from=2024-09-14", "step=1h", ALL_AGG, "metric=press.*"));
    assert_int_equal(steps_of(&p, VV_SPACE_HOUR), 8 * 24 * SOURCES * 2);
    assert_true(steps_of(&p, VV_SPACE_MINUTE) > 4 * 24 * SOURCES * 2);
    assert_true(raw_parts(&p) > 0);
    const struct vv_tier_fact *hours = &p.f.facts.tiers[VV_SPACE_HOUR];
    assert_true(hours->is_sealed);
    assert_true(hours->sealed_until == START + 10 * VV_DAY);
    assert_true(hours->from == START && hours->to == START + 10 * VV_DAY);
    assert_true(p.f.facts.tiers[VV_SPACE_MINUTE].sealed_until == START + 12 * VV_DAY);
    check_same(&p, ASK("from=2024-09-14", "step=1h", "order=desc", ALL_AGG, "limit=200"));
    check_same(&p, ASK("step=1h", ALL_AGG, "group_by=site"));
    place_deinit(&p);
}

static void what_the_head_has_counts(void **state)
{
    (void)state;
    struct place p;
    place_init(&p);
    build_all(&p);
    fixture_point(&p.f, p.sources[0], p.metrics[1], START + 3 * VV_DAY + 5, 150);
    check_same(&p, ASK("from=2024-09-15", "to=2024-09-20", "step=1h", ALL_AGG));
    assert_true(steps_of(&p, VV_SPACE_HOUR) < 5 * 24 * SOURCES * METRICS);
    assert_true(steps_of(&p, VV_SPACE_HOUR) >= 5 * 24 * SOURCES * METRICS - 2 * 24);
    /* Of a unit of which the head has something else. */
    check_same(&p, ASK("from=2024-09-17T20:00:00Z", "to=2024-09-18", "step=1h", ALL_AGG));
    place_deinit(&p);
}

static void a_unit_that_is_to_be_built_again_is_read_from_what_is_finer(void **state)
{
    (void)state;
    struct place p;
    place_init(&p);
    build_all(&p);
    fixture_point(&p.f, p.sources[0], p.metrics[1], START + 3 * VV_DAY + 5, 150);
    fixture_flush(&p.f);
    tiers_soil(&p.t, p.sources[0], p.press, START + 3 * VV_DAY + 5);
    check_same(&p, ASK("from=2024-09-15", "to=2024-09-20", "step=1h", ALL_AGG));
    assert_true(steps_of(&p, VV_SPACE_HOUR) == 5 * 24 * SOURCES * METRICS - 2 * 24);
    assert_int_equal(raw_parts(&p), 2); /* the minutes of that day are a unit too */
    place_deinit(&p);
}

/* Puts a run that replaces what a unit has of a day, as yet unbuilt. */
static void replace_later(struct place *p, enum vv_space tier, int64_t day)
{
    for (int64_t at = day; at < day + VV_DAY;) {
        struct vv_buffer bytes = {0};
        struct vv_unit unit = tiers_unit(&p->t, p->sources[0], tier, at);
        vv_unit_write(&bytes, VV_UNIT_STALE, &unit);
        vv_buffer_text(&bytes, "points");
        tiers_put(&p->t, p->sources[0], p->press, tier, &unit, 16, true, &bytes);
        vv_buffer_deinit(&bytes);
        at = unit.to;
    }
}

/* Where nodes share the store, by whoever owns it. Without a record there is what is finer. */
static void a_day_that_is_to_be_replaced_is_as_it_was_until_it_is_built(void **state)
{
    (void)state;
    const char *const *week = ASK("from=2024-09-15", "to=2024-09-20", "step=1h", ALL_AGG);
    struct place p;
    place_init(&p);
    build_all(&p);
    for (int tier = 0; tier < VV_SPACES; tier++) {
        replace_later(&p, (enum vv_space)tier, START + 3 * VV_DAY);
    }
    check_same(&p, week);
    assert_int_equal(steps_of(&p, VV_SPACE_HOUR), 5 * 24 * SOURCES * METRICS);
    tiers_soil(&p.t, p.sources[0], p.press, START + 3 * VV_DAY); /* for another reason, too */
    check_same(&p, week);
    assert_int_equal(steps_of(&p, VV_SPACE_HOUR), 5 * 24 * SOURCES * METRICS - 2 * 24);
    place_deinit(&p);
    place_init(&p);
    build(&p, VV_SPACE_MINUTE, START, START + DAYS * VV_DAY);
    replace_later(&p, VV_SPACE_HOUR, START + 3 * VV_DAY);
    check_same(&p, week);
    assert_int_equal(steps_of(&p, VV_SPACE_HOUR), 0);
    place_deinit(&p);
}

/* Until the store has been told, by markers alone. */
static void what_is_deleted_is_in_no_answer(void **state)
{
    (void)state;
    struct place p;
    place_init(&p);
    build_all(&p);
    struct vv_deletions *deletions;
    assert_int_equal(vv_deletions_create(100, &deletions), VV_OK);
    p.f.context.deletions = deletions;
    struct vv_deletion_order *order = vv_deletion_order_create(1, 1);
    assert_non_null(order);
    order->tenant = p.f.tenant;
    order->scope = VV_DELETION_METRIC;
    order->from = START + 2 * VV_DAY + 3 * VV_HOUR;
    order->to = START + 4 * VV_DAY + 5;
    order->numbers[0] = p.metrics[1];
    order->sources[0] = p.sources[0];
    p.f.stamp = vv_stamp_next(p.f.stamp, 0, 0);
    assert_int_equal(vv_deletions_prepare(deletions, order, p.f.stamp), VV_OK);
    vv_deletions_publish(deletions);
    free(order);
    check_same(&p, ASK("from=2024-09-14", "to=2024-09-24", "step=1h", ALL_AGG));
    uint64_t stale_days = 3 * 2 + 3; /* of press, and as markers of metrics have it of pump */
    assert_int_equal(steps_of(&p, VV_SPACE_HOUR), (10 * SOURCES * METRICS - stale_days) * 24);
    expect_csv(&p.f, VV_REQUEST_QUERY,
               WORDS("format=csv", "step=1d", "agg=count", "source=a", "metric=press.temp",
                     "from=2024-09-15", "to=2024-09-19"),
               "source,metric,time,count\n"
               "a,press.temp,2024-09-15T00:00:00Z,360\n"
               "a,press.temp,2024-09-16T00:00:00Z,45\n"
               "a,press.temp,2024-09-18T00:00:00Z,360\n");
    place_deinit(&p);
    vv_deletions_destroy(deletions);
}

/* What flushes and the sealer make of tiers, and not what a test does. */
static void what_the_sealer_builds_is_read(void **state)
{
    (void)state;
    struct place p;
    place_init(&p);
    for (int source = 0; source < SOURCES; source++) { /* a step holds many: no rows in hours */
        write_series(&p, source, 1, START + 2 * VV_DAY, START + 5 * VV_DAY, 30 * VV_SECOND);
    }
    fixture_flush(&p.f);
    fixture_seal(&p.f);
    const char *const *words = ASK("from=2024-09-14", "step=6h", ALL_AGG, "metric=press.temp");
    check_same(&p, words);
    uint64_t hours = steps_of(&p, VV_SPACE_HOUR);
    assert_true(hours > 0);
    fixture_point(&p.f, p.sources[0], p.metrics[1], START + 3 * VV_DAY + 5, 190);
    check_same(&p, words);
    assert_true(steps_of(&p, VV_SPACE_HOUR) < hours);
    fixture_flush(&p.f);
    check_same(&p, words);
    assert_true(steps_of(&p, VV_SPACE_HOUR) < hours);
    fixture_seal(&p.f);
    check_same(&p, words);
    assert_int_equal(steps_of(&p, VV_SPACE_HOUR), hours);
    check_same(&p, ASK("from=2024-09-14T05:17:03Z", ALL_AGG));
    check_same(&p, ASK("step=1d", "tz=Asia/Kolkata", ALL_AGG));
    place_deinit(&p);
}

static void a_record_of_rows_gives_its_points(void **state)
{
    (void)state;
    struct place p;
    place_init(&p);
    for (int64_t at = START; at < START + 5 * VV_DAY;) {
        struct vv_unit unit = tiers_unit(&p.t, p.sources[0], VV_SPACE_HOUR, at);
        tiers_build_rows(&p.t, p.sources[0], p.press, VV_SPACE_HOUR, &unit);
        at = unit.to;
    }
    check_same(&p, ASK("from=2024-09-14T00:03:00Z", "to=2024-09-18", "step=1h", ALL_AGG, "source=a",
                       "metric=press.*"));
    assert_int_equal(steps_of(&p, VV_SPACE_HOUR), 0);
    assert_true(p.f.facts.tiers[VV_SPACE_HOUR].parts > 0);
    assert_true(p.f.facts.percentile_error == 0);
    assert_int_equal(raw_parts(&p), 2); /* of the edge, to the next hour */
    place_deinit(&p);
}

static void local_days_come_from_hours_or_minutes(void **state)
{
    (void)state;
    struct place p;
    place_init(&p);
    build_all(&p);
    const char *const *berlin =
        ASK("from=2024-09-15", "to=2024-09-25", "step=1d", "tz=Europe/Berlin", ALL_AGG);
    check_same(&p, berlin);
    assert_int_equal(steps_of(&p, VV_SPACE_HOUR), 10 * 24 * SOURCES * METRICS);
    assert_int_equal(steps_of(&p, VV_SPACE_MINUTE), 0);
    const char *const *kolkata =
        ASK("from=2024-09-15", "to=2024-09-18", "step=1d", "tz=Asia/Kolkata", ALL_AGG);
    check_same(&p, kolkata);
    assert_int_equal(steps_of(&p, VV_SPACE_HOUR), 0);
    assert_int_equal(steps_of(&p, VV_SPACE_MINUTE), 3 * 360 * SOURCES * METRICS);
    check_same(&p, ASK("step=1w", "tz=Asia/Kolkata", "order=desc", ALL_AGG));
    place_deinit(&p);
}

/* Until April 1893 Berlin's days began 53 minutes and 28 seconds before those of UTC. */
static void days_that_no_tier_fits_are_of_points(void **state)
{
    (void)state;
    struct place p;
    place_init(&p);
    int64_t start = -28035 * VV_DAY; /* 1893-03-30 */
    for (int64_t i = 0; i < 200; i++) {
        fixture_point(&p.f, p.sources[0], p.metrics[1], start + i * 20 * VV_MINUTE, (double)i);
    }
    fixture_flush(&p.f);
    build(&p, VV_SPACE_HOUR, start, start + 4 * VV_DAY);
    check_same(&p, ASK("to=1900-01-01", "step=1d", "tz=Europe/Berlin", ALL_AGG));
    assert_int_equal(steps_of(&p, VV_SPACE_HOUR), 19); /* from the first whole one on */
    assert_true(raw_parts(&p) > 0);
    check_same(&p, ASK("to=1900-01-01", "step=1d", "tz=Europe/Berlin", ALL_AGG, "order=desc"));
    place_deinit(&p);
}

static void integers_that_have_become_floats_are_read_as_floats(void **state)
{
    (void)state;
    struct place p;
    place_init(&p);
    build_all(&p);
    struct vv_metric_info info;
    assert_int_equal(vv_registry_metric_widen(p.f.registry, p.metrics[0], NULL), VV_OK);
    vv_registry_metric_info(p.f.registry, p.metrics[0], &info);
    assert_int_equal(info.type, VV_FLOAT64);
    check_same(&p,
               ASK("from=2024-09-15", "to=2024-09-20", "step=6h", "metric=press.count", ALL_AGG));
    assert_int_equal(steps_of(&p, VV_SPACE_HOUR), 5 * 24 * SOURCES);
    place_deinit(&p);
}

/* ---- percentiles ---- */

static void percentiles_are_within_the_error_that_is_told(void **state)
{
    (void)state;
    struct place p;
    place_init(&p);
    build_all(&p);
    json_t *raw = ask_json(&p.f, VV_REQUEST_QUERY,
                           ASK("from=2024-09-15", "to=2024-09-20", "step=1d", "metric=press.temp",
                               "agg=p1,p25,median,p90,p99.9", "tier=raw"));
    assert_true(p.f.facts.percentile_error == 0);
    json_t *tiered = ask_json(&p.f, VV_REQUEST_QUERY,
                              ASK("from=2024-09-15", "to=2024-09-20", "step=1d",
                                  "metric=press.temp", "agg=p1,p25,median,p90,p99.9"));
    double error = p.f.facts.percentile_error;
    assert_true(error == 0.01);
    for (size_t series = 0; series < SOURCES; series++) {
        const json_t *a = json_array_get(json_object_get(tiered, "series"), series);
        const json_t *b = json_array_get(json_object_get(raw, "series"), series);
        for (size_t row = 0; row < 5; row++) {
            const json_t *x = json_array_get(json_object_get(a, "points"), row);
            const json_t *y = json_array_get(json_object_get(b, "points"), row);
            for (size_t cell = 1; cell <= 5; cell++) {
                double exact = tiers_number(json_array_get(y, cell));
                double got = tiers_number(json_array_get(x, cell));
                assert_true(fabs(got - exact) <= error * exact * 1.0001);
            }
        }
    }
    json_decref(raw);
    json_decref(tiered);
    place_deinit(&p);
}

static void steps_without_sketches_give_no_percentiles(void **state)
{
    (void)state;
    struct place p;
    place_init(&p);
    vv_rollup_destroy(p.t.rollup);
    assert_int_equal(vv_rollup_create(0, &p.t.rollup), VV_OK);
    build_all(&p);
    check_same(&p, ASK("from=2024-09-15", "to=2024-09-17", "step=6h", "agg=median"));
    assert_int_equal(steps_of(&p, VV_SPACE_HOUR), 0);
    assert_true(p.f.facts.percentile_error == 0);
    check_same(&p, ASK("from=2024-09-15", "to=2024-09-17", "step=6h", "agg=mean,max"));
    assert_int_equal(steps_of(&p, VV_SPACE_HOUR), 2 * 24 * SOURCES * METRICS);
    place_deinit(&p);
}

static void sketches_of_different_errors_go_together(void **state)
{
    (void)state;
    struct place p;
    place_init(&p);
    build(&p, VV_SPACE_HOUR, START, START + 2 * VV_DAY);
    vv_rollup_destroy(p.t.rollup);
    assert_int_equal(vv_rollup_create(0.005, &p.t.rollup), VV_OK);
    build(&p, VV_SPACE_HOUR, START + 2 * VV_DAY, START + 4 * VV_DAY);
    check_same(&p, ASK("from=2024-09-14", "to=2024-09-16", "agg=p90"));
    assert_true(p.f.facts.percentile_error == 0.01);
    json_t *json =
        ask_json(&p.f, VV_REQUEST_QUERY, ASK("from=2024-09-14", "to=2024-09-18", "agg=p90"));
    assert_true(fabs(p.f.facts.percentile_error - (0.01 * 1.005 + 0.005)) < 1e-12);
    json_decref(json);
    place_deinit(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_steps_come_from_the_tier_alone),
        cmocka_unit_test(edges_come_from_finer_tiers_and_raw_points),
        cmocka_unit_test(an_edge_without_points_hides_nothing_behind_it),
        cmocka_unit_test(gaps_and_the_open_tail_come_from_what_is_finer),
        cmocka_unit_test(what_the_head_has_counts),
        cmocka_unit_test(a_unit_that_is_to_be_built_again_is_read_from_what_is_finer),
        cmocka_unit_test(a_day_that_is_to_be_replaced_is_as_it_was_until_it_is_built),
        cmocka_unit_test(what_is_deleted_is_in_no_answer),
        cmocka_unit_test(what_the_sealer_builds_is_read),
        cmocka_unit_test(a_record_of_rows_gives_its_points),
        cmocka_unit_test(local_days_come_from_hours_or_minutes),
        cmocka_unit_test(days_that_no_tier_fits_are_of_points),
        cmocka_unit_test(integers_that_have_become_floats_are_read_as_floats),
        cmocka_unit_test(percentiles_are_within_the_error_that_is_told),
        cmocka_unit_test(steps_without_sketches_give_no_percentiles),
        cmocka_unit_test(sketches_of_different_errors_go_together),
        cmocka_unit_test(a_source_without_the_metric_names_no_points),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
