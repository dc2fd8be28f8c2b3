/* SPDX-License-Identifier: Apache-2.0 */
/* A session with the cluster of VARVE_CASSANDRA, and its keyspace varve_cql, made anew. */
#ifndef VARVE_TEST_SERVERS_CQL_FIXTURE_H
#define VARVE_TEST_SERVERS_CQL_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cql/session.h"

#include <pthread.h>
#include <stdatomic.h>

#define EXIT_SKIPPED   77
#define UNDER_WAY_MAX  512
#define SCHEMA_WAIT_MS 30000

static struct vvcql_session *session;
static struct vvcql_error error; /* of what was done last */

static inline void open_session(const struct vvcql_options *options)
{
    if (vvcql_session_open(options, false, &session, &error) != VVCQL_OK) {
        fail_msg("%s: %s", vvcql_status_name(error.status), error.message);
    }
}

/* The result of what must not fail. */
static inline struct vvcql_result *query(struct vvcql_statement *take_statement)
{
    struct vvcql_result *result;
    if (vvcql_wait(session, take_statement, &result, &error) != VVCQL_OK) {
        fail_msg("%s %s: %s", vvcql_status_name(error.status), vvcql_code_name(error.code),
                 error.message);
    }
    return result;
}

static inline void execute(struct vvcql_statement *take_statement)
{
    vvcql_result_destroy(query(take_statement));
}

/* How what must fail failed; more in `error`. */
static inline enum vvcql_status failure(struct vvcql_statement *take_statement)
{
    struct vvcql_result *result;
    enum vvcql_status status = vvcql_wait(session, take_statement, &result, &error);
    assert_null(result);
    return status;
}

/* A text with the keyspace before the name of its table. */
static inline void qualify(char *out, size_t capacity, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));
static inline void qualify(char *out, size_t capacity, const char *format, va_list arguments)
{
    static const char *const words[] = {" TABLE ", " INTO ", " FROM ", " TYPE ", "UPDATE "};
    char text[1024];
    (void)vsnprintf(text, sizeof text, format, arguments);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        const char *at = strstr(text, words[i]);
        if (at != NULL) {
            at += strlen(words[i]);
            (void)snprintf(out, capacity, "%.*svarve_cql.%s", (int)(at - text), text, at);
            return;
        }
    }
    fail_msg("no table in: %s", text);
}

static inline void run(const char *format, ...) __attribute__((format(printf, 1, 2)));
static inline void run(const char *format, ...)
{
    char text[1200];
    va_list arguments;
    va_start(arguments, format);
    qualify(text, sizeof text, format, arguments);
    va_end(arguments);
    execute(vvcql_statement_create(text));
    if (strstr(text, "INSERT") == NULL &&
        vvcql_wait_for_schema(session, SCHEMA_WAIT_MS, &error) != VVCQL_OK) {
        fail_msg("%s", error.message);
    }
}

static inline struct vvcql_statement *prepared(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
static inline struct vvcql_statement *prepared(const char *format, ...)
{
    char text[1200];
    va_list arguments;
    va_start(arguments, format);
    qualify(text, sizeof text, format, arguments);
    va_end(arguments);
    struct vvcql_statement *statement = vvcql_statement_prepared(vvcql_prepare(session, text));
    assert_non_null(statement);
    return statement;
}

/* ---- many under way ---- */

static pthread_mutex_t under_way_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t under_way_changed = PTHREAD_COND_INITIALIZER;
static int under_way;
static struct vvcql_error under_way_error; /* the first; status VVCQL_OK: none */

static inline void on_started_done(void *context, struct vvcql_result *take_result,
                                   const struct vvcql_error *failed)
{
    (void)context;
    vvcql_result_destroy(take_result);
    pthread_mutex_lock(&under_way_lock);
    if (failed != NULL && under_way_error.status == VVCQL_OK) {
        under_way_error = *failed;
    }
    under_way--;
    pthread_cond_signal(&under_way_changed);
    pthread_mutex_unlock(&under_way_lock);
}

/* Executes it without waiting for its end, but for some of those before when they are many. */
static inline void start(struct vvcql_statement *take_statement)
{
    pthread_mutex_lock(&under_way_lock);
    while (under_way >= UNDER_WAY_MAX) {
        pthread_cond_wait(&under_way_changed, &under_way_lock);
    }
    under_way++;
    pthread_mutex_unlock(&under_way_lock);
    vvcql_execute(session, take_statement, on_started_done, NULL);
}

/* Waits for all that were started; they must not have failed. */
static inline void finish(void)
{
    pthread_mutex_lock(&under_way_lock);
    while (under_way > 0) {
        pthread_cond_wait(&under_way_changed, &under_way_lock);
    }
    struct vvcql_error first = under_way_error;
    under_way_error.status = VVCQL_OK;
    pthread_mutex_unlock(&under_way_lock);
    if (first.status != VVCQL_OK) {
        fail_msg("%s %s: %s", vvcql_status_name(first.status), vvcql_code_name(first.code),
                 first.message);
    }
}

/* ---- setup ---- */

/* Three replicas where there are so many hosts. */
static inline int open_keyspace(void **state)
{
    (void)state;
    struct vvcql_options options = {.contact_points = getenv("VARVE_CASSANDRA")};
    char text[256];
    if (options.contact_points == NULL) {
        exit(EXIT_SKIPPED);
    }
    open_session(&options);
    size_t n = vvcql_session_hosts(session, NULL, 0);
    execute(vvcql_statement_create("DROP KEYSPACE IF EXISTS varve_cql"));
    (void)snprintf(text, sizeof text,
                   "CREATE KEYSPACE varve_cql WITH replication = {'class': "
                   "'NetworkTopologyStrategy', 'dc1': %zu}",
                   n < 3 ? n : 3);
    execute(vvcql_statement_create(text));
    return vvcql_wait_for_schema(session, SCHEMA_WAIT_MS, &error) == VVCQL_OK ? 0 : -1;
}

static inline int close_keyspace(void **state)
{
    (void)state;
    vvcql_session_close(session);
    return 0;
}

#endif
