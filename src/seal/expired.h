/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What has expired of a place's points, in the order in which it did: a retention may have been
 * shorter and longer in turns, so what came between may be there though younger points are gone.
 * Pure functions on a value of the caller's.
 */
#ifndef VV_SEAL_EXPIRED_H
#define VV_SEAL_EXPIRED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VV_EXPIRED_TIMES 4

/* Zero-initialised: nothing has. */
struct vv_expired {
    uint64_t count; /* how often something may have, so far */
    size_t n;
    struct {
        uint64_t count;        /* what was there before it was that … */
        int64_t before;        /* … and is of an earlier time may be gone */
    } times[VV_EXPIRED_TIMES]; /* as noted, ascending by count and descending by time */
};

/* From now on what is older than `before` may go. Of more times than there is room for rather more
 * is taken for gone than is. */
void vv_expired_note(struct vv_expired *expired, int64_t before);
/* Whether something of that time, which was there at a count, may be gone since. */
bool vv_expired_may(const struct vv_expired *expired, uint64_t count, int64_t time);

#endif
