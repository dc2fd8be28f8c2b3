/* SPDX-License-Identifier: Apache-2.0 */
/* What reading and writing runs of history share. Private to history_*.c. */
#ifndef VV_CLI_HISTORY_PRIVATE_H
#define VV_CLI_HISTORY_PRIVATE_H

#include "cli/history.h"

#define VV_HISTORY_MAGIC       "VVHIST2\n"
#define VV_HISTORY_MAGIC_BYTES 8u
#define VV_HISTORY_HEAD_BYTES  48u

/* The order of lines. */
bool vv_history_is_before(const struct vv_history_line *a, const struct vv_history_line *b);

void vv_history_path(const char *folder, uint64_t number, char out[VV_HISTORY_PATH_SIZE]);

#endif
