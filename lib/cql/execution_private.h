/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an execution is inside; for execution.c (its course), sending.c (one attempt), preparation.c
 * and outcome.c.
 */
#ifndef VVCQL_EXECUTION_PRIVATE_H
#define VVCQL_EXECUTION_PRIVATE_H

#include "execution.h"
#include "plan.h"
#include "policy.h"
#include "prepared.h"

/* One attempt on one host at a time; free for the next one while it has no host. */
struct vvcql_try {
    struct vvcql_call call; /* first */
    struct vvcql_execution *execution;
    struct vvcql_host *host;               /* NULL: free */
    struct vvcql_preparation *preparation; /* which it waits for; NULL: the statement was sent */
    struct vvcql_try *next;                /* among those that wait for it */
    struct vvcql_try *previous;
    bool is_speculative;
};

struct vvcql_execution {
    struct vvcql_submission submission; /* first */
    struct vvcql_executor *executor;
    struct vvcql_statement *statement;
    struct vvcql_plan plan;
    struct vvcql_deadline deadline;
    struct vvcql_deadline speculative;
    struct vvcql_line *line; /* in which it waits; NULL: none */
    struct vvcql_execution *next;
    struct vvcql_execution *previous;
    bool may_change;     /* not a SELECT */
    bool is_conditional; /* a lightweight transaction */
    bool is_idempotent;
    bool is_unknown; /* something was sent whose outcome nobody told */
    uint32_t retries;
    uint32_t unprepared; /* times that a host did not know a text */
    uint32_t speculations;
    uint32_t n_running; /* tries that have a host */
    uint32_t n_tries;
    struct vvcql_try *tries;
    struct vvcql_error error; /* the last; status VVCQL_OK: none. Not cleared as a whole. */
};

/* A PREPARE of one text on one host, for all tries that wait for it. */
struct vvcql_preparation {
    struct vvcql_call call;         /* first */
    struct vvcql_preparation *next; /* of the host */
    struct vvcql_executor *executor;
    struct vvcql_host *host;
    struct vvcql_prepared *prepared;
    struct vvcql_try *waiting;
    struct vvcql_deadline deadline;
};

/* ---- sending.c ---- */

void vvcql_try_init(struct vvcql_try *attempt, struct vvcql_execution *execution);
/* Sends the statement, or first a PREPARE of what isn't prepared. VVCQL_OVERLOADED and VVCQL_LOST:
 * not to this host now; others: not at all, *error says why. */
VVCQL_MUST_CHECK enum vvcql_status vvcql_try_send(struct vvcql_try *attempt,
                                                  struct vvcql_host *host,
                                                  struct vvcql_error *error);
/* Nothing more will come of it. */
void vvcql_try_drop(struct vvcql_try *attempt);
/* The text that it waited for is prepared. */
void vvcql_try_prepared(struct vvcql_try *attempt);
/* Preparing failed. */
void vvcql_try_unprepared(struct vvcql_try *attempt, const struct vvcql_error *error);

/* ---- preparation.c ---- */

/* Joins those that wait for the text on this host, the first of them sends PREPARE. Results as
 * vvcql_try_send. */
VVCQL_MUST_CHECK enum vvcql_status vvcql_preparation_join(struct vvcql_try *attempt,
                                                          struct vvcql_host *host,
                                                          const struct vvcql_prepared *prepared,
                                                          struct vvcql_error *error);
void vvcql_preparation_leave(struct vvcql_try *attempt);

/* ---- execution.c ---- */

/* A try brought the result. Ends the execution. */
void vvcql_execution_succeed(struct vvcql_try *attempt, struct vvcql_result *take_result);
/* A try, which is free again, failed on `host`: retries, waits for another one, or ends. */
void vvcql_execution_failed(struct vvcql_execution *execution, struct vvcql_host *host,
                            bool was_sent, const struct vvcql_error *error);
/* A try came to nothing without fault, its host has no room now: waits for some. */
void vvcql_execution_go_on(struct vvcql_execution *execution, const struct vvcql_host *host);
/* Ends it. */
void vvcql_execution_fail(struct vvcql_execution *execution, const struct vvcql_error *error);

/* ---- outcome.c ---- */

/* What the statement is; VVCQL_INVALID for one that must not be executed. */
VVCQL_MUST_CHECK enum vvcql_status vvcql_execution_judge(struct vvcql_execution *execution,
                                                         struct vvcql_error *error);
/* Whether Cassandra's error leaves open what became of the statement. */
bool vvcql_is_outcome_open(const struct vvcql_execution *execution,
                           const struct vvcql_error *error);

#endif
