/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading blocks, from all classes in which the tenant has some. Those that are cut (keys.h) are
 * put together again unless their heads are all that is wanted: for that a second iterator goes
 * over the tails, of the same snapshot, as a head and a tail must be of one block.
 */
#include "store/rocksdb/rocksdb.h"

/* The blocks of one group of buckets in one class. */
struct source {
    struct vv_rocksdb_era *era; /* NULL: the class has no such one */
    struct vv_rocksdb_cursor cursor;
    struct vv_rocksdb_cursor tails;      /* open from the first one that is wanted on */
    uint8_t lower[VV_STORED_BLOCK_SIZE]; /* so much of each as bound_size of the reading says */
    uint8_t upper[VV_STORED_BLOCK_SIZE];
    uint8_t tails_lower[VV_STORED_BLOCK_SIZE];
    uint8_t tails_upper[VV_STORED_BLOCK_SIZE];
};

struct reading {
    struct vv_rocksdb *rocksdb;
    const struct vv_store_read *read;
    uint32_t n_buckets;              /* of the read */
    uint32_t bucket;                 /* the next one … */
    uint8_t from[VV_KEY_BLOCK_SIZE]; /* … of which what lies before was visited */
    size_t bound_size;               /* of stored keys that bound what is read */
    uint32_t group; /* so many from it on are read at once: their blocks are in one era */
    vv_piece_visit visit;
    void *context;
    struct vv_rocksdb_tenant where;
    const rocksdb_snapshot_t *snapshot;
    struct source sources[VV_CLASSES_MAX]; /* of where.classes */
    bool with_tails;                       /* the snapshot is there for them */
    bool wants_tails;                      /* one is wanted, and it is not */
    struct vv_buffer whole;                /* a head and its tail */
    struct vv_error *error;
};

/* ---- groups ---- */

static struct vv_partition partition_of(const struct reading *reading, uint32_t bucket)
{
    struct vv_partition partition = reading->read->partition;
    partition.bucket_start += bucket * partition.bucket_ns;
    return partition;
}

static struct vv_era era_of(const struct reading *reading, const struct vv_rocksdb_class *class,
                            uint32_t bucket)
{
    const struct vv_partition partition = partition_of(reading, bucket);
    return vv_era_of(class->retention_s, reading->rocksdb->era_count, &partition);
}

/* While blocks move, which is rare, each bucket is read by itself. */
static uint32_t group_of(const struct reading *reading)
{
    const struct vv_rocksdb_class *class = &reading->where.classes[0];
    uint32_t end = reading->bucket + 1;
    if (reading->where.n != 1 || end == reading->n_buckets) {
        return 1;
    }
    int64_t start_s = era_of(reading, class, reading->bucket).start_s;
    while (end < reading->n_buckets && era_of(reading, class, end).start_s == start_s) {
        end++;
    }
    return end - reading->bucket;
}

/* Where a bucket of the read begins, or what was not visited of it, and where it ends. */
static void bounds_of(const struct reading *reading, const struct vv_rocksdb_class *class,
                      uint32_t bucket, uint8_t *lower, uint8_t *upper)
{
    uint8_t from[VV_KEY_BLOCK_SIZE];
    uint8_t to[VV_KEY_BLOCK_SIZE];
    size_t size = vv_key_block_bounds(reading->read, bucket, from, to);
    vv_rocksdb_key_store(bucket == reading->bucket ? reading->from : from, size, class->generation,
                         lower);
    vv_rocksdb_key_store(to, size, class->generation, upper);
}

static void begin_bucket(struct reading *reading, uint32_t bucket)
{
    uint8_t to[VV_KEY_BLOCK_SIZE];
    reading->bucket = bucket;
    if (bucket < reading->n_buckets) {
        size_t size = vv_key_block_bounds(reading->read, bucket, reading->from, to);
        reading->bound_size = size + VV_GENERATION_SIZE;
    }
}

/* ---- sources ---- */

/* Leaves a source without an iterator when the class has no such era. */
static enum vv_status source_open(struct reading *reading, const struct vv_rocksdb_class *class,
                                  struct source *source)
{
    struct vv_rocksdb *rocksdb = reading->rocksdb;
    struct vv_era era = era_of(reading, class, reading->bucket);
    uint8_t lower[VV_STORED_BLOCK_SIZE];
    source->era = vv_rocksdb_eras_use(rocksdb, &era);
    if (!source->era) {
        return VV_OK;
    }
    bounds_of(reading, class, reading->bucket + reading->group - 1, lower, source->upper);
    bounds_of(reading, class, reading->bucket, source->lower, lower);
    enum vv_status status =
        vv_rocksdb_cursor_open(rocksdb, source->era->family, reading->snapshot,
                               (struct vv_str){(char *)source->lower, reading->bound_size},
                               (struct vv_str){(char *)source->upper, reading->bound_size},
                               &source->cursor, reading->error);
    if (status == VV_OK) {
        rocksdb_iter_seek(source->cursor.iterator, (char *)source->lower, reading->bound_size);
    }
    return status;
}

static void sources_close(struct reading *reading)
{
    for (uint32_t i = 0; i < reading->where.n; i++) {
        struct source *source = &reading->sources[i];
        vv_rocksdb_cursor_close(&source->tails);
        vv_rocksdb_cursor_close(&source->cursor);
        vv_rocksdb_eras_release(reading->rocksdb, source->era);
        *source = (struct source){0};
    }
    if (reading->snapshot) {
        rocksdb_release_snapshot(reading->rocksdb->database, reading->snapshot);
        reading->snapshot = NULL;
    }
    reading->where.n = 0;
}

/* The caller closes them in any case. */
static enum vv_status sources_open(struct reading *reading)
{
    struct vv_rocksdb *rocksdb = reading->rocksdb;
    enum vv_status status = VV_OK;
    vv_rocksdb_tenants_get(rocksdb, reading->read->partition.tenant, &reading->where);
    reading->group = group_of(reading);
    /* While blocks move from class to class, all classes must be seen as of one moment. */
    bool needs_snapshot = reading->where.n > 1 || reading->with_tails;
    reading->snapshot = needs_snapshot ? rocksdb_create_snapshot(rocksdb->database) : NULL;
    for (uint32_t i = 0; i < reading->where.n && status == VV_OK; i++) {
        status = source_open(reading, &reading->where.classes[i], &reading->sources[i]);
    }
    return status;
}

/* Where all blocks move to another class between the look at where they lie and the opening, those
 * that are opened may lack them. Once opened they show what was there then. */
static enum vv_status sources_open_all(struct reading *reading)
{
    enum vv_status status;
    do {
        sources_close(reading);
        status = sources_open(reading);
    } while (status == VV_OK && vv_rocksdb_tenants_changed(reading->rocksdb, &reading->where));
    return status;
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

/* ---- tails ---- */

static enum vv_status open_tails(struct reading *reading, struct source *source)
{
    memcpy(source->tails_lower, source->lower, sizeof source->lower);
    memcpy(source->tails_upper, source->upper, sizeof source->upper);
    source->tails_lower[VV_STORED_SPLIT_AT] |= VV_STORED_TAIL_BIT;
    source->tails_upper[VV_STORED_SPLIT_AT] |= VV_STORED_TAIL_BIT;
    return vv_rocksdb_cursor_open(reading->rocksdb, source->era->family, reading->snapshot,
                                  (struct vv_str){(char *)source->tails_lower, reading->bound_size},
                                  (struct vv_str){(char *)source->tails_upper, reading->bound_size},
                                  &source->tails, reading->error);
}

static bool stands_on(const struct vv_rocksdb_cursor *cursor, const uint8_t *key)
{
    if (!vv_rocksdb_cursor_valid(cursor)) {
        return false;
    }
    struct vv_str found = vv_rocksdb_cursor_key(cursor);
    return found.size == VV_STORED_BLOCK_SIZE && memcmp(found.data, key, VV_STORED_BLOCK_SIZE) == 0;
}

/* The tail of the head on which the source stands; they mostly follow each other. */
static enum vv_status find_tail(struct reading *reading, struct source *source,
                                struct vv_str *tail_out)
{
    uint8_t key[VV_STORED_BLOCK_SIZE];
    memcpy(key, vv_rocksdb_cursor_key(&source->cursor).data, sizeof key);
    vv_rocksdb_key_make_tail(key);
    enum vv_status status = source->tails.iterator ? VV_OK : open_tails(reading, source);
    if (status != VV_OK) {
        return status;
    }
    if (!stands_on(&source->tails, key)) {
        rocksdb_iter_seek(source->tails.iterator, (char *)key, sizeof key);
    }
    if (!stands_on(&source->tails, key)) {
        status = vv_rocksdb_cursor_status(&source->tails, reading->error);
        return status != VV_OK
                   ? status
                   : vv_error_set(reading->error, VV_CORRUPT,
                                  "a part of a block is missing: restore the store from a backup");
    }
    *tail_out = vv_rocksdb_cursor_value(&source->tails);
    return VV_OK;
}

/* Puts the block together on whose head the source stands. */
static enum vv_status complete(struct reading *reading, struct source *source,
                               struct vv_piece *piece)
{
    struct vv_str tail;
    enum vv_status status = find_tail(reading, source, &tail);
    if (status != VV_OK) {
        return status;
    }
    vv_buffer_clear(&reading->whole);
    vv_buffer_str(&reading->whole, piece->bytes);
    vv_buffer_str(&reading->whole, tail);
    rocksdb_iter_next(source->tails.iterator); /* to the next one's */
    piece->bytes = (struct vv_str){(char *)reading->whole.data, reading->whole.size};
    return vv_buffer_status(&reading->whole);
}

/* ---- visiting ---- */

static atomic_bool *are_cut(const struct reading *reading)
{
    uint32_t tenant = reading->read->partition.tenant;
    return &reading->rocksdb->are_cut[tenant % VV_ROCKSDB_CUT_TENANTS];
}

/* What the source stands on; or notes that its tail is wanted first. */
static enum vv_status visit_block(struct reading *reading, struct source *source,
                                  struct vv_piece *piece)
{
    struct vv_str key = vv_rocksdb_cursor_key(&source->cursor);
    bool is_cut = vv_rocksdb_key_is_cut((const uint8_t *)key.data);
    enum vv_status status = VV_OK;
    piece->bytes = vv_rocksdb_cursor_value(&source->cursor);
    if (is_cut && !reading->read->heads_only) {
        if (!reading->with_tails) {
            reading->wants_tails = true;
            atomic_store_explicit(are_cut(reading), true, memory_order_relaxed);
            reading->bucket = (uint32_t)((uint64_t)(piece->key.partition.bucket_start -
                                                    reading->read->partition.bucket_start) /
                                         (uint64_t)reading->read->partition.bucket_ns);
            vv_key_from_span(&piece->key, reading->from);
            return VV_DONE;
        }
        status = complete(reading, source, piece);
    }
    return status == VV_OK ? reading->visit(reading->context, piece) : status;
}

/* Visits the parts of one span from the newest source that has it; leaves all sources behind it. */
static enum vv_status visit_span(struct reading *reading, int64_t span_start, bool *damaged_out)
{
    enum vv_status status = VV_OK;
    bool found = false;
    for (uint32_t i = reading->where.n; i > 0 && status == VV_OK; i--) {
        struct source *source = &reading->sources[i - 1];
        bool newest = !found;
        struct vv_piece piece;
        while (status == VV_OK && source_span(source, &piece, damaged_out) &&
               piece.key.span_start == span_start) {
            if (newest) {
                found = true;
                status = visit_block(reading, source, &piece);
            }
            rocksdb_iter_next(source->cursor.iterator);
        }
    }
    return status;
}

static int compare_key(const struct reading *reading, const struct source *source,
                       const uint8_t *bound)
{
    return memcmp(vv_rocksdb_cursor_key(&source->cursor).data, bound, reading->bound_size);
}

/* Of a source that is alone, as there is one while nothing moves: one bucket after the other. */
static enum vv_status visit_alone(struct reading *reading, bool *damaged_out)
{
    struct source *source = &reading->sources[0];
    enum vv_status status = VV_OK;
    struct vv_piece piece;
    uint32_t end = reading->bucket + reading->group;
    for (uint32_t i = reading->bucket;
         i < end && status == VV_OK && source_span(source, &piece, damaged_out); i++) {
        uint8_t lower[VV_STORED_BLOCK_SIZE];
        uint8_t upper[VV_STORED_BLOCK_SIZE];
        bounds_of(reading, &reading->where.classes[0], i, lower, upper);
        if (compare_key(reading, source, lower) < 0) {
            rocksdb_iter_seek(source->cursor.iterator, (char *)lower, reading->bound_size);
        }
        while (status == VV_OK && source_span(source, &piece, damaged_out) &&
               compare_key(reading, source, upper) < 0) {
            status = visit_block(reading, source, &piece);
            rocksdb_iter_next(source->cursor.iterator);
        }
    }
    return status;
}

static enum vv_status visit_sources(struct reading *reading)
{
    enum vv_status status = VV_OK;
    uint32_t n = reading->where.n;
    bool damaged = false;
    bool more = n != 1;
    if (n == 1) {
        status = visit_alone(reading, &damaged);
    }
    while (more && status == VV_OK && !damaged) {
        int64_t span_start = INT64_MAX;
        more = false;
        for (uint32_t i = 0; i < n; i++) {
            struct vv_piece piece;
            if (source_span(&reading->sources[i], &piece, &damaged)) {
                more = true;
                span_start = piece.key.span_start < span_start ? piece.key.span_start : span_start;
            }
        }
        if (more && !damaged) {
            status = visit_span(reading, span_start, &damaged);
        }
    }
    for (uint32_t i = 0; i < n && status == VV_OK; i++) {
        if (reading->sources[i].cursor.iterator) {
            status = vv_rocksdb_cursor_status(&reading->sources[i].cursor, reading->error);
        }
    }
    return status == VV_OK && damaged ? vv_rocksdb_damaged_key(0, reading->error) : status;
}

/* Most reads need no snapshot, so a tenant's first block whose tail is wanted makes it begin anew
 * there; after that its reads begin with one. */
enum vv_status vv_rocksdb_read_blocks(struct vv_rocksdb *rocksdb, const struct vv_store_read *read,
                                      uint32_t n_buckets, vv_piece_visit visit, void *context,
                                      struct vv_error *error)
{
    struct reading reading = {.rocksdb = rocksdb,
                              .read = read,
                              .n_buckets = n_buckets,
                              .visit = visit,
                              .context = context,
                              .error = error};
    enum vv_status status = VV_OK;
    reading.with_tails =
        !read->heads_only && atomic_load_explicit(are_cut(&reading), memory_order_relaxed);
    begin_bucket(&reading, 0);
    while (status == VV_OK && reading.bucket < n_buckets) {
        status = sources_open_all(&reading);
        status = status == VV_OK ? visit_sources(&reading) : status;
        if (reading.wants_tails) {
            reading.wants_tails = false;
            reading.with_tails = true;
            status = VV_OK;
        } else {
            begin_bucket(&reading, reading.bucket + reading.group);
        }
    }
    sources_close(&reading);
    vv_buffer_deinit(&reading.whole);
    return status;
}
