/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of RESULTs, and what a reader sees of a row. */
#include "simulation/cassandra/model.h"

#define KIND_VOID 1
#define KIND_ROWS 2
#define HAS_MORE  0x0002
#define GLOBAL    0x0001

void cass_put_void(struct vvcql_buffer *body)
{
    vvcql_write_u32(body, KIND_VOID);
}

void cass_put_header(struct vvcql_buffer *body, const struct cass_table *table, size_t n_columns,
                     struct vvcql_bytes paging_state)
{
    vvcql_write_u32(body, KIND_ROWS);
    vvcql_write_u32(body, GLOBAL | (paging_state.data ? HAS_MORE : 0));
    vvcql_write_u32(body, (uint32_t)n_columns);
    if (paging_state.data) {
        vvcql_write_value(body, paging_state);
    }
    vvcql_write_string(body, table->keyspace);
    vvcql_write_string(body, table->name);
}

void cass_put_column(struct vvcql_buffer *body, const char *name, enum vvcql_type type)
{
    vvcql_write_string(body, name);
    vvcql_write_u16(body, (uint16_t)type);
    if (type == VVCQL_TYPE_MAP) {
        vvcql_write_u16(body, VVCQL_TYPE_TEXT);
        vvcql_write_u16(body, VVCQL_TYPE_TEXT);
    }
}

void cass_put_value(struct vvcql_buffer *body, struct vv_str value)
{
    vvcql_write_value(body, (struct vvcql_bytes){(const uint8_t *)value.data, value.size});
}

struct vv_str cass_cell_value(const struct cass_cell *cell, int64_t deleted_at, int64_t now_s)
{
    if (!cass_cell_is_live(cell, deleted_at, now_s)) {
        return (struct vv_str){0};
    }
    return (struct vv_str){(const char *)cell->value->bytes, cell->value->size};
}

struct vv_str cass_column_value(const struct cass_table *table,
                                const struct cass_partition *partition, const struct cass_row *row,
                                const struct cass_column *column, int64_t now_s)
{
    switch (column->kind) {
    case CASS_PARTITION_KEY:
        return partition->values[column->position];
    case CASS_CLUSTERING:
        return row->clustering.values[column->position];
    case CASS_REGULAR:
        break;
    }
    return cass_cell_value(&row->cells[column->position],
                           cass_row_deleted_at(table, partition, row), now_s);
}
