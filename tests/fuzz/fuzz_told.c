/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a hostile node tells: u8 kind, u8 size of the name, name, u64 item, value. What is taken
 * encodes to the same content again, and the registry takes it or refuses it.
 */
#include "fleet/told.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct vv_told_content content; /* large */
static struct vv_told_content again;

static void encode_again(const struct vv_told *told)
{
    struct vv_buffer buffer = {0};
    vv_told_encode(&content, &buffer);
    vv_invariant(vv_buffer_status(&buffer) == VV_OK);
    struct vv_told copy = *told;
    copy.value = (struct vv_str){(const char *)buffer.data, buffer.size};
    vv_invariant(vv_told_decode(&copy, &again, NULL) == VV_OK);
    struct vv_buffer second = {0};
    vv_told_encode(&again, &second);
    vv_invariant(second.size == buffer.size && memcmp(second.data, buffer.data, buffer.size) == 0);
    vv_buffer_deinit(&buffer);
    vv_buffer_deinit(&second);
}

static void give_to_registry(const struct vv_told *told)
{
    const struct vv_registry_options options = {
        .id_tag = "id", .tenants_max = 2, .sources_max = 2, .metrics_max = 2};
    struct vv_registry *registry;
    uint32_t tenant;
    uint32_t source;
    enum vv_status status = vv_registry_create(&options, &registry);
    vv_invariant(status == VV_OK);
    status = vv_registry_tenant(registry, VV_STR_LITERAL("t"), true, &tenant, NULL);
    vv_invariant(status == VV_OK);
    bool canonical = content.kind != VV_TOLD_TAGS && content.canonical;
    if (content.kind >= VV_TOLD_SOURCE &&
        vv_registry_learn_source(registry, tenant, told->name, canonical, &source, NULL) == VV_OK) {
        struct vv_tag_version version = {told->item, content.n, content.tags};
        status = content.kind == VV_TOLD_TAGS
                     ? vv_registry_learn_tags(registry, source, &version, NULL)
                     : VV_OK;
        if (content.kind == VV_TOLD_PLAN) {
            status = vv_registry_learn_plans(registry, source, 0, content.plans, content.n, NULL);
        }
    }
    vv_registry_destroy(registry);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vv_reader reader = vv_reader_of(data, size);
    struct vv_told told = {.tenant = VV_STR_LITERAL("t"), .kind = vv_reader_u8(&reader)};
    told.name.size = vv_reader_u8(&reader);
    told.name.data = (const char *)vv_reader_bytes(&reader, told.name.size);
    told.item = (int64_t)vv_reader_u64(&reader);
    if (reader.failed) {
        return 0;
    }
    told.value.size = vv_reader_left(&reader);
    told.value.data = (const char *)vv_reader_bytes(&reader, told.value.size);
    struct vv_error error = {0};
    enum vv_status status = vv_told_decode(&told, &content, &error);
    vv_invariant((status == VV_OK) == (error.message[0] == '\0'));
    if (status == VV_OK) {
        encode_again(&told);
        give_to_registry(&told);
    }
    return 0;
}
