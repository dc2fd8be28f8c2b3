/* SPDX-License-Identifier: Apache-2.0 */
/* Reads of tiers. Of the coarsest level a window is a bucket, and a source's windows are known from
 * the range; of finer ones, which fill gaps, the next source is taken to want what the one before
 * it did. */
#include "query/fetch_private.h"

#include "query/peers.h"
#include "tier/cohort.h"

void vv_fetch_expect_tiers(struct vv_fetch *fetch, const uint32_t *sources, size_t n, int64_t from,
                           int64_t to, bool descending, bool few)
{
    if (fetch) {
        fetch->tiers = (struct vv_fetch_order){sources, n, from, to, descending, few};
        for (size_t level = 0; level < VV_SPACES; level++) {
            for (size_t slot = 0; slot < VV_FETCH_SHAPES; slot++) {
                fetch->tier_cursors[level][slot] =
                    (struct vv_fetch_tier_cursor){.ahead = few ? 0 : VV_FETCH_AHEAD_FIRST};
            }
        }
        vv_fetch_forget_gaps(fetch);
    }
}

/* What of the range is read of a source, or cohort; false: nothing, or nobody knows. What others
 * wrote, or cohorts have, may lie anywhere: of a long range it is not asked for ahead but where
 * this node knows of something. */
static bool range_of(const struct vv_fetch *fetch, const struct vv_fetch_tier_cursor *cursor,
                     size_t index, int64_t *from_out, int64_t *to_out)
{
    const struct vv_fetch_order *order = &fetch->tiers;
    bool may_be_anywhere =
        vv_peers_may_write(fetch->context) || vv_cohort_is(order->sources[index]);
    if (may_be_anywhere &&
        vv_fetch_is_short(order->from, order->to, cursor->read.partition.bucket_ns)) {
        *from_out = order->from;
        *to_out = order->to;
        return order->from < order->to;
    }
    return vv_fetch_known(fetch, order, order->sources[index], from_out, to_out);
}

/* Makes the cursor's read that of a bucket, as the scan will want it at most. */
static void set_bucket(const struct vv_fetch *fetch, struct vv_fetch_tier_cursor *cursor,
                       int64_t start)
{
    struct vv_store_read *read = &cursor->read;
    int64_t from = vv_time_floor(fetch->tiers.from, cursor->unit_ns);
    int64_t to = vv_time_ceil(fetch->tiers.to, cursor->unit_ns);
    int64_t end = start + read->partition.bucket_ns;
    read->partition.source = fetch->tiers.sources[cursor->source];
    read->partition.bucket_start = start;
    read->span_from = from > start ? from : start;
    read->span_to = to < end ? to : end;
}

/* To the first bucket of the next source that can have something. */
static bool next_source(const struct vv_fetch *fetch, struct vv_fetch_tier_cursor *cursor)
{
    int64_t from;
    int64_t to;
    while (++cursor->source < fetch->tiers.n) {
        if (range_of(fetch, cursor, cursor->source, &from, &to)) {
            int64_t time = fetch->tiers.descending ? to - 1 : from;
            set_bucket(fetch, cursor, vv_time_floor(time, cursor->read.partition.bucket_ns));
            return true;
        }
    }
    cursor->placed = false;
    return false;
}

static bool step_in_range(const struct vv_fetch *fetch, struct vv_fetch_tier_cursor *cursor)
{
    const struct vv_partition *partition = &cursor->read.partition;
    int64_t from;
    int64_t to;
    int64_t length = fetch->tiers.descending ? -partition->bucket_ns : partition->bucket_ns;
    int64_t start = partition->bucket_start + length;
    bool is_inside = range_of(fetch, cursor, cursor->source, &from, &to) && start < to &&
                     start + partition->bucket_ns > from;
    if (is_inside) {
        set_bucket(fetch, cursor, start);
        return true;
    }
    return next_source(fetch, cursor);
}

static bool step(const struct vv_fetch *fetch, struct vv_fetch_tier_cursor *cursor)
{
    if (cursor->placed && cursor == &fetch->tier_cursors[0][0]) {
        return fetch->tiers.few ? next_source(fetch, cursor) : step_in_range(fetch, cursor);
    }
    cursor->placed = cursor->placed && ++cursor->source < fetch->tiers.n;
    if (cursor->placed) {
        cursor->read.partition.source = fetch->tiers.sources[cursor->source];
    }
    return cursor->placed;
}

static bool is_shape(const struct vv_store_read *a, const struct vv_store_read *b)
{
    return a->partition.tenant == b->partition.tenant &&
           a->partition.bucket_start == b->partition.bucket_start &&
           a->partition.bucket_ns == b->partition.bucket_ns &&
           a->partition.split == b->partition.split && a->measurement == b->measurement &&
           a->span_from == b->span_from && a->span_to == b->span_to && a->span_ns == b->span_ns &&
           a->heads_only == b->heads_only;
}

/* Sources have several gaps each that a finer level fills: the slot of this one, or else the one
 * that was not used for longest. */
static size_t slot_of(const struct vv_fetch *fetch, size_t level, const struct vv_store_read *read)
{
    const struct vv_fetch_tier_cursor *cursors = fetch->tier_cursors[level];
    size_t oldest = 0;
    for (size_t slot = 0; slot < VV_FETCH_SHAPES && level > 0; slot++) {
        if (cursors[slot].placed && is_shape(&cursors[slot].read, read)) {
            return slot;
        }
        oldest = cursors[slot].used < cursors[oldest].used ? slot : oldest;
    }
    return oldest;
}

/* What waits of a level, and was foreseen wrongly. Cohorts' records wait while what they leave is
 * read of their sources. */
static void drop_waiting(struct vv_fetch *fetch, unsigned kind, size_t slot, bool of_cohorts)
{
    for (size_t i = 0; i < VV_FETCH_ENTRIES; i++) {
        struct vv_fetch_entry *entry = &fetch->entries[i];
        if (vv_fetch_waits(entry, kind) && entry->slot == slot &&
            vv_cohort_is(entry->read.partition.source) == of_cohorts) {
            vv_fetch_forget(fetch, entry);
        }
    }
}

/* Puts the cursor on a read; where it isn't one of the expected, nothing more is foreseen, nor
 * where the store reads several buckets at once. */
static void place(struct vv_fetch *fetch, const struct vv_fetch_tier *tier,
                  struct vv_fetch_tier_cursor *cursor, const struct vv_store_read *read)
{
    const struct vv_fetch_order *order = &fetch->tiers;
    size_t start = cursor->source;
    cursor->placed = false;
    for (size_t i = 0; i < order->n && !cursor->placed && read->n_buckets <= 1; i++) {
        size_t index = (start + i) % order->n;
        if (order->sources[index] == read->partition.source) {
            cursor->placed = true;
            cursor->source = index;
            cursor->read = *read;
            cursor->unit_ns = tier->unit_ns;
        }
    }
}

static void run_ahead(struct vv_fetch *fetch, size_t level, size_t slot)
{
    struct vv_fetch_tier_cursor *cursor = &fetch->tier_cursors[level][slot];
    unsigned kind = VV_FETCH_LEVEL + (unsigned)level;
    uint32_t limit = level == 0 ? VV_FETCH_TIERS_MAX : VV_FETCH_SHAPE_MAX;
    uint32_t most = vv_fetch_fitting(fetch);
    most = most < limit ? most : limit;
    most = cursor->ahead < most ? cursor->ahead : most;
    uint32_t waiting = vv_fetch_waiting(fetch, kind, slot);
    while (waiting < most && step(fetch, cursor)) {
        struct vv_fetch_entry *entry;
        if (vv_fetch_find(fetch, &cursor->read)) {
            continue;
        }
        if (vv_fetch_begin(fetch, &cursor->read, kind, slot, &entry, NULL) != VV_OK) {
            return;
        }
        waiting++;
    }
}

enum vv_status vv_fetch_read_tier(const struct vv_query_context *context,
                                  const struct vv_store_read *read,
                                  const struct vv_fetch_tier *tier, vv_piece_visit visit,
                                  void *visit_context, bool *again_out, struct vv_error *error)
{
    struct vv_fetch *fetch = context->fetch;
    unsigned kind = VV_FETCH_LEVEL + (unsigned)tier->level;
    *again_out = false;
    if (!fetch || fetch->tiers.n == 0) {
        return context->store->ops->read(context->store, read, visit, visit_context, error);
    }
    size_t slot = slot_of(fetch, tier->level, read);
    struct vv_fetch_tier_cursor *cursor = &fetch->tier_cursors[tier->level][slot];
    struct vv_fetch_entry *entry = vv_fetch_find(fetch, read);
    bool foreseen = entry != NULL;
    enum vv_status status = VV_OK;
    if (!entry || !cursor->placed) {
        place(fetch, tier, cursor, read);
    }
    cursor->used = ++fetch->order;
    if (!entry) {
        drop_waiting(fetch, kind, slot, vv_cohort_is(read->partition.source));
        status = vv_fetch_begin(fetch, read, kind, slot, &entry, error);
    }
    if (status != VV_OK) {
        return status;
    }
    vv_fetch_note_used(fetch, entry);
    run_ahead(fetch, tier->level, slot);
    const struct vv_fetch_visit how = {visit, visit_context, foreseen, &cursor->ahead};
    status = vv_fetch_use(fetch, entry, read, &how, error);
    if (status == VV_OVERLOAD && foreseen) { /* it was asked for at a bad time */
        vv_fetch_forget(fetch, entry);
        *again_out = true;
    }
    return status;
}

enum vv_status vv_fetch_read_kept(const struct vv_query_context *context,
                                  const struct vv_store_read *read, vv_piece_visit visit,
                                  void *visit_context, struct vv_error *error)
{
    struct vv_fetch *fetch = context->fetch;
    if (!fetch) {
        return context->store->ops->read(context->store, read, visit, visit_context, error);
    }
    struct vv_fetch_entry *entry = vv_fetch_find(fetch, read);
    enum vv_status status =
        entry ? VV_OK : vv_fetch_begin(fetch, read, VV_FETCH_KEPT, 0, &entry, error);
    if (status != VV_OK) {
        return status;
    }
    vv_fetch_note_used(fetch, entry);
    const struct vv_fetch_visit how = {visit, visit_context, true, NULL};
    status = vv_fetch_use(fetch, entry, read, &how, error);
    if (status != VV_OK) { /* it is not to be kept */
        vv_fetch_forget(fetch, entry);
    }
    return status;
}
