/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which lines of line protocol may be of one source and measurement: they have the same number,
 * however their tags are ordered and escaped. Others may have it, too. Pure, any thread.
 */
#ifndef VV_CLI_SERIES_GROUP_H
#define VV_CLI_SERIES_GROUP_H

#include "base/bytes.h"

/* `series`: measurement and tags; `id_tag`: the tag that the server takes a source's id from;
 * empty: its tags together are the id. */
uint64_t vv_series_group(struct vv_str series, struct vv_str id_tag);

#endif
