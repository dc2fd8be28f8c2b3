/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Other nodes' news: learnt every now and then, and kept with a confirm. That others cannot be
 * asked is no failure of the store: what this node knows goes on, and it asks again.
 */
#include "engine/engine_private.h"

static const struct vv_outage learn_outage = {"learn_failed", "learn_again",
                                              "this node hears of others again"};

#define TELL_SLICE    4096 /* objects, of a store that was not shared before */
#define MARKERS_SLICE 1024 /* sources of which something was deleted */

enum vv_status vv_engine_confirm(struct vv_engine *engine, struct vv_error *error)
{
    return engine->fleet ? vv_fleet_confirm(engine->fleet, error)
                         : engine->store->ops->confirm(engine->store, error);
}

enum vv_status vv_learn_if_old(struct vv_engine *engine, struct vv_error *error)
{
    if (!engine->fleet ||
        vv_fleet_is_current(engine->fleet, vv_settings_hearing_ns(&engine->settings))) {
        return VV_OK;
    }
    return vv_fleet_learn(engine->fleet, error);
}

enum vv_status vv_learn_before_seal(void *context, struct vv_error *error)
{
    struct vv_engine *engine = context;
    return engine->fleet ? vv_fleet_learn(engine->fleet, error) : VV_OK;
}

bool vv_is_told(void *context, uint32_t space)
{
    struct vv_engine *engine = context;
    return !engine->fleet || vv_fleet_has_told(engine->fleet, space);
}

/* A source that could not be taken here, as there are too many, others may know all the same. */
enum vv_status vv_learn_sources(void *context, uint32_t tenant, bool *all_out,
                                struct vv_error *error)
{
    struct vv_engine *engine = context;
    *all_out = false;
    if (!engine->fleet) {
        return VV_OK;
    }
    enum vv_status status = vv_fleet_learn(engine->fleet, error);
    if (status != VV_OK) {
        return vv_error_prefix(error, VV_OVERLOAD, "what others told can't be learnt now");
    }
    *all_out =
        !vv_fleet_lacks_any(engine->fleet, vv_registry_tenant_name(engine->registry, tenant));
    return status;
}

enum vv_status vv_engine_check_waits(struct vv_engine *engine, struct vv_error *error)
{
    return engine->fleet ? vv_fleet_check_waits(engine->fleet, error) : VV_OK;
}

bool vv_learning_is_due(const struct vv_engine *engine)
{
    return engine->fleet && engine->clock->monotonic_ns(engine->clock) >= engine->learn_at_ns;
}

/* What is heard from others may be against the settings. */
static enum vv_status learn(struct vv_engine *engine, struct vv_error *error)
{
    enum vv_status status = vv_fleet_learn(engine->fleet, error);
    return status == VV_OK ? vv_engine_check_classes(engine, error) : status;
}

enum vv_status vv_learn_at_start(struct vv_engine *engine, struct vv_error *error)
{
    struct vv_error own = {0};
    if (!engine->fleet) {
        return VV_OK;
    }
    enum vv_status status = vv_fleet_learn(engine->fleet, &own);
    vv_outage_note(&engine->learn_failed, &learn_outage, status, &own);
    return vv_engine_check_classes(engine, error);
}

enum vv_status vv_learning_step(struct vv_engine *engine, bool *failed_out, struct vv_error *error)
{
    *failed_out = false;
    if (!engine->fleet) {
        return VV_DONE;
    }
    engine->learn_at_ns =
        engine->clock->monotonic_ns(engine->clock) + engine->settings.fleet_poll_ns;
    struct vv_error own = {0};
    enum vv_status learnt = learn(engine, &own);
    vv_outage_note(&engine->learn_failed, &learn_outage, learnt, &own);
    enum vv_status told = vv_fleet_tell_rest(engine->fleet, TELL_SLICE, error);
    bool news = told == VV_OK || vv_fleet_has_learnt(engine->fleet);
    if (told == VV_OK || told == VV_DONE) { /* no later than that: others answer with it so long */
        told = vv_fleet_tell_all_markers(engine->fleet, MARKERS_SLICE, error);
        news = news || told == VV_OK;
    }
    enum vv_status status = told == VV_DONE ? VV_OK : told;
    if (status == VV_OK && news) {
        status = vv_engine_confirm(engine, error);
    }
    if (status == VV_OK && learnt == VV_OK) { /* behind all that is kept and told by now */
        told = vv_fleet_tell_heard(engine->fleet, error);
        status = told == VV_OK ? vv_engine_confirm(engine, error) : told;
        status = status == VV_DONE ? VV_OK : status;
    }
    if (status == VV_OK && learnt == VV_OK) {
        told = vv_fleet_step_moves(engine->fleet, error);
        status = told == VV_OK ? vv_engine_confirm(engine, error) : told;
        status = status == VV_DONE ? VV_OK : status;
    }
    *failed_out = status != VV_OK;
    if (status == VV_OK && vv_fleet_has_told_moves(engine->fleet)) {
        bool is_current =
            vv_fleet_has_heard_all(engine->fleet, vv_settings_hearing_ns(&engine->settings));
        status = vv_fleet_settle(engine->fleet, is_current, failed_out, error);
        status = status == VV_DONE ? VV_OK : status;
    }
    if (status != VV_OK) {
        return status;
    }
    if (learnt != VV_OK) {
        return vv_error_set(error, learnt, "%s", own.message);
    }
    return news ? VV_OK : VV_DONE;
}
