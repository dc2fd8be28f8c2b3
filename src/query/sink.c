/* SPDX-License-Identifier: Apache-2.0 */
/* Rows for empty steps, and the limit. */
#include "query/sink.h"

void vv_sink_begin(struct vv_sink *sink, const struct vv_request *request,
                   const struct vv_steps *steps)
{
    sink->request = request;
    sink->steps = steps;
    sink->left = request->limit ? request->limit : UINT64_MAX;
    sink->last.known = sink->next.known = false;
    sink->in_gap = false;
}

static int64_t after(const struct vv_sink *sink, int64_t start)
{
    return sink->request->descending ? vv_steps_previous(sink->steps, start)
                                     : vv_steps_next(sink->steps, start);
}

static bool lies_before(const struct vv_sink *sink, int64_t a, int64_t b)
{
    return sink->request->descending ? a > b : a < b;
}

/* The gap from `at` up to, and without, `end`. */
static void open_gap(struct vv_sink *sink, int64_t at, int64_t end)
{
    sink->in_gap = lies_before(sink, at, end);
    sink->gap_at = at;
    sink->gap_end = end;
}

void vv_sink_push(struct vv_sink *sink, int64_t start, const struct vv_cell *cells)
{
    const struct vv_request *request = sink->request;
    vv_invariant(!sink->next.known && !sink->in_gap);
    sink->next.known = true;
    sink->next.start = start;
    memcpy(sink->next.cells, cells, request->n_aggregates * sizeof *cells);
    if (request->fill == VV_FILL_NONE) {
        return;
    }
    if (sink->last.known) {
        open_gap(sink, after(sink, sink->last.start), start);
    } else if (request->descending && request->has_to) {
        open_gap(sink, vv_steps_start(sink->steps, request->to - 1), start);
    } else if (!request->descending && request->has_from) {
        open_gap(sink, vv_steps_start(sink->steps, request->from), start);
    }
}

void vv_sink_finish(struct vv_sink *sink)
{
    const struct vv_request *request = sink->request;
    if (request->fill == VV_FILL_NONE || !sink->last.known) {
        return;
    }
    if (request->descending && request->has_from) {
        int64_t first = vv_steps_start(sink->steps, request->from);
        open_gap(sink, after(sink, sink->last.start), first - 1);
    } else if (!request->descending && request->has_to) {
        open_gap(sink, after(sink, sink->last.start), request->to);
    }
}

/* ---- filling ---- */

static double number(struct vv_cell cell)
{
    return cell.kind == VV_CELL_INTEGER ? (double)cell.integer : cell.real;
}

static double distance(int64_t earlier, int64_t later)
{
    return (double)((uint64_t)later - (uint64_t)earlier);
}

static bool is_time(const struct vv_request *request, size_t column)
{
    enum vv_aggregate_kind kind = request->aggregates[column].kind;
    return kind == VV_AGGREGATE_FIRST_TIME || kind == VV_AGGREGATE_LAST_TIME;
}

static struct vv_cell between(const struct vv_sink_row *older, const struct vv_sink_row *newer,
                              int64_t start, size_t column)
{
    if (!older->known || !newer->known || older->cells[column].kind == VV_CELL_NULL ||
        newer->cells[column].kind == VV_CELL_NULL) {
        return (struct vv_cell){VV_CELL_NULL, {0}};
    }
    double part = distance(older->start, start) / distance(older->start, newer->start);
    double low = number(older->cells[column]);
    double high = number(newer->cells[column]);
    return vv_cell_double(low + (high - low) * part);
}

static void fill_row(const struct vv_sink *sink, int64_t start, struct vv_cell *cells_out)
{
    const struct vv_request *request = sink->request;
    const struct vv_sink_row *older = request->descending ? &sink->next : &sink->last;
    const struct vv_sink_row *newer = request->descending ? &sink->last : &sink->next;
    for (size_t i = 0; i < request->n_aggregates; i++) {
        cells_out[i] = (struct vv_cell){VV_CELL_NULL, {0}};
        if (is_time(request, i)) { /* of no point */
            continue;
        }
        if (request->aggregates[i].kind == VV_AGGREGATE_COUNT || request->fill == VV_FILL_ZERO) {
            cells_out[i] = vv_cell_integer(0);
        } else if (request->fill == VV_FILL_PREVIOUS && older->known) {
            cells_out[i] = older->cells[i];
        } else if (request->fill == VV_FILL_LINEAR) {
            cells_out[i] = between(older, newer, start, i);
        }
    }
}

bool vv_sink_pull(struct vv_sink *sink, int64_t *start_out, struct vv_cell *cells_out)
{
    if (sink->left == 0) {
        sink->in_gap = sink->next.known = false;
        return false;
    }
    if (sink->in_gap) {
        *start_out = sink->gap_at;
        fill_row(sink, sink->gap_at, cells_out);
        sink->gap_at = after(sink, sink->gap_at);
        sink->in_gap = lies_before(sink, sink->gap_at, sink->gap_end);
    } else if (sink->next.known) {
        size_t size = sink->request->n_aggregates * sizeof *cells_out;
        *start_out = sink->next.start;
        memcpy(cells_out, sink->next.cells, size);
        memcpy(sink->last.cells, sink->next.cells, size);
        sink->last.start = sink->next.start;
        sink->last.known = true;
        sink->next.known = false;
    } else {
        return false;
    }
    sink->left--;
    return true;
}
