/* SPDX-License-Identifier: Apache-2.0 */
/* What a change of retentions does to what is there, in words. Any thread. */
#ifndef VV_HTTP_RETENTION_NOTES_H
#define VV_HTTP_RETENTION_NOTES_H

#include "engine/engine.h"

/* Appends notes (vv_changes.notes), each beginning with `name`, which says whose retentions they
 * are; none where nothing becomes shorter, no tier is switched on or off, and, where nodes share
 * the store, none is made longer. */
void vv_note_retentions(struct vv_engine *engine, struct vv_str name,
                        const struct vv_retentions *before, const struct vv_retentions *after,
                        struct vv_buffer *notes);

#endif
