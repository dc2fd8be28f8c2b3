/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the control connection reads: system.local, the peers and the keyspaces at once; when all
 * answers are there, the cluster becomes what they say.
 */
#include "cluster.h"
#include "control_private.h"
#include "requests.h"

#include <string.h>

#define SETTLE_MS     2000
#define READ_AGAIN_MS 100

enum { LOCAL, PEERS, KEYSPACES };

static void set_refresh(struct vvcql_control *control, uint64_t at_ms)
{
    /* Set at all times, but for the call of expired(): there is a place for it. */
    (void)!vvcql_deadline_set(&control->cluster->loop->deadlines, &control->refresh, at_ms);
}

void vvcql_control_forget(struct vvcql_control *control)
{
    for (size_t i = 0; i < VVCQL_CONTROL_QUERIES; i++) {
        struct vvcql_control_query *query = &control->queries[i];
        if (query->is_awaited)
            vvcql_call_abandon(&query->call);
        query->is_awaited = false;
        vvcql_result_destroy(query->result);
        query->result = NULL;
    }
    control->is_reading = false;
    control->read_again = false;
    set_refresh(control, VVCQL_NEVER);
}

static void failed(struct vvcql_control *control, const struct vvcql_error *error)
{
    vvcql_control_note_error(control, error);
    vvcql_loop_log(control->cluster->loop, "control_unread", "%s", error->message);
    vvcql_control_forget(control);
    if (control->connection != NULL)
        vvcql_connection_close(control->connection);
}

static void failed_with(struct vvcql_control *control, enum vvcql_status status,
                        const char *message)
{
    struct vvcql_error error;
    vvcql_error_set(&error, status, "%s: %s", vvcql_connection_host(control->connection), message);
    failed(control, &error);
}

/* ---- when all answers are there ---- */

static enum vvcql_status make_topology(struct vvcql_control *control,
                                       struct vvcql_topology *topology, struct vvcql_error *error)
{
    uint16_t port = control->cluster->settings->options.port;
    struct vvcql_result *keyspaces = control->queries[KEYSPACES].result;
    enum vvcql_status status = vvcql_topology_add_local(topology, control->queries[LOCAL].result,
                                                        &control->present.address, port, error);
    if (status == VVCQL_OK)
        status = vvcql_topology_add_peers(topology, control->queries[PEERS].result, port, error);
    if (status == VVCQL_OK && keyspaces != NULL)
        status = vvcql_topology_add_keyspaces(topology, keyspaces, error);
    return status;
}

static void established(struct vvcql_control *control)
{
    if (!control->is_established)
        vvcql_loop_log(control->cluster->loop, "control_connected", "%s",
                       vvcql_connection_host(control->connection));
    control->is_established = true;
    control->rounds_failed = 0;
    memset(&control->error, 0, sizeof(control->error));
}

static void schedule_next(struct vvcql_control *control, bool read_again)
{
    if (control->settle) {
        control->settle = false;
        vvcql_control_read_in(control, SETTLE_MS);
    }
    if (read_again)
        vvcql_control_read_in(control, READ_AGAIN_MS);
}

static void all_answered(struct vvcql_control *control)
{
    struct vvcql_topology topology = {0};
    struct vvcql_error error;
    enum vvcql_status status = make_topology(control, &topology, &error);
    bool read_again = control->read_again;
    if (status != VVCQL_OK) {
        failed_with(control, status, error.message);
    } else {
        vvcql_control_forget(control);
        status = vvcql_cluster_apply(control->cluster, &topology, &control->present, &error);
        if (status == VVCQL_NO_MEMORY) {
            failed(control, &error);
        } else {
            established(control);
            schedule_next(control, read_again);
        }
    }
    vvcql_topology_deinit(&topology);
    if (status == VVCQL_INVALID) {
        vvcql_loop_log(control->cluster->loop, "no_local_host", "%s", error.message);
        vvcql_cluster_fail(control->cluster, &error);
    }
}

/* ---- queries ---- */

static bool send_query(struct vvcql_control_query *query)
{
    static const struct vvcql_request_defaults defaults = {.consistency = VVCQL_ONE};
    struct vvcql_statement *statement = vvcql_statement_create(query->cql);
    struct vvcql_buffer body = {0};
    enum vvcql_status status = VVCQL_NO_MEMORY;
    if (statement != NULL && !statement->out_of_memory) {
        uint8_t opcode = vvcql_request_statement(&body, statement, &defaults, NULL);
        if (!body.failed)
            status = vvcql_connection_send(query->control->connection, &query->call, opcode, 0,
                                           (struct vvcql_bytes){body.data, body.size});
    }
    vvcql_buffer_deinit(&body);
    vvcql_statement_destroy(statement);
    query->is_awaited = status == VVCQL_OK;
    return query->is_awaited;
}

/* An older Cassandra has no such table: true when the query is made up for. */
static bool is_made_up_for(struct vvcql_control_query *query, const struct vvcql_error *error)
{
    if (error->code != VVCQL_CODE_INVALID && error->code != VVCQL_CODE_UNAUTHORIZED)
        return false;
    if (strcmp(query->cql, VVCQL_QUERY_PEERS) == 0 || query == &query->control->queries[LOCAL])
        return false;
    if (query == &query->control->queries[KEYSPACES])
        return true; /* no token map then */
    query->cql = VVCQL_QUERY_PEERS;
    return send_query(query);
}

/* false: the answer is no use; *error says why. */
static bool take_answer(struct vvcql_control_query *query, const struct vvcql_frame *frame,
                        struct vvcql_error *error)
{
    const char *host = vvcql_connection_host(query->control->connection);
    struct vvcql_prelude prelude;
    struct vvcql_bytes id;
    if (frame->opcode == VVCQL_OP_RESULT)
        return vvcql_result_create(frame, host, &query->result, error) == VVCQL_OK;
    if (frame->opcode != VVCQL_OP_ERROR) {
        vvcql_error_set(error, VVCQL_PROTOCOL, "answered a query with opcode %u", frame->opcode);
        return false;
    }
    if (vvcql_decode_prelude(frame, &prelude, error) != VVCQL_OK)
        return false;
    vvcql_decode_error(prelude.body, error, &id);
    return is_made_up_for(query, error);
}

static void on_answer(struct vvcql_call *call, const struct vvcql_frame *frame,
                      const struct vvcql_error *error)
{
    struct vvcql_control_query *query = (struct vvcql_control_query *)call;
    struct vvcql_control *control = query->control;
    struct vvcql_error wrong;
    query->is_awaited = false;
    if (frame == NULL) {
        failed(control, error);
        return;
    }
    if (!take_answer(query, frame, &wrong)) {
        failed_with(control, wrong.status, wrong.message);
        return;
    }
    for (size_t i = 0; i < VVCQL_CONTROL_QUERIES; i++) {
        if (control->queries[i].is_awaited)
            return;
    }
    all_answered(control);
}

void vvcql_control_read(struct vvcql_control *control)
{
    static const char *const texts[VVCQL_CONTROL_QUERIES] = {
        VVCQL_QUERY_LOCAL, VVCQL_QUERY_PEERS_V2, VVCQL_QUERY_KEYSPACES};
    vvcql_control_forget(control);
    control->is_reading = true;
    set_refresh(control, vvcql_loop_now(control->cluster->loop) +
                             control->cluster->settings->options.connect_timeout_ms);
    for (size_t i = 0; i < VVCQL_CONTROL_QUERIES; i++) {
        control->queries[i].cql = texts[i];
        if (!send_query(&control->queries[i])) {
            failed_with(control, VVCQL_NO_MEMORY, "its tables can't be asked for");
            return;
        }
    }
}

void vvcql_control_read_in(struct vvcql_control *control, uint64_t wait_ms)
{
    uint64_t at_ms = vvcql_loop_now(control->cluster->loop) + wait_ms;
    if (control->is_reading)
        control->read_again = true;
    else if (at_ms < control->refresh.at_ms)
        set_refresh(control, at_ms);
}

static void on_refresh(struct vvcql_deadline *deadline)
{
    struct vvcql_control *control =
        (struct vvcql_control *)((char *)deadline - offsetof(struct vvcql_control, refresh));
    set_refresh(control, VVCQL_NEVER);
    if (control->is_reading)
        failed_with(control, VVCQL_TIMEOUT, "its system tables were not read in time");
    else if (control->connection != NULL && vvcql_connection_is_ready(control->connection))
        vvcql_control_read(control);
}

bool vvcql_control_init_reading(struct vvcql_control *control)
{
    for (size_t i = 0; i < VVCQL_CONTROL_QUERIES; i++) {
        control->queries[i].control = control;
        control->queries[i].call.done = on_answer;
    }
    control->refresh.expired = on_refresh;
    return vvcql_deadline_set(&control->cluster->loop->deadlines, &control->refresh, VVCQL_NEVER);
}
