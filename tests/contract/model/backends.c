/* SPDX-License-Identifier: Apache-2.0 */
/* The store on the model of Cassandra (tests/simulation/cassandra): runs anywhere, without faults
 * but those that a case asks for. */
#include "contract/cassandra_open.h"

#include "simulation/cassandra/sim_cassandra.h"

#define NAME "model"

static struct vv_sim_cassandra *model;

const char *contract_contact_points(void)
{
    return NAME;
}

static void make_schema(void)
{
    const struct vvcql_options cql = {.contact_points = NAME};
    const struct vv_schema_replicas replicas = {VV_STR_LITERAL("dc1"), 3};
    const struct vv_schema_options options = {.keyspace = "varve",
                                              .replication = &replicas,
                                              .n_replication = 1,
                                              .classes_ns = contract_classes,
                                              .n_classes = CONTRACT_CLASSES,
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

static enum vv_status open_model(const struct vv_store_options *options,
                                 struct vv_store **store_out, struct vv_error *error)
{
    if (!model) {
        model = vv_sim_cassandra_create(NAME, 1, vv_clock_system());
        make_schema();
    }
    return contract_open_cassandra(options, store_out, error);
}

static void crash(struct contract *contract, uint64_t seed)
{
    (void)seed;
    contract_close(contract);
    contract_open(contract);
}

/* Deferred, so that a request fails when it is waited for, as with servers that hang. */
static void break_writes(struct contract *contract)
{
    (void)contract;
    vv_sim_cassandra_set_deferred(model, true);
    vv_sim_cassandra_cut(model, 0);
}

static void heal_writes(struct contract *contract)
{
    (void)contract;
    vv_sim_cassandra_join(model, 0);
    vv_sim_cassandra_set_deferred(model, false);
}

static void forget(void)
{
    contract_forget_names();
    if (model) {
        vv_sim_cassandra_destroy(model);
        model = NULL;
    }
}

static const struct backend backend = {
    .name = "model",
    .abilities = KEEPS_ROWS,
    .open = open_model,
    .crash = crash,
    .break_writes = break_writes,
    .heal_writes = heal_writes,
    .forget = forget,
};

const struct backend *const backends[] = {&backend};
const size_t n_backends = 1;
