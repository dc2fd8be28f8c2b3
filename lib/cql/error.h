/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What went wrong: a status for the program, Cassandra's own code and details where it sent them,
 * and a message for a person.
 */
#ifndef VVCQL_ERROR_H
#define VVCQL_ERROR_H

#include "types.h"

enum vvcql_status {
    VVCQL_OK = 0,
    VVCQL_INVALID,     /* the caller's arguments; nothing was sent */
    VVCQL_NO_MEMORY,   /* nothing was sent, or the answer could not be kept (see outcome_unknown) */
    VVCQL_OVERLOADED,  /* requests_max are under way already; nothing was sent */
    VVCQL_UNREACHABLE, /* no host could be asked; nothing was sent */
    VVCQL_REFUSED,     /* wrong password, wrong certificate, not authorised to connect */
    VVCQL_SERVER,      /* Cassandra answered with an error: see code */
    VVCQL_TIMEOUT,     /* no answer in time */
    VVCQL_LOST,        /* the connection ended before the answer */
    VVCQL_PROTOCOL,    /* the answer is not one of the protocol */
    VVCQL_CLOSED,      /* the session is closing */
};

/* Cassandra's error codes (section 9 of the specification); the last three exist in v5 only, but
 * servers are not trusted to keep to that. */
enum vvcql_code {
    VVCQL_CODE_NONE = -1, /* the error is not from Cassandra */
    VVCQL_CODE_SERVER_ERROR = 0x0000,
    VVCQL_CODE_PROTOCOL_ERROR = 0x000A,
    VVCQL_CODE_BAD_CREDENTIALS = 0x0100,
    VVCQL_CODE_UNAVAILABLE = 0x1000,
    VVCQL_CODE_OVERLOADED = 0x1001,
    VVCQL_CODE_IS_BOOTSTRAPPING = 0x1002,
    VVCQL_CODE_TRUNCATE_ERROR = 0x1003,
    VVCQL_CODE_WRITE_TIMEOUT = 0x1100,
    VVCQL_CODE_READ_TIMEOUT = 0x1200,
    VVCQL_CODE_READ_FAILURE = 0x1300,
    VVCQL_CODE_FUNCTION_FAILURE = 0x1400,
    VVCQL_CODE_WRITE_FAILURE = 0x1500,
    VVCQL_CODE_SYNTAX_ERROR = 0x2000,
    VVCQL_CODE_UNAUTHORIZED = 0x2100,
    VVCQL_CODE_INVALID = 0x2200,
    VVCQL_CODE_CONFIG_ERROR = 0x2300,
    VVCQL_CODE_ALREADY_EXISTS = 0x2400,
    VVCQL_CODE_UNPREPARED = 0x2500,
    VVCQL_CODE_CDC_WRITE_FAILURE = 0x1600,
    VVCQL_CODE_CAS_WRITE_UNKNOWN = 0x1700,
};

enum vvcql_write_type {
    VVCQL_WRITE_OTHER = 0, /* none, or a name that is not known */
    VVCQL_WRITE_SIMPLE,
    VVCQL_WRITE_BATCH,
    VVCQL_WRITE_UNLOGGED_BATCH,
    VVCQL_WRITE_COUNTER,
    VVCQL_WRITE_BATCH_LOG,
    VVCQL_WRITE_CAS,
    VVCQL_WRITE_VIEW,
    VVCQL_WRITE_CDC,
};

#define VVCQL_MESSAGE_MAX 512
#define VVCQL_HOST_MAX    64

struct vvcql_error {
    enum vvcql_status status;
    /* The request may or may not have been carried out: it was sent, and no answer says which. A
     * lightweight transaction that timed out is always unknown, never failed. */
    bool outcome_unknown;
    int32_t code; /* enum vvcql_code; any number that a server sends is kept */
    /* Details of the codes that have them; else 0. */
    enum vvcql_consistency consistency;
    int32_t received; /* replicas that answered; those alive for UNAVAILABLE */
    int32_t required;
    int32_t failures; /* READ_FAILURE, WRITE_FAILURE */
    bool data_present;
    enum vvcql_write_type write_type;
    uint64_t replicas;               /* vvcql_statement_replicas() of what failed; 0: not known */
    char host[VVCQL_HOST_MAX];       /* address:port that answered or was asked last; "" for none */
    char message[VVCQL_MESSAGE_MAX]; /* UTF-8, cut at its end if it is longer */
};

/* Fills *error (NULL is allowed) with a status, no code and a message; returns the status. */
enum vvcql_status vvcql_error_set(struct vvcql_error *error, enum vvcql_status status,
                                  const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Stable lower-case words for logs: "timeout", "unavailable". */
const char *vvcql_status_name(enum vvcql_status status);
const char *vvcql_code_name(int32_t code);
const char *vvcql_consistency_name(enum vvcql_consistency consistency); /* "LOCAL_QUORUM" */
/* By its name in either case; false when there is none of that name. */
bool vvcql_consistency_of(const char *name, enum vvcql_consistency *consistency_out);

#endif
