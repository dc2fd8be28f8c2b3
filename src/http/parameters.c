/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters: an array of pairs; forms are decoded into an arena. */
#include "http/parameters.h"

#include <microhttpd.h>
#include <stdlib.h>

#define CAPACITY_MIN 16

void vv_parameters_deinit(struct vv_parameters *parameters)
{
    free(parameters->items);
    vv_arena_deinit(&parameters->arena);
    *parameters = (struct vv_parameters){0};
}

static enum vv_status out_of_memory(struct vv_error *error)
{
    return vv_error_set(error, VV_NO_MEMORY, "out of memory; send the request again later");
}

static enum vv_status add(struct vv_parameters *parameters, struct vv_str name, struct vv_str value,
                          struct vv_error *error)
{
    if (parameters->n == VV_PARAMETERS_MAX) {
        return vv_error_set(error, VV_INVALID, "more than %d parameters in one request",
                            VV_PARAMETERS_MAX);
    }
    if (parameters->n == parameters->capacity) {
        size_t capacity = parameters->capacity ? parameters->capacity * 2 : CAPACITY_MIN;
        struct vv_parameter *items = realloc(parameters->items, capacity * sizeof *items);
        if (!items) {
            return out_of_memory(error);
        }
        parameters->items = items;
        parameters->capacity = capacity;
    }
    parameters->items[parameters->n++] = (struct vv_parameter){name, value};
    return VV_OK;
}

struct url_walk {
    struct vv_parameters *parameters;
    enum vv_status status;
    struct vv_error *error;
};

static enum MHD_Result add_from_url(void *context, enum MHD_ValueKind kind, const char *key,
                                    size_t key_size, const char *value, size_t value_size)
{
    (void)kind;
    struct url_walk *walk = context;
    struct vv_str name = {key ? key : "", key ? key_size : 0};
    struct vv_str text = {value ? value : "", value ? value_size : 0};
    walk->status = add(walk->parameters, name, text, walk->error);
    return walk->status == VV_OK ? MHD_YES : MHD_NO;
}

enum vv_status vv_parameters_add_url(struct vv_parameters *parameters,
                                     struct MHD_Connection *connection, struct vv_error *error)
{
    struct url_walk walk = {.parameters = parameters, .status = VV_OK, .error = error};
    MHD_get_connection_values_n(connection, MHD_GET_ARGUMENT_KIND, add_from_url, &walk);
    return walk.status;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* Decodes into `out`, which holds as many bytes as the text has; false for a bad escape. */
static bool decode(struct vv_str text, char *out, size_t *size_out)
{
    size_t size = 0;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        if (c == '%') {
            int high = i + 2 < text.size ? hex_digit(text.data[i + 1]) : -1;
            int low = i + 2 < text.size ? hex_digit(text.data[i + 2]) : -1;
            if (high < 0 || low < 0) {
                return false;
            }
            c = (char)(high * 16 + low);
            i += 2;
        } else if (c == '+') {
            c = ' ';
        }
        out[size++] = c;
    }
    *size_out = size;
    return true;
}

static enum vv_status decode_copy(struct vv_parameters *parameters, struct vv_str text,
                                  struct vv_str *decoded_out, struct vv_error *error)
{
    char *copy = vv_arena_alloc(&parameters->arena, text.size + 1);
    if (!copy) {
        return out_of_memory(error);
    }
    size_t size = 0;
    if (!decode(text, copy, &size)) {
        return vv_error_set(error, VV_INVALID,
                            "the form has a '%%' without two hexadecimal digits after it; write "
                            "%%25 for a percent sign");
    }
    *decoded_out = (struct vv_str){copy, size};
    return VV_OK;
}

static enum vv_status add_pair(struct vv_parameters *parameters, struct vv_str pair,
                               struct vv_error *error)
{
    const char *equals = memchr(pair.data, '=', pair.size);
    size_t name_size = equals ? (size_t)(equals - pair.data) : pair.size;
    struct vv_str value = {"", 0};
    if (equals) {
        value = (struct vv_str){equals + 1, pair.size - name_size - 1};
    }
    struct vv_str name;
    enum vv_status status =
        decode_copy(parameters, (struct vv_str){pair.data, name_size}, &name, error);
    if (status == VV_OK) {
        status = decode_copy(parameters, value, &value, error);
    }
    return status == VV_OK ? add(parameters, name, value, error) : status;
}

enum vv_status vv_parameters_add_form(struct vv_parameters *parameters, struct vv_str form,
                                      struct vv_error *error)
{
    size_t at = 0;
    while (at < form.size) {
        const char *start = form.data + at;
        const char *end = memchr(start, '&', form.size - at);
        size_t size = end ? (size_t)(end - start) : form.size - at;
        if (size > 0) {
            enum vv_status status = add_pair(parameters, (struct vv_str){start, size}, error);
            if (status != VV_OK) {
                return status;
            }
        }
        at += size + 1;
    }
    return VV_OK;
}

struct vv_str vv_parameters_find(const struct vv_parameters *parameters, const char *name)
{
    struct vv_str wanted = vv_str_of(name);
    for (size_t i = parameters->n; i > 0; i--) {
        if (vv_str_equal(parameters->items[i - 1].name, wanted)) {
            return parameters->items[i - 1].value;
        }
    }
    return (struct vv_str){NULL, 0};
}

struct vv_str vv_parameters_tenant(const struct vv_parameters *parameters)
{
    struct vv_str tenant = vv_parameters_find(parameters, "tenant");
    tenant = tenant.data ? tenant : vv_parameters_find(parameters, "db");
    return tenant.data ? tenant : VV_STR_LITERAL("default");
}

void vv_parameters_remove(struct vv_parameters *parameters, const char *name)
{
    struct vv_str wanted = vv_str_of(name);
    size_t kept = 0;
    for (size_t i = 0; i < parameters->n; i++) {
        if (!vv_str_equal(parameters->items[i].name, wanted)) {
            parameters->items[kept++] = parameters->items[i];
        }
    }
    parameters->n = kept;
}
