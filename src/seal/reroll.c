/* SPDX-License-Identifier: Apache-2.0 */
#include "seal/reroll_private.h"

#include "base/clock.h"
#include "registry/shared.h"
#include "seal/seal_private.h"
#include "seal/stale.h"
#include "tier/cohort.h"

#include <stdlib.h>

#define MARK_FOLLOWS_NS (30 * VV_SECOND) /* a mark lands so long after its runs at most */

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
    vv_piece_list_deinit(&reroll->runs);
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
                .partition = vv_bucket_partition(&bucket, number, look->source, split),
                .measurement = look->measurement,
                .span_from = vv_span_of(&bucket, from),
                .span_to = to < bucket.end ? to : bucket.end,
            }; /* not single values: these need no sealing */
            status = store->ops->read(store, &read, look_at_raw, look, look->error);
        }
        from = bucket.end;
    }
    return status;
}

static enum vv_status prove_raw(struct vv_look *look, int64_t from, int64_t to)
{
    uint32_t late = vv_registry_late_seen(look->reroll->options.registry, look->place);
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

static enum vv_status visit_tier(const struct vv_look *look, enum vv_space tier, int64_t from,
                                 int64_t to, bool tells_removed, vv_piece_visit visit,
                                 void *context)
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
                                           .span_to = to,
                                           .tells_removed = tells_removed};
        status = store->ops->read(store, &read, visit, context, look->error);
    }
    return status;
}

enum vv_status vv_look_visit_tier(const struct vv_look *look, enum vv_space tier, int64_t from,
                                  int64_t to, vv_piece_visit visit, void *context)
{
    return visit_tier(look, tier, from, to, false, visit, context);
}

/* A stretch of which a tier has no record: what is finer must be whole, or the tier itself, which
 * then had no points to build one of. */
static enum vv_status prove_gap(struct vv_look *look, int tier, int64_t from, int64_t to)
{
    enum vv_status status = vv_look_prove(look, tier, from, to);
    bool was_whole = look->gaps_are_empty || from >= look->bounds->tier_from[tier];
    if (status == VV_OK && was_whole && look->verdict == VV_REROLL_EXPIRED) {
        look->verdict = VV_REROLL_NOTHING;
    }
    return status;
}

struct vv_look vv_look_of(struct vv_reroll *reroll, uint32_t place, uint32_t source,
                          uint32_t measurement, const struct vv_reroll_bounds *bounds,
                          struct vv_error *error)
{
    struct vv_registry *registry = reroll->options.registry;
    return (struct vv_look){.reroll = reroll,
                            .place = place,
                            .source = source,
                            .measurement = measurement,
                            .tiers = vv_registry_tiers_built(registry, place),
                            .plans = vv_registry_source_plans(registry, source),
                            .bounds = bounds,
                            .error = error};
}

/* Whether what the tier has at `time` may go at any time. */
static bool may_go(const struct vv_look *look, int tier, int64_t time)
{
    int64_t bucket_ns = vv_tier_plan((enum vv_space)tier).bucket_ns;
    return vv_time_floor(time, bucket_ns) + bucket_ns < look->bounds->tier_gone[tier];
}

enum vv_status vv_look_prove(struct vv_look *look, int above, int64_t from, int64_t to)
{
    int tier = vv_tiers_below(&look->tiers, above);
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
    bool is_stale;  /* whether by a unit that has this one … */
    int64_t put_us; /* … or by runs of its own: when the newest was put (of a shared store) */
};

static enum vv_status keep_record(void *context, const struct vv_piece *piece)
{
    struct keeping *keeping = context;
    struct vv_unit_record record;
    if (piece->kind == VV_PIECE_RUN) { /* of this unit, or of a longer one that has it */
        bool is_read = vv_unit_read(piece->bytes, &record, NULL) == VV_OK;
        bool is_own = piece->key.span_start == keeping->from;
        keeping->is_stale |= !is_read || (!is_own && record.unit.to > keeping->from);
        keeping->put_us =
            is_own && piece->version > keeping->put_us ? piece->version : keeping->put_us;
        return !is_own || vv_piece_list_add(&keeping->look->reroll->runs, piece,
                                            vv_unit_replaces(piece->bytes))
                   ? VV_OK
                   : VV_NO_MEMORY;
    }
    if (piece->key.span_start != keeping->from) {
        return VV_OK;
    }
    keeping->version = piece->version;
    if (piece->bytes.size == 0) { /* it was taken away; its runs are still to be covered */
        return VV_OK;
    }
    return vv_piece_list_add(&keeping->look->reroll->stored, piece, true) ? VV_OK : VV_NO_MEMORY;
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

enum vv_status vv_reroll_build(struct vv_look *look, enum vv_space tier, int64_t now_ns,
                               int64_t version, const struct vv_reroll_result *result)
{
    struct vv_reroll *reroll = look->reroll;
    struct vv_store *store = reroll->options.store;
    const struct vv_mark mark = {.key = vv_unit_key(tier, look->tiers.spaces[tier], look->source,
                                                    look->measurement, result->unit.from),
                                 .span_ns = result->unit.to - result->unit.from};
    const struct vv_pyramid_runs runs = {&reroll->runs, 0, NULL};
    return vv_pyramid_build(reroll->pyramid, &mark, result->unit.to, now_ns,
                            store->ops->shared ? version : VV_VERSION_NONE, false, &runs,
                            &reroll->built, look->error);
}

struct vv_stale_options vv_reroll_stale_options(const struct vv_reroll *reroll)
{
    return (struct vv_stale_options){.registry = reroll->options.registry,
                                     .store = reroll->options.store,
                                     .ledger = reroll->options.ledger};
}

/* Of one unit. Beside other nodes it lands: nothing of it waits with this node. */
static enum vv_status put_whole(const struct vv_stale_options *options,
                                const struct vv_stale_unit *unit,
                                enum vv_status (*put)(const struct vv_stale_options *,
                                                      const struct vv_stale_unit *,
                                                      struct vv_error *),
                                struct vv_error *error)
{
    struct vv_stale_unit item = *unit;
    const struct vv_stale_list one = {.items = &item, .n = 1};
    struct vv_store *store = options->store;
    enum vv_status status = vv_stale_check_held(options, &one, INT64_MAX, error);
    if (status == VV_OK) {
        status = put(options, unit, error);
    }
    if (status != VV_OK || !store->ops->shared) {
        return status;
    }
    status = store->ops->confirm(store, error);
    return status == VV_OK ? vv_stale_check_held(options, &one, INT64_MAX, error) : status;
}

enum vv_status vv_reroll_tell_cohort(struct vv_reroll *reroll, enum vv_space tier, int64_t now_ns,
                                     const struct vv_span_key *key, int64_t to,
                                     struct vv_error *error)
{
    struct vv_stale_options options = vv_reroll_stale_options(reroll);
    const struct vv_stale_unit unit = {
        .key = *key, .to = to, .run = vv_stamp_make((uint64_t)(now_ns / VV_MICROSECOND), 0)};
    struct vv_stale_unit cohort;
    options.is_whole = true;
    enum vv_status status = vv_stale_cohort(&options, tier, &unit, &cohort);
    if (status != VV_OK) {
        return status == VV_DONE ? VV_OK : status;
    }
    return put_whole(&options, &cohort, vv_stale_put, error);
}

/* Beside other nodes one of them may have built the cohort's unit of the old record meanwhile. */
static enum vv_status tell_cohort_again(struct vv_reroll *reroll, enum vv_space tier,
                                        int64_t now_ns, const struct vv_reroll_result *result,
                                        struct vv_error *error)
{
    struct vv_store *store = reroll->options.store;
    enum vv_status status = store->ops->confirm(store, error);
    if (status == VV_OK) {
        status = vv_reroll_tell_cohort(reroll, tier, now_ns + VV_MICROSECOND,
                                       &reroll->built.items[0].key, result->unit.to, error);
    }
    return status;
}

/* Beside other nodes the record may be written when the cohort has been built of the old one, and
 * this node be lost before it tells of it again: so somebody is to build the unit, and to tell. */
static enum vv_status mark_unit(struct vv_reroll *reroll, int64_t now_ns,
                                const struct vv_reroll_result *result, struct vv_error *error)
{
    struct vv_stale_options options = vv_reroll_stale_options(reroll);
    struct vv_stale_unit unit = {.key = reroll->built.items[0].key,
                                 .to = result->unit.to,
                                 .due_ns = result->unit.to,
                                 .run = vv_stamp_make((uint64_t)(now_ns / VV_MICROSECOND), 0)};
    options.is_whole = true;
    return put_whole(&options, &unit, vv_stale_mark, error);
}

enum vv_status vv_reroll_put(struct vv_reroll *reroll, int64_t now_ns, struct vv_error *error)
{
    const struct vv_reroll_options *options = &reroll->options;
    const struct vv_volumes volumes = {
        .registry = options->registry,
        .store = options->store,
        .rule = options->makes_volumes ? &options->ledger : NULL,
        .run = vv_stamp_make((uint64_t)(now_ns / VV_MICROSECOND), 0),
    };
    return vv_volumes_put(&volumes, &reroll->built, error);
}

static bool is_wrong(const struct vv_reroll_result *result)
{
    return result->verdict == VV_REROLL_DIFFERENT || result->verdict == VV_REROLL_MISSING;
}

static enum vv_status repair_unit(struct vv_reroll *reroll, enum vv_space tier, int64_t now_ns,
                                  struct vv_reroll_result *result, struct vv_error *error)
{
    struct vv_store *store = reroll->options.store;
    /* A record that nothing is below may be the only one that has what is in it. */
    if (!vv_reroll_has_built(reroll)) {
        return VV_OK;
    }
    bool is_told_twice = store->ops->shared && vv_tier_has_cohorts(tier);
    enum vv_status status = is_told_twice ? mark_unit(reroll, now_ns, result, error) : VV_OK;
    if (status == VV_OK) {
        status = vv_reroll_tell_cohort(reroll, tier, now_ns, &reroll->built.items[0].key,
                                       result->unit.to, error);
    }
    if (status == VV_OK && vv_tier_has_cohorts(tier)) {
        status = store->ops->confirm(store, error);
    }
    if (status == VV_OK) {
        status = vv_reroll_put(reroll, now_ns, error);
    }
    if (status == VV_OK && reroll->runs.n > 0) {
        status = store->ops->remove_runs(store, reroll->runs.items, reroll->runs.n, error);
        status = status == VV_OK ? store->ops->confirm(store, error) : status;
    }
    if (status == VV_OK && is_told_twice) {
        status = tell_cohort_again(reroll, tier, now_ns, result, error);
    }
    result->is_repaired = status == VV_OK && is_wrong(result);
    return status;
}

/* Where there is nothing at all, nothing is refused: beside other nodes it is not known from when
 * on a source has points. */
static enum vv_status look_for_any(struct vv_look *look, enum vv_space tier, int64_t now_ns,
                                   struct vv_reroll_result *result)
{
    enum vv_status status = vv_reroll_build(look, tier, now_ns, VV_VERSION_NONE, result);
    bool has_any = vv_reroll_has_built(look->reroll);
    result->verdict = status == VV_OK && !has_any ? VV_REROLL_NOTHING : result->verdict;
    return status;
}

/* Beside other nodes: whether anybody has the unit marked, and so builds it anyway. */
static enum vv_status look_for_mark(struct vv_look *look, enum vv_space tier,
                                    const struct vv_reroll_result *result, bool *is_marked_out)
{
    struct vv_store *store = look->reroll->options.store;
    const struct vv_shared_ops *shared = store->ops->shared;
    const struct vv_mark mark = {.key = vv_unit_key(tier, look->tiers.spaces[tier], look->source,
                                                    look->measurement, result->unit.from),
                                 .due_ns = result->unit.to};
    *is_marked_out = false;
    return shared && shared->is_marked ? shared->is_marked(store, &mark, is_marked_out, look->error)
                                       : VV_OK;
}

/* Runs that say that the unit is stale come with a mark, or a moment before it. Beside other nodes
 * these expire, and a record that somebody has taken away covered its runs: then a unit may be
 * stale and nobody builds it. */
static enum vv_status look_for_builder(struct vv_look *look, enum vv_space tier, int64_t now_ns,
                                       const struct keeping *keeping,
                                       const struct vv_reroll_result *result, bool *has_out)
{
    const struct vv_shared_ops *shared = look->reroll->options.store->ops->shared;
    *has_out = keeping->is_stale || !shared || !shared->is_marked ||
               keeping->put_us > (now_ns - MARK_FOLLOWS_NS) / VV_MICROSECOND;
    return *has_out ? VV_OK : look_for_mark(look, tier, result, has_out);
}

/* What is to be said of the unit; what it should be is built. */
static enum vv_status judge(struct vv_look *look, enum vv_space tier, int64_t now_ns,
                            struct vv_reroll_result *result)
{
    struct vv_reroll *reroll = look->reroll;
    bool is_shared = reroll->options.store->ops->shared != NULL;
    struct keeping keeping = {.look = look, .from = result->unit.from, .version = VV_VERSION_NONE};
    vv_piece_list_truncate(&reroll->stored, 0);
    vv_piece_list_truncate(&reroll->built, 0);
    vv_piece_list_truncate(&reroll->runs, 0);
    look->verdict = VV_REROLL_NOTHING;
    enum vv_status status = visit_tier(look, tier, result->unit.from, result->unit.from + 1,
                                       is_shared, keep_record, &keeping);
    bool is_waiting = false;
    bool is_stale = keeping.is_stale || reroll->runs.n > 0;
    look->version = keeping.version;
    if (status == VV_OK && is_stale) {
        status = look_for_builder(look, tier, now_ns, &keeping, result, &is_waiting);
    }
    if (status != VV_OK || is_waiting) {
        result->verdict = VV_REROLL_WAITING;
        return status;
    }
    status = vv_look_prove(look, (int)tier, result->unit.from, result->unit.to);
    if (status != VV_OK || look->verdict != VV_REROLL_NOTHING) {
        result->verdict = look->verdict;
        bool may_be_empty = is_shared && look->verdict == VV_REROLL_EXPIRED;
        return status == VV_OK && may_be_empty && reroll->stored.n == 0
                   ? look_for_any(look, tier, now_ns, result)
                   : status;
    }
    status = vv_reroll_build(look, tier, now_ns, keeping.version, result);
    if (status == VV_OK) {
        status = vv_reroll_compare(reroll, tier, result, look->error);
    }
    if (status == VV_OK && is_stale && result->verdict == VV_REROLL_SAME) {
        result->verdict = VV_REROLL_DIFFERENT; /* nobody reads it */
    }
    return status;
}

/* The same; what is wrong and marked is built by who owns it anyway. */
static enum vv_status look_well(struct vv_look *look, enum vv_space tier, int64_t now_ns,
                                struct vv_reroll_result *result)
{
    bool is_marked = false;
    enum vv_status status = judge(look, tier, now_ns, result);
    if (status == VV_OK && is_wrong(result)) {
        status = look_for_mark(look, tier, result, &is_marked);
    }
    result->verdict = is_marked ? VV_REROLL_WAITING : result->verdict;
    return status;
}

/* Beside other nodes: as whoever seals, with a stamp above what they have begun; and looked at
 * again from then on, since one of them may have built it meanwhile. */
static enum vv_status take_unit(struct vv_look *look, enum vv_space tier, int64_t now_ns,
                                struct vv_reroll_result *result)
{
    const struct vv_reroll_options *options = &look->reroll->options;
    struct vv_store *store = options->store;
    const struct vv_shared_ops *shared = store->ops->shared;
    const struct vv_mark mark = {.key = vv_unit_key(tier, look->tiers.spaces[tier], look->source,
                                                    look->measurement, result->unit.from),
                                 .span_ns = result->unit.to - result->unit.from};
    bool is_mine = false;
    enum vv_status status = shared->take_seal
                                ? shared->take_seal(store, &mark, &is_mine, look->error)
                                : shared->begin_seal(store, &mark, 1, &is_mine, look->error);
    if (status == VV_OK && is_mine && options->learn) {
        status = options->learn(options->learn_context, look->error);
    }
    if (status != VV_OK || !is_mine) {
        result->verdict = VV_REROLL_AWAY;
        return status;
    }
    look->tiers = vv_registry_tiers_built(options->registry, look->place);
    look->plans = vv_registry_source_plans(options->registry, look->source);
    const struct vv_unit now =
        vv_unit_of(tier, look->plans.plans, look->plans.n, result->unit.from);
    if (look->tiers.spaces[tier] == VV_REGISTRY_NONE || now.from != result->unit.from ||
        now.to != result->unit.to) {
        result->verdict = VV_REROLL_WAITING;
        return VV_OK;
    }
    return look_well(look, tier, now_ns, result);
}

/* Beside other nodes a record goes by itself, so one that was put before the tier was made longer
 * lives for less than the retention says. Its version is the wall time of its pass in us. */
static bool lives_for_less(const struct vv_look *look, enum vv_space tier,
                           const struct vv_reroll_result *result)
{
    const struct vv_reroll_options *options = &look->reroll->options;
    if (!options->store->ops->shared || result->verdict != VV_REROLL_SAME) {
        return false;
    }
    struct vv_whole whole = vv_registry_whole(options->registry, look->tiers.spaces[tier]);
    bool lives = false;
    for (size_t i = 0; i < whole.n; i++) {
        const struct vv_lengthened *longer = &whole.longer[i];
        lives |= longer->kept_ns > 0 && look->version < longer->from / VV_MICROSECOND;
    }
    return lives;
}

static bool is_to_be_put(const struct vv_look *look, enum vv_space tier,
                         const struct vv_reroll_result *result)
{
    return is_wrong(result) || lives_for_less(look, tier, result);
}

static enum vv_status look_at_unit(struct vv_look *look, enum vv_space tier, int64_t now_ns,
                                   bool repair, struct vv_reroll_result *result)
{
    struct vv_reroll *reroll = look->reroll;
    enum vv_status status = look_well(look, tier, now_ns, result);
    if (status != VV_OK || !repair || !is_to_be_put(look, tier, result)) {
        return status;
    }
    if (reroll->options.store->ops->shared) {
        status = take_unit(look, tier, now_ns, result);
    }
    return status == VV_OK && is_to_be_put(look, tier, result)
               ? repair_unit(reroll, tier, now_ns, result, look->error)
               : status;
}

enum vv_status vv_reroll_unit(struct vv_reroll *reroll, enum vv_space tier, uint32_t place,
                              uint32_t source, uint32_t measurement, int64_t time,
                              const struct vv_reroll_bounds *bounds, int64_t now_ns, bool repair,
                              struct vv_reroll_result *result_out, struct vv_error *error)
{
    struct vv_look look = vv_look_of(reroll, place, source, measurement, bounds, error);
    *result_out =
        (struct vv_reroll_result){.unit = vv_unit_of(tier, look.plans.plans, look.plans.n, time)};
    if (look.tiers.spaces[tier] == VV_REGISTRY_NONE) {
        return VV_OK;
    }
    const struct vv_span_key key =
        vv_unit_key(tier, look.tiers.spaces[tier], source, measurement, result_out->unit.from);
    bool is_shared = reroll->options.store->ops->shared != NULL;
    int64_t over_at = is_shared ? now_ns - VV_CLOCKS_DIFFER_NS : now_ns;
    bool is_open = result_out->unit.to > over_at;
    bool is_behind = !is_open && result_out->unit.to > bounds->heard_until;
    bool is_later = is_open || is_behind;
    result_out->verdict = is_open ? VV_REROLL_OPEN : is_behind ? VV_REROLL_AWAY : VV_REROLL_NOTHING;
    if (is_later && (!repair || (is_behind && bounds->heard_until == INT64_MIN))) {
        return VV_OK;
    }
    if (is_gone(&look, tier, &key, now_ns)) {
        result_out->verdict = VV_REROLL_GONE;
        return VV_OK;
    }
    enum vv_status status = is_later ? vv_reroll_mark_open(&look, tier, now_ns, over_at, result_out)
                                     : look_at_unit(&look, tier, now_ns, repair, result_out);
    result_out->is_marked = is_behind && status == VV_OK;
    bool is_away = is_shared && status == VV_OVERLOAD;
    if (vv_reroll_is_damage(status) || status == VV_TOO_LARGE || is_away) {
        /* It is the unit's, the store goes on. */
        result_out->verdict = is_away ? VV_REROLL_AWAY : VV_REROLL_DAMAGED;
        status = VV_OK;
        if (error) {
            error->message[0] = '\0';
        }
    }
    vv_piece_list_truncate(&reroll->stored, 0);
    vv_piece_list_truncate(&reroll->built, 0);
    vv_piece_list_truncate(&reroll->runs, 0);
    return status;
}
