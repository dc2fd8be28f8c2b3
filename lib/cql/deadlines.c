/* SPDX-License-Identifier: Apache-2.0 */
/* A binary heap; the children of place p are at 2p and 2p + 1, the earliest deadline is at 1. */
#include "deadlines.h"

#include <stdlib.h>

static struct vvcql_deadline **slot(struct vvcql_deadlines *deadlines, size_t place)
{
    return &deadlines->heap_[place - 1];
}

static void put(struct vvcql_deadlines *deadlines, size_t place, struct vvcql_deadline *deadline)
{
    *slot(deadlines, place) = deadline;
    deadline->place_ = place;
}

/* Finds the deadline's place from where it is, or from a hole at `place`. */
static void move_up(struct vvcql_deadlines *deadlines, size_t place,
                    struct vvcql_deadline *deadline)
{
    while (place > 1 && (*slot(deadlines, place / 2))->at_ms > deadline->at_ms) {
        put(deadlines, place, *slot(deadlines, place / 2));
        place /= 2;
    }
    put(deadlines, place, deadline);
}

static void move_down(struct vvcql_deadlines *deadlines, size_t place,
                      struct vvcql_deadline *deadline)
{
    for (size_t child = place * 2; child <= deadlines->n; child = place * 2) {
        if (child < deadlines->n &&
            (*slot(deadlines, child + 1))->at_ms < (*slot(deadlines, child))->at_ms) {
            child++;
        }
        if ((*slot(deadlines, child))->at_ms >= deadline->at_ms) {
            break;
        }
        put(deadlines, place, *slot(deadlines, child));
        place = child;
    }
    put(deadlines, place, deadline);
}

static void settle(struct vvcql_deadlines *deadlines, size_t place, struct vvcql_deadline *deadline)
{
    if (place > 1 && (*slot(deadlines, place / 2))->at_ms > deadline->at_ms) {
        move_up(deadlines, place, deadline);
    } else {
        move_down(deadlines, place, deadline);
    }
}

static bool grow(struct vvcql_deadlines *deadlines)
{
    size_t capacity = deadlines->capacity_ == 0 ? 16 : deadlines->capacity_ * 2;
    if (capacity > SIZE_MAX / sizeof *deadlines->heap_) {
        return false;
    }
    struct vvcql_deadline **heap = realloc(deadlines->heap_, capacity * sizeof *deadlines->heap_);
    if (heap == NULL) {
        return false;
    }
    deadlines->heap_ = heap;
    deadlines->capacity_ = capacity;
    return true;
}

void vvcql_deadlines_deinit(struct vvcql_deadlines *deadlines)
{
    for (size_t i = 0; i < deadlines->n; i++) {
        deadlines->heap_[i]->place_ = 0;
    }
    free(deadlines->heap_);
    *deadlines = (struct vvcql_deadlines){0};
}

bool vvcql_deadline_set(struct vvcql_deadlines *deadlines, struct vvcql_deadline *deadline,
                        uint64_t at_ms)
{
    if (deadline->place_ != 0) {
        deadline->at_ms = at_ms;
        settle(deadlines, deadline->place_, deadline);
        return true;
    }
    if (deadlines->n == deadlines->capacity_ && !grow(deadlines)) {
        return false;
    }
    deadline->at_ms = at_ms;
    deadlines->n++;
    move_up(deadlines, deadlines->n, deadline);
    return true;
}

void vvcql_deadline_clear(struct vvcql_deadlines *deadlines, struct vvcql_deadline *deadline)
{
    size_t place = deadline->place_;
    if (place == 0) {
        return;
    }
    deadline->place_ = 0;
    struct vvcql_deadline *last = *slot(deadlines, deadlines->n);
    deadlines->n--;
    if (last != deadline) {
        settle(deadlines, place, last);
    }
}

void vvcql_deadlines_run(struct vvcql_deadlines *deadlines, uint64_t now_ms)
{
    while (deadlines->n > 0 && deadlines->heap_[0]->at_ms <= now_ms) {
        struct vvcql_deadline *deadline = deadlines->heap_[0];
        vvcql_deadline_clear(deadlines, deadline);
        deadline->expired(deadline);
    }
}

uint64_t vvcql_deadlines_next(const struct vvcql_deadlines *deadlines)
{
    return deadlines->n == 0 ? UINT64_MAX : deadlines->heap_[0]->at_ms;
}
