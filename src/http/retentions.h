/* SPDX-License-Identifier: Apache-2.0 */
/* How long points and tiers are kept, as JSON: of a tenant, or of a class of one. Any thread. */
#ifndef VV_HTTP_RETENTIONS_H
#define VV_HTTP_RETENTIONS_H

#include "engine/engine.h"

#include <jansson.h>

/* All as they are. */
struct vv_retentions vv_retentions_as_is(void);
/* VV_INVALID with what would be right. */
VV_MUST_CHECK enum vv_status vv_parse_retention(const json_t *value,
                                                struct vv_retentions *retentions,
                                                struct vv_error *error);
VV_MUST_CHECK enum vv_status vv_parse_tiers(json_t *value, struct vv_retentions *retentions,
                                            struct vv_error *error);
/* "30d"; with its quotes. */
void vv_write_retention(struct vv_buffer *body, int64_t retention_ns);
/* `,"tiers":{…}`: those of a place that are on. */
void vv_write_tiers(struct vv_registry *registry, uint32_t place, struct vv_buffer *body);

#endif
