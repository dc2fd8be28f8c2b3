/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What replaces a day of a unit, where nodes share the store: runs that make the unit stale, with
 * the points that whoever builds it puts into its record (tier/unit.h has the form, and
 * pyramid_replace.c reads it). Each run has all points of some of the metrics, so each can be put
 * into the record by itself. Pure functions.
 */
#ifndef VV_SEAL_REPLACED_DAY_H
#define VV_SEAL_REPLACED_DAY_H

#include "model/merge.h"
#include "seal/pieces.h"
#include "tier/unit.h"

/* Parts of these runs begin here: those of what only makes a unit stale are lower. */
#define VV_REPLACED_DAY_PART  16u
#define VV_REPLACED_BYTES_MAX (8u << 20) /* of a run */

struct vv_replaced_day {
    const struct vv_rows *rows; /* as of struct vv_replace */
    size_t n_rows;
    const uint32_t *metrics; /* that are replaced, ascending */
    size_t n_metrics;
    int64_t day; /* where it begins */
    struct vv_unit unit;
    struct vv_span_key key; /* of the unit */
    vv_stamp run;
};

/* Appends the runs. VV_TOO_LARGE: more points than they can have; VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_replaced_day_write(const struct vv_replaced_day *day,
                                                   int zstd_level, struct vv_piece_list *runs_out,
                                                   struct vv_error *error);

#endif
