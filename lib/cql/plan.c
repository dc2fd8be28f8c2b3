/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of hosts. Positions stay numbers: when the cluster changes between two steps, they go
 * on in the new list of hosts, where a host may be missed or come again; neither does harm.
 */
#include "plan.h"

#include "policy.h"
#include "prepared.h"
#include "token.h"

#include <string.h>

const struct vvcql_statement *vvcql_plan_routed(const struct vvcql_statement *statement)
{
    const struct vvcql_statement *first =
        statement->kind == VVCQL_KIND_BATCH ? statement->parts_first : statement;
    return first != NULL && first->kind == VVCQL_KIND_EXECUTE ? first : NULL;
}

void vvcql_plan_init(struct vvcql_plan *plan, struct vvcql_cluster *cluster,
                     const struct vvcql_statement *statement, struct vvcql_buffer *key)
{
    memset(plan, 0, sizeof(*plan));
    if (statement->host[0] != '\0') {
        plan->pinned = statement->host;
        return;
    }
    const struct vvcql_statement *first = vvcql_plan_routed(statement);
    vvcql_buffer_clear(key);
    if (first != NULL && vvcql_prepared_key(first->prepared, first, key)) {
        plan->has_token = true;
        plan->token = vvcql_token(key->data, key->size);
        plan->keyspace = first->prepared->keyspace;
    }
    if (!plan->has_token) {
        plan->start = cluster->turn++;
        plan->stage = VVCQL_PLAN_LOCAL;
    } else if (!statement->has_serial_consistency) {
        plan->start = (uint32_t)vvcql_random(&cluster->loop->random_state);
    } /* else always the first replica: rounds of one partition from one coordinator collide less */
}

void vvcql_plan_rewind(struct vvcql_plan *plan)
{
    plan->stage = plan->has_token ? VVCQL_PLAN_REPLICAS : VVCQL_PLAN_LOCAL;
    plan->at = 0;
}

static bool was_tried(const struct vvcql_plan *plan, const struct vvcql_host *host)
{
    for (uint8_t i = 0; i < plan->n_tried; i++) {
        if (plan->tried[i] == host)
            return true;
    }
    return false;
}

void vvcql_plan_tried(struct vvcql_plan *plan, const struct vvcql_host *host)
{
    if (plan->n_tried < VVCQL_PLAN_TRIED_MAX && !was_tried(plan, host))
        plan->tried[plan->n_tried++] = host;
}

void vvcql_plan_untried(struct vvcql_plan *plan, const struct vvcql_host *host)
{
    uint8_t n = 0;
    for (uint8_t i = 0; i < plan->n_tried; i++) {
        if (plan->tried[i] != host)
            plan->tried[n++] = plan->tried[i];
    }
    plan->n_tried = n;
}

/* Number `at` of the local replicas, counted from a random one; NULL when there are no more. */
static struct vvcql_host *replica(const struct vvcql_plan *plan,
                                  const struct vvcql_cluster *cluster)
{
    size_t n;
    uint32_t n_local = 0;
    const uint32_t *replicas = vvcql_token_map_find(cluster->map, plan->keyspace, plan->token, &n);
    for (size_t i = 0; i < n; i++)
        n_local += replicas[i] < cluster->n_local;
    if (plan->at >= n_local)
        return NULL;
    uint32_t wanted = (plan->start + plan->at) % n_local;
    for (size_t i = 0; i < n; i++) {
        if (replicas[i] < cluster->n_local && wanted-- == 0)
            return cluster->hosts[replicas[i]];
    }
    return NULL;
}

/* The host at the plan's place, NULL when the stage is over. */
static struct vvcql_host *present(const struct vvcql_plan *plan,
                                  const struct vvcql_cluster *cluster)
{
    uint32_t n_remote = cluster->n_hosts - cluster->n_local;
    switch (plan->stage) {
    case VVCQL_PLAN_REPLICAS:
        return replica(plan, cluster);
    case VVCQL_PLAN_LOCAL:
        return plan->at < cluster->n_local
                   ? cluster->hosts[(plan->start + plan->at) % cluster->n_local]
                   : NULL;
    case VVCQL_PLAN_REMOTE:
        return plan->at < n_remote && cluster->settings->options.remote_hosts
                   ? cluster->hosts[cluster->n_local + (plan->start + plan->at) % n_remote]
                   : NULL;
    case VVCQL_PLAN_END:
        break;
    }
    return NULL;
}

static struct vvcql_host *next_pinned(struct vvcql_plan *plan, const struct vvcql_cluster *cluster)
{
    struct vvcql_host *host =
        plan->stage != VVCQL_PLAN_END ? vvcql_cluster_find_name(cluster, plan->pinned) : NULL;
    plan->stage = VVCQL_PLAN_END;
    return host != NULL && !was_tried(plan, host) ? host : NULL;
}

struct vvcql_host *vvcql_plan_next(struct vvcql_plan *plan, const struct vvcql_cluster *cluster)
{
    if (plan->pinned != NULL)
        return next_pinned(plan, cluster);
    while (plan->stage != VVCQL_PLAN_END) {
        struct vvcql_host *host = present(plan, cluster);
        plan->at++;
        if (host == NULL) {
            plan->stage++;
            plan->at = 0;
        } else if (!was_tried(plan, host)) {
            return host;
        }
    }
    return NULL;
}
