/* SPDX-License-Identifier: Apache-2.0 */
/* Reading from the memory store. What is found is copied under the lock and visited without it, so
 * that a visitor may take its time and may call the store. */
#include "store/memory/memory.h"

#include "base/arena.h"

struct found {
    struct found *next;
    struct vv_str key;
    struct vv_str value;
};

/* What one reading call found, in order. */
struct findings {
    struct vv_arena arena;
    struct found *first;
    struct found **end;
    bool failed;
};

/* `heads_only`: of a node that has a head nothing else. */
static void findings_add(struct findings *findings, const struct vv_memory_node *node,
                         bool heads_only)
{
    bool has_head = node->head_size > 0 && node->head_size < node->value.size;
    struct vv_str value = {node->value.data,
                           heads_only && has_head ? node->head_size : node->value.size};
    struct found *found = vv_arena_alloc(&findings->arena, sizeof *found);
    if (!found) {
        findings->failed = true;
        return;
    }
    found->next = NULL;
    found->key = vv_arena_str(&findings->arena, node->key);
    found->value = vv_arena_str(&findings->arena, value);
    findings->failed |= !found->key.data || !found->value.data;
    *findings->end = found;
    findings->end = &found->next;
}

/* Adds what lies in [from, to); to the end when to's data is NULL. Takes the lock. */
static enum vv_status find(struct vv_memory_store *memory, const struct vv_memory_map *map,
                           struct vv_str from, struct vv_str to, bool heads_only,
                           struct findings *findings, struct vv_error *error)
{
    *findings = (struct findings){.end = &findings->first};
    pthread_rwlock_rdlock(&memory->lock);
    const struct vv_memory_node *node = vv_memory_map_seek(map, from);
    while (node && !findings->failed && (!to.data || vv_str_compare(node->key, to) < 0)) {
        findings_add(findings, node, heads_only);
        node = node->next[0];
    }
    pthread_rwlock_unlock(&memory->lock);
    if (findings->failed) {
        vv_arena_deinit(&findings->arena);
        return vv_error_set(error, VV_NO_MEMORY, "no memory to read from the memory store");
    }
    return VV_OK;
}

/* Of single parts what is behind a missing one is left out, and so are those that the visitor does
 * not want. */
static enum vv_status visit_parts(const struct findings *findings, uint32_t part,
                                  vv_piece_visit visit, void *context)
{
    enum vv_status status = VV_OK;
    for (const struct found *found = findings->first; found && status == VV_OK;
         found = found->next) {
        struct vv_piece piece = {.bytes = found->value};
        vv_key_to_block((const uint8_t *)found->key.data, &piece);
        if (piece.part != part++) {
            break;
        }
        status = visit(context, &piece);
    }
    return status == VV_DONE ? VV_OK : status;
}

static enum vv_status visit_pieces(const struct findings *findings, enum vv_piece_kind kind,
                                   vv_piece_visit visit, void *context)
{
    enum vv_status status = VV_OK;
    for (const struct found *found = findings->first; found && status == VV_OK;
         found = found->next) {
        struct vv_piece piece = {.bytes = found->value};
        if (kind == VV_PIECE_RUN) {
            vv_key_to_run((const uint8_t *)found->key.data, &piece);
        } else {
            vv_key_to_block((const uint8_t *)found->key.data, &piece);
        }
        status = visit(context, &piece);
    }
    return status;
}

static enum vv_status read_kind(struct vv_memory_store *memory, const struct vv_store_read *read,
                                enum vv_piece_kind kind, vv_piece_visit visit, void *context,
                                struct vv_error *error)
{
    bool is_run = kind == VV_PIECE_RUN;
    uint32_t n_buckets = read->n_buckets > 0 ? read->n_buckets : 1;
    enum vv_status status = VV_OK;
    for (uint32_t i = 0; i < n_buckets && status == VV_OK; i++) {
        uint8_t from_bytes[VV_KEY_BLOCK_SIZE];
        uint8_t to_bytes[VV_KEY_BLOCK_SIZE];
        size_t size = VV_KEY_SPAN_SIZE;
        if (is_run) {
            vv_key_read_bounds(read, i, from_bytes, to_bytes);
        } else {
            size = vv_key_block_bounds(read, i, from_bytes, to_bytes);
        }
        struct vv_str from = {(char *)from_bytes, size};
        struct vv_str to = {(char *)to_bytes, size};
        struct findings findings;
        status = find(memory, is_run ? &memory->runs : &memory->blocks, from, to,
                      !is_run && read->heads_only, &findings, error);
        if (status == VV_OK) {
            status = read->part_to > 0 && !is_run
                         ? visit_parts(&findings, read->part_from, visit, context)
                         : visit_pieces(&findings, kind, visit, context);
            vv_arena_deinit(&findings.arena);
        }
    }
    return status;
}

enum vv_status vv_memory_read(struct vv_store *store, const struct vv_store_read *read,
                              vv_piece_visit visit, void *context, struct vv_error *error)
{
    struct vv_memory_store *memory = vv_memory_of(store);
    if (read->partition.region != 0) {
        return VV_OK;
    }
    enum vv_status status = read_kind(memory, read, VV_PIECE_RUN, visit, context, error);
    if (status == VV_OK && !read->runs_only) {
        status = read_kind(memory, read, VV_PIECE_BLOCK, visit, context, error);
    }
    return status == VV_DONE ? VV_OK : status;
}

/* The bucket start of the node nearest to `at` (a source and a bucket start) in one map. */
static bool nearest_in(const struct vv_memory_map *map, const uint8_t *at, bool forward,
                       int64_t *bucket_start_out)
{
    uint8_t bound[VV_KEY_SOURCE_SIZE + 8];
    memcpy(bound, at, sizeof bound);
    struct vv_str key = {(char *)bound, sizeof bound};
    const struct vv_memory_node *node;
    if (forward) {
        node = vv_memory_map_seek(map, key);
    } else {
        key.size = vv_key_successor(bound, sizeof bound);
        node = vv_memory_map_before(map, key.size > 0 ? key : (struct vv_str){0});
    }
    if (!node || memcmp(node->key.data, at, VV_KEY_SOURCE_SIZE) != 0) {
        return false;
    }
    *bucket_start_out = vv_key_get_i64((const uint8_t *)node->key.data + VV_KEY_SOURCE_SIZE);
    return true;
}

enum vv_status vv_memory_nearest(struct vv_store *store, uint8_t region, uint32_t tenant,
                                 uint32_t source, int64_t bucket_start, bool forward,
                                 int64_t *bucket_start_out, struct vv_error *error)
{
    (void)error;
    if (region != 0) {
        return VV_DONE;
    }
    struct vv_memory_store *memory = vv_memory_of(store);
    uint8_t at[VV_KEY_SOURCE_SIZE + 8];
    vv_key_from_source(tenant, source, at);
    vv_key_put_i64(at + VV_KEY_SOURCE_SIZE, bucket_start);
    int64_t run;
    int64_t block;
    pthread_rwlock_rdlock(&memory->lock);
    bool has_run = nearest_in(&memory->runs, at, forward, &run);
    bool has_block = nearest_in(&memory->blocks, at, forward, &block);
    pthread_rwlock_unlock(&memory->lock);
    if (!has_run && !has_block) {
        return VV_DONE;
    }
    bool take_run = has_run && (!has_block || (forward ? run < block : run > block));
    *bucket_start_out = take_run ? run : block;
    return VV_OK;
}

enum vv_status vv_memory_scan_marks(struct vv_store *store, int64_t due_until,
                                    const struct vv_mark *after, vv_mark_visit visit, void *context,
                                    struct vv_error *error)
{
    struct vv_memory_store *memory = vv_memory_of(store);
    uint8_t from[VV_KEY_MARK_SIZE + 1] = {0};
    size_t from_size = 0;
    if (after) {
        vv_key_from_mark(after, from);
        from_size = sizeof from; /* the next key that is possible: one zero byte more */
    }
    uint8_t to[8];
    vv_key_put_i64(to, due_until);
    size_t to_size = vv_key_successor(to, sizeof to);
    struct findings findings;
    enum vv_status status =
        find(memory, &memory->marks, (struct vv_str){(char *)from, from_size},
             (struct vv_str){to_size > 0 ? (char *)to : NULL, to_size}, false, &findings, error);
    if (status != VV_OK) {
        return status;
    }
    for (const struct found *found = findings.first; found && status == VV_OK;
         found = found->next) {
        struct vv_mark mark;
        vv_key_to_mark((const uint8_t *)found->key.data, (const uint8_t *)found->value.data, &mark);
        status = visit(context, &mark);
    }
    vv_arena_deinit(&findings.arena);
    return status == VV_DONE ? VV_OK : status;
}

enum vv_status vv_memory_get_meta(struct vv_store *store, uint8_t kind, struct vv_str key,
                                  struct vv_buffer *value_out, struct vv_error *error)
{
    struct vv_memory_store *memory = vv_memory_of(store);
    struct vv_buffer full = {0};
    vv_buffer_u8(&full, kind);
    vv_buffer_str(&full, key);
    enum vv_status status = vv_buffer_status(&full);
    if (status == VV_OK) {
        pthread_rwlock_rdlock(&memory->lock);
        const struct vv_memory_node *node =
            vv_memory_map_find(&memory->meta, (struct vv_str){(char *)full.data, full.size});
        if (node) {
            vv_buffer_str(value_out, node->value);
            status = vv_buffer_status(value_out);
        } else {
            status = VV_NOT_FOUND;
        }
        pthread_rwlock_unlock(&memory->lock);
    }
    vv_buffer_deinit(&full);
    if (status != VV_OK) {
        vv_error_set(error, status, "metadata of kind %u: %s", kind, vv_status_name(status));
    }
    return status;
}

enum vv_status vv_memory_scan_meta(struct vv_store *store, uint8_t kind, struct vv_str prefix,
                                   vv_meta_visit visit, void *context, struct vv_error *error)
{
    struct vv_memory_store *memory = vv_memory_of(store);
    struct vv_buffer from = {0};
    struct vv_buffer to = {0};
    struct findings findings = {0};
    vv_buffer_u8(&from, kind);
    vv_buffer_str(&from, prefix);
    vv_buffer_append(&to, from.data, from.size);
    enum vv_status status = from.failed || to.failed ? VV_NO_MEMORY : VV_OK;
    if (status == VV_OK) {
        size_t to_size = vv_key_successor(to.data, to.size);
        status = find(memory, &memory->meta, (struct vv_str){(char *)from.data, from.size},
                      (struct vv_str){to_size > 0 ? (char *)to.data : NULL, to_size}, false,
                      &findings, error);
    } else {
        vv_error_set(error, status, "no memory to scan the metadata");
    }
    for (const struct found *found = findings.first; found && status == VV_OK;
         found = found->next) {
        struct vv_str key = {found->key.data + 1, found->key.size - 1};
        status = visit(context, key, found->value);
    }
    vv_arena_deinit(&findings.arena);
    vv_buffer_deinit(&from);
    vv_buffer_deinit(&to);
    return status == VV_DONE ? VV_OK : status;
}
