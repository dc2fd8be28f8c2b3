/* SPDX-License-Identifier: Apache-2.0 */
#include "seal/cohorts.h"

#include "base/clock.h"
#include "base/random.h"
#include "model/merge.h"
#include "tier/rollup.h"

#include <stdlib.h>

#define MEMBERS_MIN 2   /* of fewer, the source's own record says it all */
#define LOOKS_MAX   512 /* into partitions, for what is not built, in one unit of a cohort */
#define AHEAD       16  /* members whose records are asked for before their turn */
/* Where nodes share the store, and other members are slow to be read or have other measurements: */
#define BUILD_NS_MAX (8 * VV_SECOND) /* nothing else is written meanwhile, beats neither */
#define UNFIT        1024            /* that are remembered, a power of two … */
#define UNFIT_NS     VV_HOUR         /* … for so long */
#define UNFIT_UNITS  4               /* of a cohort's measurement: then all of its units are */

/* Units of a cohort's measurement that took too much to be built lately. */
struct unfit {
    uint32_t space;
    uint32_t cohort;
    uint32_t measurement;
    uint32_t n_units;
    int64_t from;     /* of the last one */
    int64_t until_ns; /* monotonic */
};

struct vv_cohorts {
    struct vv_pyramid_options options;
    struct vv_rollup *rollup;
    struct vv_merge *merge; /* of a record of rows */
    /* Where nodes share the store: */
    struct vv_member_list members;
    struct vv_store_answer *answers[AHEAD]; /* by member */
    size_t n_asked;
    struct vv_buffer contained; /* ids of the members that have something in it */
    struct unfit unfit[UNFIT];
};

/* What is being built. */
struct build {
    struct vv_cohorts *cohorts;
    enum vv_space tier;
    uint32_t place; /* of the points: the sources' tenant, or a class */
    uint32_t measurement;
    struct vv_tiers tiers;
    struct vv_unit unit;
    size_t n_members; /* so far, of those that are there for good */
    size_t n_looks;
    int64_t until_ns; /* monotonic: when it has taken too long */
    bool is_too_much; /* it has, or more looks than may be */
    bool has_rows;    /* of the member that is read, to be merged */
    bool has_steps;   /* it has a record */
    bool is_whole;    /* nothing is missing so far */
    struct vv_error *error;
};

/* ---- life ---- */

enum vv_status vv_cohorts_create(const struct vv_pyramid_options *options,
                                 struct vv_cohorts **cohorts_out)
{
    const struct vv_merge_options merge = {.from = INT64_MIN, .to = INT64_MAX, .join_times = true};
    struct vv_cohorts *cohorts = calloc(1, sizeof *cohorts);
    *cohorts_out = NULL;
    if (!cohorts) {
        return VV_NO_MEMORY;
    }
    cohorts->options = *options;
    enum vv_status status = vv_rollup_create(options->percentile_error, &cohorts->rollup);
    if (status == VV_OK) {
        status = vv_merge_create(&merge, &cohorts->merge);
    }
    if (status != VV_OK) {
        vv_cohorts_destroy(cohorts);
        return status;
    }
    *cohorts_out = cohorts;
    return VV_OK;
}

void vv_cohorts_destroy(struct vv_cohorts *cohorts)
{
    if (cohorts) {
        vv_member_list_deinit(&cohorts->members);
        vv_buffer_deinit(&cohorts->contained);
        vv_merge_destroy(cohorts->merge);
        vv_rollup_destroy(cohorts->rollup);
        free(cohorts);
    }
}

/* ---- time ---- */

static int64_t monotonic(const struct vv_cohorts *cohorts)
{
    struct vv_clock *clock = cohorts->options.clock;
    return clock ? clock->monotonic_ns(clock) : 0;
}

/* ---- a member's record ---- */

static enum vv_status add_record(struct build *build, const struct vv_unit_record *record)
{
    struct vv_cohorts *cohorts = build->cohorts;
    const struct vv_str *content = &record->content;
    struct vv_chunk chunk;
    build->has_steps = true;
    if (record->kind == VV_UNIT_ROWS) {
        build->has_rows = true;
        return vv_merge_add_block(cohorts->merge, (const uint8_t *)content->data, content->size,
                                  build->error);
    }
    enum vv_status status = vv_chunk_open(*content, &chunk, build->error);
    return status == VV_OK ? vv_rollup_add_chunk(cohorts->rollup, &chunk, build->error) : status;
}

/* What is stale is said before the record comes. */
static enum vv_status take_piece(void *context, const struct vv_piece *piece)
{
    struct build *build = context;
    struct vv_unit_record record;
    if (piece->kind == VV_PIECE_RUN) {
        build->is_whole = false;
        return VV_DONE;
    }
    enum vv_status status = vv_unit_read(piece->bytes, &record, build->error);
    if (status == VV_OK && (record.kind == VV_UNIT_STALE || record.unit.from != build->unit.from ||
                            record.unit.to != build->unit.to)) {
        status = VV_CORRUPT;
    }
    return status == VV_OK ? add_record(build, &record) : status;
}

static enum vv_status add_rows(struct build *build)
{
    struct vv_cohorts *cohorts = build->cohorts;
    enum vv_status status = VV_OK;
    while (status == VV_OK) {
        const struct vv_rows *rows;
        status = vv_merge_next(cohorts->merge, &rows, build->error);
        if (status == VV_OK) {
            status = vv_rollup_add_rows(cohorts->rollup, rows, build->error);
        }
    }
    return status == VV_DONE ? VV_OK : status;
}

static struct vv_store_read read_of(const struct build *build, uint32_t source)
{
    const struct vv_span_key key = vv_unit_key(build->tier, build->tiers.spaces[build->tier],
                                               source, build->measurement, build->unit.from);
    return (struct vv_store_read){.partition = key.partition,
                                  .measurement = build->measurement,
                                  .span_from = build->unit.from,
                                  .span_to = build->unit.to};
}

/* What was asked for ahead, or else now. */
static enum vv_status visit_record(struct build *build, uint32_t source,
                                   struct vv_store_answer **answer)
{
    struct vv_store *store = build->cohorts->options.store;
    if (!answer || !*answer) {
        const struct vv_store_read read = read_of(build, source);
        return store->ops->read(store, &read, take_piece, build, build->error);
    }
    enum vv_status status = store->ops->visit_read(*answer, take_piece, build, build->error);
    store->ops->end_read(*answer);
    *answer = NULL;
    return status;
}

static enum vv_status read_record(struct build *build, uint32_t source,
                                  struct vv_store_answer **answer)
{
    build->has_rows = false;
    build->has_steps = false;
    vv_merge_reset(build->cohorts->merge, INT64_MIN, INT64_MAX);
    enum vv_status status = visit_record(build, source, answer);
    return status == VV_OK && build->has_rows && build->is_whole ? add_rows(build) : status;
}

/* ---- what a member has without a record ---- */

static enum vv_status find_piece(void *context, const struct vv_piece *piece)
{
    struct build *build = context;
    (void)piece;
    build->is_whole = false;
    return VV_DONE;
}

static void give_up(struct build *build)
{
    build->is_too_much = true;
    build->is_whole = false;
}

/* False: one that can't be looked at any more counts as if there was something. */
static bool may_look(struct build *build)
{
    if (++build->n_looks > LOOKS_MAX || monotonic(build->cohorts) > build->until_ns) {
        give_up(build);
    }
    return build->is_whole;
}

/* Looks whether there is anything in a partition. */
static enum vv_status look(struct build *build, const struct vv_store_read *read)
{
    struct vv_store *store = build->cohorts->options.store;
    return may_look(build) ? store->ops->read(store, read, find_piece, build, build->error) : VV_OK;
}

/* Moves *at to the first bucket there that has anything; the unit's end where none has. */
static enum vv_status go_to_nearest(struct build *build, uint32_t number, uint32_t source,
                                    int64_t *at)
{
    struct vv_store *store = build->cohorts->options.store;
    int64_t nearest = *at;
    if (!store->ops->shared || !may_look(build)) { /* alone looking costs no more */
        return VV_OK;
    }
    enum vv_status status =
        store->ops->nearest(store, 0, number, source, *at, true, &nearest, build->error);
    bool is_beyond = status == VV_DONE || nearest >= build->unit.to;
    if (status == VV_OK || status == VV_DONE) {
        *at = is_beyond ? build->unit.to : nearest;
        return VV_OK;
    }
    return status;
}

static enum vv_status look_at_tier(struct build *build, uint32_t source, enum vv_space tier)
{
    const struct vv_plan plan = vv_tier_plan(tier);
    int64_t from = vv_unit_earliest(tier, build->unit.from);
    int64_t first = vv_time_floor(from, plan.bucket_ns);
    enum vv_status status = go_to_nearest(build, build->tiers.spaces[tier], source, &first);
    for (int64_t at = first; at < build->unit.to && build->is_whole && status == VV_OK;
         at += plan.bucket_ns) {
        const struct vv_span_key key =
            vv_unit_key(tier, build->tiers.spaces[tier], source, build->measurement, at);
        const struct vv_store_read read = {.partition = key.partition,
                                           .measurement = build->measurement,
                                           .span_from = from,
                                           .span_to = build->unit.to};
        status = look(build, &read);
    }
    return status;
}

/* One without plans has no points, unless its plans could not be learnt. */
static enum vv_status look_without_plans(struct build *build, uint32_t number, uint32_t source)
{
    struct vv_store *store = build->cohorts->options.store;
    int64_t nearest;
    if (!store->ops->shared || !may_look(build)) {
        return VV_OK;
    }
    enum vv_status status =
        store->ops->nearest(store, 0, number, source, VV_TIME_MIN, true, &nearest, build->error);
    build->is_whole = status == VV_DONE;
    return status == VV_DONE ? VV_OK : status;
}

/* Of the place, or of the space of its late points. */
static enum vv_status look_at_points(struct build *build, uint32_t number, uint32_t source)
{
    const struct vv_plans plans =
        vv_registry_source_plans(build->cohorts->options.registry, source);
    enum vv_status status = VV_OK;
    int64_t first = build->unit.from;
    if (plans.n == 0) {
        status = look_without_plans(build, number, source);
    } else {
        first = vv_bucket_of(plans.plans, plans.n, first).start;
        int64_t nearest = first;
        status = go_to_nearest(build, number, source, &nearest);
        /* Of other plans' buckets none need begin where these do. */
        int64_t start = vv_bucket_of(plans.plans, plans.n, nearest).start;
        first = nearest >= build->unit.to ? build->unit.to : start > first ? start : first;
        first = first > build->unit.from ? first : build->unit.from;
    }
    for (int64_t at = first;
         plans.n > 0 && at < build->unit.to && build->is_whole && status == VV_OK;) {
        const struct vv_bucket bucket = vv_bucket_of(plans.plans, plans.n, at);
        struct vv_store_read read = {.measurement = build->measurement,
                                     .span_from = vv_span_of(&bucket, at),
                                     .span_to = build->unit.to,
                                     .span_ns = bucket.span_ns};
        for (uint16_t split = 0; split < bucket.splits && build->is_whole && status == VV_OK;
             split++) {
            read.partition = vv_bucket_partition(&bucket, number, source, split);
            status = look(build, &read);
        }
        at = bucket.end;
    }
    return status;
}

static enum vv_status look_at_raw(struct build *build, uint32_t source)
{
    uint32_t late = vv_registry_late_seen(build->cohorts->options.registry, build->place);
    enum vv_status status = look_at_points(build, build->place, source);
    return status == VV_OK && build->is_whole && late != VV_REGISTRY_NONE
               ? look_at_points(build, late, source)
               : status;
}

/* ---- a member ---- */

/* Whether the source has points that the unit may be made of. */
static bool is_in_unit(const struct build *build, uint32_t source)
{
    int64_t first;
    int64_t last;
    return vv_registry_source_times(build->cohorts->options.registry, source, &first, &last) &&
           first < build->unit.to && last >= build->unit.from;
}

/* Whether none of its points can have expired: then what tiers have of them need not be looked for.
 */
static bool has_all_points(const struct build *build)
{
    const struct vv_pyramid_options *options = &build->cohorts->options;
    return options->store->ops->shared && options->whole_from &&
           options->whole_from(options->whole_context, build->place) <= build->unit.from;
}

static enum vv_status add_member(struct build *build, uint32_t source,
                                 struct vv_store_answer **answer)
{
    enum vv_status status = read_record(build, source, answer);
    bool is_raw_enough = build->has_steps || has_all_points(build);
    for (int tier = (int)build->tier - 1; status == VV_OK && !is_raw_enough && tier >= 0; tier--) {
        bool is_on = build->tiers.spaces[tier] != VV_REGISTRY_NONE;
        status = is_on ? look_at_tier(build, source, (enum vv_space)tier) : VV_OK;
    }
    if (status == VV_OK && !build->has_steps) {
        status = look_at_raw(build, source);
    }
    return status;
}

/* Whether a record can't be made of what there is, which is no failure: the sources answer. */
static bool is_unfit(enum vv_status status)
{
    return status == VV_CORRUPT || status == VV_NEWER || status == VV_TOO_LARGE ||
           status == VV_INVALID;
}

/* One that was never journaled is gone after a restart: the other one would be alone then, and the
 * cohort's record stay as it is. One that has plans was flushed, so it had been journaled. */
static bool is_for_good(struct vv_registry *registry, uint32_t source)
{
    return vv_registry_settled(registry, VV_REGISTRY_SOURCE, source) ||
           vv_registry_source_plans(registry, source).n > 0;
}

/* Alone in a store sources have their cohort by number, and are known by when they have points. */
static enum vv_status add_numbered(struct build *build, uint32_t tenant, uint32_t cohort)
{
    struct vv_registry *registry = build->cohorts->options.registry;
    uint32_t first = vv_cohort_first(cohort);
    enum vv_status status = VV_OK;
    for (uint32_t i = 0; i < VV_COHORT_SOURCES && build->is_whole && status == VV_OK; i++) {
        if (vv_registry_source_tenant(registry, first + i) == tenant) {
            build->n_members += is_for_good(registry, first + i);
            status = is_in_unit(build, first + i) ? add_member(build, first + i, NULL) : VV_OK;
        }
    }
    return status;
}

/* ---- members where nodes share the store ---- */

static void ask_ahead(struct build *build, size_t at)
{
    struct vv_cohorts *cohorts = build->cohorts;
    struct vv_store *store = cohorts->options.store;
    for (; store->ops->begin_read && cohorts->n_asked < cohorts->members.n &&
           cohorts->n_asked < at + AHEAD;
         cohorts->n_asked++) {
        struct vv_store_answer **answer = &cohorts->answers[cohorts->n_asked % AHEAD];
        const struct vv_store_read read =
            read_of(build, cohorts->members.items[cohorts->n_asked].source);
        if (store->ops->begin_read(store, &read, answer, NULL) != VV_OK) {
            *answer = NULL; /* it is read when its turn comes */
        }
    }
}

static void forget_answers(struct vv_cohorts *cohorts)
{
    for (size_t i = 0; i < AHEAD; i++) {
        if (cohorts->answers[i]) {
            cohorts->options.store->ops->end_read(cohorts->answers[i]);
            cohorts->answers[i] = NULL;
        }
    }
    cohorts->n_asked = 0;
}

static struct unfit *unfit_of(struct vv_cohorts *cohorts, const struct vv_span_key *key)
{
    struct vv_random random = {(uint64_t)key->partition.tenant << 32 | key->measurement};
    uint64_t place = vv_random_next(&random) ^ key->partition.source;
    return &cohorts->unfit[place % UNFIT];
}

static bool is_noted(struct vv_cohorts *cohorts, const struct unfit *unfit,
                     const struct vv_span_key *key)
{
    return unfit->space == key->partition.tenant && unfit->cohort == key->partition.source &&
           unfit->measurement == key->measurement && unfit->until_ns > monotonic(cohorts);
}

/* Whether it was too much lately. It would be again for what comes late, as members that have other
 * measurements have to be looked at each time, and for the next unit of a history that is loaded;
 * sources answer meanwhile, and for what was left out. */
static bool is_unfit_lately(struct vv_cohorts *cohorts, const struct vv_span_key *key)
{
    const struct unfit *unfit = unfit_of(cohorts, key);
    return is_noted(cohorts, unfit, key) &&
           (unfit->from == key->span_start || unfit->n_units >= UNFIT_UNITS);
}

static void note_unfit(struct vv_cohorts *cohorts, const struct vv_span_key *key)
{
    struct unfit *unfit = unfit_of(cohorts, key);
    uint32_t n_before = is_noted(cohorts, unfit, key) ? unfit->n_units : 0;
    *unfit = (struct unfit){.space = key->partition.tenant,
                            .cohort = key->partition.source,
                            .measurement = key->measurement,
                            .n_units = n_before + 1,
                            .from = key->span_start,
                            .until_ns = monotonic(cohorts) + UNFIT_NS};
}

static enum vv_status add_shared(struct build *build, uint32_t tenant, uint32_t cohort)
{
    struct vv_cohorts *cohorts = build->cohorts;
    enum vv_status status =
        vv_members_of(cohorts->options.members, tenant, cohort, &cohorts->members);
    build->n_members = cohorts->members.n;
    build->is_whole = build->is_whole && build->n_members >= MEMBERS_MIN &&
                      build->n_members <= VV_COHORT_MEMBERS_MAX;
    for (size_t i = 0; i < cohorts->members.n && build->is_whole && status == VV_OK; i++) {
        const struct vv_member *member = &cohorts->members.items[i];
        ask_ahead(build, i);
        status = add_member(build, member->source, &cohorts->answers[i % AHEAD]);
        if (status == VV_OK && build->has_steps) {
            vv_buffer_u64(&cohorts->contained, member->id);
        }
        if (monotonic(cohorts) > build->until_ns) {
            give_up(build);
        }
    }
    forget_answers(cohorts);
    return status == VV_OK ? vv_buffer_status(&cohorts->contained) : status;
}

static enum vv_status add_members(struct build *build, uint32_t cohort)
{
    const struct vv_pyramid_options *options = &build->cohorts->options;
    uint32_t tenant = vv_registry_owner(options->registry, build->place);
    enum vv_status status = options->store->ops->shared ? add_shared(build, tenant, cohort)
                                                        : add_numbered(build, tenant, cohort);
    if (is_unfit(status)) {
        build->is_whole = false;
        status = VV_OK;
        if (build->error) {
            build->error->message[0] = '\0';
        }
    }
    return status;
}

/* Whose points are in it comes first. */
static enum vv_status write_members(const struct build *build, struct vv_piece *piece,
                                    struct vv_piece_list *blocks_out)
{
    struct vv_buffer bytes = {0};
    vv_unit_write(&bytes, VV_UNIT_MEMBERS, &build->unit);
    vv_buffer_append(&bytes, build->cohorts->contained.data, build->cohorts->contained.size);
    piece->bytes = (struct vv_str){(char *)bytes.data, bytes.size};
    bool added = vv_buffer_status(&bytes) == VV_OK && vv_piece_list_add(blocks_out, piece, true);
    vv_buffer_deinit(&bytes);
    piece->part++;
    return added ? VV_OK : VV_NO_MEMORY;
}

/* One part of the record: the metrics from the first one on. */
static enum vv_status write_part(const struct build *build, size_t first_metric,
                                 const struct vv_piece *piece, struct vv_piece_list *blocks_out)
{
    struct vv_buffer bytes = {0};
    struct vv_piece part = *piece;
    vv_unit_write(&bytes, VV_UNIT_STEPS, &build->unit);
    enum vv_status status =
        vv_rollup_encode(build->cohorts->rollup, first_metric, build->cohorts->options.zstd_level,
                         &bytes, build->error);
    part.bytes = (struct vv_str){(char *)bytes.data, bytes.size};
    if (status == VV_OK) {
        status = vv_buffer_status(&bytes);
    }
    if (status == VV_OK && !vv_piece_list_add(blocks_out, &part, true)) {
        status = VV_NO_MEMORY;
    }
    vv_buffer_deinit(&bytes);
    return status;
}

static enum vv_status write_record(const struct build *build, struct vv_piece *piece,
                                   struct vv_piece_list *blocks_out)
{
    size_t n = vv_rollup_metrics(build->cohorts->rollup);
    bool is_shared = build->cohorts->options.store->ops->shared != NULL;
    enum vv_status status = is_shared ? write_members(build, piece, blocks_out) : VV_OK;
    for (size_t first = 0; first < n && status == VV_OK; first += VV_CHUNK_METRICS_MAX) {
        status = write_part(build, first, piece, blocks_out);
        piece->part++;
    }
    return status;
}

enum vv_status vv_cohorts_build(struct vv_cohorts *cohorts, const struct vv_mark *mark,
                                int64_t made_from, bool has_none, struct vv_piece_list *blocks_out,
                                struct vv_error *error)
{
    struct vv_registry *registry = cohorts->options.registry;
    struct build build = {
        .cohorts = cohorts,
        .measurement = mark->key.measurement,
        .unit = {mark->key.span_start, mark->key.span_start},
        .is_whole = !has_none,
        .until_ns =
            cohorts->options.store->ops->shared ? monotonic(cohorts) + BUILD_NS_MAX : INT64_MAX,
        .error = error,
    };
    struct vv_piece piece = {.kind = VV_PIECE_BLOCK, .key = mark->key, .version = made_from};
    bool is_space =
        vv_registry_space_of(registry, mark->key.partition.tenant, &build.place, &build.tier);
    vv_invariant(is_space && vv_tier_has_cohorts(build.tier));
    build.unit.to += vv_tier_unit_ns_max(build.tier);
    build.tiers = vv_registry_tiers_built(registry, build.place);
    build.is_whole = build.is_whole && build.tiers.spaces[build.tier] != VV_REGISTRY_NONE;
    vv_rollup_begin(cohorts->rollup, vv_tier_step_ns(build.tier));
    vv_buffer_clear(&cohorts->contained);
    build.is_whole = build.is_whole && !is_unfit_lately(cohorts, &mark->key);
    enum vv_status status = add_members(&build, mark->key.partition.source);
    if (status != VV_OK) {
        return status;
    }
    if (build.is_too_much && cohorts->options.store->ops->shared) {
        note_unfit(cohorts, &mark->key);
    }
    if (!build.is_whole || build.n_members < MEMBERS_MIN || vv_rollup_steps(cohorts->rollup) == 0) {
        return vv_piece_list_add(blocks_out, &piece, false) ? VV_OK : VV_NO_MEMORY;
    }
    return write_record(&build, &piece, blocks_out);
}
