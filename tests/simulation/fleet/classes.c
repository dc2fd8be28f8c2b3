/* SPDX-License-Identifier: Apache-2.0 */
/* Classes of a fleet's tenant: nodes that know of them at different times agree on what is where.
 */
#include "simulation/fleet/world.h"

#include "engine/engine_private.h"
#include "registry/shared.h"

#include <stdio.h>
#include <string.h>

#define RETENTIONS   4
#define FLEET_PLACES 1024

void fleet_measurement(const struct fleet_world *world, size_t source, size_t field,
                       char name_out[8])
{
    bool is_apart = world->has_classes && field > 0;
    snprintf(name_out, 8, is_apart ? "d%u" : "m", (unsigned)source % FLEET_APART);
}

struct vv_str fleet_metrics(const struct fleet_world *world)
{
    return world->has_classes ? VV_STR_LITERAL("*.f*") : VV_STR_LITERAL("m.*");
}

/* No text in two classes: that would be refused. */
static struct vv_class_wish choose(struct fleet_world *world)
{
    static const char *const names[] = {"debug", "trace"};
    static const char *const takes[2][3] = {{"d*\n", "d*\nd0\n", "d0\n"},
                                            {"d1\n", "d1\nd2*\n", ""}};
    static const int64_t retentions[RETENTIONS] = {VV_RETENTION_AS_IS, 0, 500 * VV_DAY,
                                                   900 * VV_DAY};
    size_t which = vv_random_below(&world->random, 2);
    struct vv_class_wish wish = {
        .name = vv_str_of(names[which]),
        .has_measurements = true,
        .measurements = vv_str_of(takes[which][vv_random_below(&world->random, 3)]),
        .retentions = {.raw_ns = retentions[vv_random_below(&world->random, RETENTIONS)]},
    };
    for (int tier = 0; tier < VV_SPACES; tier++) { /* of a new one as its tenant's */
        wish.retentions.tiers_ns[tier] = VV_RETENTION_AS_IS;
    }
    return wish;
}

void fleet_set_class(struct fleet_node *node)
{
    struct fleet_world *world = node->world;
    struct vv_class_effect effect;
    struct vv_error error = {0};
    if (!node->engine || !fleet_is_free(node)) {
        return;
    }
    struct vv_class_wish wish = choose(world);
    fleet_enter(node);
    enum vv_status status =
        vv_engine_set_class(node->engine, VV_STR_LITERAL(FLEET_TENANT), &wish, &effect, &error);
    fleet_tell(world, node, "class %.*s takes %.*s: %s %s", VV_STR_ARG(wish.name),
               VV_STR_ARG(wish.measurements), vv_status_name(status), error.message);
    if (status == VV_INVALID) {
        fleet_fail(world, "a good class is refused: %s", error.message);
    }
    fleet_leave(node);
}

/* Where its points lie, by time: "sim59 sim59/@debug from day 2"; "": it is not known there, or not
 * settled yet. */
static void places_at(struct fleet_node *node, size_t source, char text[FLEET_PLACES])
{
    struct vv_registry *registry = node->engine->registry;
    struct vv_stay stays[VV_STAYS_MAX];
    struct vv_move moves[VV_MOVES_MAX];
    char name[8];
    uint32_t tenant;
    uint32_t measurement;
    text[0] = '\0';
    fleet_measurement(node->world, source, 1, name);
    if (vv_registry_tenant(registry, VV_STR_LITERAL(FLEET_TENANT), false, &tenant, NULL) != VV_OK ||
        vv_registry_measurement(registry, tenant, vv_str_of(name), false, &measurement, NULL) !=
            VV_OK) {
        return;
    }
    if (!vv_registry_is_placed(registry, measurement)) {
        fleet_fail(node->world, "node %u: %s has no place when all is at rest", node->number, name);
    }
    size_t n_moves = vv_registry_moves(registry, measurement, moves);
    for (size_t i = 0; i < n_moves; i++) {
        if (moves[i].state != VV_MOVE_SETTLED) {
            return;
        }
    }
    size_t n = vv_registry_stays(registry, measurement, stays);
    size_t size = 0;
    for (size_t i = 0; i < n; i++) {
        struct vv_str place = vv_registry_tenant_name(registry, stays[i].place);
        int64_t day = i == 0 ? 0 : (stays[i].from - node->world->base_ns) / VV_DAY;
        size += (size_t)snprintf(text + size, FLEET_PLACES - size, "%.*s from day %d, ",
                                 VV_STR_ARG(place), (int)day);
    }
}

void fleet_check_places(struct fleet_world *world)
{
    for (size_t source = 0; source < TRUTH_SOURCES && world->has_classes; source++) {
        char first[FLEET_PLACES] = "";
        for (size_t i = 0; i < world->n_nodes && !world->failure[0]; i++) {
            char places[FLEET_PLACES];
            places_at(&world->nodes[i], source, places);
            if (!first[0]) {
                memcpy(first, places, sizeof first);
            }
            if (places[0] && strcmp(places, first) != 0) {
                fleet_fail(world, "node %u: d%zu lies in %s and elsewhere in %s",
                           world->nodes[i].number, source, places, first);
            }
        }
        if (first[0]) {
            fleet_tell(world, NULL, "d%zu lies in %s", source, first);
        }
    }
}
