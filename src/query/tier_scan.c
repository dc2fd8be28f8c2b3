/* SPDX-License-Identifier: Apache-2.0 */
/* From level to level: which stretches a tier answers, and what goes to the next finer one. */
#include "query/tier_scan.h"

#include "query/fetch.h"
#include "query/peers.h"
#include "query/tier_head.h"
#include "query/words.h"

#include <stdlib.h>

#define SHARE 4 /* of the memory: for a level's window, and for what the head has */

/* ---- the head ---- */

static enum vv_status look_at_head(struct vv_tier_scan *scan)
{
    const struct vv_tier_head_look look = {
        .sources = scan->series.sources,
        .n_sources = scan->series.n_sources,
        .metric = scan->options.metric,
        .range = scan->left,
        .memory_max = scan->options.memory_max / SHARE,
    };
    free(scan->head_units);
    enum vv_status status = vv_tier_head_look(scan->context->head, &look, &scan->head_units,
                                              &scan->series.n_head_units);
    scan->series.head_units = scan->head_units;
    scan->has_head = scan->series.n_head_units > 0;
    return status;
}

/* ---- life ---- */

/* From the first to the last time of all the sources. */
static struct vv_window known_of(const struct vv_query_context *context,
                                 const struct vv_tier_series *series)
{
    struct vv_window known = {0, 0};
    for (size_t i = 0; i < series->n_sources; i++) {
        struct vv_window one = vv_scan_known(context, series->sources[i]);
        if (vv_window_is_empty(known)) {
            known = one;
        } else if (!vv_window_is_empty(one)) {
            known.from = one.from < known.from ? one.from : known.from;
            known.to = one.to > known.to ? one.to : known.to;
        }
    }
    return known;
}

/* In whole days, or steps at the ends of what the sources have would be cut. */
static struct vv_window clip_to_sources(const struct vv_query_context *context,
                                        const struct vv_tier_scan_options *options,
                                        const struct vv_tier_series *series)
{
    struct vv_window range = {options->from, options->to};
    struct vv_window known = known_of(context, series);
    if (vv_peers_may_write(context)) { /* what others wrote may lie anywhere */
        return range;
    }
    if (vv_window_is_empty(known)) {
        return known;
    }
    known.from = vv_time_floor(known.from, VV_DAY);
    known.to = vv_time_floor(known.to - 1, VV_DAY) + VV_DAY;
    return vv_window_intersect(range, known);
}

/* What is read for one metric serves others, unless there are none. */
static uint32_t metric_of(const struct vv_tier_scan_options *options)
{
    return options->only ? options->metric->metric : VV_TIER_ALL_METRICS;
}

/* Whether what was read for the metric before serves this one, but for the head. */
static bool is_same(const struct vv_tier_scan *scan, const struct vv_tier_scan_options *options)
{
    const struct vv_tier_scan_options *old = &scan->options;
    return scan->is_kept && old->route == options->route && old->source == options->source &&
           old->n_members == 0 && options->n_members == 0 &&
           scan->series.measurement == options->metric->measurement && old->from == options->from &&
           old->to == options->to && old->sketches == options->sketches &&
           scan->series.metric == metric_of(options);
}

static int64_t later_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* A record counts as it is where nothing that it was built of is whole any more: what came since
 * then, for what had expired, is not all. Points that their retention hides and that are still
 * there are read where the tiers are not built of them yet. */
static void begin_levels(struct vv_tier_scan *scan)
{
    const struct vv_route *route = scan->options.route;
    scan->n_levels = route->n;
    for (size_t i = route->n; i-- > 0;) {
        struct vv_tier_level *level = &scan->levels[i];
        const struct vv_tier_level *finer = i + 1 < route->n ? level + 1 : NULL;
        level->route = route->levels[i];
        level->index = i;
        level->finer_oldest = route->raw_whole_from;
        if (finer) {
            int64_t oldest = later_of(finer->route.oldest, finer->route.whole_from);
            level->finer_oldest = oldest < finer->finer_oldest ? oldest : finer->finer_oldest;
        }
        if (scan->options.n_members > 0) { /* their own records have the last word */
            level->finer_oldest = VV_TIME_MIN;
        }
    }
}

enum vv_status vv_tier_scan_open(struct vv_tier_scan *scan, const struct vv_query_context *context,
                                 const struct vv_tier_scan_options *options,
                                 struct vv_result_facts *facts)
{
    vv_tier_scan_close(scan);
    bool same = is_same(scan, options);
    uint64_t epoch = vv_fetch_epoch(context);
    scan->is_open = true;
    scan->context = context;
    scan->options = *options;
    scan->facts = facts;
    scan->series = (struct vv_tier_series){
        .source = options->source,
        .measurement = options->metric->measurement,
        .metric = metric_of(options),
        .sketches = options->sketches,
        .few = options->few,
        .memory_max = options->memory_max / SHARE,
        .sources = options->n_members > 0 ? options->members : &scan->options.source,
        .n_sources = options->n_members > 0 ? options->n_members : 1,
        .ids = options->member_ids,
    };
    scan->left = clip_to_sources(context, options, &scan->series);
    begin_levels(scan);
    enum vv_status status = look_at_head(scan);
    if (!same || scan->epoch != vv_fetch_epoch(context)) {
        for (size_t i = 0; i < VV_SPACES; i++) {
            vv_tier_level_clear(&scan->levels[i]);
        }
        scan->epoch = epoch;
    }
    scan->is_kept = status == VV_OK;
    return status;
}

void vv_tier_note_sealed(const struct vv_tier_sealed *sealed, struct vv_result_facts *facts)
{
    for (size_t tier = 0; tier < VV_SPACES; tier++) {
        struct vv_tier_fact *fact = &facts->tiers[tier];
        if (sealed->is_sealed[tier]) {
            bool is_less = !fact->is_sealed || sealed->until[tier] < fact->sealed_until;
            fact->sealed_until = is_less ? sealed->until[tier] : fact->sealed_until;
            fact->is_sealed = true;
        }
    }
}

/* What the scan saw of how far the tiers are built counts with what others saw. */
static void note_sealed(const struct vv_tier_scan *scan)
{
    struct vv_tier_sealed own = {0};
    struct vv_tier_sealed *sealed = scan->options.sealed ? scan->options.sealed : &own;
    for (size_t i = 0; i < scan->n_levels; i++) {
        const struct vv_tier_level *level = &scan->levels[i];
        enum vv_space tier = level->route.tier;
        bool is_more = !sealed->is_sealed[tier] || level->sealed_until > sealed->until[tier];
        if (level->is_sealed && is_more) {
            sealed->is_sealed[tier] = true;
            sealed->until[tier] = level->sealed_until;
        }
    }
    if (!scan->options.sealed) {
        vv_tier_note_sealed(sealed, scan->facts);
    }
}

void vv_tier_scan_close(struct vv_tier_scan *scan)
{
    if (scan->is_open) {
        note_sealed(scan);
    }
    vv_tier_give_close(&scan->give);
    for (size_t i = 0; i < VV_SPACES; i++) {
        scan->levels[i].left = (struct vv_window){0, 0};
    }
    scan->left = scan->gap = scan->left_to_points = (struct vv_window){0, 0};
    scan->n_left_to_points = 0;
    scan->is_open = false;
}

void vv_tier_scan_deinit(struct vv_tier_scan *scan)
{
    vv_tier_scan_close(scan);
    vv_tier_give_deinit(&scan->give);
    for (size_t i = 0; i < VV_SPACES; i++) {
        vv_tier_level_deinit(&scan->levels[i]);
    }
    free(scan->head_units);
    *scan = (struct vv_tier_scan){0};
}

bool vv_tier_scan_found(const struct vv_tier_scan *scan)
{
    bool found = scan->has_head;
    for (size_t i = 0; i < scan->n_levels; i++) {
        found = found || scan->levels[i].found;
    }
    return found;
}

/* ---- what is told ---- */

static enum vv_status explain(const struct vv_tier_scan *scan, const struct vv_tier_level *level,
                              int64_t time, enum vv_status status, struct vv_error *error)
{
    struct vv_str id = vv_registry_source_id(scan->context->registry, scan->series.sources[0]);
    const char *whose = scan->options.n_members > 0 ? "sources from" : "source";
    const char *tier = vv_route_tier_name(level->route.tier);
    char shown[VV_SHOWN_SIZE];
    char text[VV_TIME_TEXT_SIZE];
    vv_shown(id, shown);
    vv_time_format(time, text);
    if (status == VV_NO_MEMORY) {
        return vv_error_set(error, status, "out of memory while reading");
    }
    if (status == VV_TOO_LARGE) {
        return vv_error_set(error, status,
                            "the steps of %s '%s' at %s do not fit the query's memory "
                            "(query.memory_bytes_max)",
                            whose, shown, text);
    }
    return vv_error_prefix(error, status, "%s '%s', tier %s at %s", whose, shown, tier, text);
}

static void note_parts(struct vv_tier_scan *scan, size_t tier, struct vv_window parts, uint64_t n)
{
    struct vv_tier_fact *fact = &scan->facts->tiers[tier];
    bool first = fact->parts == 0;
    fact->from = first || parts.from < fact->from ? parts.from : fact->from;
    fact->to = first || parts.to > fact->to ? parts.to : fact->to;
    fact->parts += n;
    fact->cohorts += scan->options.n_members > 0 ? n : 0;
}

/* What is named of a stretch, the earliest point or step of which is at `time`: of what lies before
 * the asked step that it is in there is nothing. Where all is one step, it begins there. */
static struct vv_window named_of(const struct vv_tier_scan *scan, struct vv_window stretch,
                                 int64_t time)
{
    const struct vv_steps *steps = scan->options.steps;
    int64_t begin = steps->length_ns > 0 ? vv_steps_start(steps, time) : time;
    stretch.from = begin > stretch.from ? begin : stretch.from;
    return stretch;
}

/* Something of the record that is being given begins at `time`. */
static void note_record(struct vv_tier_scan *scan, int64_t time)
{
    struct vv_window named = named_of(scan, scan->give.stretch, time);
    note_parts(scan, scan->giving->route.tier, named, scan->is_noted ? 0 : 1);
    scan->is_noted = true;
}

static void leave_to_points(struct vv_tier_scan *scan, struct vv_window stretch)
{
    struct vv_window *left = &scan->left_to_points;
    bool first = scan->n_left_to_points++ == 0;
    left->from = first || stretch.from < left->from ? stretch.from : left->from;
    left->to = first || stretch.to > left->to ? stretch.to : left->to;
}

void vv_tier_scan_note_left(struct vv_tier_scan *scan)
{
    if (scan->n_left_to_points > 0) {
        note_parts(scan, VV_SPACES, scan->left_to_points, scan->n_left_to_points);
        scan->n_left_to_points = 0;
    }
}

/* Of the stretch that is being read, what is given by now; the rest when it has something, too. */
static void note_down_to(struct vv_tier_scan *scan, int64_t time)
{
    struct vv_window named = named_of(scan, scan->left_to_points, time);
    note_parts(scan, VV_SPACES, named, scan->n_left_to_points);
    scan->n_left_to_points = 0;
    scan->left_to_points.to = named.from;
}

void vv_tier_scan_note_given(struct vv_tier_scan *scan, int64_t time, bool is_first)
{
    bool is_in_last = vv_window_holds(scan->left_to_points, time);
    if (scan->options.descending && is_in_last) {
        note_down_to(scan, time);
        return;
    }
    if (!scan->options.descending && is_first && scan->n_left_to_points > 0) {
        scan->n_left_to_points = is_in_last;
        scan->left_to_points = named_of(scan, scan->left_to_points, time);
    }
    vv_tier_scan_note_left(scan);
}

/* ---- from level to level ---- */

/* From when on points are read: those that are hidden, but there, as far as a tier is to have them.
 */
static int64_t points_from(const struct vv_route *route)
{
    int64_t from = route->raw_oldest;
    for (size_t i = 0; i < route->n; i++) {
        from = route->levels[i].oldest < from ? route->levels[i].oldest : from;
    }
    from = later_of(from, route->raw_whole_from);
    return from < route->raw_oldest ? from : route->raw_oldest;
}

/* Leaves a stretch to what is finer than the level. */
static void push(struct vv_tier_scan *scan, size_t level, struct vv_window stretch)
{
    if (level + 1 < scan->n_levels) {
        scan->levels[level + 1].left = stretch;
        scan->levels[level + 1].demand = stretch;
        return;
    }
    if (scan->options.n_members > 0) { /* whoever asks each of them notes what it was */
        scan->gap = stretch;
        return;
    }
    int64_t oldest = points_from(scan->options.route);
    stretch.from = stretch.from > oldest ? stretch.from : oldest;
    if (!vv_window_is_empty(stretch)) {
        leave_to_points(scan, stretch);
    }
    scan->gap = stretch;
}

/* Takes a stretch at the near end off what is left of a level. */
static void pass(const struct vv_tier_scan *scan, struct vv_tier_level *level,
                 struct vv_window stretch)
{
    if (scan->options.descending) {
        level->left.to = stretch.from;
    } else {
        level->left.from = stretch.to;
    }
}

/* Of what is left: whole steps that the tier still shows. */
static struct vv_window whole_steps(const struct vv_tier_level *level)
{
    int64_t step_ns = vv_tier_step_ns(level->route.tier);
    int64_t from = level->left.from > level->route.oldest ? level->left.from : level->route.oldest;
    return (struct vv_window){vv_time_ceil(from, step_ns), vv_time_floor(level->left.to, step_ns)};
}

/* What is left at the near end of no whole steps; empty where there are some. */
static struct vv_window edge(const struct vv_tier_scan *scan, const struct vv_tier_level *level,
                             struct vv_window whole)
{
    struct vv_window left = level->left;
    if (vv_window_is_empty(whole)) {
        return left;
    }
    return scan->options.descending ? (struct vv_window){whole.to, left.to}
                                    : (struct vv_window){left.from, whole.from};
}

/* The stretch at the near end of a range inside of the level's window. */
static struct vv_stretch near_stretch(const struct vv_tier_scan *scan,
                                      const struct vv_tier_level *level, struct vv_window range)
{
    int64_t step_ns = vv_tier_step_ns(level->route.tier);
    return scan->options.descending ? vv_cover_last(&level->cover, step_ns, range.from, range.to)
                                    : vv_cover_next(&level->cover, step_ns, range.from, range.to);
}

/* Of a covered stretch, what lies in the asked step at its near end. Days of a time zone may begin
 * inside of a step of the tier: that is then none. What is not covered is not cut, or a walk of
 * years without data would go from day to day. */
static void cut_to_step(const struct vv_tier_scan *scan, const struct vv_tier_level *level,
                        struct vv_stretch *stretch)
{
    const struct vv_steps *steps = scan->options.steps;
    int64_t step_ns = vv_tier_step_ns(level->route.tier);
    bool descending = scan->options.descending;
    if (!steps->zone && steps->length_ns % step_ns == 0) {
        return;
    }
    int64_t start = vv_steps_start(steps, descending ? stretch->to - 1 : stretch->from);
    int64_t bound = descending ? start : vv_steps_next(steps, start);
    if (bound <= stretch->from || bound >= stretch->to) {
        return;
    }
    int64_t before = vv_time_floor(bound, step_ns);
    int64_t behind = vv_time_ceil(bound, step_ns);
    if (descending) {
        stretch->is_covered = behind < stretch->to;
        int64_t from = stretch->is_covered ? behind : before;
        stretch->from = from > stretch->from ? from : stretch->from;
    } else {
        stretch->is_covered = before > stretch->from;
        int64_t to = stretch->is_covered ? before : behind;
        stretch->to = to < stretch->to ? to : stretch->to;
    }
}

static enum vv_status read_stretch(struct vv_tier_scan *scan, struct vv_tier_level *level,
                                   const struct vv_stretch *stretch, struct vv_error *error)
{
    const struct vv_tier_wanted wanted = {
        .metric = scan->options.metric->metric,
        .type = scan->options.metric->type,
        .descending = scan->options.descending,
        .step_parts = scan->options.step_parts,
        .sketches = scan->options.sketches,
        .memory_max = scan->options.memory_max / SHARE,
    };
    struct vv_window range = {stretch->from, stretch->to};
    scan->giving = level;
    enum vv_status status =
        vv_tier_give_open(&scan->give, level, stretch->tag, range, &wanted, error);
    if (status != VV_OK) {
        vv_tier_give_close(&scan->give);
        return explain(scan, level, stretch->from, status, error);
    }
    scan->is_noted = false;
    pass(scan, level, range);
    return VV_OK;
}

/* Deals with a stretch at the near end of what is left of a level. */
static enum vv_status advance(struct vv_tier_scan *scan, size_t index, struct vv_error *error)
{
    struct vv_tier_level *level = &scan->levels[index];
    struct vv_window whole = whole_steps(level);
    struct vv_window range = edge(scan, level, whole);
    if (!vv_window_is_empty(range)) {
        pass(scan, level, range);
        push(scan, index, range);
        return VV_OK;
    }
    int64_t near = scan->options.descending ? whole.to - 1 : whole.from;
    enum vv_status status = vv_tier_level_load(level, scan->context, &scan->series, near,
                                               scan->options.descending, scan->facts, error);
    if (status != VV_OK) {
        return explain(scan, level, near, status, error);
    }
    struct vv_stretch stretch =
        near_stretch(scan, level, vv_window_intersect(whole, level->window));
    if (stretch.is_covered) {
        cut_to_step(scan, level, &stretch);
    }
    if (stretch.is_covered) {
        return read_stretch(scan, level, &stretch, error);
    }
    range = (struct vv_window){stretch.from, stretch.to};
    pass(scan, level, range);
    push(scan, index, range);
    return VV_OK;
}

/* ---- giving ---- */

/* Gives the coarsest level all of the range. False at the end. */
static bool begin_range(struct vv_tier_scan *scan)
{
    struct vv_window range = scan->left;
    if (vv_window_is_empty(range)) {
        return false;
    }
    scan->left = (struct vv_window){0, 0};
    if (scan->n_levels == 0) {
        push(scan, 0, range);
        return true;
    }
    scan->levels[0].left = range;
    scan->levels[0].demand = range;
    return true;
}

static enum vv_status give_on(struct vv_tier_scan *scan, struct vv_tier_part *part_out,
                              struct vv_error *error)
{
    struct vv_tier_give *give = &scan->give;
    const struct vv_tier_level *level = scan->giving;
    enum vv_status status = vv_tier_give_next(give, part_out, error);
    if (status == VV_DONE) {
        vv_tier_give_close(give);
        return VV_OK;
    }
    if (status != VV_OK) {
        return explain(scan, level, give->stretch.from, status, error);
    }
    scan->facts->tiers[level->route.tier].steps += part_out->run.n;
    scan->facts->points_read += part_out->n;
    if (part_out->kind != VV_TIER_WORK) {
        note_record(scan, part_out->run.n > 0 ? part_out->run.times[0] : part_out->times[0]);
    }
    return VV_OK;
}

enum vv_status vv_tier_scan_next(struct vv_tier_scan *scan, struct vv_tier_part *part_out,
                                 struct vv_error *error)
{
    *part_out = (struct vv_tier_part){.kind = VV_TIER_WORK};
    if (scan->give.is_open) {
        return give_on(scan, part_out, error);
    }
    if (!vv_window_is_empty(scan->gap)) {
        part_out->kind = VV_TIER_GAP;
        part_out->gap = scan->gap;
        scan->gap = (struct vv_window){0, 0};
        return VV_OK;
    }
    for (size_t i = scan->n_levels; i-- > 0;) {
        if (!vv_window_is_empty(scan->levels[i].left)) {
            return advance(scan, i, error);
        }
    }
    return begin_range(scan) ? VV_OK : VV_DONE;
}

static int64_t begin_of(struct vv_window left, int64_t before)
{
    return !vv_window_is_empty(left) && left.from < before ? left.from : before;
}

int64_t vv_tier_scan_undone(const struct vv_tier_scan *scan)
{
    int64_t undone = begin_of(scan->left, scan->options.to);
    undone = begin_of(scan->gap, undone);
    undone = scan->give.is_open ? begin_of(scan->give.stretch, undone) : undone;
    for (size_t i = 0; i < scan->n_levels; i++) {
        undone = begin_of(scan->levels[i].left, undone);
    }
    return undone;
}
