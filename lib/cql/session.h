/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session: connections to a Cassandra cluster, and statements executed on it.
 *
 * Threads: a session has one thread of its own, in which all input and output and all callbacks
 * run; a callback must not block, and must not call vvcql_session_close() or vvcql_wait(). All
 * other functions may be called by any thread, callbacks included.
 *
 * Routing: a prepared statement goes to a replica of its partition in the local data centre, where
 * the token map knows one that is connected; else to other hosts of the local data centre in turn;
 * to other data centres only when remote_hosts allows it.
 */
#ifndef VVCQL_SESSION_H
#define VVCQL_SESSION_H

#include "result.h"
#include "statement.h"

struct vvcql_session;

struct vvcql_tls_options {
    bool enabled;
    const char *ca_file;          /* PEM; NULL: the system's authorities */
    const char *certificate_file; /* PEM, the client's with its chain; NULL: none */
    const char *key_file;         /* PEM; NULL: none */
    const char *key_password;     /* NULL: none */
    /* The certificate must be for the host's address, or for the name of the contact point that it
     * was found by. Off only where certificates carry neither. */
    bool skip_name_check;
};

/* Zero stands for the default that is given. Texts are copied. */
struct vvcql_options {
    const char *contact_points;   /* "host[:port], …"; needed */
    uint16_t port;                /* of contact points without one, and of the peers: 9042 */
    const char *local_datacenter; /* NULL: that of the first contact point that answers */
    bool remote_hosts;            /* ask other data centres when the local one has no host left */
    const char *user;             /* NULL: no authentication */
    const char *password;
    struct vvcql_tls_options tls;
    bool no_compression;                  /* else LZ4, where the server offers it */
    uint32_t connections_per_host;        /* 2 */
    uint32_t requests_per_connection_max; /* 1,024; at most 32,768 */
    uint32_t requests_max;                /* of the session, waiting ones included: 8,192 */
    uint32_t frame_bytes_max;             /* of an answer: 256 MiB, the protocol's own bound */
    uint32_t connect_timeout_ms;          /* 5,000: from the first packet to READY */
    uint32_t request_timeout_ms; /* 12,000: of the whole request with its retries; above the
                                    server's own, so that its answer says what happened */
    uint32_t heartbeat_ms;       /* 30,000 of silence; no answer for as long ends a connection */
    uint32_t reconnect_first_ms; /* 500, doubled to */
    uint32_t reconnect_last_ms;  /* 30,000, with jitter */
    enum vvcql_consistency consistency; /* VVCQL_LOCAL_QUORUM (0, ANY, can't be a default) */
    uint32_t retries_max;               /* further attempts of one request: 3 */
    uint32_t speculative_delay_ms;      /* UINT32_MAX: never. 0: never. Else an idempotent SELECT is
                                           sent to the next host too after each such delay, */
    uint32_t speculative_max;           /* at most this often: 1 */
    bool speculative_writes; /* what changes something and is idempotent too: where all hosts
                                are slow, that doubles their work */
    uint64_t seed;           /* of jitter and of the order of hosts; 0: from the system */
    /* Called in the session's thread when a host or the session changes its state; NULL: never. */
    void (*log)(void *context, const char *event, const char *text);
    void *log_context;
};

/*
 * Opens a session: returns when the cluster's hosts are known and one of the local data centre is
 * connected. VVCQL_UNREACHABLE when no contact point could be reached, VVCQL_REFUSED when one was
 * reached and turned the session away, VVCQL_INVALID for options that cannot be; the message says
 * which and why. With `patient`, unreachable hosts are no failure: it returns at once and goes on
 * trying, and requests are VVCQL_UNREACHABLE until one answers.
 */
VVCQL_MUST_CHECK enum vvcql_status vvcql_session_open(const struct vvcql_options *options,
                                                      bool patient,
                                                      struct vvcql_session **session_out,
                                                      struct vvcql_error *error);
/* Ends it: requests under way are completed with VVCQL_CLOSED (outcome_unknown as it is), their
 * callbacks have returned when this returns. NULL is allowed. */
void vvcql_session_close(struct vvcql_session *session);

/* A text that is prepared when it is first used, once a host, and again when a host has forgotten
 * it. The same text gives the same object; it lives as long as the session. NULL: no memory. */
const struct vvcql_prepared *vvcql_prepare(struct vvcql_session *session, const char *cql);

/*
 * What became of a statement. On success error is NULL and the callback takes the result (destroy
 * it; never NULL). On failure result is NULL and *error is valid during the call.
 */
typedef void (*vvcql_done)(void *context, struct vvcql_result *take_result,
                           const struct vvcql_error *error);

/* Takes a statement (also on failure, which is reported through done) and executes it. done is
 * called exactly once, in the session's thread; never before vvcql_execute() has returned, unless
 * this is the session's thread. A NULL statement is reported as VVCQL_NO_MEMORY. */
void vvcql_execute(struct vvcql_session *session, struct vvcql_statement *take_statement,
                   vvcql_done done, void *context);

/* The same, and waits for it. The caller destroys *result_out, which is NULL on failure. */
VVCQL_MUST_CHECK enum vvcql_status vvcql_wait(struct vvcql_session *session,
                                              struct vvcql_statement *take_statement,
                                              struct vvcql_result **result_out,
                                              struct vvcql_error *error);

/* ---- looking at it ---- */

struct vvcql_counters {
    uint64_t requests;    /* executed, with any end */
    uint64_t errors;      /* that ended with an error */
    uint64_t timeouts;    /* of requests */
    uint64_t retries;     /* attempts after the first one */
    uint64_t speculative; /* attempts that did not wait for the one before */
    uint64_t speculative_won;
    uint64_t unprepared; /* texts that a host had forgotten */
    uint64_t overloaded; /* requests turned away */
    uint64_t bytes_sent;
    uint64_t bytes_received;
    uint64_t connections_opened;
    uint64_t connections_lost;
    uint64_t in_flight; /* now: requests that are not completed */
    uint64_t orphans;   /* now: stream ids whose request ended without an answer */
    uint64_t hosts;     /* now: known */
    uint64_t hosts_up;  /* now: with a connection that is ready */
    uint64_t warnings;  /* in answers */
};
void vvcql_session_counters(struct vvcql_session *session, struct vvcql_counters *counters_out);

struct vvcql_host_info {
    char address[VVCQL_HOST_MAX]; /* "address:port" */
    char datacenter[128];
    char rack[128];
    char release[32]; /* of Cassandra */
    bool is_local;    /* of the local data centre */
    bool is_up;
    uint32_t connections;
    uint32_t in_flight;
};
/* At most `capacity` hosts; returns how many there are. */
size_t vvcql_session_hosts(struct vvcql_session *session, struct vvcql_host_info *hosts_out,
                           size_t capacity);
/* The local data centre; "" until it is known. */
void vvcql_session_datacenter(struct vvcql_session *session, char datacenter_out[128]);
/* Waits until all connected hosts report one schema version: after a change of the schema.
 * VVCQL_TIMEOUT when they do not agree in time. */
VVCQL_MUST_CHECK enum vvcql_status vvcql_wait_for_schema(struct vvcql_session *session,
                                                         uint32_t timeout_ms,
                                                         struct vvcql_error *error);
/* The addresses of the replicas of a partition key (its values serialised as routing key: see
 * token.h), for tests and tools; as vvcql_session_hosts. */
size_t vvcql_session_replicas(struct vvcql_session *session, const char *keyspace, int64_t token,
                              struct vvcql_host_info *hosts_out, size_t capacity);
/* Which replica set a prepared statement (or the first one of a batch) belongs to: a hash of the
 * hosts that keep its partition, of those in the local data centre if there are any; statements of
 * one set fail together. The values of its partition key are enough. 0: not known, as before the
 * text was first prepared or while the token map isn't read. Any thread. */
uint64_t vvcql_statement_replicas(struct vvcql_session *session,
                                  const struct vvcql_statement *statement);

#endif
