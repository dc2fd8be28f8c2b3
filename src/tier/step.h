/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A step: what is kept of the values of one metric in one span of time, so that count, sum, min,
 * max, mean, standard deviation, first and last of any parts can be merged into those of the whole.
 *
 * Sums are compensated (Neumaier) or exact (integers, 128 bits); moments are kept as the squares'
 * sum about the mean and merged as in Chan, Golub, LeVeque, "Updating Formulae and a Pairwise
 * Algorithm for Computing Sample Variances", 1979. NaN must not be among the values; infinities
 * follow IEEE arithmetic. One thread at a time.
 */
#ifndef VV_TIER_STEP_H
#define VV_TIER_STEP_H

#include "codec/block.h"

/* A sum or difference: of integers in 128 bits, or of doubles. */
union vv_total {
    __int128 integer;
    double real;
};

/* What there is of a step beside its count. */
enum vv_step_part {
    VV_STEP_SUM = 1,
    VV_STEP_BOUNDS = 2,  /* min, max */
    VV_STEP_MOMENTS = 4, /* mean and squares */
    VV_STEP_ENDS = 8,    /* first and last, and when: adding and merging always care for them */
    VV_STEP_ALL = 15,
};

/* Zero-initialised is empty and valid. */
struct vv_step {
    uint64_t count;
    int64_t first_time;
    int64_t last_time;
    uint64_t first; /* bit patterns; of equal times, what was added first */
    uint64_t last;
    uint64_t min;
    uint64_t max;
    union {
        __int128 integer;
        struct {
            double high;
            double low; /* what rounding left */
        } real;
    } sum;
    uint64_t reference; /* a value near the others: moments are of the distance to it */
    double mean;
    double squares; /* Σ (value − mean)² */
};

/* Adds n ≥ 1 points that ascend in time. `parts`: of enum vv_step_part, the same for all that is
 * added to a step. */
void vv_step_add(enum vv_value_type type, unsigned parts, struct vv_step *step,
                 const int64_t *times, const uint64_t *values, size_t n);
/* Adds all that `from` stands for; either may be empty. */
void vv_step_merge(enum vv_value_type type, unsigned parts, struct vv_step *into,
                   const struct vv_step *from);
/* A step of integers as one of doubles. */
void vv_step_widen(struct vv_step *step);

/* The sum; of a step that is not empty: mean, and the sample's standard deviation (count ≥ 2). */
union vv_total vv_step_sum(enum vv_value_type type, const struct vv_step *step);
double vv_step_mean(enum vv_value_type type, const struct vv_step *step);
double vv_step_stddev(const struct vv_step *step);

#endif
