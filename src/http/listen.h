/* SPDX-License-Identifier: Apache-2.0 */
/* Listening sockets: from HOST:PORT to a socket, with errors that say what to do. */
#ifndef VV_HTTP_LISTEN_H
#define VV_HTTP_LISTEN_H

#include "base/bytes.h"

#define VV_LISTEN_TEXT_SIZE 80

/* Splits "127.0.0.1:8987", "localhost:80" or "[::1]:8987" into host and port; host_out holds
 * host_size bytes and is terminated. VV_INVALID with a message. */
VV_MUST_CHECK enum vv_status vv_listen_parse(const char *text, char *host_out, size_t host_size,
                                             char port_out[6], struct vv_error *error);

struct vv_listener {
    int fd;
    bool local;                        /* only this machine can reach it */
    char address[VV_LISTEN_TEXT_SIZE]; /* as it is really listened on */
};

/* Opens, binds and listens; not blocking. VV_INVALID for an address that cannot be used, VV_LOCKED
 * when the port is taken, VV_IO. The caller closes listener_out->fd. */
VV_MUST_CHECK enum vv_status vv_listen_open(const char *text, struct vv_listener *listener_out,
                                            struct vv_error *error);

/* A listening socket that nobody can connect to: put in the place of a real one (dup2), it ends
 * listening at once and for all threads that poll. VV_IO. */
VV_MUST_CHECK enum vv_status vv_listen_silence(int *fd_out, struct vv_error *error);

#endif
