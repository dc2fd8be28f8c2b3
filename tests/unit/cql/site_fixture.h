/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session without its thread: cluster and executor of the client, driven by the test's own thread
 * against a cluster of fake_cluster.h. Deadlines come when the test says so.
 */
#ifndef VARVE_TEST_CQL_SITE_FIXTURE_H
#define VARVE_TEST_CQL_SITE_FIXTURE_H

#include "fake_cluster.h"

#include "cql/execution_private.h"

#include <sched.h>

#define LONG_MS 600000u

struct site {
    struct vvcql_options options; /* may be changed before site_open() */
    struct vvcql_settings settings;
    struct vvcql_loop loop;
    struct vvcql_cluster cluster;
    struct vvcql_executor executor;
    struct vvcql_prepared_texts prepared;
    uv_async_t alive; /* as a session's, which keeps the loop running */
    char contact_points[256];
    bool is_opened; /* on_opened was called */
    bool is_closed;
    struct vvcql_error error; /* of on_opened; status VVCQL_OK: none */
    char logged[1024];        /* names of events, a space before each */
};

struct outcome {
    struct vvcql_submission *submission; /* valid until it is done */
    size_t n_done;
    bool has_result;
    size_t n_rows;
    char host[VVCQL_HOST_MAX]; /* that answered */
    struct vvcql_error error;
    void (*then)(struct outcome *outcome); /* NULL: nothing */
    void *context;
};

static inline void site_on_room(void *context)
{
    struct site *site = context;
    vvcql_executor_pump(&site->executor);
}

static inline void site_on_opened(void *context, const struct vvcql_error *error)
{
    struct site *site = context;
    assert_false(site->is_opened);
    site->is_opened = true;
    if (error != NULL) {
        site->error = *error;
    }
}

static inline void site_on_closed(void *context)
{
    struct site *site = context;
    assert_false(site->is_closed);
    site->is_closed = true;
    uv_close((uv_handle_t *)&site->alive, NULL);
}

static inline void site_log(void *context, const char *event, const char *text)
{
    struct site *site = context;
    size_t size = strlen(site->logged);
    (void)text;
    (void)snprintf(site->logged + size, sizeof site->logged - size, " %s", event);
}

/* Timeouts that do not come of themselves; reconnections that come soon. */
static inline void site_init(struct site *site, const struct fake_cluster *fakes)
{
    memset(site, 0, sizeof *site);
    site->options = (struct vvcql_options){
        .contact_points = fake_contact_points(fakes, fakes->n_nodes, site->contact_points),
        .connect_timeout_ms = LONG_MS,
        .request_timeout_ms = LONG_MS,
        .heartbeat_ms = LONG_MS,
        .reconnect_first_ms = 1,
        .reconnect_last_ms = 2,
        .connections_per_host = 1,
        .seed = 7,
    };
}

static inline void site_start(struct site *site, bool is_patient)
{
    sigset_t set; /* as vvcql_loop_run() does */
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
    struct vvcql_error error;
    if (vvcql_settings_init(&site->settings, &site->options, &error) != VVCQL_OK) {
        fail_msg("%s", error.message);
    }
    assert_true(vvcql_loop_init(&site->loop, site->settings.options.seed));
    assert_int_equal(uv_async_init(&site->loop.uv, &site->alive, NULL), 0);
    site->loop.log = site_log;
    site->loop.log_context = site;
    site->cluster.loop = &site->loop;
    site->cluster.settings = &site->settings;
    site->cluster.context = site;
    site->cluster.on_room = site_on_room;
    site->cluster.on_opened = site_on_opened;
    site->cluster.on_closed = site_on_closed;
    site->cluster.is_patient = is_patient;
    site->executor.cluster = &site->cluster;
    assert_true(vvcql_prepared_init(&site->prepared));
    assert_true(vvcql_cluster_init(&site->cluster));
    vvcql_cluster_start(&site->cluster);
}

static inline void site_step(struct site *site)
{
    (void)uv_run(&site->loop.uv, UV_RUN_ONCE);
}

static inline uint64_t site_hosts_up(const struct site *site)
{
    return atomic_load(&site->loop.tally.hosts_up);
}

/* Until so many hosts are up, with all connections. */
static inline void site_run_up(struct site *site, uint64_t n)
{
    bool is_up = false;
    while (!is_up) {
        is_up = site_hosts_up(site) == n;
        for (uint32_t i = 0; i < site->cluster.n_hosts; i++) {
            struct vvcql_host *host = site->cluster.hosts[i];
            is_up = is_up && (!vvcql_host_is_up(host) ||
                              host->n_ready == site->settings.options.connections_per_host);
        }
        if (!is_up) {
            site_step(site);
        }
    }
}

static inline void site_run_opened(struct site *site)
{
    while (!site->is_opened) {
        site_step(site);
    }
}

/* Opens it and waits until so many hosts are up. */
static inline void site_open(struct site *site, uint64_t n_up)
{
    site_start(site, false);
    site_run_opened(site);
    if (site->error.status != VVCQL_OK) {
        fail_msg("%s", site->error.message);
    }
    site_run_up(site, n_up);
}

static inline void site_run_closed(struct site *site)
{
    vvcql_executor_close(&site->executor);
    vvcql_cluster_close(&site->cluster);
    vvcql_loop_run(&site->loop);
    assert_true(site->is_closed);
}

static inline void site_free(struct site *site)
{
    assert_null(site->executor.waiting.first);
    assert_null(site->executor.waiting_pinned.first);
    vvcql_cluster_deinit(&site->cluster);
    assert_int_equal(vvcql_deadlines_next(&site->loop.deadlines), UINT64_MAX);
    assert_int_equal(atomic_load(&site->loop.tally.orphans), 0);
    assert_int_equal(atomic_load(&site->loop.tally.hosts_up), 0);
    vvcql_loop_deinit(&site->loop);
    vvcql_executor_deinit(&site->executor);
    vvcql_prepared_deinit(&site->prepared);
    vvcql_settings_deinit(&site->settings);
}

static inline void site_close(struct site *site)
{
    site_run_closed(site);
    site_free(site);
}

/* As if the deadline had come. */
static inline void site_reach(struct site *site, struct vvcql_deadline *deadline)
{
    struct vvcql_deadlines *deadlines = &site->loop.deadlines;
    assert_true(deadline->place_ != 0);
    vvcql_deadline_clear(deadlines, deadline);
    deadline->expired(deadline);
}

/* ---- requests ---- */

static inline void outcome_done(void *context, struct vvcql_result *take_result,
                                const struct vvcql_error *error)
{
    struct outcome *outcome = context;
    assert_int_equal(take_result == NULL, error != NULL);
    outcome->n_done++;
    outcome->has_result = take_result != NULL;
    if (take_result != NULL) {
        outcome->n_rows = vvcql_result_rows(take_result);
        (void)snprintf(outcome->host, sizeof outcome->host, "%s", vvcql_result_host(take_result));
    } else {
        outcome->error = *error;
    }
    vvcql_result_destroy(take_result);
    if (outcome->then != NULL) {
        outcome->then(outcome);
    }
}

static inline void site_execute(struct site *site, struct vvcql_statement *take_statement,
                                struct outcome *outcome)
{
    memset(&outcome->error, 0, sizeof outcome->error);
    outcome->has_result = false;
    outcome->n_done = 0;
    /* As in settings: none unless there is a delay. */
    uint32_t speculative_max = site->settings.options.speculative_delay_ms != UINT32_MAX
                                   ? site->settings.options.speculative_max
                                   : 0;
    vvcql_tally_add(&site->loop.tally.in_flight, 1);
    outcome->submission =
        vvcql_execution_create(take_statement, speculative_max, outcome_done, outcome);
    assert_non_null(outcome->submission);
    vvcql_execution_start(&site->executor, outcome->submission);
}

static inline void site_run_done(struct site *site, const struct outcome *outcome)
{
    while (outcome->n_done == 0) {
        site_step(site);
    }
    assert_int_equal(outcome->n_done, 1);
}

/* Executes it and waits for its end. */
static inline void site_do(struct site *site, struct vvcql_statement *take_statement,
                           struct outcome *outcome)
{
    site_execute(site, take_statement, outcome);
    site_run_done(site, outcome);
}

/* Runs until the node has been asked so often. */
static inline void site_run_asked(struct site *site, struct fake_node *node, size_t n)
{
    while (fake_asked(node) < n) {
        (void)uv_run(&site->loop.uv, UV_RUN_NOWAIT);
        (void)sched_yield();
    }
}

static inline void assert_status(const struct outcome *outcome, enum vvcql_status status)
{
    if (outcome->has_result) {
        assert_int_equal(VVCQL_OK, status);
    } else if (outcome->error.status != status) {
        fail_msg("%s: %s", vvcql_status_name(outcome->error.status), outcome->error.message);
    }
}

static inline void assert_answered_by(const struct outcome *outcome, const struct fake_node *node)
{
    char name[64];
    fake_node_name(node, name);
    assert_status(outcome, VVCQL_OK);
    assert_string_equal(outcome->host, name);
}

/* A prepared text with one value, the partition key. */
static inline struct vvcql_statement *site_statement(struct site *site, const char *cql,
                                                     int32_t key)
{
    struct vvcql_statement *statement =
        vvcql_statement_prepared(vvcql_prepared_find(&site->prepared, cql));
    assert_non_null(statement);
    vvcql_add_int(statement, key);
    return statement;
}

static inline uint64_t counted(_Atomic uint64_t *counter)
{
    return atomic_load(counter);
}

#endif
