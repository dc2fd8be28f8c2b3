/* SPDX-License-Identifier: Apache-2.0 */
/* The step and the routes of an answer: what the request says, and what the metrics' places have.
 */
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

enum vv_status vv_result_choose_step(struct vv_result *result, struct vv_error *error)
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
static int64_t oldest_of(const struct vv_result *result, uint32_t number)
{
    int64_t retention = vv_registry_retention(result->context.registry, number);
    int64_t now = result->request->now_ns;
    bool is_bounded = retention > 0 && now > VV_TIME_MIN + retention;
    return is_bounded ? now - retention : VV_TIME_MIN;
}

static int64_t whole_from(const struct vv_result *result, uint32_t number)
{
    const struct vv_query_context *context = &result->context;
    int64_t from =
        context->whole_from ? context->whole_from(context->whole_context, number) : VV_TIME_MIN;
    return from > VV_TIME_MIN ? from : VV_TIME_MIN;
}

static struct vv_route_question ask(const struct vv_result *result, uint32_t place,
                                    const struct vv_steps *steps)
{
    const struct vv_request *request = result->request;
    struct vv_registry *registry = result->context.registry;
    struct vv_tiers tiers = vv_registry_tiers(registry, place);
    struct vv_route_question question = {
        .from = result->from,
        .to = result->to,
        .has_from = request->has_from,
        .steps = steps,
        .needs_raw = needs_raw(request),
        .wish = request->tier,
        .has_regions = vv_registry_plan_regions(registry) > 1,
        .raw_oldest = oldest_of(result, place),
        .raw_whole_from = whole_from(result, place),
    };
    for (size_t tier = 0; tier < VV_SPACES; tier++) {
        uint32_t space = tiers.spaces[tier];
        bool is_on = space != VV_REGISTRY_NONE;
        question.tiers[tier] =
            (struct vv_route_tier){.is_on = is_on,
                                   .space = space,
                                   .oldest = is_on ? oldest_of(result, space) : 0,
                                   .whole_from = is_on ? whole_from(result, space) : 0};
    }
    return question;
}

/* Says of which class it is: the request may name metrics of several. */
static enum vv_status refuse(const struct vv_result *result, uint32_t place,
                             const struct vv_error *why, struct vv_error *error)
{
    struct vv_str class =
        vv_space_class_name(vv_registry_tenant_name(result->context.registry, place));
    if (class.size == 0) {
        return vv_error_set(error, VV_INVALID, "%s", why->message);
    }
    return vv_error_set(error, VV_INVALID, "of measurements of class %.*s: %s", VV_STR_ARG(class),
                        why->message);
}

static enum vv_status add_route(struct vv_result *result, uint32_t place,
                                const struct vv_steps *steps, struct vv_error *error)
{
    struct vv_error why = {0};
    struct vv_result_route *added = &result->routes[result->n_routes++];
    struct vv_route_question question = ask(result, place, steps);
    added->place = place;
    enum vv_status status = vv_route_choose(&question, &added->route, &why);
    if (status != VV_OK) {
        return refuse(result, place, &why, error);
    }
    struct vv_result_facts *facts = &result->facts;
    if (added->route.n > 0) {
        uint8_t coarsest = (uint8_t)added->route.levels[0].tier;
        bool is_coarser = facts->n_tiers == 0 || coarsest > facts->coarsest_tier;
        facts->coarsest_tier = is_coarser ? coarsest : facts->coarsest_tier;
        facts->n_tiers = added->route.n > facts->n_tiers ? (uint8_t)added->route.n : facts->n_tiers;
    }
    return VV_OK;
}

static const struct vv_result_route *find(const struct vv_result *result, uint32_t place)
{
    for (size_t i = 0; i < result->n_routes; i++) {
        if (result->routes[i].place == place) {
            return &result->routes[i];
        }
    }
    return NULL;
}

enum vv_status vv_result_choose_routes(struct vv_result *result, struct vv_error *error)
{
    const struct vv_selection *selection = &result->selection;
    struct vv_steps steps;
    vv_steps_init(&steps, result->step_ns, result->request->zone, result->from, result->to);
    enum vv_status status =
        selection->n_metrics == 0 ? add_route(result, result->tenant, &steps, error) : VV_OK;
    for (size_t i = 0; i < selection->n_metrics && status == VV_OK; i++) {
        uint32_t place = selection->metrics[i].place;
        status = find(result, place) ? VV_OK : add_route(result, place, &steps, error);
    }
    return status;
}

const struct vv_route *vv_result_route(const struct vv_result *result,
                                       const struct vv_metric_info *metric)
{
    const struct vv_result_route *found = find(result, metric->place);
    vv_invariant(found);
    return &found->route;
}
