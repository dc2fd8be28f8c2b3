/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The registry's names for a store that many nodes share: numbers to names, and a metric's number
 * by its id there. Any thread.
 */
#ifndef VV_ENGINE_NAMES_H
#define VV_ENGINE_NAMES_H

#include "fleet/fleet.h"
#include "registry/registry.h"
#include "store/cassandra/open.h"

struct vv_names;

/* The registry may be set later, before the first use. NULL: no memory. */
struct vv_names *vv_names_create(void);
void vv_names_destroy(struct vv_names *names); /* NULL is allowed */
void vv_names_set_registry(struct vv_names *names, struct vv_registry *registry);
/* The same. */
void vv_names_set_deletions(struct vv_names *names, struct vv_deletions *deletions);
/* Asked for a metric that is unknown, it learns from other nodes before it gives up. The same. */
void vv_names_set_fleet(struct vv_names *names, struct vv_fleet *fleet);
/* Valid until destroy. */
struct vv_store_names vv_names_of_store(struct vv_names *names);

#endif
