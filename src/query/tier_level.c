/* SPDX-License-Identifier: Apache-2.0 */
#include "query/tier_level.h"

#include "query/fetch.h"
#include "tier/chunk.h"
#include "tier/cohort.h"

#include <stdlib.h>

#define REACH_NS_MAX (4 * 366 * VV_DAY) /* of a window; beyond the last times it fits an int64 */
#define BUCKETS_MAX  64                 /* of a window */

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

/* ---- taking records ---- */

struct taking {
    struct vv_tier_level *level;
    const struct vv_tier_series *series;
    struct vv_result_facts *facts;
    uint32_t last;      /* the record that was taken last … */
    bool last_left_out; /* … or one was left out since, with all its parts */
    uint64_t buckets;   /* bits: those of the window that have something */
    uint32_t first;     /* part of the record that has steps: behind that of its members */
    struct vv_error *error;
};

static enum vv_status misplaced(const struct taking *taking)
{
    return vv_error_set(taking->error, VV_CORRUPT, "a tier's record is not of its unit");
}

static bool is_placed(const struct taking *taking, const struct vv_piece *piece,
                      const struct vv_unit *unit)
{
    uint64_t length = (uint64_t)unit->to - (uint64_t)unit->from;
    return unit->from == piece->key.span_start &&
           length <= (uint64_t)vv_tier_unit_ns_max(taking->level->route.tier);
}

/* *answers_out: whether it has what is wanted. Sketches that are not are cut off. */
static enum vv_status check_steps(const struct taking *taking, struct vv_str *content,
                                  bool *answers_out)
{
    struct vv_chunk_head head;
    enum vv_status status = vv_chunk_look(*content, &head, taking->error);
    if (status != VV_OK) {
        return status;
    }
    if (head.step_ns != vv_tier_step_ns(taking->level->route.tier)) {
        return vv_error_set(taking->error, VV_CORRUPT, "its steps are not those of the tier");
    }
    *answers_out = head.has_sketches || !taking->series->sketches;
    if (!taking->series->sketches) {
        content->size = head.steps_size;
    }
    return VV_OK;
}

static enum vv_status add_record(struct taking *taking, const struct vv_unit_record *given,
                                 bool follows)
{
    struct vv_tier_level *level = taking->level;
    if (level->n_records == level->records_capacity) {
        size_t capacity = level->records_capacity ? 2 * level->records_capacity : 64;
        struct vv_tier_record *records = realloc(level->records, capacity * sizeof *level->records);
        if (!records) {
            return VV_NO_MEMORY;
        }
        level->records = records;
        level->records_capacity = capacity;
    }
    uint32_t index = (uint32_t)level->n_records++;
    level->records[index] = (struct vv_tier_record){
        .unit = given->unit,
        .kind = given->kind,
        .next = VV_TIER_RECORD_NONE,
        .content_at = level->bytes.size,
        .content_size = given->content.size,
    };
    vv_buffer_append(&level->bytes, given->content.data, given->content.size);
    if (follows) {
        level->records[taking->last].next = index;
    }
    taking->last = index;
    enum vv_status status = follows ? VV_OK : vv_cover_add(&level->cover, &given->unit, index);
    return status == VV_OK ? vv_buffer_status(&level->bytes) : status;
}

/* Whether all whose points are in the record are among the sources. */
static bool has_only(const struct vv_tier_series *series, struct vv_str ids)
{
    struct vv_reader reader = vv_reader_of(ids.data, ids.size);
    size_t at = 0;
    while (reader.at < ids.size) {
        uint64_t id = vv_reader_u64(&reader);
        while (at < series->n_sources && series->ids[at] < id) {
            at++;
        }
        if (reader.failed || at == series->n_sources || series->ids[at] != id) {
            return false;
        }
    }
    return true;
}

/* What a record of a cohort begins with, where nodes share the store. */
static enum vv_status take_members(struct taking *taking, const struct vv_piece *piece,
                                   const struct vv_unit_record *given)
{
    if (piece->part != 0 || !taking->series->ids) {
        return misplaced(taking);
    }
    taking->first = 1;
    taking->last_left_out = !has_only(taking->series, given->content);
    return VV_OK;
}

static enum vv_status take_record(struct taking *taking, const struct vv_piece *piece,
                                  struct vv_unit_record *given)
{
    struct vv_tier_level *level = taking->level;
    bool answers = true;
    enum vv_status status = VV_OK;
    if (given->kind == VV_UNIT_MEMBERS) {
        return take_members(taking, piece, given);
    }
    taking->first = piece->part == 0 ? 0 : taking->first;
    bool follows = piece->part > taking->first;
    if (given->kind == VV_UNIT_STALE || (taking->series->ids && taking->first == 0)) {
        return misplaced(taking);
    }
    if (piece->part > 0 && taking->last_left_out) {
        return VV_OK;
    }
    if (follows && (taking->last == VV_TIER_RECORD_NONE ||
                    level->records[taking->last].unit.from != given->unit.from ||
                    level->records[taking->last].kind != given->kind)) {
        return misplaced(taking);
    }
    if (given->kind == VV_UNIT_STEPS) {
        status = check_steps(taking, &given->content, &answers);
    }
    if (status == VV_OK && level->bytes.size + given->content.size > taking->series->memory_max) {
        return VV_TOO_LARGE;
    }
    taking->last_left_out = !answers;
    return status == VV_OK && answers ? add_record(taking, given, follows) : status;
}

static void note_bucket(struct taking *taking, const struct vv_piece *piece)
{
    int64_t bucket_ns = vv_tier_plan(taking->level->route.tier).bucket_ns;
    int64_t first = vv_time_floor(taking->level->window.from, bucket_ns);
    taking->buckets |= UINT64_C(1)
                       << ((piece->key.partition.bucket_start - first) / bucket_ns % BUCKETS_MAX);
}

/* Each once, also where windows that are less than it follow each other. */
static void count_buckets(const struct taking *taking, bool descending)
{
    struct vv_tier_level *level = taking->level;
    int64_t bucket_ns = vv_tier_plan(level->route.tier).bucket_ns;
    int64_t first = vv_time_floor(level->window.from, bucket_ns);
    for (uint32_t i = 0; i < BUCKETS_MAX; i++) {
        uint32_t at = descending ? BUCKETS_MAX - 1 - i : i;
        bool has_something = taking->buckets >> at & 1u;
        if (has_something && !vv_window_holds(level->counted, first + at * bucket_ns)) {
            level->counted.from = first + at * bucket_ns;
            level->counted.to = level->counted.from + bucket_ns;
            taking->facts->partitions_read++;
        }
    }
}

static enum vv_status take_piece(void *context, const struct vv_piece *piece)
{
    struct taking *taking = context;
    struct vv_tier_level *level = taking->level;
    struct vv_unit_record given;
    taking->facts->pieces_read++;
    taking->facts->bytes_read += piece->bytes.size;
    enum vv_status status = vv_unit_read(piece->bytes, &given, taking->error);
    if (status != VV_OK) {
        return status;
    }
    if (!is_placed(taking, piece, &given.unit)) {
        return misplaced(taking);
    }
    note_bucket(taking, piece);
    level->found = true;
    if (piece->kind == VV_PIECE_BLOCK) {
        return take_record(taking, piece, &given);
    }
    if (given.kind != VV_UNIT_STALE) {
        return misplaced(taking);
    }
    return vv_cover_add_stale(&level->cover, &given.unit);
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
    max = max < BUCKETS_MAX ? max : BUCKETS_MAX;
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

/* After a window in which nothing was found: makes it reach to where the space has something. That
 * nothing was found is never wrong, since finer data is read then. */
static void widen(struct vv_tier_level *level, const struct vv_query_context *context,
                  uint32_t source, bool forward)
{
    int64_t bucket_ns = vv_tier_plan(level->route.tier).bucket_ns;
    int64_t start = vv_time_floor(forward ? level->window.to - 1 : level->window.from, bucket_ns);
    int64_t nearest;
    if (level->units_max > 0) {
        return;
    }
    enum vv_status status = context->store->ops->nearest(
        context->store, 0, level->route.space, source,
        forward ? start + bucket_ns : start - bucket_ns, forward, &nearest, NULL);
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

/* Of units of which nothing finer is kept any more, what there is is the last word: what speaks
 * against it is dropped. */
static void keep_last_words(const struct vv_tier_level *level, struct vv_cover *cover)
{
    int64_t until = INT64_MIN;
    size_t n = 0;
    for (size_t i = 0; i < cover->n_records; i++) {
        const struct vv_unit *unit = &cover->records[i].unit;
        until = unit->from < level->finer_oldest && unit->to > until ? unit->to : until;
    }
    for (size_t i = 0; i < cover->n_stale; i++) {
        struct vv_unit unit = cover->stale[i];
        unit.from = unit.from > until ? unit.from : until;
        if (unit.from < unit.to) {
            cover->stale[n++] = unit;
        }
    }
    cover->n_stale = n;
}

static uint32_t buckets_of(const struct vv_tier_level *level)
{
    int64_t bucket_ns = vv_tier_plan(level->route.tier).bucket_ns;
    int64_t first = vv_time_floor(level->window.from, bucket_ns);
    return (uint32_t)((level->window.to - 1 - first) / bucket_ns) + 1;
}

/* *again_out: as of vv_fetch_read_tier. */
static enum vv_status try_window(struct vv_tier_level *level,
                                 const struct vv_query_context *context,
                                 const struct vv_tier_series *series, bool descending,
                                 struct vv_result_facts *facts, bool *again_out,
                                 struct vv_error *error)
{
    *again_out = false;
    level->n_records = 0;
    vv_buffer_clear(&level->bytes);
    vv_cover_clear(&level->cover);
    struct vv_span_key key = vv_unit_key(level->route.tier, level->route.space, series->source,
                                         series->measurement, level->window.from);
    const struct vv_store_read read = {
        .partition = key.partition,
        .measurement = series->measurement,
        .span_from = level->window.from,
        .span_to = level->window.to,
        .heads_only = !series->sketches,
        .n_buckets = buckets_of(level),
    };
    struct taking taking = {.level = level,
                            .series = series,
                            .facts = facts,
                            .last = VV_TIER_RECORD_NONE,
                            .error = error};
    bool found = level->found;
    level->found = false;
    enum vv_status status = add_head(level, series);
    status = status == VV_OK ? add_all_deleted(level, context, series) : status;
    if (status == VV_OK) {
        const struct vv_fetch_tier tier = {level->index, vv_tier_unit_ns_max(level->route.tier)};
        status = vv_fetch_read_tier(context, &read, &tier, take_piece, &taking, again_out, error);
    }
    if (status == VV_OK && series->ids && level->found) {
        status = add_doubts(level, context, &read, error);
    }
    if (status == VV_OK) {
        count_buckets(&taking, descending);
        keep_last_words(level, &level->cover);
        vv_cover_settle(&level->cover);
    }
    if (status == VV_OK && !level->found) {
        widen(level, context, series->source, !descending);
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
