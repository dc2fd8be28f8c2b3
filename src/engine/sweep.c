/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sweeping: what is deleted is hidden at once; that its bytes go too, the sealer has to write the
 * spans anew. Source by source, marker by marker, the store is asked for blocks in the marker's
 * range, and their spans are marked as if a run had come in. That a source is swept is noted in the
 * metadata, in a confirm after that of its marks: a crash before sweeps it again. Beside other
 * nodes a group of sources has that in common (sweep_group.c).
 *
 * A bounded number of reads a step, and a step now and then: a deletion of years must not hold up
 * flushes. Spans that have runs need no sweep, since they are marked already; neither does the
 * head, whose runs will be. But beside other nodes one of them may be sealing these runs just now,
 * without having heard of the marker: it does not retire what is marked meanwhile. And of late
 * points that are kept apart the runs wait, and tiers may have been built of them: they are marked
 * like blocks.
 *
 * The units of tiers above are made stale with the spans' marks; beside other nodes behind them,
 * with those of the whole group: who seals a span before makes them stale as well, and with those
 * that are frozen all above them is. Spans that are frozen are left alone: what is above them could
 * not be built again, so it is taken out of tiers before (steps.c); unless they have points from
 * behind the marker, which are taken out with the rest.
 *
 * Beside other nodes, who deleted marks spans and says so; if that is not heard for some minutes,
 * others do it, too: it may have died, and doing it again changes nothing. What a store keeps as
 * single values, which nobody seals, every node removes by itself when it knows of the marker: so
 * what it put before is gone then, and what it puts later it puts with the marker in mind.
 *
 * What waits for a part of the store that is away is left for the next round. So are marks while
 * something that this node told is parked: it may be the marker, and who does not know of it would
 * seal what it hides, and retire the mark.
 */
#include "engine/engine_private.h"
#include "registry/shared.h"
#include "seal/stale.h"

#define STEP_READS      32
#define STEP_READS_FAR  128 /* where nodes share the store, if they do not take longer than … */
#define STEP_NS_FAR     (100 * VV_MILLISECOND) /* … a slice of sealing, which comes in between */
#define STEP_WAIT_NS    (20 * VV_MILLISECOND)
#define IDLE_WAIT_NS    VV_SECOND
#define RETIRE_EVERY_NS VV_HOUR

static int64_t now_of(const struct vv_engine *engine)
{
    return engine->clock->monotonic_ns(engine->clock);
}

static size_t step_reads(const struct vv_engine *engine)
{
    return engine->fleet ? STEP_READS_FAR : STEP_READS;
}

bool vv_sweep_is_due(const struct vv_engine *engine)
{
    return now_of(engine) >= engine->sweep.step_at_ns;
}

/* ---- spans ---- */

struct marking {
    struct vv_engine *engine;
    const struct vv_marker *marker;
    struct vv_stale *stale; /* of the series */
    int64_t span_ns;
    bool is_late;   /* of the space of late points: units above may be built of its runs */
    int64_t span;   /* marked last */
    int64_t frozen; /* spans that end before stay as they are */
    bool any;
    struct vv_error *error;
};

static const struct vv_outage sweep_outage = {"sweep_waits", "sweep_again",
                                              "what is deleted can be swept everywhere"};

/* Of many places few may have single values: what would find nothing is not asked. */
static size_t keep_those_with_values(const struct vv_engine *engine, uint32_t *places, size_t n)
{
    const struct vv_store_ops *ops = engine->store->ops;
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        bool may_have = !ops->has_values || ops->has_values(engine->store, places[i]);
        places[kept] = places[i];
        kept += may_have;
    }
    return kept;
}

/* All of them, with those of late points; returns how many. */
static size_t places_of(const struct vv_engine *engine, uint32_t places_out[2 * VV_PLACES_MAX])
{
    uint32_t place = engine->sweep.stay.place;
    size_t n = 1;
    places_out[0] = place;
    if (engine->sweep.in_values) {
        n = vv_registry_places(engine->registry, place, places_out);
    }
    for (size_t i = n; i-- > 0;) {
        uint32_t late = vv_registry_late_space(engine->registry, places_out[i]);
        if (late != VV_REGISTRY_NONE) {
            places_out[n++] = late;
        }
    }
    return engine->sweep.in_values ? keep_those_with_values(engine, places_out, n) : n;
}

/* Before this time what the marker deletes of the source is frozen. In a store of its own this node
 * lets nothing expire from when the marker came, and takes no points for it since: later points are
 * built again. */
static enum vv_status find_frozen(struct vv_engine *engine, struct vv_error *error)
{
    struct vv_sweep *sweep = &engine->sweep;
    uint32_t place = sweep->stay.place;
    int64_t now = engine->clock->wall_ns(engine->clock);
    int64_t since = (int64_t)vv_stamp_clock_us(sweep->markers[sweep->at].stamp) * VV_MICROSECOND;
    int64_t frozen;
    enum vv_status status = VV_OK;
    if (engine->store->ops->shared || sweep->in_values) {
        frozen = vv_steps_frozen(engine, place, now);
    } else {
        status = vv_steps_frozen_in(engine, place, sweep->source, sweep->measurement,
                                    since < now ? since : now, &frozen, error);
    }
    sweep->frozen = vv_steps_frozen_of(engine, sweep->source, frozen);
    return status;
}

/* A span that is frozen in part may be written anew where units are as long as it: they are built
 * of whole spans, then. Longer ones that lie there are frozen as a whole (vv_steps_frozen_of). */
static bool is_frozen(const struct marking *marking, int64_t start)
{
    int64_t end = start + marking->span_ns;
    return marking->span_ns <= VV_DAY ? end <= marking->frozen : start < marking->frozen;
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

/* Whether the block has rows that came behind the marker, perhaps in its range. Points may have
 * been taken of time that is frozen, of series that had nothing there (frozen.c): what was built of
 * them has been taken out of tiers with the rest, as steps have no stamps, and is to be built
 * again. */
static bool has_later(const struct vv_marker *marker, const struct vv_piece *piece)
{
    struct vv_block block;
    return vv_block_open((const uint8_t *)piece->bytes.data, piece->bytes.size, &block) ==
               VV_BLOCK_OK &&
           block.stamp_max > marker->stamp;
}

static enum vv_status mark_span(void *context, const struct vv_piece *piece)
{
    struct marking *marking = context;
    struct vv_engine *engine = marking->engine;
    bool is_marked = marking->any && marking->span == piece->key.span_start;
    bool is_kind = piece->kind == VV_PIECE_BLOCK || engine->fleet || marking->is_late;
    bool is_left = is_frozen(marking, piece->key.span_start);
    if (!is_kind || is_marked || !is_touched(marking->marker, piece) ||
        (is_left && (engine->fleet || !has_later(marking->marker, piece)))) {
        return VV_OK;
    }
    const struct vv_marker *marker = marking->marker;
    int64_t start = piece->key.span_start;
    int64_t end = start + marking->span_ns;
    int64_t from = marker->from > marking->frozen || is_left ? marker->from : marking->frozen;
    struct vv_mark mark = vv_ledger_mark(&marking->stale->options->ledger, &piece->key,
                                         marking->span_ns, marker->stamp);
    mark.is_of_block = true;
    marking->any = true;
    marking->span = start;
    engine->sweep.is_marked = true;
    atomic_fetch_add(&engine->counters.spans_swept, 1);
    enum vv_status status =
        vv_stale_range(marking->stale, start > from ? start : from,
                       end < marker->to ? end : marker->to, INT64_MAX, marking->error);
    return status == VV_OK ? engine->store->ops->put_mark(engine->store, &mark, marking->error)
                           : status;
}

/* Beside other nodes one of them may have built the unit since, as in the sealer. */
vv_stamp vv_sweep_stale_run(struct vv_engine *engine, const struct vv_marker *marker)
{
    struct vv_sweep *sweep = &engine->sweep;
    if (!engine->fleet) {
        return marker->stamp;
    }
    vv_stamp before = sweep->stale_run > marker->stamp ? sweep->stale_run : marker->stamp;
    sweep->stale_run =
        vv_stamp_next(before, engine->clock->wall_ns(engine->clock), vv_engine_node(engine));
    return sweep->stale_run;
}

/* Single values have no marks, but tiers above them; another node may have written them, though
 * this one does not, and have removed them already. */
static enum vv_status make_values_stale(struct vv_engine *engine, const struct vv_bucket *bucket,
                                        struct vv_stale *stale, struct vv_error *error)
{
    const struct vv_marker *marker = &engine->sweep.markers[engine->sweep.at];
    struct vv_store *store = engine->store;
    uint32_t place = engine->sweep.stay.place;
    int64_t frozen = engine->sweep.frozen;
    int64_t from = marker->from > bucket->start ? marker->from : bucket->start;
    int64_t to = marker->to < bucket->end ? marker->to : bucket->end;
    from = from > frozen ? from : frozen;
    bool has_values = store->ops->has_values && store->ops->has_values(store, place);
    return has_values && from < to ? vv_stale_range(stale, from, to, INT64_MAX, error) : VV_OK;
}

/* Of a place, or of the space of its late points. */
static enum vv_status mark_partitions(struct vv_engine *engine, uint32_t number,
                                      const struct vv_bucket *bucket, size_t *reads,
                                      struct vv_error *error)
{
    const struct vv_sweep *sweep = &engine->sweep;
    const struct vv_marker *marker = &sweep->markers[sweep->at];
    struct vv_store_read read = {
        .partition = {.tenant = number,
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
    vv_stale_begin(&stale, &options, sweep->stay.place, sweep->source, sweep->measurement,
                   vv_sweep_stale_run(engine, marker));
    stale.later = engine->fleet ? &engine->sweep.group.stale : NULL;
    stale.marks_open = engine->fleet != NULL;
    for (uint16_t split = 0; split < bucket->splits && status == VV_OK; split++) {
        struct marking marking = {.engine = engine,
                                  .marker = marker,
                                  .stale = &stale,
                                  .span_ns = bucket->span_ns,
                                  .is_late = number != engine->sweep.stay.place,
                                  .frozen = sweep->frozen,
                                  .error = error};
        read.partition.split = vv_split_name(bucket, split);
        status = engine->store->ops->read(engine->store, &read, mark_span, &marking, error);
        *reads += 1;
    }
    if (status == VV_OK && number == engine->sweep.stay.place) { /* they lie in the place itself */
        status = make_values_stale(engine, bucket, &stale, error);
    }
    return status == VV_OK ? vv_sweep_put_much(engine, error) : status;
}

static enum vv_status clear_place(struct vv_engine *engine, uint32_t place,
                                  const struct vv_bucket *bucket, size_t *reads,
                                  struct vv_error *error)
{
    const struct vv_sweep *sweep = &engine->sweep;
    const struct vv_marker *marker = &sweep->markers[sweep->at];
    bool is_metric = marker->scope == VV_DELETION_METRIC;
    bool is_part = is_metric || marker->scope == VV_DELETION_MEASUREMENT;
    struct vv_metric_info info = {.measurement = marker->number};
    if (is_metric) {
        vv_registry_metric_info(engine->registry, marker->number, &info);
    }
    struct vv_value_removal removal = {
        .partition = {.tenant = place,
                      .source = sweep->source,
                      .bucket_start = bucket->start,
                      .bucket_ns = bucket->bucket_ns},
        .from = marker->from > bucket->start ? marker->from : bucket->start,
        .to = marker->to < bucket->end ? marker->to : bucket->end,
        .stamp = marker->stamp,
        .measurement = is_part ? info.measurement : VV_VALUES_ALL,
        .metric = is_metric ? marker->number : VV_VALUES_ALL,
    };
    enum vv_status status = VV_OK;
    for (uint16_t split = 0; split < bucket->splits && status == VV_OK; split++) {
        removal.partition.split = vv_split_name(bucket, split);
        status = engine->store->ops->remove_values(engine->store, &removal, error);
        *reads += 1;
    }
    return status;
}

static enum vv_status clear_bucket(struct vv_engine *engine, const struct vv_bucket *bucket,
                                   size_t *reads, struct vv_error *error)
{
    uint32_t places[2 * VV_PLACES_MAX];
    size_t n = places_of(engine, places);
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        status = clear_place(engine, places[i], bucket, reads, error);
    }
    return status;
}

static enum vv_status mark_bucket(struct vv_engine *engine, const struct vv_bucket *bucket,
                                  size_t *reads, struct vv_error *error)
{
    uint32_t place = engine->sweep.stay.place;
    uint32_t late = vv_registry_late_space(engine->registry, place);
    enum vv_status status = mark_partitions(engine, place, bucket, reads, error);
    return status == VV_OK && late != VV_REGISTRY_NONE
               ? mark_partitions(engine, late, bucket, reads, error)
               : status;
}

bool vv_sweep_passes_over(struct vv_engine *engine, enum vv_status status)
{
    bool is_damaged = status == VV_CORRUPT || status == VV_NEWER;
    atomic_fetch_add(&engine->counters.sweep_damaged, is_damaged);
    return is_damaged;
}

/* Whether the source may have anything from then on: known where nobody else writes. */
static bool may_hold(const struct vv_engine *engine, int64_t from)
{
    int64_t first;
    int64_t last;
    return engine->fleet ||
           (vv_registry_source_times(engine->registry, engine->sweep.source, &first, &last) &&
            from <= last);
}

/* The first bucket from `from` on that has something, of the places and of their late points;
 * INT64_MAX: there is none. Where damage hides which one that is, it may be that at `from`. */
static enum vv_status find_bucket(struct vv_engine *engine, int64_t from, int64_t *start_out,
                                  size_t *reads, struct vv_error *error)
{
    struct vv_store *store = engine->store;
    uint32_t places[2 * VV_PLACES_MAX];
    size_t n = places_of(engine, places);
    *start_out = INT64_MAX;
    for (size_t i = 0; i < n; i++) {
        int64_t start;
        enum vv_status status = store->ops->nearest(store, 0, places[i], engine->sweep.source, from,
                                                    true, &start, error);
        *reads += 1;
        if (vv_sweep_passes_over(engine, status)) {
            start = may_hold(engine, from) ? from : INT64_MAX;
            status = VV_OK;
        }
        if (status != VV_OK && status != VV_DONE) {
            return status;
        }
        *start_out = status == VV_OK && start < *start_out ? start : *start_out;
    }
    return VV_OK;
}

/* The first time from `time` on that a bucket that has something may hold, as far as its plan goes;
 * INT64_MAX: there is none. */
static enum vv_status skip_empty(struct vv_engine *engine, struct vv_plans plans, int64_t *time,
                                 size_t *reads, struct vv_error *error)
{
    struct vv_bucket bucket = vv_bucket_of(plans.plans, plans.n, *time);
    int64_t plan_end = INT64_MAX;
    for (size_t i = plans.n; i-- > 0 && plans.plans[i].from_ns > *time;) {
        plan_end = plans.plans[i].from_ns;
    }
    int64_t start;
    enum vv_status status = find_bucket(engine, bucket.start, &start, reads, error);
    if (status != VV_OK) {
        return status;
    }
    if (start > bucket.start) { /* other plans' buckets need not be aligned to these */
        *time = start < plan_end ? start : plan_end;
    }
    return VV_OK;
}

/* What is damaged stays as it is, as for the sealer. */
static enum vv_status try_bucket(struct vv_engine *engine, const struct vv_bucket *bucket,
                                 size_t *reads, struct vv_error *error)
{
    enum vv_status status = engine->sweep.in_values ? clear_bucket(engine, bucket, reads, error)
                                                    : mark_bucket(engine, bucket, reads, error);
    return vv_sweep_passes_over(engine, status) ? VV_OK : status;
}

/* Whether all spans in the range are frozen, of which beside other nodes none is marked. */
static bool is_all_left(const struct vv_engine *engine, struct vv_plans plans)
{
    const struct vv_sweep *sweep = &engine->sweep;
    if (!engine->fleet || sweep->in_values || plans.n == 0 || sweep->to > sweep->frozen) {
        return false;
    }
    struct vv_bucket bucket = vv_bucket_of(plans.plans, plans.n, sweep->to - 1);
    int64_t start = vv_span_of(&bucket, sweep->to - 1);
    return bucket.span_ns > VV_DAY || start + bucket.span_ns <= sweep->frozen;
}

/* A measurement of the source in the marker's range, or what of it is kept as single values, as far
 * as there is anything. */
static enum vv_status sweep_range(struct vv_engine *engine, size_t *reads, struct vv_error *error)
{
    struct vv_sweep *sweep = &engine->sweep;
    struct vv_plans plans = vv_registry_source_plans(engine->registry, sweep->source);
    enum vv_status status = VV_OK;
    if (is_all_left(engine, plans)) {
        sweep->time = sweep->to;
    }
    while (plans.n > 0 && sweep->time < sweep->to && *reads < step_reads(engine) &&
           status == VV_OK) {
        int64_t time = sweep->time;
        status = skip_empty(engine, plans, &time, reads, error);
        sweep->time = time;
        if (status == VV_OK && time < sweep->to) {
            struct vv_bucket bucket = vv_bucket_of(plans.plans, plans.n, time);
            status = try_bucket(engine, &bucket, reads, error);
            sweep->time = bucket.end;
        }
    }
    if (status == VV_OK && (plans.n == 0 || sweep->time >= sweep->to)) {
        sweep->in_range = false;
    }
    return status;
}

/* What is frozen goes from tiers, or is to go, the finest first; then spans are marked, so that
 * what is built again finds nothing of it there. */
static enum vv_status sweep_part(struct vv_engine *engine, size_t *reads, struct vv_error *error)
{
    struct vv_sweep *sweep = &engine->sweep;
    bool is_out = true;
    enum vv_status status = VV_OK;
    if (sweep->tier < VV_SPACES) {
        status = vv_steps_sweep(engine, reads, step_reads(engine), &is_out, error);
        sweep->time = is_out ? sweep->first : sweep->time;
    }
    return status == VV_OK && is_out ? sweep_range(engine, reads, error) : status;
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
    int64_t from = engine->sweep.stay.from;
    from = from > marker->from ? from : marker->from;
    if (engine->fleet) {
        return from;
    }
    if (!vv_registry_source_times(engine->registry, source, &first, &last) || last < from) {
        return INT64_MAX;
    }
    return first > from ? first : from;
}

/* The measurement's stay that is to be swept, from the present one on; false: there is none. */
static bool find_stay(struct vv_engine *engine, const struct vv_marker *marker)
{
    struct vv_sweep *sweep = &engine->sweep;
    struct vv_stay stays[VV_STAYS_MAX];
    bool is_meant = concerns(engine, marker, sweep->measurement);
    size_t n = is_meant ? vv_registry_stays(engine->registry, sweep->measurement, stays) : 0;
    while (sweep->stay_at < n &&
           (stays[sweep->stay_at].from >= marker->to || stays[sweep->stay_at].to <= marker->from)) {
        sweep->stay_at++;
    }
    if (sweep->stay_at >= n) {
        return false;
    }
    sweep->stay = stays[sweep->stay_at];
    return true;
}

/* The next part of the source in which the marker is to be swept: a stay of a measurement that it
 * concerns, at last the single values. false: there is none. */
static bool begin_part(struct vv_engine *engine)
{
    struct vv_sweep *sweep = &engine->sweep;
    const struct vv_marker *marker = &sweep->markers[sweep->at];
    unsigned todo = sweep->todo[sweep->at];
    uint32_t n = vv_registry_measurement_count(engine->registry);
    bool was_in_values = sweep->in_values;
    n = (todo & VV_MARKER_UNSWEPT) ? n : 0;
    while (sweep->measurement < n && !find_stay(engine, marker)) {
        sweep->measurement++;
        sweep->stay_at = 0;
    }
    sweep->in_values = sweep->measurement >= n;
    if (sweep->in_values) { /* they lie in all places of the tenant */
        uint32_t tenant = vv_registry_source_tenant(engine->registry, sweep->source);
        sweep->stay = (struct vv_stay){tenant, INT64_MIN, INT64_MAX};
    }
    bool has_values = (todo & VV_MARKER_UNCLEARED) && !was_in_values;
    sweep->in_range = !sweep->in_values || has_values;
    sweep->first = first_time(engine, marker);
    sweep->to = sweep->stay.to < marker->to ? sweep->stay.to : marker->to;
    sweep->time = sweep->first;
    sweep->tier = sweep->in_values ? VV_SPACES : 0;
    return sweep->in_range;
}

void vv_sweep_go_to_marker(struct vv_sweep *sweep, size_t from)
{
    sweep->at = from;
    sweep->measurement = 0;
    sweep->stay_at = 0;
    sweep->in_values = false;
    sweep->in_range = false;
    while (sweep->at < sweep->n && sweep->todo[sweep->at] == 0) {
        sweep->at++;
    }
}

/* ---- steps ---- */

static enum vv_status sweep_some(struct vv_engine *engine, struct vv_error *error)
{
    struct vv_sweep *sweep = &engine->sweep;
    enum vv_status status = VV_OK;
    size_t reads = 0;
    int64_t until = engine->fleet ? now_of(engine) + STEP_NS_FAR : INT64_MAX;
    while (sweep->active && reads < step_reads(engine) && now_of(engine) < until &&
           status == VV_OK) {
        bool begins = !sweep->in_range;
        if (sweep->at >= sweep->n) {
            status = vv_sweep_end_source(engine, error);
            continue;
        }
        if (begins && !begin_part(engine)) {
            vv_sweep_go_to_marker(sweep, sweep->at + 1);
            continue;
        }
        status = begins ? find_frozen(engine, error) : VV_OK;
        status = status == VV_OK ? sweep_part(engine, &reads, error) : status;
        sweep->stay_at += !sweep->in_range && !sweep->in_values;
    }
    sweep->group.reads += reads;
    return status;
}

/* VV_DONE: there is nothing to be swept now. */
static enum vv_status begin_group(struct vv_engine *engine, struct vv_error *error)
{
    struct vv_sweep *sweep = &engine->sweep;
    if (vv_sweep_gather(engine) == VV_DONE) {
        return VV_DONE;
    }
    sweep->active = sweep->group.n > 0;
    return sweep->active ? vv_sweep_begin_group(engine, error) : VV_OK;
}

bool vv_sweep_goes_on(const struct vv_engine *engine)
{
    return engine->fleet && engine->sweep.active && vv_sweep_is_due(engine);
}

/* Alone: a block is durable when it is put, and marks when they are confirmed. If a span were
 * sealed and its marks, and those of the units above, were lost, the next sweep would find nothing
 * of what is deleted there. */
static enum vv_status confirm_marks(struct vv_engine *engine, struct vv_error *error)
{
    bool waits = engine->sweep.is_marked && !engine->fleet;
    engine->sweep.is_marked = false;
    return waits ? vv_engine_confirm(engine, error) : VV_OK;
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
    if (now_of(engine) >= sweep->retire_at_ns && !vv_storage_waits_for_replayed(engine)) {
        sweep->retire_at_ns = now_of(engine) + RETIRE_EVERY_NS;
        enum vv_status status = vv_retire_markers(engine, error);
        if (status != VV_OK) {
            return status;
        }
    }
    enum vv_status status = sweep->active ? VV_OK : begin_group(engine, error);
    if (status == VV_DONE) {
        return VV_DONE;
    }
    if (status == VV_OK) {
        status = sweep_some(engine, error);
    }
    enum vv_status confirmed = confirm_marks(engine, status == VV_OK ? error : NULL);
    status = status == VV_OK ? confirmed : status;
    if (status != VV_OK) {
        vv_sweep_fail(engine, status);
    }
    /* Beside other nodes a step is mostly waiting for the store. */
    bool goes_on = engine->fleet && sweep->active;
    sweep->step_at_ns = now_of(engine) + (goes_on ? 0 : STEP_WAIT_NS);
    if (engine->fleet && (status == VV_OK || status == VV_OVERLOAD)) {
        vv_outage_note(&sweep->waits, &sweep_outage, status, error);
    }
    return status;
}
