/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rerolling through the engine: what was damaged in tiers is found, told and repaired, in slices;
 * and what has expired once is not taken for whole again, whatever retention is set afterwards.
 */
#include "place.h"

#define DAYS 3

static const int64_t start = 20454 * VV_DAY; /* 2026-01-01 */

/* Other tiers than that of minutes are for ever. */
static void set_retention(struct place *place, int64_t raw_ns)
{
    set_retentions(place, raw_ns, 0, 0);
}

static void seal_all(struct place *place)
{
    step_all(place, VV_TASK_SEAL_ALL, 0);
}

/* Some days of two sources and measurements, over and flushed, with all tiers for ever. */
static void begin_unsealed(struct place *place)
{
    begin_empty(place, start + DAYS * VV_DAY);
    set_retention(place, 0);
    struct vv_buffer text = {0};
    for (int minute = 0; minute < DAYS * 24 * 60; minute++) {
        vv_buffer_format(&text, "%s,h=%s v=%d %lld\n", minute % 2 ? "m" : "n",
                         minute % 3 ? "a" : "b", minute, (long long)(start + minute * VV_MINUTE));
    }
    write_text(place, (struct vv_str){(char *)text.data, text.size});
    vv_buffer_deinit(&text);
    flush(place);
    vv_sim_clock_advance(&place->clock, 40 * VV_DAY);
}

static void begin(struct place *place)
{
    begin_unsealed(place);
    seal_all(place);
    expire(place);
}

/* The record of a unit is gone, as far as the store goes. */
static void lose_record(struct place *place, enum vv_space tier, int64_t from)
{
    struct vv_registry *registry = vv_engine_query_context(place->engine)->registry;
    uint32_t tenant;
    struct vv_error error = {0};
    assert_int_equal(vv_registry_tenant(registry, TENANT, false, &tenant, NULL), VV_OK);
    uint32_t space = vv_registry_tiers(registry, tenant).spaces[tier];
    const struct vv_piece none = {.kind = VV_PIECE_BLOCK,
                                  .key = vv_unit_key(tier, space, 0, 0, from)};
    if (place->store->ops->put_blocks(place->store, &none, 1, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
}

static struct vv_rerolled reroll(struct place *place, const char *more, const char *value)
{
    struct vv_request *request;
    struct vv_rerolled rerolled;
    struct vv_error error = {0};
    uint64_t id = 0;
    const struct vv_parameter parameters[] = {{VV_STR_LITERAL("tenant"), TENANT},
                                              {vv_str_of(more), vv_str_of(value)}};
    if (vv_request_parse(VV_REQUEST_REROLL, parameters, more ? 2 : 1, start, &request, &error) !=
            VV_OK ||
        vv_engine_reroll(place->engine, request, &id, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
    uint64_t other;
    assert_int_equal(vv_engine_reroll(place->engine, request, &other, &error), VV_OVERLOAD);
    vv_request_destroy(request);
    step_all(place, VV_TASK_REROLL, 0);
    assert_int_equal(vv_engine_read_reroll(place->engine, id, false, &rerolled, NULL), VV_OK);
    assert_int_equal(rerolled.state, VV_REROLLED_DONE);
    assert_int_equal(rerolled.sources_done, rerolled.sources);
    return rerolled;
}

static void test_lost_records_are_found_told_and_repaired(void **state)
{
    struct place place;
    (void)state;
    begin(&place);
    struct vv_rerolled rerolled = reroll(&place, NULL, NULL);
    /* Of two sources and two measurements: hours of minutes, days of hours, 28 days of days. */
    uint64_t all = rerolled.units[VV_REROLL_SAME];
    assert_int_equal(rerolled.sources, 2);
    assert_int_equal(all, UINT64_C(4) * (DAYS * 24 + DAYS + 1));
    assert_int_equal(rerolled.units[VV_REROLL_MISSING], 0);
    lose_record(&place, VV_SPACE_MINUTE, start + 5 * VV_HOUR);
    lose_record(&place, VV_SPACE_HOUR, start + VV_DAY);
    rerolled = reroll(&place, "dry_run", "true");
    assert_int_equal(rerolled.units[VV_REROLL_SAME], all - 2);
    assert_int_equal(rerolled.units[VV_REROLL_MISSING], 2);
    assert_int_equal(rerolled.repaired, 0);
    assert_int_equal(rerolled.n_examples, 2);
    assert_int_equal(rerolled.examples[0].tier, VV_SPACE_MINUTE);
    assert_int_equal(rerolled.examples[0].result.unit.from, start + 5 * VV_HOUR);
    rerolled = reroll(&place, "tier", "minute");
    assert_int_equal(rerolled.repaired, 1);
    rerolled = reroll(&place, "to", "2026-01-01T05:00:00Z"); /* not in the range */
    assert_int_equal(rerolled.repaired, 0);
    assert_int_equal(step(&place, VV_TASK_SEAL_ALL), VV_DONE);
    rerolled = reroll(&place, NULL, NULL);
    assert_int_equal(rerolled.repaired, 1);
    /* What both sources have together of these hours is made anew. */
    assert_int_equal(step(&place, VV_TASK_SEAL_ALL), VV_OK);
    seal_all(&place);
    rerolled = reroll(&place, NULL, NULL);
    assert_int_equal(rerolled.units[VV_REROLL_SAME], all);
    end(&place);
}

/* Expired data is looked for once in a while only. */
static void test_what_a_new_tenant_has_is_whole_before_expiry_was_looked_at(void **state)
{
    struct place place;
    (void)state;
    begin_unsealed(&place);
    seal_all(&place);
    struct vv_rerolled rerolled = reroll(&place, "dry_run", "true");
    assert_int_equal(rerolled.units[VV_REROLL_SAME], 4 * (DAYS * 24 + DAYS + 1));
    assert_int_equal(rerolled.units[VV_REROLL_EXPIRED], 0);
    end(&place);
}

static void test_what_has_expired_once_is_never_whole_again(void **state)
{
    struct place place;
    (void)state;
    begin(&place);
    set_retention(&place, 41 * VV_DAY); /* of which the first two days are beyond */
    expire(&place);
    set_retention(&place, 0);
    expire(&place);
    lose_record(&place, VV_SPACE_MINUTE, start + 5 * VV_HOUR);
    for (int turn = 0; turn < 2; turn++) { /* also after a restart */
        struct vv_rerolled rerolled = reroll(&place, "tier", "minute");
        assert_int_equal(rerolled.repaired, 0);
        assert_int_equal(rerolled.units[VV_REROLL_MISSING], 0);
        assert_true(rerolled.units[VV_REROLL_EXPIRED] > 0);
        assert_true(rerolled.units[VV_REROLL_SAME] > 0); /* what came later is */
        vv_engine_close(place.engine);
        open_engine(&place);
    }
    end(&place);
}

/* The store fails when that is noted: it is noted again before anything goes. */
static void test_what_expires_is_noted_though_the_store_failed_meanwhile(void **state)
{
    (void)state;
    for (uint32_t run = 0; run < 100; run++) {
        struct place place;
        begin(&place);
        set_retention(&place, 41 * VV_DAY);
        vv_store_memory_fail_later(place.store, VV_IO, run % 20, 1);
        enum vv_status status = step(&place, VV_TASK_EXPIRE);
        vv_store_memory_fail(place.store, VV_OK, 0);
        if (status != VV_OK) { /* all that was not confirmed is gone */
            vv_store_memory_crash(place.store, run);
            vv_sim_clock_advance(&place.clock, VV_MINUTE);
            expire(&place);
        }
        vv_engine_close(place.engine);
        open_engine(&place);
        set_retention(&place, 0);
        expire(&place);
        lose_record(&place, VV_SPACE_MINUTE, start + 5 * VV_HOUR);
        struct vv_rerolled rerolled = reroll(&place, "tier", "minute");
        assert_int_equal(rerolled.units[VV_REROLL_MISSING], 0);
        assert_true(rerolled.units[VV_REROLL_EXPIRED] > 0);
        end(&place);
    }
}

/* How many points all hours of the tier have. */
static long long points_of_hours(struct place *place)
{
    const struct vv_parameter parameters[] = {
        {VV_STR_LITERAL("tenant"), TENANT},
        {VV_STR_LITERAL("metric"), VV_STR_LITERAL("*")},
        {VV_STR_LITERAL("to"), VV_STR_LITERAL("2100-01-01T00:00:00Z")},
        {VV_STR_LITERAL("agg"), VV_STR_LITERAL("count")},
        {VV_STR_LITERAL("step"), VV_STR_LITERAL("1h")},
        {VV_STR_LITERAL("tier"), VV_STR_LITERAL("hour")},
    };
    struct vv_request *request;
    struct vv_result *result;
    struct vv_query_limits limits;
    struct vv_buffer text = {0};
    struct vv_error error = {0};
    enum vv_status status;
    vv_engine_query_limits(place->engine, &limits);
    assert_int_equal(vv_request_parse(VV_REQUEST_QUERY, parameters, 6,
                                      place->clock.clock.wall_ns(&place->clock.clock), &request,
                                      &error),
                     VV_OK);
    assert_int_equal(vv_result_open(vv_engine_query_context(place->engine), &limits, request,
                                    VV_FORMAT_CSV, &result, &error),
                     VV_OK);
    while ((status = vv_result_write(result, &text, 65536, &error)) == VV_OK) {
    }
    assert_int_equal(status, VV_DONE);
    vv_result_close(result);
    vv_buffer_u8(&text, 0);
    assert_int_equal(vv_buffer_status(&text), VV_OK);
    long long n = 0;
    char *rest = NULL;
    for (char *line = strtok_r((char *)text.data, "\r\n", &rest); line;
         line = strtok_r(NULL, "\r\n", &rest)) {
        const char *last = strrchr(line, ',');
        n += line[0] != '#' && last ? atoll(last + 1) : 0;
    }
    vv_buffer_deinit(&text);
    return n;
}

/* Accepted when it was not too old, and stored when what it belongs to has expired: the tiers keep
 * what they have. What comes for the points that are there is in them, as ever. */
static void test_what_is_stored_when_points_have_expired_takes_nothing_from_tiers(void **state)
{
    struct place place;
    (void)state;
    begin(&place);
    long long all = points_of_hours(&place);
    assert_int_equal(all, DAYS * 24 * 60);
    set_retention(&place, 45 * VV_DAY);
    expire(&place);                                                        /* nothing waits */
    write_text(&place, VV_STR_LITERAL("n,h=a v=1 1767243630000000000\n")); /* 05:00:30 */
    vv_sim_clock_advance(&place.clock, 3 * VV_DAY + VV_HOUR); /* the first day expires */
    expire(&place);
    assert_int_equal(points_of_hours(&place), all);
    flush(&place);
    seal_all(&place);
    assert_int_equal(points_of_hours(&place), all);
    write_text(&place, VV_STR_LITERAL("n,h=a v=1 1767470430000000000\n")); /* two days later */
    flush(&place);
    seal_all(&place);
    assert_int_equal(points_of_hours(&place), all + 1);
    end(&place);
}

static void write_late(struct place *place, const char *line)
{
    write_text(place, vv_str_of(line));
    flush(place);
    seal_all(place);
}

/* The same where minutes have expired, too: what came is all that they have, and hours, which have
 * more, are not built of it. Nor does an answer lack what there was while that waits to be built.
 */
static void test_what_came_late_for_what_has_expired_takes_nothing_from_answers(void **state)
{
    (void)state;
    for (int turn = 0; turn < 4; turn++) {
        struct place place;
        int64_t minute_ns = turn % 2 ? 45 * VV_DAY : 0;
        span_ns = turn / 2 ? VV_DAY : VV_HOUR;
        begin(&place);
        long long all = points_of_hours(&place);
        set_retentions(&place, 45 * VV_DAY, minute_ns, 0);
        expire(&place);
        write_text(&place, VV_STR_LITERAL("n,h=a v=1 1767243630000000000\n")); /* 05:00:30 */
        vv_sim_clock_advance(&place.clock, 3 * VV_DAY + VV_HOUR);
        expire(&place);
        set_retentions(&place, 60 * VV_DAY, minute_ns ? 60 * VV_DAY : 0, 0);
        assert_int_equal(points_of_hours(&place), all);
        flush(&place);
        assert_int_equal(points_of_hours(&place), all);
        seal_all(&place);
        assert_int_equal(points_of_hours(&place), all);
        write_late(&place, "n,h=a v=1 1767139200000000000\n"); /* a day that had none */
        assert_int_equal(points_of_hours(&place), all + 1);
        end(&place);
    }
    span_ns = VV_HOUR;
}

/* Hours know that there was nothing in that one, whatever its day has. */
static void test_what_is_loaded_where_nothing_was_is_in_tiers_though_points_have_expired(
    void **state)
{
    struct place place;
    struct vv_buffer text = {0};
    (void)state;
    begin(&place);
    for (int minute = 0; minute < 60; minute++) { /* so that they are steps */
        vv_buffer_format(&text, "g,h=a v=1 %lld\n",
                         (long long)(start + VV_HOUR + minute * VV_MINUTE));
    }
    vv_buffer_u8(&text, 0);
    write_late(&place, (const char *)text.data);
    vv_buffer_deinit(&text);
    long long all = points_of_hours(&place);
    set_retention(&place, 3 * VV_DAY);
    expire(&place);
    expire(&place);
    set_retention(&place, 60 * VV_DAY);
    write_late(&place, "g,h=a v=1 1767243600000000000\n"); /* 05:00 */
    assert_int_equal(points_of_hours(&place), all + 1);
    end(&place);
}

/* Of a span that was to be sealed before all that there is. */
static struct vv_mark overdue_mark(struct place *place)
{
    struct vv_registry *registry = vv_engine_query_context(place->engine)->registry;
    uint32_t tenant;
    assert_int_equal(vv_registry_tenant(registry, TENANT, false, &tenant, NULL), VV_OK);
    return (struct vv_mark){
        .due_ns = start - VV_HOUR,
        .key = {.partition = {.tenant = tenant, .bucket_start = start, .bucket_ns = VV_DAY},
                .span_start = start},
        .span_ns = VV_HOUR,
        .run = 1,
    };
}

/* What was sealed before it was on has no records, and when raw data goes, no points: an hour's
 * record would be made of the few minutes that came late. */
static void test_a_tier_is_whole_from_when_it_was_on_however_far_expiry_is_held_up(void **state)
{
    struct place place;
    (void)state;
    begin_unsealed(&place);
    set_retentions(&place, 0, VV_SPACE_OFF_NS, 0);
    flush(&place);
    expire(&place);
    expire(&place); /* what is off is gone */

    write_text(&place, VV_STR_LITERAL("m,h=a v=1 1770941100000000000\n")); /* five minutes ahead */
    flush(&place);
    seal_all(&place);
    expire(&place);
    const struct vv_mark mark = overdue_mark(&place);
    assert_int_equal(place.store->ops->put_mark(place.store, &mark, NULL), VV_OK);
    expire(&place);
    set_retention(&place, 0);
    expire(&place);
    assert_int_equal(place.store->ops->retire_marks(place.store, &mark, 1, NULL), VV_OK);
    write_text(&place, VV_STR_LITERAL("m,h=a v=1 1767243630000000000\n")); /* 05:00:30 */
    flush(&place);
    vv_sim_clock_advance(&place.clock, 2 * VV_DAY);
    seal_all(&place);
    vv_sim_clock_advance(&place.clock, 60 * VV_DAY);
    seal_all(&place);
    set_retention(&place, 36 * VV_DAY);
    expire(&place);
    struct vv_rerolled rerolled = reroll(&place, "tier", "hour");
    assert_int_equal(rerolled.repaired, 0);
    assert_int_equal(rerolled.units[VV_REROLL_DIFFERENT], 0);
    assert_int_equal(rerolled.units[VV_REROLL_EXPIRED], 2 * DAYS + 2 * 44);
    end(&place);
}

static struct {
    struct vv_store_ops ops;
    const struct vv_store_ops *real;
} bad;

static enum vv_status find_badly(struct vv_store *store, uint8_t region, uint32_t tenant,
                                 uint32_t source, int64_t from, bool forward, int64_t *time_out,
                                 struct vv_error *error)
{
    (void)store;
    (void)region;
    (void)tenant;
    (void)source;
    (void)from;
    (void)forward;
    (void)time_out;
    return vv_error_set(error, VV_CORRUPT, "the store is damaged");
}

/* Each step would tell that the store failed, and nothing be written any more. */
static void test_a_reroll_over_damage_ends_and_writing_goes_on(void **state)
{
    struct place place;
    (void)state;
    begin(&place);
    write_text(&place, VV_STR_LITERAL("m,h=a v=1 1768953600000000000\n")); /* 20 days after */
    flush(&place);
    seal_all(&place);
    bad.real = place.store->ops;
    bad.ops = *bad.real;
    place.store->ops = &bad.ops;
    bad.ops.read = read_badly;
    struct vv_rerolled rerolled = reroll(&place, "tier", "hour");
    assert_int_equal(rerolled.units[VV_REROLL_DAMAGED], 2 * DAYS + 2 * 21);
    assert_string_equal(rerolled.error.message, "");
    bad.ops.read = bad.real->read;
    bad.ops.nearest = find_badly;
    rerolled = reroll(&place, "tier", "hour");
    assert_int_equal(rerolled.units[VV_REROLL_SAME], 4 * DAYS + 1);
    assert_string_equal(rerolled.error.message, "");
    write_text(&place, VV_STR_LITERAL("m,h=a v=1 1767225600000000001\n"));
    flush(&place);
    place.store->ops = bad.real;
    end(&place);
}

static void test_a_reroll_of_nothing_is_refused(void **state)
{
    struct place place;
    struct vv_request *request;
    struct vv_error error = {0};
    uint64_t id;
    const struct vv_parameter parameters[] = {
        {VV_STR_LITERAL("tenant"), TENANT}, {VV_STR_LITERAL("source"), VV_STR_LITERAL("h=nobody")}};
    (void)state;
    begin(&place);
    assert_int_equal(vv_request_parse(VV_REQUEST_REROLL, parameters, 2, start, &request, NULL),
                     VV_OK);
    assert_int_equal(vv_engine_reroll(place.engine, request, &id, &error), VV_NOT_FOUND);
    assert_int_equal(id, 0);
    vv_request_destroy(request);
    end(&place);
}

static void test_a_reroll_can_be_ended(void **state)
{
    struct place place;
    struct vv_request *request;
    struct vv_rerolled rerolled;
    uint64_t id;
    const struct vv_parameter tenant = {VV_STR_LITERAL("tenant"), TENANT};
    (void)state;
    begin(&place);
    assert_int_equal(vv_request_parse(VV_REQUEST_REROLL, &tenant, 1, start, &request, NULL), VV_OK);
    assert_int_equal(vv_engine_reroll(place.engine, request, &id, NULL), VV_OK);
    assert_int_equal(step(&place, VV_TASK_REROLL), VV_OK);
    assert_int_equal(vv_engine_read_reroll(place.engine, id, true, &rerolled, NULL), VV_OK);
    assert_int_equal(rerolled.state, VV_REROLLED_CANCELLED);
    assert_true(rerolled.units[VV_REROLL_SAME] > 0);
    step_all(&place, VV_TASK_REROLL, 0);
    assert_int_equal(vv_engine_read_reroll(place.engine, id, false, &rerolled, NULL), VV_OK);
    assert_int_equal(rerolled.state, VV_REROLLED_CANCELLED);
    assert_int_equal(vv_engine_read_reroll(place.engine, id + 1, false, &rerolled, NULL),
                     VV_NOT_FOUND);
    assert_int_equal(vv_engine_reroll(place.engine, request, &id, NULL), VV_OK); /* another */
    vv_request_destroy(request);
    end(&place); /* in the middle of it */
}

static struct vv_sealing sealing_of(struct place *place, int64_t from, int64_t to)
{
    struct vv_sealing sealing;
    uint32_t part = 0;
    assert_int_equal(
        vv_engine_read_sealing(place->engine, TENANT, from, to, &part, 1, &sealing, NULL), VV_OK);
    assert_int_equal(sealing.damaged, 0);
    return sealing;
}

static void test_what_waits_to_be_sealed_and_built_is_counted(void **state)
{
    struct place place;
    (void)state;
    begin_unsealed(&place);
    uint32_t part = 0;
    struct vv_sealing sealing = sealing_of(&place, VV_TIME_MIN, INT64_MAX);
    assert_int_equal(sealing.spans, 4 * 24 * DAYS);
    assert_int_equal(sealing.units[VV_SPACE_MINUTE], 4 * 24 * DAYS);
    assert_true(sealing.units[VV_SPACE_HOUR] >= 4 * DAYS); /* and of the sources together */
    assert_int_equal(sealing_of(&place, start, start + VV_DAY).spans, 4 * 24);
    assert_int_equal(sealing_of(&place, start, start + VV_DAY).units[VV_SPACE_MINUTE], 4 * 24);
    assert_int_equal(sealing_of(&place, start + DAYS * VV_DAY, INT64_MAX).spans, 0);
    bool only_tiers = false; /* at some time raw spans are all sealed, and tiers are not built */
    while (step(&place, VV_TASK_SEAL_ALL) == VV_OK) {
        sealing = sealing_of(&place, VV_TIME_MIN, INT64_MAX);
        only_tiers = only_tiers || (sealing.spans == 0 && sealing.units[VV_SPACE_HOUR] > 0);
    }
    assert_true(only_tiers);
    sealing = sealing_of(&place, VV_TIME_MIN, INT64_MAX);
    assert_int_equal(sealing.spans + sealing.open, 0);
    for (int tier = 0; tier < VV_SPACES; tier++) {
        assert_int_equal(sealing.units[tier], 0);
    }
    assert_int_equal(vv_engine_read_sealing(place.engine, VV_STR_LITERAL("nobody"), 0, 1, &part, 1,
                                            &sealing, NULL),
                     VV_NOT_FOUND);
    end(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_waits_to_be_sealed_and_built_is_counted),
        cmocka_unit_test(test_lost_records_are_found_told_and_repaired),
        cmocka_unit_test(test_what_a_new_tenant_has_is_whole_before_expiry_was_looked_at),
        cmocka_unit_test(test_what_has_expired_once_is_never_whole_again),
        cmocka_unit_test(test_what_is_stored_when_points_have_expired_takes_nothing_from_tiers),
        cmocka_unit_test(test_what_came_late_for_what_has_expired_takes_nothing_from_answers),
        cmocka_unit_test(
            test_what_is_loaded_where_nothing_was_is_in_tiers_though_points_have_expired),
        cmocka_unit_test(test_what_expires_is_noted_though_the_store_failed_meanwhile),
        cmocka_unit_test(test_a_tier_is_whole_from_when_it_was_on_however_far_expiry_is_held_up),
        cmocka_unit_test(test_a_reroll_over_damage_ends_and_writing_goes_on),
        cmocka_unit_test(test_a_reroll_of_nothing_is_refused),
        cmocka_unit_test(test_a_reroll_can_be_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
