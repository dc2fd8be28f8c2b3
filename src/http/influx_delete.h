/* SPDX-License-Identifier: Apache-2.0 */
/* The deletions of InfluxDB 2's API, in the words of our own. Pure; any thread. */
#ifndef VV_HTTP_INFLUX_DELETE_H
#define VV_HTTP_INFLUX_DELETE_H

#include "http/parameters.h"

/*
 * From {"start": …, "stop": …, "predicate": "_measurement=\"m\" AND host=\"a\""} to parameters of a
 * VV_REQUEST_DELETE for the tenant `bucket` (data NULL: the default one), appended to
 * *parameters, which own all but the bucket's text. Without a predicate it is refused: InfluxDB
 * would delete everything. VV_INVALID, VV_NO_MEMORY.
 */
VV_MUST_CHECK enum vv_status vv_influx_delete_parse(struct vv_str bucket, struct vv_str body,
                                                    struct vv_parameters *parameters,
                                                    struct vv_error *error);

#endif
