/* SPDX-License-Identifier: Apache-2.0 */
/* A part of the store is away: what waits for it is delivered later, who waits for it is answered
 * then and not before, and what is said of it is true. */
#include "answers.h"
#include "nodes_rig.h"

#include "engine/engine_private.h"

#define TENANTS 4
#define TIMEOUT (30 * VV_SECOND) /* ack.timeout, as it is set by default */

/* What the store says; of one test at a time. */
static struct parked {
    pthread_mutex_t lock;
    bool has[TENANTS];
    uint32_t asked; /* whether a tenant has something parked */
    enum vv_status status;
    uint32_t slices; /* that are left to be delivered */
    uint32_t delivered;
    uint64_t n;
    int64_t since_ns;
} parked = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool has_parked(struct vv_store *store, uint32_t tenant)
{
    (void)store;
    pthread_mutex_lock(&parked.lock);
    bool has = parked.has[tenant];
    parked.asked++;
    pthread_mutex_unlock(&parked.lock);
    return has;
}

static size_t no_tentative(struct vv_store *store, struct vv_first_plan *plans_out, size_t max)
{
    (void)store;
    (void)plans_out;
    (void)max;
    return 0;
}

static enum vv_status deliver(struct vv_store *store, bool *more_out, struct vv_error *error)
{
    (void)store;
    pthread_mutex_lock(&parked.lock);
    enum vv_status status = parked.status;
    parked.delivered++;
    parked.slices -= status == VV_OK && parked.slices > 0;
    *more_out = parked.slices > 0;
    pthread_mutex_unlock(&parked.lock);
    return status == VV_OK ? VV_OK : vv_error_set(error, status, "it is still away");
}

static void all_parked(struct vv_store *store, struct vv_parked *parked_out)
{
    (void)store;
    pthread_mutex_lock(&parked.lock);
    *parked_out = (struct vv_parked){parked.n, parked.n * 100, parked.since_ns, parked.n};
    pthread_mutex_unlock(&parked.lock);
}

static void set_parked(uint32_t tenant, bool has)
{
    pthread_mutex_lock(&parked.lock);
    parked.has[tenant] = has;
    pthread_mutex_unlock(&parked.lock);
}

static void set_n(uint64_t n)
{
    pthread_mutex_lock(&parked.lock);
    parked.n = n;
    parked.since_ns = n ? RIG_START : 0;
    pthread_mutex_unlock(&parked.lock);
}

/* The engine asks for its operations when it is opened, and later. */
static void begin(struct rig *rig, bool threads)
{
    memset(parked.has, 0, sizeof parked.has);
    parked.asked = parked.slices = parked.delivered = 0;
    parked.status = VV_OK;
    set_n(0);
    rig_init(rig, 3, false);
    vv_engine_close(rig->engine);
    rig->fake->shared.has_parked = has_parked;
    rig->fake->shared.parked = all_parked;
    rig->fake->shared.tentative = no_tentative;
    rig->fake->shared.deliver = deliver;
    rig->threads = threads;
    rig->ack_timeout_ns = threads ? 10000 * VV_DAY : 0; /* time runs there */
    rig_open(rig);
}

/* ---- writing ---- */

/* One point of tenant t0, t1 …, whose number is the same; the answer waits for the store. */
static void submit(struct rig *rig, uint32_t tenant, struct write *write)
{
    char name[8];
    char line[80];
    struct vv_staging staging;
    struct vv_line_parser *parser;
    *write = (struct write){0};
    snprintf(name, sizeof name, "t%u", (unsigned)tenant);
    snprintf(line, sizeof line, "m,id=x v=%lldi %lld\n", (long long)rig->points,
             (long long)(RIG_START - VV_HOUR + rig->points * VV_SECOND));
    rig->points++;
    assert_int_equal(vv_engine_stage(rig->engine, vv_str_of(name), &staging, NULL), VV_OK);
    assert_int_equal(vv_line_parser_create(&staging, 1, &parser), VV_OK);
    assert_int_equal(vv_line_parser_feed(parser, line, strlen(line)), VV_OK);
    assert_int_equal(vv_line_parser_finish(parser), VV_OK);
    vv_staging_decide(&staging);
    vv_line_parser_destroy(parser);
    struct vv_batch *batch = vv_staging_take_batch(&staging);
    vv_staging_deinit(&staging);
    assert_int_equal(batch->tenant, tenant);
    vv_engine_submit_to_store(rig->engine, batch, answer, write);
}

static void submit_and_store(struct rig *rig, uint32_t tenant, struct write *write)
{
    submit(rig, tenant, write);
    assert_int_equal(rig_step(rig, VV_TASK_COMMIT), VV_OK);
    assert_int_equal(rig_step(rig, VV_TASK_FLUSH), VV_OK);
    (void)!rig_step(rig, VV_TASK_COMMIT);
}

/* Delivers, then lets the committer look. */
static void look_again(struct rig *rig)
{
    (void)!rig_step(rig, VV_TASK_DELIVER);
    (void)!rig_step(rig, VV_TASK_COMMIT);
}

/* ---- who waits for the store ---- */

static void who_has_something_parked_waits_and_holds_up_nobody(void **state)
{
    (void)state;
    struct rig rig;
    struct write writes[6];
    begin(&rig, false);
    set_parked(1, true);
    submit_and_store(&rig, 0, &writes[0]);
    submit_and_store(&rig, 1, &writes[1]);
    submit_and_store(&rig, 0, &writes[2]);
    submit_and_store(&rig, 1, &writes[3]);
    assert_answered(&writes[0], VV_OK);
    assert_answered(&writes[2], VV_OK);
    assert_waits(&writes[1]);
    assert_waits(&writes[3]);
    assert_true(metric(rig.engine, "varve_acks_waiting") == 2);
    look_again(&rig);
    assert_waits(&writes[1]);
    set_parked(2, true);
    submit_and_store(&rig, 2, &writes[4]);
    set_parked(1, false);
    (void)!rig_step(&rig, VV_TASK_COMMIT); /* nobody has said that anything was delivered */
    assert_waits(&writes[1]);
    look_again(&rig);
    assert_answered(&writes[1], VV_OK);
    assert_answered(&writes[3], VV_OK);
    assert_waits(&writes[4]);
    submit_and_store(&rig, 1, &writes[5]);
    assert_answered(&writes[5], VV_OK);
    set_parked(2, false);
    look_again(&rig);
    assert_answered(&writes[4], VV_OK);
    assert_true(metric(rig.engine, "varve_acks_waiting") == 0);
    assert_true(metric(rig.engine, "varve_ack_timeouts_total") == 0);
    rig_deinit(&rig);
}

static void what_stays_parked_makes_the_outcome_unknown(void **state)
{
    (void)state;
    struct rig rig;
    struct write writes[4];
    begin(&rig, false);
    set_parked(0, true);
    set_parked(1, true);
    submit_and_store(&rig, 0, &writes[0]);
    vv_sim_clock_advance(&rig.clock, VV_SECOND);
    submit_and_store(&rig, 1, &writes[1]);
    vv_sim_clock_advance(&rig.clock, VV_SECOND);
    submit_and_store(&rig, 0, &writes[2]);
    vv_sim_clock_advance(&rig.clock, TIMEOUT - 2 * VV_SECOND);
    assert_int_equal(rig_step(&rig, VV_TASK_COMMIT), VV_OK);
    assert_answered(&writes[0], VV_UNKNOWN);
    assert_non_null(strstr(writes[0].message, "a part of the store is away"));
    assert_waits(&writes[1]);
    assert_waits(&writes[2]);
    vv_sim_clock_advance(&rig.clock, VV_SECOND);
    assert_int_equal(rig_step(&rig, VV_TASK_COMMIT), VV_OK);
    assert_answered(&writes[1], VV_UNKNOWN);
    assert_waits(&writes[2]);
    set_parked(0, false);
    look_again(&rig);
    assert_answered(&writes[2], VV_OK);
    assert_true(metric(rig.engine, "varve_ack_timeouts_total") == 2);
    set_parked(2, true);
    submit_and_store(&rig, 2, &writes[3]);
    vv_engine_close(rig.engine);
    assert_answered(&writes[3], VV_UNKNOWN);
    assert_non_null(strstr(writes[3].message, "server stopped"));
    rig_open(&rig);
    rig_deinit(&rig);
}

static void what_is_delivered_in_the_end_is_answered_by_closing(void **state)
{
    (void)state;
    struct rig rig;
    struct write write;
    begin(&rig, false);
    set_parked(0, true);
    submit_and_store(&rig, 0, &write);
    assert_waits(&write);
    set_parked(0, false);
    vv_engine_close(rig.engine);
    assert_answered(&write, VV_OK);
    rig_open(&rig);
    rig_deinit(&rig);
}

/* Thousands may wait: they are not looked at one by one. */
static void many_that_wait_cost_one_look(void **state)
{
    (void)state;
    enum { MANY = 2000 };
    static struct write writes[MANY];
    struct rig rig;
    begin(&rig, false);
    set_parked(0, true);
    for (int i = 0; i < MANY; i++) {
        submit(&rig, 0, &writes[i]);
    }
    for (int i = 0; i < 10; i++) { /* rounds are bounded */
        (void)!rig_step(&rig, VV_TASK_COMMIT);
        assert_int_equal(rig_step(&rig, VV_TASK_FLUSH), VV_OK);
    }
    (void)!rig_step(&rig, VV_TASK_COMMIT);
    assert_in_range(parked.asked, 1, 5);
    for (int i = 0; i < 10; i++) {
        look_again(&rig);
    }
    assert_true(parked.asked < 20);
    set_parked(0, false);
    look_again(&rig);
    for (int i = 0; i < MANY; i++) {
        assert_answered(&writes[i], VV_OK);
    }
    rig_deinit(&rig);
}

/* ---- delivering ---- */

static void it_is_delivered_in_slices(void **state)
{
    (void)state;
    struct rig rig;
    begin(&rig, false);
    parked.slices = 3;
    assert_int_equal(rig_step(&rig, VV_TASK_DELIVER), VV_OK);
    assert_int_equal(rig_step(&rig, VV_TASK_DELIVER), VV_OK);
    assert_int_equal(rig_step(&rig, VV_TASK_DELIVER), VV_DONE);
    rig_deinit(&rig);
}

static void a_failure_to_deliver_is_none_of_the_store(void **state)
{
    (void)state;
    struct rig rig;
    struct vv_engine_health health;
    begin(&rig, false);
    parked.status = VV_IO;
    assert_int_equal(rig_step(&rig, VV_TASK_DELIVER), VV_IO);
    vv_engine_read_health(rig.engine, &health);
    assert_true(health.ready);
    assert_string_equal(health.reason, "");
    rig_write(&rig);
    assert_int_equal(rig_step(&rig, VV_TASK_FLUSH), VV_OK);
    parked.status = VV_OK;
    assert_int_equal(rig_step(&rig, VV_TASK_DELIVER), VV_DONE);
    rig_deinit(&rig);
}

static void a_store_that_failed_delivers_nothing(void **state)
{
    (void)state;
    struct rig rig;
    begin(&rig, false);
    rig_write(&rig);
    fake_shared_fail(rig.fake, VV_IO, 1000);
    assert_int_equal(rig_step(&rig, VV_TASK_FLUSH), VV_IO);
    assert_int_equal(rig_step(&rig, VV_TASK_DELIVER), VV_OVERLOAD);
    assert_int_equal(parked.delivered, 0);
    fake_shared_fail(rig.fake, VV_OK, 0);
    rig_deinit(&rig);
}

/* ---- what is deleted ---- */

static bool is_swept_after_a_round(struct rig *rig)
{
    enum vv_status status;
    do {
        vv_sim_clock_advance(&rig->clock, VV_SECOND);
        status = rig_step(rig, VV_TASK_SWEEP);
    } while (status == VV_OK);
    assert_int_equal(status, VV_DONE);
    return vv_deletions_next(rig->engine->deletions, 0, VV_MARKER_UNSWEPT) == UINT32_MAX;
}

static void learn_marker(struct rig *rig)
{
    struct vv_marker marker = {.from = VV_TIME_MIN,
                               .to = VV_TIME_MAX + 1,
                               .stamp = vv_stamp_make(RIG_START / 1000 + 1000000, 3),
                               .scope = VV_DELETION_SOURCE,
                               .is_told = true};
    assert_int_equal(vv_deletions_learn(rig->engine->deletions, 0, &marker, 1), VV_OK);
}

/* The marker that others shall know by then may be what is parked. */
static void spans_are_not_marked_while_what_was_told_is_parked(void **state)
{
    (void)state;
    struct rig rig;
    struct write write;
    begin(&rig, false);
    submit_and_store(&rig, 0, &write);
    learn_marker(&rig);
    set_n(1);
    assert_false(is_swept_after_a_round(&rig));
    assert_int_equal(rig.engine->counters.spans_swept, 0);
    set_n(0);
    assert_true(is_swept_after_a_round(&rig));
    rig_deinit(&rig);
}

/* What others have put there is found when they have told where it is. */
static void a_source_whose_plans_are_unknown_is_not_swept_yet(void **state)
{
    (void)state;
    struct rig rig;
    struct write write;
    begin(&rig, false);
    submit(&rig, 0, &write);
    assert_int_equal(rig_step(&rig, VV_TASK_COMMIT), VV_OK);
    learn_marker(&rig);
    assert_int_equal(vv_registry_source_plans(rig.engine->registry, 0).n, 0);
    assert_false(is_swept_after_a_round(&rig));
    assert_int_equal(rig_step(&rig, VV_TASK_FLUSH), VV_OK);
    assert_true(is_swept_after_a_round(&rig));
    (void)!rig_step(&rig, VV_TASK_COMMIT);
    rig_deinit(&rig);
}

/* ---- what is said of it ---- */

static void what_is_parked_is_told(void **state)
{
    (void)state;
    struct rig rig;
    struct vv_engine_health health;
    begin(&rig, false);
    vv_engine_read_health(rig.engine, &health);
    assert_int_equal(health.parked, 0);
    assert_string_equal(health.reason, "");
    set_n(7);
    vv_sim_clock_advance(&rig.clock, VV_MINUTE);
    vv_engine_read_health(rig.engine, &health);
    assert_true(health.ready);
    assert_non_null(strstr(health.reason, "a part of the store is away"));
    assert_int_equal(health.parked, 7);
    assert_int_equal(health.parked_bytes, 700);
    assert_true(health.parked_since_ns == RIG_START);
    assert_true(metric(rig.engine, "varve_store_parked") == 7);
    assert_true(metric(rig.engine, "varve_store_parked_bytes") == 700);
    assert_true(metric(rig.engine, "varve_store_parked_age_seconds") == 60);
    rig_deinit(&rig);
}

static int64_t own_until(struct rig *rig, bool *known_out)
{
    struct vv_engine_node *nodes;
    size_t n;
    assert_int_equal(vv_engine_read_nodes(rig->engine, &nodes, &n), VV_OK);
    int64_t until = nodes[0].flushed_until_ns;
    *known_out = nodes[0].is_known;
    free(nodes);
    return until;
}

static void this_node_has_flushed_until_something_was_parked(void **state)
{
    (void)state;
    struct rig rig;
    bool known;
    begin(&rig, false);
    set_n(1); /* since before the start */
    assert_int_equal(rig_step(&rig, VV_TASK_BEAT), VV_OK);
    own_until(&rig, &known);
    assert_false(known);
    set_n(0);
    vv_sim_clock_advance(&rig.clock, VV_MINUTE);
    assert_int_equal(rig_step(&rig, VV_TASK_BEAT), VV_OK);
    set_n(1);
    vv_sim_clock_advance(&rig.clock, VV_MINUTE);
    assert_int_equal(rig_step(&rig, VV_TASK_BEAT), VV_OK);
    assert_true(own_until(&rig, &known) == RIG_START + VV_MINUTE);
    assert_true(known);
    set_n(0);
    assert_true(own_until(&rig, &known) == RIG_START + 2 * VV_MINUTE);
    rig_deinit(&rig);
}

/* ---- with threads ---- */

static void wait_answered(const struct write *write)
{
    while (atomic_load(&write->answers) == 0) {
        sched_yield();
    }
}

static uint32_t delivered(void)
{
    pthread_mutex_lock(&parked.lock);
    uint32_t n = parked.delivered;
    pthread_mutex_unlock(&parked.lock);
    return n;
}

/* The clock goes on, for what is done by time. */
static void wait_delivered(struct rig *rig, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t before = delivered();
        while (delivered() == before) {
            vv_sim_clock_advance(&rig->clock, VV_SECOND);
            sched_yield();
        }
    }
}

static void the_storage_thread_delivers_and_the_committer_answers(void **state)
{
    (void)state;
    struct rig rig;
    struct write first;
    struct write second;
    begin(&rig, true);
    set_parked(0, true);
    submit(&rig, 0, &first);
    submit(&rig, 1, &second);
    wait_answered(&second);
    assert_answered(&second, VV_OK);
    wait_delivered(&rig, 3);
    assert_waits(&first);
    set_parked(0, false);
    while (atomic_load(&first.answers) == 0) {
        wait_delivered(&rig, 1);
    }
    assert_answered(&first, VV_OK);
    rig_deinit(&rig);
}

static void what_can_be_delivered_soon_is_before_it_stops(void **state)
{
    (void)state;
    struct rig rig;
    begin(&rig, true);
    pthread_mutex_lock(&parked.lock);
    parked.slices = 5;
    pthread_mutex_unlock(&parked.lock);
    vv_engine_close(rig.engine);
    assert_int_equal(parked.slices, 0);
    rig_open(&rig);
    rig_deinit(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_has_something_parked_waits_and_holds_up_nobody),
        cmocka_unit_test(what_stays_parked_makes_the_outcome_unknown),
        cmocka_unit_test(what_is_delivered_in_the_end_is_answered_by_closing),
        cmocka_unit_test(many_that_wait_cost_one_look),
        cmocka_unit_test(it_is_delivered_in_slices),
        cmocka_unit_test(a_failure_to_deliver_is_none_of_the_store),
        cmocka_unit_test(a_store_that_failed_delivers_nothing),
        cmocka_unit_test(spans_are_not_marked_while_what_was_told_is_parked),
        cmocka_unit_test(a_source_whose_plans_are_unknown_is_not_swept_yet),
        cmocka_unit_test(what_is_parked_is_told),
        cmocka_unit_test(this_node_has_flushed_until_something_was_parked),
        cmocka_unit_test(the_storage_thread_delivers_and_the_committer_answers),
        cmocka_unit_test(what_can_be_delivered_soon_is_before_it_stops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
