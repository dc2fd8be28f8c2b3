/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of rows for one point. Frames are applied one after the other, so a later row for a
 * point must not stand in an earlier frame than a row before it, or the older value would win.
 *
 * While a measurement has one frame there is nothing to do. From the second frame on, the newest
 * frame of each (measurement, source, time) is remembered by a 64-bit hash; a row that would stand
 * before it goes into a new frame with the same metrics. Two points with one hash merely make a
 * frame too many.
 */
#include "model/batch_private.h"

#include <stdlib.h>

#define ORDER_MIN 64

static uint64_t point_hash(uint32_t measurement, uint32_t source, int64_t time)
{
    uint64_t z = ((uint64_t)measurement << 32 | source) * UINT64_C(0x9E3779B97F4A7C15);
    z ^= (uint64_t)time;
    z = (z ^ (z >> 32)) * UINT64_C(0xD6E8FEB86659FD93);
    z ^= z >> 32;
    return z ? z : 1; /* 0 is an empty slot */
}

static size_t find(const struct vv_batch_order *order, uint64_t hash)
{
    size_t at = (size_t)hash & (order->capacity - 1);
    while (order->slots[at].hash && order->slots[at].hash != hash) {
        at = (at + 1) & (order->capacity - 1);
    }
    return at;
}

static void put(struct vv_batch_order *order, uint64_t hash, uint32_t frame)
{
    struct vv_batch_order_slot *slot = &order->slots[find(order, hash)];
    if (slot->hash == 0) {
        slot->hash = hash;
        slot->frame = frame;
        order->n++;
    } else if (slot->frame < frame) {
        slot->frame = frame;
    }
}

static bool make_room(struct vv_batch *batch, size_t rows)
{
    struct vv_batch_order *order = &batch->order;
    size_t capacity = order->capacity ? order->capacity : ORDER_MIN;
    while ((order->n + rows) * 2 > capacity) {
        capacity *= 2;
    }
    if (capacity == order->capacity) {
        return true;
    }
    struct vv_batch_order larger = {.slots = calloc(capacity, sizeof *larger.slots),
                                    .capacity = capacity};
    if (!larger.slots) {
        return false;
    }
    for (size_t i = 0; i < order->capacity; i++) {
        if (order->slots[i].hash) {
            put(&larger, order->slots[i].hash, order->slots[i].frame);
        }
    }
    batch->bytes += (capacity - order->capacity) * sizeof *larger.slots;
    free(order->slots);
    *order = larger;
    return true;
}

static size_t count_rows(const struct vv_batch *batch)
{
    size_t rows = 0;
    for (size_t i = 0; i < batch->n_frames; i++) {
        rows += batch->frames[i].n_rows;
    }
    return rows;
}

bool vv_batch_order_begin(struct vv_batch *batch)
{
    if (batch->order.capacity) {
        return true;
    }
    if (!make_room(batch, count_rows(batch) + 1)) {
        return false;
    }
    for (size_t i = 0; i < batch->n_frames; i++) {
        const struct vv_frame *frame = &batch->frames[i];
        for (size_t row = 0; row < frame->n_rows; row++) {
            put(&batch->order,
                point_hash(frame->measurement, frame->sources[row], frame->times[row]),
                (uint32_t)i);
        }
    }
    return true;
}

enum vv_status vv_batch_order_place(struct vv_batch *batch, uint32_t source, int64_t time,
                                    size_t *frame_inout)
{
    uint32_t measurement = batch->frames[*frame_inout].measurement;
    uint64_t hash = point_hash(measurement, source, time);
    if (!make_room(batch, 1)) {
        return VV_NO_MEMORY;
    }
    const struct vv_batch_order_slot *slot = &batch->order.slots[find(&batch->order, hash)];
    if (slot->hash && slot->frame > *frame_inout) {
        uint32_t n_metrics = batch->frames[*frame_inout].n_metrics;
        struct vv_frame *frame = vv_batch_add_frame(batch, measurement, n_metrics);
        if (!frame) {
            return VV_NO_MEMORY;
        }
        struct vv_frame *before = &batch->frames[*frame_inout]; /* frames may have moved */
        memcpy(frame->metrics, before->metrics, n_metrics * sizeof *frame->metrics);
        before->successor = (uint32_t)(batch->n_frames - 1);
        *frame_inout = before->successor;
    }
    put(&batch->order, hash, (uint32_t)*frame_inout);
    return VV_OK;
}
