/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replacing frozen days where nodes share the store: what this node does that others are to know
 * of. Runs that replace a day are put as all that makes units stale is, finer tiers first, with
 * what makes the cohorts stale; who owns the source builds the units.
 */
#include "engine/engine_private.h"
#include "registry/shared.h"
#include "seal/stale.h"
#include "tier/unit.h"

static enum vv_status confirm(void *context, struct vv_error *error)
{
    return vv_engine_confirm(context, error);
}

static struct vv_stale_options options_of(struct vv_engine *engine, bool is_whole)
{
    return (struct vv_stale_options){.registry = engine->registry,
                                     .store = engine->store,
                                     .ledger = {.lateness_ns = engine->settings.seal_lateness_ns,
                                                .spread_ns = engine->settings.seal_spread_ns},
                                     .confirm = confirm,
                                     .confirm_context = engine,
                                     .is_whole = is_whole};
}

enum vv_status vv_replace_hear(struct vv_engine *engine, struct vv_error *error)
{
    struct vv_error own = {0};
    if (!engine->fleet) {
        return VV_OK;
    }
    /* All of it: what an earlier request went by, which another node has taken, must be known. */
    return vv_fleet_learn(engine->fleet, &own) == VV_OK
               ? VV_OK
               : vv_error_set(error, VV_OVERLOAD,
                              "what other nodes have told can't be learnt now: try again later");
}

enum vv_status vv_replace_agree(struct vv_engine *engine, uint32_t source,
                                const struct vv_plan *plan, uint64_t rows, int64_t low,
                                int64_t high, struct vv_error *error)
{
    struct vv_first_plan first = {.tenant = vv_registry_source_tenant(engine->registry, source),
                                  .source = source,
                                  .plan = *plan};
    first.plan.share_bits =
        vv_flush_choose_share(engine->registry, engine->store, source, plan, rows, low, high);
    enum vv_status status = vv_fleet_agree(engine->fleet, &first, 1, error);
    return status == VV_OK ? vv_engine_confirm(engine, error) : status;
}

enum vv_status vv_replace_tell(struct vv_engine *engine, uint32_t source, uint32_t measurement,
                               const struct vv_rows *rows, struct vv_error *error)
{
    struct vv_fleet *fleet = engine->fleet;
    if (!fleet) {
        return VV_OK;
    }
    uint32_t place = vv_registry_first_place(engine->registry, measurement); /* nobody moves it */
    struct vv_tiers tiers = vv_registry_tiers(engine->registry, place);
    uint32_t tenant = vv_registry_source_tenant(engine->registry, source);
    enum vv_status status = vv_fleet_tell(fleet, VV_REGISTRY_TENANT, tenant, error);
    if (status == VV_OK && place != tenant) {
        status = vv_fleet_tell(fleet, VV_REGISTRY_TENANT, place, error);
    }
    for (int i = 0; i < VV_SPACES && status == VV_OK; i++) {
        status = tiers.spaces[i] == VV_REGISTRY_NONE
                     ? VV_OK
                     : vv_fleet_tell(fleet, VV_REGISTRY_TENANT, tiers.spaces[i], error);
    }
    if (status == VV_OK) {
        status = vv_fleet_tell(fleet, VV_REGISTRY_SOURCE, source, error);
    }
    if (status == VV_OK) {
        status = vv_fleet_tell(fleet, VV_REGISTRY_MEASUREMENT, measurement, error);
    }
    for (size_t i = 0; i < rows->n_columns && status == VV_OK; i++) {
        status = vv_fleet_tell(fleet, VV_REGISTRY_METRIC, rows->columns[i].metric, error);
    }
    return status;
}

/* ---- putting ---- */

/* With that of its cohort. */
static enum vv_status list_run(struct vv_engine *engine, const struct vv_stale_options *options,
                               const struct vv_piece *run, struct vv_stale_list *list,
                               struct vv_error *error)
{
    struct vv_unit_record record;
    struct vv_stale stale;
    struct vv_stale_unit cohort;
    uint32_t place;
    enum vv_space tier;
    enum vv_status status = vv_unit_read(run->bytes, &record, error);
    if (status != VV_OK ||
        !vv_registry_space_of(engine->registry, run->key.partition.tenant, &place, &tier)) {
        return status; /* a space that is gone has nothing to be replaced */
    }
    vv_stale_begin(&stale, options, place, run->key.partition.source, run->key.measurement,
                   run->run);
    if (stale.plans.n == 0 || stale.tiers.spaces[tier] != run->key.partition.tenant) {
        return VV_OK;
    }
    struct vv_stale_unit item = vv_stale_unit_of(&stale, tier, run->key.span_start);
    item.key = run->key;
    item.to = record.unit.to;
    item.part = run->part;
    item.record = run->bytes;
    status = vv_stale_list_add(list, &item, error);
    if (status == VV_OK) {
        enum vv_status has = vv_stale_cohort(options, tier, &item, &cohort);
        status = has == VV_OK ? vv_stale_list_add(list, &cohort, error) : has;
    }
    return status == VV_DONE ? VV_OK : status;
}

static enum vv_status list_runs(struct vv_engine *engine, const struct vv_stale_options *options,
                                const struct vv_piece_list *runs, struct vv_stale_list *list,
                                struct vv_error *error)
{
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < runs->n && status == VV_OK; i++) {
        status = list_run(engine, options, &runs->items[i], list, error);
    }
    return status;
}

enum vv_status vv_replace_check_held(struct vv_engine *engine, const struct vv_piece_list *runs,
                                     struct vv_error *error)
{
    const struct vv_stale_options options = options_of(engine, true);
    struct vv_stale_list list = {0};
    enum vv_status status = list_runs(engine, &options, runs, &list, error);
    if (status == VV_OK) {
        status = vv_stale_check_held(&options, &list, INT64_MAX, error);
    }
    vv_stale_list_deinit(&list);
    return status;
}

/* What would be parked by now waits with this node, as all that it has acknowledged. */
enum vv_status vv_replace_put_runs(struct vv_engine *engine, const struct vv_piece_list *runs,
                                   struct vv_error *error)
{
    const struct vv_stale_options options = options_of(engine, false);
    struct vv_stale_list list = {0};
    enum vv_status status = vv_engine_confirm(engine, error); /* what was told of them */
    if (status == VV_OK) {
        status = list_runs(engine, &options, runs, &list, error);
    }
    if (status == VV_OK) {
        status = vv_stale_put_list(&options, &list, INT64_MAX, error);
    }
    vv_stale_list_deinit(&list);
    return status == VV_OK ? vv_engine_confirm(engine, error) : status;
}
