/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies of requests (section 4.1 of the specification). Each is appended to `out`; a failure is
 * kept in out->failed.
 */
#ifndef VVCQL_REQUESTS_H
#define VVCQL_REQUESTS_H

#include "statement_private.h"

/* compression: "lz4" or NULL. `driver_name` and `driver_version` show in system_views.clients. */
void vvcql_request_startup(struct vvcql_buffer *out, const char *compression,
                           const char *driver_name, const char *driver_version);
void vvcql_request_register(struct vvcql_buffer *out); /* topology, status and schema changes */
void vvcql_request_auth_plain(struct vvcql_buffer *out, const char *user, const char *password);
void vvcql_request_prepare(struct vvcql_buffer *out, const char *cql);

/* What the session says where the statement doesn't. */
struct vvcql_request_defaults {
    enum vvcql_consistency consistency;
};

/* The id under which a host knows a prepared text; data NULL when it isn't known, which fails the
 * request. */
typedef struct vvcql_bytes (*vvcql_prepared_id)(const struct vvcql_prepared *prepared);

/* QUERY, EXECUTE or BATCH, by the statement's kind; returns the opcode. Names of values are not
 * sent, metadata of rows is always asked for (in v4 a host can't tell when a kept one is out of
 * date). */
uint8_t vvcql_request_statement(struct vvcql_buffer *out, const struct vvcql_statement *statement,
                                const struct vvcql_request_defaults *defaults,
                                vvcql_prepared_id id_of);

#endif
