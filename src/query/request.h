/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A parsed request, and the parsers of its parts. Private to src/query. A request owns all its
 * texts; it is immutable once it is parsed.
 */
#ifndef VV_QUERY_REQUEST_H
#define VV_QUERY_REQUEST_H

#include "base/arena.h"
#include "query/query.h"
#include "query/route.h"
#include "tier/step.h"

#define VV_AGGREGATES_MAX 32
#define VV_GROUP_TAGS_MAX 16
#define VV_WHERE_MAX      16
#define VV_MATCHERS_MAX   64
#define VV_STEP_NS_MAX    (1098 * VV_DAY) /* two steps below VV_TIME_MIN are a time */

_Static_assert(VV_TIME_MIN - INT64_MIN > 2 * VV_STEP_NS_MAX + 7 * VV_DAY, "no overflow of steps");

/* ---- values that a point must have ---- */

/* What `where` lets through, for a column of doubles and for one of integers: the closed interval,
 * less the values that are left out. Exact for every operand. */
struct vv_where {
    bool active;
    bool nan_passes; /* as IEEE comparison has it: when all conditions are != */
    double low, high;
    int64_t integer_low, integer_high; /* low > high: nothing passes */
    size_t n_excluded;
    double excluded[VV_WHERE_MAX];
    size_t n_excluded_integers;
    int64_t excluded_integers[VV_WHERE_MAX];
};

static inline bool vv_where_double(const struct vv_where *where, double value)
{
    if (!(value >= where->low && value <= where->high)) {
        return value != value && where->nan_passes;
    }
    for (size_t i = 0; i < where->n_excluded; i++) {
        if (value == where->excluded[i]) {
            return false;
        }
    }
    return true;
}

static inline bool vv_where_integer(const struct vv_where *where, int64_t value)
{
    if (value < where->integer_low || value > where->integer_high) {
        return false;
    }
    for (size_t i = 0; i < where->n_excluded_integers; i++) {
        if (value == where->excluded_integers[i]) {
            return false;
        }
    }
    return true;
}

/* ---- aggregates ---- */

enum vv_aggregate_kind {
    VV_AGGREGATE_COUNT,
    VV_AGGREGATE_SUM,
    VV_AGGREGATE_MIN,
    VV_AGGREGATE_MAX,
    VV_AGGREGATE_MEAN,
    VV_AGGREGATE_STDDEV,
    VV_AGGREGATE_FIRST,
    VV_AGGREGATE_LAST,
    VV_AGGREGATE_FIRST_TIME,
    VV_AGGREGATE_LAST_TIME,
    VV_AGGREGATE_RATE,
    VV_AGGREGATE_INCREASE,
    VV_AGGREGATE_DELTA,
    VV_AGGREGATE_PERCENTILE,
};

/* What a fold must keep for the aggregates asked; count is always kept. */
enum vv_need {
    VV_NEED_SUM = VV_STEP_SUM,
    VV_NEED_BOUNDS = VV_STEP_BOUNDS,
    VV_NEED_MOMENTS = VV_STEP_MOMENTS,
    VV_NEED_ENDS = VV_STEP_ENDS, /* first, last */
    VV_NEED_PERCENTILES = 16,
    VV_NEED_CHANGE = 32, /* rate, increase, delta */
};

struct vv_aggregate {
    enum vv_aggregate_kind kind;
    double quantile; /* 0 … 1, of a percentile */
    struct vv_str name;
};

enum vv_fill { VV_FILL_NONE, VV_FILL_NULL, VV_FILL_ZERO, VV_FILL_PREVIOUS, VV_FILL_LINEAR };

enum vv_time_format { VV_TIME_RFC3339, VV_TIME_NS, VV_TIME_US, VV_TIME_MS, VV_TIME_S };

/* ---- the request ---- */

struct vv_str_list {
    struct vv_str *items;
    size_t n;
    size_t capacity;
};

struct vv_request {
    struct vv_arena arena; /* all texts and lists */
    enum vv_request_kind kind;
    int64_t now_ns;
    struct vv_str tenant; /* data NULL: not given */
    bool has_format;
    enum vv_format format;
    enum vv_time_format time_format;

    struct vv_str_list metrics; /* patterns */
    struct vv_str_list measurements;
    struct vv_str_list ids;
    struct vv_str_list id_patterns;
    struct vv_matcher matchers[VV_MATCHERS_MAX];
    size_t n_matchers;

    bool has_from, has_to;
    int64_t from, to; /* within VV_TIME_MIN … VV_TIME_MAX + 1 */
    bool descending;
    uint64_t limit; /* 0: none */
    struct vv_where where;

    int64_t step_ns; /* 0: none */
    uint32_t points; /* as many rows as may be; 0: not given */
    enum vv_tier_wish tier;
    const struct vv_zone *zone; /* NULL: UTC */
    struct vv_aggregate aggregates[VV_AGGREGATES_MAX];
    size_t n_aggregates;
    unsigned needs; /* of enum vv_need */
    enum vv_fill fill;
    bool partial;
    bool grouped; /* false: by source */
    struct vv_str group_tags[VV_GROUP_TAGS_MAX];
    size_t n_group_tags;

    struct vv_str after; /* of sources */
    bool history;
    struct vv_str key; /* of tags; data NULL: the keys themselves */

    bool all; /* of deletions: all sources, all metrics */
    bool all_time;
    bool dry_run;
};

/* Appends; false when memory is out. */
VV_MUST_CHECK bool vv_str_list_add(struct vv_arena *arena, struct vv_str_list *list,
                                   struct vv_str item);

/* ---- request_time.c ---- */

/* The unit that `epoch` names, in ns; VV_INVALID. */
VV_MUST_CHECK enum vv_status vv_request_epoch(struct vv_str text, int64_t *unit_ns_out,
                                              struct vv_error *error);
/* A time of the language, clamped into VV_TIME_MIN … VV_TIME_MAX + 1. */
VV_MUST_CHECK enum vv_status vv_request_time(struct vv_str text, int64_t now_ns, int64_t unit_ns,
                                             int64_t *time_out, struct vv_error *error);
VV_MUST_CHECK enum vv_status vv_request_step(struct vv_str text, int64_t *step_out,
                                             struct vv_error *error);

/* ---- request_filter.c: append to the request ---- */

VV_MUST_CHECK enum vv_status vv_request_source(struct vv_request *request, struct vv_str text,
                                               struct vv_error *error);
VV_MUST_CHECK enum vv_status vv_request_tag(struct vv_request *request, struct vv_str text,
                                            struct vv_error *error);
VV_MUST_CHECK enum vv_status vv_request_metric(struct vv_request *request, struct vv_str text,
                                               struct vv_error *error);

VV_MUST_CHECK enum vv_status vv_request_measurement(struct vv_request *request, struct vv_str text,
                                                    struct vv_error *error);

/* ---- request_where.c ---- */

/* Lets everything through. */
void vv_where_init(struct vv_where *where);
/* Adds a condition such as `value>=80`; all conditions hold together. */
VV_MUST_CHECK enum vv_status vv_where_parse(struct vv_where *where, struct vv_str text,
                                            struct vv_error *error);

/* ---- request_agg.c: append to the request ---- */

VV_MUST_CHECK enum vv_status vv_request_aggregates(struct vv_request *request, struct vv_str text,
                                                   struct vv_error *error);
VV_MUST_CHECK enum vv_status vv_request_groups(struct vv_request *request, struct vv_str text,
                                               bool *by_source, struct vv_error *error);

#endif
