/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests executed: each goes to hosts by its plan, is prepared where it must be, sent again where
 * that does no harm, and ends once: with a result, an error, or its deadline.
 *
 * Requests that no host has room for wait in line. All of this belongs to the session's thread,
 * unless said otherwise.
 */
#ifndef VVCQL_EXECUTION_H
#define VVCQL_EXECUTION_H

#include "cluster.h"

struct vvcql_execution;

/* A list of executions in the order they came. */
struct vvcql_line {
    struct vvcql_execution *first;
    struct vvcql_execution *last;
};

struct vvcql_executor {
    struct vvcql_cluster *cluster;
    struct vvcql_line waiting;        /* for room on any host */
    struct vvcql_line waiting_pinned; /* for room on their host */
    struct vvcql_buffer body;         /* of the request that is being sent */
    struct vvcql_buffer key;
    bool is_pumping;
    bool is_closing;
};

/* What vvcql_execute() hands over, by any thread: an execution, or only word of a refusal. */
struct vvcql_submission {
    struct vvcql_submission *next;
    vvcql_done done;
    void *context;
    enum vvcql_status refused; /* VVCQL_OK: it is the head of an execution */
};

/* Any thread. `speculative_max`: as in the options. NULL: no memory, nothing was taken. */
struct vvcql_submission *vvcql_execution_create(struct vvcql_statement *take_statement,
                                                uint32_t speculative_max, vvcql_done done,
                                                void *context);
/* Begins an execution, which ends some time after this has returned, or before. */
void vvcql_execution_start(struct vvcql_executor *executor,
                           struct vvcql_submission *take_submission);

/* A host may have room, or none may be left: goes on with those that wait. */
void vvcql_executor_pump(struct vvcql_executor *executor);
/* Ends those that wait; the others end as their connections do. None is sent from now on. */
void vvcql_executor_close(struct vvcql_executor *executor);
void vvcql_executor_deinit(struct vvcql_executor *executor);

#endif
