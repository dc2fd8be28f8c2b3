/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the two halves of JSON share: json_points.c cuts points out of a stream, json_point.c reads
 * one of them.
 */
#ifndef VV_INGEST_JSON_PRIVATE_H
#define VV_INGEST_JSON_PRIVATE_H

#include "ingest/json_points.h"
#include "ingest/staging_private.h"

/* What is expected next in the stream. */
enum vv_json_state {
    VV_JSON_TOP,         /* a point, an array, or the object around an array */
    VV_JSON_HEAD,        /* the rest of what begins the object around an array */
    VV_JSON_ARRAY_FIRST, /* a point or ']' */
    VV_JSON_ARRAY_NEXT,  /* a point */
    VV_JSON_ARRAY_AFTER, /* ',' or ']' */
    VV_JSON_WRAP_END,    /* '}' */
    VV_JSON_POINT,       /* the rest of a point */
    VV_JSON_STOPPED,     /* nothing: what was found cannot be understood */
};

struct vv_json_parser {
    struct vv_staging *staging;
    int64_t unit_ns;
    size_t point_bytes_max;
    enum vv_json_state state;
    uint64_t index; /* of the last point that began, from 1 */
    bool any;       /* something other than white space was seen */
    bool in_array;
    bool is_wrapped;  /* the array is in an object */
    size_t head_size; /* HEAD: bytes of it that were seen */
    /* The point at hand. */
    size_t point_size;
    uint32_t depth;
    uint32_t depth_seen;
    bool in_string;
    bool escaped;           /* the last byte was a backslash in a string */
    bool is_scalar;         /* neither an object, an array nor a string */
    bool is_dropped;        /* too large: refused, and no longer kept */
    struct vv_buffer carry; /* its first bytes, when a piece ended within it */
    /* Of the point that is read. */
    struct vv_buffer raw;
    struct vv_tag tags[VV_TAGS_MAX];
};

/* Reads and stages the text of one element of the array, or one object of the top level. */
void vv_json_point_stage(struct vv_json_parser *parser, struct vv_str text);

#endif
