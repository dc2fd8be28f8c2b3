/* SPDX-License-Identifier: Apache-2.0 */
/* What a unit is built of may have expired: then records that have it stay as they are. */
#include "base/log.h"
#include "seal/pyramid_private.h"

/* The records of a tier that the unit is in; of its own tier only that of the unit. */
static enum vv_status read_records(struct vv_build *build, enum vv_space tier,
                                   struct vv_frozen_records *records)
{
    struct vv_store *store = build->pyramid->options.store;
    const struct vv_store_read own = {.partition = build->unit.partition,
                                      .measurement = build->unit.measurement,
                                      .span_from = build->unit.span_start,
                                      .span_to = build->unit.span_start + 1};
    if (records->is_read) {
        return VV_OK;
    }
    records->is_read = true;
    return tier == build->tier
               ? store->ops->read(store, &own, vv_frozen_take, records, build->error)
               : vv_build_read_tier(build, tier, build->unit.span_start, build->unit_to,
                                    vv_frozen_take, records);
}

/* What only a finer record has, which is itself to be built, would be lost to this unit for good:
 * that one keeps what it has, and is read when it has been built. */
static enum vv_status look_for_stale(struct vv_build *build, enum vv_space tier, int64_t from,
                                     int64_t to, bool *has_out)
{
    const struct vv_pyramid_level *level = &build->pyramid->levels[tier];
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < level->records.n && status == VV_OK && !*has_out; i++) {
        struct vv_unit_record record;
        struct vv_str bytes = level->records.items[i].bytes;
        bool is_it = vv_unit_read(bytes, &record, NULL) == VV_OK && record.unit.from < to &&
                     record.unit.to > from &&
                     vv_cover_is_stale(&level->cover, record.unit.from, record.unit.to);
        status = is_it ? vv_frozen_meets(bytes, from, to, has_out) : VV_OK;
        if (status == VV_OK && *has_out) {
            vv_build_wait_for(build, tier, record.unit.from);
        }
    }
    return status;
}

/* A finer unit without a record is built first, too: behind this one, which has steps of its time
 * then, and of others that are gone, it would be taken for what is left of them. One that is not
 * built for that long never will be (damaged, too large). */
static bool waits_to_be_built(struct vv_build *build, enum vv_space tier, int64_t from, int64_t to)
{
    const struct vv_pyramid_level *level = &build->pyramid->levels[tier];
    bool is_recent = level->stale_us * VV_MICROSECOND > build->now_ns - VV_TIER_DUE_NS_MAX;
    for (size_t i = 0; is_recent && i < level->cover.n_stale; i++) {
        if (level->cover.stale[i].from < to && level->cover.stale[i].to > from) {
            vv_build_wait_for(build, tier, level->cover.stale[i].from);
            return true;
        }
    }
    return false;
}

static enum vv_status wait_for_finer(struct vv_build *build, int64_t from, int64_t to)
{
    bool has = false;
    enum vv_status status = VV_OK;
    for (int i = 0; i < (int)build->tier && status == VV_OK && !has; i++) {
        enum vv_space tier = (enum vv_space)i;
        bool is_on = build->tiers.spaces[tier] != VV_REGISTRY_NONE;
        if (is_on && vv_cover_is_stale(&build->pyramid->levels[tier].cover, from, to)) {
            status = look_for_stale(build, tier, from, to, &has);
            has = status == VV_OK && (has || waits_to_be_built(build, tier, from, to));
        }
    }
    if (status != VV_OK || !has) {
        return status;
    }
    return vv_error_set(build->error, VV_OVERLOAD,
                        "what is left of what a unit is built of is not built yet");
}

/* Where nodes share the store, one of them may be newer, and has written it: built without it the
 * unit would lose what it has. Alone, what a record that can't be read had is lost. */
static enum vv_status check_readable(struct vv_build *build, const struct vv_frozen_found *found)
{
    bool may_have =
        found->is_unreadable && !found->has && !found->covers && vv_build_is_shared(build);
    build->keeps |= may_have && build->is_question; /* as long as it can't be built */
    return may_have && !build->is_question
               ? vv_error_set(build->error, VV_CORRUPT,
                              "a record that has what has expired is damaged, or newer than this "
                              "program: start a newer one")
               : VV_OK;
}

/* From then on what no finer record has was not there: coarser steps may be longer than these, and
 * have something beside what is asked about. */
static int64_t finer_whole_from(const struct vv_build *build, int64_t from, int64_t to)
{
    const struct vv_pyramid_options *options = &build->pyramid->options;
    int64_t whole_from = build->whole_from;
    bool is_known = build->is_question || options->records_from;
    for (int i = 0; is_known && i < (int)build->tier; i++) {
        uint32_t space = build->tiers.spaces[i];
        if (space == VV_REGISTRY_NONE ||
            vv_cover_is_stale(&build->pyramid->levels[i].cover, from, to)) {
            continue;
        }
        int64_t all_from = build->is_question
                               ? build->tiers_from[i]
                               : options->records_from(options->whole_context, space);
        whole_from = all_from < whole_from ? all_from : whole_from;
    }
    return whole_from;
}

/* Where a record covers all of it and has nothing, nothing was there: coarser steps, which are
 * longer, need not be asked. Finer records are left out where coarser ones have more: those would
 * be built of the late points alone. */
enum vv_status vv_build_look_at_gone(struct vv_build *build, int64_t from, int64_t to)
{
    struct vv_pyramid *pyramid = build->pyramid;
    struct vv_frozen_found found = {0};
    to = to < build->whole_from ? to : build->whole_from;
    if (from >= to) {
        return VV_OK;
    }
    /* By when a unit is built that is only asked about, what is finer will have been. */
    enum vv_status status = build->is_question ? VV_OK : wait_for_finer(build, from, to);
    int64_t all_from = finer_whole_from(build, from, to);
    to = to < all_from ? to : all_from;
    if (from >= to) {
        return status;
    }
    for (int tier = (int)build->tier;
         tier < VV_SPACES && !build->keeps && !found.covers && status == VV_OK; tier++) {
        struct vv_frozen_records *records = &pyramid->frozen.tiers[tier];
        if (build->tiers.spaces[tier] == VV_REGISTRY_NONE) {
            continue;
        }
        status = read_records(build, (enum vv_space)tier, records);
        if (status == VV_OK) {
            status = vv_frozen_look(records, from, to, &build->expired, &found);
            build->keeps = found.has;
        }
        if (status == VV_OK) {
            status = check_readable(build, &found);
        }
    }
    return status == VV_NO_MEMORY
               ? vv_error_set(build->error, status, "out of memory while building tiers")
               : status;
}

static void tell_kept(const struct vv_build *build)
{
    struct vv_registry *registry = build->pyramid->options.registry;
    struct vv_str source = vv_registry_source_id(registry, build->source);
    struct vv_str measurement = vv_registry_measurement_name(registry, build->measurement);
    char time[VV_TIME_TEXT_SIZE];
    vv_time_format(build->unit.span_start, time);
    vv_log(VV_LOG_WARN, "tier_kept",
           "source=%.*s measurement=%.*s from=%s message=\"points came late for what has expired: "
           "they are in no tier, which keeps what it had\"",
           VV_STR_ARG(source), VV_STR_ARG(measurement), time);
}

static void note_kept(struct vv_pyramid *pyramid, const struct vv_kept_unit *unit)
{
    for (size_t i = 0; i < pyramid->n_kept_units; i++) {
        if (vv_span_key_compare(&pyramid->kept_units[i].key, &unit->key) == 0) {
            return;
        }
    }
    pyramid->kept_units[pyramid->next_kept_unit] = *unit;
    pyramid->next_kept_unit = (pyramid->next_kept_unit + 1) % VV_KEPT_UNITS_MAX;
    pyramid->n_kept_units += pyramid->n_kept_units < VV_KEPT_UNITS_MAX;
}

enum vv_status vv_build_keep_record(struct vv_build *build, int64_t made_from,
                                    struct vv_piece_list *blocks_out)
{
    struct vv_pyramid *pyramid = build->pyramid;
    struct vv_frozen_records *records = &pyramid->frozen.tiers[build->tier];
    bool is_cut = false;
    enum vv_status status = VV_OK;
    build->whole_at = 0;
    if (pyramid->options.store->ops->shared) { /* else it is cut out of the record (cut.c) */
        status = vv_build_apply_deletions(build, &records->parts, &is_cut);
    }
    if (status != VV_OK) {
        return status;
    }
    if (!is_cut && build->is_late) {
        const struct vv_kept_unit unit = {build->unit, build->unit_to};
        tell_kept(build);
        note_kept(pyramid, &unit);
    }
    pyramid->kept.cut += is_cut;
    pyramid->kept.as_it_was += !is_cut && build->is_late;
    return vv_frozen_keep(records, made_from, blocks_out);
}

void vv_build_wait_for(struct vv_build *build, enum vv_space tier, int64_t from)
{
    build->pyramid->waits = true;
    build->pyramid->waits_for =
        vv_unit_key(tier, build->tiers.spaces[tier], build->source, build->measurement, from);
}

void vv_pyramid_begin_span(struct vv_pyramid *pyramid)
{
    pyramid->waits = false;
}

const struct vv_span_key *vv_pyramid_waits_for(const struct vv_pyramid *pyramid)
{
    return pyramid->waits ? &pyramid->waits_for : NULL;
}

size_t vv_pyramid_kept_units(const struct vv_pyramid *pyramid,
                             struct vv_kept_unit units_out[VV_KEPT_UNITS_MAX])
{
    memcpy(units_out, pyramid->kept_units, pyramid->n_kept_units * sizeof units_out[0]);
    return pyramid->n_kept_units;
}

struct vv_pyramid_kept vv_pyramid_kept(const struct vv_pyramid *pyramid)
{
    return pyramid->kept;
}
