/* SPDX-License-Identifier: Apache-2.0 */
/* Scanning one source and measurement: giving rows window by window. See scan_private.h. */
#include "query/peers.h"
#include "query/scan_private.h"

#include "query/words.h"
#include "registry/shared.h"

#include <stdlib.h>

#define WIDTH_GROW 4

/* ---- life ---- */

int64_t vv_scan_oldest(const struct vv_query_context *context, uint32_t place, int64_t now_ns)
{
    int64_t retention = vv_registry_retention(context->registry, place);
    bool is_bounded = retention > 0 && now_ns > VV_TIME_MIN + retention;
    return is_bounded ? now_ns - retention : VV_TIME_MIN;
}

struct vv_window vv_scan_known(const struct vv_query_context *context, uint32_t source)
{
    int64_t first;
    int64_t last;
    if (!vv_registry_source_times(context->registry, source, &first, &last)) {
        return (struct vv_window){0, 0};
    }
    return (struct vv_window){first, last < INT64_MAX ? last + 1 : last};
}

/* Where it lies may not be agreed on yet. */
int64_t vv_scan_oldest_of(const struct vv_query_context *context, uint32_t measurement,
                          uint32_t place, int64_t now_ns)
{
    struct vv_registry *registry = context->registry;
    uint32_t places[VV_PLACES_MAX];
    int64_t oldest = vv_scan_oldest(context, place, now_ns);
    size_t n = 0;
    if (!vv_registry_is_placed(registry, measurement)) {
        n = vv_registry_places(registry, vv_registry_owner(registry, place), places);
    }
    for (size_t i = 0; i < n; i++) {
        int64_t other = vv_scan_oldest(context, places[i], now_ns);
        oldest = other < oldest ? other : oldest;
    }
    return oldest;
}

/* Of all its stays. */
static int64_t oldest_of_all(const struct vv_query_context *context,
                             const struct vv_scan_options *options, int64_t now_ns)
{
    struct vv_stay stays[VV_STAYS_MAX];
    size_t n = vv_registry_stays(context->registry, options->measurement, stays);
    int64_t oldest = n == 0 ? vv_scan_oldest(context, options->place, now_ns) : INT64_MAX;
    for (size_t i = 0; i < n; i++) {
        int64_t shown = vv_scan_oldest_of(context, options->measurement, stays[i].place, now_ns);
        shown = shown > stays[i].from ? shown : stays[i].from;
        oldest = shown < stays[i].to && shown < oldest ? shown : oldest;
    }
    return oldest;
}

static struct vv_window clip_to_source(const struct vv_query_context *context,
                                       const struct vv_scan_options *options, int64_t now_ns)
{
    struct vv_window known = vv_scan_known(context, options->source);
    if (vv_peers_may_write(context)) { /* what others wrote may lie anywhere */
        known = (struct vv_window){VV_TIME_MIN, VV_TIME_MAX + 1};
    }
    struct vv_window range =
        vv_window_intersect((struct vv_window){options->from, options->to}, known);
    int64_t oldest = options->hidden_too ? VV_TIME_MIN : oldest_of_all(context, options, now_ns);
    range.from = range.from > oldest ? range.from : oldest;
    return range;
}

enum vv_status vv_scan_open(const struct vv_query_context *context,
                            const struct vv_scan_options *options, struct vv_result_facts *facts,
                            struct vv_scan **scan_out)
{
    *scan_out = NULL;
    struct vv_scan *scan = calloc(1, sizeof *scan);
    if (!scan) {
        return VV_NO_MEMORY;
    }
    scan->context = context;
    scan->options = *options;
    scan->facts = facts;
    if (context->deletions && vv_deletions_of(context->deletions, options->source,
                                              options->measurement, &scan->deletions) != VV_OK) {
        free(scan);
        return VV_NO_MEMORY;
    }
    scan->now_ns = context->clock->wall_ns(context->clock);
    scan->left = clip_to_source(context, options, scan->now_ns);
    vv_scan_begin_lanes(scan, options->place);
    scan->width =
        options->few ? 1 : VV_SCAN_WIDTH_MAX; /* rounded up to a span where one is known */
    *scan_out = scan;
    return VV_OK;
}

void vv_scan_count_figures(struct vv_scan *scan)
{
    struct vv_merge_figures now;
    vv_merge_read_figures(scan->merge, &now);
    scan->facts->pieces_read += now.pieces_opened - scan->counted.pieces_opened;
    scan->facts->bytes_read += now.bytes_opened - scan->counted.bytes_opened;
    scan->counted = now;
}

static void drop_merge(struct vv_scan *scan)
{
    if (scan->merge) {
        vv_scan_count_figures(scan);
        vv_merge_destroy(scan->merge);
        scan->merge = NULL;
        scan->counted = (struct vv_merge_figures){0};
    }
}

void vv_scan_close(struct vv_scan *scan)
{
    if (scan) {
        drop_merge(scan);
        vv_rows_free(&scan->copy);
        vv_deletion_list_deinit(&scan->deletions);
        free(scan);
    }
}

int64_t vv_scan_reached(const struct vv_scan *scan)
{
    return scan->options.descending ? scan->left.to : scan->left.from;
}

bool vv_scan_found(const struct vv_scan *scan)
{
    return scan->found;
}

/* ---- giving rows ---- */

static enum vv_status explain(const struct vv_scan *scan, enum vv_status status,
                              struct vv_error *error)
{
    struct vv_str id = vv_registry_source_id(scan->context->registry, scan->options.source);
    char shown[VV_SHOWN_SIZE];
    char time[VV_TIME_TEXT_SIZE];
    vv_shown(id, shown);
    vv_time_format(scan->window.from, time);
    if (status == VV_NO_MEMORY) {
        return vv_error_set(error, status, "out of memory while reading");
    }
    if (status == VV_TOO_LARGE) {
        return vv_error_set(error, status,
                            "the rows of source '%s' at %s do not fit the query's memory "
                            "(query.memory_bytes_max)",
                            shown, time);
    }
    return vv_error_prefix(error, status, "source '%s', from %s on", shown, time);
}

/* The window did not fit: a narrower one is tried from where rows were given last, with a new
 * merge, since the old one keeps the memory that was too much. */
static enum vv_status shrink(struct vv_scan *scan, struct vv_error *error)
{
    drop_merge(scan);
    struct vv_window rest = vv_window_intersect(scan->left, scan->window);
    if (vv_window_is_empty(rest)) {
        return VV_OK;
    }
    if (vv_window_length(rest) == 1) {
        return explain(scan, VV_TOO_LARGE, error);
    }
    if (error) {
        error->message[0] = '\0'; /* it did not end in an error after all */
    }
    scan->width = vv_window_length(rest) / 2;
    scan->narrowed = true;
    vv_scan_expect_all(scan);
    return VV_OK;
}

static void finish_window(struct vv_scan *scan)
{
    scan->in_window = false;
    vv_scan_skip(scan, scan->window);
    bool roomy = scan->window_bytes < scan->options.memory_max / VV_SCAN_PIECES_SHARE / WIDTH_GROW;
    if (roomy) {
        int64_t width = vv_window_length(scan->window);
        width = width > scan->width ? width : scan->width;
        scan->width =
            width < VV_SCAN_WIDTH_MAX / WIDTH_GROW ? width * WIDTH_GROW : VV_SCAN_WIDTH_MAX;
    }
}

static enum vv_status open_window(struct vv_scan *scan, struct vv_error *error)
{
    enum vv_status status = vv_scan_choose_window(scan, error);
    if (status != VV_OK) {
        return status == VV_DONE ? status : explain(scan, status, error);
    }
    /* What lies between is in neither head nor store. */
    if (scan->options.descending) {
        scan->left.to = scan->window.to;
    } else {
        scan->left.from = scan->window.from;
    }
    status = vv_scan_fill_window(scan, error);
    scan->in_window = status == VV_OK;
    if (status == VV_TOO_LARGE) {
        return shrink(scan, error);
    }
    return status == VV_OK ? status : explain(scan, status, error);
}

enum vv_status vv_scan_next(struct vv_scan *scan, const struct vv_rows **rows_out,
                            struct vv_error *error)
{
    *rows_out = NULL;
    if (!scan->in_window) {
        enum vv_status opened = open_window(scan, error);
        if (opened != VV_OK || !scan->in_window) {
            return opened;
        }
    }
    enum vv_status status = vv_merge_next(scan->merge, rows_out, error);
    if (status == VV_OK) {
        const struct vv_rows *rows = *rows_out;
        vv_invariant(rows->n_rows > 0);
        if (scan->options.descending) {
            scan->left.to = rows->times[0];
        } else {
            scan->left.from = rows->times[rows->n_rows - 1] + 1;
        }
        return VV_OK;
    }
    *rows_out = NULL;
    if (status == VV_DONE) {
        finish_window(scan);
        return VV_OK;
    }
    scan->in_window = false;
    return status == VV_TOO_LARGE ? shrink(scan, error) : explain(scan, status, error);
}
