/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stream ids of one connection: which are free. An id whose request was given up (timed out) stays
 * an orphan until its answer comes, late as it may be: given out before, that answer would be taken
 * for another request's. Belongs to one thread.
 */
#ifndef VVCQL_STREAM_IDS_H
#define VVCQL_STREAM_IDS_H

#include "types.h"

#define VVCQL_STREAMS_MAX 32768

struct vvcql_stream_ids {
    uint64_t *used_; /* bitmap */
    void **owners_;  /* by id; NULL while free or an orphan */
    size_t capacity; /* ids 0 … capacity-1 */
    size_t in_use;   /* orphans included */
    size_t orphans;
    size_t next_word_; /* where to look first */
};

/* false: no memory. capacity 1 … VVCQL_STREAMS_MAX. */
bool vvcql_stream_ids_init(struct vvcql_stream_ids *ids, size_t capacity);
void vvcql_stream_ids_deinit(struct vvcql_stream_ids *ids);
/* A free id for an owner (not NULL), -1 when none is free. */
int vvcql_stream_ids_take(struct vvcql_stream_ids *ids, void *owner);
/* An answer came: frees the id and gives its owner; NULL for an orphan. *known_out is false when
 * the id was not in use: the server broke the protocol. */
void *vvcql_stream_ids_answer(struct vvcql_stream_ids *ids, int id, bool *known_out);
/* The owner gives up; the id becomes an orphan. */
void vvcql_stream_ids_abandon(struct vvcql_stream_ids *ids, int id);
/* Any id that has an owner, for ending them all; -1 when there is none. */
int vvcql_stream_ids_any(const struct vvcql_stream_ids *ids, void **owner_out);

#endif
