/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fetching: the reads of one query, asked for ahead of their use where the store's answers take
 * their time, and kept while they may be used again (other metrics of one measurement). Private to
 * src/query. One thread at a time.
 *
 * How: a cursor runs ahead of the reads, over the buckets of a source in the direction of the scan
 * and on to the next source; as long as the reads follow it, it runs further ahead; a read that it
 * did not foresee calls it back.
 *
 * What makes it safe beside flushes: a scan reads the head first and the store afterwards. What was
 * asked for before may lack what was flushed in between, so an answer counts only if no generation
 * of the head was dropped since it was asked for.
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

/* As the store's read(), through the context's fetch when it has one. */
VV_MUST_CHECK enum vv_status vv_fetch_read(const struct vv_query_context *context,
                                           const struct vv_store_read *read, vv_piece_visit visit,
                                           void *visit_context, struct vv_error *error);

#endif
