/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A memory store that several nodes seem to share: the others are what the test says, and what
 * they wrote is what the test puts in. Other regions are stores of their own. It notes the runs
 * that were put, the beats, and in which order peers were asked for and the store was read.
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
    uint64_t reads_far;         /* of other regions, likewise */
    uint64_t nearest_far;
    /* Set before there are threads; the own region is the first. */
    struct vv_region regions[VV_REGIONS_MAX];
    struct vv_store *region_stores[VV_REGIONS_MAX];
    enum vv_status region_status[VV_REGIONS_MAX]; /* of their reads */
    size_t n_regions;
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

/* Of another region; what is found there is said to be of it. */
struct fake_shared_far {
    uint8_t region;
    vv_piece_visit visit;
    void *context;
};

static inline enum vv_status fake_shared_visit_far(void *context, const struct vv_piece *piece)
{
    const struct fake_shared_far *far = context;
    struct vv_piece moved = *piece;
    moved.key.partition.region = far->region;
    return far->visit(far->context, &moved);
}

static inline enum vv_status fake_shared_read_far(struct fake_shared *fake,
                                                  const struct vv_store_read *read,
                                                  vv_piece_visit visit, void *context,
                                                  struct vv_error *error)
{
    uint8_t region = read->partition.region;
    struct vv_store *far = fake->region_stores[region];
    struct vv_store_read moved = *read;
    struct fake_shared_far moving = {region, visit, context};
    pthread_mutex_lock(&fake->lock);
    fake->reads_far++;
    pthread_mutex_unlock(&fake->lock);
    if (fake->region_status[region] != VV_OK) {
        return vv_error_set(error, fake->region_status[region], "that region is away");
    }
    moved.partition.region = 0;
    return far ? far->ops->read(far, &moved, fake_shared_visit_far, &moving, error) : VV_OK;
}

static inline enum vv_status fake_shared_nearest_far(struct fake_shared *fake, uint8_t region,
                                                     uint32_t tenant, uint32_t source,
                                                     int64_t bucket_start, bool forward,
                                                     int64_t *bucket_start_out,
                                                     struct vv_error *error)
{
    struct vv_store *far = fake->region_stores[region];
    pthread_mutex_lock(&fake->lock);
    fake->nearest_far++;
    pthread_mutex_unlock(&fake->lock);
    if (fake->region_status[region] != VV_OK) {
        return vv_error_set(error, fake->region_status[region], "that region is away");
    }
    return far ? far->ops->nearest(far, 0, tenant, source, bucket_start, forward, bucket_start_out,
                                   error)
               : VV_DONE;
}

static inline enum vv_status fake_shared_read(struct vv_store *store,
                                              const struct vv_store_read *read,
                                              vv_piece_visit visit, void *context,
                                              struct vv_error *error)
{
    struct fake_shared *fake = fake_shared_of(store);
    fake_shared_note_read(fake);
    return read->partition.region > 0 ? fake_shared_read_far(fake, read, visit, context, error)
                                      : fake->inner->read(store, read, visit, context, error);
}

static inline enum vv_status fake_shared_nearest(struct vv_store *store, uint8_t region,
                                                 uint32_t tenant, uint32_t source,
                                                 int64_t bucket_start, bool forward,
                                                 int64_t *bucket_start_out, struct vv_error *error)
{
    struct fake_shared *fake = fake_shared_of(store);
    fake_shared_note_read(fake);
    return region > 0 ? fake_shared_nearest_far(fake, region, tenant, source, bucket_start, forward,
                                                bucket_start_out, error)
                      : fake->inner->nearest(store, 0, tenant, source, bucket_start, forward,
                                             bucket_start_out, error);
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

/* Everybody else has no wish. */
static inline enum vv_status fake_shared_agree_places(struct vv_store *store,
                                                      struct vv_place_wish *wishes, size_t n,
                                                      struct vv_error *error)
{
    (void)store;
    (void)wishes;
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

static inline size_t fake_shared_regions(struct vv_store *store,
                                         struct vv_region regions_out[VV_REGIONS_MAX])
{
    struct fake_shared *fake = fake_shared_of(store);
    memcpy(regions_out, fake->regions, fake->n_regions * sizeof *regions_out);
    return fake->n_regions;
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

/* Nothing is parked. */
static inline bool fake_shared_has_parked(struct vv_store *store, uint32_t tenant)
{
    (void)store;
    (void)tenant;
    return false;
}

static inline bool fake_shared_has_parked_below(struct vv_store *store,
                                                const struct vv_partition *partition)
{
    (void)store;
    (void)partition;
    return false;
}

static inline void fake_shared_parked(struct vv_store *store, struct vv_parked *parked_out)
{
    (void)store;
    *parked_out = (struct vv_parked){0};
}

static inline size_t fake_shared_tentative(struct vv_store *store, struct vv_first_plan *plans_out,
                                           size_t max)
{
    (void)store;
    (void)plans_out;
    (void)max;
    return 0;
}

static inline enum vv_status fake_shared_doubt(struct vv_store *store, struct vv_plan_doubt *doubts,
                                               size_t n, struct vv_error *error)
{
    (void)store;
    (void)error;
    for (size_t i = 0; i < n; i++) {
        doubts[i].is_whole = true;
        doubts[i].is_tentative = false;
    }
    return VV_OK;
}

static inline enum vv_status fake_shared_settle_plan(struct vv_store *store, uint32_t tenant,
                                                     uint32_t source, const struct vv_plan *plans,
                                                     size_t n, struct vv_error *error)
{
    (void)store;
    (void)tenant;
    (void)source;
    (void)plans;
    (void)n;
    (void)error;
    return VV_OK;
}

static inline enum vv_status fake_shared_deliver(struct vv_store *store, bool *more_out,
                                                 struct vv_error *error)
{
    (void)store;
    (void)error;
    *more_out = false;
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
        .agree_places = fake_shared_agree_places,
        .beat = fake_shared_beat,
        .peers = fake_shared_peers,
        .begin_seal = fake_shared_begin_seal,
        .has_parked = fake_shared_has_parked,
        .has_parked_below = fake_shared_has_parked_below,
        .parked = fake_shared_parked,
        .tentative = fake_shared_tentative,
        .doubt_plans = fake_shared_doubt,
        .place_parked = fake_shared_settle_plan,
        .settle_plan = fake_shared_settle_plan,
        .deliver = fake_shared_deliver,
    };
    memory->ops = &fake->ops;
    return fake;
}

/* Adds a region, the own one first; `far` (NULL: nothing is there) is where what it stores lies. */
static inline void fake_shared_add_region(struct fake_shared *fake, const char *name,
                                          enum vv_region_state state, struct vv_store *far)
{
    size_t i = fake->n_regions++;
    vv_invariant(i < VV_REGIONS_MAX);
    fake->shared.regions = fake_shared_regions;
    strncpy(fake->regions[i].name, name, sizeof fake->regions[i].name - 1);
    fake->regions[i].state = state;
    fake->region_stores[i] = far;
    fake->region_status[i] = VV_OK;
}

/* Adds another node, or changes what is known of it; by ascending numbers. */
static inline void fake_shared_set_peer_in(struct fake_shared *fake, uint8_t region, uint32_t node,
                                           bool is_gone, int64_t flushed_until_ns)
{
    pthread_mutex_lock(&fake->lock);
    size_t i = 0;
    while (i < fake->n_peers && fake->peers[i].node != node) {
        i++;
    }
    vv_invariant(i < FAKE_SHARED_PEERS);
    fake->n_peers += i == fake->n_peers;
    fake->peers[i] = (struct vv_peer){
        .node = node, .region = region, .is_gone = is_gone, .flushed_until_ns = flushed_until_ns};
    pthread_mutex_unlock(&fake->lock);
}

static inline void fake_shared_set_peer(struct fake_shared *fake, uint32_t node, bool is_gone,
                                        int64_t flushed_until_ns)
{
    fake_shared_set_peer_in(fake, 0, node, is_gone, flushed_until_ns);
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
    fake->reads_far = fake->nearest_far = 0;
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
