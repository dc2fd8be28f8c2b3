/* SPDX-License-Identifier: Apache-2.0 */
/* For qsort and bsearch. */
#ifndef VV_BASE_COMPARE_H
#define VV_BASE_COMPARE_H

#include <stdint.h>

static inline int vv_compare_u32(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a;
    uint32_t right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

#endif
