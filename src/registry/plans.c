/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans of sources. Readers hold arrays without a lock, so an array that was shown never changes
 * and never goes; plans are added behind its end in place, and sources that have only the same
 * first plan share it. A source's slot for the own region is in the source; those for another one
 * are objects of that region by the numbers of sources, made where there is any.
 */
#include "registry/registry_private.h"

#include <stdlib.h>

#define CAPACITY_MIN 4

static bool is_same_plan(const struct vv_plan *a, const struct vv_plan *b)
{
    return a->from_ns == b->from_ns && vv_plan_divides_alike(a, b);
}

static bool begins_with(const struct vv_plan *plans, const struct vv_plan *start, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!is_same_plan(&plans[i], &start[i])) {
            return false;
        }
    }
    return true;
}

static size_t count_of(const struct vv_plan_list *list)
{
    return list ? atomic_load_explicit(&list->n, memory_order_acquire) : 0;
}

/* ---- slots ---- */

static struct vv_objects *objects_of(struct vv_registry *registry, uint8_t region)
{
    vv_invariant(region > 0 && region < VV_REGIONS_MAX);
    return atomic_load_explicit(&registry->region_plans[region], memory_order_acquire);
}

/* NULL when memory is out. */
static struct vv_objects *make_objects(struct vv_registry *registry, uint8_t region)
{
    pthread_mutex_lock(&registry->sources.lock);
    struct vv_objects *objects = objects_of(registry, region);
    if (!objects) {
        objects = malloc(sizeof *objects);
        if (objects && vv_objects_init(objects, sizeof(vv_plan_slot), registry->sources.chunk_bits,
                                       UINT32_MAX) != VV_OK) {
            free(objects);
            objects = NULL;
        }
        atomic_store_explicit(&registry->region_plans[region], objects, memory_order_release);
        if (objects && region >= vv_registry_plan_regions(registry)) {
            atomic_store_explicit(&registry->plan_regions, region + 1, memory_order_release);
        }
    }
    pthread_mutex_unlock(&registry->sources.lock);
    return objects;
}

/* Of a region; NULL where there is none (yet). */
static vv_plan_slot *find_slot(struct vv_registry *registry, uint32_t number, uint8_t region)
{
    if (region == 0) {
        struct vv_source *source = vv_source_at(registry, number);
        return source ? &source->plans : NULL;
    }
    const struct vv_objects *objects = objects_of(registry, region);
    return objects ? vv_objects_at(objects, number) : NULL;
}

/* Of a source; NULL when memory is out. */
static vv_plan_slot *make_slot(struct vv_registry *registry, uint32_t number, uint8_t region)
{
    vv_plan_slot *slot = find_slot(registry, number, region);
    struct vv_objects *objects = slot ? NULL : make_objects(registry, region);
    if (objects) {
        pthread_mutex_lock(&objects->lock);
        slot = vv_objects_room(objects, number);
        pthread_mutex_unlock(&objects->lock);
    }
    return slot;
}

void vv_plans_deinit(struct vv_registry *registry)
{
    for (uint8_t region = 1; region < VV_REGIONS_MAX; region++) {
        struct vv_objects *objects = objects_of(registry, region);
        if (objects) {
            vv_objects_deinit(objects);
            free(objects);
        }
    }
}

size_t vv_plans_bytes(struct vv_registry *registry)
{
    size_t bytes = 0;
    for (uint8_t region = 1; region < VV_REGIONS_MAX; region++) {
        struct vv_objects *objects = objects_of(registry, region);
        bytes += objects ? atomic_load_explicit(&objects->bytes, memory_order_relaxed) : 0;
    }
    return bytes;
}

/* ---- reading ---- */

struct vv_plans vv_registry_source_plans_in(struct vv_registry *registry, uint32_t number,
                                            uint8_t region)
{
    vv_plan_slot *slot = find_slot(registry, number, region);
    const struct vv_plan_list *list =
        slot ? atomic_load_explicit(slot, memory_order_acquire) : NULL;
    size_t n = count_of(list);
    return (struct vv_plans){
        .plans = n ? list->plans : NULL,
        .n = n,
        .is_moving = n && atomic_load_explicit(&list->is_moving, memory_order_acquire),
    };
}

bool vv_registry_plans_hold(struct vv_registry *registry, uint32_t source,
                            const struct vv_plans *plans)
{
    struct vv_plans now = vv_registry_source_plans(registry, source);
    /* Not by what they are: they may have moved away and back. Each move makes another array. */
    bool same = now.plans == plans->plans || plans->n == 0;
    return same && !plans->is_moving;
}

uint64_t vv_registry_plan_moves(const struct vv_registry *registry)
{
    return atomic_load_explicit(&registry->plan_moves, memory_order_acquire);
}

struct vv_plans vv_registry_source_plans(struct vv_registry *registry, uint32_t number)
{
    return vv_registry_source_plans_in(registry, number, 0);
}

uint8_t vv_registry_plan_regions(struct vv_registry *registry)
{
    uint8_t regions = atomic_load_explicit(&registry->plan_regions, memory_order_acquire);
    return regions ? regions : 1;
}

/* ---- replacing ---- */

enum vv_status vv_plans_check(const struct vv_plan *plans, size_t n)
{
    if (n > VV_PLANS_MAX) {
        return VV_TOO_LARGE;
    }
    if (n == 0 || plans[0].from_ns != VV_TIME_MIN) {
        return VV_INVALID;
    }
    for (size_t i = 0; i < n; i++) {
        bool ascends = i == 0 || plans[i - 1].from_ns < plans[i].from_ns;
        if (!ascends || vv_plan_check(&plans[i], NULL) != VV_OK) {
            return VV_INVALID;
        }
    }
    return VV_OK;
}

static struct vv_plan_list *create_list(struct vv_registry *registry, const struct vv_plan *plans,
                                        size_t n, size_t capacity)
{
    struct vv_plan_list *list =
        vv_registry_keep(registry, sizeof *list + capacity * sizeof *list->plans);
    if (list) {
        list->capacity = (uint16_t)capacity;
        atomic_init(&list->is_moving, false);
        atomic_init(&list->n, (uint32_t)n);
        memcpy(list->plans, plans, n * sizeof *plans);
    }
    return list;
}

/* A list of one plan that other sources have too; NULL when memory is out. */
static struct vv_plan_list *shared_list(struct vv_registry *registry, const struct vv_plan *plan)
{
    struct vv_plan_list *list = NULL;
    pthread_mutex_lock(&registry->sources.lock);
    for (size_t i = 0; i < registry->n_shared_plans && !list; i++) {
        if (is_same_plan(&registry->shared_plans[i]->plans[0], plan)) {
            list = registry->shared_plans[i];
        }
    }
    if (!list) {
        list = create_list(registry, plan, 1, 1);
        if (list && registry->n_shared_plans < VV_SHARED_PLANS_MAX) {
            registry->shared_plans[registry->n_shared_plans++] = list;
        }
    }
    pthread_mutex_unlock(&registry->sources.lock);
    return list;
}

static struct vv_plan_list *own_list(struct vv_registry *registry, const struct vv_plan *plans,
                                     size_t n)
{
    size_t capacity = CAPACITY_MIN;
    while (capacity < n) {
        capacity *= 2;
    }
    return create_list(registry, plans, n, capacity);
}

/* A list that takes the place of another one, of which only the plans may be different. */
static struct vv_plan_list *list_after(struct vv_registry *registry,
                                       const struct vv_plan_list *before,
                                       const struct vv_plan *plans, size_t n)
{
    bool is_moving = before && atomic_load_explicit(&before->is_moving, memory_order_relaxed);
    if (n == 1 && !is_moving) {
        return shared_list(registry, plans);
    }
    struct vv_plan_list *list = own_list(registry, plans, n);
    if (list) {
        atomic_init(&list->is_moving, is_moving);
    }
    return list;
}

/* Adds what is new behind the end, when all before is as it was and there is room. */
static bool extend(struct vv_plan_list *list, size_t known, const struct vv_plan *plans, size_t n)
{
    if (!list || n < known || n > list->capacity || !begins_with(plans, list->plans, known)) {
        return false;
    }
    memcpy(&list->plans[known], &plans[known], (n - known) * sizeof *plans);
    atomic_store_explicit(&list->n, (uint32_t)n, memory_order_release);
    return true;
}

enum vv_status vv_plans_replace(struct vv_registry *registry, vv_plan_slot *slot,
                                const struct vv_plan *plans, size_t n, bool *changed_out)
{
    *changed_out = false;
    struct vv_plan_list *list = atomic_load_explicit(slot, memory_order_relaxed);
    size_t known = count_of(list);
    if (n == known && begins_with(plans, list->plans, n)) {
        return VV_OK;
    }
    if (!extend(list, known, plans, n)) {
        list = list_after(registry, list, plans, n);
        if (!list) {
            return VV_NO_MEMORY;
        }
        atomic_store_explicit(slot, list, memory_order_release);
    }
    *changed_out = true;
    return VV_OK;
}

/* ---- learning ---- */

/* Both histories in one, ascending. VV_CORRUPT when they contradict each other, VV_TOO_LARGE. */
static enum vv_status unite(const struct vv_plan *known, size_t n_known,
                            const struct vv_plan *plans, size_t n, struct vv_plan out[VV_PLANS_MAX],
                            size_t *n_out)
{
    size_t at = 0;
    size_t united = 0;
    for (size_t i = 0; i < n || at < n_known;) {
        if (united == VV_PLANS_MAX) {
            return VV_TOO_LARGE;
        }
        int64_t known_from = at < n_known ? known[at].from_ns : INT64_MAX;
        int64_t from = i < n ? plans[i].from_ns : INT64_MAX;
        if (known_from == from && !is_same_plan(&known[at], &plans[i])) {
            return VV_CORRUPT;
        }
        out[united++] = from < known_from ? plans[i] : known[at];
        at += known_from <= from;
        i += from <= known_from;
    }
    *n_out = united;
    return VV_OK;
}

static enum vv_status learn(struct vv_registry *registry, uint32_t number, uint8_t region,
                            const struct vv_plan *plans, size_t n)
{
    struct vv_plan united[VV_PLANS_MAX];
    size_t n_united = 0;
    bool changed = false;
    struct vv_source *source = vv_source_at(registry, number);
    vv_plan_slot *slot = make_slot(registry, number, region);
    if (!slot) {
        return VV_NO_MEMORY;
    }
    const struct vv_plan_list *list = atomic_load_explicit(slot, memory_order_acquire);
    enum vv_status status =
        unite(list ? list->plans : NULL, count_of(list), plans, n, united, &n_united);
    if (status == VV_OK) {
        status = vv_plans_replace(registry, slot, united, n_united, &changed);
    }
    if (changed && region == 0) {
        vv_state_change(&source->state);
    }
    return status;
}

enum vv_status vv_registry_learn_plans(struct vv_registry *registry, uint32_t number,
                                       uint8_t region, const struct vv_plan *plans, size_t n,
                                       struct vv_error *error)
{
    struct vv_source *source = vv_source_at(registry, number);
    if (!source) {
        return vv_error_set(error, VV_NOT_FOUND, "there is no such source");
    }
    enum vv_status status = region < VV_REGIONS_MAX ? vv_plans_check(plans, n) : VV_INVALID;
    if (status != VV_OK) {
        return vv_error_set(error, status, "the plans are not valid");
    }
    status = vv_registry_check_room(registry, error);
    if (status != VV_OK) {
        return status;
    }
    struct vv_index *index = &vv_tenant_at(registry, source->tenant)->index;
    pthread_rwlock_wrlock(&index->lock);
    status = learn(registry, number, region, plans, n);
    pthread_rwlock_unlock(&index->lock);
    if (status == VV_CORRUPT) {
        return vv_error_set(error, status,
                            "two nodes have different plans from one time on: the known one stays");
    }
    return status == VV_OK ? VV_OK
                           : vv_error_set(error, status, "the source's plans do not fit: %s",
                                          vv_status_name(status));
}

enum vv_status vv_registry_source_set_plans(struct vv_registry *registry, uint32_t number,
                                            const struct vv_plan *plans, size_t n)
{
    struct vv_source *source = vv_source_at(registry, number);
    if (!source) {
        return VV_INVALID;
    }
    enum vv_status status = vv_plans_check(plans, n);
    if (status == VV_OK) {
        status = vv_registry_check_room(registry, NULL);
    }
    if (status != VV_OK) {
        return status;
    }
    struct vv_index *index = &vv_tenant_at(registry, source->tenant)->index;
    bool changed = false;
    pthread_rwlock_wrlock(&index->lock);
    status = vv_plans_replace(registry, &source->plans, plans, n, &changed);
    if (changed) {
        vv_state_change(&source->state);
    }
    pthread_rwlock_unlock(&index->lock);
    return status;
}

/* ---- moving ---- */

static void count_move(struct vv_registry *registry)
{
    atomic_fetch_add_explicit(&registry->plan_moves, 1, memory_order_acq_rel);
}

static enum vv_status begin_move(struct vv_registry *registry, struct vv_source *source,
                                 const struct vv_plan *first)
{
    const struct vv_plan_list *before = atomic_load_explicit(&source->plans, memory_order_acquire);
    struct vv_plan plans[VV_PLANS_MAX];
    size_t n = count_of(before);
    if (n > 0) {
        memcpy(plans, before->plans, n * sizeof *plans);
    }
    plans[0] = *first;
    struct vv_plan_list *list = own_list(registry, plans, n > 0 ? n : 1);
    if (!list) {
        return VV_NO_MEMORY;
    }
    atomic_init(&list->is_moving, true);
    atomic_store_explicit(&source->plans, list, memory_order_release);
    vv_state_change(&source->state);
    return VV_OK;
}

enum vv_status vv_registry_begin_move(struct vv_registry *registry, uint32_t number,
                                      const struct vv_plan *first, struct vv_error *error)
{
    struct vv_source *source = vv_source_at(registry, number);
    if (!source) {
        return vv_error_set(error, VV_NOT_FOUND, "there is no such source");
    }
    if (vv_plans_check(first, 1) != VV_OK) {
        return vv_error_set(error, VV_INVALID, "the plan is not a valid first one");
    }
    enum vv_status status = vv_registry_check_room(registry, error);
    if (status != VV_OK) {
        return status;
    }
    struct vv_index *index = &vv_tenant_at(registry, source->tenant)->index;
    pthread_rwlock_wrlock(&index->lock);
    status = begin_move(registry, source, first);
    pthread_rwlock_unlock(&index->lock);
    count_move(registry);
    return status == VV_OK ? VV_OK
                           : vv_error_set(error, status, "out of memory while placing a source");
}

void vv_registry_end_move(struct vv_registry *registry, uint32_t number)
{
    struct vv_source *source = vv_source_at(registry, number);
    if (!source) {
        return;
    }
    struct vv_index *index = &vv_tenant_at(registry, source->tenant)->index;
    pthread_rwlock_wrlock(&index->lock);
    struct vv_plan_list *list = atomic_load_explicit(&source->plans, memory_order_acquire);
    bool is_moving = list && atomic_load_explicit(&list->is_moving, memory_order_relaxed);
    count_move(registry); /* before anybody goes on with what was asked for meanwhile */
    if (is_moving) {      /* never a list that sources share */
        atomic_store_explicit(&list->is_moving, false, memory_order_release);
    }
    pthread_rwlock_unlock(&index->lock);
}
