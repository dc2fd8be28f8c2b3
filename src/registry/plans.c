/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans of sources. Readers hold arrays without a lock, so an array that was shown never changes
 * and never goes; plans are added behind its end in place, and sources that have only the same
 * first plan share it.
 */
#include "registry/registry_private.h"

#define CAPACITY_MIN 4

static bool is_same_plan(const struct vv_plan *a, const struct vv_plan *b)
{
    return a->from_ns == b->from_ns && a->bucket_ns == b->bucket_ns && a->span_ns == b->span_ns &&
           a->splits == b->splits;
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

struct vv_plans vv_registry_source_plans(struct vv_registry *registry, uint32_t number)
{
    struct vv_source *source = vv_source_at(registry, number);
    const struct vv_plan_list *list =
        source ? atomic_load_explicit(&source->plans, memory_order_acquire) : NULL;
    size_t n = count_of(list);
    return (struct vv_plans){.plans = n ? list->plans : NULL, .n = n};
}

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
        list->capacity = (uint32_t)capacity;
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

static struct vv_plan_list *list_of(struct vv_registry *registry, const struct vv_plan *plans,
                                    size_t n)
{
    if (n == 1) {
        return shared_list(registry, plans);
    }
    size_t capacity = CAPACITY_MIN;
    while (capacity < n) {
        capacity *= 2;
    }
    return create_list(registry, plans, n, capacity);
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

enum vv_status vv_source_replace_plans(struct vv_registry *registry, struct vv_source *source,
                                       const struct vv_plan *plans, size_t n, bool *changed_out)
{
    *changed_out = false;
    struct vv_plan_list *list = atomic_load_explicit(&source->plans, memory_order_relaxed);
    size_t known = count_of(list);
    if (n == known && begins_with(plans, list->plans, n)) {
        return VV_OK;
    }
    if (!extend(list, known, plans, n)) {
        list = list_of(registry, plans, n);
        if (!list) {
            return VV_NO_MEMORY;
        }
        atomic_store_explicit(&source->plans, list, memory_order_release);
    }
    *changed_out = true;
    return VV_OK;
}

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

static enum vv_status learn(struct vv_registry *registry, struct vv_source *source,
                            const struct vv_plan *plans, size_t n)
{
    struct vv_plan united[VV_PLANS_MAX];
    size_t n_united = 0;
    bool changed = false;
    const struct vv_plan_list *list = atomic_load_explicit(&source->plans, memory_order_acquire);
    enum vv_status status =
        unite(list ? list->plans : NULL, count_of(list), plans, n, united, &n_united);
    if (status == VV_OK) {
        status = vv_source_replace_plans(registry, source, united, n_united, &changed);
    }
    if (changed) {
        vv_state_change(&source->state);
    }
    return status;
}

enum vv_status vv_registry_learn_plans(struct vv_registry *registry, uint32_t number,
                                       const struct vv_plan *plans, size_t n,
                                       struct vv_error *error)
{
    struct vv_source *source = vv_source_at(registry, number);
    if (!source) {
        return vv_error_set(error, VV_NOT_FOUND, "there is no such source");
    }
    enum vv_status status = vv_plans_check(plans, n);
    if (status != VV_OK) {
        return vv_error_set(error, status, "the plans are not valid");
    }
    status = vv_registry_check_room(registry, error);
    if (status != VV_OK) {
        return status;
    }
    struct vv_index *index = &vv_tenant_at(registry, source->tenant)->index;
    pthread_rwlock_wrlock(&index->lock);
    status = learn(registry, source, plans, n);
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
    status = vv_source_replace_plans(registry, source, plans, n, &changed);
    if (changed) {
        vv_state_change(&source->state);
    }
    pthread_rwlock_unlock(&index->lock);
    return status;
}
