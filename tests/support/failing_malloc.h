/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fails chosen allocations of the program under test. A test that includes this is linked so that
 * malloc, calloc, realloc and aligned_alloc of Varve's own code (not of shared libraries) come
 * here. One thread counts; include it in one source of a test only.
 */
#ifndef TESTS_SUPPORT_FAILING_MALLOC_H
#define TESTS_SUPPORT_FAILING_MALLOC_H

#include <stdbool.h>
#include <stddef.h>

/* How many more allocations succeed; negative: all. Once one has failed, all do until reset. */
static long failing_malloc_left = -1;
static bool failing_malloc_hit;

static inline void failing_malloc_after(long successes)
{
    failing_malloc_left = successes;
    failing_malloc_hit = false;
}

static inline void failing_malloc_stop(void)
{
    failing_malloc_left = -1;
}

static inline bool failing_malloc_now(void)
{
    if (failing_malloc_left < 0) {
        return false;
    }
    if (failing_malloc_left == 0) {
        failing_malloc_hit = true;
        return true;
    }
    failing_malloc_left--;
    return false;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

void *__wrap_malloc(size_t size)
{
    return failing_malloc_now() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return failing_malloc_now() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
    return failing_malloc_now() ? NULL : __real_realloc(memory, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return failing_malloc_now() ? NULL : __real_aligned_alloc(alignment, size);
}

#endif
