/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One column: head, statistics, presence and the present values, as integers, as the bits of
 * doubles or as decimals.
 *
 * Private to lib/codec.
 */
#ifndef VV_CODEC_COLUMN_H
#define VV_CODEC_COLUMN_H

#include "block.h"
#include "bytes.h"
#include "scratch.h"

enum vv_block_status vv_column_encode(struct vv_scratch *scratch,
                                      const struct vv_block_options *options,
                                      const struct vv_column *column, size_t n_rows,
                                      struct vv_writer *writer);

/* Reads what stands before the values; bytes up to the reader's end are the column's. */
enum vv_block_status vv_column_describe(struct vv_reader *reader, bool has_stats,
                                        struct vv_block_column *column_out);

/* Decodes a described column; see vv_block_values(). */
enum vv_block_status vv_column_decode(struct vv_scratch *scratch,
                                      const struct vv_block_column *column, size_t n_rows,
                                      uint64_t *values_out, uint8_t *present_out);

#endif
