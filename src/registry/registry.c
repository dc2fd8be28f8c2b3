/* SPDX-License-Identifier: Apache-2.0 */
/* The registry's life, its memory and its figures. */
#include "registry/registry_private.h"

#include <stdlib.h>

#define TENANT_CHUNK_BITS 6
#define METRIC_CHUNK_BITS 9
#define SOURCE_CHUNK_BITS 13

_Static_assert(VV_TENANTS_LIMIT == (uint64_t)VV_OBJECT_CHUNKS << TENANT_CHUNK_BITS, "all fit");
_Static_assert(VV_METRICS_LIMIT == (uint64_t)VV_OBJECT_CHUNKS << METRIC_CHUNK_BITS, "all fit");
_Static_assert(VV_SOURCES_LIMIT == (uint64_t)VV_OBJECT_CHUNKS << SOURCE_CHUNK_BITS, "all fit");

#define BYTES_BASE       ((size_t)64 << 20)
#define BYTES_PER_SOURCE ((size_t)1024)
#define HISTORY_SHARE    4

static enum vv_status init_objects(struct vv_registry *registry,
                                   const struct vv_registry_options *options)
{
    enum vv_status status = vv_objects_init(&registry->tenants, sizeof(struct vv_tenant),
                                            TENANT_CHUNK_BITS, options->tenants_max);
    if (status == VV_OK) {
        status = vv_objects_init(&registry->measurements, sizeof(struct vv_measurement),
                                 METRIC_CHUNK_BITS, options->metrics_max);
    }
    if (status == VV_OK) {
        status = vv_objects_init(&registry->metrics, sizeof(struct vv_metric), METRIC_CHUNK_BITS,
                                 options->metrics_max);
    }
    if (status == VV_OK) {
        status = vv_objects_init(&registry->sources, sizeof(struct vv_source), SOURCE_CHUNK_BITS,
                                 options->sources_max);
    }
    return status;
}

static enum vv_status init(struct vv_registry *registry, const struct vv_registry_options *options)
{
    if (options->id_tag && options->id_tag[0]) {
        struct vv_str id_tag = vv_str_of(options->id_tag);
        registry->id_tag = (struct vv_str){vv_str_duplicate(id_tag), id_tag.size};
        if (!registry->id_tag.data) {
            return VV_NO_MEMORY;
        }
    }
    registry->bytes_max = options->bytes_max
                              ? options->bytes_max
                              : BYTES_BASE + BYTES_PER_SOURCE * (size_t)options->sources_max;
    registry->history_bytes_max = registry->bytes_max / HISTORY_SHARE;
    registry->retention_ns = options->retention_ns;
    registry->late = options->late;
    registry->has_spaces = options->has_spaces;
    enum vv_status status = vv_hash_secret(registry->secret);
    if (status == VV_OK) {
        status = init_objects(registry, options);
    }
    if (status == VV_OK) {
        status = vv_series_cache_create(options->cache_bytes, &registry->series);
    }
    return status;
}

enum vv_status vv_registry_create(const struct vv_registry_options *options,
                                  struct vv_registry **registry_out)
{
    struct vv_registry *registry = calloc(1, sizeof *registry);
    if (!registry) {
        return VV_NO_MEMORY;
    }
    pthread_mutex_init(&registry->texts_lock, NULL);
    vv_registry_note_held(registry, INT64_MAX / 2); /* that is not known */
    enum vv_status status = init(registry, options);
    if (status != VV_OK) {
        vv_registry_destroy(registry);
        return status;
    }
    *registry_out = registry;
    return VV_OK;
}

static void destroy_versions(struct vv_registry *registry)
{
    for (uint32_t i = 0; i < vv_objects_end(&registry->sources); i++) {
        struct vv_source *source = vv_source_at(registry, i);
        struct vv_tags *tags = source ? source->tags : NULL;
        while (tags) {
            struct vv_tags *older = tags->older;
            free(tags);
            tags = older;
        }
    }
}

void vv_registry_destroy(struct vv_registry *registry)
{
    if (!registry) {
        return;
    }
    if (registry->sources.chunks) {
        destroy_versions(registry);
        for (uint32_t i = 0; i < vv_objects_end(&registry->tenants); i++) {
            struct vv_tenant *tenant = vv_tenant_at(registry, i);
            if (tenant) {
                vv_tenant_deinit(registry, tenant);
            }
        }
    }
    vv_plans_deinit(registry);
    vv_objects_deinit(&registry->tenants);
    vv_objects_deinit(&registry->measurements);
    vv_objects_deinit(&registry->metrics);
    vv_objects_deinit(&registry->sources);
    vv_names_deinit(&registry->tenant_names);
    vv_names_deinit(&registry->measurement_names);
    vv_names_deinit(&registry->metric_names);
    vv_names_deinit(&registry->metric_fields);
    vv_series_cache_destroy(registry->series);
    vv_arena_deinit(&registry->texts);
    pthread_mutex_destroy(&registry->texts_lock);
    free((char *)registry->id_tag.data);
    free(registry);
}

/* ---- memory ---- */

void vv_registry_charge(struct vv_registry *registry, size_t bytes)
{
    atomic_fetch_add_explicit(&registry->bytes, bytes, memory_order_relaxed);
}

void vv_registry_discharge(struct vv_registry *registry, size_t bytes)
{
    atomic_fetch_sub_explicit(&registry->bytes, bytes, memory_order_relaxed);
}

void *vv_registry_alloc(struct vv_registry *registry, size_t size)
{
    void *memory = malloc(size);
    if (memory) {
        vv_registry_charge(registry, size);
    }
    return memory;
}

void vv_registry_free(struct vv_registry *registry, void *memory, size_t size)
{
    if (memory) {
        free(memory);
        vv_registry_discharge(registry, size);
    }
}

static size_t object_bytes(const struct vv_objects *objects)
{
    return atomic_load_explicit(&objects->bytes, memory_order_relaxed);
}

static size_t name_bytes(const struct vv_names *names)
{
    return atomic_load_explicit(&names->bytes, memory_order_relaxed);
}

static size_t bytes_held(struct vv_registry *registry)
{
    return atomic_load_explicit(&registry->bytes, memory_order_relaxed) +
           object_bytes(&registry->tenants) + object_bytes(&registry->measurements) +
           object_bytes(&registry->metrics) + object_bytes(&registry->sources) +
           name_bytes(&registry->tenant_names) + name_bytes(&registry->measurement_names) +
           name_bytes(&registry->metric_names) + name_bytes(&registry->metric_fields) +
           vv_plans_bytes(registry);
}

enum vv_status vv_registry_check_room(struct vv_registry *registry, struct vv_error *error)
{
    if (bytes_held(registry) < registry->bytes_max) {
        return VV_OK;
    }
    return vv_error_set(error, VV_TOO_LARGE,
                        "the names and tags of sources and metrics have reached their limit of %zu "
                        "bytes: raise it, or send fewer different tags",
                        registry->bytes_max);
}

void *vv_registry_keep(struct vv_registry *registry, size_t size)
{
    pthread_mutex_lock(&registry->texts_lock);
    size_t before = registry->texts.bytes;
    void *memory = vv_arena_alloc(&registry->texts, size);
    vv_registry_charge(registry, registry->texts.bytes - before);
    pthread_mutex_unlock(&registry->texts_lock);
    return memory;
}

struct vv_text *vv_registry_keep_text(struct vv_registry *registry, struct vv_str text)
{
    struct vv_text *kept = vv_registry_keep(registry, sizeof *kept + text.size);
    if (kept) {
        kept->size = (uint32_t)text.size;
        memcpy(kept->data, text.data, text.size);
    }
    return kept;
}

uint64_t vv_registry_hash(const struct vv_registry *registry, uint32_t owner, struct vv_str text)
{
    return vv_hash(registry->secret, owner, text);
}

/* ---- stamps ---- */

void vv_registry_share(struct vv_registry *registry, vv_stamp (*stamp)(void *context),
                       void *context)
{
    registry->stamp = stamp;
    registry->stamp_context = context;
}

bool vv_registry_is_shared(const struct vv_registry *registry)
{
    return registry->stamp != NULL;
}

vv_stamp vv_registry_stamp_above(struct vv_registry *registry, vv_stamp before)
{
    if (!registry->stamp) {
        return 0;
    }
    vv_stamp now = registry->stamp(registry->stamp_context);
    return now > before || before == UINT64_MAX ? now : before + 1;
}

/* ---- objects by number ---- */

struct vv_tenant *vv_tenant_at(struct vv_registry *registry, uint32_t number)
{
    struct vv_tenant *tenant = vv_objects_at(&registry->tenants, number);
    return tenant && atomic_load_explicit(&tenant->name, memory_order_acquire) ? tenant : NULL;
}

struct vv_measurement *vv_measurement_at(struct vv_registry *registry, uint32_t number)
{
    struct vv_measurement *measurement = vv_objects_at(&registry->measurements, number);
    return measurement && atomic_load_explicit(&measurement->name, memory_order_acquire)
               ? measurement
               : NULL;
}

struct vv_metric *vv_metric_at(struct vv_registry *registry, uint32_t number)
{
    struct vv_metric *metric = vv_objects_at(&registry->metrics, number);
    return metric && atomic_load_explicit(&metric->name, memory_order_acquire) ? metric : NULL;
}

struct vv_source *vv_source_at(struct vv_registry *registry, uint32_t number)
{
    struct vv_source *source = vv_objects_at(&registry->sources, number);
    return source && atomic_load_explicit(&source->id, memory_order_acquire) ? source : NULL;
}

/* ---- figures ---- */

static uint64_t live(const struct vv_objects *objects)
{
    return atomic_load_explicit(&objects->live, memory_order_relaxed);
}

void vv_registry_read_figures(struct vv_registry *registry, struct vv_registry_figures *out)
{
    *out = (struct vv_registry_figures){
        .tenants = live(&registry->tenants),
        .measurements = live(&registry->measurements),
        .metrics = live(&registry->metrics),
        .sources = live(&registry->sources),
        .tag_values = atomic_load_explicit(&registry->tag_values, memory_order_relaxed),
        .bytes = bytes_held(registry),
        .tag_changes = atomic_load_explicit(&registry->tag_changes, memory_order_relaxed),
    };
    vv_series_cache_figures(registry->series, out); /* adds to bytes */
}
