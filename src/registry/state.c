/* SPDX-License-Identifier: Apache-2.0 */
/* Versions of objects, and which of them is in the journal. */
#include "registry/registry_private.h"

static vv_object_state *state_of(struct vv_registry *registry, enum vv_registry_kind kind,
                                 uint32_t number)
{
    struct vv_tenant *tenant = NULL;
    struct vv_measurement *measurement = NULL;
    struct vv_metric *metric = NULL;
    struct vv_source *source = NULL;
    switch (kind) {
    case VV_REGISTRY_TENANT:
        tenant = vv_tenant_at(registry, number);
        return tenant ? &tenant->state : NULL;
    case VV_REGISTRY_MEASUREMENT:
        measurement = vv_measurement_at(registry, number);
        return measurement ? &measurement->state : NULL;
    case VV_REGISTRY_METRIC:
        metric = vv_metric_at(registry, number);
        return metric ? &metric->state : NULL;
    case VV_REGISTRY_SOURCE:
        source = vv_source_at(registry, number);
        return source ? &source->state : NULL;
    case VV_REGISTRY_TIMES:
        break;
    }
    return NULL;
}

uint64_t vv_state_version(const vv_object_state *state)
{
    return atomic_load_explicit(state, memory_order_acquire) >> 1;
}

void vv_state_change(vv_object_state *state)
{
    uint64_t version = vv_state_version(state) + 1;
    atomic_store_explicit(state, version << 1, memory_order_release);
}

void vv_state_set_settled(vv_object_state *state, uint64_t version)
{
    uint64_t unsettled = version << 1;
    /* Fails when the object has changed since, or was settled already. */
    atomic_compare_exchange_strong_explicit(state, &unsettled, unsettled | 1, memory_order_acq_rel,
                                            memory_order_relaxed);
}

static bool times_settled(struct vv_registry *registry, uint32_t number)
{
    struct vv_source *source = vv_source_at(registry, number);
    return !source || vv_times_version(source) <=
                          atomic_load_explicit(&source->times_settled, memory_order_acquire);
}

bool vv_registry_settled(struct vv_registry *registry, enum vv_registry_kind kind, uint32_t number)
{
    if (kind == VV_REGISTRY_TIMES) {
        return times_settled(registry, number);
    }
    const vv_object_state *state = state_of(registry, kind, number);
    return !state || (atomic_load_explicit(state, memory_order_acquire) & 1);
}

static void settle_times(struct vv_registry *registry, uint32_t number, uint64_t version)
{
    struct vv_source *source = vv_source_at(registry, number);
    if (!source) {
        return;
    }
    uint64_t known = atomic_load_explicit(&source->times_settled, memory_order_acquire);
    while (known < version &&
           !atomic_compare_exchange_weak_explicit(&source->times_settled, &known, version,
                                                  memory_order_acq_rel, memory_order_acquire)) {
    }
}

void vv_registry_settle(struct vv_registry *registry, enum vv_registry_kind kind, uint32_t number,
                        uint64_t version)
{
    if (kind == VV_REGISTRY_TIMES) {
        settle_times(registry, number, version);
        return;
    }
    vv_object_state *state = state_of(registry, kind, number);
    if (state) {
        vv_state_set_settled(state, version);
    }
    if (kind == VV_REGISTRY_TENANT && state) {
        vv_tenant_link(registry, number);
    }
}
