/* SPDX-License-Identifier: Apache-2.0 */
/* The scenarios on the Cassandra that VARVE_CASSANDRA names. */
#include "cql_scenarios.h"

#include <stdlib.h>

#define EXIT_SKIPPED 77

const char *scenario_contact_points(void)
{
    return getenv("VARVE_CASSANDRA");
}

int main(void)
{
    const char *servers = scenario_contact_points();
    return servers && servers[0] ? run_scenarios() : EXIT_SKIPPED;
}
