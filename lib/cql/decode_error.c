/* SPDX-License-Identifier: Apache-2.0 */
/* ERROR answers: code, message and the details that some codes have. */
#include "responses.h"

#include <string.h>

static enum vvcql_write_type write_type_of(struct vvcql_bytes name)
{
    static const struct {
        const char *name;
        enum vvcql_write_type type;
    } types[] = {
        {"SIMPLE", VVCQL_WRITE_SIMPLE},
        {"BATCH", VVCQL_WRITE_BATCH},
        {"UNLOGGED_BATCH", VVCQL_WRITE_UNLOGGED_BATCH},
        {"COUNTER", VVCQL_WRITE_COUNTER},
        {"BATCH_LOG", VVCQL_WRITE_BATCH_LOG},
        {"CAS", VVCQL_WRITE_CAS},
        {"VIEW", VVCQL_WRITE_VIEW},
        {"CDC", VVCQL_WRITE_CDC},
    };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        size_t size = strlen(types[i].name);
        if (name.size == size && memcmp(name.data, types[i].name, size) == 0) {
            return types[i].type;
        }
    }
    return VVCQL_WRITE_OTHER;
}

/* Whether a request that got this code may have been carried out all the same. */
static bool is_outcome_unknown(int32_t code)
{
    switch (code) {
    case VVCQL_CODE_PROTOCOL_ERROR:
    case VVCQL_CODE_BAD_CREDENTIALS:
    case VVCQL_CODE_UNAVAILABLE:
    case VVCQL_CODE_OVERLOADED:
    case VVCQL_CODE_IS_BOOTSTRAPPING:
    case VVCQL_CODE_TRUNCATE_ERROR:
    case VVCQL_CODE_READ_TIMEOUT:
    case VVCQL_CODE_READ_FAILURE:
    case VVCQL_CODE_FUNCTION_FAILURE:
    case VVCQL_CODE_SYNTAX_ERROR:
    case VVCQL_CODE_UNAUTHORIZED:
    case VVCQL_CODE_INVALID:
    case VVCQL_CODE_CONFIG_ERROR:
    case VVCQL_CODE_ALREADY_EXISTS:
    case VVCQL_CODE_UNPREPARED:
        return false;
    default:
        return true;
    }
}

static void read_unavailable(struct vvcql_reader *reader, struct vvcql_error *error)
{
    error->consistency = (enum vvcql_consistency)vvcql_read_u16(reader);
    error->required = (int32_t)vvcql_read_u32(reader);
    error->received = (int32_t)vvcql_read_u32(reader);
}

/* What timeouts and failures begin with. */
static void read_answers(struct vvcql_reader *reader, struct vvcql_error *error)
{
    error->consistency = (enum vvcql_consistency)vvcql_read_u16(reader);
    error->received = (int32_t)vvcql_read_u32(reader);
    error->required = (int32_t)vvcql_read_u32(reader);
}

static void read_details(struct vvcql_reader *reader, struct vvcql_error *error,
                         struct vvcql_bytes *prepared_id_out)
{
    switch (error->code) {
    case VVCQL_CODE_UNAVAILABLE:
        read_unavailable(reader, error);
        break;
    case VVCQL_CODE_WRITE_FAILURE:
        read_answers(reader, error);
        error->failures = (int32_t)vvcql_read_u32(reader);
        error->write_type = write_type_of(vvcql_read_string(reader));
        break;
    case VVCQL_CODE_WRITE_TIMEOUT:
        read_answers(reader, error);
        error->write_type = write_type_of(vvcql_read_string(reader));
        break;
    case VVCQL_CODE_READ_FAILURE:
        read_answers(reader, error);
        error->failures = (int32_t)vvcql_read_u32(reader);
        error->data_present = vvcql_read_u8(reader) != 0;
        break;
    case VVCQL_CODE_READ_TIMEOUT:
        read_answers(reader, error);
        error->data_present = vvcql_read_u8(reader) != 0;
        break;
    case VVCQL_CODE_CAS_WRITE_UNKNOWN:
        read_answers(reader, error);
        break;
    case VVCQL_CODE_UNPREPARED:
        *prepared_id_out = vvcql_read_short_bytes(reader);
        break;
    default:
        break;
    }
}

enum vvcql_status vvcql_decode_error(struct vvcql_bytes body, struct vvcql_error *error_out,
                                     struct vvcql_bytes *prepared_id_out)
{
    struct vvcql_reader reader = vvcql_reader_of(body);
    *prepared_id_out = (struct vvcql_bytes){0};
    *error_out = (struct vvcql_error){.code = (int32_t)vvcql_read_u32(&reader)};
    vvcql_copy_text(error_out->message, sizeof error_out->message, vvcql_read_string(&reader));
    read_details(&reader, error_out, prepared_id_out);
    if (reader.failed) {
        *prepared_id_out = (struct vvcql_bytes){0};
        vvcql_error_set(error_out, VVCQL_PROTOCOL, "an ERROR answer of %zu bytes is cut short",
                        body.size);
        error_out->outcome_unknown = true;
        return VVCQL_PROTOCOL;
    }
    error_out->outcome_unknown = is_outcome_unknown(error_out->code);
    error_out->status =
        error_out->code == VVCQL_CODE_BAD_CREDENTIALS ? VVCQL_REFUSED : VVCQL_SERVER;
    return error_out->status;
}
