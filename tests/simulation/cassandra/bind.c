/* SPDX-License-Identifier: Apache-2.0 */
/* Terms as values of columns, and comparing with them. */
#include "simulation/cassandra/model.h"

#include "cql/statement_private.h"

#include <ctype.h>
#include <stdlib.h>

#define LENGTH_UNSET UINT32_C(0xfffffffe)

/* ---- literals ---- */

static struct vv_str keep(struct cass_call *call, const void *bytes, size_t size)
{
    struct vv_str copy = vv_arena_str(&call->arena, (struct vv_str){(const char *)bytes, size});
    vv_invariant(copy.data != NULL);
    return copy;
}

static struct vv_str from_hex(struct cass_call *call, struct vv_str text)
{
    struct vv_buffer bytes = {0};
    char pair[3] = "";
    size_t digits = 0;
    for (size_t i = 0; i < text.size; i++) {
        if (isxdigit((unsigned char)text.data[i])) {
            pair[digits++ & 1] = text.data[i];
            if ((digits & 1) == 0) {
                vv_buffer_u8(&bytes, (uint8_t)strtoul(pair, NULL, 16));
            }
        }
    }
    struct vv_str value = keep(call, bytes.size > 0 ? bytes.data : (uint8_t *)"", bytes.size);
    vv_buffer_deinit(&bytes);
    return value;
}

static struct vv_str from_number(struct cass_call *call, struct vv_str text, enum vvcql_type type)
{
    uint8_t bytes[8];
    size_t size = cass_type_size(type);
    uint64_t bits = (uint64_t)strtoll(text.data, NULL, 10);
    if (type == VVCQL_TYPE_DOUBLE) {
        double number = strtod(text.data, NULL);
        memcpy(&bits, &number, sizeof bits);
    }
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (uint8_t)(bits >> (8 * (size - 1 - i)));
    }
    return keep(call, bytes, size);
}

static struct vv_str from_literal(struct cass_call *call, const struct cass_term *term,
                                  enum vvcql_type type)
{
    size_t size = cass_type_size(type);
    bool is_text = type == VVCQL_TYPE_TEXT || type == VVCQL_TYPE_ASCII;
    if (term->kind == CASS_TEXT && is_text) {
        return term->text;
    }
    if (term->kind == CASS_NUMBER && type == VVCQL_TYPE_UUID) {
        return from_hex(call, term->text);
    }
    if (term->kind == CASS_NUMBER && type == VVCQL_TYPE_BLOB && term->text.size >= 2) {
        return from_hex(call, (struct vv_str){term->text.data + 2, term->text.size - 2});
    }
    if (term->kind == CASS_NUMBER && size > 0 && size <= 8 && type != VVCQL_TYPE_BOOLEAN) {
        return from_number(call, term->text, type);
    }
    if (term->kind == CASS_WORD && type == VVCQL_TYPE_BOOLEAN) {
        return keep(call, vv_str_equal(term->text, VV_STR_LITERAL("true")) ? "\1" : "\0", 1);
    }
    cass_give_up(call->ast, "'%.*s' is no value of its column", VV_STR_ARG(term->text));
}

/* ---- markers ---- */

/* A value with its length, at its place in the statement. */
static struct vvcql_reader reader_at(const struct cass_call *call, uint32_t marker)
{
    const struct vvcql_statement *values = call->values;
    if (marker >= values->n_values) {
        cass_give_up(call->ast, "value %u of %zu is not there", marker, values->n_values);
    }
    size_t start = marker > 0 ? values->ends[marker - 1] : 0;
    return (struct vvcql_reader){.at = values->values.data + start,
                                 .left = values->ends[marker] - start};
}

static void check_size(const struct cass_call *call, enum vvcql_type type, size_t size)
{
    size_t wanted = cass_type_size(type);
    if (wanted > 0 && size != wanted) {
        cass_give_up(call->ast, "a value has %zu bytes, not %zu", size, wanted);
    }
}

enum cass_binding cass_bind(struct cass_call *call, const struct cass_term *term,
                            enum vvcql_type type, struct vv_str *value_out)
{
    *value_out = (struct vv_str){0};
    if (term->kind != CASS_MARKER) {
        if (term->kind == CASS_WORD && vv_str_equal(term->text, VV_STR_LITERAL("null"))) {
            return CASS_NULL;
        }
        *value_out = from_literal(call, term, type);
        return CASS_BOUND;
    }
    struct vvcql_reader reader = reader_at(call, term->marker);
    if (vvcql_load_u32(reader.at) == LENGTH_UNSET) {
        return CASS_UNSET;
    }
    struct vvcql_bytes value = vvcql_read_value(&reader);
    if (!value.data) {
        return CASS_NULL;
    }
    check_size(call, type, value.size);
    *value_out = (struct vv_str){(const char *)value.data, value.size};
    return CASS_BOUND;
}

int64_t cass_bind_number(struct cass_call *call, const struct cass_term *term, enum vvcql_type type,
                         int64_t otherwise)
{
    struct vv_str value;
    if (cass_bind(call, term, type, &value) != CASS_BOUND) {
        return otherwise;
    }
    const uint8_t *bytes = (const uint8_t *)value.data;
    return value.size == 8 ? (int64_t)vvcql_load_u64(bytes) : (int32_t)vvcql_load_u32(bytes);
}

const struct cass_column *cass_column(const struct cass_call *call, struct vv_str name)
{
    const struct cass_column *column = cass_find_column(call->table, name);
    if (!column) {
        cass_give_up(call->ast, "there is no column %.*s", VV_STR_ARG(name));
    }
    return column;
}

/* ---- conditions ---- */

static bool holds(enum cass_operator operator, int order)
{
    switch (operator) {
    case CASS_EQ:
    case CASS_IN:
        return order == 0;
    case CASS_NE:
        return order != 0;
    case CASS_LT:
        return order < 0;
    case CASS_LE:
        return order <= 0;
    case CASS_GT:
        return order > 0;
    case CASS_GE:
        return order >= 0;
    }
    return false;
}

/* Null is equal to null only, and neither below nor above anything. */
static bool holds_for(enum cass_operator operator, enum vvcql_type type, struct vv_str value,
                      struct vv_str term)
{
    if (!value.data || !term.data) {
        bool same = !value.data && !term.data;
        return operator== CASS_NE ? !same : same &&(operator== CASS_EQ || operator== CASS_IN);
    }
    return holds(operator, cass_compare_values(type, value, term));
}

static bool is_in_list(struct cass_call *call, const struct cass_term *term, enum vvcql_type type,
                       struct vv_str value)
{
    if (term->kind != CASS_MARKER) {
        cass_give_up(call->ast, "IN needs (…) or ?");
    }
    struct vvcql_reader reader = reader_at(call, term->marker);
    struct vvcql_bytes list = vvcql_read_value(&reader);
    struct vvcql_reader items = vvcql_reader_of(list);
    uint32_t n = vvcql_read_u32(&items);
    for (uint32_t i = 0; i < n && !items.failed; i++) {
        struct vvcql_bytes item = vvcql_read_value(&items);
        check_size(call, type, item.size);
        struct vv_str one = {(const char *)item.data, item.size};
        if (holds_for(CASS_IN, type, value, one)) {
            return true;
        }
    }
    return false;
}

bool cass_fulfils(struct cass_call *call, const struct cass_condition *condition,
                  enum vvcql_type type, struct vv_str value)
{
    if (condition->is_list) {
        return is_in_list(call, &condition->terms[0], type, value);
    }
    for (size_t i = 0; i < condition->n_terms; i++) {
        struct vv_str term;
        if (cass_bind(call, &condition->terms[i], type, &term) == CASS_UNSET) {
            cass_give_up(call->ast, "a value of a condition is unset");
        }
        if (holds_for(condition->operator, type, value, term)) {
            return true;
        }
    }
    return false;
}

bool cass_fulfils_tuple(struct cass_call *call, const struct cass_condition *condition,
                        const struct cass_clustering *clustering)
{
    int order = 0;
    for (size_t i = 0; i < condition->n_columns && order == 0; i++) {
        const struct cass_column *column = cass_column(call, condition->columns[i]);
        struct vv_str term;
        if (cass_bind(call, &condition->terms[i], column->type, &term) != CASS_BOUND ||
            column->kind != CASS_CLUSTERING) {
            cass_give_up(call->ast, "a tuple must be of clustering columns, and not null");
        }
        order = cass_compare_values(column->type, clustering->values[column->position], term);
    }
    return holds(condition->operator, order);
}
