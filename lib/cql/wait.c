/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for a statement, and for hosts to agree about the schema. */
#include "session_private.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define POLL_MS       100
#define ANSWER_MS_MAX 2000
#define VERSION_QUERY "SELECT schema_version FROM system.local WHERE key = 'local'"

struct waiter {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_done;
    struct vvcql_result *result;
    struct vvcql_error error; /* status VVCQL_OK: none */
};

static void on_done(void *context, struct vvcql_result *take_result,
                    const struct vvcql_error *error)
{
    struct waiter *waiter = context;
    pthread_mutex_lock(&waiter->lock);
    waiter->result = take_result;
    if (error != NULL)
        waiter->error = *error;
    waiter->is_done = true;
    pthread_cond_signal(&waiter->changed); /* under the lock: then the waiter may be gone */
    pthread_mutex_unlock(&waiter->lock);
}

enum vvcql_status vvcql_wait(struct vvcql_session *session, struct vvcql_statement *take_statement,
                             struct vvcql_result **result_out, struct vvcql_error *error)
{
    struct waiter waiter = {.is_done = false};
    *result_out = NULL;
    if (vvcql_session_is_own_thread(session)) {
        vvcql_statement_destroy(take_statement);
        return vvcql_error_set(error, VVCQL_INVALID, "a callback can't wait for its own thread");
    }
    /* Neither fails with default attributes. */
    pthread_mutex_init(&waiter.lock, NULL);
    pthread_cond_init(&waiter.changed, NULL);
    vvcql_execute(session, take_statement, on_done, &waiter);
    pthread_mutex_lock(&waiter.lock);
    while (!waiter.is_done)
        pthread_cond_wait(&waiter.changed, &waiter.lock);
    pthread_mutex_unlock(&waiter.lock);
    pthread_cond_destroy(&waiter.changed);
    pthread_mutex_destroy(&waiter.lock);
    *result_out = waiter.result;
    if (error != NULL && waiter.error.status != VVCQL_OK)
        *error = waiter.error;
    return waiter.error.status;
}

/* ---- the schema ---- */

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* The schema's version on one host; false: it didn't tell. */
static bool ask_version(struct vvcql_session *session, const char *host, uint64_t until_ms,
                        uint8_t version_out[16], struct vvcql_error *error)
{
    struct vvcql_result *result;
    uint64_t left_ms = until_ms > now_ms() ? until_ms - now_ms() : 1;
    struct vvcql_statement *statement = vvcql_statement_create(VERSION_QUERY);
    if (statement != NULL) {
        vvcql_set_host(statement, host);
        vvcql_set_consistency(statement, VVCQL_ONE);
        vvcql_set_timeout(statement, (uint32_t)(left_ms < ANSWER_MS_MAX ? left_ms : ANSWER_MS_MAX));
    }
    if (vvcql_wait(session, statement, &result, error) != VVCQL_OK)
        return false;
    bool told = vvcql_next_row(result) && vvcql_get_uuid(result, 0, version_out);
    if (!told)
        vvcql_error_set(error, VVCQL_PROTOCOL, "%s tells no schema version", host);
    vvcql_result_destroy(result);
    return told;
}

/* Whether all connected hosts tell the same version; *error says what is in the way. */
static bool agree(struct vvcql_session *session, const struct vvcql_host_info *hosts, size_t n,
                  uint64_t until_ms, struct vvcql_error *error)
{
    uint8_t first[16];
    uint8_t version[16];
    const char *first_host = NULL;
    for (size_t i = 0; i < n; i++) {
        if (!hosts[i].is_up)
            continue;
        if (!ask_version(session, hosts[i].address, until_ms, version, error))
            return false;
        if (first_host == NULL) {
            first_host = hosts[i].address;
            memcpy(first, version, sizeof(first));
        } else if (memcmp(first, version, sizeof(first)) != 0) {
            vvcql_error_set(error, VVCQL_TIMEOUT, "%s and %s have different schemas", first_host,
                            hosts[i].address);
            return false;
        }
    }
    if (first_host == NULL)
        vvcql_error_set(error, VVCQL_UNREACHABLE, "no host is connected");
    return first_host != NULL;
}

/* The hosts as they are now; NULL: no memory. */
static struct vvcql_host_info *list_hosts(struct vvcql_session *session, size_t *n_out)
{
    size_t n = vvcql_session_hosts(session, NULL, 0);
    struct vvcql_host_info *hosts = calloc(n + 1, sizeof(*hosts));
    if (hosts == NULL)
        return NULL;
    size_t n_now = vvcql_session_hosts(session, hosts, n);
    *n_out = n_now < n ? n_now : n;
    return hosts;
}

enum vvcql_status vvcql_wait_for_schema(struct vvcql_session *session, uint32_t timeout_ms,
                                        struct vvcql_error *error)
{
    uint64_t until_ms = now_ms() + timeout_ms;
    struct timespec poll = {.tv_nsec = POLL_MS * 1000000L};
    if (vvcql_session_is_own_thread(session))
        return vvcql_error_set(error, VVCQL_INVALID, "a callback can't wait for its own thread");
    for (;;) {
        struct vvcql_error last;
        size_t n;
        struct vvcql_host_info *hosts = list_hosts(session, &n);
        if (hosts == NULL)
            return vvcql_error_set(error, VVCQL_NO_MEMORY, "no memory for a list of hosts");
        bool agreed = agree(session, hosts, n, until_ms, &last);
        free(hosts);
        if (agreed)
            return VVCQL_OK;
        if (now_ms() + POLL_MS >= until_ms)
            return vvcql_error_set(error, VVCQL_TIMEOUT,
                                   "the schema was not agreed upon in %u ms: %.400s", timeout_ms,
                                   last.message);
        nanosleep(&poll, NULL);
    }
}
