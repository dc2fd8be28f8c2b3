/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A share of a thread's time, for work that may wait beside work that should not. While the other
 * work waits, it has so much of the time as the share says; when none waits, as much as it likes.
 * Pure; one thread.
 */
#ifndef VV_ENGINE_SHARE_H
#define VV_ENGINE_SHARE_H

#include <stdbool.h>
#include <stdint.h>

struct vv_share {
    int64_t percent;   /* 1 to 99 */
    int64_t most_ns;   /* is saved up, so that a long quiet is no right to a long turn */
    int64_t credit_ns; /* below 0: it had more than its share */
};

/* The other work took so long. */
void vv_share_earn(struct vv_share *share, int64_t spent_ns);
/* Whether it is its turn, with other work waiting or not. */
bool vv_share_may(const struct vv_share *share, bool other_waits);
/* It took so long; what it takes while no other work waits costs nothing. */
void vv_share_spend(struct vv_share *share, int64_t spent_ns, bool other_waits);

#endif
