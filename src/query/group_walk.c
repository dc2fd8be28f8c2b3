/* SPDX-License-Identifier: Apache-2.0 */
#include "query/group_walk.h"

#include "base/log.h"
#include "query/answer_rows.h"
#include "query/fetch.h"

#include <stdlib.h>

/* ---- life ---- */

/* Of a route the tiers that have cohorts, as far as they come first. */
static struct vv_route cohort_route(const struct vv_result *result, const struct vv_route *whole)
{
    struct vv_route route = {.raw_oldest = VV_TIME_MIN};
    if (result->context.store->ops->shared && !result->context.members) {
        return route;
    }
    while (route.n < whole->n && vv_tier_has_cohorts(whole->levels[route.n].tier)) {
        route.levels[route.n] = whole->levels[route.n];
        route.n++;
    }
    return route;
}

/* What is expected borrows them. */
static void drop_cohorts(struct vv_group_walk *walk)
{
    if (walk->cohorts) {
        vv_fetch_expect_tiers(walk->options.result->context.fetch, NULL, 0, 0, 0, false, false);
    }
    free(walk->cohorts);
    walk->cohorts = NULL;
}

void vv_group_walk_open(struct vv_group_walk *walk, const struct vv_group_walk_options *options)
{
    vv_group_walk_close(walk);
    walk->options = *options;
    walk->source = 0;
    walk->end = 0;
    walk->alone = 0;
    drop_cohorts(walk);
    walk->expected = VV_GROUP_NOTHING;
    walk->n_legs = vv_result_legs(options->result, options->metric, walk->legs);
    walk->has_cohorts = false;
    for (size_t i = 0; i < walk->n_legs; i++) {
        walk->has_cohorts |= cohort_route(options->result, walk->legs[i].route).n > 0;
    }
}

static void close_parts(struct vv_group_walk *walk)
{
    vv_walk_close(&walk->walk);
    vv_tier_scan_close(&walk->cohort);
    if (walk->in_cohort) {
        vv_tier_note_sealed(&walk->sealed, &walk->options.result->facts);
    }
    walk->run.n = 0;
    walk->in_cohort = false;
    walk->is_open = false;
}

void vv_group_walk_close(struct vv_group_walk *walk)
{
    close_parts(walk);
    walk->source = walk->end = walk->alone = walk->options.n = 0;
}

void vv_group_walk_deinit(struct vv_group_walk *walk)
{
    vv_group_walk_close(walk);
    vv_walk_deinit(&walk->walk);
    vv_tier_scan_deinit(&walk->cohort);
    drop_cohorts(walk);
    free(walk->ids);
    walk->ids = NULL;
    walk->ids_capacity = 0;
}

/* ---- cohorts ---- */

/* How many sources of the tenant there are in a cohort; 0: that can't be told. */
static size_t count_members(const struct vv_result *result, uint32_t cohort)
{
    size_t n = 0;
    if (result->context.members) {
        enum vv_status status =
            vv_members_count(result->context.members, result->tenant, cohort, &n);
        return status == VV_OK ? n : 0;
    }
    uint32_t first = vv_cohort_first(cohort);
    for (uint32_t i = 0; i < VV_COHORT_SOURCES; i++) {
        n += vv_registry_source_tenant(result->context.registry, first + i) == result->tenant;
    }
    return n;
}

/* 0: that can't be told. */
static uint32_t cohort_of(const struct vv_result *result, uint32_t source)
{
    uint32_t cohort;
    uint64_t id;
    if (!result->context.members) {
        return vv_cohort_of(source);
    }
    enum vv_status status = vv_members_find(result->context.members, source, &cohort, &id);
    return status == VV_OK ? cohort : 0;
}

/* Whether a cohort of which so many sources are wanted is asked for them: all that it has. */
static bool is_asked(const struct vv_result *result, uint32_t cohort, size_t n)
{
    return n > 1 && n <= VV_COHORT_MEMBERS_MAX && n == count_members(result, cohort);
}

/* Where the sources from this one on that are in its cohort end, if they are all that it has, and
 * more than one; else 0. */
static size_t find_cohort(struct vv_group_walk *walk)
{
    const struct vv_result *result = walk->options.result;
    const uint32_t *sources = walk->options.sources;
    uint32_t cohort = cohort_of(result, sources[walk->source]);
    size_t end = walk->source;
    if (walk->source < walk->alone || cohort == 0) {
        return 0;
    }
    while (end < walk->options.n && cohort_of(result, sources[end]) == cohort) {
        end++;
    }
    if (is_asked(result, cohort, end - walk->source)) {
        return end;
    }
    walk->alone = end;
    return 0;
}

/* Of the cohort's sources, ascending, as these are. */
static enum vv_status find_ids(struct vv_group_walk *walk)
{
    struct vv_members *members = walk->options.result->context.members;
    size_t n = walk->end - walk->source;
    uint32_t cohort;
    if (n > walk->ids_capacity) {
        uint64_t *ids = realloc(walk->ids, n * sizeof *ids);
        if (!ids) {
            return VV_NO_MEMORY;
        }
        walk->ids = ids;
        walk->ids_capacity = n;
    }
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        status = vv_members_find(members, walk->options.sources[walk->source + i], &cohort,
                                 &walk->ids[i]);
    }
    return status;
}

/* ---- what is asked for ahead ---- */

static void expect_sources(struct vv_group_walk *walk, size_t end, struct vv_window range)
{
    vv_fetch_expect_tiers(walk->options.result->context.fetch, walk->options.sources + walk->source,
                          end - walk->source, range.from, range.to, false, false);
}

/* All that will be asked, once. Without memory for their numbers none is expected. */
static void list_cohorts(struct vv_group_walk *walk)
{
    const struct vv_result *result = walk->options.result;
    const uint32_t *sources = walk->options.sources;
    size_t end;
    walk->n_cohorts = walk->cohort_at = 0;
    walk->cohorts = malloc(walk->options.n * sizeof *walk->cohorts);
    for (size_t i = 0; walk->cohorts && i < walk->options.n; i = end) {
        uint32_t cohort = cohort_of(result, sources[i]);
        end = i + 1;
        while (end < walk->options.n && cohort_of(result, sources[end]) == cohort) {
            end++;
        }
        size_t n = end - i;
        if (cohort != 0 && is_asked(result, cohort, n)) {
            walk->cohorts[walk->n_cohorts++] = cohort;
        }
    }
}

/* From the one on that the walk is in. */
static void expect_cohorts(struct vv_group_walk *walk)
{
    struct vv_result *result = walk->options.result;
    uint32_t cohort = cohort_of(result, walk->options.sources[walk->source]);
    if (!result->context.fetch) {
        return;
    }
    if (!walk->cohorts) {
        list_cohorts(walk);
    }
    while (walk->cohort_at < walk->n_cohorts && walk->cohorts[walk->cohort_at] != cohort) {
        walk->cohort_at++;
    }
    if (walk->cohorts && walk->expected != VV_GROUP_COHORTS) {
        vv_fetch_expect_tiers(result->context.fetch, walk->cohorts + walk->cohort_at,
                              walk->n_cohorts - walk->cohort_at, result->from, result->to, false,
                              false);
        walk->expected = VV_GROUP_COHORTS;
    }
}

/* What the cohort's records leave, of each of its sources. Of several gaps none is foreseen: what
 * lies between them is not wanted. */
static void expect_members(struct vv_group_walk *walk)
{
    expect_sources(walk, walk->n_gaps == 1 ? walk->end : walk->source, walk->gaps[0]);
    walk->expected = VV_GROUP_MEMBERS;
}

/* Those from the source on that are in no cohort. */
static void expect_alone(struct vv_group_walk *walk)
{
    const struct vv_result *result = walk->options.result;
    bool is_expected = walk->expected == VV_GROUP_SOURCES && walk->source < walk->expected_end;
    if (!is_expected) {
        size_t alone = walk->alone > walk->source ? walk->alone : walk->source + 1;
        walk->expected_end = walk->has_cohorts ? alone : walk->options.n;
        expect_sources(walk, walk->expected_end, (struct vv_window){result->from, result->to});
        walk->expected = VV_GROUP_SOURCES;
    }
}

/* ---- a cohort's records ---- */

/* Notes what is left to the sources; false when there are too many stretches, and all that follows
 * is. */
static bool add_gap(struct vv_group_walk *walk, struct vv_window gap)
{
    struct vv_window *last = walk->n_gaps > 0 ? &walk->gaps[walk->n_gaps - 1] : NULL;
    if (vv_window_is_empty(gap)) {
        return true;
    }
    if (last && last->to >= gap.from) {
        last->to = gap.to > last->to ? gap.to : last->to;
        return true;
    }
    walk->gaps[walk->n_gaps++] = gap;
    if (walk->n_gaps < VV_COHORT_GAPS_MAX) {
        return true;
    }
    walk->gaps[walk->n_gaps - 1].to = walk->options.result->to;
    return false;
}

/* Opens the next leg of the cohort that has any; VV_DONE: there is none, or too many gaps. */
static enum vv_status open_cohort_leg(struct vv_group_walk *walk)
{
    struct vv_result *result = walk->options.result;
    bool has_room = true;
    for (; has_room && walk->leg < walk->n_legs; walk->leg++) {
        const struct vv_leg *leg = &walk->legs[walk->leg];
        walk->route = cohort_route(result, leg->route);
        if (walk->route.n > 0) {
            break;
        }
        has_room = add_gap(walk, leg->range);
    }
    if (!has_room || walk->leg == walk->n_legs) {
        return VV_DONE;
    }
    const struct vv_tier_scan_options options = {
        .route = &walk->route,
        .steps = walk->options.steps,
        .source = cohort_of(result, walk->options.sources[walk->source]),
        .member_ids = result->context.members ? walk->ids : NULL,
        .members = walk->options.sources + walk->source,
        .n_members = walk->end - walk->source,
        .metric = walk->options.metric,
        .from = walk->legs[walk->leg].range.from,
        .to = walk->legs[walk->leg].range.to,
        .step_parts = vv_result_step_parts(result),
        .sketches = (result->request->needs & VV_NEED_PERCENTILES) != 0,
        .only = result->selection.n_metrics == 1,
        .sealed = &walk->sealed,
        .memory_max = vv_result_memory_left(result),
    };
    return vv_tier_scan_open(&walk->cohort, &result->context, &options, &result->facts);
}

/* Some leg has cohorts. */
static enum vv_status open_cohort(struct vv_group_walk *walk)
{
    expect_cohorts(walk);
    enum vv_status status = walk->options.result->context.members ? find_ids(walk) : VV_OK;
    if (status != VV_OK) {
        return VV_NO_MEMORY;
    }
    walk->n_gaps = 0;
    walk->gap = 0;
    walk->leg = 0;
    walk->sealed = (struct vv_tier_sealed){0};
    walk->in_cohort = true;
    return open_cohort_leg(walk);
}

static void end_cohort(struct vv_group_walk *walk)
{
    vv_tier_scan_close(&walk->cohort);
    vv_tier_note_sealed(&walk->sealed, &walk->options.result->facts);
    walk->in_cohort = false;
    walk->is_open = false;
    if (walk->n_gaps == 0) {
        walk->source = walk->end;
    } else {
        expect_members(walk);
    }
}

static enum vv_status end_cohort_leg(struct vv_group_walk *walk)
{
    walk->leg++;
    enum vv_status status = open_cohort_leg(walk);
    if (status == VV_DONE) {
        end_cohort(walk);
        return VV_OK;
    }
    return status;
}

/* What can't be read of the cohort's records is nothing that its sources don't have, and these may
 * lie where it can be. */
static enum vv_status go_on_without(struct vv_group_walk *walk, enum vv_status status,
                                    struct vv_error *error)
{
    bool is_away = status == VV_OVERLOAD && walk->options.result->context.store->ops->shared;
    if (status != VV_CORRUPT && status != VV_NEWER && !is_away) {
        return status;
    }
    vv_log(is_away ? VV_LOG_DEBUG : VV_LOG_WARN, "cohort_unreadable",
           "message=\"%s\" hint=\"its sources are asked one by one\"", error ? error->message : "");
    if (error) {
        error->message[0] = '\0';
    }
    (void)add_gap(walk,
                  (struct vv_window){vv_tier_scan_undone(&walk->cohort), walk->options.result->to});
    end_cohort(walk);
    return VV_OK;
}

/* Gives those steps of a cohort's record that are in the next asked one. */
static void take_run(struct vv_group_walk *walk, struct vv_walk_event *event)
{
    const struct vv_steps *steps = walk->options.steps;
    struct vv_tier_run *run = &walk->run;
    event->kind = VV_WALK_MERGED;
    event->start = vv_steps_start(steps, run->times[0]);
    size_t n = vv_steps_count_before(run->times, run->n, vv_steps_next(steps, event->start));
    event->merged = vv_tier_run_take(run, n, false);
    event->ends = false;
}

static enum vv_status read_cohort(struct vv_group_walk *walk, struct vv_walk_event *event,
                                  struct vv_error *error)
{
    struct vv_tier_part part;
    enum vv_status status = vv_tier_scan_next(&walk->cohort, &part, error);
    if (status != VV_OK) {
        return status == VV_DONE ? end_cohort_leg(walk) : go_on_without(walk, status, error);
    }
    if (part.kind == VV_TIER_STEPS) {
        walk->run = part.run;
        take_run(walk, event);
    } else if (part.kind == VV_TIER_POINTS) { /* records of cohorts have none */
        (void)vv_error_set(error, VV_CORRUPT, "a record of several sources has points");
        return go_on_without(walk, VV_CORRUPT, error);
    } else if (part.kind == VV_TIER_GAP && !add_gap(walk, part.gap)) {
        end_cohort(walk);
    }
    return VV_OK;
}

/* ---- sources ---- */

static bool is_in_cohort(const struct vv_group_walk *walk)
{
    return walk->source < walk->end;
}

static enum vv_status open_source(struct vv_group_walk *walk)
{
    struct vv_result *result = walk->options.result;
    struct vv_window range = {result->from, result->to};
    if (is_in_cohort(walk)) {
        range = walk->gaps[walk->gap];
    }
    const struct vv_feed_options options = {
        .place = walk->options.metric->first_place,
        .source = walk->options.sources[walk->source],
        .metric = walk->options.metric,
        .from = range.from,
        .to = range.to,
        .skip_nan = true,
        .where = &result->request->where,
        .memory_max = vv_result_memory_left(result),
    };
    struct vv_walk_plan plan =
        vv_result_walk_plan(result, walk->options.steps, walk->options.metric);
    return vv_walk_open(&walk->walk, &result->context, &options, &plan, &result->facts);
}

/* The next gap of the source in its cohort, or the next source. */
static void end_source(struct vv_group_walk *walk)
{
    bool found = walk->walk.found;
    vv_walk_close(&walk->walk);
    walk->is_open = false;
    if (!is_in_cohort(walk)) {
        walk->options.absent[walk->source++] = !found;
        return;
    }
    if (++walk->gap == walk->n_gaps) {
        walk->gap = 0;
        walk->source++;
    }
}

static enum vv_status open_next(struct vv_group_walk *walk)
{
    walk->is_open = true;
    if (!is_in_cohort(walk) && walk->has_cohorts) {
        walk->end = find_cohort(walk);
        if (is_in_cohort(walk)) {
            return open_cohort(walk);
        }
    }
    if (!is_in_cohort(walk)) {
        expect_alone(walk);
    }
    return open_source(walk);
}

enum vv_status vv_group_walk_next(struct vv_group_walk *walk, struct vv_walk_event *event_out,
                                  struct vv_error *error)
{
    event_out->kind = VV_WALK_WORK;
    if (walk->run.n > 0) {
        take_run(walk, event_out);
        return VV_OK;
    }
    if (walk->is_open) {
        if (walk->in_cohort) {
            return read_cohort(walk, event_out, error);
        }
        enum vv_status status = vv_walk_next(&walk->walk, event_out, error);
        if (status == VV_OK && event_out->kind == VV_WALK_END) {
            end_source(walk);
            event_out->kind = VV_WALK_WORK;
        }
        return status;
    }
    while (walk->source < walk->options.n && !is_in_cohort(walk) &&
           walk->options.absent[walk->source]) {
        walk->source++;
    }
    if (walk->source == walk->options.n) {
        event_out->kind = VV_WALK_END;
        return VV_OK;
    }
    enum vv_status status = open_next(walk);
    return status == VV_NO_MEMORY ? vv_result_no_memory(error) : status;
}
