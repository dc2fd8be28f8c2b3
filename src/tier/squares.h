/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The squares of a step of integers as an integer, which takes two bytes where the double takes
 * seven: Σ (value − m)², where m is the mean without its fraction. With the step's sum and count it
 * gives Σ (value − mean)² back, rounded once (the difference is D²/count, where D is the sum
 * without count times m). Pure functions, any thread.
 */
#ifndef VV_TIER_SQUARES_H
#define VV_TIER_SQUARES_H

#include "tier/step.h"

#include <stdbool.h>
#include <stdint.h>

/* False when the squares are not those of integers, or too large: what is given back would be
 * something else. `step` is of integers and not empty. */
bool vv_squares_to_whole(const struct vv_step *step, uint64_t *whole_out);

/* False when there are no integers with this sum and count that have it. `step` needs both;
 * count is at most INT64_MAX. */
bool vv_squares_from_whole(const struct vv_step *step, uint64_t whole, double *squares_out);

#endif
