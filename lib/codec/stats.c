/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of columns. */
#include "stats.h"

#include <math.h>

#include "decimal.h"
#include "format.h"

/* Statistics with more decimals than this are written as bits. */
#define STATS_EXPONENT_MAX 9u

static double double_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/*
 * Compensated summation, so that the sum of a long column does not drift:
 * A. Neumaier, "Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen", 1974.
 */
struct sum {
    double total;
    double compensation;
};

static void sum_add(struct sum *sum, double value)
{
    double total = sum->total + value;
    if (fabs(sum->total) >= fabs(value)) {
        sum->compensation += (sum->total - total) + value;
    } else {
        sum->compensation += (value - total) + sum->total;
    }
    sum->total = total;
}

static double sum_result(const struct sum *sum)
{
    /* With an infinity or an overflow the compensation is not a number, the total is right. */
    return isfinite(sum->total) ? sum->total + sum->compensation : sum->total;
}

static void compute_floats(const uint64_t *values, size_t count, struct vv_block_stats *stats)
{
    struct sum sum = {0.0, 0.0};
    double min = 0.0;
    double max = 0.0;
    for (size_t i = 0; i < count; i++) {
        double value = double_of(values[i]);
        if (isnan(value)) {
            continue;
        }
        if (stats->count == 0 || value < min) {
            min = value;
            stats->min = values[i];
        }
        if (stats->count == 0 || value > max) {
            max = value;
            stats->max = values[i];
        }
        stats->count++;
        sum_add(&sum, value);
    }
    stats->sum = sum_result(&sum);
}

static void compute_integers(const uint64_t *values, size_t count, struct vv_block_stats *stats)
{
    __extension__ __int128 sum = 0;
    int64_t min = INT64_MAX;
    int64_t max = INT64_MIN;
    for (size_t i = 0; i < count; i++) {
        int64_t value = vv_signed(values[i]);
        min = value < min ? value : min;
        max = value > max ? value : max;
        sum += value;
    }
    stats->count = (uint32_t)count;
    stats->min = (uint64_t)min;
    stats->max = (uint64_t)max;
    stats->sum = (double)sum;
}

void vv_stats_compute(enum vv_value_type type, const uint64_t *values, size_t count,
                      struct vv_block_stats *stats_out)
{
    *stats_out = (struct vv_block_stats){.valid = true};
    if (count == 0) {
        return;
    }
    stats_out->first = values[0];
    stats_out->last = values[count - 1];
    if (type == VV_FLOAT64) {
        compute_floats(values, count, stats_out);
    } else {
        compute_integers(values, count, stats_out);
    }
}

/* The four values as numbers of one scale, if they are decimals or integers. */
static bool split_values(enum vv_value_type type, const uint64_t values[4], unsigned *exponent_out,
                         uint64_t numbers_out[4])
{
    if (type == VV_INT64) {
        *exponent_out = 0;
        memcpy(numbers_out, values, 4 * sizeof *values);
        return true;
    }
    for (unsigned exponent = 0; exponent <= STATS_EXPONENT_MAX; exponent++) {
        struct vv_decimal_scale scale = {exponent, false};
        bool exact = true;
        for (size_t i = 0; i < 4 && exact; i++) {
            exact = vv_decimal_split_one(values[i], scale, &numbers_out[i]);
        }
        if (exact) {
            *exponent_out = exponent;
            return true;
        }
    }
    return false;
}

void vv_stats_write(enum vv_value_type type, const struct vv_block_stats *stats, size_t n_present,
                    struct vv_writer *writer)
{
    const uint64_t values[4] = {stats->min, stats->max, stats->first, stats->last};
    uint64_t numbers[4];
    unsigned exponent;
    uint64_t sum_bits;
    vv_put_varint(writer, stats->count);
    if (n_present == 0) {
        return;
    }
    if (split_values(type, values, &exponent, numbers)) {
        vv_put_byte(writer, exponent);
        vv_put_varint(writer, vv_zigzag(numbers[0]));
        for (size_t i = 1; i < 4; i++) {
            vv_put_varint(writer, numbers[i] - numbers[0]);
        }
    } else {
        vv_put_byte(writer, VV_FORMAT_EXPONENT_NONE);
        for (size_t i = 0; i < 4; i++) {
            vv_put_u64(writer, values[i]);
        }
    }
    memcpy(&sum_bits, &stats->sum, sizeof sum_bits);
    vv_put_u64(writer, sum_bits);
}

static void read_numbers(enum vv_value_type type, struct vv_decimal_scale scale,
                         struct vv_reader *reader, uint64_t values_out[4])
{
    values_out[0] = vv_unzigzag(vv_take_varint(reader));
    for (size_t i = 1; i < 4; i++) {
        values_out[i] = values_out[0] + vv_take_varint(reader);
    }
    if (type == VV_FLOAT64) {
        vv_decimal_join(values_out, 4, scale);
    }
}

bool vv_stats_read(enum vv_value_type type, bool any_present, struct vv_reader *reader,
                   struct vv_block_stats *stats_out)
{
    uint64_t values[4] = {0};
    *stats_out = (struct vv_block_stats){.valid = true};
    uint64_t count = vv_take_varint(reader);
    if (count > (any_present ? VV_BLOCK_ROWS_MAX : 0)) {
        reader->failed = true;
    }
    if (!any_present || reader->failed) {
        return !reader->failed;
    }
    unsigned exponent = vv_take_byte(reader);
    if (exponent == VV_FORMAT_EXPONENT_NONE) {
        for (size_t i = 0; i < 4; i++) {
            values[i] = vv_take_u64(reader);
        }
    } else if (exponent <= VV_FORMAT_EXPONENT_MAX) {
        read_numbers(type, (struct vv_decimal_scale){exponent, false}, reader, values);
    } else {
        reader->failed = true;
    }
    stats_out->count = (uint32_t)count;
    stats_out->min = values[0];
    stats_out->max = values[1];
    stats_out->first = values[2];
    stats_out->last = values[3];
    stats_out->sum = double_of(vv_take_u64(reader));
    return !reader->failed;
}
