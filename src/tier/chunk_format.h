/* SPDX-License-Identifier: Apache-2.0 */
/* What writing and reading of chunks share; the format is described in chunk.h. Private to
 * src/tier. */
#ifndef VV_TIER_CHUNK_FORMAT_H
#define VV_TIER_CHUNK_FORMAT_H

#include "tier/chunk.h"

#define VV_CHUNK_MAGIC_0       0x56u
#define VV_CHUNK_MAGIC_1       0x54u
#define VV_CHUNK_VERSION       3u
#define VV_CHUNK_VERSION_OLD   2u /* read as well: it has no VV_CHUNK_TYPE_WHOLE */
#define VV_CHUNK_FLAG_SKETCHES 0x01u
#define VV_CHUNK_CHECKSUM_SIZE 8u

#define VV_CHUNK_TYPE_INTEGER 0x01u
#define VV_CHUNK_TYPE_WIDE    0x02u
#define VV_CHUNK_TYPE_WHOLE   0x04u
#define VV_CHUNK_TYPE_BITS    0x07u

#define VV_CHUNK_SKETCHES_PLAIN 0u
#define VV_CHUNK_SKETCHES_ZSTD  1u

/* The columns of a metric, in their order. */
enum vv_chunk_column {
    VV_CHUNK_COUNT,
    VV_CHUNK_SUM,
    VV_CHUNK_SUM_HIGH, /* of metrics with VV_CHUNK_TYPE_WIDE */
    VV_CHUNK_MIN,
    VV_CHUNK_MAX,
    VV_CHUNK_FIRST,
    VV_CHUNK_LAST,
    VV_CHUNK_FIRST_TIME,
    VV_CHUNK_LAST_TIME,
    VV_CHUNK_SQUARES,
};
#define VV_CHUNK_COLUMNS 10u

_Static_assert(VV_CHUNK_METRICS_MAX *VV_CHUNK_COLUMNS <= VV_BLOCK_COLUMNS_MAX, "they fit a block");
_Static_assert(VV_CHUNK_STEPS_MAX <= VV_BLOCK_ROWS_MAX, "they fit a block");

static inline enum vv_status vv_chunk_corrupt(struct vv_error *error)
{
    return vv_error_set(error, VV_CORRUPT, "a chunk of steps is damaged");
}

/* How many columns a metric with these type bits has. */
static inline uint32_t vv_chunk_columns(uint8_t type)
{
    return type & VV_CHUNK_TYPE_WIDE ? VV_CHUNK_COLUMNS : VV_CHUNK_COLUMNS - 1;
}

/* A column's type in the block. */
static inline enum vv_value_type vv_chunk_column_type(enum vv_chunk_column column, uint8_t type)
{
    switch (column) {
    case VV_CHUNK_COUNT:
    case VV_CHUNK_SUM_HIGH:
    case VV_CHUNK_FIRST_TIME:
    case VV_CHUNK_LAST_TIME:
        return VV_INT64;
    case VV_CHUNK_SQUARES:
        return type & VV_CHUNK_TYPE_WHOLE ? VV_INT64 : VV_FLOAT64;
    default:
        return type & VV_CHUNK_TYPE_INTEGER ? VV_INT64 : VV_FLOAT64;
    }
}

#endif
