/* SPDX-License-Identifier: Apache-2.0 */
/* A keyspace of Varve on a model of Cassandra, made as `varve schema --apply` makes it. */
#ifndef TESTS_SUPPORT_KEYSPACE_H
#define TESTS_SUPPORT_KEYSPACE_H

#include "cql/session.h"
#include "store/cassandra/schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static inline void make_keyspace(const char *contact_points, const char *keyspace,
                                 const char *datacenter, const int64_t *classes_ns,
                                 size_t n_classes)
{
    const struct vvcql_options cql = {.contact_points = contact_points};
    const struct vv_schema_replicas replicas = {vv_str_of(datacenter), 3};
    const struct vv_schema_options options = {.keyspace = keyspace,
                                              .replication = &replicas,
                                              .n_replication = 1,
                                              .classes_ns = classes_ns,
                                              .n_classes = n_classes,
                                              .run_life_ns = 2 * VV_DAY};
    struct vvcql_session *session;
    struct vv_schema_report report;
    struct vv_error error = {0};
    assert_int_equal(vvcql_session_open(&cql, false, &session, NULL), VVCQL_OK);
    if (vv_schema_apply(session, &options, NULL, NULL, &report, &error) != VV_OK) {
        fail_msg("the schema can't be made: %s", error.message);
    }
    assert_int_equal(report.n, 0);
    vv_schema_report_deinit(&report);
    vvcql_session_close(session);
}

#endif
