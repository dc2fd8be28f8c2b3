/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several nodes of Varve on the model of a Cassandra: each has its own engine, clock, disk and
 * local store. While a request of one is on its way, others may work: that is how a node pauses.
 */
#ifndef VV_SIMULATION_FLEET_WORLD_H
#define VV_SIMULATION_FLEET_WORLD_H

#include "base/random.h"
#include "engine/engine.h"
#include "simulation/cassandra/sim_cassandra.h"
#include "simulation/fleet/truth.h"
#include "simulation/sim_clock.h"
#include "simulation/sim_disk.h"

/* Of its sources s0 and s1 have UUIDs that begin with the same 8 bits, so they share runs. */
#define FLEET_TENANT     "sim59"
#define FLEET_WRITES_MAX 64 /* of one submission */
#define FLEET_SLACK      (2 * VV_DAY)
#define FLEET_NODES_MIN  1
#define FLEET_NODES_MAX  4
#define FLEET_APART      2 /* measurements of fields that are apart, by source */

#define FLEET_REPLACED 2 /* sources of which days are replaced … */
#define FLEET_DAYS     4 /* … and these days */

struct fleet_world;

/* A day of a source that is replaced now and then. */
struct fleet_day {
    uint64_t version; /* that it has; 0: none yet */
    uint64_t
        pending; /* the next one, of which it is not known whether it is carried out; 0: none */
    uint32_t holders; /* bits: nodes that may yet carry out some of it */
    bool is_busy;     /* somebody sends it */
};

/* What was submitted to a node and is not answered yet. */
struct fleet_submission {
    bool is_waiting;
    bool was_crashed;
    enum vv_status status;
    vv_stamp stamp;
    size_t n;
    size_t points[FLEET_WRITES_MAX];
    uint64_t values[FLEET_WRITES_MAX];
};

struct fleet_node {
    struct fleet_world *world;
    uint32_t number; /* from 0: the model's client, the truth's node */
    struct vv_sim_clock clock;
    /* The latest that it has shown. What is acknowledged by a clock that was set back counts as if
     * it were then: others still believe what the node told before, until it tells them again. */
    int64_t latest_ns;
    struct vv_sim_disk *disk;
    struct vv_store *local; /* outlives the engine */
    struct vv_store_ops local_ops;
    const struct vv_store_ops *memory_ops;
    struct vv_settings settings;
    struct vv_engine *engine; /* NULL: it is down */
    uint32_t stamp_node;      /* its number in stamps, as it was last */
    bool is_busy;             /* in a call of its engine */
    bool is_dead;             /* its engine is to be dropped as soon as that returns */
    bool is_off;              /* with the loss of power, not only of the process */
    struct fleet_submission submission;
};

struct fleet_world {
    struct vv_random random;
    struct vv_sim_clock time; /* Cassandra's */
    struct vv_sim_cassandra *cassandra;
    struct fleet_node nodes[TRUTH_NODES];
    size_t n_nodes;
    struct truth truth;
    int64_t base_ns;
    uint64_t next_value;
    uint32_t depth; /* nodes that are in a call, each waiting for the next */
    bool interleaves;
    bool crashes;
    bool has_tiers;         /* they are switched on at some time … */
    bool begins_with_tiers; /* … or there from the beginning */
    bool has_lengthened;    /* tiers; records that were there may expire as they were to */
    bool turns;             /* retentions, layouts and plans change */
    bool keeps_apart;       /* late points, at some time … */
    bool begins_apart;      /* … or from the beginning */
    int64_t fold_every_ns;  /* of these */
    bool purges;            /* blocks are purged by copying, and have no TTL */
    bool deletes;           /* something is deleted now and then */
    bool has_classes;       /* a field is in measurements of its own: classes.c */
    bool replaces;          /* frozen days, of other sources */
    bool moves;             /* two days pass, so that measurements get other classes then */
    struct fleet_day days[FLEET_REPLACED][FLEET_DAYS];
    uint64_t versions; /* that were sent */
    bool is_calm;      /* Cassandra has no faults any more */
    bool story;
    char failure[512];
    void (*work)(struct fleet_world *world, struct fleet_node *node); /* one action of a node */
};

/* Of how many times there are points: with tiers some lie close together. */
static inline size_t fleet_times(const struct fleet_world *world)
{
    return world->has_tiers ? TRUTH_TIMES : TRUTH_TIMES_APART;
}

void fleet_init(struct fleet_world *world, uint64_t seed, size_t n_nodes, bool story);
void fleet_deinit(struct fleet_world *world);
/* Notes the first thing that went wrong. */
void fleet_fail(struct fleet_world *world, const char *format, ...) VV_PRINTF(2, 3);
void fleet_tell(struct fleet_world *world, const struct fleet_node *node, const char *format, ...)
    VV_PRINTF(3, 4);

/* Whether an action of the node can begin now. */
bool fleet_is_free(const struct fleet_node *node);
/* Around each call of a node's engine: others may work in it, and the node die. */
void fleet_enter(struct fleet_node *node);
void fleet_leave(struct fleet_node *node);
/* Starts the engine on what the last one left; false: not now. */
bool fleet_start(struct fleet_node *node);
/* The node is gone from now on, wherever its engine stands. */
void fleet_kill(struct fleet_node *node, bool power);
/* One step; the node may die in it. VV_CANCELLED when it is down. */
enum vv_status fleet_step(struct fleet_node *node, enum vv_engine_task task);
/* All that is written stays within it, and blocks may go to another class. */
void fleet_set_retention(struct fleet_node *node);
/* Gives a source another plan from some time on. */
void fleet_change_plan(struct fleet_node *node);
/* Writes some points and commits them. */
void fleet_write(struct fleet_node *node);
/* As soon as it may be. */
void fleet_ask_for_purge(struct fleet_node *node);
/* Deletes something. */
void fleet_delete(struct fleet_node *node);
/* The node's clock is set. */
void fleet_set_clock(struct fleet_node *node, int64_t wall_ns);
/* All replicas are there again. */
void fleet_heal(struct fleet_world *world);
/* Time goes on for all. */
void fleet_advance(struct fleet_world *world, int64_t duration_ns);

/* ---- late.c ---- */

/* What of this world the seed chooses, and the settings that follow. */
void fleet_choose_late(struct fleet_world *world);
void fleet_init_late(struct fleet_world *world, struct vv_settings *settings);
/* Sets what is done with late points. */
void fleet_set_late(struct fleet_node *node);

/* ---- classes.c ---- */

/* Where a field is: "m", or a measurement of half of the sources. */
void fleet_measurement(const struct fleet_world *world, size_t source, size_t field,
                       char name_out[8]);
/* What all metrics are called. */
struct vv_str fleet_metrics(const struct fleet_world *world);
/* Makes a class, or changes what it takes or how long that is kept. */
void fleet_set_class(struct fleet_node *node);
/* When all has come to rest: whether the nodes agree on where measurements lie. */
void fleet_check_places(struct fleet_world *world);

/* ---- tiers.c ---- */

/* Switches tiers on, with what the seed says. */
void fleet_set_tiers(struct fleet_node *node);
/* Asks the node for aggregates of all tiers, and compares them with the points: after a check with
 * `all`, with what the node answered then; else as far as it claims to know. */
void fleet_check_tiers(struct fleet_node *node, bool all);
/* All units that are over are built: where there were tiers from the beginning. */
void fleet_check_units(struct fleet_node *node);

/* ---- replace.c ---- */

/* Replaces a frozen day. */
void fleet_replace(struct fleet_node *node);
/* Asks the node for what tiers have of these days: some version, as a whole; with `all`, the last
 * one in all tiers. */
void fleet_check_replaced(struct fleet_node *node, bool all);

/* ---- ledger.c ---- */

/* Whether the node has slots of the ledger left to read that it knows to be new. */
bool fleet_reads_ledger(struct vv_store *store);

/* ---- reroll.c ---- */

/* Asks the node to look at all units of tiers, and to repair what is wrong; with `all`, nothing may
 * be wrong. */
void fleet_reroll(struct fleet_node *node, bool repair, bool all);

/* ---- check.c ---- */

/* The answer of one query, as CSV. */
enum vv_status fleet_ask(struct fleet_node *node, const struct vv_parameter *parameters, size_t n,
                         struct vv_buffer *answer, struct vv_error *error);
/* Up to when the node says that it knows what each other one acknowledged: before it is asked. */
struct truth_reader fleet_reader_of(struct fleet_node *node, bool all);
/* What a line of the answer says of that, if it does. */
void fleet_take_claim(const char *line, struct truth_reader *reader);
/* Whether the node has heard the others lately: who could not for long may not know where to look.
 * To be asked before a question and after it, since it may hear of something in between. */
bool fleet_hears(struct fleet_node *node);
/* Asks the node for all points; `all`: it must know of everything that was acknowledged. */
void fleet_check(struct fleet_node *node, bool all);
/* Asks the node without what it knows to be deleted: nothing of that is stored any more. */
void fleet_check_bare(struct fleet_node *node);
/* Looks at the ledger, as sealing begins; returns how many marks there are for the node. */
size_t fleet_look(struct fleet_node *node);
/* Without faults: everything is flushed, told, learnt and sealed. No mark is left, and what runs
 * still had is nowhere missing when they have expired. */
void fleet_settle(struct fleet_world *world);

#endif
