/* SPDX-License-Identifier: Apache-2.0 */
/* What raw data no longer holds comes from tiers; bytes that are not right, bounds, and what an
 * answer tells of its tiers. */
#include "tier_place.h"

#define HALF_HOUR (VV_HOUR / 2)

/* ---- retention ---- */

static json_t *keep_answer(struct place *p, const char *const *words)
{
    json_t *json = ask_json(&p->f, VV_REQUEST_QUERY, words);
    assert_true(p->f.facts.rows > 0);
    return json;
}

static void check_kept(struct place *p, json_t *before, const char *const *words)
{
    json_t *now = ask_json(&p->f, VV_REQUEST_QUERY, words);
    tiers_compare(now, before, "", false);
    json_decref(now);
    json_decref(before);
}

static void what_raw_data_no_longer_holds_comes_from_tiers(void **state)
{
    (void)state;
    struct place p;
    place_init(&p);
    build_all(&p);
    const char *const *hours = ASK("from=2024-09-14T03:00:00Z", "step=1h", ALL_AGG);
    const char *const *minutes = ASK("from=2024-09-18T03:07:00Z", "step=3m", ALL_AGG);
    const char *const *all = ASK("from=2024-09-14", ALL_AGG);
    json_t *by_hour = keep_answer(&p, hours);
    json_t *by_minute = keep_answer(&p, minutes);
    json_t *whole = keep_answer(&p, all);
    vv_registry_set_retention(p.f.registry, p.f.tenant, 6 * VV_DAY);
    tiers_keep(&p.t, VV_SPACE_MINUTE, 17 * VV_DAY);
    check_kept(&p, by_hour, hours);
    assert_int_equal(raw_parts(&p), p.f.facts.rows > 0 ? raw_parts(&p) : 0);
    check_kept(&p, by_minute, minutes);
    check_kept(&p, whole, all);
    expect_error(&p.f, VV_REQUEST_QUERY, ASK("from=2024-09-20", "step=1s", "agg=p99"), VV_INVALID,
                 "step of 1m");
    expect_error(&p.f, VV_REQUEST_QUERY, ASK("from=2024-09-14", "step=3m", "agg=p99"), VV_INVALID,
                 "step of 1h");
    expect_error(&p.f, VV_REQUEST_QUERY, ASK("from=2024-09-20", "step=1h", "agg=rate"), VV_INVALID,
                 "have expired");
    expect_error(&p.f, VV_REQUEST_QUERY, ASK("from=2024-09-20"), VV_INVALID, "have expired");
    place_deinit(&p);
}

static void sketches_are_read_for_percentiles_only(void **state)
{
    (void)state;
    struct place p;
    place_init(&p);
    build_all(&p);
    static const char *const others[] = {"agg=max", "agg=mean,stddev", "agg=first,last,count"};
    json_decref(keep_answer(&p, ASK("from=2024-09-14", "step=1h", "tier=hour", "agg=p99")));
    uint64_t all = p.f.facts.bytes_read;
    for (size_t i = 0; i < 3; i++) {
        json_decref(keep_answer(&p, ASK("from=2024-09-14", "step=1h", "tier=hour", others[i])));
        assert_true(p.f.facts.bytes_read > 0 && p.f.facts.bytes_read < all);
    }
    place_deinit(&p);
}

/* Buckets without anything are passed over, and no others. */
static void records_that_lie_far_apart_are_found(void **state)
{
    (void)state;
    struct place p;
    place_init(&p);
    int64_t early = START - 300 * VV_DAY;
    tiers_keep(&p.t, VV_SPACE_MINUTE, VV_SPACE_OFF_NS);
    for (int64_t i = 0; i < 300; i++) {
        fixture_point(&p.f, p.sources[0], p.metrics[1], early + i * VV_HOUR, (double)i);
    }
    fixture_flush(&p.f);
    build(&p, VV_SPACE_HOUR, early, early + 14 * VV_DAY);
    build(&p, VV_SPACE_HOUR, START, START + DAYS * VV_DAY);
    const char *const *words = ASK("from=2023-10-01", "to=2024-09-28", "step=1h", "agg=count,max");
    const char *const *backwards =
        ASK("from=2023-10-01", "to=2024-09-28", "step=1h", "agg=count,max", "order=desc");
    json_t *before = keep_answer(&p, words);
    json_t *before_backwards = keep_answer(&p, backwards);
    vv_registry_set_retention(p.f.registry, p.f.tenant, 5 * VV_DAY);
    check_kept(&p, before, words);
    check_kept(&p, before_backwards, backwards);
    place_deinit(&p);
}

/* Points are kept from 1 October on, minutes from 29 September, hours from 24 September, at noon.
 */
static void begin_kept_apart(struct place *p)
{
    place_init(p);
    build_all(p);
    vv_registry_set_retention(p->f.registry, p->f.tenant, 3 * VV_DAY);
    tiers_keep(&p->t, VV_SPACE_MINUTE, 5 * VV_DAY);
    tiers_keep(&p->t, VV_SPACE_HOUR, 10 * VV_DAY);
    tiers_keep(&p->t, VV_SPACE_DAY, VV_SPACE_OFF_NS);
}

/* Where a tier no longer shows what it has, neither do answers. */
static void what_a_tier_no_longer_keeps_is_not_shown(void **state)
{
    (void)state;
    struct place p;
    begin_kept_apart(&p);
    expect_csv(&p.f, VV_REQUEST_QUERY,
               WORDS("format=csv", "step=1d", "agg=count", "source=a", "metric=pump.flow",
                     "to=2024-09-27"),
               "source,metric,time,count\n"
               "a,pump.flow,2024-09-24T00:00:00Z,180\n" /* from 12:00 on */
               "a,pump.flow,2024-09-25T00:00:00Z,360\n"
               "a,pump.flow,2024-09-26T00:00:00Z,360\n");
    place_deinit(&p);
}

/* -1: not told. */
static int64_t expired_before(struct place *p, const char *const *words)
{
    json_decref(ask_json(&p->f, VV_REQUEST_QUERY, words));
    return p->f.facts.has_expired ? p->f.facts.expired_before : -1;
}

static void an_answer_says_from_when_on_anything_is_kept(void **state)
{
    (void)state;
    struct place p;
    const int64_t now = FIXTURE_NOW;
    begin_kept_apart(&p);
    assert_true(expired_before(&p, ASK("from=2024-09-15", "step=1d", "agg=count")) ==
                now - 10 * VV_DAY);
    assert_true(expired_before(&p, ASK("from=2024-09-24T11:59:59Z", "step=1h", "agg=count")) ==
                now - 10 * VV_DAY);
    assert_true(expired_before(&p, ASK("from=2024-09-24T12:00:00Z", "step=1h", "agg=count")) == -1);
    assert_true(expired_before(&p, ASK("step=1h", "agg=count")) == -1);
    /* The first minutes are a part of an hour. */
    assert_true(expired_before(&p, ASK("from=2024-09-26T10:59:59Z", "step=1d", "agg=count")) ==
                now - 8 * VV_DAY - VV_HOUR);
    assert_true(expired_before(&p, ASK("from=2024-09-29T12:00:01Z", "step=1d", "agg=count")) ==
                now - 5 * VV_DAY + VV_MINUTE);
    /* Of what has just expired a coarser tier has something. */
    assert_true(expired_before(&p, ASK("from=2024-10-01T11:30:00Z")) == now - 3 * VV_DAY);
    assert_true(expired_before(&p, ASK("from=2024-09-29T11:30:00Z", "step=1m", "agg=count")) ==
                now - 5 * VV_DAY);
    assert_true(expired_before(&p, ASK("from=2024-09-29T11:00:00Z", "to=2024-09-29T12:05:00Z",
                                       "points=5000", "agg=count")) == -1);
    assert_true(expired_before(&p, ASK("from=2024-09-29T11:00:00Z", "to=2024-09-29T12:05:00Z",
                                       "points=100", "agg=count")) == -1);
    assert_int_equal(raw_parts(&p), 0);
    /* Nothing at all would be left. */
    expect_error(&p.f, VV_REQUEST_QUERY, ASK("to=2024-09-29T10:30:00Z", "step=1m", "agg=count"),
                 VV_INVALID, "step of 1h");
    expect_error(&p.f, VV_REQUEST_QUERY, ASK("to=2024-10-01T10:30:00Z"), VV_INVALID,
                 "have expired");
    /* Who reads page by page, backwards, comes to the end. */
    assert_true(expired_before(&p, ASK("to=2024-10-01T11:30:00Z")) == now - 3 * VV_DAY - HALF_HOUR);
    /* No longer step of what is asked for would have more. */
    assert_true(expired_before(&p, ASK("from=2024-09-29T11:30:00Z", "tier=minute", "agg=count")) ==
                now - 5 * VV_DAY);
    assert_true(expired_before(&p, ASK("from=2024-10-01T11:30:00Z", "points=9", "agg=rate")) ==
                now - 3 * VV_DAY);
    expect_error(&p.f, VV_REQUEST_QUERY,
                 ASK("from=2024-09-28", "to=2024-09-28T01:00:00Z", "points=5000", "tier=minute",
                     "agg=count"),
                 VV_INVALID, "steps of 1m can be had from 2024-09-29T12:00:00Z on");
    assert_true(expired_before(&p, ASK("to=2024-09-29T12:30:00Z", "step=1m", "agg=count")) == -1);
    place_deinit(&p);
}

static void what_is_stale_but_all_there_is_counts(void **state)
{
    (void)state;
    struct place p;
    place_init(&p);
    build_all(&p);
    const char *const *words = ASK("from=2024-09-15", "to=2024-09-20", "step=1h", ALL_AGG);
    json_t *before = keep_answer(&p, words);
    vv_registry_set_retention(p.f.registry, p.f.tenant, 5 * VV_DAY);
    tiers_keep(&p.t, VV_SPACE_MINUTE, 5 * VV_DAY);
    tiers_soil(&p.t, p.sources[0], p.press, START + 3 * VV_DAY + 5);
    check_kept(&p, before, words);
    place_deinit(&p);
}

/* The last of the points expire within a unit of days that is to be built again. */
static void what_is_stale_counts_as_far_as_nothing_finer_is_there(void **state)
{
    (void)state;
    struct place p;
    place_init(&p);
    build(&p, VV_SPACE_DAY, START, START + DAYS * VV_DAY);
    tiers_keep(&p.t, VV_SPACE_MINUTE, VV_SPACE_OFF_NS);
    tiers_keep(&p.t, VV_SPACE_HOUR, VV_SPACE_OFF_NS);
    const char *const *old = ASK("from=2024-09-15", "to=2024-09-22", "step=1d", ALL_AGG);
    const char *const *recent = ASK("from=2024-09-23", "to=2024-09-26", "step=1d", ALL_AGG);
    const char *const *all = ASK("from=2024-09-15", "to=2024-10-01", "step=1d", "agg=count,max",
                                 "order=desc", "metric=press.*");
    json_t *before = keep_answer(&p, old);
    vv_registry_set_retention(p.f.registry, p.f.tenant, 12 * VV_DAY); /* on 22 September */
    fixture_point(&p.f, p.sources[0], p.metrics[1], START + 10 * VV_DAY + 5, 900);
    fixture_flush(&p.f);
    tiers_soil(&p.t, p.sources[0], p.press, START + 10 * VV_DAY + 5);
    check_kept(&p, before, old);
    check_same(&p, recent);
    assert_int_equal(steps_of(&p, VV_SPACE_DAY), 3 * (SOURCES * METRICS - 2));
    json_decref(ask_json(&p.f, VV_REQUEST_QUERY, all));
    assert_true(steps_of(&p, VV_SPACE_DAY) > 16 * SOURCES); /* of one source a part of them */
    assert_true(raw_parts(&p) > 0);
    place_deinit(&p);
}

/* ---- what can't be read now ---- */

static const struct vv_store_ops *whole_ops;
static uint32_t away; /* the space */

static enum vv_status read_but_away(struct vv_store *store, const struct vv_store_read *read,
                                    vv_piece_visit visit, void *context, struct vv_error *error)
{
    if (read->partition.tenant == away) {
        return vv_error_set(error, VV_OVERLOAD, "replicas are away");
    }
    return whole_ops->read(store, read, visit, context, error);
}

static void a_tier_that_is_away_is_left_out_where_that_is_allowed(void **state)
{
    (void)state;
    struct place p;
    place_init(&p);
    build_all(&p);
    whole_ops = p.f.store->ops;
    struct vv_store_ops ops = *whole_ops;
    ops.read = read_but_away;
    away = p.t.spaces[VV_SPACE_HOUR];
    p.f.store->ops = &ops;
    expect_error(&p.f, VV_REQUEST_QUERY, ASK("from=2024-09-15", "step=6h", "agg=mean"), VV_OVERLOAD,
                 "tier hour");
    const char *const *words =
        ASK("from=2024-09-15", "to=2024-09-20", "step=6h", ALL_AGG, "partial=allowed");
    check_same(&p, words);
    assert_int_equal(steps_of(&p, VV_SPACE_HOUR), 0);
    assert_true(steps_of(&p, VV_SPACE_MINUTE) > 0);
    assert_true(p.f.facts.complete); /* minutes have all of it */
    vv_registry_set_retention(p.f.registry, p.f.tenant, 5 * VV_DAY);
    tiers_keep(&p.t, VV_SPACE_MINUTE, 5 * VV_DAY);
    json_decref(ask_json(&p.f, VV_REQUEST_QUERY, words));
    assert_false(p.f.facts.complete);
    assert_true(p.f.facts.partitions_missing > 0);
    assert_true(p.f.facts.missing[0].from == START + VV_DAY);
    assert_true(p.f.facts.missing[0].to == START + 6 * VV_DAY);
    p.f.store->ops = whole_ops;
    place_deinit(&p);
}

/* ---- bytes that are not right ---- */

static void expect_broken(struct place *p, enum vv_status status, const char *part)
{
    expect_error(&p->f, VV_REQUEST_QUERY,
                 ASK("from=2024-09-14", "to=2024-09-16", "step=1h", "agg=mean", "source=a"), status,
                 part);
    assert_non_null(strstr(p->f.error.message, "source 'a', tier hour at 2024-09-1"));
}

static void damaged_and_newer_records_are_named(void **state)
{
    (void)state;
    struct place p;
    place_init(&p);
    build(&p, VV_SPACE_HOUR, START, START + 2 * VV_DAY);
    struct vv_unit unit = tiers_unit(&p.t, p.sources[0], VV_SPACE_HOUR, START);
    struct vv_unit other = tiers_unit(&p.t, p.sources[0], VV_SPACE_HOUR, START + VV_DAY);
    static const uint8_t rubbish[] = "no record of a tier at all, and long enough for one";
    struct vv_buffer bytes = {0};
    vv_buffer_append(&bytes, rubbish, sizeof rubbish);
    tiers_put(&p.t, p.sources[0], p.press, VV_SPACE_HOUR, &unit, 0, false, &bytes);
    expect_broken(&p, VV_CORRUPT, "damaged");
    vv_buffer_clear(&bytes);
    vv_unit_write(&bytes, VV_UNIT_STEPS, &unit);
    vv_buffer_append(&bytes, rubbish, sizeof rubbish);
    tiers_put(&p.t, p.sources[0], p.press, VV_SPACE_HOUR, &unit, 0, false, &bytes);
    expect_broken(&p, VV_CORRUPT, "");
    bytes.data[2] = 200; /* the version */
    tiers_put(&p.t, p.sources[0], p.press, VV_SPACE_HOUR, &unit, 0, false, &bytes);
    expect_broken(&p, VV_NEWER, "newer");
    vv_buffer_clear(&bytes);
    vv_unit_write(&bytes, VV_UNIT_STALE, &other);
    tiers_put(&p.t, p.sources[0], p.press, VV_SPACE_HOUR, &unit, 0, false, &bytes);
    expect_broken(&p, VV_CORRUPT, "not of its unit");
    vv_buffer_clear(&bytes);
    vv_unit_write(&bytes, VV_UNIT_STALE, &unit);
    tiers_put(&p.t, p.sources[0], p.press, VV_SPACE_HOUR, &unit, 0, false, &bytes);
    expect_broken(&p, VV_CORRUPT, "not of its unit");
    vv_buffer_deinit(&bytes);
    place_deinit(&p);
}

/* ---- bounds ---- */

static void little_memory_makes_windows_narrow(void **state)
{
    (void)state;
    struct place p;
    place_init(&p);
    build_all(&p);
    const char *const *words = ASK("from=2024-09-15", "to=2024-09-25", "step=1h", "source=a",
                                   "metric=press.temp", "agg=count,sum,p90");
    json_t *before = keep_answer(&p, words);
    uint64_t steps = steps_of(&p, VV_SPACE_HOUR);
    uint64_t pieces = p.f.facts.pieces_read;
    p.f.limits.memory_bytes_max = 40 << 10;
    check_kept(&p, before, words);
    assert_int_equal(steps_of(&p, VV_SPACE_HOUR), steps);
    assert_true(p.f.facts.pieces_read > pieces); /* some were read twice */
    before = keep_answer(&p, words);
    p.f.limits.memory_bytes_max = 4 << 10;
    expect_error(&p.f, VV_REQUEST_QUERY, words, VV_TOO_LARGE, "query.memory_bytes_max");
    json_decref(before);
    place_deinit(&p);
}

static void no_failing_allocation_gives_another_answer(void **state)
{
    (void)state;
    struct place p;
    place_init(&p);
    build(&p, VV_SPACE_MINUTE, START, START + 2 * VV_DAY);
    build(&p, VV_SPACE_HOUR, START, START + VV_DAY);
    fixture_point(&p.f, p.sources[0], p.metrics[1], START + VV_HOUR, 5);
    struct vv_unit unit = tiers_unit(&p.t, p.sources[0], VV_SPACE_HOUR, START + VV_DAY);
    tiers_build_rows(&p.t, p.sources[0], p.press, VV_SPACE_HOUR, &unit);
    const char *const *words = WORDS("format=csv", "from=2024-09-14T01:02:03Z", "to=2024-09-16",
                                     "step=6h", "agg=count,p90", "source=a");
    char *expected;
    assert_int_equal(fixture_answer(&p.f, VV_REQUEST_QUERY, words, 1 << 20, &expected), VV_OK);
    bool failed = true;
    for (uint64_t k = 1; failed; k += 1 + k / 40) {
        char *text;
        vv_sim_memory_fail(k);
        enum vv_status status = fixture_answer(&p.f, VV_REQUEST_QUERY, words, 1 << 20, &text);
        failed = vv_sim_memory_failed();
        if (status == VV_OK) {
            assert_string_equal(text, expected);
            free(text);
        } else {
            assert_int_equal(status, VV_NO_MEMORY);
        }
    }
    free(expected);
    place_deinit(&p);
}

/* What was read of a measurement serves its next metric only while the head has dropped nothing. */
static void what_is_flushed_in_the_middle_is_in_what_follows(void **state)
{
    (void)state;
    struct place p;
    place_init(&p);
    build_all(&p);
    int64_t late = START + 3 * VV_DAY + 5;
    fixture_point(&p.f, p.sources[0], p.metrics[1], late, 190);
    const char *const *words = WORDS("format=csv", "from=2024-09-15", "to=2024-09-20", "step=1d",
                                     "agg=count,sum", "source=a", "metric=press.*");
    char *expected;
    struct vv_request *request;
    struct vv_result *result;
    struct vv_buffer buffer = {0};
    assert_int_equal(fixture_request(&p.f, VV_REQUEST_QUERY, words, &request), VV_OK);
    assert_int_equal(
        vv_result_open(&p.f.context, &p.f.limits, request, VV_FORMAT_JSON, &result, &p.f.error),
        VV_OK);
    bool flushed = false;
    enum vv_status status = VV_OK;
    while (status == VV_OK) {
        status = vv_result_write(result, &buffer, 1, &p.f.error);
        if (!flushed && buffer.size > 60) {
            flushed = true;
            fixture_point(&p.f, p.sources[0], p.metrics[1], late + VV_DAY, 180);
            fixture_flush(&p.f);
            tiers_soil(&p.t, p.sources[0], p.press, late);
            tiers_soil(&p.t, p.sources[0], p.press, late + VV_DAY);
        }
    }
    assert_int_equal(status, VV_DONE);
    assert_true(flushed);
    vv_result_close(result);
    vv_buffer_u8(&buffer, 0);
    assert_int_equal(fixture_answer(&p.f, VV_REQUEST_QUERY, words, 1 << 20, &expected), VV_OK);
    cut_facts((char *)buffer.data);
    cut_facts(expected);
    assert_string_equal((const char *)buffer.data, expected);
    vv_buffer_deinit(&buffer);
    free(expected);
    place_deinit(&p);
}

/* ---- what is told ---- */

static void the_answer_names_its_tiers(void **state)
{
    (void)state;
    struct place p;
    place_init(&p);
    build(&p, VV_SPACE_HOUR, START, START + 4 * VV_DAY);
    json_t *json = ask_json(&p.f, VV_REQUEST_QUERY,
                            WORDS("from=2024-09-15", "to=2024-09-19", "step=2h", "agg=p90",
                                  "source=a", "metric=press.temp"));
    json_t *facts = json_object_get(json, "facts");
    assert_string_equal(json_string_value(json_object_get(facts, "tier")), "hour");
    assert_string_equal(json_string_value(json_object_get(facts, "resolution")), "2h");
    char *tiers = json_dumps(json_object_get(facts, "tiers"), JSON_COMPACT);
    assert_string_equal(tiers, "[{\"tier\":\"hour\",\"step\":\"1h\",\"steps\":72,\"parts\":3,"
                               "\"from\":\"2024-09-15T00:00:00Z\",\"to\":\"2024-09-18T00:00:00Z\","
                               "\"sealed_until\":\"2024-09-18T00:00:00Z\"},"
                               "{\"tier\":\"raw\",\"parts\":1,\"from\":\"2024-09-18T00:00:00Z\","
                               "\"to\":\"2024-09-19T00:00:00Z\"}]");
    free(tiers);
    json_decref(json);
    json = ask_json(&p.f, VV_REQUEST_QUERY,
                    WORDS("from=2024-09-15", "to=2024-09-19", "step=2h", "agg=p90", "tier=raw"));
    facts = json_object_get(json, "facts");
    assert_string_equal(json_string_value(json_object_get(facts, "tier")), "raw");
    assert_null(json_object_get(facts, "tiers"));
    json_decref(json);
    place_deinit(&p);
}

/* What is answered is what it would be if that step had been asked for. */
static void check_as_by_step(struct place *p, const char *const *words, const char *resolution,
                             const json_t *chosen)
{
    const char *asked[8] = {NULL};
    char step[32];
    size_t n = 0;
    for (size_t i = 0; words[i]; i++) {
        if (strncmp(words[i], "points=", 7) != 0 && strncmp(words[i], "tier=", 5) != 0) {
            asked[n++] = words[i];
        }
    }
    snprintf(step, sizeof step, "step=%s", resolution);
    asked[n] = step;
    json_t *json = ask_json(&p->f, VV_REQUEST_QUERY, asked);
    assert_true(json_equal(json_object_get(json, "series"), json_object_get(chosen, "series")));
    json_decref(json);
}

static void check_resolution(struct place *p, const char *const *words, const char *resolution,
                             const char *tier)
{
    json_t *json = ask_json(&p->f, VV_REQUEST_QUERY, words);
    json_t *facts = json_object_get(json, "facts");
    const char *got = json_string_value(json_object_get(facts, "resolution"));
    assert_string_equal(got ? got : "", resolution);
    assert_string_equal(json_string_value(json_object_get(facts, "tier")), tier);
    if (resolution[0]) {
        check_as_by_step(p, words, resolution, json);
    }
    json_decref(json);
}

static void a_step_is_chosen_by_points_or_tier(void **state)
{
    (void)state;
    struct place p;
    place_init(&p);
    build_all(&p);
    check_resolution(&p, ASK("from=2024-09-15", "to=2024-09-25", "points=800", "agg=count"), "30m",
                     "minute");
    check_resolution(&p, ASK("from=2024-09-15", "to=2024-09-25", "points=100", "agg=count"), "3h",
                     "hour");
    check_resolution(&p,
                     ASK("from=2024-09-15", "to=2024-09-25", "points=100", "agg=count",
                         "tier=minute", "fill=zero"),
                     "3h", "minute");
    check_resolution(&p,
                     ASK("from=2024-09-15", "to=2024-09-25", "points=1", "agg=count", "fill=zero"),
                     "", "day");
    check_resolution(&p, ASK("from=2024-09-15", "to=2024-09-25", "tier=hour", "agg=count"), "1h",
                     "hour");
    check_resolution(&p, ASK("from=2024-09-15", "to=2024-09-25", "tier=auto", "agg=count"), "1h",
                     "hour");
    check_resolution(&p, ASK("from=2024-09-15", "to=2024-09-17", "tier=auto", "agg=count"), "1m",
                     "minute");
    check_resolution(&p, ASK("from=2024-09-15", "to=2024-09-17", "agg=count"), "", "day");
    check_resolution(&p, ASK("from=2024-09-15", "to=2024-09-17", "agg=count", "tier=raw"), "",
                     "raw");
    check_resolution(&p, ASK("from=2024-09-15", "to=2024-09-15T01:00:00Z"), "", "raw");
    expect_error(&p.f, VV_REQUEST_QUERY, ASK("from=2024-09-15", "tier=hour"), VV_INVALID,
                 "needs raw points");
    place_deinit(&p);
}

/* Where the step that the range would have is not kept so far back. */
static void a_chosen_step_is_one_that_is_kept(void **state)
{
    (void)state;
    struct place p;
    place_init(&p);
    build_all(&p);
    vv_registry_set_retention(p.f.registry, p.f.tenant, 3 * VV_DAY);
    tiers_keep(&p.t, VV_SPACE_MINUTE, 5 * VV_DAY);
    tiers_keep(&p.t, VV_SPACE_HOUR, 12 * VV_DAY);
    check_resolution(&p, ASK("from=2024-09-24", "to=2024-09-25", "points=800", "agg=count"), "1h",
                     "hour");
    check_resolution(&p, ASK("from=2024-09-16", "to=2024-10-01", "points=800", "agg=count"), "1d",
                     "day");
    check_resolution(&p, ASK("from=2024-09-24", "to=2024-09-27", "tier=auto", "agg=count"), "1h",
                     "hour");
    check_resolution(&p,
                     ASK("from=2024-09-24", "to=2024-09-27", "points=100", "tier=day", "agg=count"),
                     "1d", "day");
    check_resolution(
        &p, ASK("from=2024-09-16", "to=2024-10-01", "points=800", "agg=count", "group_by=all"),
        "1d", "day");
    check_resolution(&p, ASK("from=2024-10-02", "to=2024-10-03", "points=800", "agg=count"), "2m",
                     "minute");
    expect_error(&p.f, VV_REQUEST_QUERY,
                 ASK("from=2024-09-24", "to=2024-09-25", "points=800", "agg=rate"), VV_INVALID,
                 "needs raw points");
    expect_error(&p.f, VV_REQUEST_QUERY, ASK("from=2024-09-24", "step=1m", "agg=count"), VV_INVALID,
                 "step of 1h");
    expect_error(&p.f, VV_REQUEST_QUERY, ASK("from=2024-09-24", "tier=raw", "agg=count"),
                 VV_INVALID, "tier=raw goes back to ");
    place_deinit(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_raw_data_no_longer_holds_comes_from_tiers),
        cmocka_unit_test(sketches_are_read_for_percentiles_only),
        cmocka_unit_test(records_that_lie_far_apart_are_found),
        cmocka_unit_test(what_a_tier_no_longer_keeps_is_not_shown),
        cmocka_unit_test(an_answer_says_from_when_on_anything_is_kept),
        cmocka_unit_test(what_is_stale_but_all_there_is_counts),
        cmocka_unit_test(what_is_stale_counts_as_far_as_nothing_finer_is_there),
        cmocka_unit_test(a_tier_that_is_away_is_left_out_where_that_is_allowed),
        cmocka_unit_test(damaged_and_newer_records_are_named),
        cmocka_unit_test(little_memory_makes_windows_narrow),
        cmocka_unit_test(no_failing_allocation_gives_another_answer),
        cmocka_unit_test(what_is_flushed_in_the_middle_is_in_what_follows),
        cmocka_unit_test(the_answer_names_its_tiers),
        cmocka_unit_test(a_step_is_chosen_by_points_or_tier),
        cmocka_unit_test(a_chosen_step_is_one_that_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
