/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notes of a day that is being replaced: what is to be put is noted as metadata, durably, with one
 * more record that says that it is all there; only then it is put, and the notes go, durably,
 * before anything else is done. Notes that are found later are carried out then: at the start, or,
 * where nodes share the store, as soon as that can be written.
 *
 * Metadata, VV_META_REPLACING: 'p' and a block's key (store/keys.h): the bytes that it shall have;
 * 'r' and a run's key: the run's bytes; 'z': u8 version 1: they are all there.
 */
#include "engine/engine_private.h"
#include "store/keys.h"

#define VERSION    1
#define NOTE_BLOCK 'p'
#define NOTE_RUN   'r'
#define NOTE_WHOLE 'z'
#define KEY_MAX    (1 + VV_KEY_RUN_SIZE)

static const struct vv_str whole_key = {(const char[]){NOTE_WHOLE}, 1};

struct notes {
    struct vv_piece_list pieces;
    struct vv_error *error;
};

static enum vv_status read_note(void *context, struct vv_str key, struct vv_str value)
{
    struct notes *notes = context;
    struct vv_piece piece = {.bytes = value};
    const uint8_t *bytes = (const uint8_t *)key.data + 1;
    if (key.size == 1 && key.data[0] == NOTE_WHOLE) {
        return VV_OK;
    }
    if (key.size == 1 + VV_KEY_BLOCK_SIZE && key.data[0] == NOTE_BLOCK) {
        vv_key_to_block(bytes, &piece);
        piece.kind = VV_PIECE_BLOCK;
        piece.version = VV_VERSION_NONE;
    } else if (key.size == 1 + VV_KEY_RUN_SIZE && key.data[0] == NOTE_RUN) {
        vv_key_to_run(bytes, &piece);
        piece.kind = VV_PIECE_RUN;
    } else {
        return vv_error_set(notes->error, VV_CORRUPT,
                            "a note of a day that is being replaced is damaged");
    }
    return vv_piece_list_add(&notes->pieces, &piece, true) ? VV_OK : VV_NO_MEMORY;
}

static struct vv_str note_key(const struct vv_piece *piece, uint8_t out[KEY_MAX])
{
    bool is_run = piece->kind == VV_PIECE_RUN;
    out[0] = is_run ? NOTE_RUN : NOTE_BLOCK;
    if (is_run) {
        vv_key_from_run(piece, out + 1);
    } else {
        vv_key_from_block(piece, out + 1);
    }
    return (struct vv_str){(const char *)out, 1 + (is_run ? VV_KEY_RUN_SIZE : VV_KEY_BLOCK_SIZE)};
}

/* What says that they are all there goes first. */
static enum vv_status drop_notes(struct vv_engine *engine, const struct vv_piece_list *pieces,
                                 struct vv_error *error)
{
    struct vv_store *store = engine->store;
    enum vv_status status = store->ops->remove_meta(store, VV_META_REPLACING, whole_key, error);
    for (size_t i = 0; i < pieces->n && status == VV_OK; i++) {
        uint8_t bytes[KEY_MAX];
        status = store->ops->remove_meta(store, VV_META_REPLACING,
                                         note_key(&pieces->items[i], bytes), error);
    }
    return status == VV_OK ? vv_engine_confirm(engine, error) : status;
}

static enum vv_status check_whole(struct vv_engine *engine, bool *is_whole_out,
                                  struct vv_error *error)
{
    struct vv_store *store = engine->store;
    struct vv_buffer value = {0};
    enum vv_status status =
        store->ops->get_meta(store, VV_META_REPLACING, whole_key, &value, error);
    *is_whole_out = status == VV_OK;
    if (status == VV_OK && (value.size != 1 || value.data[0] != VERSION)) {
        status = vv_error_set(error, VV_NEWER,
                              "a day is being replaced by a newer version: start that one");
    }
    vv_buffer_deinit(&value);
    return status == VV_NOT_FOUND ? VV_OK : status;
}

static enum vv_status put(struct vv_engine *engine, struct vv_piece_list *pieces,
                          struct vv_error *error)
{
    const struct vv_ledger_rule rule = vv_engine_ledger_rule(&engine->settings);
    int64_t now_ns = engine->clock->wall_ns(engine->clock);
    const struct vv_volumes volumes = {
        .registry = engine->registry,
        .store = engine->store,
        .rule = engine->settings.volumes_after_ns > 0 ? &rule : NULL,
        .run = vv_stamp_make((uint64_t)(now_ns / VV_MICROSECOND), 0),
    };
    return engine->store->ops->shared ? vv_replace_put_runs(engine, pieces, error)
                                      : vv_volumes_put(&volumes, pieces, error);
}

enum vv_status vv_replace_finish(struct vv_engine *engine, struct vv_error *error)
{
    struct vv_store *store = engine->store;
    struct notes notes = {.error = error};
    bool is_whole = false;
    enum vv_status status = check_whole(engine, &is_whole, error);
    if (status == VV_OK) {
        status = store->ops->scan_meta(store, VV_META_REPLACING, (struct vv_str){0}, read_note,
                                       &notes, error);
    }
    if (status == VV_OK && is_whole && notes.pieces.n > 0) {
        status = put(engine, &notes.pieces, error);
    }
    if (status == VV_OK && (is_whole || notes.pieces.n > 0)) {
        status = drop_notes(engine, &notes.pieces, error);
    }
    vv_piece_list_deinit(&notes.pieces);
    return status == VV_NO_MEMORY ? vv_error_set(error, status, "out of memory") : status;
}

enum vv_status vv_replace_note(struct vv_engine *engine, const struct vv_piece_list *pieces,
                               struct vv_error *error)
{
    static const char version[] = {VERSION};
    struct vv_store *store = engine->store;
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < pieces->n && status == VV_OK; i++) {
        uint8_t bytes[KEY_MAX];
        status = store->ops->put_meta(store, VV_META_REPLACING, note_key(&pieces->items[i], bytes),
                                      pieces->items[i].bytes, error);
    }
    if (status == VV_OK) {
        status = store->ops->put_meta(store, VV_META_REPLACING, whole_key,
                                      (struct vv_str){version, sizeof version}, error);
    }
    return status == VV_OK ? vv_engine_confirm(engine, error) : status;
}
