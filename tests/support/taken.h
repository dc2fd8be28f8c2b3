/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of random histories share: the times of the points that were taken and not deleted
 * since, each once. */
#ifndef TESTS_SUPPORT_TAKEN_H
#define TESTS_SUPPORT_TAKEN_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define TAKEN_MAX 8192

struct taken {
    int64_t times[TAKEN_MAX];
    size_t n;
};

static inline void taken_add(struct taken *taken, int64_t from, int64_t apart_ns, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        assert(taken->n < TAKEN_MAX);
        taken->times[taken->n++] = from + (int64_t)i * apart_ns;
    }
}

/* What is in [from, to) is deleted. */
static inline void taken_forget(struct taken *taken, int64_t from, int64_t to)
{
    size_t kept = 0;
    for (size_t i = 0; i < taken->n; i++) {
        if (taken->times[i] < from || taken->times[i] >= to) {
            taken->times[kept++] = taken->times[i];
        }
    }
    taken->n = kept;
}

#endif
