/* SPDX-License-Identifier: Apache-2.0 */
/* The present row: its cells and misses, and what happens when a field comes twice. */
#include "ingest/staging_private.h"

#include <stdlib.h>

#define CELLS_MIN 32

bool vv_row_init(struct vv_staging_row *row, uint32_t fields_max)
{
    *row = (struct vv_staging_row){
        .fields_max = fields_max,
        .fast_max = fields_max < CELLS_MIN ? fields_max : CELLS_MIN,
        .capacity = CELLS_MIN,
        .misses_capacity = CELLS_MIN,
    };
    row->values = malloc(CELLS_MIN * sizeof *row->values);
    row->ordered = malloc(CELLS_MIN * sizeof *row->ordered);
    row->slots = malloc(CELLS_MIN * sizeof *row->slots);
    row->columns = malloc(CELLS_MIN * sizeof *row->columns);
    row->kinds = malloc(CELLS_MIN * sizeof *row->kinds);
    row->misses = malloc(CELLS_MIN * sizeof *row->misses);
    if (!row->values || !row->ordered || !row->slots || !row->columns || !row->kinds ||
        !row->misses) {
        vv_row_deinit(row);
        return false;
    }
    return true;
}

void vv_row_deinit(struct vv_staging_row *row)
{
    vv_shapes_deinit(&row->shapes);
    free(row->order);
    vv_buffer_deinit(&row->aside);
    free(row->values);
    free(row->ordered);
    free(row->slots);
    free(row->columns);
    free(row->kinds);
    free(row->misses);
}

/* Makes one array larger; when memory is out it stays, and *grown becomes false. */
static void *enlarge(void *array, size_t n, size_t item_size, bool *grown)
{
    void *larger = *grown ? realloc(array, n * item_size) : NULL;
    *grown = larger != NULL;
    return larger ? larger : array;
}

static bool cells_grow(struct vv_staging_row *row)
{
    if (row->n < row->capacity) {
        return true;
    }
    bool grown = true;
    uint32_t capacity = row->capacity * 2;
    row->values = enlarge(row->values, capacity, sizeof *row->values, &grown);
    row->ordered = enlarge(row->ordered, capacity, sizeof *row->ordered, &grown);
    row->slots = enlarge(row->slots, capacity, sizeof *row->slots, &grown);
    row->columns = enlarge(row->columns, capacity, sizeof *row->columns, &grown);
    row->kinds = enlarge(row->kinds, capacity, sizeof *row->kinds, &grown);
    if (grown) {
        row->capacity = capacity;
        row->fast_max = capacity < row->fields_max ? capacity : row->fields_max;
    }
    return grown;
}

static bool misses_grow(struct vv_staging_row *row)
{
    if (row->n_misses < row->misses_capacity) {
        return true;
    }
    bool grown = true;
    row->misses = enlarge(row->misses, row->misses_capacity * 2, sizeof *row->misses, &grown);
    row->misses_capacity *= grown ? 2 : 1;
    return grown;
}

/* Counts a field that there is no memory for; the row will not be staged. */
static void lose_field(struct vv_staging *staging)
{
    staging->out_of_memory = true;
    staging->row->n_lost++;
}

struct vv_slot *vv_row_slot(struct vv_staging *staging, struct vv_str name)
{
    struct vv_staging_row *row = staging->row;
    struct vv_slot *slot = NULL;
    if (row->shape && !staging->out_of_memory) {
        slot = vv_shape_slot(&row->shapes, row->shape, name);
    }
    if (!slot) {
        lose_field(staging);
        return NULL;
    }
    row->shape->slots[row->at].next = slot->index;
    return slot;
}

/* Makes way for a later field of the same name. */
static void forget_earlier(struct vv_staging_row *row, struct vv_slot *slot)
{
    if (slot->serial != row->serial) {
        return;
    }
    if (slot->cell & VV_CELL_MISS) {
        row->misses[slot->cell & ~VV_CELL_MISS].slot = VV_CELL_DEAD;
    } else {
        row->slots[slot->cell] = VV_CELL_DEAD;
    }
    row->n_dead++;
}

/* Whether one more field may come, replaced ones included. */
static bool has_room(struct vv_staging_row *row)
{
    row->too_many = row->too_many || row->n + row->n_misses >= row->fields_max;
    return !row->too_many;
}

void vv_row_miss(struct vv_staging *staging, struct vv_slot *slot, enum vv_reason reason,
                 enum vv_field_kind kind, uint32_t column)
{
    struct vv_staging_row *row = staging->row;
    if (!has_room(row)) {
        return;
    }
    forget_earlier(row, slot);
    slot->serial = row->serial;
    row->at = slot->index;
    if (!misses_grow(row)) {
        slot->serial = 0;
        lose_field(staging);
        return;
    }
    slot->cell = VV_CELL_MISS | row->n_misses;
    row->misses[row->n_misses++] = (struct vv_miss){
        .slot = slot->index,
        .column = column,
        .reason = reason,
        .kind = kind,
    };
}

bool vv_value_convert(enum vv_field_kind kind, enum vv_value_type type, uint64_t *bits)
{
    if (type == VV_INT64) {
        return kind == VV_FIELD_INT || kind == VV_FIELD_BOOL;
    }
    if (kind == VV_FIELD_FLOAT) {
        return true;
    }
    int64_t integer = (int64_t)*bits;
    double value = (double)integer;
    if (value >= 0x1p63 || (int64_t)value != integer) {
        return false;
    }
    memcpy(bits, &value, sizeof value);
    return true;
}

void vv_row_put_slowly(struct vv_staging *staging, struct vv_slot *slot, enum vv_field_kind kind,
                       uint64_t bits, uint32_t column)
{
    struct vv_staging_row *row = staging->row;
    if (slot->type != VV_TYPE_UNKNOWN &&
        !vv_value_convert(kind, (enum vv_value_type)slot->type, &bits)) {
        vv_row_miss(staging, slot, VV_REASON_TYPE, kind, column);
        return;
    }
    if (!has_room(row)) {
        return;
    }
    forget_earlier(row, slot);
    slot->serial = row->serial;
    row->at = slot->index;
    if (!cells_grow(row)) {
        slot->serial = 0;
        lose_field(staging);
        return;
    }
    row->unresolved = row->unresolved || slot->type == VV_TYPE_UNKNOWN;
    slot->cell = row->n;
    row->slots[row->n] = slot->index;
    row->values[row->n] = bits;
    row->kinds[row->n] = (uint8_t)kind;
    row->columns[row->n] = column;
    row->n++;
}

void vv_row_compact(struct vv_staging_row *row)
{
    if (row->n_dead == 0) {
        return;
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < row->n; i++) {
        if (row->slots[i] != VV_CELL_DEAD) {
            row->slots[kept] = row->slots[i];
            row->values[kept] = row->values[i];
            row->kinds[kept] = row->kinds[i];
            row->columns[kept] = row->columns[i];
            kept++;
        }
    }
    row->n = kept;
    kept = 0;
    for (uint32_t i = 0; i < row->n_misses; i++) {
        if (row->misses[i].slot != VV_CELL_DEAD) {
            row->misses[kept++] = row->misses[i];
        }
    }
    row->n_misses = kept;
    row->n_dead = 0;
}

uint32_t vv_row_fields(const struct vv_staging_row *row)
{
    return row->n + row->n_misses + row->n_lost - row->n_dead;
}
