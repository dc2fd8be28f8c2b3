/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writers: answers as JSON or CSV. Private to src/query. One thread at a time.
 *
 * An answer is either series (begin, then for each series its head and rows) or a list of records
 * (begin, then for each record its fields in the order of the columns). Everything is appended to
 * the buffer that a call is given; check the buffer's status afterwards. A writer's own memory
 * failing shows in `failed`.
 *
 * JSON: {"tenant":…, "series":[{"source":…, "tags":{…}, "metric":…, "unit":…, "columns":["time",…],
 * "points":[[…],…]},…], "facts":{…}}, or with a list in place of the series.
 * CSV: a header line, then one line for each row or record.
 */
#ifndef VV_QUERY_WRITER_H
#define VV_QUERY_WRITER_H

#include "query/feed.h"
#include "query/fold.h"
#include "query/number.h"

struct vv_writer_layout {
    struct vv_str tenant;
    const char *name;           /* of the list; NULL: series */
    const char *const *columns; /* of a list */
    size_t n_columns;
    struct vv_str key;               /* of tags: the key whose values are listed; data NULL: none */
    const struct vv_str *group_tags; /* of series */
    size_t n_group_tags;
    const struct vv_aggregate *aggregates; /* of series; none: "value" */
    size_t n_aggregates;
};

struct vv_writer_series {
    struct vv_str source;        /* data NULL: a group of sources */
    const struct vv_str *values; /* of the layout's group tags */
    struct vv_str metric;
    struct vv_str unit;
};

/* What is said about an answer at its end. */
struct vv_writer_end {
    const struct vv_result_facts *facts;
    struct vv_registry *registry; /* for the ids of sources in the facts */
    int64_t step_ns;              /* 0: no steps */
    struct vv_str next;    /* of a list: where the next page begins; data NULL: nothing is left */
    enum vv_status status; /* VV_OK, or why the answer ends early */
    const char *message;
};

struct vv_writer;

struct vv_writer_ops {
    void (*begin)(struct vv_writer *, struct vv_buffer *);
    void (*series_begin)(struct vv_writer *, struct vv_buffer *, const struct vv_writer_series *);
    /* The most bytes that a row of n cells takes. */
    size_t (*row_size_max)(const struct vv_writer *, size_t n);
    /* Writes a row and returns its size. */
    size_t (*row)(struct vv_writer *, char *out, int64_t time, const struct vv_cell *, size_t n);
    void (*series_end)(struct vv_writer *, struct vv_buffer *);
    void (*record_begin)(struct vv_writer *, struct vv_buffer *);
    void (*field_text)(struct vv_writer *, struct vv_buffer *, struct vv_str);
    void (*field_cell)(struct vv_writer *, struct vv_buffer *, struct vv_cell);
    void (*field_time)(struct vv_writer *, struct vv_buffer *, int64_t time, bool known);
    void (*field_tags)(struct vv_writer *, struct vv_buffer *, const struct vv_tag *, size_t n);
    /* JSON only: versions in one field; CSV has a record for each version. */
    void (*field_history)(struct vv_writer *, struct vv_buffer *, const struct vv_tag_version *,
                          size_t n);
    void (*record_end)(struct vv_writer *, struct vv_buffer *);
    /* Closes whatever is open. */
    void (*end)(struct vv_writer *, struct vv_buffer *, const struct vv_writer_end *);
};

struct vv_writer {
    const struct vv_writer_ops *ops;
    struct vv_writer_layout layout;
    struct vv_time_writer times;
    struct vv_buffer prefix; /* CSV: what the lines of a series begin with */
    bool begun;
    bool in_series;
    bool in_record;
    size_t items; /* series or records written */
    size_t rows;  /* of the series */
    size_t field; /* of the record */
    bool failed;
};

/* The layout's lists are borrowed for the writer's life. */
void vv_writer_init(struct vv_writer *writer, enum vv_format format,
                    enum vv_time_format time_format, const struct vv_writer_layout *layout);
void vv_writer_deinit(struct vv_writer *writer);

/* Points of the slice from `first` on, n of them; backwards from `first + n - 1` on request. */
void vv_writer_points(struct vv_writer *writer, struct vv_buffer *buffer,
                      const struct vv_slice *slice, enum vv_value_type type, size_t first, size_t n,
                      bool backwards);
/* One row of n cells. */
void vv_writer_row(struct vv_writer *writer, struct vv_buffer *buffer, int64_t time,
                   const struct vv_cell *cells, size_t n);

extern const struct vv_writer_ops vv_writer_json;
extern const struct vv_writer_ops vv_writer_csv;

/* Text as a field of CSV, quoted where it must be. */
void vv_csv_text(struct vv_buffer *buffer, struct vv_str text);

#define VV_CELL_TEXT_SIZE 42
_Static_assert(VV_CELL_TEXT_SIZE >= VV_TIME_TEXT_SIZE + 2, "a time fits, in quotes");
/* A number as text, or nothing; what is not finite as the format has it. Returns its length. */
size_t vv_cell_write(struct vv_cell cell, bool json, char *out);
/* The cell of a point. */
struct vv_cell vv_cell_of_point(enum vv_value_type type, uint64_t bits);

#endif
