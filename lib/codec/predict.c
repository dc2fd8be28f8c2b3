/* SPDX-License-Identifier: Apache-2.0 */
/* Differences of numbers and their common divisor. */
#include "predict.h"

/* Divisors are used as signed numbers. */
#define DIVISOR_MAX (UINT64_C(1) << 62)

void vv_predict_residuals(const uint64_t *numbers, size_t count, unsigned order,
                          uint64_t *residuals_out)
{
    if (order == 0) {
        memcpy(residuals_out, numbers, count * sizeof *numbers);
    } else if (order == 1) {
        for (size_t i = 1; i < count; i++) {
            residuals_out[i - 1] = numbers[i] - numbers[i - 1];
        }
    } else {
        for (size_t i = 2; i < count; i++) {
            residuals_out[i - 2] = numbers[i] - 2 * numbers[i - 1] + numbers[i - 2];
        }
    }
}

void vv_predict_restore(uint64_t *numbers, size_t count, unsigned order)
{
    if (order == 1) {
        uint64_t number = numbers[0];
        for (size_t i = 1; i < count; i++) {
            number += numbers[i];
            numbers[i] = number;
        }
    } else if (order == 2) {
        uint64_t number = numbers[1];
        uint64_t slope = numbers[1] - numbers[0];
        for (size_t i = 2; i < count; i++) {
            slope += numbers[i];
            number += slope;
            numbers[i] = number;
        }
    }
}

static uint64_t greatest_common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
    return vv_signed(a) > vv_signed(b) ? a - b : b - a;
}

/* 0 when all residuals are equal. */
static uint64_t divisor_of_distances(const uint64_t *residuals, size_t count)
{
    uint64_t divisor = 0;
    for (size_t i = 1; i < count && divisor != 1; i++) {
        uint64_t step = distance(residuals[i], residuals[0]);
        if (divisor == 0 || step % divisor != 0) {
            divisor = greatest_common_divisor(step, divisor);
        }
    }
    return divisor;
}

void vv_predict_divisor(const uint64_t *residuals, size_t count, uint64_t *divisor_out,
                        uint64_t *remainder_out)
{
    *divisor_out = 1;
    *remainder_out = 0;
    uint64_t divisor = divisor_of_distances(residuals, count);
    if (divisor < 2 || divisor > DIVISOR_MAX) {
        return;
    }
    int64_t remainder = vv_signed(residuals[0]) % (int64_t)divisor;
    if (remainder < 0) {
        remainder += (int64_t)divisor;
    }
    int64_t least = INT64_MIN + remainder;
    for (size_t i = 0; i < count; i++) {
        if (vv_signed(residuals[i]) < least) {
            return;
        }
    }
    *divisor_out = divisor;
    *remainder_out = (uint64_t)remainder;
}

void vv_predict_divide(uint64_t *residuals, size_t count, uint64_t divisor, uint64_t remainder)
{
    int64_t signed_divisor = (int64_t)divisor;
    for (size_t i = 0; i < count; i++) {
        residuals[i] = (uint64_t)(vv_signed(residuals[i] - remainder) / signed_divisor);
    }
}

void vv_predict_multiply(uint64_t *residuals, size_t count, uint64_t divisor, uint64_t remainder)
{
    for (size_t i = 0; i < count; i++) {
        residuals[i] = remainder + divisor * residuals[i];
    }
}
