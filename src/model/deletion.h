/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deletions: what hides points. A marker hides the points of a source, or of one of its
 * measurements or metrics, that lie in a range of time and have a lower stamp; points written
 * afterwards have a higher one and are seen. An order is what one request asks for: it is journaled
 * as one record, whose stamp is that of all its markers. Pure; any thread.
 */
#ifndef VV_MODEL_DELETION_H
#define VV_MODEL_DELETION_H

#include "base/bytes.h"
#include "model/stamp.h"

/* What of a source. Values are part of the formats. */
enum vv_deletion_scope {
    VV_DELETION_SOURCE = 1,      /* all of it, also what gets its name later; number: 0 */
    VV_DELETION_MEASUREMENT = 2, /* all metrics of one measurement */
    VV_DELETION_METRIC = 3,
};

struct vv_marker {
    int64_t from; /* within VV_TIME_MIN … VV_TIME_MAX + 1 */
    int64_t to;   /* exclusive */
    vv_stamp stamp;
    uint8_t scope;
    bool is_swept;   /* the sealer has been told of all that it concerns */
    bool is_cleared; /* and what is kept as single values is removed, as far as this node put it */
    bool is_told;    /* the other nodes of a shared store know of it, as it is */
    uint32_t number; /* of the measurement or metric */
};

/* ---- what a merge of one series is given ---- */

#define VV_DELETION_ALL_METRICS UINT32_MAX

/* A marker as it meets the rows of a series: whether it is of the whole source or of their
 * measurement makes no difference any more. */
struct vv_deletion {
    int64_t from;
    int64_t to;
    vv_stamp stamp;
    uint32_t metric; /* or VV_DELETION_ALL_METRICS */
};

/* Zero-initialised is empty and valid; owns its items. */
struct vv_deletion_list {
    struct vv_deletion *items;
    size_t n;
};

void vv_deletion_list_deinit(struct vv_deletion_list *list);

static inline bool vv_deletion_hides(const struct vv_deletion *deletion, int64_t time,
                                     vv_stamp stamp)
{
    return time >= deletion->from && time < deletion->to && stamp < deletion->stamp;
}

/* ---- orders ---- */

/* Each of the numbers (of scope; none for VV_DELETION_SOURCE) of each of the sources. */
struct vv_deletion_order {
    uint32_t tenant;
    uint8_t scope;
    int64_t from;
    int64_t to;
    size_t n_numbers;
    uint32_t *numbers;
    size_t n_sources;
    uint32_t *sources;
};

/* One piece of memory, for free(); numbers and sources are unset. NULL when memory is out. */
struct vv_deletion_order *vv_deletion_order_create(size_t n_numbers, size_t n_sources);
/* How many markers it makes. */
uint64_t vv_deletion_order_markers(const struct vv_deletion_order *order);

/* The journal's form, documented in deletion.c; the journal's checksum covers it. */
void vv_deletion_order_encode(const struct vv_deletion_order *order, struct vv_buffer *buffer);
/* The caller frees *order_out. VV_CORRUPT, VV_NEWER, VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_deletion_order_decode(struct vv_str bytes,
                                                      struct vv_deletion_order **order_out,
                                                      struct vv_error *error);

#endif
