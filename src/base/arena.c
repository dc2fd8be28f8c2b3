/* SPDX-License-Identifier: Apache-2.0 */
/* The arena: a list of chunks, the newest in use first. */
#include "base/arena.h"

#include <stdalign.h>
#include <stdlib.h>

#define CHUNK_SIZE_MIN ((size_t)4096)
#define CHUNK_SIZE_MAX ((size_t)1 << 20)
#define ALIGNMENT      ((size_t)8)

struct vv_arena_chunk {
    struct vv_arena_chunk *older;
    size_t size; /* with this header */
};

_Static_assert(sizeof(struct vv_arena_chunk) % 8 == 0, "what follows the header is aligned");
_Static_assert(alignof(max_align_t) >= 8, "malloc aligns to 8 bytes");

void vv_arena_deinit(struct vv_arena *arena)
{
    struct vv_arena_chunk *chunk = arena->chunks;
    while (chunk) {
        struct vv_arena_chunk *older = chunk->older;
        free(chunk);
        chunk = older;
    }
    *arena = (struct vv_arena){0};
}

static struct vv_arena_chunk *chunk_create(struct vv_arena *arena, size_t size)
{
    struct vv_arena_chunk *chunk = malloc(size);
    if (chunk) {
        chunk->older = NULL;
        chunk->size = size;
        arena->bytes += size;
    }
    return chunk;
}

/* A chunk of its own, listed behind the one in use, whose rest stays usable. */
static void *alloc_large(struct vv_arena *arena, size_t size)
{
    struct vv_arena_chunk *chunk = chunk_create(arena, sizeof *chunk + size);
    if (!chunk) {
        return NULL;
    }
    if (arena->chunks) {
        chunk->older = arena->chunks->older;
        arena->chunks->older = chunk;
    } else {
        arena->chunks = chunk;
    }
    return chunk + 1;
}

static bool add_chunk(struct vv_arena *arena)
{
    size_t size = arena->bytes < CHUNK_SIZE_MIN ? CHUNK_SIZE_MIN : CHUNK_SIZE_MIN * 2;
    while (size < CHUNK_SIZE_MAX && size < arena->bytes) {
        size *= 2;
    }
    struct vv_arena_chunk *chunk = chunk_create(arena, size);
    if (!chunk) {
        return false;
    }
    chunk->older = arena->chunks;
    arena->chunks = chunk;
    arena->next = (uint8_t *)(chunk + 1);
    arena->left = size - sizeof *chunk;
    return true;
}

void *vv_arena_alloc(struct vv_arena *arena, size_t size)
{
    if (size > SIZE_MAX / 2) {
        return NULL;
    }
    size_t rounded = size ? (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT : ALIGNMENT;
    if (rounded > arena->left) {
        if (rounded > CHUNK_SIZE_MIN / 2) {
            return alloc_large(arena, rounded);
        }
        if (!add_chunk(arena)) {
            return NULL;
        }
    }
    void *memory = arena->next;
    arena->next += rounded;
    arena->left -= rounded;
    return memory;
}

void *vv_arena_zalloc(struct vv_arena *arena, size_t size)
{
    void *memory = vv_arena_alloc(arena, size);
    if (memory) {
        memset(memory, 0, size);
    }
    return memory;
}

struct vv_str vv_arena_str(struct vv_arena *arena, struct vv_str text)
{
    char *copy = text.size < SIZE_MAX ? vv_arena_alloc(arena, text.size + 1) : NULL;
    if (!copy) {
        return (struct vv_str){NULL, 0};
    }
    if (text.size) {
        memcpy(copy, text.data, text.size);
    }
    copy[text.size] = '\0';
    return (struct vv_str){copy, text.size};
}
