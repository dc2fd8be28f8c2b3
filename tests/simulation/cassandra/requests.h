/* SPDX-License-Identifier: Apache-2.0 */
/* Clients of the clusters, and their requests on the way. Private to this folder; any thread. */
#ifndef VV_SIMULATION_CASSANDRA_REQUESTS_H
#define VV_SIMULATION_CASSANDRA_REQUESTS_H

#include "simulation/cassandra/model.h"

struct cass_client {
    struct vv_sim_cassandra *cassandra; /* NULL: there is none of that name */
    uint32_t number;
    enum vvcql_consistency consistency; /* of statements that don't say it */
    uint32_t retries_max;
};

/* By a contact point, "name" or "name/number". False when nothing answers there now. */
bool cass_client_open(struct cass_client *client, const char *contact_point);
/* Ends what is under way. */
void cass_client_close(struct cass_client *client);
void cass_client_ask(struct cass_client *client, struct vvcql_statement *take_statement,
                     vvcql_done done, void *context);

/* Whether requests wait to be carried out, and whether one thread does everything. */
bool cass_has_requests(void);
bool cass_is_alone(void);
/* Carries one out, of any client. */
void cass_carry_out_any(void);

#endif
