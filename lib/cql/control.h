/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control connection: one connection to one host at a time, by which the cluster's hosts and
 * keyspaces are read, first of all and again after events. When it is lost it moves to another
 * host: those that are known, then the contact points, whose names are looked up anew. When all
 * fail, it tries again after a growing wait. Belongs to the session's thread.
 */
#ifndef VVCQL_CONTROL_H
#define VVCQL_CONTROL_H

#include "connection.h"
#include "contacts.h"
#include "topology.h"

struct vvcql_cluster; /* cluster.h */
struct vvcql_control;

#define VVCQL_CONTROL_QUERIES 3

struct vvcql_control_query {
    struct vvcql_call call;
    struct vvcql_control *control;
    const char *cql;
    struct vvcql_result *result;
    bool is_awaited;
};

/* Where the control connection may go. */
struct vvcql_candidate {
    struct sockaddr_storage address;
    const char *name; /* the contact point's; NULL: none */
};

struct vvcql_control {
    struct vvcql_cluster *cluster;
    /* One round over all candidates: */
    struct vvcql_candidate *candidates;
    size_t n_candidates;
    size_t candidates_capacity;
    size_t at;         /* the next candidate */
    size_t at_contact; /* the next contact point */
    uint32_t rounds_failed;
    struct vvcql_error round_error; /* the first refusal, else the last failure of the round */
    struct vvcql_error error;       /* how the last round ended; status VVCQL_OK: well */
    struct vvcql_deadline retry;    /* always set, as a host's */
    uv_getaddrinfo_t lookup;
    bool is_looking_up;
    /* The connection: */
    struct vvcql_candidate present;
    struct vvcql_connection *connection; /* NULL: none */
    bool is_established;                 /* the hosts were read by it */
    /* Reading: */
    struct vvcql_control_query queries[VVCQL_CONTROL_QUERIES]; /* local, peers, keyspaces */
    bool is_reading;
    bool read_again; /* something changed meanwhile */
    bool settle;     /* once more in a while: rows of a joining host come after its event */
    struct vvcql_deadline refresh; /* of the next reading, or of the present one; always set */
};

VVCQL_MUST_CHECK bool vvcql_control_init(struct vvcql_control *control,
                                         struct vvcql_cluster *cluster);
void vvcql_control_deinit(struct vvcql_control *control);
/* Begins with the first round. */
void vvcql_control_start(struct vvcql_control *control);
/* Closes the connection; nothing is begun any more. */
void vvcql_control_close(struct vvcql_control *control);
/* Nothing of it is under way. */
bool vvcql_control_is_idle(const struct vvcql_control *control);

#endif
