/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing values as rows: a run is decoded, and each value that is present becomes an INSERT, the
 * newest first, which is the order of the partition. Those of one partition go together in unlogged
 * batches.
 *
 * A row written again is the same row: its key, value and CQL timestamp follow from the run. Two
 * values of one point with the same µs come from two nodes; Cassandra then keeps the one that
 * expires later or, between equals, the larger bytes, which is the same one on all replicas.
 *
 * A value that is known to be deleted by now is not written but removed: an earlier attempt to
 * write it may land later.
 */
#include "store/cassandra/rows.h"

#include "model/merge.h"

#include <stdlib.h>

struct writing {
    struct vv_cassandra *store;
    const struct vv_piece *run;
    const struct vv_class *class;
    struct vv_rows rows;
    struct vv_deletion_list deletions;
    struct vv_buffer names; /* of the columns, one after the other */
    size_t *name_ends;
    struct vv_str tenant;
    uint8_t source[16];
    int32_t ttl;
    struct vv_error *error;
};

/* ---- decoding ---- */

static enum vv_status from_block(struct writing *writing, enum vv_block_status status)
{
    if (status == VV_BLOCK_OK) {
        return VV_OK;
    }
    return status == VV_BLOCK_NO_MEMORY
               ? vv_error_set(writing->error, VV_NO_MEMORY, "out of memory while writing")
               : vv_error_set(writing->error, VV_CORRUPT, "a run is damaged: %s",
                              vv_block_status_text(status));
}

static enum vv_status decode_column(struct writing *writing, const struct vv_block *block,
                                    uint32_t index)
{
    struct vv_column *column = &writing->rows.columns[index];
    struct vv_block_column about;
    enum vv_block_status status = vv_block_column_info(block, index, &about);
    if (status == VV_BLOCK_OK) {
        column->metric = about.metric;
        column->type = about.type;
        status = vv_block_values(block, index, column->values, column->present);
    }
    return from_block(writing, status);
}

static enum vv_status decode(struct writing *writing)
{
    struct vv_str bytes = writing->run->bytes;
    struct vv_block block;
    enum vv_status status =
        from_block(writing, vv_block_open((const uint8_t *)bytes.data, bytes.size, &block));
    if (status != VV_OK) {
        return status;
    }
    if (vv_rows_alloc(block.n_rows, block.n_columns, &writing->rows) != VV_OK) {
        return from_block(writing, VV_BLOCK_NO_MEMORY);
    }
    status = from_block(writing, vv_block_times(&block, writing->rows.times));
    if (status == VV_OK) {
        status = from_block(writing, vv_block_stamps(&block, writing->rows.stamps));
    }
    for (uint32_t i = 0; i < block.n_columns && status == VV_OK; i++) {
        status = decode_column(writing, &block, i);
    }
    return status;
}

/* ---- what the rows have in common ---- */

static enum vv_status name_columns(struct writing *writing)
{
    const struct vv_store_names *names = &writing->store->names;
    const struct vv_rows *rows = &writing->rows;
    writing->name_ends = calloc(rows->n_columns ? rows->n_columns : 1, sizeof(size_t));
    if (!writing->name_ends) {
        return from_block(writing, VV_BLOCK_NO_MEMORY);
    }
    for (size_t i = 0; i < rows->n_columns; i++) {
        uint32_t measurement;
        enum vv_value_type type;
        struct vv_str field =
            names->field(names->context, rows->columns[i].metric, &measurement, &type);
        if (field.size == 0) {
            return vv_error_set(writing->error, VV_INVALID, "metric %u has no name",
                                rows->columns[i].metric);
        }
        vv_buffer_str(&writing->names, vv_cassandra_measurement(writing->store, measurement));
        vv_buffer_u8(&writing->names, '.');
        vv_buffer_str(&writing->names, field);
        writing->name_ends[i] = writing->names.size;
    }
    return writing->names.failed ? from_block(writing, VV_BLOCK_NO_MEMORY) : VV_OK;
}

static enum vv_status prepare(struct writing *writing)
{
    struct vv_cassandra *store = writing->store;
    const struct vv_partition *partition = &writing->run->key.partition;
    struct vv_tenant_classes classes = vv_cassandra_classes_of(store, partition->tenant);
    int64_t bucket_end = partition->bucket_start + partition->bucket_ns;
    writing->class = &store->classes[classes.classes[0]];
    writing->tenant = vv_cassandra_tenant(store, partition->tenant);
    writing->ttl = vv_cassandra_block_ttl(store, bucket_end, classes.retention_ns,
                                          store->clock->wall_ns(store->clock));
    enum vv_status status = vv_cassandra_source_id(store, partition->tenant, partition->source,
                                                   writing->source, writing->error);
    if (status == VV_OK && store->names.deletions) {
        status = store->names.deletions(store->names.context, partition->source,
                                        writing->run->key.measurement, &writing->deletions);
    }
    return status == VV_OK ? name_columns(writing) : status;
}

/* ---- rows ---- */

/* The newest stamp that hides the value; 0: none does. */
static vv_stamp hidden_by(const struct writing *writing, size_t row, size_t index)
{
    const struct vv_rows *rows = &writing->rows;
    vv_stamp stamp = 0;
    for (size_t i = 0; i < writing->deletions.n; i++) {
        const struct vv_deletion *deletion = &writing->deletions.items[i];
        bool concerns = deletion->metric == VV_DELETION_ALL_METRICS ||
                        deletion->metric == rows->columns[index].metric;
        if (concerns && deletion->stamp > stamp &&
            vv_deletion_hides(deletion, rows->times[row], rows->stamps[row])) {
            stamp = deletion->stamp;
        }
    }
    return stamp;
}

static struct vvcql_statement *removal_statement(const struct writing *writing, size_t row,
                                                 size_t index, vv_stamp stamp)
{
    size_t name = index > 0 ? writing->name_ends[index - 1] : 0;
    const struct vv_str metric = {(const char *)writing->names.data + name,
                                  writing->name_ends[index] - name};
    uint8_t class = (uint8_t)(writing->class - writing->store->classes);
    return vv_cassandra_remove_value(writing->store, class, &writing->run->key.partition,
                                     writing->rows.times[row], metric,
                                     (int64_t)vv_stamp_clock_us(stamp), writing->error);
}

static struct vvcql_statement *row_statement(const struct writing *writing, size_t row,
                                             size_t index)
{
    const struct vv_partition *partition = &writing->run->key.partition;
    const struct vv_column *column = &writing->rows.columns[index];
    int64_t time = writing->rows.times[row];
    int64_t whole_ms = vv_time_floor(time, VV_MILLISECOND);
    size_t name = index > 0 ? writing->name_ends[index - 1] : 0;
    struct vvcql_statement *statement =
        vvcql_statement_prepared(writing->class->put_value[column->type]);
    vv_cassandra_add_str(statement, writing->tenant);
    vvcql_add_uuid(statement, writing->source);
    vvcql_add_timestamp(statement, vv_cassandra_ms(partition->bucket_start));
    vvcql_add_int(statement, (int32_t)(partition->bucket_ns / VV_SECOND));
    vvcql_add_smallint(statement, (int16_t)vv_split_index(partition->split));
    vvcql_add_timestamp(statement, whole_ms / VV_MILLISECOND);
    vvcql_add_int(statement, (int32_t)(time - whole_ms));
    vvcql_add_bytes(statement, writing->names.data + name, writing->name_ends[index] - name);
    vvcql_add_bigint(statement,
                     (int64_t)column->values[row]); /* a double's bits stay as they are */
    vvcql_add_int(statement, writing->ttl);
    vvcql_add_bigint(statement, (int64_t)vv_stamp_clock_us(writing->rows.stamps[row]));
    return statement;
}

static enum vv_status put_values(struct writing *writing)
{
    const struct vv_rows *rows = &writing->rows;
    const struct vv_partition partition = vv_cassandra_rows_partition(&writing->run->key.partition);
    enum vv_status status = VV_OK;
    for (size_t row = rows->n_rows; row > 0 && status == VV_OK; row--) {
        for (size_t i = 0; i < rows->n_columns && status == VV_OK; i++) {
            if (vv_column_has(&rows->columns[i], row - 1)) {
                vv_stamp hidden = hidden_by(writing, row - 1, i);
                struct vvcql_statement *statement =
                    hidden ? removal_statement(writing, row - 1, i, hidden)
                           : row_statement(writing, row - 1, i);
                status = vv_cassandra_gather(writing->store, &partition, VV_ROWS_BATCH_BYTES_MAX,
                                             statement, writing->error);
            }
        }
    }
    return status;
}

enum vv_status vv_cassandra_put_rows(struct vv_cassandra *store, const struct vv_piece *run,
                                     struct vv_error *error)
{
    struct writing writing = {.store = store, .run = run, .error = error};
    enum vv_status status = decode(&writing);
    if (status == VV_OK) {
        status = prepare(&writing);
    }
    if (status == VV_OK) {
        status = put_values(&writing);
    }
    vv_rows_free(&writing.rows);
    vv_deletion_list_deinit(&writing.deletions);
    vv_buffer_deinit(&writing.names);
    free(writing.name_ends);
    return status;
}
