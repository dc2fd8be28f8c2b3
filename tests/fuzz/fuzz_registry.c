/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Applies hostile records to a registry (each: kind, size as u16, bytes), then asks for everything.
 * What was applied must encode to records that give the same registry again.
 */
#include "registry/registry.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Larger numbers are applied, but not looked at. */
#define NUMBERS_MAX 2000u

static struct vv_registry *open_registry(void)
{
    const struct vv_registry_options options = {.id_tag = "id", .cache_bytes = 0};
    struct vv_registry *registry = NULL;
    vv_invariant(vv_registry_create(&options, &registry) == VV_OK);
    return registry;
}

static void apply_all(struct vv_registry *registry, const uint8_t *data, size_t size)
{
    struct vv_reader reader = vv_reader_of(data, size);
    while (vv_reader_left(&reader) > 0) {
        uint8_t kind = vv_reader_u8(&reader);
        size_t record_size = vv_reader_u16(&reader);
        const uint8_t *record = vv_reader_bytes(&reader, record_size);
        if (record) {
            struct vv_error error = {0};
            const struct vv_str bytes = {(const char *)record, record_size};
            enum vv_status status =
                vv_registry_apply(registry, (enum vv_registry_kind)kind, bytes, &error);
            vv_invariant((status == VV_OK) == (error.message[0] == '\0'));
        }
    }
}

static void look_at(struct vv_registry *registry, uint32_t source)
{
    struct vv_arena arena = {0};
    struct vv_tag_version versions[VV_TAG_HISTORY_MAX];
    size_t n = 0;
    vv_invariant(vv_registry_source_history(registry, source, &arena, versions, &n) == VV_OK);
    struct vv_str id = vv_registry_source_id(registry, source);
    if (id.size) {
        uint32_t found = 0;
        uint32_t tenant = vv_registry_source_tenant(registry, source);
        vv_invariant(vv_registry_source_by_id(registry, tenant, id, &found) == VV_OK);
        vv_invariant(found == source && n > 0);
    }
    vv_arena_deinit(&arena);
}

static void select_all(struct vv_registry *registry, uint32_t tenant)
{
    const struct vv_str any = VV_STR_LITERAL("*");
    const struct vv_selector selector = {.id_patterns = &any, .n_id_patterns = 1};
    uint32_t *found = NULL;
    size_t n = 0;
    vv_invariant(vv_registry_select(registry, tenant, &selector, VV_REGISTRY_NONE, SIZE_MAX, &found,
                                    &n, NULL) == VV_OK);
    for (size_t i = 0; i < n; i++) {
        vv_invariant(vv_registry_source_tenant(registry, found[i]) == tenant);
    }
    free(found);
    vv_invariant(vv_registry_find_metrics(registry, tenant, NULL, 0, &found, &n, NULL) == VV_OK);
    free(found);
}

/* All objects as records, in the form of the input. */
static void encode_all(struct vv_registry *registry, struct vv_buffer *out)
{
    for (int kind = VV_REGISTRY_TENANT; kind <= VV_REGISTRY_TIMES; kind++) {
        for (uint32_t number = 0; number < NUMBERS_MAX; number++) {
            struct vv_buffer record = {0};
            vv_registry_encode(registry, (enum vv_registry_kind)kind, number, &record);
            if (record.size && record.size <= UINT16_MAX) {
                vv_buffer_u8(out, (uint8_t)kind);
                vv_buffer_u16(out, (uint16_t)record.size);
                vv_buffer_append(out, record.data, record.size);
            }
            vv_buffer_deinit(&record);
        }
    }
    vv_invariant(vv_buffer_status(out) == VV_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vv_registry *registry = open_registry();
    apply_all(registry, data, size);
    if (vv_registry_source_count(registry) <= NUMBERS_MAX) {
        for (uint32_t i = 0; i < vv_registry_source_count(registry); i++) {
            look_at(registry, i);
        }
        for (uint32_t i = 0; i < vv_registry_tenant_count(registry) && i < NUMBERS_MAX; i++) {
            select_all(registry, i);
        }
        struct vv_registry *again = open_registry();
        struct vv_buffer first = {0};
        struct vv_buffer second = {0};
        encode_all(registry, &first);
        apply_all(again, first.data, first.size);
        encode_all(again, &second);
        vv_invariant(first.size == second.size);
        vv_invariant(first.size == 0 || memcmp(first.data, second.data, first.size) == 0);
        vv_buffer_deinit(&first);
        vv_buffer_deinit(&second);
        vv_registry_destroy(again);
    }
    vv_registry_destroy(registry);
    return 0;
}
