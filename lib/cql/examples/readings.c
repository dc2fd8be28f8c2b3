/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes some readings and reads them back, page by page:
 *
 *   readings HOST[:PORT]
 *
 * Needs a Cassandra without passwords. Makes the keyspace `cql_example`.
 */
#include "cql/session.h"

#include <inttypes.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

#define READINGS 1000
#define PAGE     300

static void fail(const char *doing, const struct vvcql_error *error)
{
    fprintf(stderr, "%s: %s\n", doing, error->message);
    exit(1);
}

/* A statement without rows; waits for it. */
static void run(struct vvcql_session *session, struct vvcql_statement *take_statement,
                const char *doing)
{
    struct vvcql_result *result;
    struct vvcql_error error;
    if (vvcql_wait(session, take_statement, &result, &error) != VVCQL_OK) {
        fail(doing, &error);
    }
    vvcql_result_destroy(result);
}

static void make_table(struct vvcql_session *session)
{
    struct vvcql_error error;
    run(session,
        vvcql_statement_create("CREATE KEYSPACE IF NOT EXISTS cql_example WITH replication = "
                               "{'class': 'SimpleStrategy', 'replication_factor': 1}"),
        "making the keyspace");
    run(session,
        vvcql_statement_create(
            "CREATE TABLE IF NOT EXISTS cql_example.readings "
            "(device text, at timestamp, value double, PRIMARY KEY (device, at))"),
        "making the table");
    if (vvcql_wait_for_schema(session, 30000, &error) != VVCQL_OK) {
        fail("waiting for all hosts to know the table", &error);
    }
}

struct progress {
    sem_t answered;
    int failures; /* the session's thread's, until all have answered */
};

/* In the session's thread: must not block. */
static void written(void *context, struct vvcql_result *take_result,
                    const struct vvcql_error *error)
{
    struct progress *progress = context;
    progress->failures += error != NULL;
    vvcql_result_destroy(take_result);
    sem_post(&progress->answered);
}

/* All at once, then waits for all answers; returns how many failed. */
static int write_readings(struct vvcql_session *session)
{
    struct progress progress = {.failures = 0};
    const struct vvcql_prepared *insert = vvcql_prepare(
        session, "INSERT INTO cql_example.readings (device, at, value) VALUES (?, ?, ?)");
    sem_init(&progress.answered, 0, 0);
    for (int i = 0; i < READINGS; i++) {
        struct vvcql_statement *statement = vvcql_statement_prepared(insert);
        vvcql_add_text(statement, "pump-1");
        vvcql_add_timestamp(statement, INT64_C(1700000000000) + i * 1000);
        vvcql_add_double(statement, 20 + i * 0.01);
        vvcql_set_idempotent(statement, true); /* it may be sent again when a host fails */
        vvcql_execute(session, statement, written, &progress);
    }
    for (int i = 0; i < READINGS; i++) {
        sem_wait(&progress.answered);
    }
    sem_destroy(&progress.answered);
    return progress.failures;
}

static double read_pages(struct vvcql_session *session, size_t *rows_out)
{
    const struct vvcql_prepared *select =
        vvcql_prepare(session, "SELECT at, value FROM cql_example.readings WHERE device = ?");
    struct vvcql_result *page = NULL;
    double sum = 0;
    *rows_out = 0;
    do {
        struct vvcql_statement *statement = vvcql_statement_prepared(select);
        struct vvcql_error error;
        vvcql_add_text(statement, "pump-1");
        vvcql_set_page_size(statement, PAGE);
        vvcql_set_idempotent(statement, true);
        if (page) {
            struct vvcql_bytes state = vvcql_result_paging_state(page);
            vvcql_set_paging_state(statement, state.data, state.size);
            vvcql_result_destroy(page);
        }
        if (vvcql_wait(session, statement, &page, &error) != VVCQL_OK) {
            fail("reading", &error);
        }
        while (vvcql_next_row(page)) {
            double value = 0;
            if (vvcql_get_double(page, 1, &value)) {
                sum += value;
            }
            ++*rows_out;
        }
    } while (vvcql_result_paging_state(page).size > 0);
    vvcql_result_destroy(page);
    return sum;
}

int main(int argc, char **argv)
{
    const char *server = argc > 1 ? argv[1] : getenv("VARVE_CASSANDRA");
    struct vvcql_options options = {.contact_points = server ? server : "127.0.0.1:9042"};
    struct vvcql_session *session;
    struct vvcql_error error;
    if (vvcql_session_open(&options, false, &session, &error) != VVCQL_OK) {
        fail("connecting", &error);
    }
    size_t rows;
    make_table(session);
    int failures = write_readings(session);
    double sum = read_pages(session, &rows);
    vvcql_session_close(session);
    printf("%zu readings, mean %.3f, %d failures\n", rows, sum / (double)rows, failures);
    return rows == READINGS && failures == 0 ? 0 : 1;
}
