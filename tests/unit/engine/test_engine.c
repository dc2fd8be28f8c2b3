/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine with its threads, on the real disk and the embedded store: many writers, queries
 * meanwhile, administration, restarts. Crashes are the simulation's and the end-to-end tests'.
 */
#include "base/log.h"
#include "engine/engine.h"
#include "ingest/line_protocol.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define WRITERS 4
#define BATCHES 60
#define LINES   50

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    vv_log_level_set(VV_LOG_OFF);
    strcpy(folder, "/tmp/varve-engine-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static struct vv_engine *start(void)
{
    struct vv_settings settings;
    struct vv_engine *engine;
    struct vv_error error = {0};
    vv_settings_init(&settings);
    snprintf(settings.data, sizeof settings.data, "%s/data", folder);
    settings.head_flush_bytes = 256 << 10; /* many flushes */
    settings.journal_segment_bytes = 64 << 10;
    settings.disk_reserve_bytes = 0;
    settings.seal_quiet_ns = VV_MILLISECOND;
    settings.seal_interval_ns = 20 * VV_MILLISECOND;
    struct vv_engine_options options = {.settings = &settings};
    if (vv_engine_open(&options, &engine, &error) != VV_OK ||
        vv_engine_recover(engine, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
    return engine;
}

/* ---- writing and waiting ---- */

struct waiter {
    pthread_mutex_t lock;
    pthread_cond_t wakes;
    bool done;
    enum vv_status status;
};

static void wake(void *context, enum vv_status status, const char *message)
{
    (void)message;
    struct waiter *waiter = context;
    pthread_mutex_lock(&waiter->lock);
    waiter->done = true;
    waiter->status = status;
    pthread_cond_signal(&waiter->wakes);
    pthread_mutex_unlock(&waiter->lock);
}

static enum vv_status write_lines(struct vv_engine *engine, const char *tenant, const char *text)
{
    struct vv_staging staging;
    struct vv_line_parser *parser;
    struct waiter waiter = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, VV_OK};
    vv_invariant(vv_engine_stage(engine, vv_str_of(tenant), &staging, NULL) == VV_OK);
    vv_invariant(vv_line_parser_create(&staging, 1, &parser) == VV_OK);
    vv_invariant(vv_line_parser_feed(parser, text, strlen(text)) == VV_OK);
    vv_invariant(vv_line_parser_finish(parser) == VV_OK);
    vv_staging_decide(&staging);
    vv_line_parser_destroy(parser);
    vv_engine_account(engine, &staging);
    struct vv_batch *batch = vv_staging_take_batch(&staging);
    vv_staging_deinit(&staging);
    vv_invariant(batch != NULL);
    vv_engine_submit(engine, batch, wake, &waiter);
    pthread_mutex_lock(&waiter.lock);
    while (!waiter.done) {
        pthread_cond_wait(&waiter.wakes, &waiter.lock);
    }
    pthread_mutex_unlock(&waiter.lock);
    return waiter.status;
}

/* The answer to a query as CSV; the caller frees it. */
static char *ask(struct vv_engine *engine, const char *tenant, const char *agg, const char *source)
{
    const struct vv_parameter parameters[] = {
        {VV_STR_LITERAL("tenant"), vv_str_of(tenant)},
        {VV_STR_LITERAL("source"), vv_str_of(source)},
        {VV_STR_LITERAL("agg"), vv_str_of(agg)},
        {VV_STR_LITERAL("group_by"), VV_STR_LITERAL("all")},
    };
    struct vv_request *request;
    struct vv_result *result = NULL;
    struct vv_query_limits limits;
    struct vv_error error = {0};
    struct vv_buffer buffer = {0};
    vv_engine_query_limits(engine, &limits);
    int64_t now = vv_clock_system()->wall_ns(vv_clock_system());
    enum vv_status status =
        vv_request_parse(VV_REQUEST_QUERY, parameters, 4, now, &request, &error);
    if (status == VV_OK) {
        status = vv_result_open(vv_engine_query_context(engine), &limits, request, VV_FORMAT_CSV,
                                &result, &error);
    }
    if (status != VV_OK) {
        fail_msg("%s", error.message);
    }
    while ((status = vv_result_write(result, &buffer, 4096, &error)) == VV_OK) {
    }
    struct vv_result_facts facts;
    vv_result_read_facts(result, &facts);
    vv_engine_query_done(engine, VV_REQUEST_QUERY, status, &facts);
    vv_result_close(result);
    vv_invariant(status == VV_DONE);
    vv_buffer_u8(&buffer, 0);
    return (char *)buffer.data;
}

static long long last_number(char *take_csv)
{
    take_csv[strcspn(take_csv, "\r\n")] = ','; /* the header's end */
    char *line = strchr(take_csv, '\n');
    char *end = strrchr(take_csv, ',');
    long long number = line && end > line ? atoll(end + 1) : 0;
    free(take_csv);
    return number;
}

/* ---- many writers ---- */

struct writer {
    struct vv_engine *engine;
    int index;
    bool again; /* all of it was written before */
};

static void *write_batches(void *context)
{
    struct writer *writer = context;
    static const int64_t start_ns = INT64_C(1767225600000000000);
    for (int batch = 0; batch < BATCHES; batch++) {
        char text[LINES * 64];
        size_t size = 0;
        for (int line = 0; line < LINES; line++) {
            int64_t time = start_ns + (batch * LINES + line) * VV_SECOND;
            size += (size_t)snprintf(text + size, sizeof text - size, "m,w=%d v=%d,i=1i %lld\n",
                                     writer->index, line, (long long)time);
        }
        vv_invariant(write_lines(writer->engine, "t", text) == VV_OK);
        char source[16];
        snprintf(source, sizeof source, "w=%d", writer->index);
        char *csv = ask(writer->engine, "t", "count", source);
        vv_invariant(strstr(csv, "m.v") != NULL);
        char expected[32];
        snprintf(expected, sizeof expected, ",%d", (writer->again ? BATCHES : batch + 1) * LINES);
        vv_invariant(strstr(csv, expected) != NULL); /* read your writes */
        free(csv);
    }
    return NULL;
}

static void write_with_all(struct vv_engine *engine, bool again)
{
    pthread_t threads[WRITERS];
    struct writer writers[WRITERS];
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){engine, i, again};
        assert_int_equal(pthread_create(&threads[i], NULL, write_batches, &writers[i]), 0);
    }
    for (int i = 0; i < WRITERS; i++) {
        pthread_join(threads[i], NULL);
    }
}

static void check_account(struct vv_engine *engine, uint64_t here, uint64_t ever)
{
    uint32_t tenant;
    struct vv_account account;
    struct vv_registry *registry = vv_engine_query_context(engine)->registry;
    assert_int_equal(vv_registry_tenant(registry, VV_STR_LITERAL("t"), false, &tenant, NULL),
                     VV_OK);
    vv_engine_read_account(engine, tenant, &account);
    assert_int_equal(account.accepted_here, here);
    assert_int_equal(account.accepted, ever);
    assert_int_equal(account.received, here);
}

static void many_writers_read_their_writes_and_find_them_after_restarts(void **state)
{
    (void)state;
    const uint64_t points = (uint64_t)WRITERS * BATCHES * LINES * 2;
    struct vv_engine *engine = start();
    write_with_all(engine, false);
    check_account(engine, points, points);
    assert_int_equal(vv_engine_flush(engine, true, NULL), VV_OK);
    vv_engine_close(engine);
    engine = start();
    check_account(engine, 0, points);
    assert_int_equal(last_number(ask(engine, "t", "sum", "~w=*")),
                     (long long)WRITERS * BATCHES * (LINES * (LINES - 1) / 2));
    write_with_all(engine, true); /* the same again: nothing is added twice */
    check_account(engine, points, 2 * points);
    assert_int_equal(vv_engine_flush(engine, true, NULL), VV_OK);
    assert_int_equal(last_number(ask(engine, "t", "sum", "~w=*")),
                     (long long)WRITERS * BATCHES * (LINES * (LINES - 1) / 2));
    vv_engine_close(engine);
}

#define DELETIONS 20

static void delete_from(struct vv_engine *engine, const char *source, int64_t from, int64_t to)
{
    char times[2][32];
    struct vv_parameter parameters[] = {
        {VV_STR_LITERAL("tenant"), VV_STR_LITERAL("t")},
        {VV_STR_LITERAL("source"), vv_str_of(source)},
        {VV_STR_LITERAL("from"), vv_str_of(times[0])},
        {VV_STR_LITERAL("to"), vv_str_of(times[1])},
    };
    struct vv_request *request;
    struct vv_deleted deleted;
    parameters[2].value.size = (size_t)snprintf(times[0], sizeof times[0], "%lld", (long long)from);
    parameters[3].value.size = (size_t)snprintf(times[1], sizeof times[1], "%lld", (long long)to);
    vv_invariant(vv_request_parse(VV_REQUEST_DELETE, parameters, 4, 0, &request, NULL) == VV_OK);
    vv_invariant(vv_engine_delete(engine, request, &deleted, NULL) == VV_OK);
    vv_invariant(deleted.sources == 1);
    vv_request_destroy(request);
}

static long long count_of(struct vv_engine *engine, const char *source)
{
    char *csv = ask(engine, "t", "count", source);
    const char *last = strrchr(csv, ',');
    long long n = last ? atoll(last + 1) : 0;
    free(csv);
    return n;
}

/* Writes, deletes a part, writes some of that again: each is in the next answer. */
static void *delete_batches(void *context)
{
    struct writer *writer = context;
    static const int64_t start_ns = INT64_C(1767225600000000000);
    char source[16];
    snprintf(source, sizeof source, "w=%d", writer->index);
    for (int batch = 0; batch < DELETIONS; batch++) {
        char text[LINES * 64];
        size_t size = 0;
        int64_t first = start_ns + (int64_t)batch * VV_HOUR;
        for (int line = 0; line < LINES; line++) {
            size += (size_t)snprintf(text + size, sizeof text - size, "m,w=%d v=1 %lld\n",
                                     writer->index, (long long)(first + line * VV_SECOND));
        }
        vv_invariant(write_lines(writer->engine, "t", text) == VV_OK);
        delete_from(writer->engine, source, first, first + LINES / 2 * VV_SECOND);
        long long each = LINES - LINES / 2 + 1;
        vv_invariant(count_of(writer->engine, source) == batch * each + each - 1);
        snprintf(text, sizeof text, "m,w=%d v=1 %lld\n", writer->index, (long long)first);
        vv_invariant(write_lines(writer->engine, "t", text) == VV_OK);
        vv_invariant(count_of(writer->engine, source) == (batch + 1) * each);
    }
    return NULL;
}

static void what_is_deleted_is_in_no_answer_beside_writers_and_seals(void **state)
{
    (void)state;
    struct vv_engine *engine = start();
    pthread_t threads[WRITERS];
    struct writer writers[WRITERS];
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){engine, i, false};
        assert_int_equal(pthread_create(&threads[i], NULL, delete_batches, &writers[i]), 0);
    }
    for (int i = 0; i < 5; i++) { /* blocks come, are marked, and sealed again */
        assert_int_equal(vv_engine_flush(engine, true, NULL), VV_OK);
    }
    for (int i = 0; i < WRITERS; i++) {
        pthread_join(threads[i], NULL);
    }
    const long long left = (long long)WRITERS * DELETIONS * (LINES - LINES / 2 + 1);
    assert_int_equal(count_of(engine, "~w=*"), left);
    assert_int_equal(vv_engine_flush(engine, true, NULL), VV_OK);
    vv_engine_close(engine);
    engine = start();
    assert_int_equal(count_of(engine, "~w=*"), left);
    vv_engine_close(engine);
}

static void administration_is_durable(void **state)
{
    (void)state;
    struct vv_engine *engine = start();
    struct vv_error error = {0};
    assert_int_equal(vv_engine_create_tenant(engine, VV_STR_LITERAL("a"), &error), VV_OK);
    assert_int_equal(vv_engine_set_retention(engine, VV_STR_LITERAL("b"), 30 * VV_DAY, &error),
                     VV_OK);
    assert_int_equal(write_lines(engine, "a", "m,h=x v=1\n"), VV_OK);
    assert_int_equal(vv_engine_describe(engine, VV_STR_LITERAL("a"), VV_STR_LITERAL("m.v"),
                                        VV_STR_LITERAL("°C"), VV_STR_LITERAL("of the bearing"),
                                        &error),
                     VV_OK);
    assert_int_equal(vv_engine_describe(engine, VV_STR_LITERAL("a"), VV_STR_LITERAL("m.?"),
                                        VV_STR_LITERAL("K"), (struct vv_str){0}, &error),
                     VV_NOT_FOUND); /* a name, not a pattern */
    vv_engine_close(engine);
    engine = start();
    struct vv_registry *registry = vv_engine_query_context(engine)->registry;
    uint32_t tenant;
    assert_int_equal(vv_registry_tenant(registry, VV_STR_LITERAL("b"), false, &tenant, &error),
                     VV_OK);
    assert_int_equal(vv_registry_retention(registry, tenant), 30 * VV_DAY);
    assert_int_equal(vv_registry_tenant(registry, VV_STR_LITERAL("a"), false, &tenant, &error),
                     VV_OK);
    uint32_t *metrics;
    size_t n;
    assert_int_equal(vv_registry_find_metrics(registry, tenant, NULL, 0, &metrics, &n, &error),
                     VV_OK);
    assert_int_equal(n, 1);
    struct vv_metric_info info;
    vv_registry_metric_info(registry, metrics[0], &info);
    assert_true(vv_str_equal(info.unit, VV_STR_LITERAL("°C")));
    free(metrics);
    vv_engine_close(engine);
}

static void the_metrics_page_is_complete(void **state)
{
    (void)state;
    struct vv_engine *engine = start();
    assert_int_equal(write_lines(engine, "t\"quoted", "m,h=x v=1\n"), VV_OK);
    assert_int_equal(vv_engine_flush(engine, true, NULL), VV_OK);
    struct vv_buffer page = {0};
    vv_engine_write_metrics(engine, &page);
    vv_buffer_u8(&page, 0);
    const char *const names[] = {"varve_points_accepted_total{tenant=\"t\\\"quoted\"} 1",
                                 "varve_commit_seconds_bucket",
                                 "varve_journal_bytes 0",
                                 "varve_head_bytes",
                                 "varve_flushes_total 1",
                                 "varve_seals_total 1",
                                 "varve_store_disk_bytes",
                                 "varve_query_seconds_count",
                                 "process_resident_memory_bytes"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (!strstr((char *)page.data, names[i])) {
            fail_msg("%s is missing", names[i]);
        }
    }
    vv_buffer_deinit(&page);
    vv_engine_close(engine);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(many_writers_read_their_writes_and_find_them_after_restarts),
        WITH_FOLDER(what_is_deleted_is_in_no_answer_beside_writers_and_seals),
        WITH_FOLDER(administration_is_durable),
        WITH_FOLDER(the_metrics_page_is_complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
