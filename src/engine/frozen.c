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

/* Of all that comes only what is older has to be looked at; INT64_MIN: nothing. */
static int64_t frozen_before(struct vv_engine *engine, uint32_t place)
{
    struct vv_tiers tiers = vv_registry_tiers(engine->registry, place);
    if (!tiers.any) {
        return INT64_MIN;
    }
    struct vv_reroll_bounds bounds = vv_whole_bounds(engine, place);
    bounds.raw_from = vv_whole_for_queries(engine, place); /* nothing, before expiry looked */
    return vv_gone_before(&tiers, &bounds);
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
                                        .time = asked->time,
                                        .bounds = vv_whole_bounds(engine, asked->place)};
    struct vv_gone_answer answer;
    asked->from = asked->time;
    asked->to = asked->time + 1;
    if (had_nothing(engine, question.source, frozen_before(engine, asked->place))) {
        return VV_OK;
    }
    question.bounds.raw_from = vv_whole_for_queries(engine, asked->place);
    vv_whole_expired_now(engine, asked->place, &question.expired);
    enum vv_status status =
        vv_gone_look(engine->store, engine->registry, &question, &answer, error);
    if (status == VV_OK) {
        asked->is_frozen = answer.is_gone;
        asked->from = answer.unit.from;
        asked->to = answer.unit.to;
    }
    return status;
}

void vv_frozen_stage(struct vv_engine *engine, struct vv_staging_options *options)
{
    if (engine->fleet) {
        return;
    }
    options->look = look;
    options->look_context = engine;
    options->frozen_before = frozen_before(engine, options->tenant);
    for (size_t i = 0; i < options->n_classes; i++) {
        options->classes[i].frozen_before = frozen_before(engine, options->classes[i].place);
    }
}
