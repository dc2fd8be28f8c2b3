/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time zones: offsets from UTC and where local days begin, read from the system's time zone
 * database (TZif files, RFC 8536) because the C library's time zone is one for the whole process.
 * Private to src/query. Zones are cached for the process's life, immutable; any thread.
 */
#ifndef VV_QUERY_ZONE_H
#define VV_QUERY_ZONE_H

#include "base/clock.h"

struct vv_zone;

/* Finds a zone by its name, e.g. "Europe/Berlin"; *zone_out is NULL for UTC itself. VV_INVALID
 * with a message for a name that the database does not have, VV_IO for a damaged file. */
VV_MUST_CHECK enum vv_status vv_zone_find(struct vv_str name, const struct vv_zone **zone_out,
                                          struct vv_error *error);

/* Parses the bytes of a TZif file; the caller destroys the zone. VV_CORRUPT, VV_NO_MEMORY. Does no
 * more than the bytes allow, whatever they are. */
VV_MUST_CHECK enum vv_status vv_zone_parse(struct vv_str bytes, struct vv_zone **zone_out,
                                           struct vv_error *error);
void vv_zone_destroy(struct vv_zone *zone);

/* Local time minus UTC at an instant, in seconds; *until_out (may be NULL) is the instant up to
 * which it stays so, INT64_MAX for ever. Instants in seconds since 1970. */
int32_t vv_zone_offset(const struct vv_zone *zone, int64_t instant, int64_t *until_out);

/* The first instant (in seconds) at which the local clock shows the midnight that begins this day
 * (days since 1970), or a later time where the clock skips it. */
int64_t vv_zone_day_start(const struct vv_zone *zone, int64_t day);

#endif
