/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sequences of signed numbers in groups of up to 128: each group has its own base and width, and
 * the few numbers that do not fit the width stand beside it.
 *
 * After frame of reference with patches: M. Zukowski, S. Heman, N. Nes, P. Boncz, "Super-Scalar
 * RAM-CPU Cache Compression", ICDE 2006. The layout of a group is in format.h.
 *
 * Private to lib/codec.
 */
#ifndef VV_CODEC_GROUPS_H
#define VV_CODEC_GROUPS_H

#include "bytes.h"

#define VV_GROUP_LENGTH 128u

struct vv_group_plan {
    uint64_t base;
    unsigned width;
    unsigned n_exceptions;
    size_t body_size; /* packed numbers and exceptions, without width and base */
};

/* Chooses base and width for 1 to VV_GROUP_LENGTH numbers. */
void vv_group_plan(const uint64_t *values, size_t count, struct vv_group_plan *plan_out);

/* The size that vv_groups_write() takes for this many numbers. */
size_t vv_groups_size(const uint64_t *values, size_t count);

/* Writes all numbers; count may be 0. */
void vv_groups_write(const uint64_t *values, size_t count, struct vv_writer *writer);

/* Continues a sequence group by group. */
struct vv_groups_reader {
    struct vv_reader *reader;
    uint64_t base;
};

/*
 * Reads the next group of count numbers (VV_GROUP_LENGTH, or fewer for the last). Behind the
 * reader's end there must be VV_BITPACK_SLACK readable bytes. On failure the reader has failed.
 */
bool vv_group_read(struct vv_groups_reader *groups, size_t count, uint64_t *values_out);

/* Passes over a group of count numbers. On failure the reader has failed. */
void vv_group_skip(struct vv_reader *reader, size_t count);

/* Reads a whole sequence of count numbers. */
bool vv_groups_read(struct vv_reader *reader, size_t count, uint64_t *values_out);

#endif
