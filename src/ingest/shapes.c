/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes: what staging remembers of each measurement's fields. */
#include "ingest/staging_private.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/random.h>
#include <xxhash.h>

#define BYTES_MAX     ((size_t)4 << 20) /* beyond, all is forgotten and learned again */
#define SLOTS_MIN     16
#define TABLE_MIN     16
#define NAME_PADDING  8
#define ESCAPED_BYTES "\\,= \"\n\r"

/* Names come from clients: without a secret they could be chosen to collide. */
static uint64_t hash_seed(void)
{
    static _Atomic uint64_t seed;
    uint64_t value = atomic_load_explicit(&seed, memory_order_relaxed);
    if (value == 0) {
        uint64_t fresh = 0;
        if (getrandom(&fresh, sizeof fresh, 0) != (ssize_t)sizeof fresh || fresh == 0) {
            fresh = (uint64_t)(uintptr_t)&fresh | 1;
        }
        value = 0;
        atomic_compare_exchange_strong(&seed, &value, fresh);
        value = value ? value : fresh;
    }
    return value;
}

static uint64_t name_hash(struct vv_str name)
{
    return XXH3_64bits_withSeed(name.data, name.size, hash_seed());
}

static void shape_destroy(struct vv_shape *shape)
{
    if (shape) {
        free(shape->slots);
        free(shape->index);
        free(shape->last);
        free(shape->order);
        free(shape);
    }
}

void vv_shapes_deinit(struct vv_shapes *shapes)
{
    for (size_t i = 0; i < shapes->capacity; i++) {
        shape_destroy(shapes->table[i]);
    }
    shape_destroy(shapes->spare);
    free(shapes->table);
    vv_arena_deinit(&shapes->names);
    *shapes = (struct vv_shapes){0};
}

void vv_shapes_trim(struct vv_shapes *shapes)
{
    if (shapes->bytes + shapes->names.bytes > BYTES_MAX) {
        vv_shapes_deinit(shapes);
    }
}

static struct vv_shape *shape_create(struct vv_shapes *shapes, uint32_t measurement)
{
    struct vv_shape *shape = calloc(1, sizeof *shape);
    if (!shape) {
        return NULL;
    }
    shape->slots = calloc(SLOTS_MIN, sizeof *shape->slots);
    shape->index = calloc(SLOTS_MIN * 2, sizeof *shape->index);
    if (!shape->slots || !shape->index) {
        shape_destroy(shape);
        return NULL;
    }
    shape->measurement = measurement;
    shape->n_slots = 1;
    shape->slots[0] = (struct vv_slot){.metric = VV_REGISTRY_NONE, .type = VV_TYPE_UNKNOWN};
    shape->slots_capacity = SLOTS_MIN;
    shape->index_capacity = SLOTS_MIN * 2;
    shapes->bytes +=
        sizeof *shape + SLOTS_MIN * sizeof *shape->slots + SLOTS_MIN * 2 * sizeof *shape->index;
    return shape;
}

/* Measurement numbers are dense and not chosen by clients: they spread by themselves. */
static struct vv_shape **table_place(struct vv_shape **table, size_t capacity, uint32_t measurement)
{
    size_t at = measurement & (capacity - 1);
    while (table[at] && table[at]->measurement != measurement) {
        at = (at + 1) & (capacity - 1);
    }
    return &table[at];
}

/* Keeps the table at most half full, with room for one more. */
static bool table_grow(struct vv_shapes *shapes)
{
    if ((shapes->n + 1) * 2 <= shapes->capacity) {
        return true;
    }
    size_t capacity = shapes->capacity ? shapes->capacity * 2 : TABLE_MIN;
    struct vv_shape **table = calloc(capacity, sizeof *table);
    if (!table) {
        return false;
    }
    for (size_t i = 0; i < shapes->capacity; i++) {
        if (shapes->table[i]) {
            *table_place(table, capacity, shapes->table[i]->measurement) = shapes->table[i];
        }
    }
    free(shapes->table);
    shapes->bytes += (capacity - shapes->capacity) * sizeof *table;
    shapes->table = table;
    shapes->capacity = capacity;
    return true;
}

struct vv_shape *vv_shapes_get(struct vv_shapes *shapes, uint32_t measurement)
{
    if (shapes->recent && shapes->recent->measurement == measurement) {
        return shapes->recent;
    }
    if (!table_grow(shapes)) {
        return NULL;
    }
    struct vv_shape **place = table_place(shapes->table, shapes->capacity, measurement);
    if (!*place) {
        *place = shape_create(shapes, measurement);
        shapes->n += *place != NULL;
    }
    shapes->recent = *place;
    return *place;
}

struct vv_shape *vv_shapes_spare(struct vv_shapes *shapes)
{
    if (!shapes->spare) {
        shapes->spare = shape_create(shapes, VV_REGISTRY_NONE);
        return shapes->spare;
    }
    struct vv_shape *spare = shapes->spare;
    spare->measurement = VV_REGISTRY_NONE;
    spare->batch_serial = 0;
    spare->n_last = 0;
    spare->n_slots = 1;
    spare->slots[0].next = 0;
    memset(spare->index, 0, spare->index_capacity * sizeof *spare->index);
    return spare;
}

void vv_shapes_adopt(struct vv_shapes *shapes, struct vv_shape *shape, uint32_t measurement)
{
    vv_invariant(shape == shapes->spare);
    shape->measurement = measurement;
    if (!table_grow(shapes)) {
        return; /* it stays the spare: this row can use it, the next ones learn again */
    }
    struct vv_shape **place = table_place(shapes->table, shapes->capacity, measurement);
    if (!*place) {
        *place = shape;
        shapes->n++;
        shapes->spare = NULL;
        shapes->recent = shape;
    }
}

static bool index_grow(struct vv_shapes *shapes, struct vv_shape *shape)
{
    if ((shape->n_slots + 1) * 2 <= shape->index_capacity) {
        return true;
    }
    uint32_t capacity = shape->index_capacity * 2;
    uint32_t *index = calloc(capacity, sizeof *index);
    if (!index) {
        return false;
    }
    for (uint32_t i = 1; i < shape->n_slots; i++) {
        uint64_t at = name_hash(shape->slots[i].name);
        while (index[at & (capacity - 1)]) {
            at++;
        }
        index[at & (capacity - 1)] = i;
    }
    free(shape->index);
    shapes->bytes += (capacity - shape->index_capacity) * sizeof *index;
    shape->index = index;
    shape->index_capacity = capacity;
    return true;
}

static bool slots_grow(struct vv_shapes *shapes, struct vv_shape *shape)
{
    if (shape->n_slots < shape->slots_capacity) {
        return true;
    }
    uint32_t capacity = shape->slots_capacity * 2;
    struct vv_slot *slots = realloc(shape->slots, capacity * sizeof *slots);
    if (!slots) {
        return false;
    }
    shapes->bytes += (capacity - shape->slots_capacity) * sizeof *slots;
    shape->slots = slots;
    shape->slots_capacity = capacity;
    return true;
}

static bool is_plain(struct vv_str name)
{
    for (size_t i = 0; i < name.size; i++) {
        if (name.data[i] == '\0' || strchr(ESCAPED_BYTES, name.data[i])) {
            return false;
        }
    }
    return name.size > 0;
}

static struct vv_slot *slot_add(struct vv_shapes *shapes, struct vv_shape *shape,
                                struct vv_str name)
{
    if (!index_grow(shapes, shape) || !slots_grow(shapes, shape)) {
        return NULL;
    }
    size_t padded = (name.size / NAME_PADDING + 1) * NAME_PADDING;
    char *copy = vv_arena_zalloc(&shapes->names, padded);
    if (!copy) {
        return NULL;
    }
    memcpy(copy, name.data, name.size);
    uint32_t index = shape->n_slots++;
    shape->slots[index] = (struct vv_slot){
        .name = {copy, name.size},
        .index = index,
        .metric = VV_REGISTRY_NONE,
        .type = VV_TYPE_UNKNOWN,
        .plain = is_plain(name),
    };
    return &shape->slots[index];
}

struct vv_slot *vv_shape_slot(struct vv_shapes *shapes, struct vv_shape *shape, struct vv_str name)
{
    uint64_t hash = name_hash(name);
    uint64_t at = hash;
    uint32_t mask = shape->index_capacity - 1;
    for (; shape->index[at & mask]; at++) {
        struct vv_slot *slot = &shape->slots[shape->index[at & mask]];
        if (vv_str_equal(slot->name, name)) {
            return slot;
        }
    }
    struct vv_slot *slot = slot_add(shapes, shape, name);
    if (slot) {
        mask = shape->index_capacity - 1;
        for (at = hash; shape->index[at & mask]; at++) {
        }
        shape->index[at & mask] = slot->index;
    }
    return slot;
}

bool vv_shape_reserve_last(struct vv_shapes *shapes, struct vv_shape *shape, uint32_t n)
{
    if (n <= shape->last_capacity) {
        return true;
    }
    shape->n_last = 0;
    uint32_t *last = realloc(shape->last, n * sizeof *last);
    shape->last = last ? last : shape->last;
    uint32_t *order = last ? realloc(shape->order, n * sizeof *order) : NULL;
    shape->order = order ? order : shape->order;
    if (!order) {
        return false;
    }
    shapes->bytes += (n - shape->last_capacity) * (sizeof *last + sizeof *order);
    shape->last_capacity = n;
    return true;
}
