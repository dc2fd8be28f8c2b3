/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of blocks of all classes of a tenant, and of both tables of a class that is purged by
 * copying, in the order that one table would have: spans ascend, the seals of a span descend,
 * whichever table each is in. Of the same seal parts ascend, and one that is in both tables of a
 * class, since it was copied, is given once; all of one class comes before that of the next.
 * Private to read.c; of one thread.
 */
#ifndef VV_STORE_CASSANDRA_BLOCK_LANES_H
#define VV_STORE_CASSANDRA_BLOCK_LANES_H

#include "store/cassandra/answer.h"

/* Of a table. */
struct vv_block_lane {
    struct vv_answer_rows rows;
    uint32_t class;  /* of the tenant's: whose table it is */
    int64_t span_ms; /* of the row that comes next */
    int64_t seal;
    int64_t part;
};

struct vv_block_lanes {
    struct vv_block_lane lanes[2 * (VV_CASSANDRA_CLASSES_MAX + 1)];
    uint32_t n;
    int64_t since_ns;            /* monotonic: the first page was asked for */
    struct vv_block_lane *first; /* whose row comes next; NULL: none has one */
};

/* From a span on. `has_pages`: the answer's first pages are used, which it must keep until the end;
 * else they are asked for. To be ended after a failure, too. */
VV_MUST_CHECK enum vv_status vv_block_lanes_begin(struct vv_block_lanes *lanes,
                                                  const struct vv_store_answer *answer,
                                                  int64_t from_ms, bool has_pages,
                                                  struct vv_error *error);
/* The row that comes next, valid until vv_block_lanes_next(); NULL: there is none. */
struct vvcql_result *vv_block_lanes_row(const struct vv_block_lanes *lanes);
/* Past that row. */
VV_MUST_CHECK enum vv_status vv_block_lanes_next(struct vv_block_lanes *lanes,
                                                 struct vv_error *error);
void vv_block_lanes_end(struct vv_block_lanes *lanes);

#endif
