/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From records of CSV to line protocol: which column is the time, which are tags, which are fields.
 * One for each file. One thread at a time.
 *
 * Columns are named by the header, or by their number from 1. A column that nothing was said about
 * is a field if its first value is a number or true or false, and else is left out. Empty cells,
 * and NaN, NA, N/A and null, are no value.
 */
#ifndef VV_CLI_CSV_LINES_H
#define VV_CLI_CSV_LINES_H

#include "cli/arguments.h"
#include "cli/csv_reader.h"
#include "cli/time_form.h"

struct vv_csv_lines;

/* Reads the options of `varve load`; `measurement` when --measurement was not given. Arguments are
 * borrowed until destroy. VV_INVALID with a message for a wrong option. */
VV_MUST_CHECK enum vv_status vv_csv_lines_create(const struct vv_arguments *arguments,
                                                 const char *measurement,
                                                 struct vv_csv_lines **lines_out,
                                                 struct vv_error *error);
void vv_csv_lines_destroy(struct vv_csv_lines *lines);

/* Takes the file's first record: names columns by it, or by numbers. *is_header_out: it holds no
 * data. VV_INVALID when a column that an option names is not there, or none is left for fields. */
VV_MUST_CHECK enum vv_status vv_csv_lines_begin(struct vv_csv_lines *lines,
                                                const struct vv_csv_reader *csv,
                                                bool *is_header_out, struct vv_error *error);

struct vv_csv_line {
    size_t series_size; /* measurement and tags, at the beginning of the line */
    uint32_t fields;    /* 0: nothing was appended */
    /* A cell that is refused; column 0: the whole record. */
    uint32_t refused; /* how many points */
    uint32_t column;  /* of the first, from 1 */
    struct vv_error problem;
    bool timeless; /* it has no time */
};

/* Appends the line of a record, without newline and with the time in ns. What is wrong with it is
 * in line_out. VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_csv_lines_append(struct vv_csv_lines *lines,
                                                 const struct vv_csv_reader *csv,
                                                 struct vv_buffer *buffer,
                                                 struct vv_csv_line *line_out);

/* The name of the next column that was found to hold text and is left out; NULL. For a note. */
const char *vv_csv_lines_left_out(struct vv_csv_lines *lines);

#endif
