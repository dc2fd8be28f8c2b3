/* SPDX-License-Identifier: Apache-2.0 */
/* Which texts are allowed. */
#include "registry/text.h"

/* The size of the UTF-8 character at `at` and its code point; 0 if it is malformed (RFC 3629). */
static size_t character_at(struct vv_str text, size_t at, uint32_t *code_out)
{
    uint8_t first = (uint8_t)text.data[at];
    if (first < 0x80) {
        *code_out = first;
        return 1;
    }
    size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (first < 0xC2 || first > 0xF4 || text.size - at < size) {
        return 0;
    }
    uint32_t code = first & (0x7Fu >> size);
    for (size_t i = 1; i < size; i++) {
        uint8_t next = (uint8_t)text.data[at + i];
        if ((next & 0xC0) != 0x80) {
            return 0;
        }
        code = code << 6 | (next & 0x3F);
    }
    bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    *code_out = code;
    return code < least[size] || code > 0x10FFFF || surrogate ? 0 : size;
}

static bool is_control(uint32_t code)
{
    return code < 0x20 || (code >= 0x7F && code < 0xA0);
}

enum vv_status vv_text_check(struct vv_str text, const char *what, struct vv_error *error)
{
    for (size_t at = 0; at < text.size;) {
        uint32_t code = 0;
        size_t size = character_at(text, at, &code);
        if (size == 0) {
            return vv_error_set(error, VV_INVALID,
                                "%s is not valid UTF-8 at byte %zu: send text as UTF-8", what,
                                at + 1);
        }
        if (is_control(code)) {
            return vv_error_set(error, VV_INVALID,
                                "%s contains the control character U+%04X at byte %zu: remove it",
                                what, (unsigned)code, at + 1);
        }
        at += size;
    }
    return VV_OK;
}

enum vv_status vv_name_check(struct vv_str text, size_t size_max, const char *what,
                             struct vv_error *error)
{
    if (text.size == 0) {
        return vv_error_set(error, VV_INVALID, "%s is empty: it needs at least one byte", what);
    }
    if (text.size > size_max) {
        return vv_error_set(error, VV_TOO_LARGE, "%s has %zu bytes, at most %zu are allowed", what,
                            text.size, size_max);
    }
    return vv_text_check(text, what, error);
}

struct vv_str vv_text_cut(struct vv_str text, size_t most)
{
    if (text.size <= most) {
        return text;
    }
    size_t size = most;
    while (size > 0 && ((uint8_t)text.data[size] & 0xC0) == 0x80) {
        size--;
    }
    return (struct vv_str){text.data, size};
}
