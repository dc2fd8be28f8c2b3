/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DDSketch: quantiles with a bounded relative error, and merges that lose nothing.
 *
 * From: C. Masson, J. E. Rim, H. K. Lee, "DDSketch: A Fast and Fully-Mergeable Quantile Sketch
 * with Relative-Error Guarantees", PVLDB 12(12), 2019. A value v > 0 falls into bin
 * ceil(log_gamma(v)) with gamma = (1 + alpha) / (1 - alpha); negative values mirror that.
 *
 * Magnitudes below the smallest normal double count as zero. Infinities are counted apart from
 * the bins. NaN is ignored: the caller counts it if it wants to. Each of the two stores holds at
 * most VV_SKETCH_BINS_MAX bins; beyond that those nearest to zero are collapsed into one, which
 * vv_sketch_collapsed() tells. Adding in any order and merging in any order give equal sketches.
 *
 * Threads: a sketch belongs to one thread at a time; const calls may run side by side.
 */
#ifndef VV_SKETCH_SKETCH_H
#define VV_SKETCH_SKETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VV_SKETCH_MUST_CHECK __attribute__((warn_unused_result))

#define VV_SKETCH_ALPHA_DEFAULT 0.01
#define VV_SKETCH_ALPHA_MIN     0.0001
#define VV_SKETCH_ALPHA_MAX     0.5
#define VV_SKETCH_BINS_MAX      4096u

enum vv_sketch_status {
    VV_SKETCH_OK = 0,
    VV_SKETCH_NO_MEMORY, /* an allocation failed */
    VV_SKETCH_CORRUPT,   /* the bytes are not a sketch that this library wrote */
    VV_SKETCH_NEWER      /* a sketch, but of a later format version */
};

/* Private: the bins of one sign, by ascending index, in one allocation. */
struct vv_sketch_store {
    uint64_t *counts; /* capacity; owns the allocation */
    int32_t *indexes; /* capacity; behind the counts */
    uint32_t n_bins;
    uint32_t capacity;
    uint64_t total;  /* sum of the counts */
    uint32_t recent; /* the bin that was found last: where to look first */
    bool collapsed;  /* the lowest bin also holds what was below it */
};

/* The fields are private; read them through the functions. */
struct vv_sketch {
    double alpha;
    double log_gamma;
    double absorbed; /* the largest error of what had another alpha when it was added; 0: none */
    struct vv_sketch_store positive;
    struct vv_sketch_store negative; /* by magnitude */
    uint64_t n_zero;
    uint64_t n_infinite_positive;
    uint64_t n_infinite_negative;
    double min; /* of the finite values; +infinity when there are none */
    double max; /* of the finite values; -infinity when there are none */
};

/*
 * Makes an empty sketch; allocates nothing. alpha is the relative error, VV_SKETCH_ALPHA_MIN to
 * VV_SKETCH_ALPHA_MAX, 0 for the default. Any other alpha gives false and a sketch with the
 * default.
 */
bool vv_sketch_init(struct vv_sketch *sketch, double alpha);

/* Frees the bins. The sketch may be initialised again. */
void vv_sketch_deinit(struct vv_sketch *sketch);

/* Empties the sketch, keeping alpha and the allocation. */
void vv_sketch_clear(struct vv_sketch *sketch);

/*
 * Adds a value count times; NaN and a count of 0 do nothing and succeed. False leaves the sketch
 * as it was: out of memory, or the total count would pass 2^64 - 1.
 */
VV_SKETCH_MUST_CHECK bool vv_sketch_add(struct vv_sketch *sketch, double value, uint64_t count);

/*
 * Adds n values, each once, as vv_sketch_add() does, but much faster. False: out of memory, or the
 * total count would pass 2^64 - 1; a part may have been added.
 */
VV_SKETCH_MUST_CHECK bool vv_sketch_add_values(struct vv_sketch *sketch, const double *values,
                                               size_t n);

/*
 * The same of n values whose bounds somebody knows: each is at least min and at most max, none is
 * NaN, and min and max have been added before or are among them.
 */
VV_SKETCH_MUST_CHECK bool vv_sketch_add_within(struct vv_sketch *sketch, const double *values,
                                               size_t n, double min, double max);

/*
 * The same of integers, each as the double that is nearest to it. Where they are near to each
 * other, as most are, each that occurs is looked at once.
 */
VV_SKETCH_MUST_CHECK bool vv_sketch_add_integers(struct vv_sketch *sketch, const int64_t *values,
                                                 size_t n, int64_t min, int64_t max);

/*
 * Adds all of from, as if its values had been added one by one. False leaves into as it was:
 * out of memory, another alpha, or the total count would pass 2^64 - 1.
 */
VV_SKETCH_MUST_CHECK bool vv_sketch_merge(struct vv_sketch *into, const struct vv_sketch *from);

/*
 * Adds all of from, of whatever alpha. Of the same alpha it is vv_sketch_merge(); else each value
 * is added as what its bin stands for, and quantiles are then off by both errors, one upon the
 * other: of a collapsed bin by up to 1 more. False: out of memory, or the total count would pass
 * 2^64 - 1; a part may have been added.
 */
VV_SKETCH_MUST_CHECK bool vv_sketch_absorb(struct vv_sketch *into, const struct vv_sketch *from);

/*
 * Adding many sketches to one, as vv_sketch_absorb() does one after the other, but faster: the bins
 * of most are counted in an array first. Zero-initialise it once; then begin, add and end for each
 * sketch that is added to, which is whole again after the end. False as of absorb, after which
 * nothing may follow, and a part may have been added.
 */
#define VV_SKETCH_SUM_BINS 512u
struct vv_sketch_sum {
    struct vv_sketch *into;
    int32_t first; /* the index of counts[0] */
    uint32_t low;  /* counts of [low, end) may not be 0 */
    uint32_t end;
    uint64_t total; /* of these */
    uint64_t counts[VV_SKETCH_SUM_BINS];
};
void vv_sketch_sum_begin(struct vv_sketch_sum *sum, struct vv_sketch *into);
VV_SKETCH_MUST_CHECK bool vv_sketch_sum_add(struct vv_sketch_sum *sum,
                                            const struct vv_sketch *from);
VV_SKETCH_MUST_CHECK bool vv_sketch_sum_end(struct vv_sketch_sum *sum);

/*
 * The value at rank floor(q * (count - 1)) of the sorted values, within the relative error (if it
 * is not in a collapsed bin) and between the least and the greatest value, which q = 0 and q = 1
 * give exactly. q is clamped to [0, 1]. NaN when the sketch is empty or q is NaN.
 */
double vv_sketch_quantile(const struct vv_sketch *sketch, double q);

/* The same, and by how much it may be off, relative to the value: vv_sketch_error(), or more where
 * the value is in a collapsed bin. */
double vv_sketch_quantile_within(const struct vv_sketch *sketch, double q, double *error_out);

/* How many values were added, infinities included. */
uint64_t vv_sketch_count(const struct vv_sketch *sketch);

/* The relative error of quantiles: alpha, and that of what was absorbed, one upon the other; not of
 * those in a collapsed bin. */
double vv_sketch_error(const struct vv_sketch *sketch);

/* What it was made with: sketches of the same alpha are merged without loss. */
double vv_sketch_alpha(const struct vv_sketch *sketch);

/* Whether bins were collapsed: quantiles nearest to zero may then be off by more than the error. */
bool vv_sketch_collapsed(const struct vv_sketch *sketch);

/* Bytes held: the struct and its allocations. */
size_t vv_sketch_memory_bytes(const struct vv_sketch *sketch);

/* A number of bytes that is enough for vv_sketch_encode(). */
size_t vv_sketch_encoded_bound(const struct vv_sketch *sketch);

/*
 * Writes the sketch; returns the bytes written, 0 if capacity is too small. Equal sketches give
 * equal bytes. The format is described in sketch_codec.c; it carries no checksum, since sketches
 * stand inside records that do.
 */
size_t vv_sketch_encode(const struct vv_sketch *sketch, uint8_t *out, size_t capacity);

/*
 * Reads a sketch that fills exactly size bytes into sketch_out, which need not be initialised
 * and must be deinitialised on success. On failure it is an empty sketch that holds no memory.
 */
VV_SKETCH_MUST_CHECK enum vv_sketch_status vv_sketch_decode(const uint8_t *bytes, size_t size,
                                                            struct vv_sketch *sketch_out);

/*
 * The same into a sketch that is initialised, whose memory serves again; it stays the caller's to
 * deinitialise. On failure it is empty.
 */
VV_SKETCH_MUST_CHECK enum vv_sketch_status vv_sketch_decode_again(const uint8_t *bytes, size_t size,
                                                                  struct vv_sketch *sketch);

#endif
