/* SPDX-License-Identifier: Apache-2.0 */
/*
 * InfluxDB line protocol, streamed: feed bytes in pieces of any size, lines may be cut anywhere;
 * the outcome is the same.
 *
 * A malformed line is one bad line: it is refused with line number, column and reason, and parsing
 * goes on after the next newline. A newline inside a quoted string belongs to the string; columns
 * then count bytes from the beginning of the line that has the opening quote. A string that is not
 * closed within line_bytes_max, or at the end, costs the line that opens it, not those after it.
 * NaN, infinity and numbers out of range are malformed. One thread at a time.
 */
#ifndef VV_INGEST_LINE_PROTOCOL_H
#define VV_INGEST_LINE_PROTOCOL_H

#include "ingest/staging.h"

struct vv_line_parser;

/* Nanoseconds of a precision word: ns, n, u, us, µ, ms, s, m, h. VV_INVALID lists them. */
VV_MUST_CHECK enum vv_status vv_precision_parse(struct vv_str word, int64_t *unit_ns_out,
                                                struct vv_error *error);

/* unit_ns > 0: nanoseconds of the precision. The staging outlives the parser. */
VV_MUST_CHECK enum vv_status vv_line_parser_create(struct vv_staging *staging, int64_t unit_ns,
                                                   struct vv_line_parser **parser_out);
void vv_line_parser_destroy(struct vv_line_parser *parser);
/* VV_NO_MEMORY: the request fails as a whole. Everything else is in the staging's account. */
VV_MUST_CHECK enum vv_status vv_line_parser_feed(struct vv_line_parser *parser, const char *bytes,
                                                 size_t size);
/* The last line may have no newline. */
VV_MUST_CHECK enum vv_status vv_line_parser_finish(struct vv_line_parser *parser);

#endif
