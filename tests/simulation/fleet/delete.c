/* SPDX-License-Identifier: Apache-2.0 */
/* Deleting on a node, and in the truth. */
#include "simulation/fleet/world.h"

#include "engine/engine_private.h"

#include <inttypes.h>
#include <stdio.h>

/* What is asked for. */
struct wish {
    size_t source; /* TRUTH_SOURCES: all */
    size_t field;  /* TRUTH_FIELDS: all */
    bool is_measurement;
    int64_t from_ns;
    int64_t to_ns;
};

static struct wish choose(struct fleet_world *world)
{
    struct wish wish;
    wish.source = vv_random_below(&world->random, TRUTH_SOURCES + 1);
    wish.field = vv_random_below(&world->random, TRUTH_FIELDS + 2);
    wish.field = wish.field < TRUTH_FIELDS ? wish.field : TRUTH_FIELDS;
    wish.is_measurement = vv_random_below(&world->random, 3) == 0;
    size_t a = vv_random_below(&world->random, fleet_times(world));
    size_t b = vv_random_below(&world->random, 3)
                   ? vv_random_below(&world->random, fleet_times(world))
                   : a; /* one point often */
    int64_t x = truth_time(a, world->base_ns);
    int64_t y = truth_time(b, world->base_ns);
    wish.from_ns = x < y ? x : y;
    wish.to_ns = (x < y ? y : x) + 1;
    if (world->has_classes && wish.is_measurement) { /* "m" has nothing else then */
        wish.is_measurement = wish.field == TRUTH_FIELDS;
        wish.field = wish.is_measurement ? 0 : wish.field;
    }
    return wish;
}

static enum vv_status order(struct fleet_node *node, const struct wish *wish,
                            struct vv_error *error)
{
    char text[4][40];
    struct vv_parameter parameters[6] = {{VV_STR_LITERAL("tenant"), VV_STR_LITERAL(FLEET_TENANT)}};
    size_t n = 3;
    snprintf(text[0], sizeof text[0], "%" PRId64, wish->from_ns);
    snprintf(text[1], sizeof text[1], "%" PRId64, wish->to_ns);
    parameters[1] = (struct vv_parameter){VV_STR_LITERAL("from"), vv_str_of(text[0])};
    parameters[2] = (struct vv_parameter){VV_STR_LITERAL("to"), vv_str_of(text[1])};
    if (wish->source < TRUTH_SOURCES) {
        snprintf(text[2], sizeof text[2], "host=s%zu", TRUTH_SOURCE_NAMES[wish->source]);
        parameters[n++] = (struct vv_parameter){VV_STR_LITERAL("tag"), vv_str_of(text[2])};
    }
    if (wish->field < TRUTH_FIELDS && !(node->world->has_classes && wish->is_measurement)) {
        char name[8];
        fleet_measurement(node->world, wish->source, wish->field, name);
        bool is_any = wish->source == TRUTH_SOURCES && name[0] == 'd';
        snprintf(text[3], sizeof text[3], "%s.f%zu", is_any ? "d*" : name, wish->field);
        parameters[n++] = (struct vv_parameter){VV_STR_LITERAL("metric"), vv_str_of(text[3])};
    } else if (wish->is_measurement) {
        parameters[n++] = (struct vv_parameter){VV_STR_LITERAL("measurement"), VV_STR_LITERAL("m")};
    } else if (wish->source == TRUTH_SOURCES) {
        parameters[n++] = (struct vv_parameter){VV_STR_LITERAL("all"), VV_STR_LITERAL("true")};
    }
    struct vv_request *request;
    struct vv_deleted deleted;
    enum vv_status status =
        vv_request_parse(VV_REQUEST_DELETE, parameters, n,
                         node->clock.clock.wall_ns(&node->clock.clock), &request, error);
    if (status != VV_OK) {
        fleet_fail(node->world, "a good deletion is refused: %s", error->message);
        return VV_INVALID;
    }
    status = vv_engine_delete(node->engine, request, &deleted, error);
    vv_request_destroy(request);
    return status;
}

/* Those that the node knew when it resolved the names. */
static uint32_t known_sources(struct fleet_node *node, const struct wish *wish)
{
    struct vv_registry *registry = node->engine->registry;
    uint32_t tenant;
    uint32_t sources = 0;
    if (vv_registry_tenant(registry, VV_STR_LITERAL(FLEET_TENANT), false, &tenant, NULL) != VV_OK) {
        return 0;
    }
    for (size_t i = 0; i < TRUTH_SOURCES; i++) {
        char id[32];
        uint32_t number;
        snprintf(id, sizeof id, "host=s%zu", TRUTH_SOURCE_NAMES[i]);
        bool is_known = vv_registry_source_by_id(registry, tenant, vv_str_of(id), &number) == VV_OK;
        bool is_wanted = wish->source == TRUTH_SOURCES || wish->source == i;
        if (wish->field < TRUTH_FIELDS && node->world->has_classes) { /* of each its own metric */
            char name[8];
            char metric[16];
            fleet_measurement(node->world, i, wish->field, name);
            snprintf(metric, sizeof metric, "%s.f%u", name, (unsigned)wish->field % 10);
            is_wanted = is_wanted && vv_registry_metric_named(
                                         registry, tenant, vv_str_of(metric)) != VV_REGISTRY_NONE;
        }
        sources |= (is_known && is_wanted ? 1u : 0u) << i;
    }
    return sources;
}

void fleet_delete(struct fleet_node *node)
{
    struct fleet_world *world = node->world;
    struct vv_error error = {0};
    if (!node->engine || !fleet_is_free(node)) {
        return;
    }
    struct wish wish = choose(world);
    fleet_enter(node);
    enum vv_status status = order(node, &wish, &error);
    struct truth_deletion deletion = {
        .stamp = node->engine->last_stamp,
        .node = node->number,
        .sources = known_sources(node, &wish),
        .field = wish.field,
        .from_ns = wish.from_ns,
        .to_ns = wish.to_ns,
        .is_acknowledged = status == VV_OK && !node->is_dead,
    };
    fleet_tell(world, node, "delete s%zu f%zu %" PRId64 " to %" PRId64 ", stamp %" PRIu64 ": %s %s",
               wish.source, wish.field, wish.from_ns, wish.to_ns, deletion.stamp,
               vv_status_name(status), error.message);
    int64_t now = node->clock.clock.wall_ns(&node->clock.clock);
    node->latest_ns = now > node->latest_ns ? now : node->latest_ns;
    deletion.acknowledged_ns = node->latest_ns;
    if (status == VV_OK || status == VV_UNKNOWN || node->is_dead) {
        truth_delete(&world->truth, &deletion);
    } else if (status != VV_NOT_FOUND && status != VV_OVERLOAD && status != VV_TOO_LARGE &&
               status != VV_FULL && status != VV_IO) {
        fleet_fail(world, "node %u: a deletion fails: %s: %s", node->number, vv_status_name(status),
                   error.message);
    }
    fleet_leave(node);
}
