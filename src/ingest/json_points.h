/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Points in JSON, streamed: one object or an array of
 *   {"measurement": "pump", "tags": {"site": "a"}, "time": 1385932500000000000 | "2013-12-02T…Z",
 *    "fields": {"temperature": 73.9, "starts": 12, "running": true}}
 * (`time` absent: now; integers are in the request's precision). Numbers without fraction and
 * exponent are int64, exactly; others float64. Top-level elements are cut out one at a time, so
 * memory is bounded by the largest point. One thread at a time.
 */
#ifndef VV_INGEST_JSON_POINTS_H
#define VV_INGEST_JSON_POINTS_H

#include "ingest/staging.h"

struct vv_json_parser;

VV_MUST_CHECK enum vv_status vv_json_parser_create(struct vv_staging *staging, int64_t unit_ns,
                                                   struct vv_json_parser **parser_out);
void vv_json_parser_destroy(struct vv_json_parser *parser);
VV_MUST_CHECK enum vv_status vv_json_parser_feed(struct vv_json_parser *parser, const char *bytes,
                                                 size_t size);
VV_MUST_CHECK enum vv_status vv_json_parser_finish(struct vv_json_parser *parser);

#endif
