/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Few rows: those of a unit that have been read so far, as long as its steps may turn out to hold
 * so few values that it keeps the rows instead. Private to src/seal; one thread.
 */
#ifndef VV_SEAL_FEW_H
#define VV_SEAL_FEW_H

#include "model/merge.h"

/* Zero-initialised is empty and takes nothing. */
struct vv_few {
    struct vv_rows *items; /* copies */
    size_t n;
    size_t capacity;
    size_t n_rows;
    size_t n_values; /* with absent ones */
    size_t rows_max;
    bool takes;
};

/* Empties it, for a unit with so many steps at most. */
void vv_few_begin(struct vv_few *few, size_t steps_max);
/* Takes a copy, or says in *taken_out that there are too many: it takes nothing then until the next
 * begin, and what it has is the caller's to use and to drop. VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_few_add(struct vv_few *few, const struct vv_rows *rows,
                                        bool *taken_out);
/* Whether steps of this length would hold few values each. */
bool vv_few_is_so(const struct vv_few *few, int64_t step_ns);
/* Drops the rows. */
void vv_few_drop(struct vv_few *few);
void vv_few_deinit(struct vv_few *few);

#endif
