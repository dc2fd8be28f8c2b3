/* SPDX-License-Identifier: Apache-2.0 */
/* Engines of one shared store: what one takes the others know by name, whatever fails and whenever
 * a process ends. */
#include "../fleet/fleet_fixture.h"
#include "nodes_rig.h"

static void open_node(struct rig *rig, uint32_t number)
{
    struct vv_disk *disk;
    vv_log_level_set(VV_LOG_OFF);
    *rig = (struct rig){.disk = vv_sim_disk_create(number)};
    disk = vv_sim_disk_interface(rig->disk);
    assert_int_equal(disk->ops->make_folder(disk, "/data", NULL), VV_OK);
    assert_int_equal(disk->ops->make_folder(disk, "/data/journal", NULL), VV_OK);
    vv_sim_clock_init(&rig->clock, RIG_START);
    rig->store = fake_open(number);
    rig_open(rig);
    hub.nodes[number].registry = vv_engine_query_context(rig->engine)->registry;
}

static void end_hard(struct rig *rig, uint32_t number)
{
    vv_engine_close(rig->engine);
    fake_crash(number);
    vv_sim_disk_restart(rig->disk);
    rig_open(rig);
    hub.nodes[number].registry = vv_engine_query_context(rig->engine)->registry;
}

static void close_node(struct rig *rig)
{
    vv_engine_close(rig->engine);
    vv_sim_disk_destroy(rig->disk);
}

static void assert_same_names(struct rig *a, struct rig *b)
{
    struct node first = {.number = 1, .registry = vv_engine_query_context(a->engine)->registry};
    struct node second = {.number = 2, .registry = vv_engine_query_context(b->engine)->registry};
    assert_same_nodes(&first, &second);
}

static size_t plans_of(struct rig *rig)
{
    return vv_registry_source_plans(vv_engine_query_context(rig->engine)->registry, 0).n;
}

static void what_one_flushes_the_other_knows(void **state)
{
    (void)state;
    struct rig a;
    struct rig b;
    fake_begin(1);
    open_node(&a, 1);
    open_node(&b, 2);
    rig_write(&a);
    assert_int_equal(rig_step(&b, VV_TASK_LEARN), VV_DONE);
    assert_int_equal(rig_step(&a, VV_TASK_FLUSH), VV_OK);
    assert_int_equal(hub.nodes[1].plans_at_first_run, 1);
    assert_int_equal(rig_step(&b, VV_TASK_LEARN), VV_OK);
    assert_int_equal(plans_of(&b), 1);
    assert_same_names(&a, &b);
    end_hard(&b, 2); /* it was kept */
    assert_same_names(&a, &b);
    assert_int_equal(rig_step(&b, VV_TASK_LEARN), VV_DONE);
    rig_write(&b); /* the same source: nothing of it is news */
    assert_int_equal(rig_step(&b, VV_TASK_FLUSH), VV_OK);
    assert_int_equal(hub.nodes[2].told, 0);
    close_node(&a);
    close_node(&b);
    fake_end();
}

static void both_take_the_plan_that_was_agreed_first(void **state)
{
    (void)state;
    struct rig a;
    struct rig b;
    fake_begin(2);
    open_node(&a, 1);
    open_node(&b, 2);
    rig_write(&a);
    for (int i = 0; i < 100; i++) {
        rig_write(&b); /* by itself it would choose another one */
    }
    assert_int_equal(rig_step(&b, VV_TASK_FLUSH), VV_OK);
    assert_int_equal(rig_step(&a, VV_TASK_FLUSH), VV_OK);
    assert_int_equal(rig_step(&a, VV_TASK_LEARN), VV_OK);
    assert_int_equal(rig_step(&b, VV_TASK_LEARN), VV_OK);
    assert_same_names(&a, &b);
    close_node(&a);
    close_node(&b);
    fake_end();
}

static void write_line(struct rig *rig, const char *fields, int64_t seconds)
{
    char line[96];
    struct vv_staging staging;
    struct vv_line_parser *parser;
    struct rig_outcome outcome = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false,
                                  VV_UNKNOWN};
    snprintf(line, sizeof line, "m,id=x %s %lld\n", fields,
             (long long)(RIG_START - VV_HOUR + seconds * VV_SECOND));
    assert_int_equal(vv_engine_stage(rig->engine, TEXT("t"), &staging, NULL), VV_OK);
    assert_int_equal(vv_line_parser_create(&staging, 1, &parser), VV_OK);
    assert_int_equal(vv_line_parser_feed(parser, line, strlen(line)), VV_OK);
    assert_int_equal(vv_line_parser_finish(parser), VV_OK);
    vv_staging_decide(&staging);
    vv_line_parser_destroy(parser);
    struct vv_batch *batch = vv_staging_take_batch(&staging);
    assert_int_equal(staging.n_refusals, 0);
    vv_staging_deinit(&staging);
    vv_engine_submit(rig->engine, batch, rig_set_outcome, &outcome);
    assert_int_equal(rig_step(rig, VV_TASK_COMMIT), VV_OK);
    assert_int_equal(outcome.status, VV_OK);
}

/* Calls fail one after the other; the process goes on, or ends there. */
static void whatever_fails_others_learn_all(void **state)
{
    (void)state;
    uint32_t failures = 0;
    for (uint32_t k = 0; k < 80; k++) {
        struct rig a;
        struct rig b;
        fake_begin(100 + k);
        open_node(&a, 1);
        open_node(&b, 2);
        rig_write(&b); /* some of it is there already */
        assert_int_equal(rig_step(&b, VV_TASK_FLUSH), VV_OK);
        write_line(&a, "first=1i", 0);
        assert_int_equal(rig_step(&a, VV_TASK_FLUSH), VV_OK); /* a node that has told before */
        rig_write(&a);
        write_line(&a, "more=1i", 0);
        hub.nodes[1].wait = k % 20 / 4;
        hub.nodes[1].fail = 1;
        if (k % 4 < 2) { /* else it has much to tell itself */
            (void)!rig_step(&a, VV_TASK_LEARN);
        }
        (void)!rig_step(&a, VV_TASK_FLUSH);
        failures += hub.nodes[1].fail == 0;
        hub.nodes[1].fail = 0;
        hub.nodes[1].wait = 0;
        if (k % 2) {
            end_hard(&a, 1);
        }
        vv_sim_clock_advance(&a.clock, VV_MINUTE);
        assert_int_equal(rig_step(&a, VV_TASK_FLUSH), VV_OK);
        (void)!rig_step(&a, VV_TASK_LEARN);
        (void)!rig_step(&b, VV_TASK_LEARN);
        assert_same_names(&a, &b);
        end_hard(&a, 1);
        assert_same_names(&a, &b);
        close_node(&a);
        close_node(&b);
        fake_end();
    }
    print_message("%u of 80 failed\n", (unsigned)failures);
    assert_true(failures > 8 && failures < 80);
}

/* ---- types ---- */

/* The values of m.v, oldest first, or the latest one. */
static void assert_values(struct rig *rig, enum vv_request_kind kind, const char *expected)
{
    const struct vv_parameter parameters[] = {{TEXT("tenant"), TEXT("t")},
                                              {TEXT("metric"), TEXT("m.v")}};
    struct vv_request *request;
    struct vv_result *result = NULL;
    struct vv_query_limits limits;
    struct vv_error error = {0};
    struct vv_buffer buffer = {0};
    char found[256] = "";
    vv_engine_query_limits(rig->engine, &limits);
    enum vv_status status = vv_request_parse(kind, parameters, 2, RIG_START, &request, &error);
    if (status == VV_OK) {
        status = vv_result_open(vv_engine_query_context(rig->engine), &limits, request,
                                VV_FORMAT_CSV, &result, &error);
    }
    while (status == VV_OK) {
        status = vv_result_write(result, &buffer, 4096, &error);
    }
    assert_string_equal(error.message, "");
    assert_int_equal(status, VV_DONE);
    vv_buffer_u8(&buffer, 0);
    char *line = strchr((char *)buffer.data, '\n'); /* behind the names */
    for (line = line ? line + 1 : NULL; line && *line; line = strchr(line, '\n') + 1) {
        size_t size = strcspn(line, "\r\n");
        size_t at = size;
        while (line[at - 1] != ',') {
            at--;
        }
        snprintf(found + strlen(found), sizeof found - strlen(found), "%.*s ", (int)(size - at),
                 line + at);
    }
    assert_string_equal(found, expected);
    vv_result_close(result);
    vv_buffer_deinit(&buffer);
}

/* Whatever the point at which the metric becomes one of floats, all its values stay. */
static void a_metric_becomes_one_of_floats_at_any_time(void **state)
{
    (void)state;
    for (int stage = 0; stage < 4; stage++) {
        struct rig a;
        struct rig b;
        fake_begin(4);
        open_node(&a, 1);
        open_node(&b, 2);
        write_line(&a, "v=1i", 1);
        write_line(&a, "v=2i,w=7i", 2);
        if (stage >= 1) {
            assert_int_equal(rig_step(&a, VV_TASK_FLUSH), VV_OK);
        }
        if (stage >= 2) {
            assert_int_equal(rig_step(&a, VV_TASK_SEAL_ALL), VV_OK);
            write_line(&a, "v=2i", 2); /* and again beside the block */
        }
        write_line(&b, "v=2.5", 9);
        assert_int_equal(rig_step(&b, VV_TASK_FLUSH), VV_OK);
        assert_int_equal(rig_step(&a, VV_TASK_LEARN), VV_OK);
        assert_values(&a, VV_REQUEST_QUERY, "1 2 ");
        assert_values(&a, VV_REQUEST_LATEST, "2 ");
        if (stage == 3) {
            end_hard(&a, 1); /* the journal has the integers */
        }
        write_line(&a, "v=3i", 3); /* into floats now */
        write_line(&a, "v=4.5", 4);
        assert_values(&a, VV_REQUEST_QUERY, "1 2 3 4.5 ");
        end_hard(&a, 1);
        assert_values(&a, VV_REQUEST_QUERY, "1 2 3 4.5 ");
        assert_values(&a, VV_REQUEST_LATEST, "4.5 ");
        assert_int_equal(rig_step(&a, VV_TASK_FLUSH), VV_OK);
        assert_values(&a, VV_REQUEST_QUERY, "1 2 3 4.5 ");
        assert_int_equal(rig_step(&a, VV_TASK_SEAL_ALL), VV_OK);
        assert_values(&a, VV_REQUEST_QUERY, "1 2 3 4.5 ");
        assert_values(&a, VV_REQUEST_LATEST, "4.5 ");
        close_node(&a);
        close_node(&b);
        fake_end();
    }
}

static void a_start_without_the_others_is_a_start(void **state)
{
    (void)state;
    struct rig a;
    struct rig b;
    fake_begin(3);
    open_node(&a, 1);
    open_node(&b, 2);
    rig_write(&a);
    assert_int_equal(rig_step(&a, VV_TASK_FLUSH), VV_OK);
    vv_engine_close(b.engine);
    hub.nodes[2].fail = 1;
    rig_open(&b);
    assert_int_equal(hub.nodes[2].fail, 0);
    rig_write(&b);
    assert_int_equal(rig_step(&b, VV_TASK_LEARN), VV_OK);
    hub.nodes[2].fail = 1; /* asking fails: the store is not given up for that */
    assert_int_equal(rig_step(&b, VV_TASK_LEARN), VV_IO);
    hub.nodes[2].registry = vv_engine_query_context(b.engine)->registry;
    assert_int_equal(rig_step(&b, VV_TASK_FLUSH), VV_OK);
    assert_same_names(&a, &b);
    close_node(&a);
    close_node(&b);
    fake_end();
}

/* The others can't be heard when what they told is placed at last, behind a failure. */
static void readers_wait_no_longer_than_the_failure_lasts(void **state)
{
    (void)state;
    struct rig a;
    struct rig b;
    fake_begin(5);
    open_node(&a, 1);
    open_node(&b, 2);
    hub.nodes[1].plans_away = true;
    rig_write(&a);
    assert_int_equal(rig_step(&a, VV_TASK_FLUSH), VV_OK);
    for (int i = 0; i < 100; i++) {
        rig_write(&b); /* it chooses another plan */
    }
    assert_int_equal(rig_step(&b, VV_TASK_FLUSH), VV_OK);
    hub.nodes[1].wait = 1;
    hub.nodes[1].fail = 2; /* two confirms */
    assert_int_equal(rig_step(&a, VV_TASK_LEARN), VV_IO);
    vv_sim_clock_advance(&a.clock, VV_HOUR);
    assert_int_equal(rig_step(&a, VV_TASK_DELIVER), VV_IO);
    struct vv_registry *registry = vv_engine_query_context(a.engine)->registry;
    assert_true(vv_registry_source_plans(registry, 0).is_moving);
    vv_sim_clock_advance(&a.clock, VV_HOUR);
    assert_int_equal(rig_step(&a, VV_TASK_DELIVER), VV_DONE);
    assert_false(vv_registry_source_plans(registry, 0).is_moving);
    assert_int_equal(hub.nodes[1].tentative.n, 1);
    hub.nodes[1].plans_away = false;
    assert_int_equal(rig_step(&a, VV_TASK_DELIVER), VV_DONE); /* not heard yet */
    assert_int_equal(hub.nodes[1].tentative.n, 1);
    (void)!rig_step(&a, VV_TASK_LEARN);
    assert_int_equal(rig_step(&a, VV_TASK_DELIVER), VV_DONE);
    assert_int_equal(hub.nodes[1].tentative.n, 0);
    (void)!rig_step(&b, VV_TASK_LEARN);
    assert_same_names(&a, &b);
    close_node(&a);
    close_node(&b);
    fake_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_one_flushes_the_other_knows),
        cmocka_unit_test(both_take_the_plan_that_was_agreed_first),
        cmocka_unit_test(whatever_fails_others_learn_all),
        cmocka_unit_test(a_metric_becomes_one_of_floats_at_any_time),
        cmocka_unit_test(a_start_without_the_others_is_a_start),
        cmocka_unit_test(readers_wait_no_longer_than_the_failure_lasts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
