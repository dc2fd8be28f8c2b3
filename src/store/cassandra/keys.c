/* SPDX-License-Identifier: Apache-2.0 */
/* Keys as values of statements. */
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

enum vv_status vv_cassandra_add_partition(const struct vv_cassandra *store,
                                          struct vvcql_statement *statement,
                                          const struct vv_partition *partition,
                                          struct vv_error *error)
{
    vv_cassandra_add_str(statement, vv_str_of(store->shared.region));
    return vv_cassandra_add_rows_partition(store, statement, partition, error);
}

enum vv_status vv_cassandra_add_rows_partition(const struct vv_cassandra *store,
                                               struct vvcql_statement *statement,
                                               const struct vv_partition *partition,
                                               struct vv_error *error)
{
    uint8_t uuid[16];
    if (!vv_cassandra_source_id(store, partition->tenant, partition->source, uuid)) {
        return vv_error_set(error, VV_INVALID, "source %u of tenant %u has no name",
                            partition->source, partition->tenant);
    }
    vv_cassandra_add_str(statement, vv_cassandra_tenant(store, partition->tenant));
    vvcql_add_uuid(statement, uuid);
    vvcql_add_timestamp(statement, vv_cassandra_ms(partition->bucket_start));
    vvcql_add_int(statement, (int32_t)(partition->bucket_ns / VV_SECOND));
    vvcql_add_smallint(statement, (int16_t)partition->split);
    return VV_OK;
}
