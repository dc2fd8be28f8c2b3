/* SPDX-License-Identifier: Apache-2.0 */
/* The other nodes and regions of a shared store: what an answer says of them. Private to src/query.
 */
#ifndef VV_QUERY_PEERS_H
#define VV_QUERY_PEERS_H

#include "query/query.h"

/* Whether other nodes may have written what this one knows nothing of. */
static inline bool vv_peers_may_write(const struct vv_query_context *context)
{
    return context->store->ops->shared != NULL;
}

/* The name of a region; its number as text where the store has none. */
void vv_peers_region_name(const struct vv_query_context *context, uint8_t region,
                          char name_out[VV_REGION_NAME_SIZE]);

/* Notes up to when the other nodes have flushed, which of them are gone, and what there is of other
 * regions. To be called BEFORE
 * names are looked up or the store is read: what they flush later may be in the answer, what they
 * flushed before must be. VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_peers_note(const struct vv_query_context *context,
                                           struct vv_result_facts *facts);

#endif
