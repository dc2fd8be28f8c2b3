/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of a range the head has something of: records of tiers don't count there, as they were made
 * without it. Private to src/query. One thread at a time.
 */
#ifndef VV_QUERY_TIER_HEAD_H
#define VV_QUERY_TIER_HEAD_H

#include "query/query.h"
#include "query/window.h"
#include "tier/unit.h"

struct vv_tier_head_look {
    const uint32_t *sources; /* n_sources ≥ 1 */
    size_t n_sources;
    const struct vv_metric_info *metric;
    struct vv_window range;
    size_t memory_max; /* for times: beyond, all from the first to the last one counts */
};

/* The minutes of which any of the sources has something, ascending; or fewer stretches that hold
 * them. To be freed. VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_tier_head_look(struct vv_head *head,
                                               const struct vv_tier_head_look *look,
                                               struct vv_unit **units_out, size_t *n_out);

#endif
