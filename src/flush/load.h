/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What buckets hold, counted as it is written, so that a source that outgrows its plan is noticed
 * before it hurts. Only those that are written much are counted: a table of fixed size in which
 * busy sources push idle ones out. Storage thread only.
 *
 * Load is counted in rows of a few metrics: VV_SPLIT_LOAD_MAX of them are as much as a partition
 * should hold. Rows of many metrics weigh by their bytes; where each value is stored by itself,
 * values count.
 */
#ifndef VV_FLUSH_LOAD_H
#define VV_FLUSH_LOAD_H

#include "model/partition.h"

struct vv_load;

VV_MUST_CHECK enum vv_status vv_load_create(struct vv_load **load_out);
void vv_load_destroy(struct vv_load *load); /* NULL is allowed */

/* Some rows that were written into one bucket. */
struct vv_load_rows {
    uint32_t source;
    struct vv_bucket bucket;
    int64_t first_ns; /* of the rows */
    int64_t last_ns;
    uint64_t rows;
    uint64_t values;
    uint64_t bytes;      /* encoded */
    uint64_t values_max; /* that a partition should hold; 0: they are not stored by themselves */
};
void vv_load_add(struct vv_load *load, const struct vv_load_rows *rows);

/* A source whose bucket holds, or will hold, more than its plan is for. */
struct vv_load_source {
    uint32_t source;
    int64_t bucket_start;
    uint64_t rows;
    uint64_t load;
    int64_t range_ns; /* in which they came */
};
/* The next one that was noticed since it was asked for last; false: there is none. A source is
 * given again only when it has been counted as much once more. */
bool vv_load_next(struct vv_load *load, struct vv_load_source *source_out);

#endif
