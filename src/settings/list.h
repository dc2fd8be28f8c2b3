/* SPDX-License-Identifier: Apache-2.0 */
/* Settings that are lists with commas. Private to this folder. Any thread. */
#ifndef VV_SETTINGS_LIST_H
#define VV_SETTINGS_LIST_H

#include "base/bytes.h"

/* Without the spaces at both ends. */
struct vv_str vv_list_trim(struct vv_str text);
/* The next element, trimmed; false at the list's end. *rest begins as the whole list, which is not
 * empty, and has data NULL after the last element. */
bool vv_list_next(struct vv_str *rest, struct vv_str *element_out);

#endif
