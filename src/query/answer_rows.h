/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What answers with steps share: the steps themselves, the labels of their rows, and writing rows
 * from a sink. Private to src/query. One thread at a time.
 */
#ifndef VV_QUERY_ANSWER_ROWS_H
#define VV_QUERY_ANSWER_ROWS_H

#include "query/result.h"
#include "query/sink.h"
#include "query/walk.h"

/* What the request's folds share, but for the type; the caller deinits the budget, also on false:
 * memory is out. */
VV_MUST_CHECK bool vv_result_fold_spec(const struct vv_result *result,
                                       struct vv_percentile_budget *budget,
                                       struct vv_fold_spec *spec_out);

/* The steps of the request, over the range that is read. */
void vv_result_steps(const struct vv_result *result, struct vv_steps *steps_out);

/* What its rows need of a tier's steps, of enum vv_step_part. */
unsigned vv_result_step_parts(const struct vv_result *result);

/* How the request's points of a metric are put together; borrows from the result. */
struct vv_walk_plan vv_result_walk_plan(const struct vv_result *result,
                                        const struct vv_steps *steps,
                                        const struct vv_metric_info *metric);

/* Of answers by source: whether a tier's step that is a row of its own has all that the row needs,
 * and all such rows are wanted, and nothing between them. */
bool vv_result_has_whole_rows(const struct vv_result *result);

/* The label of a step's row: its start; of one step over the whole range `from`, or the time of the
 * first point when `from` was not given. */
int64_t vv_result_label(const struct vv_result *result, int64_t start, int64_t first_time);

/* Writes a row, with the series' head before the first one. */
void vv_result_row(struct vv_result *result, struct vv_buffer *buffer,
                   const struct vv_writer_series *series, int64_t start,
                   const struct vv_cell *cells);

/* The same of steps of a tier that are rows of their own, the last one first if backwards: returns
 * how many were dealt with, at least one, as many as fit into what an advance appends. */
size_t vv_result_whole_rows(struct vv_result *result, struct vv_buffer *buffer,
                            const struct vv_writer_series *series, const struct vv_fold_spec *spec,
                            const struct vv_tier_run *steps, bool backwards);

/* Writes pending rows of a sink, a bounded number. Returns whether anything was written. */
bool vv_result_drain(struct vv_result *result, struct vv_buffer *buffer, struct vv_sink *sink,
                     const struct vv_writer_series *series);

#endif
