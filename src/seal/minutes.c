/* SPDX-License-Identifier: Apache-2.0 */
#include "seal/minutes.h"

/* Whether nothing of what begins at `from` may have expired. */
static bool is_whole(const struct vv_sealer *sealer, uint32_t place, int64_t from)
{
    const struct vv_sealer_options *options = &sealer->options;
    return !options->whole_from || from >= options->whole_from(options->whole_context, place);
}

/* Whether a place or a space keeps it for longer. */
static bool is_kept(const struct vv_sealer *sealer, uint32_t number, int64_t from)
{
    int64_t retention = vv_registry_retention(sealer->options.registry, number);
    int64_t now = sealer->options.clock->wall_ns(sealer->options.clock);
    return retention <= 0 || from > now - retention;
}

static uint32_t mark_place(const struct vv_sealer *sealer, const struct vv_mark *mark)
{
    return vv_registry_place_of(sealer->options.registry, mark->key.partition.tenant);
}

/* Whether the span holds all points that the place has of its time: it is where the measurement's
 * points lie, by the plan that counts, which divides nothing, and no late ones are kept apart. */
static bool is_all(const struct vv_sealer *sealer, const struct vv_mark *mark,
                   const struct vv_plans *plans)
{
    const struct vv_partition *partition = &mark->key.partition;
    struct vv_registry *registry = sealer->options.registry;
    uint32_t place = vv_registry_stay(registry, mark->key.measurement, mark->key.span_start).place;
    if (partition->tenant != place || vv_registry_late_space(registry, place) != VV_REGISTRY_NONE) {
        return false;
    }
    struct vv_bucket bucket = vv_bucket_of(plans->plans, plans->n, mark->key.span_start);
    return bucket.start == partition->bucket_start && bucket.bucket_ns == partition->bucket_ns &&
           bucket.splits == 1 && bucket.span_ns == mark->span_ns &&
           partition->split == vv_split_name(&bucket, 0) && mark->key.span_start >= bucket.start &&
           mark->key.span_start + mark->span_ns <= bucket.end;
}

enum vv_status vv_minutes_begin(struct vv_sealer *sealer, const struct vv_mark *mark,
                                struct vv_minutes *minutes_out)
{
    struct vv_stale stale;
    int64_t from = mark->key.span_start;
    int64_t to = from + mark->span_ns;
    *minutes_out = (struct vv_minutes){0};
    vv_stale_begin(&stale, &sealer->stale, mark_place(sealer, mark), mark->key.partition.source,
                   mark->key.measurement, mark->run);
    uint32_t space = stale.tiers.spaces[VV_SPACE_MINUTE];
    if (sealer->options.store->ops->shared || space == VV_REGISTRY_NONE || stale.plans.n == 0 ||
        to > sealer->latest_ns || !is_all(sealer, mark, &stale.plans) ||
        !is_whole(sealer, mark->key.partition.tenant, from) ||
        !is_kept(sealer, mark->key.partition.tenant, from) || !is_kept(sealer, space, from)) {
        return VV_OK;
    }
    minutes_out->unit = vv_stale_unit_of(&stale, VV_SPACE_MINUTE, from);
    const struct vv_unit unit = {minutes_out->unit.key.span_start, minutes_out->unit.to};
    minutes_out->is_on = unit.from == from && unit.to == to;
    return minutes_out->is_on
               ? vv_pyramid_begin_minutes(sealer->pyramid, &unit, &minutes_out->unit.key)
               : VV_OK;
}

/* Rows that have a time in common, as they have where metrics came one by one, would have to be
 * joined first: the unit's own merge does that. */
static bool has_time_twice(struct vv_minutes *minutes, const struct vv_rows *rows)
{
    for (size_t i = 0; i < rows->n_rows; i++) {
        if (minutes->has_time && rows->times[i] <= minutes->time) {
            return true;
        }
        minutes->time = rows->times[i];
        minutes->has_time = true;
    }
    return false;
}

enum vv_status vv_minutes_add(struct vv_sealer *sealer, struct vv_minutes *minutes,
                              const struct vv_rows *rows, struct vv_error *error)
{
    minutes->is_on = minutes->is_on && !has_time_twice(minutes, rows);
    if (!minutes->is_on) {
        return VV_OK;
    }
    enum vv_status status = vv_pyramid_add_minutes(sealer->pyramid, rows, error);
    if (status == VV_TOO_LARGE) { /* which is said when it is its turn */
        minutes->is_on = false;
        return VV_OK;
    }
    return status;
}

/* ---- what made it stale ---- */

struct staleness {
    struct vv_sealer *sealer;
    const struct vv_stale_unit *unit;
    bool is_other; /* a unit of another length, which plans had before; or damaged */
    vv_stamp newest;
};

static enum vv_status take_run(void *context, const struct vv_piece *piece)
{
    struct staleness *staleness = context;
    struct vv_unit_record record;
    if (piece->kind != VV_PIECE_RUN) {
        return VV_OK;
    }
    staleness->is_other |=
        vv_unit_read(piece->bytes, &record, NULL) != VV_OK || record.unit.to != staleness->unit->to;
    staleness->newest = piece->run > staleness->newest ? piece->run : staleness->newest;
    return vv_piece_list_add(&staleness->sealer->runs, piece, false) ? VV_OK : VV_NO_MEMORY;
}

enum vv_status vv_minutes_end(struct vv_sealer *sealer, const struct vv_mark *mark,
                              struct vv_minutes *minutes, struct vv_error *error)
{
    struct vv_store *store = sealer->options.store;
    const struct vv_stale_unit *stale = &minutes->unit;
    const struct vv_unit unit = {stale->key.span_start, stale->to};
    struct staleness staleness = {.sealer = sealer, .unit = stale, .newest = mark->run};
    size_t runs_before = sealer->runs.n;
    if (!minutes->is_on) {
        return VV_OK;
    }
    const struct vv_store_read read = {.partition = stale->key.partition,
                                       .measurement = stale->key.measurement,
                                       .span_from = unit.from,
                                       .span_to = unit.from + 1};
    enum vv_status status = store->ops->read(store, &read, take_run, &staleness, error);
    if (status != VV_OK) {
        return status;
    }
    if (staleness.is_other) {
        vv_piece_list_truncate(&sealer->runs, runs_before);
        minutes->is_on = false;
        return VV_OK;
    }
    size_t blocks_before = sealer->blocks.n;
    status = vv_pyramid_end_minutes(sealer->pyramid, &unit, &stale->key, &sealer->blocks, error);
    if (status == VV_TOO_LARGE) {
        vv_piece_list_truncate(&sealer->blocks, blocks_before);
        vv_piece_list_truncate(&sealer->runs, runs_before);
        minutes->is_on = false;
        return VV_OK;
    }
    if (status == VV_OK && sealer->runs.n > runs_before) {
        sealer->settled[sealer->n_settled++] = (struct vv_mark){.due_ns = stale->due_ns,
                                                                .key = stale->key,
                                                                .span_ns = unit.to - unit.from,
                                                                .run = staleness.newest};
    }
    sealer->figures.units += status == VV_OK;
    return status;
}
