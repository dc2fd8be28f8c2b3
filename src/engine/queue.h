/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What waits for the committer. A round journals with one sync all that it takes, so what is in it
 * is answered when the largest of it is written; and what comes meanwhile waits for its end.
 *
 * So large submissions (of who gathers for many devices) do not hold up small ones (of a device
 * itself): a round takes all small ones, and large ones in every second round at least, but few of
 * them while small ones come. Neither kind can keep the other from its turn. History, small or
 * large, is a kind of its own: it has its turn as large ones have, but only when it need not rest
 * (history.h). Within a kind the order is that of coming; who sent one of them has had its answer
 * before sending what must follow. Pure; the caller's lock.
 */
#ifndef VV_ENGINE_QUEUE_H
#define VV_ENGINE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

struct vv_submission;

#define VV_ROUND_BATCHES_MAX 512
#define VV_ROUND_BYTES_MAX   ((size_t)64 << 20)
#define VV_SMALL_BYTES_MAX   ((size_t)64 << 10) /* a batch of more is large */
/* Of large ones in a round (or a single one) while small ones come: until so many rounds had none.
 */
#define VV_ROUND_LARGE_BYTES ((size_t)128 << 10)
#define VV_QUEUE_CALM_ROUNDS 1024u

struct vv_submission_list {
    struct vv_submission *first;
    struct vv_submission *last;
};

struct vv_queue {
    struct vv_submission_list small;
    struct vv_submission_list large;
    struct vv_submission_list history;
    size_t bytes;         /* of small and large ones … */
    size_t history_bytes; /* … and of history */
    unsigned since_small; /* rounds since one had a small one, up to VV_QUEUE_CALM_ROUNDS */
    /* The last round took none of them, though one waited and might have been taken. */
    bool has_passed_over_large;
    bool has_passed_over_history;
};

/* Whether a round would have something: with history, or while that rests. */
static inline bool vv_queue_has_some(const struct vv_queue *queue, bool with_history)
{
    return queue->small.first || queue->large.first || (with_history && queue->history.first);
}

static inline bool vv_queue_is_empty(const struct vv_queue *queue)
{
    return !vv_queue_has_some(queue, true);
}

void vv_queue_add(struct vv_queue *queue, struct vv_submission *take_submission);
/* Takes a round: how many; the small ones first, history last: so many bytes of it at most, or a
 * single one; 0: none. give_out has VV_ROUND_BATCHES_MAX. */
size_t vv_queue_take(struct vv_queue *queue, size_t history_bytes_max,
                     struct vv_submission **give_out);
/* Takes any of them; NULL: there is none. */
struct vv_submission *vv_queue_take_one(struct vv_queue *queue);

#endif
