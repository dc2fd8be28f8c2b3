/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Acknowledgements that wait for the store. Such a batch is journaled, counted and readable like
 * any other; only its answer waits, without the batch's memory. Its generation is cut at once when
 * no job is under way, else when that one is done: all that came meanwhile share the next.
 */
#include "engine/engine_private.h"

#include <stdlib.h>

void vv_acks_hold(struct vv_engine *engine, struct vv_submission *take_submission)
{
    take_submission->next = NULL;
    if (engine->ack_last) {
        engine->ack_last->next = take_submission;
    } else {
        engine->ack_first = take_submission;
    }
    engine->ack_last = take_submission;
    atomic_fetch_add(&engine->counters.acks_waiting, 1);
}

static int64_t deadline_of(const struct vv_engine *engine, const struct vv_submission *submission)
{
    return submission->queued_ns + engine->settings.ack_timeout_ns;
}

/* Answers the first that waits. */
static void answer_first(struct vv_engine *engine, enum vv_status status, const char *message)
{
    struct vv_submission *first = engine->ack_first;
    int64_t now = engine->clock->monotonic_ns(engine->clock);
    engine->ack_first = first->next;
    engine->ack_last = engine->ack_first ? engine->ack_last : NULL;
    atomic_fetch_sub(&engine->counters.acks_waiting, 1);
    vv_histogram_add_duration(&engine->counters.ack_wait, now - first->queued_ns);
    first->done(first->context, status, message);
    free(first);
}

static vv_stamp confirmed_stamp(struct vv_engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    vv_stamp stamp = engine->confirmed_stamp;
    pthread_mutex_unlock(&engine->lock);
    return stamp;
}

static bool answer_confirmed(struct vv_engine *engine)
{
    bool any = false;
    vv_stamp confirmed = engine->ack_first ? confirmed_stamp(engine) : 0;
    while (engine->ack_first && engine->ack_first->stamp <= confirmed) {
        answer_first(engine, VV_OK, "");
        any = true;
    }
    return any;
}

bool vv_acks_answer(struct vv_engine *engine)
{
    bool any = answer_confirmed(engine);
    int64_t now = engine->clock->monotonic_ns(engine->clock);
    while (engine->ack_first && deadline_of(engine, engine->ack_first) <= now) {
        atomic_fetch_add(&engine->counters.acks_timed_out, 1);
        answer_first(engine, VV_UNKNOWN,
                     "it is in the journal and will be delivered, but the store has not confirmed "
                     "it within ack.timeout");
        any = true;
    }
    return any;
}

bool vv_acks_want_cut(const struct vv_engine *engine)
{
    return engine->ack_last && engine->ack_last->stamp > engine->cut_stamp && !engine->job_first;
}

int64_t vv_acks_patience(const struct vv_engine *engine, int64_t most_ns)
{
    if (!engine->ack_first) {
        return most_ns;
    }
    if (vv_acks_want_cut(engine) || engine->ack_first->stamp <= engine->confirmed_stamp) {
        return 0;
    }
    int64_t left =
        deadline_of(engine, engine->ack_first) - engine->clock->monotonic_ns(engine->clock);
    return left < 0 ? 0 : left < most_ns ? left : most_ns;
}

void vv_acks_end(struct vv_engine *engine)
{
    answer_confirmed(engine);
    while (engine->ack_first) {
        answer_first(engine, VV_UNKNOWN,
                     "it is in the journal and will be delivered, but the server stopped before "
                     "the store had confirmed it");
    }
}
