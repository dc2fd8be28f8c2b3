/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes that share the store, as this one sees them. */
#include "engine/engine_private.h"

#include <stdlib.h>

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
    int64_t own = vv_beat_flushed_until(engine);
    nodes[0] = (struct vv_engine_node){.node = vv_engine_node(engine),
                                       .is_self = true,
                                       .is_known = own != VV_BEAT_UNKNOWN,
                                       .flushed_until_ns = own};
    for (size_t i = 0; i < n; i++) {
        nodes[i + 1] = (struct vv_engine_node){.node = peers[i].node,
                                               .is_gone = peers[i].is_gone,
                                               .is_known = true,
                                               .flushed_until_ns = peers[i].flushed_until_ns};
    }
    free(peers);
    *nodes_out = nodes;
    *n_out = n + 1;
    return VV_OK;
}

struct vv_peers_summary vv_engine_sum_peers(struct vv_engine *engine)
{
    struct vv_peers_summary summary = {.flushed_until_ns = INT64_MAX};
    struct vv_peer *peers = read_peers(engine, &summary.n);
    for (size_t i = 0; i < summary.n; i++) {
        int64_t until = peers[i].flushed_until_ns;
        summary.gone += peers[i].is_gone;
        if (until < summary.flushed_until_ns) {
            summary.flushed_until_ns = until;
        }
    }
    free(peers);
    return summary;
}
