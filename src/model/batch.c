/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches: building them.
 *
 * Frames and definitions are found again by small hash tables that give up after a few probes: then
 * a second frame with the same metrics, or a definition noted twice, is made. Both are harmless,
 * and so no choice of metrics can make a batch slow.
 */
#include "model/batch.h"

#include "model/batch_private.h"
#include "model/partition.h"

#include <stdlib.h>
#include <xxhash.h>

#define SLOTS_MIN   16
#define PROBES_MAX  16
#define FRAMES_MIN  4
#define DEFINED_MIN 16

#define FRAMES_SEARCHED 64

/* Few rows at first: a hostile client may send a different set of fields with every line. */
#define WIDE_FRAME      16
#define NARROW_ROWS_MIN 4

enum vv_status vv_batch_create(uint32_t tenant, struct vv_batch **batch_out)
{
    struct vv_batch *batch = calloc(1, sizeof *batch);
    if (!batch) {
        return VV_NO_MEMORY;
    }
    batch->tenant = tenant;
    batch->bytes = sizeof *batch;
    *batch_out = batch;
    return VV_OK;
}

void vv_batch_destroy(struct vv_batch *batch)
{
    if (!batch) {
        return;
    }
    for (size_t i = 0; i < batch->n_frames; i++) {
        free(batch->frames[i].times); /* sources and values lie in the same memory */
        free(batch->frames[i].metrics);
    }
    free(batch->frames);
    free(batch->definitions);
    free(batch->deletion);
    free(batch->order.slots);
    free(batch->frame_slots.slots);
    free(batch->definition_slots.slots);
    free(batch);
}

/* The slot where the search for hash begins, and whether it has gone on for too long. */
static size_t slot_at(const struct vv_batch_slots *slots, uint64_t hash, size_t probe)
{
    return (size_t)(hash + probe) & (slots->capacity - 1);
}

/* Puts index + 1 into the first free slot; when there is none nearby, it is not found again. */
static void slots_put(struct vv_batch_slots *slots, uint64_t hash, size_t index)
{
    for (size_t probe = 0; probe < PROBES_MAX; probe++) {
        uint32_t *slot = &slots->slots[slot_at(slots, hash, probe)];
        if (*slot == 0) {
            *slot = (uint32_t)(index + 1);
            return;
        }
    }
}

/* Keeps the table at most half full. The hash of each of n items is asked for again. */
static bool slots_grow(struct vv_batch *batch, struct vv_batch_slots *slots, size_t n,
                       uint64_t (*hash_of)(const struct vv_batch *, size_t))
{
    if ((n + 1) * 2 <= slots->capacity) {
        return true;
    }
    size_t capacity = slots->capacity ? slots->capacity * 2 : SLOTS_MIN;
    struct vv_batch_slots larger = {calloc(capacity, sizeof *larger.slots), capacity};
    if (!larger.slots) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        slots_put(&larger, hash_of(batch, i), i);
    }
    free(slots->slots);
    batch->bytes += (capacity - slots->capacity) * sizeof *slots->slots;
    *slots = larger;
    return true;
}

static uint64_t metrics_hash(uint32_t measurement, const uint32_t *metrics, uint32_t n_metrics)
{
    return XXH3_64bits_withSeed(metrics, n_metrics * sizeof *metrics, measurement);
}

static uint64_t frame_hash(const struct vv_batch *batch, size_t index)
{
    const struct vv_frame *frame = &batch->frames[index];
    return metrics_hash(frame->measurement, frame->metrics, frame->n_metrics);
}

static bool frame_is(const struct vv_frame *frame, uint32_t measurement, const uint32_t *metrics,
                     uint32_t n_metrics)
{
    return frame->measurement == measurement && frame->n_metrics == n_metrics &&
           memcmp(frame->metrics, metrics, n_metrics * sizeof *metrics) == 0;
}

static bool frame_find(const struct vv_batch *batch, uint64_t hash, uint32_t measurement,
                       const uint32_t *metrics, uint32_t n_metrics, size_t *index_out)
{
    const struct vv_batch_slots *slots = &batch->frame_slots;
    for (size_t probe = 0; slots->capacity && probe < PROBES_MAX; probe++) {
        uint32_t slot = slots->slots[slot_at(slots, hash, probe)];
        if (slot == 0) {
            return false;
        }
        if (frame_is(&batch->frames[slot - 1], measurement, metrics, n_metrics)) {
            *index_out = slot - 1;
            return true;
        }
    }
    return false;
}

static bool frames_grow(struct vv_batch *batch)
{
    if (batch->n_frames < batch->frames_capacity) {
        return true;
    }
    size_t capacity = batch->frames_capacity ? batch->frames_capacity * 2 : FRAMES_MIN;
    struct vv_frame *frames = realloc(batch->frames, capacity * sizeof *frames);
    if (!frames) {
        return false;
    }
    batch->bytes += (capacity - batch->frames_capacity) * sizeof *frames;
    batch->frames = frames;
    batch->frames_capacity = capacity;
    return true;
}

struct vv_frame *vv_batch_add_frame(struct vv_batch *batch, uint32_t measurement,
                                    uint32_t n_metrics)
{
    if (!frames_grow(batch)) {
        return NULL;
    }
    uint32_t *metrics = malloc(n_metrics * sizeof *metrics);
    if (!metrics) {
        return NULL;
    }
    batch->bytes += n_metrics * sizeof *metrics;
    struct vv_frame *frame = &batch->frames[batch->n_frames++];
    *frame = (struct vv_frame){
        .measurement = measurement,
        .n_metrics = n_metrics,
        .metrics = metrics,
    };
    return frame;
}

/* Whether a frame of the measurement may be there. A batch of many frames is not searched. */
static bool has_measurement(const struct vv_batch *batch, uint32_t measurement)
{
    if (batch->n_frames > FRAMES_SEARCHED) {
        return true;
    }
    for (size_t i = 0; i < batch->n_frames && !batch->order.capacity; i++) {
        if (batch->frames[i].measurement == measurement) {
            return true;
        }
    }
    return false;
}

enum vv_status vv_batch_frame(struct vv_batch *batch, uint32_t measurement, const uint32_t *metrics,
                              uint32_t n_metrics, size_t *frame_out)
{
    vv_invariant(n_metrics > 0);
    if (n_metrics > VV_FRAME_METRICS_MAX) {
        return VV_TOO_LARGE;
    }
    size_t last = batch->frame_last;
    if (last < batch->n_frames && frame_is(&batch->frames[last], measurement, metrics, n_metrics)) {
        *frame_out = last;
        return VV_OK;
    }
    uint64_t hash = metrics_hash(measurement, metrics, n_metrics);
    if (!frame_find(batch, hash, measurement, metrics, n_metrics, frame_out)) {
        if (!slots_grow(batch, &batch->frame_slots, batch->n_frames, frame_hash)) {
            return VV_NO_MEMORY;
        }
        if (has_measurement(batch, measurement) && !vv_batch_order_begin(batch)) {
            return VV_NO_MEMORY;
        }
        struct vv_frame *frame = vv_batch_add_frame(batch, measurement, n_metrics);
        if (!frame) {
            return VV_NO_MEMORY;
        }
        memcpy(frame->metrics, metrics, n_metrics * sizeof *metrics);
        *frame_out = batch->n_frames - 1;
        slots_put(&batch->frame_slots, hash, *frame_out);
    }
    batch->frame_last = *frame_out;
    return VV_OK;
}

/* One piece of memory: times and values, which need the alignment, then sources. */
bool vv_batch_frame_room(struct vv_batch *batch, struct vv_frame *frame, size_t rows)
{
    size_t row_bytes = sizeof(int64_t) + frame->n_metrics * sizeof(uint64_t) + sizeof(uint32_t);
    if (rows > SIZE_MAX / 2 / row_bytes) {
        return false;
    }
    int64_t *times = malloc(rows * row_bytes);
    if (!times) {
        return false;
    }
    uint64_t *values = (uint64_t *)(times + rows);
    uint32_t *sources = (uint32_t *)(values + rows * frame->n_metrics);
    if (frame->n_rows) {
        memcpy(times, frame->times, frame->n_rows * sizeof *times);
        memcpy(values, frame->values, frame->n_rows * frame->n_metrics * sizeof *values);
        memcpy(sources, frame->sources, frame->n_rows * sizeof *sources);
    }
    free(frame->times);
    batch->bytes += (rows - frame->capacity) * row_bytes;
    frame->times = times;
    frame->values = values;
    frame->sources = sources;
    frame->capacity = rows;
    return true;
}

bool vv_batch_has_before(const struct vv_batch *batch, int64_t before_ns)
{
    for (size_t i = 0; i < batch->n_frames; i++) {
        const struct vv_frame *frame = &batch->frames[i];
        for (size_t row = 0; row < frame->n_rows; row++) {
            if (frame->times[row] < before_ns) {
                return true;
            }
        }
    }
    return false;
}

enum vv_status vv_batch_row(struct vv_batch *batch, size_t index, uint32_t source, int64_t time,
                            const uint64_t *values)
{
    vv_invariant(index < batch->n_frames);
    vv_invariant(time >= VV_TIME_MIN && time <= VV_TIME_MAX);
    size_t asked = index;
    while (batch->frames[index].successor) {
        index = batch->frames[index].successor;
        batch->frames[asked].successor = (uint32_t)index; /* a short way next time */
    }
    if (batch->order.capacity) {
        enum vv_status status = vv_batch_order_place(batch, source, time, &index);
        if (status != VV_OK) {
            return status;
        }
    }
    struct vv_frame *frame = &batch->frames[index];
    if (frame->n_rows == frame->capacity) {
        size_t first = frame->n_metrics < WIDE_FRAME ? NARROW_ROWS_MIN : 1;
        size_t rows = frame->capacity ? frame->capacity * 2 : first;
        if (!vv_batch_frame_room(batch, frame, rows)) {
            return VV_NO_MEMORY;
        }
    }
    size_t row = frame->n_rows;
    frame->sources[row] = source;
    frame->times[row] = time;
    memcpy(frame->values + row * frame->n_metrics, values, frame->n_metrics * sizeof *values);
    frame->n_rows = row + 1;
    batch->points += frame->n_metrics;
    return VV_OK;
}

static uint64_t definition_hash_of(uint8_t kind, uint32_t number)
{
    return (((uint64_t)kind << 32 | number) * UINT64_C(0x9E3779B97F4A7C15)) >> 32;
}

static uint64_t definition_hash(const struct vv_batch *batch, size_t index)
{
    return definition_hash_of(batch->definitions[index].kind, batch->definitions[index].number);
}

static bool is_defined(const struct vv_batch *batch, uint64_t hash, uint8_t kind, uint32_t number)
{
    const struct vv_batch_slots *slots = &batch->definition_slots;
    for (size_t probe = 0; slots->capacity && probe < PROBES_MAX; probe++) {
        uint32_t slot = slots->slots[slot_at(slots, hash, probe)];
        if (slot == 0) {
            return false;
        }
        const struct vv_definition *known = &batch->definitions[slot - 1];
        if (known->kind == kind && known->number == number) {
            return true;
        }
    }
    return false;
}

static bool definitions_grow(struct vv_batch *batch)
{
    if (batch->n_definitions < batch->definitions_capacity) {
        return true;
    }
    size_t capacity = batch->definitions_capacity ? batch->definitions_capacity * 2 : DEFINED_MIN;
    struct vv_definition *definitions = realloc(batch->definitions, capacity * sizeof *definitions);
    if (!definitions) {
        return false;
    }
    batch->bytes += (capacity - batch->definitions_capacity) * sizeof *definitions;
    batch->definitions = definitions;
    batch->definitions_capacity = capacity;
    return true;
}

enum vv_status vv_batch_define(struct vv_batch *batch, uint8_t kind, uint32_t number)
{
    uint64_t hash = definition_hash_of(kind, number);
    if (is_defined(batch, hash, kind, number)) {
        return VV_OK;
    }
    if (!slots_grow(batch, &batch->definition_slots, batch->n_definitions, definition_hash) ||
        !definitions_grow(batch)) {
        return VV_NO_MEMORY;
    }
    size_t index = batch->n_definitions++;
    batch->definitions[index] = (struct vv_definition){.kind = kind, .number = number};
    slots_put(&batch->definition_slots, hash, index);
    return VV_OK;
}
