/* SPDX-License-Identifier: Apache-2.0 */
#include "seal/cut.h"

#include "base/clock.h"
#include "seal/reroll_private.h"
#include "tier/cohort.h"

#include <stdlib.h>

/* A record that is looked at: its parts are in the list of what is stored. */
struct record {
    size_t first;
    size_t end;
    struct vv_unit unit;
    bool is_rows;
};

/* ---- records ---- */

struct collecting {
    struct vv_piece_list *list;
    int64_t from; /* units that end then or before are not wanted */
};

static enum vv_status collect(void *context, const struct vv_piece *piece)
{
    struct collecting *collecting = context;
    struct vv_unit_record record;
    bool is_wanted = piece->kind == VV_PIECE_BLOCK && piece->bytes.size > 0;
    if (is_wanted && vv_unit_read(piece->bytes, &record, NULL) == VV_OK) {
        is_wanted = record.unit.to > collecting->from;
    }
    return !is_wanted || vv_piece_list_add(collecting->list, piece, true) ? VV_OK : VV_NO_MEMORY;
}

/* The record that begins at `first`; false: it can't be read. */
static bool read_record(const struct vv_piece_list *list, size_t first, struct record *record_out)
{
    struct vv_unit_record record = {0};
    bool is_good = vv_unit_read(list->items[first].bytes, &record, NULL) == VV_OK;
    *record_out = (struct record){.first = first,
                                  .end = first + 1,
                                  .unit = record.unit,
                                  .is_rows = record.kind == VV_UNIT_ROWS};
    while (record_out->end < list->n && list->items[record_out->end].part > 0) {
        record_out->end++;
    }
    return is_good && record.kind != VV_UNIT_STALE;
}

static bool is_meant(const struct vv_chunk *chunk, uint32_t metric)
{
    bool is_meant = metric == VV_ROLLUP_ALL_METRICS;
    for (uint32_t i = 0; i < chunk->n_metrics && !is_meant; i++) {
        uint32_t number;
        enum vv_value_type type;
        is_meant = vv_chunk_metric(chunk, i, &number, &type, NULL) == VV_OK && number == metric;
    }
    return is_meant;
}

/* Whether a part has steps that begin in [from, to), of a metric perhaps. */
static enum vv_status has_steps(struct vv_str bytes, uint32_t metric, int64_t from, int64_t to,
                                bool *has, struct vv_error *error)
{
    struct vv_unit_record record;
    struct vv_chunk chunk;
    enum vv_status status = vv_unit_read(bytes, &record, error);
    if (status == VV_OK) {
        status = vv_chunk_open_steps(record.content, &chunk, error);
    }
    if (status != VV_OK || !is_meant(&chunk, metric)) {
        return status;
    }
    int64_t *starts = malloc(chunk.n_steps * sizeof *starts);
    if (!starts) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory");
    }
    status = vv_chunk_starts(&chunk, starts, error);
    for (size_t i = 0; i < chunk.n_steps && status == VV_OK; i++) {
        *has |= starts[i] >= from && starts[i] < to;
    }
    free(starts);
    return status;
}

/* Whether a record of steps has any of the metric that begin in [from, to). */
static enum vv_status record_has(const struct vv_reroll *reroll, const struct record *record,
                                 uint32_t metric, int64_t from, int64_t to, bool *has_out,
                                 struct vv_error *error)
{
    enum vv_status status = VV_OK;
    *has_out = false;
    for (size_t i = record->first; i < record->end && status == VV_OK && !*has_out; i++) {
        status = has_steps(reroll->stored.items[i].bytes, metric, from, to, has_out, error);
    }
    return status;
}

/* ---- steps of which a part is deleted ---- */

static enum vv_status prove_step(struct vv_look *look, enum vv_space tier, int64_t start,
                                 enum vv_reroll_verdict *verdict_out)
{
    struct vv_unit below = vv_pyramid_below(&look->tiers, &look->plans, tier, start);
    look->verdict = VV_REROLL_NOTHING;
    enum vv_status status = vv_look_prove(look, (int)tier, below.from, below.to);
    *verdict_out = look->verdict;
    return status;
}

static enum vv_status look_at_step(struct vv_look *look, enum vv_space tier,
                                   const struct vv_cut *cut, int64_t start,
                                   enum vv_reroll_verdict *verdict_out)
{
    struct vv_reroll *reroll = look->reroll;
    struct collecting collecting = {&reroll->stored, start};
    int64_t end = start + vv_tier_step_ns(tier);
    enum vv_status status = vv_look_visit_tier(look, tier, start, start + 1, collect, &collecting);
    bool has = false;
    for (size_t i = 0; i < reroll->stored.n && status == VV_OK && !has;) {
        struct record record;
        if (!read_record(&reroll->stored, i, &record)) {
            *verdict_out = VV_REROLL_DAMAGED;
            return VV_OK;
        }
        if (!record.is_rows) {
            status = record_has(reroll, &record, cut->metric, start, end, &has, look->error);
        }
        i = record.end;
    }
    return status == VV_OK && has ? prove_step(look, tier, start, verdict_out) : status;
}

enum vv_status vv_cut_look(struct vv_reroll *reroll, enum vv_space tier, const struct vv_cut *cut,
                           int64_t start, const struct vv_reroll_bounds *bounds,
                           enum vv_reroll_verdict *verdict_out, struct vv_error *error)
{
    struct vv_look look =
        vv_look_of(reroll, cut->place, cut->source, cut->measurement, bounds, error);
    *verdict_out = VV_REROLL_NOTHING;
    if (look.tiers.spaces[tier] == VV_REGISTRY_NONE || look.plans.n == 0) {
        return VV_OK;
    }
    enum vv_status status = look_at_step(&look, tier, cut, start, verdict_out);
    if (vv_reroll_is_damage(status)) {
        *verdict_out = VV_REROLL_DAMAGED;
        status = VV_OK;
    }
    vv_piece_list_truncate(&reroll->stored, 0);
    return status;
}

/* ---- cutting ---- */

/* The step at `start` holds an end of what is deleted. It goes and is built again; or, where that
 * can't be, it stays: *from and *to are what goes. What it is built of was all there when the order
 * was taken (vv_cut_look), and nothing expires, and no life ends, until it is swept: so records
 * that are missing now are those that this sweep, or one before, has left nothing of. */
static enum vv_status decide_step(struct vv_look *look, struct vv_pyramid_cut *plan, int64_t start,
                                  struct vv_cut_figures *figures)
{
    enum vv_reroll_verdict verdict;
    int64_t end = start + vv_tier_step_ns(plan->tier);
    if (start < plan->gone.from || start >= plan->gone.to) {
        return VV_OK;
    }
    enum vv_status status = prove_step(look, plan->tier, start, &verdict);
    if (status != VV_OK) {
        return status;
    }
    if (verdict == VV_REROLL_NOTHING) {
        plan->again[plan->n_again++] = start;
        return VV_OK;
    }
    figures->kept++;
    if (start == plan->gone.from) {
        plan->gone.from = end;
    } else {
        plan->gone.to = start;
    }
    return VV_OK;
}

static enum vv_status plan_cut(struct vv_look *look, const struct vv_cut *cut,
                               struct vv_pyramid_cut *plan, struct vv_cut_figures *figures)
{
    int64_t step_ns = vv_tier_step_ns(plan->tier);
    int64_t to = cut->to < cut->before ? cut->to : cut->before;
    int64_t from = cut->from > plan->unit.from ? cut->from : plan->unit.from;
    int64_t first = vv_time_floor(from, step_ns);
    to = to < plan->unit.to ? to : plan->unit.to;
    if (from >= to) {
        return VV_OK;
    }
    int64_t last = vv_time_floor(to - 1, step_ns);
    enum vv_status status = VV_OK;
    plan->gone = (struct vv_rollup_part){cut->metric, first, last + step_ns};
    if (first < cut->from) {
        status = decide_step(look, plan, first, figures);
    }
    if (status == VV_OK && last + step_ns > cut->to && (last != first || first >= cut->from)) {
        status = decide_step(look, plan, last, figures);
    }
    return status;
}

static enum vv_status cut_record(struct vv_look *look, enum vv_space tier, const struct vv_cut *cut,
                                 const struct record *record, struct vv_cut_figures *figures)
{
    struct vv_reroll *reroll = look->reroll;
    bool has = record->is_rows;
    struct vv_pyramid_cut plan = {.tier = tier,
                                  .records = &reroll->stored,
                                  .first = record->first,
                                  .unit = record->unit,
                                  .is_rows = record->is_rows};
    enum vv_status status = VV_OK;
    if (!record->is_rows) {
        status =
            record_has(reroll, record, cut->metric, vv_time_floor(cut->from, vv_tier_step_ns(tier)),
                       cut->to < cut->before ? cut->to : cut->before, &has, look->error);
    }
    if (status == VV_OK && has && !record->is_rows) {
        status = plan_cut(look, cut, &plan, figures);
        has = plan.gone.from < plan.gone.to;
    }
    if (status != VV_OK || !has) {
        return status;
    }
    status = vv_pyramid_cut(reroll->pyramid, look->place, &plan, &reroll->built, look->error);
    figures->records += status == VV_OK;
    return status;
}

/* What can't be read stays, as for the sealer. */
static enum vv_status cut_records(struct vv_look *look, enum vv_space tier,
                                  const struct vv_cut *cut, struct vv_cut_figures *figures)
{
    struct vv_reroll *reroll = look->reroll;
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < reroll->stored.n && status == VV_OK;) {
        struct record record;
        size_t built = reroll->built.n;
        bool is_good = read_record(&reroll->stored, i, &record);
        i = record.end;
        status = is_good ? cut_record(look, tier, cut, &record, figures) : VV_CORRUPT;
        if (vv_reroll_is_damage(status) || status == VV_TOO_LARGE) {
            vv_piece_list_truncate(&reroll->built, built);
            figures->damaged++;
            status = VV_OK;
        }
    }
    return status;
}

static bool is_changed(const struct vv_piece_list *built, const struct vv_span_key *key)
{
    bool found = false;
    for (size_t i = 0; i < built->n && !found; i++) {
        found = vv_span_key_compare(&built->items[i].key, key) == 0;
    }
    return found;
}

static enum vv_status tell_cohorts(struct vv_look *look, enum vv_space tier, int64_t now_ns)
{
    struct vv_reroll *reroll = look->reroll;
    struct vv_store *store = reroll->options.store;
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < reroll->stored.n && status == VV_OK;) {
        struct record record;
        const struct vv_span_key *key = &reroll->stored.items[i].key;
        if (read_record(&reroll->stored, i, &record) && is_changed(&reroll->built, key)) {
            status = vv_reroll_tell_cohort(reroll, tier, now_ns, key, record.unit.to, look->error);
        }
        i = record.end;
    }
    return status == VV_OK ? store->ops->confirm(store, look->error) : status;
}

/* Also where no record was changed: one that can't be read, or was cut before a crash, may still be
 * in the bucket's volume. */
static enum vv_status drop_volume(struct vv_reroll *reroll, enum vv_space tier,
                                  const struct vv_span_key *unit)
{
    const struct vv_piece none = {
        .kind = VV_PIECE_BLOCK, .key = vv_volume_key(unit), .version = VV_VERSION_NONE};
    if (reroll->options.store->ops->shared || !vv_tier_has_volumes(tier)) {
        return VV_OK;
    }
    return vv_piece_list_add(&reroll->built, &none, false) ? VV_OK : VV_NO_MEMORY;
}

static enum vv_status put_built(struct vv_look *look, enum vv_space tier, int64_t now_ns)
{
    struct vv_reroll *reroll = look->reroll;
    if (reroll->built.n == 0) {
        return VV_OK;
    }
    enum vv_status status = vv_tier_has_cohorts(tier) ? tell_cohorts(look, tier, now_ns) : VV_OK;
    return status == VV_OK ? vv_reroll_put(reroll, now_ns, look->error) : status;
}

enum vv_status vv_cut_bucket(struct vv_reroll *reroll, enum vv_space tier, const struct vv_cut *cut,
                             int64_t bucket, const struct vv_reroll_bounds *bounds, int64_t now_ns,
                             struct vv_cut_figures *figures, struct vv_error *error)
{
    struct vv_look look =
        vv_look_of(reroll, cut->place, cut->source, cut->measurement, bounds, error);
    struct vv_store *store = reroll->options.store;
    look.gaps_are_empty = true;
    struct collecting collecting = {&reroll->stored, cut->from};
    int64_t to = cut->to < cut->before ? cut->to : cut->before;
    const struct vv_span_key key =
        vv_unit_key(tier, look.tiers.spaces[tier], cut->source, cut->measurement, bucket);
    const struct vv_store_read read = {.partition = key.partition,
                                       .measurement = cut->measurement,
                                       .span_from = vv_unit_earliest(tier, cut->from),
                                       .span_to = to};
    enum vv_status status = store->ops->read(store, &read, collect, &collecting, error);
    if (status == VV_OK) {
        status = cut_records(&look, tier, cut, figures);
    }
    if (status == VV_OK) {
        status = drop_volume(reroll, tier, &key);
    }
    if (status == VV_OK) {
        status = put_built(&look, tier, now_ns);
    }
    vv_piece_list_truncate(&reroll->stored, 0);
    vv_piece_list_truncate(&reroll->built, 0);
    return status;
}
