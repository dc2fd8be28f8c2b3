/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts of the registry: what is allowed, and the canonical form of a tag set. No state; any
 * thread.
 */
#ifndef VV_REGISTRY_TEXT_H
#define VV_REGISTRY_TEXT_H

#include "registry/registry.h"

/* VV_INVALID unless text is UTF-8 without control characters; `what` names it in the message. */
VV_MUST_CHECK enum vv_status vv_text_check(struct vv_str text, const char *what,
                                           struct vv_error *error);
/* The same for a name: not empty (VV_INVALID), at most size_max bytes (VV_TOO_LARGE). */
VV_MUST_CHECK enum vv_status vv_name_check(struct vv_str text, size_t size_max, const char *what,
                                           struct vv_error *error);
/* As much of the text as fits into `most` bytes without cutting a character; the text must have
 * been checked. For messages. */
struct vv_str vv_text_cut(struct vv_str text, size_t most);

/* A tag set in its canonical order, and the id that it gives. Large: one on the stack at a time. */
struct vv_canonical {
    struct vv_tag tags[VV_TAGS_MAX]; /* ascending, without empty values and without the id tag */
    size_t n;
    struct vv_str id;
    bool by_id_tag; /* the id is the id tag's value, else the text of the whole set */
    char text[VV_SOURCE_ID_BYTES_MAX];
};
/* Does not check the texts but for empty keys. id_tag: data NULL if there is none. */
VV_MUST_CHECK enum vv_status vv_canonical_make(const struct vv_tag *tags, size_t n,
                                               struct vv_str id_tag, struct vv_canonical *out,
                                               struct vv_error *error);
/* Checks all tags and the id. */
VV_MUST_CHECK enum vv_status vv_canonical_check(const struct vv_canonical *canonical,
                                                struct vv_error *error);

/* The number of tags in a canonical text. */
size_t vv_canonical_count(struct vv_str text);
/* Takes a canonical text apart: n tags as counted; their texts are put into `room`, which holds
 * text.size bytes. VV_CORRUPT when the text is no such one (it may still not be canonical). */
VV_MUST_CHECK enum vv_status vv_canonical_parse(struct vv_str text, char *room,
                                                struct vv_tag *tags_out, size_t n);

#endif
