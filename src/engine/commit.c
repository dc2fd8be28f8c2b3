/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The committer: rounds of stamp, prepare, journal, publish, complete; and cutting generations.
 *
 * The order is the guarantee: a batch is in the head's memory (not visible) before the journal is
 * written, visible after the sync, and answered last. So an acknowledged batch is durable and
 * readable, and a batch whose sync failed is in no answer.
 */
#include "engine/lives.h"

#include "base/log.h"
#include "base/turns.h"
#include "registry/shared.h"

#include <stdlib.h>

#define AHEAD_NS_MAX VV_HOUR /* that clocks of nodes may differ */

/* A round: submissions, and the journal records they became. */
struct round {
    struct vv_submission *submissions[VV_ROUND_BATCHES_MAX];
    size_t n;
    struct vv_journal_record *records;
    size_t *offsets; /* of the records' bytes in engine->round_bytes, which may move meanwhile */
    size_t n_records;
    size_t records_capacity;
    struct vv_definition *settling; /* definitions among the records … */
    uint64_t *versions;             /* … and the versions that were encoded */
    size_t n_settling;
    size_t settling_capacity;
    uint64_t points;
    uint64_t history_points; /* of those */
    uint64_t orders;         /* of deletion */
};

bool vv_definitions_add(struct vv_definition_list *list, uint8_t kind, uint32_t number)
{
    if (list->n == list->capacity) {
        size_t capacity = list->capacity ? list->capacity * 2 : 64;
        struct vv_definition *bigger = realloc(list->items, capacity * sizeof *bigger);
        if (!bigger) {
            return false;
        }
        list->items = bigger;
        list->capacity = capacity;
    }
    list->items[list->n++] = (struct vv_definition){kind, number};
    return true;
}

/* ---- taking what waits ---- */

/* How long history has to rest still; who stops waits for no rest. Under the lock. */
static int64_t history_rests_ns(const struct vv_engine *engine, int64_t now)
{
    return engine->stopping ? 0 : vv_history_rest_ns(&engine->history, VV_HISTORY_WRITES, now);
}

/* So many bytes of history a round may have. Under the lock. */
static size_t history_bytes_max(struct vv_engine *engine)
{
    int64_t now = engine->clock->monotonic_ns(engine->clock);
    bool is_live = vv_history_is_live(&engine->history, now);
    return history_rests_ns(engine, now) > 0 ? 0
           : is_live                         ? VV_ROUND_LARGE_BYTES
                                             : VV_ROUND_BYTES_MAX;
}

static void take_waiting(struct vv_engine *engine, struct round *round)
{
    pthread_mutex_lock(&engine->lock);
    size_t bytes_max = history_bytes_max(engine);
    vv_history_end_turn(&engine->history);
    round->n = vv_queue_take(&engine->queue, bytes_max, round->submissions);
    pthread_mutex_unlock(&engine->lock);
}

/* ---- records ---- */

static bool add_record(struct vv_engine *engine, struct round *round, vv_stamp stamp, uint8_t kind,
                       size_t offset)
{
    if (round->n_records == round->records_capacity) {
        size_t capacity = round->records_capacity ? round->records_capacity * 2 : 64;
        struct vv_journal_record *records =
            realloc(round->records, capacity * sizeof *round->records);
        round->records = records ? records : round->records;
        size_t *offsets = realloc(round->offsets, capacity * sizeof *round->offsets);
        round->offsets = offsets ? offsets : round->offsets;
        if (!records || !offsets) {
            return false;
        }
        round->records_capacity = capacity;
    }
    round->offsets[round->n_records] = offset;
    round->records[round->n_records++] = (struct vv_journal_record){
        .stamp = stamp, .kind = kind, .size = engine->round_bytes.size - offset};
    return true;
}

static bool add_settling(struct round *round, struct vv_definition definition, uint64_t version)
{
    if (round->n_settling == round->settling_capacity) {
        size_t capacity = round->settling_capacity ? round->settling_capacity * 2 : 64;
        struct vv_definition *settling =
            realloc(round->settling, capacity * sizeof *round->settling);
        round->settling = settling ? settling : round->settling;
        uint64_t *versions = realloc(round->versions, capacity * sizeof *round->versions);
        round->versions = versions ? versions : round->versions;
        if (!settling || !versions) {
            return false;
        }
        round->settling_capacity = capacity;
    }
    round->settling[round->n_settling] = definition;
    round->versions[round->n_settling++] = version;
    return true;
}

/* One that an earlier batch of this round defines too is written twice; applying it again changes
 * nothing. */
static bool add_object(struct vv_engine *engine, struct round *round, vv_stamp stamp,
                       struct vv_definition definition)
{
    enum vv_registry_kind kind = (enum vv_registry_kind)definition.kind;
    if (vv_registry_settled(engine->registry, kind, definition.number)) {
        return true;
    }
    size_t offset = engine->round_bytes.size;
    uint64_t version =
        vv_registry_encode(engine->registry, kind, definition.number, &engine->round_bytes);
    return vv_definitions_add(&engine->definitions, definition.kind, definition.number) &&
           add_settling(round, definition, version) &&
           add_record(engine, round, stamp, definition.kind, offset) &&
           vv_buffer_status(&engine->round_bytes) == VV_OK;
}

static bool add_place(struct vv_engine *engine, struct round *round, vv_stamp stamp, uint32_t place)
{
    uint32_t numbers[VV_SPACES_ALL + 1];
    size_t n = vv_registry_unsettled(engine->registry, place, numbers);
    bool added = true;
    for (size_t i = 0; i < n && added; i++) {
        struct vv_definition one = {.kind = VV_REGISTRY_TENANT, .number = numbers[i]};
        added = add_object(engine, round, stamp, one);
    }
    return added;
}

/* With the classes that it was found in, which may be known from others only. */
static bool add_measurement(struct vv_engine *engine, struct round *round, vv_stamp stamp,
                            struct vv_definition definition)
{
    struct vv_registry *registry = engine->registry;
    uint32_t tenant = vv_registry_measurement_tenant(registry, definition.number);
    for (;;) {
        uint32_t places[VV_MOVES_MAX];
        uint32_t now[VV_MOVES_MAX];
        size_t n = vv_registry_places_of(registry, definition.number, places);
        bool added = true;
        for (size_t i = 0; i < n && added; i++) {
            added = places[i] == tenant || add_place(engine, round, stamp, places[i]);
        }
        size_t records = round->n_records;
        added = added && add_object(engine, round, stamp, definition);
        bool is_same = vv_registry_places_of(registry, definition.number, now) == n &&
                       memcmp(places, now, n * sizeof *now) == 0;
        if (!added || is_same) {
            return added;
        }
        if (round->n_records > records) { /* it was found elsewhere meanwhile: behind that */
            round->n_records--;
            round->n_settling--;
            engine->round_bytes.size = round->offsets[round->n_records];
        }
    }
}

/* Definitions first: replay must know a number before it is used. */
static bool add_definition(struct vv_engine *engine, struct round *round, vv_stamp stamp,
                           struct vv_definition definition)
{
    return definition.kind == VV_REGISTRY_MEASUREMENT &&
                   !vv_registry_settled(engine->registry, VV_REGISTRY_MEASUREMENT,
                                        definition.number)
               ? add_measurement(engine, round, stamp, definition)
               : add_object(engine, round, stamp, definition);
}

/* The order, and that the next flush stores the markers of its sources. */
static bool add_deletion(struct vv_engine *engine, struct round *round,
                         const struct vv_submission *each)
{
    const struct vv_deletion_order *order = each->batch->deletion;
    size_t offset = engine->round_bytes.size;
    vv_deletion_order_encode(order, &engine->round_bytes);
    for (size_t i = 0; i < order->n_sources; i++) {
        if (!vv_definitions_add(&engine->definitions, VV_META_DELETION, order->sources[i])) {
            return false;
        }
    }
    return vv_buffer_status(&engine->round_bytes) == VV_OK &&
           engine->round_bytes.size - offset <= VV_JOURNAL_RECORD_BYTES_MAX &&
           add_record(engine, round, each->stamp, VV_RECORD_DELETION, offset);
}

static bool add_batch(struct vv_engine *engine, struct round *round, struct vv_submission *each)
{
    const struct vv_batch *batch = each->batch;
    for (uint8_t kind = VV_REGISTRY_TENANT; kind <= VV_REGISTRY_SOURCE; kind++) {
        for (size_t i = 0; i < batch->n_definitions; i++) { /* who is referred to comes first */
            if (batch->definitions[i].kind == kind &&
                !add_definition(engine, round, each->stamp, batch->definitions[i])) {
                return false;
            }
        }
    }
    if (batch->deletion && !add_deletion(engine, round, each)) {
        return false;
    }
    if (batch->points == 0) {
        return true; /* administration */
    }
    size_t offset = engine->round_bytes.size;
    vv_batch_encode(batch, &engine->round_bytes);
    return vv_buffer_status(&engine->round_bytes) == VV_OK &&
           engine->round_bytes.size - offset <= VV_JOURNAL_RECORD_BYTES_MAX &&
           add_record(engine, round, each->stamp, VV_RECORD_BATCH, offset);
}

/* Above whatever is known to be deleted by any node: what is accepted now was written afterwards,
 * also where another node's clock is ahead of this one's. One that is wrong by far takes no other
 * with it. */
vv_stamp vv_engine_next_stamp(const struct vv_engine *engine)
{
    int64_t now = engine->clock->wall_ns(engine->clock);
    vv_stamp last = engine->last_stamp;
    vv_stamp newest = vv_deletions_newest(engine->deletions, now + AHEAD_NS_MAX);
    return vv_stamp_next(newest > last ? newest : last, now, vv_engine_node(engine));
}

/* Prepares one batch in the head and encodes it; on failure it leaves no trace. */
static enum vv_status prepare(struct vv_engine *engine, struct round *round,
                              struct vv_submission *each)
{
    const struct vv_deletion_order *deletion = each->batch->deletion;
    if (each->batch->points == 0 && each->batch->n_definitions == 0 && !deletion) {
        return VV_OK; /* nothing to write: it stands for what came before it */
    }
    if (!vv_lives_are_judged(engine, each->batch)) {
        each->why = "a shorter retention is taking effect, and what is late may be too late then: "
                    "send again in some seconds";
        return VV_OVERLOAD;
    }
    struct vv_head_figures head;
    vv_head_read_figures(engine->head, &head);
    if (head.bytes + each->batch->bytes > (uint64_t)engine->settings.head_bytes_max) {
        return VV_OVERLOAD;
    }
    each->stamp = vv_engine_next_stamp(engine);
    size_t bytes = engine->round_bytes.size;
    size_t records = round->n_records;
    size_t settling = round->n_settling;
    bool encoded = add_batch(engine, round, each);
    enum vv_status status =
        encoded ? vv_head_prepare(engine->head, each->batch, each->stamp) : VV_NO_MEMORY;
    if (status == VV_OK && deletion) { /* it has no points: the head has nothing to forget */
        status = vv_deletions_prepare(engine->deletions, deletion, each->stamp);
    }
    if (status != VV_OK) {
        engine->round_bytes.failed = false; /* content up to `bytes` is whole */
        engine->round_bytes.size = bytes;
        round->n_records = records;
        round->n_settling = settling;
        return status;
    }
    engine->last_stamp = each->stamp;
    round->points += each->batch->points;
    round->history_points += each->is_history ? each->batch->points : 0;
    round->orders += deletion != NULL;
    return VV_OK;
}

/* ---- after the journal ---- */

static void observe_times(struct vv_engine *engine, const struct vv_batch *batch)
{
    for (size_t i = 0; i < batch->n_frames; i++) {
        const struct vv_frame *frame = &batch->frames[i];
        for (size_t row = 0; row < frame->n_rows; row++) {
            vv_registry_source_observe(engine->registry, frame->sources[row], frame->times[row],
                                       frame->times[row]);
        }
    }
}

/* The generation's least time, before anything of the round is answered: see beat.c. */
static void note_accepted(struct vv_engine *engine, const struct round *round)
{
    if (round->points > 0 || round->orders > 0) {
        int64_t now = engine->clock->wall_ns(engine->clock);
        pthread_mutex_lock(&engine->lock);
        if (now < engine->accepted_since_ns) {
            engine->accepted_since_ns = now;
        }
        pthread_mutex_unlock(&engine->lock);
    }
}

static void accept(struct vv_engine *engine, struct round *round)
{
    for (size_t i = 0; i < round->n_settling; i++) {
        vv_registry_settle(engine->registry, (enum vv_registry_kind)round->settling[i].kind,
                           round->settling[i].number, round->versions[i]);
    }
    note_accepted(engine, round);
    for (size_t i = 0; i < round->n; i++) {
        struct vv_submission *each = round->submissions[i];
        if (each->status == VV_OK) {
            engine->applied_stamp = each->stamp ? each->stamp : engine->applied_stamp;
            each->stamp = engine->applied_stamp;
            observe_times(engine, each->batch);
        }
    }
    vv_deletions_publish(engine->deletions);
    vv_head_publish(engine->head);
    if (engine->generation_since_ns == 0 && round->n_records > 0) {
        engine->generation_since_ns = engine->clock->monotonic_ns(engine->clock);
    }
    engine->bytes_since_cut += engine->round_bytes.size;
    engine->points_since_cut += round->points;
    engine->history_since_cut += round->history_points;
}

static void account(struct vv_engine *engine, const struct vv_submission *each)
{
    struct vv_account_cell *cell = vv_account_of(engine, each->batch->tenant);
    if (!cell || each->batch->points == 0) {
        return;
    }
    if (each->status == VV_OK) {
        atomic_fetch_add(&cell->accepted, each->batch->points);
        atomic_fetch_add(&cell->accepted_here, each->batch->points);
    } else if (each->status == VV_UNKNOWN) {
        atomic_fetch_add(&cell->unknown, each->batch->points);
    } else {
        atomic_fetch_add(&cell->refused[VV_REASON_OVERLOAD], each->batch->points);
    }
}

static const char *message_for(const struct vv_submission *each, const struct vv_error *error)
{
    if (each->why) {
        return each->why;
    }
    switch (each->status) {
    case VV_OK:
        return "";
    case VV_OVERLOAD:
        return "the memory for points that wait for the store is full: send again later";
    case VV_NO_MEMORY:
        return "out of memory, or a batch too large for the journal: send smaller batches";
    default:
        return error->message;
    }
}

static void complete(struct vv_engine *engine, struct round *round, const struct vv_error *error)
{
    int64_t now = engine->clock->monotonic_ns(engine->clock);
    for (size_t i = 0; i < round->n; i++) {
        struct vv_submission *each = round->submissions[i];
        account(engine, each);
        vv_histogram_add_duration(each->is_history ? &engine->counters.history_wait
                                                   : &engine->counters.commit_wait,
                                  now - each->queued_ns);
        if (each->to_store && each->status == VV_OK) {
            /* The wait for the store begins: history's rest is no part of it. */
            each->queued_ns = now;
            vv_batch_destroy(each->batch);
            each->batch = NULL;
            vv_acks_hold(engine, each);
            continue;
        }
        each->done(each->context, each->status, message_for(each, error));
        vv_batch_destroy(each->batch);
        free(each);
    }
}

/* ---- the round ---- */

static enum vv_status journal(struct vv_engine *engine, struct round *round, struct vv_error *error)
{
    for (size_t i = 0; i < round->n_records; i++) {
        round->records[i].bytes = engine->round_bytes.data + round->offsets[i];
    }
    struct vv_journal_position end;
    int64_t start = engine->clock->monotonic_ns(engine->clock);
    enum vv_status status =
        vv_journal_commit(engine->journal, round->records, round->n_records, &end, error);
    vv_histogram_add_duration(&engine->counters.commit_duration,
                              engine->clock->monotonic_ns(engine->clock) - start);
    atomic_store(&engine->journal_full, status == VV_FULL);
    if (status != VV_OK) {
        char text[600];
        vv_log(VV_LOG_ERROR, "commit_failed", "status=%s message=%s", vv_status_name(status),
               vv_log_quote(error->message, strlen(error->message), text, sizeof text));
    }
    return status;
}

static void note_history(struct vv_engine *engine, const struct round *round, int64_t start_ns)
{
    int64_t now = engine->clock->monotonic_ns(engine->clock);
    pthread_mutex_lock(&engine->lock);
    if (round->history_points > 0) {
        vv_history_spend(&engine->history, VV_HISTORY_WRITES, now, now - start_ns);
    } else if (round->points > 0) {
        vv_history_note_answered(&engine->history);
    }
    pthread_mutex_unlock(&engine->lock);
}

enum vv_status vv_commit_round(struct vv_engine *engine)
{
    struct round round = {0};
    struct vv_error error = {0};
    int64_t start = engine->clock->monotonic_ns(engine->clock);
    take_waiting(engine, &round);
    if (round.n == 0) {
        return VV_DONE;
    }
    size_t definitions = engine->definitions.n;
    vv_buffer_clear(&engine->round_bytes);
    for (size_t i = 0; i < round.n; i++) {
        round.submissions[i]->status = prepare(engine, &round, round.submissions[i]);
    }
    enum vv_status status = round.n_records ? journal(engine, &round, &error) : VV_OK;
    if (status == VV_OK) {
        accept(engine, &round);
    } else {
        vv_head_forget(engine->head);
        vv_deletions_forget(engine->deletions);
        if (status != VV_UNKNOWN) { /* unknown: a restart may bring them back */
            engine->definitions.n = definitions;
        }
        for (size_t i = 0; i < round.n; i++) {
            struct vv_submission *each = round.submissions[i];
            each->status = each->status == VV_OK ? status : each->status;
        }
    }
    vv_histogram_add_count(&engine->counters.commit_batches, round.n);
    vv_histogram_add_count(&engine->counters.commit_points, round.points);
    complete(engine, &round, &error);
    note_history(engine, &round, start);
    free(round.records);
    free(round.offsets);
    free(round.settling);
    free(round.versions);
    return VV_OK;
}

/* ---- cutting ---- */

static enum vv_status snapshot_accounts(struct vv_engine *engine, struct vv_job *job)
{
    uint32_t tenants = vv_registry_tenant_count(engine->registry);
    job->accounts = calloc(tenants ? tenants : 1, sizeof *job->accounts);
    if (!job->accounts) {
        return VV_NO_MEMORY;
    }
    for (uint32_t i = 0; i < tenants; i++) {
        struct vv_account account;
        vv_engine_read_account(engine, i, &account);
        if (account.accepted) {
            job->accounts[job->n_accounts++] = (struct vv_account_snapshot){i, account.accepted};
        }
    }
    return VV_OK;
}

static bool acks_want_cut(struct vv_engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    bool want = vv_acks_want_cut(engine);
    pthread_mutex_unlock(&engine->lock);
    return want;
}

static bool cut_is_due(struct vv_engine *engine)
{
    struct vv_head_figures head;
    vv_head_read_figures(engine->head, &head);
    int64_t age = engine->clock->monotonic_ns(engine->clock) - engine->generation_since_ns;
    return head.active_bytes >= (uint64_t)engine->settings.head_flush_bytes ||
           engine->bytes_since_cut >= (uint64_t)engine->settings.journal_bytes_max / 4 ||
           (engine->generation_since_ns && age >= engine->settings.head_flush_age_ns);
}

static void queue_job(struct vv_engine *engine, struct vv_job *job)
{
    job->position = vv_journal_cut(engine->journal);
    job->stamp = engine->applied_stamp;
    job->run = vv_engine_next_stamp(engine);
    engine->last_stamp = job->run;
    engine->cut_stamp = job->stamp;
    job->definitions = engine->definitions;
    engine->definitions = (struct vv_definition_list){0};
    job->points = engine->points_since_cut;
    job->history_points = engine->history_since_cut;
    engine->generation_since_ns = 0;
    engine->bytes_since_cut = 0;
    engine->points_since_cut = 0;
    engine->history_since_cut = 0;
    pthread_mutex_lock(&engine->lock);
    job->ticket = engine->flush_requested;
    job->accepted_since_ns = engine->accepted_since_ns;
    engine->accepted_since_ns = INT64_MAX;
    engine->flush_cut = engine->flush_requested;
    if (engine->job_last) {
        engine->job_last->next = job;
    } else {
        engine->job_first = job;
    }
    engine->job_last = job;
    pthread_cond_broadcast(&engine->storage_wakes);
    pthread_mutex_unlock(&engine->lock);
}

enum vv_status vv_commit_cut(struct vv_engine *engine, bool anyway)
{
    anyway = anyway || acks_want_cut(engine);
    if (!anyway && !cut_is_due(engine)) {
        return VV_DONE;
    }
    struct vv_job *job = calloc(1, sizeof *job);
    enum vv_status status = job ? snapshot_accounts(engine, job) : VV_NO_MEMORY;
    if (status == VV_OK) {
        status = vv_head_cut(engine->head, &job->generation);
        bool has_records = anyway || engine->definitions.n > 0;
        status = status == VV_DONE && has_records ? VV_OK : status; /* records only */
    }
    if (status != VV_OK) {
        vv_job_destroy(job);
        return status;
    }
    queue_job(engine, job);
    return VV_OK;
}

/* ---- the thread ---- */

/* `blocked`: a cut that is due could not be made; only time helps. */
static void wait_for_work(struct vv_engine *engine, bool blocked)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    pthread_mutex_lock(&engine->lock);
    int64_t now = engine->clock->monotonic_ns(engine->clock);
    int64_t rest_ns = engine->queue.history.first ? history_rests_ns(engine, now) : 0;
    int64_t wait_ns = blocked ? VV_SECOND : vv_acks_patience(engine, VV_SECOND);
    bool is_idle = !engine->stopping && engine->flush_cut == engine->flush_requested && wait_ns > 0;
    wait_ns = rest_ns > 0 && rest_ns < wait_ns ? rest_ns : wait_ns;
    until.tv_sec += wait_ns / VV_SECOND; /* a second at most: generations are cut by age, too */
    until.tv_nsec += wait_ns % VV_SECOND;
    until.tv_sec += until.tv_nsec / VV_SECOND;
    until.tv_nsec %= VV_SECOND;
    if (!vv_queue_has_some(&engine->queue, rest_ns == 0) && (is_idle || blocked)) {
        pthread_cond_timedwait(&engine->committer_wakes, &engine->lock, &until);
    }
    pthread_mutex_unlock(&engine->lock);
}

void *vv_commit_thread(void *context)
{
    struct vv_engine *engine = context;
    pthread_setname_np(pthread_self(), "committer");
    vv_turns_shorten();
    for (;;) {
        vv_acks_answer(engine);
        enum vv_status status = vv_commit_round(engine);
        pthread_mutex_lock(&engine->lock);
        bool requested = engine->flush_cut != engine->flush_requested;
        bool finished = engine->stopping && vv_queue_is_empty(&engine->queue);
        pthread_mutex_unlock(&engine->lock);
        enum vv_status cut = vv_commit_cut(engine, requested || finished);
        if (finished && cut != VV_NO_MEMORY) {
            break; /* on VV_OVERLOAD the journal keeps what was not cut */
        }
        if (status == VV_DONE) {
            wait_for_work(engine, cut == VV_OVERLOAD || cut == VV_NO_MEMORY);
        }
    }
    pthread_mutex_lock(&engine->lock);
    engine->committed = true;
    pthread_cond_broadcast(&engine->storage_wakes);
    pthread_cond_broadcast(&engine->waiters_wake);
    pthread_mutex_unlock(&engine->lock);
    return NULL;
}
