/* SPDX-License-Identifier: Apache-2.0 */
/* Statements that a Cassandra and the model of one answer in the same way. */
#ifndef VARVE_TEST_SERVERS_CQL_SCENARIOS_H
#define VARVE_TEST_SERVERS_CQL_SCENARIOS_H

#include "cql/session.h"

/* Returns how many failed. */
int run_scenarios(void);
/* By the program: where the Cassandra is. */
const char *scenario_contact_points(void);

#endif
