/* SPDX-License-Identifier: Apache-2.0 */
/* Failing allocations: the functions that the linker's --wrap puts in place of malloc and others.
 */
#include "simulation/sim_memory.h"

#include "base/status.h"

static _Thread_local uint64_t countdown;
static _Thread_local bool failed;
static _Thread_local size_t largest;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

void vv_sim_memory_fail(uint64_t k)
{
    countdown = k;
    failed = false;
}

bool vv_sim_memory_failed(void)
{
    countdown = 0;
    return failed;
}

uint64_t vv_sim_memory_pause(void)
{
    uint64_t paused = countdown;
    countdown = 0;
    return paused;
}

void vv_sim_memory_resume(uint64_t paused)
{
    countdown = paused;
}

size_t vv_sim_memory_largest(void)
{
    size_t size = largest;
    largest = 0;
    return size;
}

static bool fails(size_t size)
{
    largest = size > largest ? size : largest;
    if (countdown == 0 || --countdown > 0) {
        return false;
    }
    failed = true;
    return true;
}

void *__wrap_malloc(size_t size)
{
    return fails(size) ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails(count * size) ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
    return fails(size) ? NULL : __real_realloc(memory, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return fails(size) ? NULL : __real_aligned_alloc(alignment, size);
}

void *vv_sim_malloc(size_t size)
{
    void *memory = __real_malloc(size);
    vv_invariant(memory);
    return memory;
}

void *vv_sim_calloc(size_t count, size_t size)
{
    void *memory = __real_calloc(count, size);
    vv_invariant(memory);
    return memory;
}

void *vv_sim_realloc(void *memory, size_t size)
{
    void *moved = __real_realloc(memory, size);
    vv_invariant(moved);
    return moved;
}
