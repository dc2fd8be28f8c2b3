/* SPDX-License-Identifier: Apache-2.0 */
#include "query/tier_take.h"

#include "tier/chunk.h"

#include <stdlib.h>

static enum vv_status misplaced(const struct vv_tier_taking *taking)
{
    return vv_error_set(taking->error, VV_CORRUPT, "a tier's record is not of its unit");
}

static bool is_placed(const struct vv_tier_taking *taking, const struct vv_piece *piece,
                      const struct vv_unit *unit)
{
    uint64_t length = (uint64_t)unit->to - (uint64_t)unit->from;
    return unit->from == piece->key.span_start &&
           length <= (uint64_t)vv_tier_unit_ns_max(taking->level->route.tier);
}

/* *answers_out: whether it has what is wanted. Sketches that are not are cut off. */
static enum vv_status check_steps(const struct vv_tier_taking *taking, struct vv_str *content,
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

/* A record, or (follows) a further part of the one that was taken last. */
static enum vv_status add_record(struct vv_tier_taking *taking, const struct vv_unit_record *given,
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
        .metric = VV_TIER_ALL_METRICS,
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
static enum vv_status take_members(struct vv_tier_taking *taking, const struct vv_piece *piece,
                                   const struct vv_unit_record *given)
{
    if (piece->part != 0 || !taking->series->ids) {
        return misplaced(taking);
    }
    taking->first = 1;
    taking->last_left_out = !has_only(taking->series, given->content);
    return VV_OK;
}

static enum vv_status take_record(struct vv_tier_taking *taking, const struct vv_piece *piece,
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

/* Of the window's buckets, the first one's is bit 0. */
static uint64_t bit_of(const struct vv_tier_level *level, int64_t bucket_start)
{
    int64_t bucket_ns = vv_tier_plan(level->route.tier).bucket_ns;
    int64_t first = vv_time_floor(level->window.from, bucket_ns);
    return UINT64_C(1) << ((bucket_start - first) / bucket_ns % VV_TIER_BUCKETS_MAX);
}

/* Counts the piece, and reads what it begins with. */
static enum vv_status begin_piece(struct vv_tier_taking *taking, const struct vv_piece *piece,
                                  struct vv_unit_record *given)
{
    taking->facts->pieces_read++;
    taking->facts->bytes_read += piece->bytes.size;
    return vv_unit_read(piece->bytes, given, taking->error);
}

static void note_found(struct vv_tier_taking *taking, const struct vv_piece *piece)
{
    taking->buckets |= bit_of(taking->level, piece->key.partition.bucket_start);
    taking->level->found = true;
}

void vv_tier_take_count(const struct vv_tier_taking *taking, bool descending)
{
    struct vv_tier_level *level = taking->level;
    int64_t bucket_ns = vv_tier_plan(level->route.tier).bucket_ns;
    int64_t first = vv_time_floor(level->window.from, bucket_ns);
    for (uint32_t i = 0; i < VV_TIER_BUCKETS_MAX; i++) {
        uint32_t at = descending ? VV_TIER_BUCKETS_MAX - 1 - i : i;
        bool has_something = taking->buckets >> at & 1u;
        if (has_something && !vv_window_holds(level->counted, first + at * bucket_ns)) {
            level->counted.from = first + at * bucket_ns;
            level->counted.to = level->counted.from + bucket_ns;
            taking->facts->partitions_read++;
        }
    }
}

enum vv_status vv_tier_take_piece(void *context, const struct vv_piece *piece)
{
    struct vv_tier_taking *taking = context;
    struct vv_unit_record given;
    enum vv_status status = begin_piece(taking, piece, &given);
    if (status != VV_OK) {
        return status;
    }
    if (!is_placed(taking, piece, &given.unit)) {
        return misplaced(taking);
    }
    note_found(taking, piece);
    if (piece->kind == VV_PIECE_BLOCK) {
        return take_record(taking, piece, &given);
    }
    if (given.kind != VV_UNIT_STALE) {
        return misplaced(taking);
    }
    /* What replaces a day of it, which is frozen: until that is built in, the record is as it was,
     * while finer ones get the day one after the other. */
    bool replaces = given.content.size > 0;
    return replaces ? VV_OK : vv_cover_add_stale(&taking->level->cover, &given.unit);
}

/* ---- volumes ---- */

bool vv_tier_take_is_of_one_metric(const struct vv_tier_taking *taking)
{
    return taking->series->metric <= VV_VOLUME_METRIC_MAX;
}

/* What is there already of the same stretch, of another metric; VV_TIER_RECORD_NONE: nothing. */
static uint32_t same_stretch(const struct vv_tier_level *level, const struct vv_unit *unit)
{
    for (size_t i = level->cover.n_records; i-- > 0;) {
        if (level->cover.records[i].unit.from == unit->from) {
            return level->cover.records[i].tag;
        }
    }
    return VV_TIER_RECORD_NONE;
}

static enum vv_status add_part(struct vv_tier_taking *taking, const struct vv_unit_record *given,
                               uint32_t metric)
{
    struct vv_tier_level *level = taking->level;
    uint32_t first = same_stretch(level, &given->unit);
    bool follows = first != VV_TIER_RECORD_NONE;
    uint32_t second = follows ? level->records[first].next : VV_TIER_RECORD_NONE;
    taking->last = first;
    enum vv_status status = add_record(taking, given, follows);
    if (status == VV_OK) {
        level->records[taking->last].next = second;
        level->records[taking->last].metric = metric;
    }
    return status;
}

enum vv_status vv_tier_take_volume(void *context, const struct vv_piece *piece)
{
    struct vv_tier_taking *taking = context;
    struct vv_tier_level *level = taking->level;
    const struct vv_partition *partition = &piece->key.partition;
    int64_t end = partition->bucket_start + partition->bucket_ns;
    struct vv_unit_record given;
    struct vv_chunk chunk;
    bool answers;
    if (vv_cover_is_stale(&level->cover, partition->bucket_start, end)) {
        return vv_tier_take_is_of_one_metric(taking) ? VV_DONE : VV_OK;
    }
    enum vv_status status = begin_piece(taking, piece, &given);
    if (status != VV_OK) {
        return status;
    }
    if (given.kind != VV_UNIT_STEPS || given.unit.from < partition->bucket_start ||
        given.unit.to > end) {
        return misplaced(taking);
    }
    status = check_steps(taking, &given.content, &answers);
    if (status == VV_OK && level->bytes.size + given.content.size > taking->series->memory_max) {
        return VV_TOO_LARGE;
    }
    /* What is damaged is to be known now, when records can be read instead. */
    status = status == VV_OK ? vv_chunk_open_steps(given.content, &chunk, taking->error) : status;
    if (status != VV_OK) {
        return status;
    }
    note_found(taking, piece);
    taking->volumes |= bit_of(level, partition->bucket_start);
    status = add_part(taking, &given, piece->part / VV_VOLUME_STRETCHES);
    bool is_last = given.unit.to == end || given.unit.to >= level->window.to;
    return status == VV_OK && is_last && vv_tier_take_is_of_one_metric(taking) ? VV_DONE : status;
}
