/* SPDX-License-Identifier: Apache-2.0 */
#include "flush/tiers_seen.h"

#include <stdlib.h>
#include <string.h>

void vv_tiers_seen_deinit(struct vv_tiers_seen *seen)
{
    free(seen->places);
    *seen = (struct vv_tiers_seen){0};
}

enum vv_status vv_tiers_seen_note(struct vv_tiers_seen *seen, uint32_t place,
                                  const struct vv_tiers *tiers)
{
    if (place >= seen->n) {
        uint32_t n = place + 1 + place / 2;
        struct vv_tiers_of_place *bigger = realloc(seen->places, n * sizeof *bigger);
        if (!bigger) {
            return VV_NO_MEMORY;
        }
        memset(bigger + seen->n, 0, (n - seen->n) * sizeof *bigger);
        seen->places = bigger;
        seen->n = n;
    }
    if (!seen->places[place].is_seen) {
        seen->places[place] = (struct vv_tiers_of_place){true, *tiers};
    }
    return VV_OK;
}

bool vv_tiers_seen_differ(const struct vv_tiers_seen *seen, struct vv_registry *registry)
{
    for (uint32_t place = 0; place < seen->n; place++) {
        struct vv_tiers now = vv_registry_tiers_built(registry, place);
        for (size_t i = 0; i < VV_SPACES && seen->places[place].is_seen; i++) {
            if (seen->places[place].tiers.spaces[i] != now.spaces[i]) {
                return true;
            }
        }
    }
    return false;
}
