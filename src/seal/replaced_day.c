/* SPDX-License-Identifier: Apache-2.0 */
#include "seal/replaced_day.h"

#include "model/piece.h"

#include <stdlib.h>
#include <string.h>

#define CELLS_MAX (4u << 20) /* that are in memory at once, unless a metric has more */

/* The metrics of one run. */
struct group {
    const struct vv_replaced_day *day;
    const uint32_t *metrics;
    size_t n;
    struct vv_rows rows; /* with the first one, which only names them */
    size_t n_rows;
};

static const uint32_t *find_metric(const struct group *group, uint32_t metric)
{
    size_t at = 0;
    size_t end = group->n;
    while (at < end) {
        size_t middle = at + (end - at) / 2;
        if (group->metrics[middle] < metric) {
            at = middle + 1;
        } else {
            end = middle;
        }
    }
    return at < group->n && group->metrics[at] == metric ? &group->metrics[at] : NULL;
}

static bool is_inside(const struct vv_replaced_day *day, int64_t time)
{
    return time >= day->unit.from && time < day->unit.to;
}

static size_t count_rows(const struct vv_replaced_day *day)
{
    size_t n = 0;
    for (size_t i = 0; i < day->n_rows; i++) {
        for (size_t row = 0; row < day->rows[i].n_rows; row++) {
            n += is_inside(day, day->rows[i].times[row]);
        }
    }
    return n;
}

/* Whether the row has a value of the group: then it is kept. */
static bool take_row(struct group *group, const struct vv_rows *from, size_t row)
{
    struct vv_rows *to = &group->rows;
    bool any = false;
    for (size_t i = 0; i < from->n_columns; i++) {
        const struct vv_column *column = &from->columns[i];
        const uint32_t *metric = find_metric(group, column->metric);
        if (metric && vv_column_has(column, row)) {
            struct vv_column *kept = &to->columns[metric - group->metrics];
            kept->values[group->n_rows] = column->values[row];
            vv_column_mark(kept, group->n_rows);
            any = true;
        }
    }
    if (any) {
        to->times[group->n_rows] = from->times[row];
        to->stamps[group->n_rows] = from->stamps[row];
        group->n_rows++;
    }
    return any;
}

static void note_types(struct group *group)
{
    const struct vv_replaced_day *day = group->day;
    for (size_t i = 0; i < day->n_rows; i++) {
        for (size_t c = 0; c < day->rows[i].n_columns; c++) {
            const struct vv_column *column = &day->rows[i].columns[c];
            const uint32_t *metric = find_metric(group, column->metric);
            if (metric) {
                group->rows.columns[metric - group->metrics].type = column->type;
            }
        }
    }
}

/* A row that names the metrics, and the day; then those of the unit. */
static void fill(struct group *group)
{
    const struct vv_replaced_day *day = group->day;
    for (size_t i = 0; i < group->n; i++) {
        group->rows.columns[i].metric = group->metrics[i];
        group->rows.columns[i].values[0] = 0;
        vv_column_mark(&group->rows.columns[i], 0);
    }
    note_types(group);
    group->rows.times[0] = day->day - 1;
    group->rows.stamps[0] = day->run;
    group->n_rows = 1;
    for (size_t i = 0; i < day->n_rows; i++) {
        for (size_t row = 0; row < day->rows[i].n_rows; row++) {
            if (is_inside(day, day->rows[i].times[row])) {
                (void)take_row(group, &day->rows[i], row);
            }
        }
    }
}

static enum vv_status write_run(const struct group *group, struct vv_piece_encoder *encoder,
                                uint32_t part, struct vv_piece_list *runs_out,
                                struct vv_error *error)
{
    const struct vv_replaced_day *day = group->day;
    struct vv_str content;
    struct vv_buffer bytes = {0};
    enum vv_status status =
        vv_piece_encode(encoder, &group->rows, 0, group->n_rows, &content, error);
    if (status == VV_OK && content.size > VV_REPLACED_BYTES_MAX) {
        return vv_error_set(error, VV_TOO_LARGE, "a day of it has too many points");
    }
    if (status != VV_OK) {
        return status;
    }
    vv_unit_write(&bytes, VV_UNIT_STALE, &day->unit);
    vv_buffer_str(&bytes, content);
    const struct vv_piece run = {.kind = VV_PIECE_RUN,
                                 .key = day->key,
                                 .run = day->run,
                                 .part = part,
                                 .bytes = {(char *)bytes.data, bytes.size}};
    bool is_added = vv_buffer_status(&bytes) == VV_OK && vv_piece_list_add(runs_out, &run, true);
    vv_buffer_deinit(&bytes);
    return is_added ? VV_OK : VV_NO_MEMORY;
}

enum vv_status vv_replaced_day_write(const struct vv_replaced_day *day, int zstd_level,
                                     struct vv_piece_list *runs_out, struct vv_error *error)
{
    struct vv_piece_encoder encoder = {.options = {.zstd_level = zstd_level}};
    size_t n_rows = 1 + count_rows(day);
    size_t most = CELLS_MAX / n_rows;
    uint32_t part = VV_REPLACED_DAY_PART;
    enum vv_status status = VV_OK;
    if (n_rows > VV_BLOCK_ROWS_MAX) {
        return vv_error_set(error, VV_TOO_LARGE, "a day of it has too many points");
    }
    most = most < VV_BLOCK_COLUMNS_MAX ? most : VV_BLOCK_COLUMNS_MAX;
    most = most > 0 ? most : 1;
    for (size_t at = 0; at < day->n_metrics && status == VV_OK; at += most) {
        size_t left = day->n_metrics - at;
        struct group group = {
            .day = day, .metrics = day->metrics + at, .n = left < most ? left : most};
        status = vv_rows_alloc(n_rows, group.n, &group.rows);
        if (status == VV_OK) {
            fill(&group);
            status = write_run(&group, &encoder, part++, runs_out, error);
        }
        vv_rows_free(&group.rows);
    }
    vv_piece_encoder_deinit(&encoder);
    return status;
}
