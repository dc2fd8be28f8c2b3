/* SPDX-License-Identifier: Apache-2.0 */
/* Splitting, showing and guessing the words of a request. */
#include "query/words.h"

#include <stdio.h>

#define GUESS_SIZE_MAX  24
#define GUESS_EDITS_MAX 2

/* The length of the valid UTF-8 sequence at the start of text, 0 when there is none. */
static size_t utf8_length(struct vv_str text)
{
    const uint8_t *bytes = (const uint8_t *)text.data;
    size_t length = bytes[0] < 0x80   ? 1
                    : bytes[0] < 0xC2 ? 0
                    : bytes[0] < 0xE0 ? 2
                    : bytes[0] < 0xF0 ? 3
                    : bytes[0] < 0xF5 ? 4
                                      : 0;
    if (length > text.size) {
        return 0;
    }
    for (size_t i = 1; i < length; i++) {
        if ((bytes[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    bool overlong = (bytes[0] == 0xE0 && bytes[1] < 0xA0) || (bytes[0] == 0xF0 && bytes[1] < 0x90);
    bool beyond = (bytes[0] == 0xED && bytes[1] > 0x9F) || (bytes[0] == 0xF4 && bytes[1] > 0x8F);
    return overlong || beyond ? 0 : length;
}

static bool is_printable(struct vv_str text, size_t length)
{
    return length > 1 || (length == 1 && (uint8_t)text.data[0] >= 0x20 && text.data[0] != 0x7F);
}

bool vv_words_are_text(struct vv_str text)
{
    while (text.size > 0) {
        size_t length = utf8_length(text);
        if (!is_printable(text, length)) {
            return false;
        }
        text = (struct vv_str){text.data + length, text.size - length};
    }
    return true;
}

const char *vv_shown(struct vv_str text, char *out)
{
    static const char cut[] = "...";
    size_t size = 0;
    size_t at = 0;
    while (at < text.size) {
        struct vv_str rest = {text.data + at, text.size - at};
        size_t length = utf8_length(rest);
        bool plain = is_printable(rest, length);
        size_t needed = plain ? length : 1;
        if (size + needed + sizeof cut > VV_SHOWN_SIZE) {
            memcpy(out + size, cut, sizeof cut);
            return out;
        }
        if (plain) {
            memcpy(out + size, rest.data, length);
        } else {
            out[size] = '?';
        }
        size += needed;
        at += length ? length : 1;
    }
    out[size] = '\0';
    return out;
}

bool vv_words_next(struct vv_str *rest, char separator, bool *started, struct vv_str *part_out)
{
    if (*started && rest->data == NULL) {
        return false;
    }
    *started = true;
    size_t at = 0;
    while (at < rest->size && rest->data[at] != separator) {
        at += rest->data[at] == '\\' && at + 1 < rest->size ? 2 : 1;
    }
    *part_out = (struct vv_str){rest->data ? rest->data : "", at};
    if (at < rest->size) {
        rest->data += at + 1;
        rest->size -= at + 1;
    } else {
        *rest = (struct vv_str){NULL, 0};
    }
    return true;
}

struct vv_str vv_words_unescape(struct vv_arena *arena, struct vv_str text)
{
    char *copy = vv_arena_alloc(arena, text.size + 1);
    if (!copy) {
        return (struct vv_str){NULL, 0};
    }
    size_t size = 0;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] == '\\' && i + 1 < text.size) {
            i++;
        }
        copy[size++] = text.data[i];
    }
    copy[size] = '\0';
    return (struct vv_str){copy, size};
}

size_t vv_words_find(const char *const *words, size_t n, struct vv_str text)
{
    size_t index = 0;
    while (index < n && !vv_str_equal(text, vv_str_of(words[index]))) {
        index++;
    }
    return index;
}

/* Edits (insert, remove, replace) that turn one text into the other; both are short. */
static unsigned edits_between(struct vv_str a, struct vv_str b)
{
    unsigned row[GUESS_SIZE_MAX + 1];
    for (unsigned j = 0; j <= b.size; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= a.size; i++) {
        unsigned diagonal = row[0];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b.size; j++) {
            unsigned replaced = diagonal + (a.data[i - 1] != b.data[j - 1]);
            unsigned shifted = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            diagonal = row[j];
            row[j] = replaced < shifted ? replaced : shifted;
        }
    }
    return row[b.size];
}

/* The listed word nearest to text, or NULL. A short word must be nearer. */
static const char *guess(struct vv_str text, const char *const *words, size_t n)
{
    const char *best = NULL;
    unsigned best_edits = GUESS_EDITS_MAX + 1;
    for (size_t i = 0; i < n && text.size > 0 && text.size <= GUESS_SIZE_MAX; i++) {
        struct vv_str word = vv_str_of(words[i]);
        if (word.size > GUESS_SIZE_MAX) {
            continue;
        }
        unsigned edits = edits_between(text, word);
        if (edits < best_edits && edits * 2 <= word.size) {
            best = words[i];
            best_edits = edits;
        }
    }
    return best;
}

enum vv_status vv_words_unknown(struct vv_error *error, const char *what, struct vv_str text,
                                const char *const *words, size_t n)
{
    char list[320] = "";
    size_t size = 0;
    for (size_t i = 0; i < n && size + 1 < sizeof list; i++) {
        int length = snprintf(list + size, sizeof list - size, "%s%s", i > 0 ? ", " : "", words[i]);
        size += length > 0 ? (size_t)length : 0;
    }
    char shown[VV_SHOWN_SIZE];
    const char *near = guess(text, words, n);
    if (near) {
        return vv_error_set(error, VV_INVALID, "%s '%s' is unknown; did you mean '%s'? allowed: %s",
                            what, vv_shown(text, shown), near, list);
    }
    return vv_error_set(error, VV_INVALID, "%s '%s' is unknown; allowed: %s", what,
                        vv_shown(text, shown), list);
}
