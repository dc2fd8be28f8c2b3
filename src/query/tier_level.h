/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A level: what one tier has of a source and measurement, a window at a time. Private to
 * src/query. One thread at a time.
 *
 * A window is what is wanted of as many buckets of the tier's space as the store reads at once,
 * less where that would take too much memory. Its cover says which stretches its records answer:
 * not those of which the head has something, nor those that are to be built again. What is to be
 * built again of units for which nothing finer is kept any more is taken as it is.
 */
#ifndef VV_QUERY_TIER_LEVEL_H
#define VV_QUERY_TIER_LEVEL_H

#include "query/route.h"
#include "query/scan.h"
#include "tier/cover.h"

#define VV_TIER_RECORD_NONE UINT32_MAX
#define VV_TIER_ALL_METRICS UINT32_MAX

/* A record, or the first part of one that has several. */
struct vv_tier_record {
    struct vv_unit unit;
    enum vv_unit_kind kind;
    uint32_t next;     /* part; VV_TIER_RECORD_NONE */
    uint32_t metric;   /* that it has, or VV_TIER_ALL_METRICS: it may have any */
    size_t content_at; /* in the level's bytes */
    size_t content_size;
};

/* Whose records a level reads. */
struct vv_tier_series {
    uint32_t source;         /* or cohort */
    const uint32_t *sources; /* whose points are in its records: itself, or those of the cohort */
    size_t n_sources;
    /* Of a cohort, where nodes share the store: the sources' ids, ascending. A record that has
     * points of others, of which the node that built it knew, answers nothing. */
    const uint64_t *ids;
    uint32_t measurement;
    uint32_t metric;                  /* that alone is wanted, or VV_TIER_ALL_METRICS */
    bool sketches;                    /* records without them answer nothing */
    bool few;                         /* rows may be enough: a window is a bucket at most */
    size_t memory_max;                /* for the bytes of a window */
    const struct vv_unit *head_units; /* of which the head has something, ascending */
    size_t n_head_units;
};

/* Zero-initialised is empty. */
struct vv_tier_level {
    struct vv_route_level route;
    size_t index;             /* of those that the scan goes through, the coarsest first */
    int64_t finer_oldest;     /* nothing finer is kept, or is whole, of what was before */
    struct vv_window left;    /* to be given; one end moves */
    struct vv_window demand;  /* what `left` was at first */
    struct vv_window window;  /* that is loaded; empty: none */
    struct vv_window counted; /* the bucket that was counted last; empty: none */
    uint64_t loads;           /* of windows: records of another one have other contents */
    struct vv_cover cover;    /* tags are indexes of records */
    struct vv_tier_record *records;
    size_t n_records;
    size_t records_capacity;
    struct vv_buffer bytes;
    int64_t units_max;    /* of a window; 0: whole buckets */
    bool found;           /* a window had something */
    bool is_sealed;       /* a record was found that is not to be built again, and … */
    int64_t sealed_until; /* … the last one ended here */
};

/* Forgets windows; keeps memory. */
void vv_tier_level_clear(struct vv_tier_level *level);
void vv_tier_level_deinit(struct vv_tier_level *level);

/* Makes the window one that holds `near`, inside of `demand`, unless it is. The head is to be
 * looked at before. VV_TOO_LARGE when a single unit does not fit; VV_CORRUPT, VV_NEWER, VV_IO, ….
 */
VV_MUST_CHECK enum vv_status vv_tier_level_load(struct vv_tier_level *level,
                                                const struct vv_query_context *context,
                                                const struct vv_tier_series *series, int64_t near,
                                                bool descending, struct vv_result_facts *facts,
                                                struct vv_error *error);

static inline struct vv_str vv_tier_content(const struct vv_tier_level *level,
                                            const struct vv_tier_record *record)
{
    return (struct vv_str){(const char *)level->bytes.data + record->content_at,
                           record->content_size};
}

#endif
