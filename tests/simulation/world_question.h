/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked of tiers, and what the model's points say to it. */
#ifndef VV_SIMULATION_WORLD_QUESTION_H
#define VV_SIMULATION_WORLD_QUESTION_H

#include "simulation/world.h"

struct question {
    struct world *world;
    size_t step; /* an index of step_words */
    size_t wish; /* … of wish_words */
    bool descending;
    bool percentiles;            /* are asked for, too: of records alone, not of volumes */
    size_t field;                /* MODEL_FIELDS: all */
    bool grouped;                /* all sources together: their cohort's records may answer */
    size_t order[MODEL_SOURCES]; /* of the sources, as Varve saw them first */
    bool has_from;
    int64_t from; /* [from, to) */
    int64_t to;
    struct vv_result_facts facts;
};

/* Of a step; 0: the whole range. */
int64_t world_step_length(const struct question *question);
/* Finds the order of the sources. */
void world_order_sources(struct question *question);

/* A step as the points have it. */
struct expected {
    int64_t label;
    size_t n;
    bool is_vague;
    double values[MODEL_SOURCES * MODEL_TIMES]; /* by time, then sorted */
    double sum;
    double first;
    double last;
    int64_t last_time;
};

/* The next step of a series at or behind *at, an index of by_time; false: there is none. */
bool world_next_step(const struct question *question, size_t source, size_t field, size_t *at,
                     struct expected *expected_out);

#endif
