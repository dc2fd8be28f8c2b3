/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What nodes together must answer: for each point all values that were written, with the stamp
 * that each got, so that it is known which one wins wherever they meet.
 */
#ifndef VV_SIMULATION_FLEET_TRUTH_H
#define VV_SIMULATION_FLEET_TRUTH_H

#include "base/clock.h"
#include "model/stamp.h"

#define TRUTH_SOURCES     4
#define TRUTH_FIELDS      2
#define TRUTH_TIMES       72
#define TRUTH_TIMES_APART 48
#define TRUTH_FAR         36 /* those from this index on lie close together, long ago */
#define TRUTH_NOW         12 /* the time of this index is the start's; those before are later */
/* What a source is called is by 4 the number that it has here; all but the last are of one cohort
 * (tier/cohort.h), which goes by a hash of the name. */
#define TRUTH_SOURCE_NAMES ((const size_t[TRUTH_SOURCES]){0, 1, 166, 3})
#define TRUTH_POINTS       (TRUTH_SOURCES * TRUTH_FIELDS * TRUTH_TIMES)
#define TRUTH_NODES        4

struct truth_write {
    vv_stamp stamp;
    uint64_t value;
    uint32_t node;
    bool is_acknowledged;
    int64_t acknowledged_ns; /* by the node's clock; INT64_MAX - 1: it was only seen later */
    uint64_t order;          /* among all acknowledgements */
};

/* Something was deleted: values with a lower stamp are hidden. */
struct truth_deletion {
    vv_stamp stamp;
    uint32_t node;
    uint32_t sources; /* bits: those that the node knew */
    size_t field;     /* TRUTH_FIELDS: all */
    int64_t from_ns;
    int64_t to_ns;
    bool is_acknowledged; /* else it holds, or not */
    int64_t acknowledged_ns;
};

struct truth_point {
    struct truth_write *writes;
    size_t n;
    size_t capacity;
    uint64_t seen; /* in the check that is under way; 0: not */
};

struct truth {
    struct truth_point points[TRUTH_POINTS];
    struct truth_deletion *deletions;
    size_t n_deletions;
    size_t deletions_capacity;
    int64_t base_ns;
    uint64_t acknowledgements;
    bool forgets_nodes; /* stamps of the same µs are equal, as where each value is a row */
};

/* Who is asked, and what it has to know of what each node acknowledged: everything that it
 * acknowledged before that time by its clock; INT64_MAX: all. */
struct truth_reader {
    uint32_t node;  /* what this one acknowledged is known in any case */
    uint64_t order; /* of the last acknowledgement before it was asked: later ones don't count */
    int64_t until_ns[TRUTH_NODES];
};

void truth_deinit(struct truth *truth);
/* Times are spread over some spans, a far past and the last minutes. */
int64_t truth_time(size_t index, int64_t base_ns);
size_t truth_index(size_t source, size_t field, size_t time);
/* The index of a time; TRUTH_TIMES if there is none. */
size_t truth_time_index(int64_t time_ns, int64_t base_ns);

/* One that is not acknowledged yet, and perhaps never. */
void truth_write(struct truth *truth, size_t point, vv_stamp stamp, uint64_t value, uint32_t node);
void truth_acknowledge(struct truth *truth, size_t point, vv_stamp stamp, int64_t now_ns);

void truth_delete(struct truth *truth, const struct truth_deletion *deletion);
/* Whether the value must be gone for whoever knows of all that was acknowledged. */
bool truth_is_deleted(const struct truth *truth, size_t point, uint64_t value);

/* A check: begin, see each answered point, end. NULL, or what is wrong. */
void truth_begin(struct truth *truth);
const char *truth_see(struct truth *truth, size_t point, uint64_t value);
const char *truth_end(struct truth *truth, const struct truth_reader *reader, size_t *point_out);
/* The write that the reader has to know best, to be told of; NULL: none. */
const struct truth_write *truth_known(const struct truth *truth, size_t point,
                                      const struct truth_reader *reader);

#endif
