/* SPDX-License-Identifier: Apache-2.0 */
/* What the CQL client reports, in Varve's words. */
#include "store/cassandra/cassandra.h"

static enum vv_status status_of(const struct vvcql_error *from)
{
    switch (from->status) {
    case VVCQL_OK:
        return VV_OK;
    case VVCQL_NO_MEMORY:
        return VV_NO_MEMORY;
    case VVCQL_INVALID:
        return VV_INVALID;
    default:
        return VV_IO;
    }
}

enum vv_status vv_cassandra_status(const struct vvcql_error *from, const char *doing,
                                   struct vv_error *error)
{
    const char *at = from->host[0] ? " at " : "";
    if (from->code >= 0) {
        return vv_error_set(error, status_of(from), "Cassandra%s%s failed %s (%s): %s", at,
                            from->host, doing, vvcql_code_name(from->code), from->message);
    }
    return vv_error_set(error, status_of(from), "%s on Cassandra%s%s failed: %s", doing, at,
                        from->host, from->message);
}
