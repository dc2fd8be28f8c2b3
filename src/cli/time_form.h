/* SPDX-License-Identifier: Apache-2.0 */
/* The forms of times in CSV files: RFC 3339, numbers of a unit, or a pattern like strftime's. UTC
 * unless the text has a zone. Pure, any thread. */
#ifndef VV_CLI_TIME_FORM_H
#define VV_CLI_TIME_FORM_H

#include "base/bytes.h"

struct vv_time_form {
    int64_t unit_ns;     /* numbers: of this unit; 0: text */
    const char *pattern; /* text: borrowed; NULL: RFC 3339 */
};

/* "rfc3339", "s", "ms", "us", "ns", or a pattern with at least one '%'. VV_INVALID with a message
 * for another word and for a conversion that is not known. */
VV_MUST_CHECK enum vv_status vv_time_form_parse(const char *text, struct vv_time_form *form_out,
                                                struct vv_error *error);
/* A time in that form. VV_INVALID with a message. */
VV_MUST_CHECK enum vv_status vv_time_form_read(const struct vv_time_form *form, struct vv_str text,
                                               int64_t *time_out, struct vv_error *error);

#endif
