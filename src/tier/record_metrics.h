/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metrics of a unit's record, and the same record under other numbers: numbers are a node's
 * own, and where nodes share a store each reads what others have built. Pure functions, any thread.
 */
#ifndef VV_TIER_RECORD_METRICS_H
#define VV_TIER_RECORD_METRICS_H

#include "tier/unit.h"

/* Whether the bytes begin as a record of a unit does; blocks do not. */
bool vv_record_is(struct vv_str bytes);
/* Appends the record's metrics, a uint32_t each, in their order: of steps each metric once, of rows
 * one for each column, as of what replaces a day of what is stale; none of members. VV_CORRUPT,
 * VV_NEWER, VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_record_metrics(struct vv_str bytes, struct vv_buffer *out);
/* Appends the record with n other numbers in that order. As vv_record_metrics; VV_CORRUPT, too,
 * where n is not how many it has. */
VV_MUST_CHECK enum vv_status vv_record_renumber(struct vv_str bytes, const uint32_t *metrics,
                                                size_t n, struct vv_buffer *out);

/* So many of a record's first bytes have all but the sketches of its steps; 0: it has none. */
size_t vv_record_head_size(struct vv_str bytes);

#endif
