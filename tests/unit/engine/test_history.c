/* SPDX-License-Identifier: Apache-2.0 */
/* History gives way to live data: it has its share of the time while that comes, all of it when
 * none does, and holds up nothing. */
#include "base/random.h"
#include "engine/engine_private.h"
#include "place.h"

#include <stdatomic.h>

#define NOW (20000 * VV_DAY)

/* ---- the share ---- */

/* Pieces of 1 to 50 ms, each as soon as it may be; returns what they took of the time. */
static int64_t run(struct vv_history *history, enum vv_history_work work, int64_t for_ns,
                   bool is_live)
{
    struct vv_random random = {(uint64_t)history->percent};
    int64_t took_ns = 0;
    for (int64_t now = NOW; now < NOW + for_ns;) {
        if (is_live) {
            vv_history_note_live(history, now);
            vv_history_note_answered(history);
        }
        int64_t rest_ns = vv_history_rest_ns(history, work, now);
        if (rest_ns == 0) {
            int64_t piece_ns = (1 + (int64_t)vv_random_below(&random, 50)) * VV_MILLISECOND;
            took_ns += piece_ns;
            rest_ns = piece_ns;
            vv_history_spend(history, work, now + piece_ns, piece_ns);
        }
        now += rest_ns;
    }
    return took_ns;
}

static void history_has_its_share_of_the_time_while_live_data_comes(void **state)
{
    (void)state;
    for (int work = 0; work < VV_HISTORY_WORKS; work++) {
        for (int64_t percent = 1; percent <= 100; percent += 3) {
            struct vv_history history = {.percent = percent};
            int64_t took = run(&history, (enum vv_history_work)work, VV_HOUR, true);
            assert_true(took * 100 <= VV_HOUR * percent + VV_MINUTE);
            assert_true(took * 100 >= VV_HOUR * percent - VV_MINUTE);
        }
    }
}

static void history_has_all_of_the_time_when_no_live_data_comes(void **state)
{
    (void)state;
    struct vv_history history = {.percent = 1};
    assert_true(run(&history, VV_HISTORY_WRITES, VV_HOUR, false) >= VV_HOUR);
    vv_history_note_live(&history, NOW);
    vv_history_spend(&history, VV_HISTORY_SEALS, NOW, VV_HOUR);
    assert_int_equal(vv_history_rest_ns(&history, VV_HISTORY_SEALS, NOW), VV_HISTORY_REST_NS_MAX);
    vv_history_note_live(&history, NOW - 8 * VV_SECOND); /* the last of it */
    assert_true(vv_history_rest_ns(&history, VV_HISTORY_SEALS, NOW + VV_SECOND) > 0);
    assert_int_equal(vv_history_rest_ns(&history, VV_HISTORY_SEALS, NOW + 2 * VV_SECOND), 0);
}

static void writing_history_waits_for_its_turn_but_not_for_long(void **state)
{
    (void)state;
    struct vv_history history = {.percent = 50};
    vv_history_note_live(&history, NOW);
    vv_history_spend(&history, VV_HISTORY_WRITES, NOW, VV_SECOND);
    vv_history_note_answered(&history);
    assert_int_equal(vv_history_rest_ns(&history, VV_HISTORY_WRITES, NOW), VV_SECOND);
    int64_t rested = NOW + VV_SECOND;
    assert_int_equal(vv_history_rest_ns(&history, VV_HISTORY_WRITES, rested), 0);
    vv_history_end_turn(&history);
    assert_int_equal(vv_history_rest_ns(&history, VV_HISTORY_WRITES, rested), VV_HISTORY_TURN_NS);
    assert_int_equal(vv_history_rest_ns(&history, VV_HISTORY_WRITES, rested + VV_HISTORY_TURN_NS),
                     0);
    assert_int_equal(vv_history_rest_ns(&history, VV_HISTORY_SEALS, rested), 0);
}

/* ---- in the engine ---- */

/* A clock by which what is looked at twice has taken a millisecond. */
struct slow_clock {
    struct vv_clock clock;
    struct vv_sim_clock *sim;
};

static int64_t slow_wall_ns(struct vv_clock *clock)
{
    struct vv_clock *sim = &((struct slow_clock *)clock)->sim->clock;
    return sim->wall_ns(sim);
}

static int64_t slow_monotonic_ns(struct vv_clock *clock)
{
    struct vv_sim_clock *sim = ((struct slow_clock *)clock)->sim;
    vv_sim_clock_advance(sim, VV_MILLISECOND);
    return sim->clock.monotonic_ns(&sim->clock);
}

static struct slow_clock slow = {{slow_wall_ns, slow_monotonic_ns}, NULL};

static void begin(struct place *place)
{
    begin_empty(place, NOW);
    slow.sim = &place->clock;
    place->engine->clock = &slow.clock;
}

/* One point of that time, to be acknowledged by the store or by the journal. */
static void send_point(struct vv_engine *engine, int64_t time, bool to_store, vv_write_done done,
                       void *context)
{
    char line[80];
    int size = snprintf(line, sizeof line, "m,h=a v=1 %lld", (long long)time);
    struct vv_staging staging;
    struct vv_line_parser *parser;
    assert_int_equal(vv_engine_stage(engine, TENANT, &staging, NULL), VV_OK);
    assert_int_equal(vv_line_parser_create(&staging, 1, &parser), VV_OK);
    assert_int_equal(vv_line_parser_feed(parser, line, (size_t)size), VV_OK);
    assert_int_equal(vv_line_parser_finish(parser), VV_OK);
    vv_staging_decide(&staging);
    vv_line_parser_destroy(parser);
    (to_store ? vv_engine_submit_to_store
              : vv_engine_submit)(engine, vv_staging_take_batch(&staging), done, context);
    vv_staging_deinit(&staging);
}

/* Writes one point that is so old; its outcome is VV_UNKNOWN until it is answered. */
static void submit(struct place *place, int64_t age_ns, enum vv_status *outcome)
{
    int64_t now = place->clock.clock.wall_ns(&place->clock.clock);
    *outcome = VV_UNKNOWN;
    send_point(place->engine, now - age_ns, false, keep_status, outcome);
}

static void commit(struct place *place)
{
    (void)step(place, VV_TASK_COMMIT);
}

static void history_alone_is_written_at_once(void **state)
{
    (void)state;
    struct place place;
    begin(&place);
    for (int i = 0; i < 20; i++) {
        enum vv_status outcome;
        submit(&place, VV_DAY + i, &outcome);
        commit(&place);
        assert_int_equal(outcome, VV_OK);
    }
    end(&place);
}

static void history_rests_beside_live_data_which_does_not_wait(void **state)
{
    (void)state;
    struct place place;
    begin(&place);
    place.engine->history.percent = 1;
    enum vv_status live;
    enum vv_status old[2];
    submit(&place, 0, &live);
    submit(&place, VV_DAY, &old[0]);
    commit(&place);
    assert_int_equal(live, VV_OK);
    commit(&place); /* behind the live one */
    assert_int_equal(old[0], VV_OK);
    submit(&place, VV_DAY + 1, &old[1]);
    for (int i = 0; i < 5; i++) {
        submit(&place, VV_MINUTE + i, &live);
        commit(&place);
        assert_int_equal(live, VV_OK);
        commit(&place);
        assert_int_equal(old[1], VV_UNKNOWN);
    }
    vv_sim_clock_advance(&place.clock, VV_HISTORY_REST_NS_MAX);
    commit(&place);
    assert_int_equal(old[1], VV_OK);
    end(&place);
}

static void history_that_waits_has_no_live_data_refused(void **state)
{
    (void)state;
    struct place place;
    begin(&place);
    place.engine->settings.head_bytes_max = 64 << 10;
    enum vv_status live;
    enum vv_status old[400];
    submit(&place, 0, &live);
    commit(&place);
    submit(&place, VV_DAY, &old[0]);
    commit(&place);
    commit(&place);
    size_t n = 1;
    do {
        assert_in_range(n, 1, 399);
        submit(&place, VV_DAY + (int64_t)n, &old[n]);
    } while (old[n++] == VV_UNKNOWN);
    assert_int_equal(old[n - 1], VV_OVERLOAD);
    assert_int_equal(vv_engine_admit(place.engine, NULL), VV_OK);
    submit(&place, 0, &live);
    commit(&place);
    assert_int_equal(live, VV_OK);
    for (size_t i = 0; i < n; i++) { /* all that was taken is answered in the end */
        vv_sim_clock_advance(&place.clock, VV_HISTORY_REST_NS_MAX);
        commit(&place);
    }
    for (size_t i = 0; i < n - 1; i++) {
        assert_int_equal(old[i], VV_OK);
    }
    end(&place);
}

static uint64_t sealed(struct place *place)
{
    return place->engine->seal_figures.spans;
}

static void sealing_history_rests_beside_live_data(void **state)
{
    (void)state;
    struct place place;
    begin(&place);
    enum vv_status outcome;
    for (int64_t hour = 0; hour < 2; hour++) {
        submit(&place, 20 * VV_DAY + hour * VV_HOUR, &outcome);
        commit(&place);
        flush(&place);
    }
    vv_sim_clock_advance(&place.clock, VV_MINUTE);
    submit(&place, 0, &outcome);
    commit(&place);
    while (step(&place, VV_TASK_SEAL) == VV_OK) {
    }
    assert_int_equal(sealed(&place), 2);
    submit(&place, 21 * VV_DAY, &outcome);
    commit(&place);
    commit(&place);
    flush(&place);
    vv_sim_clock_advance(&place.clock, 9 * VV_SECOND); /* quiet, and live data still comes */
    vv_history_note_live(&place.engine->history,
                         place.clock.clock.monotonic_ns(&place.clock.clock));
    vv_history_spend(&place.engine->history, VV_HISTORY_SEALS,
                     place.clock.clock.monotonic_ns(&place.clock.clock), VV_SECOND);
    assert_int_equal(step(&place, VV_TASK_SEAL), VV_DONE);
    assert_int_equal(sealed(&place), 2);
    vv_sim_clock_advance(&place.clock, VV_HISTORY_REST_NS_MAX);
    assert_int_equal(step(&place, VV_TASK_SEAL), VV_OK);
    assert_int_equal(sealed(&place), 3);
    int64_t now = place.clock.clock.monotonic_ns(&place.clock.clock);
    assert_true(vv_history_rest_ns(&place.engine->history, VV_HISTORY_SEALS, now) > 0);
    end(&place);
}

/* Its wait for the store begins when it is journaled. */
static void the_rest_of_history_uses_up_no_time_of_ack_store(void **state)
{
    (void)state;
    struct place place;
    begin(&place);
    enum vv_status live;
    enum vv_status old = VV_DONE;
    submit(&place, 0, &live);
    commit(&place);
    commit(&place);
    send_point(place.engine, NOW - VV_DAY, true, keep_status, &old);
    for (int64_t waited = 0; waited < 2 * place.engine->settings.ack_timeout_ns;
         waited += VV_HISTORY_REST_NS_MAX) {
        vv_history_spend(&place.engine->history, VV_HISTORY_WRITES, slow_monotonic_ns(&slow.clock),
                         VV_HISTORY_REST_NS_MAX);
        submit(&place, waited, &live);
        commit(&place);
        commit(&place);
        assert_int_equal(old, VV_DONE);
        vv_sim_clock_advance(&place.clock, VV_HISTORY_REST_NS_MAX / 2);
    }
    vv_sim_clock_advance(&place.clock, 2 * VV_HISTORY_REST_NS_MAX);
    commit(&place);
    commit(&place);
    assert_int_equal(old, VV_DONE);
    flush(&place);
    commit(&place);
    assert_int_equal(old, VV_OK);
    end(&place);
}

/* ---- confirms ---- */

static struct place *confirming;
static const struct vv_store_ops *real_ops;
static int confirms;

static enum vv_status slow_confirm(struct vv_store *store, struct vv_error *error)
{
    confirms++;
    vv_sim_clock_advance(&confirming->clock, 200 * VV_MILLISECOND);
    return real_ops->confirm(store, error);
}

static void write_hours(struct place *place, int64_t hours)
{
    static char text[1 << 18];
    size_t size = 0;
    for (int64_t hour = 0; hour < hours; hour++) {
        size += (size_t)snprintf(text + size, sizeof text - size, "m,h=a v=1 %lld\n",
                                 (long long)(NOW - 300 * VV_DAY + hour * VV_HOUR));
    }
    write_text(place, (struct vv_str){text, size});
    flush(place);
    vv_sim_clock_advance(&place->clock, VV_MINUTE);
}

/* Each is a sync of the disk, which live data would meet. */
static void history_that_is_sealed_bit_by_bit_is_confirmed_once(void **state)
{
    (void)state;
    struct place place;
    begin(&place);
    write_hours(&place, 1200);
    real_ops = place.store->ops;
    struct vv_store_ops ops = *real_ops;
    ops.confirm = slow_confirm;
    place.store->ops = &ops;
    confirming = &place;
    confirms = 0;
    while (sealed(&place) < 1200 || place.engine->seal_unconfirmed) {
        vv_history_note_live(&place.engine->history, slow_monotonic_ns(&slow.clock));
        while (step(&place, VV_TASK_SEAL) == VV_OK) {
        }
        int64_t now = slow_monotonic_ns(&slow.clock);
        vv_sim_clock_advance(&place.clock,
                             vv_history_rest_ns(&place.engine->history, VV_HISTORY_SEALS, now));
    }
    assert_int_equal(confirms, 1);
    int64_t now = place.clock.clock.monotonic_ns(&place.clock.clock);
    assert_true(place.engine->history.rest_until_ns[VV_HISTORY_SEALS] > now - VV_SECOND);
    place.store->ops = real_ops;
    end(&place);
}

/* ---- with threads ---- */

struct counts {
    atomic_int answered;
    atomic_int good;
};

static void count(void *context, enum vv_status status, const char *message)
{
    (void)message;
    struct counts *counts = context;
    atomic_fetch_add(&counts->good, status == VV_OK);
    atomic_fetch_add(&counts->answered, 1);
}

static void all_is_answered_whatever_rests(void **state)
{
    (void)state;
    struct counts counts = {0};
    struct vv_sim_disk *sim = vv_sim_disk_create(1);
    struct vv_disk *disk = vv_sim_disk_interface(sim);
    assert_int_equal(disk->ops->make_folder(disk, "/data", NULL), VV_OK);
    assert_int_equal(disk->ops->make_folder(disk, "/data/journal", NULL), VV_OK);
    struct vv_store *store;
    struct vv_store_options store_options = {.folder = "/data/store", .eras = 24};
    assert_int_equal(vv_store_memory_open(&store_options, &store, NULL), VV_OK);
    struct vv_settings settings;
    vv_settings_init(&settings);
    strcpy(settings.data, "/data");
    settings.disk_reserve_bytes = 0;
    settings.history_share = 1;
    settings.series_cache_bytes = 1 << 20;
    struct vv_clock *clock = vv_clock_system();
    struct vv_engine_options options = {
        .settings = &settings, .disk = disk, .clock = clock, .store = store};
    struct vv_engine *engine = start_engine(&options);
    int n = 0;
    for (int i = 0; i < 300; i++) {
        send_point(engine, clock->wall_ns(clock) + n++, i % 7 == 0, count, &counts);
        send_point(engine, clock->wall_ns(clock) - VV_DAY + n++, i % 5 == 0, count, &counts);
        if (i % 50 == 0) {
            assert_int_equal(vv_engine_flush(engine, i % 100 == 0, NULL), VV_OK);
        }
    }
    vv_engine_close(engine);
    assert_int_equal(atomic_load(&counts.answered), n);
    assert_int_equal(atomic_load(&counts.good), n);
    store->ops->close(store);
    vv_sim_disk_destroy(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(history_has_its_share_of_the_time_while_live_data_comes),
        cmocka_unit_test(history_has_all_of_the_time_when_no_live_data_comes),
        cmocka_unit_test(writing_history_waits_for_its_turn_but_not_for_long),
        cmocka_unit_test(history_alone_is_written_at_once),
        cmocka_unit_test(history_rests_beside_live_data_which_does_not_wait),
        cmocka_unit_test(history_that_waits_has_no_live_data_refused),
        cmocka_unit_test(sealing_history_rests_beside_live_data),
        cmocka_unit_test(the_rest_of_history_uses_up_no_time_of_ack_store),
        cmocka_unit_test(history_that_is_sealed_bit_by_bit_is_confirmed_once),
        cmocka_unit_test(all_is_answered_whatever_rests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
