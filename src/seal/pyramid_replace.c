/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "base/compare.h"
#include "seal/pyramid_private.h"

#include <stdlib.h>

/* What is deleted of the series, and what is replaced of rows that the record keeps, whatever their
 * stamps. */
static enum vv_status hide(const struct vv_pyramid *pyramid,
                           const struct vv_pyramid_replacement *replacement,
                           struct vv_deletion_list *hidden_out)
{
    const struct vv_deletion_list *deleted = &pyramid->deletions;
    size_t n = deleted->n + replacement->n_metrics;
    *hidden_out = (struct vv_deletion_list){.items = calloc(n, sizeof *hidden_out->items), .n = n};
    if (!hidden_out->items) {
        *hidden_out = (struct vv_deletion_list){0};
        return VV_NO_MEMORY;
    }
    if (deleted->n > 0) {
        memcpy(hidden_out->items, deleted->items, deleted->n * sizeof *deleted->items);
    }
    for (size_t i = 0; i < replacement->n_metrics; i++) {
        hidden_out->items[deleted->n + i] = (struct vv_deletion){.from = replacement->from,
                                                                 .to = replacement->to,
                                                                 .stamp = UINT64_MAX,
                                                                 .metric = replacement->metrics[i]};
    }
    return VV_OK;
}

/* What stays of the record. */
static enum vv_status add_rest(struct vv_build *build,
                               const struct vv_pyramid_replacement *replacement)
{
    struct vv_pyramid *pyramid = build->pyramid;
    struct vv_deletion_list hidden;
    enum vv_status status = hide(pyramid, replacement, &hidden);
    if (status == VV_OK) {
        vv_merge_set_deletions(pyramid->merge, &hidden);
        if (!replacement->is_rows) {
            vv_rollup_leave_out_metrics(pyramid->rollup, replacement->metrics,
                                        replacement->n_metrics, replacement->from, replacement->to);
        }
        status = vv_build_add_record(build, replacement->records, replacement->first);
        vv_rollup_take_all(pyramid->rollup);
    }
    vv_merge_reset(pyramid->merge, INT64_MIN, INT64_MAX);
    vv_merge_set_deletions(pyramid->merge, &pyramid->deletions);
    vv_deletion_list_deinit(&hidden);
    return status;
}

enum vv_status vv_pyramid_replace(struct vv_pyramid *pyramid,
                                  const struct vv_pyramid_replacement *replacement,
                                  struct vv_piece_list *blocks_out, struct vv_error *error)
{
    struct vv_build build;
    const struct vv_span_key *key = &replacement->key;
    enum vv_status status = vv_build_begin(&build, pyramid, replacement->place,
                                           key->partition.source, key->measurement, error);
    build.unit = *key;
    build.tier = replacement->tier;
    vv_build_begin_unit(pyramid, replacement->tier, &replacement->unit);
    if (status == VV_OK && replacement->has_record) {
        status = add_rest(&build, replacement);
    }
    for (size_t i = 0; i < replacement->n_rows && status == VV_OK; i++) {
        status = vv_build_add_rows(&build, &replacement->rows[i]);
    }
    return status == VV_OK ? vv_build_write_unit(&build, replacement->tier, &replacement->unit,
                                                 replacement->made_from, blocks_out)
                           : status;
}

/* ---- days that runs replace ---- */

/* What one run replaces. */
struct day {
    int64_t from; /* as far as it lies in the unit */
    int64_t to;
    uint32_t *metrics; /* ascending */
    size_t n_metrics;
    struct vv_rows *rows;
    size_t n_rows;
};

static void drop_day(struct day *day)
{
    for (size_t i = 0; i < day->n_rows; i++) {
        vv_rows_free(&day->rows[i]);
    }
    free(day->rows);
    free(day->metrics);
    *day = (struct day){0};
}

static enum vv_status damaged(const struct vv_build *build)
{
    return vv_error_set(build->error, VV_CORRUPT, "what replaces a day of the unit is damaged");
}

static enum vv_status list_metrics(const struct vv_build *build, const struct vv_block *block,
                                   struct day *day)
{
    day->metrics = malloc((block->n_columns + 1) * sizeof *day->metrics);
    if (!day->metrics) {
        return VV_NO_MEMORY;
    }
    for (uint32_t i = 0; i < block->n_columns; i++) {
        struct vv_block_column column;
        if (vv_block_column_info(block, i, &column) != VV_BLOCK_OK) {
            return damaged(build);
        }
        day->metrics[day->n_metrics++] = column.metric;
    }
    qsort(day->metrics, day->n_metrics, sizeof *day->metrics, vv_compare_u32);
    return VV_OK;
}

static enum vv_status keep_rows(struct day *day, const struct vv_rows *rows)
{
    struct vv_rows *more = realloc(day->rows, (day->n_rows + 1) * sizeof *more);
    if (!more) {
        return VV_NO_MEMORY;
    }
    day->rows = more;
    enum vv_status status = vv_rows_copy(rows, &day->rows[day->n_rows]);
    day->n_rows += status == VV_OK;
    return status;
}

/* Without what has been deleted since. */
static enum vv_status read_rows(struct vv_build *build, struct vv_str content, struct day *day)
{
    struct vv_merge *merge = build->pyramid->merge;
    const struct vv_rows *rows;
    vv_merge_reset(merge, day->from, day->to);
    enum vv_status status =
        vv_merge_add_block(merge, (const uint8_t *)content.data, content.size, build->error);
    while (status == VV_OK) {
        status = vv_merge_next(merge, &rows, build->error);
        status = status == VV_OK ? keep_rows(day, rows) : status;
    }
    vv_merge_reset(merge, INT64_MIN, INT64_MAX);
    return status == VV_DONE ? VV_OK : status;
}

/* VV_DONE: it does not replace anything of the unit. */
static enum vv_status read_day(struct vv_build *build, const struct vv_unit *unit,
                               const struct vv_piece *run, struct day *day)
{
    struct vv_unit_record record;
    struct vv_block block;
    if (run->bytes.size == 0) {
        return VV_DONE;
    }
    enum vv_status status = vv_unit_read(run->bytes, &record, build->error);
    if (status != VV_OK) {
        return status;
    }
    const struct vv_str *content = &record.content;
    if (vv_block_open((const uint8_t *)content->data, content->size, &block) != VV_BLOCK_OK) {
        return damaged(build);
    }
    int64_t from = block.time_min + 1;
    day->from = from > unit->from ? from : unit->from;
    day->to = from + VV_DAY < unit->to ? from + VV_DAY : unit->to;
    if (day->from >= day->to) {
        return VV_DONE;
    }
    status = list_metrics(build, &block, day);
    return status == VV_OK ? read_rows(build, *content, day) : status;
}

static enum vv_status take_record(struct vv_piece_list *blocks, size_t first,
                                  struct vv_piece_list *record)
{
    for (size_t i = first; i < blocks->n; i++) {
        bool is_part = blocks->items[i].bytes.size > 0;
        if (is_part && !vv_piece_list_add(record, &blocks->items[i], true)) {
            return VV_NO_MEMORY;
        }
    }
    vv_piece_list_truncate(blocks, first);
    return VV_OK;
}

static enum vv_status replace_day(struct vv_build *build, const struct vv_built *built,
                                  const struct day *day, struct vv_piece_list *blocks)
{
    struct vv_piece_list record = {0};
    struct vv_unit_record head = {0};
    enum vv_status status = take_record(blocks, built->first, &record);
    if (status == VV_OK && record.n > 0) {
        status = vv_unit_read(record.items[0].bytes, &head, build->error);
    }
    const struct vv_pyramid_replacement replacement = {
        .tier = build->tier,
        .place = build->place,
        .unit = built->unit,
        .key = build->unit,
        .has_record = record.n > 0,
        .records = &record,
        .is_rows = head.kind == VV_UNIT_ROWS,
        .made_from = built->made_from,
        .from = day->from,
        .to = day->to,
        .metrics = day->metrics,
        .n_metrics = day->n_metrics,
        .rows = day->rows,
        .n_rows = day->n_rows,
    };
    if (status == VV_OK) {
        status = vv_pyramid_replace(build->pyramid, &replacement, blocks, build->error);
    }
    vv_piece_list_deinit(&record);
    return status;
}

enum vv_status vv_build_replace_days(struct vv_build *build, const struct vv_built *built,
                                     const struct vv_pyramid_runs *runs,
                                     struct vv_piece_list *blocks)
{
    enum vv_status status = VV_OK;
    for (size_t i = runs->first; i < runs->list->n && status == VV_OK; i++) {
        struct day day = {0};
        status = read_day(build, &built->unit, &runs->list->items[i], &day);
        if (status == VV_OK && day.n_metrics > 0) {
            status = replace_day(build, built, &day, blocks);
        }
        status = status == VV_DONE ? VV_OK : status;
        drop_day(&day);
    }
    return status == VV_NO_MEMORY
               ? vv_error_set(build->error, status, "out of memory while building tiers")
               : status;
}

bool vv_runs_only_replace(const struct vv_pyramid_runs *runs)
{
    bool is_only = runs->first < runs->list->n;
    for (size_t i = runs->first; i < runs->list->n && is_only; i++) {
        is_only = runs->list->items[i].bytes.size > 0;
    }
    return is_only;
}
