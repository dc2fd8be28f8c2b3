/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exact percentiles by sorting, and the change to a sketch. Sorting is by digits of the bit
 * patterns: its time does not depend on the values, which a client chooses.
 */
#include "query/percentiles.h"

#include "base/bits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CAPACITY_MIN  16u
#define INSERTION_MAX 48u
#define DIGITS        8
#define RADIX         256u
#define SIGN          (UINT64_C(1) << 63)

bool vv_percentile_budget_init(struct vv_percentile_budget *budget, size_t exact_bytes_max)
{
    *budget = (struct vv_percentile_budget){.exact_bytes_max = exact_bytes_max};
    budget->scratch = malloc(2 * VV_PERCENTILES_EXACT_MAX * sizeof *budget->scratch);
    return budget->scratch != NULL;
}

void vv_percentile_budget_deinit(struct vv_percentile_budget *budget)
{
    free(budget->scratch);
    *budget = (struct vv_percentile_budget){0};
}

/* ---- sorting ---- */

static void sort_few(double *values, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        double value = values[i];
        size_t at = i;
        while (at > 0 && values[at - 1] > value) {
            values[at] = values[at - 1];
            at--;
        }
        values[at] = value;
    }
}

/* A bit pattern whose unsigned order is the order of the doubles, and back. */
static uint64_t to_key(double value)
{
    uint64_t bits = vv_bits_of_double(value);
    return bits & SIGN ? ~bits : bits | SIGN;
}

static double from_key(uint64_t key)
{
    return vv_bits_double(key & SIGN ? key & ~SIGN : ~key);
}

static void count_digits(const uint64_t *keys, size_t n, uint16_t counts[DIGITS][RADIX])
{
    memset(counts, 0, sizeof(uint16_t) * DIGITS * RADIX);
    for (size_t i = 0; i < n; i++) {
        for (int digit = 0; digit < DIGITS; digit++) {
            counts[digit][keys[i] >> (8 * digit) & 0xFF]++;
        }
    }
}

/* Moves keys into the order of one digit, keeping the order of equal ones. */
static void order_by_digit(const uint64_t *keys, size_t n, int digit, const uint16_t *counts,
                           uint64_t *out)
{
    uint16_t starts[RADIX];
    uint16_t start = 0;
    for (unsigned i = 0; i < RADIX; i++) {
        starts[i] = start;
        start = (uint16_t)(start + counts[i]);
    }
    for (size_t i = 0; i < n; i++) {
        out[starts[keys[i] >> (8 * digit) & 0xFF]++] = keys[i];
    }
}

static void sort_many(double *values, size_t n, double *scratch)
{
    uint16_t counts[DIGITS][RADIX];
    uint64_t *keys = (uint64_t *)(void *)scratch;
    uint64_t *other = keys + VV_PERCENTILES_EXACT_MAX;
    for (size_t i = 0; i < n; i++) {
        keys[i] = to_key(values[i]);
    }
    count_digits(keys, n, counts);
    for (int digit = 0; digit < DIGITS; digit++) {
        if (counts[digit][keys[0] >> (8 * digit) & 0xFF] == n) {
            continue; /* all keys have the same digit */
        }
        order_by_digit(keys, n, digit, counts[digit], other);
        uint64_t *swapped = keys;
        keys = other;
        other = swapped;
    }
    for (size_t i = 0; i < n; i++) {
        values[i] = from_key(keys[i]);
    }
}

_Static_assert(sizeof(double) == sizeof(uint64_t), "doubles sort as 64-bit keys");
_Static_assert(VV_PERCENTILES_EXACT_MAX <= UINT16_MAX, "counts fit 16 bits");

/* ---- adding ---- */

static void drop_values(struct vv_percentiles *percentiles, struct vv_percentile_budget *budget)
{
    budget->bytes -= percentiles->capacity * sizeof *percentiles->values;
    free(percentiles->values);
    percentiles->values = NULL;
    percentiles->n = percentiles->capacity = 0;
}

static enum vv_status add_to_sketch(struct vv_percentiles *percentiles,
                                    struct vv_percentile_budget *budget, const double *values,
                                    size_t n)
{
    size_t before = vv_sketch_memory_bytes(percentiles->sketch);
    bool added = vv_sketch_add_values(percentiles->sketch, values, n);
    budget->bytes += vv_sketch_memory_bytes(percentiles->sketch) - before;
    return added ? VV_OK : VV_NO_MEMORY;
}

/* alpha: as of vv_sketch_init. */
static enum vv_status turn_to_sketch(struct vv_percentiles *percentiles,
                                     struct vv_percentile_budget *budget, double alpha)
{
    percentiles->sketch = malloc(sizeof *percentiles->sketch);
    if (!percentiles->sketch) {
        return VV_NO_MEMORY;
    }
    (void)vv_sketch_init(percentiles->sketch, alpha);
    budget->bytes += vv_sketch_memory_bytes(percentiles->sketch);
    enum vv_status status = add_to_sketch(percentiles, budget, percentiles->values, percentiles->n);
    drop_values(percentiles, budget);
    return status;
}

/* Makes room for `needed` exact values; false when they must become a sketch instead. */
static bool fits(struct vv_percentiles *percentiles, struct vv_percentile_budget *budget,
                 size_t needed, enum vv_status *status_out)
{
    *status_out = VV_OK;
    if (needed <= percentiles->capacity) {
        return true;
    }
    if (needed > VV_PERCENTILES_EXACT_MAX) {
        return false;
    }
    uint32_t capacity = percentiles->capacity ? percentiles->capacity : CAPACITY_MIN;
    while (capacity < needed) {
        capacity *= 2;
    }
    size_t more = (capacity - percentiles->capacity) * sizeof *percentiles->values;
    if (budget->bytes + more > budget->exact_bytes_max && needed > CAPACITY_MIN) {
        return false;
    }
    double *values = realloc(percentiles->values, capacity * sizeof *values);
    if (!values) {
        *status_out = VV_NO_MEMORY;
        return true;
    }
    percentiles->values = values;
    percentiles->capacity = capacity;
    budget->bytes += more;
    return true;
}

enum vv_status vv_percentiles_add(struct vv_percentiles *percentiles,
                                  struct vv_percentile_budget *budget, const double *values,
                                  size_t n)
{
    enum vv_status status;
    if (!percentiles->sketch && fits(percentiles, budget, percentiles->n + n, &status)) {
        if (status == VV_OK && n > 0) {
            memcpy(percentiles->values + percentiles->n, values, n * sizeof *values);
            percentiles->n += (uint32_t)n;
            percentiles->sorted = false;
        }
        return status;
    }
    if (!percentiles->sketch) {
        status = turn_to_sketch(percentiles, budget, 0);
        if (status != VV_OK) {
            return status;
        }
    }
    return add_to_sketch(percentiles, budget, values, n);
}

enum vv_status vv_percentiles_merge(struct vv_percentiles *percentiles,
                                    struct vv_percentile_budget *budget,
                                    const struct vv_sketch *sketch)
{
    if (!percentiles->sketch) {
        enum vv_status status = turn_to_sketch(percentiles, budget, vv_sketch_alpha(sketch));
        if (status != VV_OK) {
            return status;
        }
    }
    size_t before = vv_sketch_memory_bytes(percentiles->sketch);
    bool merged = vv_sketch_absorb(percentiles->sketch, sketch);
    budget->bytes += vv_sketch_memory_bytes(percentiles->sketch) - before;
    return merged ? VV_OK : VV_NO_MEMORY;
}

/* ---- reading ---- */

static double value_at(const struct vv_percentiles *percentiles,
                       struct vv_percentile_budget *budget, uint64_t n, uint64_t rank)
{
    double error;
    if (!percentiles->sketch) {
        return percentiles->values[rank];
    }
    /* In the middle between two ranks, so that rounding cannot choose the neighbour. */
    double q = rank + 1 >= n ? 1.0 : rank == 0 ? 0.0 : ((double)rank + 0.5) / (double)(n - 1);
    double value = vv_sketch_quantile_within(percentiles->sketch, q, &error);
    budget->error = error > budget->error ? error : budget->error;
    return value;
}

double vv_percentiles_read(struct vv_percentiles *percentiles, struct vv_percentile_budget *budget,
                           double q)
{
    uint64_t n = percentiles->sketch ? vv_sketch_count(percentiles->sketch) : percentiles->n;
    if (n == 0) {
        return NAN;
    }
    if (!percentiles->sketch && !percentiles->sorted) {
        if (n <= INSERTION_MAX) {
            sort_few(percentiles->values, n);
        } else {
            sort_many(percentiles->values, n, budget->scratch);
        }
        percentiles->sorted = true;
    }
    double position = q * (double)(n - 1);
    uint64_t rank = (uint64_t)position;
    double part = position - (double)rank;
    double low = value_at(percentiles, budget, n, rank);
    if (part <= 0 || rank + 1 >= n) {
        return low;
    }
    double high = value_at(percentiles, budget, n, rank + 1);
    double value = low + (high - low) * part;
    if (isfinite(value)) {
        return value;
    }
    /* Infinite neighbours, or a distance that overflows: */
    value = low * (1 - part) + high * part;
    return low == high || value != value ? low : value;
}

void vv_percentiles_clear(struct vv_percentiles *percentiles, struct vv_percentile_budget *budget)
{
    if (percentiles->sketch) {
        vv_percentiles_deinit(percentiles, budget);
    }
    percentiles->n = 0;
    percentiles->sorted = false;
}

void vv_percentiles_deinit(struct vv_percentiles *percentiles, struct vv_percentile_budget *budget)
{
    if (percentiles->sketch) {
        budget->bytes -= vv_sketch_memory_bytes(percentiles->sketch);
        vv_sketch_deinit(percentiles->sketch);
        free(percentiles->sketch);
        percentiles->sketch = NULL;
    }
    drop_values(percentiles, budget);
}
