/* SPDX-License-Identifier: Apache-2.0 */
#include "seal/replace.h"

#include "base/clock.h"
#include "base/compare.h"
#include "registry/shared.h"
#include "seal/replaced_day.h"
#include "seal/reroll_private.h"
#include "seal/seal_private.h"

#include <stdlib.h>

struct replacing {
    struct vv_look look;
    const struct vv_replace *replace;
    int64_t now_ns;
    uint32_t *metrics; /* that the rows have, ascending */
    size_t n_metrics;
    struct vv_piece_list *records_out;
    bool has_finer; /* a finer tier keeps the day */
    enum vv_replace_verdict verdict;
    struct vv_span_key waits_for; /* with VV_REPLACE_WAITS */
};

#define WAITING_MAX       256 /* runs that replace days of a unit and are not in it yet … */
#define WAITING_BYTES_MAX (32u << 20) /* … and their bytes: who builds it has them in memory */

/* What the tier that is looked at has of a unit. */
struct found {
    size_t n_waiting;
    size_t waiting_bytes;
    vv_stamp newest; /* of those runs */
    bool is_stale;
    bool has_record;
    bool is_rows;
    size_t first;
};

/* ---- rows ---- */

static bool has_any(const struct vv_column *column, size_t first, size_t end)
{
    bool any = false;
    for (size_t row = first; row < end && !any; row++) {
        any = vv_column_has(column, row);
    }
    return any;
}

/* Those that have a value. */
static enum vv_status list_metrics(struct replacing *replacing)
{
    const struct vv_replace *replace = replacing->replace;
    size_t most = 1;
    for (size_t i = 0; i < replace->n_rows; i++) {
        most += replace->rows[i].n_columns;
    }
    uint32_t *metrics = malloc(most * sizeof *metrics);
    if (!metrics) {
        return VV_NO_MEMORY;
    }
    size_t n = 0;
    for (size_t i = 0; i < replace->n_rows; i++) {
        const struct vv_rows *rows = &replace->rows[i];
        for (size_t c = 0; c < rows->n_columns; c++) {
            if (has_any(&rows->columns[c], 0, rows->n_rows)) {
                metrics[n++] = rows->columns[c].metric;
            }
        }
    }
    qsort(metrics, n, sizeof *metrics, vv_compare_u32);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || metrics[i] != metrics[i - 1]) {
            metrics[kept++] = metrics[i];
        }
    }
    replacing->metrics = metrics;
    replacing->n_metrics = kept;
    return VV_OK;
}

static size_t row_at(const struct vv_rows *rows, int64_t time)
{
    size_t at = 0;
    size_t end = rows->n_rows;
    while (at < end) {
        size_t middle = at + (end - at) / 2;
        if (rows->times[middle] < time) {
            at = middle + 1;
        } else {
            end = middle;
        }
    }
    return at;
}

static void copy_column(const struct vv_column *from, size_t first, size_t n, struct vv_column *to)
{
    to->metric = from->metric;
    to->type = from->type;
    memcpy(to->values, from->values + first, n * sizeof *to->values);
    for (size_t row = 0; row < n; row++) {
        if (vv_column_has(from, first + row)) {
            vv_column_mark(to, row);
        }
    }
}

/* Rows [first, end), with the columns that have something there. */
static enum vv_status copy_rows(const struct vv_rows *rows, size_t first, size_t end,
                                struct vv_rows *copy_out)
{
    enum vv_status status = vv_rows_alloc(end - first, rows->n_columns, copy_out);
    size_t kept = 0;
    if (status != VV_OK) {
        return status;
    }
    memcpy(copy_out->times, rows->times + first, (end - first) * sizeof *rows->times);
    memcpy(copy_out->stamps, rows->stamps + first, (end - first) * sizeof *rows->stamps);
    for (size_t c = 0; c < rows->n_columns; c++) {
        if (has_any(&rows->columns[c], first, end)) {
            copy_column(&rows->columns[c], first, end - first, &copy_out->columns[kept++]);
        }
    }
    for (size_t c = kept; c < rows->n_columns; c++) {
        free(copy_out->columns[c].values);
        free(copy_out->columns[c].present);
    }
    copy_out->n_columns = kept;
    return VV_OK;
}

/* ---- what a tier has of the day ---- */

static enum vv_status collect(void *context, const struct vv_piece *piece)
{
    bool is_wanted = piece->kind == VV_PIECE_RUN || piece->bytes.size > 0;
    return !is_wanted || vv_piece_list_add(context, piece, true) ? VV_OK : VV_NO_MEMORY;
}

/* False: it can't be read, or is of another unit. */
static bool look_at_piece(const struct vv_piece *piece, size_t index, const struct vv_unit *unit,
                          struct found *found)
{
    struct vv_unit_record record;
    if (vv_unit_read(piece->bytes, &record, NULL) != VV_OK) {
        return false;
    }
    if (piece->kind == VV_PIECE_RUN) { /* of this unit, or of a longer one that has it */
        found->is_stale |= record.unit.from < unit->to && record.unit.to > unit->from;
        bool replaces = piece->key.span_start == unit->from && record.content.size > 0;
        found->n_waiting += replaces;
        found->waiting_bytes += replaces ? record.content.size : 0;
        found->newest = replaces && piece->run > found->newest ? piece->run : found->newest;
        return true;
    }
    if (piece->key.span_start != unit->from) {
        return record.unit.to <= unit->from || record.unit.from >= unit->to;
    }
    if (piece->part == 0) {
        found->has_record = true;
        found->is_rows = record.kind == VV_UNIT_ROWS;
        found->first = index;
    }
    return record.kind != VV_UNIT_STALE && record.unit.from == unit->from &&
           record.unit.to == unit->to;
}

static bool find(const struct vv_piece_list *stored, const struct vv_unit *unit,
                 struct found *found_out)
{
    bool is_good = true;
    *found_out = (struct found){0};
    for (size_t i = 0; i < stored->n && is_good; i++) {
        is_good = look_at_piece(&stored->items[i], i, unit, found_out);
    }
    return is_good;
}

/* ---- units ---- */

/* It is built of what is finer when it is over, as if points had come. */
static enum vv_status make_stale(struct replacing *replacing, enum vv_space tier)
{
    struct vv_look *look = &replacing->look;
    const struct vv_stale_options options = vv_reroll_stale_options(look->reroll);
    struct vv_stale stale;
    vv_stale_begin(&stale, &options, look->place, look->source, look->measurement,
                   vv_stamp_make((uint64_t)(replacing->now_ns / VV_MICROSECOND), 0));
    stale.plans = look->plans;
    return vv_stale_unit_put(&stale, tier, replacing->replace->day, look->error);
}

/* The rows of the day that lie in the unit. */
static enum vv_status rows_of(const struct vv_replace *replace, const struct vv_unit *unit,
                              struct vv_rows *slices, size_t *n_out)
{
    enum vv_status status = VV_OK;
    *n_out = 0;
    for (size_t i = 0; i < replace->n_rows && status == VV_OK; i++) {
        size_t first = row_at(&replace->rows[i], unit->from);
        size_t end = row_at(&replace->rows[i], unit->to);
        if (first < end) {
            status = copy_rows(&replace->rows[i], first, end, &slices[*n_out]);
            *n_out += status == VV_OK;
        }
    }
    return status;
}

/* To `records_out`: the record as it will be. */
static enum vv_status make_record(struct replacing *replacing, enum vv_space tier,
                                  const struct vv_unit *unit, const struct found *found,
                                  struct vv_piece_list *records_out)
{
    struct vv_look *look = &replacing->look;
    const struct vv_replace *replace = replacing->replace;
    struct vv_rows *slices = calloc(replace->n_rows, sizeof *slices);
    struct vv_pyramid_replacement replacement = {
        .tier = tier,
        .place = look->place,
        .unit = *unit,
        .key = vv_unit_key(tier, look->tiers.spaces[tier], look->source, look->measurement,
                           unit->from),
        .has_record = found->has_record,
        .records = &look->reroll->stored,
        .first = found->first,
        .is_rows = found->is_rows,
        .made_from = VV_VERSION_NONE,
        .from = replace->day,
        .to = replace->day + VV_DAY,
        .metrics = replacing->metrics,
        .n_metrics = replacing->n_metrics,
        .rows = slices,
    };
    enum vv_status status =
        slices ? rows_of(replace, unit, slices, &replacement.n_rows) : VV_NO_MEMORY;
    if (status == VV_OK && (found->has_record || replacement.n_rows > 0)) {
        status = vv_pyramid_replace(look->reroll->pyramid, &replacement, records_out, look->error);
    }
    for (size_t i = 0; slices && i < replacement.n_rows; i++) {
        vv_rows_free(&slices[i]);
    }
    free(slices);
    return status;
}

static enum vv_status write_record(struct replacing *replacing, enum vv_space tier,
                                   const struct vv_unit *unit, const struct found *found)
{
    struct vv_look *look = &replacing->look;
    size_t before = replacing->records_out->n;
    enum vv_status status = make_record(replacing, tier, unit, found, replacing->records_out);
    if (status != VV_OK || replacing->records_out->n == before) {
        return status;
    }
    const struct vv_span_key key =
        vv_unit_key(tier, look->tiers.spaces[tier], look->source, look->measurement, unit->from);
    return vv_reroll_tell_cohort(look->reroll, tier, replacing->now_ns, &key, unit->to,
                                 look->error);
}

/* Behind what other nodes have put, whose clocks may be ahead. */
static vv_stamp run_behind(const struct replacing *replacing, const struct found *found)
{
    vv_stamp run = replacing->replace->run;
    return run > found->newest ? run : vv_stamp_next(found->newest, 0, run & VV_STAMP_NODE_MAX);
}

/* Where nodes share the store: what whoever builds the unit puts into its record. Only what fits
 * there is taken. */
static enum vv_status write_runs(struct replacing *replacing, enum vv_space tier,
                                 const struct vv_unit *unit, const struct found *found)
{
    struct vv_look *look = &replacing->look;
    const struct vv_replaced_day day = {
        .rows = replacing->replace->rows,
        .n_rows = replacing->replace->n_rows,
        .metrics = replacing->metrics,
        .n_metrics = replacing->n_metrics,
        .day = replacing->replace->day,
        .unit = *unit,
        .key = vv_unit_key(tier, look->tiers.spaces[tier], look->source, look->measurement,
                           unit->from),
        .run = run_behind(replacing, found),
    };
    struct vv_piece_list built = {0};
    enum vv_status status = make_record(replacing, tier, unit, found, &built);
    vv_piece_list_deinit(&built);
    return status == VV_OK ? vv_replaced_day_write(&day, look->reroll->options.zstd_level,
                                                   replacing->records_out, look->error)
                           : status;
}

/* The same of a unit that is built of finer ones. */
static enum vv_status list_stale(struct replacing *replacing, enum vv_space tier,
                                 const struct vv_unit *unit)
{
    const struct vv_look *look = &replacing->look;
    struct vv_buffer bytes = {0};
    vv_unit_write(&bytes, VV_UNIT_STALE, unit);
    const struct vv_piece run = {.kind = VV_PIECE_RUN,
                                 .key = vv_unit_key(tier, look->tiers.spaces[tier], look->source,
                                                    look->measurement, unit->from),
                                 .run = replacing->replace->run,
                                 .bytes = {(char *)bytes.data, bytes.size}};
    bool is_added =
        vv_buffer_status(&bytes) == VV_OK && vv_piece_list_add(replacing->records_out, &run, true);
    vv_buffer_deinit(&bytes);
    return is_added ? VV_OK : VV_NO_MEMORY;
}

static bool keeps(const struct replacing *replacing, enum vv_space tier, int64_t time)
{
    const struct vv_look *look = &replacing->look;
    uint32_t space = look->tiers.spaces[tier];
    if (space == VV_REGISTRY_NONE) {
        return false;
    }
    struct vv_registry *registry = look->reroll->options.registry;
    int64_t retention = vv_registry_is_ending(registry, space) /* hours may be built of it */
                            ? vv_registry_life(registry, space, replacing->now_ns)
                            : vv_registry_retention(registry, space);
    struct vv_plan plan = vv_tier_plan(tier);
    int64_t bucket = vv_time_floor(time, plan.bucket_ns);
    return retention == 0 || (retention != VV_SPACE_OFF_NS &&
                              bucket + plan.bucket_ns >= replacing->now_ns - retention);
}

/* Whether a unit without a record certainly has nothing: the tier was on when it was written, or
 * nothing that it could be built of is left. */
static bool is_empty(const struct replacing *replacing, enum vv_space tier,
                     const struct vv_unit *unit)
{
    const struct vv_reroll_bounds *bounds = replacing->look.bounds;
    bool is_left = unit->to > bounds->raw_from;
    for (int finer = 0; finer < (int)tier; finer++) {
        is_left |= keeps(replacing, (enum vv_space)finer, unit->to - 1);
    }
    return !is_left || bounds->tier_from[tier] <= unit->from;
}

/* Beside other nodes what makes the unit stale now has a builder, who puts both into it. */
static enum vv_status tell_unit(struct replacing *replacing, enum vv_space tier,
                                const struct vv_unit *unit, const struct found *found,
                                bool is_whole)
{
    if (found->n_waiting >= WAITING_MAX || found->waiting_bytes >= WAITING_BYTES_MAX) {
        replacing->verdict = VV_REPLACE_WAITS;
        return VV_OK;
    }
    if (found->has_record || is_whole) {
        return write_runs(replacing, tier, unit, found);
    }
    if (!replacing->has_finer) {
        replacing->verdict = VV_REPLACE_SHARED;
        return VV_OK;
    }
    return list_stale(replacing, tier, unit);
}

/* A unit that has no record gets one if it is of this day alone, or had nothing else; else it is
 * built of what is finer, which keeps more of it. */
static enum vv_status replace_unit(struct replacing *replacing, enum vv_space tier,
                                   const struct vv_unit *unit)
{
    struct vv_look *look = &replacing->look;
    struct found found;
    if (!find(&look->reroll->stored, unit, &found)) {
        replacing->verdict = VV_REPLACE_DIVIDED;
        return VV_OK;
    }
    bool is_open = unit->to > replacing->now_ns;
    bool is_whole = unit->to - unit->from <= VV_DAY || is_empty(replacing, tier, unit);
    if (look->reroll->options.store->ops->shared) {
        is_open = unit->to > replacing->now_ns - VV_CLOCKS_DIFFER_NS;
        return tell_unit(replacing, tier, unit, &found, is_whole && !is_open);
    }
    if (found.is_stale && !replacing->has_finer) {
        replacing->verdict = VV_REPLACE_WAITS;
        replacing->waits_for = vv_unit_key(tier, look->tiers.spaces[tier], look->source,
                                           look->measurement, unit->from);
        return VV_OK;
    }
    if (found.has_record || (!found.is_stale && !is_open && is_whole)) {
        return write_record(replacing, tier, unit, &found);
    }
    if (!replacing->has_finer) {
        replacing->verdict = VV_REPLACE_SHARED;
        return VV_OK;
    }
    return found.is_stale ? VV_OK : make_stale(replacing, tier);
}

/* ---- a tier ---- */

static enum vv_status replace_tier(struct replacing *replacing, enum vv_space tier)
{
    struct vv_look *look = &replacing->look;
    struct vv_piece_list *stored = &look->reroll->stored;
    int64_t from = replacing->replace->day;
    int64_t to = from + VV_DAY;
    enum vv_status status = vv_look_visit_tier(look, tier, from, to, collect, stored);
    for (int64_t at = from; at < to && status == VV_OK && replacing->verdict == VV_REPLACE_GOOD;) {
        struct vv_unit unit = vv_unit_of(tier, look->plans.plans, look->plans.n, at);
        status = replace_unit(replacing, tier, &unit);
        at = unit.to;
    }
    vv_piece_list_truncate(stored, 0);
    return status;
}

enum vv_status vv_replace_day(struct vv_reroll *reroll, const struct vv_replace *replace,
                              const struct vv_reroll_bounds *bounds, int64_t now_ns,
                              struct vv_piece_list *records_out,
                              enum vv_replace_verdict *verdict_out,
                              struct vv_span_key *waits_for_out, struct vv_error *error)
{
    struct replacing replacing = {
        .look = vv_look_of(reroll, replace->place, replace->source, replace->measurement, bounds,
                           error),
        .replace = replace,
        .now_ns = now_ns,
        .records_out = records_out,
        .verdict = VV_REPLACE_GOOD,
    };
    replacing.look.plans = replace->plans;
    enum vv_status status = list_metrics(&replacing);
    for (int tier = 0; tier < VV_SPACES && status == VV_OK && replacing.n_metrics > 0 &&
                       replacing.verdict == VV_REPLACE_GOOD;
         tier++) {
        if (keeps(&replacing, (enum vv_space)tier, replace->day)) {
            status = replace_tier(&replacing, (enum vv_space)tier);
            replacing.has_finer = true;
        }
    }
    if (replacing.verdict == VV_REPLACE_GOOD && !replacing.has_finer) {
        replacing.verdict = VV_REPLACE_GONE;
    }
    if (vv_reroll_is_damage(status)) {
        replacing.verdict = VV_REPLACE_DIVIDED;
        status = VV_OK;
    }
    *verdict_out = replacing.verdict;
    *waits_for_out = replacing.waits_for;
    vv_piece_list_truncate(&reroll->stored, 0);
    free(replacing.metrics);
    return status == VV_NO_MEMORY ? vv_error_set(error, status, "out of memory: try again later")
                                  : status;
}
