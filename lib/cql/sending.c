/* SPDX-License-Identifier: Apache-2.0 */
/* One attempt: what is sent to a host, and what its answer means. */
#include "execution_private.h"

#include "requests.h"

#include <string.h>

/* More memory than this isn't kept from request to request. */
#define BODY_KEPT_MAX ((size_t)1 << 20)

/* A host that forgot texts asks for each of a batch's in turn; beyond that it can't be pleased. */
#define UNPREPARED_MORE 2
#define UNPREPARED_MAX  64

static void hold(struct vvcql_try *attempt, struct vvcql_host *host)
{
    attempt->host = host;
    attempt->execution->n_running++;
    atomic_fetch_add_explicit(&host->in_flight, 1, memory_order_relaxed);
    vvcql_plan_tried(&attempt->execution->plan, host);
}

static struct vvcql_host *release(struct vvcql_try *attempt)
{
    struct vvcql_host *host = attempt->host;
    attempt->host = NULL;
    attempt->execution->n_running--;
    atomic_fetch_sub_explicit(&host->in_flight, 1, memory_order_relaxed);
    return host;
}

void vvcql_try_drop(struct vvcql_try *attempt)
{
    if (attempt->host == NULL)
        return;
    if (attempt->preparation != NULL)
        vvcql_preparation_leave(attempt);
    else
        vvcql_call_abandon(&attempt->call);
    (void)release(attempt);
}

/* ---- to the host ---- */

/* false: *error says what is wrong. *missing_out: a text that must be prepared first, or NULL. */
static bool check_part(const struct vvcql_statement *part,
                       const struct vvcql_prepared **missing_out, struct vvcql_error *error)
{
    if (part->kind != VVCQL_KIND_EXECUTE)
        return true;
    if (part->prepared->id.size == 0) {
        *missing_out = part->prepared;
        return true;
    }
    if (part->n_values == part->prepared->n_values)
        return true;
    vvcql_error_set(error, VVCQL_INVALID, "%zu values were added for %u markers of \"%.200s\"",
                    part->n_values, part->prepared->n_values, part->prepared->text);
    return false;
}

static bool check_parts(const struct vvcql_statement *statement,
                        const struct vvcql_prepared **missing_out, struct vvcql_error *error)
{
    *missing_out = NULL;
    if (statement->kind != VVCQL_KIND_BATCH)
        return check_part(statement, missing_out, error);
    for (const struct vvcql_statement *part = statement->parts_first;
         part != NULL && *missing_out == NULL; part = part->next) {
        if (!check_part(part, missing_out, error))
            return false;
    }
    return true;
}

static enum vvcql_status send_statement(struct vvcql_try *attempt,
                                        struct vvcql_connection *connection,
                                        struct vvcql_error *error)
{
    struct vvcql_executor *executor = attempt->execution->executor;
    const struct vvcql_statement *statement = attempt->execution->statement;
    struct vvcql_buffer *body = &executor->body;
    struct vvcql_request_defaults defaults = {
        .consistency = executor->cluster->settings->options.consistency,
    };
    vvcql_buffer_clear(body);
    uint8_t opcode = vvcql_request_statement(body, statement, &defaults, vvcql_prepared_id_of);
    enum vvcql_status status;
    if (body->failed)
        status = VVCQL_NO_MEMORY;
    else if (body->size > VVCQL_FRAME_BODY_MAX)
        status =
            vvcql_error_set(error, VVCQL_INVALID, "a request of %zu bytes is too long", body->size);
    else
        status = vvcql_connection_send(connection, &attempt->call, opcode,
                                       statement->tracing ? VVCQL_FLAG_TRACING : 0,
                                       (struct vvcql_bytes){body->data, body->size});
    if (status == VVCQL_NO_MEMORY)
        vvcql_error_set(error, status, "no memory to send a request");
    if (body->capacity > BODY_KEPT_MAX)
        vvcql_buffer_deinit(body);
    return status;
}

enum vvcql_status vvcql_try_send(struct vvcql_try *attempt, struct vvcql_host *host,
                                 struct vvcql_error *error)
{
    const struct vvcql_prepared *missing;
    enum vvcql_status status;
    if (!check_parts(attempt->execution->statement, &missing, error))
        return VVCQL_INVALID;
    if (missing != NULL) {
        status = vvcql_preparation_join(attempt, host, missing, error);
    } else {
        struct vvcql_connection *connection = vvcql_host_choose(host);
        status = connection != NULL ? send_statement(attempt, connection, error) : VVCQL_OVERLOADED;
    }
    if (status == VVCQL_OK)
        hold(attempt, host);
    return status;
}

/* Once more on the host that it was on, which has just answered. */
static void send_again(struct vvcql_try *attempt, struct vvcql_host *host)
{
    struct vvcql_execution *execution = attempt->execution;
    struct vvcql_error error;
    enum vvcql_status status = vvcql_try_send(attempt, host, &error);
    if (status == VVCQL_OVERLOADED || status == VVCQL_LOST)
        vvcql_execution_go_on(execution, host);
    else if (status != VVCQL_OK)
        vvcql_execution_failed(execution, host, false, &error);
}

/* ---- prepared or not ---- */

void vvcql_try_prepared(struct vvcql_try *attempt)
{
    send_again(attempt, release(attempt));
}

void vvcql_try_unprepared(struct vvcql_try *attempt, const struct vvcql_error *error)
{
    struct vvcql_execution *execution = attempt->execution;
    struct vvcql_host *host = release(attempt);
    vvcql_execution_failed(execution, host, false, error);
}

static const struct vvcql_prepared *find_part(const struct vvcql_statement *statement,
                                              struct vvcql_bytes id)
{
    const struct vvcql_statement *part =
        statement->kind == VVCQL_KIND_BATCH ? statement->parts_first : statement;
    for (; part != NULL; part = part->next) {
        if (part->kind != VVCQL_KIND_EXECUTE)
            continue;
        struct vvcql_bytes own = vvcql_prepared_id_of(part->prepared);
        if (own.size == id.size && own.size > 0 && memcmp(own.data, id.data, id.size) == 0)
            return part->prepared;
    }
    return NULL;
}

/* The host doesn't know the text of this id. When the id is none of the statement's, the text got
 * another one meanwhile: then just once more. */
static void prepare_again(struct vvcql_try *attempt, struct vvcql_host *host, struct vvcql_bytes id,
                          const struct vvcql_error *unprepared)
{
    struct vvcql_execution *execution = attempt->execution;
    const struct vvcql_statement *statement = execution->statement;
    struct vvcql_error error;
    size_t n_parts = statement->n_parts < UNPREPARED_MAX ? statement->n_parts : UNPREPARED_MAX;
    vvcql_tally_add(&execution->executor->cluster->loop->tally.unprepared, 1);
    if (++execution->unprepared > n_parts + UNPREPARED_MORE) {
        vvcql_execution_failed(execution, host, false, unprepared);
        return;
    }
    const struct vvcql_prepared *prepared = find_part(statement, id);
    if (prepared == NULL) {
        send_again(attempt, host);
        return;
    }
    enum vvcql_status status = vvcql_preparation_join(attempt, host, prepared, &error);
    if (status == VVCQL_OK)
        hold(attempt, host);
    else if (status == VVCQL_OVERLOADED || status == VVCQL_LOST)
        vvcql_execution_go_on(execution, host);
    else
        vvcql_execution_failed(execution, host, false, &error);
}

/* ---- from the host ---- */

static void take_error(struct vvcql_try *attempt, const struct vvcql_frame *frame)
{
    struct vvcql_execution *execution = attempt->execution;
    struct vvcql_host *host = release(attempt);
    struct vvcql_prelude prelude;
    struct vvcql_error error;
    struct vvcql_bytes id = {NULL, 0};
    if (vvcql_decode_prelude(frame, &prelude, &error) == VVCQL_OK)
        vvcql_decode_error(prelude.body, &error, &id);
    memcpy(error.host, host->name, sizeof(error.host));
    if (error.status == VVCQL_SERVER && error.code == VVCQL_CODE_UNPREPARED) {
        prepare_again(attempt, host, id, &error);
        return;
    }
    if (vvcql_is_outcome_open(execution, &error))
        execution->is_unknown = true;
    vvcql_execution_failed(execution, host, true, &error);
}

/* The host answered, but what isn't known. */
static void fail_unclear(struct vvcql_try *attempt, struct vvcql_error *error)
{
    struct vvcql_execution *execution = attempt->execution;
    struct vvcql_host *host = release(attempt);
    memcpy(error->host, host->name, sizeof(error->host));
    if (execution->may_change)
        execution->is_unknown = true;
    vvcql_execution_failed(execution, host, true, error);
}

static void take_result(struct vvcql_try *attempt, const struct vvcql_frame *frame)
{
    struct vvcql_result *result;
    struct vvcql_error error;
    if (vvcql_result_create(frame, attempt->host->name, &result, &error) != VVCQL_OK) {
        fail_unclear(attempt, &error);
        return;
    }
    vvcql_tally_add(&attempt->execution->executor->cluster->loop->tally.warnings,
                    vvcql_result_warnings(result));
    (void)release(attempt);
    vvcql_execution_succeed(attempt, result);
}

/* The connection ended; whether the request was out by then, it knows. */
static void take_loss(struct vvcql_try *attempt, const struct vvcql_error *lost)
{
    struct vvcql_execution *execution = attempt->execution;
    struct vvcql_host *host = release(attempt);
    struct vvcql_error error = *lost;
    bool was_sent = lost->outcome_unknown;
    if (error.status == VVCQL_CLOSED && !execution->executor->is_closing)
        error.status = VVCQL_LOST; /* the connection was closed, not the session */
    if (was_sent && execution->may_change)
        execution->is_unknown = true;
    vvcql_execution_failed(execution, host, was_sent, &error);
}

static void on_answer(struct vvcql_call *call, const struct vvcql_frame *frame,
                      const struct vvcql_error *error)
{
    struct vvcql_try *attempt = (struct vvcql_try *)call;
    struct vvcql_executor *executor = attempt->execution->executor;
    if (frame == NULL) {
        take_loss(attempt, error);
    } else if (frame->opcode == VVCQL_OP_RESULT) {
        take_result(attempt, frame);
    } else if (frame->opcode == VVCQL_OP_ERROR) {
        take_error(attempt, frame);
    } else {
        struct vvcql_error wrong;
        vvcql_error_set(&wrong, VVCQL_PROTOCOL, "a request was answered with opcode %u",
                        frame->opcode);
        fail_unclear(attempt, &wrong);
    }
    vvcql_executor_pump(executor);
}

void vvcql_try_init(struct vvcql_try *attempt, struct vvcql_execution *execution)
{
    memset(attempt, 0, sizeof(*attempt));
    attempt->execution = execution;
    attempt->call.done = on_answer;
}
