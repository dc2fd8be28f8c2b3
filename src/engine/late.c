/* SPDX-License-Identifier: Apache-2.0 */
/* What tenants want done with points that come late. */
#include "engine/engine_private.h"

_Static_assert(VV_SETTINGS_FOLD_NS_MAX <= VV_LATE_FOLD_NS_MAX, "no fold is further away");

struct vv_late vv_engine_late_of(const struct vv_settings *settings)
{
    struct vv_late late = {VV_LATE_ACCEPT, 0};
    bool found = vv_late_of_word(vv_str_of(settings->late_policy), &late.policy);
    vv_invariant(found);
    late.limit_ns = late.policy == VV_LATE_ACCEPT ? 0 : settings->late_limit_ns;
    return late;
}

/* Whether late points can be kept apart until they are folded. */
static bool is_enough(const struct vv_engine *engine, const struct vv_retentions *retentions,
                      struct vv_late late)
{
    int64_t age_ns = vv_engine_age_by(engine, retentions, late);
    return age_ns == 0 || late.limit_ns < age_ns;
}

/* So long raw points would have to be kept, in whole hours: then what any tier is built of is. */
static int64_t hours_enough(const struct vv_engine *engine, struct vv_retentions retentions,
                            struct vv_late late)
{
    int64_t longest_ns = vv_tier_unit_ns_max(VV_SPACE_DAY) + VV_TIERS_SLACK_NS;
    int64_t least = late.limit_ns / VV_HOUR; /* too few … */
    int64_t most =                           /* … and enough for any tier */
        (late.limit_ns + longest_ns + engine->settings.late_fold_every_ns) / VV_HOUR + 2;
    while (most - least > 1) {
        int64_t hours = least + (most - least) / 2;
        retentions.raw_ns = hours * VV_HOUR;
        if (is_enough(engine, &retentions, late)) {
            most = hours;
        } else {
            least = hours;
        }
    }
    return most;
}

enum vv_status vv_engine_check_late(const struct vv_engine *engine,
                                    const struct vv_retentions *retentions, struct vv_late late,
                                    struct vv_error *error)
{
    char limit[VV_TIME_TEXT_SIZE];
    if (late.policy != VV_LATE_SEPARATE || is_enough(engine, retentions, late)) {
        return VV_OK;
    }
    vv_duration_format(late.limit_ns, limit);
    return vv_error_set(error, VV_INVALID,
                        "late points could not be kept apart until they are folded: what tiers are "
                        "built of would be gone by then: with this limit (%s) keep raw points for "
                        "%lldh, take a shorter limit, or fold more often (late.fold_every)",
                        limit, (long long)hours_enough(engine, *retentions, late));
}

static enum vv_status check(struct vv_engine *engine, uint32_t tenant, struct vv_late late,
                            struct vv_error *error)
{
    if (!vv_late_is_good(late)) {
        return vv_error_set(error, VV_INVALID,
                            "the limit for late points must be whole seconds, from 1s to 36525d");
    }
    uint32_t places[VV_PLACES_MAX];
    size_t n = vv_registry_places(engine->registry, tenant, places);
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        struct vv_retentions retentions = vv_engine_retentions(engine, places[i]);
        status = vv_engine_check_late(engine, &retentions, late, error);
    }
    return status;
}

/* Spaces of late points, of the tenant and of its classes. */
struct spaces {
    uint32_t numbers[VV_PLACES_MAX];
    size_t n;
};

static enum vv_status make_spaces(struct vv_engine *engine, uint32_t tenant, struct spaces *spaces,
                                  struct vv_error *error)
{
    uint32_t places[VV_PLACES_MAX];
    size_t n = vv_registry_places(engine->registry, tenant, places);
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        status = vv_registry_space(engine->registry, places[i], VV_SPACE_LATE, true,
                                   &spaces->numbers[i], error);
        spaces->n += status == VV_OK;
    }
    return status;
}

/* The spaces come first: there is never a tenant that keeps late points apart, and has no place for
 * them. */
static enum vv_status journal(struct vv_engine *engine, uint32_t tenant,
                              const struct spaces *spaces, struct vv_error *error)
{
    struct vv_batch *batch = NULL;
    enum vv_status status = vv_batch_create(tenant, &batch);
    for (size_t i = 0; i < spaces->n && status == VV_OK; i++) {
        status = vv_batch_define(batch, VV_REGISTRY_TENANT, spaces->numbers[i]);
    }
    if (status == VV_OK) {
        status = vv_batch_define(batch, VV_REGISTRY_TENANT, tenant);
    }
    return vv_engine_journal_made(engine, status, batch, error);
}

static enum vv_status change(struct vv_engine *engine, uint32_t tenant,
                             const struct vv_late_wish *wish, struct vv_error *error)
{
    struct vv_late before = vv_registry_late(engine->registry, tenant);
    struct vv_late after = before;
    after.policy = wish->has_policy ? wish->policy : before.policy;
    after.limit_ns = wish->limit_ns > 0 ? wish->limit_ns : before.limit_ns;
    if (after.limit_ns == 0 && after.policy != VV_LATE_ACCEPT) {
        after.limit_ns = engine->settings.late_limit_ns;
    }
    struct spaces spaces = {.n = 0};
    enum vv_status status = check(engine, tenant, after, error);
    if (status == VV_OK && after.policy == VV_LATE_SEPARATE) {
        status = make_spaces(engine, tenant, &spaces, error);
    }
    if (status != VV_OK) {
        return status;
    }
    vv_registry_set_late(engine->registry, tenant, after);
    status = journal(engine, tenant, &spaces, error);
    if (status != VV_OK && status != VV_UNKNOWN) {
        vv_registry_set_late(engine->registry, tenant, before);
    }
    return status;
}

enum vv_status vv_engine_set_late(struct vv_engine *engine, struct vv_str tenant,
                                  const struct vv_late_wish *wish, struct vv_error *error)
{
    uint32_t number;
    pthread_mutex_lock(&engine->retentions_lock);
    enum vv_status status = vv_engine_create_tenant(engine, tenant, error);
    if (status == VV_OK) {
        status = vv_registry_tenant(engine->registry, tenant, false, &number, error);
    }
    if (status == VV_OK) {
        status = change(engine, number, wish, error);
    }
    pthread_mutex_unlock(&engine->retentions_lock);
    return status;
}
