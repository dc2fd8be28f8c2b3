/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The head: accepted points that are not flushed yet, in memory, readable.
 *
 * Words: a generation is what is flushed together; one is active and takes new rows, older ones are
 * being flushed. A series (source, measurement) has a list of chunks in its generation; a chunk
 * holds rows of one shape (a list of metrics). Rows never move once they are written.
 * Flow: prepare → publish (in stamp order) → cut → walk (flush) → drop.
 * Threads: ONE applier (the committer) applies and cuts; the storage thread walks and drops; any
 * thread reads. A lock per shard is held for the look-up, not for copying; a generation is freed
 * when it was dropped and its last reader is done.
 */
#ifndef VV_HEAD_HEAD_H
#define VV_HEAD_HEAD_H

#include "model/batch.h"
#include "model/merge.h"

struct vv_head;
struct vv_generation;

VV_MUST_CHECK enum vv_status vv_head_create(struct vv_head **head_out);
void vv_head_destroy(struct vv_head *head);

/*
 * Applying has two steps, so that memory is certain before the journal is written: prepare writes a
 * batch's rows (under one stamp) where readers do not look; after the journal's sync, publish makes
 * all that was prepared visible, or forget drops all of it. Batches are prepared in stamp order. On
 * VV_NO_MEMORY only this batch is forgotten. Applier only.
 */
VV_MUST_CHECK enum vv_status vv_head_prepare(struct vv_head *head, const struct vv_batch *batch,
                                             vv_stamp stamp);
void vv_head_publish(struct vv_head *head);
void vv_head_forget(struct vv_head *head);

/* Makes the active generation one to be flushed and begins a new one. VV_DONE when the active one
 * is empty (one that only holds forgotten rows is not: their memory must go); VV_NO_MEMORY;
 * VV_OVERLOAD when VV_GENERATIONS_MAX exist. Not between prepare and publish. Applier only. */
#define VV_GENERATIONS_MAX 16
VV_MUST_CHECK enum vv_status vv_head_cut(struct vv_head *head,
                                         struct vv_generation **generation_out);

/* In which order series are walked: by a number of their sources, then by source and measurement.
 */
struct vv_head_order {
    uint64_t (*number)(void *context, uint32_t source);
    void *context;
};

/* Calls visit for each series of a cut generation, ascending by source, then measurement, unless
 * another order is wanted (NULL: none is): series of one source come together. rows are all its
 * rows, in the order of application, with columns ascending by metric; the type of a column is
 * VV_HEAD_UNTYPED unless its batches said it (then the caller's registry knows). rows belong to the
 * head, valid during the call. Anything but VV_OK stops and is returned. Storage thread. */
#define VV_HEAD_UNTYPED ((enum vv_value_type)2)
typedef enum vv_status (*vv_head_visit)(void *context, uint32_t source, uint32_t measurement,
                                        struct vv_rows *rows);
VV_MUST_CHECK enum vv_status vv_generation_walk(struct vv_generation *generation,
                                                const struct vv_head_order *order,
                                                vv_head_visit visit, void *context);
/* The same series without their rows: how many, and their first and last time. */
typedef enum vv_status (*vv_head_glance)(void *context, uint32_t source, uint32_t measurement,
                                         uint64_t rows, int64_t first, int64_t last);
VV_MUST_CHECK enum vv_status vv_generation_glance(struct vv_generation *generation,
                                                  vv_head_glance visit, void *context);
/* The flush of the oldest generation is confirmed: readers find it in the store from now on.
 * Frees it after its last reader. */
void vv_head_drop(struct vv_head *head, struct vv_generation *take_generation);
/* How many were dropped so far. Whoever read the store earlier and finds the same number after
 * looking at the head has missed nothing in between. Any thread. */
uint64_t vv_head_drops(struct vv_head *head);

/* Copies the rows of a series with time in [from, to), in the order of application, generations
 * oldest first: columns as asked, their types as above. n_rows 0 (and nothing to free) when there
 * are none. VV_NO_MEMORY; VV_TOO_LARGE beyond memory_max bytes. Free with vv_rows_free. Any thread.
 */
VV_MUST_CHECK enum vv_status vv_head_read(struct vv_head *head, uint32_t source,
                                          uint32_t measurement, int64_t from, int64_t to,
                                          const uint32_t *metrics, size_t n_metrics,
                                          size_t memory_max, struct vv_rows *rows_out);
/* Earliest and latest time of a series in the head; false when it has none. Any thread. */
bool vv_head_series_times(struct vv_head *head, uint32_t source, uint32_t measurement,
                          int64_t *first_out, int64_t *last_out);

struct vv_head_figures {
    uint64_t bytes;        /* memory of all generations, those kept by readers included */
    uint64_t active_bytes; /* of the active generation */
    uint64_t points;
    uint64_t series;
    uint64_t generations;
};
void vv_head_read_figures(struct vv_head *head, struct vv_head_figures *figures_out);

#endif
