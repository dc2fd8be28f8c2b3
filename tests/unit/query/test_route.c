/* SPDX-License-Identifier: Apache-2.0 */
/* Which tiers answer what, and what is said where none does. */
#include "query/route.h"

#include "base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define NOW INT64_C(1728043200000000000) /* 2024-10-04T12:00:00Z */

static const struct vv_zone *zone_of(const char *name)
{
    const struct vv_zone *zone = NULL;
    assert_int_equal(vv_zone_find(vv_str_of(name), &zone, NULL), VV_OK);
    return zone;
}

/* Letters of the tiers that are on: m, h, d. */
static struct vv_route_question ask(const char *on, const struct vv_steps *steps)
{
    static const char letters[] = "mhd";
    struct vv_route_question question = {
        .from = steps->from,
        .to = steps->to,
        .has_from = true,
        .slack_ns = VV_ROUTE_SLACK_NS,
        .kept_from = steps->from,
        .kept_to = steps->to,
        .steps = steps,
        .raw_oldest = VV_TIME_MIN,
        .raw_whole_from = VV_TIME_MIN,
    };
    for (int tier = 0; tier < VV_SPACES; tier++) {
        question.tiers[tier].is_on = strchr(on, letters[tier]) != NULL;
        question.tiers[tier].space = 100 + (uint32_t)tier;
        question.tiers[tier].oldest = VV_TIME_MIN;
        question.tiers[tier].lacked_before = VV_TIME_MIN;
    }
    return question;
}

/* The letters of a route's levels in their order; "" for raw points alone. */
static const char *letters_of(const struct vv_route *route)
{
    static char text[VV_SPACES + 1];
    memset(text, 0, sizeof text);
    for (size_t i = 0; i < route->n; i++) {
        text[i] = "mhd"[route->levels[i].tier];
        assert_int_equal(route->levels[i].space, 100 + route->levels[i].tier);
    }
    return text;
}

static void the_coarsest_tier_that_divides_comes_first(void **state)
{
    (void)state;
    static const struct {
        int64_t step_ns;
        const char *zone;
        const char *on;
        enum vv_tier_wish wish;
        const char *levels;
    } cases[] = {
        {VV_DAY, NULL, "mhd", VV_TIER_UNSAID, "dhm"},
        {7 * VV_DAY, NULL, "mhd", VV_TIER_AUTO, "dhm"},
        {VV_DAY, NULL, "md", VV_TIER_UNSAID, "dm"},
        {VV_DAY, NULL, "", VV_TIER_UNSAID, ""},
        {36 * VV_HOUR, NULL, "mhd", VV_TIER_UNSAID, "hm"},
        {VV_HOUR, NULL, "mhd", VV_TIER_UNSAID, "hm"},
        {VV_HOUR, NULL, "mhd", VV_TIER_MINUTE, "m"},
        {VV_HOUR, NULL, "mhd", VV_TIER_RAW, ""},
        {90 * VV_MINUTE, NULL, "mhd", VV_TIER_UNSAID, "m"},
        {90 * VV_SECOND, NULL, "mhd", VV_TIER_UNSAID, ""},
        {VV_SECOND, NULL, "mhd", VV_TIER_UNSAID, ""},
        {0, NULL, "mhd", VV_TIER_UNSAID, "dhm"},
        {0, NULL, "mhd", VV_TIER_HOUR, "hm"},
        {VV_DAY, "Europe/Berlin", "mhd", VV_TIER_UNSAID, "hm"},
        {7 * VV_DAY, "Europe/Berlin", "mhd", VV_TIER_UNSAID, "hm"},
        {VV_DAY, "Asia/Kolkata", "mhd", VV_TIER_UNSAID, "m"},
        {VV_DAY, "Asia/Kolkata", "hd", VV_TIER_UNSAID, ""},
        {VV_HOUR, "Asia/Kolkata", "mhd", VV_TIER_UNSAID, "hm"}, /* only days are local */
        {VV_DAY, "Africa/Monrovia", "mhd", VV_TIER_UNSAID, "hm"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct vv_steps steps;
        struct vv_route route;
        struct vv_error error = {0};
        vv_steps_init(&steps, cases[i].step_ns, cases[i].zone ? zone_of(cases[i].zone) : NULL,
                      NOW - 400 * VV_DAY, NOW);
        struct vv_route_question question = ask(cases[i].on, &steps);
        question.wish = cases[i].wish;
        enum vv_status status = vv_route_choose(&question, &route, &error);
        if (status != VV_OK || strcmp(letters_of(&route), cases[i].levels) != 0) {
            fail_msg("case %zu: '%s' %s", i, letters_of(&route), error.message);
        }
    }
}

static void a_zone_counts_as_it_was_in_the_range(void **state)
{
    (void)state;
    struct vv_steps steps;
    struct vv_route route;
    /* Until January 1972 Liberia's clock was 44 minutes and 30 seconds behind. */
    vv_steps_init(&steps, VV_DAY, zone_of("Africa/Monrovia"), 365 * VV_DAY, NOW);
    struct vv_route_question question = ask("mhd", &steps);
    assert_int_equal(vv_route_choose(&question, &route, NULL), VV_OK);
    assert_string_equal(letters_of(&route), "hm");
    for (size_t i = 0; i < route.n; i++) {
        assert_int_equal(route.levels[i].oldest,
                         INT64_C(63593070) * VV_SECOND); /* 1972-01-07T00:44:30Z */
    }
    vv_steps_init(&steps, VV_DAY, zone_of("Africa/Monrovia"), 365 * VV_DAY, 366 * VV_DAY);
    question = ask("mhd", &steps);
    assert_int_equal(vv_route_choose(&question, &route, NULL), VV_OK);
    assert_string_equal(letters_of(&route), "");
    /* All times: 20 minutes ahead, with seconds until 1937 and without until 1940. */
    vv_steps_init(&steps, VV_DAY, zone_of("Europe/Amsterdam"), VV_TIME_MIN, NOW);
    question = ask("mhd", &steps);
    question.tiers[VV_SPACE_MINUTE].oldest = NOW - VV_DAY;
    assert_int_equal(vv_route_choose(&question, &route, NULL), VV_OK);
    assert_string_equal(letters_of(&route), "hm");
    assert_in_range(-route.levels[0].oldest / VV_DAY, 29 * 365, 38 * 365);
    assert_true(route.levels[1].oldest == NOW - VV_DAY);
    vv_steps_init(&steps, VV_DAY, zone_of("Asia/Kolkata"), VV_TIME_MIN, NOW);
    question = ask("mhd", &steps);
    assert_int_equal(vv_route_choose(&question, &route, NULL), VV_OK);
    assert_string_equal(letters_of(&route), "m");
}

struct refusal {
    int64_t step_ns;
    const char *zone;
    const char *on;
    enum vv_tier_wish wish;
    const char *needs_raw;
    bool has_regions;
    int64_t age[VV_SPACES + 1]; /* minute, hour, day, raw: kept so long; 0: for ever */
    int64_t asked;              /* how far back */
    const char *part;           /* of the message; NULL: no error */
};

static void check_refusal(const struct refusal *refusal, int64_t length_ns)
{
    struct vv_steps steps;
    struct vv_route route;
    struct vv_error error = {0};
    vv_steps_init(&steps, refusal->step_ns, refusal->zone ? zone_of(refusal->zone) : NULL,
                  NOW - refusal->asked, NOW - refusal->asked + length_ns);
    struct vv_route_question question = ask(refusal->on, &steps);
    question.wish = refusal->wish;
    question.needs_raw = refusal->needs_raw;
    question.has_regions = refusal->has_regions;
    for (int tier = 0; tier <= VV_SPACES; tier++) {
        int64_t oldest = refusal->age[tier] ? NOW - refusal->age[tier] : VV_TIME_MIN;
        *(tier < VV_SPACES ? &question.tiers[tier].oldest : &question.raw_oldest) = oldest;
    }
    enum vv_status status = vv_route_choose(&question, &route, &error);
    assert_int_equal(status, refusal->part ? VV_INVALID : VV_OK);
    if (refusal->part && !strstr(error.message, refusal->part)) {
        fail_msg("'%s' does not say '%s'", error.message, refusal->part);
    }
}

#define AGES                                                                                       \
    {                                                                                              \
        30 * VV_DAY, 365 * VV_DAY, 0, 7 * VV_DAY                                                   \
    }

#define POINTS_A_WEEK                                                                              \
    {                                                                                              \
        0, 0, 0, 7 * VV_DAY                                                                        \
    }

static void what_cannot_be_had_is_an_error_that_says_what_can(void **state)
{
    (void)state;
    static const struct refusal refusals[] = {
        {VV_HOUR, NULL, "mh", VV_TIER_DAY, NULL, false, {0}, VV_DAY, "tier=day is off"},
        {VV_HOUR, NULL, "mh", VV_TIER_DAY, NULL, false, {0}, VV_DAY, "there is hour, minute, raw"},
        {VV_HOUR, NULL, "mhd", VV_TIER_DAY, NULL, false, {0}, VV_DAY, "of which steps of 1h"},
        {90 * VV_MINUTE, NULL, "mhd", VV_TIER_HOUR, NULL, false, {0}, VV_DAY, "tier=minute, raw"},
        {VV_DAY,
         "Asia/Kolkata",
         "mhd",
         VV_TIER_HOUR,
         NULL,
         false,
         {0},
         VV_DAY,
         "in this time zone"},
        {0, NULL, "mhd", VV_TIER_HOUR, "where", false, {0}, VV_DAY, "where needs raw points"},
        {VV_HOUR, NULL, "mhd", VV_TIER_HOUR, NULL, true, {0}, VV_DAY, "other regions"},
        {VV_HOUR, NULL, "mhd", VV_TIER_UNSAID, NULL, true, {0}, VV_DAY, NULL},
        /* Expired. */
        {VV_SECOND, NULL, "mhd", VV_TIER_UNSAID, NULL, false, AGES, 20 * VV_DAY, "tier=minute"},
        {VV_SECOND, NULL, "mhd", VV_TIER_UNSAID, NULL, false, AGES, 200 * VV_DAY, "tier=hour"},
        {VV_SECOND, NULL, "mhd", VV_TIER_UNSAID, NULL, false, AGES, 900 * VV_DAY, "tier=day"},
        {VV_SECOND, NULL, "mhd", VV_TIER_UNSAID, NULL, false, AGES, 900 * VV_DAY,
         "from 2024-09-27T12:00:00Z on"},
        {VV_SECOND, NULL, "mhd", VV_TIER_UNSAID, NULL, false, AGES, 7 * VV_DAY, NULL},
        {VV_SECOND, NULL, "", VV_TIER_UNSAID, NULL, false, AGES, 900 * VV_DAY, NULL},
        {VV_MINUTE, NULL, "mhd", VV_TIER_UNSAID, NULL, false, AGES, 31 * VV_DAY, "step of 1h"},
        {VV_MINUTE, NULL, "mhd", VV_TIER_UNSAID, NULL, false, AGES, 30 * VV_DAY, NULL},
        {VV_HOUR, NULL, "mhd", VV_TIER_UNSAID, NULL, false, AGES, 300 * VV_DAY, NULL},
        {VV_HOUR, NULL, "mhd", VV_TIER_MINUTE, NULL, false, AGES, 300 * VV_DAY, "tier=hour"},
        {VV_HOUR, NULL, "mhd", VV_TIER_RAW, NULL, false, AGES, 8 * VV_DAY, "tier=minute"},
        {0, NULL, "mhd", VV_TIER_UNSAID, "where", false, AGES, 8 * VV_DAY, "have expired"},
        {0, NULL, "mhd", VV_TIER_UNSAID, "where", false, AGES, 6 * VV_DAY, NULL},
        {0, NULL, "mhd", VV_TIER_UNSAID, NULL, false, AGES, 4000 * VV_DAY, NULL},
        {VV_DAY, "Asia/Kolkata", "mhd", VV_TIER_UNSAID, NULL, false, AGES, 60 * VV_DAY,
         "in this time zone can be had"},
        /* Singapore's clock was half an hour off until 1982. */
        {VV_DAY, "Asia/Singapore", "hd", VV_TIER_UNSAID, NULL, false, POINTS_A_WEEK,
         50 * 365 * VV_DAY, "in this time zone can be had from 1981-12-31T16:00:00Z on"},
        {VV_DAY, "Asia/Singapore", "hd", VV_TIER_HOUR, NULL, false, POINTS_A_WEEK,
         50 * 365 * VV_DAY, "in this time zone can be had from 1981-12-31T16:00:00Z on"},
        {VV_DAY, "Asia/Singapore", "hd", VV_TIER_HOUR, NULL, false, POINTS_A_WEEK,
         40 * 365 * VV_DAY, NULL},
    };
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        check_refusal(&refusals[i], refusals[i].asked);
    }
}

static void a_range_that_has_expired_as_a_whole_is_an_error_however_short(void **state)
{
    (void)state;
    static const struct {
        int64_t step_ns;
        const char *on;
        int64_t asked;
        int64_t length;
        const char *part;
    } cases[] = {
        {VV_SECOND, "mhd", 8 * VV_DAY, 40 * VV_MINUTE, "from 2024-09-27T12:00:00Z on"},
        {VV_SECOND, "mhd", 20 * VV_DAY, VV_DAY, "from 2024-09-27T12:00:00Z on"},
        {VV_MINUTE, "mhd", 8 * VV_DAY, 40 * VV_MINUTE, NULL},
        /* Of the day there are only steps of the day. */
        {VV_DAY, "mhd", 900 * VV_DAY, 10 * VV_HOUR,
         "ask from 2022-04-18T00:00:00Z to 2022-04-19T00:00:00Z"},
        {0, "d", 900 * VV_DAY, 35 * VV_HOUR, "no whole one"},
        {VV_DAY, "mhd", 900 * VV_DAY, 36 * VV_HOUR, NULL},
        {VV_DAY, "mhd", 300 * VV_DAY, VV_HOUR, NULL},
        {VV_DAY, "mhd", VV_HOUR, VV_HOUR, NULL},
        /* What is named is kept as a whole. */
        {VV_HOUR, "h", 365 * VV_DAY + 30 * VV_MINUTE, VV_HOUR - 1,
         "ask from 2023-10-05T12:00:00Z to 2023-10-05T13:00:00Z"},
        {VV_HOUR, "h", 365 * VV_DAY + 30 * VV_MINUTE, 29 * VV_MINUTE, NULL},
        {VV_SECOND, "d", NOW + INT64_C(7000000000000000000), VV_DAY, "tier=day"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct refusal refusal = {.step_ns = cases[i].step_ns,
                                        .on = cases[i].on,
                                        .age = AGES,
                                        .asked = cases[i].asked,
                                        .part = cases[i].part};
        check_refusal(&refusal, cases[i].length);
    }
}

static void what_has_just_expired_is_no_error(void **state)
{
    (void)state;
    const struct refusal just = {VV_SECOND, NULL,  "mhd", VV_TIER_UNSAID,
                                 NULL,      false, AGES,  7 * VV_DAY + VV_ROUTE_SLACK_NS,
                                 NULL};
    check_refusal(&just, just.asked);
}

/* A question about what is twenty days old. All is kept for a hundred days, and there since then.
 */
struct lack {
    int64_t step_ns;
    enum vv_tier_wish wish;
    bool has_choice;
    int64_t since[VV_SPACES + 1]; /* minute, hour, day, raw: whole for so long; 0: all the time */
    int64_t length_ns;            /* of what is asked */
    const char *part;             /* of the message; NULL: no error */
};

static void check_lack(const struct lack *lack, size_t number)
{
    struct vv_steps steps;
    struct vv_route route;
    struct vv_error error = {0};
    int64_t from = NOW - 20 * VV_DAY;
    vv_steps_init(&steps, lack->step_ns, NULL, from, from + lack->length_ns);
    struct vv_route_question question = ask("mhd", &steps);
    question.wish = lack->wish;
    question.has_choice = lack->has_choice;
    for (int tier = 0; tier <= VV_SPACES; tier++) {
        bool is_raw = tier == VV_SPACES;
        int64_t lacked = NOW - (lack->since[tier] ? lack->since[tier] : 100 * VV_DAY - VV_HOUR);
        *(is_raw ? &question.raw_oldest : &question.tiers[tier].oldest) = NOW - 100 * VV_DAY;
        *(is_raw ? &question.raw_whole_from : &question.tiers[tier].lacked_before) = lacked;
    }
    enum vv_status status = vv_route_choose(&question, &route, &error);
    bool says = lack->part ? strstr(error.message, lack->part) != NULL : status == VV_OK;
    if (status != (lack->part ? VV_INVALID : VV_OK) || !says) {
        fail_msg("case %zu: '%s'", number, error.message);
    }
}

static void what_is_missing_of_a_tier_counts_as_expired(void **state)
{
    (void)state;
    static const struct lack lacks[] = {
        {VV_MINUTE, VV_TIER_UNSAID, false, {0}, 20 * VV_DAY, NULL},
        {VV_MINUTE, VV_TIER_UNSAID, false, {5 * VV_DAY}, 20 * VV_DAY, NULL}, /* points have it */
        {VV_MINUTE, VV_TIER_UNSAID, false, {0, 0, 0, 5 * VV_DAY}, 20 * VV_DAY, NULL},
        {VV_MINUTE,
         VV_TIER_UNSAID,
         false,
         {5 * VV_DAY, 0, 0, 4 * VV_DAY},
         20 * VV_DAY,
         "steps of 1m can be had from 2024-09-29T12:00:00Z on: begin there, or take a step of 1h"},
        {VV_MINUTE, VV_TIER_UNSAID, false, {5 * VV_DAY, 0, 0, 4 * VV_DAY}, VV_DAY, "step of 1h"},
        {VV_MINUTE,
         VV_TIER_UNSAID,
         false,
         {5 * VV_DAY, 5 * VV_DAY, 0, 4 * VV_DAY},
         20 * VV_DAY,
         "step of 1d"},
        {VV_HOUR,
         VV_TIER_MINUTE,
         false,
         {5 * VV_DAY, 0, 0, 4 * VV_DAY},
         20 * VV_DAY,
         "tier=hour has them"},
        {VV_HOUR, VV_TIER_UNSAID, false, {5 * VV_DAY, 0, 0, 4 * VV_DAY}, 20 * VV_DAY, NULL},
        {0, VV_TIER_UNSAID, false, {5 * VV_DAY, 0, 0, 4 * VV_DAY}, 20 * VV_DAY, NULL},
        {0, VV_TIER_UNSAID, false, {5 * VV_DAY, 0, 0, 4 * VV_DAY}, VV_HOUR - 1, "no whole one"},
        {0, VV_TIER_UNSAID, false, {0, 0, 0, 4 * VV_DAY}, VV_HOUR - 1, NULL},
        /* No tier has more. */
        {VV_MINUTE,
         VV_TIER_UNSAID,
         false,
         {5 * VV_DAY, 5 * VV_DAY, 5 * VV_DAY, 4 * VV_DAY},
         20 * VV_DAY,
         NULL},
        /* Points that were asked for are what there is of them. */
        {VV_SECOND, VV_TIER_UNSAID, false, {0, 0, 0, 4 * VV_DAY}, 20 * VV_DAY, NULL},
        {VV_SECOND, VV_TIER_RAW, true, {0, 0, 0, 4 * VV_DAY}, 20 * VV_DAY, NULL},
        {VV_SECOND, VV_TIER_AUTO, true, {0, 0, 0, 4 * VV_DAY}, 20 * VV_DAY, "step of 1m"},
        {VV_SECOND, VV_TIER_AUTO, true, {0}, 20 * VV_DAY, NULL},
    };
    for (size_t i = 0; i < sizeof lacks / sizeof lacks[0]; i++) {
        check_lack(&lacks[i], i);
    }
}

static void a_range_without_a_beginning_begins_where_there_is_something(void **state)
{
    (void)state;
    struct vv_steps steps;
    struct vv_route route;
    vv_steps_init(&steps, VV_SECOND, NULL, VV_TIME_MIN, NOW);
    struct vv_route_question question = ask("mhd", &steps);
    question.raw_oldest = NOW - VV_DAY;
    question.has_from = false;
    assert_int_equal(vv_route_choose(&question, &route, NULL), VV_OK);
    assert_true(route.raw_oldest == NOW - VV_DAY);
}

/* Of a range of which another place has what is older. */
static void what_is_to_lie_there_only_later_has_not_expired(void **state)
{
    (void)state;
    struct vv_steps steps;
    struct vv_route route;
    vv_steps_init(&steps, VV_MINUTE, NULL, NOW - 30 * VV_DAY, NOW);
    struct vv_route_question question = ask("h", &steps);
    question.raw_oldest = NOW - VV_DAY;
    assert_int_equal(vv_route_choose(&question, &route, NULL), VV_INVALID);
    question.kept_from = NOW - VV_HOUR;
    assert_int_equal(vv_route_choose(&question, &route, NULL), VV_OK);
    assert_int_equal(route.n, 0);
}

/* ---- steps ---- */

static void a_screen_gets_a_round_step(void **state)
{
    (void)state;
    static const struct {
        int64_t range_ns;
        uint32_t points;
        int64_t step_ns;
    } cases[] = {
        {6 * VV_HOUR, 800, 30 * VV_SECOND},
        {7 * VV_DAY, 800, 15 * VV_MINUTE},
        {90 * VV_DAY, 800, 3 * VV_HOUR},
        {365 * VV_DAY, 800, 12 * VV_HOUR},
        {365 * VV_DAY, 200, 2 * VV_DAY},
        {365 * VV_DAY, 20, 28 * VV_DAY},
        {10 * VV_SECOND, 800, VV_SECOND},
        {1, 2, VV_SECOND},
        {3000 * VV_DAY, 5, 1092 * VV_DAY},
        {VV_DAY, 100000, VV_SECOND},
        {VV_DAY, 1, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t step;
        assert_int_equal(
            vv_route_step(NOW - cases[i].range_ns, NOW, NULL, cases[i].points, &step, NULL), VV_OK);
        if (step != cases[i].step_ns) {
            fail_msg("case %zu: %lld s", i, (long long)(step / VV_SECOND));
        }
    }
    struct vv_error error = {0};
    int64_t step;
    assert_int_equal(vv_route_step(VV_TIME_MIN, NOW, NULL, 10, &step, &error), VV_INVALID);
    assert_non_null(strstr(error.message, "points=10"));
}

static void a_screen_never_gets_more_rows_than_it_asked_for(void **state)
{
    (void)state;
    struct vv_random random = {.state = 2211};
    const struct vv_zone *zones[] = {NULL, zone_of("Europe/Berlin"), zone_of("Asia/Kolkata")};
    printf("seed 2211\n");
    for (int i = 0; i < 3000; i++) {
        int64_t range =
            1 + (int64_t)(vv_random_below(&random, 1000 * VV_DAY) >> vv_random_below(&random, 40));
        int64_t from = (int64_t)vv_random_below(&random, (uint64_t)NOW);
        uint32_t points = 2 + (uint32_t)vv_random_below(&random, 500);
        const struct vv_zone *zone = zones[vv_random_below(&random, 3)];
        int64_t step;
        struct vv_steps steps;
        if (vv_route_step(from, from + range, zone, points, &step, NULL) != VV_OK) {
            continue; /* two points on both sides of a step's begin, however long */
        }
        vv_steps_init(&steps, step, zone, from, from + range);
        uint32_t rows = 0;
        for (int64_t at = vv_steps_start(&steps, from); at < from + range;
             at = vv_steps_next(&steps, at)) {
            rows++;
        }
        if (rows > points) {
            fail_msg("%u rows, not %u", rows, points);
        }
    }
}

static void a_tier_has_a_step_of_its_own(void **state)
{
    (void)state;
    assert_true(vv_route_step_of(VV_TIER_MINUTE, 0, NOW) == VV_MINUTE);
    assert_true(vv_route_step_of(VV_TIER_DAY, 0, VV_HOUR) == VV_DAY);
    assert_true(vv_route_step_of(VV_TIER_RAW, 0, NOW) == 0);
    assert_true(vv_route_step_of(VV_TIER_UNSAID, 0, NOW) == 0);
    assert_true(vv_route_step_of(VV_TIER_AUTO, 0, 6 * VV_HOUR) == VV_SECOND);
    assert_true(vv_route_step_of(VV_TIER_AUTO, 0, 6 * VV_HOUR + 1) == VV_MINUTE);
    assert_true(vv_route_step_of(VV_TIER_AUTO, 0, 7 * VV_DAY) == VV_MINUTE);
    assert_true(vv_route_step_of(VV_TIER_AUTO, 0, 90 * VV_DAY) == VV_HOUR);
    assert_true(vv_route_step_of(VV_TIER_AUTO, VV_TIME_MIN, VV_TIME_MAX) == VV_DAY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_coarsest_tier_that_divides_comes_first),
        cmocka_unit_test(a_zone_counts_as_it_was_in_the_range),
        cmocka_unit_test(what_cannot_be_had_is_an_error_that_says_what_can),
        cmocka_unit_test(a_range_that_has_expired_as_a_whole_is_an_error_however_short),
        cmocka_unit_test(what_has_just_expired_is_no_error),
        cmocka_unit_test(what_is_missing_of_a_tier_counts_as_expired),
        cmocka_unit_test(a_range_without_a_beginning_begins_where_there_is_something),
        cmocka_unit_test(what_is_to_lie_there_only_later_has_not_expired),
        cmocka_unit_test(a_screen_gets_a_round_step),
        cmocka_unit_test(a_screen_never_gets_more_rows_than_it_asked_for),
        cmocka_unit_test(a_tier_has_a_step_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
