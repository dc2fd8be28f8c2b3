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
#define MODEL_TIMES   160
#define MODEL_OPEN    64 /* open values kept for a point; more end the run as too long */

struct model_point {
    bool acknowledged;
    uint64_t value;
    uint64_t sequence;
    struct {
        uint64_t value;
        uint64_t sequence;
    } open[MODEL_OPEN];
    size_t n_open;
    bool seen; /* in the check that is under way */
};

struct model {
    struct model_point points[MODEL_SOURCES][MODEL_FIELDS][MODEL_TIMES];
    bool restarted; /* since the last check: open values may be there now */
};

/* Times are spread over some spans of different lengths and a far past. */
int64_t model_time(size_t index, int64_t base_ns);
/* The index of a time; MODEL_TIMES if there is none. */
size_t model_time_index(int64_t time_ns, int64_t base_ns);

void model_acknowledge(struct model_point *point, uint64_t value, uint64_t sequence);
void model_leave_open(struct model_point *point, uint64_t value, uint64_t sequence);

/* A check: begin, see each answered point, end. NULL, or what is wrong. */
void model_check_begin(struct model *model);
const char *model_check_see(struct model *model, struct model_point *point, uint64_t value);
const char *model_check_end(struct model *model, size_t *source_out, size_t *field_out,
                            size_t *time_out);

#endif
