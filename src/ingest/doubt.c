/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows in doubt: whether their spans are frozen depends on the series, and only the store can tell.
 * Who parses must not wait for it, so such rows are set aside, as they would be appended, until
 * somebody who may wait decides on all of them. A point is in doubt by its place and time, so
 * of the values of one point all are set aside, in their order, or none.
 *
 * They are decided on by series and time, so what was found last is all that has to be known.
 */
#include "ingest/staging_private.h"

#include <stdlib.h>

/* What is set aside: this, then n values, then n metrics and what fills the last 8 bytes. */
struct aside {
    struct vv_series series;
    int64_t time;
    uint64_t line;
    uint32_t place;
    uint32_t n;
};
_Static_assert(sizeof(struct aside) % sizeof(uint64_t) == 0, "what follows is aligned");

static int64_t frozen_before(const struct vv_staging *staging, int64_t time, uint32_t *place_out)
{
    const struct vv_staging_class *class = vv_row_class(staging, time);
    *place_out = class ? class->place : staging->options.tenant;
    return class ? class->frozen_before : staging->options.frozen_before;
}

bool vv_row_is_in_doubt(const struct vv_staging *staging, int64_t time, uint32_t *place_out)
{
    return staging->row->n > 0 && staging->options.look &&
           time < frozen_before(staging, time, place_out);
}

enum vv_status vv_row_set_aside(struct vv_staging *staging, int64_t time, uint32_t place)
{
    struct vv_staging_row *row = staging->row;
    const struct aside aside = {row->series, time, row->line, place, row->n};
    const uint32_t *metrics = NULL;
    enum vv_status status = vv_row_metrics(staging, &metrics);
    if (status == VV_OK) {
        vv_buffer_append(&row->aside, &aside, sizeof aside);
        vv_buffer_append(&row->aside, vv_row_values(row), row->n * sizeof(uint64_t));
        vv_buffer_append(&row->aside, metrics, row->n * sizeof *metrics);
        vv_buffer_append(&row->aside, &(uint32_t){0}, row->n % 2 * sizeof *metrics);
        status = vv_buffer_status(&row->aside);
        row->n_aside += status == VV_OK;
    }
    return status;
}

/* ---- looking ---- */

/* One that nothing was noted in has no times. */
static bool is_answer(const struct vv_staging_frozen *found, const struct aside *aside)
{
    return found->from <= aside->time && aside->time < found->to && found->place == aside->place &&
           found->series.source == aside->series.source &&
           found->series.measurement == aside->series.measurement;
}

static enum vv_status look(struct vv_staging *staging, const struct aside *aside,
                           bool *is_frozen_out)
{
    const struct vv_staging_options *options = &staging->options;
    struct vv_staging_frozen *found = &staging->row->found;
    enum vv_status status = VV_OK;
    if (!is_answer(found, aside)) {
        *found = (struct vv_staging_frozen){
            .place = aside->place, .series = aside->series, .time = aside->time};
        status = options->look(options->look_context, found, &staging->failure);
        found->to = status == VV_OK ? found->to : found->from;
    }
    *is_frozen_out = found->is_frozen;
    return status;
}

/* ---- deciding ---- */

static enum vv_status decide(struct vv_staging *staging, const struct aside *aside,
                             const uint64_t *values)
{
    bool is_frozen;
    enum vv_status status = look(staging, aside, &is_frozen);
    if (status != VV_OK) {
        return status;
    }
    if (is_frozen) {
        vv_refuse_frozen(staging, aside->time, aside->line, aside->n);
        return VV_OK;
    }
    const uint32_t *metrics = (const uint32_t *)(values + aside->n);
    status = vv_staging_append(staging, &aside->series, aside->time, metrics, values, aside->n);
    if (status == VV_OK) {
        staging->points_received += aside->n;
        staging->points_staged += aside->n;
    }
    return status;
}

/* The request fails as a whole: whoever sends it does so again. */
static void fail(struct vv_staging *staging, enum vv_status status, uint32_t n)
{
    staging->out_of_memory = true;
    vv_refuse_points(staging, VV_REASON_OVERLOAD, n);
    if (status != VV_NO_MEMORY) {
        (void)!vv_error_prefix(&staging->failure, status,
                               "whether a span is frozen can't be told, send again later");
    }
}

/* ---- their order ---- */

static const struct aside *aside_at(const struct vv_staging_row *row, size_t at)
{
    return (const struct aside *)(row->aside.data + at);
}

static size_t size_of(const struct aside *aside)
{
    return sizeof *aside + (aside->n + (aside->n + 1) / 2) * sizeof(uint64_t);
}

static int compare_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* By series and time, so that each span is asked for once; of one point as they came. */
static int compare(const void *a, const void *b, void *context)
{
    const struct vv_staging_row *row = context;
    size_t left_at = *(const size_t *)a;
    size_t right_at = *(const size_t *)b;
    const struct aside *left = aside_at(row, left_at);
    const struct aside *right = aside_at(row, right_at);
    int by = compare_u64(left->series.source, right->series.source);
    by = by ? by : compare_u64(left->series.measurement, right->series.measurement);
    by = by ? by : (left->time > right->time) - (left->time < right->time);
    return by ? by : compare_u64(left_at, right_at);
}

static bool put_in_order(struct vv_staging_row *row)
{
    row->order = malloc(row->n_aside * sizeof *row->order);
    if (!row->order) {
        return false;
    }
    size_t n = 0;
    for (size_t at = 0; at < row->aside.size; at += size_of(aside_at(row, at))) {
        row->order[n++] = at;
    }
    vv_invariant(n == row->n_aside);
    qsort_r(row->order, n, sizeof *row->order, compare, row);
    return true;
}

void vv_staging_forget_doubt(struct vv_staging *staging)
{
    struct vv_staging_row *row = staging->row;
    vv_buffer_clear(&row->aside);
    free(row->order);
    row->order = NULL;
    row->n_aside = row->n_decided = 0;
}

bool vv_staging_decide_some(struct vv_staging *staging, bool (*is_enough)(void *context),
                            void *context)
{
    struct vv_staging_row *row = staging->row;
    if (row->n_aside > 0 && !row->order && !put_in_order(row)) {
        staging->out_of_memory = true;
        vv_staging_forget_doubt(staging);
    }
    while (row->n_decided < row->n_aside) {
        if (is_enough && is_enough(context)) {
            return false;
        }
        const struct aside *aside = aside_at(row, row->order[row->n_decided++]);
        const uint64_t *values = (const uint64_t *)(aside + 1);
        enum vv_status status =
            staging->out_of_memory ? VV_NO_MEMORY : decide(staging, aside, values);
        if (status != VV_OK) {
            fail(staging, status, aside->n);
        }
    }
    vv_staging_forget_doubt(staging);
    return true;
}

void vv_staging_decide(struct vv_staging *staging)
{
    (void)!vv_staging_decide_some(staging, NULL, NULL);
}

bool vv_staging_is_in_doubt(const struct vv_staging *staging)
{
    return staging->row->n_aside > 0;
}

size_t vv_staging_bytes(const struct vv_staging *staging)
{
    const struct vv_staging_row *row = staging->row;
    return (staging->batch ? staging->batch->bytes : 0) + row->aside.size +
           row->n_aside * sizeof *row->order;
}
