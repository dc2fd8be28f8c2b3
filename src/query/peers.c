/* SPDX-License-Identifier: Apache-2.0 */
#include "query/peers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PEERS_FEW 32

static int64_t shown_time(int64_t time)
{
    time = time < VV_TIME_MIN ? VV_TIME_MIN : time;
    return time > VV_TIME_MAX ? VV_TIME_MAX : time;
}

static void note_neighbour(const struct vv_peer *peer, struct vv_result_facts *facts)
{
    int64_t until = shown_time(peer->flushed_until_ns);
    if (!facts->has_peers || until < facts->complete_until_ns) {
        facts->complete_until_ns = until;
    }
    facts->has_peers = true;
    if (peer->is_gone) {
        if (facts->nodes_gone < VV_GONE_MAX) {
            facts->gone[facts->nodes_gone] = (struct vv_gone_node){peer->node, until};
        }
        facts->nodes_gone++;
    }
}

/* Of a region's nodes: the least of those that are heard of, else the greatest. */
static void note_far(const struct vv_peer *peer, bool *lives, struct vv_region_fact *region)
{
    int64_t until = shown_time(peer->flushed_until_ns);
    bool first = !region->was_heard || (!*lives && !peer->is_gone);
    bool closer =
        *lives ? !peer->is_gone && until < region->heard_until_ns : until > region->heard_until_ns;
    if (first || closer) {
        region->heard_until_ns = until;
    }
    region->was_heard = true;
    *lives = *lives || !peer->is_gone;
}

static void note_all(const struct vv_peer *peers, size_t n, struct vv_result_facts *facts)
{
    bool lives[VV_REGIONS_MAX] = {false};
    for (size_t i = 0; i < n; i++) {
        uint8_t region = peers[i].region;
        if (region == 0) {
            note_neighbour(&peers[i], facts);
        } else if (region < facts->n_regions &&
                   facts->regions[region].state >= VV_REGION_READABLE) {
            note_far(&peers[i], &lives[region], &facts->regions[region]);
        }
    }
}

static size_t read_regions(const struct vv_query_context *context,
                           struct vv_region regions_out[VV_REGIONS_MAX])
{
    struct vv_store *store = context->store;
    const struct vv_shared_ops *shared = store->ops->shared;
    size_t n = shared && shared->regions ? shared->regions(store, regions_out) : 0;
    if (n > 0 && context->regions_in_part) {
        vv_regions_note_parts(regions_out, n, context->regions_in_part(context->whole_context));
    }
    return n;
}

static void note_regions(const struct vv_query_context *context, struct vv_result_facts *facts)
{
    struct vv_region regions[VV_REGIONS_MAX];
    facts->n_regions = (uint8_t)read_regions(context, regions);
    for (size_t i = 0; i < facts->n_regions; i++) {
        struct vv_region_fact *fact = &facts->regions[i];
        memcpy(fact->name, regions[i].name, sizeof fact->name);
        fact->state = regions[i].state;
    }
}

void vv_peers_region_name(const struct vv_query_context *context, uint8_t region,
                          char name_out[VV_REGION_NAME_SIZE])
{
    struct vv_region regions[VV_REGIONS_MAX];
    if (region < read_regions(context, regions)) {
        memcpy(name_out, regions[region].name, VV_REGION_NAME_SIZE);
    } else {
        (void)snprintf(name_out, VV_REGION_NAME_SIZE, "%u", region);
    }
}

enum vv_status vv_peers_note(const struct vv_query_context *context, struct vv_result_facts *facts)
{
    struct vv_store *store = context->store;
    struct vv_peer few[PEERS_FEW];
    if (!vv_peers_may_write(context)) {
        return VV_OK;
    }
    note_regions(context, facts);
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
