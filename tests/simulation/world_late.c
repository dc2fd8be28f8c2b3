/* SPDX-License-Identifier: Apache-2.0 */
/* What the simulated tenant wants done with points that come late. */
#include "simulation/world.h"

#include <stdio.h>

#define LIMITS 5

struct vv_late world_late(const struct world *world)
{
    uint32_t tenant;
    struct vv_registry *registry = vv_engine_query_context(world->engine)->registry;
    bool there = vv_registry_tenant(registry, VV_STR_LITERAL("sim"), false, &tenant, NULL) == VV_OK;
    return there ? vv_registry_late(registry, tenant) : (struct vv_late){VV_LATE_ACCEPT, 0};
}

void world_set_late(struct world *world)
{
    static const int64_t limits[LIMITS] = {VV_SECOND, VV_MINUTE, VV_HOUR, VV_DAY, 7 * VV_DAY};
    /* Often apart: that is the one that has something to go wrong. */
    static const enum vv_late_policy policies[] = {
        VV_LATE_SEPARATE, VV_LATE_SEPARATE, VV_LATE_SEPARATE, VV_LATE_ACCEPT, VV_LATE_REFUSE};
    struct vv_late_wish wish = {.has_policy = true};
    wish.policy = policies[vv_random_below(&world->random, world->hides ? 4 : 5)];
    wish.limit_ns = limits[vv_random_below(&world->random, LIMITS)];
    struct vv_error error = {0};
    enum vv_status status = vv_engine_set_late(world->engine, VV_STR_LITERAL("sim"), &wish, &error);
    if (world->story) {
        printf("  %s beyond %lld s: %s %s\n", vv_late_word(wish.policy).data,
               (long long)(wish.limit_ns / VV_SECOND), vv_status_name(status), error.message);
    }
    if (status == VV_INVALID) {
        world_fail(world, "a good policy is refused: %s", error.message);
    }
}

static enum vv_status count_run(void *context, const struct vv_piece *piece)
{
    *(size_t *)context += piece->kind == VV_PIECE_RUN;
    return VV_OK;
}

size_t world_count_runs(struct world *world, uint32_t number, uint32_t measurement)
{
    struct vv_registry *registry = vv_engine_query_context(world->engine)->registry;
    size_t runs = 0;
    for (uint32_t source = 0; source < vv_registry_source_count(registry); source++) {
        struct vv_plans plans = vv_registry_source_plans(registry, source);
        for (size_t t = 0; plans.n && t < MODEL_TIMES; t++) {
            int64_t time = world->model.times[t];
            struct vv_bucket bucket = vv_bucket_of(plans.plans, plans.n, time);
            struct vv_store_read read = {.partition = {.tenant = number,
                                                       .source = source,
                                                       .bucket_start = bucket.start,
                                                       .bucket_ns = bucket.bucket_ns,
                                                       .split = vv_split_of(&bucket, time)},
                                         .measurement = measurement,
                                         .span_from = bucket.start,
                                         .span_to = bucket.end};
            vv_invariant(world->store->ops->read(world->store, &read, count_run, &runs, NULL) ==
                         VV_OK);
        }
    }
    return runs;
}
