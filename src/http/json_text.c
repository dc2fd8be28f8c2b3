/* SPDX-License-Identifier: Apache-2.0 */
/* JSON strings: escaping, and mending of what is not UTF-8 (the table of RFC 3629, section 4). */
#include "http/json_text.h"

static size_t expected_size(unsigned char first)
{
    if (first < 0x80) {
        return 1;
    }
    if (first < 0xC2 || first > 0xF4) {
        return 0;
    }
    return first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
}

/* Bounds of the second byte: they exclude overlong forms, surrogates and what is above U+10FFFF. */
static bool second_fits(unsigned char first, unsigned char second)
{
    unsigned char low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    unsigned char high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    return second >= low && second <= high;
}

size_t vv_utf8_character(const char *text, size_t size)
{
    const unsigned char *bytes = (const unsigned char *)text;
    size_t length = expected_size(bytes[0]);
    if (length == 0 || length > size) {
        return 0;
    }
    for (size_t i = 1; i < length; i++) {
        if ((bytes[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    return length == 1 || second_fits(bytes[0], bytes[1]) ? length : 0;
}

static void append_escaped(struct vv_buffer *buffer, unsigned char c)
{
    switch (c) {
    case '"':
        vv_buffer_text(buffer, "\\\"");
        break;
    case '\\':
        vv_buffer_text(buffer, "\\\\");
        break;
    case '\n':
        vv_buffer_text(buffer, "\\n");
        break;
    case '\r':
        vv_buffer_text(buffer, "\\r");
        break;
    case '\t':
        vv_buffer_text(buffer, "\\t");
        break;
    default:
        vv_buffer_format(buffer, "\\u%04x", (unsigned)c);
        break;
    }
}

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c != '"' && c != '\\' && c != 0x7F;
}

void vv_json_text(struct vv_buffer *buffer, struct vv_str text)
{
    vv_buffer_u8(buffer, '"');
    size_t at = 0;
    size_t kept = 0; /* up to here everything is in the buffer */
    while (at < text.size) {
        size_t length = vv_utf8_character(text.data + at, text.size - at);
        if (length > 0 && is_plain((unsigned char)text.data[at])) {
            at += length;
            continue;
        }
        vv_buffer_append(buffer, text.data + kept, at - kept);
        if (length == 0) {
            vv_buffer_text(buffer, "\xEF\xBF\xBD");
        } else {
            append_escaped(buffer, (unsigned char)text.data[at]);
        }
        at++;
        kept = at;
    }
    if (at > kept) {
        vv_buffer_append(buffer, text.data + kept, at - kept);
    }
    vv_buffer_u8(buffer, '"');
}
