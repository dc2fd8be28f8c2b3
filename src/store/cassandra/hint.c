/* SPDX-License-Identifier: Apache-2.0 */
/* Hints by what the CQL client says. */
#include "store/cassandra/hint.h"

#include <string.h>

/* Certificates and passwords: all are VVCQL_REFUSED, and the message says which. */
static const char *hint_of_refusal(const char *message)
{
    static const struct {
        const char *words;
        const char *hint;
    } hints[] = {
        {"has expired", "renew that host's certificate, or set the clock of this machine"},
        {"signed by an authority",
         "cassandra.tls_ca must name a file with the authority that signed the hosts' "
         "certificates"},
        {"is not for that address",
         "put the name that the certificate has into cassandra.contact_points, or make one for "
         "this address"},
        {"client certificate", "cassandra.tls_certificate and cassandra.tls_key must be of a "
                               "client that Cassandra trusts, and not expired"},
        {"refuses the TLS connection",
         "cassandra.tls_certificate and cassandra.tls_key must be of a client that Cassandra "
         "trusts, and not expired"},
        {"password", "set cassandra.user, and cassandra.password_file to a file with its "
                     "password"},
    };
    for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++) {
        if (strstr(message, hints[i].words)) {
            return hints[i].hint;
        }
    }
    return NULL;
}

static const char *hint_of_answer(int32_t code)
{
    switch (code) {
    case VVCQL_CODE_UNAUTHORIZED:
        return "grant cassandra.user SELECT and MODIFY on the keyspace; CREATE and ALTER too for "
               "`varve schema --apply`";
    case VVCQL_CODE_UNAVAILABLE:
        return "too few copies are up: start those hosts, or correct the keyspace's replication";
    case VVCQL_CODE_CONFIG_ERROR:
        return "does cassandra.replication name the data centres that there are?";
    default:
        return NULL;
    }
}

const char *vv_cassandra_hint(const struct vvcql_error *error)
{
    switch (error->status) {
    case VVCQL_INVALID:
        return strstr(error->message, "_file") ? "the files of TLS are cassandra.tls_ca, "
                                                 "cassandra.tls_certificate and cassandra.tls_key"
                                               : NULL;
    case VVCQL_REFUSED:
        return hint_of_refusal(error->message);
    case VVCQL_SERVER:
        return hint_of_answer(error->code);
    case VVCQL_UNREACHABLE:
    case VVCQL_LOST:
        return "does it run, is cassandra.contact_points right, and cassandra.tls too?";
    default:
        return NULL;
    }
}
