/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fetching: the reads of one query, asked for ahead of their use where the store's answers take
 * their time, and kept while they may be used again (other metrics of one measurement). Private to
 * src/query. One thread at a time.
 *
 * How: a cursor for each region runs ahead of the reads, over the buckets of a source in the
 * direction of the scan and on to the next source; as long as the reads follow it, it runs further
 * ahead; a read that it did not foresee calls it back.
 *
 * What makes it safe beside flushes: a scan reads the head first and the store afterwards. What was
 * asked for before may lack what was flushed in between, so an answer counts only if no generation
 * of the head was dropped since it was asked for, and no source's plans have moved. The same holds
 * for where the store has something. Of tiers no deletion may have been swept since then, either:
 * a level asks for those that are not before it reads.
 */
#ifndef VV_QUERY_FETCH_H
#define VV_QUERY_FETCH_H

#include "query/query.h"

struct vv_fetch;

/* NULL where the store gains nothing by it, and when memory is out: reads then go to the store one
 * by one. The context is borrowed. */
struct vv_fetch *vv_fetch_create(const struct vv_query_context *context, size_t memory_max);
void vv_fetch_destroy(struct vv_fetch *fetch); /* NULL is allowed */

/* Which sources will be read in which order (borrowed), in [from, to). `few`: the first rows may be
 * enough, so nothing is asked for ahead before the second read. fetch may be NULL. */
void vv_fetch_expect(struct vv_fetch *fetch, const uint32_t *sources, size_t n, int64_t from,
                     int64_t to, bool descending, bool few);

/* The same of a gap that tiers leave to points, of a source (borrowed): the sources of
 * vv_fetch_expect_tiers that follow are taken to leave it, too. */
void vv_fetch_expect_gap(struct vv_fetch *fetch, const uint32_t *source, int64_t from, int64_t to,
                         bool descending, bool few);

/* The same of what tiers are read of: sources, or cohorts. */
void vv_fetch_expect_tiers(struct vv_fetch *fetch, const uint32_t *sources, size_t n, int64_t from,
                           int64_t to, bool descending, bool few);

/* As the store's read(), through the context's fetch when it has one. */
VV_MUST_CHECK enum vv_status vv_fetch_read(const struct vv_query_context *context,
                                           const struct vv_store_read *read, vv_piece_visit visit,
                                           void *visit_context, struct vv_error *error);

/* The same of a window of a tier. *again_out, after VV_OVERLOAD: it had been asked for at a bad
 * time, and is to be read once more, from its beginning. */
struct vv_fetch_tier {
    size_t level;    /* 0: the coarsest one that the scan goes through */
    int64_t unit_ns; /* how long its units are at most */
};
VV_MUST_CHECK enum vv_status vv_fetch_read_tier(const struct vv_query_context *context,
                                                const struct vv_store_read *read,
                                                const struct vv_fetch_tier *tier,
                                                vv_piece_visit visit, void *visit_context,
                                                bool *again_out, struct vv_error *error);
/* The same of what tiers of many sources share: kept where it holds, not asked for ahead. */
VV_MUST_CHECK enum vv_status vv_fetch_read_kept(const struct vv_query_context *context,
                                                const struct vv_store_read *read,
                                                vv_piece_visit visit, void *visit_context,
                                                struct vv_error *error);

/* Changes when what was read of the store before may lack something by now: a generation of the
 * head was dropped, or plans have moved. (Both counts only grow, so their sum stays where both do.)
 */
static inline uint64_t vv_fetch_epoch(const struct vv_query_context *context)
{
    return vv_head_drops(context->head) + vv_registry_plan_moves(context->registry);
}

/* As the store's nearest(), for the partition's region, source and bucket; what was asked before
 * and still holds is not asked again. VV_DONE. To be called after the head was looked at. */
VV_MUST_CHECK enum vv_status vv_fetch_nearest(const struct vv_query_context *context,
                                              const struct vv_partition *from, bool forward,
                                              int64_t *bucket_start_out, struct vv_error *error);

/* Whether a range is so short that a scan which knows nothing of a source tries its first bucket
 * there instead of asking where there is one. */
static inline bool vv_fetch_is_short(int64_t from, int64_t to, int64_t bucket_ns)
{
    return from >= to || (uint64_t)to - (uint64_t)from <= 8 * (uint64_t)bucket_ns;
}

#endif
