/* SPDX-License-Identifier: Apache-2.0 */
/* What a statement is inside; for requests.c and execution.c. */
#ifndef VVCQL_STATEMENT_PRIVATE_H
#define VVCQL_STATEMENT_PRIVATE_H

#include "error.h"
#include "statement.h"
#include "wire.h"

enum vvcql_statement_kind { VVCQL_KIND_QUERY, VVCQL_KIND_EXECUTE, VVCQL_KIND_BATCH };

struct vvcql_statement {
    enum vvcql_statement_kind kind;
    const struct vvcql_prepared *prepared; /* of VVCQL_KIND_EXECUTE */
    struct vvcql_buffer text;              /* of VVCQL_KIND_QUERY */
    /* Values as [value]s, one after the other; ends_[i] is where value i ends. */
    struct vvcql_buffer values;
    uint32_t *ends;
    size_t n_values;
    size_t ends_capacity;
    size_t list_at; /* where the list's length stands in `values`, while one is open */
    uint32_t list_items;
    bool list_open;
    /* Parts of a batch, none of them a batch. */
    enum vvcql_batch_type batch_type;
    struct vvcql_statement *parts_first;
    struct vvcql_statement *parts_last;
    struct vvcql_statement *next;
    size_t n_parts;
    size_t parts_size; /* vvcql_statement_size() of all parts */
    /* What building got wrong: reported when it is executed. */
    bool out_of_memory;
    const char *wrong; /* a constant text, or NULL */
    /* Options; has_… tells whether it was said. */
    bool has_consistency;
    enum vvcql_consistency consistency;
    bool has_serial_consistency;
    enum vvcql_consistency serial_consistency;
    bool has_timestamp;
    int64_t timestamp_us;
    bool is_idempotent;
    uint32_t timeout_ms; /* 0: the session's */
    int32_t page_size;   /* 0: all */
    struct vvcql_buffer paging_state;
    bool tracing;
    char host[VVCQL_HOST_MAX]; /* "" for any */
};

#define VVCQL_VALUES_MAX 65535 /* of a statement; statements of a batch */

/* What building got wrong, to be asked before it is executed: VVCQL_NO_MEMORY (also for NULL),
 * VVCQL_INVALID, or VVCQL_OK. */
VVCQL_MUST_CHECK enum vvcql_status vvcql_statement_check(const struct vvcql_statement *statement,
                                                         struct vvcql_error *error);

/* Value i as it is sent, without its length; data NULL when null, unset or not there. */
struct vvcql_bytes vvcql_statement_value(const struct vvcql_statement *statement, size_t i);

#endif
