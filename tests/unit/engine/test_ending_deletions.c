/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiers and retentions that change on the embedded store, of a tenant and of a class of it, while
 * points come late, ranges of time are deleted, and the process is killed: days have exactly what
 * was taken and not deleted since.
 */
#include "steps_rig.h"

#include "base/random.h"
#include "support/taken.h"

#define APART  (10 * VV_DAY) /* old points are of hours that have so much between them … */
#define PASSED 4             /* … and are so often as old at most */
#define KINDS  2             /* of measurements: m of the tenant, k of its class */

static struct place place;
static struct vv_random random_state;
static struct taken taken[KINDS];
static bool is_known[KINDS]; /* something was taken once */
static int64_t n_requests;   /* each is of times of its own: no point is of that of another one */
static enum vv_engine_task seal_task;
static bool has_late;

static const char *const metrics[KINDS] = {"m.v", "k.v"};

static uint64_t below(uint64_t bound)
{
    return vv_random_below(&random_state, bound);
}

static int64_t now_ns(void)
{
    return place.clock.clock.wall_ns(&place.clock.clock);
}

/* ---- time passes ---- */

static void work(void)
{
    if (below(4) == 0) { /* while what has come since is in memory */
        sweep_all(&place);
        expire(&place);
    }
    enum vv_status status = step(&place, VV_TASK_FLUSH);
    assert_true(status == VV_OK || status == VV_DONE);
    step_all(&place, seal_task, VV_SECOND);
    sweep_all(&place);
    expire(&place);
    step_all(&place, seal_task, VV_SECOND);
}

static void live(int times, int64_t length_ns)
{
    for (int i = 0; i < times; i++) {
        vv_sim_clock_advance(&place.clock, length_ns);
        work();
    }
}

static void check_days(uint64_t seed)
{
    live(33, VV_DAY);
    for (int kind = 0; kind < KINDS; kind++) {
        uint64_t n = is_known[kind] ? days(&place, metrics[kind], NULL) : 0;
        if (n != taken[kind].n) {
            fail_msg("seed %llu: days of %s have %llu of %zu", (unsigned long long)seed,
                     metrics[kind], (unsigned long long)n, taken[kind].n);
        }
    }
}

/* ---- what is done ---- */

/* Points of a request, within an hour, one a minute; of those that are refused all others are
 * younger. */
static void write_more(void)
{
    int kind = (int)below(KINDS);
    int n = 1 + (int)below(40);
    int64_t hour = vv_time_floor(now_ns(), VV_HOUR) - VV_HOUR;
    if (below(3) > 0) { /* one of few, so that much belongs together */
        int64_t age = (int64_t)(1 + below(PASSED)) * APART;
        hour = vv_time_floor(now_ns() - age, APART) + (int64_t)below(2) * VV_HOUR;
    }
    int64_t from = hour + ++n_requests;
    char id = (char)('a' + below(2));
    struct vv_buffer text = {0};
    for (int i = 0; i < n; i++) {
        vv_buffer_format(&text, "%c,id=%c v=%di %lld\n", metrics[kind][0], id, i,
                         (long long)(from + i * VV_MINUTE));
    }
    struct vv_staging staging;
    enum vv_status outcome = VV_OK;
    assert_int_equal(vv_engine_stage(place.engine, TENANT, &staging, NULL), VV_OK);
    parse_text(&staging, (struct vv_str){(char *)text.data, text.size});
    vv_engine_account(place.engine, &staging);
    struct vv_batch *batch = vv_staging_take_batch(&staging);
    uint64_t points = batch ? batch->points : 0;
    assert_int_equal(staging.refused[VV_REASON_RETENTION], (uint64_t)n - points);
    if (batch) {
        outcome = VV_UNKNOWN;
        vv_engine_submit(place.engine, batch, keep_status, &outcome);
    }
    while (outcome == VV_UNKNOWN) { /* history rests between its pieces while live points come */
        vv_sim_clock_advance(&place.clock, VV_SECOND);
        (void)!step(&place, VV_TASK_COMMIT);
    }
    assert_true(outcome == VV_OK || outcome == VV_OVERLOAD); /* a life may be about to end */
    vv_staging_deinit(&staging);
    vv_buffer_deinit(&text);
    if (outcome == VV_OK) {
        is_known[kind] |= points > 0;
        taken_add(&taken[kind], from + (n - (int64_t)points) * VV_MINUTE, VV_MINUTE, points);
    }
}

/* A month, a day, an hour or a few minutes, where something is; it may be refused, as only whole
 * steps can go, or for now. */
static void delete_any(void)
{
    static const int64_t lengths[] = {10 * VV_MINUTE, VV_HOUR, VV_DAY, 30 * VV_DAY};
    int kind = (int)below(KINDS);
    struct taken *of = &taken[kind];
    if (of->n == 0) {
        return;
    }
    int64_t length_ns = lengths[below(4)];
    int64_t from = vv_time_floor(of->times[below(of->n)], length_ns < VV_DAY ? length_ns : VV_DAY);
    struct vv_deleted deleted;
    struct vv_error error = {0};
    enum vv_status status = try_delete(&place, "metric", metrics[kind], from - start,
                                       from - start + length_ns, &deleted, &error);
    if (status == VV_OK) {
        taken_forget(of, from, from + length_ns);
    } else if (status != VV_INVALID && status != VV_OVERLOAD) {
        fail_msg("%d: %s", status, error.message);
    }
}

static enum vv_status try_lives(int kind, const struct vv_retentions *retentions)
{
    const struct vv_class_wish wish = {.name = VV_STR_LITERAL("c"),
                                       .has_measurements = true,
                                       .measurements = VV_STR_LITERAL("k\n"),
                                       .retentions = *retentions};
    struct vv_class_effect effect;
    struct vv_error error = {0};
    enum vv_status status = kind == 0
                                ? vv_engine_set_retentions(place.engine, TENANT, retentions, &error)
                                : vv_engine_set_class(place.engine, TENANT, &wish, &effect, &error);
    if (status != VV_OK && status != VV_INVALID && status != VV_OVERLOAD) {
        fail_msg("%d: %s", status, error.message);
    }
    return status;
}

static int64_t any_of(const int64_t *lives, uint64_t n)
{
    return lives[below(n)];
}

/* Days are kept for ever, and made of what there is. What a tier had may have to go before it is
 * switched on again. */
static void change_tiers(void)
{
    static const int64_t raw[] = {VV_RETENTION_AS_IS, 5 * VV_DAY, 40 * VV_DAY, 60 * VV_DAY};
    static const int64_t tiers[] = {VV_SPACE_OFF_NS, VV_SPACE_OFF_NS, 40 * VV_DAY, 0};
    struct vv_retentions retentions;
    int kind = (int)below(KINDS);
    do {
        retentions =
            (struct vv_retentions){any_of(raw, 4), {any_of(tiers, 4), any_of(tiers, 4), 0}};
    } while (try_lives(kind, &retentions) == VV_INVALID);
}

/* Late points are kept apart until they are folded, or no more. */
static void change_late(void)
{
    static const int64_t limits[] = {VV_HOUR, 3 * VV_DAY, 20 * VV_DAY};
    struct vv_late_wish wish = {true, below(3) > 0 ? VV_LATE_SEPARATE : VV_LATE_ACCEPT, 0};
    wish.limit_ns = limits[below(3)];
    struct vv_error error = {0};
    enum vv_status status = vv_engine_set_late(place.engine, TENANT, &wish, &error);
    if (status != VV_OK && status != VV_INVALID) {
        fail_msg("%s", error.message);
    }
}

static void live_with_deletions(uint64_t seed)
{
    switch (below(has_late ? 12 : 11)) {
    case 0:
    case 1:
        change_tiers();
        break;
    case 2:
    case 3:
        live(1 + (int)below(10), 12 * VV_HOUR);
        break;
    case 4:
        vv_sim_clock_advance(&place.clock, (int64_t)below(2) * (int64_t)below(60) * VV_DAY);
        crash(&place, below(1000));
        break;
    case 5:
        if (below(4) == 0) {
            check_days(seed);
        }
        break;
    case 6:
    case 7:
        delete_any();
        break;
    case 11:
        change_late();
        break;
    default:
        write_more();
    }
}

static void walk(uint64_t seed)
{
    const struct vv_retentions first = {40 * VV_DAY, {0, 0, 0}};
    random_state = (struct vv_random){seed};
    n_requests = 0;
    seal_task = seed % 2 == 0 ? VV_TASK_SEAL_ALL : VV_TASK_SEAL;
    has_late = seed % 4 >= 2;
    begin_empty(&place, start + VV_DAY);
    for (int kind = 0; kind < KINDS; kind++) {
        taken[kind].n = 0;
        is_known[kind] = false;
        assert_int_equal(try_lives(kind, &first), VV_OK);
    }
    for (int i = 0; i < 120; i++) {
        live_with_deletions(seed);
    }
    check_days(seed);
    end(&place);
}

/* Seeds in which something was wrong: deleted points that came back with a longer retention, points
 * that were written behind a deletion and taken out with it, and what a look took for something to
 * build of. */
static const uint64_t seen[] = {426, 914, 1034, 3791, 4896};

/* FIRST, and SEEDS, in the environment: others than these, and the first ones. */
static void days_have_what_was_taken_and_not_deleted(void **state)
{
    (void)state;
    const char *first = getenv("FIRST");
    const char *seeds = getenv("SEEDS");
    uint64_t from = first ? strtoull(first, NULL, 10) : 1;
    uint64_t n = seeds ? strtoull(seeds, NULL, 10) : first ? 1 : 40;
    for (uint64_t i = 0; i < n; i++) {
        walk(from + i);
    }
    for (size_t i = 0; i < sizeof seen / sizeof seen[0] && !first; i++) {
        walk(seen[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(days_have_what_was_taken_and_not_deleted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
