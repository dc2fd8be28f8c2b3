/* SPDX-License-Identifier: Apache-2.0 */
/* What tiers lack for good where nodes share a store; alone it is noted (whole.c). */
#ifndef VV_ENGINE_LACKS_H
#define VV_ENGINE_LACKS_H

#include "engine/engine_private.h"

/* As vv_whole_lacked_before, of a tier of a place; never more than it lacks. Any thread. */
int64_t vv_lacks_shared(const struct vv_engine *engine, uint32_t space, uint32_t place,
                        enum vv_space tier);

#endif
