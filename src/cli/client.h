/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP for the client commands, over libcurl: one client is one connection that is kept open.
 * One thread at a time for one client; vv_client_setup once before threads are started.
 */
#ifndef VV_CLI_CLIENT_H
#define VV_CLI_CLIENT_H

#include "base/bytes.h"
#include "cli/arguments.h"

#include <stdatomic.h>

struct vv_client;

struct vv_client_options {
    char server[512]; /* "http://127.0.0.1:8987", without a slash at the end */
    char tenant[256];
};

/* Initialises libcurl. */
VV_MUST_CHECK enum vv_status vv_client_setup(struct vv_error *error);
/* From --server and --tenant, else from the environment, else the defaults. */
VV_MUST_CHECK enum vv_status vv_client_configure(const struct vv_arguments *arguments,
                                                 struct vv_client_options *options_out,
                                                 struct vv_error *error);

VV_MUST_CHECK enum vv_status vv_client_create(const struct vv_client_options *options,
                                              struct vv_client **client_out);
void vv_client_destroy(struct vv_client *client);

/* Takes a piece of an answer's body; anything but VV_OK ends the transfer. */
typedef enum vv_status (*vv_client_sink)(void *context, const char *bytes, size_t size);

struct vv_call {
    const char *method;       /* "GET", "POST", "PUT" */
    const char *path;         /* "/api/v1/query", with its query string */
    const char *content_type; /* of the body; NULL: none */
    const char *accept;       /* NULL: any */
    struct vv_str body;
    const atomic_bool *cancelled; /* ends the transfer when it becomes true; NULL: nothing does */
    vv_client_sink sink; /* for the body of a 2xx answer; NULL: it is kept in the response */
    void *context;
};

struct vv_response {
    long code;             /* of HTTP */
    char refused[512];     /* the header X-Varve-Refused: "string=12 fields=a,b" */
    int64_t accepted;      /* the header X-Varve-Accepted: points; -1: none */
    int64_t retry_ns;      /* the header Retry-After; 0: none */
    struct vv_buffer body; /* up to 1 MiB */
};

/*
 * One request and its whole answer. VV_OK: an answer came, whatever its code. VV_IO: the server was
 * not reached, nothing was sent. VV_UNKNOWN: the connection broke, the request may have been done.
 * VV_CANCELLED: interrupted. What the sink returned. response_out is deinited by the caller in any
 * case.
 */
VV_MUST_CHECK enum vv_status vv_client_call(struct vv_client *client, const struct vv_call *call,
                                            struct vv_response *response_out,
                                            struct vv_error *error);
void vv_response_deinit(struct vv_response *response);
/* The message of an answer that is no success: of its JSON, else its code in words. */
void vv_response_message(const struct vv_response *response, struct vv_error *error_out);

/* Says what went wrong with a call, with a hint; returns the exit code. */
int vv_client_fail(const struct vv_client_options *options, enum vv_status status,
                   const struct vv_error *error);
/* The same for an answer that is no success. */
int vv_response_fail(const struct vv_response *response);

/* Appends name=value to a form or query string, with & between, percent-encoded. */
void vv_form_add(struct vv_buffer *form, const char *name, struct vv_str value);
/* The same with those of n options that were given: each value of one that repeats, else the last.
 */
void vv_form_add_options(struct vv_buffer *form, const struct vv_arguments *arguments,
                         const char *const *names, size_t n);

#endif
