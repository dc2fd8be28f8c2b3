/* SPDX-License-Identifier: Apache-2.0 */
/* What schema a keyspace has. */
#include "store/cassandra/cassandra.h"

#include <stdio.h>

static enum vv_status failed(const struct vvcql_error *from, const char *keyspace,
                             struct vv_error *error)
{
    /* No such keyspace or table. */
    if (from->code == VVCQL_CODE_INVALID) {
        return vv_error_set(error, VV_NOT_FOUND,
                            "keyspace %s has no schema of Varve: run `varve schema --apply`, or "
                            "give what `varve schema` prints to cqlsh",
                            keyspace);
    }
    enum vv_status status = vv_cassandra_status(from, "reading the schema's version", error);
    return status == VV_NO_MEMORY ? status : VV_IO;
}

enum vv_status vv_schema_check(struct vvcql_session *session, const char *keyspace,
                               struct vv_error *error)
{
    char text[160];
    snprintf(text, sizeof text, "SELECT version FROM %s.varve_schema WHERE id = 'schema'",
             keyspace);
    struct vvcql_statement *statement = vvcql_statement_create(text);
    struct vvcql_result *result;
    struct vvcql_error cql_error;
    vvcql_set_idempotent(statement, true);
    if (vvcql_wait(session, statement, &result, &cql_error) != VVCQL_OK) {
        return failed(&cql_error, keyspace, error);
    }
    int32_t version = 0;
    bool known = vvcql_next_row(result) && vvcql_get_int(result, 0, &version);
    vvcql_result_destroy(result);
    if (!known || version < VV_SCHEMA_VERSION) {
        return vv_error_set(error, VV_NOT_FOUND,
                            "keyspace %s has an older schema (version %d of %d): run `varve schema "
                            "--apply`",
                            keyspace, version, VV_SCHEMA_VERSION);
    }
    if (version > VV_SCHEMA_VERSION) {
        return vv_error_set(error, VV_NEWER,
                            "keyspace %s has a schema of a newer Varve (version %d, this one knows "
                            "%d): upgrade Varve",
                            keyspace, version, VV_SCHEMA_VERSION);
    }
    return VV_OK;
}
