/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recovery: the store's metadata, then what the journal has beyond it.
 *
 * Definitions are applied whatever their stamp (applying one again changes nothing); batches only
 * above the stamp that the store has confirmed, so that nothing is counted twice.
 */
#include "engine/engine_private.h"

#include "base/log.h"

#include <stdlib.h>

/* ---- metadata ---- */

struct loading {
    struct vv_engine *engine;
    uint8_t kind;
    struct vv_error *error;
};

static enum vv_status load_record(void *context, struct vv_str key, struct vv_str value)
{
    (void)key; /* the record has its number */
    struct loading *loading = context;
    return vv_registry_apply(loading->engine->registry, (enum vv_registry_kind)loading->kind, value,
                             loading->error);
}

static enum vv_status load_account(void *context, struct vv_str key, struct vv_str value)
{
    struct loading *loading = context;
    struct vv_reader number = vv_reader_of(key.data, key.size);
    struct vv_reader reader = vv_reader_of(value.data, value.size);
    uint32_t tenant = vv_reader_be32(&number);
    uint8_t version = vv_reader_u8(&reader);
    uint64_t accepted = vv_reader_u64(&reader);
    vv_stamp stored_until = vv_reader_u64(&reader);
    if (number.failed || reader.failed || version != 1) {
        return vv_error_set(loading->error, version > 1 ? VV_NEWER : VV_CORRUPT,
                            "a tenant's account in the store is damaged or of a newer version");
    }
    struct vv_account_cell *cell = vv_account_of(loading->engine, tenant);
    if (!cell) {
        return VV_NO_MEMORY;
    }
    atomic_store(&cell->accepted, accepted);
    cell->stored_until = stored_until;
    return VV_OK;
}

static enum vv_status load_deletions(void *context, struct vv_str key, struct vv_str value)
{
    struct loading *loading = context;
    struct vv_reader number = vv_reader_of(key.data, key.size);
    uint32_t source = vv_reader_be32(&number);
    if (number.failed || source == VV_REGISTRY_NONE) {
        return vv_error_set(loading->error, VV_CORRUPT,
                            "markers of deletion in the store are damaged");
    }
    return vv_deletions_apply(loading->engine->deletions, source, value, loading->error);
}

static enum vv_status load_stamp(struct vv_engine *engine, const char *key, vv_stamp *stamp_out,
                                 struct vv_error *error)
{
    struct vv_buffer value = {0};
    *stamp_out = 0;
    enum vv_status status =
        engine->store->ops->get_meta(engine->store, VV_META_STATE, vv_str_of(key), &value, error);
    if (status == VV_OK) {
        struct vv_reader reader = vv_reader_of(value.data, value.size);
        uint8_t version = vv_reader_u8(&reader);
        *stamp_out = vv_reader_u64(&reader);
        if (reader.failed || version != 1) {
            status = vv_error_set(error, version > 1 ? VV_NEWER : VV_CORRUPT,
                                  "the state record in the store is damaged or of a newer version");
        }
    }
    vv_buffer_deinit(&value);
    return status == VV_NOT_FOUND ? VV_OK : status;
}

enum vv_status vv_recover_metadata(struct vv_engine *engine, vv_stamp *flushed_out,
                                   struct vv_error *error)
{
    struct vv_store *store = engine->store;
    vv_stamp run = 0;
    enum vv_status status = load_stamp(engine, VV_STATE_FLUSHED, flushed_out, error);
    if (status == VV_OK) {
        status = load_stamp(engine, VV_STATE_RUN, &run, error);
    }
    engine->applied_stamp = *flushed_out;
    engine->last_stamp = run > *flushed_out ? run : *flushed_out;
    for (uint8_t kind = VV_REGISTRY_TENANT; kind <= VV_REGISTRY_TIMES && status == VV_OK; kind++) {
        struct loading loading = {engine, kind, error};
        status =
            store->ops->scan_meta(store, kind, (struct vv_str){0}, load_record, &loading, error);
    }
    if (status == VV_OK) {
        struct loading loading = {engine, VV_META_ACCOUNT, error};
        status = store->ops->scan_meta(store, VV_META_ACCOUNT, (struct vv_str){0}, load_account,
                                       &loading, error);
    }
    if (status == VV_OK) {
        struct loading loading = {engine, VV_META_DELETION, error};
        status = store->ops->scan_meta(store, VV_META_DELETION, (struct vv_str){0}, load_deletions,
                                       &loading, error);
    }
    if (status == VV_OK) {
        status = vv_whole_load(engine, error);
    }
    if (status == VV_OK) {
        status = vv_engine_check_classes(engine, error);
    }
    if (status == VV_OK && engine->fleet) {
        status = vv_fleet_note_loaded(engine->fleet, error);
    }
    return status;
}

/* ---- journal ---- */

struct replaying {
    struct vv_engine *engine;
    vv_stamp flushed;
    uint64_t batches;
    uint64_t orders; /* of deletion, that the store has not confirmed */
    uint64_t points;
    uint64_t lost; /* records that need names from a damaged part */
    struct vv_error *error;
};

static bool is_definition(uint8_t kind)
{
    return kind >= VV_REGISTRY_TENANT && kind <= VV_REGISTRY_SOURCE;
}

static enum vv_status replay_definition(struct vv_engine *engine,
                                        const struct vv_journal_record *record,
                                        struct vv_error *error)
{
    struct vv_str bytes = {record->bytes, record->size};
    uint32_t number;
    enum vv_registry_kind kind = (enum vv_registry_kind)record->kind;
    enum vv_status status = vv_registry_apply(engine->registry, kind, bytes, error);
    if (status == VV_OK) {
        status = vv_registry_record_number(kind, bytes, &number);
    }
    if (status == VV_OK && !vv_definitions_add(&engine->definitions, record->kind, number)) {
        status = VV_NO_MEMORY;
    }
    if (status == VV_OK && engine->fleet) {
        vv_fleet_note_replayed(engine->fleet, kind, number);
    }
    return status;
}

/* Whether every name that the batch refers to is known. It always is, unless a damaged part of the
 * journal was skipped on request; then its numbers must not be given to new objects. */
static bool is_defined(struct vv_registry *registry, enum vv_registry_kind kind, uint32_t number,
                       bool known)
{
    if (!known) {
        (void)!vv_registry_reserve(registry, kind, number); /* beyond all numbers: never given */
    }
    return known;
}

static bool frame_is_defined(struct vv_registry *registry, uint32_t tenant,
                             const struct vv_frame *frame)
{
    bool all = is_defined(registry, VV_REGISTRY_MEASUREMENT, frame->measurement,
                          vv_registry_measurement_name(registry, frame->measurement).size > 0);
    for (uint32_t i = 0; i < frame->n_metrics; i++) {
        struct vv_metric_info info;
        uint32_t metric = vv_metric_number(frame->metrics[i]);
        vv_registry_metric_info(registry, metric, &info);
        all &= is_defined(registry, VV_REGISTRY_METRIC, metric, info.tenant == tenant);
    }
    for (size_t i = 0; i < frame->n_rows; i++) {
        uint32_t owner = vv_registry_source_tenant(registry, frame->sources[i]);
        all &= is_defined(registry, VV_REGISTRY_SOURCE, frame->sources[i], owner == tenant);
    }
    return all;
}

static bool batch_is_defined(struct vv_engine *engine, const struct vv_batch *batch)
{
    bool all = is_defined(engine->registry, VV_REGISTRY_TENANT, batch->tenant,
                          vv_registry_tenant_name(engine->registry, batch->tenant).size > 0);
    for (size_t i = 0; i < batch->n_frames; i++) {
        all &= frame_is_defined(engine->registry, batch->tenant, &batch->frames[i]);
    }
    return all;
}

/* Batches that do not say their types are from before the store was shared: their types are those
 * of the registry now, before anything is learnt. */
static void say_types(struct vv_engine *engine, struct vv_batch *batch)
{
    for (size_t i = 0; engine->fleet && i < batch->n_frames; i++) {
        struct vv_frame *frame = &batch->frames[i];
        for (uint32_t m = 0; m < frame->n_metrics; m++) {
            struct vv_metric_info info;
            vv_registry_metric_info(engine->registry, vv_metric_number(frame->metrics[m]), &info);
            if (!(frame->metrics[m] & VV_METRIC_TYPED)) {
                frame->metrics[m] |= info.type == VV_INT64 ? VV_METRIC_INT64 : VV_METRIC_FLOAT64;
            }
        }
    }
}

static void observe(struct vv_engine *engine, const struct vv_batch *batch)
{
    for (size_t i = 0; i < batch->n_frames; i++) {
        const struct vv_frame *frame = &batch->frames[i];
        for (size_t row = 0; row < frame->n_rows; row++) {
            vv_registry_source_observe(engine->registry, frame->sources[row], frame->times[row],
                                       frame->times[row]);
        }
    }
}

/* A record that cannot be used without another that is gone. */
static enum vv_status lose(struct replaying *replaying)
{
    if (!replaying->engine->settings.journal_skip_damaged) {
        return vv_error_set(replaying->error, VV_CORRUPT,
                            "the journal refers to names that it does not define: restore it from "
                            "a backup, or set journal.skip_damaged to go on without what is lost");
    }
    replaying->lost++;
    return VV_OK;
}

static enum vv_status replay_batch(struct replaying *replaying,
                                   const struct vv_journal_record *record)
{
    struct vv_engine *engine = replaying->engine;
    struct vv_batch *batch;
    struct vv_str bytes = {record->bytes, record->size};
    enum vv_status status = vv_batch_decode(bytes, &batch, replaying->error);
    if (status != VV_OK) {
        return status;
    }
    if (!batch_is_defined(engine, batch)) {
        vv_batch_destroy(batch);
        return lose(replaying);
    }
    say_types(engine, batch);
    struct vv_account_cell *cell = vv_account_of(engine, batch->tenant);
    status = cell ? vv_head_prepare(engine->head, batch, record->stamp) : VV_NO_MEMORY;
    if (status == VV_OK) {
        vv_head_publish(engine->head);
        observe(engine, batch);
        if (record->stamp > cell->stored_until) {
            atomic_fetch_add(&cell->accepted, batch->points);
        }
        replaying->batches++;
        replaying->points += batch->points;
    } else {
        vv_error_set(replaying->error, status, "out of memory while replaying the journal");
    }
    vv_batch_destroy(batch);
    return status;
}

/* Whatever its stamp: applying it again changes nothing. */
static enum vv_status replay_deletion(struct vv_engine *engine,
                                      const struct vv_journal_record *record,
                                      struct vv_error *error)
{
    struct vv_deletion_order *order;
    struct vv_str bytes = {record->bytes, record->size};
    enum vv_status status = vv_deletion_order_decode(bytes, &order, error);
    if (status != VV_OK) {
        return status;
    }
    status = vv_deletions_prepare(engine->deletions, order, record->stamp);
    if (status == VV_OK) {
        vv_deletions_publish(engine->deletions);
    }
    for (size_t i = 0; i < order->n_sources && status == VV_OK; i++) {
        bool noted = vv_definitions_add(&engine->definitions, VV_META_DELETION, order->sources[i]);
        status = noted ? VV_OK : VV_NO_MEMORY;
    }
    free(order);
    return status == VV_OK ? status
                           : vv_error_set(error, status,
                                          "out of memory while replaying the "
                                          "journal");
}

static enum vv_status replay(void *context, const struct vv_journal_record *record,
                             struct vv_journal_position position)
{
    (void)position;
    struct replaying *replaying = context;
    struct vv_engine *engine = replaying->engine;
    engine->last_stamp = record->stamp > engine->last_stamp ? record->stamp : engine->last_stamp;
    if (record->stamp > engine->applied_stamp) {
        engine->applied_stamp = record->stamp;
    }
    engine->bytes_since_cut += record->size;
    atomic_fetch_add(&engine->replay_done, record->size);
    if (is_definition(record->kind)) {
        enum vv_status status = replay_definition(engine, record, replaying->error);
        return status == VV_CORRUPT ? lose(replaying) : status;
    }
    if (record->kind == VV_RECORD_DELETION) {
        replaying->orders += record->stamp > replaying->flushed;
        return replay_deletion(engine, record, replaying->error);
    }
    if (record->kind != VV_RECORD_BATCH) {
        return vv_error_set(replaying->error, VV_NEWER,
                            "the journal has records of a kind (%u) that this version of Varve "
                            "does not know: upgrade Varve",
                            record->kind);
    }
    return record->stamp > replaying->flushed ? replay_batch(replaying, record) : VV_OK;
}

static const char *journal_folder(struct vv_engine *engine, char *out, size_t size)
{
    if (engine->folder) {
        return vv_folder_journal(engine->folder);
    }
    snprintf(out, size, "%s/journal", engine->settings.data);
    return out;
}

enum vv_status vv_recover_journal(struct vv_engine *engine, vv_stamp flushed,
                                  struct vv_error *error)
{
    char path[VV_SETTING_TEXT_MAX + 16];
    struct vv_journal_options options = {
        .disk = engine->disk,
        .clock = engine->clock,
        .folder = journal_folder(engine, path, sizeof path),
        .segment_bytes = (uint64_t)engine->settings.journal_segment_bytes,
        .bytes_max = (uint64_t)engine->settings.journal_bytes_max,
        .skip_damaged = engine->settings.journal_skip_damaged,
    };
    struct replaying replaying = {.engine = engine, .flushed = flushed, .error = error};
    int64_t start = engine->clock->monotonic_ns(engine->clock);
    engine->cut_stamp = flushed;
    engine->confirmed_stamp = flushed;
    enum vv_status status = vv_journal_open(&options, replay, &replaying, &engine->journal, error);
    if (status != VV_OK) {
        return status;
    }
    if (replaying.batches > 0 || replaying.orders > 0) {
        engine->generation_since_ns = engine->clock->monotonic_ns(engine->clock);
        engine->accepted_since_ns = VV_BEAT_UNKNOWN;
        /* Others wait for it; and what was not looked at for so long that its raw points are in no
         * answer any more is, when tiers are built of it. */
        engine->flush_requested++;
    }
    struct vv_journal_figures figures;
    vv_journal_read_figures(engine->journal, &figures);
    double ms = (double)(engine->clock->monotonic_ns(engine->clock) - start) / 1e6;
    vv_log(figures.damaged || replaying.lost ? VV_LOG_WARN : VV_LOG_INFO, "recovered",
           "batches=%llu points=%llu records=%llu bytes=%llu damaged=%llu lost=%llu "
           "duration_ms=%.1f",
           (unsigned long long)replaying.batches, (unsigned long long)replaying.points,
           (unsigned long long)figures.replayed,
           (unsigned long long)atomic_load(&engine->replay_done),
           (unsigned long long)figures.damaged, (unsigned long long)replaying.lost, ms);
    return VV_OK;
}
