/* SPDX-License-Identifier: Apache-2.0 */
/* Values of a result's present row. */
#include "result_private.h"

#include <string.h>

/* data NULL when it is null or not there. */
static struct vvcql_bytes value_of(const struct vvcql_result *result, size_t column)
{
    if (!result->has_row || column >= result->n_columns) {
        return (struct vvcql_bytes){0};
    }
    return result->values[column];
}

/* The value's bytes when there are exactly that many, else NULL. */
static const uint8_t *fixed(const struct vvcql_result *result, size_t column, size_t size)
{
    struct vvcql_bytes value = value_of(result, column);
    return value.size == size ? value.data : NULL;
}

bool vvcql_is_null(const struct vvcql_result *result, size_t column)
{
    return value_of(result, column).data == NULL;
}

bool vvcql_get_boolean(const struct vvcql_result *result, size_t column, bool *value_out)
{
    const uint8_t *data = fixed(result, column, 1);
    if (data == NULL) {
        return false;
    }
    *value_out = data[0] != 0;
    return true;
}

bool vvcql_get_tinyint(const struct vvcql_result *result, size_t column, int8_t *value_out)
{
    const uint8_t *data = fixed(result, column, sizeof *value_out);
    if (data == NULL) {
        return false;
    }
    *value_out = (int8_t)data[0];
    return true;
}

bool vvcql_get_smallint(const struct vvcql_result *result, size_t column, int16_t *value_out)
{
    const uint8_t *data = fixed(result, column, sizeof *value_out);
    if (data == NULL) {
        return false;
    }
    *value_out = (int16_t)vvcql_load_u16(data);
    return true;
}

bool vvcql_get_int(const struct vvcql_result *result, size_t column, int32_t *value_out)
{
    const uint8_t *data = fixed(result, column, sizeof *value_out);
    if (data == NULL) {
        return false;
    }
    *value_out = (int32_t)vvcql_load_u32(data);
    return true;
}

bool vvcql_get_bigint(const struct vvcql_result *result, size_t column, int64_t *value_out)
{
    const uint8_t *data = fixed(result, column, sizeof *value_out);
    if (data == NULL) {
        return false;
    }
    *value_out = (int64_t)vvcql_load_u64(data);
    return true;
}

bool vvcql_get_float(const struct vvcql_result *result, size_t column, float *value_out)
{
    const uint8_t *data = fixed(result, column, sizeof *value_out);
    if (data == NULL) {
        return false;
    }
    uint32_t bits = vvcql_load_u32(data);
    memcpy(value_out, &bits, sizeof *value_out);
    return true;
}

bool vvcql_get_double(const struct vvcql_result *result, size_t column, double *value_out)
{
    const uint8_t *data = fixed(result, column, sizeof *value_out);
    if (data == NULL) {
        return false;
    }
    uint64_t bits = vvcql_load_u64(data);
    memcpy(value_out, &bits, sizeof *value_out);
    return true;
}

bool vvcql_get_uuid(const struct vvcql_result *result, size_t column, uint8_t uuid_out[16])
{
    const uint8_t *data = fixed(result, column, 16);
    if (data == NULL) {
        return false;
    }
    memcpy(uuid_out, data, 16);
    return true;
}

bool vvcql_get_bytes(const struct vvcql_result *result, size_t column,
                     struct vvcql_bytes *value_out)
{
    struct vvcql_bytes value = value_of(result, column);
    if (value.data == NULL) {
        return false;
    }
    *value_out = value;
    return true;
}

/* ---- collections ---- */

static unsigned parts_of_element(const struct vvcql_result *result, size_t column)
{
    switch (result->columns[column].type) {
    case VVCQL_TYPE_LIST:
    case VVCQL_TYPE_SET:
        return 1;
    case VVCQL_TYPE_MAP:
        return 2;
    default:
        return 0;
    }
}

bool vvcql_get_elements(const struct vvcql_result *result, size_t column,
                        struct vvcql_elements *elements_out)
{
    struct vvcql_bytes value = value_of(result, column);
    unsigned parts = value.data != NULL ? parts_of_element(result, column) : 0;
    if (parts == 0) {
        return false;
    }
    struct vvcql_reader reader = vvcql_reader_of(value);
    uint32_t count = vvcql_read_u32(&reader);
    if (reader.failed || count > reader.left / sizeof(uint32_t) / parts) {
        return false;
    }
    elements_out->rest_ = (struct vvcql_bytes){.data = reader.at, .size = reader.left};
    elements_out->left = count * parts;
    return true;
}

bool vvcql_next_element(struct vvcql_elements *elements, struct vvcql_bytes *element_out)
{
    if (elements->left == 0) {
        return false;
    }
    struct vvcql_reader reader = vvcql_reader_of(elements->rest_);
    struct vvcql_bytes element = vvcql_read_value(&reader);
    if (reader.failed) {
        elements->left = 0;
        return false;
    }
    elements->rest_ = (struct vvcql_bytes){.data = reader.at, .size = reader.left};
    elements->left--;
    *element_out = element;
    return true;
}
