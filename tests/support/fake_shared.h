/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A memory store that several nodes seem to share: the others are what the test says, and what
 * they wrote is what the test puts in. It notes the runs that were put, the beats, and in which
 * order peers were asked for and the store was read.
 *
 * Calls that the test does not steer succeed and do nothing: nothing is told, all spans are this
 * node's to seal. Any thread may call what store.h lets any thread call.
 */
#ifndef TESTS_SUPPORT_FAKE_SHARED_H
#define TESTS_SUPPORT_FAKE_SHARED_H

#include "store/store.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define FAKE_SHARED_PEERS 64
#define FAKE_SHARED_RUNS  256
#define FAKE_SHARED_BEATS 256

struct fake_shared {
    struct vv_store_ops ops; /* first: of the store, so that a call finds its fake */
    struct vv_shared_ops shared;
    const struct vv_store_ops *inner;
    struct vv_store *store;
    pthread_mutex_t lock; /* of all below */
    uint32_t node;
    struct vv_peer peers[FAKE_SHARED_PEERS]; /* ascending */
    size_t n_peers;
    vv_stamp runs[FAKE_SHARED_RUNS]; /* of the pieces that were put, each stamp once */
    size_t n_runs;
    int64_t beats[FAKE_SHARED_BEATS]; /* those that succeeded */
    size_t n_beats;
    size_t n_beats_tried;
    enum vv_status beat_status; /* of the next beats */
    uint64_t calls;             /* counts the calls below, to tell their order */
    uint64_t peers_asked_at;    /* the last time; 0: never */
    uint64_t read_first_at;     /* since fake_shared_forget_calls */
};

static inline struct fake_shared *fake_shared_of(struct vv_store *store)
{
    return (struct fake_shared *)(uintptr_t)store->ops;
}

/* ---- the store's calls ---- */

static inline void fake_shared_note_read(struct fake_shared *fake)
{
    pthread_mutex_lock(&fake->lock);
    fake->calls++;
    fake->read_first_at = fake->read_first_at ? fake->read_first_at : fake->calls;
    pthread_mutex_unlock(&fake->lock);
}

static inline enum vv_status fake_shared_read(struct vv_store *store,
                                              const struct vv_store_read *read,
                                              vv_piece_visit visit, void *context,
                                              struct vv_error *error)
{
    struct fake_shared *fake = fake_shared_of(store);
    fake_shared_note_read(fake);
    return fake->inner->read(store, read, visit, context, error);
}

static inline enum vv_status fake_shared_nearest(struct vv_store *store, uint32_t tenant,
                                                 uint32_t source, int64_t bucket_start,
                                                 bool forward, int64_t *bucket_start_out,
                                                 struct vv_error *error)
{
    struct fake_shared *fake = fake_shared_of(store);
    fake_shared_note_read(fake);
    return fake->inner->nearest(store, tenant, source, bucket_start, forward, bucket_start_out,
                                error);
}

static inline enum vv_status fake_shared_put_run(struct vv_store *store, const struct vv_piece *run,
                                                 struct vv_error *error)
{
    struct fake_shared *fake = fake_shared_of(store);
    pthread_mutex_lock(&fake->lock);
    bool again = fake->n_runs > 0 && fake->runs[fake->n_runs - 1] == run->run;
    if (!again && fake->n_runs < FAKE_SHARED_RUNS) {
        fake->runs[fake->n_runs++] = run->run;
    }
    pthread_mutex_unlock(&fake->lock);
    return fake->inner->put_run(store, run, error);
}

static inline void fake_shared_close(struct vv_store *store)
{
    struct fake_shared *fake = fake_shared_of(store);
    store->ops = fake->inner;
    store->ops->close(store);
    pthread_mutex_destroy(&fake->lock);
    free(fake);
}

/* ---- what nodes share ---- */

static inline uint32_t fake_shared_node(struct vv_store *store)
{
    return fake_shared_of(store)->node; /* set before there are threads */
}

static inline enum vv_status fake_shared_tell(struct vv_store *store, const struct vv_told *told,
                                              struct vv_error *error)
{
    (void)store;
    (void)told;
    (void)error;
    return VV_OK;
}

static inline enum vv_status fake_shared_learn(struct vv_store *store, vv_told_visit visit,
                                               void *context, struct vv_error *error)
{
    (void)store;
    (void)visit;
    (void)context;
    (void)error;
    return VV_OK;
}

static inline enum vv_status fake_shared_agree(struct vv_store *store, struct vv_first_plan *plans,
                                               size_t n, struct vv_error *error)
{
    (void)store;
    (void)plans;
    (void)n;
    (void)error;
    return VV_OK;
}

static inline enum vv_status fake_shared_beat(struct vv_store *store, int64_t flushed_until_ns,
                                              struct vv_error *error)
{
    struct fake_shared *fake = fake_shared_of(store);
    pthread_mutex_lock(&fake->lock);
    enum vv_status status = fake->beat_status;
    fake->n_beats_tried++;
    if (status == VV_OK && fake->n_beats < FAKE_SHARED_BEATS) {
        fake->beats[fake->n_beats++] = flushed_until_ns;
    }
    pthread_mutex_unlock(&fake->lock);
    return status == VV_OK ? VV_OK : vv_error_set(error, status, "the test lets no beat through");
}

static inline size_t fake_shared_peers(struct vv_store *store, struct vv_peer *peers_out,
                                       size_t max)
{
    struct fake_shared *fake = fake_shared_of(store);
    pthread_mutex_lock(&fake->lock);
    fake->peers_asked_at = ++fake->calls;
    size_t n = fake->n_peers;
    memcpy(peers_out, fake->peers, (n < max ? n : max) * sizeof *peers_out);
    pthread_mutex_unlock(&fake->lock);
    return n;
}

static inline enum vv_status fake_shared_begin_seal(struct vv_store *store,
                                                    const struct vv_mark *marks, size_t n,
                                                    bool *mine_out, struct vv_error *error)
{
    (void)store;
    (void)marks;
    (void)error;
    for (size_t i = 0; i < n; i++) {
        mine_out[i] = true;
    }
    return VV_OK;
}

/* ---- for tests ---- */

/* Makes a memory store look shared; closing the store frees the fake. */
static inline struct fake_shared *fake_shared_wrap(struct vv_store *memory, uint32_t node)
{
    struct fake_shared *fake = calloc(1, sizeof *fake);
    vv_invariant(fake != NULL && pthread_mutex_init(&fake->lock, NULL) == 0);
    fake->inner = memory->ops;
    fake->store = memory;
    fake->node = node;
    fake->beat_status = VV_OK;
    fake->ops = *memory->ops;
    fake->ops.close = fake_shared_close;
    fake->ops.read = fake_shared_read;
    fake->ops.nearest = fake_shared_nearest;
    fake->ops.put_run = fake_shared_put_run;
    fake->ops.shared = &fake->shared;
    fake->shared = (struct vv_shared_ops){
        .node = fake_shared_node,
        .tell = fake_shared_tell,
        .learn = fake_shared_learn,
        .agree_plans = fake_shared_agree,
        .beat = fake_shared_beat,
        .peers = fake_shared_peers,
        .begin_seal = fake_shared_begin_seal,
    };
    memory->ops = &fake->ops;
    return fake;
}

/* Adds another node, or changes what is known of it; by ascending numbers. */
static inline void fake_shared_set_peer(struct fake_shared *fake, uint32_t node, bool is_gone,
                                        int64_t flushed_until_ns)
{
    pthread_mutex_lock(&fake->lock);
    size_t i = 0;
    while (i < fake->n_peers && fake->peers[i].node != node) {
        i++;
    }
    vv_invariant(i < FAKE_SHARED_PEERS);
    fake->n_peers += i == fake->n_peers;
    fake->peers[i] = (struct vv_peer){node, is_gone, flushed_until_ns};
    pthread_mutex_unlock(&fake->lock);
}

static inline void fake_shared_set_beats(struct fake_shared *fake, enum vv_status status)
{
    pthread_mutex_lock(&fake->lock);
    fake->beat_status = status;
    pthread_mutex_unlock(&fake->lock);
}

/* What the last beat that came through said; *n_out how many did. */
static inline int64_t fake_shared_last_beat(struct fake_shared *fake, size_t *n_out)
{
    pthread_mutex_lock(&fake->lock);
    *n_out = fake->n_beats;
    int64_t last = fake->n_beats ? fake->beats[fake->n_beats - 1] : INT64_MIN;
    pthread_mutex_unlock(&fake->lock);
    return last;
}

static inline void fake_shared_forget_calls(struct fake_shared *fake)
{
    pthread_mutex_lock(&fake->lock);
    fake->calls = fake->peers_asked_at = fake->read_first_at = 0;
    pthread_mutex_unlock(&fake->lock);
}

/* As vv_store_memory_crash and vv_store_memory_fail, which know only their own store. */
static inline void fake_shared_crash(struct fake_shared *fake, uint64_t seed)
{
    fake->store->ops = fake->inner;
    vv_store_memory_crash(fake->store, seed);
    fake->store->ops = &fake->ops;
}

static inline void fake_shared_fail(struct fake_shared *fake, enum vv_status status, uint32_t n)
{
    fake->store->ops = fake->inner;
    vv_store_memory_fail(fake->store, status, n);
    fake->store->ops = &fake->ops;
}

#endif
