/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An arena: many small allocations that are freed together. Memory comes in chunks that double up
 * to a maximum; nothing moves once it is handed out, so other threads may read what they were
 * given while the owner allocates more. One thread allocates.
 */
#ifndef VV_BASE_ARENA_H
#define VV_BASE_ARENA_H

#include "base/bytes.h"

struct vv_arena_chunk;

/* Zero-initialised is empty and valid. */
struct vv_arena {
    struct vv_arena_chunk *chunks;
    uint8_t *next;
    size_t left;
    size_t bytes; /* all memory held, for accounting */
};

void vv_arena_deinit(struct vv_arena *arena);
/* 8-byte aligned, not zeroed; NULL when memory is out. */
void *vv_arena_alloc(struct vv_arena *arena, size_t size);
void *vv_arena_zalloc(struct vv_arena *arena, size_t size);
/* A zero-terminated copy; data is NULL when memory is out. */
struct vv_str vv_arena_str(struct vv_arena *arena, struct vv_str text);

#endif
