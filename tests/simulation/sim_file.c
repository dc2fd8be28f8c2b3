/* SPDX-License-Identifier: Apache-2.0 */
/* File contents of the simulated disk. Out of memory ends the test. */
#include "simulation/sim_file.h"
#include "simulation/sim_memory.h"

#include <stdlib.h>

struct vv_sim_inode *vv_sim_inode_create(bool is_folder)
{
    struct vv_sim_inode *inode = vv_sim_calloc(1, sizeof *inode);
    inode->is_folder = is_folder;
    return inode;
}

static void clear_changes(struct vv_sim_inode *inode)
{
    for (size_t i = 0; i < inode->change_count; i++) {
        free(inode->changes[i].bytes);
    }
    inode->change_count = 0;
}

void vv_sim_inode_release(struct vv_sim_inode *inode)
{
    vv_invariant(inode->references > 0);
    if (--inode->references > 0) {
        return;
    }
    clear_changes(inode);
    free(inode->changes);
    free(inode->seen.bytes);
    free(inode->durable.bytes);
    free(inode);
}

static void image_resize(struct vv_sim_image *image, size_t size)
{
    if (size > image->size) {
        uint8_t *bytes = vv_sim_realloc(image->bytes, size);
        memset(bytes + image->size, 0, size - image->size);
        image->bytes = bytes;
    }
    image->size = size;
}

static void image_write(struct vv_sim_image *image, size_t offset, const uint8_t *bytes,
                        size_t size)
{
    if (offset + size > image->size) {
        image_resize(image, offset + size);
    }
    if (size) {
        memcpy(image->bytes + offset, bytes, size);
    }
}

static void image_apply(struct vv_sim_image *image, const struct vv_sim_change *change)
{
    if (change->bytes) {
        image_write(image, (size_t)change->offset, change->bytes, change->size);
    } else {
        image_resize(image, (size_t)change->offset);
    }
}

static void add_change(struct vv_sim_inode *inode, struct vv_sim_change change)
{
    if (inode->change_count == inode->change_capacity) {
        inode->change_capacity = inode->change_capacity ? inode->change_capacity * 2 : 8;
        inode->changes =
            vv_sim_realloc(inode->changes, inode->change_capacity * sizeof *inode->changes);
    }
    inode->changes[inode->change_count++] = change;
    image_apply(&inode->seen, &change);
}

void vv_sim_inode_write(struct vv_sim_inode *inode, uint64_t offset, const void *bytes, size_t size)
{
    if (size == 0) {
        return;
    }
    uint8_t *copy = vv_sim_malloc(size);
    memcpy(copy, bytes, size);
    add_change(inode, (struct vv_sim_change){offset, copy, size});
}

void vv_sim_inode_resize(struct vv_sim_inode *inode, uint64_t size)
{
    add_change(inode, (struct vv_sim_change){size, NULL, 0});
}

void vv_sim_inode_sync(struct vv_sim_inode *inode)
{
    for (size_t i = 0; i < inode->change_count; i++) {
        image_apply(&inode->durable, &inode->changes[i]);
    }
    clear_changes(inode);
}

/* A sector that did not reach the disk, where nothing durable was: zeros, or what another file left
 * on that place of the disk. */
static void leave_garbage(struct vv_sim_image *image, size_t offset, size_t size,
                          struct vv_random *random)
{
    bool zeros = vv_random_below(random, 2) == 0;
    for (size_t i = 0; i < size; i++) {
        image->bytes[offset + i] = zeros ? 0 : (uint8_t)vv_random_next(random);
    }
}

/* Some of a write's sectors reach the disk. The size is that of the whole write or ends with a
 * sector that was written. */
static void apply_torn(struct vv_sim_image *image, const struct vv_sim_change *change,
                       struct vv_random *random)
{
    size_t durable_size = image->size;
    size_t end = (size_t)change->offset + change->size;
    if (vv_random_below(random, 2) == 0 && end > image->size) {
        image_resize(image, end);
    }
    size_t at = (size_t)change->offset;
    while (at < end) {
        size_t next = (at / VV_SIM_SECTOR + 1) * VV_SIM_SECTOR;
        next = next < end ? next : end;
        if (vv_random_below(random, 2) == 0) {
            image_write(image, at, change->bytes + (at - change->offset), next - at);
        } else if (at / VV_SIM_SECTOR * VV_SIM_SECTOR >= durable_size && next <= image->size) {
            leave_garbage(image, at, next - at, random);
        }
        at = next;
    }
}

void vv_sim_inode_drop_changes(struct vv_sim_inode *inode, struct vv_random *random)
{
    /* Often nothing or everything gets there; else each change has its own fate. */
    uint64_t mode = vv_random_below(random, 4);
    for (size_t i = 0; i < inode->change_count; i++) {
        const struct vv_sim_change *change = &inode->changes[i];
        uint64_t fate = mode < 2 ? mode : vv_random_below(random, 3);
        if (fate == 1) {
            image_apply(&inode->durable, change);
        } else if (fate == 2 && change->bytes) {
            apply_torn(&inode->durable, change, random);
        }
    }
    clear_changes(inode);
}

void vv_sim_inode_crash(struct vv_sim_inode *inode, struct vv_random *random)
{
    vv_sim_inode_drop_changes(inode, random);
    image_resize(&inode->seen, inode->durable.size);
    if (inode->durable.size) {
        memcpy(inode->seen.bytes, inode->durable.bytes, inode->durable.size);
    }
}
