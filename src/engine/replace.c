/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replacing days that are frozen: their points become steps of the tiers, and are kept nowhere.
 *
 * A request is of one day and of so many series that the storage thread is not held up for long.
 * Names are journaled first, as for a write. Then, in the storage thread: all records of all tiers
 * are made (seal/replace.h), noted (replace_notes.c), and put in the place of those that are there.
 * So a crash leaves a day as it was, or with notes that the next start carries out: never half of
 * it. What else is built of the day, later, is made stale before. Where nodes share the store it is
 * runs that are made, noted and put (replace_shared.c), and whoever builds the units puts the
 * points into the records.
 *
 * The points get a stamp above all deletions that are known, so that rows that tiers keep of them
 * are not hidden by older ones, and below all that come, whatever the clock does; a deletion that
 * is not yet swept is waited for.
 */
#include "seal/replace.h"
#include "base/clock.h"
#include "base/log.h"
#include "engine/engine_private.h"
#include "engine/frozen_found.h"
#include "registry/shared.h"
#include "seal/gone.h"

#include <stdlib.h>

#define MARKS_LOOKED_AT 100000

/* ---- what is frozen ---- */

/* What expired before a retention was made longer is frozen, too, where nothing came since. From
 * when on points are there is noted an hour ahead (whole.c). */
static int64_t frozen_of(struct vv_engine *engine, uint32_t place)
{
    int64_t gone = vv_whole_for_queries(engine, place);
    int64_t ahead_ns = engine->fleet ? 0 : VV_HOUR;
    return gone <= VV_TIME_MIN + VV_DAY ? VV_TIME_MIN : vv_time_floor(gone - ahead_ns, VV_DAY);
}

/* Whether points of the day are kept that came behind the others: raw answers have them. */
static enum vv_status look_for_points(struct vv_engine *engine, uint32_t place, uint32_t source,
                                      uint32_t measurement, int64_t day, bool *has_out,
                                      struct vv_error *error)
{
    int64_t retention_ns = vv_registry_retention(engine->registry, place);
    int64_t now = engine->clock->wall_ns(engine->clock);
    const struct vv_gone_question question = {
        .place = place, .source = source, .measurement = measurement};
    int64_t first;
    int64_t last;
    *has_out = vv_head_series_times(engine->head, source, measurement, &first, &last) &&
               first < day + VV_DAY && last >= day;
    if (*has_out) {
        return VV_OK;
    }
    return retention_ns > 0 && day + VV_DAY <= now - retention_ns
               ? VV_OK
               : vv_gone_look_for_points(engine->store, engine->registry, &question, day,
                                         day + VV_DAY, has_out, error);
}

static enum vv_status find_tenant(struct vv_engine *engine, struct vv_str tenant,
                                  uint32_t *number_out, struct vv_error *error)
{
    enum vv_status status = vv_registry_tenant(engine->registry, tenant, false, number_out, error);
    if (status == VV_NOT_FOUND && engine->fleet) { /* another node may have made it */
        vv_fleet_learn_for_reader(engine->fleet);
        status = vv_registry_tenant(engine->registry, tenant, false, number_out, error);
    }
    return status;
}

enum vv_status vv_engine_read_frozen(struct vv_engine *engine, struct vv_str tenant,
                                     int64_t *until_out, struct vv_error *error)
{
    uint32_t number;
    uint32_t places[VV_PLACES_MAX];
    *until_out = VV_TIME_MIN;
    enum vv_status status = find_tenant(engine, tenant, &number, error);
    if (status != VV_OK) {
        return status;
    }
    size_t n = vv_registry_places(engine->registry, number, places);
    for (size_t i = 0; i < n; i++) {
        int64_t frozen = frozen_of(engine, places[i]);
        *until_out = i == 0 || frozen < *until_out ? frozen : *until_out;
    }
    return VV_OK;
}

enum vv_status vv_engine_stage_frozen(struct vv_engine *engine, struct vv_str tenant,
                                      struct vv_staging *staging_out, struct vv_error *error)
{
    uint32_t number;
    enum vv_status status = find_tenant(engine, tenant, &number, error);
    if (status != VV_OK) {
        return status;
    }
    const struct vv_staging_options options = {
        .registry = engine->registry,
        .tenant = number,
        .now_ns = engine->clock->wall_ns(engine->clock),
        .past_ns_max = engine->settings.past_ns_max,
        .fields_max = (uint32_t)engine->settings.fields_max,
        .line_bytes_max = (uint32_t)engine->settings.line_bytes_max,
    };
    status = vv_staging_init(staging_out, &options);
    return status == VV_OK ? status
                           : vv_error_set(error, status, "out of memory: send again later");
}

/* ---- a day ---- */

/* A source of the day. */
struct replaced_source {
    uint32_t number;
    struct vv_plan plan; /* for one that never had points, and so has none … */
    bool is_new;
    int64_t low; /* … and the first and last of these */
    int64_t high;
};

struct replacing {
    struct vv_engine *engine;
    struct replaced_source *sources; /* ascending, as many as series at most */
    size_t n_sources;
    struct vv_reroll *reroll;
    struct vv_merge *merge;
    struct vv_rows *rows; /* of the series and the day */
    size_t n_rows;
    size_t capacity;
    struct vv_piece_list records;
    int64_t day;
    vv_stamp run; /* where nodes share the store */
    uint64_t series;
    bool is_refused; /* the store is all right */
    bool is_noting;  /* notes may be there, in part */
    struct vv_error *error;
};

static enum vv_status refuse(struct replacing *replacing, uint32_t source, uint32_t measurement,
                             enum vv_status status, const char *why)
{
    struct vv_registry *registry = replacing->engine->registry;
    struct vv_str id = vv_registry_source_id(registry, source);
    struct vv_str name = vv_registry_measurement_name(registry, measurement);
    char text[VV_TIME_TEXT_SIZE];
    vv_time_format(replacing->day, text);
    replacing->is_refused = true;
    return vv_error_set(replacing->error, status, "%.*s of source %.*s can't be replaced on %s: %s",
                        VV_STR_ARG(name), VV_STR_ARG(id), text, why);
}

static enum vv_status check(struct replacing *replacing, uint32_t source, uint32_t measurement)
{
    struct vv_engine *engine = replacing->engine;
    uint32_t place = vv_registry_stay(engine->registry, measurement, replacing->day).place;
    int64_t to = replacing->day + VV_DAY;
    bool has_points = false;
    if (to > frozen_of(engine, place)) {
        return refuse(replacing, source, measurement, VV_INVALID,
                      "the day is not frozen as a whole; what is younger is loaded as usual");
    }
    enum vv_status status = look_for_points(engine, place, source, measurement, replacing->day,
                                            &has_points, replacing->error);
    if (status != VV_OK) {
        return status;
    }
    if (has_points) {
        return refuse(replacing, source, measurement, VV_INVALID,
                      "points of it are kept, as the retention was made longer: load what is "
                      "missing as usual, or delete the day first");
    }
    if (vv_deletions_overlap(engine->deletions, source, measurement, replacing->day, to)) {
        return refuse(replacing, source, measurement, VV_OVERLOAD,
                      "what is deleted there is still being taken out: try again later");
    }
    if (engine->fleet && vv_fleet_check_place(engine->fleet, measurement, NULL) != VV_OK) {
        return refuse(replacing, source, measurement, VV_OVERLOAD,
                      "it is not agreed on yet where it is kept: try again later");
    }
    return VV_OK;
}

struct looking {
    const struct vv_engine *engine;
    const struct vv_span_key *key;
    size_t n;
    bool is_found;
};

/* The mark is of the unit, or of one that was longer by other plans. */
static enum vv_status look_at_mark(void *context, const struct vv_mark *mark)
{
    struct looking *looking = context;
    const struct vv_span_key *key = looking->key;
    looking->is_found = mark->key.partition.tenant == key->partition.tenant &&
                        mark->key.partition.source == key->partition.source &&
                        mark->key.measurement == key->measurement &&
                        mark->key.span_start <= key->span_start &&
                        mark->key.span_start + mark->span_ns > key->span_start &&
                        !vv_volume_is_marked(looking->engine->registry, mark) &&
                        !vv_sealer_is_damaged(looking->engine->sealer, mark);
    return looking->is_found || ++looking->n == MARKS_LOOKED_AT ? VV_DONE : VV_OK;
}

/* Whether a stale unit will be built: not one that is held up by something damaged, or that was too
 * large for a record and has no mark any more. Where very much is marked it is taken for granted.
 */
static bool will_be_built(struct vv_engine *engine, const struct vv_span_key *unit)
{
    struct looking looking = {.engine = engine, .key = unit};
    struct vv_store *store = engine->store;
    enum vv_status status =
        store->ops->scan_marks(store, INT64_MAX, NULL, look_at_mark, &looking, NULL);
    bool is_all = status == VV_OK && looking.n < MARKS_LOOKED_AT;
    return looking.is_found || !is_all;
}

static enum vv_status judge_waiting(struct replacing *replacing, uint32_t source,
                                    uint32_t measurement, const struct vv_span_key *unit)
{
    if (replacing->engine->fleet || will_be_built(replacing->engine, unit)) {
        return refuse(replacing, source, measurement, VV_OVERLOAD,
                      "what tiers have of it waits to be built: try again later");
    }
    return refuse(replacing, source, measurement, VV_INVALID,
                  "what tiers have of it is to be built again, and can't be: something of it is "
                  "damaged, or it has more metrics or steps than a record (the log has "
                  "seal_damaged, or tier_not_built); it can be replaced when that is mended");
}

static enum vv_status judge(struct replacing *replacing, const struct vv_replace *replace,
                            enum vv_replace_verdict verdict, const struct vv_span_key *waits_for)
{
    uint32_t source = replace->source;
    uint32_t measurement = replace->measurement;
    switch (verdict) {
    case VV_REPLACE_GOOD:
        replacing->series++;
        return VV_OK;
    case VV_REPLACE_WAITS:
        return judge_waiting(replacing, source, measurement, waits_for);
    case VV_REPLACE_SHARED:
        return refuse(replacing, source, measurement, VV_INVALID,
                      "only 28 days together are kept there, and the last of them are not frozen "
                      "yet");
    case VV_REPLACE_GONE:
        return refuse(replacing, source, measurement, VV_INVALID, "no tier keeps what is so old");
    default:
        return refuse(replacing, source, measurement, VV_INVALID,
                      "what tiers have of it can't be read, or is divided in another way");
    }
}

/* Where its units end is said by its plan; one that has none gets the plan of the first series that
 * comes, when all is known to be good: what is refused leaves nothing. */
static enum vv_status note_source(struct replacing *replacing, uint32_t source,
                                  const struct vv_rows *rows)
{
    struct vv_engine *engine = replacing->engine;
    const struct vv_flush_options options = {.registry = engine->registry,
                                             .store = engine->store,
                                             .bucket_ns = engine->settings.bucket_ns,
                                             .span_ns = engine->settings.span_ns,
                                             .splits = (uint16_t)engine->settings.splits};
    int64_t low = INT64_MAX;
    int64_t high = INT64_MIN;
    for (size_t i = 0; i < rows->n_rows; i++) {
        low = rows->times[i] < low ? rows->times[i] : low;
        high = rows->times[i] > high ? rows->times[i] : high;
    }
    size_t n = replacing->n_sources;
    if (n > 0 && replacing->sources[n - 1].number == source) {
        struct replaced_source *last = &replacing->sources[n - 1];
        last->low = low < last->low ? low : last->low;
        last->high = high > last->high ? high : last->high;
        return VV_OK;
    }
    if (!replacing->sources) {
        replacing->sources = calloc(VV_REPLACE_SERIES_MAX, sizeof *replacing->sources);
        if (!replacing->sources) {
            return VV_NO_MEMORY;
        }
    }
    replacing->sources[replacing->n_sources++] = (struct replaced_source){
        .number = source,
        .plan = vv_flush_choose_plan(&options, source, rows->n_rows, low, high),
        .is_new = vv_registry_source_plans(engine->registry, source).n == 0,
        .low = low,
        .high = high,
    };
    return VV_OK;
}

/* Where nodes share the store they agree on it first: there what is refused may leave a plan. */
static enum vv_status agree_on_source(struct replacing *replacing, uint32_t source,
                                      uint32_t measurement, const struct vv_rows *rows)
{
    struct vv_engine *engine = replacing->engine;
    struct replaced_source *noted = &replacing->sources[replacing->n_sources - 1];
    bool is_agreed = true;
    enum vv_status status = VV_OK;
    if (!engine->fleet) {
        return VV_OK;
    }
    if (noted->is_new) {
        status = vv_replace_agree(engine, source, &noted->plan, rows->n_rows, noted->low,
                                  noted->high, replacing->error);
        noted->is_new = false;
    }
    is_agreed = status != VV_OK || (vv_registry_source_plans(engine->registry, source).n > 0 &&
                                    !vv_fleet_waits_for_plan(engine->fleet, source));
    return is_agreed ? status
                     : refuse(replacing, source, measurement, VV_OVERLOAD,
                              "the source's first plan is being agreed on: try again later");
}

/* Of the source that was noted last. */
static struct vv_plans plans_of(const struct replacing *replacing)
{
    const struct replaced_source *source = &replacing->sources[replacing->n_sources - 1];
    return source->is_new ? (struct vv_plans){.plans = &source->plan, .n = 1}
                          : vv_registry_source_plans(replacing->engine->registry, source->number);
}

static enum vv_status put_record(struct replacing *replacing, enum vv_registry_kind kind,
                                 uint32_t source)
{
    struct vv_engine *engine = replacing->engine;
    return vv_flush_put_record(engine->registry, engine->store, kind, source, replacing->error);
}

/* With the notes of the day, before which none of it is there. */
static enum vv_status put_sources(struct replacing *replacing)
{
    struct vv_registry *registry = replacing->engine->registry;
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < replacing->n_sources && status == VV_OK; i++) {
        const struct replaced_source *source = &replacing->sources[i];
        if (source->is_new) {
            status = vv_registry_source_set_plans(registry, source->number, &source->plan, 1);
        }
        vv_registry_source_observe(registry, source->number, source->low, source->high);
        if (status == VV_OK) {
            status = put_record(replacing, VV_REGISTRY_SOURCE, source->number);
        }
        if (status == VV_OK) {
            status = put_record(replacing, VV_REGISTRY_TIMES, source->number);
        }
    }
    return status;
}

static enum vv_status keep_rows(struct replacing *replacing, const struct vv_rows *rows)
{
    if (replacing->n_rows == replacing->capacity) {
        size_t capacity = replacing->capacity ? replacing->capacity * 2 : 8;
        struct vv_rows *bigger = realloc(replacing->rows, capacity * sizeof *bigger);
        if (!bigger) {
            return VV_NO_MEMORY;
        }
        replacing->rows = bigger;
        replacing->capacity = capacity;
    }
    enum vv_status status = vv_rows_copy(rows, &replacing->rows[replacing->n_rows]);
    replacing->n_rows += status == VV_OK;
    return status;
}

static void drop_rows(struct replacing *replacing)
{
    for (size_t i = 0; i < replacing->n_rows; i++) {
        vv_rows_free(&replacing->rows[i]);
    }
    replacing->n_rows = 0;
}

/* Those of the day, in the order of time, the last one of a time. */
static enum vv_status sort_rows(struct replacing *replacing, const struct vv_rows *rows)
{
    struct vv_rows copy;
    const struct vv_rows *sorted;
    enum vv_status status = vv_rows_copy(rows, &copy);
    vv_merge_reset(replacing->merge, replacing->day, replacing->day + VV_DAY);
    status = status == VV_OK ? vv_merge_add_rows(replacing->merge, &copy) : status;
    while (status == VV_OK) {
        status = vv_merge_next(replacing->merge, &sorted, replacing->error);
        if (status == VV_OK) {
            status = keep_rows(replacing, sorted);
        }
    }
    return status == VV_DONE ? VV_OK : status;
}

static enum vv_status replace_series(void *context, uint32_t source, uint32_t measurement,
                                     struct vv_rows *rows)
{
    struct replacing *replacing = context;
    struct vv_engine *engine = replacing->engine;
    enum vv_replace_verdict verdict;
    struct vv_span_key waits_for;
    for (size_t i = 0; i < rows->n_columns; i++) {
        if (rows->columns[i].type == VV_HEAD_UNTYPED) {
            struct vv_metric_info info;
            vv_registry_metric_info(engine->registry, rows->columns[i].metric, &info);
            rows->columns[i].type = info.type;
        }
    }
    uint32_t place = vv_registry_stay(engine->registry, measurement, replacing->day).place;
    const struct vv_reroll_bounds bounds = vv_whole_bounds(engine, place);
    enum vv_status status = check(replacing, source, measurement);
    if (status == VV_OK) {
        status = note_source(replacing, source, rows);
    }
    if (status == VV_OK) {
        status = agree_on_source(replacing, source, measurement, rows);
    }
    if (status == VV_OK) {
        status = sort_rows(replacing, rows);
    }
    if (status == VV_OK && replacing->n_rows > 0) {
        const struct vv_replace replace = {.place = place,
                                           .source = source,
                                           .measurement = measurement,
                                           .plans = plans_of(replacing),
                                           .day = replacing->day,
                                           .rows = replacing->rows,
                                           .n_rows = replacing->n_rows,
                                           .run = replacing->run};
        status = vv_replace_day(replacing->reroll, &replace, &bounds,
                                engine->clock->wall_ns(engine->clock), &replacing->records,
                                &verdict, &waits_for, replacing->error);
        status = status == VV_OK ? judge(replacing, &replace, verdict, &waits_for) : status;
        if (status == VV_TOO_LARGE) {
            status = refuse(replacing, source, measurement, VV_INVALID,
                            "it has more metrics or steps than a tier's record can have, or more "
                            "points than nodes that share a store can tell each other");
        }
    }
    if (status == VV_OK) {
        status = vv_replace_tell(engine, source, measurement, rows, replacing->error);
    }
    drop_rows(replacing);
    return status;
}

static int compare_pieces(const void *a, const void *b)
{
    const struct vv_piece *x = a;
    const struct vv_piece *y = b;
    int order = vv_span_key_compare(&x->key, &y->key);
    return order != 0 ? order : (x->part > y->part) - (x->part < y->part);
}

static enum vv_status count_series(void *context, uint32_t source, uint32_t measurement,
                                   uint64_t rows, int64_t first, int64_t last)
{
    size_t *n = context;
    (void)source, (void)measurement, (void)rows, (void)first, (void)last;
    return ++*n <= VV_REPLACE_SERIES_MAX ? VV_OK : VV_TOO_LARGE;
}

/* The storage thread does nothing else meanwhile. */
static enum vv_status check_series(struct replacing *replacing, struct vv_generation *generation)
{
    size_t n = 0;
    enum vv_status status = vv_generation_glance(generation, count_series, &n);
    if (status == VV_TOO_LARGE) {
        replacing->is_refused = true;
        return vv_error_set(replacing->error, status,
                            "frozen days of more than %u sources and measurements can't be "
                            "replaced by one request: send several",
                            VV_REPLACE_SERIES_MAX);
    }
    return status;
}

/* A day of all series: noted, carried out. */
static enum vv_status replace_day(struct replacing *replacing, struct vv_generation *generation)
{
    struct vv_engine *engine = replacing->engine;
    enum vv_status status = check_series(replacing, generation);
    if (status == VV_OK) {
        status = vv_job_place(engine, generation, replacing->error);
    }
    if (status == VV_OK) {
        status = vv_generation_walk(generation, NULL, replace_series, replacing);
    }
    struct vv_piece_list *records = &replacing->records;
    if (status == VV_OK && engine->fleet) {
        status = vv_replace_check_held(engine, records, replacing->error);
        replacing->is_refused = status == VV_OVERLOAD;
    }
    if (status == VV_OK && records->n > 0) {
        qsort(records->items, records->n, sizeof *records->items, compare_pieces);
        replacing->is_noting = true;
        status = put_sources(replacing);
        if (status == VV_OK) {
            status = vv_replace_note(engine, records, replacing->error);
        }
        if (status == VV_OK) {
            status = vv_replace_finish(engine, replacing->error);
        }
    }
    vv_piece_list_truncate(records, 0);
    return status;
}

/* ---- a request ---- */

/* Of one UTC day, which is found. */
static enum vv_status check_day(const struct vv_batch *batch, int64_t *day_out,
                                struct vv_error *error)
{
    int64_t first = INT64_MAX;
    int64_t last = INT64_MIN;
    for (size_t i = 0; i < batch->n_frames; i++) {
        for (size_t row = 0; row < batch->frames[i].n_rows; row++) {
            int64_t time = batch->frames[i].times[row];
            first = time < first ? time : first;
            last = time > last ? time : last;
        }
    }
    *day_out = first <= last ? vv_time_floor(first, VV_DAY) : 0;
    return first > last || vv_time_floor(last, VV_DAY) == *day_out
               ? VV_OK
               : vv_error_set(error, VV_TOO_LARGE,
                              "a request replaces a single day of UTC: send each by itself");
}

/* Above all that is known to be deleted, and not above what comes: a deletion that comes later gets
 * one that is above the last one, whatever the clock says by then. */
static vv_stamp stamp_of(struct vv_engine *engine)
{
    vv_stamp newest = vv_deletions_newest(engine->deletions, INT64_MAX);
    vv_stamp last = engine->last_stamp;
    return vv_stamp_next(newest > last ? newest : last, 0, 0);
}

/* Of the runs of a request: no other one of this node's that replaces something has it. */
static vv_stamp run_of(struct vv_engine *engine)
{
    int64_t now = engine->clock->wall_ns(engine->clock);
    engine->replace_run = vv_stamp_next(engine->replace_run, now, vv_engine_node(engine));
    return engine->replace_run;
}

static enum vv_status replace_batch(struct vv_engine *engine, const struct vv_batch *batch,
                                    int64_t day, bool *is_refused_out, struct vv_error *error)
{
    const struct vv_merge_options merge = {.from = INT64_MIN, .to = INT64_MAX, .join_times = true};
    struct replacing replacing = {
        .engine = engine, .error = error, .day = day, .run = run_of(engine)};
    struct vv_head *head = NULL;
    struct vv_generation *generation = NULL;
    enum vv_status status = vv_replace_hear(engine, error);
    replacing.is_refused = status != VV_OK;
    if (status == VV_OK) {
        status = vv_reroll_make(engine, &replacing.reroll);
    }
    if (status == VV_OK) {
        status = vv_merge_create(&merge, &replacing.merge);
    }
    if (status == VV_OK) {
        status = vv_head_create(&head);
    }
    if (status == VV_OK) {
        status = vv_head_prepare(head, batch, stamp_of(engine));
    }
    if (status == VV_OK) {
        vv_head_publish(head);
        status = vv_head_cut(head, &generation);
    }
    if (status == VV_OK) {
        status = replace_day(&replacing, generation);
    }
    if (generation) {
        vv_head_drop(head, generation);
    }
    if (head) {
        vv_head_destroy(head);
    }
    drop_rows(&replacing);
    free(replacing.rows);
    free(replacing.sources);
    vv_piece_list_deinit(&replacing.records);
    if (replacing.merge) {
        vv_merge_destroy(replacing.merge);
    }
    vv_reroll_destroy(replacing.reroll);
    /* What was noted in part is looked at when the store is opened again, before the next day. */
    *is_refused_out = replacing.is_refused || (status == VV_NO_MEMORY && !replacing.is_noting);
    atomic_fetch_add(&engine->counters.days_replaced, status == VV_OK ? replacing.series : 0);
    return status == VV_NO_MEMORY ? vv_error_set(error, status, "out of memory: send again later")
                                  : status;
}

static void answer(struct vv_engine *engine, struct vv_replace_request *request,
                   enum vv_status status)
{
    pthread_mutex_lock(&engine->lock);
    request->status = status;
    request->done = true;
    pthread_cond_broadcast(&engine->waiters_wake);
    pthread_mutex_unlock(&engine->lock);
}

enum vv_status vv_replace_step(struct vv_engine *engine, struct vv_error *error)
{
    bool is_refused = false;
    pthread_mutex_lock(&engine->lock);
    struct vv_replace_request *request = engine->replace_request;
    engine->replace_request = NULL;
    if (request) {
        request->taken = true;
    }
    pthread_mutex_unlock(&engine->lock);
    if (!request) {
        return VV_DONE;
    }
    enum vv_status status =
        replace_batch(engine, request->batch, request->day, &is_refused, &request->error);
    enum vv_status failed = status == VV_OK || is_refused ? VV_OK : status;
    if (failed != VV_OK) {
        failed = vv_error_set(error, failed, "%s", request->error.message);
    }
    answer(engine, request, status);
    return failed;
}

/* ---- who asks ---- */

static enum vv_status journal_names(struct vv_engine *engine, const struct vv_batch *batch,
                                    struct vv_error *error)
{
    struct vv_batch *names = NULL;
    if (batch->n_definitions == 0) {
        return VV_OK;
    }
    enum vv_status status = vv_batch_create(batch->tenant, &names);
    for (size_t i = 0; i < batch->n_definitions && status == VV_OK; i++) {
        status = vv_batch_define(names, batch->definitions[i].kind, batch->definitions[i].number);
    }
    return vv_engine_journal_made(engine, status, names, error);
}

static void wait_for(struct vv_engine *engine, struct vv_replace_request *request)
{
    pthread_mutex_lock(&engine->lock);
    engine->replace_request = request;
    pthread_cond_broadcast(&engine->storage_wakes);
    while (!request->done) {
        bool is_over = engine->committed || engine->stopping || atomic_load(&engine->store_failed);
        if (is_over && !request->taken) {
            engine->replace_request = NULL;
            request->status = vv_error_set(&request->error, VV_IO,
                                           "the store cannot be written, or the server is "
                                           "stopping: send again later");
            break;
        }
        pthread_cond_wait(&engine->waiters_wake, &engine->lock);
    }
    pthread_mutex_unlock(&engine->lock);
}

static enum vv_status ask(struct vv_engine *engine, struct vv_replace_request *request,
                          struct vv_error *error)
{
    if (engine->manual) {
        engine->replace_request = request;
        enum vv_status status = vv_storage_replace(engine, error);
        engine->replace_request = NULL;
        if (!request->done) {
            return status;
        }
    } else {
        wait_for(engine, request);
    }
    return request->status == VV_OK
               ? VV_OK
               : vv_error_set(error, request->status, "%s", request->error.message);
}

/* What is refused for good is in the staging's account. */
static void account(struct vv_engine *engine, const struct vv_batch *batch, enum vv_status status)
{
    struct vv_account_cell *cell = vv_account_of(engine, batch->tenant);
    if (!cell) {
        return;
    }
    if (status == VV_OK) {
        atomic_fetch_add(&cell->accepted, batch->points);
        atomic_fetch_add(&cell->accepted_here, batch->points);
    } else if (status == VV_UNKNOWN) {
        atomic_fetch_add(&cell->unknown, batch->points);
    } else if (status != VV_INVALID && status != VV_TOO_LARGE) {
        atomic_fetch_add(&cell->refused[VV_REASON_OVERLOAD], batch->points);
    }
}

enum vv_status vv_engine_replace(struct vv_engine *engine, struct vv_batch *take_batch,
                                 struct vv_error *error)
{
    struct vv_replace_request request = {.batch = take_batch};
    enum vv_status status = check_day(take_batch, &request.day, error);
    if (status == VV_OK) {
        status = vv_engine_admit(engine, error);
    }
    if (status == VV_OK) {
        status = journal_names(engine, take_batch, error);
    }
    if (status == VV_OK) {
        pthread_mutex_lock(&engine->replace_lock);
        status = ask(engine, &request, error);
        pthread_mutex_unlock(&engine->replace_lock);
        if (engine->fleet) { /* in any case: it may have been replaced in part */
            vv_frozen_found_forget(engine->frozen_found);
        }
    }
    account(engine, take_batch, status);
    vv_batch_destroy(take_batch);
    return status;
}
