/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a tenant wants done with points that come late: older than a limit when they are accepted.
 * Pure functions, any thread.
 */
#ifndef VV_MODEL_LATE_H
#define VV_MODEL_LATE_H

#include "base/bytes.h"

/* Values are part of the formats. */
enum vv_late_policy {
    VV_LATE_ACCEPT, /* as any other: their spans are sealed again, and what is above built again */
    VV_LATE_SEPARATE, /* kept apart from what came in time, and folded into tiers at a set time */
    VV_LATE_REFUSE,
    VV_LATE_POLICIES
};

struct vv_late {
    enum vv_late_policy policy;
    int64_t limit_ns; /* whole seconds, from a second to VV_LATE_LIMIT_NS_MAX; 0 only for accept */
};

#define VV_LATE_LIMIT_NS_MIN INT64_C(1000000000)
#define VV_LATE_LIMIT_NS_MAX (INT64_C(36525) * 86400 * 1000000000)

/* Those that are kept apart are folded at least so often. */
#define VV_LATE_FOLD_NS_MAX (INT64_C(7) * 86400 * 1000000000)

/* "refuse". */
struct vv_str vv_late_word(enum vv_late_policy policy);
/* The policy of this word; false: there is none. */
bool vv_late_of_word(struct vv_str word, enum vv_late_policy *policy_out);
/* Whether it is one that can be set. */
bool vv_late_is_good(struct vv_late late);

/* Both in one number, which can be read at once; 0 is accept without a limit. For good ones. */
uint64_t vv_late_pack(struct vv_late late);
/* Of any number: one that is not good is made of one that no good one has. */
struct vv_late vv_late_unpack(uint64_t packed);

#endif
