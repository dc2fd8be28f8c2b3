/* SPDX-License-Identifier: Apache-2.0 */
/* Stream ids as a bitmap of what is in use; what is beyond the capacity is in use for ever. */
#include "stream_ids.h"

#include <stdlib.h>

#define WORD_BITS 64

static size_t count_words(const struct vvcql_stream_ids *ids)
{
    return (ids->capacity + WORD_BITS - 1) / WORD_BITS;
}

bool vvcql_stream_ids_init(struct vvcql_stream_ids *ids, size_t capacity)
{
    *ids = (struct vvcql_stream_ids){.capacity = capacity};
    size_t n_words = count_words(ids);
    ids->used_ = calloc(n_words, sizeof *ids->used_);
    ids->owners_ = calloc(capacity, sizeof *ids->owners_);
    if (ids->used_ == NULL || ids->owners_ == NULL) {
        vvcql_stream_ids_deinit(ids);
        return false;
    }
    if (capacity % WORD_BITS != 0) {
        ids->used_[n_words - 1] = UINT64_MAX << capacity % WORD_BITS;
    }
    return true;
}

void vvcql_stream_ids_deinit(struct vvcql_stream_ids *ids)
{
    free(ids->used_);
    free(ids->owners_);
    *ids = (struct vvcql_stream_ids){0};
}

int vvcql_stream_ids_take(struct vvcql_stream_ids *ids, void *owner)
{
    if (ids->in_use == ids->capacity) {
        return -1;
    }
    size_t n_words = count_words(ids);
    while (ids->used_[ids->next_word_] == UINT64_MAX) {
        ids->next_word_ = (ids->next_word_ + 1) % n_words;
    }
    uint64_t *word = &ids->used_[ids->next_word_];
    unsigned bit = (unsigned)__builtin_ctzll(~*word);
    size_t id = ids->next_word_ * WORD_BITS + bit;
    *word |= UINT64_C(1) << bit;
    ids->owners_[id] = owner;
    ids->in_use++;
    return (int)id;
}

static bool is_in_use(const struct vvcql_stream_ids *ids, int id)
{
    return id >= 0 && (size_t)id < ids->capacity &&
           (ids->used_[id / WORD_BITS] >> id % WORD_BITS & 1) != 0;
}

void *vvcql_stream_ids_answer(struct vvcql_stream_ids *ids, int id, bool *known_out)
{
    *known_out = is_in_use(ids, id);
    if (!*known_out) {
        return NULL;
    }
    void *owner = ids->owners_[id];
    ids->owners_[id] = NULL;
    ids->used_[id / WORD_BITS] &= ~(UINT64_C(1) << id % WORD_BITS);
    ids->in_use--;
    if (owner == NULL) {
        ids->orphans--;
    }
    return owner;
}

void vvcql_stream_ids_abandon(struct vvcql_stream_ids *ids, int id)
{
    if (is_in_use(ids, id) && ids->owners_[id] != NULL) {
        ids->owners_[id] = NULL;
        ids->orphans++;
    }
}

int vvcql_stream_ids_any(const struct vvcql_stream_ids *ids, void **owner_out)
{
    *owner_out = NULL;
    if (ids->in_use == ids->orphans) {
        return -1;
    }
    size_t id = 0;
    while (ids->owners_[id] == NULL) {
        /* Over a whole word of free ids at once: ending all of them asks once for each. */
        id = id % WORD_BITS == 0 && ids->used_[id / WORD_BITS] == 0 ? id + WORD_BITS : id + 1;
    }
    *owner_out = ids->owners_[id];
    return (int)id;
}
