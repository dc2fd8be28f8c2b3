/* SPDX-License-Identifier: Apache-2.0 */
/* Types, their order, and bytes that are shared. */
#include "simulation/cassandra/storage.h"

#include "cql/wire.h"
#include "simulation/sim_memory.h"

#include <stdlib.h>

/* ---- bytes that are shared ---- */

struct cass_blob *cass_blob_create(const void *bytes, size_t size)
{
    struct cass_blob *blob = vv_sim_malloc(sizeof *blob + size);
    blob->references = 1;
    blob->size = size;
    if (size > 0) {
        memcpy(blob->bytes, bytes, size);
    }
    return blob;
}

struct cass_blob *cass_blob_keep(struct cass_blob *blob)
{
    if (blob) {
        blob->references++;
    }
    return blob;
}

void cass_blob_drop(struct cass_blob *blob)
{
    if (blob && --blob->references == 0) {
        free(blob);
    }
}

struct cass_blob *cass_keep_values(struct vv_str *values, size_t n)
{
    size_t size = 0;
    for (size_t i = 0; i < n; i++) {
        size += values[i].size;
    }
    struct cass_blob *blob = vv_sim_malloc(sizeof *blob + size + 1);
    *blob = (struct cass_blob){.references = 1, .size = size};
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        if (values[i].size > 0) {
            memcpy(blob->bytes + at, values[i].data, values[i].size);
        }
        if (values[i].data) {
            values[i].data = (const char *)blob->bytes + at;
        }
        at += values[i].size;
    }
    return blob;
}

/* ---- types ---- */

static const struct {
    const char *name;
    enum vvcql_type type;
    size_t size;
} types[] = {
    {"ascii", VVCQL_TYPE_ASCII, 0},        {"text", VVCQL_TYPE_TEXT, 0},
    {"varchar", VVCQL_TYPE_TEXT, 0},       {"blob", VVCQL_TYPE_BLOB, 0},
    {"bigint", VVCQL_TYPE_BIGINT, 8},      {"timestamp", VVCQL_TYPE_TIMESTAMP, 8},
    {"double", VVCQL_TYPE_DOUBLE, 8},      {"uuid", VVCQL_TYPE_UUID, 16},
    {"timeuuid", VVCQL_TYPE_TIMEUUID, 16}, {"int", VVCQL_TYPE_INT, 4},
    {"float", VVCQL_TYPE_FLOAT, 4},        {"smallint", VVCQL_TYPE_SMALLINT, 2},
    {"tinyint", VVCQL_TYPE_TINYINT, 1},    {"boolean", VVCQL_TYPE_BOOLEAN, 1},
};

bool cass_type_of(struct vv_str name, enum vvcql_type *type_out)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (vv_str_equal(name, vv_str_of(types[i].name))) {
            *type_out = types[i].type;
            return true;
        }
    }
    return false;
}

size_t cass_type_size(enum vvcql_type type)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (types[i].type == type) {
            return types[i].size;
        }
    }
    return 0;
}

static int64_t signed_of(struct vv_str value)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < value.size; i++) {
        bits = bits << 8 | (uint8_t)value.data[i];
    }
    unsigned unused = (unsigned)(64 - 8 * value.size);
    return (int64_t)(bits << unused) >> unused;
}

static double double_of(struct vv_str value)
{
    double number;
    uint64_t bits = (uint64_t)signed_of(value);
    memcpy(&number, &bits, sizeof number);
    return number;
}

/* Of UUIDs the version comes first. */
static int compare_uuids(struct vv_str a, struct vv_str b)
{
    int version_a = (uint8_t)a.data[6] >> 4;
    int version_b = (uint8_t)b.data[6] >> 4;
    return version_a != version_b ? version_a - version_b : vv_str_compare(a, b);
}

int cass_compare_values(enum vvcql_type type, struct vv_str a, struct vv_str b)
{
    size_t size = cass_type_size(type);
    if (size == 0 || a.size != size || b.size != size) {
        return vv_str_compare(a, b);
    }
    if (type == VVCQL_TYPE_UUID) {
        return compare_uuids(a, b);
    }
    if (type == VVCQL_TYPE_DOUBLE) {
        double x = double_of(a);
        double y = double_of(b);
        return x < y ? -1 : x > y;
    }
    vv_invariant(size <= 8 && type != VVCQL_TYPE_FLOAT);
    int64_t x = signed_of(a);
    int64_t y = signed_of(b);
    return x < y ? -1 : x > y;
}

const struct cass_column *cass_find_column(const struct cass_table *table, struct vv_str name)
{
    for (size_t i = 0; i < table->n_columns; i++) {
        if (vv_str_equal(vv_str_of(table->columns[i].name), name)) {
            return &table->columns[i];
        }
    }
    return NULL;
}
