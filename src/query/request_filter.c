/* SPDX-License-Identifier: Apache-2.0 */
/* Which sources and metrics a request asks for. */
#include "query/request.h"
#include "query/words.h"

static enum vv_status no_memory(struct vv_error *error)
{
    return vv_error_set(error, VV_NO_MEMORY, "out of memory for the request");
}

bool vv_str_list_add(struct vv_arena *arena, struct vv_str_list *list, struct vv_str item)
{
    if (list->n == list->capacity) {
        size_t capacity = list->capacity ? list->capacity * 2 : 8;
        struct vv_str *items = vv_arena_alloc(arena, capacity * sizeof *items);
        if (!items) {
            return false;
        }
        if (list->n > 0) {
            memcpy(items, list->items, list->n * sizeof *items);
        }
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->n++] = item;
    return true;
}

static enum vv_status add_copy(struct vv_request *request, struct vv_str_list *list,
                               struct vv_str text, struct vv_error *error)
{
    struct vv_str copy = vv_arena_str(&request->arena, text);
    if (!copy.data || !vv_str_list_add(&request->arena, list, copy)) {
        return no_memory(error);
    }
    return VV_OK;
}

enum vv_status vv_request_source(struct vv_request *request, struct vv_str text,
                                 struct vv_error *error)
{
    if (text.size > 0 && text.data[0] == '~') {
        struct vv_str pattern = {text.data + 1, text.size - 1};
        if (pattern.size == 0) {
            return vv_error_set(error, VV_INVALID,
                                "source '~' has no pattern: write source=~press-*");
        }
        return add_copy(request, &request->id_patterns, pattern, error);
    }
    bool escaped =
        text.size > 1 && text.data[0] == '\\' && (text.data[1] == '~' || text.data[1] == '\\');
    struct vv_str id = {text.data + escaped, text.size - escaped};
    return add_copy(request, &request->ids, id, error);
}

enum vv_status vv_request_metric(struct vv_request *request, struct vv_str text,
                                 struct vv_error *error)
{
    struct vv_str rest = text;
    struct vv_str pattern;
    bool started = false;
    while (vv_words_next(&rest, ',', &started, &pattern)) {
        if (pattern.size == 0) {
            return vv_error_set(error, VV_INVALID,
                                "metric has an empty name: write metric=pump.temperature,pump.*");
        }
        enum vv_status status = add_copy(request, &request->metrics, pattern, error);
        if (status != VV_OK) {
            return status;
        }
    }
    return VV_OK;
}

/* ---- tags ---- */

/* Splits KEY OP VALUES at the first unescaped operator. */
static bool split_tag(struct vv_str text, struct vv_str *key_out, enum vv_match_op *op_out,
                      struct vv_str *values_out)
{
    size_t at = 0;
    while (at < text.size && text.data[at] != '=' && text.data[at] != '~' &&
           !(text.data[at] == '!' && at + 1 < text.size &&
             (text.data[at + 1] == '=' || text.data[at + 1] == '~'))) {
        at += text.data[at] == '\\' && at + 1 < text.size ? 2 : 1;
    }
    if (at == 0 || at >= text.size) {
        return false;
    }
    *key_out = (struct vv_str){text.data, at};
    bool negated = text.data[at] == '!';
    at += negated;
    bool pattern = text.data[at] == '~';
    if (pattern) {
        *op_out = negated ? VV_MATCH_NOT_GLOB : VV_MATCH_GLOB;
    } else {
        *op_out = negated ? VV_MATCH_NOT_IN : VV_MATCH_IN;
    }
    *values_out = (struct vv_str){text.data + at + 1, text.size - at - 1};
    return true;
}

/* "KEY=" is a source without the tag, "KEY!=" one that has it, as patterns that match anything. */
static enum vv_status add_presence(struct vv_request *request, struct vv_matcher *matcher,
                                   struct vv_error *error)
{
    struct vv_str_list list = {0};
    matcher->op = matcher->op == VV_MATCH_IN ? VV_MATCH_NOT_GLOB : VV_MATCH_GLOB;
    if (!vv_str_list_add(&request->arena, &list, VV_STR_LITERAL("*"))) {
        return no_memory(error);
    }
    matcher->values = list.items;
    matcher->n_values = 1;
    request->n_matchers++;
    return VV_OK;
}

static enum vv_status tag_shape(struct vv_str text, const char *what, struct vv_error *error)
{
    char shown[VV_SHOWN_SIZE];
    return vv_error_set(error, VV_INVALID,
                        "tag '%s' %s: write tag=KEY=V1|V2, KEY!=V1|V2, KEY~PATTERN or KEY!~PATTERN "
                        "(a backslash before |, =, ~ or ! that belongs to the text)",
                        vv_shown(text, shown), what);
}

static enum vv_status add_values(struct vv_request *request, struct vv_matcher *matcher,
                                 struct vv_str text, struct vv_str values, struct vv_error *error)
{
    bool pattern = matcher->op == VV_MATCH_GLOB || matcher->op == VV_MATCH_NOT_GLOB;
    struct vv_str_list list = {0};
    struct vv_str value;
    bool started = false;
    while (vv_words_next(&values, '|', &started, &value)) {
        if (value.size == 0) {
            return tag_shape(text, "has an empty value", error);
        }
        if (!pattern && value.data[0] == '~') {
            return tag_shape(text, "has '=~'", error);
        }
        /* Patterns keep their escapes: they mean the same there. */
        struct vv_str copy = pattern ? vv_arena_str(&request->arena, value)
                                     : vv_words_unescape(&request->arena, value);
        if (!copy.data || !vv_str_list_add(&request->arena, &list, copy)) {
            return no_memory(error);
        }
    }
    matcher->values = list.items;
    matcher->n_values = list.n;
    request->n_matchers++;
    return VV_OK;
}

enum vv_status vv_request_tag(struct vv_request *request, struct vv_str text,
                              struct vv_error *error)
{
    if (request->n_matchers == VV_MATCHERS_MAX) {
        return vv_error_set(error, VV_INVALID, "tag is given too often: at most %d times",
                            VV_MATCHERS_MAX);
    }
    struct vv_matcher *matcher = &request->matchers[request->n_matchers];
    struct vv_str key;
    struct vv_str values;
    if (!split_tag(text, &key, &matcher->op, &values)) {
        return tag_shape(text, "is not a condition", error);
    }
    matcher->key = vv_words_unescape(&request->arena, key);
    if (!matcher->key.data) {
        return no_memory(error);
    }
    bool pattern = matcher->op == VV_MATCH_GLOB || matcher->op == VV_MATCH_NOT_GLOB;
    if (values.size == 0 && !pattern) {
        return add_presence(request, matcher, error);
    }
    return add_values(request, matcher, text, values, error);
}

enum vv_status vv_request_measurement(struct vv_request *request, struct vv_str text,
                                      struct vv_error *error)
{
    struct vv_str copy = vv_arena_str(&request->arena, text);
    return copy.data && vv_str_list_add(&request->arena, &request->measurements, copy)
               ? VV_OK
               : no_memory(error);
}
