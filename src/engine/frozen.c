/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is frozen though it is young enough: units of tiers that have what points had that expired
 * before the retention was made longer. The store's records tell, of a series and a time.
 *
 * Not where nodes share the store: it would be a question over the network for who must not wait
 * for one. There such points are taken, and get into no tier (seal/pyramid_gone.c).
 */
#include "engine/engine_private.h"
#include "seal/gone.h"

/* Of what is whole where tiers are to be built; nothing has gone before expiry has looked. */
static struct vv_reroll_bounds bounds_of(struct vv_engine *engine, uint32_t place)
{
    struct vv_reroll_bounds bounds = vv_whole_bounds(engine, place);
    bounds.raw_from = vv_whole_for_queries(engine, place);
    return bounds;
}

/* Of all that comes only what is older has to be looked at; INT64_MIN: nothing. */
static int64_t frozen_before(struct vv_engine *engine, uint32_t place,
                             const struct vv_reroll_bounds *bounds)
{
    struct vv_tiers tiers = vv_registry_tiers(engine->registry, place);
    return tiers.any ? vv_gone_before(&tiers, bounds) : INT64_MIN;
}

static int64_t stage_place(struct vv_engine *engine, uint32_t place)
{
    struct vv_reroll_bounds bounds = bounds_of(engine, place);
    return frozen_before(engine, place, &bounds);
}

/* A source that had nothing so old lost nothing. */
static bool had_nothing(struct vv_engine *engine, uint32_t source, int64_t before)
{
    int64_t first;
    int64_t last;
    return !vv_registry_source_times(engine->registry, source, &first, &last) || first >= before;
}

static enum vv_status look(void *context, struct vv_staging_frozen *asked, struct vv_error *error)
{
    struct vv_engine *engine = context;
    struct vv_gone_question question = {.place = asked->place,
                                        .source = asked->series.source,
                                        .measurement = asked->series.measurement,
                                        .now_ns = engine->clock->wall_ns(engine->clock),
                                        .time = asked->time,
                                        .bounds = bounds_of(engine, asked->place)};
    int64_t before = frozen_before(engine, asked->place, &question.bounds);
    struct vv_gone_answer answer = {.unit = {INT64_MIN, before}};
    enum vv_status status = VV_OK;
    if (!had_nothing(engine, question.source, before)) {
        vv_whole_expired_now(engine, asked->place, &question.expired);
        status = vv_gone_look(engine->store, engine->registry, &question, &answer, error);
    }
    asked->is_frozen = answer.is_gone;
    asked->from = answer.unit.from;
    asked->to = answer.unit.to;
    return status;
}

void vv_frozen_stage(struct vv_engine *engine, struct vv_staging_options *options)
{
    if (engine->fleet) {
        return;
    }
    options->look = look;
    options->look_context = engine;
    options->frozen_before = stage_place(engine, options->tenant);
    for (size_t i = 0; i < options->n_classes; i++) {
        options->classes[i].frozen_before = stage_place(engine, options->classes[i].place);
    }
}
