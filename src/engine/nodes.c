/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes that share the store, as this one sees them. */
#include "engine/engine_private.h"

#include <stdlib.h>

/* What this node acknowledged before is with the others; of what is parked, as the last beat said
 * before. */
int64_t vv_engine_flushed_until(struct vv_engine *engine)
{
    int64_t until = vv_beat_flushed_until(engine);
    return vv_engine_parked(engine).n == 0 ? until : atomic_load(&engine->whole_until_ns);
}

/* All others; *n_out of them. The caller frees them; NULL when there are none, or no memory. */
static struct vv_peer *read_peers(struct vv_engine *engine, size_t *n_out)
{
    const struct vv_shared_ops *shared = engine->store->ops->shared;
    struct vv_peer none;
    *n_out = 0;
    size_t room = shared ? shared->peers(engine->store, &none, 0) : 0;
    struct vv_peer *peers = room > 0 ? calloc(room, sizeof *peers) : NULL;
    if (peers) {
        size_t n = shared->peers(engine->store, peers, room);
        *n_out = n < room ? n : room; /* one that came meanwhile is in the next answer */
    }
    return peers;
}

enum vv_status vv_engine_read_nodes(struct vv_engine *engine, struct vv_engine_node **nodes_out,
                                    size_t *n_out)
{
    size_t n;
    struct vv_peer *peers = read_peers(engine, &n);
    struct vv_engine_node *nodes = calloc(n + 1, sizeof *nodes);
    if (!nodes) {
        free(peers);
        return VV_NO_MEMORY;
    }
    int64_t own = vv_engine_flushed_until(engine);
    nodes[0] =
        (struct vv_engine_node){.node = vv_engine_node(engine),
                                .is_self = true,
                                .is_partial = engine->fleet && vv_fleet_leaves_out(engine->fleet),
                                .is_known = own != VV_BEAT_UNKNOWN,
                                .flushed_until_ns = own};
    for (size_t i = 0; i < n; i++) {
        nodes[i + 1] = (struct vv_engine_node){.node = peers[i].node,
                                               .region = peers[i].region,
                                               .is_gone = peers[i].is_gone,
                                               .is_partial = peers[i].is_partial,
                                               .is_known = true,
                                               .flushed_until_ns = peers[i].flushed_until_ns};
    }
    free(peers);
    *nodes_out = nodes;
    *n_out = n + 1;
    return VV_OK;
}

size_t vv_engine_read_regions(struct vv_engine *engine,
                              struct vv_region regions_out[VV_REGIONS_MAX])
{
    const struct vv_shared_ops *shared = engine->store->ops->shared;
    size_t n = shared && shared->regions ? shared->regions(engine->store, regions_out) : 0;
    vv_regions_note_parts(regions_out, n, vv_regions_in_part(engine));
    return n;
}

/* What is in classes of measurements there can't be read here: their nodes have agreed on places
 * that this one does not know. */
uint32_t vv_regions_in_part(void *context)
{
    const struct vv_engine *engine = context;
    return engine->fleet ? vv_fleet_far_classes(engine->fleet) : 0;
}

struct vv_peers_summary vv_engine_sum_peers(struct vv_engine *engine)
{
    struct vv_peers_summary summary = {0};
    struct vv_peer *peers = read_peers(engine, &summary.n);
    for (size_t i = 0; i < VV_REGIONS_MAX; i++) {
        summary.flushed_until_ns[i] = INT64_MAX;
    }
    for (size_t i = 0; i < summary.n; i++) {
        int64_t *until = &summary.flushed_until_ns[peers[i].region];
        summary.gone += peers[i].is_gone;
        if (peers[i].flushed_until_ns < *until) {
            *until = peers[i].flushed_until_ns;
        }
    }
    free(peers);
    return summary;
}
