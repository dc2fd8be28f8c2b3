/* SPDX-License-Identifier: Apache-2.0 */
/* Reads of points. */
#include "query/fetch_private.h"

#include "query/peers.h"

#include <stdlib.h>

struct vv_fetch *vv_fetch_create(const struct vv_query_context *context, size_t memory_max)
{
    struct vv_fetch *fetch = context->store->ops->begin_read ? calloc(1, sizeof *fetch) : NULL;
    if (fetch) {
        fetch->context = context;
        fetch->memory_max = memory_max;
    }
    return fetch;
}

void vv_fetch_destroy(struct vv_fetch *fetch)
{
    if (fetch) {
        for (size_t i = 0; i < VV_FETCH_ENTRIES; i++) {
            vv_fetch_forget(fetch, &fetch->entries[i]);
        }
        free(fetch);
    }
}

static void expect(struct vv_fetch *fetch, size_t slot, const struct vv_fetch_order *order)
{
    struct vv_fetch_points *points = &fetch->slots[slot];
    fetch->at = slot;
    points->order = *order;
    for (uint8_t region = 0; region < VV_REGIONS_MAX; region++) {
        points->cursors[region] = (struct vv_fetch_cursor){
            .region = region, .ahead = order->few ? 0 : VV_FETCH_AHEAD_FIRST};
    }
}

void vv_fetch_expect(struct vv_fetch *fetch, const uint32_t *sources, size_t n, int64_t from,
                     int64_t to, bool descending, bool few)
{
    if (fetch) {
        const struct vv_fetch_order order = {sources, n, from, to, descending, few};
        expect(fetch, 0, &order);
    }
}

/* The one of this gap, or else the one that was not used for longest. */
static size_t slot_of(const struct vv_fetch *fetch, const struct vv_fetch_order *order,
                      bool *is_known_out)
{
    size_t oldest = 1;
    *is_known_out = true;
    for (size_t slot = 1; slot <= VV_FETCH_GAPS; slot++) {
        const struct vv_fetch_order *known = &fetch->slots[slot].order;
        if (known->n > 0 && known->from == order->from && known->to == order->to &&
            known->descending == order->descending) {
            return slot;
        }
        oldest = fetch->slots[slot].used < fetch->slots[oldest].used ? slot : oldest;
    }
    *is_known_out = false;
    return oldest;
}

/* In a long one each source has its points elsewhere. */
void vv_fetch_expect_gap(struct vv_fetch *fetch, const uint32_t *source, int64_t from, int64_t to,
                         bool descending, bool few)
{
    if (!fetch) {
        return;
    }
    struct vv_plans plans = vv_registry_source_plans(fetch->context->registry, *source);
    bool is_short = plans.n > 0 && vv_fetch_is_short(from, to, plans.plans[plans.n - 1].bucket_ns);
    if (few || fetch->tiers.n == 0 || !is_short) {
        vv_fetch_expect(fetch, source, 1, from, to, descending, few);
        return;
    }
    struct vv_fetch_order order = fetch->tiers;
    order.from = from;
    order.to = to;
    order.descending = descending;
    bool is_known;
    size_t slot = slot_of(fetch, &order, &is_known);
    if (!is_known) {
        expect(fetch, slot, &order);
    }
    fetch->at = slot;
    fetch->slots[slot].used = ++fetch->order;
}

void vv_fetch_forget_gaps(struct vv_fetch *fetch)
{
    for (size_t slot = 1; slot <= VV_FETCH_GAPS; slot++) {
        fetch->slots[slot] = (struct vv_fetch_points){0};
    }
}

/* ---- cursors ---- */

/* Of the reads that are foreseen now. */
static const struct vv_fetch_order *order_of(const struct vv_fetch *fetch)
{
    return &fetch->slots[fetch->at].order;
}

static bool is_gap(const struct vv_fetch *fetch)
{
    return fetch->at > 0;
}

static struct vv_fetch_cursor *cursor_of(struct vv_fetch *fetch, uint8_t region)
{
    return &fetch->slots[fetch->at].cursors[region];
}

static struct vv_plans plans_at(const struct vv_fetch *fetch, const struct vv_fetch_cursor *cursor,
                                size_t index)
{
    return vv_registry_source_plans_in(fetch->context->registry, order_of(fetch)->sources[index],
                                       cursor->region);
}

bool vv_fetch_known(const struct vv_fetch *fetch, const struct vv_fetch_order *order,
                    uint32_t source, int64_t *from_out, int64_t *to_out)
{
    int64_t first;
    int64_t last;
    if (!vv_registry_source_times(fetch->context->registry, source, &first, &last)) {
        return false;
    }
    *from_out = first > order->from ? first : order->from;
    *to_out = last < order->to ? last + (last < INT64_MAX) : order->to;
    return *from_out < *to_out;
}

/* The bucket with which a source's scan will begin, of what can be foreseen: where this node knows
 * of data, or where a scan of another region begins by trying. */
static bool first_bucket(const struct vv_fetch *fetch, const struct vv_fetch_cursor *cursor,
                         size_t index, struct vv_bucket *bucket_out)
{
    struct vv_plans plans = plans_at(fetch, cursor, index);
    int64_t from = order_of(fetch)->from;
    int64_t to = order_of(fetch)->to;
    bool known = plans.n > 0 && from < to;
    bool may_be_others = is_gap(fetch) && vv_peers_may_write(fetch->context);
    if (known && cursor->region == 0 && !may_be_others) {
        known = vv_fetch_known(fetch, order_of(fetch), order_of(fetch)->sources[index], &from, &to);
    }
    if (known) {
        *bucket_out =
            vv_bucket_of(plans.plans, plans.n, order_of(fetch)->descending ? to - 1 : from);
    }
    bool is_known = cursor->region == 0 && !may_be_others;
    return known && (is_known || vv_fetch_is_short(from, to, bucket_out->bucket_ns));
}

/* To the first bucket of the next source that can have something. */
static bool next_source(const struct vv_fetch *fetch, struct vv_fetch_cursor *cursor)
{
    for (size_t index = cursor->source + 1; index < order_of(fetch)->n; index++) {
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

static bool next_bucket(const struct vv_fetch *fetch, struct vv_fetch_cursor *cursor)
{
    uint32_t source = order_of(fetch)->sources[cursor->source];
    struct vv_plans plans = plans_at(fetch, cursor, cursor->source);
    struct vv_bucket next;
    int64_t from;
    int64_t to;
    bool known = cursor->region == 0 && vv_fetch_known(fetch, order_of(fetch), source, &from, &to);
    if (vv_peers_may_write(fetch->context) && (!known || !overlaps(&cursor->bucket, from, to))) {
        known = true; /* the scan found what others wrote: there may be more */
        from = order_of(fetch)->from;
        to = order_of(fetch)->to;
    }
    bool inside = known &&
                  vv_bucket_next(plans.plans, plans.n, &cursor->bucket,
                                 !order_of(fetch)->descending, &next) &&
                  overlaps(&next, from, to);
    if (!inside) {
        return next_source(fetch, cursor);
    }
    cursor->bucket = next;
    cursor->split = 0;
    return true;
}

/* The read at the cursor, all of its bucket that was asked for. */
static struct vv_store_read read_at(const struct vv_fetch *fetch,
                                    const struct vv_fetch_cursor *cursor)
{
    const struct vv_bucket *bucket = &cursor->bucket;
    int64_t from = bucket->start > order_of(fetch)->from ? bucket->start : order_of(fetch)->from;
    uint32_t source = order_of(fetch)->sources[cursor->source];
    return (struct vv_store_read){
        .partition =
            {.tenant = vv_registry_stay(fetch->context->registry, cursor->measurement, from).place,
             .source = source,
             .bucket_start = bucket->start,
             .bucket_ns = bucket->bucket_ns,
             .split = vv_split_name(bucket, (uint16_t)cursor->split),
             .region = cursor->region},
        .measurement = cursor->measurement,
        .span_from = vv_span_of(bucket, from),
        .span_to = bucket->end < order_of(fetch)->to ? bucket->end : order_of(fetch)->to,
        .span_ns = bucket->span_ns,
    };
}

static bool step(const struct vv_fetch *fetch, struct vv_fetch_cursor *cursor)
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
    struct vv_fetch_cursor *cursor = cursor_of(fetch, read->partition.region);
    size_t start = cursor->placed ? cursor->source : 0;
    size_t index = 0;
    for (size_t i = 0; i < order_of(fetch)->n; i++) {
        index = (start + i) % order_of(fetch)->n;
        if (order_of(fetch)->sources[index] == read->partition.source) {
            break;
        }
    }
    if (order_of(fetch)->n == 0 || order_of(fetch)->sources[index] != read->partition.source) {
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
    *cursor = (struct vv_fetch_cursor){.region = read->partition.region,
                                       .placed = true,
                                       .source = index,
                                       .measurement = read->measurement,
                                       .bucket = bucket,
                                       .split = vv_split_index(read->partition.split),
                                       .ahead = cursor->ahead};
    return true;
}

/* ---- running ahead ---- */

/* How many of a region may wait: fewer where answers are large, and the regions that are read share
 * what there is. */
static uint32_t allowed(const struct vv_fetch *fetch, const struct vv_fetch_cursor *cursor)
{
    const struct vv_fetch_cursor *cursors = fetch->slots[fetch->at].cursors;
    uint32_t most = vv_fetch_fitting(fetch);
    uint32_t regions = 0;
    for (size_t i = 0; i < VV_REGIONS_MAX; i++) {
        regions += cursors[i].placed && !cursors[i].ended;
    }
    most = regions > 1 ? most / regions : most;
    most = is_gap(fetch) && most > VV_FETCH_GAP_MAX ? VV_FETCH_GAP_MAX : most;
    return cursor->ahead < most ? cursor->ahead : most;
}

/* What can't be asked for ahead is asked for when it is read. */
static void run_ahead(struct vv_fetch *fetch, struct vv_fetch_cursor *cursor)
{
    uint32_t waiting = 0;
    uint32_t waiting_all = 0;
    for (size_t i = 0; i < VV_FETCH_ENTRIES; i++) {
        const struct vv_fetch_entry *entry = &fetch->entries[i];
        bool waits = vv_fetch_waits(entry, VV_FETCH_POINTS);
        waiting_all += waits;
        waiting +=
            waits && entry->slot == fetch->at && entry->read.partition.region == cursor->region;
    }
    uint32_t most = allowed(fetch, cursor);
    while (waiting < most && waiting_all < VV_FETCH_AHEAD_MAX && step(fetch, cursor)) {
        struct vv_store_read read = read_at(fetch, cursor);
        struct vv_fetch_entry *entry;
        if (vv_fetch_find(fetch, &read)) {
            continue;
        }
        if (vv_fetch_begin(fetch, &read, VV_FETCH_POINTS, fetch->at, &entry, NULL) != VV_OK) {
            return;
        }
        waiting++;
        waiting_all++;
    }
}

/* ---- reading ---- */

static enum vv_status read_fetched(struct vv_fetch *fetch, const struct vv_store_read *read,
                                   vv_piece_visit visit, void *visit_context,
                                   struct vv_error *error)
{
    struct vv_fetch_cursor *cursor = cursor_of(fetch, read->partition.region);
    struct vv_fetch_entry *entry = vv_fetch_find(fetch, read);
    bool foreseen = entry != NULL;
    enum vv_status status = VV_OK;
    if (!entry) {
        status = vv_fetch_begin(fetch, read, VV_FETCH_POINTS, fetch->at, &entry, error);
        if (status != VV_OK) {
            return status;
        }
    }
    if ((!foreseen || !cursor->placed) && !place(fetch, read)) {
        cursor->ended = true;
    }
    vv_fetch_note_used(fetch, entry);
    run_ahead(fetch, cursor);
    const struct vv_fetch_visit how = {visit, visit_context, foreseen, &cursor->ahead};
    status = vv_fetch_use(fetch, entry, read, &how, error);
    if (status == VV_OVERLOAD && foreseen) { /* it was asked for at a bad time: once more */
        vv_fetch_forget(fetch, entry);
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
static const struct vv_fetch_nearest *find_nearest(const struct vv_fetch *fetch,
                                                   const struct vv_fetch_nearest *wanted)
{
    size_t n = fetch->n_nearest < VV_FETCH_NEAREST ? (size_t)fetch->n_nearest : VV_FETCH_NEAREST;
    for (size_t i = 0; i < n; i++) {
        const struct vv_fetch_nearest *known = &fetch->nearest[i];
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
    struct vv_fetch_nearest wanted = {.region = from->region,
                                      .forward = forward,
                                      .tenant = from->tenant,
                                      .source = from->source,
                                      .bucket_start = from->bucket_start,
                                      .epoch = vv_fetch_epoch(context)};
    const struct vv_fetch_nearest *known = fetch ? find_nearest(fetch, &wanted) : NULL;
    if (!known) {
        wanted.status =
            context->store->ops->nearest(context->store, from->region, from->tenant, from->source,
                                         from->bucket_start, forward, &wanted.start, error);
        known = &wanted;
    }
    if (fetch && known == &wanted && (wanted.status == VV_OK || wanted.status == VV_DONE)) {
        fetch->nearest[fetch->n_nearest++ % VV_FETCH_NEAREST] = wanted;
    }
    *bucket_start_out = known->start;
    return known->status;
}
