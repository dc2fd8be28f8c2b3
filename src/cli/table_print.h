/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of text as an aligned table. The first rows are kept to find the widths; what follows them
 * is printed as it comes, so that memory is bounded. Main thread only.
 */
#ifndef VV_CLI_TABLE_PRINT_H
#define VV_CLI_TABLE_PRINT_H

#include "base/bytes.h"

#include <stdio.h>

struct vv_table;

struct vv_table_options {
    FILE *file;
    size_t columns;   /* of the terminal: long texts are cut to fit; 0: no limit */
    size_t captioned; /* of the first so many columns, those with one value go into a caption */
    size_t rows_kept; /* rows that widths are found from; 0: 1000 */
};

VV_MUST_CHECK enum vv_status vv_table_create(const struct vv_table_options *options,
                                             const struct vv_str *header, size_t n,
                                             struct vv_table **table_out);
void vv_table_destroy(struct vv_table *table);
/* n as in the header. */
VV_MUST_CHECK enum vv_status vv_table_row(struct vv_table *table, const struct vv_str *cells);
/* Prints what is still kept. */
VV_MUST_CHECK enum vv_status vv_table_end(struct vv_table *table);
uint64_t vv_table_rows(const struct vv_table *table);

/* Prints text in exactly `columns`: cut, the last character an ellipsis, or filled with blanks. */
void vv_table_print_cut(FILE *file, struct vv_str text, size_t columns);

/* A number shown with six significant digits: "74.9359" of "74.93588199999998"; whole numbers as
 * they are. False: it is no number, nothing is written. out holds VV_TABLE_NUMBER_SIZE bytes. */
#define VV_TABLE_NUMBER_SIZE 40
bool vv_table_number(struct vv_str cell, char *out);

#endif
