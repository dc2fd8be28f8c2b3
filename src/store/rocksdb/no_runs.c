/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which sources are known to have no runs at all: in the spaces of tiers most have none, and to
 * look for them was a sixth of what reading a month of hours takes. Only a hint: what is not known
 * is looked for. A slot is that of one source, and of the one that was noted last where several
 * share it.
 *
 * Who finds nothing says so, with the count of changes from before the look; a run that was put
 * meanwhile has raised it. Any thread; runs are put by the storage thread.
 */
#include "store/rocksdb/rocksdb.h"

/* 0 is that of none. */
static uint64_t word_of(uint32_t tenant, uint32_t source)
{
    return ((uint64_t)tenant << 32 | source) + 1;
}

static struct vv_rocksdb_no_runs_slot *slot_of(struct vv_rocksdb *rocksdb, uint64_t word)
{
    uint64_t mixed = word * UINT64_C(0x9e3779b97f4a7c15); /* Fibonacci hashing, Knuth vol. 3 */
    return &rocksdb->no_runs.slots[mixed >> (64 - VV_ROCKSDB_NO_RUNS_BITS)];
}

bool vv_rocksdb_has_no_runs(struct vv_rocksdb *rocksdb, uint32_t tenant, uint32_t source)
{
    uint64_t word = word_of(tenant, source);
    struct vv_rocksdb_no_runs_slot *slot = slot_of(rocksdb, word);
    return word != 0 && atomic_load_explicit(&slot->none_of, memory_order_acquire) == word;
}

uint64_t vv_rocksdb_no_runs_changes(struct vv_rocksdb *rocksdb, uint32_t tenant, uint32_t source)
{
    struct vv_rocksdb_no_runs_slot *slot = slot_of(rocksdb, word_of(tenant, source));
    pthread_mutex_lock(&rocksdb->no_runs.lock);
    uint64_t changes = slot->changes;
    pthread_mutex_unlock(&rocksdb->no_runs.lock);
    return changes;
}

void vv_rocksdb_no_runs_found(struct vv_rocksdb *rocksdb, uint32_t tenant, uint32_t source,
                              uint64_t changes)
{
    uint64_t word = word_of(tenant, source);
    struct vv_rocksdb_no_runs_slot *slot = slot_of(rocksdb, word);
    pthread_mutex_lock(&rocksdb->no_runs.lock);
    if (slot->changes == changes) {
        atomic_store_explicit(&slot->none_of, word, memory_order_release);
    }
    pthread_mutex_unlock(&rocksdb->no_runs.lock);
}

void vv_rocksdb_no_runs_put(struct vv_rocksdb *rocksdb, uint32_t tenant, uint32_t source)
{
    uint64_t word = word_of(tenant, source);
    struct vv_rocksdb_no_runs_slot *slot = slot_of(rocksdb, word);
    pthread_mutex_lock(&rocksdb->no_runs.lock);
    slot->changes++;
    if (atomic_load_explicit(&slot->none_of, memory_order_relaxed) == word) {
        atomic_store_explicit(&slot->none_of, 0, memory_order_release);
    }
    pthread_mutex_unlock(&rocksdb->no_runs.lock);
}

void vv_rocksdb_no_runs_forget(struct vv_rocksdb *rocksdb)
{
    pthread_mutex_lock(&rocksdb->no_runs.lock);
    for (size_t i = 0; i < VV_ROCKSDB_NO_RUNS_SLOTS; i++) {
        atomic_store_explicit(&rocksdb->no_runs.slots[i].none_of, 0, memory_order_release);
    }
    pthread_mutex_unlock(&rocksdb->no_runs.lock);
}
