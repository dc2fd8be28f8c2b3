/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hash tables from text to number. They hold a part of the hash and the number; the text is
 * compared by the caller's function, where the object has it.
 *
 * Two kinds: `names` only grow, and are read without a lock while one thread adds (under a lock of
 * the caller's); outgrown tables are kept until the end, which together are smaller than the one
 * in use. `slots` are under the caller's lock in all and can forget.
 *
 * Hashes are keyed with a secret, so that no client can choose texts that collide.
 */
#ifndef VV_REGISTRY_NAMES_H
#define VV_REGISTRY_NAMES_H

#include "base/bytes.h"

#include <stdatomic.h>

#define VV_HASH_SECRET_SIZE 192
#define VV_NAME_NONE        UINT32_MAX

/* Fills a secret from the system's random source. VV_IO. */
VV_MUST_CHECK enum vv_status vv_hash_secret(uint8_t secret_out[VV_HASH_SECRET_SIZE]);
/* The owner (a tenant, a key …) is part of what is hashed. */
uint64_t vv_hash(const uint8_t secret[VV_HASH_SECRET_SIZE], uint32_t owner, struct vv_str text);

/* Whether the object with this number is the one that is looked for. */
typedef bool (*vv_name_is)(const void *context, uint32_t number);

struct vv_name_table {
    struct vv_name_table *older;
    size_t capacity;
    _Atomic uint64_t slots[]; /* low half of the hash, number + 1; 0: free */
};

/* Zero-initialised is empty and valid. */
struct vv_names {
    size_t count;
    _Atomic(struct vv_name_table *) table;
    _Atomic size_t bytes;
};

void vv_names_deinit(struct vv_names *names);
/* VV_NAME_NONE when it is not there. Any thread. */
uint32_t vv_names_find(const struct vv_names *names, uint64_t hash, vv_name_is is,
                       const void *context);
/* Makes sure that the next add succeeds; false when memory is out. */
bool vv_names_reserve(struct vv_names *names);
void vv_names_add(struct vv_names *names, uint64_t hash, uint32_t number);

/* Zero-initialised is empty and valid. */
struct vv_slots {
    uint64_t *slots;
    size_t capacity;
    size_t count;
};

void vv_slots_deinit(struct vv_slots *slots);
uint32_t vv_slots_find(const struct vv_slots *slots, uint64_t hash, vv_name_is is,
                       const void *context);
bool vv_slots_reserve(struct vv_slots *slots);
void vv_slots_add(struct vv_slots *slots, uint64_t hash, uint32_t number);
/* Forgets a number that is there. hash: its low 32 bits are enough. */
void vv_slots_remove(struct vv_slots *slots, uint64_t hash, uint32_t number);
static inline size_t vv_slots_bytes(const struct vv_slots *slots)
{
    return slots->capacity * sizeof *slots->slots;
}

#endif
