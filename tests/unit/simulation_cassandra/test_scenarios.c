/* SPDX-License-Identifier: Apache-2.0 */
/* The scenarios of tests/servers on the model: it answers as a real Cassandra does. */
#include "servers/cql_scenarios.h"

#include "simulation/cassandra/sim_cassandra.h"

#include <stdio.h>

const char *scenario_contact_points(void)
{
    return "model";
}

/* At once, and when it is waited for. */
int main(void)
{
    int failures = 0;
    for (int deferred = 0; deferred < 2; deferred++) {
        struct vv_sim_cassandra *model = vv_sim_cassandra_create("model", 1, vv_clock_system());
        vv_sim_cassandra_set_deferred(model, deferred);
        failures += run_scenarios();
        vv_sim_cassandra_destroy(model);
    }
    return failures;
}
