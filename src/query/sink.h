/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sink: takes the rows of a series' steps in the order of the answer, puts rows for empty steps
 * between them and stops at the limit. Private to src/query. One thread at a time.
 *
 * Use: begin; then push a row and pull until nothing comes, for each row that does not pass; finish
 * and pull again.
 */
#ifndef VV_QUERY_SINK_H
#define VV_QUERY_SINK_H

#include "query/fold.h"
#include "query/steps.h"

struct vv_sink_row {
    bool known;
    int64_t start;
    struct vv_cell cells[VV_AGGREGATES_MAX];
};

struct vv_sink {
    const struct vv_request *request; /* borrowed */
    const struct vv_steps *steps;     /* borrowed */
    uint64_t left;                    /* rows that the limit still lets through */
    struct vv_sink_row last;          /* given last, of those with points */
    struct vv_sink_row next;          /* pushed, not given yet */
    bool in_gap;
    int64_t gap_at;  /* the next empty step to be given */
    int64_t gap_end; /* the first that is none, in the answer's order */
};

/* Begins a series. */
void vv_sink_begin(struct vv_sink *sink, const struct vv_request *request,
                   const struct vv_steps *steps);
/* Whether a row can be given as it comes, for then it is counted, and is the caller's to write;
 * else it is to be pushed. */
static inline bool vv_sink_pass(struct vv_sink *sink)
{
    bool passes = sink->request->fill == VV_FILL_NONE && sink->left > 0;
    sink->left -= passes;
    return passes;
}
/* Nothing may be pending. */
void vv_sink_push(struct vv_sink *sink, int64_t start, const struct vv_cell *cells);
/* The series has no more rows: what is empty up to the end of the range follows. */
void vv_sink_finish(struct vv_sink *sink);
/* The next row; false when there is none. */
VV_MUST_CHECK bool vv_sink_pull(struct vv_sink *sink, int64_t *start_out,
                                struct vv_cell *cells_out);
/* Whether something was pushed that was not pulled. */
static inline bool vv_sink_is_pending(const struct vv_sink *sink)
{
    return sink->next.known || sink->in_gap;
}
static inline bool vv_sink_is_full(const struct vv_sink *sink)
{
    return sink->left == 0;
}

#endif
