/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Points in JSON, streamed: an array of
 *   {"measurement": "pump", "tags": {"site": "a"}, "time": 1385932500000000000 | "2013-12-02T…Z",
 *    "fields": {"temperature": 73.9, "starts": 12, "running": true}}
 * or {"points": […]} around it, or such objects one after another (JSON lines). `time` absent or
 * null: now; integers are in the request's precision. Numbers without fraction and exponent are
 * int64, exactly; others float64. Tag values are strings. A field that is null is no value, a tag
 * that is null is absent.
 *
 * Points are cut out one at a time, so memory is bounded by the largest one
 * (options.line_bytes_max, brackets 32 deep). A point that cannot be read is one bad point,
 * reported with its index; what is wrong around the points (a comma that is missing, something else
 * than points) is reported once and ends the reading. One thread at a time.
 */
#ifndef VV_INGEST_JSON_POINTS_H
#define VV_INGEST_JSON_POINTS_H

#include "ingest/staging.h"

struct vv_json_parser;

/* unit_ns > 0: nanoseconds of the precision. The staging outlives the parser. */
VV_MUST_CHECK enum vv_status vv_json_parser_create(struct vv_staging *staging, int64_t unit_ns,
                                                   struct vv_json_parser **parser_out);
void vv_json_parser_destroy(struct vv_json_parser *parser);
/* VV_NO_MEMORY: the request fails as a whole. Everything else is in the staging's account. */
VV_MUST_CHECK enum vv_status vv_json_parser_feed(struct vv_json_parser *parser, const char *bytes,
                                                 size_t size);
/* Reports what is missing at the end. */
VV_MUST_CHECK enum vv_status vv_json_parser_finish(struct vv_json_parser *parser);

#endif
