/* SPDX-License-Identifier: Apache-2.0 */
/* Rerolling beside other nodes: whichever is asked, what was built is as it should be, and a repair
 * at any moment, with whatever faults, leaves the answers right. */
#include "simulation/fleet/world.h"

#include <inttypes.h>

#define STEPS_MAX  10000
#define STEPS_LAST 100000 /* when all is at rest */

static enum vv_status begin(struct fleet_node *node, bool repair, uint64_t *id)
{
    const struct vv_parameter parameters[] = {{{"tenant", 6}, VV_STR_LITERAL(FLEET_TENANT)},
                                              {{"dry_run", 7}, {"true", 4}}};
    struct vv_request *request = NULL;
    struct vv_error error = {0};
    int64_t now = node->clock.clock.wall_ns(&node->clock.clock);
    fleet_enter(node);
    enum vv_status status =
        vv_request_parse(VV_REQUEST_REROLL, parameters, repair ? 1 : 2, now, &request, &error);
    if (status == VV_OK) {
        status = vv_engine_reroll(node->engine, request, id, &error);
        vv_request_destroy(request);
    }
    fleet_tell(node->world, node, "reroll: %s %s", vv_status_name(status), error.message);
    fleet_leave(node);
    return status;
}

static void check(struct fleet_node *node, const struct vv_rerolled *rerolled)
{
    struct fleet_world *world = node->world;
    uint64_t wrong =
        rerolled->units[VV_REROLL_DIFFERENT] + rerolled->units[VV_REROLL_DAMAGED] +
        (world->begins_with_tiers && !world->has_lengthened ? rerolled->units[VV_REROLL_MISSING]
                                                            : 0);
    if (rerolled->state != VV_REROLLED_DONE || wrong > 0) {
        const struct vv_rerolled_unit *unit = &rerolled->examples[0];
        for (size_t i = 0; i < rerolled->n_examples; i++) { /* what is refused is not wrong */
            bool is_first = unit->result.verdict >= VV_REROLL_EXPIRED;
            unit = is_first ? &rerolled->examples[i] : unit;
        }
        fleet_fail(world,
                   "node %u: a reroll ends as %d %s; %" PRIu64 " units wrong, %" PRIu64
                   " same; verdict %d, tier %d, source %u, measurement %u at %" PRId64 ": %s",
                   node->number, (int)rerolled->state, rerolled->error.message, wrong,
                   rerolled->units[VV_REROLL_SAME], (int)unit->result.verdict, (int)unit->tier,
                   (unsigned)unit->source, (unsigned)unit->measurement, unit->result.unit.from,
                   unit->result.what ? unit->result.what : "all");
    }
}

void fleet_reroll(struct fleet_node *node, bool repair, bool all)
{
    uint64_t id = 0;
    if (!node->engine || !fleet_is_free(node) || begin(node, repair, &id) != VV_OK) {
        return;
    }
    enum vv_status status = VV_OK;
    for (int i = 0; i < (all ? STEPS_LAST : STEPS_MAX) && status == VV_OK; i++) {
        status = fleet_step(node, VV_TASK_REROLL);
    }
    if (!node->engine || !fleet_is_free(node)) {
        return; /* it has died of it */
    }
    struct vv_rerolled rerolled = {0};
    struct vv_error error = {0};
    fleet_enter(node);
    status = vv_engine_read_reroll(node->engine, id, !all, &rerolled, &error);
    fleet_tell(node->world, node, "rerolled: %" PRIu64 " same, %" PRIu64 " repaired",
               rerolled.units[VV_REROLL_SAME], rerolled.repaired);
    fleet_leave(node);
    if (all && status == VV_OK) {
        check(node, &rerolled);
    }
}
