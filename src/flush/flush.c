/* SPDX-License-Identifier: Apache-2.0 */
/* The flush: series by series, rows are sorted, placed and written as runs. */
#include "flush/flush.h"

#include "flush/tiers_seen.h"
#include "model/piece.h"
#include "seal/stale.h"

#include <string.h>

#define RUN_ROWS_MAX  4096 /* of a part: bounds what a merge of many runs holds at once */
#define RUN_BYTES_MAX (256u << 10)
#define PLANS_AT_ONCE 256
#define SOON_NS       VV_HOUR /* by then a flush has landed, as a rule; else the sealer looks */

/* What one flush carries from series to series. */
struct flush {
    const struct vv_flush_options *options;
    struct vv_piece_encoder encoder;
    struct vv_merge *merge; /* made when a series needs sorting */
    vv_stamp run;
    int64_t fold_ns; /* when late points of the present piece are folded; INT64_MIN: it has none */
    uint32_t source; /* whose series are being written */
    struct vv_flush_figures *figures;
    struct vv_error *error;
    /* The span that is being written, and how many parts each of its splits has. */
    struct vv_span_key span;
    uint32_t parts[VV_SPLITS_MAX];
    bool span_open;
    struct vv_stale_options stale_options;
    struct vv_stay stay;        /* of the series that is being written: where its rows go */
    struct vv_stale stale;      /* of what is above that */
    struct vv_stale_list later; /* where other nodes may build units meanwhile */
    int64_t over_at;            /* units of tiers that end by then are over, or soon will be */
    uint32_t late_space;        /* of that place; VV_REGISTRY_NONE: nothing is kept apart */
    int64_t late_limit_ns;
    struct vv_tiers_seen seen; /* when `later` was filled */
    bool has_values;           /* there may be single values of some place */
    bool is_again;             /* all is written: `later` is filled once more … */
    bool is_heard;             /* … knowing all tiers that others may have built */
};

/* ---- plans ---- */

/* May be longer than an int64 tells. */
static int64_t length_of(int64_t low, int64_t high)
{
    uint64_t range = (uint64_t)high - (uint64_t)low;
    return range < INT64_MAX ? (int64_t)range : INT64_MAX;
}

struct vv_plan vv_flush_choose_plan(const struct vv_flush_options *options, uint32_t source,
                                    uint64_t rows, int64_t low, int64_t high)
{
    uint32_t tenant = vv_registry_source_tenant(options->registry, source);
    struct vv_plan plan = vv_plan_choose(rows, length_of(low, high),
                                         vv_registry_bucket_max(options->registry, tenant));
    struct vv_plan wanted = plan;
    wanted.bucket_ns = options->bucket_ns ? options->bucket_ns : plan.bucket_ns;
    wanted.span_ns = options->span_ns ? options->span_ns : plan.span_ns;
    wanted.splits = options->splits ? options->splits : plan.splits;
    if (wanted.span_ns > wanted.bucket_ns) {
        wanted.span_ns = wanted.bucket_ns;
    }
    return vv_plan_check(&wanted, NULL) == VV_OK ? wanted : plan;
}

static enum vv_status ensure_plan(struct flush *flush, uint32_t source, const struct vv_rows *rows)
{
    struct vv_registry *registry = flush->options->registry;
    if (vv_registry_source_plans(registry, source).n > 0) {
        return VV_OK;
    }
    int64_t low = rows->times[0];
    int64_t high = rows->times[0];
    for (size_t i = 1; i < rows->n_rows; i++) {
        low = rows->times[i] < low ? rows->times[i] : low;
        high = rows->times[i] > high ? rows->times[i] : high;
    }
    struct vv_plan plan = vv_flush_choose_plan(flush->options, source, rows->n_rows, low, high);
    enum vv_status status = vv_registry_source_set_plans(registry, source, &plan, 1);
    flush->figures->plans += status == VV_OK;
    return status;
}

/* ---- plans that other nodes must agree with ---- */

/* Sources without a plan, each with the one that this node would take. */
struct agreeing {
    struct flush *flush;
    struct vv_first_plan plans[PLANS_AT_ONCE];
    size_t n;
    uint32_t source; /* the last one that was looked at */
    bool agreed;     /* on any */
    int64_t last_ns; /* the latest of all points */
};

static enum vv_status agree(struct agreeing *agreeing)
{
    struct flush *flush = agreeing->flush;
    if (agreeing->n == 0) {
        return VV_OK;
    }
    enum vv_status status =
        vv_fleet_agree(flush->options->fleet, agreeing->plans, agreeing->n, flush->error);
    flush->figures->plans += status == VV_OK ? agreeing->n : 0;
    agreeing->n = 0;
    agreeing->agreed = true;
    return status;
}

/* Single values are not shared. */
uint8_t vv_flush_choose_share(struct vv_registry *registry, struct vv_store *store, uint32_t source,
                              const struct vv_plan *plan, uint64_t rows, int64_t low, int64_t high)
{
    uint32_t tenant = vv_registry_source_tenant(registry, source);
    bool shares = store->ops->shared->order &&
                  !(store->ops->values_max && store->ops->values_max(store, tenant) > 0);
    return shares ? vv_plan_choose_share(plan, vv_registry_tenant_sources(registry, tenant), rows,
                                         length_of(low, high))
                  : 0;
}

static enum vv_status look_at_series(void *context, uint32_t source, uint32_t measurement,
                                     uint64_t rows, int64_t first, int64_t last)
{
    (void)measurement;
    struct agreeing *agreeing = context;
    struct vv_registry *registry = agreeing->flush->options->registry;
    agreeing->last_ns = last > agreeing->last_ns ? last : agreeing->last_ns;
    if (source == agreeing->source || vv_registry_source_plans(registry, source).n > 0) {
        return VV_OK;
    }
    agreeing->source = source;
    struct vv_first_plan *chosen = &agreeing->plans[agreeing->n++];
    *chosen = (struct vv_first_plan){
        .tenant = vv_registry_source_tenant(registry, source),
        .source = source,
        .plan = vv_flush_choose_plan(agreeing->flush->options, source, rows, first, last),
    };
    chosen->plan.share_bits = vv_flush_choose_share(registry, agreeing->flush->options->store,
                                                    source, &chosen->plan, rows, first, last);
    return agreeing->n == PLANS_AT_ONCE ? agree(agreeing) : VV_OK;
}

/* Sources with points that lie behind what was heard of plans. */
struct doubting {
    struct flush *flush;
    struct vv_plan_doubt doubts[PLANS_AT_ONCE];
    size_t n;
    bool any_tentative;
};

static enum vv_status doubt(struct doubting *doubting)
{
    struct flush *flush = doubting->flush;
    size_t n = doubting->n;
    doubting->n = 0;
    if (n == 0) {
        return VV_OK;
    }
    enum vv_status status =
        vv_fleet_doubt(flush->options->fleet, doubting->doubts, n, flush->error);
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        doubting->any_tentative |= doubting->doubts[i].is_tentative;
    }
    return status;
}

static enum vv_status doubt_series(void *context, uint32_t source, uint32_t measurement,
                                   uint64_t rows, int64_t first, int64_t last)
{
    (void)measurement;
    (void)rows;
    (void)first;
    struct doubting *doubting = context;
    const struct vv_flush_options *options = doubting->flush->options;
    if (last < options->plans_known_until_ns ||
        vv_fleet_trusts_plans(options->fleet, source, last)) {
        return VV_OK;
    }
    struct vv_plan_doubt *before = doubting->n > 0 ? &doubting->doubts[doubting->n - 1] : NULL;
    if (before && before->source == source) {
        before->until_ns = last > before->until_ns ? last : before->until_ns;
        return VV_OK;
    }
    enum vv_status status = doubting->n == PLANS_AT_ONCE ? doubt(doubting) : VV_OK;
    doubting->doubts[doubting->n++] = (struct vv_plan_doubt){.source = source, .until_ns = last};
    return status;
}

static enum vv_status doubt_plans(struct flush *flush, struct vv_generation *generation)
{
    struct doubting doubting = {.flush = flush};
    enum vv_status status = vv_generation_glance(generation, doubt_series, &doubting);
    if (status == VV_OK) {
        status = doubt(&doubting);
    }
    return status == VV_OK && doubting.any_tentative
               ? vv_fleet_confirm(flush->options->fleet, flush->error)
               : status;
}

/* Confirmed before any record that holds such a plan: else a restart could find the plan here, and
 * nobody would have told it. */
static enum vv_status agree_on_plans(struct flush *flush, struct vv_generation *generation)
{
    if (!flush->options->fleet) {
        return VV_OK;
    }
    struct agreeing agreeing = {.flush = flush, .source = VV_REGISTRY_NONE, .last_ns = VV_TIME_MIN};
    enum vv_status status = vv_generation_glance(generation, look_at_series, &agreeing);
    if (status == VV_OK) {
        status = agree(&agreeing);
    }
    if (status == VV_OK && agreeing.agreed) {
        status = vv_fleet_confirm(flush->options->fleet, flush->error);
    }
    bool is_known = agreeing.last_ns < flush->options->plans_known_until_ns;
    return status == VV_OK && !is_known ? doubt_plans(flush, generation) : status;
}

/* ---- a source ---- */

enum vv_status vv_flush_put_record(struct vv_registry *registry, struct vv_store *store,
                                   enum vv_registry_kind kind, uint32_t number,
                                   struct vv_error *error)
{
    struct vv_buffer buffer = {0};
    uint8_t key[4];
    vv_registry_key(number, key);
    vv_registry_encode(registry, kind, number, &buffer);
    enum vv_status status = vv_buffer_status(&buffer);
    if (status == VV_OK) {
        status =
            store->ops->put_meta(store, (uint8_t)kind, (struct vv_str){(char *)key, sizeof key},
                                 (struct vv_str){(char *)buffer.data, buffer.size}, error);
    }
    vv_buffer_deinit(&buffer);
    return status;
}

static enum vv_status put_record(struct flush *flush, enum vv_registry_kind kind, uint32_t source)
{
    const struct vv_flush_options *options = flush->options;
    return vv_flush_put_record(options->registry, options->store, kind, source, flush->error);
}

/* The source's record goes in before the first run that follows its plan, so that there is never a
 * run without its plan. A settled record needs no care: the journal has it, and the flush of the
 * generation that journaled it stores it. */
static enum vv_status begin_source(struct flush *flush, uint32_t source, const struct vv_rows *rows)
{
    enum vv_status status = ensure_plan(flush, source, rows);
    if (status == VV_OK &&
        !vv_registry_settled(flush->options->registry, VV_REGISTRY_SOURCE, source)) {
        status = put_record(flush, VV_REGISTRY_SOURCE, source);
    }
    if (status == VV_OK) {
        status = put_record(flush, VV_REGISTRY_TIMES, source);
    }
    return status;
}

/* ---- placing ---- */

static bool same_span(const struct vv_span_key *a, const struct vv_span_key *b)
{
    return a->partition.source == b->partition.source &&
           a->partition.bucket_start == b->partition.bucket_start &&
           a->partition.bucket_ns == b->partition.bucket_ns && a->measurement == b->measurement &&
           a->span_start == b->span_start;
}

static uint32_t next_part(struct flush *flush, const struct vv_span_key *key)
{
    if (!flush->span_open || !same_span(&flush->span, key)) {
        memset(flush->parts, 0, sizeof flush->parts);
        flush->span = *key;
        flush->span_open = true;
    }
    return flush->parts[vv_split_index(key->partition.split)]++;
}

static bool has_values(const struct flush *flush, uint32_t place)
{
    struct vv_store *store = flush->options->store;
    return store->ops->has_values && store->ops->has_values(store, place);
}

/* The next one behind when a row was accepted: the same whenever the flush is repeated, and over
 * when what was replayed has waited for it in the journal. */
static int64_t fold_of(const struct flush *flush, vv_stamp stamp)
{
    int64_t accepted = (int64_t)vv_stamp_clock_us(stamp) * VV_MICROSECOND;
    return vv_ledger_fold(&flush->options->ledger, accepted);
}

/* Whether a row was older than the limit when it was accepted, and is kept apart for that. Its
 * stamp says when that was, so that a repeated flush puts it where it was. */
static bool is_late(const struct flush *flush, const struct vv_rows *rows, size_t at)
{
    int64_t accepted = (int64_t)vv_stamp_clock_us(rows->stamps[at]) * VV_MICROSECOND;
    return flush->late_space != VV_REGISTRY_NONE &&
           rows->times[at] < accepted - flush->late_limit_ns;
}

static void note_late(struct flush *flush, uint32_t place)
{
    struct vv_registry *registry = flush->options->registry;
    struct vv_late late = vv_registry_late(registry, place);
    bool is_apart = late.policy == VV_LATE_SEPARATE && flush->options->ledger.fold_every_ns > 0;
    flush->late_space = is_apart ? vv_registry_late_space(registry, place) : VV_REGISTRY_NONE;
    flush->late_limit_ns = late.limit_ns;
}

static enum vv_status put_mark(struct flush *flush, const struct vv_span_key *key, int64_t span_ns)
{
    struct vv_store *store = flush->options->store;
    struct vv_mark mark = vv_ledger_mark(&flush->options->ledger, key, span_ns, flush->run);
    mark.due_ns = flush->fold_ns > mark.due_ns ? flush->fold_ns : mark.due_ns;
    return store->ops->put_mark(store, &mark, flush->error);
}

/* Of single values that may have missed a tier: whoever seals the span has learnt of it. At once,
 * since its units may have been built. Of the place itself, though they are late by now: they may
 * have been in time when they were put, before the limit changed. */
static enum vv_status mark_values(struct flush *flush, struct vv_span_key key, uint32_t place,
                                  int64_t span_ns)
{
    struct vv_store *store = flush->options->store;
    key.partition.tenant = place;
    bool may_miss = !flush->is_heard || store->ops->shared->has_parked(store, place);
    if (!may_miss || !has_values(flush, place)) {
        return VV_OK;
    }
    struct vv_mark mark = vv_ledger_mark(&flush->options->ledger, &key, span_ns, flush->run);
    int64_t run_ns = (int64_t)vv_stamp_clock_us(flush->run) * VV_MICROSECOND;
    int64_t end = key.span_start + span_ns;
    int64_t at = run_ns > end ? run_ns : end;
    mark.due_ns = at < mark.due_ns ? at : mark.due_ns;
    mark.is_of_block = true; /* it stands, though there are no runs */
    return store->ops->put_mark(store, &mark, flush->error);
}

/* Writes rows [first, end), all in one span and split, as parts of a run, then the mark. An
 * embedded store keeps the order, and there the mark comes first: what is late may be in time when
 * the flush is done again, as the limit has changed, and the run that a crash left behind must have
 * one. */
static enum vv_status write_run(struct flush *flush, const struct vv_span_key *key, int64_t span_ns,
                                const struct vv_rows *rows, size_t first, size_t end)
{
    struct vv_store *store = flush->options->store;
    bool mark_first = !store->ops->shared;
    enum vv_status status = mark_first ? put_mark(flush, key, span_ns) : VV_OK;
    while (first < end && status == VV_OK) {
        size_t n = vv_piece_rows(&flush->encoder, rows, first, end);
        struct vv_piece piece = {.kind = VV_PIECE_RUN, .key = *key, .run = flush->run};
        status =
            vv_piece_encode(&flush->encoder, rows, first, first + n, &piece.bytes, flush->error);
        if (status == VV_OK) {
            piece.part = next_part(flush, key);
            status = store->ops->put_run(store, &piece, flush->error);
            flush->figures->runs++;
            flush->figures->bytes += piece.bytes.size;
        }
        first += n;
    }
    return status == VV_OK && !mark_first ? put_mark(flush, key, span_ns) : status;
}

static void count(struct flush *flush, const struct vv_bucket *bucket,
                  const struct vv_span_key *key, const struct vv_rows *rows, size_t first,
                  size_t end, uint64_t bytes)
{
    struct vv_store *store = flush->options->store;
    if (flush->options->load) {
        const struct vv_load_rows written = {
            .source = key->partition.source,
            .bucket = *bucket,
            .first_ns = rows->times[first],
            .last_ns = rows->times[end - 1],
            .rows = end - first,
            .values = (uint64_t)(end - first) * rows->n_columns,
            .bytes = bytes,
            .values_max =
                store->ops->values_max ? store->ops->values_max(store, key->partition.tenant) : 0,
        };
        vv_load_add(flush->options->load, &written);
    }
}

/* Single values have no marks of their own: nothing else would say that an open unit is to be built
 * when it is over. Late points that are kept apart have one for the fold, which may be days later.
 */
static bool marks_open(const struct flush *flush, uint32_t place, bool late)
{
    struct vv_store *store = flush->options->store;
    return flush->options->fleet &&
           (late || (store->ops->values_max && store->ops->values_max(store, place) > 0));
}

/* That of a series' rows from this time on. */
static enum vv_status begin_stay(struct flush *flush, uint32_t source, uint32_t measurement,
                                 int64_t time)
{
    flush->stay = vv_registry_stay(flush->options->registry, measurement, time);
    uint32_t place = flush->stay.place;
    note_late(flush, place);
    vv_stale_begin(&flush->stale, &flush->stale_options, place, source, measurement, flush->run);
    if (!flush->options->fleet) {
        return VV_OK;
    }
    flush->stale.later = &flush->later;
    return vv_tiers_seen_note(&flush->seen, place, &flush->stale.tiers);
}

/* Up to where units are listed that end. Whether one that is open is above something that is parked
 * is known when all is written. */
static int64_t listed_until(const struct flush *flush, uint32_t place)
{
    const struct vv_flush_options *options = flush->options;
    bool has_parked =
        options->fleet && options->store->ops->shared->has_parked(options->store, place);
    return flush->stale.marks_open || has_parked ? INT64_MAX : flush->over_at;
}

/* Rows ascend by (time, stamp): cuts them where the stay, the bucket, the span or the split
 * changes, and where late ones begin or end. Parts are counted on over such a cut. */
static enum vv_status write_rows(struct flush *flush, uint32_t source, uint32_t measurement,
                                 const struct vv_rows *rows)
{
    struct vv_plans plans = vv_registry_source_plans(flush->options->registry, source);
    struct vv_span_key key = {.measurement = measurement};
    key.partition.source = source;
    enum vv_status status = VV_OK;
    for (size_t first = 0; first < rows->n_rows && status == VV_OK;) {
        if (rows->times[first] >= flush->stay.to) {
            status = begin_stay(flush, source, measurement, rows->times[first]);
            continue;
        }
        uint32_t place = flush->stay.place;
        struct vv_bucket bucket = vv_bucket_of(plans.plans, plans.n, rows->times[first]);
        key.partition.bucket_start = bucket.start;
        key.partition.bucket_ns = bucket.bucket_ns;
        key.partition.split = vv_split_of(&bucket, rows->times[first]);
        key.span_start = vv_span_of(&bucket, rows->times[first]);
        int64_t span_end = key.span_start + bucket.span_ns;
        span_end = span_end < bucket.end ? span_end : bucket.end;
        span_end = span_end < flush->stay.to ? span_end : flush->stay.to;
        bool late = is_late(flush, rows, first);
        key.partition.tenant = late ? flush->late_space : place;
        flush->fold_ns = late ? fold_of(flush, rows->stamps[first]) : INT64_MIN;
        vv_stale_not_before(&flush->stale, flush->fold_ns);
        size_t end = first + 1;
        while (
            end < rows->n_rows && rows->times[end] < span_end &&
            is_late(flush, rows, end) == late &&
            (bucket.splits == 1 || vv_split_of(&bucket, rows->times[end]) == key.partition.split)) {
            end++;
        }
        uint64_t bytes = flush->figures->bytes;
        status = flush->is_again ? mark_values(flush, key, place, bucket.span_ns)
                                 : write_run(flush, &key, bucket.span_ns, rows, first, end);
        /* With the first run of a tenant the store chooses how it keeps that. */
        flush->stale.marks_open = marks_open(flush, place, late);
        flush->has_values = flush->has_values || has_values(flush, place);
        flush->figures->late += late ? end - first : 0;
        if (!late && !flush->is_again) { /* late ones say nothing of what is to come */
            count(flush, &bucket, &key, rows, first, end, flush->figures->bytes - bytes);
        }
        if (status == VV_OK && flush->stale.tiers.any) {
            status = vv_stale_times(&flush->stale, rows->times + first, end - first,
                                    listed_until(flush, place), flush->error);
        }
        first = end;
    }
    return status;
}

/* ---- a series ---- */

static bool is_ascending(const struct vv_rows *rows)
{
    for (size_t i = 1; i < rows->n_rows; i++) {
        if (rows->times[i] <= rows->times[i - 1]) {
            return false;
        }
    }
    return true;
}

/* Rows out of order, or several for one time: through the merge, which resolves them. */
static enum vv_status write_merged(struct flush *flush, uint32_t source, uint32_t measurement,
                                   const struct vv_rows *rows)
{
    struct vv_merge_options options = {.from = VV_TIME_MIN, .to = INT64_MAX, .join_times = false};
    struct vv_rows copy;
    enum vv_status status = vv_rows_copy(rows, &copy);
    if (status == VV_OK && !flush->merge) {
        status = vv_merge_create(&options, &flush->merge);
        if (status != VV_OK) {
            vv_rows_free(&copy);
        }
    }
    if (status != VV_OK) {
        return status;
    }
    vv_merge_reset(flush->merge, options.from, options.to);
    status = vv_merge_add_rows(flush->merge, &copy);
    while (status == VV_OK) {
        const struct vv_rows *chunk;
        status = vv_merge_next(flush->merge, &chunk, flush->error);
        if (status == VV_OK) {
            status = write_rows(flush, source, measurement, chunk);
        }
    }
    return status == VV_DONE ? VV_OK : status;
}

/* Other nodes of this region are to know them before they can see the runs. */
static enum vv_status use_names(struct flush *flush, uint32_t source, uint32_t measurement,
                                const struct vv_rows *rows)
{
    struct vv_fleet *fleet = flush->options->fleet;
    if (!fleet) {
        return VV_OK;
    }
    uint32_t tenant = vv_registry_source_tenant(flush->options->registry, source);
    struct vv_tiers tiers = vv_registry_tiers(flush->options->registry, tenant);
    uint32_t late = vv_registry_late_space(flush->options->registry, tenant);
    enum vv_status status = vv_fleet_check_place(fleet, measurement, flush->error);
    if (status == VV_OK) {
        status = vv_fleet_use(fleet, VV_REGISTRY_TENANT, tenant, flush->error);
    }
    if (status == VV_OK && late != VV_REGISTRY_NONE) {
        status = vv_fleet_use(fleet, VV_REGISTRY_TENANT, late, flush->error);
    }
    for (size_t i = 0; i < VV_SPACES && tiers.any && status == VV_OK; i++) {
        status = tiers.spaces[i] == VV_REGISTRY_NONE
                     ? VV_OK
                     : vv_fleet_use(fleet, VV_REGISTRY_TENANT, tiers.spaces[i], flush->error);
    }
    if (status == VV_OK) {
        status = vv_fleet_use(fleet, VV_REGISTRY_SOURCE, source, flush->error);
    }
    if (status == VV_OK) {
        status = vv_fleet_use(fleet, VV_REGISTRY_MEASUREMENT, measurement, flush->error);
    }
    for (size_t i = 0; i < rows->n_columns && status == VV_OK; i++) {
        status = vv_fleet_use(fleet, VV_REGISTRY_METRIC, rows->columns[i].metric, flush->error);
    }
    return status;
}

static enum vv_status flush_series(void *context, uint32_t source, uint32_t measurement,
                                   struct vv_rows *rows)
{
    struct flush *flush = context;
    for (size_t i = 0; i < rows->n_columns; i++) {
        if (rows->columns[i].type == VV_HEAD_UNTYPED) {
            struct vv_metric_info info;
            vv_registry_metric_info(flush->options->registry, rows->columns[i].metric, &info);
            rows->columns[i].type = info.type;
        }
    }
    flush->span_open = false;
    enum vv_status status = use_names(flush, source, measurement, rows);
    if (status == VV_OK && source != flush->source && !flush->is_again) {
        flush->source = source;
        status = begin_source(flush, source, rows);
    }
    flush->stay.to = INT64_MIN; /* begins with the first row; the source has a plan now */
    if (status == VV_OK) {
        status = is_ascending(rows) ? write_rows(flush, source, measurement, rows)
                                    : write_merged(flush, source, measurement, rows);
    }
    flush->figures->series++;
    flush->figures->rows += rows->n_rows;
    return status;
}

/* ---- tiers ---- */

/* A clock that was set back is no reason to take a unit for one that is not over. */
static int64_t over_at(const struct flush *flush)
{
    struct vv_clock *clock = flush->options->clock;
    int64_t run_ns = (int64_t)vv_stamp_clock_us(flush->run) * VV_MICROSECOND;
    int64_t now_ns = clock->wall_ns(clock);
    now_ns = now_ns > flush->options->over_at_ns ? now_ns : flush->options->over_at_ns;
    return now_ns > run_ns ? now_ns : run_ns;
}

static uint64_t order_of(void *context, uint32_t source)
{
    const struct flush *flush = context;
    struct vv_store *store = flush->options->store;
    return store->ops->shared->order(
        store, vv_registry_source_tenant(flush->options->registry, source), source);
}

static enum vv_status walk(struct flush *flush, struct vv_generation *generation)
{
    const struct vv_head_order order = {order_of, flush};
    bool is_ordered = flush->options->fleet && flush->options->store->ops->shared->order;
    return vv_generation_walk(generation, is_ordered ? &order : NULL, flush_series, flush);
}

static enum vv_status confirm_fleet(void *context, struct vv_error *error)
{
    return vv_fleet_confirm(context, error);
}

/* Has learnt, when all has landed, of all tiers of which units may have been built without it: who
 * builds them has waited until all could learn of them. */
static enum vv_status hear(struct flush *flush)
{
    struct vv_fleet *fleet = flush->options->fleet;
    struct vv_error why = {0};
    flush->is_heard =
        vv_fleet_is_current(fleet, flush->options->lead_ns) || vv_fleet_learn(fleet, &why) == VV_OK;
    return vv_fleet_has_learnt(fleet) ? vv_fleet_confirm(fleet, flush->error) : VV_OK;
}

/* A tier may have been switched on meanwhile, or before, unheard; or what is parked may be
 * delivered when one is built that is unknown now. Runs have marks for that. */
static bool misses_tiers(const struct flush *flush)
{
    struct vv_parked parked = {0};
    flush->options->store->ops->shared->parked(flush->options->store, &parked);
    return vv_tiers_seen_differ(&flush->seen, flush->options->registry) ||
           (flush->has_values && (!flush->is_heard || parked.n > 0));
}

static enum vv_status list_again(struct flush *flush, struct vv_generation *generation)
{
    struct vv_flush_figures figures = *flush->figures;
    flush->is_again = true;
    flush->later.n = 0;
    enum vv_status status = walk(flush, generation);
    *flush->figures = figures;
    return status;
}

/* Where other nodes build units, too, only what has landed makes one stale: else they could build
 * it without that, and take it for done. So it is known only then which units are over, and of
 * which tiers. */
static enum vv_status make_stale(struct flush *flush, struct vv_generation *generation)
{
    struct vv_fleet *fleet = flush->options->fleet;
    if (flush->later.n == 0 && !flush->has_values && !vv_fleet_has_learnt(fleet) &&
        vv_fleet_is_current(fleet, flush->options->lead_ns) &&
        !vv_tiers_seen_differ(&flush->seen, flush->options->registry)) {
        return VV_OK;
    }
    enum vv_status status = vv_fleet_confirm(fleet, flush->error);
    if (status == VV_OK) {
        status = hear(flush);
    }
    if (status == VV_OK && misses_tiers(flush)) {
        status = list_again(flush, generation);
    }
    return status == VV_OK && flush->later.n > 0
               ? vv_stale_put_list(&flush->stale_options, &flush->later, over_at(flush),
                                   flush->error)
               : status;
}

enum vv_status vv_flush_generation(const struct vv_flush_options *options,
                                   struct vv_generation *generation, vv_stamp run,
                                   struct vv_flush_figures *figures_out, struct vv_error *error)
{
    *figures_out = (struct vv_flush_figures){0};
    struct flush flush = {.options = options,
                          .run = run,
                          .source = VV_REGISTRY_NONE,
                          .figures = figures_out,
                          .error = error};
    flush.over_at = over_at(&flush) + (options->fleet ? SOON_NS : 0);
    flush.stale_options = (struct vv_stale_options){.registry = options->registry,
                                                    .store = options->store,
                                                    .ledger = options->ledger,
                                                    .confirm = confirm_fleet,
                                                    .confirm_context = options->fleet,
                                                    .open_units = options->open_units};
    flush.encoder.rows_max = RUN_ROWS_MAX;
    flush.encoder.bytes_max = RUN_BYTES_MAX;
    enum vv_status status = agree_on_plans(&flush, generation);
    if (status == VV_OK) {
        status = walk(&flush, generation);
    }
    if (status == VV_OK && options->fleet) {
        status = make_stale(&flush, generation);
    }
    if (status == VV_NO_MEMORY) {
        vv_error_set(error, status, "out of memory while flushing; it is tried again");
    }
    vv_stale_list_deinit(&flush.later);
    vv_tiers_seen_deinit(&flush.seen);
    vv_piece_encoder_deinit(&flush.encoder);
    vv_merge_destroy(flush.merge);
    return status;
}
