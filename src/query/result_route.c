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
        if (request->tier >= VV_TIER_MINUTE && result->step_ns > 0) { /* it has no shorter ones */
            int64_t least_ns = vv_route_step_of(request->tier, result->from, result->to);
            result->step_ns = result->step_ns < least_ns ? least_ns : result->step_ns;
        }
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
    int64_t from = context->whole_from ? context->whole_from(context->whole_context, number)
                                       : oldest_of(result, number);
    return from > VV_TIME_MIN ? from : VV_TIME_MIN;
}

static int64_t lacked_before(const struct vv_result *result, uint32_t space)
{
    const struct vv_query_context *context = &result->context;
    int64_t before = context->lacked_before ? context->lacked_before(context->whole_context, space)
                                            : VV_TIME_MIN;
    return before > VV_TIME_MIN ? before : VV_TIME_MIN;
}

/* Whether the step, by points or tier, is this side's choice. */
static bool chose_step(const struct vv_request *request, int64_t step_ns)
{
    return request->n_aggregates > 0 && request->step_ns == 0 && step_ns > 0;
}

static struct vv_route_question ask(const struct vv_result *result,
                                    const struct vv_result_route *asked,
                                    const struct vv_steps *steps, int64_t slack_ns)
{
    uint32_t place = asked->place;
    const struct vv_request *request = result->request;
    struct vv_registry *registry = result->context.registry;
    struct vv_tiers tiers = vv_registry_tiers(registry, place);
    struct vv_route_question question = {
        .from = result->from,
        .to = result->to,
        .has_from = request->has_from,
        .has_choice = chose_step(request, result->step_ns),
        .slack_ns = slack_ns,
        .kept_from = asked->from,
        .kept_to = asked->to,
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
                                   .whole_from = is_on ? whole_from(result, space) : 0,
                                   .lacked_before = is_on ? lacked_before(result, space) : 0};
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

/* Whether nothing of what was to lie there is kept any more, in no tier: that can't be a reason to
 * refuse what is asked of other places. Where there is no other one it is. */
static bool has_expired(const struct vv_route_question *question)
{
    bool has = question->kept_to < question->to && question->raw_oldest >= question->kept_to;
    for (size_t tier = 0; tier < VV_SPACES && has; tier++) {
        has = !question->tiers[tier].is_on || question->tiers[tier].oldest >= question->kept_to;
    }
    return has;
}

/* Of several places that of which is latest is told. */
static void note_latest(bool *has, int64_t *latest, int64_t time)
{
    *latest = *has && *latest > time ? *latest : time;
    *has = true;
}

static void note_expired_before(struct vv_result_facts *facts, int64_t time)
{
    note_latest(&facts->has_expired, &facts->expired_before, time);
}

/* What the range has before that is hidden, also as a part of a step that nothing finer has.
 * Without `from` it begins where there is something, unless that is behind all of it. */
static void note_expired(struct vv_result_facts *facts, const struct vv_route_question *question,
                         const struct vv_route *route)
{
    int64_t raw_from = route->raw_whole_from;
    int64_t begin = vv_route_begin(route, question->kept_from);
    bool has_none = begin >= question->kept_to;
    bool is_meant = question->has_from || (has_none && question->kept_to == question->to);
    if (is_meant && question->kept_from < begin) {
        note_expired_before(facts, has_none ? question->kept_to : begin);
    }
    /* From when on points are whole is noted an hour ahead at most (engine/whole.c). */
    bool is_beyond = raw_from > VV_TIME_MIN + VV_ROUTE_SLACK_NS && question->kept_from < raw_from &&
                     route->raw_oldest < raw_from - VV_ROUTE_SLACK_NS;
    if (route->n == 0 && is_beyond) {
        note_expired_before(facts, raw_from < question->kept_to ? raw_from : question->kept_to);
    }
}

/* Where another tier has it, that was an error. */
static void note_lacks(struct vv_result_facts *facts, const struct vv_route_question *question,
                       const struct vv_route *route)
{
    int64_t before = route->n > 0 ? vv_route_lacks_before(question, route) : VV_TIME_MIN;
    if (before > VV_TIME_MIN && question->kept_from < before) {
        note_latest(&facts->has_lacks, &facts->lacks_before, before);
    }
}

static enum vv_status choose(struct vv_result *result, struct vv_result_route *chosen,
                             const struct vv_steps *steps, int64_t slack_ns, struct vv_error *error)
{
    struct vv_error why = {0};
    struct vv_route_question question = ask(result, chosen, steps, slack_ns);
    if (has_expired(&question)) {
        chosen->route = (struct vv_route){.raw_oldest = question.raw_oldest,
                                          .raw_whole_from = question.raw_whole_from};
        note_expired(&result->facts, &question, &chosen->route);
        return VV_OK;
    }
    enum vv_status status = vv_route_choose(&question, &chosen->route, &why);
    if (status != VV_OK) {
        return refuse(result, chosen->place, &why, error);
    }
    struct vv_result_facts *facts = &result->facts;
    note_expired(facts, &question, &chosen->route);
    note_lacks(facts, &question, &chosen->route);
    if (chosen->route.n > 0) {
        uint8_t coarsest = (uint8_t)chosen->route.levels[0].tier;
        bool is_coarser = facts->n_tiers == 0 || coarsest > facts->coarsest_tier;
        facts->coarsest_tier = is_coarser ? coarsest : facts->coarsest_tier;
        facts->n_tiers =
            chosen->route.n > facts->n_tiers ? (uint8_t)chosen->route.n : facts->n_tiers;
    }
    return VV_OK;
}

/* Where a metric's points lie in the range, ascending, at least one. A place that counts only from
 * a time ahead on has nothing in tiers yet: who reads points looks for it there. */
static size_t stays_in_range(const struct vv_result *result, const struct vv_metric_info *metric,
                             struct vv_stay stays[VV_STAYS_MAX])
{
    size_t n = vv_registry_stays(result->context.registry, metric->measurement, stays);
    size_t kept = 0;
    stays[0].place = metric->first_place;
    while (n > 1 && stays[n - 1].from > result->request->now_ns) {
        n--;
    }
    stays[0].from = INT64_MIN;
    stays[n > 0 ? n - 1 : 0].to = INT64_MAX;
    for (size_t i = 0; i < n; i++) {
        struct vv_stay stay = stays[i];
        stay.from = stay.from > result->from ? stay.from : result->from;
        stay.to = stay.to < result->to ? stay.to : result->to;
        if (stay.from < stay.to) {
            stays[kept++] = stay;
        }
    }
    if (kept == 0) { /* the range is empty */
        stays[kept++] = (struct vv_stay){metric->first_place, result->from, result->to};
    }
    return kept;
}

static void note_place(struct vv_result *result, const struct vv_stay *stay)
{
    struct vv_result_route *found = NULL;
    for (size_t i = 0; i < result->n_routes && !found; i++) {
        found = result->routes[i].place == stay->place ? &result->routes[i] : NULL;
    }
    if (!found) {
        found = &result->routes[result->n_routes++];
        *found = (struct vv_result_route){.place = stay->place, .from = stay->from, .to = stay->to};
    }
    found->from = stay->from < found->from ? stay->from : found->from;
    found->to = stay->to > found->to ? stay->to : found->to;
}

static enum vv_status choose_all(struct vv_result *result, int64_t slack_ns, struct vv_error *error)
{
    struct vv_steps steps;
    enum vv_status status = VV_OK;
    vv_steps_init(&steps, result->step_ns, result->request->zone, result->from, result->to);
    result->facts.n_tiers = 0;
    result->facts.has_expired = false;
    result->facts.has_lacks = false;
    for (size_t i = 0; i < result->n_routes && status == VV_OK; i++) {
        status = choose(result, &result->routes[i], &steps, slack_ns, error);
    }
    return status;
}

/* A step that was chosen here, and is not kept so far back, becomes the next longer one that is. Of
 * a tier that is named, or of points alone, none may be: then it is as if it had been asked for. */
static enum vv_status choose_longer_steps(struct vv_result *result, enum vv_status refused,
                                          struct vv_error *error)
{
    int64_t first_ns = result->step_ns;
    enum vv_status status = refused;
    while (status == VV_INVALID && (result->step_ns = vv_route_coarser(result->step_ns)) > 0) {
        status = choose_all(result, VV_ROUTE_CHOICE_SLACK_NS, NULL);
    }
    if (status == VV_INVALID) {
        result->step_ns = first_ns;
        status = choose_all(result, VV_ROUTE_SLACK_NS, NULL);
    }
    if (status == VV_OK && error) {
        error->message[0] = '\0';
    }
    return status == VV_OK ? VV_OK : refused;
}

enum vv_status vv_result_choose_routes(struct vv_result *result, struct vv_error *error)
{
    const struct vv_selection *selection = &result->selection;
    if (selection->n_metrics == 0) {
        note_place(result, &(struct vv_stay){result->tenant, result->from, result->to});
    }
    for (size_t i = 0; i < selection->n_metrics; i++) {
        struct vv_stay stays[VV_STAYS_MAX];
        size_t n = stays_in_range(result, &selection->metrics[i], stays);
        for (size_t k = 0; k < n; k++) {
            note_place(result, &stays[k]);
        }
    }
    bool has_choice = chose_step(result->request, result->step_ns);
    int64_t slack_ns = has_choice ? VV_ROUTE_CHOICE_SLACK_NS : VV_ROUTE_SLACK_NS;
    enum vv_status status = choose_all(result, slack_ns, error);
    return status == VV_OK || !has_choice ? status : choose_longer_steps(result, status, error);
}

/* A place that a metric was moved to meanwhile, from a time ahead, has nothing in its tiers yet. */
static const struct vv_route *route_of(const struct vv_result *result, uint32_t place)
{
    static const struct vv_route points = {.raw_oldest = VV_TIME_MIN,
                                           .raw_whole_from = VV_TIME_MIN};
    for (size_t i = 0; i < result->n_routes; i++) {
        if (result->routes[i].place == place) {
            return &result->routes[i].route;
        }
    }
    return &points;
}

size_t vv_result_legs(const struct vv_result *result, const struct vv_metric_info *metric,
                      struct vv_leg legs_out[VV_STAYS_MAX])
{
    struct vv_stay stays[VV_STAYS_MAX];
    size_t n = stays_in_range(result, metric, stays);
    for (size_t i = 0; i < n; i++) {
        legs_out[i] = (struct vv_leg){.range = {stays[i].from, stays[i].to},
                                      .route = route_of(result, stays[i].place)};
    }
    return n;
}
