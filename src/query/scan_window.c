/* SPDX-License-Identifier: Apache-2.0 */
/* The windows of a scan: which comes next, and what head and store have in it. */
#include "query/scan_private.h"
#include "registry/shared.h"

#define OPENED_SHARE 2 /* of the scan's memory for opened pieces */

/* ---- choosing a window ---- */

void vv_scan_skip(struct vv_scan *scan, struct vv_window stretch)
{
    if (scan->options.descending) {
        scan->left.to = stretch.from > scan->left.from ? stretch.from : scan->left.from;
    } else {
        scan->left.from = stretch.to < scan->left.to ? stretch.to : scan->left.to;
    }
}

/* Narrows a window to the scan's width, at its near end; to whole spans while that is wide enough,
 * so that no span is read twice. (Where a lane has longer ones it is the slower lane: opening its
 * spans again costs less than reading many buckets of the faster one at once.) */
static struct vv_window narrow(const struct vv_scan *scan, struct vv_window window, int64_t span_ns)
{
    int64_t width = scan->width;
    if (width >= vv_window_length(window)) {
        return window;
    }
    bool spans = width >= span_ns || !scan->narrowed;
    if (spans) {
        width = width > span_ns ? width - width % span_ns : span_ns;
    }
    struct vv_window narrowed = window;
    if (scan->options.descending) {
        int64_t near = spans ? vv_time_floor(window.to - 1, span_ns) + span_ns : window.to;
        narrowed.from = near - width;
    } else {
        int64_t near = spans ? vv_time_floor(window.from, span_ns) : window.from;
        narrowed.to = near + width;
    }
    return vv_window_intersect(window, narrowed);
}

static int64_t near_end(const struct vv_scan *scan)
{
    return scan->options.descending ? scan->left.to - 1 : scan->left.from;
}

/* What all lanes have at the scan's near end. */
static enum vv_status look(struct vv_scan *scan, struct vv_outlook *outlook_out,
                           struct vv_error *error)
{
    int64_t near = near_end(scan);
    enum vv_status status = VV_OK;
    *outlook_out = (struct vv_outlook){
        .range = {VV_TIME_MIN, VV_TIME_MAX + 1}, .span_ns = VV_HOUR, /* of what only the head has */
    };
    for (size_t i = 0; i < scan->n_lanes && status == VV_OK; i++) {
        status = vv_scan_look_at_lane(scan, &scan->lanes[i], near, outlook_out, error);
    }
    return status;
}

void vv_scan_expect_all(struct vv_scan *scan)
{
    for (size_t i = 0; i < scan->n_lanes; i++) {
        scan->lanes[i].store_empty = false;
    }
}

void vv_scan_begin_lanes(struct vv_scan *scan, uint32_t place)
{
    scan->options.place = place;
    scan->n_lanes = vv_registry_plan_regions(scan->context->registry);
    for (uint8_t region = 0; region < scan->n_lanes; region++) {
        scan->lanes[region] = (struct vv_lane){.tenant = place, .region = region};
    }
}

/* The stay that holds `time`. Where what the head had has gone is known to who looks behind it. */
static void note_stay(struct vv_scan *scan, int64_t time)
{
    uint32_t measurement = scan->options.measurement;
    struct vv_stay stay = vv_registry_stay(scan->context->registry, measurement, time);
    if (stay.place == VV_REGISTRY_NONE) {
        stay.place = scan->options.place;
    }
    if (stay.place != scan->options.place) {
        vv_scan_begin_lanes(scan, stay.place);
    }
    int64_t oldest = scan->options.hidden_too
                         ? VV_TIME_MIN
                         : vv_scan_oldest_of(scan->context, measurement, stay.place, scan->now_ns);
    scan->stay = (struct vv_window){stay.from, stay.to};
    scan->shown_from = oldest > stay.from ? oldest : stay.from;
}

/* Passes over what is not shown any more at the near end; false: there is none such. */
static bool skip_expired(struct vv_scan *scan, int64_t near)
{
    bool is_expired = near < scan->shown_from;
    if (is_expired) {
        const struct vv_window expired = {scan->stay.from, scan->shown_from};
        vv_scan_skip(scan, vv_window_intersect(scan->stay, expired));
        vv_scan_expect_all(scan);
    }
    return is_expired;
}

/* Asks the store where it has any, before it reads: few sources have late points. */
static void note_late_lane(struct vv_scan *scan)
{
    uint32_t space = vv_registry_late_seen(scan->context->registry, scan->options.place);
    size_t n = scan->n_lanes;
    if (n == 0 || scan->lanes[n - 1].is_late || space == VV_REGISTRY_NONE) {
        return;
    }
    for (size_t i = 0; i < n; i++) {
        scan->lanes[scan->n_lanes++] = (struct vv_lane){.tenant = space,
                                                        .region = scan->lanes[i].region,
                                                        .is_late = true,
                                                        .begun = true,
                                                        .store_empty = true};
    }
}

enum vv_status vv_scan_choose_window(struct vv_scan *scan, struct vv_error *error)
{
    while (!vv_window_is_empty(scan->left)) {
        struct vv_outlook outlook;
        enum vv_status status = vv_scan_look_at_head(scan);
        int64_t near = near_end(scan);
        note_stay(scan, near);
        if (status == VV_OK && skip_expired(scan, near)) {
            continue;
        }
        note_late_lane(scan);
        status = status == VV_OK ? look(scan, &outlook, error) : status;
        if (status != VV_OK) {
            return status;
        }
        if (!vv_scan_plans_hold(scan)) {
            continue;
        }
        const struct vv_window shown = {scan->shown_from, scan->stay.to};
        outlook.range = vv_window_intersect(outlook.range, shown);
        scan->window = vv_window_intersect(scan->left, outlook.range);
        if (!outlook.active) { /* of which only the head may know */
            scan->window = vv_window_intersect(scan->window, scan->head);
        }
        if (!vv_window_is_empty(scan->window)) {
            scan->window = narrow(scan, scan->window, outlook.span_ns);
            return VV_OK;
        }
        vv_scan_skip(scan, outlook.range);
        vv_scan_expect_all(scan); /* the next bucket has something, or another plan begins */
    }
    return VV_DONE;
}

/* ---- filling a window ---- */

static enum vv_status prepare_merge(struct vv_scan *scan)
{
    if (scan->merge) {
        vv_scan_count_figures(scan);
        vv_merge_reset(scan->merge, scan->window.from, scan->window.to);
        return VV_OK;
    }
    struct vv_merge_options options = {
        .from = scan->window.from,
        .to = scan->window.to,
        .metrics = scan->options.metrics,
        .types = scan->options.types,
        .n_metrics = scan->options.n_metrics,
        .descending = scan->options.descending,
        .join_times = true,
        .memory_max = scan->options.memory_max / OPENED_SHARE,
        .deletions = scan->deletions.n > 0 ? &scan->deletions : NULL,
    };
    return vv_merge_create(&options, &scan->merge);
}

/* *held_out: whether the plans held meanwhile. */
static enum vv_status try_window(struct vv_scan *scan, bool *held_out, struct vv_error *error)
{
    scan->window_bytes = 0;
    *held_out = true;
    enum vv_status status = prepare_merge(scan);
    if (status == VV_OK) {
        status = vv_scan_add_head(scan);
    }
    note_stay(scan, scan->window.from);
    note_late_lane(scan);
    for (size_t i = 0; i < scan->n_lanes && status == VV_OK; i++) {
        status = vv_scan_add_lane(scan, &scan->lanes[i], error);
        *held_out = vv_scan_plans_hold(scan);
    }
    return status;
}

enum vv_status vv_scan_fill_window(struct vv_scan *scan, struct vv_error *error)
{
    bool held = false;
    enum vv_status status = VV_OK;
    scan->n_windows++;
    for (int i = 0; !held && status == VV_OK; i++) {
        if (i == VV_SCAN_MOVE_WAITS) {
            return vv_error_set(error, VV_OVERLOAD,
                                "the source's plans change all the time: try again later");
        }
        status = try_window(scan, &held, error);
    }
    return status;
}
