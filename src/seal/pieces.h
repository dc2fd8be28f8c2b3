/* SPDX-License-Identifier: Apache-2.0 */
/* A list of pieces that own their bytes (or have none). Private to src/seal; one thread. */
#ifndef VV_SEAL_PIECES_H
#define VV_SEAL_PIECES_H

#include "store/store.h"

/* Zero-initialised is empty. */
struct vv_piece_list {
    struct vv_piece *items;
    size_t n;
    size_t capacity;
    size_t bytes;
};

/* A copy; its bytes, too, where they are wanted. False when memory is out. */
VV_MUST_CHECK bool vv_piece_list_add(struct vv_piece_list *list, const struct vv_piece *piece,
                                     bool with_bytes);
/* Drops those from the nth on. */
void vv_piece_list_truncate(struct vv_piece_list *list, size_t n);
void vv_piece_list_deinit(struct vv_piece_list *list);

#endif
