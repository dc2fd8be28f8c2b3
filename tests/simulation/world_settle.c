/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated world at its end: all is sealed, and nothing is left over. */
#include "simulation/world.h"
#include "tier/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum vv_status find_mark(void *context, const struct vv_mark *mark)
{
    (void)mark;
    *(size_t *)context += 1;
    return VV_OK;
}

static enum vv_status count_run(void *context, const struct vv_piece *piece)
{
    *(size_t *)context += piece->kind == VV_PIECE_RUN;
    return VV_OK;
}

/* Of the points, and of late ones that are kept apart, wherever they may be. */
static size_t count_runs(struct world *world)
{
    struct vv_registry *registry = vv_engine_query_context(world->engine)->registry;
    size_t runs = 0;
    for (uint32_t number = 0; number < vv_registry_tenant_count(registry); number++) {
        uint32_t place;
        enum vv_space tier;
        bool is_tier = vv_registry_space_of(registry, number, &place, &tier);
        for (uint32_t measurement = 0; measurement < 2 && !is_tier; measurement++) {
            runs += world_count_runs(world, number, measurement);
        }
    }
    return runs;
}

static size_t count_stale_in(struct world *world, uint32_t space, enum vv_space tier)
{
    struct vv_registry *registry = vv_engine_query_context(world->engine)->registry;
    uint32_t sources = vv_registry_source_count(registry);
    size_t runs = 0;
    for (uint32_t i = 0; i < 2 * sources; i++) { /* of two measurements */
        for (size_t t = 0; t < MODEL_TIMES; t++) {
            int64_t unit_ns = vv_tier_unit_ns_max(tier);
            int64_t from = vv_time_floor(world->model.times[t], unit_ns);
            struct vv_span_key key = vv_unit_key(tier, space, i / 2, i % 2, from);
            struct vv_store_read read = {.partition = key.partition,
                                         .measurement = i % 2,
                                         .span_from = from,
                                         .span_to = from + unit_ns};
            vv_invariant(world->store->ops->read(world->store, &read, count_run, &runs, NULL) ==
                         VV_OK);
        }
    }
    return runs;
}

/* Counts the runs of the tiers' spaces, which have nothing but what is stale. */
static size_t count_stale(struct world *world)
{
    struct vv_registry *registry = vv_engine_query_context(world->engine)->registry;
    size_t runs = 0;
    for (uint32_t space = 0; space < vv_registry_tenant_count(registry); space++) {
        uint32_t tenant;
        enum vv_space tier;
        if (!vv_registry_space_of(registry, space, &tenant, &tier)) {
            continue;
        }
        runs += count_stale_in(world, space, tier);
    }
    return runs;
}

/* As its metrics have it. */
static unsigned long long count_damaged(struct world *world)
{
    static const char name[] = "\nvarve_seal_damaged_total ";
    struct vv_buffer text = {0};
    vv_engine_write_metrics(world->engine, &text);
    vv_buffer_u8(&text, 0);
    vv_invariant(vv_buffer_status(&text) == VV_OK);
    const char *found = strstr((const char *)text.data, name);
    vv_invariant(found != NULL);
    unsigned long long damaged = strtoull(found + sizeof name - 1, NULL, 10);
    vv_buffer_deinit(&text);
    return damaged;
}

static void flush_all(struct world *world)
{
    struct vv_error error = {0};
    while (vv_engine_step(world->engine, VV_TASK_COMMIT, &error) == VV_OK) {
    }
    for (int i = 0; i < 3; i++) { /* older jobs first, then what is active */
        enum vv_status status = vv_engine_step(world->engine, VV_TASK_FLUSH, &error);
        if (status != VV_OK) {
            world_fail(world, "the last flush fails: %s", error.message);
        }
    }
}

/* Past any wait after a failure; with tiers, past the end of all units. */
static void move_past_all(struct world *world)
{
    int64_t now = world->clock.clock.wall_ns(&world->clock.clock);
    int64_t latest = world->base_ns + 60 * VV_DAY;
    if (world->has_tiers) {
        vv_sim_clock_advance(&world->clock, (now < latest ? latest - now : 0) + 40 * VV_DAY);
    }
}

/* What waits to be sealed must stay. */
static void expire(struct world *world)
{
    struct vv_error error = {0};
    if (world->hides && vv_engine_step(world->engine, VV_TASK_EXPIRE, &error) != VV_OK) {
        world_fail(world, "expiring fails: %s", error.message);
    }
}

static enum vv_status seal_all(struct world *world)
{
    struct vv_error error = {0};
    enum vv_status status;
    do {
        status = vv_engine_step(world->engine, VV_TASK_SEAL_ALL, &error);
    } while (status == VV_OK);
    return status;
}

void world_settle(struct world *world)
{
    vv_sim_disk_heal(world->disk);
    vv_store_memory_fail(world->store, VV_OK, 0);
    vv_sim_clock_advance(&world->clock, VV_HOUR);
    flush_all(world);
    world_sweep_all(world);
    move_past_all(world);
    expire(world);
    enum vv_status status = seal_all(world);
    size_t marks = 0;
    vv_invariant(world->store->ops->scan_marks(world->store, INT64_MAX, NULL, find_mark, &marks,
                                               NULL) == VV_OK);
    size_t runs = count_runs(world);
    /* A flush that failed in part may have left some in a tier that was off when it was done again:
     * what is finer answers for them. */
    size_t stale = world->switched_off ? 0 : count_stale(world);
    if (status != VV_DONE || marks || runs || stale) {
        world_fail(world,
                   "after sealing all, %zu marks, %zu runs and %zu stale units are left (%s)",
                   marks, runs, stale, vv_status_name(status));
    }
    unsigned long long damaged = count_damaged(world);
    if (damaged > 0) {
        world_fail(world, "%llu spans are damaged", damaged);
    }
    expire(world);
    world->is_settled = true;
    world->bare = !world->hides; /* what is frozen keeps its bytes until they expire */
    world_check(world);
    if (!world->failure[0] && world->has_tiers) {
        world_check_tiers(world, true);
    }
    if (!world->failure[0] && world->has_tiers && !world->hides) {
        world_reroll(world, false);
        world_reroll(world, true);
        (void)!seal_all(world); /* of what was missing, what several sources have together */
        world_check_tiers(world, true);
    }
    world->bare = false;
}
