/* SPDX-License-Identifier: Apache-2.0 */
#include "seal/reroll_private.h"

#include "base/clock.h"
#include "seal/stale.h"
#include "tier/cohort.h"
#include "tier/compare.h"

#include <stdlib.h>

/* ---- life ---- */

enum vv_status vv_reroll_create(const struct vv_reroll_options *options,
                                struct vv_reroll **reroll_out)
{
    const struct vv_merge_options merge = {.from = INT64_MIN, .to = INT64_MAX, .join_times = true};
    const struct vv_pyramid_options pyramid = {.registry = options->registry,
                                               .store = options->store,
                                               .deletions = options->deletions,
                                               .zstd_level = options->zstd_level,
                                               .block_bytes_max = options->block_bytes_max,
                                               .percentile_error = options->percentile_error};
    struct vv_reroll *reroll = calloc(1, sizeof *reroll);
    *reroll_out = NULL;
    if (!reroll) {
        return VV_NO_MEMORY;
    }
    reroll->options = *options;
    enum vv_status status = vv_pyramid_create(&pyramid, &reroll->pyramid);
    if (status == VV_OK) {
        status = vv_rollup_create(options->percentile_error, &reroll->rollup);
    }
    if (status == VV_OK) {
        status = vv_merge_create(&merge, &reroll->merge);
    }
    if (status != VV_OK) {
        vv_reroll_destroy(reroll);
        return status;
    }
    *reroll_out = reroll;
    return VV_OK;
}

void vv_reroll_destroy(struct vv_reroll *reroll)
{
    if (!reroll) {
        return;
    }
    for (int i = 0; i < VV_SPACES; i++) {
        vv_cover_deinit(&reroll->covers[i]);
    }
    vv_piece_list_deinit(&reroll->stored);
    vv_piece_list_deinit(&reroll->built);
    vv_merge_destroy(reroll->merge);
    vv_rollup_destroy(reroll->rollup);
    vv_pyramid_destroy(reroll->pyramid);
    free(reroll);
}

/* ---- whether what is below is whole ---- */

static void refuse(struct vv_look *look, enum vv_reroll_verdict why)
{
    if (look->verdict == VV_REROLL_NOTHING) {
        look->verdict = why;
    }
}

static bool is_readable_block(struct vv_str bytes)
{
    struct vv_block block;
    return vv_block_open((const uint8_t *)bytes.data, bytes.size, &block) == VV_BLOCK_OK;
}

static enum vv_status look_at_raw(void *context, const struct vv_piece *piece)
{
    struct vv_look *look = context;
    if (piece->kind == VV_PIECE_RUN) {
        refuse(look, VV_REROLL_UNSEALED);
    } else if (!is_readable_block(piece->bytes)) {
        refuse(look, VV_REROLL_DAMAGED);
    }
    return VV_OK;
}

/* Of the place, or of the space of its late points. */
static enum vv_status prove_points(struct vv_look *look, uint32_t number, int64_t from, int64_t to)
{
    struct vv_store *store = look->reroll->options.store;
    enum vv_status status = VV_OK;
    while (from < to && status == VV_OK && look->verdict == VV_REROLL_NOTHING) {
        struct vv_bucket bucket = vv_bucket_of(look->plans.plans, look->plans.n, from);
        for (uint16_t split = 0; split < bucket.splits && status == VV_OK; split++) {
            const struct vv_store_read read = {
                .partition = {.tenant = number,
                              .source = look->source,
                              .bucket_start = bucket.start,
                              .bucket_ns = bucket.bucket_ns,
                              .split = split},
                .measurement = look->measurement,
                .span_from = vv_span_of(&bucket, from),
                .span_to = to < bucket.end ? to : bucket.end,
                .span_ns = bucket.span_ns,
            };
            status = store->ops->read(store, &read, look_at_raw, look, look->error);
        }
        from = bucket.end;
    }
    return status;
}

static enum vv_status prove_raw(struct vv_look *look, int64_t from, int64_t to)
{
    uint32_t late = vv_registry_late_space(look->reroll->options.registry, look->place);
    if (from < look->bounds->raw_from) {
        refuse(look, VV_REROLL_EXPIRED);
    }
    enum vv_status status = prove_points(look, look->place, from, to);
    return status == VV_OK && late != VV_REGISTRY_NONE ? prove_points(look, late, from, to)
                                                       : status;
}

struct listing {
    struct vv_look *look;
    struct vv_cover *cover;
    int64_t from;
    int64_t to;
};

static bool is_readable(const struct vv_unit_record *record)
{
    struct vv_chunk chunk;
    return record->kind == VV_UNIT_STEPS ? vv_chunk_open(record->content, &chunk, NULL) == VV_OK
                                         : is_readable_block(record->content);
}

static enum vv_status list_record(void *context, const struct vv_piece *piece)
{
    struct listing *listing = context;
    struct vv_unit_record record;
    enum vv_status status = vv_unit_read(piece->bytes, &record, NULL);
    if (status != VV_OK || (record.kind != VV_UNIT_STALE && !is_readable(&record))) {
        refuse(listing->look, VV_REROLL_DAMAGED);
        return VV_OK;
    }
    if (record.kind == VV_UNIT_STALE) {
        bool meets = record.unit.from < listing->to && record.unit.to > listing->from;
        if (meets) {
            refuse(listing->look, VV_REROLL_UNSEALED);
        }
        return VV_OK;
    }
    bool is_inside = record.unit.from >= listing->from && record.unit.to <= listing->to;
    return is_inside && piece->part == 0 ? vv_cover_add(listing->cover, &record.unit, 0) : VV_OK;
}

enum vv_status vv_look_visit_tier(const struct vv_look *look, enum vv_space tier, int64_t from,
                                  int64_t to, vv_piece_visit visit, void *context)
{
    struct vv_store *store = look->reroll->options.store;
    const struct vv_plan plan = vv_tier_plan(tier);
    int64_t earliest = vv_unit_earliest(tier, from);
    enum vv_status status = VV_OK;
    for (int64_t at = vv_time_floor(earliest, plan.bucket_ns); at < to && status == VV_OK;
         at += plan.bucket_ns) {
        const struct vv_span_key key =
            vv_unit_key(tier, look->tiers.spaces[tier], look->source, look->measurement, at);
        const struct vv_store_read read = {.partition = key.partition,
                                           .measurement = look->measurement,
                                           .span_from = earliest,
                                           .span_to = to};
        status = store->ops->read(store, &read, visit, context, look->error);
    }
    return status;
}

/* A stretch of which a tier has no record: what is finer must be whole, or the tier itself, which
 * then had no points to build one of. */
static enum vv_status prove_gap(struct vv_look *look, int tier, int64_t from, int64_t to)
{
    enum vv_status status = vv_look_prove(look, tier, from, to);
    bool is_empty = look->verdict == VV_REROLL_EXPIRED && from >= look->bounds->tier_from[tier];
    if (status == VV_OK && is_empty) {
        look->verdict = VV_REROLL_NOTHING;
    }
    return status;
}

/* Whether what the tier has at `time` may go at any time. */
static bool may_go(const struct vv_look *look, int tier, int64_t time)
{
    int64_t bucket_ns = vv_tier_plan((enum vv_space)tier).bucket_ns;
    return vv_time_floor(time, bucket_ns) + bucket_ns < look->bounds->tier_gone[tier];
}

enum vv_status vv_look_prove(struct vv_look *look, int above, int64_t from, int64_t to)
{
    int tier = above - 1;
    while (tier >= 0 && look->tiers.spaces[tier] == VV_REGISTRY_NONE) {
        tier--;
    }
    if (tier < 0) {
        return prove_raw(look, from, to);
    }
    struct vv_cover *cover = &look->reroll->covers[tier];
    struct listing listing = {.look = look, .cover = cover, .from = from, .to = to};
    vv_cover_clear(cover);
    enum vv_status status =
        vv_look_visit_tier(look, (enum vv_space)tier, from, to, list_record, &listing);
    vv_cover_settle(cover);
    while (from < to && status == VV_OK && look->verdict == VV_REROLL_NOTHING) {
        struct vv_stretch stretch = vv_cover_next(cover, 0, from, to);
        if (!stretch.is_covered) {
            status = prove_gap(look, tier, stretch.from, stretch.to);
        } else if (may_go(look, tier, stretch.from)) {
            refuse(look, VV_REROLL_EXPIRED);
        }
        from = stretch.to;
    }
    return status;
}

/* ---- the record that is there ---- */

struct keeping {
    struct vv_look *look;
    int64_t from;
    int64_t version;
    bool is_stale;
};

static enum vv_status keep_record(void *context, const struct vv_piece *piece)
{
    struct keeping *keeping = context;
    struct vv_unit_record record;
    if (piece->kind == VV_PIECE_RUN) { /* of this unit, or of a longer one that has it */
        bool is_read = vv_unit_read(piece->bytes, &record, NULL) == VV_OK;
        keeping->is_stale |= !is_read || record.unit.to > keeping->from;
        return VV_OK;
    }
    if (piece->key.span_start != keeping->from) {
        return VV_OK;
    }
    keeping->version = piece->version;
    return vv_piece_list_add(&keeping->look->reroll->stored, piece, true) ? VV_OK : VV_NO_MEMORY;
}

/* ---- steps of a record ---- */

static enum vv_status add_rows(struct vv_reroll *reroll, struct vv_error *error)
{
    for (;;) {
        const struct vv_rows *rows;
        enum vv_status status = vv_merge_next(reroll->merge, &rows, error);
        if (status == VV_OK) {
            status = vv_rollup_add_rows(reroll->rollup, rows, error);
        }
        if (status != VV_OK) {
            return status == VV_DONE ? VV_OK : status;
        }
    }
}

#define PARTS_MAX (VV_ROLLUP_METRICS_MAX / VV_CHUNK_METRICS_MAX + 1)

/* A record as chunks; zero-initialised has none. */
struct chunks {
    size_t n;
    struct vv_chunk items[PARTS_MAX];
    struct vv_buffer bytes[PARTS_MAX];
};

static void chunks_deinit(struct chunks *chunks)
{
    for (size_t i = 0; i < PARTS_MAX; i++) {
        vv_buffer_deinit(&chunks->bytes[i]);
    }
}

/* Opens what stands in the next one's bytes. */
static enum vv_status open_chunk(struct chunks *chunks, struct vv_error *error)
{
    const struct vv_buffer *bytes = &chunks->bytes[chunks->n];
    enum vv_status status = vv_buffer_status(bytes);
    if (status == VV_OK) {
        status = vv_chunk_open((struct vv_str){(const char *)bytes->data, bytes->size},
                               &chunks->items[chunks->n], error);
    }
    chunks->n += status == VV_OK;
    return status;
}

/* Of what is in the roll-up. */
static enum vv_status add_rolled_up(struct vv_reroll *reroll, struct chunks *chunks,
                                    struct vv_error *error)
{
    enum vv_status status = VV_OK;
    size_t metrics = vv_rollup_steps(reroll->rollup) > 0 ? vv_rollup_metrics(reroll->rollup) : 0;
    for (size_t first = 0; first < metrics && chunks->n < PARTS_MAX && status == VV_OK;
         first += VV_CHUNK_METRICS_MAX) {
        status = vv_rollup_encode(reroll->rollup, first, 0, &chunks->bytes[chunks->n], error);
        if (status == VV_OK) {
            status = open_chunk(chunks, error);
        }
    }
    return status;
}

/* What the parts of a record are, or its rows would be. VV_CORRUPT, VV_NEWER. */
static enum vv_status read_steps(struct vv_reroll *reroll, enum vv_space tier,
                                 const struct vv_piece_list *pieces, struct chunks *chunks,
                                 struct vv_error *error)
{
    enum vv_status status = VV_OK;
    vv_rollup_begin(reroll->rollup, vv_tier_step_ns(tier));
    vv_merge_reset(reroll->merge, INT64_MIN, INT64_MAX);
    for (size_t i = 0; i < pieces->n && status == VV_OK; i++) {
        struct vv_unit_record record;
        if (pieces->items[i].bytes.size == 0) {
            continue;
        }
        status = vv_unit_read(pieces->items[i].bytes, &record, error);
        if (status == VV_OK && record.kind == VV_UNIT_STEPS && chunks->n == PARTS_MAX) {
            status = vv_error_set(error, VV_CORRUPT, "a tier's record has too many parts");
        } else if (status == VV_OK && record.kind == VV_UNIT_STEPS) {
            vv_buffer_str(&chunks->bytes[chunks->n], record.content);
            status = open_chunk(chunks, error);
        } else if (status == VV_OK) {
            status = vv_merge_add_block(reroll->merge, (const uint8_t *)record.content.data,
                                        record.content.size, error);
        }
    }
    if (status == VV_OK) {
        status = add_rows(reroll, error);
    }
    return status == VV_OK ? add_rolled_up(reroll, chunks, error) : status;
}

static bool is_damage(enum vv_status status)
{
    return status == VV_CORRUPT || status == VV_NEWER;
}

static enum vv_status compare_chunks(struct vv_reroll *reroll, enum vv_space tier,
                                     struct chunks *stored, struct chunks *built,
                                     struct vv_comparison *comparison, bool *is_readable_out,
                                     struct vv_error *error)
{
    *is_readable_out = true;
    enum vv_status status = read_steps(reroll, tier, &reroll->stored, stored, error);
    if (is_damage(status)) {
        *is_readable_out = false;
        status = VV_OK;
    }
    if (status == VV_OK) {
        status = read_steps(reroll, tier, &reroll->built, built, error);
    }
    if (status == VV_OK && *is_readable_out) {
        status =
            vv_chunk_compare(stored->items, stored->n, built->items, built->n, comparison, error);
        *is_readable_out = !is_damage(status);
        status = is_damage(status) ? VV_OK : status;
    }
    return status;
}

/* Compares what is stored with what was built. What is stored may be damaged: it is different. */
static enum vv_status compare(struct vv_reroll *reroll, enum vv_space tier,
                              struct vv_reroll_result *result, struct vv_error *error)
{
    struct vv_comparison comparison = {0};
    bool is_good = true;
    struct chunks *both = calloc(2, sizeof *both);
    if (!both) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory");
    }
    enum vv_status status =
        compare_chunks(reroll, tier, &both[0], &both[1], &comparison, &is_good, error);
    bool has_record = reroll->stored.n > 0;
    bool has_points = both[1].n > 0;
    result->verdict = !has_record && !has_points         ? VV_REROLL_NOTHING
                      : !has_record                      ? VV_REROLL_MISSING
                      : !is_good || comparison.steps > 0 ? VV_REROLL_DIFFERENT
                                                         : VV_REROLL_SAME;
    result->steps = comparison.steps;
    result->metric = comparison.metric;
    result->start = comparison.start;
    result->what = is_good ? comparison.what : NULL;
    chunks_deinit(&both[0]);
    chunks_deinit(&both[1]);
    free(both);
    return status;
}

/* ---- a unit ---- */

/* As the sealer has it: an expired unit gets no record. */
static bool is_gone(const struct vv_look *look, enum vv_space tier, const struct vv_span_key *key,
                    int64_t now_ns)
{
    int64_t retention =
        vv_registry_retention(look->reroll->options.registry, look->tiers.spaces[tier]);
    int64_t end = key->partition.bucket_start + key->partition.bucket_ns;
    return retention > 0 && end < now_ns - retention;
}

static enum vv_status build(struct vv_look *look, enum vv_space tier, int64_t now_ns,
                            int64_t version, struct vv_reroll_result *result)
{
    struct vv_reroll *reroll = look->reroll;
    struct vv_store *store = reroll->options.store;
    const struct vv_mark mark = {.key = vv_unit_key(tier, look->tiers.spaces[tier], look->source,
                                                    look->measurement, result->unit.from),
                                 .span_ns = result->unit.to - result->unit.from};
    return vv_pyramid_build(reroll->pyramid, &mark, result->unit.to, now_ns,
                            store->ops->shared ? version : VV_VERSION_NONE, false, &reroll->built,
                            look->error);
}

enum vv_status vv_reroll_tell_cohort(struct vv_reroll *reroll, enum vv_space tier, int64_t now_ns,
                                     const struct vv_span_key *key, int64_t to,
                                     struct vv_error *error)
{
    struct vv_store *store = reroll->options.store;
    const struct vv_stale_options options = {
        .registry = reroll->options.registry, .store = store, .ledger = reroll->options.ledger};
    const struct vv_stale_unit unit = {
        .key = *key, .to = to, .run = vv_stamp_make((uint64_t)(now_ns / VV_MICROSECOND), 0)};
    struct vv_stale_unit cohort;
    if (!vv_stale_cohort(&options, tier, &unit, &cohort)) {
        return VV_OK;
    }
    return vv_stale_put(&options, &cohort, error);
}

static enum vv_status repair_unit(struct vv_reroll *reroll, enum vv_space tier, int64_t now_ns,
                                  struct vv_reroll_result *result, struct vv_error *error)
{
    struct vv_store *store = reroll->options.store;
    /* A record that nothing is below may be the only one that has what is in it. */
    if (reroll->built.n == 0 || reroll->built.items[0].bytes.size == 0) {
        return VV_OK;
    }
    enum vv_status status = vv_reroll_tell_cohort(reroll, tier, now_ns, &reroll->built.items[0].key,
                                                  result->unit.to, error);
    if (status == VV_OK && vv_tier_has_cohorts(tier)) {
        status = store->ops->confirm(store, error);
    }
    if (status == VV_OK) {
        status = store->ops->put_blocks(store, reroll->built.items, reroll->built.n, error);
    }
    result->is_repaired = status == VV_OK;
    return status;
}

static enum vv_status look_at_unit(struct vv_look *look, enum vv_space tier, int64_t now_ns,
                                   bool repair, struct vv_reroll_result *result)
{
    struct vv_reroll *reroll = look->reroll;
    struct keeping keeping = {.look = look, .from = result->unit.from, .version = VV_VERSION_NONE};
    enum vv_status status = vv_look_visit_tier(look, tier, result->unit.from, result->unit.from + 1,
                                               keep_record, &keeping);
    if (status != VV_OK || keeping.is_stale) {
        result->verdict = VV_REROLL_WAITING;
        return status;
    }
    status = vv_look_prove(look, (int)tier, result->unit.from, result->unit.to);
    if (status != VV_OK || look->verdict != VV_REROLL_NOTHING) {
        result->verdict = look->verdict;
        return status;
    }
    status = build(look, tier, now_ns, keeping.version, result);
    if (status == VV_OK) {
        status = compare(reroll, tier, result, look->error);
    }
    bool is_wrong = result->verdict == VV_REROLL_DIFFERENT || result->verdict == VV_REROLL_MISSING;
    return status == VV_OK && is_wrong && repair
               ? repair_unit(reroll, tier, now_ns, result, look->error)
               : status;
}

enum vv_status vv_reroll_unit(struct vv_reroll *reroll, enum vv_space tier, uint32_t source,
                              uint32_t measurement, int64_t time,
                              const struct vv_reroll_bounds *bounds, int64_t now_ns, bool repair,
                              struct vv_reroll_result *result_out, struct vv_error *error)
{
    struct vv_registry *registry = reroll->options.registry;
    uint32_t place = vv_registry_place(registry, measurement);
    struct vv_look look = {.reroll = reroll,
                           .place = place,
                           .source = source,
                           .measurement = measurement,
                           .tiers = vv_registry_tiers(registry, place),
                           .plans = vv_registry_source_plans(registry, source),
                           .bounds = bounds,
                           .error = error};
    *result_out =
        (struct vv_reroll_result){.unit = vv_unit_of(tier, look.plans.plans, look.plans.n, time)};
    if (look.tiers.spaces[tier] == VV_REGISTRY_NONE) {
        return VV_OK;
    }
    const struct vv_span_key key =
        vv_unit_key(tier, look.tiers.spaces[tier], source, measurement, result_out->unit.from);
    if (result_out->unit.to > now_ns) {
        result_out->verdict = VV_REROLL_OPEN;
        return VV_OK;
    }
    if (is_gone(&look, tier, &key, now_ns)) {
        result_out->verdict = VV_REROLL_GONE;
        return VV_OK;
    }
    enum vv_status status = look_at_unit(&look, tier, now_ns, repair, result_out);
    if (is_damage(status) || status == VV_TOO_LARGE) { /* it is the unit's, the store goes on */
        result_out->verdict = VV_REROLL_DAMAGED;
        status = VV_OK;
        if (error) {
            error->message[0] = '\0';
        }
    }
    vv_piece_list_truncate(&reroll->stored, 0);
    vv_piece_list_truncate(&reroll->built, 0);
    return status;
}
