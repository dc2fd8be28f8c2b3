/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exported points as text: line protocol, JSON lines, CSV. Private to src/query. Pure functions,
 * any thread.
 *
 * What is written is read back as the same points: numbers have every digit, times are ns. Text is
 * put together from parts: a head (measurement and tags), names of fields, values.
 *
 *   line:   measurement,tag=value field=1.5,other=2i 1385932500000000000
 *   jsonl:  {"measurement":…,"tags":{…},"time":…,"fields":{…}}
 *   csv:    source,measurement,field,time,type,value      one line for each value
 */
#ifndef VV_QUERY_EXPORT_TEXT_H
#define VV_QUERY_EXPORT_TEXT_H

#include "query/writer.h"

/* Whose points are written. */
struct vv_export_series {
    struct vv_str measurement;
    struct vv_str source;      /* its id */
    struct vv_str id_tag;      /* the tag that holds the id; data NULL: the tags are the id */
    const struct vv_tag *tags; /* ascending by key */
    size_t n_tags;
};

/* What each row of a series begins with. VV_INVALID for a name that line protocol cannot hold: one
 * that ends with a backslash, or a measurement that begins with '#'. Check the buffer's status. */
VV_MUST_CHECK enum vv_status vv_export_head(struct vv_buffer *buffer, enum vv_format format,
                                            const struct vv_export_series *series,
                                            struct vv_error *error);
/* A field's name with what stands between it and its value; the same. */
VV_MUST_CHECK enum vv_status vv_export_field(struct vv_buffer *buffer, enum vv_format format,
                                             struct vv_str name, struct vv_error *error);

/* One column of what vv_export_row writes. */
struct vv_export_column {
    struct vv_str field; /* of vv_export_field */
    enum vv_value_type type;
    const uint64_t *values;
    const uint8_t *present; /* NULL: all */
};

/* Appends what a row has, in as many lines as keep each below ingest's limits; counts the values.
 * VV_INVALID for a number that is not finite, which only CSV can hold. */
VV_MUST_CHECK enum vv_status vv_export_row(struct vv_buffer *buffer, enum vv_format format,
                                           struct vv_str head, int64_t time,
                                           const struct vv_export_column *columns, size_t n,
                                           size_t row, uint64_t *values_out,
                                           struct vv_error *error);

/* Begins and ends an export; an error is a last line: `# error: …`, {"error":…}. */
extern const struct vv_writer_ops vv_writer_lines;
extern const struct vv_writer_ops vv_writer_json_lines;

#endif
