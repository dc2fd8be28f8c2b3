/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Acknowledgements that wait for the store: when they come, what they promise, and what happens
 * while the store is away. Step by step over the memory store; then with threads.
 */
#include "answers.h"

#include "base/log.h"
#include "ingest/line_protocol.h"
#include "simulation/sim_clock.h"
#include "simulation/sim_disk.h"
#include "start.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TIMEOUT (10 * VV_SECOND)

struct place {
    struct vv_sim_disk *disk;
    struct vv_sim_clock clock;
    struct vv_store *store;
    struct vv_engine *engine;
    bool manual;
};

static void open_engine(struct place *place)
{
    struct vv_settings settings;
    vv_settings_init(&settings);
    strcpy(settings.data, "/data");
    settings.disk_reserve_bytes = 0;
    settings.ack_timeout_ns = TIMEOUT;
    struct vv_engine_options options = {.settings = &settings,
                                        .disk = vv_sim_disk_interface(place->disk),
                                        .clock = place->manual ? &place->clock.clock : NULL,
                                        .store = place->store,
                                        .manual = place->manual};
    place->engine = start_engine(&options);
}

static void insert_disk(struct place *place)
{
    place->disk = vv_sim_disk_create(1);
    struct vv_disk *disk = vv_sim_disk_interface(place->disk);
    assert_int_equal(disk->ops->make_folder(disk, "/data", NULL), VV_OK);
    assert_int_equal(disk->ops->make_folder(disk, "/data/journal", NULL), VV_OK);
}

/* Threads run unless `manual`; `ops`, if any, are the store's. */
static void begin_with(struct place *place, bool manual, const struct vv_store_ops *ops)
{
    vv_log_level_set(VV_LOG_OFF);
    place->manual = manual;
    insert_disk(place);
    vv_sim_clock_init(&place->clock, INT64_C(1767225600) * VV_SECOND);
    struct vv_store_options options = {.folder = "/data/store", .eras = 24};
    assert_int_equal(vv_store_memory_open(&options, &place->store, NULL), VV_OK);
    if (ops) {
        place->store->ops = ops;
    }
    open_engine(place);
}

static void begin(struct place *place)
{
    begin_with(place, true, NULL);
}

static void end(struct place *place)
{
    vv_engine_close(place->engine);
    place->store->ops->close(place->store);
    vv_sim_disk_destroy(place->disk);
}

/* ---- writing ---- */

typedef void (*submit_function)(struct vv_engine *engine, struct vv_batch *take_batch,
                                vv_write_done done, void *context);

/* One line with two points. */
static void submit(struct place *place, submit_function how, int number, struct write *write)
{
    char line[64];
    struct vv_staging staging;
    struct vv_line_parser *parser;
    *write = (struct write){0};
    snprintf(line, sizeof line, "m,h=x v=%d,w=2i %lld\n", number,
             (long long)(INT64_C(1767225600) * VV_SECOND + number));
    assert_int_equal(vv_engine_stage(place->engine, VV_STR_LITERAL("t"), &staging, NULL), VV_OK);
    assert_int_equal(vv_line_parser_create(&staging, 1, &parser), VV_OK);
    assert_int_equal(vv_line_parser_feed(parser, line, strlen(line)), VV_OK);
    assert_int_equal(vv_line_parser_finish(parser), VV_OK);
    vv_staging_decide(&staging);
    vv_line_parser_destroy(parser);
    vv_engine_account(place->engine, &staging);
    how(place->engine, vv_staging_take_batch(&staging), answer, write);
    vv_staging_deinit(&staging);
}

static enum vv_status step(struct place *place, enum vv_engine_task task)
{
    struct vv_error error = {0};
    return vv_engine_step(place->engine, task, &error);
}

/* ---- what can be seen ---- */

/* How many different points of t a query finds. */
static long long count_points(struct place *place)
{
    const struct vv_parameter parameters[] = {{VV_STR_LITERAL("tenant"), VV_STR_LITERAL("t")},
                                              {VV_STR_LITERAL("metric"), VV_STR_LITERAL("m.v")},
                                              {VV_STR_LITERAL("format"), VV_STR_LITERAL("csv")}};
    struct vv_request *request;
    struct vv_result *result;
    struct vv_query_limits limits;
    struct vv_buffer text = {0};
    struct vv_error error = {0};
    enum vv_status status;
    vv_engine_query_limits(place->engine, &limits);
    assert_int_equal(vv_request_parse(VV_REQUEST_QUERY, parameters, 3,
                                      INT64_C(1767225600) * VV_SECOND, &request, &error),
                     VV_OK);
    assert_int_equal(vv_result_open(vv_engine_query_context(place->engine), &limits, request,
                                    VV_FORMAT_CSV, &result, &error),
                     VV_OK);
    while ((status = vv_result_write(result, &text, 4096, &error)) == VV_OK) {
    }
    assert_int_equal(status, VV_DONE);
    vv_result_close(result);
    long long lines = 0;
    for (size_t i = 0; i < text.size; i++) {
        lines += text.data[i] == '\n';
    }
    vv_buffer_deinit(&text);
    return lines - 1; /* the header */
}

static struct vv_account account_of(struct place *place)
{
    uint32_t tenant;
    struct vv_account account;
    struct vv_registry *registry = vv_engine_query_context(place->engine)->registry;
    assert_int_equal(vv_registry_tenant(registry, VV_STR_LITERAL("t"), false, &tenant, NULL),
                     VV_OK);
    vv_engine_read_account(place->engine, tenant, &account);
    return account;
}

/* ---- step by step ---- */

static void an_answer_comes_when_the_store_has_confirmed(void **state)
{
    (void)state;
    struct place place;
    struct write stored;
    struct write journaled;
    begin(&place);
    submit(&place, vv_engine_submit_to_store, 1, &stored);
    submit(&place, vv_engine_submit, 2, &journaled);
    assert_int_equal(step(&place, VV_TASK_COMMIT), VV_OK);
    assert_answered(&journaled, VV_OK);
    assert_waits(&stored);
    assert_int_equal(count_points(&place), 2); /* readable before */
    assert_int_equal(account_of(&place).accepted, 4);
    assert_true(metric(place.engine, "varve_acks_waiting") == 1);
    assert_int_equal(step(&place, VV_TASK_COMMIT), VV_DONE);
    assert_waits(&stored);
    assert_int_equal(step(&place, VV_TASK_FLUSH), VV_OK);
    assert_int_equal(step(&place, VV_TASK_COMMIT), VV_OK);
    assert_answered(&stored, VV_OK);
    assert_true(metric(place.engine, "varve_acks_waiting") == 0);
    assert_true(metric(place.engine, "varve_ack_store_seconds_count") == 1);
    end(&place);
}

static void what_comes_while_a_job_is_under_way_shares_the_next(void **state)
{
    (void)state;
    struct place place;
    struct write writes[6];
    begin(&place);
    for (int i = 0; i < 6; i++) { /* each in a round of its own */
        submit(&place, vv_engine_submit_to_store, i, &writes[i]);
        assert_int_equal(step(&place, VV_TASK_COMMIT), VV_OK);
    }
    assert_int_equal(step(&place, VV_TASK_FLUSH), VV_OK);
    assert_int_equal(step(&place, VV_TASK_COMMIT), VV_OK);
    assert_answered(&writes[0], VV_OK);
    for (int i = 1; i < 6; i++) {
        assert_waits(&writes[i]);
    }
    assert_int_equal(step(&place, VV_TASK_FLUSH), VV_OK);
    assert_int_equal(step(&place, VV_TASK_COMMIT), VV_OK);
    for (int i = 1; i < 6; i++) {
        assert_answered(&writes[i], VV_OK);
    }
    assert_true(metric(place.engine, "varve_flushes_total") == 2);
    assert_int_equal(step(&place, VV_TASK_COMMIT), VV_DONE);
    end(&place);
}

static void a_store_that_is_away_too_long_makes_the_outcome_unknown(void **state)
{
    (void)state;
    struct place place;
    struct write first;
    struct write later;
    begin(&place);
    submit(&place, vv_engine_submit_to_store, 1, &first);
    assert_int_equal(step(&place, VV_TASK_COMMIT), VV_OK);
    vv_store_memory_fail(place.store, VV_IO, 1000000);
    assert_int_equal(step(&place, VV_TASK_FLUSH), VV_IO);
    vv_sim_clock_advance(&place.clock, TIMEOUT - VV_SECOND);
    submit(&place, vv_engine_submit_to_store, 2, &later);
    assert_int_equal(step(&place, VV_TASK_COMMIT), VV_OK);
    assert_waits(&first);
    vv_sim_clock_advance(&place.clock, VV_SECOND);
    assert_int_equal(step(&place, VV_TASK_COMMIT), VV_OK);
    assert_answered(&first, VV_UNKNOWN);
    assert_non_null(strstr(first.message, "in the journal"));
    assert_waits(&later);
    /* The books: it is accepted, as it is in the journal; what is unknown is only its answer. */
    assert_int_equal(account_of(&place).accepted, 4);
    assert_int_equal(account_of(&place).received, 4);
    assert_int_equal(account_of(&place).unknown, 0);
    assert_true(metric(place.engine, "varve_ack_timeouts_total") == 1);
    /* It is delivered when the store is back; the other one is in time. */
    vv_store_memory_fail(place.store, VV_OK, 0);
    vv_sim_clock_advance(&place.clock, VV_SECOND);
    assert_int_equal(step(&place, VV_TASK_FLUSH), VV_OK);
    assert_int_equal(step(&place, VV_TASK_COMMIT), VV_OK); /* cuts for the other one */
    assert_int_equal(step(&place, VV_TASK_FLUSH), VV_OK);
    assert_int_equal(step(&place, VV_TASK_COMMIT), VV_OK);
    assert_answered(&later, VV_OK);
    assert_answered(&first, VV_UNKNOWN);
    assert_int_equal(count_points(&place), 2);
    end(&place);
}

static void closing_answers_what_waits(void **state)
{
    (void)state;
    struct place place;
    struct write confirmed;
    struct write waiting;
    begin(&place);
    submit(&place, vv_engine_submit_to_store, 1, &confirmed);
    assert_int_equal(step(&place, VV_TASK_COMMIT), VV_OK);
    submit(&place, vv_engine_submit_to_store, 2, &waiting);
    assert_int_equal(step(&place, VV_TASK_COMMIT), VV_OK);
    assert_int_equal(step(&place, VV_TASK_FLUSH), VV_OK);
    vv_engine_close(place.engine);
    assert_answered(&confirmed, VV_OK);
    assert_answered(&waiting, VV_UNKNOWN);
    assert_non_null(strstr(waiting.message, "in the journal"));
    vv_sim_disk_restart(place.disk);
    open_engine(&place);
    assert_int_equal(count_points(&place), 2); /* so it was */
    assert_int_equal(account_of(&place).accepted, 4);
    end(&place);
}

/* Guarantee 1, with `ack: store`: the node's disk is lost right after the answer. */
static void acknowledged_by_the_store_survives_the_loss_of_the_disk(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 8; seed++) {
        struct place place;
        struct write stored;
        struct write journaled;
        begin(&place);
        submit(&place, vv_engine_submit_to_store, 1, &stored);
        for (int i = 0; stored.answers == 0 && i < 10; i++) {
            enum vv_status status = step(&place, i % 2 ? VV_TASK_FLUSH : VV_TASK_COMMIT);
            assert_true(status == VV_OK || status == VV_DONE);
        }
        assert_answered(&stored, VV_OK);
        submit(&place, vv_engine_submit, 2, &journaled);
        assert_int_equal(step(&place, VV_TASK_COMMIT), VV_OK);
        assert_answered(&journaled, VV_OK);
        vv_engine_close(place.engine);
        vv_store_memory_crash(place.store, seed);
        vv_sim_disk_destroy(place.disk);
        insert_disk(&place);
        open_engine(&place);
        assert_int_equal(count_points(&place), 1); /* the other one was only in the journal */
        assert_int_equal(account_of(&place).accepted, 2);
        end(&place);
    }
}

static void what_the_journal_refuses_does_not_wait(void **state)
{
    (void)state;
    struct place place;
    struct write write;
    begin(&place);
    submit(&place, vv_engine_submit_to_store, 1, &write);
    vv_sim_disk_fail_call(place.disk, VV_SIM_WRITE, 1, VV_IO);
    assert_int_equal(step(&place, VV_TASK_COMMIT), VV_OK);
    assert_answered(&write, VV_IO);
    assert_int_equal(account_of(&place).accepted, 0);
    assert_int_equal(account_of(&place).refused[VV_REASON_OVERLOAD], 2);
    end(&place);
}

static void submit_nothing(struct place *place, struct write *write)
{
    struct vv_batch *batch;
    *write = (struct write){0};
    assert_int_equal(vv_batch_create(0, &batch), VV_OK);
    vv_engine_submit_to_store(place->engine, batch, answer, write);
    assert_int_equal(step(place, VV_TASK_COMMIT), VV_OK);
}

static void a_batch_without_points_waits_for_what_came_before(void **state)
{
    (void)state;
    struct place place;
    struct write points;
    struct write nothing;
    begin(&place);
    submit_nothing(&place, &nothing);
    assert_int_equal(step(&place, VV_TASK_COMMIT), VV_OK);
    assert_answered(&nothing, VV_OK); /* there is nothing to wait for */
    submit(&place, vv_engine_submit, 1, &points);
    assert_int_equal(step(&place, VV_TASK_COMMIT), VV_OK);
    assert_answered(&points, VV_OK);
    submit_nothing(&place, &nothing);
    assert_int_equal(step(&place, VV_TASK_COMMIT), VV_DONE);
    assert_waits(&nothing);
    assert_int_equal(step(&place, VV_TASK_FLUSH), VV_OK);
    assert_int_equal(step(&place, VV_TASK_COMMIT), VV_OK);
    assert_answered(&nothing, VV_OK);
    assert_true(metric(place.engine, "varve_flushes_total") == 1);
    end(&place);
}

/* ---- with threads, and a store that confirms when it is told to ---- */

#define WAITING 40

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate_moves = PTHREAD_COND_INITIALIZER;
static bool gate_open;
static int confirms_begun;
static const struct vv_store_ops *inner;

static struct vv_store_ops memory_ops(void)
{
    struct vv_store *store;
    struct vv_store_options options = {.folder = "/data/store", .eras = 24};
    assert_int_equal(vv_store_memory_open(&options, &store, NULL), VV_OK);
    inner = store->ops;
    store->ops->close(store);
    return *inner;
}

static enum vv_status confirm_when_told(struct vv_store *store, struct vv_error *error)
{
    pthread_mutex_lock(&gate);
    confirms_begun++;
    pthread_cond_broadcast(&gate_moves);
    while (!gate_open) {
        pthread_cond_wait(&gate_moves, &gate);
    }
    pthread_mutex_unlock(&gate);
    return inner->confirm(store, error);
}

static void set_gate(bool open)
{
    pthread_mutex_lock(&gate);
    gate_open = open;
    pthread_cond_broadcast(&gate_moves);
    pthread_mutex_unlock(&gate);
}

static void wait_answered(const struct write *write)
{
    while (atomic_load(&write->answers) == 0) {
        sched_yield();
    }
}

static void a_store_that_is_slow_holds_up_only_who_waits_for_it(void **state)
{
    (void)state;
    struct place place;
    static struct write stored[WAITING];
    static struct write journaled[WAITING];
    struct vv_store_ops held = memory_ops();
    held.confirm = confirm_when_told;
    set_gate(false);
    begin_with(&place, false, &held);
    submit(&place, vv_engine_submit_to_store, 0, &stored[0]);
    pthread_mutex_lock(&gate);
    while (confirms_begun == 0) { /* at once, not after head.flush_age */
        pthread_cond_wait(&gate_moves, &gate);
    }
    pthread_mutex_unlock(&gate);
    for (int i = 1; i < WAITING; i++) {
        submit(&place, vv_engine_submit_to_store, i, &stored[i]);
        submit(&place, vv_engine_submit, WAITING + i, &journaled[i]);
        wait_answered(&journaled[i]);
        assert_answered(&journaled[i], VV_OK);
    }
    for (int i = 0; i < WAITING; i++) {
        assert_waits(&stored[i]);
    }
    assert_int_equal(confirms_begun, 1);
    set_gate(true);
    for (int i = 0; i < WAITING; i++) {
        wait_answered(&stored[i]);
        assert_answered(&stored[i], VV_OK);
    }
    /* What came meanwhile shares one; sealing and expiry may confirm something, too. */
    assert_true(metric(place.engine, "varve_flushes_total") == 2);
    assert_int_equal(count_points(&place), 2 * WAITING - 1);
    end(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_comes_when_the_store_has_confirmed),
        cmocka_unit_test(what_comes_while_a_job_is_under_way_shares_the_next),
        cmocka_unit_test(a_store_that_is_away_too_long_makes_the_outcome_unknown),
        cmocka_unit_test(closing_answers_what_waits),
        cmocka_unit_test(acknowledged_by_the_store_survives_the_loss_of_the_disk),
        cmocka_unit_test(what_the_journal_refuses_does_not_wait),
        cmocka_unit_test(a_batch_without_points_waits_for_what_came_before),
        cmocka_unit_test(a_store_that_is_slow_holds_up_only_who_waits_for_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
