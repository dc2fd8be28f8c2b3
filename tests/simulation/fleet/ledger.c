/* SPDX-License-Identifier: Apache-2.0 */
/* How far a node has read the ledger: it takes some slots of some shards at a time. */
#include "simulation/fleet/world.h"

#include "store/cassandra/cassandra.h"

bool fleet_reads_ledger(struct vv_store *base)
{
    const struct vv_cassandra *store = vv_cassandra_of(base);
    bool reads = false;
    for (uint32_t i = 0; i < VV_CASSANDRA_SHARDS; i++) {
        const struct vv_shard *shard = &store->shared.shards[i];
        reads |= shard->is_owned && (shard->read_at_ns == 0 || shard->misses_some);
    }
    return reads;
}
