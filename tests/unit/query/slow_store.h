/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store that is asked ahead: its answers hold what was there when they were asked for, while
 * flushes and seals of the fixture go on between asking and using.
 */
#ifndef TESTS_UNIT_QUERY_SLOW_STORE_H
#define TESTS_UNIT_QUERY_SLOW_STORE_H

#include "query_fixture.h"

struct kept {
    struct vv_piece piece;
    char *bytes;
};

struct vv_store_answer {
    struct slow *slow;
    struct kept *pieces;
    size_t n;
    bool fails;
    bool used;
};

/* Passes everything on to the fixture's store. */
struct slow {
    struct vv_store base;
    struct vv_store_ops ops;
    struct fixture *f;
    struct vv_random random;
    bool may_read; /* without asking */
    bool moves;    /* flush and seal between asking and using */
    unsigned flush_at;
    unsigned act_at; /* that read: then this is done */
    void (*act)(void *context);
    void *act_context;
    bool fails_day; /* partitions of every third day */
    unsigned fail_every;
    unsigned read_at_once;
    unsigned looked; /* where something is */
    unsigned begun;
    unsigned unused;
    unsigned unused_most;
    size_t bytes; /* of all answers that are held */
    size_t bytes_most;
};

static inline struct slow *slow_of(struct vv_store *store)
{
    return (struct slow *)(void *)store;
}

static inline enum vv_status slow_keep_piece(void *context, const struct vv_piece *piece)
{
    struct vv_store_answer *answer = context;
    answer->pieces = realloc(answer->pieces, (answer->n + 1) * sizeof *answer->pieces);
    struct kept *kept = &answer->pieces[answer->n++];
    kept->piece = *piece;
    kept->bytes = malloc(piece->bytes.size + 1);
    answer->slow->bytes += piece->bytes.size;
    if (answer->slow->bytes > answer->slow->bytes_most) {
        answer->slow->bytes_most = answer->slow->bytes;
    }
    memcpy(kept->bytes, piece->bytes.data, piece->bytes.size);
    kept->piece.bytes.data = kept->bytes;
    return VV_OK;
}

static inline enum vv_status slow_begin_read(struct vv_store *store,
                                             const struct vv_store_read *read,
                                             struct vv_store_answer **answer_out,
                                             struct vv_error *error)
{
    struct slow *slow = slow_of(store);
    struct vv_store *inner = slow->f->store;
    struct vv_store_answer *answer = calloc(1, sizeof *answer);
    answer->slow = slow;
    slow->begun++;
    slow->unused++;
    slow->unused_most = slow->unused > slow->unused_most ? slow->unused : slow->unused_most;
    answer->fails = slow->fail_every && slow->begun % slow->fail_every == 0;
    answer->fails |= slow->fails_day && read->partition.bucket_start / VV_DAY % 3 == 0;
    *answer_out = answer;
    answer->fails |= inner->ops->read(inner, read, slow_keep_piece, answer, error) != VV_OK;
    if (slow->begun == slow->flush_at || (slow->moves && vv_random_below(&slow->random, 6) == 0)) {
        fixture_flush(slow->f);
    }
    if (slow->begun == slow->act_at) {
        slow->act(slow->act_context);
    }
    if (slow->moves && vv_random_below(&slow->random, 12) == 0) {
        fixture_seal(slow->f);
    }
    return VV_OK;
}

static inline enum vv_status slow_visit_read(struct vv_store_answer *answer, vv_piece_visit visit,
                                             void *context, struct vv_error *error)
{
    answer->slow->unused -= !answer->used;
    answer->used = true;
    if (answer->fails) {
        return vv_error_set(error, VV_OVERLOAD, "at a bad time");
    }
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < answer->n && status == VV_OK; i++) {
        status = visit(context, &answer->pieces[i].piece);
    }
    return status == VV_DONE ? VV_OK : status;
}

static inline void slow_end_read(struct vv_store_answer *answer)
{
    answer->slow->unused -= !answer->used;
    for (size_t i = 0; i < answer->n; i++) {
        answer->slow->bytes -= answer->pieces[i].piece.bytes.size;
        free(answer->pieces[i].bytes);
    }
    free(answer->pieces);
    free(answer);
}

static inline enum vv_status slow_read(struct vv_store *store, const struct vv_store_read *read,
                                       vv_piece_visit visit, void *context, struct vv_error *error)
{
    struct slow *slow = slow_of(store);
    slow->read_at_once++;
    struct vv_store *inner = slow->f->store;
    return slow->may_read ? inner->ops->read(inner, read, visit, context, error)
                          : vv_error_set(error, VV_INVALID, "read without having been asked for");
}

static inline enum vv_status slow_nearest(struct vv_store *store, uint8_t region, uint32_t tenant,
                                          uint32_t source, int64_t bucket_start, bool forward,
                                          int64_t *bucket_start_out, struct vv_error *error)
{
    struct vv_store *inner = slow_of(store)->f->store;
    slow_of(store)->looked++;
    return inner->ops->nearest(inner, region, tenant, source, bucket_start, forward,
                               bucket_start_out, error);
}

static inline void slow_init(struct slow *slow, struct fixture *f, uint64_t seed)
{
    *slow = (struct slow){.f = f, .random = {seed}};
    slow->ops.read = slow_read;
    slow->ops.begin_read = slow_begin_read;
    slow->ops.visit_read = slow_visit_read;
    slow->ops.end_read = slow_end_read;
    slow->ops.nearest = slow_nearest;
    slow->base.ops = &slow->ops;
    f->context.store = &slow->base;
}

static inline size_t slow_no_peers(struct vv_store *store, struct vv_peer *peers_out, size_t max)
{
    (void)store;
    (void)peers_out;
    (void)max;
    return 0;
}

static inline size_t slow_regions(struct vv_store *store,
                                  struct vv_region regions_out[VV_REGIONS_MAX])
{
    struct vv_store *inner = slow_of(store)->f->store;
    const struct vv_shared_ops *shared = inner->ops->shared;
    return shared && shared->regions ? shared->regions(inner, regions_out) : 0;
}

static const struct vv_shared_ops slow_shared_ops = {.peers = slow_no_peers,
                                                     .regions = slow_regions};

#endif
