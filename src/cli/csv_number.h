/* SPDX-License-Identifier: Apache-2.0 */
/* Values in cells of CSV. Pure, any thread. */
#ifndef VV_CLI_CSV_NUMBER_H
#define VV_CLI_CSV_NUMBER_H

#include "base/bytes.h"

enum vv_csv_number_kind {
    VV_CSV_VALUE,   /* a number, true or false */
    VV_CSV_MISSING, /* empty, NaN, NA, N/A, null */
    VV_CSV_TEXT,    /* anything else */
};

#define VV_CSV_NUMBER_SIZE 64 /* longer texts are no numbers */

/* Writes the value as line protocol has it to out, which holds VV_CSV_NUMBER_SIZE bytes. */
enum vv_csv_number_kind vv_csv_number(struct vv_str cell, bool whole, char *out);

#endif
