/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of requests share: one cluster, one site, statements that are kept by a chosen node.
 */
#ifndef VARVE_TEST_CQL_EXECUTION_FIXTURE_H
#define VARVE_TEST_CQL_EXECUTION_FIXTURE_H

#include "site_fixture.h"

#include "cql/token.h"

#define INSERT1 "INSERT INTO ks1.t (a) VALUES (?)"
#define INSERT2 "INSERT INTO ks2.t (a) VALUES (?)"
#define DELETE1 "DELETE FROM ks1.t WHERE a = ?"
#define SELECT1 "SELECT a FROM ks1.t WHERE a = ?"

static struct fake_cluster fakes;
static struct site site;

static inline void open_site(int n_nodes)
{
    memset(&fakes, 0, sizeof fakes);
    fake_cluster_start(&fakes, n_nodes);
    site_init(&site, &fakes);
}

static inline void opened_site(int n_nodes)
{
    open_site(n_nodes);
    site_open(&site, (uint64_t)n_nodes);
}

static inline void close_site(void)
{
    site_close(&site);
    fake_cluster_stop(&fakes);
}

/* Who keeps the key in ks1, by the ring as it is described in fake_cluster.h. */
static inline int owner_of(int32_t key)
{
    uint8_t bytes[4] = {(uint8_t)(key >> 24), (uint8_t)(key >> 16), (uint8_t)(key >> 8),
                        (uint8_t)key};
    int64_t token = vvcql_token(bytes, sizeof bytes);
    int owner = 0;
    while (owner < fakes.n_nodes && fake_token(owner) < token) {
        owner++;
    }
    return owner % fakes.n_nodes;
}

static inline int32_t key_of(int owner)
{
    int32_t key = 0;
    while (owner_of(key) != owner) {
        key++;
    }
    return key;
}

static inline struct vvcql_statement *insert_at(int owner)
{
    return site_statement(&site, INSERT1, key_of(owner));
}

static inline struct vvcql_statement *idempotent(struct vvcql_statement *statement)
{
    vvcql_set_idempotent(statement, true);
    return statement;
}

static inline struct vvcql_statement *conditional(struct vvcql_statement *statement)
{
    vvcql_set_idempotent(statement, true); /* counts for nothing */
    vvcql_set_serial_consistency(statement, VVCQL_LOCAL_SERIAL);
    return statement;
}

/* All nodes know the text, and the session its partition key. */
static inline void prepare_everywhere(const char *cql)
{
    char name[64];
    for (int i = 0; i < fakes.n_nodes; i++) {
        struct outcome outcome = {0};
        struct vvcql_statement *statement = site_statement(&site, cql, 1);
        fake_node_name(&fakes.nodes[i], name);
        vvcql_set_host(statement, name);
        site_do(&site, statement, &outcome);
        assert_answered_by(&outcome, &fakes.nodes[i]);
    }
}

static inline struct vvcql_deadline *deadline_of(const struct outcome *outcome)
{
    return &((struct vvcql_execution *)outcome->submission)->deadline;
}

static inline struct vvcql_deadline *speculation_of(const struct outcome *outcome)
{
    return &((struct vvcql_execution *)outcome->submission)->speculative;
}

#endif
