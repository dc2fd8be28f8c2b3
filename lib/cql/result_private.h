/* SPDX-License-Identifier: Apache-2.0 */
/* What a result is inside; for result.c and result_values.c. */
#ifndef VVCQL_RESULT_PRIVATE_H
#define VVCQL_RESULT_PRIVATE_H

#include "metadata.h"
#include "responses.h"

/* One piece of memory: the struct, its columns, the present row's values, the body. */
struct vvcql_result {
    struct vvcql_prelude prelude;
    struct vvcql_bytes bytes; /* the whole body, prelude included */
    struct vvcql_bytes paging_state;
    char host[VVCQL_HOST_MAX];
    size_t n_columns;
    size_t n_rows;
    size_t rows_taken; /* by vvcql_next_row() */
    bool has_row;
    struct vvcql_reader rows; /* what vvcql_next_row() reads next */
    struct vvcql_reader first_row;
    struct vvcql_column *columns;
    struct vvcql_bytes *values; /* of the present row; data NULL for null */
};

#endif
