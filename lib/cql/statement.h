/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statements: text or a prepared text, its values, and how to execute it; or a batch of such.
 *
 * A statement belongs to the thread that builds it, until vvcql_execute() takes it. Building cannot
 * fail visibly: a failed allocation or a wrong use is kept and reported when it is executed.
 */
#ifndef VVCQL_STATEMENT_H
#define VVCQL_STATEMENT_H

#include "types.h"

struct vvcql_statement;
struct vvcql_prepared; /* from vvcql_prepare(), see session.h */

/* A text without values that is not prepared (DDL and the like); copied. NULL: no memory. */
struct vvcql_statement *vvcql_statement_create(const char *cql);
/* A prepared text; its values are added in the order of their markers. NULL: no memory. */
struct vvcql_statement *vvcql_statement_prepared(const struct vvcql_prepared *prepared);
struct vvcql_statement *vvcql_batch_create(enum vvcql_batch_type type);
void vvcql_statement_destroy(struct vvcql_statement *statement); /* NULL is allowed */

/* Adds a statement to a batch; taken, also on failure. The batch goes by the partition of its first
 * statement, and its options count, not those of its parts. Up to 65,535 of them. */
void vvcql_batch_add(struct vvcql_statement *batch, struct vvcql_statement *take_statement);
/* Bytes of all values that were added so far, as they are sent, in parts of a batch too: what
 * Cassandra's batch_size_warn_threshold is about. */
size_t vvcql_statement_size(const struct vvcql_statement *statement);

/* ---- values, in the order of the markers; up to 65,535 of them ---- */

void vvcql_add_null(struct vvcql_statement *statement);
void vvcql_add_unset(struct vvcql_statement *statement); /* leaves the column as it is */
void vvcql_add_boolean(struct vvcql_statement *statement, bool value);
void vvcql_add_tinyint(struct vvcql_statement *statement, int8_t value);
void vvcql_add_smallint(struct vvcql_statement *statement, int16_t value);
void vvcql_add_int(struct vvcql_statement *statement, int32_t value);
void vvcql_add_bigint(struct vvcql_statement *statement, int64_t value);
void vvcql_add_float(struct vvcql_statement *statement, float value);
void vvcql_add_double(struct vvcql_statement *statement, double value); /* every bit is kept */
void vvcql_add_timestamp(struct vvcql_statement *statement, int64_t milliseconds);
void vvcql_add_uuid(struct vvcql_statement *statement, const uint8_t uuid[16]);
void vvcql_add_text(struct vvcql_statement *statement, const char *text);
/* Any value in its serialised form: text with a length, blob, or what section 6 of the
 * specification says of the type. */
void vvcql_add_bytes(struct vvcql_statement *statement, const void *data, size_t size);
/* A list or set: between begin and end, each vvcql_add_… adds an element. Not nested. */
void vvcql_begin_list(struct vvcql_statement *statement);
void vvcql_end_list(struct vvcql_statement *statement);

/* ---- how to execute it; what is not said comes from the session's options ---- */

void vvcql_set_consistency(struct vvcql_statement *statement, enum vvcql_consistency consistency);
/* Of a lightweight transaction: VVCQL_SERIAL or VVCQL_LOCAL_SERIAL. Marks the statement as one:
 * its timeout is unknown, and it is never sent a second time. */
void vvcql_set_serial_consistency(struct vvcql_statement *statement,
                                  enum vvcql_consistency consistency);
/* The CQL timestamp of its writes, in µs since 1970; negative is refused. */
void vvcql_set_timestamp(struct vvcql_statement *statement, int64_t microseconds);
/* Sending it twice does what sending it once does: it may be retried and, as the session's
 * options say, executed speculatively. Off unless it is said. */
void vvcql_set_idempotent(struct vvcql_statement *statement, bool idempotent);
void vvcql_set_timeout(struct vvcql_statement *statement, uint32_t timeout_ms);
/* Rows of a page; 0: all at once. */
void vvcql_set_page_size(struct vvcql_statement *statement, int32_t rows);
/* Goes on after a page: its paging state, copied. */
void vvcql_set_paging_state(struct vvcql_statement *statement, const void *data, size_t size);
/* Ask Cassandra to trace it; the result has the id of the trace. */
void vvcql_set_tracing(struct vvcql_statement *statement, bool tracing);
/* Only this host ("address:port", as counters and errors name it) is asked; copied. */
void vvcql_set_host(struct vvcql_statement *statement, const char *host);

#endif
