/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to the simulated disk: which path leads to which inode, once as programs see it and once
 * as it is on the disk, with the changes that no sync of their folder has made durable yet.
 */
#ifndef VV_SIMULATION_SIM_NAMES_H
#define VV_SIMULATION_SIM_NAMES_H

#include "simulation/sim_file.h"

struct vv_sim_name {
    char *path;
    struct vv_sim_inode *inode;
};

struct vv_sim_name_list {
    struct vv_sim_name *items;
    size_t count;
    size_t capacity;
};

struct vv_sim_name_change {
    char *removed; /* or NULL */
    char *added;   /* or NULL */
    struct vv_sim_inode *inode;
};

/* Zero-initialised is empty and valid. */
struct vv_sim_names {
    struct vv_sim_name_list seen;
    struct vv_sim_name_list durable;
    struct vv_sim_name_change *changes; /* oldest first */
    size_t change_count;
    size_t change_capacity;
};

void vv_sim_names_deinit(struct vv_sim_names *names);
/* As programs see it; NULL when there is none. */
struct vv_sim_inode *vv_sim_names_find(struct vv_sim_names *names, const char *path);
/* Removes one path, adds another for the inode, or both (a rename); NULL for none. */
void vv_sim_names_change(struct vv_sim_names *names, const char *removed, const char *added,
                         struct vv_sim_inode *inode);
void vv_sim_names_sync(struct vv_sim_names *names, const char *folder);
/* Each change that was not synced gets its own fate; contents are not touched. */
void vv_sim_names_crash(struct vv_sim_names *names, struct vv_random *random);
bool vv_sim_names_in_folder(const char *path, const char *folder);
/* A copy; out of memory ends the test. */
char *vv_sim_copy_text(const char *text);

#endif
