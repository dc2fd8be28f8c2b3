/* SPDX-License-Identifier: Apache-2.0 */
/* Columns and their types read. */
#include "metadata.h"

#define TYPE_DEPTH_MAX 16
/* Types below have no parameters, also those that a later Cassandra adds; 0 is custom. */
#define TYPE_SIMPLE_MAX 0x001F

static uint16_t read_type(struct vvcql_reader *reader, unsigned depth);

static void read_types(struct vvcql_reader *reader, unsigned count, unsigned depth)
{
    for (unsigned i = 0; i < count && !reader->failed; i++) {
        read_type(reader, depth);
    }
}

static void read_fields(struct vvcql_reader *reader, unsigned depth)
{
    vvcql_read_table(reader); /* the keyspace and name of the type */
    unsigned count = vvcql_read_u16(reader);
    for (unsigned i = 0; i < count && !reader->failed; i++) {
        vvcql_read_string(reader);
        read_type(reader, depth);
    }
}

static uint16_t read_type(struct vvcql_reader *reader, unsigned depth)
{
    uint16_t type = vvcql_read_u16(reader);
    if (depth == TYPE_DEPTH_MAX) {
        vvcql_reader_fail(reader);
    }
    if (reader->failed || (type > VVCQL_TYPE_CUSTOM && type <= TYPE_SIMPLE_MAX)) {
        return type;
    }
    switch (type) {
    case VVCQL_TYPE_CUSTOM:
        vvcql_read_string(reader);
        break;
    case VVCQL_TYPE_LIST:
    case VVCQL_TYPE_SET:
        read_types(reader, 1, depth + 1);
        break;
    case VVCQL_TYPE_MAP:
        read_types(reader, 2, depth + 1);
        break;
    case VVCQL_TYPE_UDT:
        read_fields(reader, depth + 1);
        break;
    case VVCQL_TYPE_TUPLE:
        read_types(reader, vvcql_read_u16(reader), depth + 1);
        break;
    default:
        vvcql_reader_fail(reader);
        break;
    }
    return type;
}

struct vvcql_bytes vvcql_read_table(struct vvcql_reader *reader)
{
    struct vvcql_bytes keyspace = vvcql_read_string(reader);
    vvcql_read_string(reader);
    return keyspace;
}

struct vvcql_column vvcql_read_column(struct vvcql_reader *reader)
{
    struct vvcql_column column = {.name = vvcql_read_string(reader)};
    column.type = (enum vvcql_type)read_type(reader, 0);
    return column;
}
