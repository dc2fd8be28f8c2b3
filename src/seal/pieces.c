/* SPDX-License-Identifier: Apache-2.0 */
#include "seal/pieces.h"

#include <stdlib.h>

static bool fit(struct vv_piece_list *list)
{
    if (list->n < list->capacity) {
        return true;
    }
    size_t capacity = list->capacity ? list->capacity * 2 : 64;
    struct vv_piece *bigger = realloc(list->items, capacity * sizeof *bigger);
    if (bigger) {
        list->items = bigger;
        list->capacity = capacity;
    }
    return bigger != NULL;
}

bool vv_piece_list_add(struct vv_piece_list *list, const struct vv_piece *piece, bool with_bytes)
{
    if (!fit(list)) {
        return false;
    }
    struct vv_piece *item = &list->items[list->n];
    *item = *piece;
    item->bytes = (struct vv_str){0};
    if (with_bytes && piece->bytes.size) {
        char *copy = malloc(piece->bytes.size);
        if (!copy) {
            return false;
        }
        memcpy(copy, piece->bytes.data, piece->bytes.size);
        item->bytes = (struct vv_str){copy, piece->bytes.size};
        list->bytes += piece->bytes.size;
    }
    list->n++;
    return true;
}

void vv_piece_list_truncate(struct vv_piece_list *list, size_t n)
{
    while (list->n > n) {
        struct vv_piece *item = &list->items[--list->n];
        list->bytes -= item->bytes.size;
        free((char *)item->bytes.data);
    }
}

void vv_piece_list_deinit(struct vv_piece_list *list)
{
    vv_piece_list_truncate(list, 0);
    free(list->items);
    *list = (struct vv_piece_list){0};
}
