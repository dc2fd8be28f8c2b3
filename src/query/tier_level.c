/* SPDX-License-Identifier: Apache-2.0 */
#include "query/tier_level.h"

#include "base/log.h"
#include "query/fetch.h"
#include "query/tier_take.h"
#include "tier/cohort.h"

#include <stdlib.h>

#define REACH_NS_MAX         (4 * 366 * VV_DAY) /* of a window; beyond the last times it fits an int64 */
#define VOLUME_WINDOW_NS_MIN (7 * VV_DAY)

void vv_tier_level_clear(struct vv_tier_level *level)
{
    level->left = level->demand = level->window = level->counted = (struct vv_window){0, 0};
    level->n_records = 0;
    vv_buffer_clear(&level->bytes);
    level->units_max = 0;
    level->found = false;
    level->is_sealed = false;
    vv_cover_clear(&level->cover);
}

void vv_tier_level_deinit(struct vv_tier_level *level)
{
    vv_cover_deinit(&level->cover);
    vv_buffer_deinit(&level->bytes);
    free(level->records);
    *level = (struct vv_tier_level){0};
}

/* ---- doubts ---- */

struct doubting {
    struct vv_tier_level *level;
    uint32_t cohort;
    struct vv_error *error;
};

static enum vv_status take_doubt(void *context, const struct vv_piece *piece)
{
    const struct doubting *doubting = context;
    struct vv_unit_record given;
    if (vv_cohort_doubted(piece->part) != doubting->cohort) {
        return VV_OK;
    }
    enum vv_status status = vv_unit_read(piece->bytes, &given, doubting->error);
    return status == VV_OK ? vv_cover_add_stale(&doubting->level->cover, &given.unit) : status;
}

/* Which of a cohort's units are stale, though that could not be said where they lie. */
static enum vv_status add_doubts(struct vv_tier_level *level,
                                 const struct vv_query_context *context,
                                 const struct vv_store_read *of_cohort, struct vv_error *error)
{
    struct doubting doubting = {level, of_cohort->partition.source, error};
    struct vv_store_read read = *of_cohort;
    read.partition.source = VV_COHORT_DOUBTS;
    return vv_fetch_read_kept(context, &read, take_doubt, &doubting, error);
}

/* ---- windows ---- */

/* So many buckets are read at once. */
static uint32_t buckets_max(const struct vv_tier_level *level,
                            const struct vv_query_context *context,
                            const struct vv_tier_series *series)
{
    int64_t reach = REACH_NS_MAX / vv_tier_plan(level->route.tier).bucket_ns;
    int64_t max = context->store->ops->buckets_max;
    max = max < reach ? max : reach;
    max = max < VV_TIER_BUCKETS_MAX ? max : VV_TIER_BUCKETS_MAX;
    return series->few || max < 1 ? 1 : (uint32_t)max;
}

/* What is wanted of the bucket that holds `near` and those behind it, in whole units, as far as it
 * may fit. */
static struct vv_window choose_window(const struct vv_tier_level *level, uint32_t n_buckets,
                                      int64_t near, bool descending)
{
    int64_t bucket_ns = vv_tier_plan(level->route.tier).bucket_ns;
    int64_t unit_ns = vv_tier_unit_ns_max(level->route.tier);
    int64_t start = vv_time_floor(near, bucket_ns);
    int64_t more = (n_buckets - 1) * bucket_ns;
    struct vv_window wanted = {vv_time_floor(level->demand.from, unit_ns),
                               vv_time_ceil(level->demand.to, unit_ns)};
    struct vv_window buckets = {descending ? start - more : start,
                                descending ? start + bucket_ns : start + bucket_ns + more};
    wanted = vv_window_intersect(wanted, buckets);
    if (level->units_max > 0) {
        int64_t unit = vv_time_floor(near, unit_ns);
        int64_t length = level->units_max * unit_ns;
        struct vv_window few = {descending ? unit + unit_ns - length : unit,
                                descending ? unit + unit_ns : unit + length};
        wanted = vv_window_intersect(wanted, few);
    }
    return wanted;
}

static enum vv_status add_head(struct vv_tier_level *level, const struct vv_tier_series *series)
{
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < series->n_head_units && status == VV_OK; i++) {
        const struct vv_unit *unit = &series->head_units[i];
        bool is_wanted = unit->from < level->window.to && unit->to > level->window.from;
        status = is_wanted ? vv_cover_add_stale(&level->cover, unit) : VV_OK;
    }
    return status;
}

static struct vv_store_read read_of(const struct vv_tier_level *level,
                                    const struct vv_tier_series *series, struct vv_window window,
                                    uint32_t n_buckets)
{
    return (struct vv_store_read){
        .partition = vv_unit_key(level->route.tier, level->route.space, series->source,
                                 series->measurement, window.from)
                         .partition,
        .measurement = series->measurement,
        .span_from = window.from,
        .span_to = window.to,
        .heads_only = !series->sketches,
        .n_buckets = n_buckets,
    };
}

static struct vv_fetch_tier fetched_as(const struct vv_tier_level *level)
{
    return (struct vv_fetch_tier){level->index, vv_tier_unit_ns_max(level->route.tier)};
}

static enum vv_status see_any(void *context, const struct vv_piece *piece)
{
    (void)piece;
    *(bool *)context = true;
    return VV_OK;
}

/* Of what is left of the demand, where that is a few buckets: these are asked for ahead. */
static enum vv_status widen_by_reading(struct vv_tier_level *level,
                                       const struct vv_query_context *context,
                                       const struct vv_tier_series *series, struct vv_window left,
                                       bool forward)
{
    int64_t bucket_ns = vv_tier_plan(level->route.tier).bucket_ns;
    const struct vv_fetch_tier tier = fetched_as(level);
    bool is_found = false;
    while (left.from < left.to && !is_found) {
        int64_t start = vv_time_floor(forward ? left.from : left.to - 1, bucket_ns);
        const struct vv_window bucket = {start, start + bucket_ns};
        struct vv_window next = vv_window_intersect(left, bucket);
        const struct vv_store_read read = read_of(level, series, next, 1);
        bool again;
        enum vv_status status =
            vv_fetch_read_tier(context, &read, &tier, see_any, &is_found, &again, NULL);
        if (status != VV_OK || is_found) {
            return status;
        }
        if (forward) {
            level->window.to = left.from = next.to;
        } else {
            level->window.from = left.to = next.from;
        }
    }
    return VV_OK;
}

/* After a window in which nothing was found: makes it reach to where the space has something. That
 * nothing was found is never wrong where finer data is read then. Of the bucket that the window
 * ends in, as what was wanted did, the rest was not looked at. */
static void widen(struct vv_tier_level *level, const struct vv_query_context *context,
                  const struct vv_tier_series *series, bool forward)
{
    int64_t unit_ns = vv_tier_unit_ns_max(level->route.tier);
    struct vv_window left = {
        forward ? level->window.to : vv_time_floor(level->demand.from, unit_ns),
        forward ? vv_time_ceil(level->demand.to, unit_ns) : level->window.from};
    int64_t bucket_ns = vv_tier_plan(level->route.tier).bucket_ns;
    bool is_short = context->fetch && vv_fetch_is_short(left.from, left.to, bucket_ns);
    if (is_short && widen_by_reading(level, context, series, left, forward) == VV_OK) {
        return; /* else a bucket is away that perhaps has nothing */
    }
    int64_t next = vv_time_floor(forward ? level->window.to : level->window.from - 1, bucket_ns);
    int64_t nearest;
    enum vv_status status = context->store->ops->nearest(
        context->store, 0, level->route.space, series->source, next, forward, &nearest, NULL);
    if (status == VV_DONE) {
        nearest = forward ? VV_TIME_MAX + 1 : VV_TIME_MIN;
    } else if (status == VV_OK) {
        nearest = forward ? nearest : nearest + bucket_ns;
    } else {
        return;
    }
    if (forward) {
        level->window.to = nearest > level->window.to ? nearest : level->window.to;
    } else {
        level->window.from = nearest < level->window.from ? nearest : level->window.from;
    }
}

/* Units of which something of a source was deleted that the store has not been told of yet: to be
 * looked at before the store is. */
static enum vv_status add_deleted(struct vv_tier_level *level, struct vv_deletions *deletions,
                                  uint32_t source, uint32_t measurement)
{
    int64_t unit_ns = vv_tier_unit_ns_max(level->route.tier);
    enum vv_status status = VV_OK;
    if (!vv_deletions_has(deletions, source)) {
        return VV_OK;
    }
    for (int64_t at = level->window.from; at < level->window.to && status == VV_OK; at += unit_ns) {
        const struct vv_unit unit = {at, at + unit_ns};
        if (vv_deletions_overlap(deletions, source, measurement, unit.from, unit.to)) {
            status = vv_cover_add_stale(&level->cover, &unit);
        }
    }
    return status;
}

static enum vv_status add_all_deleted(struct vv_tier_level *level,
                                      const struct vv_query_context *context,
                                      const struct vv_tier_series *series)
{
    enum vv_status status = VV_OK;
    for (size_t i = 0; context->deletions && i < series->n_sources && status == VV_OK; i++) {
        status = add_deleted(level, context->deletions, series->sources[i], series->measurement);
    }
    return status;
}

/* Of what nothing finer is kept any more a record is the last word: what speaks against it is
 * dropped. Behind that, to the end of its unit, what is finer knows better. */
static void keep_last_words(const struct vv_tier_level *level, struct vv_cover *cover)
{
    int64_t step_ns = vv_tier_step_ns(level->route.tier);
    bool any = level->finer_oldest > VV_TIME_MIN;
    bool all = level->finer_oldest > VV_TIME_MAX - step_ns;
    int64_t finer = any && !all ? vv_time_ceil(level->finer_oldest, step_ns) : level->finer_oldest;
    int64_t until = INT64_MIN;
    size_t n = 0;
    for (size_t i = 0; i < cover->n_records; i++) {
        const struct vv_unit *unit = &cover->records[i].unit;
        int64_t end = unit->to < finer ? unit->to : finer;
        until = unit->from < level->finer_oldest && end > until ? end : until;
    }
    for (size_t i = 0; i < cover->n_stale; i++) {
        struct vv_unit unit = cover->stale[i];
        unit.from = unit.from > until ? unit.from : until;
        if (unit.from < unit.to) {
            cover->stale[n++] = unit;
        }
    }
    cover->n_stale = n;
    for (size_t i = 0; i < cover->n_records; i++) {
        struct vv_unit *unit = &cover->records[i].unit;
        bool is_cut = unit->from < finer && finer < unit->to;
        if (is_cut && vv_cover_is_stale(cover, finer, unit->to)) {
            unit->to = finer;
        }
    }
}

static uint32_t buckets_of(const struct vv_tier_level *level)
{
    int64_t bucket_ns = vv_tier_plan(level->route.tier).bucket_ns;
    int64_t first = vv_time_floor(level->window.from, bucket_ns);
    return (uint32_t)((level->window.to - 1 - first) / bucket_ns) + 1;
}

/* Of a few records a volume is more than what it spares. Where nodes share the store, or its
 * answers take their time, there are none. */
static bool may_have_volumes(const struct vv_tier_level *level,
                             const struct vv_query_context *context,
                             const struct vv_tier_series *series)
{
    return vv_tier_has_volumes(level->route.tier) && !context->store->ops->shared &&
           !context->store->ops->begin_read && !series->sketches && !series->few &&
           level->units_max == 0 && level->window.to - level->window.from >= VOLUME_WINDOW_NS_MIN;
}

/* A volume is a copy of the records: where one can't be read, they are. */
static enum vv_status go_on_without(struct vv_tier_level *level, struct vv_tier_taking *taking,
                                    enum vv_status status, struct vv_error *error)
{
    if (status != VV_CORRUPT && status != VV_NEWER && status != VV_OVERLOAD) {
        return status;
    }
    if (status != VV_OVERLOAD) { /* it was replaced meanwhile */
        vv_log(VV_LOG_WARN, "volume_unreadable", "message=\"%s\" hint=\"its records are read\"",
               error ? error->message : "");
    }
    if (error) {
        error->message[0] = '\0';
    }
    level->n_records = 0;
    level->cover.n_records = 0;
    vv_buffer_clear(&level->bytes);
    taking->last = VV_TIER_RECORD_NONE;
    taking->volumes = 0;
    return VV_OK;
}

/* What is stale, and then volumes: one that has what is stale in it would have been removed when
 * that was built. */
static enum vv_status read_volumes(struct vv_tier_level *level,
                                   const struct vv_query_context *context,
                                   const struct vv_store_read *records,
                                   struct vv_tier_taking *taking, struct vv_error *error)
{
    struct vv_store *store = context->store;
    struct vv_store_read runs = *records;
    struct vv_store_read volumes = *records;
    runs.runs_only = true;
    volumes.partition.split = VV_VOLUME_SPLIT;
    volumes.span_from = vv_time_floor(level->window.from, volumes.partition.bucket_ns);
    if (vv_tier_take_is_of_one_metric(taking)) {
        volumes.part_from = vv_volume_part(taking->series->metric);
        volumes.part_to = volumes.part_from + VV_VOLUME_STRETCHES;
    }
    enum vv_status status = store->ops->read(store, &runs, vv_tier_take_piece, taking, error);
    if (status != VV_OK) {
        return status;
    }
    status = store->ops->read(store, &volumes, vv_tier_take_volume, taking, error);
    return go_on_without(level, taking, status, error);
}

/* Records of the buckets without a volume, as many of them at once as follow each other. */
static enum vv_status read_others(const struct vv_query_context *context,
                                  const struct vv_store_read *records,
                                  struct vv_tier_taking *taking, struct vv_error *error)
{
    struct vv_store *store = context->store;
    uint32_t n = records->n_buckets;
    enum vv_status status = VV_OK;
    for (uint32_t begin = 0, end = 0; begin < n && status == VV_OK; begin = end + 1) {
        for (end = begin; end < n && !(taking->volumes >> end & 1u); end++) {
        }
        if (begin < end) {
            struct vv_store_read read = *records;
            read.partition.bucket_start += begin * read.partition.bucket_ns;
            read.n_buckets = end - begin;
            status = store->ops->read(store, &read, vv_tier_take_piece, taking, error);
        }
    }
    return status;
}

/* *again_out: as of vv_fetch_read_tier. */
static enum vv_status read_pieces(struct vv_tier_level *level,
                                  const struct vv_query_context *context,
                                  const struct vv_store_read *records,
                                  struct vv_tier_taking *taking, bool *again_out,
                                  struct vv_error *error)
{
    if (may_have_volumes(level, context, taking->series)) {
        enum vv_status status = read_volumes(level, context, records, taking, error);
        return status == VV_OK ? read_others(context, records, taking, error) : status;
    }
    const struct vv_fetch_tier tier = fetched_as(level);
    return vv_fetch_read_tier(context, records, &tier, vv_tier_take_piece, taking, again_out,
                              error);
}

/* *again_out: as of vv_fetch_read_tier. */
static enum vv_status try_window(struct vv_tier_level *level,
                                 const struct vv_query_context *context,
                                 const struct vv_tier_series *series, bool descending,
                                 struct vv_result_facts *facts, bool *again_out,
                                 struct vv_error *error)
{
    *again_out = false;
    level->loads++;
    level->n_records = 0;
    vv_buffer_clear(&level->bytes);
    vv_cover_clear(&level->cover);
    const struct vv_store_read read = read_of(level, series, level->window, buckets_of(level));
    struct vv_tier_taking taking = {.level = level,
                                    .series = series,
                                    .facts = facts,
                                    .last = VV_TIER_RECORD_NONE,
                                    .error = error};
    bool found = level->found;
    level->found = false;
    enum vv_status status = add_head(level, series);
    status = status == VV_OK ? add_all_deleted(level, context, series) : status;
    if (status == VV_OK) {
        status = read_pieces(level, context, &read, &taking, again_out, error);
    }
    if (status == VV_OK && series->ids && level->found) {
        status = add_doubts(level, context, &read, error);
    }
    if (status == VV_OK) {
        vv_tier_take_count(&taking, descending);
        keep_last_words(level, &level->cover);
        vv_cover_settle(&level->cover);
    }
    if (status == VV_OK && !level->found) {
        widen(level, context, series, !descending);
    }
    level->found = level->found || found;
    return status;
}

static enum vv_status read_window(struct vv_tier_level *level,
                                  const struct vv_query_context *context,
                                  const struct vv_tier_series *series, bool descending,
                                  struct vv_result_facts *facts, struct vv_error *error)
{
    bool again;
    enum vv_status status = try_window(level, context, series, descending, facts, &again, error);
    return again ? try_window(level, context, series, descending, facts, &again, error) : status;
}

/* Half of what did not fit; false when it was a single unit. */
static bool narrow(struct vv_tier_level *level)
{
    int64_t unit_ns = vv_tier_unit_ns_max(level->route.tier);
    int64_t units = (level->window.to - level->window.from) / unit_ns;
    level->units_max = units / 2;
    return units > 1;
}

static void note_sealed(struct vv_tier_level *level)
{
    size_t n = level->cover.n_records;
    if (n > 0) {
        int64_t end = level->cover.records[n - 1].unit.to;
        level->sealed_until =
            level->is_sealed && level->sealed_until > end ? level->sealed_until : end;
        level->is_sealed = true;
    }
}

/* What the space has of the window can't be read now, and may be left out: finer data is read
 * instead, as far as there is any. */
static void leave_out(struct vv_tier_level *level, const struct vv_tier_series *series,
                      struct vv_result_facts *facts, struct vv_error *error)
{
    struct vv_window gone = vv_window_intersect(level->window, level->demand);
    gone.to = gone.to < level->finer_oldest ? gone.to : level->finer_oldest;
    level->n_records = 0;
    level->found = true; /* there may be something */
    vv_cover_clear(&level->cover);
    if (!vv_window_is_empty(gone)) {
        const struct vv_missing missing = {
            .source = series->source, .from = gone.from, .to = gone.to};
        vv_scan_note_missing(facts, &missing);
    }
    if (error) {
        error->message[0] = '\0';
    }
}

enum vv_status vv_tier_level_load(struct vv_tier_level *level,
                                  const struct vv_query_context *context,
                                  const struct vv_tier_series *series, int64_t near,
                                  bool descending, struct vv_result_facts *facts,
                                  struct vv_error *error)
{
    enum vv_status status = VV_OK;
    while (!vv_window_holds(level->window, near)) {
        level->window = choose_window(level, buckets_max(level, context, series), near, descending);
        status = read_window(level, context, series, descending, facts, error);
        if (status == VV_OVERLOAD && context->partial) {
            leave_out(level, series, facts, error);
            return VV_OK;
        }
        if (status == VV_OK) {
            note_sealed(level);
            continue;
        }
        bool may_fit = status == VV_TOO_LARGE && narrow(level);
        level->window = (struct vv_window){0, 0};
        if (!may_fit) {
            return status;
        }
    }
    return VV_OK;
}
