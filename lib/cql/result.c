/* SPDX-License-Identifier: Apache-2.0 */
/* Results made of RESULT bodies, and walked through row by row. */
#include "result_private.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

/* A column's description has at least an empty name and a type; a value has its length. */
#define COLUMN_SIZE_MIN 4
#define VALUE_SIZE_MIN  4

/* What stands before the columns of rows. */
struct rows_header {
    uint32_t flags;
    uint32_t n_columns;
    struct vvcql_bytes paging_state;
};

static struct rows_header read_rows_header(struct vvcql_reader *reader)
{
    struct rows_header header = {.flags = vvcql_read_u32(reader)};
    header.n_columns = vvcql_read_u32(reader);
    if ((header.flags & VVCQL_METADATA_MORE_PAGES) != 0) {
        header.paging_state = vvcql_read_value(reader);
    }
    bool has_columns = (header.flags & VVCQL_METADATA_NONE) == 0;
    if (header.n_columns > VVCQL_COLUMNS_MAX || (header.n_columns > 0 && !has_columns) ||
        header.n_columns > reader->left / COLUMN_SIZE_MIN) {
        vvcql_reader_fail(reader);
    }
    return reader->failed ? (struct rows_header){0} : header;
}

static void read_columns(struct vvcql_reader *reader, const struct rows_header *header,
                         struct vvcql_column *columns)
{
    bool is_global = (header->flags & VVCQL_METADATA_GLOBAL_TABLE) != 0;
    if (is_global && (header->flags & VVCQL_METADATA_NONE) == 0) {
        vvcql_read_table(reader);
    }
    for (uint32_t i = 0; i < header->n_columns && !reader->failed; i++) {
        if (!is_global) {
            vvcql_read_table(reader);
        }
        columns[i] = vvcql_read_column(reader);
    }
}

/* Reads over all rows: vvcql_next_row() finds nothing wrong any more. */
static bool check_rows(struct vvcql_reader reader, size_t n_rows, size_t n_columns)
{
    if (n_rows > 0 && (n_columns == 0 || n_rows > reader.left / VALUE_SIZE_MIN / n_columns)) {
        return false;
    }
    for (size_t i = 0; i < n_rows * n_columns && !reader.failed; i++) {
        vvcql_read_value(&reader);
    }
    return !reader.failed;
}

static bool take_rows(struct vvcql_result *result, struct vvcql_reader *reader)
{
    struct rows_header header = read_rows_header(reader);
    read_columns(reader, &header, result->columns);
    result->paging_state = header.paging_state;
    result->n_rows = vvcql_read_u32(reader);
    result->rows = *reader;
    result->first_row = *reader;
    return !reader->failed && check_rows(result->rows, result->n_rows, result->n_columns);
}

/* Reads the copied body, whose kind and number of columns are known. */
static bool take_body(struct vvcql_result *result, enum vvcql_result_kind kind)
{
    struct vvcql_reader reader = vvcql_reader_of(result->prelude.body);
    vvcql_read_u32(&reader); /* the kind */
    switch (kind) {
    case VVCQL_RESULT_ROWS:
        return take_rows(result, &reader);
    case VVCQL_RESULT_SET_KEYSPACE:
        vvcql_read_string(&reader);
        return !reader.failed;
    case VVCQL_RESULT_SCHEMA_CHANGE:
        vvcql_read_string(&reader); /* created, updated or dropped */
        vvcql_read_string(&reader); /* what */
        vvcql_read_string(&reader); /* the keyspace */
        return !reader.failed;
    case VVCQL_RESULT_VOID:
        return true;
    default: /* prepared: see vvcql_decode_prepared() */
        return false;
    }
}

/* False for a body that claims more columns than it can hold. */
static bool count_columns(struct vvcql_bytes body, enum vvcql_result_kind kind, size_t *columns_out)
{
    *columns_out = 0;
    if (kind != VVCQL_RESULT_ROWS) {
        return true;
    }
    struct vvcql_reader reader = vvcql_reader_of(body);
    vvcql_read_u32(&reader); /* the kind */
    *columns_out = read_rows_header(&reader).n_columns;
    return !reader.failed;
}

/* A result with a copy of the frame's body. */
static struct vvcql_result *allocate(struct vvcql_bytes body, size_t n_columns)
{
    _Static_assert(alignof(struct vvcql_column) <= alignof(struct vvcql_result) &&
                       alignof(struct vvcql_bytes) <= alignof(struct vvcql_column),
                   "the parts follow each other");
    size_t columns_size = n_columns * sizeof(struct vvcql_column);
    size_t values_size = n_columns * sizeof(struct vvcql_bytes);
    struct vvcql_result *result = malloc(sizeof *result + columns_size + values_size + body.size);
    if (result == NULL) {
        return NULL;
    }
    *result = (struct vvcql_result){.n_columns = n_columns};
    uint8_t *at = (uint8_t *)(result + 1);
    result->columns = (struct vvcql_column *)(void *)at;
    result->values = (struct vvcql_bytes *)(void *)(at + columns_size);
    at += columns_size + values_size;
    memcpy(at, body.data, body.size);
    result->bytes = (struct vvcql_bytes){.data = at, .size = body.size};
    return result;
}

static enum vvcql_status decode(const struct vvcql_frame *frame, struct vvcql_prelude *prelude_out,
                                enum vvcql_result_kind *kind_out, struct vvcql_error *error)
{
    if (frame->opcode != VVCQL_OP_RESULT) {
        return vvcql_error_set(error, VVCQL_PROTOCOL, "an answer is no RESULT (opcode 0x%02x)",
                               frame->opcode);
    }
    enum vvcql_status status = vvcql_decode_prelude(frame, prelude_out, error);
    return status != VVCQL_OK ? status : vvcql_decode_kind(prelude_out->body, kind_out, error);
}

static enum vvcql_status refuse(enum vvcql_result_kind kind, size_t size, struct vvcql_error *error)
{
    return vvcql_error_set(error, VVCQL_PROTOCOL, "a RESULT of kind %d and %zu bytes can't be read",
                           (int)kind, size);
}

/* The same offsets in the copy. */
static struct vvcql_bytes moved(struct vvcql_bytes bytes, struct vvcql_bytes from,
                                struct vvcql_bytes to)
{
    if (bytes.data == NULL) {
        return bytes;
    }
    return (struct vvcql_bytes){.data = to.data + (bytes.data - from.data), .size = bytes.size};
}

enum vvcql_status vvcql_result_create(const struct vvcql_frame *frame, const char *host,
                                      struct vvcql_result **result_out, struct vvcql_error *error)
{
    *result_out = NULL;
    struct vvcql_prelude prelude;
    enum vvcql_result_kind kind;
    enum vvcql_status status = decode(frame, &prelude, &kind, error);
    if (status != VVCQL_OK) {
        return status;
    }
    size_t n_columns;
    if (!count_columns(prelude.body, kind, &n_columns)) {
        return refuse(kind, frame->body.size, error);
    }
    struct vvcql_result *result = allocate(frame->body, n_columns);
    if (result == NULL) {
        return vvcql_error_set(error, VVCQL_NO_MEMORY, "no memory for a result of %zu bytes",
                               frame->body.size);
    }
    result->prelude = prelude;
    result->prelude.warnings = moved(prelude.warnings, frame->body, result->bytes);
    result->prelude.body = moved(prelude.body, frame->body, result->bytes);
    vvcql_copy_text(result->host, sizeof result->host,
                    (struct vvcql_bytes){.data = (const uint8_t *)host, .size = strlen(host)});
    if (!take_body(result, kind)) {
        vvcql_result_destroy(result);
        return refuse(kind, frame->body.size, error);
    }
    *result_out = result;
    return VVCQL_OK;
}

void vvcql_result_destroy(struct vvcql_result *result)
{
    free(result);
}

size_t vvcql_result_rows(const struct vvcql_result *result)
{
    return result->n_rows;
}

size_t vvcql_result_columns(const struct vvcql_result *result)
{
    return result->n_columns;
}

struct vvcql_bytes vvcql_column_name(const struct vvcql_result *result, size_t column)
{
    return result->columns[column].name;
}

enum vvcql_type vvcql_column_type(const struct vvcql_result *result, size_t column)
{
    return result->columns[column].type;
}

size_t vvcql_result_size(const struct vvcql_result *result)
{
    return result->bytes.size;
}

struct vvcql_bytes vvcql_result_paging_state(const struct vvcql_result *result)
{
    return result->paging_state;
}

size_t vvcql_result_warnings(const struct vvcql_result *result)
{
    return result->prelude.n_warnings;
}

struct vvcql_bytes vvcql_result_warning(const struct vvcql_result *result, size_t index)
{
    struct vvcql_reader reader = vvcql_reader_of(result->prelude.warnings);
    for (size_t i = 0; i < index && !reader.failed; i++) {
        vvcql_read_string(&reader);
    }
    return vvcql_read_string(&reader);
}

bool vvcql_result_tracing_id(const struct vvcql_result *result, uint8_t uuid_out[16])
{
    if (!result->prelude.has_tracing_id) {
        return false;
    }
    memcpy(uuid_out, result->prelude.tracing_id, sizeof result->prelude.tracing_id);
    return true;
}

const char *vvcql_result_host(const struct vvcql_result *result)
{
    return result->host;
}

void vvcql_rewind(struct vvcql_result *result)
{
    result->rows = result->first_row;
    result->rows_taken = 0;
    result->has_row = false;
}

bool vvcql_next_row(struct vvcql_result *result)
{
    result->has_row = result->rows_taken < result->n_rows;
    if (!result->has_row) {
        return false;
    }
    result->rows_taken++;
    for (size_t i = 0; i < result->n_columns; i++) {
        result->values[i] = vvcql_read_value(&result->rows);
    }
    return true;
}
