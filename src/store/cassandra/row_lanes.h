/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of values of all classes of a tenant, in the order that one table would have: times
 * descend, the metrics of a time ascend as text. What several tables have of the same time and
 * metric is one row, as it would be in one table: for each column the value with the higher CQL
 * timestamp, of the same one the larger bytes. Private to rows_read.c; of one thread.
 */
#ifndef VV_STORE_CASSANDRA_ROW_LANES_H
#define VV_STORE_CASSANDRA_ROW_LANES_H

#include "store/cassandra/answer.h"

/* The columns of a row in which a value may be. */
enum { VV_ROW_FLOAT64, VV_ROW_INT64, VV_ROW_COLUMNS };

struct vv_row_value {
    bool is_set;
    uint64_t bits;
    int64_t us; /* its CQL timestamp */
};

struct vv_value_row {
    int64_t time;         /* ns */
    struct vv_str metric; /* measurement.field; in the page that it came with */
    struct vv_row_value values[VV_ROW_COLUMNS];
};

/* Of a class. */
struct vv_row_lane {
    struct vv_answer_rows rows;
    const struct vvcql_result *counted; /* the page that is in the store's figures */
    struct vv_value_row row;            /* that comes next, if rows.page */
};

struct vv_row_lanes {
    struct vv_row_lane lanes[VV_CASSANDRA_CLASSES_MAX + 1]; /* that have rows */
    uint32_t n;
    struct vv_value_row row; /* that comes next */
};

/* The answer's first pages must be there, and stay until the end. To be ended after a failure, too.
 * VV_CORRUPT: a row that Varve does not write. */
VV_MUST_CHECK enum vv_status vv_row_lanes_begin(struct vv_row_lanes *lanes,
                                                const struct vv_store_answer *answer,
                                                struct vv_error *error);
/* The row that comes next, valid until vv_row_lanes_next(); NULL: there is none. */
const struct vv_value_row *vv_row_lanes_row(const struct vv_row_lanes *lanes);
/* Past that row. */
VV_MUST_CHECK enum vv_status vv_row_lanes_next(struct vv_row_lanes *lanes, struct vv_error *error);
void vv_row_lanes_end(struct vv_row_lanes *lanes);

#endif
