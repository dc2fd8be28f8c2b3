/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the simulated disk: its state. */
#ifndef VV_SIMULATION_SIM_DISK_PRIVATE_H
#define VV_SIMULATION_SIM_DISK_PRIVATE_H

#include "simulation/sim_disk.h"
#include "simulation/sim_names.h"

#include <pthread.h>

#define VV_SIM_NO_LIMIT UINT64_MAX

struct vv_sim_fault {
    uint64_t countdown; /* 0: none */
    enum vv_status status;
    uint32_t rate;
};

struct vv_sim_disk {
    struct vv_disk disk; /* first */
    pthread_mutex_t lock;
    struct vv_random random;
    struct vv_sim_names names;
    struct vv_sim_fault faults[VV_SIM_CALLS];
    uint64_t capacity;
    bool allocates;
    bool off;
    uint64_t off_countdown; /* 0: none */
    uint64_t calls;
    uint64_t life; /* counts crashes and restarts: older handles are dead */
    size_t handles;
};

extern const struct vv_disk_ops vv_sim_disk_ops;

/* The bytes that all files take; the caller holds the lock. */
uint64_t vv_sim_disk_bytes_used(const struct vv_sim_disk *sim);

#endif
