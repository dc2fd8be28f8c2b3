/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers and times as text. Private to src/query. Pure functions, any thread; the process must
 * keep the C locale's decimal point.
 */
#ifndef VV_QUERY_NUMBER_H
#define VV_QUERY_NUMBER_H

#include "query/request.h"

#define VV_NUMBER_TEXT_SIZE 32

/* The shortest text that is read back as the same finite double. Returns its length; out holds
 * VV_NUMBER_TEXT_SIZE bytes, not terminated. */
size_t vv_number_format(double value, char *out);
size_t vv_integer_format(int64_t value, char *out);

/* Writes times as `format` says, remembering the date of the last one; zero-initialise the rest. */
struct vv_time_writer {
    enum vv_time_format format;
    bool has_date;
    int64_t day_start; /* seconds */
    char date[10];     /* yyyy-mm-dd of it */
};

/* RFC 3339 without quotes, as vv_time_format gives it, or an integer (rounded down). Returns the
 * length; out holds VV_TIME_TEXT_SIZE bytes, not terminated. */
size_t vv_time_write(struct vv_time_writer *writer, int64_t time_ns, char *out);

#endif
