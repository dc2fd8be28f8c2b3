/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/share.h"

void vv_share_earn(struct vv_share *share, int64_t spent_ns)
{
    int64_t earned_ns = spent_ns / (100 - share->percent) * share->percent;
    int64_t room_ns = share->most_ns - share->credit_ns;
    share->credit_ns += earned_ns < room_ns ? earned_ns : room_ns;
}

bool vv_share_may(const struct vv_share *share, bool other_waits)
{
    return !other_waits || share->credit_ns > 0;
}

void vv_share_spend(struct vv_share *share, int64_t spent_ns, bool other_waits)
{
    share->credit_ns -= other_waits ? spent_ns : 0;
}
