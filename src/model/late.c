/* SPDX-License-Identifier: Apache-2.0 */
#include "model/late.h"

#define SECOND      INT64_C(1000000000)
#define POLICY_BITS 2

_Static_assert(VV_LATE_POLICIES <= 1 << POLICY_BITS, "a policy fits");

static const struct vv_str words[VV_LATE_POLICIES] = {
    [VV_LATE_ACCEPT] = {"accept", 6},
    [VV_LATE_SEPARATE] = {"separate", 8},
    [VV_LATE_REFUSE] = {"refuse", 6},
};

struct vv_str vv_late_word(enum vv_late_policy policy)
{
    return words[policy];
}

bool vv_late_of_word(struct vv_str word, enum vv_late_policy *policy_out)
{
    for (int i = 0; i < VV_LATE_POLICIES; i++) {
        if (vv_str_equal(word, words[i])) {
            *policy_out = (enum vv_late_policy)i;
            return true;
        }
    }
    return false;
}

bool vv_late_is_good(struct vv_late late)
{
    int64_t least = late.policy == VV_LATE_ACCEPT ? 0 : VV_LATE_LIMIT_NS_MIN;
    return late.policy < VV_LATE_POLICIES && late.limit_ns >= least &&
           late.limit_ns <= VV_LATE_LIMIT_NS_MAX && late.limit_ns % SECOND == 0;
}

uint64_t vv_late_pack(struct vv_late late)
{
    return (uint64_t)(late.limit_ns / SECOND) << POLICY_BITS | (uint64_t)late.policy;
}

struct vv_late vv_late_unpack(uint64_t packed)
{
    uint64_t policy = packed & ((1u << POLICY_BITS) - 1);
    return (struct vv_late){policy < VV_LATE_POLICIES ? (enum vv_late_policy)policy
                                                      : VV_LATE_POLICIES,
                            packed >> POLICY_BITS > VV_LATE_LIMIT_NS_MAX / SECOND
                                ? VV_LATE_LIMIT_NS_MAX + SECOND
                                : (int64_t)(packed >> POLICY_BITS) * SECOND};
}
