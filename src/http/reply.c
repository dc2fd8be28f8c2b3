/* SPDX-License-Identifier: Apache-2.0 */
/* Building of answers. */
#include "http/reply.h"

#include "http/json_text.h"

#include <microhttpd.h>
#include <stdio.h>

void vv_reply_deinit(struct vv_reply *reply)
{
    vv_buffer_deinit(&reply->body);
    reply->code = 0;
    reply->type = NULL;
    reply->n_headers = 0;
    reply->stream = NULL;
}

void vv_reply_empty(struct vv_reply *reply, unsigned code)
{
    vv_reply_deinit(reply);
    reply->code = code;
}

void vv_reply_begin(struct vv_reply *reply, unsigned code, const char *type)
{
    vv_reply_deinit(reply);
    reply->code = code;
    reply->type = type;
}

void vv_reply_header(struct vv_reply *reply, const char *name, const char *format, ...)
{
    vv_invariant(reply->n_headers < VV_REPLY_HEADERS_MAX);
    struct vv_reply_header *header = &reply->headers[reply->n_headers++];
    header->name = name;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(header->value, sizeof header->value, format, arguments);
    va_end(arguments);
    for (char *c = header->value; *c; c++) {
        if (*c < ' ' || *c > '~') {
            *c = '?';
        }
    }
}

void vv_reply_begin_error(struct vv_reply *reply, unsigned code, const char *word,
                          struct vv_str message, struct vv_str where)
{
    vv_reply_begin(reply, code, VV_TYPE_JSON);
    struct vv_buffer *body = &reply->body;
    vv_buffer_text(body, "{\"code\":");
    vv_json_text(body, vv_str_of(word));
    vv_buffer_text(body, ",\"message\":");
    vv_json_text(body, message);
    vv_buffer_text(body, ",\"error\":");
    vv_json_text(body, message);
    vv_buffer_text(body, ",\"where\":");
    vv_json_text(body, where);
}

void vv_reply_end_error(struct vv_reply *reply)
{
    vv_buffer_text(&reply->body, "}\n");
}

unsigned vv_reply_code(enum vv_status status)
{
    switch (status) {
    case VV_INVALID:
    case VV_EXISTS:
        return MHD_HTTP_BAD_REQUEST;
    case VV_NOT_FOUND:
        return MHD_HTTP_NOT_FOUND;
    case VV_TOO_LARGE:
        return MHD_HTTP_CONTENT_TOO_LARGE;
    case VV_NO_MEMORY:
    case VV_OVERLOAD:
    case VV_FULL:
    case VV_TIMEOUT:
    case VV_CANCELLED:
        return MHD_HTTP_SERVICE_UNAVAILABLE;
    case VV_OK:
    case VV_DONE:
    case VV_IO:
    case VV_UNKNOWN:
    case VV_CORRUPT:
    case VV_NEWER:
    case VV_LOCKED:
        break;
    }
    return MHD_HTTP_INTERNAL_SERVER_ERROR;
}

unsigned vv_reply_retry_seconds(enum vv_status status, unsigned turn)
{
    switch (status) {
    case VV_OVERLOAD:
    case VV_NO_MEMORY:
        return 1 + turn % 4;
    case VV_CANCELLED:
        return 3 + turn % 4;
    case VV_FULL:
    case VV_IO:
        return 10 + turn % 11;
    default:
        return 0;
    }
}

const char *vv_reply_phrase(unsigned code)
{
    return MHD_get_reason_phrase_for(code);
}
