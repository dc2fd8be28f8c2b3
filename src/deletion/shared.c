/* SPDX-License-Identifier: Apache-2.0 */
/* Markers that nodes of a shared store tell each other. */
#include "deletion/private.h"

#include <stdlib.h>
#include <string.h>

/* ---- the newest ---- */

#define HOUR_US (INT64_C(3600) * 1000000)

static int64_t hour_of(vv_stamp stamp)
{
    return (int64_t)vv_stamp_clock_us(stamp) / HOUR_US;
}

void vv_newest_note(struct vv_newest *newest, vv_stamp stamp)
{
    size_t at = 0;
    while (at < newest->n && hour_of(newest->stamps[at]) > hour_of(stamp)) {
        at++;
    }
    if (at < newest->n && hour_of(newest->stamps[at]) == hour_of(stamp)) {
        newest->stamps[at] = stamp > newest->stamps[at] ? stamp : newest->stamps[at];
        return;
    }
    if (at == VV_NEWEST_HOURS) {
        return;
    }
    newest->n += newest->n < VV_NEWEST_HOURS;
    memmove(newest->stamps + at + 1, newest->stamps + at,
            (newest->n - at - 1) * sizeof *newest->stamps);
    newest->stamps[at] = stamp;
}

vv_stamp vv_deletions_newest(struct vv_deletions *deletions, int64_t until_ns)
{
    int64_t until = until_ns / 1000 / HOUR_US;
    vv_stamp newest = atomic_load_explicit(&deletions->newest, memory_order_acquire);
    if (hour_of(newest) <= until) {
        return newest;
    }
    vv_stamp found = 0;
    pthread_rwlock_rdlock(&deletions->lock);
    for (size_t i = deletions->hours.n; i > 0 && hour_of(deletions->hours.stamps[i - 1]) <= until;
         i--) {
        found = deletions->hours.stamps[i - 1];
    }
    pthread_rwlock_unlock(&deletions->lock);
    return found;
}

/* ---- learning ---- */

/* A copy of the list with the learnt ones. */
static enum vv_status with_learnt(const struct vv_markers *list, const struct vv_marker *markers,
                                  size_t n, struct vv_markers *out)
{
    *out = (struct vv_markers){0};
    enum vv_status status = vv_markers_reserve(out, list->n + n);
    if (status == VV_OK && list->n > 0) {
        memcpy(out->items, list->items, list->n * sizeof *list->items);
        out->n = list->n;
    }
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        status = vv_markers_add(out, &markers[i]);
    }
    return status;
}

/* An order that is prepared meanwhile gets them, too: what it publishes takes the place of all. */
static enum vv_status learn(struct vv_deletions *deletions, uint32_t source,
                            const struct vv_marker *markers, size_t n)
{
    struct vv_markers now = {0};
    struct vv_markers next = {0};
    struct vv_marked_source *place = vv_marked_make(deletions, source);
    enum vv_status status = place ? with_learnt(&place->now, markers, n, &now) : VV_NO_MEMORY;
    if (status == VV_OK && place->is_pending) {
        status = with_learnt(&place->next, markers, n, &next);
    }
    if (status == VV_OK) {
        vv_marked_note_newest(deletions, &now);
        vv_marked_replace(deletions, place, &now);
        if (place->is_pending) {
            free(place->next.items);
            place->next = next;
            next = (struct vv_markers){0};
        }
    }
    free(now.items);
    free(next.items);
    return status;
}

enum vv_status vv_deletions_learn(struct vv_deletions *deletions, uint32_t source,
                                  const struct vv_marker *markers, size_t n)
{
    pthread_rwlock_wrlock(&deletions->lock);
    enum vv_status status = n > 0 ? learn(deletions, source, markers, n) : VV_OK;
    deletions->n_sweeps += n > 0; /* others may have swept them */
    pthread_rwlock_unlock(&deletions->lock);
    return status;
}

static void note_told(struct vv_marker *marker, const struct vv_marker *told)
{
    bool is_same = !marker->is_swept || told->is_swept;
    marker->is_told |= is_same && vv_marker_is_within(marker, told);
}

void vv_deletions_note_told(struct vv_deletions *deletions, uint32_t source,
                            const struct vv_marker *markers, size_t n)
{
    pthread_rwlock_wrlock(&deletions->lock);
    struct vv_marked_source *place = vv_marked_find(deletions, source);
    for (size_t i = 0; place && i < place->now.n; i++) {
        for (size_t j = 0; j < n; j++) {
            note_told(&place->now.items[i], &markers[j]);
        }
    }
    pthread_rwlock_unlock(&deletions->lock);
}

void vv_deletions_note_untold(struct vv_deletions *deletions, uint32_t source)
{
    pthread_rwlock_wrlock(&deletions->lock);
    struct vv_marked_source *place = vv_marked_find(deletions, source);
    for (size_t i = 0; place && i < place->now.n; i++) {
        place->now.items[i].is_told = false;
    }
    pthread_rwlock_unlock(&deletions->lock);
}
