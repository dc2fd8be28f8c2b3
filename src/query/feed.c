/* SPDX-License-Identifier: Apache-2.0 */
/* From chunks of rows to slices of points. Slices point into the rows where nothing is left out. */
#include "query/feed.h"

#include "base/bits.h"

#include <stdlib.h>

enum vv_status vv_feed_open(struct vv_feed *feed, const struct vv_query_context *context,
                            const struct vv_feed_options *options, struct vv_result_facts *facts)
{
    vv_feed_close(feed);
    if (!feed->times) {
        feed->times = malloc(VV_SLICE_POINTS_MAX * sizeof *feed->times);
    }
    if (!feed->values) {
        feed->values = malloc(VV_SLICE_POINTS_MAX * sizeof *feed->values);
    }
    if (!feed->times || !feed->values) {
        return VV_NO_MEMORY;
    }
    feed->options = *options;
    feed->metric = options->metric->metric;
    feed->type = options->metric->type;
    feed->facts = facts;
    feed->left = 0;
    struct vv_scan_options scan = {
        .place = options->place,
        .source = options->source,
        .measurement = options->metric->measurement,
        .metrics = &feed->metric,
        .types = &feed->type,
        .n_metrics = 1,
        .from = options->from,
        .to = options->to,
        .descending = options->descending,
        .few = options->few,
        .hidden_too = options->hidden_too,
        .memory_max = options->memory_max,
    };
    return vv_scan_open(context, &scan, facts, &feed->scan);
}

void vv_feed_close(struct vv_feed *feed)
{
    vv_scan_close(feed->scan);
    feed->scan = NULL;
    feed->left = 0;
}

void vv_feed_deinit(struct vv_feed *feed)
{
    vv_feed_close(feed);
    free(feed->times);
    free(feed->values);
    *feed = (struct vv_feed){0};
}

static bool has_nan(const uint64_t *values, size_t n)
{
    unsigned found = 0;
    for (size_t i = 0; i < n; i++) {
        found |= (values[i] & INT64_MAX) > UINT64_C(0x7FF0000000000000);
    }
    return found != 0;
}

static bool passes(const struct vv_feed *feed, uint64_t bits)
{
    const struct vv_where *where = feed->options.where;
    if (feed->type == VV_INT64) {
        return !where->active || vv_where_integer(where, (int64_t)bits);
    }
    double value = vv_bits_double(bits);
    if (feed->options.skip_nan && value != value) {
        return false;
    }
    return !where->active || vv_where_double(where, value);
}

/* Copies what passes. Every point is written and counted only if it passes: no jumps to guess. */
static struct vv_slice copy_passing(struct vv_feed *feed, size_t first, size_t n)
{
    const struct vv_rows *rows = feed->rows;
    const struct vv_column *column = &rows->columns[0];
    size_t kept = 0;
    for (size_t i = first; i < first + n; i++) {
        feed->times[kept] = rows->times[i];
        feed->values[kept] = column->values[i];
        kept += vv_column_has(column, i) && passes(feed, column->values[i]);
    }
    return (struct vv_slice){feed->times, feed->values, kept};
}

static struct vv_slice cut_slice(struct vv_feed *feed)
{
    const struct vv_rows *rows = feed->rows;
    const struct vv_column *column = &rows->columns[0];
    size_t n = feed->left < VV_SLICE_POINTS_MAX ? feed->left : VV_SLICE_POINTS_MAX;
    size_t first = feed->options.descending ? feed->left - n : rows->n_rows - feed->left;
    feed->left -= n;
    feed->facts->points_read += n;
    bool all = !column->present && !feed->options.where->active;
    if (all && feed->options.skip_nan && feed->type == VV_FLOAT64) {
        all = !has_nan(column->values + first, n);
    }
    if (all) {
        return (struct vv_slice){rows->times + first, column->values + first, n};
    }
    return copy_passing(feed, first, n);
}

enum vv_status vv_feed_next(struct vv_feed *feed, struct vv_slice *slice_out,
                            struct vv_error *error)
{
    *slice_out = (struct vv_slice){0};
    if (feed->left == 0) {
        enum vv_status status = vv_scan_next(feed->scan, &feed->rows, error);
        if (status != VV_OK || !feed->rows) {
            return status;
        }
        if (feed->rows->columns[0].type != feed->type) {
            return vv_error_set(error, VV_OVERLOAD,
                                "metric '%.*s' has become one of floats while it was read: ask "
                                "again",
                                VV_STR_ARG(feed->options.metric->name));
        }
        feed->left = feed->rows->n_rows;
    }
    *slice_out = cut_slice(feed);
    return VV_OK;
}

int64_t vv_feed_reached(const struct vv_feed *feed)
{
    if (feed->left == 0) {
        return vv_scan_reached(feed->scan);
    }
    const struct vv_rows *rows = feed->rows;
    return feed->options.descending ? rows->times[feed->left]
                                    : rows->times[rows->n_rows - feed->left];
}
