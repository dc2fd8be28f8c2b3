/* SPDX-License-Identifier: Apache-2.0 */
/* Reading pieces, and finding the buckets that have any. */
#include "store/rocksdb/rocksdb.h"

static enum vv_status damaged_key(size_t size, struct vv_error *error)
{
    return vv_error_set(error, VV_CORRUPT,
                        "a key of the store has %zu bytes: restore the store from a backup", size);
}

static enum vv_status read_runs(struct vv_rocksdb *rocksdb, const uint8_t *from, const uint8_t *to,
                                vv_piece_visit visit, void *context, struct vv_error *error)
{
    uint8_t lower[1 + VV_KEY_SPAN_SIZE] = {VV_AREA_RUN};
    uint8_t upper[1 + VV_KEY_SPAN_SIZE] = {VV_AREA_RUN};
    memcpy(lower + 1, from, VV_KEY_SPAN_SIZE);
    memcpy(upper + 1, to, VV_KEY_SPAN_SIZE);
    struct vv_rocksdb_cursor cursor;
    enum vv_status status = vv_rocksdb_cursor_open(
        rocksdb, rocksdb->base, NULL, (struct vv_str){(char *)lower, sizeof lower},
        (struct vv_str){(char *)upper, sizeof upper}, &cursor, error);
    if (status != VV_OK) {
        return status;
    }
    rocksdb_iter_seek(cursor.iterator, (char *)lower, sizeof lower);
    while (status == VV_OK && vv_rocksdb_cursor_valid(&cursor)) {
        struct vv_str key = vv_rocksdb_cursor_key(&cursor);
        struct vv_piece piece = {.bytes = vv_rocksdb_cursor_value(&cursor)};
        if (key.size != 1 + VV_KEY_RUN_SIZE) {
            status = damaged_key(key.size, error);
        } else {
            vv_key_to_run((const uint8_t *)key.data + 1, &piece);
            status = visit(context, &piece);
            rocksdb_iter_next(cursor.iterator);
        }
    }
    if (status == VV_OK) {
        status = vv_rocksdb_cursor_status(&cursor, error);
    }
    vv_rocksdb_cursor_close(&cursor);
    return status;
}

/* The blocks of one read in one class. */
struct source {
    struct vv_rocksdb_era *era;
    struct vv_rocksdb_cursor cursor;
    uint8_t lower[VV_STORED_SPAN_SIZE];
    uint8_t upper[VV_STORED_SPAN_SIZE];
};

/* Leaves a source without an iterator when the class has no such era. */
static enum vv_status source_open(struct vv_rocksdb *rocksdb, const struct vv_rocksdb_class *class,
                                  const struct vv_partition *partition,
                                  const rocksdb_snapshot_t *snapshot, const uint8_t *from,
                                  const uint8_t *to, struct source *source, struct vv_error *error)
{
    struct vv_era era = vv_era_of(class->retention_s, rocksdb->era_count, partition);
    source->era = vv_rocksdb_eras_use(rocksdb, &era);
    if (!source->era) {
        return VV_OK;
    }
    vv_rocksdb_key_store(from, VV_KEY_SPAN_SIZE, class->generation, source->lower);
    vv_rocksdb_key_store(to, VV_KEY_SPAN_SIZE, class->generation, source->upper);
    enum vv_status status = vv_rocksdb_cursor_open(
        rocksdb, source->era->family, snapshot,
        (struct vv_str){(char *)source->lower, sizeof source->lower},
        (struct vv_str){(char *)source->upper, sizeof source->upper}, &source->cursor, error);
    if (status == VV_OK) {
        rocksdb_iter_seek(source->cursor.iterator, (char *)source->lower, sizeof source->lower);
    }
    return status;
}

static void source_close(struct vv_rocksdb *rocksdb, struct source *source)
{
    vv_rocksdb_cursor_close(&source->cursor);
    vv_rocksdb_eras_release(rocksdb, source->era);
}

/* Where the span starts on which the source stands; false when it has no more. */
static bool source_span(const struct source *source, struct vv_piece *piece_out, bool *damaged_out)
{
    if (!source->cursor.iterator || !vv_rocksdb_cursor_valid(&source->cursor)) {
        return false;
    }
    struct vv_str key = vv_rocksdb_cursor_key(&source->cursor);
    if (key.size != VV_STORED_BLOCK_SIZE) {
        *damaged_out = true;
        return false;
    }
    vv_rocksdb_key_to_block((const uint8_t *)key.data, piece_out);
    return true;
}

/* Visits the parts of one span from the newest source that has it; leaves all sources behind it. */
static enum vv_status visit_span(struct source *sources, uint32_t n, int64_t span_start,
                                 vv_piece_visit visit, void *context, bool *damaged_out)
{
    enum vv_status status = VV_OK;
    bool found = false;
    for (uint32_t i = n; i > 0 && status == VV_OK; i--) {
        struct source *source = &sources[i - 1];
        bool newest = !found;
        struct vv_piece piece;
        while (status == VV_OK && source_span(source, &piece, damaged_out) &&
               piece.key.span_start == span_start) {
            if (newest) {
                found = true;
                piece.bytes = vv_rocksdb_cursor_value(&source->cursor);
                status = visit(context, &piece);
            }
            rocksdb_iter_next(source->cursor.iterator);
        }
    }
    return status;
}

/* Visits all of a source that is alone: while nothing moves there is one. */
static enum vv_status visit_alone(struct source *source, vv_piece_visit visit, void *context,
                                  bool *damaged_out)
{
    enum vv_status status = VV_OK;
    struct vv_piece piece;
    while (status == VV_OK && source_span(source, &piece, damaged_out)) {
        piece.bytes = vv_rocksdb_cursor_value(&source->cursor);
        status = visit(context, &piece);
        rocksdb_iter_next(source->cursor.iterator);
    }
    return status;
}

static enum vv_status visit_sources(struct source *sources, uint32_t n, vv_piece_visit visit,
                                    void *context, struct vv_error *error)
{
    enum vv_status status = VV_OK;
    bool damaged = false;
    bool more = n != 1;
    if (n == 1) {
        status = visit_alone(&sources[0], visit, context, &damaged);
    }
    while (more && status == VV_OK && !damaged) {
        int64_t span_start = INT64_MAX;
        more = false;
        for (uint32_t i = 0; i < n; i++) {
            struct vv_piece piece;
            if (source_span(&sources[i], &piece, &damaged)) {
                more = true;
                span_start = piece.key.span_start < span_start ? piece.key.span_start : span_start;
            }
        }
        if (more && !damaged) {
            status = visit_span(sources, n, span_start, visit, context, &damaged);
        }
    }
    for (uint32_t i = 0; i < n && status == VV_OK; i++) {
        if (sources[i].cursor.iterator) {
            status = vv_rocksdb_cursor_status(&sources[i].cursor, error);
        }
    }
    return status == VV_OK && damaged ? damaged_key(0, error) : status;
}

/* The blocks of one read in all classes of its tenant. */
struct sources {
    struct vv_rocksdb_tenant where;
    const rocksdb_snapshot_t *snapshot;
    struct source classes[VV_CLASSES_MAX];
};

static void sources_close(struct vv_rocksdb *rocksdb, struct sources *sources)
{
    for (uint32_t i = 0; i < sources->where.n; i++) {
        source_close(rocksdb, &sources->classes[i]);
    }
    if (sources->snapshot) {
        rocksdb_release_snapshot(rocksdb->database, sources->snapshot);
    }
    *sources = (struct sources){0};
}

/* The caller closes them in any case. */
static enum vv_status sources_open(struct vv_rocksdb *rocksdb, const struct vv_partition *partition,
                                   const uint8_t *from, const uint8_t *to, struct sources *sources,
                                   struct vv_error *error)
{
    enum vv_status status = VV_OK;
    vv_rocksdb_tenants_get(rocksdb, partition->tenant, &sources->where);
    /* While blocks move from class to class, all classes must be seen as of one moment. */
    sources->snapshot = sources->where.n > 1 ? rocksdb_create_snapshot(rocksdb->database) : NULL;
    for (uint32_t i = 0; i < sources->where.n && status == VV_OK; i++) {
        status = source_open(rocksdb, &sources->where.classes[i], partition, sources->snapshot,
                             from, to, &sources->classes[i], error);
    }
    return status;
}

/* Where all blocks move to another class between the look at where they lie and the opening, those
 * that are opened may lack them. Once opened they show what was there then. */
static enum vv_status read_blocks(struct vv_rocksdb *rocksdb, const struct vv_partition *partition,
                                  const uint8_t *from, const uint8_t *to, vv_piece_visit visit,
                                  void *context, struct vv_error *error)
{
    struct sources sources = {0};
    enum vv_status status;
    do {
        sources_close(rocksdb, &sources);
        status = sources_open(rocksdb, partition, from, to, &sources, error);
    } while (status == VV_OK && vv_rocksdb_tenants_changed(rocksdb, &sources.where));
    if (status == VV_OK) {
        status = visit_sources(sources.classes, sources.where.n, visit, context, error);
    }
    sources_close(rocksdb, &sources);
    return status;
}

enum vv_status vv_rocksdb_read(struct vv_store *store, const struct vv_store_read *read,
                               vv_piece_visit visit, void *context, struct vv_error *error)
{
    struct vv_rocksdb *rocksdb = vv_rocksdb_of(store);
    uint8_t from[VV_KEY_SPAN_SIZE];
    uint8_t to[VV_KEY_SPAN_SIZE];
    vv_key_read_bounds(read, from, to);
    if (read->partition.region != 0 || memcmp(from, to, sizeof from) >= 0) {
        return VV_OK;
    }
    enum vv_status status = vv_rocksdb_enter(rocksdb, error);
    if (status != VV_OK) {
        return status;
    }
    status = read_runs(rocksdb, from, to, visit, context, error);
    if (status == VV_OK) {
        status = read_blocks(rocksdb, &read->partition, from, to, visit, context, error);
    }
    vv_rocksdb_leave(rocksdb);
    return status == VV_DONE ? VV_OK : status;
}
