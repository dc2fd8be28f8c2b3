/* SPDX-License-Identifier: Apache-2.0 */
/* The few statements of InfluxQL that loaders send before they write. */
#ifndef VV_HTTP_INFLUXQL_H
#define VV_HTTP_INFLUXQL_H

#include "base/bytes.h"

#define VV_INFLUXQL_NAME_MAX 128

enum vv_influxql_verb { VV_INFLUXQL_CREATE_DATABASE, VV_INFLUXQL_SHOW_DATABASES };

struct vv_influxql_statement {
    enum vv_influxql_verb verb;
    char name[VV_INFLUXQL_NAME_MAX + 1];
    size_t name_size;
    bool has_duration;   /* WITH DURATION was given */
    int64_t duration_ns; /* 0: for ever */
};

/* Takes the next statement off *rest. VV_DONE when there is none; VV_INVALID with a message, also
 * for a statement that is not one of these. */
VV_MUST_CHECK enum vv_status vv_influxql_next(struct vv_str *rest,
                                              struct vv_influxql_statement *statement_out,
                                              struct vv_error *error);

#endif
