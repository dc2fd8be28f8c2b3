/* SPDX-License-Identifier: Apache-2.0 */
/* The account of several changes. */
#include "http/changes.h"

#include "http/json_text.h"

#include <inttypes.h>

struct vv_str vv_changes_text(const json_t *value)
{
    return json_is_string(value)
               ? (struct vv_str){json_string_value(value), json_string_length(value)}
               : (struct vv_str){NULL, 0};
}

void vv_changes_each(struct vv_changes *changes, struct vv_str body, vv_changes_apply apply,
                     void *context)
{
    json_error_t problem;
    json_t *root = json_loadb(body.data, body.size, JSON_REJECT_DUPLICATES, &problem);
    if (!root) {
        struct vv_error error = {0};
        vv_error_set(&error, VV_INVALID, "the body is not JSON: line %d, column %d: %s",
                     problem.line, problem.column, problem.text);
        vv_changes_note(changes, VV_STR_LITERAL(""), VV_INVALID, &error);
    } else if (json_is_array(root)) {
        size_t index = 0;
        const json_t *element = NULL;
        json_array_foreach(root, index, element)
        {
            apply(changes, context, element);
        }
    } else {
        apply(changes, context, root);
    }
    json_decref(root);
}

void vv_changes_note(struct vv_changes *changes, struct vv_str name, enum vv_status status,
                     const struct vv_error *error)
{
    if (status == VV_OK) {
        changes->changed++;
        return;
    }
    if (changes->failed++ == 0) {
        changes->first_status = status;
        changes->first = *error;
    }
    if (changes->failed <= VV_FAILURES_KEPT) {
        struct vv_buffer *failures = &changes->failures;
        vv_buffer_format(failures, "%s{\"%s\":", failures->size ? "," : "", changes->noun);
        vv_json_text(failures, name);
        vv_buffer_format(failures, ",\"code\":\"%s\",\"message\":", vv_status_name(status));
        vv_json_text(failures, vv_str_of(error->message));
        vv_buffer_text(failures, "}");
    }
}

void vv_changes_add_note(struct vv_buffer *notes, const struct vv_buffer *text)
{
    if (vv_buffer_status(text) == VV_OK) {
        vv_buffer_text(notes, notes->size > 0 ? "," : "");
        vv_json_text(notes, (struct vv_str){(const char *)text->data, text->size});
    }
}

void vv_changes_answer(struct vv_changes *changes)
{
    struct vv_reply *reply = &changes->exchange->reply;
    if (changes->failed == 0) {
        vv_reply_begin(reply, MHD_HTTP_OK, VV_TYPE_JSON);
        vv_buffer_format(&reply->body, "{\"changed\":%" PRIu64, changes->changed);
        if (changes->notes.size > 0 && vv_buffer_status(&changes->notes) == VV_OK) {
            vv_buffer_text(&reply->body, ",\"notes\":[");
            vv_buffer_append(&reply->body, changes->notes.data, changes->notes.size);
            vv_buffer_text(&reply->body, "]");
        }
        vv_buffer_text(&reply->body, "}\n");
        vv_buffer_deinit(&changes->failures);
        vv_buffer_deinit(&changes->notes);
        return;
    }
    char where[256];
    vv_reply_begin_error(reply, vv_reply_code(changes->first_status),
                         vv_status_name(changes->first_status), vv_str_of(changes->first.message),
                         vv_exchange_where(changes->exchange, where, sizeof where));
    vv_buffer_format(&reply->body, ",\"changed\":%" PRIu64 ",\"failures\":%" PRIu64 ",\"failed\":[",
                     changes->changed, changes->failed);
    if (vv_buffer_status(&changes->failures) != VV_OK) {
        reply->body.failed = true; /* out of memory: better no list than half of one */
    }
    vv_buffer_append(&reply->body, changes->failures.data, changes->failures.size);
    vv_buffer_text(&reply->body, "]");
    vv_reply_end_error(reply);
    vv_buffer_deinit(&changes->failures);
    vv_buffer_deinit(&changes->notes);
}
