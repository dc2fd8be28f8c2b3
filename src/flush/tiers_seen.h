/* SPDX-License-Identifier: Apache-2.0 */
/* Which tiers the places of a flush had when it listed what is above their points. One thread. */
#ifndef VV_FLUSH_TIERS_SEEN_H
#define VV_FLUSH_TIERS_SEEN_H

#include "registry/registry.h"

struct vv_tiers_of_place {
    bool is_seen;
    struct vv_tiers tiers;
};

/* Zero-initialised is empty. */
struct vv_tiers_seen {
    struct vv_tiers_of_place *places; /* by their numbers */
    uint32_t n;
};

void vv_tiers_seen_deinit(struct vv_tiers_seen *seen);
/* Notes the place's tiers, if it is the first time. VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_tiers_seen_note(struct vv_tiers_seen *seen, uint32_t place,
                                                const struct vv_tiers *tiers);
/* Whether a place that was noted has others now. */
bool vv_tiers_seen_differ(const struct vv_tiers_seen *seen, struct vv_registry *registry);

#endif
