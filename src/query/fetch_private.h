/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of fetching share: the answers that wait, and where the next reads are foreseen.
 * One thread at a time. */
#ifndef VV_QUERY_FETCH_PRIVATE_H
#define VV_QUERY_FETCH_PRIVATE_H

#include "query/fetch.h"

#define VV_FETCH_ENTRIES     128
#define VV_FETCH_AHEAD_MAX   32 /* of points: asked for and not used yet */
#define VV_FETCH_AHEAD_FIRST 4
#define VV_FETCH_TIERS_MAX   12 /* of the coarsest level of tiers, likewise */
#define VV_FETCH_GAPS        4  /* which sources have alike, in points … */
#define VV_FETCH_SHAPES      3  /* … and in each finer level of tiers */
#define VV_FETCH_GAP_MAX     8  /* of each of these, likewise */
#define VV_FETCH_SHAPE_MAX   6
#define VV_FETCH_NEAREST     16

_Static_assert(VV_FETCH_ENTRIES > VV_FETCH_AHEAD_MAX + VV_FETCH_TIERS_MAX +
                                      (VV_SPACES - 1) * VV_FETCH_SHAPES * VV_FETCH_SHAPE_MAX + 16,
               "what is being used stays when others are asked for");

/* What is read: each kind has a share of its own of what may wait. */
enum vv_fetch_kind {
    VV_FETCH_LEVEL,              /* of tiers, the coarsest; finer ones follow */
    VV_FETCH_POINTS = VV_SPACES, /* behind the levels */
    VV_FETCH_KEPT,               /* not asked for ahead */
};

struct vv_fetch_entry {
    struct vv_store_answer *answer; /* NULL: free */
    struct vv_store_read read;
    uint64_t epoch;  /* before it was asked for */
    uint64_t sweeps; /* of deletions, likewise */
    uint64_t order;  /* of asking, or of the last use */
    uint64_t bytes;  /* of its pieces, once it was used */
    unsigned kind;   /* of enum vv_fetch_kind */
    size_t slot;     /* of its kind: which gap, or shape */
    bool used;
};

/* What the store said where it has something. */
struct vv_fetch_nearest {
    uint8_t region;
    bool forward;
    uint32_t tenant;
    uint32_t source;
    int64_t bucket_start;
    uint64_t epoch;        /* before it was asked */
    enum vv_status status; /* VV_OK, or VV_DONE for nothing */
    int64_t start;
};

/* Which sources are read in which order, in [from, to). */
struct vv_fetch_order {
    const uint32_t *sources;
    size_t n;
    int64_t from;
    int64_t to;
    bool descending;
    bool few; /* the first rows of each may be enough */
};

/* Where the next read of a region is foreseen. */
struct vv_fetch_cursor {
    uint8_t region;
    bool placed;
    bool ended;
    size_t source; /* in the order of sources */
    uint32_t measurement;
    struct vv_bucket bucket;
    uint32_t split; /* of the bucket: the next one */
    uint32_t ahead; /* how many may be asked for and not used */
};

/* Reads of points that are foreseen together: of a scan, or of a gap that tiers leave, which many
 * sources have alike. */
struct vv_fetch_points {
    struct vv_fetch_order order;
    uint64_t used; /* when, in the order of asking */
    struct vv_fetch_cursor cursors[VV_REGIONS_MAX];
};

/* Where that of a level of tiers is; of finer ones, of a shape: what is read of each source. */
struct vv_fetch_tier_cursor {
    bool placed;
    uint64_t used;             /* when, in the order of asking */
    size_t source;             /* in the order of those of tiers */
    struct vv_store_read read; /* the last one that was foreseen */
    int64_t unit_ns;
    uint32_t ahead;
};

struct vv_fetch {
    const struct vv_query_context *context;
    size_t memory_max;
    struct vv_fetch_points slots[1 + VV_FETCH_GAPS]; /* of scans, then of gaps */
    size_t at;                                       /* which of them is read */
    struct vv_fetch_order tiers;
    struct vv_fetch_entry entries[VV_FETCH_ENTRIES];
    uint64_t order;
    struct vv_fetch_nearest nearest[VV_FETCH_NEAREST]; /* the oldest is overwritten */
    uint64_t n_nearest;
    struct vv_fetch_tier_cursor tier_cursors[VV_SPACES][VV_FETCH_SHAPES]; /* coarsest level first */
    uint64_t bytes_visited; /* of answers, for their mean size */
    uint64_t visits;
};

/* ---- fetch.c */

/* The sources that leave them are about to change. */
void vv_fetch_forget_gaps(struct vv_fetch *fetch);
/* What of the asked range a source has, as far as this node knows; false: nothing. */
bool vv_fetch_known(const struct vv_fetch *fetch, const struct vv_fetch_order *order,
                    uint32_t source, int64_t *from_out, int64_t *to_out);

/* ---- fetch_answers.c */

/* One that holds what the read wants, and may be used; NULL: none does. */
struct vv_fetch_entry *vv_fetch_find(struct vv_fetch *fetch, const struct vv_store_read *read);
/* Asks for it, in place of what was not used for longest. As begin_read. */
VV_MUST_CHECK enum vv_status vv_fetch_begin(struct vv_fetch *fetch,
                                            const struct vv_store_read *read, unsigned kind,
                                            size_t slot, struct vv_fetch_entry **entry_out,
                                            struct vv_error *error);
void vv_fetch_forget(struct vv_fetch *fetch, struct vv_fetch_entry *entry);
void vv_fetch_note_used(struct vv_fetch *fetch, struct vv_fetch_entry *entry);
/* So many answers of the mean size may wait, of a kind. */
uint32_t vv_fetch_fitting(const struct vv_fetch *fetch);
/* Whether it is of the kind and waits to be used. */
bool vv_fetch_waits(const struct vv_fetch_entry *entry, unsigned kind);
/* How many of a slot of the kind do. */
uint32_t vv_fetch_waiting(const struct vv_fetch *fetch, unsigned kind, size_t slot);

struct vv_fetch_visit {
    vv_piece_visit visit;
    void *context;
    bool foreseen;   /* it had been asked for before it was read */
    uint32_t *ahead; /* how far the cursor may run, which learns of it; NULL: there is none */
};
/* Visits what the entry has of the read, and forgets others that were used, of which too much is
 * kept. As visit_read. */
VV_MUST_CHECK enum vv_status vv_fetch_use(struct vv_fetch *fetch, struct vv_fetch_entry *entry,
                                          const struct vv_store_read *read,
                                          const struct vv_fetch_visit *how, struct vv_error *error);

#endif
