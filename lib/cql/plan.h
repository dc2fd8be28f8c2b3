/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order in which hosts are asked for one request, made as far as it is needed: the pinned host
 * only; or the local replicas of the partition, then the other local hosts, then remote ones where
 * that is allowed. Belongs to the session's thread.
 */
#ifndef VVCQL_PLAN_H
#define VVCQL_PLAN_H

#include "cluster.h"
#include "statement_private.h"

#define VVCQL_PLAN_TRIED_MAX 8

enum vvcql_plan_stage { VVCQL_PLAN_REPLICAS, VVCQL_PLAN_LOCAL, VVCQL_PLAN_REMOTE, VVCQL_PLAN_END };

struct vvcql_plan {
    const char *pinned; /* the statement's; NULL: none */
    const char *keyspace;
    int64_t token;
    bool has_token;
    uint8_t n_tried;
    enum vvcql_plan_stage stage;
    uint32_t start; /* random, or in turn */
    uint32_t at;    /* within the stage */
    /* Hosts that were asked; compared only, they may be gone. */
    const struct vvcql_host *tried[VVCQL_PLAN_TRIED_MAX];
};

/* The prepared statement whose partition counts, of a batch its first; NULL: none. */
const struct vvcql_statement *vvcql_plan_routed(const struct vvcql_statement *statement);
/* Borrows the statement's texts; `key` is for use during the call. */
void vvcql_plan_init(struct vvcql_plan *plan, struct vvcql_cluster *cluster,
                     const struct vvcql_statement *statement, struct vvcql_buffer *key);
/* The next host that was not asked before, up or not; NULL at the end. A host may come twice. */
struct vvcql_host *vvcql_plan_next(struct vvcql_plan *plan, const struct vvcql_cluster *cluster);
/* Begins again, without the hosts that were asked. */
void vvcql_plan_rewind(struct vvcql_plan *plan);
void vvcql_plan_tried(struct vvcql_plan *plan, const struct vvcql_host *host);
/* It was not asked after all. */
void vvcql_plan_untried(struct vvcql_plan *plan, const struct vvcql_host *host);

#endif
