/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What nodes tell each other, in bytes: the value of a struct vv_told, by its kind. Each can be
 * applied alone, in any order with others. The form is in told.c. Any thread.
 */
#ifndef VV_FLEET_TOLD_H
#define VV_FLEET_TOLD_H

#include "model/deletion.h"
#include "registry/shared.h"
#include "store/store.h"

/* Values are part of the format. */
enum vv_told_kind {
    VV_TOLD_TENANT = 1,      /* name: ""; its retention, what it wants with late points,
                                from when on it is whole; what a class takes */
    VV_TOLD_MEASUREMENT = 2, /* name: the measurement's; which class it is in */
    VV_TOLD_METRIC = 3,      /* name: measurement.field; type, unit, description */
    VV_TOLD_SOURCE = 4,      /* name: its id */
    VV_TOLD_TAGS = 5,        /* name: its id; item: from_ns; a version of its tags */
    VV_TOLD_PLAN = 6,        /* name: its id; item: from_ns; a plan, with those before it */
    VV_TOLD_MARKERS = 7,     /* name: its id; item: 0, 1 …; what of it is deleted, in parts */
    VV_TOLD_HEARD = 8,       /* tenant: a class; the node that tells it knows that one */
    VV_TOLD_MOVE = 9,        /* name: a measurement's; item: from_ns; in which class its points may
                                lie from then on, if that is agreed on */
};

/* No value is larger. */
#define VV_TOLD_VALUE_MAX (16u << 10)
/* Higher stamps are refused: something set later must find one above. */
#define VV_TOLD_STAMP_MAX (UINT64_MAX - (UINT64_C(1) << 52))

/* A marker of deletion, by names: its number is each node's own. */
struct vv_told_marker {
    struct vv_marker marker;
    struct vv_str measurement; /* unless it is of the whole source */
    struct vv_str field;       /* of a metric's */
    enum vv_value_type type;   /* likewise */
};

#define VV_TOLD_MARKERS_MAX 64 /* in one part */

struct vv_told_content {
    enum vv_told_kind kind;
    int64_t retention_ns; /* tenant */
    vv_stamp retention_stamp;
    struct vv_late late;
    vv_stamp late_stamp;
    struct vv_whole whole;
    struct vv_str patterns; /* likewise, of a class */
    vv_stamp patterns_stamp;
    bool is_withdrawn;        /* move: the node is against it, or it went nowhere */
    struct vv_str class_name; /* measurement, move; size 0: it is in its tenant */
    enum vv_value_type type;  /* metric */
    size_t measurement_size;  /* how much of the name is the measurement's */
    struct vv_described described;
    bool canonical; /* source, plan, markers */
    size_t n;       /* tags, plans, markers */
    struct vv_tag tags[VV_TAGS_MAX];
    struct vv_plan plans[VV_PLANS_MAX];
    struct vv_told_marker markers[VV_TOLD_MARKERS_MAX];
};

/* Appends the value; check the buffer's status. */
void vv_told_encode(const struct vv_told_content *content, struct vv_buffer *buffer);

/* The content borrows from `told`. Checks what can be checked here; texts, the order of tags and
 * plans are the registry's to check. VV_CORRUPT; VV_NEWER for a kind or a form of a newer
 * version. */
VV_MUST_CHECK enum vv_status vv_told_decode(const struct vv_told *told,
                                            struct vv_told_content *content_out,
                                            struct vv_error *error);

#endif
