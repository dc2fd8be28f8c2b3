/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Acknowledgements that wait for the store. Such a batch is journaled, counted and readable like
 * any other; only its answer waits, without the batch's memory. Its generation is cut at once when
 * no job is under way, else when that one is done: all that came meanwhile share the next.
 *
 * A job that is done may have been parked in part, where a part of the store is away: then it is
 * not with the others yet. So whoever's tenant has anything parked goes on waiting, in a list of
 * its tenant's, and holds up nobody else. What is parked was parked before the job was done, and is
 * parked until it has been delivered: a tenant that has nothing parked after its job was seen done
 * is answered with right.
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

static void answer(struct vv_engine *engine, struct vv_submission *take_submission,
                   enum vv_status status, const char *message)
{
    int64_t now = engine->clock->monotonic_ns(engine->clock);
    atomic_fetch_sub(&engine->counters.acks_waiting, 1);
    vv_histogram_add_duration(&engine->counters.ack_wait, now - take_submission->queued_ns);
    take_submission->done(take_submission->context, status, message);
    free(take_submission);
}

/* The first of those whose job is not done. */
static struct vv_submission *take_first(struct vv_engine *engine)
{
    struct vv_submission *first = engine->ack_first;
    engine->ack_first = first->next;
    engine->ack_last = engine->ack_first ? engine->ack_last : NULL;
    return first;
}

/* ---- those whose job is done, by tenant ---- */

static bool has_parked(struct vv_engine *engine, uint32_t tenant)
{
    const struct vv_shared_ops *shared = engine->store->ops->shared;
    uint32_t places[VV_PLACES_MAX];
    size_t n = shared ? vv_registry_places(engine->registry, tenant, places) : 0;
    bool has = false;
    for (size_t i = 0; i < n && !has; i++) {
        has = shared->has_parked(engine->store, places[i]);
    }
    return has;
}

/* Where the list of a tenant is linked from; what it points to is NULL when there is none. */
static struct vv_submission **list_of(struct vv_engine *engine, uint32_t tenant)
{
    struct vv_submission **at = &engine->ack_parked;
    while (*at && (*at)->tenant != tenant) {
        at = &(*at)->next_list;
    }
    return at;
}

static void hold_parked(struct vv_submission **list, struct vv_submission *take_submission)
{
    take_submission->next = NULL;
    take_submission->next_list = NULL;
    if (!*list) { /* at the end: it is a new one */
        take_submission->list_last = take_submission;
        *list = take_submission;
    } else {
        (*list)->list_last->next = take_submission;
        (*list)->list_last = take_submission;
    }
}

/* Takes the first of a list; the list is the next one then, or is gone, and *list is the list that
 * follows it. */
static struct vv_submission *take_parked(struct vv_submission **list)
{
    struct vv_submission *first = *list;
    struct vv_submission *next = first->next;
    if (next) {
        next->next_list = first->next_list;
        next->list_last = first->list_last;
        *list = next;
    } else {
        *list = first->next_list;
    }
    return first;
}

/* Answers whose tenant has nothing parked any more. */
static bool answer_delivered(struct vv_engine *engine)
{
    bool any = false;
    struct vv_submission **list = &engine->ack_parked;
    while (*list) {
        uint32_t tenant = (*list)->tenant;
        if (has_parked(engine, tenant)) {
            list = &(*list)->next_list;
            continue;
        }
        while (*list && (*list)->tenant == tenant) {
            answer(engine, take_parked(list), VV_OK, "");
            any = true;
        }
    }
    return any;
}

/* ---- answering ---- */

static bool answer_confirmed(struct vv_engine *engine)
{
    bool any = false;
    pthread_mutex_lock(&engine->lock);
    vv_stamp confirmed = engine->confirmed_stamp;
    uint64_t deliveries = engine->deliveries;
    pthread_mutex_unlock(&engine->lock);
    while (engine->ack_first && engine->ack_first->stamp <= confirmed) {
        struct vv_submission *first = take_first(engine);
        struct vv_submission **list = list_of(engine, first->tenant);
        if (*list || has_parked(engine, first->tenant)) {
            hold_parked(list, first);
        } else {
            answer(engine, first, VV_OK, "");
            any = true;
        }
    }
    if (engine->ack_parked && engine->deliveries_seen != deliveries) {
        engine->deliveries_seen = deliveries;
        any |= answer_delivered(engine);
    }
    return any;
}

static bool is_late(const struct vv_engine *engine, const struct vv_submission *submission,
                    int64_t now)
{
    return deadline_of(engine, submission) <= now;
}

static void time_out(struct vv_engine *engine, struct vv_submission *take_submission,
                     const char *message)
{
    atomic_fetch_add(&engine->counters.acks_timed_out, 1);
    answer(engine, take_submission, VV_UNKNOWN, message);
}

static bool answer_late(struct vv_engine *engine)
{
    bool any = false;
    int64_t now = engine->clock->monotonic_ns(engine->clock);
    while (engine->ack_first && is_late(engine, engine->ack_first, now)) {
        time_out(engine, take_first(engine),
                 "it is in the journal and will be delivered, but the store has not confirmed it "
                 "within ack.timeout");
        any = true;
    }
    for (struct vv_submission **list = &engine->ack_parked; *list;) {
        if (!is_late(engine, *list, now)) {
            list = &(*list)->next_list;
            continue;
        }
        time_out(engine, take_parked(list),
                 "this node keeps it and will deliver it, but a part of the store is away, and has "
                 "not confirmed it within ack.timeout");
        any = true;
    }
    return any;
}

bool vv_acks_answer(struct vv_engine *engine)
{
    bool any = answer_confirmed(engine);
    any |= answer_late(engine);
    atomic_store(&engine->acks_parked, engine->ack_parked != NULL);
    return any;
}

void vv_acks_look_again(struct vv_engine *engine)
{
    if (atomic_load(&engine->acks_parked)) {
        pthread_mutex_lock(&engine->lock);
        engine->deliveries++;
        pthread_cond_signal(&engine->committer_wakes);
        pthread_mutex_unlock(&engine->lock);
    }
}

bool vv_acks_want_cut(const struct vv_engine *engine)
{
    return engine->ack_last && engine->ack_last->stamp > engine->cut_stamp && !engine->job_first;
}

static int64_t patience_with(const struct vv_engine *engine, const struct vv_submission *submission,
                             int64_t most_ns)
{
    int64_t left = deadline_of(engine, submission) - engine->clock->monotonic_ns(engine->clock);
    return left < 0 ? 0 : left < most_ns ? left : most_ns;
}

int64_t vv_acks_patience(const struct vv_engine *engine, int64_t most_ns)
{
    const struct vv_submission *first = engine->ack_first;
    const struct vv_submission *parked = engine->ack_parked;
    if (vv_acks_want_cut(engine) || (first && first->stamp <= engine->confirmed_stamp) ||
        (parked && engine->deliveries_seen != engine->deliveries)) {
        return 0;
    }
    int64_t patience = first ? patience_with(engine, first, most_ns) : most_ns;
    for (; parked; parked = parked->next_list) {
        patience = patience_with(engine, parked, patience);
    }
    return patience;
}

void vv_acks_end(struct vv_engine *engine)
{
    answer_confirmed(engine);
    answer_delivered(engine);
    while (engine->ack_first) {
        answer(engine, take_first(engine), VV_UNKNOWN,
               "it is in the journal and will be delivered, but the server stopped before the "
               "store had confirmed it");
    }
    while (engine->ack_parked) {
        answer(engine, take_parked(&engine->ack_parked), VV_UNKNOWN,
               "this node keeps it and will deliver it, but the server stopped while a part of "
               "the store was away");
    }
}
