/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lane of a scan: what the store has of one region, by the plans of that region. Where it has
 * nothing, and what of a window it has.
 */
#include "query/fetch.h"
#include "query/peers.h"
#include "query/scan_private.h"

#include <time.h>

#define MOVE_PAUSE_NS VV_MILLISECOND

/* ---- plans ---- */

static void note_plans(const struct vv_scan *scan, struct vv_lane *lane)
{
    lane->plans_epoch = vv_fetch_epoch(scan->context);
    lane->plans =
        vv_registry_source_plans_in(scan->context->registry, scan->options.source, lane->region);
}

/* Notes the source's plans, at rest. A move takes as long as it takes to write anew what this node
 * keeps of the source; VV_OVERLOAD when it takes much longer. */
static enum vv_status take_plans(struct vv_scan *scan, struct vv_lane *lane, struct vv_error *error)
{
    note_plans(scan, lane);
    for (int i = 0; lane->plans.is_moving; i++) {
        if (i == VV_SCAN_MOVE_WAITS) {
            return vv_error_set(error, VV_OVERLOAD,
                                "the source's data is being placed anew: try again in a moment");
        }
        nanosleep(&(struct timespec){.tv_nsec = MOVE_PAUSE_NS}, NULL);
        note_plans(scan, lane);
    }
    return VV_OK;
}

/* Those of other regions never move. */
bool vv_scan_plans_hold(const struct vv_scan *scan)
{
    return vv_registry_plans_hold(scan->context->registry, scan->options.source,
                                  &scan->lanes[0].plans);
}

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

/* Where this node knows of data: of what other regions have, nothing. */
static struct vv_window known_to_lane(const struct vv_scan *scan, const struct vv_lane *lane)
{
    return lane->region == 0 ? vv_scan_known(scan->context, scan->options.source)
                             : (struct vv_window){0, 0};
}

/* ---- what cannot be read ---- */

/* The message says whose it is, where that is not this node's region. */
static enum vv_status name_region(const struct vv_scan *scan, const struct vv_lane *lane,
                                  enum vv_status status, struct vv_error *error)
{
    char name[VV_REGION_NAME_SIZE];
    if (status == VV_OK || lane->region == 0) {
        return status;
    }
    vv_peers_region_name(scan->context, lane->region, name);
    return vv_error_prefix(error, status, "region '%s'", name);
}

void vv_scan_note_missing(struct vv_result_facts *facts, const struct vv_missing *missing)
{
    if (facts->partitions_missing < VV_MISSING_MAX) {
        facts->missing[facts->partitions_missing] = *missing;
    }
    facts->partitions_missing++;
}

static void note_missing(struct vv_scan *scan, const struct vv_lane *lane, struct vv_window range)
{
    const struct vv_missing missing = {
        .source = scan->options.source, .region = lane->region, .from = range.from, .to = range.to};
    vv_scan_note_missing(scan->facts, &missing);
    scan->found = true; /* there may be something */
}

/*
 * The store can't say now where it has something, and that is allowed. Where this node knows of
 * data, each bucket is tried; what others may have written elsewhere is left out as a whole, or a
 * range without bounds would have no end.
 */
static struct vv_window leave_unheard(struct vv_scan *scan, struct vv_lane *lane,
                                      struct vv_window plan, int64_t time)
{
    struct vv_window known = known_to_lane(scan, lane);
    struct vv_window stretch = vv_window_intersect(plan, scan->left);
    bool knows = !vv_window_is_empty(known);
    if (!vv_peers_may_write(scan->context) || vv_window_holds(known, time)) {
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
    note_missing(scan, lane, stretch);
    lane->unheard = stretch;
    return stretch;
}

/* ---- where there is nothing ---- */

/* The stretch around `time` that needs no look at the store, since it said that it has nothing
 * there, or could not say; empty when there is none such. */
static struct vv_window passed_over(const struct vv_scan *scan, const struct vv_lane *lane,
                                    int64_t time)
{
    if (vv_window_holds(lane->unheard, time)) {
        return lane->unheard;
    }
    bool holds =
        vv_window_holds(lane->empty, time) && lane->empty_epoch == vv_fetch_epoch(scan->context);
    return holds ? lane->empty : (struct vv_window){time, time};
}

/*
 * The stretch at `time`, going on in the scan's direction, in which the store has nothing; empty
 * when the bucket of `time` has something. It ends with the plan: of buckets under other plans the
 * nearest start says nothing, since plans need not be aligned to each other.
 */
static enum vv_status ask_nearest(struct vv_scan *scan, struct vv_lane *lane, struct vv_plans plans,
                                  int64_t time, struct vv_window *stretch_out,
                                  struct vv_error *error)
{
    bool forward = !scan->options.descending;
    struct vv_bucket bucket = vv_bucket_of(plans.plans, plans.n, time);
    struct vv_window plan = plan_range(plans, time);
    const struct vv_partition from = {.tenant = lane->tenant,
                                      .source = scan->options.source,
                                      .bucket_start = bucket.start,
                                      .region = lane->region};
    int64_t nearest;
    enum vv_status status = vv_fetch_nearest(scan->context, &from, forward, &nearest, error);
    *stretch_out = (struct vv_window){time, time};
    if (status == VV_OVERLOAD && scan->context->partial) {
        *stretch_out = leave_unheard(scan, lane, plan, time);
        if (error) {
            error->message[0] = '\0';
        }
        return VV_OK;
    }
    struct vv_window stretch = {forward ? bucket.start : VV_TIME_MIN,
                                forward ? VV_TIME_MAX + 1 : bucket.end};
    if (status != VV_DONE) {
        if (status != VV_OK || nearest == bucket.start) {
            return name_region(scan, lane, status, error);
        }
        int64_t end = nearest + bucket.bucket_ns;
        stretch.from = forward || end > bucket.start ? bucket.start : end;
        stretch.to = !forward || nearest < bucket.end ? bucket.end : nearest;
    }
    *stretch_out = vv_window_intersect(stretch, plan);
    lane->empty = *stretch_out;
    lane->empty_epoch = lane->plans_epoch;
    return VV_OK;
}

static enum vv_status empty_stretch(struct vv_scan *scan, struct vv_lane *lane,
                                    struct vv_plans plans, int64_t time, bool ask,
                                    struct vv_window *stretch_out, struct vv_error *error)
{
    *stretch_out = passed_over(scan, lane, time);
    return ask && vv_window_is_empty(*stretch_out)
               ? ask_nearest(scan, lane, plans, time, stretch_out, error)
               : VV_OK;
}

/* ---- looking ahead ---- */

/*
 * Where others write too, the first bucket may lie far from all data: unless this node knows of
 * some in it, the store is asked where there is any. Of another region this node knows nothing, so
 * there a first bucket is tried where few would have to be tried.
 */
static void begin_with(struct vv_scan *scan, struct vv_lane *lane, const struct vv_bucket *bucket)
{
    if (lane->begun) {
        return;
    }
    lane->begun = true;
    struct vv_window range = {bucket->start, bucket->end};
    if (lane->region != 0) {
        lane->store_empty = !vv_fetch_is_short(scan->left.from, scan->left.to, bucket->bucket_ns);
    } else if (vv_peers_may_write(scan->context)) {
        struct vv_window known = known_to_lane(scan, lane);
        lane->store_empty = vv_window_is_empty(vv_window_intersect(range, known));
    }
}

/* Whether the store may have something in the bucket at the scan's near end as far as is known: it
 * had something there, or in the window before, or has nothing up to there. */
static bool is_likely(const struct vv_scan *scan, const struct vv_lane *lane,
                      const struct vv_bucket *bucket, int64_t near)
{
    bool has = lane->counted_ns == bucket->bucket_ns && lane->counted_start == bucket->start;
    bool reached = scan->options.descending ? near + 1 == lane->empty.from : near == lane->empty.to;
    return has || reached || !lane->store_empty;
}

enum vv_status vv_scan_look_at_lane(struct vv_scan *scan, struct vv_lane *lane, int64_t near,
                                    struct vv_outlook *outlook, struct vv_error *error)
{
    enum vv_status status = take_plans(scan, lane, error);
    struct vv_plans plans = lane->plans;
    if (status != VV_OK || plans.n == 0) {
        return status; /* without plans the store has nothing at all */
    }
    struct vv_bucket bucket = vv_bucket_of(plans.plans, plans.n, near);
    struct vv_window stretch;
    begin_with(scan, lane, &bucket);
    bool ask = !is_likely(scan, lane, &bucket, near);
    status = empty_stretch(scan, lane, plans, near, ask, &stretch, error);
    if (status != VV_OK) {
        return status;
    }
    if (!vv_window_is_empty(stretch)) {
        outlook->range = vv_window_intersect(outlook->range, stretch);
        return VV_OK;
    }
    struct vv_window range = {bucket.start, bucket.end};
    outlook->range = vv_window_intersect(outlook->range, range);
    if (!outlook->active || bucket.span_ns < outlook->span_ns) {
        outlook->span_ns = bucket.span_ns;
    }
    outlook->active = true;
    return VV_OK;
}

/* ---- filling a window ---- */

static void count_partition(struct vv_scan *scan, struct vv_lane *lane,
                            const struct vv_partition *partition)
{
    if (partition->bucket_start != lane->counted_start ||
        partition->bucket_ns != lane->counted_ns) {
        lane->counted_start = partition->bucket_start;
        lane->counted_ns = partition->bucket_ns;
        lane->counted_splits = 0;
    }
    uint64_t bit = UINT64_C(1) << vv_split_index(partition->split);
    scan->facts->partitions_read += (lane->counted_splits & bit) == 0;
    lane->counted_splits |= bit;
}

struct adding {
    struct vv_scan *scan;
    struct vv_lane *lane;
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
    adding->lane->store_empty = false;
    scan->found = true;
    scan->facts->late_outstanding += adding->lane->is_late && piece->kind == VV_PIECE_RUN;
    count_partition(scan, adding->lane, &piece->key.partition);
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
static bool is_left_out(struct vv_scan *scan, struct vv_lane *lane, enum vv_status status,
                        struct vv_window range, struct vv_error *error)
{
    if (status != VV_OVERLOAD || !scan->context->partial) {
        return false;
    }
    note_missing(scan, lane, range);
    struct vv_window known = known_to_lane(scan, lane);
    bool leap =
        vv_peers_may_write(scan->context) && vv_window_is_empty(vv_window_intersect(known, range));
    lane->store_empty = lane->store_empty && leap;
    if (error) {
        error->message[0] = '\0';
    }
    return true;
}

static enum vv_status add_bucket(struct vv_scan *scan, struct vv_lane *lane,
                                 const struct vv_bucket *bucket, struct vv_error *error)
{
    struct vv_window range =
        vv_window_intersect(scan->window, (struct vv_window){bucket->start, bucket->end});
    struct vv_store_read read = {
        .partition = {.tenant = lane->tenant,
                      .source = scan->options.source,
                      .bucket_start = bucket->start,
                      .bucket_ns = bucket->bucket_ns,
                      .region = lane->region},
        .measurement = scan->options.measurement,
        .span_from = vv_span_of(bucket, range.from),
        .span_to = range.to,
        .span_ns = bucket->span_ns,
    };
    struct adding adding = {scan, lane, error};
    for (uint16_t split = 0; split < bucket->splits; split++) {
        read.partition.split = vv_split_name(bucket, split);
        enum vv_status status = vv_fetch_read(scan->context, &read, add_piece, &adding, error);
        if (status != VV_OK && !is_left_out(scan, lane, status, range, error)) {
            return name_region(scan, lane, status, error);
        }
    }
    return VV_OK;
}

enum vv_status vv_scan_add_lane(struct vv_scan *scan, struct vv_lane *lane, struct vv_error *error)
{
    enum vv_status status = take_plans(scan, lane, error);
    struct vv_plans plans = lane->plans;
    struct vv_window left = scan->window;
    bool last_empty = false;
    lane->store_empty = plans.n > 0;
    while (status == VV_OK && plans.n > 0 && !vv_window_is_empty(left)) {
        int64_t near = scan->options.descending ? left.to - 1 : left.from;
        struct vv_window stretch;
        status = empty_stretch(scan, lane, plans, near, last_empty, &stretch, error);
        if (status == VV_OK && vv_window_is_empty(stretch)) {
            struct vv_bucket bucket = vv_bucket_of(plans.plans, plans.n, near);
            bool before = lane->store_empty;
            lane->store_empty = true;
            status = add_bucket(scan, lane, &bucket, error);
            last_empty = lane->store_empty;
            lane->store_empty = lane->store_empty && before;
            stretch = (struct vv_window){bucket.start, bucket.end};
            stretch = vv_window_intersect(stretch, plan_range(plans, near));
        }
        if (scan->options.descending) {
            left.to = stretch.from;
        } else {
            left.from = stretch.to;
        }
    }
    return status;
}
