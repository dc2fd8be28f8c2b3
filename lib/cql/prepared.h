/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prepared texts of a session, by their text. Finding and making one: any thread, under a lock. The
 * id and what the answer to PREPARE said belong to the session's thread.
 *
 * Cassandra's ids are hashes of the text and keyspace, so one id serves all hosts; which host knows
 * it is found out by using it: a host that doesn't answers UNPREPARED.
 */
#ifndef VVCQL_PREPARED_H
#define VVCQL_PREPARED_H

#include "responses.h"
#include "statement.h"

#include <pthread.h>

struct vvcql_prepared {
    char *text;
    struct vvcql_prepared *next; /* in its chain */
    pthread_mutex_t *lock;       /* of the texts */
    /* Changed by the session's thread: */
    struct vvcql_buffer id; /* empty until a host prepared it; read by that thread only */
    /* Under the lock; that thread itself reads them without it: */
    size_t n_key_parts;
    uint16_t key_parts[VVCQL_KEY_PARTS_MAX];
    uint32_t n_values;
    char keyspace[64];
};

struct vvcql_prepared_texts {
    pthread_mutex_t lock;
    struct vvcql_prepared **chains;
    size_t n_chains;
    size_t n;
};

VVCQL_MUST_CHECK bool vvcql_prepared_init(struct vvcql_prepared_texts *texts);
void vvcql_prepared_deinit(struct vvcql_prepared_texts *texts);
/* NULL: no memory. */
struct vvcql_prepared *vvcql_prepared_find(struct vvcql_prepared_texts *texts, const char *cql);
/* Keeps what PREPARE answered. false: no memory. Session's thread. */
VVCQL_MUST_CHECK bool vvcql_prepared_keep(struct vvcql_prepared *prepared,
                                          const struct vvcql_prepared_answer *answer);
/* For vvcql_request_statement. */
struct vvcql_bytes vvcql_prepared_id_of(const struct vvcql_prepared *prepared);
/* The statement's partition key as bytes to hash, appended to key; false when the prepared text
 * does not tell it (not prepared yet, no whole key among the values, one of them null). */
bool vvcql_prepared_key(const struct vvcql_prepared *prepared,
                        const struct vvcql_statement *statement, struct vvcql_buffer *key);

#endif
