/* SPDX-License-Identifier: Apache-2.0 */
/* Private to csv_lines.c and csv_columns.c: the columns of a CSV file and what each is. */
#ifndef VV_CLI_CSV_COLUMNS_H
#define VV_CLI_CSV_COLUMNS_H

#include "cli/csv_lines.h"

#define VV_CSV_SHOWN_MAX 48 /* of a cell in a message */

enum vv_csv_role {
    VV_CSV_UNDECIDED, /* a field if its first value is one */
    VV_CSV_LEFT_OUT,
    VV_CSV_TIME,
    VV_CSV_TAG,
    VV_CSV_FLOAT,
    VV_CSV_INT,
};

struct vv_csv_column {
    char *name;        /* as options know it */
    struct vv_str key; /* of the tag or field, escaped, with '=' at the end */
    enum vv_csv_role role;
    bool named;     /* an option spoke of it */
    bool announced; /* that it is left out */
};

struct vv_csv_lines {
    const struct vv_arguments *arguments;
    struct vv_time_form time_form;
    struct vv_buffer prefix; /* measurement and tags of every row, escaped */
    struct vv_csv_column *columns;
    size_t n;
    size_t time; /* index of the time's column */
};

/* Names the columns by the first record and gives them their roles. */
VV_MUST_CHECK enum vv_status vv_csv_columns_read(struct vv_csv_lines *lines,
                                                 const struct vv_csv_reader *csv, bool is_header,
                                                 struct vv_error *error);
void vv_csv_columns_clear(struct vv_csv_lines *lines);
/* Whether a first record looks like names: it has no numbers in it, while data always has some. */
bool vv_csv_columns_are_names(const struct vv_csv_reader *csv);

/* Appends text with a backslash before each of the special bytes. */
void vv_csv_escape(struct vv_buffer *buffer, struct vv_str text, const char *special);
/* Names cannot hold control characters, nor end in a backslash, which would escape what follows. */
bool vv_csv_is_name(struct vv_str text);
/* Without spaces and tabs around it. */
struct vv_str vv_csv_trim(struct vv_str text);

#endif
