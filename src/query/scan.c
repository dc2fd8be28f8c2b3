/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scanning windows of one source and measurement.
 *
 * What makes it safe beside flushes and seals, for each window: the head is read FIRST, then the
 * source's plans, then the store. A row that was acknowledged before is in the head at the first
 * step, or its flush was confirmed by then and the store has it; the plans under which it was
 * stored were set before it was flushed. Rows found twice are one row after merging. The same order
 * holds for stretches that are skipped: the head's times are read before the store is asked for
 * the nearest bucket.
 */
#include "query/scan.h"

#include <stdlib.h>

#define WIDTH_MAX  (INT64_MAX / 4)
#define WIDTH_GROW 4
/* Parts of the scan's memory for one window: encoded pieces, the head's rows, opened pieces. */
#define PIECES_SHARE 4
#define HEAD_SHARE   4
#define OPENED_SHARE 2

struct window {
    int64_t from;
    int64_t to;
};

struct vv_scan {
    const struct vv_query_context *context;
    struct vv_scan_options options;
    struct vv_result_facts *facts;
    struct vv_merge *merge;
    struct vv_merge_figures counted; /* what of the merge's figures is in facts */
    struct window left;              /* what was not given yet; one end moves */
    struct window window;            /* being given */
    bool in_window;
    bool store_empty; /* the store had nothing in the last window */
    bool found;
    int64_t width;       /* windows are not wider … */
    bool narrowed;       /* … and may be narrower than a span, since one did not fit */
    size_t window_bytes; /* encoded, of this window */
    /* The head as it was before this window's store was looked at. */
    bool has_head;
    struct window head;
    /* The bucket whose partitions were counted last, and which of its splits. */
    int64_t counted_start;
    int64_t counted_ns;
    uint64_t counted_splits;
};

_Static_assert(VV_SPLITS_MAX <= 64, "splits fit a word");

static struct window intersect(struct window a, struct window b)
{
    return (struct window){a.from > b.from ? a.from : b.from, a.to < b.to ? a.to : b.to};
}

static bool is_empty(struct window window)
{
    return window.from >= window.to;
}

/* At most WIDTH_MAX: the whole of time is longer than an int64. */
static int64_t length_of(struct window window)
{
    uint64_t length = is_empty(window) ? 0 : (uint64_t)window.to - (uint64_t)window.from;
    return length < WIDTH_MAX ? (int64_t)length : WIDTH_MAX;
}

/* ---- life ---- */

int64_t vv_scan_oldest(const struct vv_query_context *context, uint32_t tenant)
{
    int64_t retention = vv_registry_retention(context->registry, tenant);
    if (retention <= 0) {
        return VV_TIME_MIN;
    }
    int64_t now = context->clock->wall_ns(context->clock);
    return now > VV_TIME_MIN + retention ? now - retention : VV_TIME_MIN;
}

static struct window clip_to_source(const struct vv_query_context *context,
                                    const struct vv_scan_options *options)
{
    struct window range = {options->from, options->to};
    int64_t first;
    int64_t last;
    if (!vv_registry_source_times(context->registry, options->source, &first, &last)) {
        return (struct window){range.from, range.from};
    }
    range = intersect(range, (struct window){first, last < INT64_MAX ? last + 1 : last});
    int64_t oldest = vv_scan_oldest(context, options->tenant);
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
    scan->left = clip_to_source(context, options);
    scan->width = options->few ? 1 : WIDTH_MAX; /* rounded up to a span where one is known */
    *scan_out = scan;
    return VV_OK;
}

static void count_figures(struct vv_scan *scan)
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
        count_figures(scan);
        vv_merge_destroy(scan->merge);
        scan->merge = NULL;
        scan->counted = (struct vv_merge_figures){0};
    }
}

void vv_scan_close(struct vv_scan *scan)
{
    if (scan) {
        drop_merge(scan);
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

/* ---- plans and stretches ---- */

/* The range in which the plan that holds at `time` is in force. */
static struct window plan_range(struct vv_plans plans, int64_t time)
{
    size_t next = 1;
    while (next < plans.n && plans.plans[next].from_ns <= time) {
        next++;
    }
    return (struct window){
        next > 1 ? plans.plans[next - 1].from_ns : VV_TIME_MIN,
        next < plans.n ? plans.plans[next].from_ns : VV_TIME_MAX + 1,
    };
}

/*
 * The stretch at `time`, going on in the scan's direction, in which the store has nothing; empty
 * when the bucket of `time` has something. It ends with the plan: of buckets under other plans the
 * nearest start says nothing, since plans need not be aligned to each other.
 */
static enum vv_status empty_stretch(struct vv_scan *scan, struct vv_plans plans, int64_t time,
                                    struct window *stretch_out, struct vv_error *error)
{
    bool forward = !scan->options.descending;
    struct vv_bucket bucket = vv_bucket_of(plans.plans, plans.n, time);
    struct window plan = plan_range(plans, time);
    int64_t nearest = bucket.start;
    struct vv_store *store = scan->context->store;
    enum vv_status status = store->ops->nearest(store, scan->options.tenant, scan->options.source,
                                                bucket.start, forward, &nearest, error);
    *stretch_out = (struct window){time, time};
    if (status == VV_DONE) {
        *stretch_out = plan;
        return VV_OK;
    }
    if (status != VV_OK || nearest == bucket.start) {
        return status;
    }
    struct window stretch = {bucket.start, bucket.end};
    if (forward) {
        stretch.to = nearest > bucket.end ? nearest : bucket.end;
    } else {
        int64_t end = nearest + bucket.bucket_ns;
        stretch.from = end < bucket.start ? end : bucket.start;
    }
    *stretch_out = intersect(stretch, plan);
    return VV_OK;
}

/* ---- choosing a window ---- */

static void skip(struct vv_scan *scan, struct window stretch)
{
    if (scan->options.descending) {
        scan->left.to = stretch.from > scan->left.from ? stretch.from : scan->left.from;
    } else {
        scan->left.from = stretch.to < scan->left.to ? stretch.to : scan->left.to;
    }
}

/* Narrows a window to the scan's width, at its near end; to whole spans while that is wide enough,
 * so that no span is read twice. */
static struct window narrow(const struct vv_scan *scan, struct window window, int64_t span_ns)
{
    int64_t width = scan->width;
    if (width >= length_of(window)) {
        return window;
    }
    bool spans = width >= span_ns || !scan->narrowed;
    if (spans) {
        width = width > span_ns ? width - width % span_ns : span_ns;
    }
    struct window narrowed = window;
    if (scan->options.descending) {
        int64_t near = spans ? vv_time_floor(window.to - 1, span_ns) + span_ns : window.to;
        narrowed.from = near - width;
    } else {
        int64_t near = spans ? vv_time_floor(window.from, span_ns) : window.from;
        narrowed.to = near + width;
    }
    return intersect(window, narrowed);
}

static void look_at_head(struct vv_scan *scan)
{
    int64_t first;
    int64_t last;
    scan->has_head = vv_head_series_times(scan->context->head, scan->options.source,
                                          scan->options.measurement, &first, &last);
    scan->head = scan->has_head ? (struct window){first, last + 1} : (struct window){0, 0};
}

/* The next window, of what is left; VV_DONE when nothing can be there. */
static enum vv_status choose_window(struct vv_scan *scan, struct vv_error *error)
{
    while (!is_empty(scan->left)) {
        look_at_head(scan);
        struct vv_plans plans =
            vv_registry_source_plans(scan->context->registry, scan->options.source);
        int64_t near = scan->options.descending ? scan->left.to - 1 : scan->left.from;
        struct window stretch = {VV_TIME_MIN,
                                 VV_TIME_MAX + 1}; /* of which only the head may know */
        int64_t span_ns = VV_HOUR;
        if (plans.n > 0) {
            struct vv_bucket bucket = vv_bucket_of(plans.plans, plans.n, near);
            struct window range = {bucket.start, bucket.end};
            span_ns = bucket.span_ns;
            stretch = (struct window){near, near};
            if (scan->store_empty) {
                enum vv_status status = empty_stretch(scan, plans, near, &stretch, error);
                if (status != VV_OK) {
                    return status;
                }
            }
            if (is_empty(stretch)) {
                scan->window = narrow(scan, intersect(scan->left, range), span_ns);
                return VV_OK;
            }
        }
        scan->window = intersect(intersect(scan->left, stretch), scan->head);
        if (!is_empty(scan->window)) {
            scan->window = narrow(scan, scan->window, span_ns);
            return VV_OK;
        }
        skip(scan, stretch);
        scan->store_empty = false; /* the next bucket has something, or another plan begins */
    }
    return VV_DONE;
}

/* ---- filling a window ---- */

static enum vv_status add_head(struct vv_scan *scan)
{
    if (!scan->has_head || is_empty(intersect(scan->window, scan->head))) {
        return VV_OK;
    }
    const struct vv_scan_options *options = &scan->options;
    struct vv_rows rows = {0};
    enum vv_status status =
        vv_head_read(scan->context->head, options->source, options->measurement, scan->window.from,
                     scan->window.to, options->metrics, options->n_metrics,
                     options->memory_max / HEAD_SHARE, &rows);
    if (status != VV_OK || rows.n_rows == 0) {
        return status;
    }
    for (size_t i = 0; i < rows.n_columns; i++) {
        rows.columns[i].type = options->types[i];
    }
    scan->found = true;
    return vv_merge_add_rows(scan->merge, &rows);
}

static void count_partition(struct vv_scan *scan, const struct vv_partition *partition)
{
    if (partition->bucket_start != scan->counted_start ||
        partition->bucket_ns != scan->counted_ns) {
        scan->counted_start = partition->bucket_start;
        scan->counted_ns = partition->bucket_ns;
        scan->counted_splits = 0;
    }
    uint64_t bit = UINT64_C(1) << partition->split;
    scan->facts->partitions_read += (scan->counted_splits & bit) == 0;
    scan->counted_splits |= bit;
}

struct adding {
    struct vv_scan *scan;
    struct vv_error *error;
};

/* Whether a piece has rows in the window. Asked only where windows are narrower than a span, since
 * the merge asks again. */
static bool overlaps(const struct vv_scan *scan, const struct vv_piece *piece)
{
    struct vv_block block;
    if (!scan->narrowed || vv_block_open((const uint8_t *)piece->bytes.data, piece->bytes.size,
                                         &block) != VV_BLOCK_OK) {
        return true; /* the merge says what is wrong with it */
    }
    return block.time_max >= scan->window.from && block.time_min < scan->window.to;
}

static enum vv_status add_piece(void *context, const struct vv_piece *piece)
{
    struct adding *adding = context;
    struct vv_scan *scan = adding->scan;
    scan->store_empty = false;
    scan->found = true;
    count_partition(scan, &piece->key.partition);
    if (!overlaps(scan, piece)) {
        return VV_OK;
    }
    scan->window_bytes += piece->bytes.size;
    if (scan->window_bytes > scan->options.memory_max / PIECES_SHARE) {
        return VV_TOO_LARGE;
    }
    return vv_merge_add_block(scan->merge, (const uint8_t *)piece->bytes.data, piece->bytes.size,
                              adding->error);
}

static enum vv_status add_bucket(struct vv_scan *scan, const struct vv_bucket *bucket,
                                 struct vv_error *error)
{
    struct vv_store *store = scan->context->store;
    struct window range = intersect(scan->window, (struct window){bucket->start, bucket->end});
    struct vv_store_read read = {
        .partition = {.tenant = scan->options.tenant,
                      .source = scan->options.source,
                      .bucket_start = bucket->start,
                      .bucket_ns = bucket->bucket_ns},
        .measurement = scan->options.measurement,
        .span_from = vv_span_of(bucket, range.from),
        .span_to = range.to,
    };
    struct adding adding = {scan, error};
    for (uint16_t split = 0; split < bucket->splits; split++) {
        read.partition.split = split;
        enum vv_status status = store->ops->read(store, &read, add_piece, &adding, error);
        if (status != VV_OK) {
            return status;
        }
    }
    return VV_OK;
}

/* The buckets of the window, by the plans as they are now; stretches without any are skipped. */
static enum vv_status add_store(struct vv_scan *scan, struct vv_error *error)
{
    struct vv_plans plans = vv_registry_source_plans(scan->context->registry, scan->options.source);
    struct window left = scan->window;
    bool last_empty = false;
    scan->store_empty = plans.n > 0;
    while (plans.n > 0 && !is_empty(left)) {
        int64_t near = scan->options.descending ? left.to - 1 : left.from;
        struct window stretch = {near, near};
        enum vv_status status = VV_OK;
        if (last_empty) {
            status = empty_stretch(scan, plans, near, &stretch, error);
        }
        if (status == VV_OK && is_empty(stretch)) {
            struct vv_bucket bucket = vv_bucket_of(plans.plans, plans.n, near);
            bool before = scan->store_empty;
            scan->store_empty = true;
            status = add_bucket(scan, &bucket, error);
            last_empty = scan->store_empty;
            scan->store_empty = scan->store_empty && before;
            stretch = (struct window){bucket.start, bucket.end};
            stretch = intersect(stretch, plan_range(plans, near));
        }
        if (status != VV_OK) {
            return status;
        }
        if (scan->options.descending) {
            left.to = stretch.from;
        } else {
            left.from = stretch.to;
        }
    }
    return VV_OK;
}

static enum vv_status prepare_merge(struct vv_scan *scan)
{
    if (scan->merge) {
        count_figures(scan);
        vv_merge_reset(scan->merge, scan->window.from, scan->window.to);
        return VV_OK;
    }
    struct vv_merge_options options = {
        .from = scan->window.from,
        .to = scan->window.to,
        .metrics = scan->options.metrics,
        .n_metrics = scan->options.n_metrics,
        .descending = scan->options.descending,
        .join_times = true,
        .memory_max = scan->options.memory_max / OPENED_SHARE,
    };
    return vv_merge_create(&options, &scan->merge);
}

static enum vv_status fill_window(struct vv_scan *scan, struct vv_error *error)
{
    scan->window_bytes = 0;
    enum vv_status status = prepare_merge(scan);
    if (status == VV_OK) {
        status = add_head(scan);
    }
    if (status == VV_OK) {
        status = add_store(scan, error);
    }
    return status;
}

/* ---- giving rows ---- */

static enum vv_status explain(const struct vv_scan *scan, enum vv_status status,
                              struct vv_error *error)
{
    struct vv_str id = vv_registry_source_id(scan->context->registry, scan->options.source);
    char time[VV_TIME_TEXT_SIZE];
    vv_time_format(scan->window.from, time);
    if (status == VV_NO_MEMORY) {
        return vv_error_set(error, status, "out of memory while reading");
    }
    if (status == VV_TOO_LARGE) {
        return vv_error_set(error, status,
                            "the rows of source '%.*s' at %s do not fit the query's memory "
                            "(query.memory_bytes_max)",
                            (int)(id.size < 100 ? id.size : 100), id.data, time);
    }
    return vv_error_prefix(error, status, "source '%.*s', from %s on",
                           (int)(id.size < 100 ? id.size : 100), id.data, time);
}

/* The window did not fit: a narrower one is tried from where rows were given last, with a new
 * merge, since the old one keeps the memory that was too much. */
static enum vv_status shrink(struct vv_scan *scan, struct vv_error *error)
{
    drop_merge(scan);
    struct window rest = intersect(scan->left, scan->window);
    if (is_empty(rest)) {
        return VV_OK;
    }
    if (length_of(rest) == 1) {
        return explain(scan, VV_TOO_LARGE, error);
    }
    if (error) {
        error->message[0] = '\0'; /* it did not end in an error after all */
    }
    scan->width = length_of(rest) / 2;
    scan->narrowed = true;
    scan->store_empty = false;
    return VV_OK;
}

static void finish_window(struct vv_scan *scan)
{
    scan->in_window = false;
    skip(scan, scan->window);
    bool roomy = scan->window_bytes < scan->options.memory_max / PIECES_SHARE / WIDTH_GROW;
    if (roomy) {
        int64_t width = length_of(scan->window);
        width = width > scan->width ? width : scan->width;
        scan->width = width < WIDTH_MAX / WIDTH_GROW ? width * WIDTH_GROW : WIDTH_MAX;
    }
}

static enum vv_status open_window(struct vv_scan *scan, struct vv_error *error)
{
    enum vv_status status = choose_window(scan, error);
    if (status != VV_OK) {
        return status == VV_DONE ? status : explain(scan, status, error);
    }
    /* What lies between is in neither head nor store. */
    if (scan->options.descending) {
        scan->left.to = scan->window.to;
    } else {
        scan->left.from = scan->window.from;
    }
    status = fill_window(scan, error);
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
