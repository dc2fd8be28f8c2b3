/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of cohorts (tier/cohort.h): what a tier has of many sources, put together. Private to
 * src/seal; storage thread.
 *
 * A unit of a cohort is made of its sources' own records of that unit and of nothing else, and as a
 * whole each time: what one source had before can't be left over in it. Where one of them is stale,
 * damaged or not built although its source has something there, there is no record; the source's
 * own unit, when it is built, has the cohort's looked at again.
 */
#ifndef VV_SEAL_COHORTS_H
#define VV_SEAL_COHORTS_H

#include "seal/pieces.h"
#include "seal/pyramid.h"
#include "tier/cohort.h"

struct vv_cohorts;

/* The deletions of the options are not looked at: what is not stale has nothing that is deleted. */
VV_MUST_CHECK enum vv_status vv_cohorts_create(const struct vv_pyramid_options *options,
                                               struct vv_cohorts **cohorts_out);
void vv_cohorts_destroy(struct vv_cohorts *cohorts); /* NULL is allowed */

/* Appends the record of the unit that begins with the mark's; an empty one where there is none, or
 * has_none (it has expired, …). made_from: the version of the record that is there. Errors of the
 * store; VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_cohorts_build(struct vv_cohorts *cohorts,
                                              const struct vv_mark *mark, int64_t made_from,
                                              bool has_none, struct vv_piece_list *blocks_out,
                                              struct vv_error *error);

#endif
