/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PREPARE of a text on a host: one at a time, whoever needs it waits for the same. It does not end
 * with the requests that wait for it; it has a deadline of its own.
 */
#include "execution_private.h"

#include "requests.h"

#include <stdlib.h>
#include <string.h>

static void unlink_from_host(struct vvcql_preparation *preparation)
{
    struct vvcql_preparation **at = &preparation->host->preparations;
    while (*at != preparation)
        at = &(*at)->next;
    *at = preparation->next;
}

static struct vvcql_try *pop(struct vvcql_preparation *preparation)
{
    struct vvcql_try *attempt = preparation->waiting;
    if (attempt == NULL)
        return NULL;
    vvcql_preparation_leave(attempt);
    return attempt;
}

void vvcql_preparation_leave(struct vvcql_try *attempt)
{
    if (attempt->previous != NULL)
        attempt->previous->next = attempt->next;
    else
        attempt->preparation->waiting = attempt->next;
    if (attempt->next != NULL)
        attempt->next->previous = attempt->previous;
    attempt->next = NULL;
    attempt->previous = NULL;
    attempt->preparation = NULL;
}

static void join(struct vvcql_preparation *preparation, struct vvcql_try *attempt)
{
    attempt->preparation = preparation;
    attempt->previous = NULL;
    attempt->next = preparation->waiting;
    if (attempt->next != NULL)
        attempt->next->previous = attempt;
    preparation->waiting = attempt;
}

/* Those that wait go on or fail; error NULL: go on. Frees the preparation. */
static void finish(struct vvcql_preparation *preparation, const struct vvcql_error *error)
{
    struct vvcql_executor *executor = preparation->executor;
    struct vvcql_try *attempt;
    unlink_from_host(preparation); /* who needs it from now on begins anew */
    vvcql_deadline_clear(&executor->cluster->loop->deadlines, &preparation->deadline);
    while ((attempt = pop(preparation)) != NULL) {
        if (error == NULL)
            vvcql_try_prepared(attempt);
        else
            vvcql_try_unprepared(attempt, error);
    }
    free(preparation);
    vvcql_executor_pump(executor);
}

/* false: *error says what is wrong. */
static bool keep(struct vvcql_preparation *preparation, struct vvcql_bytes body,
                 struct vvcql_error *error)
{
    struct vvcql_prepared_answer answer;
    if (vvcql_decode_prepared(body, &answer, error) != VVCQL_OK)
        return false;
    if (answer.id.size == 0) {
        vvcql_error_set(error, VVCQL_PROTOCOL, "a prepared text got an empty id");
        return false;
    }
    if (!vvcql_prepared_keep(preparation->prepared, &answer)) {
        vvcql_error_set(error, VVCQL_NO_MEMORY, "no memory for a prepared text");
        return false;
    }
    return true;
}

static bool take_answer(struct vvcql_preparation *preparation, const struct vvcql_frame *frame,
                        struct vvcql_error *error)
{
    struct vvcql_prelude prelude;
    struct vvcql_bytes id;
    if (vvcql_decode_prelude(frame, &prelude, error) != VVCQL_OK)
        return false;
    if (frame->opcode == VVCQL_OP_RESULT)
        return keep(preparation, prelude.body, error);
    if (frame->opcode == VVCQL_OP_ERROR)
        vvcql_decode_error(prelude.body, error, &id);
    else
        vvcql_error_set(error, VVCQL_PROTOCOL, "PREPARE was answered with opcode %u",
                        frame->opcode);
    return false;
}

static void on_answer(struct vvcql_call *call, const struct vvcql_frame *frame,
                      const struct vvcql_error *lost)
{
    struct vvcql_preparation *preparation = (struct vvcql_preparation *)call;
    struct vvcql_error error;
    if (frame == NULL) {
        error = *lost;
        if (error.status == VVCQL_CLOSED && !preparation->executor->is_closing)
            error.status = VVCQL_LOST; /* the connection was closed, not the session */
    } else if (take_answer(preparation, frame, &error)) {
        finish(preparation, NULL);
        return;
    }
    error.outcome_unknown = false; /* nothing was executed */
    memcpy(error.host, preparation->host->name, sizeof(error.host));
    finish(preparation, &error);
}

static void on_deadline(struct vvcql_deadline *deadline)
{
    struct vvcql_preparation *preparation =
        (struct vvcql_preparation *)((char *)deadline -
                                     offsetof(struct vvcql_preparation, deadline));
    struct vvcql_error error;
    vvcql_error_set(&error, VVCQL_LOST, "%s did not answer PREPARE", preparation->host->name);
    memcpy(error.host, preparation->host->name, sizeof(error.host));
    vvcql_call_abandon(&preparation->call);
    finish(preparation, &error);
}

static enum vvcql_status send_prepare(struct vvcql_preparation *preparation,
                                      struct vvcql_connection *connection)
{
    struct vvcql_loop *loop = preparation->executor->cluster->loop;
    uint64_t timeout_ms = preparation->executor->cluster->settings->options.request_timeout_ms;
    struct vvcql_buffer body = {0};
    enum vvcql_status status = VVCQL_NO_MEMORY;
    vvcql_request_prepare(&body, preparation->prepared->text);
    if (!body.failed && vvcql_deadline_set(&loop->deadlines, &preparation->deadline,
                                           vvcql_loop_now(loop) + timeout_ms))
        status = vvcql_connection_send(connection, &preparation->call, VVCQL_OP_PREPARE, 0,
                                       (struct vvcql_bytes){body.data, body.size});
    if (status != VVCQL_OK)
        vvcql_deadline_clear(&loop->deadlines, &preparation->deadline);
    vvcql_buffer_deinit(&body);
    return status;
}

static enum vvcql_status create(struct vvcql_executor *executor, struct vvcql_host *host,
                                const struct vvcql_prepared *prepared,
                                struct vvcql_preparation **preparation_out)
{
    struct vvcql_connection *connection = vvcql_host_choose(host);
    if (connection == NULL)
        return VVCQL_OVERLOADED;
    struct vvcql_preparation *preparation = calloc(1, sizeof(*preparation));
    if (preparation == NULL)
        return VVCQL_NO_MEMORY;
    preparation->call.done = on_answer;
    preparation->deadline.expired = on_deadline;
    preparation->executor = executor;
    preparation->host = host;
    preparation->prepared = (struct vvcql_prepared *)prepared; /* one of the session's own */
    enum vvcql_status status = send_prepare(preparation, connection);
    if (status != VVCQL_OK) {
        free(preparation);
        return status;
    }
    preparation->next = host->preparations;
    host->preparations = preparation;
    *preparation_out = preparation;
    return VVCQL_OK;
}

enum vvcql_status vvcql_preparation_join(struct vvcql_try *attempt, struct vvcql_host *host,
                                         const struct vvcql_prepared *prepared,
                                         struct vvcql_error *error)
{
    struct vvcql_preparation *preparation = host->preparations;
    enum vvcql_status status = VVCQL_OK;
    while (preparation != NULL && preparation->prepared != prepared)
        preparation = preparation->next;
    if (preparation == NULL)
        status = create(attempt->execution->executor, host, prepared, &preparation);
    if (status == VVCQL_NO_MEMORY)
        vvcql_error_set(error, status, "no memory to prepare a text");
    if (status == VVCQL_OK)
        join(preparation, attempt);
    return status;
}
