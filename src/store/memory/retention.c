/* SPDX-License-Identifier: Apache-2.0 */
/* Retention in the memory store: classes, eras, moving and expiring. */
#include "store/memory/memory.h"

#include <stdlib.h>

/* The tenant's entry, made when missing; NULL when memory is out. */
static struct vv_memory_tenant *tenant_entry(struct vv_memory_store *memory, uint32_t tenant)
{
    for (size_t i = 0; i < memory->n_tenants; i++) {
        if (memory->tenants[i].tenant == tenant) {
            return &memory->tenants[i];
        }
    }
    if (memory->n_tenants == memory->tenants_capacity) {
        size_t capacity = memory->tenants_capacity ? memory->tenants_capacity * 2 : 8;
        struct vv_memory_tenant *tenants = realloc(memory->tenants, capacity * sizeof *tenants);
        if (!tenants) {
            return NULL;
        }
        memory->tenants = tenants;
        memory->tenants_capacity = capacity;
    }
    memory->tenants[memory->n_tenants] = (struct vv_memory_tenant){tenant, 0};
    return &memory->tenants[memory->n_tenants++];
}

enum vv_status vv_memory_set_retention(struct vv_store *store, uint32_t tenant,
                                       int64_t retention_ns, struct vv_error *error)
{
    if (retention_ns < 0) {
        return vv_error_set(error, VV_INVALID, "a retention must not be negative");
    }
    struct vv_memory_store *memory = vv_memory_of(store);
    enum vv_status status = vv_memory_begin(memory, error);
    if (status != VV_OK) {
        return status;
    }
    struct vv_memory_tenant *entry = tenant_entry(memory, tenant);
    if (entry) {
        entry->retention_s = vv_era_retention_s(retention_ns);
        memory->moving = true;
    } else {
        status = vv_error_set(error, VV_NO_MEMORY, "no memory for another tenant's retention");
    }
    vv_memory_end(memory);
    return status;
}

/* The eras that were seen in one pass. */
struct era_list {
    struct vv_era *eras;
    size_t n;
    size_t capacity;
    bool failed;
};

static void era_list_add(struct era_list *list, struct vv_era era)
{
    for (size_t i = 0; i < list->n; i++) {
        if (list->eras[i].retention_s == era.retention_s && list->eras[i].start_s == era.start_s) {
            return;
        }
    }
    if (list->n == list->capacity) {
        size_t capacity = list->capacity ? list->capacity * 2 : 16;
        struct vv_era *eras = realloc(list->eras, capacity * sizeof *eras);
        if (!eras) {
            list->failed = true;
            return;
        }
        list->eras = eras;
        list->capacity = capacity;
    }
    list->eras[list->n++] = era;
}

static struct vv_partition partition_of(const struct vv_memory_node *block)
{
    struct vv_piece piece;
    vv_key_to_block((const uint8_t *)block->key.data, &piece);
    return piece.key.partition;
}

/* Puts whole spans into their tenant's class until the work is done; drops what is too old for it.
 * Returns whether there is more. */
static bool move_blocks(struct vv_memory_store *memory, int64_t now_ns, uint64_t work_bytes)
{
    uint64_t done = 0;
    char span[VV_KEY_SPAN_SIZE] = {0}; /* that is being moved, once something is done */
    struct vv_memory_node *next;
    for (struct vv_memory_node *node = memory->blocks.first[0]; node; node = next) {
        next = node->next[0];
        struct vv_partition partition = partition_of(node);
        int64_t retention_s = vv_memory_retention_s(memory, partition.tenant);
        if (node->retention_s == retention_s) {
            continue;
        }
        bool begun = done > 0 && memcmp(node->key.data, span, sizeof span) == 0;
        if (done >= work_bytes && !begun) {
            return true;
        }
        done += node->key.size + node->value.size;
        memcpy(span, node->key.data, sizeof span);
        if (vv_era_bucket_expired(&partition, retention_s, now_ns)) {
            free(vv_memory_map_unlink(&memory->blocks, node->key));
        } else {
            node->retention_s = retention_s;
        }
    }
    return false;
}

static void drop_expired(struct vv_memory_store *memory, int64_t now_ns, struct era_list *dropped)
{
    struct vv_memory_node *next;
    for (struct vv_memory_node *node = memory->blocks.first[0]; node; node = next) {
        next = node->next[0];
        struct vv_partition partition = partition_of(node);
        struct vv_era era = vv_era_of(node->retention_s, memory->eras, &partition);
        bool at_home = vv_memory_retention_s(memory, partition.tenant) == node->retention_s;
        if (at_home && vv_era_expired(&era, memory->eras, now_ns)) {
            era_list_add(dropped, era);
            free(vv_memory_map_unlink(&memory->blocks, node->key));
        }
    }
}

enum vv_status vv_memory_expire(struct vv_store *store, int64_t now_ns, uint64_t work_bytes,
                                bool *more_out, struct vv_error *error)
{
    *more_out = false;
    struct vv_memory_store *memory = vv_memory_of(store);
    enum vv_status status = vv_memory_begin(memory, error);
    if (status != VV_OK) {
        return status;
    }
    if (memory->moving) {
        memory->moving = move_blocks(memory, now_ns, work_bytes);
        *more_out = memory->moving;
    }
    struct era_list dropped = {0};
    drop_expired(memory, now_ns, &dropped);
    memory->eras_expired += dropped.n;
    free(dropped.eras);
    vv_memory_end(memory);
    return VV_OK;
}

void vv_memory_read_figures(struct vv_store *store, struct vv_store_figures *figures_out)
{
    struct vv_memory_store *memory = vv_memory_of(store);
    struct era_list eras = {0};
    pthread_rwlock_rdlock(&memory->lock);
    for (struct vv_memory_node *node = memory->blocks.first[0]; node; node = node->next[0]) {
        struct vv_partition partition = partition_of(node);
        era_list_add(&eras, vv_era_of(node->retention_s, memory->eras, &partition));
    }
    *figures_out = (struct vv_store_figures){
        .memory_bytes = memory->runs.bytes + memory->blocks.bytes + memory->marks.bytes +
                        memory->meta.bytes + memory->changes_capacity * sizeof memory->changes[0],
        .eras = eras.n,
        .eras_expired = memory->eras_expired,
        .recoveries = memory->recoveries,
    };
    pthread_rwlock_unlock(&memory->lock);
    free(eras.eras);
}
