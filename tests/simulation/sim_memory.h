/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes allocations fail on request. The linker leads every malloc, calloc, realloc and
 * aligned_alloc of the test program and of Varve's libraries (not of others) through here. For the
 * thread that asks only.
 */
#ifndef VV_SIMULATION_SIM_MEMORY_H
#define VV_SIMULATION_SIM_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The k-th allocation of this thread from now on (1: the next) gives NULL, once; 0: none does. */
void vv_sim_memory_fail(uint64_t k);
/* Whether the failure that was asked for has happened; asks for no more. A loop over k ends with
 * the first k for which it has not. */
bool vv_sim_memory_failed(void);

/* None of this thread's fails until vv_sim_memory_resume gets what this gave; they may be nested.
 */
uint64_t vv_sim_memory_pause(void);
void vv_sim_memory_resume(uint64_t paused);

/* How large the largest allocation of this thread was since this was called last. */
size_t vv_sim_memory_largest(void);

/* For the simulation itself: they are not made to fail, and end the test when memory is out. */
void *vv_sim_malloc(size_t size);
void *vv_sim_calloc(size_t count, size_t size);
void *vv_sim_realloc(void *memory, size_t size);

#endif
