/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long points and tiers are kept, by tenant, and by class of one (classes.c). A tier is a
 * space: a tenant to the store, with a retention of its own.
 *
 * A tier is built from what is finer, some time after the end of what is built at once (a day, or
 * 28 days): so what is finer must live longer than that. A tier that is off keeps no trace of what
 * is written meanwhile; so what it had must be gone before it is switched on again. It goes on,
 * unseen, until what is coarser has been built of what it had: on one node until that is so
 * (lives_end.c), beside others for as long as that can take. Until then it can be switched on
 * again as if nothing had been.
 */
#include "engine/lives.h"
#include "registry/shared.h"

/* ---- what must hold ---- */

/* What a tier is built from must live so long: until a unit is over, sealed below, and built. */
static int64_t finer_ns_least(const struct vv_engine *engine, enum vv_space tier)
{
    int64_t least_ns = tier == VV_SPACE_DAY ? 35 * VV_DAY : 2 * VV_DAY;
    return least_ns + vv_lives_longer_wait_ns(&engine->settings);
}

/* The longest retention of what is finer than a tier. */
static int64_t finer_ns(const struct vv_retentions *retentions, enum vv_space tier)
{
    int64_t longest_ns = retentions->raw_ns;
    for (int i = 0; i < (int)tier; i++) {
        if (vv_retentions_have(retentions, (enum vv_space)i)) {
            longest_ns = vv_retention_longer(retentions->tiers_ns[i], longest_ns);
        }
    }
    return longest_ns;
}

static enum vv_status check(const struct vv_engine *engine, const struct vv_retentions *retentions,
                            struct vv_error *error)
{
    static const char *const finer[VV_SPACES] = {"raw points", "raw points or the minute tier",
                                                 "raw points, the minute or the hour tier"};
    for (int i = 0; i < VV_SPACES; i++) {
        enum vv_space tier = (enum vv_space)i;
        int64_t least_ns = finer_ns_least(engine, tier);
        if (vv_retentions_have(retentions, tier) &&
            vv_retention_is_longer(least_ns, finer_ns(retentions, tier))) {
            return vv_error_set(error, VV_INVALID,
                                "the %.*s tier is built from what is finer, which would be gone "
                                "too early: keep %s for %d days at least, or switch it off",
                                VV_STR_ARG(vv_space_word(tier)), finer[tier],
                                (int)((least_ns + VV_DAY - 1) / VV_DAY));
        }
    }
    return VV_OK;
}

/* Whether what the tiers that are off had is gone. */
static bool is_gone(struct vv_engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    bool gone = engine->expire_done > engine->expire_after;
    pthread_mutex_unlock(&engine->lock);
    return gone;
}

static bool is_switched_on(const struct vv_retention_change *change, enum vv_space tier)
{
    return !vv_retentions_have(&change->before, tier) && vv_retentions_have(&change->after, tier);
}

/* What nodes share expires by itself, so there is a class for it. */
static enum vv_status check_shared_tier(struct vv_engine *engine,
                                        const struct vv_retention_change *change,
                                        enum vv_space tier, struct vv_error *error)
{
    struct vv_str word = vv_space_word(tier);
    int64_t classes_ns[VV_SETTINGS_CLASSES_MAX];
    size_t n;
    int64_t kept_ns = change->after.tiers_ns[tier];
    enum vv_status status = vv_settings_classes(&engine->settings, classes_ns, &n, error);
    if (status != VV_OK || !vv_retentions_have(&change->after, tier) || kept_ns == 0 ||
        kept_ns == change->before.tiers_ns[tier] || (n > 0 && kept_ns <= classes_ns[n - 1])) {
        return status;
    }
    return vv_error_set(error, VV_INVALID,
                        "the %.*s tier would be kept for %d days, and no class of "
                        "cassandra.classes is as long: add one on all nodes and run 'varve schema "
                        "--apply', keep the tier for less, or for ever",
                        VV_STR_ARG(word), (int)(kept_ns / VV_DAY));
}

/* Others may have changed the same meanwhile. */
static enum vv_status check_shared(struct vv_engine *engine,
                                   const struct vv_retention_change *change, struct vv_error *error)
{
    enum vv_status status = VV_OK;
    bool changes =
        memcmp(change->before.tiers_ns, change->after.tiers_ns, sizeof change->after.tiers_ns) != 0;
    if (changes && !vv_fleet_is_current(engine->fleet, vv_settings_lead_ns(&engine->settings))) {
        return vv_error_set(error, VV_OVERLOAD,
                            "other nodes could not be heard for a while, and may have changed the "
                            "tiers: try again in some seconds");
    }
    for (int i = 0; i < VV_SPACES && status == VV_OK; i++) {
        status = check_shared_tier(engine, change, (enum vv_space)i, error);
    }
    return status;
}

static enum vv_status refuse_to_begin(struct vv_error *error)
{
    return vv_error_set(error, VV_OVERLOAD,
                        "a tier was switched off, and what it had is still being removed: try "
                        "again in some seconds");
}

static enum vv_status check_tiers(struct vv_engine *engine, struct vv_retention_change *change,
                                  struct vv_error *error)
{
    bool begins_again = false;
    for (int i = 0; i < VV_SPACES; i++) {
        bool is_meant =
            is_switched_on(change, (enum vv_space)i) && change->spaces[i] != VV_REGISTRY_NONE;
        change->goes_on[i] = is_meant && vv_lives_go_on(engine, change->spaces[i]);
        begins_again |= is_meant && !change->goes_on[i];
    }
    enum vv_status status = engine->fleet ? check_shared(engine, change, error) : VV_OK;
    if (status != VV_OK) {
        return status;
    }
    if (begins_again && !engine->fleet && !is_gone(engine)) {
        return refuse_to_begin(error);
    }
    return check(engine, &change->after, error);
}

/* Behind set(): none of those that were to go on has ended just before that. */
static enum vv_status check_they_go_on(struct vv_engine *engine,
                                       const struct vv_retention_change *change,
                                       struct vv_error *error)
{
    bool has_ended = false;
    for (int i = 0; i < VV_SPACES; i++) {
        has_ended |= change->goes_on[i] &&
                     vv_registry_whole(engine->registry, change->spaces[i]).n_shorter == 0;
    }
    return has_ended ? refuse_to_begin(error) : VV_OK;
}

/* ---- the change ---- */

static void look_up(struct vv_engine *engine, struct vv_retention_change *change)
{
    struct vv_registry *registry = engine->registry;
    change->before.raw_ns = vv_registry_retention(registry, change->place);
    for (int i = 0; i < VV_SPACES; i++) {
        uint32_t space;
        bool there = vv_registry_space(registry, change->place, (enum vv_space)i, false, &space,
                                       NULL) == VV_OK;
        change->spaces[i] = space;
        change->before.tiers_ns[i] =
            there ? vv_registry_retention(registry, space) : VV_SPACE_OFF_NS;
    }
}

static int64_t pick(int64_t wanted_ns, int64_t present_ns)
{
    vv_invariant(wanted_ns >= VV_RETENTION_AS_IS);
    return wanted_ns == VV_RETENTION_AS_IS ? present_ns : wanted_ns;
}

static void apply_wishes(struct vv_retention_change *change, const struct vv_retentions *wanted)
{
    change->after.raw_ns = pick(wanted->raw_ns, change->before.raw_ns);
    for (int i = 0; i < VV_SPACES; i++) {
        change->after.tiers_ns[i] = pick(wanted->tiers_ns[i], change->before.tiers_ns[i]);
    }
}

/* Where nodes share the store nothing of what a tier had before goes at once, so it has another
 * space then, unless it goes on. One that was made for a change that failed will do. */
static enum vv_status make_space(struct vv_engine *engine, struct vv_retention_change *change,
                                 enum vv_space tier, struct vv_error *error)
{
    struct vv_registry *registry = engine->registry;
    uint32_t *space = &change->spaces[tier];
    bool had = *space != VV_REGISTRY_NONE;
    bool is_used = had && vv_registry_settled(registry, VV_REGISTRY_TENANT, *space);
    enum vv_status status = VV_OK;
    if (!had) {
        status = vv_registry_space(registry, change->place, tier, true, space, error);
    } else if (engine->fleet && is_used && is_switched_on(change, tier) && !change->goes_on[tier]) {
        status = vv_registry_next_space(registry, change->place, tier, space, error);
    } else {
        return VV_OK;
    }
    vv_registry_set_retention(registry, *space, VV_SPACE_OFF_NS);
    return status;
}

/* Those of tiers that are to be on and never were; until they have a retention they are off. */
static enum vv_status make_spaces(struct vv_engine *engine, struct vv_retention_change *change,
                                  struct vv_error *error)
{
    enum vv_status status = VV_OK;
    for (int i = 0; i < VV_SPACES && status == VV_OK; i++) {
        if (vv_retentions_have(&change->after, (enum vv_space)i)) {
            status = make_space(engine, change, (enum vv_space)i, error);
        }
    }
    return status;
}

/* A tier that is on before the first point lacks nothing (whole.c). */
static void note_switched_on(struct vv_engine *engine, const struct vv_retention_change *change)
{
    struct vv_account_cell *cell =
        vv_account_of(engine, vv_registry_owner(engine->registry, change->place));
    bool is_switched_on = false;
    for (int i = 0; i < VV_SPACES; i++) {
        is_switched_on |= vv_retentions_have(&change->after, (enum vv_space)i) &&
                          !vv_retentions_have(&change->before, (enum vv_space)i);
    }
    if (cell && is_switched_on) {
        atomic_store(&cell->switched_at, atomic_load(&cell->accepted) + 1);
    }
}

/* Also where a change is taken back: a tier that it had switched on may have been seen. Under the
 * lock, as lives end under it (lives_end.c). */
static void set(struct vv_engine *engine, const struct vv_retention_change *change,
                const struct vv_retentions *present, const struct vv_retentions *retentions)
{
    pthread_mutex_lock(&engine->lock);
    vv_registry_set_retention(engine->registry, change->place, retentions->raw_ns);
    for (int i = 0; i < VV_SPACES; i++) {
        vv_registry_set_retention(engine->registry, change->spaces[i], retentions->tiers_ns[i]);
    }
    for (int i = 0; i < VV_SPACES; i++) {
        if (vv_retentions_have(present, (enum vv_space)i) &&
            !vv_retentions_have(retentions, (enum vv_space)i)) {
            engine->expire_after = engine->expire_begun;
        }
    }
    pthread_mutex_unlock(&engine->lock);
}

struct order {
    uint32_t numbers[VV_SPACES + 1];
    size_t n;
};

static void note(struct order *order, const struct vv_retention_change *change, int level,
                 bool lengthens)
{
    uint32_t number = level < 0 ? change->place : change->spaces[level];
    int64_t before_ns = level < 0 ? change->before.raw_ns : change->before.tiers_ns[level];
    int64_t after_ns = level < 0 ? change->after.raw_ns : change->after.tiers_ns[level];
    if (number != VV_REGISTRY_NONE && before_ns != after_ns &&
        vv_retention_is_longer(after_ns, before_ns) == lengthens) {
        order->numbers[order->n++] = number;
    }
}

/* The journal may end after any of them: what becomes longer comes first, the finest (-1: the
 * points) before all, then what becomes shorter, the coarsest before all. So there is never a tier
 * without what it is built from. */
static struct order order_of(const struct vv_retention_change *change)
{
    struct order order = {.n = 0};
    for (int level = -1; level < VV_SPACES; level++) {
        note(&order, change, level, true);
    }
    for (int level = VV_SPACES - 1; level >= -1; level--) {
        note(&order, change, level, false);
    }
    return order;
}

/* A new tenant comes with its retentions: with the default first, others would take it for
 * shortened, or lengthened. */
static enum vv_status journal(struct vv_engine *engine, const struct vv_retention_change *change,
                              struct vv_error *error)
{
    struct vv_batch *batch = NULL;
    enum vv_status status =
        vv_batch_create(vv_registry_owner(engine->registry, change->place), &batch);
    if (status == VV_OK && change->is_new) {
        status = vv_registry_define_tenant(engine->registry, change->place, batch);
    }
    struct order order = order_of(change);
    for (size_t i = 0; i < order.n && status == VV_OK; i++) {
        status = vv_batch_define(batch, VV_REGISTRY_TENANT, order.numbers[i]);
    }
    return vv_engine_journal_made(engine, status, batch, error);
}

enum vv_status vv_engine_check_retentions(struct vv_engine *engine,
                                          const struct vv_retentions *retentions,
                                          struct vv_late late, struct vv_error *error)
{
    const struct vv_retention_change change = {
        .before = {0, {VV_SPACE_OFF_NS, VV_SPACE_OFF_NS, VV_SPACE_OFF_NS}},
        .after = *retentions,
        .is_new = true};
    enum vv_status status = engine->fleet ? check_shared(engine, &change, error) : VV_OK;
    status = status == VV_OK ? check(engine, retentions, error) : status;
    return status == VV_OK ? vv_engine_check_late(engine, retentions, late, error) : status;
}

/* Checked, and with spaces for all tiers that are to be on. */
static enum vv_status prepare(struct vv_engine *engine, struct vv_retention_change *change,
                              const struct vv_retentions *wanted, struct vv_error *error)
{
    look_up(engine, change);
    apply_wishes(change, wanted);
    enum vv_status status = check_tiers(engine, change, error);
    if (status == VV_OK) {
        status = vv_engine_check_late(engine, &change->after,
                                      vv_registry_late(engine->registry, change->place), error);
    }
    return status == VV_OK ? make_spaces(engine, change, error) : status;
}

enum vv_status vv_engine_begin_retentions(struct vv_engine *engine, uint32_t place,
                                          const struct vv_retentions *wanted,
                                          struct vv_error *error)
{
    struct vv_retention_change change = {.place = place, .is_new = true};
    enum vv_status status = prepare(engine, &change, wanted, error);
    if (status == VV_OK) {
        set(engine, &change, &change.before, &change.after);
    }
    return status;
}

void vv_engine_flush_before(struct vv_engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    engine->lives_after = ++engine->flush_requested;
    pthread_cond_broadcast(&engine->committer_wakes);
    pthread_cond_broadcast(&engine->storage_wakes);
    pthread_mutex_unlock(&engine->lock);
}

static enum vv_status change_retentions(struct vv_engine *engine, uint32_t place, bool is_new,
                                        const struct vv_retentions *wanted, struct vv_error *error)
{
    struct vv_retention_change change = {.place = place, .is_new = is_new};
    enum vv_status status = prepare(engine, &change, wanted, error);
    if (status != VV_OK) {
        return status;
    }
    pthread_mutex_lock(&engine->delete_lock); /* no order is taken meanwhile */
    vv_lives_note(engine, &change);
    note_switched_on(engine, &change);
    set(engine, &change, &change.before, &change.after);
    status = check_they_go_on(engine, &change, error);
    if (status == VV_OK) {
        status = journal(engine, &change, error);
    }
    vv_lives_changed(engine);
    if (status != VV_OK && status != VV_UNKNOWN) {
        set(engine, &change, &change.after, &change.before);
    }
    pthread_mutex_unlock(&engine->delete_lock);
    return status;
}

enum vv_status vv_engine_change_retentions(struct vv_engine *engine, uint32_t place,
                                           const struct vv_retentions *wanted,
                                           struct vv_error *error)
{
    return change_retentions(engine, place, false, wanted, error);
}

enum vv_status vv_engine_set_retentions(struct vv_engine *engine, struct vv_str tenant,
                                        const struct vv_retentions *retentions,
                                        struct vv_error *error)
{
    uint32_t number;
    pthread_mutex_lock(&engine->retentions_lock);
    bool is_current =
        engine->fleet && vv_fleet_is_current(engine->fleet, vv_settings_lead_ns(&engine->settings));
    bool is_new = is_current && vv_registry_tenant(engine->registry, tenant, false, &number,
                                                   NULL) == VV_NOT_FOUND;
    enum vv_status status = is_new ? VV_OK : vv_engine_create_tenant(engine, tenant, error);
    if (status == VV_OK) {
        status = vv_registry_tenant(engine->registry, tenant, is_new, &number, error);
    }
    if (status == VV_OK) {
        status = change_retentions(engine, number, is_new, retentions, error);
    }
    pthread_mutex_unlock(&engine->retentions_lock);
    return status;
}

enum vv_status vv_engine_set_retention(struct vv_engine *engine, struct vv_str tenant,
                                       int64_t retention_ns, struct vv_error *error)
{
    struct vv_retentions wanted = {.raw_ns = retention_ns};
    for (int i = 0; i < VV_SPACES; i++) {
        wanted.tiers_ns[i] = VV_RETENTION_AS_IS;
    }
    return vv_engine_set_retentions(engine, tenant, &wanted, error);
}

enum vv_status vv_engine_set_tiers(struct vv_engine *engine, struct vv_str tenant,
                                   const int64_t retention_ns[VV_SPACES], struct vv_error *error)
{
    struct vv_retentions wanted = {.raw_ns = VV_RETENTION_AS_IS};
    memcpy(wanted.tiers_ns, retention_ns, sizeof wanted.tiers_ns);
    return vv_engine_set_retentions(engine, tenant, &wanted, error);
}
