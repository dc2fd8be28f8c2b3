/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile RESULT bodies: the first byte has the frame's flags, the rest is the body. A result that
 * is made is walked through and asked for everything in every way.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cql/responses.h"

/* More values than this are walked through by no one here: the time goes to variety. */
#define VALUES_MAX 65536u

static void require(bool condition)
{
    if (!condition) {
        abort();
    }
}

/* Touches each byte, so that one outside is seen. */
static unsigned sum_of(struct vvcql_bytes bytes)
{
    unsigned sum = 0;
    for (size_t i = 0; i < bytes.size; i++) {
        sum += bytes.data[i];
    }
    return sum;
}

static volatile unsigned total;

static void walk_elements(const struct vvcql_result *result, size_t column)
{
    struct vvcql_elements elements;
    struct vvcql_bytes element;
    if (!vvcql_get_elements(result, column, &elements)) {
        return;
    }
    uint32_t left = elements.left;
    require(left <= vvcql_result_size(result) / 4);
    while (vvcql_next_element(&elements, &element)) {
        require(elements.left == --left);
        total += sum_of(element);
    }
    require(elements.left == 0);
}

/* Each function gives a value of its own size only. */
static void get_all(const struct vvcql_result *result, size_t column)
{
    struct vvcql_bytes value = {0};
    bool present = vvcql_get_bytes(result, column, &value);
    require(present == !vvcql_is_null(result, column));
    require(!present || value.data != NULL);
    total += sum_of(value);
    size_t size = present ? value.size : 0;
    bool boolean;
    int8_t tiny;
    int16_t small;
    int32_t number;
    int64_t big;
    float single;
    double twice;
    uint8_t uuid[16];
    require(vvcql_get_boolean(result, column, &boolean) == (size == 1));
    require(vvcql_get_tinyint(result, column, &tiny) == (size == 1));
    require(vvcql_get_smallint(result, column, &small) == (size == 2));
    require(vvcql_get_int(result, column, &number) == (size == 4));
    require(vvcql_get_bigint(result, column, &big) == (size == 8));
    require(vvcql_get_float(result, column, &single) == (size == 4));
    require(vvcql_get_double(result, column, &twice) == (size == 8));
    require(vvcql_get_uuid(result, column, uuid) == (size == 16));
    walk_elements(result, column);
}

static void walk(struct vvcql_result *result)
{
    size_t rows = vvcql_result_rows(result);
    size_t columns = vvcql_result_columns(result);
    require(rows == 0 || columns > 0);
    require(rows * columns <= vvcql_result_size(result) / 4);
    for (size_t i = 0; i < columns; i++) {
        total += sum_of(vvcql_column_name(result, i));
        total += (unsigned)vvcql_column_type(result, i);
    }
    for (size_t i = 0; i < vvcql_result_warnings(result); i++) {
        total += i < 16 ? sum_of(vvcql_result_warning(result, i)) : 0;
    }
    total += sum_of(vvcql_result_paging_state(result));
    uint8_t uuid[16];
    vvcql_result_tracing_id(result, uuid);
    size_t walked = 0;
    while (rows * columns <= VALUES_MAX && vvcql_next_row(result)) {
        walked++;
        for (size_t i = 0; i <= columns; i++) { /* one that is not there, too */
            get_all(result, i);
        }
    }
    require(rows * columns > VALUES_MAX || walked == rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    uint8_t *body = malloc(size);
    require(body != NULL);
    memcpy(body, data + 1, size - 1);
    struct vvcql_frame frame = {.flags = data[0], .opcode = VVCQL_OP_RESULT};
    frame.body = (struct vvcql_bytes){.data = body, .size = size - 1};
    struct vvcql_result *result;
    enum vvcql_status status = vvcql_result_create(&frame, "127.0.0.1:9042", &result, NULL);
    free(body); /* a result has its own */
    require(status == VVCQL_OK || status == VVCQL_PROTOCOL);
    require((status == VVCQL_OK) == (result != NULL));
    if (result != NULL) {
        require(vvcql_result_size(result) == size - 1);
        walk(result);
        vvcql_result_destroy(result);
    }
    return 0;
}
