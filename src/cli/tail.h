/* SPDX-License-Identifier: Apache-2.0 */
/* The last bytes of a streamed answer, where it says whether it is complete. One thread. */
#ifndef VV_CLI_TAIL_H
#define VV_CLI_TAIL_H

#include "base/bytes.h"

#define VV_TAIL_BYTES 4096

/* Zero-initialised is empty. */
struct vv_tail {
    char bytes[VV_TAIL_BYTES];
    size_t size;
};

void vv_tail_add(struct vv_tail *tail, const char *bytes, size_t size);
bool vv_tail_has(const struct vv_tail *tail, const char *text);
/* The last line without its end, or what of it there is. *ended_out: it has one. */
struct vv_str vv_tail_line(const struct vv_tail *tail, bool *ended_out);

#endif
