/* SPDX-License-Identifier: Apache-2.0 */
/* A request as a JSON object: its members become parameters. */
#include "query/number.h"
#include "query/words.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#define PARAMETERS_MAX 65536u

struct list {
    struct vv_arena arena; /* texts of numbers */
    struct vv_parameter *items;
    size_t n;
    size_t capacity;
};

static enum vv_status no_memory(struct vv_error *error)
{
    return vv_error_set(error, VV_NO_MEMORY, "out of memory for the request");
}

static enum vv_status add(struct list *list, struct vv_str name, struct vv_str value,
                          struct vv_error *error)
{
    if (list->n == list->capacity) {
        size_t capacity = list->capacity ? list->capacity * 2 : 16;
        if (capacity > PARAMETERS_MAX) {
            return vv_error_set(error, VV_INVALID, "too many parameters: at most %u",
                                PARAMETERS_MAX);
        }
        struct vv_parameter *items = realloc(list->items, capacity * sizeof *items);
        if (!items) {
            return no_memory(error);
        }
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->n++] = (struct vv_parameter){name, value};
    return VV_OK;
}

static enum vv_status add_number(struct list *list, struct vv_str name, const json_t *value,
                                 struct vv_error *error)
{
    char text[VV_NUMBER_TEXT_SIZE];
    size_t size = json_is_integer(value) ? vv_integer_format(json_integer_value(value), text)
                                         : vv_number_format(json_real_value(value), text);
    struct vv_str copy = vv_arena_str(&list->arena, (struct vv_str){text, size});
    return copy.data ? add(list, name, copy, error) : no_memory(error);
}

/* A string, number or boolean. */
static enum vv_status add_scalar(struct list *list, struct vv_str name, const json_t *value,
                                 struct vv_error *error)
{
    if (json_is_string(value)) {
        struct vv_str text = {json_string_value(value), json_string_length(value)};
        return add(list, name, text, error);
    }
    if (json_is_number(value)) {
        return add_number(list, name, value, error);
    }
    if (json_is_boolean(value)) {
        return add(list, name, vv_str_of(json_is_true(value) ? "true" : "false"), error);
    }
    char shown[VV_SHOWN_SIZE];
    return vv_error_set(error, VV_INVALID,
                        "'%s' must be a string, a number, true, false, or an array of these",
                        vv_shown(name, shown));
}

static enum vv_status add_member(struct list *list, const char *key, const json_t *value,
                                 struct vv_error *error)
{
    struct vv_str name = vv_str_of(key);
    if (!json_is_array(value)) {
        return add_scalar(list, name, value, error);
    }
    for (size_t i = 0; i < json_array_size(value); i++) {
        enum vv_status status = add_scalar(list, name, json_array_get(value, i), error);
        if (status != VV_OK) {
            return status;
        }
    }
    return VV_OK;
}

static enum vv_status add_members(struct list *list, json_t *object, struct vv_error *error)
{
    for (void *at = json_object_iter(object); at; at = json_object_iter_next(object, at)) {
        enum vv_status status =
            add_member(list, json_object_iter_key(at), json_object_iter_value(at), error);
        if (status != VV_OK) {
            return status;
        }
    }
    return VV_OK;
}

static enum vv_status load(struct vv_str text, json_t **object_out, struct vv_error *error)
{
    json_error_t problem;
    *object_out =
        json_loadb(text.data ? text.data : "", text.size, JSON_REJECT_DUPLICATES, &problem);
    if (!*object_out && json_error_code(&problem) == json_error_out_of_memory) {
        return no_memory(error);
    }
    if (!*object_out) {
        char shown[VV_SHOWN_SIZE];
        return vv_error_set(error, VV_INVALID, "the JSON is wrong at line %d, column %d: %s",
                            problem.line, problem.column, vv_shown(vv_str_of(problem.text), shown));
    }
    if (!json_is_object(*object_out)) {
        json_decref(*object_out);
        *object_out = NULL;
        return vv_error_set(error, VV_INVALID,
                            "the request must be a JSON object such as {\"metric\": \"a.b\"}");
    }
    return VV_OK;
}

enum vv_status vv_request_parse_json(enum vv_request_kind kind, struct vv_str json, int64_t now_ns,
                                     struct vv_request **request_out, struct vv_error *error)
{
    *request_out = NULL;
    json_t *object;
    enum vv_status status = load(json, &object, error);
    if (status != VV_OK) {
        return status;
    }
    struct list list = {0};
    status = add_members(&list, object, error);
    if (status == VV_OK) {
        status = vv_request_parse(kind, list.items, list.n, now_ns, request_out, error);
    }
    free(list.items);
    vv_arena_deinit(&list.arena);
    json_decref(object);
    return status;
}
