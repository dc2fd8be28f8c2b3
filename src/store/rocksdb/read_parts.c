/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts that follow each other, looked up one by one: for the one or two that are read mostly, that
 * costs half of what an iterator does, which may also read the files' block behind them.
 */
#include "store/rocksdb/rocksdb.h"

/* ---- places ---- */

/* Where the parts of one bucket lie. */
struct place {
    struct vv_rocksdb_tenant where; /* in its one class */
    struct vv_rocksdb_era *era;     /* NULL: the class has no such one */
};

/* False where they may lie in several classes. */
static bool place_open(struct vv_rocksdb *rocksdb, const struct vv_partition *partition,
                       struct place *place)
{
    vv_rocksdb_tenants_get(rocksdb, partition->tenant, &place->where);
    if (place->where.n != 1) {
        return false;
    }
    struct vv_era era =
        vv_era_of(place->where.classes[0].retention_s, rocksdb->era_count, partition);
    place->era = vv_rocksdb_eras_use(rocksdb, &era);
    return true;
}

/* ---- looked up ---- */

struct look_up {
    struct vv_rocksdb *rocksdb;
    const struct place *place;
    const struct vv_store_read *read;
    struct vv_error *error;
};

static struct vv_piece part_of(const struct look_up *look_up, uint32_t part)
{
    const struct vv_store_read *read = look_up->read;
    return (struct vv_piece){
        .kind = VV_PIECE_BLOCK,
        .key = {read->partition, read->measurement, read->partition.bucket_start},
        .part = part};
}

/* *found_out: the part's bytes, to be destroyed; NULL: there is none. */
static enum vv_status find(const struct look_up *look_up, const rocksdb_readoptions_t *options,
                           struct vv_piece *piece, rocksdb_pinnableslice_t **found_out)
{
    uint8_t key[VV_KEY_BLOCK_SIZE];
    uint8_t stored[VV_STORED_BLOCK_SIZE];
    char *message = NULL;
    vv_key_from_block(piece, key);
    vv_rocksdb_key_store(key, sizeof key, look_up->place->where.classes[0].generation, stored);
    *found_out =
        rocksdb_get_pinned_cf(look_up->rocksdb->database, options, look_up->place->era->family,
                              (char *)stored, sizeof stored, &message);
    if (message) {
        return vv_rocksdb_fail(message, "cannot read from the store", look_up->error);
    }
    if (*found_out) {
        piece->bytes.data = rocksdb_pinnableslice_value(*found_out, &piece->bytes.size);
    }
    return VV_OK;
}

/* Those behind the first one, which was visited: as of the moment at which they are looked for, so
 * that they are of one block, and it of the same. */
static enum vv_status visit_others(const struct look_up *look_up,
                                   const rocksdb_readoptions_t *options, struct vv_str first,
                                   vv_piece_visit visit, void *context)
{
    rocksdb_pinnableslice_t *found;
    struct vv_piece again = part_of(look_up, look_up->read->part_from);
    enum vv_status status = find(look_up, options, &again, &found);
    if (status == VV_OK && !(found && vv_str_equal(first, again.bytes))) {
        status = vv_error_set(look_up->error, VV_OVERLOAD,
                              "a block was replaced while it was read: read it again");
    }
    for (uint32_t part = again.part + 1; part < look_up->read->part_to && found && status == VV_OK;
         part++) {
        struct vv_piece piece = part_of(look_up, part);
        rocksdb_pinnableslice_destroy(found);
        status = find(look_up, options, &piece, &found);
        status = status == VV_OK && found ? visit(context, &piece) : status;
    }
    rocksdb_pinnableslice_destroy(found);
    return status;
}

/* Mostly the first part is all that is wanted, and that takes no snapshot: to make and release one
 * waits for RocksDB's lock, which it holds while it takes in files. */
static enum vv_status visit_first(const struct look_up *look_up, struct vv_piece *first,
                                  vv_piece_visit visit, void *context)
{
    enum vv_status status = visit(context, first);
    if (status != VV_OK || first->part + 1 == look_up->read->part_to) {
        return status;
    }
    rocksdb_t *database = look_up->rocksdb->database;
    const rocksdb_snapshot_t *snapshot = rocksdb_create_snapshot(database);
    rocksdb_readoptions_t *options = rocksdb_readoptions_create();
    rocksdb_readoptions_set_snapshot(options, snapshot);
    status = visit_others(look_up, options, first->bytes, visit, context);
    rocksdb_readoptions_destroy(options);
    rocksdb_release_snapshot(database, snapshot);
    return status;
}

/* *moved_out, and nothing was visited: since it was looked where they lie they may have moved. */
static enum vv_status look_up_all(const struct look_up *look_up, vv_piece_visit visit,
                                  void *context, bool *moved_out)
{
    struct vv_piece first = part_of(look_up, look_up->read->part_from);
    rocksdb_pinnableslice_t *found = NULL;
    enum vv_status status =
        look_up->place->era ? find(look_up, look_up->rocksdb->options.get, &first, &found) : VV_OK;
    *moved_out = vv_rocksdb_tenants_changed(look_up->rocksdb, &look_up->place->where);
    if (status == VV_OK && found && !*moved_out) {
        status = visit_first(look_up, &first, visit, context);
    }
    rocksdb_pinnableslice_destroy(found);
    return status;
}

/* ---- by an iterator ---- */

struct in_turn {
    uint32_t part; /* the next one */
    vv_piece_visit visit;
    void *context;
};

static enum vv_status visit_in_turn(void *context, const struct vv_piece *piece)
{
    struct in_turn *turn = context;
    return piece->part == turn->part++ ? turn->visit(turn->context, piece) : VV_DONE;
}

/* ---- both ---- */

static enum vv_status read_bucket(struct vv_rocksdb *rocksdb, const struct vv_store_read *read,
                                  vv_piece_visit visit, void *context, struct vv_error *error)
{
    struct place place = {0};
    struct in_turn turn = {read->part_from, visit, context};
    bool moved = !place_open(rocksdb, &read->partition, &place);
    enum vv_status status = VV_OK;
    if (!moved) {
        const struct look_up look_up = {rocksdb, &place, read, error};
        status = look_up_all(&look_up, visit, context, &moved);
        vv_rocksdb_eras_release(rocksdb, place.era);
    }
    return status == VV_OK && moved
               ? vv_rocksdb_read_blocks(rocksdb, read, 1, visit_in_turn, &turn, error)
               : status;
}

enum vv_status vv_rocksdb_read_parts(struct vv_rocksdb *rocksdb, const struct vv_store_read *read,
                                     uint32_t n_buckets, vv_piece_visit visit, void *context,
                                     struct vv_error *error)
{
    enum vv_status status = VV_OK;
    for (uint32_t i = 0; i < n_buckets && status == VV_OK; i++) {
        struct vv_store_read of_bucket = *read;
        int64_t start = read->partition.bucket_start + i * read->partition.bucket_ns;
        of_bucket.partition.bucket_start = start;
        if (start >= read->span_from && start < read->span_to) {
            status = read_bucket(rocksdb, &of_bucket, visit, context, error);
            status = status == VV_DONE ? VV_OK : status;
        }
    }
    return status;
}
