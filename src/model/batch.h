/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch: parsed, admitted, typed rows of one tenant, as they go to the journal and the head.
 *
 * Rows with the same measurement and the same metrics in the same order form a frame; values are
 * bit patterns (double or two's complement), row-major. Sources, measurements and metrics are
 * numbers of the registry; what the journal has not seen yet of them is listed in `definitions`.
 * A batch is built by one thread and then handed over; it is immutable once submitted.
 *
 * Where two rows of a batch give one point, the later row of a frame wins, and between frames the
 * later frame.
 */
#ifndef VV_MODEL_BATCH_H
#define VV_MODEL_BATCH_H

#include "base/bytes.h"
#include "model/stamp.h"

#define VV_FRAME_METRICS_MAX 4096

/* A metric in a frame is its number, with the type of the frame's values where a metric's own type
 * may change meanwhile (on a store that nodes share); else that is the registry's to know. */
#define VV_METRIC_INT64   (1u << 31)
#define VV_METRIC_FLOAT64 (1u << 30)
#define VV_METRIC_TYPED   (VV_METRIC_INT64 | VV_METRIC_FLOAT64)
static inline uint32_t vv_metric_number(uint32_t metric)
{
    return metric & ~VV_METRIC_TYPED;
}

struct vv_frame {
    uint32_t measurement;
    uint32_t n_metrics;
    uint32_t *metrics; /* n_metrics, without duplicates; see vv_metric_number */
    size_t n_rows;
    size_t capacity;
    uint32_t *sources;  /* n_rows */
    int64_t *times;     /* n_rows, ns */
    uint64_t *values;   /* n_rows × n_metrics */
    uint32_t successor; /* private to the builder: where rows go instead; 0 none */
};

/* A registry object whose present version is not in the journal yet. */
struct vv_definition {
    uint8_t kind; /* enum vv_registry_kind */
    uint32_t number;
};

/* Private to batch.c: what is known already, by hash; slots hold an index + 1. */
struct vv_batch_slots {
    uint32_t *slots;
    size_t capacity; /* a power of two, or 0 */
};

/* Private to batch_order.c: the newest frame that has a row for a point, by hash. */
struct vv_batch_order_slot {
    uint64_t hash; /* 0: empty */
    uint32_t frame;
};
struct vv_batch_order {
    struct vv_batch_order_slot *slots;
    size_t n;
    size_t capacity; /* 0: no measurement has two frames */
};

struct vv_deletion_order;

struct vv_batch {
    uint32_t tenant;
    struct vv_deletion_order *deletion; /* NULL: none; freed with the batch */
    size_t n_frames;
    struct vv_frame *frames;
    size_t n_definitions;
    struct vv_definition *definitions;
    uint64_t points; /* values in all frames */
    uint64_t turn;   /* whoever judges the points by what there is: in which turn of that */
    size_t bytes;    /* memory held, for accounting */
    /* private to batch.c */
    size_t frames_capacity;
    size_t definitions_capacity;
    size_t frame_last; /* that was asked for */
    struct vv_batch_order order;
    struct vv_batch_slots frame_slots;
    struct vv_batch_slots definition_slots;
};

VV_MUST_CHECK enum vv_status vv_batch_create(uint32_t tenant, struct vv_batch **batch_out);
void vv_batch_destroy(struct vv_batch *batch); /* NULL is allowed */

/*
 * The frame for these metrics (at least one): an existing one or a new one (metrics are copied).
 * VV_NO_MEMORY; VV_TOO_LARGE beyond VV_FRAME_METRICS_MAX. The index stays valid while the batch is
 * built; pointers into frames do not.
 */
VV_MUST_CHECK enum vv_status vv_batch_frame(struct vv_batch *batch, uint32_t measurement,
                                            const uint32_t *metrics, uint32_t n_metrics,
                                            size_t *frame_out);
/* Appends a row; values has the frame's n_metrics, time is between VV_TIME_MIN and VV_TIME_MAX. A
 * duplicate (source, time) of the same batch is allowed. VV_NO_MEMORY leaves the batch as it
 * was. */
VV_MUST_CHECK enum vv_status vv_batch_row(struct vv_batch *batch, size_t frame, uint32_t source,
                                          int64_t time, const uint64_t *values);
/* Whether any row is older. */
bool vv_batch_has_before(const struct vv_batch *batch, int64_t before_ns);
/* Notes a definition; one that is noted already is, as a rule, not noted again. VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_batch_define(struct vv_batch *batch, uint8_t kind, uint32_t number);

/*
 * The journal's form of the rows (definitions are records of their own): documented in batch.c,
 * versioned; the journal's checksum covers it. Appends to buffer; check its status.
 */
void vv_batch_encode(const struct vv_batch *batch, struct vv_buffer *buffer);
/* VV_CORRUPT, VV_NEWER, VV_NO_MEMORY. Hostile-safe: never allocates more than a small multiple of
 * the input. */
VV_MUST_CHECK enum vv_status vv_batch_decode(struct vv_str bytes, struct vv_batch **batch_out,
                                             struct vv_error *error);

#endif
