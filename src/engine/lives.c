/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a change of retentions leaves of what was there before: noted with the change, and told with
 * it where nodes share the store (vv_registry_note_whole).
 */
#include "engine/lives.h"
#include "registry/shared.h"
#include "seal/gone.h"
#include "tier/unit.h"

int64_t vv_lives_longer_wait_ns(const struct vv_settings *settings)
{
    int64_t lateness_ns = settings->seal_lateness_ns - VV_HOUR;
    int64_t spread_ns = settings->seal_spread_ns - VV_DAY; /* as far as a span is long */
    return (lateness_ns > 0 ? lateness_ns : 0) + (spread_ns > 0 ? spread_ns : 0);
}

int64_t vv_lives_due_ns(enum vv_space tier)
{
    return tier == VV_SPACE_DAY ? VV_TIER_DUE_NS_MAX : VV_DAY;
}

/* By then all nodes know of a change. */
static int64_t known_at(struct vv_engine *engine, int64_t now)
{
    return now + VV_CLOCKS_DIFFER_NS + vv_plans_reach(engine);
}

static struct vv_retentions lives_by(const struct vv_engine *engine, uint32_t place, int64_t at_ns,
                                     int64_t (*life)(struct vv_registry *, uint32_t, int64_t))
{
    struct vv_retentions retentions = vv_engine_retentions(engine, place);
    struct vv_tiers tiers = vv_registry_tiers_built(engine->registry, place);
    if (engine->fleet) {
        return retentions;
    }
    retentions.raw_ns = life(engine->registry, place, at_ns);
    for (int i = 0; i < VV_SPACES; i++) {
        if (tiers.spaces[i] != VV_REGISTRY_NONE) {
            retentions.tiers_ns[i] = life(engine->registry, tiers.spaces[i], at_ns);
        }
    }
    return retentions;
}

struct vv_retentions vv_lives_retentions(const struct vv_engine *engine, uint32_t place,
                                         int64_t at_ns)
{
    return lives_by(engine, place, at_ns, vv_registry_life);
}

struct vv_retentions vv_lives_by_clock(const struct vv_engine *engine, uint32_t place,
                                       int64_t at_ns)
{
    return lives_by(engine, place, at_ns, vv_registry_life_by_clock);
}

/* Whether a tier that is off can go on as if nothing had been. Other nodes must hear of it before
 * they take it for ended. */
bool vv_lives_go_on(struct vv_engine *engine, uint32_t space)
{
    struct vv_whole whole = vv_registry_whole(engine->registry, space);
    int64_t now = engine->clock->wall_ns(engine->clock);
    return vv_registry_is_ending(engine->registry, space) &&
           (!engine->fleet || known_at(engine, now) < vv_whole_until(&whole));
}

/* What is shortened: until then what was to live for longer does, if something may have to be built
 * of it. Beside other nodes it has as long for that as what is put lives at least
 * (store/cassandra/retention.c); alone it ends when all is built (lives_end.c). */
static int64_t lives_until(const struct vv_engine *engine, int64_t now)
{
    return engine->fleet ? now + engine->settings.cassandra_slack_ns - VV_CLOCKS_DIFFER_NS
                         : now + VV_LIVES_ON_NS + engine->settings.late_fold_every_ns +
                               vv_lives_longer_wait_ns(&engine->settings);
}

static void limit(int64_t *from, int64_t at_ns, int64_t kept_ns)
{
    *from = kept_ns > 0 && *from < at_ns - kept_ns ? at_ns - kept_ns : *from;
}

void vv_lives_limit(struct vv_reroll_bounds *bounds, const struct vv_retentions *kept,
                    int64_t at_ns)
{
    limit(&bounds->raw_from, at_ns, kept->raw_ns);
    for (int i = 0; i < VV_SPACES; i++) {
        limit(&bounds->tier_from[i], at_ns, kept->tiers_ns[i]);
    }
}

/* Of the points (-1) or a tier: until the units that are open now are built, where these lack
 * something without what it had; 0: nothing is built of it. */
static int64_t needed_until(struct vv_engine *engine, const struct vv_retention_change *change,
                            int level, int64_t now)
{
    int64_t longest_ns = vv_tier_unit_ns_max(VV_SPACE_DAY) + VV_TIER_DUE_NS_MAX;
    struct vv_reroll_bounds bounds = vv_whole_bounds_for(engine, change->place, longest_ns);
    struct vv_tiers left = {.any = true};
    int64_t until = 0;
    vv_lives_limit(&bounds, &change->after, now);
    for (int i = 0; i < VV_SPACES; i++) {
        bool is_on = vv_retentions_have(&change->after, (enum vv_space)i);
        left.spaces[i] = is_on ? change->spaces[i] : VV_REGISTRY_NONE;
    }
    for (int i = level + 1; i < VV_SPACES; i++) {
        int64_t unit_ns = vv_tier_unit_ns_max((enum vv_space)i) +
                          (engine->fleet ? VV_TIER_DUE_NS_MAX : vv_lives_due_ns((enum vv_space)i));
        bool lacks = vv_gone_whole_below(&left, &bounds, (enum vv_space)i) > now - unit_ns;
        int64_t built_at = lives_until(engine, lacks ? now + unit_ns : now);
        if (left.spaces[i] != VV_REGISTRY_NONE && built_at > until) {
            until = built_at;
        }
    }
    return until;
}

/* One of the retentions of a change. */
struct one {
    int level; /* a tier, or -1: the points */
    uint32_t number;
    int64_t before_ns;
    int64_t after_ns;
    bool was_off;
    bool goes_on;
};

static struct one one_of(const struct vv_retention_change *change, int level)
{
    if (level < 0) {
        return (struct one){.level = level,
                            .number = change->place,
                            .before_ns = change->before.raw_ns,
                            .after_ns = change->after.raw_ns};
    }
    return (struct one){.level = level,
                        .number = change->spaces[level],
                        .before_ns = change->before.tiers_ns[level],
                        .after_ns = change->after.tiers_ns[level],
                        .was_off = !vv_retentions_have(&change->before, (enum vv_space)level),
                        .goes_on = change->goes_on[level]};
}

/* Where nodes share a store, what is there keeps the end that it was given, and a tier that was off
 * lacks what came meanwhile, unless it went on: which is said with the new retention, for all
 * nodes. What was to live for longer still does. Of what went on that counts which still lives when
 * others know: until then they put it so. */
static void note_longer(struct vv_engine *engine, uint32_t place, const struct one *one,
                        int64_t now)
{
    struct vv_registry *registry = engine->registry;
    struct vv_whole before = vv_registry_whole(registry, one->number);
    bool is_begun = one->was_off && !one->goes_on;
    struct vv_shortened life;
    int64_t seen = one->goes_on ? known_at(engine, now) : now;
    bool lives = vv_whole_lives(&before, one->before_ns, seen, &life);
    int64_t kept_ns = one->goes_on ? life.before_ns : one->before_ns;
    struct vv_lengthened longer = {known_at(engine, now), is_begun ? 0 : kept_ns, 0, 0};
    uint32_t owner = vv_registry_owner(registry, place);
    bool lacks_none = is_begun && vv_registry_tenant_sources(registry, owner) == 0;
    struct vv_rebuilt built = {lacks_none ? longer.from : 0, lacks_none ? VV_TIME_MIN : 0};
    if (lives && !one->was_off) {
        longer.until = life.until;
        longer.lived_ns = life.before_ns;
    }
    if (one->after_ns != VV_SPACE_OFF_NS &&
        (is_begun || vv_retention_is_longer(one->after_ns, kept_ns))) {
        vv_registry_note_whole(registry, one->number,
                               (struct vv_whole){.longer = {longer}, .n = 1, .built = built});
    }
}

/* Beside others points that are put from now on live by the new retention, and what was put before
 * goes by itself; alone, all is there until it is built of. */
static int64_t level_lives_until(struct vv_engine *engine, const struct vv_retention_change *change,
                                 int level, int64_t now)
{
    int64_t least = lives_until(engine, now);
    int64_t until = engine->fleet && level < 0 ? least : needed_until(engine, change, level, now);
    return engine->fleet || until > least ? until : least;
}

/* How long it was before: spans may wait to be sealed, or units to be built, of what was to live
 * for longer. Alone, something may live on for longer still. */
static void note_shorter(struct vv_engine *engine, const struct vv_retention_change *change,
                         const struct one *one, int64_t now)
{
    struct vv_registry *registry = engine->registry;
    if (one->was_off || !vv_retention_is_longer(one->before_ns, one->after_ns)) {
        return;
    }
    int64_t until = level_lives_until(engine, change, one->level, now);
    const struct vv_shortened shorter = {
        until, engine->fleet ? one->before_ns : vv_registry_life(registry, one->number, now)};
    if (until > 0) {
        vv_registry_note_whole(registry, one->number,
                               (struct vv_whole){.shorter = {shorter}, .n_shorter = 1});
    }
}

void vv_lives_note(struct vv_engine *engine, const struct vv_retention_change *change)
{
    int64_t now = engine->clock->wall_ns(engine->clock);
    for (int level = -1; level < VV_SPACES && !change->is_new; level++) {
        struct one one = one_of(change, level);
        if (one.number != VV_REGISTRY_NONE) {
            if (engine->fleet) {
                note_longer(engine, change->place, &one, now);
            }
            note_shorter(engine, change, &one, now);
        }
    }
}
