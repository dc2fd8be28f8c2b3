/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Applying batches: first all rows are written where readers do not look yet, then they are
 * published, or the written rows are forgotten, the newest first.
 */
#include "head/head_private.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static size_t held_bytes(const struct vv_head_shard *shard)
{
    return shard->arena.bytes + shard->n_slots * sizeof(*shard->slots);
}

static void account(struct vv_generation *generation, size_t before, size_t after)
{
    atomic_fetch_add(&generation->bytes, after - before);
    atomic_fetch_add(&generation->head->bytes, after - before);
}

/* ---- shapes ---- */

static void sort_order(struct vv_shape *shape)
{
    for (uint32_t i = 0; i < shape->n_metrics; i++) {
        uint32_t at = i;
        while (at > 0 && shape->metrics[shape->order[at - 1]] > shape->metrics[i]) {
            shape->order[at] = shape->order[at - 1];
            at--;
        }
        shape->order[at] = i;
    }
}

static struct vv_shape *make_shape(struct vv_generation *generation, const struct vv_frame *frame,
                                   uint64_t hash)
{
    struct vv_arena *arena = &generation->shapes_arena;
    size_t before = arena->bytes;
    size_t bytes = frame->n_metrics * sizeof(uint32_t);
    struct vv_shape *shape = vv_arena_alloc(arena, sizeof *shape);
    uint32_t *numbers = shape ? vv_arena_alloc(arena, 3 * bytes) : NULL;
    account(generation, before, arena->bytes);
    if (!numbers) {
        return NULL;
    }
    *shape = (struct vv_shape){.hash = hash, .n_metrics = frame->n_metrics, .metrics = numbers};
    shape->order = numbers + frame->n_metrics;
    shape->said = numbers + 2 * (size_t)frame->n_metrics;
    memcpy(shape->said, frame->metrics, bytes);
    for (uint32_t i = 0; i < shape->n_metrics; i++) {
        shape->metrics[i] = vv_metric_number(frame->metrics[i]);
        shape->typed |= shape->metrics[i] != frame->metrics[i];
    }
    sort_order(shape);
    shape->next = generation->shapes[hash % VV_SHAPE_BUCKETS];
    generation->shapes[hash % VV_SHAPE_BUCKETS] = shape;
    return shape;
}

static struct vv_shape *find_shape(struct vv_generation *generation, const struct vv_frame *frame)
{
    size_t bytes = frame->n_metrics * sizeof(uint32_t);
    uint64_t hash = XXH3_64bits(frame->metrics, bytes);
    struct vv_shape *shape = generation->shapes[hash % VV_SHAPE_BUCKETS];
    while (shape && (shape->hash != hash || shape->n_metrics != frame->n_metrics ||
                     memcmp(shape->said, frame->metrics, bytes) != 0)) {
        shape = shape->next;
    }
    return shape ? shape : make_shape(generation, frame, hash);
}

/* ---- series ---- */

static enum vv_status grow_table(struct vv_head_shard *shard)
{
    if (shard->n_slots && shard->n_series * 3 < shard->n_slots * 2) {
        return VV_OK;
    }
    size_t old_slots = shard->n_slots;
    struct vv_head_series **old = shard->slots;
    size_t n_slots = old_slots ? old_slots * 2 : 64;
    struct vv_head_series **slots = calloc(n_slots, sizeof *slots);
    if (!slots) {
        return VV_NO_MEMORY;
    }
    shard->slots = slots;
    shard->n_slots = n_slots;
    for (size_t i = 0; i < old_slots; i++) {
        if (old[i]) {
            *vv_head_slot(shard, old[i]->source, old[i]->measurement) = old[i];
        }
    }
    free(old);
    return VV_OK;
}

static struct vv_head_series *find_series(struct vv_generation *generation,
                                          struct vv_head_shard *shard, uint32_t source,
                                          uint32_t measurement)
{
    if (grow_table(shard) != VV_OK) {
        return NULL;
    }
    struct vv_head_series **slot = vv_head_slot(shard, source, measurement);
    if (*slot) {
        return *slot;
    }
    struct vv_head_series *series = vv_arena_alloc(&shard->arena, sizeof *series);
    if (series) {
        *series = (struct vv_head_series){.source = source, .measurement = measurement};
        *slot = series;
        shard->n_series++;
        atomic_fetch_add(&generation->series, 1);
    }
    return series;
}

/* ---- rows ---- */

static struct vv_chunk *next_chunk(struct vv_head_shard *shard, struct vv_head_series *series,
                                   const struct vv_shape *shape)
{
    size_t row_bytes = (2 + (size_t)shape->n_metrics) * sizeof(uint64_t);
    uint32_t capacity = VV_CHUNK_ROWS_FIRST;
    if (series->tail && series->tail->shape == shape) {
        uint32_t doubled = series->tail->capacity * 2;
        capacity = doubled * row_bytes <= VV_CHUNK_BYTES_MAX ? doubled : series->tail->capacity;
    }
    struct vv_chunk *chunk = vv_arena_alloc(&shard->arena, sizeof *chunk + capacity * row_bytes);
    if (!chunk) {
        return NULL;
    }
    chunk->next = NULL;
    chunk->shape = shape;
    chunk->capacity = capacity;
    atomic_init(&chunk->rows, 0);
    if (series->tail) {
        series->tail->next = chunk;
    } else {
        series->first = chunk;
    }
    series->tail = chunk;
    return chunk;
}

/* The series' entry in the batch whose entries begin at batch_first. */
static enum vv_status touch(struct vv_head *head, struct vv_head_series *series, size_t batch_first,
                            struct vv_touched **touched_out)
{
    if (series->touched > batch_first) {
        *touched_out = &head->touched[series->touched - 1];
        return VV_OK;
    }
    if (head->n_touched == head->touched_capacity) {
        size_t capacity = head->touched_capacity ? head->touched_capacity * 2 : 256;
        struct vv_touched *bigger = realloc(head->touched, capacity * sizeof *bigger);
        if (!bigger) {
            return VV_NO_MEMORY;
        }
        head->touched = bigger;
        head->touched_capacity = capacity;
    }
    struct vv_touched *touched = &head->touched[head->n_touched++];
    *touched = (struct vv_touched){.series = series,
                                   .previous = series->touched,
                                   .tail = series->tail,
                                   .time_min = INT64_MAX,
                                   .time_max = INT64_MIN};
    touched->tail_rows = series->tail ? atomic_load(&series->tail->rows) : 0;
    series->touched = head->n_touched;
    *touched_out = touched;
    return VV_OK;
}

/* What all rows of a frame share. */
struct writing {
    struct vv_generation *generation;
    const struct vv_frame *frame;
    const struct vv_shape *shape;
    vv_stamp stamp;
    size_t batch_first; /* of its entries in head->touched */
};

static enum vv_status write_row(const struct writing *writing, struct vv_head_shard *shard,
                                size_t row)
{
    const struct vv_frame *frame = writing->frame;
    const struct vv_shape *shape = writing->shape;
    struct vv_head_series *series =
        find_series(writing->generation, shard, frame->sources[row], frame->measurement);
    struct vv_touched *touched;
    struct vv_head *head = writing->generation->head;
    if (!series || touch(head, series, writing->batch_first, &touched) != VV_OK) {
        return VV_NO_MEMORY;
    }
    struct vv_chunk *chunk = series->tail;
    if (!chunk || chunk->shape != shape || atomic_load(&chunk->rows) == chunk->capacity) {
        chunk = next_chunk(shard, series, shape);
        if (!chunk) {
            return VV_NO_MEMORY;
        }
    }
    uint32_t at = atomic_load_explicit(&chunk->rows, memory_order_relaxed);
    uint64_t *words = chunk->words + (size_t)at * (2 + shape->n_metrics);
    int64_t time = frame->times[row];
    words[0] = (uint64_t)time;
    words[1] = writing->stamp;
    memcpy(words + 2, frame->values + row * frame->n_metrics, frame->n_metrics * sizeof *words);
    atomic_store_explicit(&chunk->rows, at + 1, memory_order_relaxed);
    touched->rows++;
    touched->time_min = time < touched->time_min ? time : touched->time_min;
    touched->time_max = time > touched->time_max ? time : touched->time_max;
    return VV_OK;
}

/* Writes the frame's rows of one shard. The table may move: readers are locked out. */
static enum vv_status write_shard(const struct writing *writing, size_t shard_index)
{
    struct vv_head_shard *shard = &writing->generation->shards[shard_index];
    const struct vv_frame *frame = writing->frame;
    enum vv_status status = VV_OK;
    pthread_mutex_lock(&shard->lock);
    size_t before = held_bytes(shard);
    for (size_t row = 0; row < frame->n_rows && status == VV_OK; row++) {
        if ((frame->sources[row] & (VV_HEAD_SHARDS - 1)) == shard_index) {
            status = write_row(writing, shard, row);
        }
    }
    account(writing->generation, before, held_bytes(shard));
    pthread_mutex_unlock(&shard->lock);
    return status;
}

static enum vv_status write_frame(struct vv_generation *generation, const struct vv_frame *frame,
                                  vv_stamp stamp, size_t batch_first)
{
    struct writing writing = {generation, frame, find_shape(generation, frame), stamp, batch_first};
    if (!writing.shape) {
        return VV_NO_MEMORY;
    }
    uint32_t shards = 0; /* which shards the frame has rows of */
    for (size_t row = 0; row < frame->n_rows; row++) {
        shards |= 1u << (frame->sources[row] & (VV_HEAD_SHARDS - 1));
    }
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < VV_HEAD_SHARDS && status == VV_OK; i++) {
        if (shards >> i & 1) {
            status = write_shard(&writing, i);
        }
    }
    return status;
}

/* ---- publishing, or forgetting ---- */

static void publish(struct vv_generation *generation, struct vv_touched *touched)
{
    struct vv_head_series *series = touched->series;
    struct vv_head_shard *shard = vv_head_shard_of(generation, series->source);
    pthread_mutex_lock(&shard->lock);
    bool first = series->published == 0;
    if (first || touched->time_min < series->time_min) {
        series->time_min = touched->time_min;
    }
    if (first || touched->time_max > series->time_max) {
        series->time_max = touched->time_max;
    }
    series->published += touched->rows;
    series->touched = 0;
    pthread_mutex_unlock(&shard->lock);
}

/* Drops the entries from `first` on, the newest first. */
static void forget(struct vv_head *head, size_t first)
{
    while (head->n_touched > first) {
        struct vv_touched *touched = &head->touched[--head->n_touched];
        struct vv_head_series *series = touched->series;
        series->touched = touched->previous;
        series->tail = touched->tail;
        if (series->tail) {
            atomic_store(&series->tail->rows, touched->tail_rows);
            series->tail->next = NULL;
        } else {
            series->first = NULL;
        }
    }
}

enum vv_status vv_head_prepare(struct vv_head *head, const struct vv_batch *batch, vv_stamp stamp)
{
    size_t batch_first = head->n_touched;
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < batch->n_frames && status == VV_OK; i++) {
        status = write_frame(head->active, &batch->frames[i], stamp, batch_first);
    }
    if (status != VV_OK) {
        forget(head, batch_first);
        return status;
    }
    head->prepared_points += batch->points;
    return VV_OK;
}

void vv_head_publish(struct vv_head *head)
{
    for (size_t i = 0; i < head->n_touched; i++) {
        publish(head->active, &head->touched[i]);
    }
    head->n_touched = 0;
    atomic_fetch_add(&head->active->points, head->prepared_points);
    head->prepared_points = 0;
}

void vv_head_forget(struct vv_head *head)
{
    forget(head, 0);
    head->prepared_points = 0;
}
