/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of statements. They are kept as they are sent: each with its length, one after the other.
 */
#include "statement_private.h"

#include "frame.h"

#include <stdlib.h>
#include <string.h>

#define LENGTH_SIZE       sizeof(uint32_t)
#define LENGTH_NULL       ((uint32_t)-1)
#define LENGTH_UNSET      ((uint32_t)-2)
#define LIST_HEADER_SIZE  (2 * LENGTH_SIZE) /* of the value, number of elements */
#define ENDS_CAPACITY_MIN 8

static bool set_wrong(struct vvcql_statement *statement, const char *what)
{
    statement->wrong = what;
    return false;
}

/* Whether a value of `size` bytes with its length, or a list's element, may be added now. */
static bool may_add(struct vvcql_statement *statement, size_t size)
{
    if (statement == NULL || statement->wrong != NULL || statement->out_of_memory) {
        return false;
    }
    if (statement->kind == VVCQL_KIND_BATCH) {
        return set_wrong(statement, "values belong to the statements of a batch, not to the batch");
    }
    if (!statement->list_open && statement->n_values == VVCQL_VALUES_MAX) {
        return set_wrong(statement, "more than 65,535 values");
    }
    if (size > VVCQL_FRAME_BODY_MAX - statement->values.size) {
        return set_wrong(statement, "the values are longer than 256 MiB");
    }
    return true;
}

/* Room for one value's end more, so that keeping it can't fail. */
static bool reserve_end(struct vvcql_statement *statement)
{
    if (statement->n_values < statement->ends_capacity) {
        return true;
    }
    size_t capacity = statement->ends_capacity * 2;
    capacity = capacity < ENDS_CAPACITY_MIN ? ENDS_CAPACITY_MIN : capacity;
    uint32_t *ends = realloc(statement->ends, capacity * sizeof *ends);
    if (ends == NULL) {
        return false;
    }
    statement->ends = ends;
    statement->ends_capacity = capacity;
    return true;
}

/* Where to put `size` bytes that the caller adds to values.size; NULL when they can't be added. */
static uint8_t *reserve(struct vvcql_statement *statement, size_t size)
{
    if (!may_add(statement, size)) {
        return NULL;
    }
    uint8_t *at = reserve_end(statement) ? vvcql_buffer_reserve(&statement->values, size) : NULL;
    statement->out_of_memory = at == NULL;
    return at;
}

static void count_value(struct vvcql_statement *statement)
{
    if (statement->list_open) {
        statement->list_items++;
        return;
    }
    statement->ends[statement->n_values] = (uint32_t)statement->values.size;
    statement->n_values++;
}

static void add(struct vvcql_statement *statement, const void *data, size_t size)
{
    if (size > VVCQL_FRAME_BODY_MAX) {
        if (may_add(statement, 0)) {
            set_wrong(statement, "a value is longer than 256 MiB");
        }
        return;
    }
    uint8_t *at = reserve(statement, LENGTH_SIZE + size);
    if (at == NULL) {
        return;
    }
    vvcql_store_u32(at, (uint32_t)size);
    if (size > 0) {
        memcpy(at + LENGTH_SIZE, data, size);
    }
    statement->values.size += LENGTH_SIZE + size;
    count_value(statement);
}

/* Null or unset: a length with nothing behind. */
static void add_length(struct vvcql_statement *statement, uint32_t length)
{
    if (may_add(statement, LENGTH_SIZE) && statement->list_open) {
        set_wrong(statement, "an element of a list can't be null or unset");
        return;
    }
    uint8_t *at = reserve(statement, LENGTH_SIZE);
    if (at != NULL) {
        vvcql_store_u32(at, length);
        statement->values.size += LENGTH_SIZE;
        count_value(statement);
    }
}

/* A value that was given as NULL by mistake. */
static void refuse_null(struct vvcql_statement *statement)
{
    if (may_add(statement, 0)) {
        set_wrong(statement, "a value is a NULL pointer: null is added with vvcql_add_null()");
    }
}

void vvcql_add_null(struct vvcql_statement *statement)
{
    add_length(statement, LENGTH_NULL);
}

void vvcql_add_unset(struct vvcql_statement *statement)
{
    add_length(statement, LENGTH_UNSET);
}

void vvcql_add_boolean(struct vvcql_statement *statement, bool value)
{
    uint8_t byte = value ? 1 : 0;
    add(statement, &byte, sizeof byte);
}

void vvcql_add_tinyint(struct vvcql_statement *statement, int8_t value)
{
    add(statement, &value, sizeof value);
}

void vvcql_add_smallint(struct vvcql_statement *statement, int16_t value)
{
    uint8_t bytes[sizeof value];
    vvcql_store_u16(bytes, (uint16_t)value);
    add(statement, bytes, sizeof bytes);
}

void vvcql_add_int(struct vvcql_statement *statement, int32_t value)
{
    uint8_t bytes[sizeof value];
    vvcql_store_u32(bytes, (uint32_t)value);
    add(statement, bytes, sizeof bytes);
}

void vvcql_add_bigint(struct vvcql_statement *statement, int64_t value)
{
    uint8_t bytes[sizeof value];
    vvcql_store_u64(bytes, (uint64_t)value);
    add(statement, bytes, sizeof bytes);
}

void vvcql_add_float(struct vvcql_statement *statement, float value)
{
    uint32_t bits;
    _Static_assert(sizeof bits == sizeof value, "float has 4 bytes");
    memcpy(&bits, &value, sizeof bits);
    vvcql_add_int(statement, (int32_t)bits);
}

void vvcql_add_double(struct vvcql_statement *statement, double value)
{
    uint64_t bits;
    _Static_assert(sizeof bits == sizeof value, "double has 8 bytes");
    memcpy(&bits, &value, sizeof bits);
    vvcql_add_bigint(statement, (int64_t)bits);
}

void vvcql_add_timestamp(struct vvcql_statement *statement, int64_t milliseconds)
{
    vvcql_add_bigint(statement, milliseconds);
}

void vvcql_add_uuid(struct vvcql_statement *statement, const uint8_t uuid[16])
{
    if (uuid == NULL) {
        refuse_null(statement);
        return;
    }
    add(statement, uuid, 16);
}

void vvcql_add_text(struct vvcql_statement *statement, const char *text)
{
    if (text == NULL) {
        refuse_null(statement);
        return;
    }
    add(statement, text, strlen(text));
}

void vvcql_add_bytes(struct vvcql_statement *statement, const void *data, size_t size)
{
    if (data == NULL && size > 0) {
        refuse_null(statement);
        return;
    }
    add(statement, data, size);
}

void vvcql_begin_list(struct vvcql_statement *statement)
{
    uint8_t *at = reserve(statement, LIST_HEADER_SIZE);
    if (at == NULL) {
        return;
    }
    if (statement->list_open) {
        set_wrong(statement, "lists can't be nested");
        return;
    }
    statement->list_open = true;
    statement->list_at = statement->values.size;
    statement->list_items = 0;
    statement->values.size += LIST_HEADER_SIZE;
}

void vvcql_end_list(struct vvcql_statement *statement)
{
    if (!may_add(statement, 0)) {
        return;
    }
    if (!statement->list_open) {
        set_wrong(statement, "a list was ended that was not begun");
        return;
    }
    uint8_t *at = statement->values.data + statement->list_at;
    size_t size = statement->values.size - statement->list_at - LENGTH_SIZE;
    vvcql_store_u32(at, (uint32_t)size);
    vvcql_store_u32(at + LENGTH_SIZE, statement->list_items);
    statement->list_open = false;
    count_value(statement);
}

struct vvcql_bytes vvcql_statement_value(const struct vvcql_statement *statement, size_t i)
{
    if (i >= statement->n_values) {
        return (struct vvcql_bytes){0};
    }
    size_t start = i > 0 ? statement->ends[i - 1] : 0;
    struct vvcql_reader reader = {.at = statement->values.data + start,
                                  .left = statement->ends[i] - start};
    return vvcql_read_value(&reader);
}
