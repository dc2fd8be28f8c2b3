/* SPDX-License-Identifier: Apache-2.0 */
/* The memory store: its life, its log of changes, and failures made to order. */
#include "store/memory/memory.h"

#include <stdlib.h>

static enum vv_status fail_if_told(struct vv_memory_store *memory, struct vv_error *error)
{
    if (memory->fail_left > 0 && memory->fail_wait > 0) {
        memory->fail_wait--;
        return VV_OK;
    }
    if (memory->fail_left == 0) {
        return VV_OK;
    }
    memory->fail_left--;
    if (memory->fail_status == VV_IO || memory->fail_status == VV_FULL) {
        memory->broken = true;
    }
    return vv_error_set(error, memory->fail_status, "the memory store was told to fail");
}

enum vv_status vv_memory_begin_recover(struct vv_memory_store *memory, struct vv_error *error)
{
    pthread_rwlock_wrlock(&memory->lock);
    enum vv_status status = fail_if_told(memory, error);
    if (status != VV_OK) {
        pthread_rwlock_unlock(&memory->lock);
    }
    return status;
}

enum vv_status vv_memory_begin(struct vv_memory_store *memory, struct vv_error *error)
{
    enum vv_status status = vv_memory_begin_recover(memory, error);
    if (status == VV_OK && memory->broken) {
        pthread_rwlock_unlock(&memory->lock);
        status = vv_error_set(error, VV_IO, "an earlier write failed: recover the store first");
    }
    return status;
}

void vv_memory_end(struct vv_memory_store *memory)
{
    pthread_rwlock_unlock(&memory->lock);
}

void vv_memory_undo(struct vv_memory_store *memory, size_t keep)
{
    while (memory->n_changes > keep) {
        struct vv_memory_change *change = &memory->changes[--memory->n_changes];
        if (change->added) {
            free(vv_memory_map_unlink(change->map, change->added->key));
        }
        if (change->removed) {
            struct vv_memory_node *replaced = vv_memory_map_link(change->map, change->removed);
            vv_invariant(replaced == NULL);
        }
    }
}

void vv_memory_settle(struct vv_memory_store *memory)
{
    for (size_t i = 0; i < memory->n_changes; i++) {
        free(memory->changes[i].removed);
    }
    memory->n_changes = 0;
}

int64_t vv_memory_retention_s(const struct vv_memory_store *memory, uint32_t tenant)
{
    for (size_t i = 0; i < memory->n_tenants; i++) {
        if (memory->tenants[i].tenant == tenant) {
            return memory->tenants[i].retention_s;
        }
    }
    return 0;
}

static enum vv_status memory_confirm(struct vv_store *store, struct vv_error *error)
{
    struct vv_memory_store *memory = vv_memory_of(store);
    enum vv_status status = vv_memory_begin(memory, error);
    if (status != VV_OK) {
        return status;
    }
    vv_memory_settle(memory);
    vv_memory_end(memory);
    return VV_OK;
}

static enum vv_status memory_recover(struct vv_store *store, struct vv_error *error)
{
    struct vv_memory_store *memory = vv_memory_of(store);
    enum vv_status status = vv_memory_begin_recover(memory, error);
    if (status != VV_OK) {
        return status;
    }
    if (memory->broken) {
        vv_memory_undo(memory, 0);
        memory->broken = false;
        memory->recoveries++;
    }
    vv_memory_end(memory);
    return VV_OK;
}

static void memory_close(struct vv_store *store)
{
    struct vv_memory_store *memory = vv_memory_of(store);
    vv_memory_settle(memory);
    vv_memory_map_clear(&memory->runs);
    vv_memory_map_clear(&memory->blocks);
    vv_memory_map_clear(&memory->marks);
    vv_memory_map_clear(&memory->meta);
    free(memory->changes);
    free(memory->tenants);
    pthread_rwlock_destroy(&memory->lock);
    free(memory);
}

static const struct vv_store_ops memory_ops = {
    .close = memory_close,
    .put_run = vv_memory_put_run,
    .put_mark = vv_memory_put_mark,
    .put_meta = vv_memory_put_meta,
    .remove_meta = vv_memory_remove_meta,
    .confirm = memory_confirm,
    .put_blocks = vv_memory_put_blocks,
    .remove_runs = vv_memory_remove_runs,
    .retire_marks = vv_memory_retire_marks,
    .set_retention = vv_memory_set_retention,
    .expire = vv_memory_expire,
    .recover = memory_recover,
    .read = vv_memory_read,
    .nearest = vv_memory_nearest,
    .scan_marks = vv_memory_scan_marks,
    .get_meta = vv_memory_get_meta,
    .scan_meta = vv_memory_scan_meta,
    .read_figures = vv_memory_read_figures,
    .buckets_max = 4,
};

enum vv_status vv_store_memory_open(const struct vv_store_options *options,
                                    struct vv_store **store_out, struct vv_error *error)
{
    int eras = vv_era_count(options->eras);
    struct vv_memory_store *memory = calloc(1, sizeof *memory);
    if (!memory || pthread_rwlock_init(&memory->lock, NULL) != 0) {
        free(memory);
        return vv_error_set(error, VV_NO_MEMORY, "no memory to open the memory store");
    }
    memory->store.ops = &memory_ops;
    memory->eras = eras;
    *store_out = &memory->store;
    return VV_OK;
}

void vv_store_memory_crash(struct vv_store *store, uint64_t seed)
{
    struct vv_memory_store *memory = vv_memory_of(store);
    vv_invariant(store->ops == &memory_ops);
    struct vv_random random = {seed};
    pthread_rwlock_wrlock(&memory->lock);
    vv_memory_undo(memory, (size_t)vv_random_below(&random, memory->n_changes + 1));
    vv_memory_settle(memory);
    memory->broken = false;
    pthread_rwlock_unlock(&memory->lock);
}

void vv_store_memory_fail(struct vv_store *store, enum vv_status status, uint32_t n)
{
    vv_store_memory_fail_later(store, status, 0, n);
}

void vv_store_memory_fail_later(struct vv_store *store, enum vv_status status, uint32_t wait,
                                uint32_t n)
{
    struct vv_memory_store *memory = vv_memory_of(store);
    vv_invariant(store->ops == &memory_ops);
    pthread_rwlock_wrlock(&memory->lock);
    memory->fail_status = status;
    memory->fail_left = n;
    memory->fail_wait = wait;
    pthread_rwlock_unlock(&memory->lock);
}
