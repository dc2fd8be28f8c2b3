/* SPDX-License-Identifier: Apache-2.0 */
/* Questions about many sources: cohorts answer where they can, and the answer is the same. */
#include "tier_place.h"

#include "query/group_walk.h"

#define ALL_SOURCES(...) ASK("from=2024-09-15", "to=2024-10-01", "group_by=all", __VA_ARGS__)

static void init(struct place *p)
{
    place_init(p);
    for (int source = 0; source < SOURCES; source++) { /* one has steps, one keeps its points */
        write_series(p, source, 1, START + 2 * VV_DAY, START + 5 * VV_DAY,
                     source == 0 ? 30 * VV_SECOND : 13 * VV_MINUTE);
    }
    fixture_flush(&p->f);
    fixture_seal(&p->f);
}

static uint64_t cohorts_of(const struct place *p)
{
    return p->f.facts.tiers[VV_SPACE_HOUR].cohorts + p->f.facts.tiers[VV_SPACE_DAY].cohorts;
}

static uint64_t steps(const struct place *p)
{
    return steps_of(p, VV_SPACE_HOUR) + steps_of(p, VV_SPACE_DAY);
}

static void all_sources_are_answered_by_their_cohort(void **state)
{
    (void)state;
    struct place p;
    init(&p);
    check_same(&p, ALL_SOURCES("step=1h", ALL_AGG));
    assert_true(cohorts_of(&p) > 0);
    assert_int_equal(cohorts_of(&p), p.f.facts.tiers[VV_SPACE_HOUR].parts);
    assert_int_equal(steps(&p), 16 * 24 * METRICS);
    assert_int_equal(raw_parts(&p), 0);
    check_same(&p, ALL_SOURCES("step=1d", ALL_AGG));
    check_same(&p, ALL_SOURCES("step=7d", "order=desc", ALL_AGG));
    check_same(&p, ALL_SOURCES(ALL_AGG));
    check_same(&p, ALL_SOURCES("step=1d", "tz=Asia/Tokyo", ALL_AGG));
    assert_true(cohorts_of(&p) > 0);
    place_deinit(&p);
}

static void the_answer_names_what_is_of_cohorts(void **state)
{
    (void)state;
    struct place p;
    char *text;
    init(&p);
    const char *const *words = WORDS("format=csv", "step=6h", "agg=count", "metric=press.temp",
                                     "group_by=all", "from=2024-09-16", "to=2024-09-18");
    assert_int_equal(fixture_answer(&p.f, VV_REQUEST_QUERY, words, 1 << 20, &text), VV_OK);
    assert_non_null(strstr(text, "# tier hour: 2024-09-16T00:00:00Z to 2024-09-18T00:00:00Z, "
                                 "48 steps of 1h, in 2 of 2 parts of many sources at once, "
                                 "sealed until 2024-09-18T00:00:00Z\n"));
    free(text);
    json_t *answer =
        ask_json(&p.f, VV_REQUEST_QUERY, ALL_SOURCES("step=6h", "agg=count", "metric=press.temp"));
    json_t *tier = json_array_get(json_object_get(json_object_get(answer, "facts"), "tiers"), 0);
    assert_int_equal(json_integer_value(json_object_get(tier, "cohorts")), 16);
    json_decref(answer);
    place_deinit(&p);
}

static enum vv_status take_record(void *context, const struct vv_piece *piece)
{
    if (piece->kind == VV_PIECE_BLOCK && piece->part == 0) {
        vv_buffer_clear(context);
        vv_buffer_str(context, piece->bytes);
    }
    return VV_OK;
}

/* The cohort's record of the unit, of which the head is right and the steps are not. */
static void spoil_steps(struct place *p, const struct vv_unit *unit, struct vv_buffer *bytes)
{
    struct vv_tiers tiers = vv_registry_tiers(p->f.registry, p->f.tenant);
    struct vv_span_key key = vv_unit_key(VV_SPACE_HOUR, tiers.spaces[VV_SPACE_HOUR],
                                         vv_cohort_of(p->sources[0]), p->press, unit->from);
    const struct vv_store_read read = {.partition = key.partition,
                                       .measurement = p->press,
                                       .span_from = unit->from,
                                       .span_to = unit->from + 1};
    vv_buffer_clear(bytes);
    assert_int_equal(p->f.store->ops->read(p->f.store, &read, take_record, bytes, NULL), VV_OK);
    assert_true(bytes->size > 400);
    bytes->data[200] ^= 0xff;
}

static void a_part_of_a_cohort_is_answered_source_by_source(void **state)
{
    (void)state;
    struct place p;
    init(&p);
    check_same(&p, ALL_SOURCES("step=1h", "source=a", ALL_AGG));
    assert_int_equal(cohorts_of(&p), 0);
    check_same(&p, ASK("from=2024-09-15", "group_by=site", "step=1h", ALL_AGG));
    assert_int_equal(cohorts_of(&p), 0);
    check_same(&p, ALL_SOURCES("step=1h", "source=a", "source=b", ALL_AGG));
    assert_true(cohorts_of(&p) > 0);
    place_deinit(&p);
}

static void what_a_cohort_lacks_comes_from_its_sources(void **state)
{
    (void)state;
    struct place p;
    init(&p);
    const char *const *words = ALL_SOURCES("step=6h", ALL_AGG, "metric=press.temp");
    check_same(&p, words);
    uint64_t cohorts = cohorts_of(&p);
    /* The second source: the head is looked at for each. */
    fixture_point(&p.f, p.sources[1], p.metrics[1], START + 3 * VV_DAY + 5, 190);
    check_same(&p, words);
    assert_int_equal(cohorts_of(&p), cohorts - 1);
    fixture_flush(&p.f);
    check_same(&p, words);
    assert_int_equal(cohorts_of(&p), cohorts - 1);
    fixture_seal(&p.f);
    check_same(&p, words);
    assert_int_equal(cohorts_of(&p), cohorts);
    check_same(&p, ASK("from=2024-09-16T05:17:03Z", "to=2024-09-20T07:11:00Z", "group_by=all",
                       "step=3h", ALL_AGG));
    assert_true(cohorts_of(&p) > 0);
    place_deinit(&p);
}

/* Of a record of theirs that can't be read, and of all behind it, each is asked. */
static void a_damaged_record_of_a_cohort_is_answered_source_by_source(void **state)
{
    (void)state;
    static const uint8_t rubbish[] = "no record of a tier at all, and long enough for one";
    for (int kind = 0; kind < 4; kind++) {
        struct place p;
        init(&p);
        const char *const *words = ALL_SOURCES("step=1h", ALL_AGG);
        check_same(&p, words);
        uint64_t cohorts = cohorts_of(&p);
        struct vv_unit unit = tiers_unit(&p.t, p.sources[0], VV_SPACE_HOUR, START + 3 * VV_DAY);
        struct vv_buffer bytes = {0};
        if (kind > 0) {
            vv_unit_write(&bytes, VV_UNIT_STEPS, &unit);
        }
        vv_buffer_append(&bytes, rubbish, sizeof rubbish);
        if (kind == 2) {
            bytes.data[2] = 200; /* the version */
        } else if (kind == 3) {
            spoil_steps(&p, &unit, &bytes);
        }
        tiers_put(&p.t, vv_cohort_of(p.sources[0]), p.press, VV_SPACE_HOUR, &unit, 0, false,
                  &bytes);
        check_same(&p, words);
        assert_in_range(cohorts_of(&p), 1, cohorts - 1);
        check_same(&p, ALL_SOURCES("step=1d", ALL_AGG));
        vv_buffer_deinit(&bytes);
        place_deinit(&p);
    }
}

static void a_new_source_is_in_the_answer(void **state)
{
    (void)state;
    struct place p;
    init(&p);
    uint32_t late = fixture_source(&p.f, "c", "east");
    for (int i = 0; i < 100; i++) {
        fixture_point(&p.f, late, p.metrics[1], START + 3 * VV_DAY + i * VV_MINUTE, 7);
    }
    const char *const *words = ALL_SOURCES("step=1d", ALL_AGG, "metric=press.temp");
    check_same(&p, words);
    fixture_flush(&p.f);
    check_same(&p, words);
    fixture_seal(&p.f);
    check_same(&p, words);
    assert_true(cohorts_of(&p) > 0);
    place_deinit(&p);
}

static void more_gaps_than_are_kept_are_one(void **state)
{
    (void)state;
    struct place p;
    place_init(&p);
    const int days = 3 * VV_COHORT_GAPS_MAX;
    for (int day = 1; day <= days; day++) {
        for (int source = 0; source < SOURCES; source++) {
            fixture_point(&p.f, p.sources[source], p.metrics[1], START - day * VV_DAY + 1, day);
        }
    }
    fixture_flush(&p.f);
    fixture_seal(&p.f);
    const char *const *words = ASK("group_by=all", "step=1h", ALL_AGG, "metric=press.temp");
    check_same(&p, words);
    uint64_t cohorts = cohorts_of(&p);
    assert_true(cohorts >= (uint64_t)days);
    for (int day = 1; day <= days; day += 2) { /* the head has something of every other day */
        fixture_point(&p.f, p.sources[day % 3 == 0], p.metrics[1], START - day * VV_DAY + 2, 11);
    }
    check_same(&p, words);
    assert_true(cohorts_of(&p) < VV_COHORT_GAPS_MAX + 2);
    assert_true(cohorts_of(&p) > VV_COHORT_GAPS_MAX / 2);
    place_deinit(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_sources_are_answered_by_their_cohort),
        cmocka_unit_test(the_answer_names_what_is_of_cohorts),
        cmocka_unit_test(a_part_of_a_cohort_is_answered_source_by_source),
        cmocka_unit_test(what_a_cohort_lacks_comes_from_its_sources),
        cmocka_unit_test(a_new_source_is_in_the_answer),
        cmocka_unit_test(more_gaps_than_are_kept_are_one),
        cmocka_unit_test(a_damaged_record_of_a_cohort_is_answered_source_by_source),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
