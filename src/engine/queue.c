/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/queue.h"

#include "engine/engine_private.h"

static void push(struct vv_submission_list *list, struct vv_submission *submission)
{
    submission->next = NULL;
    if (list->last) {
        list->last->next = submission;
    } else {
        list->first = submission;
    }
    list->last = submission;
}

static size_t *bytes_of(struct vv_queue *queue, const struct vv_submission *submission)
{
    return submission->is_history ? &queue->history_bytes : &queue->bytes;
}

static struct vv_submission *pop(struct vv_queue *queue, struct vv_submission_list *list)
{
    struct vv_submission *submission = list->first;
    list->first = submission->next;
    list->last = list->first ? list->last : NULL;
    *bytes_of(queue, submission) -= submission->batch->bytes;
    return submission;
}

void vv_queue_add(struct vv_queue *queue, struct vv_submission *take_submission)
{
    size_t bytes = take_submission->batch->bytes;
    *bytes_of(queue, take_submission) += bytes;
    push(take_submission->is_history  ? &queue->history
         : bytes > VV_SMALL_BYTES_MAX ? &queue->large
                                      : &queue->small,
         take_submission);
}

/* Some of a list behind the n that were taken: until there are bytes_max. Returns their number. */
static size_t take_some(struct vv_queue *queue, struct vv_submission_list *list, size_t bytes_max,
                        struct vv_submission **give_out, size_t n, size_t n_max)
{
    size_t bytes = 0;
    while (list->first && n < n_max && bytes < bytes_max) {
        bytes += list->first->batch->bytes;
        give_out[n++] = pop(queue, list);
    }
    return n;
}

size_t vv_queue_take(struct vv_queue *queue, size_t history_bytes_max,
                     struct vv_submission **give_out)
{
    size_t n = 0;
    bool has_small = queue->small.first != NULL;
    bool large_too = queue->large.first && (!has_small || queue->has_passed_over_large);
    bool history_waits = history_bytes_max > 0 && queue->history.first;
    bool history_too =
        history_waits && ((!has_small && !large_too) || queue->has_passed_over_history);
    if (has_small) {
        size_t n_max = VV_ROUND_BATCHES_MAX - (large_too ? 1u : 0u) - (history_too ? 1u : 0u);
        n = take_some(queue, &queue->small, VV_ROUND_BYTES_MAX, give_out, 0, n_max);
        queue->since_small = 0;
    } else if (queue->since_small < VV_QUEUE_CALM_ROUNDS) {
        queue->since_small++;
    }
    bool is_calm = queue->since_small == VV_QUEUE_CALM_ROUNDS;
    size_t bytes_max = is_calm ? VV_ROUND_BYTES_MAX : VV_ROUND_LARGE_BYTES;
    if (large_too) {
        size_t n_max = VV_ROUND_BATCHES_MAX - (history_too ? 1u : 0u);
        n = take_some(queue, &queue->large, bytes_max, give_out, n, n_max);
    }
    if (history_too) {
        n = take_some(queue, &queue->history, history_bytes_max, give_out, n, VV_ROUND_BATCHES_MAX);
    }
    queue->has_passed_over_large = !large_too && queue->large.first;
    queue->has_passed_over_history = history_waits && !history_too;
    return n;
}

struct vv_submission *vv_queue_take_one(struct vv_queue *queue)
{
    struct vv_submission_list *list = queue->small.first   ? &queue->small
                                      : queue->large.first ? &queue->large
                                                           : &queue->history;
    return list->first ? pop(queue, list) : NULL;
}
