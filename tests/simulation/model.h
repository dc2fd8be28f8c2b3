/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The naive model: for each point, the value that was acknowledged last, and the values whose fate
 * a crash has left open.
 */
#ifndef VV_SIMULATION_MODEL_H
#define VV_SIMULATION_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MODEL_SOURCES 6
#define MODEL_FIELDS  4
#define MODEL_TIMES   360
#define MODEL_NOW     40 /* the time of this index is the start's; those before are later */
/* Bursts: these times follow each other by seconds. */
#define MODEL_BURSTS      5
#define MODEL_BURST_TIMES 60
#define MODEL_OPEN        64 /* open values kept for a point; more end the run as too long */

struct model_point {
    bool acknowledged;
    uint64_t value;
    uint64_t sequence;
    struct {
        uint64_t value;
        uint64_t sequence;
    } open[MODEL_OPEN];
    size_t n_open;
    uint64_t deletion; /* the sequence of one whose fate is open; 0: none */
    bool seen;         /* in the check that is under way */
    bool vague;        /* something happened to it while it was frozen */
};

struct model {
    struct model_point points[MODEL_SOURCES][MODEL_FIELDS][MODEL_TIMES];
    int64_t times[MODEL_TIMES];
    int64_t frozen; /* what is earlier may be hidden, and is no longer looked at as points */
    size_t by_time[MODEL_TIMES]; /* indexes, the earliest time first */
    bool restarted;              /* since the last check: open values may be there now */
};

/* Zero-initialised before. Times are spread over some spans of different lengths, the months before
 * and after, and a far past; some are dense enough for steps of tiers, some are not. */
void model_init(struct model *model, int64_t base_ns);
/* The index of a time; MODEL_TIMES if there is none. */
size_t model_time_index(const struct model *model, int64_t time_ns);
/* The first time of a burst; *n_out is how many there are. */
size_t model_burst(size_t burst, size_t *n_out);

void model_acknowledge(struct model_point *point, uint64_t value, uint64_t sequence);
void model_leave_open(struct model_point *point, uint64_t value, uint64_t sequence);

void model_delete(struct model_point *point);
/* A frozen point of the source is changed after all, and what was built with it perhaps, too. */
void model_blur(struct model *model, size_t source, int64_t time_ns);

/* A check: begin, see each answered point, end. NULL, or what is wrong. */
void model_check_begin(struct model *model);
const char *model_check_see(struct model *model, struct model_point *point, uint64_t value);
const char *model_check_end(struct model *model, size_t *source_out, size_t *field_out,
                            size_t *time_out);

#endif
