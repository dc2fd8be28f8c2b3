/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A disk in memory for simulations, seeded: the same seed and the same calls give the same fates.
 *
 * It keeps apart what programs see and what would survive a loss of power. Content that was not
 * synced may survive, vanish or be torn into sectors of 512 bytes, with garbage between them; names
 * that were created, renamed or removed since the folder was synced may be as before or after, each
 * on its own. Faults can be asked for: the k-th call fails, any call fails now and then, the disk
 * is full, the power goes off after k calls, a failed sync loses what was to be synced while
 * programs still see it, as Linux does.
 *
 * Paths are compared as text; "/" is there from the start. Any thread may call. Running out of
 * memory ends the test.
 */
#ifndef VV_SIMULATION_SIM_DISK_H
#define VV_SIMULATION_SIM_DISK_H

#include "base/disk.h"

struct vv_sim_disk;

enum vv_sim_call {
    VV_SIM_OPEN, /* of a new file */
    VV_SIM_READ,
    VV_SIM_WRITE, /* a failed one has written a part */
    VV_SIM_SYNC,
    VV_SIM_TRUNCATE,
    VV_SIM_ALLOCATE,
    VV_SIM_REMOVE,
    VV_SIM_RENAME,
    VV_SIM_SYNC_FOLDER,
    VV_SIM_CALLS,
};

struct vv_sim_disk *vv_sim_disk_create(uint64_t seed);
/* All files must be closed. */
void vv_sim_disk_destroy(struct vv_sim_disk *sim);
struct vv_disk *vv_sim_disk_interface(struct vv_sim_disk *sim);

/* The k-th call of this kind from now on (1: the next) fails with status, once. */
void vv_sim_disk_fail_call(struct vv_sim_disk *sim, enum vv_sim_call call, uint64_t k,
                           enum vv_status status);
/* Each call of this kind fails with VV_IO with a probability of n in a million. */
void vv_sim_disk_fail_rate(struct vv_sim_disk *sim, enum vv_sim_call call, uint32_t n);
/* All files together; beyond it writes and allocations are VV_FULL. Default: no limit. */
void vv_sim_disk_set_capacity(struct vv_sim_disk *sim, uint64_t bytes);
/* false: allocate fails with VV_IO, as on a file system that cannot do it. */
void vv_sim_disk_set_allocates(struct vv_sim_disk *sim, bool allocates);
/* No more faults of the kinds above. */
void vv_sim_disk_heal(struct vv_sim_disk *sim);

/* The k-th call that changes something is done in part, and from then on all calls fail with VV_IO
 * until a crash or a restart. 0: now. */
void vv_sim_disk_power_off_after(struct vv_sim_disk *sim, uint64_t k);
bool vv_sim_disk_is_off(struct vv_sim_disk *sim);
/* The machine lost its power and is on again. Files that are open fail from now on. */
void vv_sim_disk_crash(struct vv_sim_disk *sim);
/* The process was killed and starts again: what it wrote is still in the page cache. */
void vv_sim_disk_restart(struct vv_sim_disk *sim);

/* Calls that changed something, or tried to, since the start. */
uint64_t vv_sim_disk_calls(struct vv_sim_disk *sim);
/* How many files there are, and the sum of their sizes. */
void vv_sim_disk_usage(struct vv_sim_disk *sim, uint64_t *files_out, uint64_t *bytes_out);

#endif
