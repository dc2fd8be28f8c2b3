/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job: a cut generation goes into the store.
 *
 * The order of the keys is what a crash in the middle relies on: names before what uses them, runs
 * before marks, and the state record last: when it is there, all of the job is.
 */
#include "engine/engine_private.h"
#include "registry/shared.h"

#include <stdlib.h>

static int compare_definitions(const void *a, const void *b)
{
    const struct vv_definition *x = a;
    const struct vv_definition *y = b;
    if (x->kind != y->kind) {
        return x->kind < y->kind ? -1 : 1;
    }
    return x->number < y->number ? -1 : x->number > y->number;
}

static enum vv_status put(struct vv_engine *engine, uint8_t kind, const uint8_t *key,
                          size_t key_size, const struct vv_buffer *value, struct vv_error *error)
{
    if (vv_buffer_status(value) != VV_OK) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory while flushing");
    }
    struct vv_store *store = engine->store;
    return store->ops->put_meta(store, kind, (struct vv_str){(const char *)key, key_size},
                                (struct vv_str){(const char *)value->data, value->size}, error);
}

static enum vv_status put_record(struct vv_engine *engine, enum vv_registry_kind kind,
                                 uint32_t number, struct vv_error *error)
{
    struct vv_buffer value = {0};
    uint8_t key[4];
    vv_registry_key(number, key);
    vv_registry_encode(engine->registry, kind, number, &value);
    enum vv_status status = put(engine, (uint8_t)kind, key, sizeof key, &value, error);
    vv_buffer_deinit(&value);
    return status;
}

/* Those of a tenant, which only become more. */
struct classes_done {
    uint32_t tenant;
    size_t n;
};

/* Classes that measurements were moved to may be younger than the job, and in the journal only, of
 * which a start reads nothing before all that the store has. What is put of a measurement is as it
 * is when it is encoded, so all classes that there are behind that. */
static enum vv_status store_classes(struct vv_engine *engine, uint32_t measurement,
                                    struct classes_done *done, struct vv_error *error)
{
    struct vv_registry *registry = engine->registry;
    uint32_t classes[VV_CLASSES_OF_TENANT_MAX];
    uint32_t tenant = vv_registry_measurement_tenant(registry, measurement);
    size_t n = tenant != VV_REGISTRY_NONE ? vv_registry_classes(registry, tenant, classes) : 0;
    enum vv_status status = VV_OK;
    bool are_done = done->tenant == tenant && done->n == n;
    for (size_t i = 0; i < n && status == VV_OK && !are_done; i++) {
        status = put_record(engine, VV_REGISTRY_TENANT, classes[i], error);
    }
    *done = (struct classes_done){tenant, n};
    return status;
}

static enum vv_status store_unsettled(struct vv_engine *engine, uint32_t tenant, uint32_t place,
                                      struct vv_error *error)
{
    uint32_t numbers[VV_SPACES_ALL + 1];
    bool is_class = place != VV_REGISTRY_NONE && place != tenant;
    size_t n = is_class ? vv_registry_unsettled(engine->registry, place, numbers) : 0;
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        status = put_record(engine, VV_REGISTRY_TENANT, numbers[i], error);
    }
    return status;
}

/* The class that a measurement was found in, or may be moved to, may be known from others only: of
 * what is put a crash leaves what came first. */
static enum vv_status store_place(struct vv_engine *engine, uint32_t measurement,
                                  struct vv_error *error)
{
    struct vv_registry *registry = engine->registry;
    uint32_t places[VV_MOVES_MAX];
    uint32_t tenant = vv_registry_measurement_tenant(registry, measurement);
    size_t n = vv_registry_places_of(registry, measurement, places);
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < (engine->fleet ? n : 1) && status == VV_OK; i++) {
        status = store_unsettled(engine, tenant, places[i], error);
    }
    return status;
}

static enum vv_status store_definitions(struct vv_engine *engine, struct vv_job *job,
                                        struct vv_error *error)
{
    struct vv_definition *items = job->definitions.items;
    struct vv_buffer value = {0};
    struct classes_done done = {VV_REGISTRY_NONE, 0};
    enum vv_status status = VV_OK;
    if (job->definitions.n > 1) {
        qsort(items, job->definitions.n, sizeof *items, compare_definitions);
    }
    for (size_t i = 0; i < job->definitions.n && status == VV_OK; i++) {
        if (i > 0 && compare_definitions(&items[i], &items[i - 1]) == 0) {
            continue;
        }
        uint8_t key[4];
        vv_registry_key(items[i].number, key);
        vv_buffer_clear(&value);
        if (items[i].kind != VV_META_DELETION) {
            vv_registry_encode(engine->registry, (enum vv_registry_kind)items[i].kind,
                               items[i].number, &value);
        } else if (!vv_deletions_encode(engine->deletions, items[i].number, &value)) {
            continue; /* retired meanwhile */
        }
        if (items[i].kind == VV_REGISTRY_MEASUREMENT) { /* as it is, or was, when encoded */
            status = store_place(engine, items[i].number, error);
            status =
                status == VV_OK ? store_classes(engine, items[i].number, &done, error) : status;
        }
        if (status == VV_OK) {
            status = put(engine, items[i].kind, key, sizeof key, &value, error);
        }
    }
    vv_buffer_deinit(&value);
    return status;
}

/* Other nodes hear of names before they can see a run that has them. */
static enum vv_status tell_definitions(struct vv_engine *engine, const struct vv_job *job,
                                       struct vv_error *error)
{
    enum vv_status status = VV_OK;
    for (size_t i = 0; engine->fleet && i < job->definitions.n && status == VV_OK; i++) {
        const struct vv_definition *item = &job->definitions.items[i];
        status = item->kind == VV_META_DELETION
                     ? vv_fleet_tell_markers(engine->fleet, item->number, error)
                     : vv_fleet_tell(engine->fleet, (enum vv_registry_kind)item->kind, item->number,
                                     error);
    }
    return status;
}

static enum vv_status store_accounts(struct vv_engine *engine, const struct vv_job *job,
                                     struct vv_error *error)
{
    struct vv_buffer value = {0};
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < job->n_accounts && status == VV_OK; i++) {
        uint8_t key[4];
        vv_registry_key(job->accounts[i].tenant, key);
        vv_buffer_clear(&value);
        vv_buffer_u8(&value, 1); /* version */
        vv_buffer_u64(&value, job->accounts[i].accepted);
        vv_buffer_u64(&value, job->stamp); /* a crash may leave it here without the state record */
        status = put(engine, VV_META_ACCOUNT, key, sizeof key, &value, error);
    }
    vv_buffer_deinit(&value);
    return status;
}

static enum vv_status store_stamp(struct vv_engine *engine, const char *key, vv_stamp stamp,
                                  struct vv_error *error)
{
    struct vv_buffer value = {0};
    vv_buffer_u8(&value, 1); /* version */
    vv_buffer_u64(&value, stamp);
    enum vv_status status =
        put(engine, VV_META_STATE, (const uint8_t *)key, strlen(key), &value, error);
    vv_buffer_deinit(&value);
    return status;
}

/* The run's stamp is in no journal: without it a restart could give it out again if the clock was
 * set back, and other rows would replace these. Of a job that is not confirmed all rows come again,
 * so that its run may be lost. */
static enum vv_status store_state(struct vv_engine *engine, const struct vv_job *job,
                                  struct vv_error *error)
{
    enum vv_status status = store_stamp(engine, VV_STATE_RUN, job->run, error);
    return status == VV_OK ? store_stamp(engine, VV_STATE_FLUSHED, job->stamp, error) : status;
}

static enum vv_status store_generation(struct vv_engine *engine, const struct vv_job *job,
                                       struct vv_error *error)
{
    if (!job->generation) {
        return VV_OK;
    }
    struct vv_flush_options options = {
        .registry = engine->registry,
        .store = engine->store,
        .fleet = engine->fleet,
        .ledger = vv_engine_ledger_rule(&engine->settings),
        .bucket_ns = engine->settings.bucket_ns,
        .span_ns = engine->settings.span_ns,
        .splits = (uint16_t)engine->settings.splits,
        .plans_known_until_ns = vv_plans_known_until(engine),
        .clock = engine->clock,
        .over_at_ns = vv_sealer_latest_ns(engine->sealer),
        .load = engine->load,
        .lead_ns = vv_settings_lead_ns(&engine->settings),
        .open_units = engine->open_units,
    };
    struct vv_flush_figures figures;
    enum vv_status status =
        vv_flush_generation(&options, job->generation, job->run, &figures, error);
    if (status == VV_OK) {
        atomic_fetch_add(&engine->counters.flush_rows, figures.rows);
        atomic_fetch_add(&engine->counters.flush_bytes, figures.bytes);
        atomic_fetch_add(&engine->counters.flush_late_rows, figures.late);
    }
    return status;
}

/* What of a generation is looked at before it is stored. */
struct placing {
    struct vv_engine *engine;
    int64_t last_ns; /* of all its points */
    int64_t known_until_ns;
    bool did; /* something was settled */
    struct vv_error *error;
};

static enum vv_status want_place(void *context, uint32_t source, uint32_t measurement,
                                 uint64_t rows, int64_t first, int64_t last)
{
    struct placing *placing = context;
    (void)source, (void)rows, (void)first;
    placing->last_ns = last > placing->last_ns ? last : placing->last_ns;
    vv_registry_want_place(placing->engine->registry, measurement);
    return VV_OK;
}

static enum vv_status settle_moves_of(void *context, uint32_t source, uint32_t measurement,
                                      uint64_t rows, int64_t first, int64_t last)
{
    struct placing *placing = context;
    struct vv_engine *engine = placing->engine;
    (void)source, (void)rows, (void)first;
    enum vv_status status = VV_OK;
    if (vv_registry_waits_from(engine->registry, measurement, last) != 0) {
        status =
            vv_fleet_settle_moves(engine->fleet, measurement, last, &placing->did, placing->error);
    }
    return status == VV_OK ? vv_fleet_check_moves(engine->fleet, measurement, last,
                                                  placing->known_until_ns, placing->error)
                           : status;
}

/* Where there are classes the points of a later day may lie elsewhere. */
static enum vv_status settle_moves(struct placing *placing, struct vv_generation *generation)
{
    struct vv_engine *engine = placing->engine;
    int64_t known_until = vv_plans_known_until(engine);
    if (placing->last_ns >= vv_fleet_moves_known_until(engine->fleet, known_until)) {
        (void)!vv_fleet_learn(engine->fleet, NULL);
        known_until = vv_plans_known_until(engine);
    }
    placing->known_until_ns = vv_fleet_moves_known_until(engine->fleet, known_until);
    enum vv_status status = vv_generation_glance(generation, settle_moves_of, placing);
    return status == VV_OK && placing->did ? vv_engine_confirm(engine, placing->error) : status;
}

/* One that is only known of may stay unplaced for long: what each flush does for it needs no rows.
 * Many new measurements take many transactions: others must not think meanwhile that this node is
 * gone. */
enum vv_status vv_job_place(struct vv_engine *engine, struct vv_generation *generation,
                            struct vv_error *error)
{
    struct placing placing = {.engine = engine, .last_ns = INT64_MIN, .error = error};
    if (!engine->fleet) {
        return VV_OK;
    }
    bool has_classes = vv_registry_has_classes(engine->registry);
    bool any = has_classes || vv_registry_next_unplaced(engine->registry, 0) != VV_REGISTRY_NONE;
    enum vv_status status = VV_OK;
    if (any && generation && vv_generation_glance(generation, want_place, &placing) != VV_OK) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory while flushing");
    }
    while (status == VV_OK) {
        status = vv_fleet_place(engine->fleet, error);
        if (status == VV_OK && vv_beat_is_due(engine)) {
            (void)!vv_beat(engine, NULL); /* it is tried again, and was logged */
        }
    }
    bool may_move = status == VV_DONE && generation && vv_registry_has_classes(engine->registry);
    if (may_move && !has_classes && /* it was learnt a moment ago */
        vv_generation_glance(generation, want_place, &placing) != VV_OK) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory while flushing");
    }
    return may_move ? settle_moves(&placing, generation) : status == VV_DONE ? VV_OK : status;
}

enum vv_status vv_job_store(struct vv_engine *engine, struct vv_job *job, struct vv_error *error)
{
    enum vv_status status = store_definitions(engine, job, error);
    if (status == VV_OK) {
        status = vv_job_place(engine, job->generation, error);
    }
    if (status == VV_OK) { /* where points go may depend on it: also in classes just heard of */
        status = vv_storage_tell_retentions(engine, error);
    }
    if (status == VV_OK) {
        status = tell_definitions(engine, job, error);
    }
    if (status == VV_OK) {
        status = store_generation(engine, job, error);
    }
    if (status == VV_OK) {
        status = store_accounts(engine, job, error);
    }
    if (status == VV_OK) {
        status = store_state(engine, job, error);
    }
    if (status == VV_OK) {
        status = vv_engine_confirm(engine, error);
    }
    return status;
}

void vv_job_destroy(struct vv_job *job)
{
    if (job) {
        free(job->definitions.items);
        free(job->accounts);
        free(job);
    }
}
