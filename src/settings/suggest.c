/* SPDX-License-Identifier: Apache-2.0 */
/* The distance of two words by optimal string alignment, in three rows of the matrix. */
#include "settings/suggest.h"

#define WORD_BYTES_MAX 64 /* longer words are not names of ours */

static size_t least_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* One row of the matrix: letters of b up to each column against letters of a up to `i`. */
static void fill_row(struct vv_str a, struct vv_str b, size_t i, const size_t *two_above,
                     const size_t *above, size_t *row)
{
    row[0] = i;
    for (size_t j = 1; j <= b.size; j++) {
        size_t change = above[j - 1] + (a.data[i - 1] != b.data[j - 1]);
        row[j] = least_of(change, 1 + least_of(above[j], row[j - 1]));
        if (i > 1 && j > 1 && a.data[i - 1] == b.data[j - 2] && a.data[i - 2] == b.data[j - 1]) {
            row[j] = least_of(row[j], two_above[j - 2] + 1);
        }
    }
}

static size_t word_distance(struct vv_str a, struct vv_str b)
{
    size_t rows[3][WORD_BYTES_MAX + 1];
    for (size_t j = 0; j <= b.size; j++) {
        rows[0][j] = j;
    }
    for (size_t i = 1; i <= a.size; i++) {
        fill_row(a, b, i, rows[(i + 1) % 3], rows[(i + 2) % 3], rows[i % 3]);
    }
    return rows[a.size % 3][b.size];
}

void vv_suggestion_init(struct vv_suggestion *suggestion, struct vv_str word)
{
    *suggestion = (struct vv_suggestion){.word = word, .distance = SIZE_MAX};
    suggestion->distance_most = word.size < 6 ? 1 : word.size / 3;
}

bool vv_suggestion_offer(struct vv_suggestion *suggestion, const char *candidate)
{
    struct vv_str other = vv_str_of(candidate);
    if (suggestion->word.size == 0 || suggestion->word.size > WORD_BYTES_MAX ||
        other.size > WORD_BYTES_MAX) {
        return false;
    }
    size_t distance = word_distance(suggestion->word, other);
    if (distance > suggestion->distance_most || distance >= suggestion->distance) {
        return false;
    }
    suggestion->distance = distance;
    suggestion->best = candidate;
    return true;
}
