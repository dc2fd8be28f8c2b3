/* SPDX-License-Identifier: Apache-2.0 */
/* The store on the model of Cassandra (tests/simulation/cassandra): runs anywhere, without faults
 * but those that a case asks for. */
#include "contract/cassandra_open.h"

#include "simulation/cassandra/sim_cassandra.h"
#include "support/keyspace.h"

#define NAME "model"

static struct vv_sim_cassandra *model;

const char *contract_contact_points(void)
{
    return NAME;
}

static enum vv_status open_model(const struct vv_store_options *options,
                                 struct vv_store **store_out, struct vv_error *error)
{
    if (!model) {
        model = vv_sim_cassandra_create(NAME, 1, vv_clock_system());
        make_keyspace(NAME, "varve", "dc1", contract_classes, CONTRACT_CLASSES);
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
