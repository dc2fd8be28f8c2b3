/* SPDX-License-Identifier: Apache-2.0 */
#include "seal/gone.h"

#include "registry/shared.h"
#include "seal/pyramid_private.h"

static int64_t earlier_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t vv_gone_whole_below(const struct vv_tiers *tiers, const struct vv_reroll_bounds *bounds,
                            enum vv_space tier)
{
    int64_t from = bounds->raw_from;
    for (int finer = 0; finer < (int)tier; finer++) {
        from = tiers->spaces[finer] != VV_REGISTRY_NONE ? earlier_of(from, bounds->tier_from[finer])
                                                        : from;
    }
    return from;
}

int64_t vv_gone_before(const struct vv_tiers *tiers, const struct vv_reroll_bounds *bounds)
{
    int64_t before = INT64_MIN;
    for (int tier = 0; tier < VV_SPACES; tier++) {
        if (tiers->spaces[tier] == VV_REGISTRY_NONE) {
            continue;
        }
        int64_t unit_ns = vv_tier_unit_ns_max((enum vv_space)tier);
        int64_t from = vv_gone_whole_below(tiers, bounds, (enum vv_space)tier);
        int64_t end = from > INT64_MAX - unit_ns ? INT64_MAX : from + unit_ns;
        before = from > VV_TIME_MIN && end > before ? end : before;
    }
    return before;
}

/* The unit of a tier that the time is in. What is finer is taken for built, as it will be before.
 */
static enum vv_status look_at_tier(struct vv_build *build, enum vv_space tier,
                                   const struct vv_unit *unit)
{
    build->tier = tier;
    build->unit =
        vv_unit_key(tier, build->tiers.spaces[tier], build->source, build->measurement, unit->from);
    build->unit_to = unit->to;
    vv_frozen_begin(&build->pyramid->frozen);
    return vv_build_gather(build, (int)tier, unit->from, unit->to);
}

/* Some record that can't be made again of points. */
static enum vv_status find_frozen(void *context, const struct vv_piece *piece)
{
    struct vv_build *build = context;
    struct vv_unit_record record;
    if (piece->kind != VV_PIECE_BLOCK || piece->bytes.size == 0) {
        return VV_OK;
    }
    build->found = vv_unit_read(piece->bytes, &record, NULL) != VV_OK ||
                   !vv_frozen_is_whole(&record, &build->expired);
    return build->found ? VV_DONE : VV_OK;
}

/* What of a tier has expired is no question. */
static int64_t kept_from(const struct vv_build *build, enum vv_space tier,
                         const struct vv_gone_question *question)
{
    struct vv_registry *registry = build->pyramid->options.registry;
    int64_t life = vv_registry_life(registry, build->tiers.spaces[tier], question->now_ns);
    int64_t bucket_ns = vv_tier_plan(tier).bucket_ns;
    return life > 0 ? question->now_ns - life - bucket_ns : VV_TIME_MIN;
}

/* Each look is some questions over the network, so they begin with those of a long time: history
 * comes for sources that have nothing, or only what came after the points that are gone. */
static enum vv_status look_at_all(struct vv_build *build, const struct vv_gone_question *question,
                                  struct vv_gone_answer *answer_out)
{
    struct vv_unit all =
        vv_unit_of(VV_SPACE_DAY, build->plans.plans, build->plans.n, question->time);
    enum vv_status status = VV_OK;
    build->found = false;
    for (int tier = 0; tier < VV_SPACES && status == VV_OK && !build->found; tier++) {
        if (build->tiers.spaces[tier] == VV_REGISTRY_NONE) {
            continue;
        }
        int64_t from = kept_from(build, (enum vv_space)tier, question);
        from = from > all.from ? from : all.from;
        status = from < all.to ? vv_build_read_tier(build, (enum vv_space)tier, from, all.to,
                                                    find_frozen, build)
                               : VV_OK;
        status = status == VV_DONE ? VV_OK : status;
    }
    answer_out->unit = all;
    return status;
}

static enum vv_status look(struct vv_build *build, const struct vv_gone_question *question,
                           struct vv_gone_answer *answer_out)
{
    enum vv_status status = VV_OK;
    bool is_first = true;
    for (int i = 0; i < VV_SPACES && status == VV_OK && !build->keeps; i++) {
        enum vv_space tier = (enum vv_space)i;
        if (build->tiers.spaces[tier] == VV_REGISTRY_NONE) {
            continue;
        }
        struct vv_unit unit = vv_unit_of(tier, build->plans.plans, build->plans.n, question->time);
        if (is_first) { /* the others are longer */
            answer_out->unit = unit;
            is_first = false;
        }
        if (unit.from < vv_gone_whole_below(&build->tiers, &question->bounds, tier)) {
            status = look_at_tier(build, tier, &unit);
        }
    }
    answer_out->is_gone = build->keeps;
    return status;
}

/* `pyramid` stays where it is, and has nothing but what the look needs. */
static struct vv_build build_of(struct vv_pyramid *pyramid, const struct vv_gone_question *question,
                                struct vv_error *error)
{
    struct vv_registry *registry = pyramid->options.registry;
    return (struct vv_build){.pyramid = pyramid,
                             .place = question->place,
                             .late = vv_registry_late_seen(registry, question->place),
                             .source = question->source,
                             .measurement = question->measurement,
                             .tiers = vv_registry_tiers_built(registry, question->place),
                             .plans = vv_registry_source_plans(registry, question->source),
                             .whole_from = question->bounds.raw_from,
                             .tiers_from = question->bounds.tier_from,
                             .expired = question->expired,
                             .is_question = true,
                             .now_ns = question->now_ns,
                             .error = error};
}

enum vv_status vv_gone_look(struct vv_store *store, struct vv_registry *registry,
                            const struct vv_gone_question *question,
                            struct vv_gone_answer *answer_out, struct vv_error *error)
{
    struct vv_pyramid pyramid = {.options = {.store = store, .registry = registry}};
    struct vv_build build = build_of(&pyramid, question, error);
    *answer_out = (struct vv_gone_answer){.unit = {question->time, question->time + 1}};
    if (build.plans.n == 0) { /* nothing of it was ever flushed */
        return VV_OK;
    }
    bool is_shared = store->ops->shared;
    enum vv_status status = is_shared ? look_at_all(&build, question, answer_out) : VV_OK;
    if (status == VV_OK && (!is_shared || build.found)) {
        status = look(&build, question, answer_out);
    }
    for (size_t tier = 0; tier < VV_SPACES; tier++) {
        vv_cover_deinit(&pyramid.levels[tier].cover);
        vv_piece_list_deinit(&pyramid.levels[tier].records);
    }
    vv_frozen_deinit(&pyramid.frozen);
    return status;
}

/* ---- points ---- */

static enum vv_status note_piece(void *context, const struct vv_piece *piece)
{
    bool *has = context;
    *has |= piece->bytes.size > 0;
    return *has ? VV_DONE : VV_OK;
}

enum vv_status vv_gone_look_for_points(struct vv_store *store, struct vv_registry *registry,
                                       const struct vv_gone_question *question, int64_t from,
                                       int64_t to, bool *has_out, struct vv_error *error)
{
    struct vv_pyramid pyramid = {.options = {.store = store, .registry = registry}};
    struct vv_build build = build_of(&pyramid, question, error);
    enum vv_status status = VV_OK;
    *has_out = false;
    while (from < to && build.plans.n > 0 && status == VV_OK && !*has_out) {
        struct vv_bucket bucket = vv_bucket_of(build.plans.plans, build.plans.n, from);
        status = vv_build_read_points(&build, &bucket, from, to, note_piece, has_out);
        from = bucket.end;
    }
    return status;
}
