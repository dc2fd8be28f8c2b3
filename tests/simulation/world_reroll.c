/* SPDX-License-Identifier: Apache-2.0 */
/* Rerolling in the simulated world: what was built is as it should be, and stays so. */
#include "simulation/world.h"

/* Where a tier was off for a while, or has expired, records may be missing; none may be wrong. */
void world_reroll(struct world *world, bool repair)
{
    static const struct vv_parameter parameters[] = {{{"tenant", 6}, {"sim", 3}},
                                                     {{"dry_run", 7}, {"true", 4}}};
    struct vv_request *request = NULL;
    struct vv_rerolled rerolled = {.state = VV_REROLLED_RUNNING};
    struct vv_error error = {0};
    uint64_t id = 0;
    int64_t now = world->clock.clock.wall_ns(&world->clock.clock);
    enum vv_status status =
        vv_request_parse(VV_REQUEST_REROLL, parameters, repair ? 1 : 2, now, &request, &error);
    if (status == VV_OK) {
        status = vv_engine_reroll(world->engine, request, &id, &error);
        vv_request_destroy(request);
    }
    if (status == VV_NOT_FOUND) {
        return; /* nothing was ever written */
    }
    while (status == VV_OK) {
        status = vv_engine_step(world->engine, VV_TASK_REROLL, &error);
    }
    if (status == VV_DONE) {
        status = vv_engine_read_reroll(world->engine, id, false, &rerolled, &error);
    }
    uint64_t wrong = rerolled.units[VV_REROLL_DIFFERENT] + rerolled.units[VV_REROLL_DAMAGED];
    if (status != VV_OK || rerolled.state != VV_REROLLED_DONE || wrong > 0) {
        const struct vv_rerolled_unit *unit = &rerolled.examples[0];
        world_fail(world,
                   "a reroll ends with %s, %llu units wrong, %llu same; tier %d at %lld: %s %s",
                   vv_status_name(status), (unsigned long long)wrong,
                   (unsigned long long)rerolled.units[VV_REROLL_SAME], (int)unit->tier,
                   (long long)unit->result.unit.from, unit->result.what ? unit->result.what : "all",
                   error.message);
    }
}
