/* SPDX-License-Identifier: Apache-2.0 */
/* Seeded runs of the whole engine: see README.md. */
#include "base/log.h"
#include "simulation/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void tell(struct world *world, const char *what)
{
    if (world->story) {
        int64_t now = world->clock.clock.wall_ns(&world->clock.clock);
        printf("%.4f d: %s\n", (double)(now - world->base_ns) / (double)VV_DAY, what);
    }
}

static void step(struct world *world, enum vv_engine_task task, const char *what)
{
    struct vv_error error = {0};
    tell(world, what);
    enum vv_status status = vv_engine_step(world->engine, task, &error);
    if (world->story && status != VV_OK) {
        printf("  %s %s\n", vv_status_name(status), error.message);
    }
}

static void restart(struct world *world, bool process_only)
{
    tell(world, process_only ? "kill -9" : "power off");
    world_crash(world, process_only);
    if (vv_random_below(&world->random, 4) == 0) { /* again, while recovering */
        vv_sim_disk_power_off_after(world->disk, 1 + vv_random_below(&world->random, 10));
        if (world_start(world)) {
            vv_engine_close(world->engine);
            world->engine = NULL;
        }
        vv_store_memory_crash(world->store, vv_random_next(&world->random));
        vv_sim_disk_crash(world->disk);
        vv_sim_disk_heal(world->disk);
    }
    if (!world_start(world)) {
        world_fail(world, "the engine does not start on a healthy disk");
        return;
    }
    world_check(world);
}

static void break_something(struct world *world)
{
    static const enum vv_sim_call calls[] = {VV_SIM_WRITE,    VV_SIM_SYNC,       VV_SIM_TRUNCATE,
                                             VV_SIM_ALLOCATE, VV_SIM_OPEN,       VV_SIM_REMOVE,
                                             VV_SIM_SYNC,     VV_SIM_SYNC_FOLDER};
    /* In variables: the order of a call's arguments is the compiler's, a seed's story must not be.
     */
    uint64_t what = vv_random_below(&world->random, 6);
    uint64_t which = vv_random_below(&world->random, 8);
    uint32_t first = (uint32_t)vv_random_below(&world->random, what == 4 ? 12 : 3);
    bool full = vv_random_below(&world->random, 2) == 0;
    switch (what) {
    case 0:
    case 1:
    case 2:
        tell(world, "a call of the disk will fail");
        vv_sim_disk_fail_call(world->disk, calls[which], 1 + first, full ? VV_FULL : VV_IO);
        break;
    case 3:
        tell(world, "the power will fail");
        vv_sim_disk_power_off_after(world->disk, 1 + vv_random_below(&world->random, 8));
        break;
    case 4:
        tell(world, "the store will fail");
        vv_store_memory_fail_later(world->store, VV_IO, first, (uint32_t)which);
        break;
    default:
        tell(world, "healed");
        vv_store_memory_fail(world->store, VV_OK, 0);
        vv_sim_disk_heal(world->disk);
    }
}

/* What is frozen before it is flushed finds less than its units were built of. */
static bool flush_all(struct world *world)
{
    struct vv_error error = {0};
    enum vv_status status = VV_OK;
    while (vv_engine_step(world->engine, VV_TASK_COMMIT, &error) == VV_OK) {
    }
    for (int i = 0; i < 3 && status == VV_OK; i++) { /* older jobs first, then what is active */
        status = vv_engine_step(world->engine, VV_TASK_FLUSH, &error);
    }
    return status == VV_OK && !world->waiting;
}

static void move_time(struct world *world)
{
    int64_t lengths[] = {VV_MILLISECOND, VV_SECOND, VV_MINUTE, VV_HOUR, VV_DAY / 2};
    int64_t length = lengths[vv_random_below(&world->random, world->has_tiers ? 5 : 4)];
    int64_t duration = (int64_t)vv_random_below(&world->random, 60) * length;
    if (world->hides && duration > VV_HOUR && !flush_all(world)) {
        duration = VV_MINUTE;
    }
    vv_sim_clock_advance(&world->clock, duration);
    if (vv_random_below(&world->random, 8) == 0) {
        tell(world, "the wall clock jumps");
        int64_t now = world->clock.clock.wall_ns(&world->clock.clock);
        vv_sim_clock_jump(&world->clock,
                          now - VV_DAY / 2 +
                              (int64_t)vv_random_below(&world->random, 24) * VV_HOUR);
    }
}

/* Tiers are built after what they are built of. */
static void seal(struct world *world, enum vv_engine_task task, const char *what)
{
    uint64_t times = world->has_tiers ? 1 + vv_random_below(&world->random, 6) : 1;
    for (uint64_t i = 0; i < times; i++) {
        step(world, task, what);
    }
}

static void act(struct world *world)
{
    uint64_t dice = vv_random_below(&world->random, 100);
    world_note_time(world);
    if (dice < 3 && world->has_tiers) {
        move_time(world);
    } else if (dice < 6 && world->hides) {
        step(world, VV_TASK_EXPIRE, "expire");
    } else if (dice < 35) {
        tell(world, "submit");
        world_submit(world);
    } else if (dice < 65) {
        step(world, VV_TASK_COMMIT, "commit");
    } else if (dice < 73) {
        step(world, VV_TASK_FLUSH, "flush");
    } else if (dice < 79) {
        seal(world, VV_TASK_SEAL, "seal");
    } else if (dice < 82) {
        seal(world, VV_TASK_SEAL_ALL, "seal all");
    } else if (dice < 83) {
        step(world, VV_TASK_EXPIRE, "expire");
    } else if (dice < 84 && world->has_tiers && !world->hides) {
        bool is_late = vv_random_below(&world->random, 2) == 0;
        tell(world, is_late ? "set what is done with late points" : "set tiers");
        (is_late ? world_set_late : world_set_tiers)(world);
    } else if (dice < 84 && !world->has_tiers) {
        tell(world, "set what is done with late points");
        world_set_late(world);
    } else if (dice < 86 && world->moves_class && vv_random_below(&world->random, 2) == 0) {
        tell(world, "give the class other measurements");
        world_change_class(world);
    } else if (dice < 85 && world->changes_plans) {
        tell(world, "change a plan");
        world_change_plan(world);
    } else if (dice < 88) {
        move_time(world);
    } else if (dice < 93) {
        break_something(world);
    } else if (dice < 95) {
        tell(world, "delete");
        world_delete(world);
    } else if (dice < 96) {
        step(world, VV_TASK_SWEEP, "sweep");
    } else if (dice < 98) {
        tell(world, "check");
        world_check(world);
    } else {
        restart(world, vv_random_below(&world->random, 2) == 0);
    }
}

static bool run_seed(uint64_t seed, bool story)
{
    struct world *world = calloc(1, sizeof *world);
    vv_invariant(world != NULL);
    world_init(world, seed, story);
    if (!world_start(world)) {
        world_fail(world, "the engine does not start on an empty disk");
    }
    if (world->has_class) {
        tell(world, "make a class");
        world_make_class(world);
        world->moves_class = vv_random_below(&world->random, 2) == 0;
    }
    if (world->hides) {
        tell(world, "set retentions");
        world_set_retentions(world);
    } else if (world->has_tiers && vv_random_below(&world->random, 4) > 0) {
        tell(world, "set tiers");
        world_set_tiers(world);
    }
    if (vv_random_below(&world->random, 2) == 0) {
        tell(world, "set what is done with late points");
        world_set_late(world);
    }
    size_t actions = 50 + vv_random_below(&world->random, 200);
    for (size_t i = 0; i < actions && !world->failure[0]; i++) {
        act(world);
    }
    if (!world->failure[0]) {
        restart(world, true);
    }
    if (!world->failure[0]) {
        world_settle(world);
        world_check(world);
    }
    bool good = world->failure[0] == '\0';
    if (!good) {
        printf("seed %" PRIu64 " failed: %s\nrun it alone with: --seed %" PRIu64 "\n", seed,
               world->failure, seed);
    }
    if (story) {
        printf("steps of tiers in answers: %" PRIu64 " minutes, %" PRIu64 " hours, %" PRIu64
               " days; %" PRIu64 " parts of cohorts\n",
               world->tier_steps[0], world->tier_steps[1], world->tier_steps[2],
               world->cohort_parts);
    }
    world_deinit(world);
    free(world);
    return good;
}

static int64_t seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

int main(int argc, char **argv)
{
    const char *set = getenv("VARVE_SIMULATION_SECONDS");
    int64_t seconds = set ? atoll(set) : 20;
    uint64_t first = 1;
    uint64_t alone = 0;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--seconds") == 0) {
            seconds = atoll(argv[i + 1]);
        } else if (strcmp(argv[i], "--first") == 0) {
            first = strtoull(argv[i + 1], NULL, 10);
        } else if (strcmp(argv[i], "--seed") == 0) {
            alone = strtoull(argv[i + 1], NULL, 10);
        } else {
            fprintf(stderr, "usage: simulation [--seconds N] [--first SEED] [--seed SEED]\n");
            return 2;
        }
    }
    vv_log_level_set(VV_LOG_OFF);
    if (alone) {
        bool good = run_seed(alone, true);
        printf("seed %" PRIu64 ": %s\n", alone, good ? "good" : "FAILED");
        return !good;
    }
    int64_t end = seconds_now() + seconds;
    uint64_t seed = first;
    for (; seconds_now() < end; seed++) {
        if (!run_seed(seed, false)) {
            return 1;
        }
    }
    printf("%" PRIu64 " seeds from %" PRIu64 " in %" PRId64 " s, all good\n", seed - first, first,
           seconds);
    return seed == first; /* no seed run is no test */
}
