/* SPDX-License-Identifier: Apache-2.0 */
/* A small CSV reader (RFC 4180) over a text in memory. */
#ifndef VV_HTTP_CSV_H
#define VV_HTTP_CSV_H

#include "base/arena.h"

struct vv_csv {
    struct vv_str text;
    size_t at;
    uint64_t line; /* of the row that was read last, from 1 */
    uint64_t next_line;
    struct vv_arena *arena; /* of fields; the caller's */
};

struct vv_csv vv_csv_of(struct vv_str text, struct vv_arena *arena);

/* Reads one row: up to fields_max fields, quotes taken off. Empty lines are skipped. VV_DONE at the
 * end; VV_INVALID for a quote that does not end, text after one, or too many fields; VV_NO_MEMORY.
 * The message names the line. */
VV_MUST_CHECK enum vv_status vv_csv_row(struct vv_csv *csv, struct vv_str *fields_out,
                                        size_t fields_max, size_t *n_out, struct vv_error *error);

#endif
