/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of staging share, and the fast way in for the line parser.
 *
 * A shape is what staging remembers of a measurement: a slot for each field name that it has seen,
 * with the metric behind it, and which field came after which. Rows of a measurement mostly have
 * the same fields in the same order, so a parser asks for the predicted slot and compares one name
 * instead of searching. A row is a list of cells (slot, value) and of misses (slot, reason);
 * metrics and the series are looked up when it ends.
 */
#ifndef VV_INGEST_STAGING_PRIVATE_H
#define VV_INGEST_STAGING_PRIVATE_H

#include "base/arena.h"
#include "ingest/staging.h"

/* What a value was written as. The first two are also the metric types. */
enum vv_field_kind {
    VV_FIELD_FLOAT = VV_FLOAT64,
    VV_FIELD_INT = VV_INT64,
    VV_FIELD_BOOL = 2,
    VV_FIELD_NONE = 3, /* no value: refused by the parser */
};
_Static_assert(VV_FLOAT64 == 0 && VV_INT64 == 1, "kinds continue the metric types");

#define VV_TYPE_UNKNOWN 0xff                /* of a slot whose metric is not looked up yet */
#define VV_CELL_MISS    (UINT32_C(1) << 31) /* a slot's place is among the misses */
#define VV_CELL_DEAD    UINT32_MAX          /* replaced by a later field of the same name */

/* Slot 0 of a shape stands for the beginning of a row; it has no name. */
struct vv_slot {
    struct vv_str name; /* in the shapes' arena, zero-padded to a multiple of 8 bytes */
    uint32_t index;     /* its own */
    uint32_t next;      /* the slot that came after it last time; 0: none yet */
    uint32_t metric;    /* VV_REGISTRY_NONE while unknown */
    uint8_t type;       /* enum vv_value_type or VV_TYPE_UNKNOWN */
    bool plain;         /* line protocol writes the name as it is */
    bool listed;        /* among the leniently refused names */
    uint32_t cell;      /* where it is in the row `serial` */
    uint64_t serial;
};

struct vv_shape {
    uint32_t measurement; /* VV_REGISTRY_NONE while the measurement is not made */
    uint32_t n_slots;
    uint32_t slots_capacity;
    uint32_t index_capacity; /* a power of two */
    struct vv_slot *slots;
    uint32_t *index; /* open addressing by name; 0 is free */
    /* The fields of the last row that was staged, and its frame in the batch of that serial. */
    uint64_t batch_serial;
    size_t frame;
    uint32_t n_last;
    uint32_t last_capacity;
    bool last_ascending; /* by metric, which is the order in frames */
    uint32_t *last;      /* slots */
    uint32_t *order;     /* order[i]: which cell is the frame's i-th value */
};

struct vv_shapes {
    struct vv_arena names;
    struct vv_shape **table; /* open addressing by measurement */
    size_t capacity;
    size_t n;
    size_t bytes;
    struct vv_shape *recent;
    struct vv_shape *spare; /* for a measurement that does not exist yet */
};

void vv_shapes_deinit(struct vv_shapes *shapes);
/* Forgets everything when it has become large. No shape may be in use. */
void vv_shapes_trim(struct vv_shapes *shapes);
/* Found or added; NULL when memory is out. */
struct vv_shape *vv_shapes_get(struct vv_shapes *shapes, uint32_t measurement);
/* An empty shape for a measurement without number; NULL when memory is out. */
struct vv_shape *vv_shapes_spare(struct vv_shapes *shapes);
/* The spare's measurement has been made. */
void vv_shapes_adopt(struct vv_shapes *shapes, struct vv_shape *shape, uint32_t measurement);
/* Found or added; NULL when memory is out. Adding moves the slots. */
struct vv_slot *vv_shape_slot(struct vv_shapes *shapes, struct vv_shape *shape, struct vv_str name);
/* Room for the last row's fields. */
bool vv_shape_reserve_last(struct vv_shapes *shapes, struct vv_shape *shape, uint32_t n);

struct vv_miss {
    uint32_t slot; /* VV_CELL_DEAD: replaced by a later field of the same name */
    uint32_t column;
    enum vv_reason reason;
    enum vv_field_kind kind;
};

struct vv_staging_row {
    /* the present row */
    bool open;
    bool known;      /* its series is resolved */
    bool too_many;   /* more fields than allowed */
    bool unresolved; /* a cell's metric is not looked up yet */
    uint32_t at;     /* the slot of the last field */
    uint32_t n;      /* cells */
    uint32_t n_dead;
    uint32_t n_misses;
    uint32_t n_lost; /* fields that memory ran out for */
    uint64_t line;
    uint64_t serial;
    struct vv_shape *shape;
    struct vv_series series;
    struct vv_str raw;
    struct vv_str measurement;
    const struct vv_tag *tags;
    size_t n_tags;
    /* cells; kinds and columns only of those that are unresolved */
    uint32_t capacity;
    uint64_t *values;
    uint64_t *ordered; /* the values in the frame's order */
    uint32_t *slots;
    uint32_t *columns;
    uint8_t *kinds;
    struct vv_miss *misses;
    uint32_t misses_capacity;
    /* over all rows */
    uint32_t fields_max;
    uint32_t fast_max; /* as many cells can be added without a check */
    int64_t time_min;  /* the bounds of the options in one */
    int64_t time_max;
    int64_t class_time_min[VV_CLASSES_OF_TENANT_MAX]; /* the same of each class */
    uint64_t batch_serial;
    struct vv_shapes shapes;
    struct vv_buffer aside; /* rows in doubt, see doubt.c: so many, … */
    size_t n_aside;
    size_t *order; /* … in this order, from when it is decided on them, … */
    size_t n_decided;
    struct vv_staging_frozen found; /* … and what was found last */
};

/* The slot that is expected to come next; slot 0 when there is no expectation. The row has a
 * shape, as it has unless memory is out. */
static inline struct vv_slot *vv_row_predicted(const struct vv_staging_row *row)
{
    struct vv_slot *slots = row->shape->slots;
    return &slots[slots[row->at].next];
}

/* The slot of a name, which becomes the expected one after the last field; NULL when memory is
 * out, which is then noted. */
struct vv_slot *vv_row_slot(struct vv_staging *staging, struct vv_str name);
void vv_row_put_slowly(struct vv_staging *staging, struct vv_slot *slot, enum vv_field_kind kind,
                       uint64_t bits, uint32_t column);
void vv_row_miss(struct vv_staging *staging, struct vv_slot *slot, enum vv_reason reason,
                 enum vv_field_kind kind, uint32_t column);

/* Adds a value of this row. */
static inline void vv_row_put(struct vv_staging *staging, struct vv_slot *slot,
                              enum vv_field_kind kind, uint64_t bits, uint32_t column)
{
    struct vv_staging_row *row = staging->row;
    if ((uint8_t)kind != slot->type || slot->serial == row->serial || row->n >= row->fast_max) {
        vv_row_put_slowly(staging, slot, kind, bits, column);
        return;
    }
    slot->serial = row->serial;
    slot->cell = row->n;
    row->at = slot->index;
    row->slots[row->n] = slot->index;
    row->values[row->n++] = bits;
}

/* The row's memory, and its removal of what later fields replaced. */
bool vv_row_init(struct vv_staging_row *row, uint32_t fields_max);
void vv_row_deinit(struct vv_staging_row *row);
void vv_row_compact(struct vv_staging_row *row);
/* Fields of the row that count. */
uint32_t vv_row_fields(const struct vv_staging_row *row);
/* The bits of a value as the metric's type; false when that cannot hold it exactly. */
bool vv_value_convert(enum vv_field_kind kind, enum vv_value_type type, uint64_t *bits);

/* Looks up what the row still needs: VV_OK; VV_NO_MEMORY; anything else says that the series cannot
 * be made, with a message. Fields whose metrics cannot be made are refused, counted and removed
 * from the row. */
VV_MUST_CHECK enum vv_status vv_row_resolve(struct vv_staging *staging, int64_t time,
                                            struct vv_error *error);
/* The metrics of its frame, in their order; until the next row. VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_row_metrics(struct vv_staging *staging,
                                            const uint32_t **metrics_out);
/* The values in that order. */
const uint64_t *vv_row_values(struct vv_staging_row *row);
/* Appends what is left of it to the batch. VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_row_append(struct vv_staging *staging, int64_t time);
/* The same of a row that is not the present one. */
VV_MUST_CHECK enum vv_status vv_staging_append(struct vv_staging *staging,
                                               const struct vv_series *series, int64_t time,
                                               const uint32_t *metrics, const uint64_t *values,
                                               uint32_t n);

/* ---- doubt.c ---- */

/* Whether the row, which is resolved, lies in a span that may be frozen. */
bool vv_row_is_in_doubt(const struct vv_staging *staging, int64_t time, uint32_t *place_out);
/* Keeps it until it is decided on, and counted. VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_row_set_aside(struct vv_staging *staging, int64_t time,
                                              uint32_t place);

/* The class of the row's measurement at a time, among those of the options; NULL: the tenant's
 * retention counts. */
const struct vv_staging_class *vv_row_class(const struct vv_staging *staging, int64_t time);

/* Drops the row without counting it. */
void vv_staging_drop(struct vv_staging *staging);

/* ---- refusals.c ---- */

/* Counts n points as received and refused. */
void vv_refuse_points(struct vv_staging *staging, enum vv_reason reason, uint64_t n);
/* Keeps one refusal for the answer when there is room; `detail` is cleaned. */
void vv_refusal_keep(struct vv_staging *staging, uint64_t line, uint32_t column,
                     enum vv_reason reason, const char *detail);
/* Counts and keeps a field of the present row that was refused; `cause`: the registry's
 * message, or NULL. */
void vv_refuse_miss(struct vv_staging *staging, const struct vv_miss *miss, const char *cause);
/* Counts and keeps all fields of the present row, refused for its time. */
void vv_refuse_time(struct vv_staging *staging, enum vv_reason reason, int64_t time);
/* n points of a line, which lie in a span that is frozen though it is young enough. */
void vv_refuse_frozen(struct vv_staging *staging, int64_t time, uint64_t line, uint32_t n);
/* The reason behind what the registry says. */
enum vv_reason vv_reason_of(enum vv_status status);

#endif
