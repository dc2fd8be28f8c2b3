/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The predicate: conditions KEY="VALUE" joined by AND. A key may stand in double quotes, a value in
 * double or single ones; a backslash goes before a quote or backslash inside.
 */
#include "http/influx_delete.h"

#include <ctype.h>
#include <jansson.h>
#include <stdlib.h>
#include <strings.h>

static enum vv_status add(struct vv_parameters *parameters, const char *name, struct vv_str value,
                          struct vv_error *error)
{
    struct vv_buffer form = {0};
    static const char digits[] = "0123456789ABCDEF";
    vv_buffer_text(&form, name);
    vv_buffer_u8(&form, '=');
    for (size_t i = 0; i < value.size; i++) {
        uint8_t byte = (uint8_t)value.data[i];
        vv_buffer_u8(&form, '%');
        vv_buffer_u8(&form, (uint8_t)digits[byte >> 4]);
        vv_buffer_u8(&form, (uint8_t)digits[byte & 15]);
    }
    enum vv_status status = vv_buffer_status(&form);
    status = status == VV_OK
                 ? vv_parameters_add_form(
                       parameters, (struct vv_str){(const char *)form.data, form.size}, error)
                 : vv_error_set(error, VV_NO_MEMORY, "out of memory");
    vv_buffer_deinit(&form);
    return status;
}

/* ---- the predicate ---- */

static enum vv_status bad_predicate(struct vv_error *error)
{
    return vv_error_set(error, VV_INVALID,
                        "the predicate cannot be read: write conditions such as "
                        "_measurement=\"m\" AND host=\"a\"; there is no OR and no other operator "
                        "than = here, /api/v1/delete has more");
}

static void skip_spaces(struct vv_str *text)
{
    while (text->size > 0 && isspace((unsigned char)text->data[0])) {
        text->data++;
        text->size--;
    }
}

/* A quoted text or a bare word, unescaped and appended; false: there is none. */
static bool take_word(struct vv_str *text, bool may_be_bare, struct vv_buffer *out)
{
    skip_spaces(text);
    char quote =
        text->size > 0 && (text->data[0] == '"' || text->data[0] == '\'') ? text->data[0] : '\0';
    size_t at = quote ? 1 : 0;
    while (at < text->size && (quote ? text->data[at] != quote
                                     : !isspace((unsigned char)text->data[at]) &&
                                           !strchr("=!<>()\"'", text->data[at]))) {
        at += text->data[at] == '\\' && at + 1 < text->size;
        vv_buffer_u8(out, (uint8_t)text->data[at++]);
    }
    bool is_word = quote ? at < text->size : at > 0 && may_be_bare;
    at += quote && is_word;
    text->data += at;
    text->size -= at;
    return is_word;
}

/* As a word of our own, in which none of these characters means anything. */
static void add_escaped(struct vv_buffer *out, struct vv_str text, const char *special)
{
    for (size_t i = 0; i < text.size; i++) {
        if (strchr(special, text.data[i])) {
            vv_buffer_u8(out, '\\');
        }
        vv_buffer_u8(out, (uint8_t)text.data[i]);
    }
}

static enum vv_status add_condition(struct vv_parameters *parameters, struct vv_str key,
                                    struct vv_str value, struct vv_error *error)
{
    struct vv_buffer word = {0};
    bool is_measurement = vv_str_equal(key, VV_STR_LITERAL("_measurement"));
    if (vv_str_equal(key, VV_STR_LITERAL("_field"))) {
        return vv_error_set(error, VV_INVALID,
                            "fields cannot be deleted by this API: use /api/v1/delete with metric");
    }
    if (is_measurement) {
        add_escaped(&word, value, "*?\\");
    } else {
        add_escaped(&word, key, "=~!|\\");
        vv_buffer_u8(&word, '=');
        add_escaped(&word, value, "=~!|\\");
    }
    enum vv_status status = vv_buffer_status(&word);
    status = status == VV_OK ? add(parameters, is_measurement ? "measurement" : "tag",
                                   (struct vv_str){(const char *)word.data, word.size}, error)
                             : vv_error_set(error, VV_NO_MEMORY, "out of memory");
    vv_buffer_deinit(&word);
    return status;
}

static bool take_and(struct vv_str *text)
{
    skip_spaces(text);
    bool has = text->size > 3 && strncasecmp(text->data, "and", 3) == 0 &&
               isspace((unsigned char)text->data[3]);
    text->data += has ? 3 : 0;
    text->size -= has ? 3 : 0;
    return has;
}

static enum vv_status parse_condition(struct vv_str *text, struct vv_parameters *parameters,
                                      struct vv_error *error)
{
    struct vv_buffer key = {0};
    struct vv_buffer value = {0};
    bool good = take_word(text, true, &key);
    skip_spaces(text);
    good = good && text->size > 1 && text->data[0] == '=' && text->data[1] != '~';
    if (good) {
        text->data++;
        text->size--;
        good = take_word(text, false, &value);
    }
    enum vv_status status = VV_OK;
    if (vv_buffer_status(&key) != VV_OK || vv_buffer_status(&value) != VV_OK) {
        status = vv_error_set(error, VV_NO_MEMORY, "out of memory");
    } else if (!good) {
        status = bad_predicate(error);
    } else {
        status = add_condition(parameters, (struct vv_str){(const char *)key.data, key.size},
                               (struct vv_str){(const char *)value.data, value.size}, error);
    }
    vv_buffer_deinit(&key);
    vv_buffer_deinit(&value);
    return status;
}

static enum vv_status parse_predicate(struct vv_str text, struct vv_parameters *parameters,
                                      struct vv_error *error)
{
    skip_spaces(&text);
    if (text.size == 0) {
        return vv_error_set(error, VV_INVALID,
                            "without a predicate everything would be deleted: give one, or use "
                            "/api/v1/delete with all=true");
    }
    enum vv_status status;
    do {
        status = parse_condition(&text, parameters, error);
    } while (status == VV_OK && take_and(&text));
    skip_spaces(&text);
    return status == VV_OK && text.size > 0 ? bad_predicate(error) : status;
}

/* ---- the body ---- */

static enum vv_status add_member(struct vv_parameters *parameters, const json_t *root,
                                 const char *member, const char *name, struct vv_error *error)
{
    const json_t *value = json_object_get(root, member);
    if (!json_is_string(value)) {
        return vv_error_set(error, VV_INVALID,
                            "give start and stop as texts, such as \"2026-01-01T00:00:00Z\"");
    }
    return add(parameters, name,
               (struct vv_str){json_string_value(value), json_string_length(value)}, error);
}

enum vv_status vv_influx_delete_parse(struct vv_str bucket, struct vv_str body,
                                      struct vv_parameters *parameters, struct vv_error *error)
{
    json_t *root = json_loadb(body.size ? body.data : "", body.size, 0, NULL);
    if (!json_is_object(root)) {
        json_decref(root);
        return vv_error_set(error, VV_INVALID,
                            "the body must be a JSON object with start, stop and predicate");
    }
    const json_t *predicate = json_object_get(root, "predicate");
    enum vv_status status = add_member(parameters, root, "start", "from", error);
    if (status == VV_OK) {
        status = add_member(parameters, root, "stop", "to", error);
    }
    if (status == VV_OK && bucket.data) {
        status = add(parameters, "tenant", bucket, error);
    }
    if (status == VV_OK) {
        struct vv_str text = {json_is_string(predicate) ? json_string_value(predicate) : "",
                              json_is_string(predicate) ? json_string_length(predicate) : 0};
        status = parse_predicate(text, parameters, error);
    }
    json_decref(root);
    return status;
}
