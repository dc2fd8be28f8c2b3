/* SPDX-License-Identifier: Apache-2.0 */
#include "query/peers.h"

#include <stdlib.h>

#define PEERS_FEW 32

static int64_t shown_time(int64_t time)
{
    time = time < VV_TIME_MIN ? VV_TIME_MIN : time;
    return time > VV_TIME_MAX ? VV_TIME_MAX : time;
}

static void note_all(const struct vv_peer *peers, size_t n, struct vv_result_facts *facts)
{
    facts->has_peers = n > 0;
    for (size_t i = 0; i < n; i++) {
        int64_t until = shown_time(peers[i].flushed_until_ns);
        if (i == 0 || until < facts->complete_until_ns) {
            facts->complete_until_ns = until;
        }
        if (peers[i].is_gone) {
            if (facts->nodes_gone < VV_GONE_MAX) {
                facts->gone[facts->nodes_gone] = (struct vv_gone_node){peers[i].node, until};
            }
            facts->nodes_gone++;
        }
    }
}

enum vv_status vv_peers_note(const struct vv_query_context *context, struct vv_result_facts *facts)
{
    struct vv_store *store = context->store;
    struct vv_peer few[PEERS_FEW];
    if (!vv_peers_may_write(context)) {
        return VV_OK;
    }
    size_t n = store->ops->shared->peers(store, few, PEERS_FEW);
    if (n <= PEERS_FEW) {
        note_all(few, n, facts);
        return VV_OK;
    }
    struct vv_peer *all = calloc(VV_STAMP_NODE_MAX, sizeof *all); /* there are no more */
    if (!all) {
        return VV_NO_MEMORY;
    }
    n = store->ops->shared->peers(store, all, VV_STAMP_NODE_MAX);
    note_all(all, n < VV_STAMP_NODE_MAX ? n : VV_STAMP_NODE_MAX, facts);
    free(all);
    return VV_OK;
}
