/* SPDX-License-Identifier: Apache-2.0 */
/* Cutting slices at the bounds of steps, and keeping what changes need from step to step. */
#include "query/walk.h"

#include "query/fetch.h"

static enum vv_status open_feed(struct vv_walk *walk, const struct vv_feed_options *options)
{
    walk->slice.n = 0;
    return vv_feed_open(&walk->feed, walk->context, options, walk->facts);
}

static enum vv_status open_range(struct vv_walk *walk, int64_t from, int64_t to, bool descending,
                                 bool few)
{
    struct vv_feed_options options = walk->options;
    options.from = from;
    options.to = to;
    options.descending = descending;
    options.few = few;
    return open_feed(walk, &options);
}

/* Before `from`, newest first: one point is wanted. */
static enum vv_status open_lookback(struct vv_walk *walk)
{
    int64_t to = walk->options.from;
    uint64_t length = (uint64_t)walk->steps->length_ns;
    if (length == 0) { /* one step, the whole range; which may be longer than an int64 */
        length = walk->options.to > to ? (uint64_t)walk->options.to - (uint64_t)to : 0;
    }
    length = length > VV_LOOKBACK_NS_MIN ? length : VV_LOOKBACK_NS_MIN;
    uint64_t most = (uint64_t)to - (uint64_t)VV_TIME_MIN; /* what there can be before `from` */
    int64_t from = length < most ? to - (int64_t)length : VV_TIME_MIN;
    return open_range(walk, from, to, true, true);
}

static struct vv_tier_scan *tiers_of(struct vv_walk *walk)
{
    return &walk->tiers[walk->leg % VV_WALK_SCANS];
}

static enum vv_status open_leg(struct vv_walk *walk, size_t at, struct vv_window range)
{
    const struct vv_walk_plan *plan = &walk->plan;
    size_t scans = plan->n_legs > 1 ? VV_WALK_SCANS : 1;
    const struct vv_tier_scan_options options = {
        .route = plan->legs[at].route,
        .steps = plan->steps,
        .source = walk->options.source,
        .metric = walk->options.metric,
        .from = range.from,
        .to = range.to,
        .descending = walk->options.descending,
        .few = walk->options.few,
        .step_parts = plan->step_parts,
        .sketches = plan->sketches,
        .only = plan->only,
        .sealed = &walk->sealed,
        .memory_max = walk->options.memory_max / scans,
    };
    vv_tier_scan_close(tiers_of(walk));
    walk->leg = at;
    return vv_tier_scan_open(tiers_of(walk), walk->context, &options, walk->facts);
}

/* The next one in the walk's direction. VV_DONE: there is none. */
static enum vv_status open_next_leg(struct vv_walk *walk)
{
    const struct vv_window all = {walk->options.from, walk->options.to};
    while (walk->legs_left > 0) {
        size_t left = walk->legs_left--;
        size_t at = walk->options.descending ? left - 1 : walk->plan.n_legs - left;
        struct vv_window range = vv_window_intersect(walk->plan.legs[at].range, all);
        if (!vv_window_is_empty(range)) {
            return open_leg(walk, at, range);
        }
    }
    return VV_DONE;
}

/* What the tiers leave to raw points. */
static enum vv_status open_gap(struct vv_walk *walk, struct vv_window gap)
{
    vv_fetch_expect_gap(walk->context->fetch, &walk->options.source, gap.from, gap.to,
                        walk->options.descending, walk->options.few);
    struct vv_feed_options options = walk->options;
    options.from = gap.from;
    options.to = gap.to;
    options.hidden_too = true; /* the gap says from when on */
    return open_feed(walk, &options);
}

static enum vv_status open_main(struct vv_walk *walk)
{
    walk->phase = VV_WALK_READS;
    return open_range(walk, walk->options.from, walk->options.to, walk->options.descending,
                      walk->options.few);
}

enum vv_status vv_walk_open(struct vv_walk *walk, const struct vv_query_context *context,
                            const struct vv_feed_options *options, const struct vv_walk_plan *plan,
                            struct vv_result_facts *facts)
{
    vv_walk_close(walk);
    walk->context = context;
    walk->options = *options;
    walk->facts = facts;
    walk->steps = plan->steps;
    walk->changes = plan->changes;
    walk->whole = plan->whole;
    walk->has_tiers = false;
    for (size_t i = 0; i < plan->n_legs; i++) {
        walk->has_tiers |= plan->legs[i].route->n > 0;
    }
    walk->run.n = 0;
    walk->slice.n = 0;
    walk->in_step = false;
    walk->start = walk->end = 0;
    walk->found = false;
    walk->has_any = false;
    walk->segment.n = 0;
    walk->previous.n = 0;
    if (walk->has_tiers) {
        vv_invariant(!plan->changes && !options->where->active);
        walk->plan = *plan;
        walk->legs_left = plan->n_legs;
        walk->sealed = (struct vv_tier_sealed){0};
        walk->leg = 0;
        walk->phase = VV_WALK_READS;
        enum vv_status status = open_next_leg(walk);
        struct vv_window none = {walk->options.from, walk->options.from};
        return status == VV_DONE ? open_leg(walk, 0, none) : status; /* of an empty range */
    }
    if (!plan->changes || options->descending) {
        return open_main(walk);
    }
    walk->phase = VV_WALK_LOOKS_BACK;
    return open_lookback(walk);
}

bool vv_walk_is_open(const struct vv_walk *walk)
{
    bool is_open = vv_feed_is_open(&walk->feed);
    for (size_t i = 0; i < VV_WALK_SCANS; i++) {
        is_open = is_open || walk->tiers[i].is_open;
    }
    return is_open;
}

void vv_walk_close(struct vv_walk *walk)
{
    bool was_open = vv_walk_is_open(walk);
    vv_feed_close(&walk->feed);
    for (size_t i = 0; i < VV_WALK_SCANS; i++) {
        vv_tier_scan_close(&walk->tiers[i]);
    }
    if (was_open && walk->has_tiers) {
        vv_tier_note_sealed(&walk->sealed, walk->facts);
    }
    walk->run.n = walk->slice.n = 0;
}

void vv_walk_deinit(struct vv_walk *walk)
{
    vv_walk_close(walk);
    vv_feed_deinit(&walk->feed);
    for (size_t i = 0; i < VV_WALK_SCANS; i++) {
        vv_tier_scan_deinit(&walk->tiers[i]);
    }
}

/* ---- steps ---- */

static struct vv_rate_segment last_point(const struct vv_walk *walk, const struct vv_slice *slice)
{
    size_t at = slice->n - 1;
    return vv_rate_segment_of(walk->feed.type, slice->times + at, slice->values + at, 1);
}

static void end_step(struct vv_walk *walk, const struct vv_rate_segment *previous,
                     struct vv_walk_event *event)
{
    event->kind = VV_WALK_STEP;
    event->start = walk->start;
    event->segment.n = 0;
    if (walk->changes) {
        event->segment = vv_rate_join(walk->feed.type, previous, &walk->segment);
    }
    walk->in_step = false;
    walk->segment.n = 0;
}

/* Ends the step ascending: its last point is the one before the next step. */
static void end_ascending(struct vv_walk *walk, struct vv_walk_event *event)
{
    struct vv_rate_segment previous = {.n = 0};
    if (walk->changes) {
        previous = walk->previous;
        walk->previous =
            vv_rate_segment_of(walk->feed.type, &walk->segment.last_time, &walk->segment.last, 1);
    }
    end_step(walk, &previous, event);
}

/* Mostly the step that follows the last one, of the same length: that takes no division. */
static bool is_next(const struct vv_walk *walk, int64_t time)
{
    return time == walk->end && walk->end > walk->start && walk->steps->length_ns > 0 &&
           !walk->steps->zone;
}

static void begin_step(struct vv_walk *walk, int64_t time)
{
    if (!walk->in_step) {
        walk->start = is_next(walk, time) ? time : vv_steps_start(walk->steps, time);
        walk->end = vv_steps_next(walk->steps, walk->start);
        walk->in_step = true;
    }
}

static void take_ascending(struct vv_walk *walk, struct vv_walk_event *event)
{
    struct vv_slice *slice = &walk->slice;
    if (walk->in_step && slice->times[0] >= walk->end) {
        end_ascending(walk, event);
        return;
    }
    begin_step(walk, slice->times[0]);
    size_t n = vv_steps_count_before(slice->times, slice->n, walk->end);
    event->kind = VV_WALK_PART;
    event->start = walk->start;
    event->part = (struct vv_slice){slice->times, slice->values, n};
    if (walk->changes) {
        struct vv_rate_segment part =
            vv_rate_segment_of(walk->feed.type, slice->times, slice->values, n);
        walk->segment = vv_rate_join(walk->feed.type, &walk->segment, &part);
    }
    *slice = (struct vv_slice){slice->times + n, slice->values + n, slice->n - n};
}

static void take_descending(struct vv_walk *walk, struct vv_walk_event *event)
{
    struct vv_slice *slice = &walk->slice;
    if (walk->in_step && slice->times[slice->n - 1] < walk->start) {
        struct vv_rate_segment previous = last_point(walk, slice);
        end_step(walk, &previous, event);
        return;
    }
    begin_step(walk, slice->times[slice->n - 1]);
    size_t n = vv_steps_count_from(slice->times, slice->n, walk->start);
    size_t first = slice->n - n;
    event->kind = VV_WALK_PART;
    event->start = walk->start;
    event->part = (struct vv_slice){slice->times + first, slice->values + first, n};
    if (walk->changes) {
        struct vv_rate_segment part =
            vv_rate_segment_of(walk->feed.type, event->part.times, event->part.values, n);
        walk->segment = vv_rate_join(walk->feed.type, &part, &walk->segment);
    }
    slice->n = first;
}

/* How many of a tier's steps, from where the walk is, are one asked step each. Not the last of the
 * run, as that may go on in the next one. */
static size_t count_whole(const struct vv_walk *walk)
{
    const struct vv_tier_run *run = &walk->run;
    bool descending = walk->options.descending;
    int64_t length = walk->steps->length_ns;
    int64_t near = run->times[descending ? run->n - 1 : 0];
    size_t n = 0;
    /* Of a day of 25 hours, two hours that are a day apart are one row. */
    if (!walk->whole || walk->in_step || walk->steps->zone) {
        return 0;
    }
    while (n + 1 < run->n) {
        size_t later = descending ? run->n - 1 - n : n + 1;
        if (run->times[later] - run->times[later - 1] != length) {
            break;
        }
        n++;
    }
    return n > 0 && vv_steps_start(walk->steps, near) == near ? n : 0;
}

void vv_walk_take(struct vv_walk *walk, size_t n)
{
    vv_tier_run_take(&walk->run, n, walk->options.descending);
}

/* Gives those of a tier's steps that are in one asked step, or first ends the one before it. What
 * is left of the run is in others. */
static void take_run(struct vv_walk *walk, struct vv_walk_event *event)
{
    struct vv_tier_run *run = &walk->run;
    bool descending = walk->options.descending;
    int64_t near = run->times[descending ? run->n - 1 : 0];
    if (walk->in_step && (near < walk->start || near >= walk->end)) {
        end_step(walk, &walk->previous, event);
        return;
    }
    size_t whole = count_whole(walk);
    if (whole > 0) {
        struct vv_tier_run all = *run;
        event->kind = VV_WALK_WHOLE;
        event->merged = vv_tier_run_take(&all, whole, descending);
        return;
    }
    begin_step(walk, near);
    size_t n = descending ? vv_steps_count_from(run->times, run->n, walk->start)
                          : vv_steps_count_before(run->times, run->n, walk->end);
    event->kind = VV_WALK_MERGED;
    event->start = walk->start;
    event->merged = vv_tier_run_take(run, n, descending);
    event->ends = run->n > 0;
    walk->in_step = !event->ends;
}

/* Whether no point of the open step can follow, and all that its end needs is known. */
static bool is_passed(const struct vv_walk *walk)
{
    if (!walk->in_step || !vv_feed_is_open(&walk->feed)) {
        return false;
    }
    int64_t reached = vv_feed_reached(&walk->feed);
    return walk->options.descending ? !walk->changes && reached <= walk->start
                                    : reached >= walk->end;
}

/* ---- phases ---- */

static enum vv_status look_back(struct vv_walk *walk, struct vv_error *error)
{
    struct vv_slice slice;
    enum vv_status status = vv_feed_next(&walk->feed, &slice, error);
    if (status == VV_OK && slice.n == 0) {
        return VV_OK;
    }
    if (status != VV_OK && status != VV_DONE) {
        return status;
    }
    if (status == VV_OK) {
        walk->previous = last_point(walk, &slice);
    }
    return VV_DONE;
}

/* At the end of the range. */
static enum vv_status finish(struct vv_walk *walk, struct vv_walk_event *event)
{
    if (!walk->in_step) {
        walk->phase = VV_WALK_DONE;
        event->kind = VV_WALK_END;
        return VV_OK;
    }
    if (walk->changes && walk->options.descending) {
        walk->phase = VV_WALK_LOOKS_BACK_LAST;
        walk->previous.n = 0;
        return open_lookback(walk);
    }
    end_ascending(walk, event);
    return VV_OK;
}

/* The next of what the tiers have. */
static enum vv_status read_tiers(struct vv_walk *walk, struct vv_walk_event *event,
                                 struct vv_error *error)
{
    struct vv_tier_part part;
    enum vv_status status = vv_tier_scan_next(tiers_of(walk), &part, error);
    walk->found = walk->found || vv_tier_scan_found(tiers_of(walk));
    if (status == VV_DONE) {
        status = open_next_leg(walk);
        return status == VV_DONE ? finish(walk, event) : status;
    }
    if (status != VV_OK) {
        return status;
    }
    switch (part.kind) {
    case VV_TIER_STEPS:
        walk->run = part.run;
        take_run(walk, event);
        return VV_OK;
    case VV_TIER_POINTS:
        walk->slice = (struct vv_slice){part.times, part.values, part.n};
        return VV_OK;
    case VV_TIER_GAP:
        return open_gap(walk, part.gap);
    default:
        return VV_OK;
    }
}

static enum vv_status read_on(struct vv_walk *walk, struct vv_walk_event *event,
                              struct vv_error *error)
{
    if (walk->run.n > 0) {
        take_run(walk, event);
        return VV_OK;
    }
    if (walk->slice.n > 0) {
        (walk->options.descending ? take_descending : take_ascending)(walk, event);
        return VV_OK;
    }
    if (is_passed(walk)) {
        if (walk->options.descending) {
            end_step(walk, &walk->previous, event);
        } else {
            end_ascending(walk, event);
        }
        return VV_OK;
    }
    if (walk->has_tiers && !vv_feed_is_open(&walk->feed)) {
        return read_tiers(walk, event, error);
    }
    enum vv_status status = vv_feed_next(&walk->feed, &walk->slice, error);
    walk->found = walk->found || vv_scan_found(walk->feed.scan);
    if (status == VV_DONE && walk->has_tiers) {
        vv_feed_close(&walk->feed);
        return VV_OK;
    }
    return status == VV_DONE ? finish(walk, event) : status;
}

static void note_given(struct vv_walk *walk, const struct vv_walk_event *event)
{
    bool is_part = event->kind == VV_WALK_PART;
    int64_t time = is_part ? event->part.times[0] : event->merged.times[0];
    if (walk->has_tiers) {
        vv_tier_scan_note_given(tiers_of(walk), time, !walk->has_any);
    }
    walk->has_any = true;
}

/* What was left to points is named when there is something of the metric. */
static enum vv_status read_and_note(struct vv_walk *walk, struct vv_walk_event *event,
                                    struct vv_error *error)
{
    enum vv_status status = read_on(walk, event, error);
    if (event->kind == VV_WALK_PART || event->kind == VV_WALK_MERGED ||
        event->kind == VV_WALK_WHOLE) {
        note_given(walk, event);
    } else if (walk->has_any && !walk->options.descending) {
        vv_tier_scan_note_left(tiers_of(walk));
    }
    return status;
}

enum vv_status vv_walk_next(struct vv_walk *walk, struct vv_walk_event *event_out,
                            struct vv_error *error)
{
    enum vv_status status;
    event_out->kind = VV_WALK_WORK;
    switch (walk->phase) {
    case VV_WALK_LOOKS_BACK:
        status = look_back(walk, error);
        walk->found = walk->found || vv_scan_found(walk->feed.scan);
        return status == VV_DONE ? open_main(walk) : status;
    case VV_WALK_READS:
        return read_and_note(walk, event_out, error);
    case VV_WALK_LOOKS_BACK_LAST:
        status = look_back(walk, error);
        if (status == VV_DONE) {
            end_step(walk, &walk->previous, event_out);
            walk->phase = VV_WALK_DONE;
            return VV_OK;
        }
        return status;
    default:
        event_out->kind = VV_WALK_END;
        return VV_OK;
    }
}
