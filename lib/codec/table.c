/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of distinct numbers. */
#include "table.h"

#include "bitpack.h"
#include "groups.h"

#define SLOT_BITS 10u
#define N_SLOTS   (1u << SLOT_BITS)
#define NO_ENTRY  UINT16_MAX

/* Open addressing; a quarter full at most. */
struct finder {
    uint64_t *entries;
    size_t n_entries;
    size_t n_entries_max;
    uint16_t slots[N_SLOTS];
};

/* The place of a number, added when it is new; false when the table is full. */
static bool find_place(struct finder *finder, uint64_t number, uint64_t *place_out)
{
    uint64_t mixed = (number ^ (number >> 32)) * UINT64_C(0x9e3779b97f4a7c15);
    size_t slot = (size_t)(mixed >> (64 - SLOT_BITS));
    while (finder->slots[slot] != NO_ENTRY) {
        uint16_t place = finder->slots[slot];
        if (finder->entries[place] == number) {
            *place_out = place;
            return true;
        }
        slot = (slot + 1) % N_SLOTS;
    }
    if (finder->n_entries == finder->n_entries_max) {
        return false;
    }
    finder->slots[slot] = (uint16_t)finder->n_entries;
    finder->entries[finder->n_entries] = number;
    *place_out = finder->n_entries++;
    return true;
}

enum vv_block_status vv_table_plan(struct vv_scratch *scratch, enum vv_scratch_slot slot,
                                   const uint64_t *numbers, size_t count, size_t size_limit,
                                   struct vv_table *table_out)
{
    *table_out = (struct vv_table){0};
    uint64_t *entries =
        vv_scratch_buffer(scratch, slot, (VV_TABLE_ENTRIES_MAX + count) * sizeof *entries);
    if (entries == NULL) {
        return VV_BLOCK_NO_MEMORY;
    }
    uint64_t *places = entries + VV_TABLE_ENTRIES_MAX;
    size_t n_entries_max = size_limit / sizeof *entries;
    struct finder finder = {.entries = entries};
    finder.n_entries_max =
        n_entries_max < VV_TABLE_ENTRIES_MAX ? n_entries_max : VV_TABLE_ENTRIES_MAX;
    memset(finder.slots, 0xff, sizeof finder.slots);
    for (size_t i = 0; i < count; i++) {
        if (!find_place(&finder, numbers[i], &places[i])) {
            return VV_BLOCK_OK;
        }
    }
    size_t size = 1 + finder.n_entries * sizeof *entries + vv_groups_size(places, count);
    if (size < size_limit) {
        *table_out = (struct vv_table){entries, finder.n_entries, places, count, size};
    }
    return VV_BLOCK_OK;
}

void vv_table_write(const struct vv_table *table, struct vv_writer *writer)
{
    vv_put_byte(writer, (unsigned)table->n_entries - 1);
    for (size_t i = 0; i < table->n_entries; i++) {
        vv_put_u64(writer, table->entries[i]);
    }
    vv_groups_write(table->places, table->n_places, writer);
}

bool vv_table_read(struct vv_reader *reader, size_t count, uint64_t *numbers_out)
{
    size_t n_entries = (size_t)vv_take_byte(reader) + 1;
    const uint8_t *entries = vv_take_bytes(reader, n_entries * sizeof(uint64_t));
    if (entries == NULL || !vv_groups_read(reader, count, numbers_out)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (numbers_out[i] >= n_entries) {
            reader->failed = true;
            return false;
        }
        numbers_out[i] = vv_load_u64(entries + sizeof(uint64_t) * numbers_out[i]);
    }
    return true;
}
