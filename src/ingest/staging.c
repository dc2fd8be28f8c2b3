/* SPDX-License-Identifier: Apache-2.0 */
/* Staging: its life, the life of a row, and the account. */
#include "ingest/staging_private.h"

#include "base/bits.h"

#include <stdio.h>
#include <stdlib.h>

static int64_t subtract(int64_t time, int64_t length)
{
    int64_t result;
    return __builtin_sub_overflow(time, length, &result) ? VV_TIME_MIN : result;
}

static int64_t add(int64_t time, int64_t length)
{
    int64_t result;
    return __builtin_add_overflow(time, length, &result) ? VV_TIME_MAX : result;
}

/* The earliest time where points are kept for so long. */
static int64_t time_min(const struct vv_staging_options *options, int64_t retention_ns)
{
    const int64_t ages_ns[] = {options->past_ns_max, retention_ns, options->late_ns_max};
    int64_t min = VV_TIME_MIN;
    for (size_t i = 0; i < 3; i++) {
        int64_t bound = ages_ns[i] > 0 ? subtract(options->now_ns, ages_ns[i]) : VV_TIME_MIN;
        min = bound > min ? bound : min;
    }
    return min;
}

/* All bounds on times in one pair. */
static void set_bounds(struct vv_staging_row *row, const struct vv_staging_options *options)
{
    row->time_max = add(options->now_ns, options->future_ns_max);
    row->time_max = row->time_max < VV_TIME_MAX ? row->time_max : VV_TIME_MAX;
    row->time_min = time_min(options, options->retention_ns);
    for (size_t i = 0; i < options->n_classes; i++) {
        row->class_time_min[i] = time_min(options, options->classes[i].retention_ns);
    }
}

const struct vv_staging_class *vv_row_class(const struct vv_staging *staging, int64_t time)
{
    const struct vv_staging_options *options = &staging->options;
    const struct vv_staging_row *row = staging->row;
    if (options->n_classes == 0) {
        return NULL;
    }
    uint32_t place =
        row->known
            ? vv_registry_stay(options->registry, row->series.measurement, time).place
            : vv_registry_place_named(options->registry, options->tenant, row->measurement, time);
    for (size_t i = 0; i < options->n_classes; i++) {
        if (options->classes[i].place == place) {
            return &options->classes[i];
        }
    }
    return NULL;
}

static int64_t row_time_min(const struct vv_staging *staging, int64_t time)
{
    const struct vv_staging_class *class = vv_row_class(staging, time);
    return class ? staging->row->class_time_min[class - staging->options.classes]
                 : staging->row->time_min;
}

/* Why a time out of bounds is refused. */
static enum vv_reason time_reason(const struct vv_staging *staging, int64_t time)
{
    const struct vv_staging_options *options = &staging->options;
    if (time > staging->row->time_max) {
        return VV_REASON_FUTURE;
    }
    if (time < VV_TIME_MIN ||
        (options->past_ns_max > 0 && time < subtract(options->now_ns, options->past_ns_max))) {
        return VV_REASON_PAST;
    }
    const struct vv_staging_class *class = vv_row_class(staging, time);
    int64_t retention_ns = class ? class->retention_ns : options->retention_ns;
    bool is_kept = retention_ns == 0 || time >= subtract(options->now_ns, retention_ns);
    return is_kept ? VV_REASON_LATE : VV_REASON_RETENTION;
}

enum vv_status vv_staging_init(struct vv_staging *staging, const struct vv_staging_options *options)
{
    *staging = (struct vv_staging){.options = *options};
    if (staging->options.fields_max == 0 || staging->options.fields_max > VV_FRAME_METRICS_MAX) {
        staging->options.fields_max = VV_FRAME_METRICS_MAX;
    }
    staging->row = malloc(sizeof *staging->row);
    if (!staging->row || !vv_row_init(staging->row, staging->options.fields_max)) {
        free(staging->row);
        staging->row = NULL;
        return VV_NO_MEMORY;
    }
    set_bounds(staging->row, options);
    return VV_OK;
}

void vv_staging_deinit(struct vv_staging *staging)
{
    if (staging->row) {
        vv_row_deinit(staging->row);
        free(staging->row);
    }
    vv_batch_destroy(staging->batch);
    staging->row = NULL;
    staging->batch = NULL;
}

void vv_staging_refuse_staged(struct vv_staging *staging, uint64_t n, enum vv_reason reason,
                              const char *detail)
{
    staging->points_received -= n;
    staging->points_staged -= n;
    vv_refuse_points(staging, reason, n);
    vv_refusal_keep(staging, 1, 0, reason, detail);
}

struct vv_batch *vv_staging_take_batch(struct vv_staging *staging)
{
    struct vv_batch *batch = staging->batch;
    staging->batch = NULL;
    if (batch && batch->points == 0) {
        vv_batch_destroy(batch);
        batch = NULL;
    }
    return batch;
}

static void start_row(struct vv_staging_row *row, struct vv_str raw, uint64_t line)
{
    row->open = true;
    row->known = false;
    row->too_many = false;
    row->unresolved = false;
    row->at = 0;
    row->n = 0;
    row->n_dead = 0;
    row->n_misses = 0;
    row->n_lost = 0;
    row->line = line;
    row->serial++;
    row->shape = NULL;
    row->raw = raw;
    row->tags = NULL;
    row->n_tags = 0;
}

static void use_shape(struct vv_staging *staging, struct vv_shape *shape)
{
    staging->row->shape = shape;
    if (!shape) {
        staging->out_of_memory = true;
    }
}

bool vv_staging_begin(struct vv_staging *staging, struct vv_str raw, uint64_t line)
{
    struct vv_staging_row *row = staging->row;
    vv_invariant(!row->open);
    start_row(row, raw, line);
    vv_shapes_trim(&row->shapes);
    if (raw.size == 0 || !vv_registry_series_find(staging->options.registry,
                                                  staging->options.tenant, raw, &row->series)) {
        return false;
    }
    row->known = true;
    use_shape(staging, vv_shapes_get(&row->shapes, row->series.measurement));
    return true;
}

void vv_staging_identify(struct vv_staging *staging, struct vv_str measurement,
                         const struct vv_tag *tags, size_t n)
{
    struct vv_staging_row *row = staging->row;
    vv_invariant(row->open && !row->known);
    row->measurement = measurement;
    row->tags = tags;
    row->n_tags = n;
    uint32_t number = VV_REGISTRY_NONE;
    enum vv_status status = vv_registry_measurement(
        staging->options.registry, staging->options.tenant, measurement, false, &number, NULL);
    use_shape(staging, status == VV_OK ? vv_shapes_get(&row->shapes, number)
                                       : vv_shapes_spare(&row->shapes));
}

void vv_staging_float(struct vv_staging *staging, struct vv_str field, double value,
                      uint32_t column)
{
    struct vv_slot *slot = vv_row_slot(staging, field);
    if (slot) {
        vv_row_put(staging, slot, VV_FIELD_FLOAT, vv_bits_of_double(value), column);
    }
}

void vv_staging_int(struct vv_staging *staging, struct vv_str field, int64_t value, uint32_t column)
{
    struct vv_slot *slot = vv_row_slot(staging, field);
    if (slot) {
        vv_row_put(staging, slot, VV_FIELD_INT, (uint64_t)value, column);
    }
}

void vv_staging_bool(struct vv_staging *staging, struct vv_str field, bool value, uint32_t column)
{
    struct vv_slot *slot = vv_row_slot(staging, field);
    if (slot) {
        vv_row_put(staging, slot, VV_FIELD_BOOL, value, column);
    }
}

void vv_staging_refuse_field(struct vv_staging *staging, struct vv_str field, enum vv_reason reason,
                             uint32_t column)
{
    struct vv_slot *slot = vv_row_slot(staging, field);
    if (slot) {
        vv_row_miss(staging, slot, reason, VV_FIELD_NONE, column);
    }
}

/* Refuses all fields of the row for one cause. */
static void refuse_row(struct vv_staging *staging, enum vv_reason reason, const char *detail)
{
    struct vv_staging_row *row = staging->row;
    vv_refuse_points(staging, reason, vv_row_fields(row));
    vv_refusal_keep(staging, row->line, 1, reason, detail);
    staging->lines_refused++;
}

static void refuse_misses(struct vv_staging *staging)
{
    struct vv_staging_row *row = staging->row;
    for (uint32_t i = 0; i < row->n_misses; i++) {
        vv_refuse_miss(staging, &row->misses[i], NULL);
    }
    row->n_misses = 0;
}

/* Looks up and appends the cells, or sets them aside; those that turn out to be impossible are
 * refused. */
static enum vv_status stage_row(struct vv_staging *staging, int64_t time, bool *is_aside_out,
                                struct vv_error *error)
{
    uint32_t place;
    *is_aside_out = false;
    if (staging->out_of_memory) {
        return VV_NO_MEMORY;
    }
    enum vv_status status = vv_row_resolve(staging, time, error);
    if (status == VV_OK && vv_row_is_in_doubt(staging, time, &place)) {
        *is_aside_out = true;
        return vv_row_set_aside(staging, time, place);
    }
    return status == VV_OK ? vv_row_append(staging, time) : status;
}

static void stage_cells(struct vv_staging *staging, int64_t time)
{
    struct vv_staging_row *row = staging->row;
    struct vv_error error = {0};
    bool is_aside;
    enum vv_status status = stage_row(staging, time, &is_aside, &error);
    if (status == VV_OK && !is_aside) {
        staging->points_received += row->n;
        staging->points_staged += row->n;
    } else if (status == VV_NO_MEMORY) {
        staging->out_of_memory = true;
        vv_refuse_points(staging, VV_REASON_OVERLOAD, vv_row_fields(row));
    } else if (status != VV_OK) {
        refuse_row(staging, vv_reason_of(status), error.message);
    }
}

void vv_staging_end(struct vv_staging *staging, int64_t time_ns)
{
    struct vv_staging_row *row = staging->row;
    vv_invariant(row->open);
    if (row->too_many || row->n + row->n_misses > row->fields_max) {
        char detail[120];
        snprintf(detail, sizeof detail,
                 "more than %u fields in a line: send the rest in a line of its own, with the same "
                 "tags and time",
                 row->fields_max);
        vv_staging_refuse_line(staging, row->line, 1, VV_REASON_LIMIT, detail);
        return;
    }
    row->open = false;
    staging->lines++;
    vv_row_compact(row);
    if (time_ns < row_time_min(staging, time_ns) || time_ns > row->time_max) {
        vv_refuse_time(staging, time_reason(staging, time_ns), time_ns);
        return;
    }
    refuse_misses(staging);
    if (row->n + row->n_lost > 0) {
        stage_cells(staging, time_ns);
    }
}

void vv_staging_end_now(struct vv_staging *staging)
{
    vv_staging_end(staging, staging->options.now_ns);
}

void vv_staging_drop(struct vv_staging *staging)
{
    staging->row->open = false;
}

void vv_staging_refuse_line(struct vv_staging *staging, uint64_t line, uint32_t column,
                            enum vv_reason reason, const char *detail)
{
    vv_staging_drop(staging);
    staging->lines++;
    staging->lines_refused++;
    vv_refuse_points(staging, reason, 1);
    vv_refusal_keep(staging, line, column, reason, detail);
}
