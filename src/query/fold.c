/* SPDX-License-Identifier: Apache-2.0 */
/* Folding slices, and reading what came of them. */
#include "query/fold.h"

#include "base/bits.h"

/* ---- percentiles ---- */

static enum vv_status add_percentiles(const struct vv_fold_spec *spec, struct vv_fold *fold,
                                      const uint64_t *values, size_t n)
{
    double part[256];
    enum vv_status status = VV_OK;
    for (size_t at = 0; at < n && status == VV_OK;) {
        size_t size = n - at < 256 ? n - at : 256;
        for (size_t i = 0; i < size; i++) {
            part[i] = spec->type == VV_INT64 ? (double)(int64_t)values[at + i]
                                             : vv_bits_double(values[at + i]);
        }
        status = vv_percentiles_add(&fold->percentiles, spec->budget, part, size);
        at += size;
    }
    return status;
}

enum vv_status vv_fold_add(const struct vv_fold_spec *spec, struct vv_fold *fold,
                           const int64_t *times, const uint64_t *values, size_t n)
{
    vv_step_add(spec->type, spec->needs & VV_STEP_ALL, &fold->step, times, values, n);
    return spec->needs & VV_NEED_PERCENTILES ? add_percentiles(spec, fold, values, n) : VV_OK;
}

enum vv_status vv_fold_merge(const struct vv_fold_spec *spec, struct vv_fold *fold,
                             const struct vv_step *steps, const struct vv_sketch *sketches,
                             size_t n)
{
    unsigned parts = spec->needs & VV_STEP_ALL;
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < n; i++) {
        vv_step_merge(spec->type, parts, &fold->step, &steps[i]);
    }
    for (size_t i = 0; sketches && i < n && status == VV_OK; i++) {
        status = vv_percentiles_merge(&fold->percentiles, spec->budget, &sketches[i]);
    }
    return status;
}

/* ---- reading ---- */

static struct vv_cell cell_of_bits(const struct vv_fold_spec *spec, uint64_t bits)
{
    return spec->type == VV_INT64 ? vv_cell_integer((int64_t)bits)
                                  : vv_cell_double(vv_bits_double(bits));
}

/* An exact integer, or the nearest double when it does not fit. */
static struct vv_cell cell_of_total(const struct vv_fold_spec *spec, union vv_total total)
{
    if (spec->type == VV_FLOAT64) {
        return vv_cell_double(total.real);
    }
    if (total.integer >= INT64_MIN && total.integer <= INT64_MAX) {
        return vv_cell_integer((int64_t)total.integer);
    }
    return vv_cell_double((double)total.integer);
}

/* Of a step that is not empty; not of kinds that a step does not have. */
static struct vv_cell read_step(const struct vv_fold_spec *spec, const struct vv_step *step,
                                enum vv_aggregate_kind kind)
{
    static const struct vv_cell null = {VV_CELL_NULL, {0}};
    switch (kind) {
    case VV_AGGREGATE_COUNT:
        return vv_cell_integer((int64_t)step->count);
    case VV_AGGREGATE_SUM:
        return cell_of_total(spec, vv_step_sum(spec->type, step));
    case VV_AGGREGATE_MIN:
        return cell_of_bits(spec, step->min);
    case VV_AGGREGATE_MAX:
        return cell_of_bits(spec, step->max);
    case VV_AGGREGATE_MEAN:
        return vv_cell_double(vv_step_mean(spec->type, step));
    case VV_AGGREGATE_STDDEV:
        return step->count < 2 ? null : vv_cell_double(vv_step_stddev(step));
    case VV_AGGREGATE_FIRST:
        return cell_of_bits(spec, step->first);
    case VV_AGGREGATE_LAST:
        return cell_of_bits(spec, step->last);
    case VV_AGGREGATE_FIRST_TIME:
        return (struct vv_cell){.kind = VV_CELL_TIME, .integer = step->first_time};
    case VV_AGGREGATE_LAST_TIME:
        return (struct vv_cell){.kind = VV_CELL_TIME, .integer = step->last_time};
    default:
        return null;
    }
}

static struct vv_cell read_aggregate(const struct vv_fold_spec *spec, struct vv_fold *fold,
                                     const struct vv_aggregate *aggregate)
{
    static const struct vv_cell null = {VV_CELL_NULL, {0}};
    if (fold->step.count == 0) {
        return aggregate->kind == VV_AGGREGATE_COUNT ? vv_cell_integer(0) : null;
    }
    switch (aggregate->kind) {
    case VV_AGGREGATE_RATE:
        return fold->rate.n ? vv_cell_double(fold->rate.rate) : null;
    case VV_AGGREGATE_INCREASE:
        return fold->rate.n ? cell_of_total(spec, fold->rate.increase) : null;
    case VV_AGGREGATE_DELTA:
        return fold->rate.n ? cell_of_total(spec, fold->rate.delta) : null;
    case VV_AGGREGATE_PERCENTILE:
        return vv_cell_double(
            vv_percentiles_read(&fold->percentiles, spec->budget, aggregate->quantile));
    default:
        return read_step(spec, &fold->step, aggregate->kind);
    }
}

void vv_fold_read(const struct vv_fold_spec *spec, struct vv_fold *fold, struct vv_cell *cells_out)
{
    for (size_t i = 0; i < spec->n_aggregates; i++) {
        cells_out[i] = read_aggregate(spec, fold, &spec->aggregates[i]);
    }
}

void vv_fold_read_step(const struct vv_fold_spec *spec, const struct vv_step *step,
                       struct vv_cell *cells_out)
{
    for (size_t i = 0; i < spec->n_aggregates; i++) {
        cells_out[i] = read_step(spec, step, spec->aggregates[i].kind);
    }
}

void vv_fold_clear(const struct vv_fold_spec *spec, struct vv_fold *fold)
{
    fold->step = (struct vv_step){0};
    if (spec->needs & VV_NEED_PERCENTILES) {
        vv_percentiles_clear(&fold->percentiles, spec->budget);
    }
    if (spec->needs & VV_NEED_CHANGE) {
        fold->rate = (struct vv_rate_sums){0};
    }
}

void vv_fold_deinit(const struct vv_fold_spec *spec, struct vv_fold *fold)
{
    if (spec->needs & VV_NEED_PERCENTILES) {
        vv_percentiles_deinit(&fold->percentiles, spec->budget);
    }
    *fold = (struct vv_fold){0};
}
