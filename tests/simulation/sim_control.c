/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated disk, the test's side: making it, faults, crashes. */
#include "simulation/sim_disk_private.h"
#include "simulation/sim_memory.h"

#include <stdlib.h>

uint64_t vv_sim_disk_bytes_used(const struct vv_sim_disk *sim)
{
    uint64_t used = 0;
    for (size_t i = 0; i < sim->names.seen.count; i++) {
        used += sim->names.seen.items[i].inode->seen.size;
    }
    return used;
}

struct vv_sim_disk *vv_sim_disk_create(uint64_t seed)
{
    struct vv_sim_disk *sim = vv_sim_calloc(1, sizeof *sim);
    sim->disk.ops = &vv_sim_disk_ops;
    sim->random.state = seed;
    sim->capacity = VV_SIM_NO_LIMIT;
    sim->allocates = true;
    vv_invariant(pthread_mutex_init(&sim->lock, NULL) == 0);
    return sim;
}

void vv_sim_disk_destroy(struct vv_sim_disk *sim)
{
    vv_invariant(sim->handles == 0);
    vv_sim_names_deinit(&sim->names);
    pthread_mutex_destroy(&sim->lock);
    free(sim);
}

struct vv_disk *vv_sim_disk_interface(struct vv_sim_disk *sim)
{
    return &sim->disk;
}

void vv_sim_disk_fail_call(struct vv_sim_disk *sim, enum vv_sim_call call, uint64_t k,
                           enum vv_status status)
{
    pthread_mutex_lock(&sim->lock);
    sim->faults[call].countdown = k;
    sim->faults[call].status = status;
    pthread_mutex_unlock(&sim->lock);
}

void vv_sim_disk_fail_rate(struct vv_sim_disk *sim, enum vv_sim_call call, uint32_t n)
{
    pthread_mutex_lock(&sim->lock);
    sim->faults[call].rate = n;
    pthread_mutex_unlock(&sim->lock);
}

void vv_sim_disk_set_capacity(struct vv_sim_disk *sim, uint64_t bytes)
{
    pthread_mutex_lock(&sim->lock);
    sim->capacity = bytes;
    pthread_mutex_unlock(&sim->lock);
}

void vv_sim_disk_set_allocates(struct vv_sim_disk *sim, bool allocates)
{
    pthread_mutex_lock(&sim->lock);
    sim->allocates = allocates;
    pthread_mutex_unlock(&sim->lock);
}

void vv_sim_disk_heal(struct vv_sim_disk *sim)
{
    pthread_mutex_lock(&sim->lock);
    memset(sim->faults, 0, sizeof sim->faults);
    sim->capacity = VV_SIM_NO_LIMIT;
    sim->allocates = true;
    sim->off_countdown = 0;
    pthread_mutex_unlock(&sim->lock);
}

void vv_sim_disk_power_off_after(struct vv_sim_disk *sim, uint64_t k)
{
    pthread_mutex_lock(&sim->lock);
    sim->off = sim->off || k == 0;
    sim->off_countdown = k;
    pthread_mutex_unlock(&sim->lock);
}

bool vv_sim_disk_is_off(struct vv_sim_disk *sim)
{
    pthread_mutex_lock(&sim->lock);
    bool off = sim->off;
    pthread_mutex_unlock(&sim->lock);
    return off;
}

static void start_again(struct vv_sim_disk *sim)
{
    sim->off = false;
    sim->off_countdown = 0;
    sim->life++;
}

void vv_sim_disk_crash(struct vv_sim_disk *sim)
{
    pthread_mutex_lock(&sim->lock);
    vv_sim_names_crash(&sim->names, &sim->random);
    for (size_t i = 0; i < sim->names.seen.count; i++) {
        vv_sim_inode_crash(sim->names.seen.items[i].inode, &sim->random);
    }
    start_again(sim);
    pthread_mutex_unlock(&sim->lock);
}

void vv_sim_disk_restart(struct vv_sim_disk *sim)
{
    pthread_mutex_lock(&sim->lock);
    start_again(sim);
    pthread_mutex_unlock(&sim->lock);
}

uint64_t vv_sim_disk_calls(struct vv_sim_disk *sim)
{
    pthread_mutex_lock(&sim->lock);
    uint64_t calls = sim->calls;
    pthread_mutex_unlock(&sim->lock);
    return calls;
}

void vv_sim_disk_usage(struct vv_sim_disk *sim, uint64_t *files_out, uint64_t *bytes_out)
{
    pthread_mutex_lock(&sim->lock);
    *files_out = 0;
    for (size_t i = 0; i < sim->names.seen.count; i++) {
        *files_out += !sim->names.seen.items[i].inode->is_folder;
    }
    *bytes_out = vv_sim_disk_bytes_used(sim);
    pthread_mutex_unlock(&sim->lock);
}
