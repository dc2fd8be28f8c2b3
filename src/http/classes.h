/* SPDX-License-Identifier: Apache-2.0 */
/* Classes of a tenant as JSON: measurements that are kept for a time of their own. Any thread. */
#ifndef VV_HTTP_CLASSES_H
#define VV_HTTP_CLASSES_H

#include "engine/engine.h"

#include <jansson.h>

/* `,"classes":{…}`; nothing where the tenant has none. */
void vv_write_classes(struct vv_registry *registry, uint32_t tenant, struct vv_buffer *body);
/* `,"moves":[…]`: which of its measurements lie, or are to lie, elsewhere from when on; nothing
 * where there are none. */
void vv_write_moves(struct vv_registry *registry, uint32_t tenant, struct vv_buffer *body);
/* What is wrong with those of a JSON object whatever they are changed to meanwhile: VV_INVALID,
 * VV_TOO_LARGE where the tenant, which need not be there, would have too many. */
VV_MUST_CHECK enum vv_status vv_check_classes(struct vv_registry *registry, struct vv_str tenant,
                                              json_t *classes, struct vv_error *error);
/* Makes or changes those of a JSON object, one after the other, and waits until they are durable;
 * `notes` gets what the caller should know, as JSON texts. VV_INVALID, and as vv_engine_set_class:
 * the message says at which class it ended, and how many were taken. */
VV_MUST_CHECK enum vv_status vv_apply_classes(struct vv_engine *engine, struct vv_str tenant,
                                              json_t *classes, struct vv_buffer *notes,
                                              struct vv_error *error);

#endif
