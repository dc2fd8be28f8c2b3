/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a tier lacks where nodes share a store: by what they have agreed on of retentions that were
 * made longer, of tiers that were switched on, and of rerolls since. A reroll of all builds what
 * was not built then, and gives what was to live for less the longer life (seal/reroll.c).
 */
#include "engine/lacks.h"

#include "registry/shared.h"

/* What was put is there by itself for so much longer than was said. */
static int64_t gone_at(const struct vv_engine *engine, int64_t now)
{
    return now - engine->settings.cassandra_slack_ns;
}

/* By itself: it may be answered of what is finer. What came while it was off never was there. */
static int64_t lacked_by(const struct vv_engine *engine, uint32_t space, int64_t now)
{
    struct vv_whole whole = vv_registry_whole(engine->registry, space);
    int64_t lacked = VV_TIME_MIN;
    for (size_t i = 0; i < whole.n; i++) { /* the first may be two together, which say more */
        bool was_off = vv_lengthened_kept_ns(&whole.longer[i], now) == 0;
        int64_t at = was_off ? INT64_MAX : gone_at(engine, now);
        int64_t before = vv_whole_gone_by(&whole, i, at, now);
        lacked = before > lacked ? before : lacked;
    }
    return lacked;
}

static int64_t kept_from(const struct vv_engine *engine, uint32_t number, int64_t now)
{
    int64_t kept_ns = vv_registry_retention(engine->registry, number);
    return kept_ns > 0 && now > VV_TIME_MIN + kept_ns ? now - kept_ns : VV_TIME_MIN;
}

/* Of the points: what is older is hidden, or may have gone. */
static int64_t points_from(const struct vv_engine *engine, uint32_t place, int64_t now)
{
    struct vv_whole whole = vv_registry_whole(engine->registry, place);
    int64_t from = kept_from(engine, place, now);
    int64_t gone = vv_whole_gone(&whole, gone_at(engine, now), now);
    return gone > from ? gone : from;
}

static int64_t tier_from(const struct vv_engine *engine, uint32_t space, int64_t now)
{
    int64_t from = kept_from(engine, space, now);
    int64_t lacked = lacked_by(engine, space, now);
    return lacked > from ? lacked : from;
}

/* Of what is finer than a tier, from when on any has all. */
static int64_t finer_from(const struct vv_engine *engine, uint32_t place, enum vv_space tier,
                          int64_t now)
{
    struct vv_tiers tiers = vv_registry_tiers(engine->registry, place);
    int64_t earliest = points_from(engine, place, now);
    for (int finer = 0; finer < (int)tier; finer++) {
        if (tiers.spaces[finer] != VV_REGISTRY_NONE) {
            int64_t from = tier_from(engine, tiers.spaces[finer], now);
            earliest = from < earliest ? from : earliest;
        }
    }
    return earliest;
}

int64_t vv_lacks_shared(const struct vv_engine *engine, uint32_t space, uint32_t place,
                        enum vv_space tier)
{
    int64_t now = engine->clock->wall_ns(engine->clock);
    int64_t lacked = lacked_by(engine, space, now);
    int64_t finer = finer_from(engine, place, tier, now);
    return finer < lacked ? finer : lacked;
}

/* Where nothing is there any more it can't be told from where nothing ever was. */
enum vv_status vv_lacks_note_built(struct vv_engine *engine, uint32_t space, int64_t longer_from,
                                   int64_t from, int64_t to)
{
    uint32_t place;
    enum vv_space tier;
    if (longer_from == 0 || to < longer_from ||
        !vv_registry_space_of(engine->registry, space, &place, &tier)) {
        return VV_OK;
    }
    int64_t now = engine->clock->wall_ns(engine->clock);
    int64_t finer = finer_from(engine, place, tier, now);
    from = finer > from ? finer : from;
    if (from >= longer_from) {
        return VV_OK;
    }
    vv_registry_note_whole(engine->registry, space,
                           (struct vv_whole){.built = {longer_from, from}});
    return vv_fleet_keep(engine->fleet, VV_REGISTRY_TENANT, space);
}
