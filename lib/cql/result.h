/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Cassandra answered: rows to walk through once, or nothing. A result owns its bytes; values
 * are borrowed from it. It may be handed from thread to thread, one at a time.
 */
#ifndef VVCQL_RESULT_H
#define VVCQL_RESULT_H

#include "error.h"

struct vvcql_result;

void vvcql_result_destroy(struct vvcql_result *result); /* NULL is allowed */

size_t vvcql_result_rows(const struct vvcql_result *result);
size_t vvcql_result_columns(const struct vvcql_result *result);
/* The column's name and type; index below vvcql_result_columns(). */
struct vvcql_bytes vvcql_column_name(const struct vvcql_result *result, size_t column);
enum vvcql_type vvcql_column_type(const struct vvcql_result *result, size_t column);
/* Bytes of the answer, uncompressed. */
size_t vvcql_result_size(const struct vvcql_result *result);

/* More pages follow: execute the statement again with this state. Size 0 when it was the last. */
struct vvcql_bytes vvcql_result_paging_state(const struct vvcql_result *result);
/* Cassandra's warnings ("Batch … is of size …"); index below their number. */
size_t vvcql_result_warnings(const struct vvcql_result *result);
struct vvcql_bytes vvcql_result_warning(const struct vvcql_result *result, size_t index);
/* False when the request was not traced. */
bool vvcql_result_tracing_id(const struct vvcql_result *result, uint8_t uuid_out[16]);
/* "address:port" of the host that answered. */
const char *vvcql_result_host(const struct vvcql_result *result);

/* To the next row, the first one at first; false at the end. All rows were checked when the result
 * was made. */
bool vvcql_next_row(struct vvcql_result *result);
/* Before the first row again. */
void vvcql_rewind(struct vvcql_result *result);

/* ---- values of the present row. False, and nothing written, when the value is null, or its size
 * is not that of the type asked for, or there is no such column. ---- */

bool vvcql_is_null(const struct vvcql_result *result, size_t column);
bool vvcql_get_boolean(const struct vvcql_result *result, size_t column, bool *value_out);
bool vvcql_get_tinyint(const struct vvcql_result *result, size_t column, int8_t *value_out);
bool vvcql_get_smallint(const struct vvcql_result *result, size_t column, int16_t *value_out);
bool vvcql_get_int(const struct vvcql_result *result, size_t column, int32_t *value_out);
/* Also timestamps (ms), counters and times of day (ns). */
bool vvcql_get_bigint(const struct vvcql_result *result, size_t column, int64_t *value_out);
bool vvcql_get_float(const struct vvcql_result *result, size_t column, float *value_out);
bool vvcql_get_double(const struct vvcql_result *result, size_t column, double *value_out);
bool vvcql_get_uuid(const struct vvcql_result *result, size_t column, uint8_t uuid_out[16]);
/* The serialised bytes of any type: text, blob, inet and what has no function of its own. */
bool vvcql_get_bytes(const struct vvcql_result *result, size_t column,
                     struct vvcql_bytes *value_out);

/* Elements of a list, a set, or a map (keys and values in turn). */
struct vvcql_elements {
    struct vvcql_bytes rest_; /* private */
    uint32_t left;            /* elements that were not taken yet */
};
bool vvcql_get_elements(const struct vvcql_result *result, size_t column,
                        struct vvcql_elements *elements_out);
/* False at the end, or when the bytes are not a collection. A null element has data NULL. */
bool vvcql_next_element(struct vvcql_elements *elements, struct vvcql_bytes *element_out);

#endif
