/* SPDX-License-Identifier: Apache-2.0 */
/* Where a source has something that tiers can be built of: a reroll passes over what is empty. */
#ifndef VV_ENGINE_REROLL_NEXT_H
#define VV_ENGINE_REROLL_NEXT_H

#include "engine/engine_private.h"

struct vv_reroll_place {
    uint32_t place;
    uint32_t source;
    uint32_t measurement;
    enum vv_space tier; /* it and what is finer, down to the points */
    int64_t time;
};

/* The first time, from the place's on, at which there may be something; INT64_MAX where there is
 * nothing any more. An error of the store. The storage thread. */
VV_MUST_CHECK enum vv_status vv_reroll_next(struct vv_engine *engine,
                                            const struct vv_reroll_place *at, int64_t *next_out,
                                            struct vv_error *error);

#endif
