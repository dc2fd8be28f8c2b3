/* SPDX-License-Identifier: Apache-2.0 */
/* Stored keys and the names of families. */
#include "store/rocksdb/keys.h"

#include <stdio.h>

#define TENANT_SIZE 4

void vv_rocksdb_key_store(const uint8_t *key, size_t size, uint32_t generation, uint8_t *out)
{
    memcpy(out, key, TENANT_SIZE);
    vv_key_put_u32(out + TENANT_SIZE, generation);
    memcpy(out + VV_GENERATION_PREFIX_SIZE, key + TENANT_SIZE, size - TENANT_SIZE);
}

void vv_rocksdb_key_make_head(uint8_t *stored)
{
    stored[VV_STORED_SPAN_SIZE] |= VV_STORED_CUT_BIT;
}

void vv_rocksdb_key_make_tail(uint8_t *stored)
{
    stored[VV_STORED_SPAN_SIZE] &= (uint8_t)~VV_STORED_CUT_BIT;
    stored[VV_STORED_SPLIT_AT] |= VV_STORED_TAIL_BIT;
}

void vv_rocksdb_key_to_block(const uint8_t *stored, struct vv_piece *block_out)
{
    uint8_t key[VV_KEY_BLOCK_SIZE];
    memcpy(key, stored, TENANT_SIZE);
    memcpy(key + TENANT_SIZE, stored + VV_GENERATION_PREFIX_SIZE, sizeof key - TENANT_SIZE);
    vv_key_to_block(key, block_out);
    block_out->part &= VV_BLOCK_PARTS_MAX;
}

void vv_rocksdb_key_generation(uint32_t tenant, uint32_t generation, uint8_t *out)
{
    vv_key_put_u32(out, tenant);
    vv_key_put_u32(out + TENANT_SIZE, generation);
}

void vv_rocksdb_family_name(const struct vv_era *era, char *out)
{
    snprintf(out, VV_FAMILY_NAME_SIZE, "blocks/%lld/%lld", (long long)era->retention_s,
             (long long)era->start_s);
}

bool vv_rocksdb_family_parse(const char *name, struct vv_era *era_out)
{
    long long retention_s;
    long long start_s;
    if (sscanf(name, "blocks/%18lld/%19lld", &retention_s, &start_s) != 2 || retention_s < 0) {
        return false;
    }
    *era_out = (struct vv_era){retention_s, start_s};
    /* Only what would be written again is ours. */
    char again[VV_FAMILY_NAME_SIZE];
    vv_rocksdb_family_name(era_out, again);
    return strcmp(again, name) == 0;
}
