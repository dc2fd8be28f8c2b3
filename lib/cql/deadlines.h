/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deadlines of many requests behind one timer: a binary heap of entries that live in their owners.
 * Takes the time as an argument. Belongs to one thread.
 */
#ifndef VVCQL_DEADLINES_H
#define VVCQL_DEADLINES_H

#include "types.h"

struct vvcql_deadline {
    void (*expired)(struct vvcql_deadline *deadline); /* set by the owner, once */
    uint64_t at_ms;
    size_t place_; /* in the heap, from 1; 0: not set. Zero-initialise. */
};

/* Zero-initialised is empty. */
struct vvcql_deadlines {
    struct vvcql_deadline **heap_;
    size_t n;
    size_t capacity_;
};

/* Clears what is still set. */
void vvcql_deadlines_deinit(struct vvcql_deadlines *deadlines);
/* Sets or moves it; false: no memory, and it is not set (a deadline that is moved never fails). */
VVCQL_MUST_CHECK bool vvcql_deadline_set(struct vvcql_deadlines *deadlines,
                                         struct vvcql_deadline *deadline, uint64_t at_ms);
/* Nothing when it isn't set. */
void vvcql_deadline_clear(struct vvcql_deadlines *deadlines, struct vvcql_deadline *deadline);
/* Calls `expired` of all with at_ms <= now_ms, earliest first, cleared before their call; they may
 * set and clear any deadline, themselves too; one that is set to now_ms or before is called again
 * in the same run. */
void vvcql_deadlines_run(struct vvcql_deadlines *deadlines, uint64_t now_ms);
/* When the next one is due; UINT64_MAX when none is set. */
uint64_t vvcql_deadlines_next(const struct vvcql_deadlines *deadlines);

#endif
