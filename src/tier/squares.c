/* SPDX-License-Identifier: Apache-2.0 */
#include "tier/squares.h"

#include <math.h>

#define WHOLE_MAX (UINT64_C(1) << 52) /* a double has all of its digits, and of one half more */
#define ROUNDING  0x1p-40             /* of squares that were added and merged as doubles */

/* What the sum has beyond count times its mean without the fraction: less than count. */
static uint64_t rest_of(const struct vv_step *step)
{
    __int128 rest = step->sum.integer % (__int128)step->count;
    return (uint64_t)(rest < 0 ? -rest : rest);
}

bool vv_squares_to_whole(const struct vv_step *step, uint64_t *whole_out)
{
    unsigned __int128 rest = rest_of(step);
    unsigned __int128 rest_squared = rest * rest;
    uint64_t above = (uint64_t)(rest_squared / step->count); /* rest < count */
    double fraction = (double)(uint64_t)(rest_squared % step->count) / (double)step->count;
    double near = step->squares + fraction;
    double squares;
    if (!(near >= 0 && near < (double)WHOLE_MAX) || above >= WHOLE_MAX) {
        return false;
    }
    *whole_out = above + (uint64_t)round(near);
    return vv_squares_from_whole(step, *whole_out, &squares) &&
           fabs(squares - step->squares) <= step->squares * ROUNDING;
}

bool vv_squares_from_whole(const struct vv_step *step, uint64_t whole, double *squares_out)
{
    unsigned __int128 rest = rest_of(step);
    unsigned __int128 all = (unsigned __int128)whole * step->count;
    if (all < rest * rest) {
        return false;
    }
    *squares_out = (double)(all - rest * rest) / (double)step->count;
    return true;
}
