/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A retention that was made longer: what tiers have of points that expired before stays as it is,
 * so what comes for it is refused; what comes for sources that have nothing there gets into all
 * tiers, in however many parts it comes.
 */
#include "steps_rig.h"

#include "base/random.h"

#define OLD (start + 5 * VV_HOUR) /* h=a and h=b had points then */

/* Whether the points of an hour of a series, one every two minutes, are taken; all or none. */
static bool write_hour(struct place *place, const char *series, int64_t from)
{
    struct vv_staging staging;
    struct vv_buffer text = {0};
    enum vv_status outcome = VV_OK;
    for (int i = 0; i < EACH / 2; i++) {
        vv_buffer_format(&text, "%s=%d %lld\n", series, i,
                         (long long)(from + i * 2 * VV_MINUTE + VV_SECOND));
    }
    assert_int_equal(vv_engine_stage(place->engine, TENANT, &staging, NULL), VV_OK);
    parse_text(&staging, (struct vv_str){(char *)text.data, text.size});
    vv_buffer_deinit(&text);
    bool is_taken = staging.refused[VV_REASON_RETENTION] == 0;
    assert_int_equal(is_taken ? staging.points_staged : staging.refused[VV_REASON_RETENTION],
                     EACH / 2);
    vv_engine_account(place->engine, &staging);
    struct vv_batch *batch = vv_staging_take_batch(&staging);
    assert_true(!is_taken == !batch);
    if (batch) {
        vv_engine_submit(place->engine, batch, keep_status, &outcome);
        assert_int_equal(step(place, VV_TASK_COMMIT), VV_OK);
    }
    vv_staging_deinit(&staging);
    assert_int_equal(outcome, VV_OK);
    return is_taken;
}

/* What was replayed is flushed by itself. */
static void flush_all(struct place *place)
{
    for (int i = 0; i < 4; i++) {
        flush(place);
    }
}

static void write_and_seal(struct place *place, const char *series, int64_t from)
{
    assert_true(write_hour(place, series, from));
    flush(place);
    seal_all(place);
}

static void assert_in_tiers(struct place *place, const char *metric, const char *tag, uint64_t n)
{
    assert_int_equal(minutes(place, metric, tag), n);
    assert_int_equal(hours(place, metric, tag), n);
    assert_int_equal(days(place, metric, tag), n);
}

static void assert_has(struct place *place, const char *metric, const char *tag, uint64_t n)
{
    assert_int_equal(count(place, "raw", "1m", metric, tag), n);
    assert_in_tiers(place, metric, tag, n);
}

/* Points are kept for two days, and then for ever. */
static void make_longer(struct place *place)
{
    set_retentions(place, 2 * VV_DAY, 0, 0);
    expire(place);
    set_retentions(place, 0, 0, 0);
}

static void begin_lengthened(struct place *place)
{
    begin_whole(place);
    make_longer(place);
    expire(place);
    assert_int_equal(count(place, "raw", "1h", "m.v", "h=a"), 0);
}

static void assert_unharmed(struct place *place)
{
    assert_int_equal(count(place, "raw", "1h", "m.v", "h=a"), 0);
    assert_int_equal(minutes(place, "m.v", "h=a"), HOURS * EACH);
    assert_int_equal(days(place, "m.v", "h=a"), HOURS * EACH);
}

/* ---- tests ---- */

static void what_tiers_have_of_points_that_expired_is_refused(void **state)
{
    (void)state;
    struct place place;
    begin_lengthened(&place);
    assert_false(write_hour(&place, "m,h=a v", OLD));
    assert_false(write_hour(&place, "m,h=a other", OLD)); /* the unit is of all metrics */
    assert_unharmed(&place);
    crash(&place, 3);
    assert_false(write_hour(&place, "m,h=a v", OLD));
    assert_unharmed(&place);
    end(&place);
}

/* Minutes have expired, too; spans of an hour and of a day. */
static void what_only_coarser_tiers_have_is_refused(void **state)
{
    (void)state;
    for (int turn = 0; turn < 2; turn++) {
        struct place place;
        span_ns = turn == 0 ? VV_HOUR : VV_DAY;
        begin_without_points(&place, 3 * VV_DAY);
        expire(&place);
        set_retentions(&place, 0, 0, 0);
        assert_int_equal(minutes(&place, "m.v", "h=a"), 0);
        assert_false(write_hour(&place, "m,h=a v", OLD));
        assert_int_equal(hours(&place, "m.v", "h=a"), HOURS * EACH);
        assert_false(write_hour(&place, "n,h=dense v", OLD)); /* another hour of a day's record */
        assert_true(write_hour(&place, "m,h=a v", start - VV_DAY)); /* had nothing that day */
        flush(&place);
        seal_all(&place);
        assert_int_equal(minutes(&place, "m.v", "h=a"), EACH / 2);
        assert_int_equal(days(&place, "m.v", "h=a"), HOURS * EACH + EACH / 2);
        end(&place);
    }
    span_ns = VV_HOUR;
}

static void what_nothing_is_left_of_gets_into_all_tiers(void **state)
{
    (void)state;
    static const char *const series[] = {"m,h=new v", "k,h=a v"};
    static const char *const metrics[] = {"m.v", "k.v"};
    static const char *const tags[] = {"h=new", "h=a"};
    for (size_t i = 0; i < 2; i++) {
        struct place place;
        begin_lengthened(&place);
        write_and_seal(&place, series[i], OLD);
        assert_has(&place, metrics[i], tags[i], EACH / 2);
        write_and_seal(&place, series[i], OLD + VV_MINUTE); /* the same units */
        assert_has(&place, metrics[i], tags[i], EACH);
        crash(&place, 5);
        write_and_seal(&place, series[i], OLD + VV_HOUR);
        write_and_seal(&place, series[i], OLD + 2 * VV_SECOND);
        assert_has(&place, metrics[i], tags[i], 2 * EACH);
        write_and_seal(&place, series[i], start - 60 * VV_DAY);
        assert_has(&place, metrics[i], tags[i], 2 * EACH + EACH / 2);
        assert_unharmed(&place);
        end(&place);
    }
}

/* An hour of a unit of a day, without tiers that have it together with others. */
static void what_is_deleted_of_it_leaves_it_open(void **state)
{
    (void)state;
    struct place place;
    struct vv_error error = {0};
    const int64_t only_minutes[VV_SPACES] = {VV_RETENTION_AS_IS, VV_SPACE_OFF_NS, VV_SPACE_OFF_NS};
    span_ns = VV_DAY;
    begin_lengthened(&place);
    assert_int_equal(vv_engine_set_tiers(place.engine, TENANT, only_minutes, &error), VV_OK);
    expire(&place); /* nothing is to be built of the others */
    write_and_seal(&place, "m,h=new v", OLD);
    write_and_seal(&place, "m,h=new v", OLD + VV_HOUR);
    order_deletion(&place, "tag", "h=new", OLD - start, OLD - start + VV_HOUR);
    sweep_all(&place);
    seal_all(&place);
    assert_int_equal(minutes(&place, "m.v", "h=new"), EACH / 2);
    write_and_seal(&place, "m,h=new v", OLD);
    assert_int_equal(count(&place, "raw", "1m", "m.v", "h=new"), EACH);
    assert_int_equal(minutes(&place, "m.v", "h=new"), EACH);
    end(&place);
    span_ns = VV_HOUR;
}

/* What is built of such and of others is not all there. */
static void what_was_built_of_both_is_refused(void **state)
{
    (void)state;
    struct place place;
    begin_lengthened(&place);
    write_and_seal(&place, "m,h=a v", start - VV_DAY); /* in the same unit of days */
    assert_int_equal(days(&place, "m.v", "h=a"), HOURS * EACH + EACH / 2);
    set_retentions(&place, 0, 3 * VV_DAY, 3 * VV_DAY);
    expire(&place);
    expire(&place);
    set_retentions(&place, 0, 0, 0);
    assert_true(hours(&place, "m.v", "h=a") <= EACH / 2); /* what expired before is gone */
    assert_false(write_hour(&place, "m,h=a v", OLD));
    assert_int_equal(days(&place, "m.v", "h=a"), HOURS * EACH + EACH / 2);
    end(&place);
}

/* Also within the hour in which it did before. */
static void what_expires_once_more_is_refused_from_then_on(void **state)
{
    (void)state;
    for (int days_later = 0; days_later < 2; days_later++) {
        struct place place;
        begin_lengthened(&place);
        write_and_seal(&place, "m,h=new v", OLD);
        vv_sim_clock_advance(&place.clock, days_later * VV_DAY);
        make_longer(&place);
        expire(&place);
        assert_int_equal(count(&place, "raw", "1m", "m.v", "h=new"), 0);
        assert_false(write_hour(&place, "m,h=new v", OLD));
        assert_int_equal(days(&place, "m.v", "h=new"), EACH / 2);
        end(&place);
    }
}

struct heads {
    int n[4]; /* records by their version */
};

static enum vv_status note_head(void *context, const struct vv_piece *piece)
{
    struct heads *heads = context;
    if (piece->kind == VV_PIECE_BLOCK && piece->bytes.size > 0) {
        assert_true(piece->bytes.data[2] < 4);
        heads->n[(int)piece->bytes.data[2]]++;
    }
    return VV_OK;
}

/* Only what has to say something does: programs from before read all others. */
static void what_is_as_ever_is_written_as_ever(void **state)
{
    (void)state;
    struct place place;
    uint32_t tenant;
    uint32_t source;
    begin_lengthened(&place);
    write_and_seal(&place, "m,h=a v", OLD + 42 * VV_DAY); /* of that time nothing is gone */
    write_and_seal(&place, "m,h=new v", OLD);
    struct vv_registry *registry = vv_engine_query_context(place.engine)->registry;
    assert_int_equal(vv_registry_tenant(registry, TENANT, false, &tenant, NULL), VV_OK);
    const struct vv_tag tag = {VV_STR_LITERAL("h"), VV_STR_LITERAL("new")};
    assert_int_equal(vv_registry_source(registry, tenant, &tag, 1, OLD, &source, NULL), VV_OK);
    uint32_t space = vv_registry_tiers(registry, tenant).spaces[VV_SPACE_HOUR];
    for (uint32_t i = 0; i < 2; i++) {
        struct heads heads = {{0}};
        for (int64_t at = start - 28 * VV_DAY; at < start + 84 * VV_DAY; at += 28 * VV_DAY) {
            struct vv_store_read read = {
                .partition = vv_unit_key(VV_SPACE_HOUR, space, i ? source : 0, 0, at).partition,
                .span_from = INT64_MIN,
                .span_to = INT64_MAX};
            assert_int_equal(place.store->ops->read(place.store, &read, note_head, &heads, NULL),
                             VV_OK);
        }
        assert_int_equal(heads.n[1], i ? 0 : DAYS + 1);
        assert_int_equal(heads.n[3], i ? 1 : 0);
    }
    end(&place);
}

static void days_that_expired_can_be_replaced_where_no_points_are_kept(void **state)
{
    (void)state;
    struct place place;
    begin_lengthened(&place);
    write_and_seal(&place, "m,h=new v", OLD);
    assert_int_equal(replace_day(&place, "m,h=new", 0, 2), VV_INVALID);
    assert_has(&place, "m.v", "h=new", EACH / 2);
    assert_true(write_hour(&place, "m,h=new v", start + 2 * VV_DAY)); /* in memory */
    assert_int_equal(replace_day(&place, "m,h=new", 2, 2), VV_INVALID);
    assert_int_equal(replace_day(&place, "m,h=new", 1, 2), VV_OK);
    assert_int_equal(replace_day(&place, "m,h=a", 0, 2), VV_OK);
    flush(&place);
    seal_all(&place);
    assert_false(write_hour(&place, "m,h=new v", start + VV_DAY + 3 * VV_HOUR));
    assert_int_equal(days(&place, "m.v", "h=new"), EACH + 48);
    assert_int_equal(days(&place, "m.v", "h=a"), (HOURS - 24) * EACH + 48);
    end(&place);
}

/* ---- in whatever order it happens ---- */

static void pass(struct place *place, int64_t ns)
{
    flush_all(place);
    vv_sim_clock_advance(&place->clock, ns);
    seal_all(place);
}

/* The points of an hour of h=a have gone; another one of the day is loaded behind it. */
static void begin_beside_gone(struct place *place, int64_t day)
{
    begin_empty(place, start);
    set_retentions(place, 0, 0, 0);
    write_and_seal(place, "m,h=a v", day + VV_HOUR);
    make_longer(place);
    set_retentions(place, 90 * VV_DAY, 30 * VV_DAY, 0);
    write_and_seal(place, "m,h=a v", day);
}

/* Then minutes expire, of which hours of that day would have to be built again. */
static void nothing_is_taken_that_minutes_can_not_keep_until_it_is_built(void **state)
{
    (void)state;
    struct place place;
    const int64_t day = start - 24 * VV_DAY;
    uint64_t taken = EACH;
    int refused = 0;
    begin_beside_gone(&place, day);
    for (int i = 1; i < 30; i++) {
        pass(&place, VV_DAY / 2);
        expire(&place);
        bool is_taken = write_hour(&place, "m,h=a v", day + VV_MINUTE + i * VV_SECOND);
        pass(&place, VV_HOUR);
        taken += is_taken ? EACH / 2 : 0;
        refused += !is_taken;
        assert_int_equal(hours(&place, "m.v", "h=a"), taken);
        assert_int_equal(days(&place, "m.v", "h=a"), taken);
    }
    assert_true(refused > 0 && taken > 2 * EACH);
    end(&place);
}

static void minutes_that_are_shortened_live_until_hours_are_built_of_them(void **state)
{
    (void)state;
    struct place place;
    const int64_t day = start - 24 * VV_DAY;
    begin_beside_gone(&place, day);
    assert_true(write_hour(&place, "m,h=a v", day + VV_MINUTE));
    set_retentions(&place, 90 * VV_DAY, 5 * VV_DAY, 0);
    for (int i = 0; i < 3; i++) {
        pass(&place, VV_MINUTE);
        expire(&place);
    }
    assert_int_equal(hours(&place, "m.v", "h=a"), EACH + EACH / 2);
    assert_int_equal(days(&place, "m.v", "h=a"), EACH + EACH / 2);
    end(&place);
}

/* Without hours, steps of a day are built of minutes that have a part of it: the rest had nothing.
 */
static void days_are_built_again_of_minutes_alone(void **state)
{
    (void)state;
    struct place place;
    const int64_t from = vv_time_floor(start, 28 * VV_DAY) + 28 * VV_DAY; /* a unit of days */
    begin_empty(&place, from - 3 * VV_DAY);
    set_retentions(&place, 5 * VV_DAY, 0, VV_SPACE_OFF_NS);
    expire(&place);
    pass(&place, 3 * VV_DAY + 13 * VV_HOUR);
    write_and_seal(&place, "m,h=a v", from + 12 * VV_HOUR);
    for (int i = 0; i < 27; i++) {
        pass(&place, VV_DAY);
        expire(&place);
    }
    write_and_seal(&place, "m,h=a v", from + 27 * VV_DAY + 12 * VV_HOUR);
    pass(&place, 3 * VV_DAY);
    assert_int_equal(days(&place, "m.v", "h=a"), EACH);
    for (int i = 0; i < 2; i++) { /* late */
        assert_true(write_hour(&place, "m,h=a v", from + 27 * VV_DAY + (14 + i) * VV_HOUR));
        pass(&place, VV_HOUR);
        expire(&place);
        assert_int_equal(days(&place, "m.v", "h=a"), EACH + (uint64_t)(i + 1) * EACH / 2);
    }
    pass(&place, 9 * VV_DAY); /* no point answers any more */
    expire(&place);
    pass(&place, VV_HOUR);
    assert_int_equal(count(&place, "raw", "1m", "m.v", "h=a"), 0);
    assert_int_equal(days(&place, "m.v", "h=a"), 2 * EACH);
    end(&place);
}

/* The sealer is in the middle of its round when more comes. */
static void finer_units_are_built_first_whatever_comes_when(void **state)
{
    (void)state;
    struct place place;
    const int64_t day = start - 34 * VV_DAY;
    begin_empty(&place, start);
    set_retentions(&place, 0, 0, 0);
    assert_true(write_hour(&place, "m,h=b v", day - 10 * VV_DAY + VV_HOUR));
    write_and_seal(&place, "m,h=a v", day + VV_HOUR);
    set_retentions(&place, 2 * VV_DAY, 0, 0);
    expire(&place);
    expire(&place);
    set_retentions(&place, 60 * VV_DAY, 0, 0);
    (void)write_hour(&place, "m,h=b v", day);
    flush(&place);
    (void)!step(&place, VV_TASK_SEAL);
    assert_true(write_hour(&place, "m,h=a v", day));
    for (int i = 0; i < 30; i++) { /* until raw points are not there to answer */
        pass(&place, VV_DAY);
        expire(&place);
    }
    assert_int_equal(count(&place, "raw", "1m", "m.v", "h=a"), 0);
    assert_in_tiers(&place, "m.v", "h=a", EACH);
    end(&place);
}

/* Whatever waits to be sealed: raw points go later, behind what was noted before. */
static void what_goes_later_within_the_hour_is_noted_again(void **state)
{
    (void)state;
    struct place place;
    begin_lengthened(&place);
    write_and_seal(&place, "m,h=new v", OLD);
    assert_true(write_hour(&place, "k,h=x v", OLD));
    flush(&place);
    set_retentions(&place, 2 * VV_DAY, 0, 0);
    expire(&place);
    seal_all(&place);
    expire(&place);
    set_retentions(&place, 0, 0, 0);
    expire(&place);
    assert_false(write_hour(&place, "m,h=new v", OLD + VV_MINUTE));
    assert_in_tiers(&place, "m.v", "h=new", EACH / 2);
    end(&place);
}

/* Half of the points of the hour that is over are sealed, the others in memory. */
static int64_t write_half_sealed(struct place *place)
{
    int64_t now = place->clock.clock.wall_ns(&place->clock.clock);
    int64_t hour = vv_time_floor(now, VV_HOUR) - VV_HOUR;
    write_and_seal(place, "m,h=new v", hour);
    assert_true(write_hour(place, "m,h=new v", hour + VV_MINUTE));
    return hour;
}

/* The node was away for longer than points are kept. */
static void what_is_replayed_gets_into_tiers_before_anything_goes(void **state)
{
    (void)state;
    const struct vv_late_wish apart = {
        .has_policy = true, .policy = VV_LATE_SEPARATE, .limit_ns = VV_SECOND};
    for (int first = 0; first < 4; first++) {
        struct place place;
        begin_whole(&place);
        set_retentions(&place, 5 * VV_DAY, 0, 0);
        if (first == 3) { /* folded once a day, at a time that has passed by then */
            assert_int_equal(vv_engine_set_late(place.engine, TENANT, &apart, NULL), VV_OK);
        }
        expire(&place);
        int64_t hour = write_half_sealed(&place);
        vv_sim_clock_advance(&place.clock, 7 * VV_DAY);
        crash(&place, 3);
        if (first) {
            expire(&place);
        }
        flush_all(&place);
        if (first == 2) { /* and what was flushed is not sealed yet */
            crash(&place, 3);
        }
        expire(&place);
        expire(&place);
        seal_all(&place);
        expire(&place);
        expire(&place);
        assert_in_tiers(&place, "m.v", "h=new", EACH);
        set_retentions(&place, 0, 0, 0);
        expire(&place);
        assert_int_equal(count(&place, "raw", "1m", "m.v", "h=new"), 0);
        assert_false(write_hour(&place, "m,h=new v", hour + 2 * VV_SECOND));
        assert_in_tiers(&place, "m.v", "h=new", EACH);
        end(&place);
    }
}

/* The machine was suspended: only the wall clock went on. */
static void what_was_in_memory_gets_into_tiers_when_the_clock_jumps(void **state)
{
    (void)state;
    struct place place;
    begin_whole(&place);
    set_retentions(&place, 5 * VV_DAY, 0, 0);
    expire(&place);
    (void)write_half_sealed(&place);
    expire(&place);
    vv_sim_clock_jump(&place.clock, place.clock.clock.wall_ns(&place.clock.clock) + 7 * VV_DAY);
    expire(&place);
    expire(&place);
    flush_all(&place);
    expire(&place);
    seal_all(&place);
    expire(&place);
    expire(&place);
    assert_in_tiers(&place, "m.v", "h=new", EACH);
    assert_int_equal(count(&place, "raw", "1m", "m.v", "h=new"), 0);
    end(&place);
}

/* ---- whatever comes and goes ---- */

#define SOURCES 2
#define APART   (10 * VV_DAY) /* old points are of hours that have so much between them … */
#define PASSED  (40 * VV_DAY) /* … and are so old at most */

struct history {
    struct place place;
    struct vv_random random;
    uint64_t taken[SOURCES]; /* points; none is of the time of another one */
    int64_t n_written;
};

static const int64_t lives[] = {0, 5 * VV_DAY, 10 * VV_DAY, 60 * VV_DAY};

static uint64_t below(struct history *history, uint64_t bound)
{
    return vv_random_below(&history->random, bound);
}

/* Of one source, within an hour or two: what is taken is durable. */
static void write_some(struct history *history)
{
    struct vv_staging staging;
    struct vv_buffer text = {0};
    enum vv_status outcome = VV_UNKNOWN;
    struct place *place = &history->place;
    size_t source = below(history, SOURCES);
    int64_t now = place->clock.clock.wall_ns(&place->clock.clock);
    int64_t hour = vv_time_floor(now, VV_HOUR) - VV_HOUR;
    if (below(history, 3) > 0) { /* one of few, so that much belongs together */
        int64_t age = (int64_t)(1 + below(history, PASSED / APART)) * APART;
        hour = vv_time_floor(now - age, APART) + (int64_t)below(history, 2) * VV_HOUR;
    }
    for (uint64_t n = 1 + below(history, 40); n > 0; n--) {
        int64_t time = hour + (int64_t)below(history, 3600) * VV_SECOND;
        vv_buffer_format(&text, "m,h=%c v=1 %lld\n", 'a' + (int)source,
                         (long long)(time + ++history->n_written));
    }
    assert_int_equal(vv_engine_stage(place->engine, TENANT, &staging, NULL), VV_OK);
    parse_text(&staging, (struct vv_str){(char *)text.data, text.size});
    vv_buffer_deinit(&text);
    assert_int_equal(staging.points_received,
                     staging.points_staged + staging.refused[VV_REASON_RETENTION]);
    struct vv_batch *batch = vv_staging_take_batch(&staging);
    if (batch) {
        vv_engine_submit(place->engine, batch, keep_status, &outcome);
        while (outcome == VV_UNKNOWN) { /* history is taken in its turns */
            vv_sim_clock_advance(&place->clock, VV_SECOND);
            (void)!step(place, VV_TASK_COMMIT);
        }
        assert_true(outcome == VV_OK || outcome == VV_OVERLOAD); /* a life may be about to end */
    }
    history->taken[source] += outcome == VV_OK ? staging.points_staged : 0;
    vv_staging_deinit(&staging);
}

static void check_history(struct history *history)
{
    struct place *place = &history->place;
    pass(place, 3 * VV_DAY); /* all is due but for days */
    for (size_t i = 0; i < SOURCES; i++) {
        char tag[] = {'h', '=', (char)('a' + i), 0};
        if (history->taken[i] > 0) {
            assert_in_tiers(place, "m.v", tag, history->taken[i]);
        }
    }
}

static void change_life(struct history *history)
{
    int64_t life_ns = lives[below(history, sizeof lives / sizeof lives[0])];
    set_retentions(&history->place, life_ns, 0, 0);
}

static void lose_points(struct history *history)
{
    check_history(history);
    set_retentions(&history->place, 5 * VV_DAY, 0, 0);
    expire(&history->place);
    expire(&history->place);
    set_retentions(&history->place, 60 * VV_DAY, 0, 0);
}

static void live_on(struct history *history)
{
    struct place *place = &history->place;
    switch (below(history, 10)) {
    case 0:
        change_life(history);
        break;
    case 1:
        expire(place);
        break;
    case 2: /* in days all is flushed and sealed that waits for it */
        flush_all(place);
        seal_all(place);
        vv_sim_clock_advance(&place->clock, (int64_t)below(history, 5 * VV_DAY));
        break;
    case 3:
        check_history(history);
        break;
    case 4:
        crash(place, below(history, 1000));
        break;
    case 5:
        (void)!step(place, VV_TASK_FLUSH);
        break;
    case 6:
        lose_points(history);
        break;
    default:
        write_some(history);
    }
}

static void all_that_is_taken_is_in_all_tiers_for_ever(void **state)
{
    (void)state;
    uint64_t refused = 0;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct history history = {.random = {seed}};
        begin_empty(&history.place, start);
        change_life(&history);
        for (int i = 0; i < 150; i++) {
            live_on(&history);
        }
        check_history(&history);
        refused += (uint64_t)history.n_written;
        for (size_t i = 0; i < SOURCES; i++) {
            refused -= history.taken[i];
        }
        end(&history.place);
    }
    assert_true(refused > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_tiers_have_of_points_that_expired_is_refused),
        cmocka_unit_test(what_only_coarser_tiers_have_is_refused),
        cmocka_unit_test(what_nothing_is_left_of_gets_into_all_tiers),
        cmocka_unit_test(what_is_deleted_of_it_leaves_it_open),
        cmocka_unit_test(what_was_built_of_both_is_refused),
        cmocka_unit_test(what_expires_once_more_is_refused_from_then_on),
        cmocka_unit_test(what_is_as_ever_is_written_as_ever),
        cmocka_unit_test(nothing_is_taken_that_minutes_can_not_keep_until_it_is_built),
        cmocka_unit_test(minutes_that_are_shortened_live_until_hours_are_built_of_them),
        cmocka_unit_test(days_are_built_again_of_minutes_alone),
        cmocka_unit_test(finer_units_are_built_first_whatever_comes_when),
        cmocka_unit_test(what_goes_later_within_the_hour_is_noted_again),
        cmocka_unit_test(what_is_replayed_gets_into_tiers_before_anything_goes),
        cmocka_unit_test(what_was_in_memory_gets_into_tiers_when_the_clock_jumps),
        cmocka_unit_test(all_that_is_taken_is_in_all_tiers_for_ever),
        cmocka_unit_test(days_that_expired_can_be_replaced_where_no_points_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
