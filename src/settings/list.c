/* SPDX-License-Identifier: Apache-2.0 */
/* Taking a list with commas apart. */
#include "settings/list.h"

struct vv_str vv_list_trim(struct vv_str text)
{
    while (text.size > 0 && text.data[0] == ' ') {
        text.data++;
        text.size--;
    }
    while (text.size > 0 && text.data[text.size - 1] == ' ') {
        text.size--;
    }
    return text;
}

bool vv_list_next(struct vv_str *rest, struct vv_str *element_out)
{
    if (!rest->data) {
        return false;
    }
    const char *comma = memchr(rest->data, ',', rest->size);
    size_t size = comma ? (size_t)(comma - rest->data) : rest->size;
    *element_out = vv_list_trim((struct vv_str){rest->data, size});
    *rest = comma ? (struct vv_str){comma + 1, rest->size - size - 1} : (struct vv_str){0};
    return true;
}
