/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cohorts: what many sources have together, so that a question about all of them need not ask each.
 *
 * A cohort is the sources of one tenant whose numbers differ in the last bits only: at most
 * VV_COHORT_SOURCES. In the spaces of the hour and the day tier it is one more source, with a
 * number that no source has, and has units and records like these: the steps of a measurement's
 * metrics, each of the values of all its sources.
 *
 * Nodes that share a store number sources each for itself, so there a cohort is the sources whose
 * ids have the same hash of a few bits (vv_shared_ops.cohort_of), and its number says which: one
 * of VV_COHORTS_SHARED of a tenant. As no node knows all sources at any time, the first part of
 * such a record lists whose values are in it. Pure functions, any thread.
 */
#ifndef VV_TIER_COHORT_H
#define VV_TIER_COHORT_H

#include "model/space.h"

#define VV_COHORT_SOURCES 64u
#define VV_COHORT_NUMBER  0x80000000u /* in the numbers of cohorts, and of no source */

#define VV_COHORTS_SHARED 64u /* of a tenant, where nodes share the store */
/* Beside them, in the same buckets, what could not be said where a cohort's units lie, as that part
 * of the store was away: runs whose part says of which cohort a unit's record is not to be trusted
 * (vv_cohort_doubt). Nobody seals them; they expire when the unit has long been built again. */
#define VV_COHORT_DOUBTS (VV_COHORT_NUMBER | VV_COHORTS_SHARED)
/* Of more sources none is built there: a late point would cost that many reads. */
#define VV_COHORT_MEMBERS_MAX 4096u

/* The part of a run of doubt, for which a cohort's run of that part could not be put: below 4. */
static inline uint32_t vv_cohort_doubt(uint32_t cohort, uint32_t part)
{
    return (cohort & ~VV_COHORT_NUMBER) << 2 | part;
}

static inline uint32_t vv_cohort_doubted(uint32_t part)
{
    return VV_COHORT_NUMBER | part >> 2;
}

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
