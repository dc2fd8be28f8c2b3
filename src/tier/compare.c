/* SPDX-License-Identifier: Apache-2.0 */
#include "tier/compare.h"

#include <math.h>
#include <stdlib.h>

/* Of a sum of n values whose magnitudes are at most m, rounding makes at most some n·m·2⁻⁵². */
#define SUM_ROUNDING     1e-13
#define MOMENTS_ROUNDING 1e-9

/* One metric of a chunk. */
struct column {
    enum vv_value_type type;
    uint32_t n;
    int64_t *starts;
    struct vv_step *steps;
    struct vv_sketch *sketches; /* NULL: none */
};

/* ---- columns ---- */

static void column_deinit(struct column *column)
{
    for (uint32_t i = 0; column->sketches && i < column->n; i++) {
        vv_sketch_deinit(&column->sketches[i]);
    }
    free(column->sketches);
    free(column->steps);
    free(column->starts);
    *column = (struct column){0};
}

static enum vv_status read_sketches(const struct vv_chunk *chunk, uint32_t index,
                                    struct column *column, struct vv_error *error)
{
    struct vv_sketch *sketches = calloc(chunk->n_steps, sizeof *sketches);
    if (!sketches) {
        return VV_NO_MEMORY;
    }
    enum vv_status status = vv_chunk_sketches(chunk, index, column->steps, sketches, error);
    if (status != VV_OK) {
        free(sketches);
        return status;
    }
    column->sketches = sketches;
    return VV_OK;
}

/* The metric at an index; the column is empty after a failure. */
static enum vv_status read_column(const struct vv_chunk *chunk, uint32_t index,
                                  struct column *column, struct vv_error *error)
{
    uint32_t metric;
    *column = (struct column){.n = chunk->n_steps};
    column->starts = calloc(chunk->n_steps, sizeof *column->starts);
    column->steps = calloc(chunk->n_steps, sizeof *column->steps);
    enum vv_status status = column->starts && column->steps ? VV_OK : VV_NO_MEMORY;
    if (status == VV_OK) {
        status = vv_chunk_metric(chunk, index, &metric, &column->type, error);
    }
    if (status == VV_OK) {
        status = vv_chunk_starts(chunk, column->starts, error);
    }
    if (status == VV_OK) {
        status = vv_chunk_steps(chunk, index, column->starts, column->steps, error);
    }
    if (status == VV_OK && chunk->has_sketches) {
        status = read_sketches(chunk, index, column, error);
    }
    if (status != VV_OK) {
        column_deinit(column);
    }
    return status;
}

static void widen(struct column *column)
{
    for (uint32_t i = 0; i < column->n && column->type == VV_INT64; i++) {
        vv_step_widen(&column->steps[i]);
    }
    column->type = VV_FLOAT64;
}

/* ---- steps ---- */

static double real_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static double value_of(enum vv_value_type type, uint64_t bits)
{
    return type == VV_INT64 ? (double)(int64_t)bits : real_of(bits);
}

/* Which of two zeros is the lesser depends on the order in which they came. */
static bool is_same(enum vv_value_type type, uint64_t a, uint64_t b)
{
    return a == b || (type == VV_FLOAT64 && real_of(a) == real_of(b));
}

static bool is_near(double a, double b, double tolerance)
{
    return a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= tolerance;
}

static double magnitude_of(enum vv_value_type type, const struct vv_step *step)
{
    double low = fabs(value_of(type, step->min));
    double high = fabs(value_of(type, step->max));
    return low > high ? low : high;
}

static bool same_sum(enum vv_value_type type, const struct vv_step *a, const struct vv_step *b)
{
    union vv_total x = vv_step_sum(type, a);
    union vv_total y = vv_step_sum(type, b);
    double most = (double)a->count * magnitude_of(type, a);
    bool is_beyond = isinf(most); /* of what doubles hold, as the order has it */
    return type == VV_INT64 ? x.integer == y.integer
                            : is_beyond || is_near(x.real, y.real, SUM_ROUNDING * most);
}

static bool same_moments(enum vv_value_type type, const struct vv_step *a, const struct vv_step *b)
{
    double magnitude = magnitude_of(type, a);
    double most = a->squares > b->squares ? a->squares : b->squares;
    double squares = (double)a->count * magnitude * magnitude;
    double tolerance = MOMENTS_ROUNDING * most + SUM_ROUNDING * squares;
    /* Beyond what doubles hold they are infinite or no number, as the order has it. */
    return isinf(squares) || is_near(a->squares, b->squares, tolerance);
}

/* What is different; NULL: nothing. */
static const char *compare_steps(enum vv_value_type type, const struct vv_step *a,
                                 const struct vv_step *b)
{
    if (a->count != b->count) {
        return "count";
    }
    if (a->count == 0) {
        return NULL;
    }
    bool same_bounds = is_same(type, a->min, b->min) && is_same(type, a->max, b->max);
    return !same_bounds                                 ? "min or max"
           : a->first != b->first || a->last != b->last ? "first or last"
           : a->first_time != b->first_time || a->last_time != b->last_time
               ? "times of first or last"
           : !same_sum(type, a, b)     ? "sum"
           : !same_moments(type, a, b) ? "standard deviation"
                                       : NULL;
}

static enum vv_status encode(const struct vv_sketch *sketch, struct vv_buffer *out)
{
    size_t bound = vv_sketch_encoded_bound(sketch);
    vv_buffer_clear(out);
    uint8_t *bytes = vv_buffer_reserve(out, bound);
    if (!bytes) {
        return VV_NO_MEMORY;
    }
    out->size = vv_sketch_encode(sketch, bytes, bound);
    return VV_OK;
}

/* Sketches of another error, from before a setting was changed, say nothing; neither do those that
 * had to drop bins, which depends on the order. */
static enum vv_status compare_sketches(const struct vv_sketch *a, const struct vv_sketch *b,
                                       bool *same_out)
{
    struct vv_buffer x = {0};
    struct vv_buffer y = {0};
    *same_out = true;
    if (vv_sketch_alpha(a) != vv_sketch_alpha(b) || vv_sketch_collapsed(a) ||
        vv_sketch_collapsed(b)) {
        return VV_OK;
    }
    enum vv_status status = encode(a, &x);
    if (status == VV_OK) {
        status = encode(b, &y);
    }
    if (status == VV_OK) {
        *same_out = x.size == y.size && memcmp(x.data, y.data, x.size) == 0;
    }
    vv_buffer_deinit(&x);
    vv_buffer_deinit(&y);
    return status;
}

/* ---- chunks ---- */

static void note(struct vv_comparison *comparison, uint32_t metric, int64_t start, const char *what)
{
    if (comparison->steps++ == 0) {
        comparison->metric = metric;
        comparison->start = start;
        comparison->what = what;
    }
}

/* The steps at i of a and at j of b, of the same start; either may have none (SIZE_MAX). */
static enum vv_status compare_at(const struct column *a, size_t i, const struct column *b, size_t j,
                                 const char **what_out)
{
    static const struct vv_step none;
    const struct vv_step *x = i < a->n ? &a->steps[i] : &none;
    const struct vv_step *y = j < b->n ? &b->steps[j] : &none;
    *what_out = compare_steps(a->type, x, y);
    bool has_sketches = a->sketches && b->sketches && x->count > 0 && y->count > 0;
    bool same = true;
    enum vv_status status = *what_out || !has_sketches
                                ? VV_OK
                                : compare_sketches(&a->sketches[i], &b->sketches[j], &same);
    if (!same) {
        *what_out = "percentiles";
    }
    return status;
}

static enum vv_status compare_columns(uint32_t metric, struct column *a, struct column *b,
                                      struct vv_comparison *comparison)
{
    enum vv_status status = VV_OK;
    if (a->type != b->type) {
        widen(a);
        widen(b);
    }
    for (size_t i = 0, j = 0; (i < a->n || j < b->n) && status == VV_OK;) {
        bool has_a = i < a->n && (j >= b->n || a->starts[i] <= b->starts[j]);
        bool has_b = j < b->n && (i >= a->n || b->starts[j] <= a->starts[i]);
        const char *what = NULL;
        status = compare_at(a, has_a ? i : SIZE_MAX, b, has_b ? j : SIZE_MAX, &what);
        if (what) {
            note(comparison, metric, has_a ? a->starts[i] : b->starts[j], what);
        }
        i += has_a;
        j += has_b;
    }
    return status;
}

/* The chunk that has the metric, and where; VV_NOT_FOUND. */
static enum vv_status find(const struct vv_chunk *chunks, size_t n, uint32_t metric,
                           const struct vv_chunk **chunk_out, uint32_t *index_out,
                           struct vv_error *error)
{
    for (size_t at = 0; at < n; at++) {
        for (uint32_t i = 0; i < chunks[at].n_metrics; i++) {
            uint32_t other;
            enum vv_value_type type;
            enum vv_status status = vv_chunk_metric(&chunks[at], i, &other, &type, error);
            if (status != VV_OK) {
                return status;
            }
            if (other == metric) {
                *chunk_out = &chunks[at];
                *index_out = i;
                return VV_OK;
            }
        }
    }
    return VV_NOT_FOUND;
}

/* The metric at an index of a chunk with what `others` have of it; nothing where they have it and
 * `only_absent`. */
static enum vv_status compare_metric(const struct vv_chunk *chunk, uint32_t index,
                                     const struct vv_chunk *others, size_t n_others,
                                     bool only_absent, struct vv_comparison *comparison,
                                     struct vv_error *error)
{
    uint32_t metric;
    uint32_t at = 0;
    enum vv_value_type type;
    const struct vv_chunk *other = NULL;
    struct column x = {0};
    struct column y = {0};
    enum vv_status status = vv_chunk_metric(chunk, index, &metric, &type, error);
    if (status != VV_OK) {
        return status;
    }
    enum vv_status found = find(others, n_others, metric, &other, &at, error);
    if (found == VV_OK && only_absent) {
        return VV_OK;
    }
    if (found != VV_OK && found != VV_NOT_FOUND) {
        return found;
    }
    status = read_column(chunk, index, &x, error);
    y.type = x.type;
    if (status == VV_OK && other) {
        status = read_column(other, at, &y, error);
    }
    if (status == VV_OK) {
        status = compare_columns(metric, &x, &y, comparison);
    }
    column_deinit(&x);
    column_deinit(&y);
    return status;
}

static enum vv_status compare_all(const struct vv_chunk *chunks, size_t n,
                                  const struct vv_chunk *others, size_t n_others, bool only_absent,
                                  struct vv_comparison *comparison, struct vv_error *error)
{
    enum vv_status status = VV_OK;
    for (size_t at = 0; at < n; at++) {
        for (uint32_t i = 0; i < chunks[at].n_metrics && status == VV_OK; i++) {
            status =
                compare_metric(&chunks[at], i, others, n_others, only_absent, comparison, error);
        }
    }
    return status;
}

enum vv_status vv_chunk_compare(const struct vv_chunk *a, size_t n_a, const struct vv_chunk *b,
                                size_t n_b, struct vv_comparison *comparison_out,
                                struct vv_error *error)
{
    *comparison_out = (struct vv_comparison){0};
    enum vv_status status = compare_all(a, n_a, b, n_b, false, comparison_out, error);
    if (status == VV_OK) {
        status = compare_all(b, n_b, a, n_a, true, comparison_out, error);
    }
    return status == VV_NO_MEMORY ? vv_error_set(error, status, "out of memory") : status;
}
