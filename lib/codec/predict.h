/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What remains of numbers after prediction, and the divisor that remainders have in common.
 * Differences wrap around at 64 bits in both directions, so that nothing is ever lost.
 *
 * Private to lib/codec.
 */
#ifndef VV_CODEC_PREDICT_H
#define VV_CODEC_PREDICT_H

#include "bytes.h"

/* How many numbers stand before the residuals: 0 direct, 1 delta, 2 delta of delta. */
#define VV_PREDICT_ORDER_MAX 2u

/* Writes count - order residuals; order is 0 to VV_PREDICT_ORDER_MAX and at most count. */
void vv_predict_residuals(const uint64_t *numbers, size_t count, unsigned order,
                          uint64_t *residuals_out);

/* The inverse, in place: numbers holds the first order values, then residuals. */
void vv_predict_restore(uint64_t *numbers, size_t count, unsigned order);

/*
 * The greatest divisor of all differences between residuals, and what remains of each residual.
 * divisor 1 and remainder 0 when there is none, or when a division would leave 64 bits.
 */
void vv_predict_divisor(const uint64_t *residuals, size_t count, uint64_t *divisor_out,
                        uint64_t *remainder_out);

/* (residual - remainder) / divisor, in place; exact after vv_predict_divisor(). */
void vv_predict_divide(uint64_t *residuals, size_t count, uint64_t divisor, uint64_t remainder);

/* remainder + divisor * residual, in place. */
void vv_predict_multiply(uint64_t *residuals, size_t count, uint64_t divisor, uint64_t remainder);

#endif
