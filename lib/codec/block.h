/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columnar blocks: the rows of one measurement as a shared time column, run-length coded stamps
 * and one column per metric. Every bit pattern comes back exactly, and each column is decoded
 * without touching the others.
 *
 * The bytes are described in format.h, the flow in README.md.
 *
 * Threads: all functions may be called from any thread at once on different outputs; a struct
 * vv_block is only read and may be shared. Working memory belongs to the calling thread and is
 * kept for its next call; it is freed when the thread ends.
 */
#ifndef VV_CODEC_BLOCK_H
#define VV_CODEC_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VV_BLOCK_MUST_CHECK __attribute__((warn_unused_result))

/* Bounds of one block; more is VV_BLOCK_INVALID when encoding, VV_BLOCK_CORRUPT when opening. */
#define VV_BLOCK_ROWS_MAX    (1u << 20)
#define VV_BLOCK_COLUMNS_MAX 4096u

enum vv_block_status {
    VV_BLOCK_OK = 0,
    VV_BLOCK_NO_MEMORY, /* an allocation failed; nothing is held, try again later */
    VV_BLOCK_CORRUPT,   /* the bytes are not a block that this library wrote */
    VV_BLOCK_NEWER,     /* a block, but of a later format version: a newer program is needed */
    VV_BLOCK_INVALID,   /* the caller's rows, options or index are outside the contract */
    VV_BLOCK_TOO_SMALL  /* the output does not fit the capacity; see vv_block_bound() */
};

enum vv_value_type { VV_FLOAT64 = 0, VV_INT64 = 1 };

/* One metric's values for the rows of a block: bit patterns (double bits or two's complement). */
struct vv_column {
    uint32_t metric;
    enum vv_value_type type;
    uint64_t *values; /* n_rows; undefined where absent */
    uint8_t *present; /* bitmap, bit i&7 of byte i>>3; NULL = all present */
};

static inline bool vv_column_has(const struct vv_column *column, size_t row)
{
    return !column->present || (column->present[row >> 3] >> (row & 7) & 1) != 0;
}

/*
 * Rows in ascending (time, stamp); a time may occur several times. The order of the columns is
 * kept. A metric that holds values of both types has one column for each.
 */
struct vv_rows {
    size_t n_rows;  /* 1 to VV_BLOCK_ROWS_MAX */
    int64_t *times; /* nanoseconds UTC */
    uint64_t *stamps;
    size_t n_columns; /* 0 to VV_BLOCK_COLUMNS_MAX */
    struct vv_column *columns;
};

struct vv_block_options {
    int zstd_level;  /* 0 = no entropy stage, else 1 to 19: kept per column only where it pays */
    bool with_stats; /* some 14 bytes a column, for readers that use them */
};

/*
 * A number of bytes that is enough for vv_block_encode() of these rows under any options;
 * SIZE_MAX on overflow. Reads only n_rows and n_columns.
 */
size_t vv_block_bound(const struct vv_rows *rows);

/*
 * Encodes rows into out. The rows are borrowed and only read. Fewer than vv_block_bound() bytes
 * may do; when they do not the answer is VV_BLOCK_TOO_SMALL. Rows that are out of order, empty or
 * too many are VV_BLOCK_INVALID. On failure *size_out is 0 and the contents of out are undefined.
 */
VV_BLOCK_MUST_CHECK enum vv_block_status vv_block_encode(const struct vv_rows *rows,
                                                         const struct vv_block_options *options,
                                                         uint8_t *out, size_t capacity,
                                                         size_t *size_out);

/* A column's statistics. All but valid are zero when valid is false or nothing is present. */
struct vv_block_stats {
    uint32_t count;                 /* present and not NaN */
    uint64_t min, max, first, last; /* bits in the column's type; first/last = earliest/latest
                                       present row; min/max are zero when count is */
    double sum; /* of what count counts; compensated, exact until rounded for int64 */
    bool valid; /* the block was written with statistics */
};

struct vv_block_column {
    uint32_t metric;
    enum vv_value_type type;
    bool all_present; /* no row lacks a value */
    struct vv_block_stats stats;
    /* Private: where the column's values stand and how they are coded. */
    const uint8_t *body_;
    size_t body_size_;
    uint8_t head_;
};

/* An opened block. It borrows the bytes: they must outlive it, unchanged. Nothing to close. */
struct vv_block {
    uint32_t n_rows;
    int64_t time_min, time_max;
    uint64_t stamp_min, stamp_max;
    uint32_t n_columns;
    /* Private: the parsed directory. */
    const uint8_t *metrics_;
    const uint8_t *sections_;
    const uint8_t *ends_;
    size_t sections_size_;
    uint32_t metric_min_;
    uint8_t metric_width_;
    uint8_t end_width_;
    uint8_t flags_;
};

/*
 * Checks version, lengths and checksum of size bytes and fills block_out. Allocates nothing. The
 * columns themselves are checked when they are decoded. On failure block_out is undefined.
 */
VV_BLOCK_MUST_CHECK enum vv_block_status vv_block_open(const uint8_t *bytes, size_t size,
                                                       struct vv_block *block_out);

/* Describes the column at index, without decoding its values. */
VV_BLOCK_MUST_CHECK enum vv_block_status vv_block_column_info(const struct vv_block *block,
                                                              uint32_t index,
                                                              struct vv_block_column *out);

/* The metric of the column at index < n_columns. */
uint32_t vv_block_metric(const struct vv_block *block, uint32_t index);

/* Finds the first column of a metric; false if there is none. */
bool vv_block_find(const struct vv_block *block, uint32_t metric, uint32_t *index_out);

/* Decodes the n_rows times. They are ascending from time_min to time_max, or the block is corrupt.
 */
VV_BLOCK_MUST_CHECK enum vv_block_status vv_block_times(const struct vv_block *block,
                                                        int64_t *times_out);

/* Decodes the n_rows stamps, all of them between stamp_min and stamp_max. */
VV_BLOCK_MUST_CHECK enum vv_block_status vv_block_stamps(const struct vv_block *block,
                                                         uint64_t *stamps_out);

/*
 * Decodes one column: n_rows bit patterns (undefined where absent) and a bitmap of (n_rows+7)/8
 * bytes, with zeros after the last row. present_out may be NULL if the column is all_present.
 * On failure the outputs are undefined.
 */
VV_BLOCK_MUST_CHECK enum vv_block_status vv_block_values(const struct vv_block *block,
                                                         uint32_t index, uint64_t *values_out,
                                                         uint8_t *present_out);

/*
 * Writes the block with other numbers for its metrics, one for each column in their order; nothing
 * else changes, and nothing is decoded. vv_block_renumbered_bound() of the opened block is enough
 * room. VV_BLOCK_TOO_SMALL, VV_BLOCK_NO_MEMORY, and what vv_block_open() says of the bytes.
 */
size_t vv_block_renumbered_bound(const struct vv_block *block, size_t size);
VV_BLOCK_MUST_CHECK enum vv_block_status vv_block_renumber(const uint8_t *bytes, size_t size,
                                                           const uint32_t *metrics, uint8_t *out,
                                                           size_t capacity, size_t *size_out);

/* Frees the calling thread's working memory now; the next call allocates it again. */
void vv_block_release_thread_memory(void);

/* A short description of a status for messages and logs; never NULL. */
const char *vv_block_status_text(enum vv_block_status status);

#endif
