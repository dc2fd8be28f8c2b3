/* SPDX-License-Identifier: Apache-2.0 */
/* Writing to the memory store. */
#include "store/memory/memory.h"

#include <stdlib.h>

static enum vv_status no_memory(struct vv_error *error)
{
    return vv_error_set(error, VV_NO_MEMORY, "no memory left in the memory store");
}

/* Room for one more change. */
static bool reserve_change(struct vv_memory_store *memory)
{
    if (memory->n_changes < memory->changes_capacity) {
        return true;
    }
    size_t capacity = memory->changes_capacity ? memory->changes_capacity * 2 : 64;
    struct vv_memory_change *changes = realloc(memory->changes, capacity * sizeof *changes);
    if (!changes) {
        return false;
    }
    memory->changes = changes;
    memory->changes_capacity = capacity;
    return true;
}

static enum vv_status put(struct vv_memory_store *memory, struct vv_memory_map *map,
                          struct vv_str key, struct vv_str value, struct vv_error *error)
{
    struct vv_memory_node *node = vv_memory_node_create(map, key, value);
    if (!node || !reserve_change(memory)) {
        free(node);
        return no_memory(error);
    }
    memory->changes[memory->n_changes++] =
        (struct vv_memory_change){map, node, vv_memory_map_link(map, node)};
    return VV_OK;
}

static enum vv_status take(struct vv_memory_store *memory, struct vv_memory_map *map,
                           struct vv_str key, struct vv_error *error)
{
    if (!reserve_change(memory)) {
        return no_memory(error);
    }
    struct vv_memory_node *removed = vv_memory_map_unlink(map, key);
    if (removed) {
        memory->changes[memory->n_changes++] = (struct vv_memory_change){map, NULL, removed};
    }
    return VV_OK;
}

enum vv_status vv_memory_put_run(struct vv_store *store, const struct vv_piece *run,
                                 struct vv_error *error)
{
    struct vv_memory_store *memory = vv_memory_of(store);
    enum vv_status status = vv_key_check(&run->key, error);
    status = status == VV_OK ? vv_memory_begin(memory, error) : status;
    if (status != VV_OK) {
        return status;
    }
    uint8_t key[VV_KEY_RUN_SIZE];
    vv_key_from_run(run, key);
    status =
        put(memory, &memory->runs, (struct vv_str){(char *)key, sizeof key}, run->bytes, error);
    vv_memory_end(memory);
    return status;
}

enum vv_status vv_memory_remove_runs(struct vv_store *store, const struct vv_piece *runs, size_t n,
                                     struct vv_error *error)
{
    struct vv_memory_store *memory = vv_memory_of(store);
    enum vv_status status = vv_memory_begin(memory, error);
    if (status != VV_OK) {
        return status;
    }
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        uint8_t key[VV_KEY_RUN_SIZE];
        vv_key_from_run(&runs[i], key);
        status = take(memory, &memory->runs, (struct vv_str){(char *)key, sizeof key}, error);
    }
    vv_memory_end(memory);
    return status;
}

/* The run of the mark that is stored for the same span; false when there is none. */
static bool stored_run(struct vv_memory_store *memory, struct vv_str key, vv_stamp *run_out)
{
    struct vv_memory_node *node = vv_memory_map_find(&memory->marks, key);
    if (node) {
        *run_out = vv_key_get_u64((const uint8_t *)node->value.data);
    }
    return node != NULL;
}

enum vv_status vv_memory_put_mark(struct vv_store *store, const struct vv_mark *mark,
                                  struct vv_error *error)
{
    struct vv_memory_store *memory = vv_memory_of(store);
    enum vv_status status = vv_key_check(&mark->key, error);
    status = status == VV_OK ? vv_memory_begin(memory, error) : status;
    if (status != VV_OK) {
        return status;
    }
    uint8_t bytes[VV_KEY_MARK_SIZE];
    uint8_t value[VV_MARK_VALUE_SIZE];
    vv_key_from_mark(mark, bytes);
    vv_mark_value(mark, value);
    struct vv_str key = {(char *)bytes, sizeof bytes};
    vv_stamp run;
    if (!stored_run(memory, key, &run) || run <= mark->run) {
        status =
            put(memory, &memory->marks, key, (struct vv_str){(char *)value, sizeof value}, error);
    }
    vv_memory_end(memory);
    return status;
}

static enum vv_status retire_mark(struct vv_memory_store *memory, const struct vv_mark *mark,
                                  struct vv_error *error)
{
    enum vv_status status = vv_memory_begin(memory, error);
    if (status != VV_OK) {
        return status;
    }
    uint8_t bytes[VV_KEY_MARK_SIZE];
    vv_key_from_mark(mark, bytes);
    struct vv_str key = {(char *)bytes, sizeof bytes};
    vv_stamp run;
    if (stored_run(memory, key, &run) && run <= mark->run) {
        status = take(memory, &memory->marks, key, error);
    }
    vv_memory_end(memory);
    return status;
}

enum vv_status vv_memory_retire_marks(struct vv_store *store, const struct vv_mark *marks, size_t n,
                                      struct vv_error *error)
{
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        status = retire_mark(vv_memory_of(store), &marks[i], error);
    }
    return status;
}

static enum vv_status change_meta(struct vv_store *store, uint8_t kind, struct vv_str key,
                                  const struct vv_str *value, struct vv_error *error)
{
    struct vv_memory_store *memory = vv_memory_of(store);
    struct vv_buffer full = {0};
    vv_buffer_u8(&full, kind);
    vv_buffer_str(&full, key);
    enum vv_status status =
        vv_buffer_status(&full) == VV_OK ? vv_memory_begin(memory, error) : no_memory(error);
    if (status == VV_OK) {
        struct vv_str full_key = {(char *)full.data, full.size};
        status = value ? put(memory, &memory->meta, full_key, *value, error)
                       : take(memory, &memory->meta, full_key, error);
        vv_memory_end(memory);
    }
    vv_buffer_deinit(&full);
    return status;
}

enum vv_status vv_memory_put_meta(struct vv_store *store, uint8_t kind, struct vv_str key,
                                  struct vv_str value, struct vv_error *error)
{
    return change_meta(store, kind, key, &value, error);
}

enum vv_status vv_memory_remove_meta(struct vv_store *store, uint8_t kind, struct vv_str key,
                                     struct vv_error *error)
{
    return change_meta(store, kind, key, NULL, error);
}

/* Nodes for all pieces with bytes (NULL for the others), so that nothing can fail halfway. */
static struct vv_memory_node **create_blocks(struct vv_memory_store *memory,
                                             const struct vv_piece *pieces, size_t n)
{
    struct vv_memory_node **nodes = calloc(n ? n : 1, sizeof *nodes);
    bool complete = nodes != NULL;
    for (size_t i = 0; complete && i < n; i++) {
        if (pieces[i].bytes.size > 0) {
            uint8_t key[VV_KEY_BLOCK_SIZE];
            vv_key_from_block(&pieces[i], key);
            nodes[i] = vv_memory_node_create(
                &memory->blocks, (struct vv_str){(char *)key, sizeof key}, pieces[i].bytes);
            complete = nodes[i] != NULL;
        }
        if (nodes && nodes[i]) {
            nodes[i]->head_size = pieces[i].head_size;
        }
    }
    for (size_t i = 0; nodes && !complete && i < n; i++) {
        free(nodes[i]);
    }
    if (!complete) {
        free(nodes);
        return NULL;
    }
    return nodes;
}

static void remove_blocks(struct vv_memory_store *memory, const struct vv_span_key *span)
{
    uint8_t prefix[VV_KEY_SPAN_SIZE];
    vv_key_from_span(span, prefix);
    struct vv_str key = {(char *)prefix, sizeof prefix};
    struct vv_memory_node *node = vv_memory_map_seek(&memory->blocks, key);
    while (node && memcmp(node->key.data, prefix, sizeof prefix) == 0) {
        struct vv_memory_node *next = node->next[0];
        free(vv_memory_map_unlink(&memory->blocks, node->key));
        node = next;
    }
}

enum vv_status vv_memory_put_blocks(struct vv_store *store, const struct vv_piece *pieces, size_t n,
                                    struct vv_error *error)
{
    struct vv_memory_store *memory = vv_memory_of(store);
    enum vv_status status = vv_key_check_blocks(pieces, n, error);
    status = status == VV_OK ? vv_memory_begin(memory, error) : status;
    if (status != VV_OK) {
        return status;
    }
    struct vv_memory_node **nodes = create_blocks(memory, pieces, n);
    for (size_t i = 0; nodes && i < n; i++) {
        if (i == 0 || vv_span_key_compare(&pieces[i].key, &pieces[i - 1].key) != 0) {
            remove_blocks(memory, &pieces[i].key);
        }
        if (nodes[i]) {
            nodes[i]->retention_s = vv_memory_retention_s(memory, pieces[i].key.partition.tenant);
            free(vv_memory_map_link(&memory->blocks, nodes[i]));
        }
    }
    vv_memory_end(memory);
    status = nodes ? VV_OK : no_memory(error);
    free(nodes);
    return status;
}
