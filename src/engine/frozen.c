/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is frozen though it is young enough: units of tiers that have what points had that expired
 * before the retention was made longer. The store's records tell, of a series and a time.
 *
 * Where nodes share the store that is some questions over the network, and history comes in many
 * requests: what was found is kept for a while (frozen_found.c). It stays so, as long as nothing
 * expires and no day is replaced: what is built of points that come now can be built again.
 */
#include "engine/engine_private.h"
#include "engine/frozen_found.h"
#include "registry/shared.h"
#include "seal/gone.h"

#include <xxhash.h>

/* A day that is replaced by another node freezes what was found not to be. */
#define KEPT_NS (60 * VV_SECOND)

static int64_t wait_ns(struct vv_engine *engine, uint32_t place)
{
    return vv_engine_build_wait_ns(engine, vv_registry_late(engine->registry, place));
}

/* Of what is whole where tiers are to be built. Alone, nothing has gone before expiry has looked,
 * and it waits for what is to be built; where nodes share the store, time takes it meanwhile. */
static struct vv_reroll_bounds bounds_of(struct vv_engine *engine, uint32_t place)
{
    if (engine->fleet) {
        return vv_whole_bounds_in(engine, place, wait_ns(engine, place));
    }
    struct vv_reroll_bounds bounds = vv_whole_bounds(engine, place);
    bounds.raw_from = vv_whole_for_queries(engine, place);
    return bounds;
}

/* Of all that comes only what is older has to be looked at; INT64_MIN: nothing. */
static int64_t frozen_before(struct vv_engine *engine, uint32_t place,
                             const struct vv_reroll_bounds *bounds)
{
    struct vv_tiers tiers = vv_registry_tiers_built(engine->registry, place);
    return tiers.any ? vv_gone_before(&tiers, bounds) : INT64_MIN;
}

static int64_t stage_place(struct vv_engine *engine, uint32_t place)
{
    struct vv_reroll_bounds bounds = bounds_of(engine, place);
    return frozen_before(engine, place, &bounds);
}

/* A source that had nothing so old lost nothing. Where nodes share the store, others may have had
 * it. */
static bool had_nothing(struct vv_engine *engine, uint32_t source, int64_t before)
{
    int64_t first;
    int64_t last;
    return !engine->fleet &&
           (!vv_registry_source_times(engine->registry, source, &first, &last) || first >= before);
}

static enum vv_status ask(struct vv_engine *engine, const struct vv_gone_question *question,
                          int64_t before, struct vv_staging_frozen *asked, struct vv_error *error)
{
    struct vv_gone_answer answer = {.unit = {INT64_MIN, before}};
    enum vv_status status = VV_OK;
    if (asked->time < before && !had_nothing(engine, question->source, before)) {
        status = vv_gone_look(engine->store, engine->registry, question, &answer, error);
    }
    asked->is_frozen = answer.is_gone;
    asked->from = answer.unit.from;
    asked->to = answer.unit.to;
    return status;
}

/* All that an answer depends on, but for the store. */
static uint64_t terms_of(const struct vv_engine *engine, const struct vv_gone_question *question)
{
    struct vv_tiers tiers = vv_registry_tiers(engine->registry, question->place);
    const struct vv_reroll_bounds *bounds = &question->bounds;
    uint64_t terms =
        XXH3_64bits_withSeed(tiers.spaces, sizeof tiers.spaces, question->expired.count);
    terms = XXH3_64bits_withSeed(&bounds->raw_from, sizeof bounds->raw_from, terms);
    return XXH3_64bits_withSeed(bounds->tier_from, sizeof bounds->tier_from, terms);
}

/* What other nodes have told of the source, and of retentions, must be known. */
static enum vv_status ask_shared(struct vv_engine *engine, const struct vv_gone_question *question,
                                 int64_t before, struct vv_staging_frozen *asked,
                                 struct vv_error *error)
{
    int64_t now = engine->clock->monotonic_ns(engine->clock);
    uint64_t terms = terms_of(engine, question);
    if (vv_frozen_found_get(engine->frozen_found, terms, now, asked)) {
        return VV_OK;
    }
    if (!vv_fleet_is_current(engine->fleet, vv_settings_lead_ns(&engine->settings))) {
        return vv_error_set(error, VV_OVERLOAD, "other nodes could not be heard for a while");
    }
    enum vv_status status = ask(engine, question, before, asked, error);
    if (status == VV_OK) {
        vv_frozen_found_put(engine->frozen_found, terms, now + KEPT_NS, asked);
    }
    return status;
}

static struct vv_gone_question question_of(struct vv_engine *engine, uint32_t place,
                                           uint32_t source, uint32_t measurement, int64_t time)
{
    struct vv_gone_question question = {.place = place,
                                        .source = source,
                                        .measurement = measurement,
                                        .now_ns = engine->clock->wall_ns(engine->clock),
                                        .time = time,
                                        .bounds = bounds_of(engine, place)};
    vv_whole_expired_in(engine, place, wait_ns(engine, place), &question.expired);
    return question;
}

enum vv_status vv_frozen_is(struct vv_engine *engine, uint32_t place, uint32_t source,
                            uint32_t measurement, int64_t time, bool *is_frozen_out,
                            struct vv_error *error)
{
    struct vv_gone_question question = question_of(engine, place, source, measurement, time);
    struct vv_gone_answer answer;
    enum vv_status status =
        vv_gone_look(engine->store, engine->registry, &question, &answer, error);
    *is_frozen_out = answer.is_gone;
    return status;
}

static enum vv_status look(void *context, struct vv_staging_frozen *asked, struct vv_error *error)
{
    struct vv_engine *engine = context;
    struct vv_gone_question question = question_of(engine, asked->place, asked->series.source,
                                                   asked->series.measurement, asked->time);
    int64_t before = frozen_before(engine, asked->place, &question.bounds);
    return engine->fleet ? ask_shared(engine, &question, before, asked, error)
                         : ask(engine, &question, before, asked, error);
}

void vv_frozen_stage(struct vv_engine *engine, struct vv_staging_options *options)
{
    options->look = look;
    options->look_context = engine;
    options->frozen_before = stage_place(engine, options->tenant);
    for (size_t i = 0; i < options->n_classes; i++) {
        options->classes[i].frozen_before = stage_place(engine, options->classes[i].place);
    }
}
