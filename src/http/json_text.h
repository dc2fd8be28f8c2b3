/* SPDX-License-Identifier: Apache-2.0 */
/* JSON strings for answers. */
#ifndef VV_HTTP_JSON_TEXT_H
#define VV_HTTP_JSON_TEXT_H

#include "base/bytes.h"

/* Appends text as a quoted JSON string. Bytes that are not UTF-8 become U+FFFD, so that whatever a
 * client sent can be quoted back to it. Check the buffer's status. */
void vv_json_text(struct vv_buffer *buffer, struct vv_str text);

/* The size of the well-formed UTF-8 character at the start of text (size > 0), or 0. */
size_t vv_utf8_character(const char *text, size_t size);

#endif
