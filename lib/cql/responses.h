/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers and events decoded (section 4.2 of the specification). Bytes are hostile: lengths are
 * checked before use, a number of items never makes memory grow beyond what the body can hold, and
 * what follows the known content of a body is ignored, as the specification asks.
 *
 * All functions return VVCQL_PROTOCOL with a message for bytes that are not of the protocol.
 */
#ifndef VVCQL_RESPONSES_H
#define VVCQL_RESPONSES_H

#include "frame.h"
#include "result.h"

/* What may stand before a body: tracing id, warnings, custom payload. Cuts it off. */
struct vvcql_prelude {
    bool has_tracing_id;
    uint8_t tracing_id[16];
    uint32_t n_warnings;
    struct vvcql_bytes warnings; /* [string]s, checked */
    struct vvcql_bytes body;     /* what follows */
};
VVCQL_MUST_CHECK enum vvcql_status vvcql_decode_prelude(const struct vvcql_frame *frame,
                                                        struct vvcql_prelude *prelude_out,
                                                        struct vvcql_error *error);

/* ERROR → *error_out with status VVCQL_SERVER (VVCQL_REFUSED for bad credentials), code, message
 * and details; outcome_unknown for WRITE_TIMEOUT, WRITE_FAILURE, CDC_WRITE_FAILURE,
 * CAS_WRITE_UNKNOWN, SERVER_ERROR and codes that are not known. For UNPREPARED *prepared_id_out is
 * the id (borrowed), else empty. Returns error_out->status: VVCQL_PROTOCOL, and outcome_unknown,
 * for a body that is no ERROR. */
enum vvcql_status vvcql_decode_error(struct vvcql_bytes body, struct vvcql_error *error_out,
                                     struct vvcql_bytes *prepared_id_out);

/* AUTHENTICATE: the class name of the authenticator, borrowed. */
VVCQL_MUST_CHECK enum vvcql_status vvcql_decode_authenticate(struct vvcql_bytes body,
                                                             struct vvcql_bytes *class_out,
                                                             struct vvcql_error *error);
/* SUPPORTED: whether the value ("lz4") stands under the key ("COMPRESSION"). */
VVCQL_MUST_CHECK enum vvcql_status vvcql_decode_supported(struct vvcql_bytes body, const char *key,
                                                          const char *value, bool *found_out,
                                                          struct vvcql_error *error);

enum vvcql_event_kind {
    VVCQL_EVENT_OTHER, /* of a kind that is not known: to be ignored */
    VVCQL_EVENT_NEW_NODE,
    VVCQL_EVENT_REMOVED_NODE,
    VVCQL_EVENT_MOVED_NODE,
    VVCQL_EVENT_UP,
    VVCQL_EVENT_DOWN,
    VVCQL_EVENT_SCHEMA,
};
struct vvcql_event {
    enum vvcql_event_kind kind;
    /* Of topology and status: address bytes (4 or 16) and port. */
    struct vvcql_bytes address;
    uint16_t port;
    /* Of schema: the keyspace. */
    struct vvcql_bytes keyspace;
};
VVCQL_MUST_CHECK enum vvcql_status vvcql_decode_event(struct vvcql_bytes body,
                                                      struct vvcql_event *event_out,
                                                      struct vvcql_error *error);

enum vvcql_result_kind {
    VVCQL_RESULT_VOID = 1,
    VVCQL_RESULT_ROWS = 2,
    VVCQL_RESULT_SET_KEYSPACE = 3,
    VVCQL_RESULT_PREPARED = 4,
    VVCQL_RESULT_SCHEMA_CHANGE = 5,
};
/* The kind of a RESULT body; VVCQL_PROTOCOL for others. */
VVCQL_MUST_CHECK enum vvcql_status vvcql_decode_kind(struct vvcql_bytes body,
                                                     enum vvcql_result_kind *kind_out,
                                                     struct vvcql_error *error);

#define VVCQL_KEY_PARTS_MAX 16
/* RESULT of kind prepared. */
struct vvcql_prepared_answer {
    struct vvcql_bytes id; /* borrowed */
    /* Which values make the partition key, in its order; n 0: not all of them are values, or there
     * are more than VVCQL_KEY_PARTS_MAX. */
    size_t n_key_parts;
    uint16_t key_parts[VVCQL_KEY_PARTS_MAX];
    uint32_t n_values;
    char keyspace[64]; /* of the first column, "" when there is none */
};
VVCQL_MUST_CHECK enum vvcql_status vvcql_decode_prepared(struct vvcql_bytes body,
                                                         struct vvcql_prepared_answer *answer_out,
                                                         struct vvcql_error *error);

/* result.c: makes a result of a RESULT frame (void, rows, set keyspace or schema change; copies
 * what it needs), `host` as vvcql_result_host. All rows are checked. VVCQL_PROTOCOL,
 * VVCQL_NO_MEMORY. Column types of any kind are read over, also nested up to 16 deep. */
VVCQL_MUST_CHECK enum vvcql_status vvcql_result_create(const struct vvcql_frame *frame,
                                                       const char *host,
                                                       struct vvcql_result **result_out,
                                                       struct vvcql_error *error);

#endif
