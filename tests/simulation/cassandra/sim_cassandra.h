/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A model of a Cassandra cluster in memory, for simulations: it takes the place of the sessions of
 * lib/cql in the program that it is linked into, so that the real store runs on replicas that lose
 * writes, answer late or not at all, and whose clocks differ. README.md says what it understands.
 *
 * Seeded: the same seed and the same calls give the same fates. Any thread may call; with one
 * thread only is it reproducible. What it does not understand, and what Cassandra would refuse as
 * written wrong, ends the program with the statement's text.
 */
#ifndef VV_SIMULATION_CASSANDRA_SIM_CASSANDRA_H
#define VV_SIMULATION_CASSANDRA_SIM_CASSANDRA_H

#include "base/clock.h"

struct vv_sim_cassandra;

/* Probabilities in a million; zero: it does not happen. */
struct vv_sim_cassandra_faults {
    uint32_t write_lost;   /* a write does not reach a replica, */
    uint32_t write_late;   /* but of those lost so many come later, in any order */
    uint32_t write_silent; /* a write is answered with a timeout, though it may have gone well */
    uint32_t read_fails;   /* a read is answered with a timeout */
    uint32_t transaction_lost; /* a lightweight transaction times out: nothing was decided, */
    uint32_t transaction_done; /* or it was carried out, */
    uint32_t transaction_open; /* or the next one on its partition decides */
    uint32_t connection_lost;  /* the answer to any request is lost on its way */
    int64_t skew_ns;           /* clocks of hosts differ by up to this from the cluster's */
};

/* Three replicas of everything. `name` is the contact point by which sessions find it, and copied;
 * "name/3" is client 3 of it, "name" client 0. The clock is that of its hosts. */
struct vv_sim_cassandra *vv_sim_cassandra_create(const char *name, uint64_t seed,
                                                 struct vv_clock *clock);
/* All sessions must be closed. */
void vv_sim_cassandra_destroy(struct vv_sim_cassandra *cassandra);

/* NULL: none from now on. */
void vv_sim_cassandra_set_faults(struct vv_sim_cassandra *cassandra,
                                 const struct vv_sim_cassandra_faults *faults);
/* Partitions with tokens in [from, to] have too few replicas until it is said otherwise; none when
 * from > to, as at first. */
void vv_sim_cassandra_set_unavailable(struct vv_sim_cassandra *cassandra, int64_t from, int64_t to);
#define VV_SIM_CASSANDRA_SETS 16
/* Each sixteenth of the tokens is a replica set of its own; those whose bits are set here have too
 * few replicas until it is said otherwise. */
void vv_sim_cassandra_set_away(struct vv_sim_cassandra *cassandra, uint32_t sets);
/* All that is late arrives. */
void vv_sim_cassandra_settle(struct vv_sim_cassandra *cassandra);
/* Requests are carried out when a thread waits for something, in a seeded order and before it is
 * answered; else, as at first, at once. */
void vv_sim_cassandra_set_deferred(struct vv_sim_cassandra *cassandra, bool deferred);
/* There is one thread only: a wait that nothing will end ends the program. */
void vv_sim_cassandra_set_alone(struct vv_sim_cassandra *cassandra, bool alone);

#define VV_SIM_CASSANDRA_CLIENTS 8
/* Nothing goes between the client and the cluster any more, as after a kill -9: of what it has
 * asked for, some is still carried out. Until it joins again. */
void vv_sim_cassandra_cut(struct vv_sim_cassandra *cassandra, uint32_t client);
void vv_sim_cassandra_join(struct vv_sim_cassandra *cassandra, uint32_t client);
bool vv_sim_cassandra_is_cut(struct vv_sim_cassandra *cassandra, uint32_t client);

/* Called before and after each request of a client is carried out, without any lock: it may make
 * other clients work, and cut this one off. */
typedef void (*vv_sim_cassandra_hook)(void *context, uint32_t client);
void vv_sim_cassandra_set_hook(struct vv_sim_cassandra *cassandra, vv_sim_cassandra_hook hook,
                               void *context);

struct vv_sim_cassandra_figures {
    uint64_t requests;
    uint64_t failures;
    uint64_t writes_lost;
    uint64_t hints; /* delivered */
    uint64_t transactions;
    uint64_t transactions_unknown;
    uint64_t cells; /* that are stored now, by all replicas */
};
void vv_sim_cassandra_read_figures(struct vv_sim_cassandra *cassandra,
                                   struct vv_sim_cassandra_figures *figures_out);

#endif
