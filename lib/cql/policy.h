/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decisions that need no connection: how long to wait before connecting again, and whether a failed
 * attempt is followed by another. Pure functions.
 */
#ifndef VVCQL_POLICY_H
#define VVCQL_POLICY_H

#include "error.h"

/* xorshift64*; state must not be 0. (Vigna, An experimental exploration of Marsaglia's xorshift
 * generators, scrambled.) */
uint64_t vvcql_random(uint64_t *state);

/* The wait before attempt `failures` (1 after the first failure): first_ms doubled each time up to
 * last_ms, of which a random half is taken away, so that hosts and clients don't march in step. */
uint32_t vvcql_backoff_ms(uint32_t first_ms, uint32_t last_ms, uint32_t failures,
                          uint64_t *random_state);

enum vvcql_retry {
    VVCQL_RETRY_NO,   /* report it */
    VVCQL_RETRY_SAME, /* once more on the same host */
    VVCQL_RETRY_NEXT, /* on the next host of the plan */
};
struct vvcql_attempt {
    bool is_idempotent;
    bool is_conditional; /* a lightweight transaction */
    bool was_sent;       /* it may have reached the host */
    uint32_t retries;    /* made so far */
    uint32_t retries_max;
};
/*
 * After an attempt that failed with *error, as long as retries_max allows another:
 *   a conditional statement that was sent                           no, whatever happened
 *   not sent: host unreachable, refused, overloaded                 next host
 *   lost connection, protocol error                                 next host, harmless only
 *   UNAVAILABLE                                                     next host, as the first retry
 *   IS_BOOTSTRAPPING                                                next host
 *   READ_TIMEOUT with enough answers but without the data           same host as the first retry,
 *                                                                   else next, harmless only
 *   READ_TIMEOUT else, READ_FAILURE, WRITE_TIMEOUT, WRITE_FAILURE,
 *   OVERLOADED, SERVER_ERROR, TRUNCATE_ERROR                        next host, harmless only
 *   everything else (syntax, invalid, unauthorised, timeout of the request, no memory, closed)  no
 * Harmless: not sent (the error is of preparing it), or idempotent. Cassandra finds itself
 * overloaded also half way through, when some replicas have the write already; and a lightweight
 * transaction may be decided when replicas turn out to be unavailable.
 */
enum vvcql_retry vvcql_retry_after(const struct vvcql_attempt *attempt,
                                   const struct vvcql_error *error);

#endif
