/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cover: which stretches of a range the records of a tier answer, and which have to be read from
 * what is finer. A record of steps or rows covers its unit, unless something there says that the
 * unit is to be built again. What no record covers may have data or none: only the finer data can
 * tell. One thread at a time.
 */
#ifndef VV_TIER_COVER_H
#define VV_TIER_COVER_H

#include "tier/unit.h"

struct vv_covering {
    struct vv_unit unit;
    uint32_t tag; /* the caller's, of the record's first part */
};

/* Zero-initialised is empty. */
struct vv_cover {
    struct vv_covering *records;
    size_t n_records;
    size_t records_capacity;
    struct vv_unit *stale;
    size_t n_stale;
    size_t stale_capacity;
};

void vv_cover_clear(struct vv_cover *cover); /* keeps the memory */
void vv_cover_deinit(struct vv_cover *cover);

/* In any order. Of records of the same unit the one that was added last counts. VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_cover_add(struct vv_cover *cover, const struct vv_unit *unit,
                                          uint32_t tag);
VV_MUST_CHECK enum vv_status vv_cover_add_stale(struct vv_cover *cover, const struct vv_unit *unit);

/* After the last add: makes the records ascend, without those that do not count: stale ones, and of
 * two that overlap the later one (which cannot be while plans hold). */
void vv_cover_settle(struct vv_cover *cover);
/* Whether anything of [from, to) is stale; settled or not. */
bool vv_cover_is_stale(const struct vv_cover *cover, int64_t from, int64_t to);

struct vv_stretch {
    int64_t from; /* [from, to) */
    int64_t to;
    bool is_covered;
    uint32_t tag; /* of a covered one */
};

/* Of a settled cover: the stretch that begins at `from` and ends at `to` or before; a covered one
 * is a whole unit where the range has all of it. `step_ns`: a record of which only a part is in the
 * range covers the whole steps of that part; 0: any part. from < to. */
struct vv_stretch vv_cover_next(const struct vv_cover *cover, int64_t step_ns, int64_t from,
                                int64_t to);
/* The last of these stretches of [from, to). */
struct vv_stretch vv_cover_last(const struct vv_cover *cover, int64_t step_ns, int64_t from,
                                int64_t to);

#endif
