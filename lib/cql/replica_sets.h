/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replica sets: which hosts keep a statement's partition, as one number. What their failure means
 * for one statement it means for all of the set.
 */
#ifndef VVCQL_REPLICA_SETS_H
#define VVCQL_REPLICA_SETS_H

#include "cluster.h"
#include "statement.h"

/* The hosts of the local data centre that keep the token, or all that do where none is local, in
 * whatever order; 0: nobody is known to. Session's thread, or with the cluster's lock. */
uint64_t vvcql_replica_set(const struct vvcql_cluster *cluster, const char *keyspace,
                           int64_t token);
/* The set of a statement; `key` is for use during the call. Session's thread. */
uint64_t vvcql_replica_set_of(const struct vvcql_cluster *cluster,
                              const struct vvcql_statement *statement, struct vvcql_buffer *key);

#endif
