/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts that follow each other, looked up one by one: for the one or two that are read mostly, that
 * costs half of what an iterator does, which may also read the files' block behind them.
 */
#include "store/rocksdb/rocksdb.h"

/* ---- places ---- */

/* Where the parts of one bucket lie, as of one moment: they must be of one block. */
struct place {
    struct vv_rocksdb_era *era; /* NULL: the tenant's class has no such one */
    const rocksdb_snapshot_t *snapshot;
    rocksdb_readoptions_t *options;
    uint32_t generation;
};

static void place_close(struct vv_rocksdb *rocksdb, struct place *place)
{
    if (place->era) {
        rocksdb_readoptions_destroy(place->options);
        rocksdb_release_snapshot(rocksdb->database, place->snapshot);
        vv_rocksdb_eras_release(rocksdb, place->era);
    }
    *place = (struct place){0};
}

/* False where they may lie in several classes, or have just moved. */
static bool place_open(struct vv_rocksdb *rocksdb, const struct vv_partition *partition,
                       struct place *place)
{
    struct vv_rocksdb_tenant where;
    *place = (struct place){0};
    vv_rocksdb_tenants_get(rocksdb, partition->tenant, &where);
    if (where.n != 1) {
        return false;
    }
    struct vv_era era = vv_era_of(where.classes[0].retention_s, rocksdb->era_count, partition);
    place->generation = where.classes[0].generation;
    place->era = vv_rocksdb_eras_use(rocksdb, &era);
    if (place->era) {
        place->snapshot = rocksdb_create_snapshot(rocksdb->database);
        place->options = rocksdb_readoptions_create();
        rocksdb_readoptions_set_snapshot(place->options, place->snapshot);
    }
    if (vv_rocksdb_tenants_changed(rocksdb, &where)) {
        place_close(rocksdb, place);
        return false;
    }
    return true;
}

/* VV_DONE: there is no such part, or the visitor wants no more. */
static enum vv_status visit_part(struct vv_rocksdb *rocksdb, const struct place *place,
                                 struct vv_piece *piece, vv_piece_visit visit, void *context,
                                 struct vv_error *error)
{
    uint8_t key[VV_KEY_BLOCK_SIZE];
    uint8_t stored[VV_STORED_BLOCK_SIZE];
    char *message = NULL;
    vv_key_from_block(piece, key);
    vv_rocksdb_key_store(key, sizeof key, place->generation, stored);
    rocksdb_pinnableslice_t *found =
        rocksdb_get_pinned_cf(rocksdb->database, place->options, place->era->family, (char *)stored,
                              sizeof stored, &message);
    if (message) {
        return vv_rocksdb_fail(message, "cannot read from the store", error);
    }
    if (!found) {
        return VV_DONE;
    }
    piece->bytes.data = rocksdb_pinnableslice_value(found, &piece->bytes.size);
    enum vv_status status = visit(context, piece);
    rocksdb_pinnableslice_destroy(found);
    return status;
}

/* ---- looked up ---- */

static enum vv_status look_up(struct vv_rocksdb *rocksdb, const struct place *place,
                              const struct vv_store_read *read, vv_piece_visit visit, void *context,
                              struct vv_error *error)
{
    struct vv_piece piece = {
        .kind = VV_PIECE_BLOCK,
        .key = {read->partition, read->measurement, read->partition.bucket_start},
        .part = read->part_from};
    enum vv_status status = place->era ? VV_OK : VV_DONE;
    for (; piece.part < read->part_to && status == VV_OK; piece.part++) {
        status = visit_part(rocksdb, place, &piece, visit, context, error);
    }
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
    struct place place;
    if (!place_open(rocksdb, &read->partition, &place)) {
        struct in_turn turn = {read->part_from, visit, context};
        return vv_rocksdb_read_blocks(rocksdb, read, 1, visit_in_turn, &turn, error);
    }
    enum vv_status status = look_up(rocksdb, &place, read, visit, context, error);
    place_close(rocksdb, &place);
    return status;
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
