/* SPDX-License-Identifier: Apache-2.0 */
/* Replica sets by the names of their hosts, which stay the same when hosts come and go. */
#include "replica_sets.h"

#include "plan.h"
#include "prepared.h"
#include "token.h"

#include <string.h>

/* FNV-1a, then mixed (the finaliser of MurmurHash3), so that sums of several keep apart. */
static uint64_t hash_of(const char *name)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *name != '\0'; name++)
        hash = (hash ^ (uint8_t)*name) * UINT64_C(0x100000001b3);
    hash = (hash ^ hash >> 33) * UINT64_C(0xff51afd7ed558ccd);
    hash = (hash ^ hash >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return hash ^ hash >> 33;
}

uint64_t vvcql_replica_set(const struct vvcql_cluster *cluster, const char *keyspace, int64_t token)
{
    uint64_t local = 0;
    uint64_t all = 0;
    size_t n;
    const uint32_t *replicas = vvcql_token_map_find(cluster->map, keyspace, token, &n);
    for (size_t i = 0; i < n; i++) {
        uint64_t hash = hash_of(cluster->hosts[replicas[i]]->name);
        all += hash;
        local += replicas[i] < cluster->n_local ? hash : 0;
    }
    return local != 0 ? local : all;
}

uint64_t vvcql_replica_set_of(const struct vvcql_cluster *cluster,
                              const struct vvcql_statement *statement, struct vvcql_buffer *key)
{
    const struct vvcql_statement *first = vvcql_plan_routed(statement);
    vvcql_buffer_clear(key);
    if (first == NULL || !vvcql_prepared_key(first->prepared, first, key))
        return 0;
    return vvcql_replica_set(cluster, first->prepared->keyspace, vvcql_token(key->data, key->size));
}
