/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Orders of deletion, and their form, version 1. Integers are varints, signed ones zigzag.
 *
 *   u8 form (1), tenant, u8 scope, from in ns (signed), to in ns (signed),
 *   how many numbers, the numbers, how many sources, the sources; of both, each as the difference
 *   to the one before (signed)
 *
 * Nothing may follow.
 */
#include "model/deletion.h"

#include "model/partition.h"

#include <stdlib.h>

#define FORM_VERSION 1

void vv_deletion_list_deinit(struct vv_deletion_list *list)
{
    free(list->items);
    *list = (struct vv_deletion_list){0};
}

struct vv_deletion_order *vv_deletion_order_create(size_t n_numbers, size_t n_sources)
{
    struct vv_deletion_order *order;
    if (n_numbers > SIZE_MAX / 16 || n_sources > SIZE_MAX / 16) {
        return NULL;
    }
    order = malloc(sizeof *order + (n_numbers + n_sources) * sizeof(uint32_t));
    if (!order) {
        return NULL;
    }
    *order = (struct vv_deletion_order){.n_numbers = n_numbers, .n_sources = n_sources};
    order->numbers = (uint32_t *)(order + 1);
    order->sources = order->numbers + n_numbers;
    return order;
}

uint64_t vv_deletion_order_markers(const struct vv_deletion_order *order)
{
    uint64_t each = order->scope == VV_DELETION_SOURCE ? 1 : order->n_numbers;
    return each * order->n_sources;
}

/* ---- the form ---- */

static void encode_list(const uint32_t *list, size_t n, struct vv_buffer *buffer)
{
    int64_t before = 0;
    vv_buffer_varint(buffer, n);
    for (size_t i = 0; i < n; i++) {
        vv_buffer_zigzag(buffer, (int64_t)list[i] - before);
        before = list[i];
    }
}

void vv_deletion_order_encode(const struct vv_deletion_order *order, struct vv_buffer *buffer)
{
    vv_buffer_u8(buffer, FORM_VERSION);
    vv_buffer_varint(buffer, order->tenant);
    vv_buffer_u8(buffer, order->scope);
    vv_buffer_zigzag(buffer, order->from);
    vv_buffer_zigzag(buffer, order->to);
    encode_list(order->numbers, order->n_numbers, buffer);
    encode_list(order->sources, order->n_sources, buffer);
}

/* How many there are: each takes a byte at least. */
static size_t read_size(struct vv_reader *reader)
{
    uint64_t n = vv_reader_varint(reader);
    if (n > vv_reader_left(reader)) {
        reader->failed = true;
    }
    return reader->failed ? 0 : (size_t)n;
}

static void read_list(struct vv_reader *reader, uint32_t *list, size_t n)
{
    uint64_t before = 0;
    for (size_t i = 0; i < n; i++) {
        before += (uint64_t)vv_reader_zigzag(reader);
        reader->failed |= before >= UINT32_MAX;
        list[i] = (uint32_t)before;
    }
}

static bool is_good(const struct vv_deletion_order *order)
{
    bool numbered = order->scope == VV_DELETION_MEASUREMENT || order->scope == VV_DELETION_METRIC;
    return (numbered ? order->n_numbers > 0
                     : order->scope == VV_DELETION_SOURCE && order->n_numbers == 0) &&
           order->from >= VV_TIME_MIN && order->to <= VV_TIME_MAX + 1 && order->from < order->to;
}

enum vv_status vv_deletion_order_decode(struct vv_str bytes, struct vv_deletion_order **order_out,
                                        struct vv_error *error)
{
    struct vv_reader reader = vv_reader_of(bytes.data, bytes.size);
    struct vv_deletion_order head = {0};
    uint8_t form = vv_reader_u8(&reader);
    if (!reader.failed && form > FORM_VERSION) {
        return vv_error_set(error, VV_NEWER,
                            "a deletion has form %u, this program knows up to %d: use a newer "
                            "program",
                            (unsigned)form, FORM_VERSION);
    }
    uint64_t tenant = vv_reader_varint(&reader);
    reader.failed |= form == 0 || tenant >= UINT32_MAX;
    head.scope = vv_reader_u8(&reader);
    head.from = vv_reader_zigzag(&reader);
    head.to = vv_reader_zigzag(&reader);
    struct vv_reader lists = reader;
    size_t n_numbers = read_size(&reader);
    for (size_t i = 0; i < n_numbers && !reader.failed; i++) {
        (void)vv_reader_zigzag(&reader);
    }
    size_t n_sources = read_size(&reader);
    struct vv_deletion_order *order = vv_deletion_order_create(n_numbers, n_sources);
    if (!order) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory for a deletion");
    }
    order->tenant = (uint32_t)tenant;
    order->scope = head.scope;
    order->from = head.from;
    order->to = head.to;
    (void)vv_reader_varint(&lists);
    read_list(&lists, order->numbers, n_numbers);
    (void)vv_reader_varint(&lists);
    read_list(&lists, order->sources, n_sources);
    if (reader.failed || lists.failed || vv_reader_left(&lists) > 0 || !is_good(order)) {
        free(order);
        return vv_error_set(error, VV_CORRUPT, "a deletion in the journal is damaged");
    }
    *order_out = order;
    return VV_OK;
}
