/* SPDX-License-Identifier: Apache-2.0 */
/* The course of an execution: from host to host until it ends; those that wait for room. */
#include "execution_private.h"

#include "replica_sets.h"

#include <stdlib.h>
#include <string.h>

static struct vvcql_loop *loop_of(const struct vvcql_execution *execution)
{
    return execution->executor->cluster->loop;
}

static const struct vvcql_options *options_of(const struct vvcql_execution *execution)
{
    return &execution->executor->cluster->settings->options;
}

/* ---- lines ---- */

static void append(struct vvcql_line *line, struct vvcql_execution *execution)
{
    execution->line = line;
    execution->next = NULL;
    execution->previous = line->last;
    if (line->last != NULL)
        line->last->next = execution;
    else
        line->first = execution;
    line->last = execution;
}

static void leave_line(struct vvcql_execution *execution)
{
    struct vvcql_line *line = execution->line;
    if (line == NULL)
        return;
    if (execution->previous != NULL)
        execution->previous->next = execution->next;
    else
        line->first = execution->next;
    if (execution->next != NULL)
        execution->next->previous = execution->previous;
    else
        line->last = execution->previous;
    execution->line = NULL;
}

/* ---- the end ---- */

/* Frees the execution, calls done last. */
static void end(struct vvcql_execution *execution, struct vvcql_result *result,
                const struct vvcql_error *error)
{
    struct vvcql_loop *loop = loop_of(execution);
    struct vvcql_submission submission = execution->submission;
    leave_line(execution);
    vvcql_deadline_clear(&loop->deadlines, &execution->deadline);
    vvcql_deadline_clear(&loop->deadlines, &execution->speculative);
    for (uint32_t i = 0; i < execution->n_tries; i++)
        vvcql_try_drop(&execution->tries[i]);
    vvcql_statement_destroy(execution->statement);
    free(execution);
    vvcql_tally_add(&loop->tally.requests, 1);
    vvcql_tally_add(&loop->tally.errors, error != NULL);
    vvcql_tally_subtract(&loop->tally.in_flight, 1);
    submission.done(submission.context, result, error);
}

void vvcql_execution_succeed(struct vvcql_try *attempt, struct vvcql_result *take_result)
{
    if (attempt->is_speculative)
        vvcql_tally_add(&loop_of(attempt->execution)->tally.speculative_won, 1);
    end(attempt->execution, take_result, NULL);
}

void vvcql_execution_fail(struct vvcql_execution *execution, const struct vvcql_error *error)
{
    struct vvcql_error last = *error;
    for (uint32_t i = 0; i < execution->n_tries; i++) {
        const struct vvcql_try *attempt = &execution->tries[i];
        if (attempt->host != NULL && attempt->preparation == NULL && execution->may_change)
            execution->is_unknown = true;
    }
    last.outcome_unknown = execution->is_unknown;
    last.replicas = vvcql_replica_set_of(execution->executor->cluster, execution->statement,
                                         &execution->executor->key);
    end(execution, NULL, &last);
}

static void fail_with(struct vvcql_execution *execution, enum vvcql_status status,
                      const char *message)
{
    struct vvcql_error error;
    vvcql_error_set(&error, status, "%s", message);
    vvcql_execution_fail(execution, &error);
}

/* ---- to the next host ---- */

enum step {
    STEP_SENT,
    STEP_FULL,  /* hosts are up, none has room */
    STEP_NONE,  /* no host is left */
    STEP_WRONG, /* it can't be sent: execution->error */
};

static struct vvcql_try *free_try(struct vvcql_execution *execution)
{
    for (uint32_t i = 0; i < execution->n_tries; i++) {
        struct vvcql_try *attempt = &execution->tries[i];
        if (attempt->host == NULL) {
            attempt->is_speculative = false;
            return attempt;
        }
    }
    return NULL;
}

static enum step send_next(struct vvcql_execution *execution, struct vvcql_try *attempt)
{
    struct vvcql_host *host;
    bool is_full = false;
    while ((host = vvcql_plan_next(&execution->plan, execution->executor->cluster)) != NULL) {
        if (!vvcql_host_is_up(host))
            continue;
        enum vvcql_status status = vvcql_try_send(attempt, host, &execution->error);
        if (status == VVCQL_OK)
            return STEP_SENT;
        if (status != VVCQL_OVERLOADED && status != VVCQL_LOST)
            return STEP_WRONG;
        is_full = true; /* also a lost one: soon it will be down, or up again */
    }
    return is_full ? STEP_FULL : STEP_NONE;
}

static void fail_unreachable(struct vvcql_execution *execution)
{
    const struct vvcql_cluster *cluster = execution->executor->cluster;
    struct vvcql_error error;
    if (execution->error.status != VVCQL_OK) { /* hosts were asked: what they said tells more */
        vvcql_execution_fail(execution, &execution->error);
        return;
    }
    if (execution->plan.pinned == NULL) {
        vvcql_cluster_explain(cluster, &error);
    } else {
        const struct vvcql_host *host = vvcql_cluster_find_name(cluster, execution->plan.pinned);
        vvcql_error_set(&error, VVCQL_UNREACHABLE, "%s is %s%s%s", execution->plan.pinned,
                        host != NULL ? "not connected" : "no host of the cluster",
                        host != NULL && host->last_error.message[0] != '\0' ? ": " : "",
                        host != NULL ? host->last_error.message : "");
    }
    vvcql_execution_fail(execution, &error);
}

/* ---- speculation ---- */

static void plan_speculation(struct vvcql_execution *execution)
{
    const struct vvcql_options *options = options_of(execution);
    uint32_t delay_ms = options->speculative_delay_ms;
    bool may_be_twice =
        execution->is_idempotent && (!execution->may_change || options->speculative_writes);
    if (!may_be_twice || delay_ms == UINT32_MAX || execution->plan.pinned != NULL ||
        execution->speculations >= options->speculative_max || execution->speculative.place_ != 0)
        return;
    /* Without memory there is none. */
    (void)!vvcql_deadline_set(&loop_of(execution)->deadlines, &execution->speculative,
                              vvcql_loop_now(loop_of(execution)) + delay_ms);
}

static void on_speculation(struct vvcql_deadline *deadline)
{
    struct vvcql_execution *execution =
        (struct vvcql_execution *)((char *)deadline -
                                   offsetof(struct vvcql_execution, speculative));
    struct vvcql_try *attempt = free_try(execution);
    if (execution->n_running == 0 || attempt == NULL) /* it waits for room: no time for more */
        return;
    attempt->is_speculative = true;
    execution->speculations++;
    if (send_next(execution, attempt) != STEP_SENT)
        return;
    vvcql_tally_add(&loop_of(execution)->tally.speculative, 1);
    plan_speculation(execution);
}

/* ---- on its way ---- */

static void wait_for_room(struct vvcql_execution *execution)
{
    struct vvcql_executor *executor = execution->executor;
    append(execution->plan.pinned != NULL ? &executor->waiting_pinned : &executor->waiting,
           execution);
}

/* After a step to the next host. */
static void after_step(struct vvcql_execution *execution, enum step step)
{
    switch (step) {
    case STEP_SENT:
        plan_speculation(execution);
        break;
    case STEP_FULL:
        wait_for_room(execution);
        break;
    case STEP_NONE:
        fail_unreachable(execution);
        break;
    case STEP_WRONG:
        vvcql_execution_fail(execution, &execution->error);
        break;
    }
}

static void launch(struct vvcql_execution *execution)
{
    after_step(execution, send_next(execution, free_try(execution)));
}

void vvcql_execution_go_on(struct vvcql_execution *execution, const struct vvcql_host *host)
{
    vvcql_plan_untried(&execution->plan, host);
    if (execution->n_running > 0)
        return;
    if (execution->executor->is_closing)
        fail_with(execution, VVCQL_CLOSED, "the session is closing");
    else
        wait_for_room(execution);
}

static enum vvcql_retry decide(const struct vvcql_execution *execution, bool was_sent,
                               const struct vvcql_error *error)
{
    struct vvcql_attempt attempt = {
        .is_idempotent = execution->is_idempotent,
        .is_conditional = execution->is_conditional,
        .was_sent = was_sent,
        .retries = execution->retries,
        .retries_max = options_of(execution)->retries_max,
    };
    return vvcql_retry_after(&attempt, error);
}

static void retry_same(struct vvcql_execution *execution, struct vvcql_host *host)
{
    enum vvcql_status status = vvcql_try_send(free_try(execution), host, &execution->error);
    if (status == VVCQL_OVERLOADED || status == VVCQL_LOST)
        launch(execution);
    else if (status != VVCQL_OK)
        vvcql_execution_fail(execution, &execution->error);
}

void vvcql_execution_failed(struct vvcql_execution *execution, struct vvcql_host *host,
                            bool was_sent, const struct vvcql_error *error)
{
    enum vvcql_retry retry =
        execution->executor->is_closing ? VVCQL_RETRY_NO : decide(execution, was_sent, error);
    if (execution->n_running > 0) { /* another one may do better */
        execution->error = *error;
        return;
    }
    if (retry == VVCQL_RETRY_NO) {
        vvcql_execution_fail(execution, error);
        return;
    }
    execution->error = *error;
    execution->retries++;
    vvcql_tally_add(&loop_of(execution)->tally.retries, 1);
    if (retry == VVCQL_RETRY_SAME)
        retry_same(execution, host);
    else
        launch(execution);
}

/* ---- the beginning ---- */

static void on_deadline(struct vvcql_deadline *deadline)
{
    struct vvcql_execution *execution =
        (struct vvcql_execution *)((char *)deadline - offsetof(struct vvcql_execution, deadline));
    const struct vvcql_host *asked = NULL;
    struct vvcql_error error;
    for (uint32_t i = 0; i < execution->n_tries && asked == NULL; i++)
        asked = execution->tries[i].host;
    if (asked != NULL)
        vvcql_error_set(&error, VVCQL_TIMEOUT, "%s did not answer in time", asked->name);
    else
        vvcql_error_set(&error, VVCQL_TIMEOUT, "no host had room for the request in time");
    if (asked != NULL)
        memcpy(error.host, asked->name, sizeof(error.host));
    vvcql_tally_add(&loop_of(execution)->tally.timeouts, 1);
    vvcql_execution_fail(execution, &error);
}

struct vvcql_submission *vvcql_execution_create(struct vvcql_statement *take_statement,
                                                uint32_t speculative_max, vvcql_done done,
                                                void *context)
{
    uint32_t n_tries = 1 + speculative_max;
    struct vvcql_execution *execution =
        malloc(sizeof(*execution) + n_tries * sizeof(struct vvcql_try));
    if (execution == NULL)
        return NULL;
    memset(execution, 0, offsetof(struct vvcql_execution, error));
    execution->submission.done = done;
    execution->submission.context = context;
    execution->statement = take_statement;
    execution->deadline.expired = on_deadline;
    execution->speculative.expired = on_speculation;
    execution->n_tries = n_tries;
    execution->tries = (struct vvcql_try *)(execution + 1);
    execution->error.status = VVCQL_OK;
    for (uint32_t i = 0; i < n_tries; i++)
        vvcql_try_init(&execution->tries[i], execution);
    return &execution->submission;
}

void vvcql_execution_start(struct vvcql_executor *executor,
                           struct vvcql_submission *take_submission)
{
    struct vvcql_execution *execution = (struct vvcql_execution *)take_submission;
    struct vvcql_loop *loop = executor->cluster->loop;
    struct vvcql_error error;
    execution->executor = executor;
    if (executor->is_closing) {
        fail_with(execution, VVCQL_CLOSED, "the session is closing");
        return;
    }
    if (vvcql_execution_judge(execution, &error) != VVCQL_OK) {
        vvcql_execution_fail(execution, &error);
        return;
    }
    uint64_t timeout_ms = execution->statement->timeout_ms;
    if (timeout_ms == 0)
        timeout_ms = options_of(execution)->request_timeout_ms;
    if (!vvcql_deadline_set(&loop->deadlines, &execution->deadline,
                            vvcql_loop_now(loop) + timeout_ms)) {
        fail_with(execution, VVCQL_NO_MEMORY, "no memory for a deadline");
        return;
    }
    vvcql_plan_init(&execution->plan, executor->cluster, execution->statement, &executor->key);
    launch(execution);
}

/* ---- those that wait ---- */

/* false: there is still no room. */
static bool try_waiting(struct vvcql_execution *execution)
{
    vvcql_plan_rewind(&execution->plan);
    enum step step = send_next(execution, free_try(execution));
    if (step == STEP_FULL)
        return false;
    leave_line(execution);
    after_step(execution, step);
    return true;
}

void vvcql_executor_pump(struct vvcql_executor *executor)
{
    if (executor->is_pumping || executor->is_closing)
        return;
    executor->is_pumping = true;
    while (executor->waiting.first != NULL && try_waiting(executor->waiting.first)) {
    }
    struct vvcql_execution *next;
    for (struct vvcql_execution *at = executor->waiting_pinned.first; at != NULL; at = next) {
        next = at->next; /* ends of others do not happen here: done may only submit */
        (void)try_waiting(at);
    }
    executor->is_pumping = false;
}

static void end_line(struct vvcql_line *line)
{
    struct vvcql_execution *next;
    for (struct vvcql_execution *at = line->first; at != NULL; at = next) {
        next = at->next;
        fail_with(at, VVCQL_CLOSED, "the session is closing");
    }
}

void vvcql_executor_close(struct vvcql_executor *executor)
{
    executor->is_closing = true;
    end_line(&executor->waiting);
    end_line(&executor->waiting_pinned);
}

void vvcql_executor_deinit(struct vvcql_executor *executor)
{
    vvcql_buffer_deinit(&executor->body);
    vvcql_buffer_deinit(&executor->key);
}
