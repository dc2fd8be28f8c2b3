/* SPDX-License-Identifier: Apache-2.0 */
/* Seeded runs of several nodes on the model of a Cassandra: see README.md. */
#include "base/log.h"
#include "simulation/fleet/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LIVELY_ROUNDS 40 /* the ledger is read in parts */
#define EXPIRE_ROUNDS 6  /* a minute, as a node does by itself */

/* ---- what happens ---- */

static void move_time(struct fleet_world *world, struct fleet_node *node)
{
    static const int64_t lengths[] = {VV_MILLISECOND, VV_SECOND, VV_MINUTE, 10 * VV_MINUTE};
    int64_t length = lengths[vv_random_below(&world->random, 4)];
    fleet_advance(world, (int64_t)vv_random_below(&world->random, 20) * length);
    if (vv_random_below(&world->random, 4) == 0) {
        int64_t now = world->time.clock.wall_ns(&world->time.clock);
        /* s; plans and tiers allow for 5 min between two nodes */
        int64_t most = world->turns || world->has_tiers ? 140 : 300;
        int64_t by =
            ((int64_t)vv_random_below(&world->random, 2 * (uint64_t)most) - most) * VV_SECOND;
        fleet_tell(world, node, "the clock is %" PRId64 " s off now", by / VV_SECOND);
        fleet_set_clock(node, now + by);
    }
}

static void change_faults(struct fleet_world *world)
{
    struct vv_sim_cassandra_faults faults = {0};
    uint64_t what = vv_random_below(&world->random, 6);
    uint32_t rate = (uint32_t)vv_random_below(&world->random, 200000);
    int64_t from = (int64_t)vv_random_next(&world->random);
    if (world->is_calm) {
        return;
    }
    if (what == 0) {
        fleet_tell(world, NULL, "some partitions are unavailable");
        vv_sim_cassandra_set_unavailable(world->cassandra, from, from / 2 + INT64_MAX / 2);
        return;
    }
    if (what == 1) {
        uint32_t sets = (uint32_t)(vv_random_next(&world->random) & vv_random_next(&world->random));
        fleet_tell(world, NULL, "sets of replicas are away: %x", sets & 0xffff);
        vv_sim_cassandra_set_away(world->cassandra, sets & 0xffff);
        return;
    }
    fleet_heal(world);
    if (what > 2) {
        faults = (struct vv_sim_cassandra_faults){.write_lost = rate,
                                                  .write_late = 700000,
                                                  .write_silent = rate / 8,
                                                  .read_fails = rate / 8,
                                                  .transaction_lost = rate,
                                                  .transaction_done = rate,
                                                  .transaction_open = rate,
                                                  .connection_lost = rate / 8,
                                                  .skew_ns = VV_SECOND};
    }
    fleet_tell(world, NULL, "Cassandra's faults are %s", what > 2 ? "on" : "off");
    vv_sim_cassandra_set_faults(world->cassandra, &faults);
}

/* The others stand still for so long that this one takes over what they were sealing. */
static void take_over(struct fleet_world *world, struct fleet_node *node)
{
    fleet_tell(world, node, "takes over");
    fleet_advance(world, VV_MINUTE);
    (void)fleet_step(node, VV_TASK_LEARN);
    (void)fleet_step(node, VV_TASK_FLUSH);
    for (int i = 0; i < 9; i++) { /* the ledger is read in parts */
        (void)fleet_look(node);
    }
    (void)fleet_step(node, VV_TASK_SEAL_ALL);
}

/* Some steps of what purges there are. */
static void purge(struct fleet_world *world, struct fleet_node *node)
{
    size_t steps = 1 + vv_random_below(&world->random, 12);
    if (vv_random_below(&world->random, 4) == 0) {
        fleet_ask_for_purge(node);
    }
    for (size_t i = 0; i < steps; i++) {
        fleet_advance(world, 20 * VV_SECOND);
        (void)fleet_step(node, VV_TASK_BEAT);
        (void)fleet_step(node, VV_TASK_LEARN);
        (void)fleet_step(node, VV_TASK_EXPIRE);
    }
}

static void work(struct fleet_world *world, struct fleet_node *node)
{
    uint64_t dice = vv_random_below(&world->random, 100);
    if (!node->engine) {
        (void)fleet_start(node);
    } else if (world->depth > 0 && vv_random_below(&world->random, 4) == 0) {
        take_over(world, node);
    } else if (world->deletes && vv_random_below(&world->random, 14) == 0) {
        fleet_delete(node);
    } else if (world->deletes && vv_random_below(&world->random, 10) == 0) {
        (void)fleet_step(node, VV_TASK_SWEEP);
    } else if (world->replaces && vv_random_below(&world->random, 8) == 0) {
        fleet_replace(node);
    } else if (world->keeps_apart && vv_random_below(&world->random, 25) == 0) {
        fleet_set_late(node);
    } else if (world->purges && vv_random_below(&world->random, 5) == 0) {
        purge(world, node);
    } else if (world->has_classes && vv_random_below(&world->random, 20) == 0) {
        fleet_set_class(node);
    } else if (dice < 40) {
        fleet_write(node);
    } else if (dice < 60) {
        (void)fleet_step(node, VV_TASK_FLUSH);
    } else if (dice < 72) {
        (void)fleet_step(node, VV_TASK_SEAL);
    } else if (dice < 76) {
        (void)fleet_step(node, VV_TASK_SEAL_ALL);
    } else if (dice < 79) {
        (void)fleet_step(node, VV_TASK_EXPIRE);
    } else if (dice < 83) {
        (void)fleet_step(node, VV_TASK_BEAT);
    } else if (dice < 87) {
        (void)fleet_step(node, VV_TASK_LEARN);
    } else if (dice < 90) {
        (void)fleet_step(node, VV_TASK_DELIVER);
    } else if (dice < 95) {
        move_time(world, node);
    } else if (dice < 96) {
        change_faults(world);
    } else if (dice < 97 && world->turns) {
        fleet_set_retention(node);
    } else if (dice < 98 && world->turns) {
        fleet_change_plan(node);
    } else if (dice < 99 && world->has_tiers) {
        fleet_set_tiers(node);
    } else {
        fleet_check(node, false);
        fleet_check_tiers(node, false);
        fleet_check_replaced(node, false);
        if (dice == 99 && world->has_tiers) {
            fleet_reroll(node, true, false);
        }
    }
}

/* For a while nodes do what they always do, but for sealing: they hear of each other, look at the
 * ledger, flush, and write again what must not expire. */
static void live(struct fleet_world *world, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        fleet_advance(world, 10 * VV_SECOND);
        for (size_t n = 0; n < world->n_nodes; n++) {
            struct fleet_node *node = &world->nodes[n];
            if (!node->engine) {
                (void)fleet_start(node);
            }
            (void)fleet_step(node, VV_TASK_BEAT);
            (void)fleet_step(node, VV_TASK_LEARN);
            (void)fleet_step(node, VV_TASK_FLUSH);
            (void)fleet_step(node, VV_TASK_DELIVER);
            (void)fleet_step(node, VV_TASK_SWEEP);
            if (i % EXPIRE_ROUNDS == 0) { /* again and again: it is put off by what takes long */
                (void)fleet_step(node, VV_TASK_EXPIRE);
            }
            fleet_look(node);
        }
    }
}

/* Nothing is sealed for a long time: what is only in runs must not expire. */
static void pass_long_time(struct fleet_world *world)
{
    /* Units above single values are marked again and again. */
    bool is_costly = world->has_tiers && world->keeps_apart && world->truth.forgets_nodes;
    int rounds = is_costly ? LIVELY_ROUNDS / 4 : LIVELY_ROUNDS;
    fleet_tell(world, NULL, "a long time without sealing");
    vv_sim_cassandra_set_faults(world->cassandra, NULL); /* what can't be written must expire */
    fleet_heal(world);
    world->is_calm = true;
    for (int i = 0; i < 14 && !world->failure[0]; i++) {
        fleet_advance(world, FLEET_SLACK / 8 - rounds * 10 * VV_SECOND);
        live(world, rounds);
        for (size_t n = 0; n < world->n_nodes; n++) {
            fleet_check(&world->nodes[n], false);
            fleet_check_tiers(&world->nodes[n], false);
        }
    }
}

/* Until points of a day come from which on measurements may lie elsewhere, and a day longer. */
static void pass_days(struct fleet_world *world)
{
    fleet_tell(world, NULL, "days pass");
    while (!world->failure[0] &&
           world->time.clock.wall_ns(&world->time.clock) < world->base_ns + VV_DAY) {
        vv_sim_cassandra_set_faults(world->cassandra, NULL); /* what can't be written must expire */
        fleet_heal(world);
        world->is_calm = true;
        fleet_advance(world, FLEET_SLACK / 8 - LIVELY_ROUNDS * 10 * VV_SECOND);
        live(world, LIVELY_ROUNDS);
        world->is_calm = false;
        for (size_t i = 0; i < 8 && !world->failure[0]; i++) {
            work(world, &world->nodes[vv_random_below(&world->random, world->n_nodes)]);
        }
    }
}

/* What is deleted of rows makes all units stale again and again, at which late points are marked.
 */
static bool can_pass_long_time(const struct fleet_world *world)
{
    bool is_busy = world->has_tiers && world->keeps_apart && world->deletes;
    return !(world->truth.forgets_nodes && is_busy);
}

/* Often there are classes before there are points, which all nodes know, or some. */
static void begin_with_classes(struct fleet_world *world)
{
    if (vv_random_below(&world->random, 3) == 0) {
        return;
    }
    fleet_set_class(&world->nodes[0]);
    (void)fleet_step(&world->nodes[0], VV_TASK_COMMIT);
    size_t rounds = vv_random_below(&world->random, 5);
    for (size_t i = 0; i < rounds * world->n_nodes; i++) {
        (void)fleet_step(&world->nodes[i % world->n_nodes], VV_TASK_LEARN);
    }
}

static bool run_seed(uint64_t seed, size_t nodes, bool story)
{
    struct fleet_world *world = calloc(1, sizeof *world);
    vv_invariant(world != NULL);
    fleet_init(world, seed, nodes, story);
    world->work = work;
    for (size_t i = 0; i < nodes; i++) {
        if (!fleet_start(&world->nodes[i])) {
            fleet_fail(world, "node %zu does not start at first", i);
        }
    }
    if (world->has_classes) {
        begin_with_classes(world);
    }
    world->interleaves = vv_random_below(&world->random, 4) > 0;
    world->crashes = vv_random_below(&world->random, 2) == 0;
    world->deletes = vv_random_below(&world->random, 2) == 0;
    size_t actions = 30 + vv_random_below(&world->random, 150);
    for (size_t i = 0; i < actions && !world->failure[0]; i++) {
        if (world->moves && i == actions / 2) {
            pass_days(world);
        }
        work(world, &world->nodes[vv_random_below(&world->random, nodes)]);
    }
    bool passes = vv_random_below(&world->random, 8) == 0;
    if (!world->failure[0] && passes && can_pass_long_time(world)) {
        pass_long_time(world);
    }
    if (!world->failure[0]) {
        fleet_settle(world);
    }
    bool good = world->failure[0] == '\0';
    if (!good) {
        printf("seed %" PRIu64 " failed: %s\nrun it alone with: --nodes %zu --seed %" PRIu64 "\n",
               seed, world->failure, nodes, seed);
    }
    fleet_deinit(world);
    free(world);
    return good;
}

/* ---- the program ---- */

static int64_t seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

struct arguments {
    int64_t seconds;
    uint64_t first;
    uint64_t alone;
    uint64_t count; /* seeds, at most */
    size_t nodes;   /* 0: by the seed */
};

static bool read_arguments(int argc, char **argv, struct arguments *out)
{
    const char *set = getenv("VARVE_SIMULATION_SECONDS");
    *out = (struct arguments){.seconds = set ? atoll(set) : 20, .first = 1, .count = UINT64_MAX};
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--seconds") == 0) {
            out->seconds = atoll(argv[i + 1]);
        } else if (strcmp(argv[i], "--first") == 0) {
            out->first = strtoull(argv[i + 1], NULL, 10);
        } else if (strcmp(argv[i], "--seed") == 0) {
            out->alone = strtoull(argv[i + 1], NULL, 10);
        } else if (strcmp(argv[i], "--count") == 0) {
            out->count = strtoull(argv[i + 1], NULL, 10);
        } else if (strcmp(argv[i], "--nodes") == 0) {
            out->nodes = strtoull(argv[i + 1], NULL, 10);
        } else {
            return false;
        }
    }
    return out->nodes <= TRUTH_NODES;
}

static size_t nodes_of(const struct arguments *arguments, uint64_t seed)
{
    return arguments->nodes ? arguments->nodes
                            : FLEET_NODES_MIN + seed % (FLEET_NODES_MAX - FLEET_NODES_MIN + 1);
}

int main(int argc, char **argv)
{
    struct arguments arguments;
    if (!read_arguments(argc, argv, &arguments)) {
        fprintf(stderr, "usage: fleet [--seconds N] [--count N] [--first SEED] [--seed SEED] "
                        "[--nodes N]\n");
        return 2;
    }
    vv_log_level_set(VV_LOG_OFF);
    if (arguments.alone) {
        bool good = run_seed(arguments.alone, nodes_of(&arguments, arguments.alone), true);
        printf("seed %" PRIu64 ": %s\n", arguments.alone, good ? "good" : "FAILED");
        return !good;
    }
    int64_t end = seconds_now() + arguments.seconds;
    uint64_t seed = arguments.first;
    for (; seconds_now() < end && seed - arguments.first < arguments.count; seed++) {
        if (!run_seed(seed, nodes_of(&arguments, seed), false)) {
            return 1;
        }
    }
    printf("%" PRIu64 " seeds from %" PRIu64 ", all good\n", seed - arguments.first,
           arguments.first);
    return seed == arguments.first; /* no seed run is no test */
}
