/* SPDX-License-Identifier: Apache-2.0 */
/* What tiers lack where nodes share a store; alone it is noted (whole.c). */
#ifndef VV_ENGINE_LACKS_H
#define VV_ENGINE_LACKS_H

#include "engine/engine_private.h"

/* As vv_whole_lacked_before, of a tier of a place. Any thread. */
int64_t vv_lacks_shared(const struct vv_engine *engine, uint32_t space, uint32_t place,
                        enum vv_space tier);

/* A reroll found, or made, all of a tier in [from, to), of what was made longer at `longer_from` or
 * before (vv_whole_from of the tier when it began): durable, and told, with the next confirm.
 * VV_NO_MEMORY. The storage thread. */
VV_MUST_CHECK enum vv_status vv_lacks_note_built(struct vv_engine *engine, uint32_t space,
                                                 int64_t longer_from, int64_t from, int64_t to);

#endif
