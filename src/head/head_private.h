/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the head: generations, shards, series, chunks. Private to this folder.
 *
 * Memory of a generation comes from arenas (one a shard, one for shapes) and goes all at once.
 * A row in a chunk is 64-bit words: time, stamp, then a value for each metric of the shape.
 */
#ifndef VV_HEAD_HEAD_PRIVATE_H
#define VV_HEAD_HEAD_PRIVATE_H

#include "base/arena.h"
#include "head/head.h"

#include <pthread.h>
#include <stdatomic.h>

#define VV_HEAD_SHARDS      16          /* a power of two */
#define VV_CHUNK_ROWS_FIRST 2           /* chunks double from here … */
#define VV_CHUNK_BYTES_MAX  (16u << 10) /* … until they are this large */
#define VV_SHAPE_BUCKETS    256

struct vv_shape {
    struct vv_shape *next; /* in its bucket */
    uint64_t hash;
    uint32_t n_metrics;
    bool typed;        /* any of them says of which type its values are */
    uint32_t *metrics; /* numbers, in the order of the row */
    uint32_t *said;    /* as in the frame: with types */
    uint32_t *order;   /* indices of metrics, ascending by metric */
};

struct vv_chunk {
    struct vv_chunk *next;
    const struct vv_shape *shape;
    uint32_t capacity;     /* rows */
    _Atomic uint32_t rows; /* written; those beyond the series' published rows are not visible */
    uint64_t words[];
};

struct vv_head_series {
    uint32_t source;
    uint32_t measurement;
    struct vv_chunk *first;
    struct vv_chunk *tail;
    uint64_t published; /* rows that readers may see; under the shard's lock */
    int64_t time_min;   /* of the published rows */
    int64_t time_max;
    size_t touched; /* by prepared batches: index + 1 of its newest entry; else 0 */
};

struct vv_head_shard {
    pthread_mutex_t lock; /* guards the table and what is published of the series */
    struct vv_arena arena;
    struct vv_head_series **slots; /* open addressing, a power of two */
    size_t n_slots;
    size_t n_series;
};

struct vv_generation {
    struct vv_head *head;
    struct vv_generation *newer;
    _Atomic int references; /* the list's and each reader's */
    struct vv_head_shard shards[VV_HEAD_SHARDS];
    struct vv_arena shapes_arena; /* applier only */
    struct vv_shape *shapes[VV_SHAPE_BUCKETS];
    _Atomic uint64_t bytes;
    _Atomic uint64_t points;
    _Atomic uint64_t series;
};

/* A series that a prepared batch has written to, and how to undo that. One entry for each batch. */
struct vv_touched {
    struct vv_head_series *series;
    size_t previous; /* series->touched before */
    struct vv_chunk *tail;
    uint32_t tail_rows;
    uint64_t rows;
    int64_t time_min;
    int64_t time_max;
};

struct vv_head {
    pthread_mutex_t lock; /* guards the list of generations */
    struct vv_generation *oldest;
    struct vv_generation *active;
    _Atomic uint64_t bytes;     /* of all generations that still exist */
    struct vv_touched *touched; /* by prepared batches; applier only */
    size_t n_touched;
    uint64_t prepared_points;
    size_t n_generations; /* under the lock */
    uint64_t drops;
    size_t touched_capacity;
};

/* Notes what a frame says of a metric's type; floats win. */
static inline void vv_head_note_type(enum vv_value_type *type, uint32_t said)
{
    if (said & VV_METRIC_FLOAT64) {
        *type = VV_FLOAT64;
    } else if ((said & VV_METRIC_INT64) && *type != VV_FLOAT64) {
        *type = VV_INT64;
    }
}

/* Whether values of a column of this type are integers where the frame said this. */
static inline bool vv_head_is_widened(enum vv_value_type type, uint32_t said)
{
    return type == VV_FLOAT64 && (said & VV_METRIC_INT64);
}

/* A reader's references to all generations, oldest first. Returns how many. */
size_t vv_head_hold(struct vv_head *head, struct vv_generation *held_out[VV_GENERATIONS_MAX]);
void vv_generation_release(struct vv_generation *generation);

static inline struct vv_head_shard *vv_head_shard_of(struct vv_generation *generation,
                                                     uint32_t source)
{
    return &generation->shards[source & (VV_HEAD_SHARDS - 1)];
}

/* The slot of a series: it, or the empty one where it belongs. n_slots > 0. Under the lock. */
struct vv_head_series **vv_head_slot(struct vv_head_shard *shard, uint32_t source,
                                     uint32_t measurement);

static inline const uint64_t *vv_chunk_row(const struct vv_chunk *chunk, uint32_t row)
{
    return chunk->words + (size_t)row * (2 + chunk->shape->n_metrics);
}

#endif
