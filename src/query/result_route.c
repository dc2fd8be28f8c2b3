/* SPDX-License-Identifier: Apache-2.0 */
/* The step and the route of an answer: what the request says, and what the tenant has. */
#include "query/result.h"

#include "query/scan.h"

/* What of the request is in no tier; NULL: nothing. */
static const char *needs_raw(const struct vv_request *request)
{
    if (request->n_aggregates == 0) {
        return "a query of points (without agg)";
    }
    if (request->where.active) {
        return "where";
    }
    return request->needs & VV_NEED_CHANGE ? "rate, increase or delta" : NULL;
}

static enum vv_status choose_step(struct vv_result *result, struct vv_error *error)
{
    struct vv_request *request = result->request;
    enum vv_status status = VV_OK;
    result->step_ns = request->step_ns;
    if (request->n_aggregates == 0 || request->step_ns > 0) {
        return VV_OK;
    }
    if (request->points > 0) {
        status = vv_route_step(result->from, result->to, request->zone, request->points,
                               &result->step_ns, error);
    } else {
        result->step_ns = vv_route_step_of(request->tier, result->from, result->to);
    }
    if (result->step_ns == 0) {
        request->fill = VV_FILL_NONE; /* one value: nothing can be empty */
    }
    return status;
}

/* As the request sees the clock, or what just begins to be kept would be gone already. */
static int64_t oldest_of(const struct vv_result *result, uint32_t tenant)
{
    int64_t retention = vv_registry_retention(result->context.registry, tenant);
    int64_t now = result->request->now_ns;
    bool is_bounded = retention > 0 && now > VV_TIME_MIN + retention;
    return is_bounded ? now - retention : VV_TIME_MIN;
}

static struct vv_route_question ask(const struct vv_result *result, const struct vv_steps *steps)
{
    const struct vv_request *request = result->request;
    struct vv_registry *registry = result->context.registry;
    struct vv_tiers tiers = vv_registry_tiers(registry, result->tenant);
    struct vv_route_question question = {
        .from = result->from,
        .to = result->to,
        .has_from = request->has_from,
        .steps = steps,
        .needs_raw = needs_raw(request),
        .wish = request->tier,
        .has_regions = vv_registry_plan_regions(registry) > 1,
        .raw_oldest = oldest_of(result, result->tenant),
    };
    for (size_t tier = 0; tier < VV_SPACES; tier++) {
        uint32_t space = tiers.spaces[tier];
        bool is_on = space != VV_REGISTRY_NONE;
        question.tiers[tier] = (struct vv_route_tier){
            .is_on = is_on, .space = space, .oldest = is_on ? oldest_of(result, space) : 0};
    }
    return question;
}

enum vv_status vv_result_choose_route(struct vv_result *result, struct vv_error *error)
{
    struct vv_steps steps;
    enum vv_status status = choose_step(result, error);
    if (status != VV_OK) {
        return status;
    }
    vv_steps_init(&steps, result->step_ns, result->request->zone, result->from, result->to);
    struct vv_route_question question = ask(result, &steps);
    status = vv_route_choose(&question, &result->route, error);
    if (status == VV_OK && result->route.n > 0) {
        result->facts.n_tiers = (uint8_t)result->route.n;
        result->facts.coarsest_tier = (uint8_t)result->route.levels[0].tier;
    }
    return status;
}
