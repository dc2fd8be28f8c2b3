/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulated world: one engine over a simulated clock, disk and the memory store; both the disk
 * and the store outlive the engine, as the real ones outlive the process.
 */
#ifndef VV_SIMULATION_WORLD_H
#define VV_SIMULATION_WORLD_H

#include "base/random.h"
#include "engine/engine.h"
#include "simulation/model.h"
#include "simulation/sim_clock.h"
#include "simulation/sim_disk.h"

#define WORLD_WRITES_MAX 4096 /* of one submission */

/* One point of a submission. */
struct write {
    struct model_point *point;
    uint64_t value;
};

struct submission {
    struct world *world;
    struct submission *next;
    uint64_t sequence;
    bool done;
    size_t n;
    struct write writes[];
};

struct world {
    struct vv_random random;
    struct vv_sim_clock clock;
    struct vv_sim_disk *disk;
    struct vv_store *store;
    struct vv_engine *engine;
    struct vv_settings settings;
    struct model model;
    int64_t base_ns;
    uint64_t next_value;
    uint64_t next_sequence;
    struct submission *waiting; /* submitted, not done */
    uint64_t acknowledged_points;
    uint64_t open_points;
    uint64_t waiting_points;
    bool story; /* print each action */
    char failure[512];
};

void world_init(struct world *world, uint64_t seed, bool story);
void world_deinit(struct world *world);

/* Starts the engine on what the last one left. False when the disk refuses (faults); a wrong
 * refusal is a failure. */
bool world_start(struct world *world);
/* The machine loses its power, or (process_only) the process is killed. */
void world_crash(struct world *world, bool process_only);
/* Submits a batch of random lines. */
void world_submit(struct world *world);
/* Asks for every point and compares. */
void world_check(struct world *world);
/* Flushes and seals everything without faults, and checks that no run is left. */
void world_settle(struct world *world);
/* Notes the first thing that went wrong. */
void world_fail(struct world *world, const char *format, ...) VV_PRINTF(2, 3);

#endif
