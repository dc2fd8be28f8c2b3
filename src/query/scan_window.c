/* SPDX-License-Identifier: Apache-2.0 */
/* The windows of a scan: which comes next, and what head and store have in it. */
#include "query/fetch.h"
#include "query/peers.h"
#include "query/scan_private.h"

#define OPENED_SHARE 2 /* of the scan's memory for opened pieces */

/* ---- plans and stretches ---- */

/* The range in which the plan that holds at `time` is in force. */
static struct vv_window plan_range(struct vv_plans plans, int64_t time)
{
    size_t next = 1;
    while (next < plans.n && plans.plans[next].from_ns <= time) {
        next++;
    }
    return (struct vv_window){
        next > 1 ? plans.plans[next - 1].from_ns : VV_TIME_MIN,
        next < plans.n ? plans.plans[next].from_ns : VV_TIME_MAX + 1,
    };
}

static bool is_inside(struct vv_window window, int64_t time)
{
    return time >= window.from && time < window.to;
}

/* Notes a part of the range that can't be read now and is left out. */
static void note_missing(struct vv_scan *scan, struct vv_window range)
{
    struct vv_result_facts *facts = scan->facts;
    if (facts->partitions_missing < VV_MISSING_MAX) {
        facts->missing[facts->partitions_missing] =
            (struct vv_missing){scan->options.source, range.from, range.to};
    }
    facts->partitions_missing++;
    scan->found = true; /* there may be something */
}

/*
 * The store can't say now where it has something, and that is allowed. Where this node knows of
 * data, each bucket is tried; what others may have written elsewhere is left out as a whole, or a
 * range without bounds would have no end.
 */
static struct vv_window leave_unheard(struct vv_scan *scan, struct vv_window plan, int64_t time)
{
    struct vv_window known = vv_scan_known(scan->context, scan->options.source);
    struct vv_window stretch = vv_window_intersect(plan, scan->left);
    bool knows = !vv_window_is_empty(known);
    if (!vv_peers_may_write(scan->context) || is_inside(known, time)) {
        return (struct vv_window){time, time};
    }
    if (scan->options.descending) {
        stretch.to = time + 1;
        stretch.from =
            knows && known.to <= time && known.to > stretch.from ? known.to : stretch.from;
    } else {
        stretch.from = time;
        stretch.to =
            knows && known.from > time && known.from < stretch.to ? known.from : stretch.to;
    }
    note_missing(scan, stretch);
    scan->unheard = stretch;
    return stretch;
}

/*
 * The stretch at `time`, going on in the scan's direction, in which the store has nothing; empty
 * when the bucket of `time` has something. It ends with the plan: of buckets under other plans the
 * nearest start says nothing, since plans need not be aligned to each other.
 */
static enum vv_status empty_stretch(struct vv_scan *scan, struct vv_plans plans, int64_t time,
                                    struct vv_window *stretch_out, struct vv_error *error)
{
    bool forward = !scan->options.descending;
    struct vv_bucket bucket = vv_bucket_of(plans.plans, plans.n, time);
    struct vv_window plan = plan_range(plans, time);
    int64_t nearest = bucket.start;
    if (is_inside(scan->unheard, time)) {
        *stretch_out = scan->unheard;
        return VV_OK;
    }
    struct vv_store *store = scan->context->store;
    enum vv_status status = store->ops->nearest(store, scan->options.tenant, scan->options.source,
                                                bucket.start, forward, &nearest, error);
    *stretch_out = (struct vv_window){time, time};
    if (status == VV_OVERLOAD && scan->context->partial) {
        *stretch_out = leave_unheard(scan, plan, time);
        if (error) {
            error->message[0] = '\0';
        }
        return VV_OK;
    }
    if (status == VV_DONE) {
        *stretch_out = plan;
        return VV_OK;
    }
    if (status != VV_OK || nearest == bucket.start) {
        return status;
    }
    struct vv_window stretch = {bucket.start, bucket.end};
    if (forward) {
        stretch.to = nearest > bucket.end ? nearest : bucket.end;
    } else {
        int64_t end = nearest + bucket.bucket_ns;
        stretch.from = end < bucket.start ? end : bucket.start;
    }
    *stretch_out = vv_window_intersect(stretch, plan);
    return VV_OK;
}

/* ---- choosing a window ---- */

void vv_scan_skip(struct vv_scan *scan, struct vv_window stretch)
{
    if (scan->options.descending) {
        scan->left.to = stretch.from > scan->left.from ? stretch.from : scan->left.from;
    } else {
        scan->left.from = stretch.to < scan->left.to ? stretch.to : scan->left.to;
    }
}

/* Narrows a window to the scan's width, at its near end; to whole spans while that is wide enough,
 * so that no span is read twice. */
static struct vv_window narrow(const struct vv_scan *scan, struct vv_window window, int64_t span_ns)
{
    int64_t width = scan->width;
    if (width >= vv_window_length(window)) {
        return window;
    }
    bool spans = width >= span_ns || !scan->narrowed;
    if (spans) {
        width = width > span_ns ? width - width % span_ns : span_ns;
    }
    struct vv_window narrowed = window;
    if (scan->options.descending) {
        int64_t near = spans ? vv_time_floor(window.to - 1, span_ns) + span_ns : window.to;
        narrowed.from = near - width;
    } else {
        int64_t near = spans ? vv_time_floor(window.from, span_ns) : window.from;
        narrowed.to = near + width;
    }
    return vv_window_intersect(window, narrowed);
}

/* Where other nodes write too, the first bucket may lie far from all data: unless this node knows
 * of some in it, the store is asked where there is any. */
static void begin_with(struct vv_scan *scan, struct vv_window bucket)
{
    if (!scan->begun && vv_peers_may_write(scan->context)) {
        struct vv_window known = vv_scan_known(scan->context, scan->options.source);
        scan->store_empty = vv_window_is_empty(vv_window_intersect(bucket, known));
    }
    scan->begun = true;
}

enum vv_status vv_scan_choose_window(struct vv_scan *scan, struct vv_error *error)
{
    while (!vv_window_is_empty(scan->left)) {
        enum vv_status status = vv_scan_look_at_head(scan);
        if (status != VV_OK) {
            return status;
        }
        struct vv_plans plans =
            vv_registry_source_plans(scan->context->registry, scan->options.source);
        int64_t near = scan->options.descending ? scan->left.to - 1 : scan->left.from;
        /* Of which only the head may know; without plans the store has nothing at all. */
        struct vv_window stretch = {VV_TIME_MIN, VV_TIME_MAX + 1};
        int64_t span_ns = VV_HOUR;
        if (plans.n > 0) {
            struct vv_bucket bucket = vv_bucket_of(plans.plans, plans.n, near);
            struct vv_window range = {bucket.start, bucket.end};
            span_ns = bucket.span_ns;
            begin_with(scan, range);
            stretch = (struct vv_window){near, near};
            if (scan->store_empty) {
                status = empty_stretch(scan, plans, near, &stretch, error);
                if (status != VV_OK) {
                    return status;
                }
            }
            if (vv_window_is_empty(stretch)) {
                scan->window = narrow(scan, vv_window_intersect(scan->left, range), span_ns);
                return VV_OK;
            }
        }
        scan->window = vv_window_intersect(vv_window_intersect(scan->left, stretch), scan->head);
        if (!vv_window_is_empty(scan->window)) {
            scan->window = narrow(scan, scan->window, span_ns);
            return VV_OK;
        }
        vv_scan_skip(scan, stretch);
        scan->store_empty = false; /* the next bucket has something, or another plan begins */
    }
    return VV_DONE;
}

/* ---- filling a window ---- */

static void count_partition(struct vv_scan *scan, const struct vv_partition *partition)
{
    if (partition->bucket_start != scan->counted_start ||
        partition->bucket_ns != scan->counted_ns) {
        scan->counted_start = partition->bucket_start;
        scan->counted_ns = partition->bucket_ns;
        scan->counted_splits = 0;
    }
    uint64_t bit = UINT64_C(1) << partition->split;
    scan->facts->partitions_read += (scan->counted_splits & bit) == 0;
    scan->counted_splits |= bit;
}

struct adding {
    struct vv_scan *scan;
    struct vv_error *error;
};

/* Whether a piece has rows in the window. Asked only where windows are narrower than a span, since
 * the merge asks again. */
static bool overlaps(const struct vv_scan *scan, const struct vv_piece *piece)
{
    struct vv_block block;
    if (!scan->narrowed || vv_block_open((const uint8_t *)piece->bytes.data, piece->bytes.size,
                                         &block) != VV_BLOCK_OK) {
        return true; /* the merge says what is wrong with it */
    }
    return block.time_max >= scan->window.from && block.time_min < scan->window.to;
}

static enum vv_status add_piece(void *context, const struct vv_piece *piece)
{
    struct adding *adding = context;
    struct vv_scan *scan = adding->scan;
    scan->store_empty = false;
    scan->found = true;
    count_partition(scan, &piece->key.partition);
    if (!overlaps(scan, piece)) {
        return VV_OK;
    }
    scan->window_bytes += piece->bytes.size;
    if (scan->window_bytes > scan->options.memory_max / VV_SCAN_PIECES_SHARE) {
        return VV_TOO_LARGE;
    }
    return vv_merge_add_block(scan->merge, (const uint8_t *)piece->bytes.data, piece->bytes.size,
                              adding->error);
}

/* Where that is allowed, what can't be read now is noted and left out. What of it was read already
 * stays. */
static bool is_left_out(struct vv_scan *scan, enum vv_status status, struct vv_window range,
                        struct vv_error *error)
{
    if (status != VV_OVERLOAD || !scan->context->partial) {
        return false;
    }
    note_missing(scan, range);
    struct vv_window known = vv_scan_known(scan->context, scan->options.source);
    bool leap =
        vv_peers_may_write(scan->context) && vv_window_is_empty(vv_window_intersect(known, range));
    scan->store_empty = scan->store_empty && leap;
    if (error) {
        error->message[0] = '\0';
    }
    return true;
}

static enum vv_status add_bucket(struct vv_scan *scan, const struct vv_bucket *bucket,
                                 struct vv_error *error)
{
    struct vv_window range =
        vv_window_intersect(scan->window, (struct vv_window){bucket->start, bucket->end});
    struct vv_store_read read = {
        .partition = {.tenant = scan->options.tenant,
                      .source = scan->options.source,
                      .bucket_start = bucket->start,
                      .bucket_ns = bucket->bucket_ns},
        .measurement = scan->options.measurement,
        .span_from = vv_span_of(bucket, range.from),
        .span_to = range.to,
        .span_ns = bucket->span_ns,
    };
    struct adding adding = {scan, error};
    for (uint16_t split = 0; split < bucket->splits; split++) {
        read.partition.split = split;
        enum vv_status status = vv_fetch_read(scan->context, &read, add_piece, &adding, error);
        if (status != VV_OK && !is_left_out(scan, status, range, error)) {
            return status;
        }
    }
    return VV_OK;
}

/* The buckets of the window, by the plans as they are now; stretches without any are skipped. */
static enum vv_status add_store(struct vv_scan *scan, struct vv_error *error)
{
    struct vv_plans plans = vv_registry_source_plans(scan->context->registry, scan->options.source);
    struct vv_window left = scan->window;
    bool last_empty = false;
    scan->store_empty = plans.n > 0;
    while (plans.n > 0 && !vv_window_is_empty(left)) {
        int64_t near = scan->options.descending ? left.to - 1 : left.from;
        struct vv_window stretch = {near, near};
        enum vv_status status = VV_OK;
        if (last_empty) {
            status = empty_stretch(scan, plans, near, &stretch, error);
        }
        if (status == VV_OK && vv_window_is_empty(stretch)) {
            struct vv_bucket bucket = vv_bucket_of(plans.plans, plans.n, near);
            bool before = scan->store_empty;
            scan->store_empty = true;
            status = add_bucket(scan, &bucket, error);
            last_empty = scan->store_empty;
            scan->store_empty = scan->store_empty && before;
            stretch = (struct vv_window){bucket.start, bucket.end};
            stretch = vv_window_intersect(stretch, plan_range(plans, near));
        }
        if (status != VV_OK) {
            return status;
        }
        if (scan->options.descending) {
            left.to = stretch.from;
        } else {
            left.from = stretch.to;
        }
    }
    return VV_OK;
}

static enum vv_status prepare_merge(struct vv_scan *scan)
{
    if (scan->merge) {
        vv_scan_count_figures(scan);
        vv_merge_reset(scan->merge, scan->window.from, scan->window.to);
        return VV_OK;
    }
    struct vv_merge_options options = {
        .from = scan->window.from,
        .to = scan->window.to,
        .metrics = scan->options.metrics,
        .types = scan->options.types,
        .n_metrics = scan->options.n_metrics,
        .descending = scan->options.descending,
        .join_times = true,
        .memory_max = scan->options.memory_max / OPENED_SHARE,
    };
    return vv_merge_create(&options, &scan->merge);
}

enum vv_status vv_scan_fill_window(struct vv_scan *scan, struct vv_error *error)
{
    scan->window_bytes = 0;
    scan->n_windows++;
    enum vv_status status = prepare_merge(scan);
    if (status == VV_OK) {
        status = vv_scan_add_head(scan);
    }
    if (status == VV_OK) {
        status = add_store(scan, error);
    }
    return status;
}
