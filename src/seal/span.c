/* SPDX-License-Identifier: Apache-2.0 */
/* What is made of one span: a block of runs, or a tier's unit. */
#include "base/log.h"
#include "registry/shared.h"
#include "seal/minutes.h"
#include "seal/seal_private.h"
#include "tier/rollup.h"

struct reading {
    struct vv_sealer *sealer;
    bool had_block;
    int64_t made_from; /* the version of the span's present block */
    bool keep_bytes;   /* false: the span has expired: what it has goes */
    bool is_unit;      /* of a tier: its runs say how far it is stale, and what replaces days */
    int64_t first;     /* of what runs have: the first and the last time … */
    int64_t last;      /* … or of a unit's, its end */
    bool had_record;   /* a unit's, where nodes share the store: */
    struct vv_unit_record record; /* … what it says, in sealer->applied */
    struct vv_error *error;
};

static enum vv_status note_stale(struct reading *reading, const struct vv_piece *run)
{
    struct vv_unit_record record;
    enum vv_status status = vv_unit_read(run->bytes, &record, reading->error);
    if (status == VV_OK) {
        reading->last = record.unit.to > reading->last ? record.unit.to : reading->last;
    }
    return status;
}

/* Which deletions the record has in it that is there; one that can't be read says nothing. */
static enum vv_status note_record(struct reading *reading, const struct vv_piece *block)
{
    struct vv_buffer *applied = &reading->sealer->applied;
    bool is_wanted = reading->sealer->options.store->ops->shared && block->part == 0;
    if (!is_wanted || vv_unit_read(block->bytes, &reading->record, NULL) != VV_OK) {
        return VV_OK;
    }
    vv_buffer_clear(applied);
    vv_buffer_str(applied, reading->record.applied);
    reading->record.applied = (struct vv_str){(const char *)applied->data, applied->size};
    reading->record.content = (struct vv_str){0};
    reading->had_record = true;
    return vv_buffer_status(applied);
}

/* Which part of the span is new; a damaged run is the merge's matter. */
static void note_times(struct reading *reading, const struct vv_piece *run)
{
    struct vv_block block;
    if (vv_block_open((const uint8_t *)run->bytes.data, run->bytes.size, &block) == VV_BLOCK_OK) {
        reading->first = block.time_min < reading->first ? block.time_min : reading->first;
        reading->last = block.time_max > reading->last ? block.time_max : reading->last;
    }
}

static enum vv_status read_piece(void *context, const struct vv_piece *piece)
{
    struct reading *reading = context;
    struct vv_sealer *sealer = reading->sealer;
    sealer->figures.bytes_in += piece->bytes.size;
    if (piece->kind == VV_PIECE_BLOCK) {
        reading->made_from = piece->version;
        if (piece->bytes.size == 0) {
            return VV_OK; /* all of it was deleted; so its runs are in the new one too */
        }
        reading->had_block = true;
    } else if (!vv_piece_list_add(&sealer->runs, piece,
                                  reading->is_unit && vv_unit_replaces(piece->bytes))) {
        return VV_NO_MEMORY;
    }
    if (reading->is_unit) {
        return piece->kind == VV_PIECE_RUN ? note_stale(reading, piece)
                                           : note_record(reading, piece);
    }
    if (!reading->keep_bytes) {
        return VV_OK;
    }
    if (piece->kind == VV_PIECE_RUN) {
        note_times(reading, piece);
    }
    return vv_merge_add_block(sealer->merge, (const uint8_t *)piece->bytes.data, piece->bytes.size,
                              reading->error);
}

/* Not where tiers are to be made of it before it goes. Into a tier that is off nothing is built:
 * see engine/retentions.c. */
static bool is_expired(struct vv_sealer *sealer, const struct vv_mark *mark)
{
    uint32_t tenant = mark->key.partition.tenant;
    uint32_t place = vv_registry_place_of(sealer->options.registry, tenant);
    if (sealer->kind == VV_SEAL_RAW &&
        vv_registry_tiers_built(sealer->options.registry, place).any) {
        return false;
    }
    struct vv_registry *registry = sealer->options.registry;
    int64_t now = sealer->options.clock->wall_ns(sealer->options.clock);
    /* What is shortened lives on until all is built of it (engine/lives_end.c), or until all
     * nodes have had their time for that. */
    int64_t retention = vv_registry_life(registry, tenant, now);
    int64_t bucket_end = mark->key.partition.bucket_start + mark->key.partition.bucket_ns;
    return retention == VV_SPACE_OFF_NS || (retention > 0 && bucket_end < now - retention);
}

static enum vv_status encode_blocks(struct vv_sealer *sealer, const struct vv_span_key *key,
                                    int64_t made_from, struct vv_minutes *minutes,
                                    struct vv_error *error)
{
    struct vv_piece block = {.kind = VV_PIECE_BLOCK, .key = *key, .version = made_from};
    for (;;) {
        const struct vv_rows *rows;
        enum vv_status status = vv_merge_next(sealer->merge, &rows, error);
        if (status == VV_OK) {
            status = vv_minutes_add(sealer, minutes, rows, error);
        }
        if (status != VV_OK) {
            return status == VV_DONE ? VV_OK : status;
        }
        sealer->figures.rows += rows->n_rows;
        for (size_t first = 0; first < rows->n_rows;) {
            size_t n = vv_piece_rows(&sealer->encoder, rows, first, rows->n_rows);
            status = vv_piece_encode(&sealer->encoder, rows, first, first + n, &block.bytes, error);
            if (status != VV_OK) {
                return status;
            }
            if (!vv_piece_list_add(&sealer->blocks, &block, true)) {
                return VV_NO_MEMORY;
            }
            block.part++;
            first += n;
        }
    }
}

static struct vv_store_read read_of(const struct vv_mark *mark)
{
    return (struct vv_store_read){.partition = mark->key.partition,
                                  .measurement = mark->key.measurement,
                                  .span_from = mark->key.span_start,
                                  .span_to = mark->key.span_start + 1,
                                  .tells_removed = true};
}

/* Where the store's answers take their time, the spans of a group are asked for some ahead. */
static void ask_ahead(struct vv_sealer *sealer, size_t at)
{
    struct vv_store *store = sealer->options.store;
    size_t end = at + VV_SEAL_AHEAD < sealer->n_marks ? at + VV_SEAL_AHEAD : sealer->n_marks;
    for (size_t i = at; i < end && store->ops->begin_read; i++) {
        struct vv_store_answer **answer = &sealer->answers[i % VV_SEAL_AHEAD];
        if (i >= sealer->n_asked) {
            struct vv_store_read read = read_of(&sealer->marks[i]);
            sealer->n_asked = i + 1;
            if (store->ops->begin_read(store, &read, answer, NULL) != VV_OK) {
                *answer = NULL; /* it is read when its turn comes */
            }
        }
    }
}

void vv_seal_forget_answer(struct vv_sealer *sealer, size_t at)
{
    struct vv_store_answer **answer = &sealer->answers[at % VV_SEAL_AHEAD];
    if (*answer) {
        sealer->options.store->ops->end_read(*answer);
        *answer = NULL;
    }
}

void vv_seal_forget_answers(struct vv_sealer *sealer)
{
    for (size_t i = 0; i < VV_SEAL_AHEAD; i++) {
        vv_seal_forget_answer(sealer, i);
    }
    sealer->n_asked = 0;
}

static enum vv_status read_span(struct vv_sealer *sealer, size_t at, struct reading *reading,
                                struct vv_error *error)
{
    struct vv_store *store = sealer->options.store;
    ask_ahead(sealer, at);
    struct vv_store_answer *answer = sealer->answers[at % VV_SEAL_AHEAD];
    if (!answer) {
        struct vv_store_read read = read_of(&sealer->marks[at]);
        return store->ops->read(store, &read, read_piece, reading, error);
    }
    sealer->answers[at % VV_SEAL_AHEAD] = NULL;
    enum vv_status status = store->ops->visit_read(answer, read_piece, reading, error);
    store->ops->end_read(answer);
    return status;
}

/* Alone in a store the flush's own will do, and is there already as a rule. Beside other nodes one
 * of them may have built the unit since, without what came later: what it has covered stays
 * covered. */
static vv_stamp stale_run(struct vv_sealer *sealer, const struct vv_mark *mark)
{
    struct vv_store *store = sealer->options.store;
    if (!store->ops->shared) {
        return mark->run;
    }
    int64_t now = sealer->options.clock->wall_ns(sealer->options.clock);
    vv_stamp before = sealer->stale_run > mark->run ? sealer->stale_run : mark->run;
    sealer->stale_run = vv_stamp_next(before, now, store->ops->shared->node(store));
    return sealer->stale_run;
}

/* The tiers above what is new in the span, before its runs go. */
static enum vv_status make_stale(struct vv_sealer *sealer, const struct vv_mark *mark,
                                 const struct reading *reading, bool has_minutes)
{
    struct vv_stale stale;
    uint32_t place = vv_registry_place_of(sealer->options.registry, mark->key.partition.tenant);
    vv_stale_begin(&stale, &sealer->stale, place, mark->key.partition.source, mark->key.measurement,
                   0);
    if (!stale.tiers.any) {
        return VV_OK;
    }
    bool is_shared = sealer->options.store->ops->shared != NULL;
    stale.run = stale_run(sealer, mark);
    stale.open_at = is_shared ? INT64_MAX : sealer->latest_ns;
    stale.later = is_shared ? &sealer->later : NULL;
    stale.marks_open = is_shared;
    stale.first = has_minutes ? VV_SPACE_HOUR : VV_SPACE_MINUTE;
    return vv_stale_range(&stale, reading->first, reading->last + 1, INT64_MAX, reading->error);
}

static uint64_t hidden_so_far(const struct vv_sealer *sealer)
{
    struct vv_merge_figures figures;
    vv_merge_read_figures(sealer->merge, &figures);
    return figures.values_hidden;
}

/* Writes the span anew: its runs and block as one block, or none when all of it is deleted. Without
 * runs, only if something of the block is deleted. */
static enum vv_status renew_span(struct vv_sealer *sealer, const struct vv_mark *mark,
                                 struct reading *reading, bool has_runs)
{
    const struct vv_span_key *key = &mark->key;
    size_t blocks_before = sealer->blocks.n;
    uint64_t rows_before = sealer->figures.rows;
    uint64_t hidden_before = hidden_so_far(sealer);
    struct vv_minutes minutes;
    enum vv_status status = vv_minutes_begin(sealer, mark, &minutes);
    if (status == VV_OK) {
        status = encode_blocks(sealer, key, reading->made_from, &minutes, reading->error);
    }
    uint64_t hidden = hidden_so_far(sealer) - hidden_before;
    if (status != VV_OK) {
        return status;
    }
    if (!has_runs && hidden == 0) {
        vv_piece_list_truncate(&sealer->blocks, blocks_before);
        sealer->figures.rows = rows_before;
        return VV_OK;
    }
    bool keeps_runs = sealer->options.store->ops->shared; /* only a block covers them there */
    if ((reading->had_block || keeps_runs) && sealer->blocks.n == blocks_before) {
        const struct vv_piece none = {
            .kind = VV_PIECE_BLOCK, .key = *key, .version = reading->made_from};
        status = vv_piece_list_add(&sealer->blocks, &none, false) ? VV_OK : VV_NO_MEMORY;
    }
    if (hidden > 0) { /* what is above any part of the span may have it */
        reading->first = reading->first < key->span_start ? reading->first : key->span_start;
        int64_t end = key->span_start + mark->span_ns - 1;
        reading->last = reading->last > end ? reading->last : end;
    }
    if (status == VV_OK) {
        status = vv_minutes_end(sealer, mark, &minutes, reading->error);
    }
    if (status == VV_OK) {
        status = make_stale(sealer, mark, reading, minutes.is_on);
    }
    sealer->figures.hidden += hidden;
    sealer->figures.spans += status == VV_OK;
    sealer->figures.again += status == VV_OK && reading->had_block;
    return status;
}

/* What a unit is made of has changed: so has that of the source's cohort. A run that is there
 * already says the same. */
static enum vv_status tell_cohort(struct vv_sealer *sealer, const struct vv_mark *mark,
                                  struct vv_error *error)
{
    const struct vv_stale_unit unit = {
        .key = mark->key, .to = mark->key.span_start + mark->span_ns, .run = mark->run};
    struct vv_stale_unit cohort;
    enum vv_status status =
        vv_stale_cohort(&sealer->stale, (enum vv_space)sealer->kind, &unit, &cohort);
    if (status != VV_OK) {
        return status == VV_DONE ? VV_OK : status;
    }
    if (!sealer->options.store->ops->shared) {
        return vv_stale_put(&sealer->stale, &cohort, error);
    }
    cohort.run = stale_run(sealer, mark);
    return vv_stale_list_add(&sealer->told, &cohort, error);
}

/* A unit with more metrics or steps than a record can have. Its runs stay, so that it stays stale
 * and what is finer answers; its record, if one was built of fewer, stays too, as the only one that
 * has what has expired below. Only the mark goes: until more comes it would be the same again. */
static void leave_too_large(struct vv_sealer *sealer, const struct vv_mark *mark,
                            struct vv_error *error)
{
    struct vv_str name =
        vv_registry_measurement_name(sealer->options.registry, mark->key.measurement);
    vv_log(VV_LOG_WARN, "tier_not_built",
           "measurement=%.*s message=\"it has more than %u metrics, or steps, which no tier holds: "
           "divide it, or keep its raw points\"",
           VV_STR_ARG(name), (unsigned)VV_ROLLUP_METRICS_MAX);
    if (error) {
        error->message[0] = '\0';
    }
}

/* Beside other nodes the sources must be known that made the unit stale: what was read says that
 * they have told of themselves before. Where some can't be known here there is no record. */
static enum vv_status build_cohort(struct vv_sealer *sealer, const struct vv_mark *mark,
                                   const struct reading *reading)
{
    const struct vv_sealer_options *options = &sealer->options;
    bool is_shared = options->store->ops->shared != NULL;
    bool all = !is_shared || (options->learn_sources && options->members);
    enum vv_status status = VV_OK;
    if (is_shared && all) {
        uint32_t tenant = vv_registry_owner(options->registry, mark->key.partition.tenant);
        status = options->learn_sources(options->learn_context, tenant, &all, reading->error);
    }
    return status == VV_OK
               ? vv_cohorts_build(sealer->cohorts, mark, reading->made_from,
                                  !reading->keep_bytes || !all, &sealer->blocks, reading->error)
               : status;
}

/* A tier's unit. One that has expired, too: what is coarser must not be built of it. */
static enum vv_status build_unit(struct vv_sealer *sealer, const struct vv_mark *mark,
                                 const struct reading *reading, size_t runs_before)
{
    bool is_expired = !reading->keep_bytes;
    size_t blocks_before = sealer->blocks.n;
    enum vv_status status;
    if (sealer->kind >= VV_SEAL_COHORTS) {
        status = build_cohort(sealer, mark, reading);
    } else {
        int64_t marked = mark->key.span_start + mark->span_ns;
        int64_t to = reading->last > marked ? reading->last : marked;
        const struct vv_pyramid_runs runs = {&sealer->runs, runs_before,
                                             reading->had_record ? &reading->record : NULL};
        status = vv_pyramid_build(sealer->pyramid, mark, to,
                                  vv_seal_over_ns(sealer, sealer->latest_ns), reading->made_from,
                                  is_expired, &runs, &sealer->blocks, reading->error);
        if (status == VV_TOO_LARGE) {
            leave_too_large(sealer, mark, reading->error);
            vv_piece_list_truncate(&sealer->blocks, blocks_before);
            vv_piece_list_truncate(&sealer->runs, runs_before);
            return tell_cohort(sealer, mark, reading->error);
        }
        status = status == VV_OK ? tell_cohort(sealer, mark, reading->error) : status;
    }
    sealer->figures.units += status == VV_OK && !is_expired;
    return status;
}

/* Another node's mark may be seen before all is learnt that the node has told: where the
 * measurement lies, which tiers are above, and the source's plans, which say where units end and
 * where raw data lies. */
static enum vv_status check_learnt(const struct vv_sealer *sealer, const struct vv_span_key *key,
                                   struct vv_error *error)
{
    struct vv_registry *registry = sealer->options.registry;
    uint32_t source = key->partition.source;
    bool is_cohort = vv_cohort_is(source);
    uint32_t tenant = is_cohort ? vv_registry_owner(registry, key->partition.tenant)
                                : vv_registry_source_tenant(registry, source);
    uint32_t unsettled[VV_SPACES_ALL + 1];
    if (!sealer->options.store->ops->shared) {
        return VV_OK;
    }
    uint32_t place = vv_registry_place_of(registry, key->partition.tenant);
    bool lacks_place =
        !vv_registry_stays_in(registry, key->measurement, place, INT64_MIN, INT64_MAX) ||
        vv_registry_owner(registry, place) != tenant || !vv_registry_class_is_told(registry, place);
    bool has_tiers = sealer->kind != VV_SEAL_RAW || vv_registry_tiers_built(registry, place).any;
    bool lacks_plans = has_tiers && !is_cohort && vv_registry_source_plans(registry, source).n == 0;
    size_t n = vv_registry_unsettled(registry, place, unsettled);
    bool lacks_tiers = n > 0 && unsettled[0] != place; /* which comes last */
    return lacks_place || lacks_plans || lacks_tiers
               ? vv_error_set(error, VV_OVERLOAD, "what another node told is not learnt yet")
               : VV_OK;
}

/* What only this node can read of what a unit is built of: another node that builds it again would
 * lack it, and what makes it stale would count as built by then. */
static enum vv_status check_delivered(const struct vv_sealer *sealer, const struct vv_mark *mark,
                                      struct vv_error *error)
{
    struct vv_store *store = sealer->options.store;
    bool waits = sealer->kind != VV_SEAL_RAW && store->ops->shared &&
                 store->ops->shared->has_parked_below(store, &mark->key.partition);
    return waits ? vv_error_set(error, VV_OVERLOAD, "what a unit is built of is not delivered yet")
                 : VV_OK;
}

/* A span of which there may be single values has a mark where units may lack some of them, and
 * nothing tells which. */
static bool may_have_values(const struct vv_sealer *sealer, const struct vv_mark *mark)
{
    struct vv_store *store = sealer->options.store;
    return sealer->kind == VV_SEAL_RAW && store->ops->shared && store->ops->has_values &&
           store->ops->has_values(store, mark->key.partition.tenant);
}

/* What sealing may make stale: units above any part of a span, or a unit's cohort. */
static enum vv_status list_above(struct vv_sealer *sealer, const struct vv_mark *mark,
                                 struct vv_error *error)
{
    const struct vv_span_key *key = &mark->key;
    int64_t end = key->span_start + mark->span_ns;
    struct vv_stale stale;
    if (sealer->kind != VV_SEAL_RAW) {
        const struct vv_stale_unit unit = {.key = *key, .to = end, .run = mark->run};
        struct vv_stale_unit cohort;
        enum vv_status status =
            vv_stale_cohort(&sealer->stale, (enum vv_space)sealer->kind, &unit, &cohort);
        return status == VV_OK ? vv_stale_list_add(&sealer->above, &cohort, error) : status;
    }
    uint32_t place = vv_registry_place_of(sealer->options.registry, key->partition.tenant);
    vv_stale_begin(&stale, &sealer->stale, place, key->partition.source, key->measurement,
                   mark->run);
    stale.later = &sealer->above;
    return stale.tiers.any ? vv_stale_range(&stale, key->span_start, end, INT64_MAX, error) : VV_OK;
}

/* Where some of what is above can't be made stale now, this span alone waits, before it is read. */
static enum vv_status check_above(struct vv_sealer *sealer, const struct vv_mark *mark,
                                  struct vv_error *error)
{
    const struct vv_shared_ops *shared = sealer->options.store->ops->shared;
    if (!shared || !shared->is_held || sealer->kind >= VV_SEAL_COHORTS) {
        return VV_OK;
    }
    int64_t over_at = sealer->kind == VV_SEAL_RAW ? vv_seal_stale_at(sealer) : INT64_MAX;
    enum vv_status status = list_above(sealer, mark, error);
    if (status == VV_OK) {
        status = vv_stale_check_held(&sealer->stale, &sealer->above, over_at, error);
    }
    sealer->above.n = 0;
    return status == VV_DONE ? VV_OK : status;
}

/* Beside other nodes a unit that was open then was only marked (stale.h), and of one that could not
 * be built for long the runs have expired: nothing tells whether it was built since. */
static bool is_only_marked(const struct vv_sealer *sealer, const struct reading *reading)
{
    return reading->is_unit && sealer->options.store->ops->shared &&
           (reading->keep_bytes || reading->had_block);
}

enum vv_status vv_seal_span(struct vv_sealer *sealer, size_t at, struct vv_error *error)
{
    const struct vv_mark *mark = &sealer->marks[at];
    struct reading reading = {.sealer = sealer,
                              .keep_bytes = !is_expired(sealer, mark),
                              .is_unit = sealer->kind != VV_SEAL_RAW,
                              .first = INT64_MAX,
                              .last = INT64_MIN,
                              .made_from = VV_VERSION_NONE,
                              .error = error};
    if (sealer->kind >= VV_SEAL_VOLUMES) {
        bool is_wanted = reading.keep_bytes && sealer->options.volumes_after_ns > 0;
        return is_wanted ? vv_volume_make(sealer->options.store, mark, sealer->volumes,
                                          sealer->options.zstd_level, &sealer->blocks, error)
                         : VV_OK;
    }
    size_t runs_before = sealer->runs.n;
    enum vv_status status = check_learnt(sealer, &mark->key, error);
    if (status == VV_OK) {
        status = check_delivered(sealer, mark, error);
    }
    if (status == VV_OK) {
        status = check_above(sealer, mark, error);
    }
    /* What is deleted is durable before it can be asked for, so that bytes may go by it. */
    if (status == VV_OK) {
        status = vv_deletions_begin_merge(sealer->options.deletions, mark->key.partition.source,
                                          mark->key.measurement, sealer->merge, &sealer->deletions);
    }
    if (status == VV_OK) {
        status = read_span(sealer, at, &reading, error);
    }
    sealer->figures.expired += status == VV_OK && !reading.keep_bytes;
    if (status != VV_OK || (!reading.keep_bytes && !reading.is_unit)) {
        return status;
    }
    bool has_runs = sealer->runs.n > runs_before;
    bool has_values = may_have_values(sealer, mark);
    if (has_values) {
        reading.first = mark->key.span_start;
        reading.last = mark->key.span_start + mark->span_ns - 1;
    }
    bool may_hide = !reading.is_unit && reading.had_block && sealer->deletions.n > 0;
    if (!has_runs && !may_hide && has_values) {
        return make_stale(sealer, mark, &reading, false);
    }
    if (!has_runs && !may_hide && !is_only_marked(sealer, &reading)) {
        return VV_OK; /* sealed before a crash: only the mark is left */
    }
    if (reading.is_unit) {
        return build_unit(sealer, mark, &reading, runs_before);
    }
    return renew_span(sealer, mark, &reading, has_runs);
}
