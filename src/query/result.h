/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A running query, and the kinds of answers. Private to src/query. One thread at a time.
 *
 * An answer is a state machine: advance() does one bounded piece of work and says whether more is
 * to do. What it appends in one call is a whole number of rows or records.
 */
#ifndef VV_QUERY_RESULT_H
#define VV_QUERY_RESULT_H

#include "query/request.h"
#include "query/route.h"
#include "query/writer.h"

/* An advance appends about so much, or a single row or record that is larger. */
#define VV_RESULT_PIECE_BYTES ((size_t)16 << 10)

struct vv_answer;

struct vv_answer_ops {
    /* Allocates and resolves; fills the writer's layout. The result closes it, also on failure. */
    enum vv_status (*open)(struct vv_result *, struct vv_error *);
    /* VV_OK: call again; VV_DONE: all rows are written. */
    enum vv_status (*advance)(struct vv_result *, struct vv_buffer *, struct vv_error *);
    void (*close)(struct vv_result *);
};

/* Sources × metrics that a request asks for. */
struct vv_selection {
    uint32_t *sources;
    size_t n_sources;
    struct vv_metric_info *metrics; /* in the order of their names */
    size_t n_metrics;
};

struct vv_result_route {
    uint32_t place;
    int64_t from; /* what of the range lies there begins then … */
    int64_t to;   /* … and ends then */
    struct vv_route route;
};

struct vv_result {
    struct vv_query_context context;
    struct vv_query_limits limits;
    struct vv_request *request;
    enum vv_format format;
    uint32_t tenant;
    int64_t from; /* what is read: [from, to) */
    int64_t to;
    int64_t step_ns; /* of the answer, chosen where the request has none; 0: none */
    struct vv_result_route routes[VV_PLACES_MAX]; /* of aggregates, by places of the metrics */
    size_t n_routes;
    struct vv_selection selection;
    struct vv_writer_layout layout; /* filled by open() */
    struct vv_writer writer;
    struct vv_str next; /* of lists: where the next page begins */
    const struct vv_answer_ops *ops;
    struct vv_answer *answer; /* of the kind's own type; NULL until open() */
    int64_t started_ns;
    size_t memory_bytes; /* held by the answer, as far as it grows with the request */
    struct vv_result_facts facts;
    bool written; /* something was appended to a buffer */
    bool ended;
};

extern const struct vv_answer_ops vv_answer_points;
extern const struct vv_answer_ops vv_answer_steps;
extern const struct vv_answer_ops vv_answer_groups;
extern const struct vv_answer_ops vv_answer_latest;
extern const struct vv_answer_ops vv_answer_sources;
extern const struct vv_answer_ops vv_answer_metrics;
extern const struct vv_answer_ops vv_answer_tags;
extern const struct vv_answer_ops vv_answer_export;

/* ---- for answers ---- */

/* Finds the metrics and, when `sources`, the sources. VV_NOT_FOUND, VV_TOO_LARGE, VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_result_select(struct vv_result *result, bool sources,
                                              struct vv_error *error);
/* Both, and says that these sources will be read, in which direction, and whether few rows may be
 * enough: for fetching ahead. */
VV_MUST_CHECK enum vv_status vv_result_select_to_read(struct vv_result *result, bool descending,
                                                      bool few, struct vv_error *error);
/* The request's selector for the registry. */
struct vv_selector vv_request_selector(const struct vv_request *request);

/* Memory that a scan may use now. */
size_t vv_result_memory_left(const struct vv_result *result);

/* Begins the answer if that was not done yet. */
void vv_result_begin(struct vv_result *result, struct vv_buffer *buffer);

/* Lays out series by the request's groups and aggregates. */
void vv_result_layout_series(struct vv_result *result);

/* Chooses the answer's step, of a query; the range and the tenant are known. VV_INVALID. */
VV_MUST_CHECK enum vv_status vv_result_choose_step(struct vv_result *result,
                                                   struct vv_error *error);
/* Chooses the routes of the metrics that were found, which have places of their own. VV_INVALID:
 * what is asked for cannot be had. */
VV_MUST_CHECK enum vv_status vv_result_choose_routes(struct vv_result *result,
                                                     struct vv_error *error);
/* The legs of a metric in the range, ascending, at least one, with the route of each; returns how
 * many. The first place is the one that it had when it was found: one on which nodes agree only
 * later has no records of it before, so that points are left to scans, which look again. */
size_t vv_result_legs(const struct vv_result *result, const struct vv_metric_info *metric,
                      struct vv_leg legs_out[VV_STAYS_MAX]);

/* The writer's head of a series: of a source with values for the group's tags, or of a group. */
struct vv_writer_series vv_result_series(struct vv_str source, const struct vv_str *values,
                                         const struct vv_metric_info *metric);

/* The present values of the request's group tags, "" where the source does not have one; texts in
 * the arena. VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_result_group_values(const struct vv_result *result, uint32_t source,
                                                    struct vv_arena *arena,
                                                    struct vv_str *values_out);

VV_MUST_CHECK enum vv_status vv_result_no_memory(struct vv_error *error);

#endif
