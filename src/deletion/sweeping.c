/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of markers: which lack something still, noting that it was done, retiring them. */
#include "deletion/private.h"

#define SOURCES_MAX UINT32_MAX

static bool lacks_any(const struct vv_marker *marker, unsigned lacks)
{
    return ((lacks & VV_MARKER_UNSWEPT) && !marker->is_swept) ||
           ((lacks & VV_MARKER_UNCLEARED) && !marker->is_cleared) ||
           ((lacks & VV_MARKER_UNTOLD) && !marker->is_told);
}

static bool is_wanted(const struct vv_markers *markers, unsigned lacks)
{
    bool wanted = markers->n > 0 && lacks == 0;
    for (size_t i = 0; i < markers->n && !wanted; i++) {
        wanted = lacks_any(&markers->items[i], lacks);
    }
    return wanted;
}

uint32_t vv_deletions_next(struct vv_deletions *deletions, uint32_t source, unsigned lacks)
{
    uint32_t found = SOURCES_MAX;
    if (atomic_load_explicit(&deletions->n_sources, memory_order_acquire) == 0) {
        return found;
    }
    pthread_rwlock_rdlock(&deletions->lock);
    uint64_t end = (uint64_t)deletions->n_pages * VV_MARKED_PAGE;
    for (uint64_t i = source; i < end && found == SOURCES_MAX; i++) {
        const struct vv_marked_source *place = vv_marked_find(deletions, (uint32_t)i);
        if (!place) {
            i += VV_MARKED_PAGE - 1 - i % VV_MARKED_PAGE;
        } else if (is_wanted(&place->now, lacks)) {
            found = (uint32_t)i;
        }
    }
    pthread_rwlock_unlock(&deletions->lock);
    return found;
}

size_t vv_deletions_read(struct vv_deletions *deletions, uint32_t source, unsigned lacks,
                         struct vv_marker *markers_out, size_t max)
{
    pthread_rwlock_rdlock(&deletions->lock);
    const struct vv_marked_source *place = vv_marked_find(deletions, source);
    size_t n = place ? place->now.n : 0;
    size_t copied = 0;
    for (int done = 0; done < 2; done++) {
        for (size_t i = 0; i < n && copied < max; i++) {
            if (lacks_any(&place->now.items[i], lacks) == (done == 0)) {
                markers_out[copied++] = place->now.items[i];
            }
        }
    }
    pthread_rwlock_unlock(&deletions->lock);
    return n;
}

void vv_deletions_visit(struct vv_deletions *deletions, unsigned lacks,
                        void (*visit)(void *context, uint32_t source,
                                      const struct vv_marker *marker),
                        void *context)
{
    struct vv_marker markers[VV_MARKERS_OF_SOURCE_MAX];
    uint32_t source = vv_deletions_next(deletions, 0, lacks);
    while (source != UINT32_MAX) {
        size_t n = vv_deletions_read(deletions, source, lacks, markers, VV_MARKERS_OF_SOURCE_MAX);
        for (size_t i = 0; i < n && i < VV_MARKERS_OF_SOURCE_MAX && lacks_any(&markers[i], lacks);
             i++) {
            visit(context, source, &markers[i]);
        }
        source = vv_deletions_next(deletions, source + 1, lacks);
    }
}

bool vv_marker_is_within(const struct vv_marker *marker, const struct vv_marker *read)
{
    return marker->stamp == read->stamp && marker->scope == read->scope &&
           marker->number == read->number && marker->from >= read->from && marker->to <= read->to;
}

static void note_done(struct vv_marker *marker, const struct vv_marker *read)
{
    if (vv_marker_is_within(marker, read)) {
        bool is_news = read->is_swept && !marker->is_swept;
        marker->is_told = marker->is_told && !is_news; /* the others need not do it, too */
        marker->is_swept |= read->is_swept;
        marker->is_cleared |= read->is_cleared;
    }
}

uint64_t vv_deletions_sweeps(struct vv_deletions *deletions)
{
    return atomic_load(&deletions->n_sweeps);
}

void vv_deletions_note_done(struct vv_deletions *deletions, uint32_t source,
                            const struct vv_marker *markers, size_t n)
{
    pthread_rwlock_wrlock(&deletions->lock);
    struct vv_marked_source *place = vv_marked_find(deletions, source);
    deletions->n_sweeps += place != NULL;
    for (size_t i = 0; place && i < place->now.n; i++) {
        for (size_t j = 0; j < n; j++) {
            note_done(&place->now.items[i], &markers[j]);
        }
    }
    pthread_rwlock_unlock(&deletions->lock);
}

size_t vv_deletions_retire(struct vv_deletions *deletions, uint32_t source, int64_t before,
                           vv_stamp until, unsigned lacks)
{
    pthread_rwlock_wrlock(&deletions->lock);
    struct vv_marked_source *place = vv_marked_find(deletions, source);
    size_t n = place ? place->now.n : 0;
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        const struct vv_marker *marker = &place->now.items[i];
        if (marker->to > before || marker->stamp >= until || lacks_any(marker, lacks)) {
            place->now.items[kept++] = *marker;
        }
    }
    if (kept < n) {
        deletions->n_sweeps++;
        place->now.n = kept;
        atomic_fetch_sub(&deletions->n_markers, n - kept);
        atomic_fetch_sub(&deletions->n_sources, kept == 0 ? 1 : 0);
    }
    pthread_rwlock_unlock(&deletions->lock);
    return n - kept;
}
