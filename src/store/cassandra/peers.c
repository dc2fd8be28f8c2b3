/* SPDX-License-Identifier: Apache-2.0 */
/* Which other nodes there are, and which shards this one owns beside them. */
#include "store/cassandra/cassandra.h"

#include "base/random.h"

bool vv_shared_is_gone(const struct vv_cassandra *store, const struct vv_node_seen *node)
{
    return store->clock->monotonic_ns(store->clock) - node->heard_ns > store->gone_ns;
}

/* ---- peers ---- */

static struct vv_peer peer_of(const struct vv_cassandra *store, uint8_t region,
                              const struct vv_node_seen *node)
{
    return (struct vv_peer){
        .node = node->node,
        .region = region,
        .is_gone = vv_shared_is_gone(store, node),
        .is_partial = node->is_partial,
        .flushed_until_ns = node->flushed_until_ns,
    };
}

/* Those of each region ascend: the least that is left comes next. */
size_t vv_shared_peers(struct vv_store *base, struct vv_peer *peers_out, size_t max)
{
    struct vv_cassandra *store = vv_cassandra_of(base);
    size_t at[VV_REGIONS_MAX] = {0};
    size_t n = 0;
    pthread_mutex_lock(&store->shared.lock);
    for (;; n++) {
        size_t least = store->n_views;
        for (size_t i = 0; i < store->n_views; i++) {
            const struct vv_region_view *view = &store->views[i];
            if (at[i] < view->n_nodes &&
                (least == store->n_views ||
                 view->nodes[at[i]].node < store->views[least].nodes[at[least]].node)) {
                least = i;
            }
        }
        if (least == store->n_views) {
            break;
        }
        if (n < max) {
            peers_out[n] = peer_of(store, (uint8_t)least, &store->views[least].nodes[at[least]]);
        }
        at[least]++;
    }
    pthread_mutex_unlock(&store->shared.lock);
    return n;
}

/* ---- who owns what ---- */

static uint64_t weight(uint32_t node, uint32_t shard)
{
    struct vv_random random = {(uint64_t)node << 32 | shard};
    return vv_random_next(&random);
}

/* A node that could not take all that was told would leave marks of what it does not know. */
static bool comes_before(const struct vv_cassandra_shared *shared, uint32_t shard,
                         const struct vv_node_seen *other)
{
    bool is_partial = atomic_load(&shared->is_partial);
    return other->is_partial != is_partial
               ? is_partial
               : weight(other->node, shard) >= weight(shared->node, shard);
}

void vv_shared_set_partial(struct vv_store *base, bool is_partial)
{
    atomic_store(&vv_cassandra_of(base)->shared.is_partial, is_partial);
}

/* Of those that live and know all, or, if there is none, of all that live, the node with the
 * highest weight owns the shard: when one comes or goes, only its own move. */
void vv_shared_divide(struct vv_cassandra *store)
{
    struct vv_cassandra_shared *shared = &store->shared;
    const struct vv_region_view *view = &store->views[0]; /* no other region's nodes seal here */
    pthread_mutex_lock(&shared->lock);
    for (uint32_t i = 0; i < VV_CASSANDRA_SHARDS; i++) {
        bool is_owned = true;
        for (size_t j = 0; j < view->n_nodes && is_owned; j++) {
            const struct vv_node_seen *other = &view->nodes[j];
            is_owned = vv_shared_is_gone(store, other) || !comes_before(shared, i, other);
        }
        if (is_owned && !shared->shards[i].is_owned) {
            shared->shards[i].n_seen = 0; /* what was added meanwhile is to be read */
            shared->shards[i].read_at_ns = 0;
        }
        shared->shards[i].is_owned = is_owned;
    }
    pthread_mutex_unlock(&shared->lock);
}
