/* SPDX-License-Identifier: Apache-2.0 */
/* First and last times of sources. Any thread widens them; who sees a first time sees a last one,
 * because that is written before. */
#include "registry/registry_private.h"

static int64_t first_of(const struct vv_source *source)
{
    return atomic_load_explicit(&source->first_ns, memory_order_acquire);
}

static int64_t last_of(const struct vv_source *source)
{
    return atomic_load_explicit(&source->last_ns, memory_order_acquire);
}

bool vv_registry_source_times(struct vv_registry *registry, uint32_t number, int64_t *first_out,
                              int64_t *last_out)
{
    struct vv_source *source = vv_source_at(registry, number);
    if (!source) {
        return false;
    }
    int64_t first = first_of(source);
    if (first == INT64_MAX) {
        return false;
    }
    *first_out = first;
    *last_out = last_of(source);
    return true;
}

void vv_times_widen(struct vv_source *source, int64_t first, int64_t last)
{
    int64_t present = last_of(source);
    while (last > present && !atomic_compare_exchange_weak(&source->last_ns, &present, last)) {
    }
    present = first_of(source);
    while (first < present && !atomic_compare_exchange_weak(&source->first_ns, &present, first)) {
    }
}

void vv_registry_source_observe(struct vv_registry *registry, uint32_t number, int64_t first,
                                int64_t last)
{
    struct vv_source *source = vv_source_at(registry, number);
    if (source) {
        vv_times_widen(source, first, last);
    }
}

uint64_t vv_times_version(const struct vv_source *source)
{
    int64_t first = first_of(source);
    return first == INT64_MAX ? 0 : (uint64_t)last_of(source) - (uint64_t)first + 1;
}

int64_t vv_registry_last_time(struct vv_registry *registry, uint32_t tenant)
{
    uint32_t n = vv_registry_source_count(registry);
    int64_t latest = INT64_MIN;
    for (uint32_t i = 0; i < n; i++) {
        int64_t first;
        int64_t last;
        if (vv_registry_source_tenant(registry, i) == tenant &&
            vv_registry_source_times(registry, i, &first, &last)) {
            latest = last > latest ? last : latest;
        }
    }
    return latest;
}
