/* SPDX-License-Identifier: Apache-2.0 */
/* The head's generations: made, cut, held by readers, dropped. */
#include "head/head_private.h"

#include <stdlib.h>

static void destroy_generation(struct vv_generation *generation)
{
    for (size_t i = 0; i < VV_HEAD_SHARDS; i++) {
        struct vv_head_shard *shard = &generation->shards[i];
        vv_arena_deinit(&shard->arena);
        free(shard->slots);
        pthread_mutex_destroy(&shard->lock);
    }
    vv_arena_deinit(&generation->shapes_arena);
    atomic_fetch_sub(&generation->head->bytes, atomic_load(&generation->bytes));
    free(generation);
}

static struct vv_generation *create_generation(struct vv_head *head)
{
    struct vv_generation *generation = calloc(1, sizeof *generation);
    if (!generation) {
        return NULL;
    }
    generation->head = head;
    atomic_init(&generation->references, 1);
    for (size_t i = 0; i < VV_HEAD_SHARDS; i++) {
        vv_invariant(pthread_mutex_init(&generation->shards[i].lock, NULL) == 0);
    }
    return generation;
}

enum vv_status vv_head_create(struct vv_head **head_out)
{
    struct vv_head *head = calloc(1, sizeof *head);
    if (!head) {
        return VV_NO_MEMORY;
    }
    head->active = head->oldest = create_generation(head);
    if (!head->active) {
        free(head);
        return VV_NO_MEMORY;
    }
    head->n_generations = 1;
    vv_invariant(pthread_mutex_init(&head->lock, NULL) == 0);
    *head_out = head;
    return VV_OK;
}

void vv_head_destroy(struct vv_head *head)
{
    if (!head) {
        return;
    }
    while (head->oldest) {
        struct vv_generation *generation = head->oldest;
        head->oldest = generation->newer;
        vv_generation_release(generation);
    }
    pthread_mutex_destroy(&head->lock);
    free(head->touched);
    free(head);
}

enum vv_status vv_head_cut(struct vv_head *head, struct vv_generation **generation_out)
{
    struct vv_generation *full = head->active;
    if (atomic_load(&full->bytes) == 0) { /* not points: what was forgotten has memory, too */
        return VV_DONE;
    }
    vv_invariant(head->n_touched == 0);
    pthread_mutex_lock(&head->lock);
    bool too_many = head->n_generations == VV_GENERATIONS_MAX;
    pthread_mutex_unlock(&head->lock);
    if (too_many) {
        return VV_OVERLOAD;
    }
    struct vv_generation *fresh = create_generation(head);
    if (!fresh) {
        return VV_NO_MEMORY;
    }
    pthread_mutex_lock(&head->lock);
    full->newer = fresh;
    head->active = fresh;
    head->n_generations++;
    pthread_mutex_unlock(&head->lock);
    *generation_out = full;
    return VV_OK;
}

void vv_head_drop(struct vv_head *head, struct vv_generation *take_generation)
{
    pthread_mutex_lock(&head->lock);
    vv_invariant(head->oldest == take_generation && head->active != take_generation);
    head->oldest = take_generation->newer;
    head->n_generations--;
    head->drops++;
    pthread_mutex_unlock(&head->lock);
    vv_generation_release(take_generation);
}

uint64_t vv_head_drops(struct vv_head *head)
{
    pthread_mutex_lock(&head->lock);
    uint64_t drops = head->drops;
    pthread_mutex_unlock(&head->lock);
    return drops;
}

size_t vv_head_hold(struct vv_head *head, struct vv_generation *held_out[VV_GENERATIONS_MAX])
{
    size_t n = 0;
    pthread_mutex_lock(&head->lock);
    for (struct vv_generation *each = head->oldest; each; each = each->newer) {
        vv_invariant(n < VV_GENERATIONS_MAX);
        atomic_fetch_add(&each->references, 1);
        held_out[n++] = each;
    }
    pthread_mutex_unlock(&head->lock);
    return n;
}

void vv_generation_release(struct vv_generation *generation)
{
    if (atomic_fetch_sub(&generation->references, 1) == 1) {
        destroy_generation(generation);
    }
}

struct vv_head_series **vv_head_slot(struct vv_head_shard *shard, uint32_t source,
                                     uint32_t measurement)
{
    uint64_t hash = ((uint64_t)source << 32 | measurement) * UINT64_C(0xD6E8FEB86659FD93);
    hash =
        (hash ^ hash >> 32) * UINT64_C(0x9E3779B97F4A7C15); /* sources are dense: mix them well */
    size_t mask = shard->n_slots - 1;
    size_t at = (size_t)(hash >> 32) & mask;
    while (shard->slots[at] &&
           (shard->slots[at]->source != source || shard->slots[at]->measurement != measurement)) {
        at = (at + 1) & mask;
    }
    return &shard->slots[at];
}

void vv_head_read_figures(struct vv_head *head, struct vv_head_figures *figures_out)
{
    struct vv_head_figures figures = {.bytes = atomic_load(&head->bytes)};
    pthread_mutex_lock(&head->lock);
    figures.active_bytes = atomic_load(&head->active->bytes);
    for (struct vv_generation *each = head->oldest; each; each = each->newer) {
        figures.points += atomic_load(&each->points);
        figures.series += atomic_load(&each->series);
        figures.generations++;
    }
    pthread_mutex_unlock(&head->lock);
    *figures_out = figures;
}
