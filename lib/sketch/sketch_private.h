/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of a sketch share. Private to lib/sketch. */
#ifndef VV_SKETCH_SKETCH_PRIVATE_H
#define VV_SKETCH_SKETCH_PRIVATE_H

#include "store.h"

static inline void vv_sketch_extend_range(struct vv_sketch *sketch, double min, double max)
{
    sketch->min = min < sketch->min ? min : sketch->min;
    sketch->max = max > sketch->max ? max : sketch->max;
}

/* Something that is off by this error is in it. */
void vv_sketch_note_absorbed(struct vv_sketch *sketch, double error);
/* Of a sketch without values; as of vv_sketch_init(). */
bool vv_sketch_set_alpha(struct vv_sketch *sketch, double alpha);

#endif
