/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables: a sequence of few distinct numbers as the numbers and each one's place among them.
 *
 * Private to lib/codec.
 */
#ifndef VV_CODEC_TABLE_H
#define VV_CODEC_TABLE_H

#include "bytes.h"
#include "scratch.h"

#define VV_TABLE_ENTRIES_MAX 256u

struct vv_table {
    const uint64_t *entries; /* in the order of their first use; in the scratch's slot */
    size_t n_entries;
    const uint64_t *places; /* one for each number; in the scratch's slot */
    size_t n_places;
    size_t size; /* 0 when a table is not possible or not smaller than the limit */
};

/* Makes a table of fewer than size_limit bytes, if it can. */
enum vv_block_status vv_table_plan(struct vv_scratch *scratch, enum vv_scratch_slot slot,
                                   const uint64_t *numbers, size_t count, size_t size_limit,
                                   struct vv_table *table_out);

void vv_table_write(const struct vv_table *table, struct vv_writer *writer);

/* Reads count numbers. On failure the reader has failed. */
bool vv_table_read(struct vv_reader *reader, size_t count, uint64_t *numbers_out);

#endif
