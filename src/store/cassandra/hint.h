/* SPDX-License-Identifier: Apache-2.0 */
/* What to do about a failure of the CQL client. Any thread. */
#ifndef VV_STORE_CASSANDRA_HINT_H
#define VV_STORE_CASSANDRA_HINT_H

#include "cql/error.h"

/* In the words of the settings, without a full stop; NULL when the message says enough. */
const char *vv_cassandra_hint(const struct vvcql_error *error);

#endif
