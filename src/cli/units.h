/* SPDX-License-Identifier: Apache-2.0 */
/* The units of metrics, from the server's list of them. One thread at a time. */
#ifndef VV_CLI_UNITS_H
#define VV_CLI_UNITS_H

#include "base/bytes.h"

struct vv_unit {
    char *metric;
    char *unit;
};

struct vv_units {
    struct vv_unit *rows; /* ordered by metric; only those that have a unit */
    size_t n;
    size_t capacity;
    bool any;
};

/* Reads CSV with the columns metric and unit, in any order among others; what is not such CSV gives
 * none. VV_NO_MEMORY. Deinit in any case. */
VV_MUST_CHECK enum vv_status vv_units_read(struct vv_units *units, struct vv_str csv);
void vv_units_deinit(struct vv_units *units);
/* The unit of a metric; empty if it has none. */
struct vv_str vv_units_find(const struct vv_units *units, struct vv_str metric);

#endif
