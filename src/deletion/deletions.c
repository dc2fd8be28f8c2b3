/* SPDX-License-Identifier: Apache-2.0 */
/* All markers: places by source, preparing and publishing, asking. */
#include "deletion/private.h"

#include <stdlib.h>
#include <string.h>

enum vv_status vv_deletions_create(uint64_t markers_max, struct vv_deletions **deletions_out)
{
    struct vv_deletions *deletions = calloc(1, sizeof *deletions);
    if (!deletions) {
        return VV_NO_MEMORY;
    }
    deletions->markers_max = markers_max;
    vv_invariant(pthread_rwlock_init(&deletions->lock, NULL) == 0);
    *deletions_out = deletions;
    return VV_OK;
}

void vv_deletions_destroy(struct vv_deletions *deletions)
{
    if (!deletions) {
        return;
    }
    for (size_t page = 0; page < deletions->n_pages; page++) {
        for (size_t i = 0; deletions->pages[page] && i < VV_MARKED_PAGE; i++) {
            free(deletions->pages[page][i].now.items);
            free(deletions->pages[page][i].next.items);
        }
        free(deletions->pages[page]);
    }
    free(deletions->pages);
    free(deletions->pending);
    pthread_rwlock_destroy(&deletions->lock);
    free(deletions);
}

/* ---- places ---- */

struct vv_marked_source *vv_marked_find(const struct vv_deletions *deletions, uint32_t source)
{
    size_t page = source / VV_MARKED_PAGE;
    return page < deletions->n_pages && deletions->pages[page]
               ? &deletions->pages[page][source % VV_MARKED_PAGE]
               : NULL;
}

struct vv_marked_source *vv_marked_make(struct vv_deletions *deletions, uint32_t source)
{
    size_t page = source / VV_MARKED_PAGE;
    if (page >= deletions->n_pages) {
        struct vv_marked_source **bigger = realloc(deletions->pages, (page + 1) * sizeof *bigger);
        if (!bigger) {
            return NULL;
        }
        memset(bigger + deletions->n_pages, 0, (page + 1 - deletions->n_pages) * sizeof *bigger);
        deletions->pages = bigger;
        deletions->n_pages = page + 1;
    }
    if (!deletions->pages[page]) {
        deletions->pages[page] = calloc(VV_MARKED_PAGE, sizeof **deletions->pages);
    }
    return vv_marked_find(deletions, source);
}

void vv_marked_note_newest(struct vv_deletions *deletions, const struct vv_markers *markers)
{
    vv_stamp newest = atomic_load_explicit(&deletions->newest, memory_order_relaxed);
    for (size_t i = 0; i < markers->n; i++) {
        vv_newest_note(&deletions->hours, markers->items[i].stamp);
        newest = markers->items[i].stamp > newest ? markers->items[i].stamp : newest;
    }
    atomic_store_explicit(&deletions->newest, newest, memory_order_release);
}

void vv_marked_replace(struct vv_deletions *deletions, struct vv_marked_source *place,
                       struct vv_markers *take_markers)
{
    atomic_fetch_add(&deletions->n_markers, take_markers->n - place->now.n);
    if ((take_markers->n > 0) != (place->now.n > 0)) {
        atomic_fetch_add(&deletions->n_sources, take_markers->n > 0 ? 1 : (uint64_t)-1);
    }
    free(place->now.items);
    place->now = *take_markers;
    *take_markers = (struct vv_markers){0};
}

/* ---- orders ---- */

/* The markers that the source will have with the order: a copy. */
static enum vv_status with_order(const struct vv_marked_source *place,
                                 const struct vv_deletion_order *order, vv_stamp stamp,
                                 struct vv_markers *markers_out)
{
    const struct vv_markers *before = place && place->is_pending ? &place->next
                                      : place                    ? &place->now
                                                                 : NULL;
    struct vv_marker marker = {
        .from = order->from, .to = order->to, .stamp = stamp, .scope = order->scope};
    size_t n = order->scope == VV_DELETION_SOURCE ? 1 : order->n_numbers;
    *markers_out = (struct vv_markers){0};
    enum vv_status status = vv_markers_reserve(markers_out, (before ? before->n : 0) + n);
    if (status == VV_OK && before && before->n > 0) {
        memcpy(markers_out->items, before->items, before->n * sizeof *before->items);
        markers_out->n = before->n;
    }
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        marker.number = order->scope == VV_DELETION_SOURCE ? 0 : order->numbers[i];
        status = vv_markers_add(markers_out, &marker);
    }
    return status;
}

static enum vv_status check_source(struct vv_deletions *deletions,
                                   const struct vv_deletion_order *order, uint32_t source,
                                   uint64_t *total, struct vv_error *error)
{
    struct vv_markers markers;
    const struct vv_marked_source *place = vv_marked_find(deletions, source);
    enum vv_status status = with_order(place, order, UINT64_MAX, &markers);
    *total += markers.n - (place ? place->now.n : 0);
    free(markers.items);
    if (status != VV_OK) {
        return vv_error_set(error, status, "out of memory: try again later");
    }
    if (markers.n > VV_MARKERS_OF_SOURCE_MAX) {
        return vv_error_set(error, VV_TOO_LARGE,
                            "a source would have %zu markers of deletion, at most %d are kept: "
                            "delete by measurement instead of by metric, or one longer range "
                            "that covers earlier ones",
                            markers.n, VV_MARKERS_OF_SOURCE_MAX);
    }
    return VV_OK;
}

enum vv_status vv_deletions_check(struct vv_deletions *deletions,
                                  const struct vv_deletion_order *order, struct vv_error *error)
{
    uint64_t total = atomic_load(&deletions->n_markers);
    enum vv_status status = VV_OK;
    if (order->n_numbers > VV_MARKERS_OF_SOURCE_MAX && order->n_sources > 0) {
        return vv_error_set(error, VV_TOO_LARGE,
                            "%zu metrics are asked for, at most %d markers of deletion are kept "
                            "for a source: delete by measurement, or all of the sources",
                            order->n_numbers, VV_MARKERS_OF_SOURCE_MAX);
    }
    pthread_rwlock_rdlock(&deletions->lock);
    for (size_t i = 0; i < order->n_sources && status == VV_OK; i++) {
        status = check_source(deletions, order, order->sources[i], &total, error);
    }
    pthread_rwlock_unlock(&deletions->lock);
    if (status == VV_OK && total > deletions->markers_max) {
        status =
            vv_error_set(error, VV_TOO_LARGE,
                         "there would be %llu markers of deletion, at most %llu are kept "
                         "(deletion.markers_max): narrow it with source or tag, or raise the "
                         "setting",
                         (unsigned long long)total, (unsigned long long)deletions->markers_max);
    }
    return status;
}

static enum vv_status reserve_pending(struct vv_deletions *deletions, size_t more)
{
    size_t needed = deletions->n_pending + more;
    if (needed > deletions->pending_capacity) {
        uint32_t *bigger = realloc(deletions->pending, needed * sizeof *bigger);
        if (!bigger) {
            return VV_NO_MEMORY;
        }
        deletions->pending = bigger;
        deletions->pending_capacity = needed;
    }
    return VV_OK;
}

static void set_next(struct vv_deletions *deletions, uint32_t source, struct vv_markers *take_next)
{
    struct vv_marked_source *place = vv_marked_find(deletions, source);
    if (!place->is_pending) {
        deletions->pending[deletions->n_pending++] = source;
    }
    free(place->next.items);
    place->next = *take_next;
    place->is_pending = true;
}

/* First all that can fail. */
static enum vv_status prepare(struct vv_deletions *deletions, const struct vv_deletion_order *order,
                              vv_stamp stamp, struct vv_markers *made)
{
    enum vv_status status = reserve_pending(deletions, order->n_sources);
    for (size_t i = 0; i < order->n_sources && status == VV_OK; i++) {
        struct vv_marked_source *place = vv_marked_make(deletions, order->sources[i]);
        status = place ? with_order(place, order, stamp, &made[i]) : VV_NO_MEMORY;
    }
    for (size_t i = 0; i < order->n_sources && status == VV_OK; i++) {
        set_next(deletions, order->sources[i], &made[i]);
        made[i] = (struct vv_markers){0};
    }
    return status;
}

enum vv_status vv_deletions_prepare(struct vv_deletions *deletions,
                                    const struct vv_deletion_order *order, vv_stamp stamp)
{
    struct vv_markers *made = calloc(order->n_sources ? order->n_sources : 1, sizeof *made);
    if (!made) {
        return VV_NO_MEMORY;
    }
    pthread_rwlock_wrlock(&deletions->lock);
    enum vv_status status = prepare(deletions, order, stamp, made);
    pthread_rwlock_unlock(&deletions->lock);
    for (size_t i = 0; i < order->n_sources; i++) {
        free(made[i].items);
    }
    free(made);
    return status;
}

static void end_pending(struct vv_deletions *deletions, bool holds)
{
    if (deletions->n_pending == 0) { /* the committer's own: nobody else changes it */
        return;
    }
    pthread_rwlock_wrlock(&deletions->lock);
    for (size_t i = 0; i < deletions->n_pending; i++) {
        struct vv_marked_source *place = vv_marked_find(deletions, deletions->pending[i]);
        if (holds) {
            vv_marked_replace(deletions, place, &place->next);
        }
        free(place->next.items);
        place->next = (struct vv_markers){0};
        place->is_pending = false;
    }
    deletions->n_pending = 0;
    pthread_rwlock_unlock(&deletions->lock);
}

void vv_deletions_publish(struct vv_deletions *deletions)
{
    end_pending(deletions, true);
}

void vv_deletions_forget(struct vv_deletions *deletions)
{
    end_pending(deletions, false);
}

/* ---- asking ---- */

static bool is_none(const struct vv_deletions *deletions)
{
    return atomic_load_explicit(&deletions->n_sources, memory_order_acquire) == 0;
}

bool vv_deletions_has(struct vv_deletions *deletions, uint32_t source)
{
    if (is_none(deletions)) {
        return false;
    }
    pthread_rwlock_rdlock(&deletions->lock);
    const struct vv_marked_source *place = vv_marked_find(deletions, source);
    bool has = place && place->now.n > 0;
    pthread_rwlock_unlock(&deletions->lock);
    return has;
}

static bool concerns(const struct vv_marker *marker, uint32_t measurement)
{
    return marker->scope != VV_DELETION_MEASUREMENT || marker->number == measurement;
}

bool vv_deletions_overlap(struct vv_deletions *deletions, uint32_t source, uint32_t measurement,
                          int64_t from, int64_t to)
{
    bool overlap = false;
    if (is_none(deletions)) {
        return false;
    }
    pthread_rwlock_rdlock(&deletions->lock);
    const struct vv_marked_source *place = vv_marked_find(deletions, source);
    for (size_t i = 0; place && i < place->now.n && !overlap; i++) {
        const struct vv_marker *marker = &place->now.items[i];
        overlap = !marker->is_swept && concerns(marker, measurement) && marker->from < to &&
                  marker->to > from;
    }
    pthread_rwlock_unlock(&deletions->lock);
    return overlap;
}

static enum vv_status copy_list(const struct vv_markers *markers, uint32_t measurement,
                                struct vv_deletion_list *list_out)
{
    list_out->items = calloc(markers->n, sizeof *list_out->items);
    if (!list_out->items) {
        return VV_NO_MEMORY;
    }
    for (size_t i = 0; i < markers->n; i++) {
        const struct vv_marker *marker = &markers->items[i];
        if (concerns(marker, measurement)) {
            bool is_metric = marker->scope == VV_DELETION_METRIC;
            list_out->items[list_out->n++] = (struct vv_deletion){
                .from = marker->from,
                .to = marker->to,
                .stamp = marker->stamp,
                .metric = is_metric ? marker->number : VV_DELETION_ALL_METRICS,
            };
        }
    }
    return VV_OK;
}

enum vv_status vv_deletions_of(struct vv_deletions *deletions, uint32_t source,
                               uint32_t measurement, struct vv_deletion_list *list_out)
{
    *list_out = (struct vv_deletion_list){0};
    if (is_none(deletions)) {
        return VV_OK;
    }
    pthread_rwlock_rdlock(&deletions->lock);
    const struct vv_marked_source *place = vv_marked_find(deletions, source);
    enum vv_status status =
        place && place->now.n > 0 ? copy_list(&place->now, measurement, list_out) : VV_OK;
    pthread_rwlock_unlock(&deletions->lock);
    return status;
}

enum vv_status vv_deletions_begin_merge(struct vv_deletions *deletions, uint32_t source,
                                        uint32_t measurement, struct vv_merge *merge,
                                        struct vv_deletion_list *list)
{
    vv_merge_reset(merge, INT64_MIN, INT64_MAX);
    vv_deletion_list_deinit(list);
    vv_merge_set_deletions(merge, list);
    return deletions ? vv_deletions_of(deletions, source, measurement, list) : VV_OK;
}

void vv_deletions_read_figures(struct vv_deletions *deletions,
                               struct vv_deletions_figures *figures_out)
{
    figures_out->sources = atomic_load(&deletions->n_sources);
    figures_out->markers = atomic_load(&deletions->n_markers);
}
