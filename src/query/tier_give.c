/* SPDX-License-Identifier: Apache-2.0 */
#include "query/tier_give.h"

#include <stdlib.h>

static void drop_sketches(struct vv_tier_give *give, size_t n)
{
    for (size_t i = 0; give->sketches && i < n; i++) {
        vv_sketch_deinit(&give->sketches[i]);
    }
    free(give->sketches);
    give->sketches = NULL;
}

void vv_tier_give_close(struct vv_tier_give *give)
{
    drop_sketches(give, give->n_steps);
    give->n_steps = 0;
    give->first = 0;
    vv_merge_destroy(give->merge);
    give->merge = NULL;
    give->rows = NULL;
    give->is_open = false;
}

void vv_tier_give_deinit(struct vv_tier_give *give)
{
    vv_tier_give_close(give);
    free(give->starts);
    free(give->steps);
    give->starts = NULL;
    give->steps = NULL;
    give->capacity = 0;
    give->kept.level = NULL;
}

static enum vv_status has_changed(struct vv_error *error)
{
    return vv_error_set(error, VV_OVERLOAD,
                        "the metric has become one of floats while it was read: ask again");
}

/* ---- steps ---- */

static enum vv_status decode_sketches(struct vv_tier_give *give, const struct vv_chunk *chunk,
                                      uint32_t index, struct vv_error *error)
{
    struct vv_sketch *sketches = malloc(chunk->n_steps * sizeof *sketches);
    if (!sketches) {
        return VV_NO_MEMORY;
    }
    enum vv_status status = vv_chunk_sketches(chunk, index, give->steps, sketches, error);
    if (status != VV_OK) {
        free(sketches);
        return status;
    }
    give->sketches = sketches;
    return VV_OK;
}

/* Room for n steps, empty; the same serves all records. */
static enum vv_status make_room(struct vv_tier_give *give, size_t n)
{
    if (n <= give->capacity) {
        return VV_OK;
    }
    free(give->starts);
    free(give->steps);
    give->starts = malloc(n * sizeof *give->starts);
    give->steps = malloc(n * sizeof *give->steps);
    give->capacity = give->starts && give->steps ? n : 0;
    return give->capacity > 0 ? VV_OK : VV_NO_MEMORY;
}

/* Leaves the steps that are not empty and inside of the stretch. The first one may begin before
 * it, as units' own ends cut steps: what there is of it is inside. */
static void keep_wanted(struct vv_tier_give *give, int64_t step_ns)
{
    size_t n = give->n_steps;
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t start = give->starts[i];
        bool is_inside = start < give->stretch.to && start + step_ns > give->stretch.from;
        if (give->steps[i].count == 0 || !is_inside) {
            if (give->sketches) {
                vv_sketch_deinit(&give->sketches[i]);
            }
            continue;
        }
        give->starts[kept] = start > give->stretch.from ? start : give->stretch.from;
        if (kept < i) {
            give->steps[kept] = give->steps[i];
            if (give->sketches) {
                give->sketches[kept] = give->sketches[i];
            }
        }
        kept++;
    }
    give->n_steps = kept;
}

/* ---- parts of volumes ---- */

static bool is_kept(const struct vv_tier_give *give, const struct vv_tier_level *level,
                    uint32_t record)
{
    return give->kept.level == level && give->kept.load == level->loads &&
           give->kept.record == record && give->kept.parts == give->step_parts;
}

/* All of them are in the room: leaves those that are not empty. */
static void keep_all(struct vv_tier_give *give, const struct vv_tier_level *level, uint32_t record)
{
    size_t kept = 0;
    for (size_t i = 0; i < give->n_steps; i++) {
        if (give->steps[i].count > 0) {
            if (kept < i) {
                give->starts[kept] = give->starts[i];
                give->steps[kept] = give->steps[i];
            }
            kept++;
        }
    }
    give->kept.level = level;
    give->kept.load = level->loads;
    give->kept.record = record;
    give->kept.parts = give->step_parts;
    give->kept.n_steps = kept;
}

/* The first one that begins at or behind `time`. */
static size_t first_at(const struct vv_tier_give *give, int64_t time)
{
    size_t low = 0;
    size_t high = give->kept.n_steps;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (give->starts[middle] < time) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Whole steps, as the ends of its units are ends of steps. */
static void choose_kept(struct vv_tier_give *give)
{
    give->first = first_at(give, give->stretch.from);
    give->n_steps = first_at(give, give->stretch.to) - give->first;
}

/* ---- records of steps ---- */

/* All steps of the chunk's metric at index. */
static enum vv_status decode_steps(struct vv_tier_give *give, const struct vv_chunk *chunk,
                                   uint32_t index, enum vv_value_type type, struct vv_error *error)
{
    if (type == VV_FLOAT64 && give->type == VV_INT64) {
        return has_changed(error);
    }
    give->kept.level = NULL;
    enum vv_status status = make_room(give, chunk->n_steps);
    if (status == VV_OK) {
        status = vv_chunk_starts(chunk, give->starts, error);
    }
    if (status == VV_OK) {
        status =
            vv_chunk_step_parts(chunk, index, give->starts, give->step_parts, give->steps, error);
    }
    if (status == VV_OK && give->with_sketches) {
        status = decode_sketches(give, chunk, index, error);
    }
    if (status != VV_OK) {
        return status;
    }
    give->n_steps = chunk->n_steps;
    for (size_t i = 0; type != give->type && i < give->n_steps; i++) {
        vv_step_widen(&give->steps[i]);
    }
    return VV_OK;
}

/* A metric is in one part of the record at most. */
static enum vv_status open_steps(struct vv_tier_give *give, const struct vv_tier_level *level,
                                 uint32_t record, struct vv_error *error)
{
    for (uint32_t at = record; at != VV_TIER_RECORD_NONE; at = level->records[at].next) {
        struct vv_chunk chunk;
        uint32_t index;
        enum vv_value_type type;
        uint32_t has = level->records[at].metric;
        bool is_of_volume = has != VV_TIER_ALL_METRICS;
        if (is_of_volume && has != give->metric) {
            continue;
        }
        if (is_of_volume && is_kept(give, level, at)) {
            choose_kept(give);
            return VV_OK;
        }
        struct vv_str content = vv_tier_content(level, &level->records[at]);
        enum vv_status status = give->with_sketches ? vv_chunk_open(content, &chunk, error)
                                                    : vv_chunk_open_steps(content, &chunk, error);
        if (status != VV_OK) {
            return status;
        }
        if (!vv_chunk_find(&chunk, give->metric, &index, &type)) {
            continue;
        }
        status = decode_steps(give, &chunk, index, type, error);
        if (status == VV_OK && is_of_volume) {
            keep_all(give, level, at);
            choose_kept(give);
        } else if (status == VV_OK) {
            keep_wanted(give, chunk.step_ns);
        }
        return status;
    }
    return VV_OK; /* the metric has no values there */
}

static enum vv_status give_steps(struct vv_tier_give *give, struct vv_tier_part *part_out)
{
    if (give->given || give->n_steps == 0) {
        return VV_DONE;
    }
    give->given = true;
    *part_out = (struct vv_tier_part){
        .kind = VV_TIER_STEPS,
        .run = {give->starts + give->first, give->steps + give->first, give->sketches,
                give->n_steps},
    };
    return VV_OK;
}

/* ---- rows ---- */

static enum vv_status open_rows(struct vv_tier_give *give, const struct vv_tier_level *level,
                                uint32_t record, size_t memory_max, struct vv_error *error)
{
    const struct vv_merge_options options = {
        .from = give->stretch.from,
        .to = give->stretch.to,
        .metrics = &give->metric,
        .types = &give->type,
        .n_metrics = 1,
        .descending = give->descending,
        .join_times = true,
        .memory_max = memory_max,
    };
    enum vv_status status = vv_merge_create(&options, &give->merge);
    for (uint32_t at = record; status == VV_OK && at != VV_TIER_RECORD_NONE;
         at = level->records[at].next) {
        struct vv_str content = vv_tier_content(level, &level->records[at]);
        status =
            vv_merge_add_block(give->merge, (const uint8_t *)content.data, content.size, error);
    }
    return status;
}

/* The next points that are there and not NaN, in the order of the direction. */
static void take_points(struct vv_tier_give *give, struct vv_tier_part *part_out)
{
    const struct vv_rows *rows = give->rows;
    const struct vv_column *column = &rows->columns[0];
    size_t n = give->rows_left < VV_TIER_POINTS_MAX ? give->rows_left : VV_TIER_POINTS_MAX;
    size_t first = give->descending ? give->rows_left - n : rows->n_rows - give->rows_left;
    size_t kept = 0;
    for (size_t row = first; row < first + n; row++) {
        give->times[kept] = rows->times[row];
        give->values[kept] = column->values[row];
        double real = give->type == VV_FLOAT64 ? vv_bits_double(column->values[row]) : 0;
        kept += vv_column_has(column, row) && real == real;
    }
    give->rows_left -= n;
    *part_out = (struct vv_tier_part){.kind = kept > 0 ? VV_TIER_POINTS : VV_TIER_WORK,
                                      .times = give->times,
                                      .values = give->values,
                                      .n = kept};
}

static enum vv_status next_points(struct vv_tier_give *give, struct vv_tier_part *part_out,
                                  struct vv_error *error)
{
    if (give->rows_left == 0) {
        enum vv_status status = vv_merge_next(give->merge, &give->rows, error);
        if (status != VV_OK) {
            return status;
        }
        if (give->rows->columns[0].type != give->type) {
            return has_changed(error);
        }
        give->rows_left = give->rows->n_rows;
    }
    take_points(give, part_out);
    return VV_OK;
}

/* ---- both ---- */

enum vv_status vv_tier_give_open(struct vv_tier_give *give, const struct vv_tier_level *level,
                                 uint32_t record, struct vv_window stretch,
                                 const struct vv_tier_wanted *wanted, struct vv_error *error)
{
    vv_tier_give_close(give);
    give->is_open = true;
    give->metric = wanted->metric;
    give->type = wanted->type;
    give->descending = wanted->descending;
    give->step_parts = wanted->step_parts;
    give->with_sketches = wanted->sketches;
    give->stretch = stretch;
    give->given = false;
    give->rows_left = 0;
    return level->records[record].kind == VV_UNIT_STEPS
               ? open_steps(give, level, record, error)
               : open_rows(give, level, record, wanted->memory_max, error);
}

enum vv_status vv_tier_give_next(struct vv_tier_give *give, struct vv_tier_part *part_out,
                                 struct vv_error *error)
{
    *part_out = (struct vv_tier_part){.kind = VV_TIER_WORK};
    return give->merge ? next_points(give, part_out, error) : give_steps(give, part_out);
}
