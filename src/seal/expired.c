/* SPDX-License-Identifier: Apache-2.0 */
#include "seal/expired.h"

#include <string.h>

void vv_expired_note(struct vv_expired *expired, int64_t before)
{
    expired->count++;
    while (expired->n > 0 && expired->times[expired->n - 1].before <= before) {
        expired->n--; /* which says the same, of less */
    }
    if (expired->n == VV_EXPIRED_TIMES) {
        expired->times[1].before = expired->times[0].before;
        memmove(&expired->times[0], &expired->times[1],
                (VV_EXPIRED_TIMES - 1) * sizeof expired->times[0]);
        expired->n--;
    }
    expired->times[expired->n].count = expired->count;
    expired->times[expired->n++].before = before;
}

bool vv_expired_may(const struct vv_expired *expired, uint64_t count, int64_t time)
{
    bool may = false;
    for (size_t i = 0; i < expired->n && !may; i++) {
        may = count < expired->times[i].count && time < expired->times[i].before;
    }
    return may;
}
