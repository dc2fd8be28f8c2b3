/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of CSV (RFC 4180): cells between delimiters, in quotes if they hold a delimiter, a
 * newline or a doubled quote. One thread at a time.
 */
#ifndef VV_CLI_CSV_READER_H
#define VV_CLI_CSV_READER_H

#include "base/bytes.h"

#define VV_CSV_CELLS_MAX 4096

struct vv_csv_reader {
    char delimiter;
    /* The record read last. */
    struct vv_str *cells; /* without quotes; borrowed of the bytes given, or of `scratch` */
    size_t n;
    size_t next;         /* where the next record begins */
    uint32_t newlines;   /* lines of the file that it takes */
    const char *problem; /* what is malformed about it; NULL: nothing */
    /* private */
    struct vv_buffer scratch; /* cells with doubled quotes */
};

VV_MUST_CHECK enum vv_status vv_csv_reader_init(struct vv_csv_reader *csv, char delimiter);
void vv_csv_reader_deinit(struct vv_csv_reader *csv);

/* Reads the first record of bytes, which are not empty. VV_DONE: it does not end in them (with
 * `at_end` it always does). VV_NO_MEMORY. A blank line is a record of no cells. */
VV_MUST_CHECK enum vv_status vv_csv_reader_next(struct vv_csv_reader *csv, struct vv_str bytes,
                                                bool at_end);

#endif
