/* SPDX-License-Identifier: Apache-2.0 */
/* Keeping the end of what streams by. */
#include "cli/tail.h"

void vv_tail_add(struct vv_tail *tail, const char *bytes, size_t size)
{
    if (size >= VV_TAIL_BYTES) {
        memcpy(tail->bytes, bytes + size - VV_TAIL_BYTES, VV_TAIL_BYTES);
        tail->size = VV_TAIL_BYTES;
        return;
    }
    size_t drop = tail->size + size > VV_TAIL_BYTES ? tail->size + size - VV_TAIL_BYTES : 0;
    memmove(tail->bytes, tail->bytes + drop, tail->size - drop);
    memcpy(tail->bytes + tail->size - drop, bytes, size);
    tail->size += size - drop;
}

bool vv_tail_has(const struct vv_tail *tail, const char *text)
{
    return memmem(tail->bytes, tail->size, text, strlen(text)) != NULL;
}

struct vv_str vv_tail_line(const struct vv_tail *tail, bool *ended_out)
{
    *ended_out = tail->size > 0 && tail->bytes[tail->size - 1] == '\n';
    size_t end = tail->size - (*ended_out ? 1 : 0);
    const char *before = end > 0 ? memrchr(tail->bytes, '\n', end) : NULL;
    const char *start = before ? before + 1 : tail->bytes;
    return (struct vv_str){start, (size_t)(tail->bytes + end - start)};
}
