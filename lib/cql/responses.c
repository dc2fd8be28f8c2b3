/* SPDX-License-Identifier: Apache-2.0 */
/* What may stand before a body, and the short answers. */
#include "responses.h"

#include <string.h>

static enum vvcql_status cut_short(const char *what, struct vvcql_error *error)
{
    return vvcql_error_set(error, VVCQL_PROTOCOL, "an answer's %s can't be read: wrong lengths",
                           what);
}

static void read_warnings(struct vvcql_reader *reader, struct vvcql_prelude *prelude)
{
    prelude->n_warnings = vvcql_read_u16(reader);
    const uint8_t *start = reader->at;
    size_t left = reader->left;
    for (uint32_t i = 0; i < prelude->n_warnings && !reader->failed; i++) {
        vvcql_read_string(reader);
    }
    prelude->warnings = (struct vvcql_bytes){.data = start, .size = left - reader->left};
}

static void read_payload(struct vvcql_reader *reader)
{
    unsigned count = vvcql_read_u16(reader);
    for (unsigned i = 0; i < count && !reader->failed; i++) {
        vvcql_read_string(reader);
        vvcql_read_value(reader);
    }
}

enum vvcql_status vvcql_decode_prelude(const struct vvcql_frame *frame,
                                       struct vvcql_prelude *prelude_out, struct vvcql_error *error)
{
    struct vvcql_reader reader = vvcql_reader_of(frame->body);
    *prelude_out = (struct vvcql_prelude){0};
    if ((frame->flags & VVCQL_FLAG_TRACING) != 0) {
        struct vvcql_bytes id = vvcql_read_bytes(&reader, sizeof prelude_out->tracing_id);
        if (!reader.failed) {
            prelude_out->has_tracing_id = true;
            memcpy(prelude_out->tracing_id, id.data, id.size);
        }
    }
    if ((frame->flags & VVCQL_FLAG_WARNING) != 0) {
        read_warnings(&reader, prelude_out);
    }
    if ((frame->flags & VVCQL_FLAG_PAYLOAD) != 0) {
        read_payload(&reader);
    }
    if (reader.failed) {
        *prelude_out = (struct vvcql_prelude){0};
        return cut_short("tracing id, warnings or payload", error);
    }
    prelude_out->body = (struct vvcql_bytes){.data = reader.at, .size = reader.left};
    return VVCQL_OK;
}

enum vvcql_status vvcql_decode_authenticate(struct vvcql_bytes body, struct vvcql_bytes *class_out,
                                            struct vvcql_error *error)
{
    struct vvcql_reader reader = vvcql_reader_of(body);
    *class_out = vvcql_read_string(&reader);
    return reader.failed ? cut_short("name of an authenticator", error) : VVCQL_OK;
}

static bool equals(struct vvcql_bytes bytes, const char *text)
{
    size_t size = strlen(text);
    return bytes.size == size && (size == 0 || memcmp(bytes.data, text, size) == 0);
}

enum vvcql_status vvcql_decode_supported(struct vvcql_bytes body, const char *key,
                                         const char *value, bool *found_out,
                                         struct vvcql_error *error)
{
    struct vvcql_reader reader = vvcql_reader_of(body);
    bool found = false;
    unsigned keys = vvcql_read_u16(&reader);
    for (unsigned i = 0; i < keys && !reader.failed; i++) {
        bool is_key = equals(vvcql_read_string(&reader), key);
        unsigned values = vvcql_read_u16(&reader);
        for (unsigned k = 0; k < values && !reader.failed; k++) {
            bool is_value = equals(vvcql_read_string(&reader), value);
            found = found || (is_key && is_value);
        }
    }
    *found_out = found && !reader.failed;
    return reader.failed ? cut_short("list of options", error) : VVCQL_OK;
}

enum vvcql_status vvcql_decode_kind(struct vvcql_bytes body, enum vvcql_result_kind *kind_out,
                                    struct vvcql_error *error)
{
    struct vvcql_reader reader = vvcql_reader_of(body);
    uint32_t kind = vvcql_read_u32(&reader);
    if (reader.failed || kind < VVCQL_RESULT_VOID || kind > VVCQL_RESULT_SCHEMA_CHANGE) {
        return vvcql_error_set(error, VVCQL_PROTOCOL, "a RESULT is of no kind that is known (%u)",
                               kind);
    }
    *kind_out = (enum vvcql_result_kind)kind;
    return VVCQL_OK;
}
