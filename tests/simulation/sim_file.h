/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to the simulated disk: the content of one file, once as programs see it (the page cache)
 * and once as it is on the disk, with the changes that are on their way between the two.
 */
#ifndef VV_SIMULATION_SIM_FILE_H
#define VV_SIMULATION_SIM_FILE_H

#include "base/bytes.h"
#include "base/random.h"

#define VV_SIM_SECTOR 512u

struct vv_sim_change {
    uint64_t offset; /* of a write; else the new size */
    uint8_t *bytes;  /* NULL: the size changes */
    size_t size;
};

struct vv_sim_image {
    uint8_t *bytes;
    size_t size;
};

struct vv_sim_inode {
    size_t references; /* names, durable names and handles */
    bool is_folder;
    struct vv_sim_image seen;
    struct vv_sim_image durable;
    struct vv_sim_change *changes; /* seen and not yet durable, oldest first */
    size_t change_count;
    size_t change_capacity;
};

/* With no reference yet. */
struct vv_sim_inode *vv_sim_inode_create(bool is_folder);
/* Frees the inode with its last reference. */
void vv_sim_inode_release(struct vv_sim_inode *inode);

void vv_sim_inode_write(struct vv_sim_inode *inode, uint64_t offset, const void *bytes,
                        size_t size);
void vv_sim_inode_resize(struct vv_sim_inode *inode, uint64_t size);
/* All changes reach the disk. */
void vv_sim_inode_sync(struct vv_sim_inode *inode);
/* Any of the changes reach the disk, whole or some of their sectors; the others never will,
 * although programs go on seeing them. This is what a failed sync leaves. */
void vv_sim_inode_drop_changes(struct vv_sim_inode *inode, struct vv_random *random);
/* The same, and then only what is on the disk is seen. */
void vv_sim_inode_crash(struct vv_sim_inode *inode, struct vv_random *random);

#endif
