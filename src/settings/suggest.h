/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "Did you mean …?": the nearest of several words to one that was mistyped. Used for settings here
 * and for commands and options by the command line. Any thread; one thread at a time for one
 * suggestion.
 */
#ifndef VV_SETTINGS_SUGGEST_H
#define VV_SETTINGS_SUGGEST_H

#include "base/bytes.h"

struct vv_suggestion {
    struct vv_str word;   /* what was typed; borrowed */
    const char *best;     /* the nearest word offered so far; NULL if none is near; borrowed */
    size_t distance;      /* of the best: letters to insert, remove, change or swap */
    size_t distance_most; /* farther words are not near: a third of the word's length, at least 1 */
};

void vv_suggestion_init(struct vv_suggestion *suggestion, struct vv_str word);
/* Considers a candidate; true if it is now the best. The first of equals stays. */
bool vv_suggestion_offer(struct vv_suggestion *suggestion, const char *candidate);

#endif
