/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chunk: steps of a tier as bytes.
 *
 * Version 3. Words are little-endian; "varint" is base 128, low bits first; "sized" is a varint
 * size and as many bytes.
 *
 *   chunk    = head, block, with sketches: all sketches
 *   head     = magic "VT", version u8, flags u8 (bit 0: with sketches)
 *              varint step length in ns, varint n_metrics
 *              for each metric u8: bit 0 values are integers, bit 1 its sums need 128 bits,
 *                bit 2 its squares are integers (only of integers)
 *              varint size of the block, varint size of all sketches (0: without)
 *              XXH3-64 u64 of all bytes before it
 *   block    = as of lib/codec, with a checksum of its own: a row for each step, its time the
 *              step's start, all stamps 0; for each metric the columns below, in this order, all
 *              under the metric's number
 *   all sketches = for each metric: sized sketches; XXH3-64 u64 of these
 *   columns  = count, sum (of 128 bits: the low 64), [the high 64], min, max, first, last: in the
 *              metric's type; first_time and last_time: ns since the step's start; squares:
 * float64, or int64 (squares.h) sketches = u8: 0 as they are, 1 a zstd frame of them, with varint
 * of their size before it; for each step with values: sized sketch (lib/sketch)
 *
 * A step without values of a metric is absent in all of its columns. Sketches are most of the bytes
 * and stand at the end, so that who needs none of them neither copies nor checks them. In
 * version 2, which is read, too, squares were always float64; version 1 had one checksum at the end
 * of all.
 */
#ifndef VV_TIER_CHUNK_H
#define VV_TIER_CHUNK_H

#include "base/bytes.h"
#include "sketch/sketch.h"
#include "tier/step.h"

#define VV_CHUNK_STEPS_MAX   65536u
#define VV_CHUNK_METRICS_MAX 400u /* ten columns each are within a block's bound */

struct vv_chunk_metric {
    uint32_t metric;
    enum vv_value_type type;
    const struct vv_step *steps;      /* n_steps; of those with count 0 nothing is kept */
    const struct vv_sketch *sketches; /* n_steps, of the same values; NULL in all or none */
};

struct vv_chunk_content {
    int64_t step_ns;
    size_t n_steps;        /* 1 … VV_CHUNK_STEPS_MAX */
    const int64_t *starts; /* ascending */
    size_t n_metrics;      /* 1 … VV_CHUNK_METRICS_MAX */
    const struct vv_chunk_metric *metrics;
};

/* Appends the chunk's bytes. zstd_level as of blocks. VV_NO_MEMORY; VV_INVALID outside of the
 * bounds above, or where a step's times are not within it. */
VV_MUST_CHECK enum vv_status vv_chunk_encode(const struct vv_chunk_content *content, int zstd_level,
                                             struct vv_buffer *out, struct vv_error *error);

/* An opened chunk: borrows the bytes; nothing to close. */
struct vv_chunk {
    int64_t step_ns;
    uint32_t n_steps;
    uint32_t n_metrics;
    bool has_sketches;
    /* Private. */
    struct vv_block block_;
    const uint8_t *types_;
    struct vv_reader sketches_;
};

/* Checks version, lengths and checksums. VV_CORRUPT, VV_NEWER. */
VV_MUST_CHECK enum vv_status vv_chunk_open(struct vv_str bytes, struct vv_chunk *chunk_out,
                                           struct vv_error *error);
/* The same of a chunk whose sketches are not wanted: they are not looked at, need not be there, and
 * has_sketches is false. */
VV_MUST_CHECK enum vv_status vv_chunk_open_steps(struct vv_str bytes, struct vv_chunk *chunk_out,
                                                 struct vv_error *error);

/* What the head tells. */
struct vv_chunk_head {
    int64_t step_ns;
    bool has_sketches; /* they are there */
    size_t steps_size; /* so many of the first bytes are enough for vv_chunk_open_steps */
};
/* Checks the head alone, and that the bytes are as many as it says, with the sketches or without.
 * VV_CORRUPT, VV_NEWER. */
VV_MUST_CHECK enum vv_status vv_chunk_look(struct vv_str bytes, struct vv_chunk_head *head_out,
                                           struct vv_error *error);
/* The metric at index < n_metrics. VV_CORRUPT. */
VV_MUST_CHECK enum vv_status vv_chunk_metric(const struct vv_chunk *chunk, uint32_t index,
                                             uint32_t *metric_out, enum vv_value_type *type_out,
                                             struct vv_error *error);
/* The index of a metric; false: the chunk has nothing of it. */
VV_MUST_CHECK bool vv_chunk_find(const struct vv_chunk *chunk, uint32_t metric, uint32_t *index_out,
                                 enum vv_value_type *type_out);
/* n_steps starts. VV_CORRUPT, VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_chunk_starts(const struct vv_chunk *chunk, int64_t *starts_out,
                                             struct vv_error *error);
/* The n_steps steps of the metric at index; count 0 where there are no values. VV_CORRUPT,
 * VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_chunk_steps(const struct vv_chunk *chunk, uint32_t index,
                                            const int64_t *starts, struct vv_step *steps_out,
                                            struct vv_error *error);
/* The same with count and what `parts` (of enum vv_step_part) name; with moments the sum, of
 * which they are counted. The rest is 0, and what the bytes say of it is not looked at. */
VV_MUST_CHECK enum vv_status vv_chunk_step_parts(const struct vv_chunk *chunk, uint32_t index,
                                                 const int64_t *starts, unsigned parts,
                                                 struct vv_step *steps_out, struct vv_error *error);
/* Its n_steps sketches, empty where there are no values: the caller's to deinitialise, none on
 * failure. `steps` are those of vv_chunk_steps. VV_INVALID without sketches; VV_CORRUPT,
 * VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_chunk_sketches(const struct vv_chunk *chunk, uint32_t index,
                                               const struct vv_step *steps,
                                               struct vv_sketch *sketches_out,
                                               struct vv_error *error);

/* Shows the same to `visit`, in the order of the steps that have values, each only until it
 * returns; what it returns but VV_OK ends that. */
typedef enum vv_status (*vv_sketch_visit)(void *context, uint32_t step,
                                          const struct vv_sketch *sketch);
VV_MUST_CHECK enum vv_status vv_chunk_visit_sketches(const struct vv_chunk *chunk, uint32_t index,
                                                     const struct vv_step *steps,
                                                     vv_sketch_visit visit, void *context,
                                                     struct vv_error *error);

/* Appends the chunk with other numbers for its n_metrics metrics, in their order; nothing else
 * changes, and no step is decoded. VV_CORRUPT, VV_NEWER, VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_chunk_renumber(struct vv_str bytes, const uint32_t *metrics,
                                               struct vv_buffer *out, struct vv_error *error);

#endif
