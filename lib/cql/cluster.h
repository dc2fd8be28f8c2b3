/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cluster as the session knows it: hosts, the token map, the local data centre. Belongs to the
 * session's thread; other threads read hosts and map under `lock`, which the session's thread takes
 * only to change them.
 */
#ifndef VVCQL_CLUSTER_H
#define VVCQL_CLUSTER_H

#include "control.h"
#include "host.h"
#include "replicas.h"
#include "settings.h"

#include <pthread.h>

struct vvcql_cluster {
    struct vvcql_loop *loop;
    const struct vvcql_settings *settings;
    struct vvcql_tls_context *tls; /* NULL: none */
    void *context;                 /* of the functions below */
    /* A connection became ready, has room again, or is gone. */
    void (*on_room)(void *context);
    /* Once: a local host is connected (error NULL), or all has been tried in vain. Not the latter
     * when the session is patient. */
    void (*on_opened)(void *context, const struct vvcql_error *error);
    /* Once, after vvcql_cluster_close: no connection is left. */
    void (*on_closed)(void *context);

    pthread_mutex_t lock;
    struct vvcql_host **hosts; /* local ones first; the token map numbers them so */
    uint32_t n_hosts;
    uint32_t n_local;
    struct vvcql_token_map *map;

    char local_datacenter[128]; /* "" until it is known */
    bool is_patient;
    bool is_opened; /* on_opened was called */
    bool is_closing;
    bool is_closed;
    uint32_t turn;          /* where the next request without a token begins */
    uint32_t n_connections; /* of hosts, removed ones too */
    struct vvcql_control control;
};

/* The fields above `lock` are the caller's to set. false: no memory. */
VVCQL_MUST_CHECK bool vvcql_cluster_init(struct vvcql_cluster *cluster);
/* After on_closed, or before vvcql_cluster_start. */
void vvcql_cluster_deinit(struct vvcql_cluster *cluster);
void vvcql_cluster_start(struct vvcql_cluster *cluster);
void vvcql_cluster_close(struct vvcql_cluster *cluster);

/* NULL: there is none. */
struct vvcql_host *vvcql_cluster_find_name(const struct vvcql_cluster *cluster, const char *name);
struct vvcql_host *vvcql_cluster_find_address(const struct vvcql_cluster *cluster,
                                              const struct sockaddr_storage *address);
/* Why no host can be asked: VVCQL_UNREACHABLE with the last errors of some hosts. */
void vvcql_cluster_explain(const struct vvcql_cluster *cluster, struct vvcql_error *error_out);

/* ---- for control.c, apply.c and host.c ---- */

/* Options of any connection of this cluster; the caller fills in context and functions. */
void vvcql_cluster_connection_options(const struct vvcql_cluster *cluster,
                                      const struct vvcql_candidate *candidate,
                                      struct vvcql_connection_options *options_out);
/* apply.c: makes the cluster what was found. `found_at` is where the control connection goes.
 * VVCQL_NO_MEMORY: all is as it was. VVCQL_INVALID: the local data centre isn't there; hosts are
 * taken over nevertheless. */
VVCQL_MUST_CHECK enum vvcql_status vvcql_cluster_apply(struct vvcql_cluster *cluster,
                                                       struct vvcql_topology *topology,
                                                       const struct vvcql_candidate *found_at,
                                                       struct vvcql_error *error);
/* Tells on_opened of a failure, if it was not called yet and the session isn't patient. */
void vvcql_cluster_fail(struct vvcql_cluster *cluster, const struct vvcql_error *error);
void vvcql_cluster_host_ready(struct vvcql_cluster *cluster);
void vvcql_cluster_host_failed(struct vvcql_cluster *cluster, const struct vvcql_host *host);
/* Something of it ended: tells on_closed when nothing is left. */
void vvcql_cluster_check_closed(struct vvcql_cluster *cluster);

/* A deadline that is set at all times can always be moved, without memory: this one never comes. */
#define VVCQL_NEVER (UINT64_MAX - 1)

#endif
