/* SPDX-License-Identifier: Apache-2.0 */
/* Statements and batches made, their options, and what is wrong with them. */
#include "statement_private.h"

#include "frame.h"

#include <stdlib.h>
#include <string.h>

static struct vvcql_statement *create(enum vvcql_statement_kind kind)
{
    struct vvcql_statement *statement = calloc(1, sizeof *statement);
    if (statement != NULL) {
        statement->kind = kind;
    }
    return statement;
}

static void set_wrong(struct vvcql_statement *statement, const char *what)
{
    if (statement->wrong == NULL) {
        statement->wrong = what;
    }
}

struct vvcql_statement *vvcql_statement_create(const char *cql)
{
    struct vvcql_statement *statement = create(VVCQL_KIND_QUERY);
    if (statement == NULL) {
        return NULL;
    }
    size_t size = cql != NULL ? strlen(cql) : 0;
    if (size == 0 || size > VVCQL_FRAME_BODY_MAX) {
        set_wrong(statement, "the statement's text is empty or longer than 256 MiB");
        return statement;
    }
    vvcql_write_bytes(&statement->text, cql, size);
    if (statement->text.failed) {
        vvcql_statement_destroy(statement);
        return NULL;
    }
    return statement;
}

struct vvcql_statement *vvcql_statement_prepared(const struct vvcql_prepared *prepared)
{
    struct vvcql_statement *statement = create(VVCQL_KIND_EXECUTE);
    if (statement != NULL) {
        statement->prepared = prepared;
        statement->out_of_memory = prepared == NULL; /* as vvcql_prepare() tells it */
    }
    return statement;
}

struct vvcql_statement *vvcql_batch_create(enum vvcql_batch_type type)
{
    struct vvcql_statement *batch = create(VVCQL_KIND_BATCH);
    if (batch != NULL) {
        batch->batch_type = type;
        if ((unsigned)type > VVCQL_BATCH_COUNTER) {
            set_wrong(batch, "there is no such type of batch");
        }
    }
    return batch;
}

void vvcql_statement_destroy(struct vvcql_statement *statement)
{
    if (statement == NULL) {
        return;
    }
    struct vvcql_statement *part = statement->parts_first;
    while (part != NULL) {
        struct vvcql_statement *next = part->next;
        vvcql_statement_destroy(part); /* has no parts itself */
        part = next;
    }
    vvcql_buffer_deinit(&statement->text);
    vvcql_buffer_deinit(&statement->values);
    vvcql_buffer_deinit(&statement->paging_state);
    free(statement->ends);
    free(statement);
}

/* Whether the batch can have this part; keeps why not. */
static bool may_have(struct vvcql_statement *batch, const struct vvcql_statement *part)
{
    size_t size_max = VVCQL_FRAME_BODY_MAX - batch->parts_size;
    if (batch->kind != VVCQL_KIND_BATCH) {
        set_wrong(batch, "only a batch has statements added to it");
    } else if (part == NULL) {
        batch->out_of_memory = true;
    } else if (part->kind == VVCQL_KIND_BATCH) {
        set_wrong(batch, "a batch can't be in a batch");
    } else if (part->list_open) {
        set_wrong(batch, "a list in a statement of the batch was not ended");
    } else if (part->wrong != NULL) {
        set_wrong(batch, part->wrong);
    } else if (part->out_of_memory) {
        batch->out_of_memory = true;
    } else if (batch->n_parts == VVCQL_VALUES_MAX) {
        set_wrong(batch, "more than 65,535 statements in a batch");
    } else if (vvcql_statement_size(part) > size_max) {
        set_wrong(batch, "the batch's values are longer than 256 MiB");
    }
    return batch->wrong == NULL && !batch->out_of_memory;
}

void vvcql_batch_add(struct vvcql_statement *batch, struct vvcql_statement *take_statement)
{
    struct vvcql_statement *part = take_statement;
    if (batch == NULL || !may_have(batch, part)) {
        if (part != batch) {
            vvcql_statement_destroy(part);
        }
        return;
    }
    if (batch->parts_last != NULL) {
        batch->parts_last->next = part;
    } else {
        batch->parts_first = part;
    }
    batch->parts_last = part;
    batch->n_parts++;
    batch->parts_size += vvcql_statement_size(part);
}

size_t vvcql_statement_size(const struct vvcql_statement *statement)
{
    return statement == NULL ? 0 : statement->values.size + statement->parts_size;
}

enum vvcql_status vvcql_statement_check(const struct vvcql_statement *statement,
                                        struct vvcql_error *error)
{
    if (statement == NULL || statement->out_of_memory) {
        return vvcql_error_set(error, VVCQL_NO_MEMORY, "no memory for the statement");
    }
    if (statement->wrong != NULL) {
        return vvcql_error_set(error, VVCQL_INVALID, "%s", statement->wrong);
    }
    if (statement->list_open) {
        return vvcql_error_set(error, VVCQL_INVALID, "a list was begun and not ended");
    }
    return VVCQL_OK;
}

/* ---- options ---- */

void vvcql_set_consistency(struct vvcql_statement *statement, enum vvcql_consistency consistency)
{
    if (statement == NULL) {
        return;
    }
    if ((unsigned)consistency > VVCQL_LOCAL_ONE) {
        set_wrong(statement, "there is no such consistency level");
        return;
    }
    statement->has_consistency = true;
    statement->consistency = consistency;
}

void vvcql_set_serial_consistency(struct vvcql_statement *statement,
                                  enum vvcql_consistency consistency)
{
    if (statement == NULL) {
        return;
    }
    if (consistency != VVCQL_SERIAL && consistency != VVCQL_LOCAL_SERIAL) {
        set_wrong(statement, "a serial consistency is SERIAL or LOCAL_SERIAL");
        return;
    }
    statement->has_serial_consistency = true;
    statement->serial_consistency = consistency;
}

void vvcql_set_timestamp(struct vvcql_statement *statement, int64_t microseconds)
{
    if (statement == NULL) {
        return;
    }
    if (microseconds < 0) {
        set_wrong(statement, "a statement's timestamp can't be negative");
        return;
    }
    statement->has_timestamp = true;
    statement->timestamp_us = microseconds;
}

void vvcql_set_idempotent(struct vvcql_statement *statement, bool idempotent)
{
    if (statement != NULL) {
        statement->is_idempotent = idempotent;
    }
}

void vvcql_set_timeout(struct vvcql_statement *statement, uint32_t timeout_ms)
{
    if (statement != NULL) {
        statement->timeout_ms = timeout_ms;
    }
}

void vvcql_set_page_size(struct vvcql_statement *statement, int32_t rows)
{
    if (statement == NULL) {
        return;
    }
    if (rows < 0) {
        set_wrong(statement, "a page's number of rows can't be negative");
        return;
    }
    statement->page_size = rows;
}

void vvcql_set_paging_state(struct vvcql_statement *statement, const void *data, size_t size)
{
    if (statement == NULL) {
        return;
    }
    if ((data == NULL && size > 0) || size > VVCQL_FRAME_BODY_MAX) {
        set_wrong(statement, "the paging state is NULL or longer than 256 MiB");
        return;
    }
    vvcql_buffer_clear(&statement->paging_state);
    vvcql_write_bytes(&statement->paging_state, data, size);
    statement->out_of_memory = statement->out_of_memory || statement->paging_state.failed;
}

void vvcql_set_tracing(struct vvcql_statement *statement, bool tracing)
{
    if (statement != NULL) {
        statement->tracing = tracing;
    }
}

void vvcql_set_host(struct vvcql_statement *statement, const char *host)
{
    if (statement == NULL) {
        return;
    }
    size_t size = host != NULL ? strlen(host) : 0;
    if (size >= sizeof statement->host) {
        set_wrong(statement, "the host's address is too long: it is written address:port");
        return;
    }
    memset(statement->host, 0, sizeof statement->host);
    if (size > 0) {
        memcpy(statement->host, host, size);
    }
}
