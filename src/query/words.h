/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words of the request language: splitting with escapes, showing input in messages, and guessing
 * what was meant. Private to src/query. Pure functions, any thread.
 */
#ifndef VV_QUERY_WORDS_H
#define VV_QUERY_WORDS_H

#include "base/arena.h"

#define VV_SHOWN_SIZE 64

/* Input as a message may show it: cut to fit, broken UTF-8 and control characters as '?'.
 * Returns out, which holds VV_SHOWN_SIZE bytes. */
const char *vv_shown(struct vv_str text, char *out);

/* Whether it is UTF-8 without control characters, as all names are. */
bool vv_words_are_text(struct vv_str text);

/* Cuts the next part off *rest at an unescaped separator; escapes stay in it. False when nothing
 * is left (an empty text has one empty part). Begin with *started false. */
bool vv_words_next(struct vv_str *rest, char separator, bool *started, struct vv_str *part_out);

/* A copy without the escaping backslashes; data is NULL when memory is out. */
struct vv_str vv_words_unescape(struct vv_arena *arena, struct vv_str text);

/* The index of the listed word that text equals, or n. */
size_t vv_words_find(const char *const *words, size_t n, struct vv_str text);

/*
 * Writes VV_INVALID for a word that is not listed: "<what> '<text>' is unknown; did you mean 'x'?
 * allowed: a, b, c". Guesses by at most two edits.
 */
enum vv_status vv_words_unknown(struct vv_error *error, const char *what, struct vv_str text,
                                const char *const *words, size_t n);

#endif
