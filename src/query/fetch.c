/* SPDX-License-Identifier: Apache-2.0 */
#include "query/fetch.h"

#include "query/peers.h"

#include <stdlib.h>

#define ENTRIES     48
#define AHEAD_MAX   32 /* asked for and not used yet */
#define AHEAD_FIRST 4
#define SHARE       8 /* of the query's memory for answers that wait */

struct entry {
    struct vv_store_answer *answer; /* NULL: free */
    struct vv_store_read read;
    uint64_t drops; /* of the head, before it was asked for */
    uint64_t order; /* of asking, or of the last use */
    bool used;
};

/* Where the next read is foreseen. */
struct cursor {
    bool ended;
    size_t source; /* in the order of sources */
    uint32_t measurement;
    struct vv_bucket bucket;
    uint32_t split; /* of the bucket: the next one */
};

struct vv_fetch {
    const struct vv_query_context *context;
    size_t memory_max;
    const uint32_t *sources;
    size_t n_sources;
    int64_t from;
    int64_t to;
    bool descending;
    struct entry entries[ENTRIES];
    uint64_t order;
    struct cursor cursor;
    bool has_cursor;
    uint32_t ahead;         /* how many may be asked for and not used */
    uint64_t bytes_visited; /* of answers, for their mean size */
    uint64_t visits;
};

struct vv_fetch *vv_fetch_create(const struct vv_query_context *context, size_t memory_max)
{
    struct vv_fetch *fetch = context->store->ops->begin_read ? calloc(1, sizeof *fetch) : NULL;
    if (fetch) {
        fetch->context = context;
        fetch->memory_max = memory_max;
    }
    return fetch;
}

static void forget(struct vv_fetch *fetch, struct entry *entry)
{
    if (entry->answer) {
        fetch->context->store->ops->end_read(entry->answer);
        *entry = (struct entry){0};
    }
}

void vv_fetch_destroy(struct vv_fetch *fetch)
{
    if (fetch) {
        for (size_t i = 0; i < ENTRIES; i++) {
            forget(fetch, &fetch->entries[i]);
        }
        free(fetch);
    }
}

void vv_fetch_expect(struct vv_fetch *fetch, const uint32_t *sources, size_t n, int64_t from,
                     int64_t to, bool descending, bool few)
{
    if (fetch) {
        fetch->sources = sources;
        fetch->n_sources = n;
        fetch->from = from;
        fetch->to = to;
        fetch->descending = descending;
        fetch->has_cursor = false;
        fetch->ahead = few ? 0 : AHEAD_FIRST;
    }
}

/* ---- the cursor ---- */

/* What of the asked range a source has, as far as this node knows; false: nothing. */
static bool range_of(const struct vv_fetch *fetch, uint32_t source, int64_t *from_out,
                     int64_t *to_out)
{
    int64_t first;
    int64_t last;
    if (!vv_registry_source_times(fetch->context->registry, source, &first, &last)) {
        return false;
    }
    *from_out = first > fetch->from ? first : fetch->from;
    *to_out = last < fetch->to ? last + (last < INT64_MAX) : fetch->to;
    return *from_out < *to_out;
}

/* To the first bucket of the next source that can have something. */
static bool next_source(struct vv_fetch *fetch, size_t index)
{
    struct vv_registry *registry = fetch->context->registry;
    for (; index < fetch->n_sources; index++) {
        int64_t from;
        int64_t to;
        uint32_t source = fetch->sources[index];
        struct vv_plans plans = vv_registry_source_plans(registry, source);
        if (plans.n > 0 && range_of(fetch, source, &from, &to)) {
            fetch->cursor.source = index;
            fetch->cursor.bucket =
                vv_bucket_of(plans.plans, plans.n, fetch->descending ? to - 1 : from);
            fetch->cursor.split = 0;
            return true;
        }
    }
    fetch->cursor.ended = true;
    return false;
}

static bool overlaps(const struct vv_bucket *bucket, int64_t from, int64_t to)
{
    return bucket->start < to && bucket->end > from;
}

static bool next_bucket(struct vv_fetch *fetch)
{
    struct cursor *cursor = &fetch->cursor;
    uint32_t source = fetch->sources[cursor->source];
    struct vv_plans plans = vv_registry_source_plans(fetch->context->registry, source);
    struct vv_bucket next;
    int64_t from;
    int64_t to;
    bool known = range_of(fetch, source, &from, &to);
    if (vv_peers_may_write(fetch->context) && (!known || !overlaps(&cursor->bucket, from, to))) {
        known = true; /* the scan found what others wrote: there may be more */
        from = fetch->from;
        to = fetch->to;
    }
    bool inside =
        known && vv_bucket_next(plans.plans, plans.n, &cursor->bucket, !fetch->descending, &next) &&
        overlaps(&next, from, to);
    if (!inside) {
        return next_source(fetch, cursor->source + 1);
    }
    cursor->bucket = next;
    cursor->split = 0;
    return true;
}

/* The read at the cursor, all of its bucket that was asked for. */
static struct vv_store_read read_at(const struct vv_fetch *fetch)
{
    const struct cursor *cursor = &fetch->cursor;
    const struct vv_bucket *bucket = &cursor->bucket;
    int64_t from = bucket->start > fetch->from ? bucket->start : fetch->from;
    uint32_t source = fetch->sources[cursor->source];
    return (struct vv_store_read){
        .partition = {.tenant = vv_registry_source_tenant(fetch->context->registry, source),
                      .source = source,
                      .bucket_start = bucket->start,
                      .bucket_ns = bucket->bucket_ns,
                      .split = (uint16_t)cursor->split},
        .measurement = cursor->measurement,
        .span_from = vv_span_of(bucket, from),
        .span_to = bucket->end < fetch->to ? bucket->end : fetch->to,
        .span_ns = bucket->span_ns,
    };
}

static bool step(struct vv_fetch *fetch)
{
    struct cursor *cursor = &fetch->cursor;
    if (cursor->ended) {
        return false;
    }
    cursor->split++;
    return cursor->split < cursor->bucket.splits || next_bucket(fetch);
}

/* Puts the cursor on a read that was not foreseen; false when it isn't one of the expected. */
static bool place(struct vv_fetch *fetch, const struct vv_store_read *read)
{
    size_t start = fetch->has_cursor ? fetch->cursor.source : 0;
    size_t index = 0;
    for (size_t i = 0; i < fetch->n_sources; i++) {
        index = (start + i) % fetch->n_sources;
        if (fetch->sources[index] == read->partition.source) {
            break;
        }
    }
    if (fetch->n_sources == 0 || fetch->sources[index] != read->partition.source) {
        return false;
    }
    struct vv_plans plans =
        vv_registry_source_plans(fetch->context->registry, read->partition.source);
    if (plans.n == 0) {
        return false;
    }
    /* A bucket that the next plan cut short starts before its first time at times. */
    struct vv_bucket bucket = vv_bucket_of(plans.plans, plans.n, read->span_from);
    if (bucket.start != read->partition.bucket_start) {
        return false;
    }
    fetch->cursor = (struct cursor){.source = index,
                                    .measurement = read->measurement,
                                    .bucket = bucket,
                                    .split = read->partition.split};
    fetch->has_cursor = true;
    return true;
}

/* ---- entries ---- */

static bool is_partition(const struct vv_store_read *a, const struct vv_store_read *b)
{
    return a->partition.source == b->partition.source &&
           a->partition.bucket_start == b->partition.bucket_start &&
           a->partition.bucket_ns == b->partition.bucket_ns &&
           a->partition.split == b->partition.split && a->measurement == b->measurement;
}

static struct entry *find(struct vv_fetch *fetch, const struct vv_store_read *read)
{
    for (size_t i = 0; i < ENTRIES; i++) {
        struct entry *entry = &fetch->entries[i];
        if (entry->answer && is_partition(&entry->read, read) &&
            entry->read.span_ns == read->span_ns && entry->read.span_from <= read->span_from &&
            entry->read.span_to >= read->span_to) {
            return entry;
        }
    }
    return NULL;
}

/* A free one: else the used one that was not used for longest, else the one asked for last. */
static struct entry *make_room(struct vv_fetch *fetch)
{
    struct entry *best = NULL;
    for (size_t i = 0; i < ENTRIES; i++) {
        struct entry *entry = &fetch->entries[i];
        if (!entry->answer) {
            return entry;
        }
        bool better = !best || (entry->used && !best->used) ||
                      (entry->used == best->used &&
                       (entry->used ? entry->order < best->order : entry->order > best->order));
        best = better ? entry : best;
    }
    forget(fetch, best);
    return best;
}

static enum vv_status begin(struct vv_fetch *fetch, const struct vv_store_read *read,
                            struct entry **entry_out, struct vv_error *error)
{
    struct vv_store *store = fetch->context->store;
    struct entry *entry = make_room(fetch);
    uint64_t drops = vv_head_drops(fetch->context->head);
    enum vv_status status = store->ops->begin_read(store, read, &entry->answer, error);
    if (status != VV_OK) {
        *entry = (struct entry){0};
        return status;
    }
    entry->read = *read;
    entry->drops = drops;
    entry->order = ++fetch->order;
    *entry_out = entry;
    return VV_OK;
}

/* How many may wait: fewer where answers are large. */
static uint32_t allowed(const struct vv_fetch *fetch)
{
    uint64_t mean = fetch->visits ? fetch->bytes_visited / fetch->visits + 1 : 1;
    uint64_t fit = fetch->memory_max / SHARE / mean;
    uint32_t most = fit < AHEAD_MAX ? (uint32_t)fit : AHEAD_MAX;
    return fetch->ahead < most ? fetch->ahead : most;
}

/* What can't be asked for ahead is asked for when it is read. */
static void run_ahead(struct vv_fetch *fetch)
{
    uint32_t waiting = 0;
    for (size_t i = 0; i < ENTRIES; i++) {
        waiting += fetch->entries[i].answer && !fetch->entries[i].used;
    }
    uint32_t most = allowed(fetch);
    while (waiting < most && step(fetch)) {
        struct vv_store_read read = read_at(fetch);
        struct entry *entry;
        if (find(fetch, &read)) {
            continue;
        }
        if (begin(fetch, &read, &entry, NULL) != VV_OK) {
            return;
        }
        waiting++;
    }
}

/* ---- reading ---- */

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
static void learn(struct vv_fetch *fetch, bool foreseen, const struct filter *filter)
{
    fetch->bytes_visited += filter->bytes;
    fetch->visits++;
    if (!filter->found || !foreseen) {
        fetch->ahead = fetch->ahead > AHEAD_FIRST ? AHEAD_FIRST : fetch->ahead;
    }
    uint32_t more = fetch->ahead ? fetch->ahead * 2 : 1;
    if (filter->found) {
        fetch->ahead = more < AHEAD_MAX ? more : AHEAD_MAX;
    }
}

static enum vv_status read_fetched(struct vv_fetch *fetch, const struct vv_store_read *read,
                                   vv_piece_visit visit, void *visit_context,
                                   struct vv_error *error)
{
    struct entry *entry = find(fetch, read);
    if (entry && entry->drops != vv_head_drops(fetch->context->head)) {
        forget(fetch, entry);
        entry = NULL;
    }
    bool foreseen = entry != NULL;
    enum vv_status status = VV_OK;
    if (!entry) {
        status = begin(fetch, read, &entry, error);
        if (status != VV_OK) {
            return status;
        }
        if (!place(fetch, read)) {
            fetch->cursor.ended = true;
        }
    }
    entry->used = true;
    entry->order = ++fetch->order;
    run_ahead(fetch);
    struct filter filter = {read, visit, visit_context, 0, false};
    status = fetch->context->store->ops->visit_read(entry->answer, filter_piece, &filter, error);
    learn(fetch, foreseen, &filter);
    if (status == VV_OVERLOAD && foreseen) { /* it was asked for at a bad time: once more */
        forget(fetch, entry);
        return read_fetched(fetch, read, visit, visit_context, error);
    }
    return status;
}

enum vv_status vv_fetch_read(const struct vv_query_context *context,
                             const struct vv_store_read *read, vv_piece_visit visit,
                             void *visit_context, struct vv_error *error)
{
    if (context->fetch) {
        return read_fetched(context->fetch, read, visit, visit_context, error);
    }
    return context->store->ops->read(context->store, read, visit, visit_context, error);
}
