/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a tenant is written into another class or layout. Others must look there before anything is
 * there: sealing moves what is old, and who looks only where it was finds nothing. So it is told
 * first, and the turn comes when all have had the time to learn it, by this node's own clock since
 * Cassandra has what was told. Each node that writes the tenant waits for itself, so they need no
 * common date.
 *
 * A node that is alone need not wait: who joins is in the table of nodes before it learns, and
 * learns everything before it reads.
 *
 * What waits is in memory only: a node that starts again sees that its tenants are not where they
 * belong, and tells it and waits again.
 */
#include "store/cassandra/rows.h"

#include <stdlib.h>

static int64_t monotonic(const struct vv_cassandra *store)
{
    return store->clock->monotonic_ns(store->clock);
}

bool vv_cassandra_is_current(struct vv_cassandra *store)
{
    int64_t current_ns = atomic_load(&store->shared.current_ns);
    return store->lead_ns == 0 ||
           (current_ns != 0 && monotonic(store) - current_ns <= store->lead_ns);
}

/* ---- who waits ---- */

static struct vv_turn *find(const struct vv_cassandra *store, uint32_t tenant)
{
    for (size_t i = 0; i < store->n_turns; i++) {
        if (store->turns[i].tenant == tenant) {
            return &store->turns[i];
        }
    }
    return NULL;
}

bool vv_cassandra_waits_for_turn(const struct vv_cassandra *store, uint32_t tenant)
{
    return find(store, tenant) != NULL;
}

enum vv_status vv_cassandra_wish_turn(struct vv_cassandra *store, uint32_t tenant,
                                      struct vv_error *error)
{
    struct vv_turn *turn = find(store, tenant);
    if (turn) {
        turn->at_ns = 0;
        return VV_OK;
    }
    if (store->n_turns == store->turns_capacity) {
        size_t capacity = store->turns_capacity ? store->turns_capacity * 2 : 16;
        struct vv_turn *turns = realloc(store->turns, capacity * sizeof *turns);
        if (!turns) {
            return vv_error_set(error, VV_NO_MEMORY, "out of memory");
        }
        store->turns = turns;
        store->turns_capacity = capacity;
    }
    store->turns[store->n_turns++] = (struct vv_turn){.tenant = tenant};
    return VV_OK;
}

/* ---- whom it concerns ---- */

/* False where it can't be told. */
static bool is_alone(struct vv_cassandra *store)
{
    struct vvcql_statement *statement = vvcql_statement_prepared(store->views[0].read_nodes);
    struct vvcql_result *result;
    vv_cassandra_add_str(statement, vv_str_of(store->shared.region));
    vvcql_set_idempotent(statement, true);
    if (vv_cassandra_ask(store, &statement, 1, &result, NULL) != VV_OK) {
        return false;
    }
    bool alone = store->n_views <= 1;
    int32_t node;
    while (vvcql_next_row(result)) {
        alone &= vvcql_get_int(result, 0, &node) && (uint32_t)node == store->shared.node;
    }
    vvcql_result_destroy(result);
    return alone;
}

/* Nor does anything wait to be delivered, which has a mark or none by the layout of its time. */
static bool told_has_landed(const struct vv_cassandra *store)
{
    return store->shared.told_sent == store->shared.told.size &&
           store->parking.n[VV_PARKED_TOLD] == 0 && store->parking.n[VV_PARKED_RUN] == 0;
}

/* ---- turning ---- */

static enum vv_status turn_tenant(struct vv_cassandra *store, uint32_t tenant,
                                  struct vv_error *error)
{
    bool found;
    struct vv_tenant_classes classes = vv_cassandra_recorded(store, tenant, &found);
    uint8_t layout = vv_cassandra_layout(store, tenant);
    vv_cassandra_prefer_own(store, &classes);
    if (classes.layout && (classes.layouts & layout)) {
        classes.layout = layout;
    }
    enum vv_status status = vv_cassandra_put_classes(store, &classes, error);
    if (status == VV_OK) {
        status = vv_cassandra_keep_classes(store, &classes, error);
    }
    return vv_cassandra_failed(store, status);
}

enum vv_status vv_cassandra_turn(struct vv_cassandra *store, struct vv_error *error)
{
    enum vv_status status = VV_OK;
    bool asked = false;
    bool alone = false;
    size_t kept = 0;
    int64_t now = monotonic(store);
    if (store->n_turns == 0 || !told_has_landed(store)) {
        return VV_OK;
    }
    for (size_t i = 0; i < store->n_turns; i++) {
        struct vv_turn turn = store->turns[i];
        if (turn.at_ns == 0) {
            alone = asked ? alone : is_alone(store);
            asked = true;
            turn.at_ns = alone ? now : now + store->lead_ns;
        }
        bool is_due = status == VV_OK && now >= turn.at_ns;
        status = is_due ? turn_tenant(store, turn.tenant, error) : status;
        if (!is_due || status != VV_OK) {
            store->turns[kept++] = turn;
        }
    }
    store->n_turns = kept;
    return status;
}
