/* SPDX-License-Identifier: Apache-2.0 */
/* What was found of frozen spans, kept for a while. Any thread. */
#ifndef VV_ENGINE_FROZEN_FOUND_H
#define VV_ENGINE_FROZEN_FOUND_H

#include "ingest/staging.h"

struct vv_frozen_found;

struct vv_frozen_found *vv_frozen_found_create(void);        /* NULL: out of memory */
void vv_frozen_found_destroy(struct vv_frozen_found *found); /* NULL is allowed */

/* Completes the question, if the answer is known. `terms` stands for all that it depends on. */
bool vv_frozen_found_get(struct vv_frozen_found *found, uint64_t terms, int64_t now_ns,
                         struct vv_staging_frozen *asked);
/* Keeps an answer until then, or until another one of the series takes its place. */
void vv_frozen_found_put(struct vv_frozen_found *found, uint64_t terms, int64_t until_ns,
                         const struct vv_staging_frozen *answer);
void vv_frozen_found_forget(struct vv_frozen_found *found);

#endif
