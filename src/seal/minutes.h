/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Minutes in the pass that seals a span: where the span is exactly one unit of minutes and all of
 * its points are merged anyway, the unit's record is made of them and written with the block.
 * Private to src/seal; storage thread.
 */
#ifndef VV_SEAL_MINUTES_H
#define VV_SEAL_MINUTES_H

#include "seal/seal_private.h"

struct vv_minutes {
    bool is_on; /* the unit is being made; false: it is to be made stale, as others are */
    struct vv_stale_unit unit;
    bool has_time; /* one was added … */
    int64_t time;  /* … and this was the last */
};

/* Begins the unit of the mark's span, or leaves it off. */
VV_MUST_CHECK enum vv_status vv_minutes_begin(struct vv_sealer *sealer, const struct vv_mark *mark,
                                              struct vv_minutes *minutes_out);
/* The span's next rows; borrowed. What can't be made of rows like these leaves it off. */
VV_MUST_CHECK enum vv_status vv_minutes_add(struct vv_sealer *sealer, struct vv_minutes *minutes,
                                            const struct vv_rows *rows, struct vv_error *error);
/* Appends the record to the sealer's blocks, what made the unit stale to its runs, and its mark to
 * those that are settled; or leaves it off. */
VV_MUST_CHECK enum vv_status vv_minutes_end(struct vv_sealer *sealer, const struct vv_mark *mark,
                                            struct vv_minutes *minutes, struct vv_error *error);

#endif
