/* SPDX-License-Identifier: Apache-2.0 */
/* Keys as values of statements. */
#include "store/keys.h"
#include "store/cassandra/cassandra.h"

#define SIGN (UINT64_C(1) << 63)

int64_t vv_cassandra_from_stamp(uint64_t stamp)
{
    return (int64_t)(stamp ^ SIGN);
}

uint64_t vv_cassandra_to_stamp(int64_t value)
{
    return (uint64_t)value ^ SIGN;
}

void vv_cassandra_add_str(struct vvcql_statement *statement, struct vv_str text)
{
    vvcql_add_bytes(statement, text.size > 0 ? text.data : "", text.size);
}

struct vv_str vv_cassandra_text(const struct vvcql_result *row, size_t column)
{
    struct vvcql_bytes bytes = {0};
    return vvcql_get_bytes(row, column, &bytes)
               ? (struct vv_str){(const char *)bytes.data, bytes.size}
               : (struct vv_str){"", 0};
}

enum vv_status vv_cassandra_add_source(const struct vv_cassandra *store,
                                       struct vvcql_statement *statement, uint32_t tenant,
                                       uint32_t source, struct vv_error *error)
{
    uint8_t uuid[16];
    enum vv_status status = vv_cassandra_source_id(store, tenant, source, uuid, error);
    if (status == VV_OK) {
        vv_cassandra_add_str(statement, vv_cassandra_tenant(store, tenant));
        vvcql_add_uuid(statement, uuid);
    }
    return status;
}

enum vv_status vv_cassandra_add_partition(const struct vv_cassandra *store,
                                          struct vvcql_statement *statement,
                                          const struct vv_partition *partition,
                                          struct vv_error *error)
{
    vv_invariant(partition->region < store->n_views);
    vv_cassandra_add_str(statement, vv_str_of(store->views[partition->region].name));
    return vv_cassandra_add_rows_partition(store, statement, partition, error);
}

enum vv_status vv_cassandra_add_rows_partition(const struct vv_cassandra *store,
                                               struct vvcql_statement *statement,
                                               const struct vv_partition *partition,
                                               struct vv_error *error)
{
    enum vv_status status =
        vv_cassandra_add_source(store, statement, partition->tenant, partition->source, error);
    if (status != VV_OK) {
        return status;
    }
    vvcql_add_timestamp(statement, vv_cassandra_ms(partition->bucket_start));
    vvcql_add_int(statement, (int32_t)(partition->bucket_ns / VV_SECOND));
    vvcql_add_smallint(statement, (int16_t)vv_split_index(partition->split));
    return VV_OK;
}

int32_t vv_cassandra_share_of(const uint8_t source[16], uint8_t share_bits)
{
    vv_invariant(vv_can_share(share_bits));
    return (int32_t)(vv_key_get_u32(source) >> (32 - share_bits)) | (int32_t)share_bits
                                                                        << VV_SHARE_BITS_MAX;
}

static enum vv_status add_shared_partition(const struct vv_cassandra *store,
                                           struct vvcql_statement *statement,
                                           const struct vv_partition *partition,
                                           struct vv_error *error)
{
    uint8_t uuid[16];
    enum vv_status status =
        vv_cassandra_source_id(store, partition->tenant, partition->source, uuid, error);
    if (status != VV_OK) {
        return status;
    }
    vv_invariant(partition->region < store->n_views);
    vv_cassandra_add_str(statement, vv_str_of(store->views[partition->region].name));
    vv_cassandra_add_str(statement, vv_cassandra_tenant(store, partition->tenant));
    vvcql_add_int(statement, vv_cassandra_share_of(uuid, vv_split_share_bits(partition->split)));
    vvcql_add_timestamp(statement, vv_cassandra_ms(partition->bucket_start));
    vvcql_add_int(statement, (int32_t)(partition->bucket_ns / VV_SECOND));
    vvcql_add_uuid(statement, uuid);
    return VV_OK;
}

enum vv_status vv_cassandra_add_runs_partition(const struct vv_cassandra *store,
                                               struct vvcql_statement *statement,
                                               const struct vv_partition *partition,
                                               struct vv_error *error)
{
    return vv_split_share_bits(partition->split) > 0
               ? add_shared_partition(store, statement, partition, error)
               : vv_cassandra_add_partition(store, statement, partition, error);
}
