/* SPDX-License-Identifier: Apache-2.0 */
/* What the tenant of a fleet wants done with points that come late. */
#include "simulation/fleet/world.h"

#include <inttypes.h>
#include <stdio.h>

#define LIMITS 5

void fleet_init_late(struct fleet_world *world, struct vv_settings *settings)
{
    settings->late_fold_every_ns = world->fold_every_ns;
    if (world->begins_apart) {
        snprintf(settings->late_policy, sizeof settings->late_policy, "separate");
    }
}

void fleet_choose_late(struct fleet_world *world)
{
    static const int64_t folds[] = {VV_HOUR, VV_DAY, 7 * VV_DAY};
    world->keeps_apart = vv_random_below(&world->random, 2) == 0;
    world->begins_apart = world->keeps_apart && vv_random_below(&world->random, 4) == 0;
    world->fold_every_ns = folds[vv_random_below(&world->random, 3)];
}

void fleet_set_late(struct fleet_node *node)
{
    static const int64_t limits[LIMITS] = {VV_SECOND, VV_MINUTE, VV_HOUR, VV_DAY, 7 * VV_DAY};
    struct fleet_world *world = node->world;
    struct vv_late_wish wish = {.has_policy = true};
    struct vv_error error = {0};
    if (!node->engine || !fleet_is_free(node)) {
        return;
    }
    wish.policy = vv_random_below(&world->random, 4) ? VV_LATE_SEPARATE : VV_LATE_ACCEPT;
    wish.limit_ns = limits[vv_random_below(&world->random, LIMITS)];
    fleet_enter(node);
    enum vv_status status =
        vv_engine_set_late(node->engine, VV_STR_LITERAL(FLEET_TENANT), &wish, &error);
    fleet_tell(world, node, "%s beyond %" PRId64 " s: %s %s", vv_late_word(wish.policy).data,
               wish.limit_ns / VV_SECOND, vv_status_name(status), error.message);
    if (status == VV_INVALID) {
        fleet_fail(world, "a good policy is refused: %s", error.message);
    }
    fleet_leave(node);
}
