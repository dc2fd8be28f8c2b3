/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends lines of line protocol to a server over several connections.
 *
 * Words: a lane is one connection with its thread; a parcel is the lines of one request. Lines of
 * one series always take the same lane, so that their order stays. Memory is bounded: two parcels
 * wait in a lane, then the caller waits.
 *
 * Threads: one thread adds; lanes send. A parcel that fails is sent again, with growing pauses,
 * while its failure may pass (no connection, 429, 5xx); points with times of their own are the same
 * points when they arrive twice.
 */
#ifndef VV_CLI_SENDER_H
#define VV_CLI_SENDER_H

#include "cli/client.h"
#include "cli/load_report.h"

struct vv_sender;

struct vv_sender_options {
    const struct vv_client_options *client; /* borrowed until destroy, as is what follows */
    const char *path;                       /* of requests; NULL: "/write" */
    const char *ack;                        /* journal or store; NULL: as the server is set */
    size_t lanes;
    size_t lines_max; /* of a parcel */
    size_t bytes_max;
    int64_t retry_ns; /* how long one parcel is tried */
    struct vv_load_report *report;
    /* Called now and then while the caller has to wait; NULL: nothing. */
    void (*tick)(void *context);
    void *tick_context;
    /* Called after each answered request by the lane's thread; NULL: nothing. */
    void (*answered)(void *context, int64_t duration_ns);
    void *answered_context;
};

VV_MUST_CHECK enum vv_status vv_sender_create(const struct vv_sender_options *options,
                                              struct vv_sender **sender_out,
                                              struct vv_error *error);
/* Stops at once: what was not sent is dropped. */
void vv_sender_destroy(struct vv_sender *sender);

/* The following lines come from this file, which refusals name, and have times of this precision;
 * both borrowed until destroy. Ends the parcels begun. Before the first line. */
VV_MUST_CHECK enum vv_status vv_sender_begin_file(struct vv_sender *sender, const char *file,
                                                  const char *precision);

struct vv_sender_line {
    struct vv_str text;  /* without newline; may hold newlines in strings */
    size_t series_size;  /* of measurement and tags at its beginning */
    uint32_t points;     /* its fields */
    uint32_t newlines;   /* lines of the file that it takes, at least 1 */
    uint64_t number;     /* of its first line in the file */
    struct vv_str stamp; /* appended after a space; empty: nothing */
};
/* Anything but VV_OK: sending has failed for good, see vv_sender_finish. */
VV_MUST_CHECK enum vv_status vv_sender_add(struct vv_sender *sender,
                                           const struct vv_sender_line *line);
/* What was added since the last group is a group, which the server takes as a whole or not at all,
 * and with it all of its parcel: where it takes nothing, groups are sent by fewer, so that only
 * those are refused that have something wrong. As vv_sender_add. */
VV_MUST_CHECK enum vv_status vv_sender_end_group(struct vv_sender *sender);
/* Ends the parcels begun: what was added is sent, what comes is in others. As vv_sender_add. */
VV_MUST_CHECK enum vv_status vv_sender_cut(struct vv_sender *sender);
/* Drops what was added since the last parcel was full, or was cut. */
void vv_sender_drop_open(struct vv_sender *sender);
/* Sends what was added, and waits until all of it was answered. As vv_sender_add. */
VV_MUST_CHECK enum vv_status vv_sender_drain(struct vv_sender *sender);
/* Sends what is left and waits; then no thread runs any more, and nothing can be added. VV_OK:
 * every line was answered. Else why not: VV_IO: the server was not reached; VV_CANCELLED:
 * interrupted; VV_INVALID: it refuses all; VV_NO_MEMORY … */
VV_MUST_CHECK enum vv_status vv_sender_finish(struct vv_sender *sender, struct vv_error *error);

/* What the lanes wait for, "" if for nothing; out holds 128 bytes. */
void vv_sender_trouble(struct vv_sender *sender, char *out);

#endif
