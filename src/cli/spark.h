/* SPDX-License-Identifier: Apache-2.0 */
/* Sparklines: a series of any length as a row of bars, in bounded memory. Main thread only. */
#ifndef VV_CLI_SPARK_H
#define VV_CLI_SPARK_H

#include "base/bytes.h"

#define VV_SPARK_CELLS 128

struct vv_spark {
    double sums[VV_SPARK_CELLS];
    uint32_t counts[VV_SPARK_CELLS]; /* of values; 0: a gap */
    size_t used;
    uint32_t per_cell; /* values and gaps that a full cell holds; doubles when there is no room */
    uint32_t in_last;
    uint64_t values;
    double least;
    double most;
};

void vv_spark_init(struct vv_spark *spark);
/* NaN is a gap; infinities are left out. */
void vv_spark_add(struct vv_spark *spark, double value);
/* Appends at most `columns` bars; `backwards`: values came newest first. */
void vv_spark_draw(const struct vv_spark *spark, size_t columns, bool backwards, bool utf8,
                   struct vv_buffer *out);

#endif
