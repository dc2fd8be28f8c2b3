/* SPDX-License-Identifier: Apache-2.0 */
/* What a level takes of what the store has in a window. Private to src/query, for tier_level.c. */
#ifndef VV_QUERY_TIER_TAKE_H
#define VV_QUERY_TIER_TAKE_H

#include "query/tier_level.h"

#define VV_TIER_BUCKETS_MAX 64 /* of a window */

struct vv_tier_taking {
    struct vv_tier_level *level;
    const struct vv_tier_series *series;
    struct vv_result_facts *facts;
    uint32_t last;      /* the record that was taken last … */
    bool last_left_out; /* … or one was left out since, with all its parts */
    uint64_t buckets;   /* bits: those of the window that have something */
    uint32_t first;     /* part of the record that has steps: behind that of its members */
    uint64_t volumes;   /* bits: those of which a volume was taken, which has all of them */
    struct vv_error *error;
};

/* A record, or what says that one is to be built again. As vv_piece_visit. */
enum vv_status vv_tier_take_piece(void *context, const struct vv_piece *piece);
/* A part of a volume (tier/unit.h), when all runs of the window were taken: none where something of
 * the bucket is to be built again, or was deleted. Likewise. */
enum vv_status vv_tier_take_volume(void *context, const struct vv_piece *piece);
/* Whether of volumes the parts of one metric are to be read (vv_store_read.part_to), as no other is
 * asked for and its number fits; then that returns VV_DONE when the rest of a bucket is not wanted.
 */
bool vv_tier_take_is_of_one_metric(const struct vv_tier_taking *taking);
/* Counts the buckets that had something, each once, also where windows that are less than one
 * follow each other. */
void vv_tier_take_count(const struct vv_tier_taking *taking, bool descending);

#endif
