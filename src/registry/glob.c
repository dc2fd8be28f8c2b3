/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shell patterns over bytes. After a mismatch only the last '*' is tried again, one byte further:
 * whatever an earlier '*' could take instead, the last one can take as well.
 */
#include "registry/registry.h"

/* The pattern byte at *at, with *at moved behind it; *literal_out when a backslash escaped it. */
static char pattern_next(struct vv_str pattern, size_t *at, bool *literal_out)
{
    char byte = pattern.data[(*at)++];
    *literal_out = byte == '\\' && *at < pattern.size;
    return *literal_out ? pattern.data[(*at)++] : byte;
}

bool vv_glob_match(struct vv_str pattern, struct vv_str text)
{
    size_t p = 0;
    size_t t = 0;
    size_t star_p = SIZE_MAX; /* behind the last '*' */
    size_t star_t = 0;        /* where what it takes ends */
    while (t < text.size || p < pattern.size) {
        size_t next = p;
        bool literal = false;
        char byte = p < pattern.size ? pattern_next(pattern, &next, &literal) : '\0';
        if (p < pattern.size && byte == '*' && !literal) {
            star_p = next;
            star_t = t;
            p = next;
        } else if (p < pattern.size && t < text.size &&
                   ((byte == '?' && !literal) || byte == text.data[t])) {
            p = next;
            t++;
        } else if (star_p != SIZE_MAX && star_t < text.size) {
            p = star_p;
            t = ++star_t;
        } else {
            return false;
        }
    }
    return true;
}
