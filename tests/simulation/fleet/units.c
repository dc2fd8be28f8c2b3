/* SPDX-License-Identifier: Apache-2.0 */
/* What is in the tiers when all has come to rest: of each point a record, and nothing stale. */
#include "simulation/fleet/world.h"
#include "tier/cover.h"

#include "engine/engine_private.h"

#include <inttypes.h>
#include <stdio.h>

struct listing {
    struct vv_cover cover;
    bool is_stale;
};

static enum vv_status list_piece(void *context, const struct vv_piece *piece)
{
    struct listing *listing = context;
    struct vv_unit_record record;
    if (vv_unit_read(piece->bytes, &record, NULL) != VV_OK) {
        return VV_CORRUPT;
    }
    if (record.kind == VV_UNIT_STALE) {
        listing->is_stale = true;
        return vv_cover_add_stale(&listing->cover, &record.unit);
    }
    return vv_cover_add(&listing->cover, &record.unit, 0);
}

struct series {
    struct fleet_node *node;
    struct vv_tiers tiers;
    uint32_t source;
    uint32_t measurement;
    size_t number;
    size_t first_field; /* of the measurement … */
    size_t end_field;   /* … before this one */
};

static void check_time(const struct series *series, enum vv_space tier, int64_t time)
{
    struct vv_store *store = series->node->engine->store;
    struct listing listing = {.is_stale = false};
    struct vv_error error = {0};
    int64_t from = vv_unit_earliest(tier, time);
    const struct vv_store_read read = {
        .partition =
            vv_unit_key(tier, series->tiers.spaces[tier], series->source, series->measurement, from)
                .partition,
        .measurement = series->measurement,
        .span_from = from,
        .span_to = from + vv_tier_unit_ns_max(tier),
    };
    enum vv_status status = store->ops->read(store, &read, list_piece, &listing, &error);
    vv_cover_settle(&listing.cover);
    bool is_built = vv_cover_next(&listing.cover, 0, time, time + 1).is_covered;
    if (status != VV_OK || listing.is_stale || !is_built) {
        fleet_fail(series->node->world,
                   "node %u: tier %d of s%zu at %" PRId64 " is %s when all is sealed (%s)",
                   series->node->number, (int)tier, series->number, time,
                   listing.is_stale ? "stale" : "not built", error.message);
    }
    vv_cover_deinit(&listing.cover);
}

/* Whether the tier still keeps it: a retention that was made longer brings nothing back. */
static bool is_kept(const struct series *series, enum vv_space tier, int64_t time)
{
    struct fleet_node *node = series->node;
    int64_t kept_ns = vv_space_retention_ns_default(tier);
    int64_t now = node->clock.clock.wall_ns(&node->clock.clock);
    return kept_ns == 0 || time >= now - kept_ns;
}

static void check_series(struct series *series)
{
    struct fleet_world *world = series->node->world;
    struct vv_registry *registry = series->node->engine->registry;
    for (size_t i = 0; i < TRUTH_TIMES && !world->failure[0]; i++) {
        int64_t time = truth_time(i, world->base_ns);
        bool is_there = false;
        for (size_t field = series->first_field; field < series->end_field; field++) {
            is_there |= world->truth.points[truth_index(series->number, field, i)].seen != 0;
        }
        series->tiers = vv_registry_tiers(
            registry, vv_registry_stay(registry, series->measurement, time).place);
        for (int tier = 0; tier < VV_SPACES && is_there; tier++) {
            bool is_on = series->tiers.spaces[tier] != VV_REGISTRY_NONE;
            if (is_on && is_kept(series, (enum vv_space)tier, time)) {
                check_time(series, (enum vv_space)tier, time);
            }
        }
    }
}

void fleet_check_units(struct fleet_node *node)
{
    struct fleet_world *world = node->world;
    uint32_t tenant;
    if (!node->engine || !world->begins_with_tiers) {
        return;
    }
    struct vv_registry *registry = node->engine->registry;
    if (vv_registry_tenant(registry, VV_STR_LITERAL(FLEET_TENANT), false, &tenant, NULL) != VV_OK) {
        return;
    }
    struct series series = {.node = node};
    size_t per_source = world->has_classes ? TRUTH_FIELDS : 1;
    for (size_t i = 0; i < TRUTH_SOURCES * per_source && !world->failure[0]; i++) {
        char id[16];
        char name[8];
        series.number = i / per_source;
        series.first_field = i % per_source;
        series.end_field = world->has_classes ? series.first_field + 1 : TRUTH_FIELDS;
        snprintf(id, sizeof id, "host=s%zu", TRUTH_SOURCE_NAMES[series.number]);
        fleet_measurement(world, series.number, series.first_field, name);
        if (vv_registry_source_by_id(registry, tenant, vv_str_of(id), &series.source) == VV_OK &&
            vv_registry_measurement(registry, tenant, vv_str_of(name), false, &series.measurement,
                                    NULL) == VV_OK) {
            fleet_enter(node);
            check_series(&series);
            fleet_leave(node);
        }
    }
}
