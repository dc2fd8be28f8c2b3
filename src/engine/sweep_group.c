/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which sources are swept together. Beside other nodes a sweep is rounds with the cluster: what was
 * told must have landed before it, what it makes stale lands tier by tier, and all of that before a
 * source counts as swept. So these are done once for a group of sources, whose markers are read
 * before the first of them. Alone in the store a group is one source.
 *
 * A source that a part of the store which is away has something of is left out of its group, and
 * comes with the next round. Where only the group as a whole is known to wait, its sources are
 * swept once more, each by itself.
 */
#include "engine/engine_private.h"
#include "registry/shared.h"

#include <limits.h>

#define SOURCES_LOOK 1024  /* at a step */
#define GROUP_READS  8192  /* after which no further source is begun: a crash sweeps it again */
#define LISTED_MUCH  16384 /* units that are put before the group ends */
#define OTHERS_STEPS                                                                               \
    8 /* others sweep what a node deleted one after the other, by their numbers                    \
       */

/* ---- what is to be done ---- */

/* Whether it is this node that marks the spans. */
static bool is_mine(const struct vv_engine *engine, const struct vv_marker *marker)
{
    int64_t takeover = engine->settings.deletion_takeover_ns;
    uint32_t own = vv_engine_node(engine);
    uint32_t node = vv_stamp_node(marker->stamp);
    int64_t age = engine->clock->wall_ns(engine->clock) -
                  (int64_t)vv_stamp_clock_us(marker->stamp) * VV_MICROSECOND;
    return !engine->fleet || node == own || node == 0 ||
           age >= takeover + (int64_t)(own % OTHERS_STEPS) * (takeover / OTHERS_STEPS);
}

static unsigned todo_of(const struct vv_engine *engine, const struct vv_marker *marker)
{
    bool clears = engine->store->ops->remove_values && !marker->is_cleared;
    bool is_known = !engine->fleet || marker->is_told; /* else others may seal without it */
    bool marks = !marker->is_swept && is_known && is_mine(engine, marker);
    return (clears ? VV_MARKER_UNCLEARED : 0u) | (marks ? VV_MARKER_UNSWEPT : 0u);
}

static unsigned lacks(const struct vv_engine *engine)
{
    return VV_MARKER_UNSWEPT | (engine->store->ops->remove_values ? VV_MARKER_UNCLEARED : 0u);
}

/* Where others write, a source whose plans are not known here yet may have spans all the same. */
static bool is_placed(const struct vv_engine *engine, uint32_t source)
{
    return !engine->fleet || vv_registry_source_plans(engine->registry, source).n > 0;
}

/* ---- a group ---- */

static void add_source(struct vv_engine *engine, uint32_t source)
{
    struct vv_sweep_group *group = &engine->sweep.group;
    size_t first = group->n_markers;
    size_t room = VV_SWEEP_MARKERS - first;
    bool any = false;
    if (!is_placed(engine, source)) {
        return;
    }
    size_t n =
        vv_deletions_read(engine->deletions, source, lacks(engine), &group->markers[first], room);
    n = n < room ? n : room;
    for (size_t i = first; i < first + n; i++) {
        group->todo[i] = todo_of(engine, &group->markers[i]);
        any = any || group->todo[i] != 0;
    }
    if (any) {
        group->sources[group->n++] = (struct vv_sweep_source){source, first, n};
        group->n_markers += n;
    }
}

static void empty_group(struct vv_sweep_group *group)
{
    group->n = group->at = group->n_markers = group->reads = 0;
    group->stale.n = group->n_before = 0;
}

enum vv_status vv_sweep_gather(struct vv_engine *engine)
{
    struct vv_sweep *sweep = &engine->sweep;
    struct vv_sweep_group *group = &sweep->group;
    bool is_single = !engine->fleet || group->alone > 0;
    size_t most = is_single ? 1 : VV_SWEEP_SOURCES;
    empty_group(group);
    for (size_t i = 0; i < SOURCES_LOOK && group->n < most &&
                       group->n_markers + VV_MARKERS_OF_SOURCE_MAX <= VV_SWEEP_MARKERS;
         i++) {
        uint32_t source = vv_deletions_next(engine->deletions, sweep->next_source, lacks(engine));
        if (source == UINT32_MAX) {
            sweep->next_source = group->n > 0 ? UINT32_MAX : 0; /* the round ends behind it */
            return group->n > 0 ? VV_OK : VV_DONE;
        }
        sweep->next_source = source + 1;
        add_source(engine, source);
    }
    group->alone -= group->alone > 0 && group->n > 0;
    return VV_OK;
}

/* Spans are read where the others have put them, which may be a space of late points that was told
 * a moment ago, and marked when they can know why: what was told must have landed. What is told
 * behind that is put and sealed by who knows of the markers. */
static enum vv_status begin_beside_others(struct vv_engine *engine, struct vv_error *error)
{
    enum vv_status status = vv_engine_check_waits(engine, error);
    if (status == VV_OK) {
        status = vv_fleet_learn(engine->fleet, error);
    }
    return status == VV_OK ? vv_engine_confirm(engine, error) : status;
}

enum vv_status vv_sweep_begin_group(struct vv_engine *engine, struct vv_error *error)
{
    struct vv_sweep *sweep = &engine->sweep;
    enum vv_status status = engine->fleet ? begin_beside_others(engine, error) : VV_OK;
    if (status == VV_OK) {
        vv_sweep_select(engine);
    } else {
        sweep->active = false;
        empty_group(&sweep->group);
    }
    return status;
}

/* Who could not take all that was told of where things lie leaves it to others; and what this node
 * told, and is parked, may be the marker. */
static bool may_mark(struct vv_engine *engine, uint32_t source)
{
    if (!engine->fleet) {
        return true;
    }
    uint32_t tenant = vv_registry_source_tenant(engine->registry, source);
    return vv_engine_parked(engine).n_told == 0 && !vv_fleet_lacks(engine->fleet) &&
           !vv_fleet_lacks_any(engine->fleet, vv_registry_tenant_name(engine->registry, tenant));
}

/* Single values are removed all the same. */
void vv_sweep_select(struct vv_engine *engine)
{
    struct vv_sweep *sweep = &engine->sweep;
    const struct vv_sweep_source *source = &sweep->group.sources[sweep->group.at];
    sweep->source = source->source;
    sweep->markers = &sweep->group.markers[source->first];
    sweep->todo = &sweep->group.todo[source->first];
    sweep->n = source->n;
    bool marks = may_mark(engine, source->source);
    for (size_t i = 0; i < sweep->n; i++) {
        sweep->todo[i] &= marks ? UINT_MAX : ~(unsigned)VV_MARKER_UNSWEPT;
    }
    vv_sweep_go_to_marker(sweep, 0);
}

/* ---- what is made stale ---- */

static enum vv_status confirm(void *context, struct vv_error *error)
{
    return vv_engine_confirm(context, error);
}

static struct vv_stale_options options_of(struct vv_engine *engine)
{
    return (struct vv_stale_options){
        .registry = engine->registry,
        .store = engine->store,
        .ledger = vv_engine_ledger_rule(&engine->settings),
        .confirm = confirm,
        .confirm_context = engine,
        .is_whole = true,
    };
}

static int64_t over_at(const struct vv_engine *engine)
{
    int64_t now = engine->clock->wall_ns(engine->clock);
    int64_t latest = vv_sealer_latest_ns(engine->sealer);
    return now > latest ? now : latest;
}

/* All that was listed, in the order that others rely on. The runs are newer than what a flush may
 * have put of these units since they were listed: whoever builds them takes away only marks that
 * are not. */
static enum vv_status put_stale(struct vv_engine *engine, struct vv_error *error)
{
    struct vv_sweep *sweep = &engine->sweep;
    struct vv_stale_list *list = &sweep->group.stale;
    const struct vv_stale_options options = options_of(engine);
    if (list->n == 0) {
        return VV_OK;
    }
    sweep->stale_run = vv_stamp_next(sweep->stale_run, engine->clock->wall_ns(engine->clock),
                                     vv_engine_node(engine));
    for (size_t i = 0; i < list->n; i++) {
        list->items[i].run = sweep->stale_run;
    }
    sweep->group.n_before = 0;
    return vv_stale_put_list(&options, list, over_at(engine), error);
}

enum vv_status vv_sweep_put_much(struct vv_engine *engine, struct vv_error *error)
{
    if (engine->sweep.group.stale.n < LISTED_MUCH) {
        return VV_OK;
    }
    enum vv_status status = put_stale(engine, error);
    engine->sweep.active = status == VV_OK;
    return status;
}

/* Whether what the source makes stale can be put now: else it alone waits. */
static enum vv_status check_held(struct vv_engine *engine, struct vv_error *error)
{
    const struct vv_sweep_group *group = &engine->sweep.group;
    const struct vv_stale_options options = options_of(engine);
    size_t n = group->stale.n - group->n_before;
    if (n == 0) {
        return VV_OK;
    }
    const struct vv_stale_list own = {.items = &group->stale.items[group->n_before], .n = n};
    return vv_stale_check_held(&options, &own, over_at(engine), error);
}

/* ---- its end ---- */

static enum vv_status note_swept(struct vv_engine *engine, const struct vv_sweep_source *source,
                                 struct vv_error *error)
{
    struct vv_sweep_group *group = &engine->sweep.group;
    unsigned all = 0;
    for (size_t i = source->first; i < source->first + source->n; i++) {
        group->markers[i].is_swept |= (group->todo[i] & VV_MARKER_UNSWEPT) != 0;
        group->markers[i].is_cleared |= (group->todo[i] & VV_MARKER_UNCLEARED) != 0;
        all |= group->todo[i];
    }
    if (all == 0) { /* it waits */
        return VV_OK;
    }
    vv_deletions_note_done(engine->deletions, source->source, &group->markers[source->first],
                           source->n);
    return vv_sweep_put_record(engine, source->source, error);
}

/* All that was swept is marked: durably, before that is noted. */
static enum vv_status end_group(struct vv_engine *engine, struct vv_error *error)
{
    struct vv_sweep *sweep = &engine->sweep;
    struct vv_sweep_group *group = &sweep->group;
    sweep->active = false;
    enum vv_status status = put_stale(engine, error);
    if (status == VV_OK) {
        status = vv_engine_confirm(engine, error);
    }
    if (status != VV_OK) {
        return status; /* from its beginning, then */
    }
    for (size_t i = 0; i < group->at && status == VV_OK; i++) {
        status = note_swept(engine, &group->sources[i], error);
    }
    sweep->next_source =
        group->at < group->n ? group->sources[group->at].source : sweep->next_source;
    empty_group(group);
    return status;
}

enum vv_status vv_sweep_end_source(struct vv_engine *engine, struct vv_error *error)
{
    struct vv_sweep_group *group = &engine->sweep.group;
    enum vv_status status = check_held(engine, error);
    if (status != VV_OK) {
        return status;
    }
    group->n_before = group->stale.n;
    group->at++;
    if (group->at >= group->n || group->reads >= GROUP_READS) {
        return end_group(engine, error);
    }
    vv_sweep_select(engine);
    return VV_OK;
}

/* The sweep's source is not swept in this group. */
static void leave_source(struct vv_sweep *sweep)
{
    struct vv_sweep_group *group = &sweep->group;
    for (size_t i = 0; i < sweep->n; i++) {
        sweep->todo[i] = 0;
    }
    group->stale.n = group->n_before;
    sweep->at = sweep->n;
    sweep->in_range = false;
}

void vv_sweep_fail(struct vv_engine *engine, enum vv_status status)
{
    struct vv_sweep *sweep = &engine->sweep;
    struct vv_sweep_group *group = &sweep->group;
    if (engine->fleet && sweep->active && status == VV_OVERLOAD) {
        leave_source(sweep);
        return;
    }
    sweep->active = false; /* the next source; this one comes again */
    if (group->n > 1) {
        group->alone = group->n;
        sweep->next_source = group->sources[0].source;
    }
    empty_group(group);
}
