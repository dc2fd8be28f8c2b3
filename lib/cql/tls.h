/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS (OpenSSL) between bytes in memory: a connection moves them to and from its socket. TLS 1.2 at
 * least. A context is made once and used by one thread; a channel belongs to one connection.
 */
#ifndef VVCQL_TLS_H
#define VVCQL_TLS_H

#include "session.h"
#include "wire.h"

struct vvcql_tls_context;
struct vvcql_tls;

/* Loads the files. VVCQL_INVALID when one can't be read or used: the message names the file, what
 * is wrong with it, and for a client certificate also when it has expired. */
VVCQL_MUST_CHECK enum vvcql_status vvcql_tls_context_create(const struct vvcql_tls_options *options,
                                                            struct vvcql_tls_context **context_out,
                                                            struct vvcql_error *error);
void vvcql_tls_context_destroy(struct vvcql_tls_context *context); /* NULL is allowed */

/* A client's channel. The peer's certificate must be for `address` (an IP address as text) or, when
 * name is not NULL, for that host name, unless the options skip that. NULL: no memory. */
struct vvcql_tls *vvcql_tls_create(struct vvcql_tls_context *context, const char *address,
                                   const char *name);
void vvcql_tls_destroy(struct vvcql_tls *tls);

/* Moves what can be moved: `received` (borrowed; from the socket), appends what was decrypted to
 * plain_out, and what must go to the socket to cipher_out. Drives the handshake, so it is called
 * once with nothing received at the start. VVCQL_REFUSED with a message that names the reason
 * (unknown authority, expired, name does not match, alert of the peer); VVCQL_PROTOCOL,
 * VVCQL_NO_MEMORY; VVCQL_LOST when the peer closed the channel. *ready_out: the handshake is over.
 */
VVCQL_MUST_CHECK enum vvcql_status vvcql_tls_receive(struct vvcql_tls *tls,
                                                     struct vvcql_bytes received,
                                                     struct vvcql_buffer *plain_out,
                                                     struct vvcql_buffer *cipher_out,
                                                     bool *ready_out, struct vvcql_error *error);
/* Encrypts; only after the handshake. */
VVCQL_MUST_CHECK enum vvcql_status vvcql_tls_send(struct vvcql_tls *tls, struct vvcql_bytes plain,
                                                  struct vvcql_buffer *cipher_out,
                                                  struct vvcql_error *error);

#endif
