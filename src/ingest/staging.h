/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Staging: what every text form of points (line protocol, JSON, CSV) is parsed into. It resolves
 * names to registry numbers, checks types and times, builds typed batches and keeps the account of
 * what was refused and why. One per request; one thread at a time.
 *
 * Flow: for each line or object: vv_staging_begin, vv_staging_identify unless the series is known,
 * vv_staging_float …, vv_staging_end; or vv_staging_refuse_line. Nothing is made in the registry
 * before the end, so a malformed line leaves no trace there. vv_staging_take_batch hands over what
 * has been built so far, also in the middle of a long body, so that memory stays bounded; before,
 * vv_staging_decide decides on what is in doubt.
 *
 * Texts given for a row (raw, measurement, tags; field names are copied) must stay as they are
 * until the row ends.
 */
#ifndef VV_INGEST_STAGING_H
#define VV_INGEST_STAGING_H

#include "model/batch.h"
#include "registry/registry.h"

/* Why points are refused. The words (vv_reason_name) are in metrics, answers and documentation. */
enum vv_reason {
    VV_REASON_SYNTAX,    /* a malformed line or object */
    VV_REASON_TYPE,      /* a value that the metric's type cannot hold exactly */
    VV_REASON_UNSIGNED,  /* an unsigned value above int64 */
    VV_REASON_STRING,    /* a string field */
    VV_REASON_FUTURE,    /* later than now + the accepted future */
    VV_REASON_PAST,      /* earlier than now - the accepted past */
    VV_REASON_RETENTION, /* older than the tenant's retention, or than what tiers are built of */
    VV_REASON_LATE,      /* older than the tenant lets points be when they come */
    VV_REASON_LIMIT,     /* a limit on names, tags, fields, sources or metrics */
    VV_REASON_NAME,      /* a metric's name is taken by another measurement */
    VV_REASON_OVERLOAD,  /* memory bound, disk reserve, store failed */
    VV_REASON_COUNT
};
const char *vv_reason_name(enum vv_reason reason);

/* Refused field by field while the rest of the line is stored and the answer stays a success. */
static inline bool vv_reason_is_lenient(enum vv_reason reason)
{
    return reason == VV_REASON_STRING || reason == VV_REASON_UNSIGNED;
}

/* What differs for measurements of a class. */
struct vv_staging_class {
    uint32_t place;
    int64_t retention_ns; /* as in the options */
    bool freezes;
    int64_t frozen_before;
};

/* A point whose span may be frozen, and what was found: the same holds for all times in [from, to)
 * of the series. */
struct vv_staging_frozen {
    uint32_t place;
    struct vv_series series;
    int64_t time;
    bool is_frozen;
    int64_t from;
    int64_t to;
};

struct vv_staging_options {
    struct vv_registry *registry;
    uint32_t tenant;
    int64_t now_ns;        /* for missing timestamps and the bounds */
    int64_t future_ns_max; /* accepted future */
    int64_t past_ns_max;   /* accepted past; 0: any */
    int64_t retention_ns;  /* older points are refused; 0: for ever */
    bool freezes;          /* that is less than the retention, for what tiers are built of */
    /* Of what is older a span may be frozen all the same, which depends on the series: `look` tells
     * (any thread; may wait for the store; its errors, VV_NO_MEMORY). NULL: nothing is. */
    int64_t frozen_before;
    enum vv_status (*look)(void *look_context, struct vv_staging_frozen *asked,
                           struct vv_error *error);
    void *look_context;
    uint64_t turn; /* of the batches: see there */
    struct vv_staging_class classes[VV_CLASSES_OF_TENANT_MAX];
    size_t n_classes;
    int64_t late_ns_max; /* older ones are late, and refused, too; 0: any age */
    uint32_t fields_max; /* fields in a line */
    uint32_t line_bytes_max;
};

/* One refusal kept for the answer. */
struct vv_refusal {
    uint64_t line;   /* from 1; for JSON the index of the point from 1 */
    uint32_t column; /* from 1; 0 if it has none */
    enum vv_reason reason;
    char detail[160]; /* what is wrong, and with which field; valid UTF-8, no control characters */
};

#define VV_REFUSALS_KEPT 16 /* by staging; the rest is only counted */

struct vv_staging {
    struct vv_staging_options options;
    struct vv_batch *batch;            /* NULL while empty */
    uint64_t lines;                    /* seen: rows, good or bad */
    uint64_t lines_refused;            /* malformed, or of a series that cannot be made */
    uint64_t points_received;          /* field values seen; a malformed line counts as one */
    uint64_t points_staged;            /* went into batches */
    uint64_t refused[VV_REASON_COUNT]; /* points; received = staged + sum of refused */
    uint64_t refused_strict;           /* of those, the ones that make the answer a 400 */
    struct vv_refusal refusals[VV_REFUSALS_KEPT];
    size_t n_refusals;
    char lenient_fields[256];   /* names of fields refused leniently, comma-separated, cut */
    bool out_of_memory;         /* the request fails as a whole: nothing after it is staged, and
                                   what is still given counts as refused for overload … */
    struct vv_error failure;    /* … for another reason, if there is a message */
    struct vv_staging_row *row; /* private */
};

VV_MUST_CHECK enum vv_status vv_staging_init(struct vv_staging *staging,
                                             const struct vv_staging_options *options);
void vv_staging_deinit(struct vv_staging *staging); /* destroys a batch that was not taken */

/*
 * Begins a row. `raw` is text that always means the same measurement and tags (see
 * vv_registry_series_find), or empty. Returns true when it is known; else vv_staging_identify must
 * tell what it means before the first field.
 */
bool vv_staging_begin(struct vv_staging *staging, struct vv_str raw, uint64_t line);
void vv_staging_identify(struct vv_staging *staging, struct vv_str measurement,
                         const struct vv_tag *tags, size_t n);

/* The row's fields, in any order; the last of a name counts, and it alone is counted. */
void vv_staging_float(struct vv_staging *staging, struct vv_str field, double value,
                      uint32_t column);
/* Into a float metric only when the double is exactly this integer. */
void vv_staging_int(struct vv_staging *staging, struct vv_str field, int64_t value,
                    uint32_t column);
/* Stored as 0/1 int64; into a float metric as 0.0/1.0. */
void vv_staging_bool(struct vv_staging *staging, struct vv_str field, bool value, uint32_t column);
void vv_staging_refuse_field(struct vv_staging *staging, struct vv_str field, enum vv_reason reason,
                             uint32_t column);

/* Ends the row with its time and stages what is good of it. A time out of bounds, or a series that
 * cannot be made, refuses every field of the row. */
void vv_staging_end(struct vv_staging *staging, int64_t time_ns);
/* Ends the row without a timestamp: staged at now_ns. */
void vv_staging_end_now(struct vv_staging *staging);
/* The line is malformed: what was begun of it is dropped, and it counts as one refused point. */
void vv_staging_refuse_line(struct vv_staging *staging, uint64_t line, uint32_t column,
                            enum vv_reason reason, const char *detail);

/* n points that were staged and taken are refused after all, for one cause. */
void vv_staging_refuse_staged(struct vv_staging *staging, uint64_t n, enum vv_reason reason,
                              const char *detail);

/*
 * Rows in doubt, of spans that may be frozen, are set aside, not counted, and in no batch until it
 * is decided on them, which may wait for the store: any thread, also between two calls of a parser.
 * A store that can't be read is as if memory were out, with a `failure`.
 */
bool vv_staging_is_in_doubt(const struct vv_staging *staging);
void vv_staging_decide(struct vv_staging *staging);
/* The same until it is enough, which is asked before each row; false: there is more. Nothing may be
 * parsed in between. */
VV_MUST_CHECK bool vv_staging_decide_some(struct vv_staging *staging,
                                          bool (*is_enough)(void *context), void *context);
void vv_staging_forget_doubt(struct vv_staging *staging); /* drops them, as if they had not come */

/* Memory of what is staged, or in doubt, and was not taken. */
size_t vv_staging_bytes(const struct vv_staging *staging);

/* What has been staged since the last call; NULL when there is nothing. The caller owns it. */
struct vv_batch *vv_staging_take_batch(struct vv_staging *staging);

#endif
