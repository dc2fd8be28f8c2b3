/* SPDX-License-Identifier: Apache-2.0 */
#include "query/fetch.h"

#include "query/peers.h"

#include <stdlib.h>

#define ENTRIES     48
#define AHEAD_MAX   32 /* asked for and not used yet */
#define AHEAD_FIRST 4
#define SHARE       8 /* of the query's memory for answers that wait */
#define NEAREST     16

_Static_assert(ENTRIES > AHEAD_MAX, "what is being used stays when others are asked for");

struct entry {
    struct vv_store_answer *answer; /* NULL: free */
    struct vv_store_read read;
    uint64_t epoch; /* before it was asked for */
    uint64_t order; /* of asking, or of the last use */
    bool used;
};

/* What the store said where it has something. */
struct nearest {
    uint8_t region;
    bool forward;
    uint32_t tenant;
    uint32_t source;
    int64_t bucket_start;
    uint64_t epoch;        /* before it was asked */
    enum vv_status status; /* VV_OK, or VV_DONE for nothing */
    int64_t start;
};

/* Where the next read of a region is foreseen. */
struct cursor {
    uint8_t region;
    bool placed;
    bool ended;
    size_t source; /* in the order of sources */
    uint32_t measurement;
    struct vv_bucket bucket;
    uint32_t split; /* of the bucket: the next one */
    uint32_t ahead; /* how many may be asked for and not used */
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
    struct nearest nearest[NEAREST]; /* the oldest is overwritten */
    uint64_t n_nearest;
    struct cursor cursors[VV_REGIONS_MAX];
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
        for (uint8_t region = 0; region < VV_REGIONS_MAX; region++) {
            fetch->cursors[region] =
                (struct cursor){.region = region, .ahead = few ? 0 : AHEAD_FIRST};
        }
    }
}

/* ---- cursors ---- */

static struct vv_plans plans_at(const struct vv_fetch *fetch, const struct cursor *cursor,
                                size_t index)
{
    return vv_registry_source_plans_in(fetch->context->registry, fetch->sources[index],
                                       cursor->region);
}

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

/* The bucket with which a source's scan will begin, of what can be foreseen: where this node knows
 * of data, or where a scan of another region begins by trying. */
static bool first_bucket(const struct vv_fetch *fetch, const struct cursor *cursor, size_t index,
                         struct vv_bucket *bucket_out)
{
    struct vv_plans plans = plans_at(fetch, cursor, index);
    int64_t from = fetch->from;
    int64_t to = fetch->to;
    bool known = plans.n > 0 && from < to;
    if (known && cursor->region == 0) {
        known = range_of(fetch, fetch->sources[index], &from, &to);
    }
    if (known) {
        *bucket_out = vv_bucket_of(plans.plans, plans.n, fetch->descending ? to - 1 : from);
    }
    return known && (cursor->region == 0 || vv_fetch_is_short(from, to, bucket_out->bucket_ns));
}

/* To the first bucket of the next source that can have something. */
static bool next_source(const struct vv_fetch *fetch, struct cursor *cursor)
{
    for (size_t index = cursor->source + 1; index < fetch->n_sources; index++) {
        if (first_bucket(fetch, cursor, index, &cursor->bucket)) {
            cursor->source = index;
            cursor->split = 0;
            return true;
        }
    }
    cursor->ended = true;
    return false;
}

static bool overlaps(const struct vv_bucket *bucket, int64_t from, int64_t to)
{
    return bucket->start < to && bucket->end > from;
}

static bool next_bucket(const struct vv_fetch *fetch, struct cursor *cursor)
{
    uint32_t source = fetch->sources[cursor->source];
    struct vv_plans plans = plans_at(fetch, cursor, cursor->source);
    struct vv_bucket next;
    int64_t from;
    int64_t to;
    bool known = cursor->region == 0 && range_of(fetch, source, &from, &to);
    if (vv_peers_may_write(fetch->context) && (!known || !overlaps(&cursor->bucket, from, to))) {
        known = true; /* the scan found what others wrote: there may be more */
        from = fetch->from;
        to = fetch->to;
    }
    bool inside =
        known && vv_bucket_next(plans.plans, plans.n, &cursor->bucket, !fetch->descending, &next) &&
        overlaps(&next, from, to);
    if (!inside) {
        return next_source(fetch, cursor);
    }
    cursor->bucket = next;
    cursor->split = 0;
    return true;
}

/* The read at the cursor, all of its bucket that was asked for. */
static struct vv_store_read read_at(const struct vv_fetch *fetch, const struct cursor *cursor)
{
    const struct vv_bucket *bucket = &cursor->bucket;
    int64_t from = bucket->start > fetch->from ? bucket->start : fetch->from;
    uint32_t source = fetch->sources[cursor->source];
    return (struct vv_store_read){
        .partition = {.tenant = vv_registry_place(fetch->context->registry, cursor->measurement),
                      .source = source,
                      .bucket_start = bucket->start,
                      .bucket_ns = bucket->bucket_ns,
                      .split = vv_split_name(bucket, (uint16_t)cursor->split),
                      .region = cursor->region},
        .measurement = cursor->measurement,
        .span_from = vv_span_of(bucket, from),
        .span_to = bucket->end < fetch->to ? bucket->end : fetch->to,
        .span_ns = bucket->span_ns,
    };
}

static bool step(const struct vv_fetch *fetch, struct cursor *cursor)
{
    if (cursor->ended) {
        return false;
    }
    cursor->split++;
    return cursor->split < cursor->bucket.splits || next_bucket(fetch, cursor);
}

/* Puts the region's cursor on a read that was not foreseen; false when it isn't one of the
 * expected. */
static bool place(struct vv_fetch *fetch, const struct vv_store_read *read)
{
    struct cursor *cursor = &fetch->cursors[read->partition.region];
    size_t start = cursor->placed ? cursor->source : 0;
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
    struct vv_plans plans = plans_at(fetch, cursor, index);
    if (plans.n == 0) {
        return false;
    }
    /* A bucket that the next plan cut short starts before its first time at times. */
    struct vv_bucket bucket = vv_bucket_of(plans.plans, plans.n, read->span_from);
    if (bucket.start != read->partition.bucket_start) {
        return false;
    }
    *cursor = (struct cursor){.region = read->partition.region,
                              .placed = true,
                              .source = index,
                              .measurement = read->measurement,
                              .bucket = bucket,
                              .split = vv_split_index(read->partition.split),
                              .ahead = cursor->ahead};
    return true;
}

/* ---- entries ---- */

static bool is_partition(const struct vv_store_read *a, const struct vv_store_read *b)
{
    return a->partition.tenant == b->partition.tenant &&
           a->partition.source == b->partition.source &&
           a->partition.bucket_start == b->partition.bucket_start &&
           a->partition.bucket_ns == b->partition.bucket_ns &&
           a->partition.split == b->partition.split && a->partition.region == b->partition.region &&
           a->measurement == b->measurement;
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
    uint64_t epoch = vv_fetch_epoch(fetch->context);
    enum vv_status status = store->ops->begin_read(store, read, &entry->answer, error);
    if (status != VV_OK) {
        *entry = (struct entry){0};
        return status;
    }
    entry->read = *read;
    entry->epoch = epoch;
    entry->order = ++fetch->order;
    *entry_out = entry;
    return VV_OK;
}

/* How many of a region may wait: fewer where answers are large, and the regions that are read share
 * what there is. */
static uint32_t allowed(const struct vv_fetch *fetch, const struct cursor *cursor)
{
    uint64_t mean = fetch->visits ? fetch->bytes_visited / fetch->visits + 1 : 1;
    uint64_t fit = fetch->memory_max / SHARE / mean;
    uint32_t most = fit < AHEAD_MAX ? (uint32_t)fit : AHEAD_MAX;
    uint32_t regions = 0;
    for (size_t i = 0; i < VV_REGIONS_MAX; i++) {
        regions += fetch->cursors[i].placed && !fetch->cursors[i].ended;
    }
    most = regions > 1 ? most / regions : most;
    return cursor->ahead < most ? cursor->ahead : most;
}

/* What can't be asked for ahead is asked for when it is read. */
static void run_ahead(struct vv_fetch *fetch, struct cursor *cursor)
{
    uint32_t waiting = 0;
    uint32_t waiting_all = 0;
    for (size_t i = 0; i < ENTRIES; i++) {
        const struct entry *entry = &fetch->entries[i];
        bool waits = entry->answer && !entry->used;
        waiting_all += waits;
        waiting += waits && entry->read.partition.region == cursor->region;
    }
    uint32_t most = allowed(fetch, cursor);
    while (waiting < most && waiting_all < AHEAD_MAX && step(fetch, cursor)) {
        struct vv_store_read read = read_at(fetch, cursor);
        struct entry *entry;
        if (find(fetch, &read)) {
            continue;
        }
        if (begin(fetch, &read, &entry, NULL) != VV_OK) {
            return;
        }
        waiting++;
        waiting_all++;
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
static void learn(struct vv_fetch *fetch, struct cursor *cursor, bool foreseen,
                  const struct filter *filter)
{
    fetch->bytes_visited += filter->bytes;
    fetch->visits++;
    if (!filter->found || !foreseen) {
        cursor->ahead = cursor->ahead > AHEAD_FIRST ? AHEAD_FIRST : cursor->ahead;
    }
    uint32_t more = cursor->ahead ? cursor->ahead * 2 : 1;
    if (filter->found) {
        cursor->ahead = more < AHEAD_MAX ? more : AHEAD_MAX;
    }
}

static enum vv_status read_fetched(struct vv_fetch *fetch, const struct vv_store_read *read,
                                   vv_piece_visit visit, void *visit_context,
                                   struct vv_error *error)
{
    struct cursor *cursor = &fetch->cursors[read->partition.region];
    struct entry *entry = find(fetch, read);
    if (entry && entry->epoch != vv_fetch_epoch(fetch->context)) {
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
            cursor->ended = true;
        }
    }
    entry->used = true;
    entry->order = ++fetch->order;
    run_ahead(fetch, cursor);
    struct filter filter = {read, visit, visit_context, 0, false};
    status = fetch->context->store->ops->visit_read(entry->answer, filter_piece, &filter, error);
    learn(fetch, cursor, foreseen, &filter);
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

/* ---- where there is something ---- */

/* Other metrics of the measurement, and further windows, ask the same. */
static const struct nearest *find_nearest(const struct vv_fetch *fetch,
                                          const struct nearest *wanted)
{
    size_t n = fetch->n_nearest < NEAREST ? (size_t)fetch->n_nearest : NEAREST;
    for (size_t i = 0; i < n; i++) {
        const struct nearest *known = &fetch->nearest[i];
        if (known->tenant == wanted->tenant && known->source == wanted->source &&
            known->region == wanted->region && known->bucket_start == wanted->bucket_start &&
            known->forward == wanted->forward && known->epoch == wanted->epoch) {
            return known;
        }
    }
    return NULL;
}

enum vv_status vv_fetch_nearest(const struct vv_query_context *context,
                                const struct vv_partition *from, bool forward,
                                int64_t *bucket_start_out, struct vv_error *error)
{
    struct vv_fetch *fetch = context->fetch;
    struct nearest wanted = {.region = from->region,
                             .forward = forward,
                             .tenant = from->tenant,
                             .source = from->source,
                             .bucket_start = from->bucket_start,
                             .epoch = vv_fetch_epoch(context)};
    const struct nearest *known = fetch ? find_nearest(fetch, &wanted) : NULL;
    if (!known) {
        wanted.status =
            context->store->ops->nearest(context->store, from->region, from->tenant, from->source,
                                         from->bucket_start, forward, &wanted.start, error);
        known = &wanted;
    }
    if (fetch && known == &wanted && (wanted.status == VV_OK || wanted.status == VV_DONE)) {
        fetch->nearest[fetch->n_nearest++ % NEAREST] = wanted;
    }
    *bucket_start_out = known->start;
    return known->status;
}
