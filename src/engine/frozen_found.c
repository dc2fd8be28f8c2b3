/* SPDX-License-Identifier: Apache-2.0 */
/* What was found of frozen spans: an entry for each of some ten thousand series, the last one. */
#include "engine/frozen_found.h"

#include "base/random.h"

#include <pthread.h>
#include <stdlib.h>

#define SETS 8192u
#define WAYS 4u

struct entry {
    struct vv_staging_frozen found;
    uint64_t terms;
    int64_t until_ns;
};

struct vv_frozen_found {
    pthread_mutex_t lock;
    struct entry entries[SETS][WAYS];
};

struct vv_frozen_found *vv_frozen_found_create(void)
{
    struct vv_frozen_found *found = calloc(1, sizeof *found);
    if (found) {
        pthread_mutex_init(&found->lock, NULL);
    }
    return found;
}

void vv_frozen_found_destroy(struct vv_frozen_found *found)
{
    if (found) {
        pthread_mutex_destroy(&found->lock);
        free(found);
    }
}

static bool is_of(const struct entry *entry, const struct vv_series *series)
{
    return entry->found.series.source == series->source &&
           entry->found.series.measurement == series->measurement;
}

/* That of the series, or the one whose time is over first. */
static struct entry *entry_of(struct vv_frozen_found *found, const struct vv_series *series)
{
    struct vv_random random = {(uint64_t)series->source << 32 | series->measurement};
    struct entry *set = found->entries[vv_random_next(&random) % SETS];
    struct entry *chosen = &set[0];
    for (size_t i = 0; i < WAYS; i++) {
        if (is_of(&set[i], series)) {
            return &set[i];
        }
        chosen = set[i].until_ns < chosen->until_ns ? &set[i] : chosen;
    }
    return chosen;
}

bool vv_frozen_found_get(struct vv_frozen_found *found, uint64_t terms, int64_t now_ns,
                         struct vv_staging_frozen *asked)
{
    pthread_mutex_lock(&found->lock);
    struct entry entry = *entry_of(found, &asked->series);
    pthread_mutex_unlock(&found->lock);
    const struct vv_staging_frozen *known = &entry.found;
    bool is_it = entry.terms == terms && now_ns < entry.until_ns && known->place == asked->place &&
                 is_of(&entry, &asked->series) && known->from <= asked->time &&
                 asked->time < known->to;
    if (is_it) {
        asked->is_frozen = known->is_frozen;
        asked->from = known->from;
        asked->to = known->to;
    }
    return is_it;
}

void vv_frozen_found_put(struct vv_frozen_found *found, uint64_t terms, int64_t until_ns,
                         const struct vv_staging_frozen *answer)
{
    pthread_mutex_lock(&found->lock);
    *entry_of(found, &answer->series) = (struct entry){*answer, terms, until_ns};
    pthread_mutex_unlock(&found->lock);
}

void vv_frozen_found_forget(struct vv_frozen_found *found)
{
    pthread_mutex_lock(&found->lock);
    memset(found->entries, 0, sizeof found->entries);
    pthread_mutex_unlock(&found->lock);
}
