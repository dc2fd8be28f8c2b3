/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The statistics of a column: computing, writing and reading them.
 *
 * Private to lib/codec.
 */
#ifndef VV_CODEC_STATS_H
#define VV_CODEC_STATS_H

#include "block.h"
#include "bytes.h"

/* Of the present values, in row order. */
void vv_stats_compute(enum vv_value_type type, const uint64_t *values, size_t count,
                      struct vv_block_stats *stats_out);

void vv_stats_write(enum vv_value_type type, const struct vv_block_stats *stats, size_t n_present,
                    struct vv_writer *writer);

/* On failure the reader has failed. */
bool vv_stats_read(enum vv_value_type type, bool any_present, struct vv_reader *reader,
                   struct vv_block_stats *stats_out);

#endif
