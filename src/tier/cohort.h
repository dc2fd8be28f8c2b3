/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cohorts: what many sources have together, so that a question about all of them need not ask each.
 *
 * A cohort is the sources of one tenant whose numbers differ in the last bits only: at most
 * VV_COHORT_SOURCES. In the spaces of the hour and the day tier it is one more source, with a
 * number that no source has, and has units and records like these: the steps of a measurement's
 * metrics, each of the values of all its sources. Pure functions, any thread.
 */
#ifndef VV_TIER_COHORT_H
#define VV_TIER_COHORT_H

#include "model/space.h"

#define VV_COHORT_SOURCES 64u
#define VV_COHORT_NUMBER  0x80000000u /* in the numbers of cohorts, and of no source */

static inline bool vv_tier_has_cohorts(enum vv_space tier)
{
    return tier >= VV_SPACE_HOUR;
}

static inline uint32_t vv_cohort_of(uint32_t source)
{
    return VV_COHORT_NUMBER | source / VV_COHORT_SOURCES;
}

/* Whether a number in a tier's space is a cohort's. */
static inline bool vv_cohort_is(uint32_t number)
{
    return (number & VV_COHORT_NUMBER) != 0;
}

/* The first of the VV_COHORT_SOURCES numbers that its sources may have. */
static inline uint32_t vv_cohort_first(uint32_t cohort)
{
    return (cohort & ~VV_COHORT_NUMBER) * VV_COHORT_SOURCES;
}

#endif
