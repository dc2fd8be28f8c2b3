/* SPDX-License-Identifier: Apache-2.0 */
/* The answers that were asked for: those that wait, and those that may be used again. */
#include "query/fetch_private.h"

#define SHARE 8 /* of the query's memory: for answers that wait, and for those that were used */

static uint64_t sweeps_of(const struct vv_fetch *fetch)
{
    struct vv_deletions *deletions = fetch->context->deletions;
    return deletions ? vv_deletions_sweeps(deletions) : 0;
}

void vv_fetch_forget(struct vv_fetch *fetch, struct vv_fetch_entry *entry)
{
    if (entry->answer) {
        fetch->context->store->ops->end_read(entry->answer);
        *entry = (struct vv_fetch_entry){0};
    }
}

void vv_fetch_note_used(struct vv_fetch *fetch, struct vv_fetch_entry *entry)
{
    entry->used = true;
    entry->order = ++fetch->order;
}

uint32_t vv_fetch_fitting(const struct vv_fetch *fetch)
{
    uint64_t mean = fetch->visits ? fetch->bytes_visited / fetch->visits + 1 : 1;
    uint64_t fit = fetch->memory_max / SHARE / mean;
    return fit < VV_FETCH_AHEAD_MAX ? (uint32_t)fit : VV_FETCH_AHEAD_MAX;
}

bool vv_fetch_waits(const struct vv_fetch_entry *entry, unsigned kind)
{
    return entry->answer && !entry->used && entry->kind == kind;
}

uint32_t vv_fetch_waiting(const struct vv_fetch *fetch, unsigned kind, size_t slot)
{
    uint32_t waiting = 0;
    for (size_t i = 0; i < VV_FETCH_ENTRIES; i++) {
        const struct vv_fetch_entry *entry = &fetch->entries[i];
        waiting += vv_fetch_waits(entry, kind) && entry->slot == slot;
    }
    return waiting;
}

static bool is_partition(const struct vv_store_read *a, const struct vv_store_read *b)
{
    return a->partition.tenant == b->partition.tenant &&
           a->partition.source == b->partition.source &&
           a->partition.bucket_start == b->partition.bucket_start &&
           a->partition.bucket_ns == b->partition.bucket_ns &&
           a->partition.split == b->partition.split && a->partition.region == b->partition.region &&
           a->measurement == b->measurement;
}

static struct vv_fetch_entry *find(struct vv_fetch *fetch, const struct vv_store_read *read)
{
    for (size_t i = 0; i < VV_FETCH_ENTRIES; i++) {
        struct vv_fetch_entry *entry = &fetch->entries[i];
        if (entry->answer && is_partition(&entry->read, read) &&
            entry->read.span_ns == read->span_ns && entry->read.heads_only == read->heads_only &&
            entry->read.span_from <= read->span_from && entry->read.span_to >= read->span_to) {
            return entry;
        }
    }
    return NULL;
}

/* A free one: else the used one that was not used for longest, else the one asked for last. */
static struct vv_fetch_entry *make_room(struct vv_fetch *fetch)
{
    struct vv_fetch_entry *best = NULL;
    for (size_t i = 0; i < VV_FETCH_ENTRIES; i++) {
        struct vv_fetch_entry *entry = &fetch->entries[i];
        if (!entry->answer) {
            return entry;
        }
        bool better = !best || (entry->used && !best->used) ||
                      (entry->used == best->used &&
                       (entry->used ? entry->order < best->order : entry->order > best->order));
        best = better ? entry : best;
    }
    vv_fetch_forget(fetch, best);
    return best;
}

struct vv_fetch_entry *vv_fetch_find(struct vv_fetch *fetch, const struct vv_store_read *read)
{
    struct vv_fetch_entry *entry = find(fetch, read);
    bool holds = entry && entry->epoch == vv_fetch_epoch(fetch->context) &&
                 (entry->kind == VV_FETCH_POINTS || entry->sweeps == sweeps_of(fetch));
    if (entry && !holds) {
        vv_fetch_forget(fetch, entry);
        entry = NULL;
    }
    return entry;
}

enum vv_status vv_fetch_begin(struct vv_fetch *fetch, const struct vv_store_read *read,
                              unsigned kind, size_t slot, struct vv_fetch_entry **entry_out,
                              struct vv_error *error)
{
    struct vv_store *store = fetch->context->store;
    struct vv_fetch_entry *entry = make_room(fetch);
    uint64_t epoch = vv_fetch_epoch(fetch->context);
    uint64_t sweeps = sweeps_of(fetch);
    enum vv_status status = store->ops->begin_read(store, read, &entry->answer, error);
    if (status != VV_OK) {
        *entry = (struct vv_fetch_entry){0};
        return status;
    }
    entry->read = *read;
    entry->epoch = epoch;
    entry->sweeps = sweeps;
    entry->order = ++fetch->order;
    entry->kind = kind;
    entry->slot = slot;
    *entry_out = entry;
    return VV_OK;
}

/* ---- using ---- */

struct filter {
    const struct vv_store_read *read;
    vv_piece_visit visit;
    void *context;
    uint64_t bytes;
    bool found;
};

static enum vv_status filter_piece(void *context, const struct vv_piece *piece)
{
    struct filter *filter = context;
    filter->bytes += piece->bytes.size;
    filter->found = true;
    if (piece->key.span_start < filter->read->span_from ||
        piece->key.span_start >= filter->read->span_to) {
        return VV_OK;
    }
    return filter->visit(filter->context, piece);
}

/* Reads that follow the cursor let it run further ahead; where nothing was found, the scan may be
 * about to leap. */
static void learn(struct vv_fetch *fetch, const struct vv_fetch_visit *how,
                  const struct filter *filter)
{
    uint32_t *ahead = how->ahead;
    if (!ahead) {
        return;
    }
    fetch->bytes_visited += filter->bytes;
    fetch->visits++;
    if (!filter->found || !how->foreseen) {
        *ahead = *ahead > VV_FETCH_AHEAD_FIRST ? VV_FETCH_AHEAD_FIRST : *ahead;
    }
    uint32_t more = *ahead ? *ahead * 2 : 1;
    if (filter->found) {
        *ahead = more < VV_FETCH_AHEAD_MAX ? more : VV_FETCH_AHEAD_MAX;
    }
}

/* Other metrics may use them again, but of all together no more is kept than of those that wait. */
static void trim(struct vv_fetch *fetch, const struct vv_fetch_entry *in_use)
{
    for (;;) {
        uint64_t bytes = 0;
        struct vv_fetch_entry *oldest = NULL;
        for (size_t i = 0; i < VV_FETCH_ENTRIES; i++) {
            struct vv_fetch_entry *entry = &fetch->entries[i];
            if (entry->answer && entry->used && entry != in_use) {
                bytes += entry->bytes;
                oldest = !oldest || entry->order < oldest->order ? entry : oldest;
            }
        }
        if (!oldest || bytes <= fetch->memory_max / SHARE) {
            return;
        }
        vv_fetch_forget(fetch, oldest);
    }
}

enum vv_status vv_fetch_use(struct vv_fetch *fetch, struct vv_fetch_entry *entry,
                            const struct vv_store_read *read, const struct vv_fetch_visit *how,
                            struct vv_error *error)
{
    struct filter filter = {read, how->visit, how->context, 0, false};
    enum vv_status status =
        fetch->context->store->ops->visit_read(entry->answer, filter_piece, &filter, error);
    learn(fetch, how, &filter);
    entry->bytes = filter.bytes;
    trim(fetch, entry);
    return status;
}
