/* SPDX-License-Identifier: Apache-2.0 */
/* Decimal scaling of doubles. */
#include "decimal.h"

#include "format.h"

#define N_SAMPLES_MAX 32u
/* Rounding by adding and subtracting this works below 2^51. */
#define ROUNDING      0x1.8p52
#define MAGNITUDE_MAX 0x1p51
/* With this many bits a value, decimals are no better than the plain bits. */
#define USEFUL_BITS_MAX 58u

static const double powers_of_ten[VV_FORMAT_EXPONENT_MAX + 1] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8, 1e9,
    1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18};

static double double_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint64_t join_one(uint64_t number, double power, bool single)
{
    double value = (double)vv_signed(number) / power;
    return bits_of(single ? (double)(float)value : value);
}

/* The nearest number; false when it is too large (or the value is not finite). */
static bool nearest(uint64_t bits, double power, uint64_t *number_out)
{
    double scaled = double_of(bits) * power;
    if (!(scaled > -MAGNITUDE_MAX && scaled < MAGNITUDE_MAX)) {
        return false;
    }
    *number_out = (uint64_t)(int64_t)((scaled + ROUNDING) - ROUNDING);
    return true;
}

uint64_t vv_decimal_join_one(uint64_t number, struct vv_decimal_scale scale)
{
    return join_one(number, powers_of_ten[scale.exponent], scale.single);
}

bool vv_decimal_split_one(uint64_t bits, struct vv_decimal_scale scale, uint64_t *number_out)
{
    double power = powers_of_ten[scale.exponent];
    return nearest(bits, power, number_out) && join_one(*number_out, power, scale.single) == bits;
}

bool vv_decimal_split(const uint64_t *values, size_t count, struct vv_decimal_scale scale,
                      uint64_t *numbers_out, uint64_t *corrections_out)
{
    double power = powers_of_ten[scale.exponent];
    uint64_t number = 0;
    uint64_t all_corrections = 0;
    for (size_t i = 0; i < count; i++) {
        /* A value out of range keeps the number before it, which costs the least. */
        (void)nearest(values[i], power, &number);
        numbers_out[i] = number;
        corrections_out[i] = values[i] - join_one(number, power, scale.single);
        all_corrections |= corrections_out[i];
    }
    return all_corrections != 0;
}

void vv_decimal_join(uint64_t *numbers, size_t count, struct vv_decimal_scale scale)
{
    double power = powers_of_ten[scale.exponent];
    if (scale.single) {
        for (size_t i = 0; i < count; i++) {
            numbers[i] = join_one(numbers[i], power, true);
        }
    } else {
        for (size_t i = 0; i < count; i++) {
            numbers[i] = join_one(numbers[i], power, false);
        }
    }
}

/* About how many bits the samples take at a scale; whether they are all exact. */
static size_t estimate_bits(const uint64_t *samples, size_t count, struct vv_decimal_scale scale,
                            bool *exact_out)
{
    uint64_t numbers[N_SAMPLES_MAX];
    uint64_t corrections[N_SAMPLES_MAX];
    *exact_out = !vv_decimal_split(samples, count, scale, numbers, corrections);
    int64_t min = INT64_MAX;
    int64_t max = INT64_MIN;
    size_t sparse_bits = 0;
    unsigned width = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t number = vv_signed(numbers[i]);
        min = number < min ? number : min;
        max = number > max ? number : max;
        unsigned length = vv_bit_length(vv_zigzag(corrections[i]));
        sparse_bits += length == 0 ? 0 : 16 + length;
        width = length > width ? length : width;
    }
    size_t correction_bits = sparse_bits < width * count ? sparse_bits : width * count;
    size_t number_bits = count * vv_bit_length((uint64_t)max - (uint64_t)min);
    return number_bits + correction_bits + 8 * vv_varint_size(vv_zigzag((uint64_t)min));
}

static bool all_single(const uint64_t *samples, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        /* The lowest 29 bits of a double are what a float32 does not have. */
        if ((samples[i] & ((UINT64_C(1) << 29) - 1)) != 0) {
            return false;
        }
    }
    return true;
}

/* The best exponent for samples; an exact one ends the search, since more digits cost more. */
static size_t choose_exponent(const uint64_t *samples, size_t count, bool single,
                              struct vv_decimal_scale *scale_out, bool *exact_out)
{
    size_t best_bits = SIZE_MAX;
    *exact_out = false;
    for (unsigned exponent = 0; exponent <= VV_FORMAT_EXPONENT_MAX && !*exact_out; exponent++) {
        struct vv_decimal_scale scale = {exponent, single};
        size_t bits = estimate_bits(samples, count, scale, exact_out);
        if (bits < best_bits || *exact_out) {
            best_bits = bits;
            *scale_out = scale;
        }
    }
    return best_bits;
}

bool vv_decimal_choose(const uint64_t *values, size_t count, struct vv_decimal_scale *scale_out)
{
    uint64_t samples[N_SAMPLES_MAX];
    size_t n_samples = count < N_SAMPLES_MAX ? count : N_SAMPLES_MAX;
    for (size_t i = 0; i < n_samples; i++) {
        samples[i] = values[i * count / n_samples];
    }
    bool exact;
    size_t bits = choose_exponent(samples, n_samples, false, scale_out, &exact);
    if (!exact && all_single(samples, n_samples)) {
        struct vv_decimal_scale single;
        bool single_exact;
        size_t single_bits = choose_exponent(samples, n_samples, true, &single, &single_exact);
        if (single_bits < bits) {
            bits = single_bits;
            *scale_out = single;
        }
    }
    return bits < n_samples * USEFUL_BITS_MAX;
}
