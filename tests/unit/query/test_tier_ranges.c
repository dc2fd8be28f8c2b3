/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges that are much longer than what there is: they take as many requests to the store as what
 * is in them, and the facts begin where the answer does. */
#include "tier_place.h"

#define MORE_REQUESTS 70 /* of a series, to pass over what is empty, whatever its length */

static const char *const zones[] = {"tz=UTC", "tz=Europe/Berlin", "tz=Asia/Kolkata",
                                    "tz=America/New_York"};
static const char *const steps[] = {"step=1d", "step=7d"};
static const char *const orders[] = {"order=asc", "order=desc"};
static const char *const groups[] = {"group_by=source", "group_by=all"};

#define N(array) (sizeof(array) / sizeof(array)[0])

/* Of a store of this node's own, or one that others share and that is asked ahead. */
static void begin_store(struct slow *slow, struct place *p, bool is_shared)
{
    slow_init(slow, &p->f, 1);
    slow->may_read = true;
    if (is_shared) {
        slow->ops.shared = &slow_shared_ops;
    } else {
        slow->ops.begin_read = NULL;
    }
}

static unsigned count_requests(struct place *p, bool is_shared, const char *const *words)
{
    struct slow slow;
    begin_store(&slow, p, is_shared);
    json_decref(ask_json(&p->f, VV_REQUEST_QUERY, words));
    p->f.context.store = p->f.store;
    assert_true(p->f.facts.rows > 0);
    return slow.read_at_once + slow.begun + slow.looked;
}

/* ---- requests ---- */

/* The same question of the time since `since` and of longer ranges. */
static void check_requests(struct place *p, const char *since, const char *const *words)
{
    static const char *const froms[] = {"from=1970-01-01", "from=1700-01-01", NULL};
    const char *all[16];
    size_t n = 0;
    for (; words[n]; n++) {
        all[n] = words[n];
    }
    all[n + 1] = NULL;
    for (int is_shared = 0; is_shared < 2; is_shared++) {
        all[n] = since;
        unsigned few = count_requests(p, is_shared, all);
        for (size_t i = 0; i < N(froms); i++) {
            all[n] = froms[i];
            assert_in_range(count_requests(p, is_shared, all), 1, few + MORE_REQUESTS * SOURCES);
        }
    }
}

static void check_all_requests(struct place *p, const char *since)
{
    for (size_t zone = 0; zone < N(zones); zone++) {
        for (size_t i = 0; i < 8; i++) {
            check_requests(p, since,
                           ASK("metric=press.temp", "agg=max,count", zones[zone], steps[i & 1],
                               orders[i >> 1 & 1], groups[i >> 2]));
        }
    }
}

static void years_before_the_first_point_take_hardly_any_requests(void **state)
{
    (void)state;
    struct place p;
    place_init(&p);
    check_all_requests(&p, "from=2024-09-12"); /* nothing is built */
    build_all(&p);
    check_all_requests(&p, "from=2024-09-12");
    fixture_seal(&p.f); /* and cohorts */
    check_all_requests(&p, "from=2024-09-12");
    place_deinit(&p);
}

/* Windows are then of a few units each, of which those without anything may be years. */
static void with_little_memory_it_is_so(void **state)
{
    (void)state;
    struct place p;
    place_init(&p);
    build_all(&p);
    p.f.limits.memory_bytes_max = 40 << 10;
    check_all_requests(&p, "from=2024-09-12");
    place_deinit(&p);
}

/* A device whose clock was wrong has a point of long ago; of that time some offsets from UTC are
 * no whole minutes. */
static void years_between_points_take_hardly_any_requests(void **state)
{
    (void)state;
    struct place p;
    place_init(&p);
    build_all(&p);
    const int64_t lone[] = {-95000 * VV_DAY, -28400 * VV_DAY, 5};
    for (size_t i = 0; i < N(lone); i++) {
        fixture_point(&p.f, p.sources[0], p.metrics[1], lone[i], 7);
    }
    fixture_flush(&p.f);
    check_all_requests(&p, "from=2024-09-12");
    build(&p, VV_SPACE_HOUR, lone[1], lone[1] + 3 * VV_DAY);
    check_all_requests(&p, "from=2024-09-12");
    for (size_t zone = 0; zone < N(zones); zone++) {
        check_same(&p, ASK("metric=press.temp", ALL_AGG, zones[zone], "step=1d"));
        check_same(&p, ASK("metric=press.temp", ALL_AGG, zones[zone], "step=7d", "order=desc"));
    }
    place_deinit(&p);
}

/* ---- facts ---- */

/* The first of all times that the facts name. */
static int64_t first_named(const struct place *p)
{
    int64_t first = INT64_MAX;
    for (int tier = 0; tier <= VV_SPACES; tier++) {
        const struct vv_tier_fact *fact = &p->f.facts.tiers[tier];
        first = fact->parts > 0 && fact->from < first ? fact->from : first;
    }
    return first;
}

static void check_first(struct place *p, bool is_shared, int64_t first, const char *step,
                        const char *zone)
{
    static const char *const froms[] = {"from=1700-01-01", "from=2000-01-01", NULL};
    for (size_t order = 0; order < N(orders); order++) {
        for (size_t from = 0; from < N(froms); from++) {
            count_requests(
                p, is_shared,
                ASK("metric=press.temp", "agg=max", orders[order], step, zone, froms[from]));
            assert_int_equal(first_named(p), first);
        }
    }
}

/* What a node knows of its own store it takes in whole days. */
static void check_first_of_points(struct place *p, const char *step, const char *zone,
                                  int64_t begin)
{
    check_first(p, true, begin, step, zone);
    check_first(p, false, begin > START ? begin : START, step, zone);
    assert_int_equal(raw_parts(p), SOURCES);
}

static void facts_begin_with_the_step_of_the_first_point(void **state)
{
    (void)state;
    struct place p;
    place_init(&p);
    check_first_of_points(&p, "step=1d", "tz=UTC", START);
    check_first_of_points(&p, "step=7d", "tz=UTC", START - 5 * VV_DAY); /* a Saturday */
    check_first_of_points(&p, "step=1d", "tz=Europe/Berlin", START - 2 * VV_HOUR);
    check_first_of_points(&p, "step=1d", "tz=Asia/Kolkata", START - 330 * VV_MINUTE);
    check_first_of_points(&p, "fill=none", "tz=Europe/Berlin", START + 7 * VV_SECOND);
    place_deinit(&p);
}

/* Records of days are of 28 of them. */
static void facts_begin_inside_of_a_record_where_its_first_steps_are_empty(void **state)
{
    (void)state;
    struct place p;
    place_name(&p);
    tiers_init(&p.t, &p.f);
    for (int source = 0; source < SOURCES; source++) {
        write_series(&p, source, 1, START + 7 * VV_SECOND, START + DAYS * VV_DAY, GAP);
    }
    fixture_flush(&p.f);
    build_all(&p);
    for (int is_shared = 0; is_shared < 2; is_shared++) {
        for (size_t zone = 0; zone < N(zones); zone++) {
            check_first(&p, is_shared, START, "step=1d", zones[zone]);
            check_first(&p, is_shared, START, "fill=none", zones[zone]);
        }
    }
    place_deinit(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(years_before_the_first_point_take_hardly_any_requests),
        cmocka_unit_test(with_little_memory_it_is_so),
        cmocka_unit_test(years_between_points_take_hardly_any_requests),
        cmocka_unit_test(facts_begin_with_the_step_of_the_first_point),
        cmocka_unit_test(facts_begin_inside_of_a_record_where_its_first_steps_are_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
