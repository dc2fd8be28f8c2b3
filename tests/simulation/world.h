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
    size_t source;
    size_t time;
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
    bool changes_plans; /* of sources; then points may not lie far ahead */
    bool has_tiers;     /* at times: they are switched on and off */
    bool has_class; /* half of the metrics are in a class of the tenant, with its own tiers … */
    bool moves_class;
    const char *class_takes; /* … which takes these measurements, from some day on others */
    bool hides;              /* tiers are on from the start, and points expire before them */
    bool is_settled;         /* all that tiers can have they have */
    bool switched_off;       /* a tier was */
    int64_t retention_ns;
    int64_t tiers_ns[VV_SPACES];    /* of a world that hides: 0: for ever, everywhere */
    bool bare;                      /* ask without the markers of deletion */
    bool story;                     /* print each action */
    uint64_t tier_parts[VV_SPACES]; /* that answers had of tiers, so far */
    uint64_t tier_steps[VV_SPACES];
    uint64_t cohort_parts;
    char failure[512];
};

/* Zero-initialised before. */
void world_init(struct world *world, uint64_t seed, bool story);
void world_deinit(struct world *world);

/* Starts the engine on what the last one left. False when the disk refuses (faults); a wrong
 * refusal is a failure. */
bool world_start(struct world *world);
/* The machine loses its power, or (process_only) the process is killed. */
void world_crash(struct world *world, bool process_only);
/* Submits a batch of random lines. */
void world_submit(struct world *world);
/* Gives a source another plan from some time on. */
void world_change_plan(struct world *world);
/* Deletes a random range of a source, a metric or all. */
void world_delete(struct world *world);
/* Switches some tiers on or off. */
void world_set_tiers(struct world *world);
/* Makes the class; before anything is written. */
void world_make_class(struct world *world);
/* Gives the class other measurements. */
void world_change_class(struct world *world);
/* The measurement that a field is in: "m", or "n", which is the class's at first. */
const char *world_measurement(const struct world *world, size_t field);
/* Its number; VV_REGISTRY_NONE: nothing of it was written. */
uint32_t world_measurement_number(const struct world *world, const char *name);
/* Sets the retentions of a world that hides. */
void world_set_retentions(struct world *world);
/* Changes what is done with late points. */
void world_set_late(struct world *world);
struct vv_late world_late(const struct world *world);
/* The runs of a measurement that a place, or a space, has where the points can lie. */
size_t world_count_runs(struct world *world, uint32_t number, uint32_t measurement);
/* How old points may be when they come; what is older when time has passed is frozen. */
int64_t world_accepted_age(const struct world *world);
void world_note_time(struct world *world);
/* Until the sealer has been told of all that is deleted. */
void world_sweep_all(struct world *world);
/* Asks for every point and compares; then for some aggregates. */
void world_check(struct world *world);
/* Asks for aggregates of all steps and tiers that there are, and compares with those of the model,
 * which must be free of open values: after the comparison of all points it is. */
void world_check_tiers(struct world *world, bool all);
/* Builds all tiers again, which must find none wrong; `repair`: and what is missing. */
void world_reroll(struct world *world, bool repair);
/* Asks a query. VV_DONE: the answer is complete; VV_NOT_FOUND: nothing was ever written. */
VV_MUST_CHECK enum vv_status world_ask(struct world *world, const struct vv_parameter *parameters,
                                       size_t n, struct vv_buffer *answer,
                                       struct vv_result_facts *facts_out, struct vv_error *error);
/* Flushes and seals everything without faults, and checks that no run is left, and nothing that
 * was deleted. */
void world_settle(struct world *world);
/* Notes the first thing that went wrong. */
void world_fail(struct world *world, const char *format, ...) VV_PRINTF(2, 3);

#endif
