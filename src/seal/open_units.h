/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open units that were marked a while ago, so that not each flush marks them again. Of bounded
 * size: a series that has lost its place is marked again, which does no harm. One thread.
 */
#ifndef VV_SEAL_OPEN_UNITS_H
#define VV_SEAL_OPEN_UNITS_H

#include "model/partition.h"

struct vv_open_units;

VV_MUST_CHECK enum vv_status vv_open_units_create(struct vv_open_units **units_out);
void vv_open_units_destroy(struct vv_open_units *units); /* NULL is allowed */

/* Whether the unit that begins with the span and ends at `to` was noted less than an hour before
 * `now_ns`, by any clock; notes it if not. NULL: never. */
bool vv_open_units_has(struct vv_open_units *units, const struct vv_span_key *key, int64_t to,
                       int64_t now_ns);
/* What was noted may not have been marked. */
void vv_open_units_clear(struct vv_open_units *units);

#endif
