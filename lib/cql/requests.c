/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of requests. */
#include "requests.h"

#include "frame.h"

#include <string.h>

/* Flags of section 4.1.4. */
enum {
    PARAMETER_VALUES = 0x01,
    PARAMETER_PAGE_SIZE = 0x04,
    PARAMETER_PAGING_STATE = 0x08,
    PARAMETER_SERIAL_CONSISTENCY = 0x10,
    PARAMETER_TIMESTAMP = 0x20,
};

/* Of section 4.1.7: what a part of a batch is. */
enum { PART_TEXT = 0, PART_PREPARED = 1 };

/* More than what stands around a statement's values and text. */
#define PARAMETERS_SIZE 64
#define PART_SIZE       32

static struct vvcql_bytes bytes_of(const struct vvcql_buffer *buffer)
{
    return (struct vvcql_bytes){.data = buffer->data, .size = buffer->size};
}

static void write_option(struct vvcql_buffer *out, const char *key, const char *value)
{
    if (value != NULL) {
        vvcql_write_string(out, key);
        vvcql_write_string(out, value);
    }
}

void vvcql_request_startup(struct vvcql_buffer *out, const char *compression,
                           const char *driver_name, const char *driver_version)
{
    int options = 1 + (compression != NULL) + (driver_name != NULL) + (driver_version != NULL);
    vvcql_write_u16(out, (uint16_t)options);
    write_option(out, "CQL_VERSION", "3.0.0");
    write_option(out, "COMPRESSION", compression);
    write_option(out, "DRIVER_NAME", driver_name);
    write_option(out, "DRIVER_VERSION", driver_version);
}

void vvcql_request_register(struct vvcql_buffer *out)
{
    vvcql_write_u16(out, 3);
    vvcql_write_string(out, "TOPOLOGY_CHANGE");
    vvcql_write_string(out, "STATUS_CHANGE");
    vvcql_write_string(out, "SCHEMA_CHANGE");
}

/* The token of SASL's PLAIN: no identity to act as, the user, the password. */
void vvcql_request_auth_plain(struct vvcql_buffer *out, const char *user, const char *password)
{
    size_t user_size = strlen(user);
    size_t password_size = strlen(password);
    vvcql_write_u32(out, (uint32_t)(user_size + password_size + 2));
    vvcql_write_u8(out, 0);
    vvcql_write_bytes(out, user, user_size);
    vvcql_write_u8(out, 0);
    vvcql_write_bytes(out, password, password_size);
}

void vvcql_request_prepare(struct vvcql_buffer *out, const char *cql)
{
    struct vvcql_bytes text = {.data = (const uint8_t *)cql, .size = strlen(cql)};
    vvcql_write_long_string(out, text);
}

static void write_id(struct vvcql_buffer *out, const struct vvcql_statement *statement,
                     vvcql_prepared_id id_of)
{
    struct vvcql_bytes id = id_of(statement->prepared);
    if (id.data == NULL) {
        out->failed = true;
        return;
    }
    vvcql_write_short_bytes(out, id);
}

static void write_values(struct vvcql_buffer *out, const struct vvcql_statement *statement)
{
    vvcql_write_u16(out, (uint16_t)statement->n_values);
    vvcql_write_bytes(out, statement->values.data, statement->values.size);
}

static uint16_t consistency_of(const struct vvcql_statement *statement,
                               const struct vvcql_request_defaults *defaults)
{
    return (uint16_t)(statement->has_consistency ? statement->consistency : defaults->consistency);
}

/* The flags that a batch has too. */
static unsigned shared_flags(const struct vvcql_statement *statement)
{
    return (statement->has_serial_consistency ? PARAMETER_SERIAL_CONSISTENCY : 0u) |
           (statement->has_timestamp ? PARAMETER_TIMESTAMP : 0u);
}

static void write_serial_and_timestamp(struct vvcql_buffer *out,
                                       const struct vvcql_statement *statement)
{
    if (statement->has_serial_consistency) {
        vvcql_write_u16(out, (uint16_t)statement->serial_consistency);
    }
    if (statement->has_timestamp) {
        vvcql_write_u64(out, (uint64_t)statement->timestamp_us);
    }
}

static void write_parameters(struct vvcql_buffer *out, const struct vvcql_statement *statement,
                             const struct vvcql_request_defaults *defaults)
{
    bool has_values = statement->n_values > 0;
    bool has_paging_state = statement->paging_state.size > 0;
    unsigned flags = shared_flags(statement) | (has_values ? PARAMETER_VALUES : 0u) |
                     (statement->page_size > 0 ? PARAMETER_PAGE_SIZE : 0u) |
                     (has_paging_state ? PARAMETER_PAGING_STATE : 0u);
    vvcql_write_u16(out, consistency_of(statement, defaults));
    vvcql_write_u8(out, (uint8_t)flags);
    if (has_values) {
        write_values(out, statement);
    }
    if (statement->page_size > 0) {
        vvcql_write_u32(out, (uint32_t)statement->page_size);
    }
    if (has_paging_state) {
        vvcql_write_value(out, bytes_of(&statement->paging_state));
    }
    write_serial_and_timestamp(out, statement);
}

static void write_batch(struct vvcql_buffer *out, const struct vvcql_statement *batch,
                        const struct vvcql_request_defaults *defaults, vvcql_prepared_id id_of)
{
    vvcql_buffer_reserve(out, batch->parts_size + batch->n_parts * PART_SIZE + PARAMETERS_SIZE);
    vvcql_write_u8(out, (uint8_t)batch->batch_type);
    vvcql_write_u16(out, (uint16_t)batch->n_parts);
    for (const struct vvcql_statement *part = batch->parts_first; part != NULL; part = part->next) {
        if (part->kind == VVCQL_KIND_EXECUTE) {
            vvcql_write_u8(out, PART_PREPARED);
            write_id(out, part, id_of);
        } else {
            vvcql_write_u8(out, PART_TEXT);
            vvcql_write_long_string(out, bytes_of(&part->text));
        }
        write_values(out, part);
    }
    vvcql_write_u16(out, consistency_of(batch, defaults));
    vvcql_write_u8(out, (uint8_t)shared_flags(batch));
    write_serial_and_timestamp(out, batch);
}

uint8_t vvcql_request_statement(struct vvcql_buffer *out, const struct vvcql_statement *statement,
                                const struct vvcql_request_defaults *defaults,
                                vvcql_prepared_id id_of)
{
    if (statement->kind == VVCQL_KIND_BATCH) {
        write_batch(out, statement, defaults, id_of);
        return VVCQL_OP_BATCH;
    }
    vvcql_buffer_reserve(out, statement->text.size + statement->values.size +
                                  statement->paging_state.size + PARAMETERS_SIZE);
    if (statement->kind == VVCQL_KIND_EXECUTE) {
        write_id(out, statement, id_of);
        write_parameters(out, statement, defaults);
        return VVCQL_OP_EXECUTE;
    }
    vvcql_write_long_string(out, bytes_of(&statement->text));
    write_parameters(out, statement, defaults);
    return VVCQL_OP_QUERY;
}
