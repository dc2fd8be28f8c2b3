/* SPDX-License-Identifier: Apache-2.0 */
/* A tier that was made to be kept for longer, or switched on again, lacks what had gone by then:
 * who asks for that is told. */
#include "steps_rig.h"

#define OFF     VV_SPACE_OFF_NS
#define POINTS  (24 * EACH) /* of a day of a series */
#define MESSAGE 256

struct asked {
    enum vv_status status; /* VV_OK, or of the error */
    char message[MESSAGE];
    int64_t step_ns;
    uint64_t points;
};

/* The points of a series on the second day, by steps as one or two parameters say. */
static struct asked ask(struct place *place, const char *name, const char *value, const char *tier)
{
    char ends[2][24];
    snprintf(ends[0], sizeof ends[0], "%lld", (long long)(start + VV_DAY));
    snprintf(ends[1], sizeof ends[1], "%lld", (long long)(start + 2 * VV_DAY));
    const struct vv_parameter parameters[] = {
        {VV_STR_LITERAL("tenant"), TENANT},
        {VV_STR_LITERAL("metric"), VV_STR_LITERAL("m.v")},
        {VV_STR_LITERAL("tag"), VV_STR_LITERAL("h=a")},
        {VV_STR_LITERAL("agg"), VV_STR_LITERAL("count")},
        {VV_STR_LITERAL("from"), vv_str_of(ends[0])},
        {VV_STR_LITERAL("to"), vv_str_of(ends[1])},
        {vv_str_of(name), vv_str_of(value)},
        {VV_STR_LITERAL("tier"), vv_str_of(tier ? tier : "")},
    };
    int64_t now = place->clock.clock.wall_ns(&place->clock.clock);
    struct vv_request *request;
    struct vv_result *result = NULL;
    struct vv_query_limits limits;
    struct vv_buffer text = {0};
    struct vv_error error = {0};
    struct asked asked = {0};
    vv_engine_query_limits(place->engine, &limits);
    assert_int_equal(
        vv_request_parse(VV_REQUEST_QUERY, parameters, tier ? 8 : 7, now, &request, &error), VV_OK);
    asked.status = vv_result_open(vv_engine_query_context(place->engine), &limits, request,
                                  VV_FORMAT_CSV, &result, &error);
    snprintf(asked.message, sizeof asked.message, "%s", error.message);
    if (asked.status != VV_OK) {
        return asked;
    }
    enum vv_status status;
    while ((status = vv_result_write(result, &text, 4096, &error)) == VV_OK) {
    }
    assert_int_equal(status, VV_DONE);
    struct vv_result_facts facts;
    vv_result_read_facts(result, &facts);
    asked.step_ns = facts.rows > 0 ? VV_DAY / (int64_t)facts.rows : 0; /* there are no gaps */
    vv_result_close(result);
    vv_buffer_u8(&text, 0);
    for (char *line = strtok((char *)text.data, "\r\n"); line; line = strtok(NULL, "\r\n")) {
        const char *last = line[0] == '#' ? NULL : strrchr(line, ',');
        asked.points += last ? strtoull(last + 1, NULL, 10) : 0;
    }
    vv_buffer_deinit(&text);
    return asked;
}

static void expect_all(struct place *place, const char *name, const char *value, int64_t step_ns)
{
    struct asked asked = ask(place, name, value, NULL);
    assert_string_equal(asked.message, "");
    assert_int_equal(asked.status, VV_OK);
    assert_int_equal(asked.points, POINTS);
    assert_true(asked.step_ns == step_ns);
}

static void expect_refused(struct place *place, const char *step, const char *tier,
                           const char *part)
{
    struct asked asked = ask(place, "step", step, tier);
    assert_int_equal(asked.status, VV_INVALID);
    if (!strstr(asked.message, part)) {
        fail_msg("'%s' does not say '%s'", asked.message, part);
    }
}

static void expect_no_minutes(struct place *place)
{
    expect_refused(place, "1m", NULL, "take a step of 1h");
    expect_refused(place, "30m", NULL, "take a step of 1h");
    expect_refused(place, "1m", "minute", "take a step of 1h");
    expect_refused(place, "1h", "minute", "tier=hour has them");
    expect_all(place, "step", "1h", VV_HOUR);
    expect_all(place, "points", "2000", VV_HOUR);
    expect_all(place, "tier", "auto", VV_HOUR);
}

static void set_minutes(struct place *place, int64_t kept_ns)
{
    const int64_t wanted[VV_SPACES] = {kept_ns, VV_RETENTION_AS_IS, VV_RETENTION_AS_IS};
    struct vv_error error = {0};
    if (vv_engine_set_tiers(place->engine, TENANT, wanted, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
}

/* What it had is gone. */
static void switch_off(struct place *place)
{
    set_minutes(place, OFF);
    flush(place);
    for (int i = 0; i < 3; i++) {
        expire(place);
    }
}

static void one_that_is_kept_for_longer_lacks_what_had_expired(void **state)
{
    (void)state;
    struct place place;
    begin_without_points(&place, 3 * VV_DAY);
    expect_no_minutes(&place);
    set_minutes(&place, 300 * VV_DAY);
    expect_no_minutes(&place);
    expire(&place);
    expect_no_minutes(&place);
    crash(&place, 3);
    expect_no_minutes(&place);
    set_minutes(&place, 0);
    expire(&place);
    crash(&place, 4);
    expire(&place);
    expect_no_minutes(&place);
    end(&place);
}

static void one_that_is_switched_on_again_lacks_what_it_is_built_of(void **state)
{
    (void)state;
    struct place place;
    begin_without_points(&place, 0);
    expect_all(&place, "step", "1m", VV_MINUTE);
    switch_off(&place);
    expect_refused(&place, "1m", NULL, "take a step of 1h");
    set_minutes(&place, 0);
    expect_no_minutes(&place);
    expire(&place);
    expect_no_minutes(&place);
    crash(&place, 3);
    expect_no_minutes(&place);
    end(&place);
}

/* It went on, unseen. */
static void one_that_is_switched_on_before_it_has_gone_lacks_nothing(void **state)
{
    (void)state;
    struct place place;
    begin_without_points(&place, 0);
    expire(&place);
    set_minutes(&place, OFF);
    expect_refused(&place, "1m", NULL, "take a step of 1h");
    set_minutes(&place, 0);
    expect_all(&place, "step", "1m", VV_MINUTE);
    expire(&place);
    expect_all(&place, "step", "1m", VV_MINUTE);
    end(&place);
}

/* Of all, or of one source. */
static void reroll(struct place *place, const char *name, const char *value)
{
    struct vv_request *request;
    struct vv_error error = {0};
    struct vv_rerolled rerolled;
    uint64_t id = 0;
    int64_t now = place->clock.clock.wall_ns(&place->clock.clock);
    const struct vv_parameter parameters[] = {{VV_STR_LITERAL("tenant"), TENANT},
                                              {vv_str_of(name), vv_str_of(value)}};
    assert_int_equal(vv_request_parse(VV_REQUEST_REROLL, parameters, 2, now, &request, &error),
                     VV_OK);
    assert_int_equal(vv_engine_reroll(place->engine, request, &id, &error), VV_OK);
    vv_request_destroy(request);
    step_all(place, VV_TASK_REROLL, 0);
    assert_int_equal(vv_engine_read_reroll(place->engine, id, false, &rerolled, NULL), VV_OK);
    assert_int_equal(rerolled.state, VV_REROLLED_DONE);
}

/* It gets what it lacks by rerolling, before the points go too. */
static void begin_again(struct place *place)
{
    begin_whole(place);
    set_minutes(place, 3 * VV_DAY);
    expire(place);
    set_minutes(place, 0);
    expire(place);
    expect_all(place, "step", "1m", VV_MINUTE);
    switch_off(place);
    expect_all(place, "step", "1m", VV_MINUTE);
    set_minutes(place, 0);
    expire(place);
    expect_all(place, "step", "1m", VV_MINUTE);
}

static void let_points_go(struct place *place)
{
    set_retentions(place, 2 * VV_DAY, 0, 0);
    expire(place);
    crash(place, 3);
    expire(place);
}

static void one_that_was_built_again_lacks_nothing(void **state)
{
    (void)state;
    struct place place;
    begin_again(&place);
    reroll(&place, "dry_run", "false");
    let_points_go(&place);
    expect_all(&place, "step", "1m", VV_MINUTE);
    end(&place);
}

static void one_that_was_not_built_again_lacks_what_was_before(void **state)
{
    (void)state;
    static const char *const some[][2] = {
        {NULL, NULL}, {"tag", "h=a"}, {"measurement", "m"}, {"tier", "hour"}};
    for (size_t i = 0; i < sizeof some / sizeof some[0]; i++) {
        struct place place;
        begin_again(&place);
        if (some[i][0]) {
            reroll(&place, some[i][0], some[i][1]);
        }
        let_points_go(&place);
        expect_refused(&place, "1m", NULL, "take a step of 1h");
        end(&place);
    }
}

/* The points that it lacks are kept for less afterwards. */
static void one_that_is_kept_for_longer_than_it_was_lacks_that_of_the_points(void **state)
{
    (void)state;
    struct place place;
    begin_whole(&place);
    set_minutes(&place, 3 * VV_DAY);
    expire(&place);
    set_minutes(&place, 300 * VV_DAY);
    expire(&place);
    expect_all(&place, "step", "1m", VV_MINUTE);
    let_points_go(&place);
    expect_no_minutes(&place);
    end(&place);
}

/* Nothing else came that would have it built. */
static void a_unit_that_is_open_when_all_is_rerolled_is_built_when_it_is_over(void **state)
{
    (void)state;
    struct place place;
    begin_empty(&place, start + DAYS * VV_DAY);
    expire(&place);
    write_all(&place);
    flush(&place);
    vv_sim_clock_advance(&place.clock, 2 * VV_DAY);
    seal_all(&place);
    set_retentions(&place, 0, OFF, OFF); /* days alone */
    expire(&place);
    reroll(&place, "dry_run", "false");
    vv_sim_clock_advance(&place.clock, 60 * VV_DAY);
    seal_all(&place);
    if (vv_engine_set_retention(place.engine, TENANT, 40 * VV_DAY, NULL) != VV_OK) {
        fail_msg("no retention");
    }
    expire(&place);
    crash(&place, 3);
    expire(&place);
    expect_all(&place, "step", "1d", VV_DAY);
    end(&place);
}

/* Its first points may be history. */
static void one_that_begins_with_its_tenant_lacks_nothing(void **state)
{
    (void)state;
    struct place place;
    for (int first = 0; first < 2; first++) {
        begin_empty(&place, start + DAYS * VV_DAY);
        set_retentions(&place, 0, first ? OFF : 0, 0);
        expire(&place);
        set_retentions(&place, 0, 0, 0); /* or is on before the first of them */
        write_all(&place);
        flush(&place);
        expire(&place);
        vv_sim_clock_advance(&place.clock, 40 * VV_DAY);
        seal_all(&place);
        let_points_go(&place);
        expect_all(&place, "step", "1m", VV_MINUTE);
        end(&place);
    }
}

/* Of history that came when it was on, and is older than that. */
static void one_that_was_never_changed_lacks_nothing(void **state)
{
    (void)state;
    struct place place;
    begin_without_points(&place, 60 * VV_DAY);
    for (int i = 0; i < 10; i++) {
        expire(&place);
        expect_all(&place, "step", "1m", VV_MINUTE);
        vv_sim_clock_advance(&place.clock, 37 * VV_HOUR);
    }
    end(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_is_kept_for_longer_lacks_what_had_expired),
        cmocka_unit_test(one_that_is_switched_on_again_lacks_what_it_is_built_of),
        cmocka_unit_test(one_that_is_switched_on_before_it_has_gone_lacks_nothing),
        cmocka_unit_test(one_that_was_built_again_lacks_nothing),
        cmocka_unit_test(one_that_was_not_built_again_lacks_what_was_before),
        cmocka_unit_test(one_that_is_kept_for_longer_than_it_was_lacks_that_of_the_points),
        cmocka_unit_test(a_unit_that_is_open_when_all_is_rerolled_is_built_when_it_is_over),
        cmocka_unit_test(one_that_begins_with_its_tenant_lacks_nothing),
        cmocka_unit_test(one_that_was_never_changed_lacks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
