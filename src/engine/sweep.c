/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sweeping: what is deleted is hidden at once; that its bytes go too, the sealer has to write the
 * spans anew. Source by source, marker by marker, the store is asked for blocks in the marker's
 * range, and their spans are marked as if a run had come in. That a source is swept is noted in the
 * metadata, in a confirm after that of its marks: a crash before sweeps it again.
 *
 * A bounded number of reads a step, and a step now and then: a deletion of years must not hold up
 * flushes. Spans that have runs need no sweep, since they are marked already; neither does the
 * head, whose runs will be.
 *
 * The units of tiers above are made stale with the spans' marks. Spans that the retention of raw
 * data hides are left alone: what is above them could not be built again.
 *
 * A marker goes when nothing that it hides can come back: when the retention has passed its range
 * twice. By then all of that is expired and freed. Where the retention is for ever, it stays.
 */
#include "engine/engine_private.h"
#include "registry/shared.h"
#include "seal/stale.h"

#define STEP_READS      32
#define STEP_WAIT_NS    (20 * VV_MILLISECOND)
#define IDLE_WAIT_NS    VV_SECOND
#define RETIRE_EVERY_NS VV_HOUR

static int64_t now_of(const struct vv_engine *engine)
{
    return engine->clock->monotonic_ns(engine->clock);
}

bool vv_sweep_is_due(const struct vv_engine *engine)
{
    return now_of(engine) >= engine->sweep.step_at_ns;
}

/* ---- metadata ---- */

static enum vv_status put_record(struct vv_engine *engine, uint32_t source, struct vv_error *error)
{
    struct vv_store *store = engine->store;
    struct vv_buffer value = {0};
    uint8_t bytes[4];
    vv_registry_key(source, bytes);
    struct vv_str key = {(const char *)bytes, sizeof bytes};
    bool has = vv_deletions_encode(engine->deletions, source, &value);
    enum vv_status status = vv_buffer_status(&value);
    if (status != VV_OK) {
        status = vv_error_set(error, VV_NO_MEMORY, "out of memory while sweeping");
    } else if (has) {
        status = store->ops->put_meta(store, VV_META_DELETION, key,
                                      (struct vv_str){(const char *)value.data, value.size}, error);
    } else {
        status = store->ops->remove_meta(store, VV_META_DELETION, key, error);
    }
    vv_buffer_deinit(&value);
    return status;
}

/* ---- spans ---- */

struct marking {
    struct vv_engine *engine;
    const struct vv_marker *marker;
    struct vv_stale *stale; /* of the series */
    int64_t span_ns;
    int64_t span;   /* marked last */
    int64_t frozen; /* spans that begin before stay as they are */
    bool any;
    struct vv_error *error;
};

/* Before this time everything is frozen. */
static int64_t frozen_before(struct vv_engine *engine)
{
    uint32_t tenant = vv_registry_source_tenant(engine->registry, engine->sweep.source);
    int64_t age = vv_engine_accepted_age(engine, tenant);
    int64_t now = engine->clock->wall_ns(engine->clock);
    return age > 0 && now > VV_TIME_MIN + age ? now - age : VV_TIME_MIN;
}

/* Whether the block has rows in the marker's range. */
static bool is_touched(const struct vv_marker *marker, const struct vv_piece *piece)
{
    struct vv_block block;
    if (vv_block_open((const uint8_t *)piece->bytes.data, piece->bytes.size, &block) !=
        VV_BLOCK_OK) {
        return false; /* the sealer leaves damaged spans as they are */
    }
    return block.time_min < marker->to && block.time_max >= marker->from;
}

static enum vv_status mark_span(void *context, const struct vv_piece *piece)
{
    struct marking *marking = context;
    struct vv_engine *engine = marking->engine;
    bool is_marked = marking->any && marking->span == piece->key.span_start;
    if (piece->kind != VV_PIECE_BLOCK || is_marked || piece->key.span_start < marking->frozen ||
        !is_touched(marking->marker, piece)) {
        return VV_OK;
    }
    const struct vv_marker *marker = marking->marker;
    int64_t start = piece->key.span_start;
    int64_t end = start + marking->span_ns;
    struct vv_mark mark = vv_ledger_mark(&marking->stale->options->ledger, &piece->key,
                                         marking->span_ns, marker->stamp);
    marking->any = true;
    marking->span = start;
    atomic_fetch_add(&engine->counters.spans_swept, 1);
    enum vv_status status =
        vv_stale_range(marking->stale, start > marker->from ? start : marker->from,
                       end < marker->to ? end : marker->to, INT64_MAX, marking->error);
    return status == VV_OK ? engine->store->ops->put_mark(engine->store, &mark, marking->error)
                           : status;
}

static enum vv_status mark_bucket(struct vv_engine *engine, const struct vv_bucket *bucket,
                                  size_t *reads, struct vv_error *error)
{
    const struct vv_sweep *sweep = &engine->sweep;
    const struct vv_marker *marker = &sweep->markers[sweep->at];
    struct vv_store_read read = {
        .partition = {.tenant = vv_registry_source_tenant(engine->registry, sweep->source),
                      .source = sweep->source,
                      .bucket_start = bucket->start,
                      .bucket_ns = bucket->bucket_ns},
        .measurement = sweep->measurement,
        .span_from =
            vv_span_of(bucket, marker->from > bucket->start ? marker->from : bucket->start),
        .span_to = marker->to < bucket->end ? marker->to : bucket->end,
    };
    const struct vv_stale_options options = {
        .registry = engine->registry,
        .store = engine->store,
        .ledger = vv_engine_ledger_rule(&engine->settings),
    };
    struct vv_stale stale;
    enum vv_status status = VV_OK;
    vv_stale_begin(&stale, &options, sweep->source, sweep->measurement, marker->stamp);
    for (uint16_t split = 0; split < bucket->splits && status == VV_OK; split++) {
        struct marking marking = {.engine = engine,
                                  .marker = marker,
                                  .stale = &stale,
                                  .span_ns = bucket->span_ns,
                                  .frozen = frozen_before(engine),
                                  .error = error};
        read.partition.split = split;
        status = engine->store->ops->read(engine->store, &read, mark_span, &marking, error);
        *reads += 1;
    }
    return status;
}

/* The first time from `time` on that a bucket that has something may hold, as far as its plan goes;
 * INT64_MAX: there is none. */
static enum vv_status skip_empty(struct vv_engine *engine, struct vv_plans plans, int64_t *time,
                                 struct vv_error *error)
{
    struct vv_store *store = engine->store;
    uint32_t source = engine->sweep.source;
    uint32_t tenant = vv_registry_source_tenant(engine->registry, source);
    struct vv_bucket bucket = vv_bucket_of(plans.plans, plans.n, *time);
    int64_t plan_end = INT64_MAX;
    for (size_t i = plans.n; i-- > 0 && plans.plans[i].from_ns > *time;) {
        plan_end = plans.plans[i].from_ns;
    }
    int64_t start = INT64_MAX;
    enum vv_status status =
        store->ops->nearest(store, 0, tenant, source, bucket.start, true, &start, error);
    if (status != VV_OK && status != VV_DONE) {
        return status;
    }
    start = status == VV_DONE ? INT64_MAX : start;
    if (start > bucket.start) { /* other plans' buckets need not be aligned to these */
        *time = start < plan_end ? start : plan_end;
    }
    return VV_OK;
}

/* What is damaged stays as it is, as for the sealer. */
static enum vv_status try_bucket(struct vv_engine *engine, const struct vv_bucket *bucket,
                                 size_t *reads, struct vv_error *error)
{
    enum vv_status status = mark_bucket(engine, bucket, reads, error);
    bool is_damaged = status == VV_CORRUPT || status == VV_NEWER;
    return is_damaged ? VV_OK : status;
}

/* A measurement of the source in the marker's range, as far as there is anything. */
static enum vv_status sweep_measurement(struct vv_engine *engine, size_t *reads,
                                        struct vv_error *error)
{
    struct vv_sweep *sweep = &engine->sweep;
    const struct vv_marker *marker = &sweep->markers[sweep->at];
    struct vv_plans plans = vv_registry_source_plans(engine->registry, sweep->source);
    enum vv_status status = VV_OK;
    while (plans.n > 0 && sweep->time < marker->to && *reads < STEP_READS && status == VV_OK) {
        int64_t time = sweep->time;
        status = skip_empty(engine, plans, &time, error);
        *reads += 1;
        sweep->time = time;
        if (status == VV_OK && time < marker->to) {
            struct vv_bucket bucket = vv_bucket_of(plans.plans, plans.n, time);
            status = try_bucket(engine, &bucket, reads, error);
            sweep->time = bucket.end;
        }
    }
    if (status == VV_OK && (plans.n == 0 || sweep->time >= marker->to)) {
        sweep->in_measurement = false;
    }
    return status;
}

/* ---- measurements, markers, sources ---- */

static bool concerns(struct vv_engine *engine, const struct vv_marker *marker, uint32_t measurement)
{
    struct vv_metric_info info;
    switch (marker->scope) {
    case VV_DELETION_MEASUREMENT:
        return marker->number == measurement;
    case VV_DELETION_METRIC:
        vv_registry_metric_info(engine->registry, marker->number, &info);
        return info.measurement == measurement;
    default:
        return vv_registry_measurement_tenant(engine->registry, measurement) ==
               vv_registry_source_tenant(engine->registry, engine->sweep.source);
    }
}

/* From the source's first to its last time, where nobody else writes. */
static int64_t first_time(const struct vv_engine *engine, const struct vv_marker *marker)
{
    int64_t first;
    int64_t last;
    uint32_t source = engine->sweep.source;
    if (!vv_registry_source_times(engine->registry, source, &first, &last) || last < marker->from) {
        return INT64_MAX;
    }
    return first > marker->from ? first : marker->from;
}

/* The next measurement that the marker concerns; false: there is none. */
static bool begin_measurement(struct vv_engine *engine)
{
    struct vv_sweep *sweep = &engine->sweep;
    const struct vv_marker *marker = &sweep->markers[sweep->at];
    uint32_t n = vv_registry_measurement_count(engine->registry);
    while (sweep->measurement < n && !concerns(engine, marker, sweep->measurement)) {
        sweep->measurement++;
    }
    sweep->in_measurement = sweep->measurement < n;
    sweep->time = first_time(engine, marker);
    return sweep->in_measurement;
}

static bool next_marker(struct vv_sweep *sweep, size_t from)
{
    sweep->at = from;
    sweep->measurement = 0;
    sweep->in_measurement = false;
    while (sweep->at < sweep->n && sweep->markers[sweep->at].is_swept) {
        sweep->at++;
    }
    return sweep->at < sweep->n;
}

static bool begin_source(struct vv_engine *engine)
{
    struct vv_sweep *sweep = &engine->sweep;
    sweep->source = vv_deletions_next(engine->deletions, 0, true);
    if (sweep->source == UINT32_MAX) {
        return false;
    }
    sweep->n = vv_deletions_read(engine->deletions, sweep->source, sweep->markers,
                                 VV_MARKERS_OF_SOURCE_MAX);
    sweep->n = sweep->n < VV_MARKERS_OF_SOURCE_MAX ? sweep->n : VV_MARKERS_OF_SOURCE_MAX;
    sweep->active = next_marker(sweep, 0);
    return sweep->active;
}

/* All marks of the source are put: durably, before that is noted. */
static enum vv_status finish_source(struct vv_engine *engine, struct vv_error *error)
{
    struct vv_sweep *sweep = &engine->sweep;
    sweep->active = false;
    enum vv_status status = vv_engine_confirm(engine, error);
    if (status != VV_OK) {
        return status; /* from its beginning, then */
    }
    vv_deletions_note_swept(engine->deletions, sweep->source, sweep->markers, sweep->n);
    return put_record(engine, sweep->source, error);
}

static enum vv_status sweep_some(struct vv_engine *engine, struct vv_error *error)
{
    struct vv_sweep *sweep = &engine->sweep;
    enum vv_status status = VV_OK;
    size_t reads = 0;
    while (sweep->active && reads < STEP_READS && status == VV_OK) {
        if (!sweep->in_measurement && !begin_measurement(engine)) {
            if (!next_marker(sweep, sweep->at + 1)) {
                status = finish_source(engine, error);
            }
            continue;
        }
        status = sweep_measurement(engine, &reads, error);
        sweep->measurement += !sweep->in_measurement;
    }
    return status;
}

/* ---- retiring ---- */

/* Markers that end at or before this can go; VV_TIME_MIN: none. */
static int64_t retired_before(struct vv_engine *engine, uint32_t source)
{
    uint32_t tenant = vv_registry_source_tenant(engine->registry, source);
    int64_t retention = vv_registry_retention(engine->registry, tenant);
    struct vv_plans plans = vv_registry_source_plans(engine->registry, source);
    int64_t bucket = 0;
    for (size_t i = 0; i < plans.n; i++) {
        bucket = plans.plans[i].bucket_ns > bucket ? plans.plans[i].bucket_ns : bucket;
    }
    int64_t now = engine->clock->wall_ns(engine->clock);
    bool passes = retention > 0 && retention < INT64_MAX / 4 &&
                  now > VV_TIME_MIN / 2 + 2 * retention + bucket + VV_DAY;
    return passes ? now - 2 * retention - bucket - VV_DAY : VV_TIME_MIN;
}

static enum vv_status retire(struct vv_engine *engine, struct vv_error *error)
{
    enum vv_status status = VV_OK;
    uint32_t source = vv_deletions_next(engine->deletions, 0, false);
    while (source != UINT32_MAX && status == VV_OK) {
        int64_t before = retired_before(engine, source);
        if (before > VV_TIME_MIN && vv_deletions_retire(engine->deletions, source, before) > 0) {
            status = put_record(engine, source, error);
        }
        source = vv_deletions_next(engine->deletions, source + 1, false);
    }
    return status == VV_OK ? vv_engine_confirm(engine, error) : status;
}

enum vv_status vv_sweep_step(struct vv_engine *engine, struct vv_error *error)
{
    struct vv_sweep *sweep = &engine->sweep;
    sweep->step_at_ns = now_of(engine) + IDLE_WAIT_NS;
    struct vv_deletions_figures figures;
    vv_deletions_read_figures(engine->deletions, &figures);
    if (figures.markers == 0) {
        sweep->active = false;
        return VV_DONE;
    }
    if (now_of(engine) >= sweep->retire_at_ns) {
        sweep->retire_at_ns = now_of(engine) + RETIRE_EVERY_NS;
        enum vv_status status = retire(engine, error);
        if (status != VV_OK) {
            return status;
        }
    }
    if (!sweep->active && !begin_source(engine)) {
        return VV_DONE;
    }
    sweep->step_at_ns = now_of(engine) + STEP_WAIT_NS;
    enum vv_status status = sweep_some(engine, error);
    if (status != VV_OK) {
        sweep->active = false;
    }
    return status;
}
