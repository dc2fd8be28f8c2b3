/* SPDX-License-Identifier: Apache-2.0 */
/* The table of what the door offers: one row by path and methods. */
#ifndef VV_HTTP_ROUTES_H
#define VV_HTTP_ROUTES_H

#include "base/bytes.h"

struct vv_exchange;

enum vv_method {
    VV_METHOD_GET = 1,
    VV_METHOD_HEAD = 2,
    VV_METHOD_POST = 4,
    VV_METHOD_PUT = 8,
};

/* What a route does. Each function may leave an answer in exchange->reply; after that none but
 * release is called. NULL: nothing to do. */
struct vv_handler {
    /* The headers are there. */
    void (*begin)(struct vv_exchange *exchange);
    /* A piece of the body; returns how much was taken. Less than all: it has suspended the
     * exchange, and is called again with the rest after it was resumed. NULL: the body is collected
     * in exchange->body, up to body_bytes_max. */
    size_t (*feed)(struct vv_exchange *exchange, const char *bytes, size_t size);
    /* The body is complete. Answers, or suspends and is called again after it was resumed. */
    void (*finish)(struct vv_exchange *exchange);
    /* Frees exchange->state; the answer has been sent, or the connection is gone. */
    void (*release)(struct vv_exchange *exchange);
    size_t
        body_bytes_max; /* of the body; 0: one that is fed has no bound, others are thrown away */
};

struct vv_route {
    const char *path;
    unsigned methods; /* of enum vv_method */
    const struct vv_handler *handler;
    int kind;              /* the handler's own */
    bool while_recovering; /* answered before the engine has recovered */
    const char *doc;       /* one line, for GET / */
};

/* The row of a path and method. NULL when there is none; then *methods_out has the methods that the
 * path knows (0: the path is unknown). */
const struct vv_route *vv_route_find(const char *path, const char *method, unsigned *methods_out);
/* "GET, HEAD"; out holds size bytes. */
void vv_route_methods(unsigned methods, char *out, size_t size);
/* All rows. */
const struct vv_route *vv_route_table(size_t *n_out);

/* For counting: distinct paths, and one more for those that are unknown. */
size_t vv_route_path_index(const struct vv_route *route); /* NULL: the unknown ones */
const char *const *vv_route_paths(size_t *n_out);

#endif
