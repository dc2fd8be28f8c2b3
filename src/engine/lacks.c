/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a tier lacks for good where nodes share a store: by what they have agreed on of retentions
 * that were made longer, and of tiers that were switched on. It could be built again of what it is
 * built of, as far as that went back then. How long that was kept then is not told, but what was
 * shortened since is: so it was kept for no longer than now, or than the longest of these.
 */
#include "engine/lacks.h"

#include "registry/shared.h"

/* How long it was kept at a time, at most; 0: for ever, or nobody knows. */
static int64_t kept_ns_most(struct vv_registry *registry, uint32_t number, int64_t time)
{
    struct vv_whole whole = vv_registry_whole(registry, number);
    int64_t kept_ns = vv_registry_retention(registry, number);
    for (size_t i = 0; i < whole.n; i++) {
        bool was_another = whole.longer[i].kept_ns == 0 && whole.longer[i].from > time;
        kept_ns = was_another ? 0 : kept_ns; /* the tier had another space then */
    }
    for (size_t i = 0; i < whole.n_shorter; i++) {
        bool may_be_since = whole.shorter[i].until > time;
        kept_ns = may_be_since ? vv_retention_longer(kept_ns, whole.shorter[i].before_ns) : kept_ns;
    }
    return whole.n_shorter < VV_SHORTENED_MAX ? kept_ns : 0;
}

/* From when on a tier could be built at a time, at the earliest. */
static int64_t built_from(const struct vv_engine *engine, uint32_t place, enum vv_space tier,
                          int64_t time)
{
    struct vv_registry *registry = engine->registry;
    int64_t kept_ns = kept_ns_most(registry, place, time);
    for (int finer = 0; finer < (int)tier; finer++) {
        uint32_t space;
        if (vv_registry_space(registry, place, (enum vv_space)finer, false, &space, NULL) ==
            VV_OK) {
            kept_ns = vv_retention_longer(kept_ns, kept_ns_most(registry, space, time));
        }
    }
    return kept_ns > 0 && time > VV_TIME_MIN + kept_ns ? time - kept_ns : VV_TIME_MIN;
}

/* What was put of it lives for so much longer than was said. */
static int64_t gone_before(const struct vv_engine *engine, const struct vv_lengthened *longer,
                           int64_t now)
{
    int64_t kept_ns = vv_lengthened_kept_ns(longer, now);
    int64_t slack_ns = engine->settings.cassandra_slack_ns;
    if (kept_ns == 0) { /* it was off */
        return longer->from;
    }
    if (now - slack_ns < VV_TIME_MIN + kept_ns) { /* nor for ever */
        return VV_TIME_MIN;
    }
    int64_t before = now - slack_ns - kept_ns;
    return before < longer->from ? before : longer->from;
}

int64_t vv_lacks_shared(const struct vv_engine *engine, uint32_t space, uint32_t place,
                        enum vv_space tier)
{
    struct vv_whole whole = vv_registry_whole(engine->registry, space);
    int64_t now = engine->clock->wall_ns(engine->clock);
    int64_t told_ns = vv_plans_reach(engine) + VV_CLOCKS_DIFFER_NS;
    int64_t lacked = VV_TIME_MIN;
    /* The first of so many may be two together, which say more than is gone. */
    for (size_t i = whole.n == VV_LENGTHENED_MAX; i < whole.n; i++) {
        const struct vv_lengthened *longer = &whole.longer[i];
        int64_t before = gone_before(engine, longer, now);
        /* When that was, as other nodes may reckon. */
        int64_t from = built_from(engine, place, tier, longer->from - told_ns - VV_HOUR);
        before = from < before ? from : before;
        lacked = before > lacked ? before : lacked;
    }
    return lacked;
}
