/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a row: its series and metrics become registry numbers, and its values a row of a
 * frame.
 *
 * The metrics of a frame ascend, so that rows with the same fields in another order share it. What
 * the journal does not have yet is listed in every batch that uses it: tenant, measurement and
 * metrics are asked about once for a frame of a batch, the source with each row.
 */
#include "ingest/staging_private.h"

#include "registry/shared.h"

#include <stdlib.h>

_Static_assert(VV_METRICS_LIMIT <= VV_METRIC_FLOAT64, "numbers leave room for types");

static enum vv_status resolve_measurement(struct vv_staging *staging, struct vv_error *error)
{
    struct vv_staging_row *row = staging->row;
    enum vv_status status =
        vv_registry_measurement(staging->options.registry, staging->options.tenant,
                                row->measurement, true, &row->series.measurement, error);
    if (status == VV_OK && row->shape->measurement == VV_REGISTRY_NONE) {
        vv_shapes_adopt(&row->shapes, row->shape, row->series.measurement);
    }
    return status;
}

static enum vv_status resolve_source(struct vv_staging *staging, int64_t time,
                                     struct vv_error *error)
{
    struct vv_staging_row *row = staging->row;
    struct vv_registry *registry = staging->options.registry;
    uint32_t tenant = staging->options.tenant;
    struct vv_series *series = &row->series;
    enum vv_status status =
        row->raw.size > 0 ? vv_registry_series(registry, tenant, row->raw, series->measurement,
                                               row->tags, row->n_tags, time, &series->source, error)
                          : vv_registry_source(registry, tenant, row->tags, row->n_tags, time,
                                               &series->source, error);
    row->known = row->known || status == VV_OK;
    return status;
}

/* A run, and a block, has so many metrics at most. */
static enum vv_status refuse_metric(struct vv_error *error)
{
    return vv_error_set(error, VV_TOO_LARGE,
                        "the measurement has %u fields, which is the limit: divide it, or make "
                        "what differs in their names a tag",
                        (unsigned)VV_BLOCK_COLUMNS_MAX);
}

/* Looks up a slot's metric, made with the type of its first value if it is new. Where nodes share a
 * store, there may be more of them than fit. */
static enum vv_status resolve_slot(struct vv_staging *staging, struct vv_slot *slot,
                                   enum vv_field_kind kind, struct vv_error *error)
{
    struct vv_registry *registry = staging->options.registry;
    uint32_t measurement = staging->row->series.measurement;
    enum vv_value_type type = kind == VV_FIELD_FLOAT ? VV_FLOAT64 : VV_INT64;
    bool has_room = vv_registry_metrics_of(registry, measurement) < VV_BLOCK_COLUMNS_MAX;
    enum vv_status status = vv_registry_metric(registry, measurement, slot->name, type, has_room,
                                               &slot->metric, &type, error);
    bool is_beyond = status == VV_OK
                         ? vv_registry_metric_rank(registry, slot->metric) >= VV_BLOCK_COLUMNS_MAX
                         : status == VV_NOT_FOUND && !has_room;
    if (is_beyond) {
        status = refuse_metric(error);
    }
    if (status == VV_OK) {
        slot->type = (uint8_t)type;
    } else {
        slot->metric = VV_REGISTRY_NONE;
    }
    return status;
}

/* Resolves one cell; a cell that must go is refused, counted, and marked dead. */
static enum vv_status resolve_cell(struct vv_staging *staging, uint32_t cell)
{
    struct vv_staging_row *row = staging->row;
    struct vv_slot *slot = &row->shape->slots[row->slots[cell]];
    if (slot->type != VV_TYPE_UNKNOWN) {
        return VV_OK;
    }
    enum vv_field_kind kind = (enum vv_field_kind)row->kinds[cell];
    struct vv_error error = {0};
    enum vv_status status = resolve_slot(staging, slot, kind, &error);
    if (status == VV_NO_MEMORY) {
        return status;
    }
    struct vv_miss miss = {slot->index, row->columns[cell], VV_REASON_TYPE, kind};
    if (status != VV_OK) {
        miss.reason = vv_reason_of(status);
        vv_refuse_miss(staging, &miss, error.message);
    } else if (!vv_value_convert(kind, (enum vv_value_type)slot->type, &row->values[cell])) {
        vv_refuse_miss(staging, &miss, NULL);
    } else {
        return VV_OK;
    }
    row->slots[cell] = VV_CELL_DEAD;
    row->n_dead++;
    return VV_OK;
}

static enum vv_status resolve_cells(struct vv_staging *staging)
{
    struct vv_staging_row *row = staging->row;
    for (uint32_t i = 0; i < row->n; i++) {
        enum vv_status status = resolve_cell(staging, i);
        if (status != VV_OK) {
            return status;
        }
    }
    vv_row_compact(row);
    row->unresolved = false;
    return VV_OK;
}

static enum vv_status define(struct vv_staging *staging, enum vv_registry_kind kind,
                             uint32_t number)
{
    if (vv_registry_settled(staging->options.registry, kind, number)) {
        return VV_OK;
    }
    return vv_batch_define(staging->batch, (uint8_t)kind, number);
}

/* With the tiers that it begins with. */
static enum vv_status define_tenant(struct vv_staging *staging)
{
    struct vv_registry *registry = staging->options.registry;
    uint32_t tenant = staging->options.tenant;
    if (vv_registry_settled(registry, VV_REGISTRY_TENANT, tenant)) {
        return VV_OK;
    }
    return vv_registry_define_tenant(registry, tenant, staging->batch);
}

static enum vv_status begin_batch(struct vv_staging *staging)
{
    if (staging->batch) {
        return VV_OK;
    }
    enum vv_status status = vv_batch_create(staging->options.tenant, &staging->batch);
    if (status != VV_OK) {
        return status;
    }
    staging->batch->turn = staging->options.turn;
    staging->row->batch_serial++;
    return define_tenant(staging);
}

static enum vv_status define_metrics(struct vv_staging *staging, uint32_t measurement,
                                     const uint32_t *metrics, uint32_t n)
{
    enum vv_status status = define(staging, VV_REGISTRY_MEASUREMENT, measurement);
    for (uint32_t i = 0; i < n && status == VV_OK; i++) {
        status = define(staging, VV_REGISTRY_METRIC, vv_metric_number(metrics[i]));
    }
    return status;
}

static int compare_keys(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a;
    uint64_t right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

/* Notes the row's fields as the shape's last, with the order of their metrics. `keys` has room for
 * one word a cell. */
static void note_order(struct vv_staging_row *row, uint64_t *keys)
{
    struct vv_shape *shape = row->shape;
    bool ascending = true;
    for (uint32_t i = 0; i < row->n; i++) {
        keys[i] = (uint64_t)shape->slots[row->slots[i]].metric << 32 | i;
        ascending = ascending && (i == 0 || keys[i - 1] < keys[i]);
        shape->last[i] = row->slots[i];
    }
    if (!ascending) {
        qsort(keys, row->n, sizeof *keys, compare_keys);
    }
    for (uint32_t i = 0; i < row->n; i++) {
        shape->order[i] = (uint32_t)keys[i];
    }
    shape->last_ascending = ascending;
    shape->n_last = row->n;
}

/* Another node may make a metric of integers one of floats at any time. */
static void say_types(const struct vv_staging_row *row, uint32_t *metrics)
{
    const struct vv_shape *shape = row->shape;
    for (uint32_t i = 0; i < row->n; i++) {
        uint8_t type = shape->slots[row->slots[shape->order[i]]].type;
        metrics[i] |= type == VV_INT64 ? VV_METRIC_INT64 : VV_METRIC_FLOAT64;
    }
}

enum vv_status vv_row_metrics(struct vv_staging *staging, const uint32_t **metrics_out)
{
    struct vv_staging_row *row = staging->row;
    struct vv_shape *shape = row->shape;
    shape->batch_serial = 0;
    if (!vv_shape_reserve_last(&row->shapes, shape, row->capacity)) {
        return VV_NO_MEMORY;
    }
    note_order(row, row->ordered);
    uint32_t *metrics = row->columns; /* no longer needed once all cells are resolved */
    for (uint32_t i = 0; i < row->n; i++) {
        metrics[i] = shape->slots[row->slots[shape->order[i]]].metric;
    }
    if (vv_registry_is_shared(staging->options.registry)) {
        say_types(row, metrics);
    }
    *metrics_out = metrics;
    return VV_OK;
}

static enum vv_status find_frame_of(struct vv_staging *staging, uint32_t measurement,
                                    const uint32_t *metrics, uint32_t n, size_t *frame_out)
{
    enum vv_status status = vv_batch_frame(staging->batch, measurement, metrics, n, frame_out);
    return status == VV_OK ? define_metrics(staging, measurement, metrics, n) : status;
}

/* The frame of the row's fields, which become the shape's last ones. */
static enum vv_status find_frame(struct vv_staging *staging)
{
    struct vv_staging_row *row = staging->row;
    struct vv_shape *shape = row->shape;
    const uint32_t *metrics;
    enum vv_status status = vv_row_metrics(staging, &metrics);
    if (status == VV_OK) {
        status = find_frame_of(staging, row->series.measurement, metrics, row->n, &shape->frame);
    }
    if (status == VV_OK) {
        shape->batch_serial = row->batch_serial;
    }
    return status;
}

static bool is_like_last(const struct vv_staging_row *row)
{
    const struct vv_shape *shape = row->shape;
    return shape->batch_serial == row->batch_serial && shape->n_last == row->n &&
           memcmp(shape->last, row->slots, row->n * sizeof *row->slots) == 0;
}

const uint64_t *vv_row_values(struct vv_staging_row *row)
{
    const struct vv_shape *shape = row->shape;
    if (shape->last_ascending) {
        return row->values;
    }
    for (uint32_t i = 0; i < row->n; i++) {
        row->ordered[i] = row->values[shape->order[i]];
    }
    return row->ordered;
}

static enum vv_status append_to_frame(struct vv_staging *staging, size_t frame, uint32_t source,
                                      int64_t time, const uint64_t *values)
{
    enum vv_status status = define(staging, VV_REGISTRY_SOURCE, source);
    if (status == VV_OK) {
        status = vv_batch_row(staging->batch, frame, source, time, values);
    }
    return status == VV_OK ? VV_OK : VV_NO_MEMORY;
}

enum vv_status vv_row_append(struct vv_staging *staging, int64_t time)
{
    struct vv_staging_row *row = staging->row;
    if (row->n == 0) {
        return VV_OK;
    }
    enum vv_status status = begin_batch(staging);
    if (status == VV_OK && !is_like_last(row)) {
        status = find_frame(staging);
    }
    return status == VV_OK ? append_to_frame(staging, row->shape->frame, row->series.source, time,
                                             vv_row_values(row))
                           : VV_NO_MEMORY;
}

enum vv_status vv_staging_append(struct vv_staging *staging, const struct vv_series *series,
                                 int64_t time, const uint32_t *metrics, const uint64_t *values,
                                 uint32_t n)
{
    size_t frame;
    enum vv_status status = begin_batch(staging);
    if (status == VV_OK) {
        status = find_frame_of(staging, series->measurement, metrics, n, &frame);
    }
    return status == VV_OK ? append_to_frame(staging, frame, series->source, time, values)
                           : VV_NO_MEMORY;
}

/* The source comes last: it is not made for a row of which nothing is left. */
enum vv_status vv_row_resolve(struct vv_staging *staging, int64_t time, struct vv_error *error)
{
    struct vv_staging_row *row = staging->row;
    enum vv_status status = row->known ? VV_OK : resolve_measurement(staging, error);
    if (status == VV_OK && row->unresolved) {
        status = resolve_cells(staging);
    }
    if (status == VV_OK && !row->known && row->n > 0) {
        status = resolve_source(staging, time, error);
    }
    return status;
}
