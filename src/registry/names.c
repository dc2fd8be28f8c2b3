/* SPDX-License-Identifier: Apache-2.0 */
/* Hash tables from text to number: open addressing, linear probing, at most three quarters full. */
#include "registry/names.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>
#include <xxhash.h>

#define CAPACITY_MIN 16

_Static_assert(VV_HASH_SECRET_SIZE >= XXH3_SECRET_SIZE_MIN, "the secret is long enough");

enum vv_status vv_hash_secret(uint8_t secret_out[VV_HASH_SECRET_SIZE])
{
    size_t filled = 0;
    while (filled < VV_HASH_SECRET_SIZE) {
        ssize_t n = getrandom(secret_out + filled, VV_HASH_SECRET_SIZE - filled, 0);
        if (n < 0 && errno != EINTR) {
            return VV_IO;
        }
        filled += n > 0 ? (size_t)n : 0;
    }
    return VV_OK;
}

uint64_t vv_hash(const uint8_t secret[VV_HASH_SECRET_SIZE], uint32_t owner, struct vv_str text)
{
    uint64_t key;
    memcpy(&key, secret, sizeof key);
    uint64_t hash = XXH3_64bits_withSecret(text.data, text.size, secret, VV_HASH_SECRET_SIZE);
    hash ^= (key ^ owner) * UINT64_C(0x9E3779B97F4A7C15);
    hash *= UINT64_C(0xD6E8FEB86659FD93);
    return hash ^ hash >> 32;
}

static uint64_t slot_of(uint64_t hash, uint32_t number)
{
    return (hash & UINT32_MAX) << 32 | (number + 1);
}

static bool slot_matches(uint64_t slot, uint64_t hash)
{
    return slot >> 32 == (hash & UINT32_MAX);
}

static uint32_t slot_number(uint64_t slot)
{
    return (uint32_t)slot - 1;
}

static bool is_full(size_t count, size_t capacity)
{
    return count + 1 > capacity - capacity / 4;
}

/* ---- names ---- */

void vv_names_deinit(struct vv_names *names)
{
    struct vv_name_table *table = atomic_load_explicit(&names->table, memory_order_relaxed);
    while (table) {
        struct vv_name_table *older = table->older;
        free(table);
        table = older;
    }
    atomic_store_explicit(&names->table, NULL, memory_order_relaxed);
}

uint32_t vv_names_find(const struct vv_names *names, uint64_t hash, vv_name_is is,
                       const void *context)
{
    struct vv_name_table *table = atomic_load_explicit(&names->table, memory_order_acquire);
    if (!table) {
        return VV_NAME_NONE;
    }
    size_t mask = table->capacity - 1;
    for (size_t at = (uint32_t)hash & mask;; at = (at + 1) & mask) {
        uint64_t slot = atomic_load_explicit(&table->slots[at], memory_order_acquire);
        if (slot == 0) {
            return VV_NAME_NONE;
        }
        if (slot_matches(slot, hash) && is(context, slot_number(slot))) {
            return slot_number(slot);
        }
    }
}

static void table_put(struct vv_name_table *table, uint64_t slot)
{
    size_t mask = table->capacity - 1;
    size_t at = (slot >> 32) & mask;
    while (atomic_load_explicit(&table->slots[at], memory_order_relaxed)) {
        at = (at + 1) & mask;
    }
    atomic_store_explicit(&table->slots[at], slot, memory_order_release);
}

bool vv_names_reserve(struct vv_names *names)
{
    struct vv_name_table *table = atomic_load_explicit(&names->table, memory_order_relaxed);
    if (table && !is_full(names->count, table->capacity)) {
        return true;
    }
    size_t capacity = table ? table->capacity * 2 : CAPACITY_MIN;
    size_t bytes = sizeof *table + capacity * sizeof table->slots[0];
    struct vv_name_table *larger = calloc(1, bytes);
    if (!larger) {
        return false;
    }
    larger->capacity = capacity;
    larger->older = table;
    for (size_t i = 0; table && i < table->capacity; i++) {
        uint64_t slot = atomic_load_explicit(&table->slots[i], memory_order_relaxed);
        if (slot) {
            table_put(larger, slot);
        }
    }
    atomic_store_explicit(&names->table, larger, memory_order_release);
    atomic_fetch_add_explicit(&names->bytes, bytes, memory_order_relaxed);
    return true;
}

void vv_names_add(struct vv_names *names, uint64_t hash, uint32_t number)
{
    struct vv_name_table *table = atomic_load_explicit(&names->table, memory_order_relaxed);
    vv_invariant(table && !is_full(names->count, table->capacity));
    table_put(table, slot_of(hash, number));
    names->count++;
}

/* ---- slots ---- */

void vv_slots_deinit(struct vv_slots *slots)
{
    free(slots->slots);
    *slots = (struct vv_slots){0};
}

uint32_t vv_slots_find(const struct vv_slots *slots, uint64_t hash, vv_name_is is,
                       const void *context)
{
    size_t mask = slots->capacity - 1;
    for (size_t at = (uint32_t)hash & mask; slots->capacity; at = (at + 1) & mask) {
        uint64_t slot = slots->slots[at];
        if (slot == 0) {
            break;
        }
        if (slot_matches(slot, hash) && is(context, slot_number(slot))) {
            return slot_number(slot);
        }
    }
    return VV_NAME_NONE;
}

static void slots_put(struct vv_slots *slots, uint64_t slot)
{
    size_t mask = slots->capacity - 1;
    size_t at = (slot >> 32) & mask;
    while (slots->slots[at]) {
        at = (at + 1) & mask;
    }
    slots->slots[at] = slot;
}

bool vv_slots_reserve(struct vv_slots *slots)
{
    if (slots->capacity && !is_full(slots->count, slots->capacity)) {
        return true;
    }
    size_t capacity = slots->capacity ? slots->capacity * 2 : CAPACITY_MIN;
    struct vv_slots larger = {calloc(capacity, sizeof *larger.slots), capacity, slots->count};
    if (!larger.slots) {
        return false;
    }
    for (size_t i = 0; i < slots->capacity; i++) {
        if (slots->slots[i]) {
            slots_put(&larger, slots->slots[i]);
        }
    }
    free(slots->slots);
    *slots = larger;
    return true;
}

void vv_slots_add(struct vv_slots *slots, uint64_t hash, uint32_t number)
{
    vv_invariant(slots->capacity && !is_full(slots->count, slots->capacity));
    slots_put(slots, slot_of(hash, number));
    slots->count++;
}

void vv_slots_remove(struct vv_slots *slots, uint64_t hash, uint32_t number)
{
    size_t mask = slots->capacity - 1;
    size_t at = (uint32_t)hash & mask;
    while (slots->slots[at] != slot_of(hash, number)) {
        vv_invariant(slots->slots[at]);
        at = (at + 1) & mask;
    }
    /* What follows moves up, unless it would come before its own place. */
    for (size_t next = (at + 1) & mask; slots->slots[next]; next = (next + 1) & mask) {
        size_t home = (slots->slots[next] >> 32) & mask;
        if (((next - home) & mask) >= ((next - at) & mask)) {
            slots->slots[at] = slots->slots[next];
            at = next;
        }
    }
    slots->slots[at] = 0;
    slots->count--;
}
