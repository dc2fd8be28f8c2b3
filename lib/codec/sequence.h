/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sequences of numbers: the choice of a form, its writing and reading. A form predicts each
 * number (not at all, by the one before, by the slope before) and stores what remains, divided
 * by a common divisor if there is one, in groups or in compressed byte planes.
 *
 * Private to lib/codec.
 */
#ifndef VV_CODEC_SEQUENCE_H
#define VV_CODEC_SEQUENCE_H

#include "bytes.h"
#include "format.h"
#include "planes.h"
#include "raw.h"
#include "scratch.h"
#include "table.h"

/* Two plans can be held side by side; a plan stays valid until its side is planned again. */
enum vv_sequence_side { VV_SEQUENCE_A = 0, VV_SEQUENCE_B = 1 };

struct vv_sequence_plan {
    enum vv_form form;
    bool as_bits;       /* the numbers are the bits of float64 values */
    uint64_t divisor;   /* 1 = none */
    uint64_t remainder; /* of each residual */
    size_t size;        /* all that vv_sequence_write() writes */
    const uint64_t *numbers;
    size_t n_numbers;
    const uint64_t *residuals;
    struct vv_planes planes; /* for the forms that need it */
    struct vv_table table;
    struct vv_raw_frame raw_frame;
};

/*
 * Chooses the smallest form for count numbers (1 or more), which must stay in place until the
 * plan is written. zstd_level 0 leaves out the compressed forms.
 */
enum vv_block_status vv_sequence_plan(struct vv_scratch *scratch, enum vv_sequence_side side,
                                      int zstd_level, const uint64_t *numbers, size_t count,
                                      bool as_bits, struct vv_sequence_plan *plan_out);

/* Writes divisor, remainder and numbers. */
void vv_sequence_write(const struct vv_sequence_plan *plan, struct vv_writer *writer);

/* What a reader knows of a sequence from the bytes before it. */
struct vv_sequence_head {
    unsigned form;
    bool as_bits;
    bool has_divisor;
};

/* Reads count numbers (1 or more); the sequence must end where the reader ends. */
enum vv_block_status vv_sequence_read(struct vv_scratch *scratch, struct vv_sequence_head head,
                                      struct vv_reader *reader, size_t count,
                                      uint64_t *numbers_out);

/* A sequence of integers with its own head, as times and stamps have: its size, its bytes. */
size_t vv_sequence_headed_size(const struct vv_sequence_plan *plan);
void vv_sequence_write_headed(const struct vv_sequence_plan *plan, struct vv_writer *writer);
enum vv_block_status vv_sequence_read_headed(struct vv_scratch *scratch, struct vv_reader *reader,
                                             size_t count, uint64_t *numbers_out);

#endif
