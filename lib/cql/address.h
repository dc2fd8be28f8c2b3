/* SPDX-License-Identifier: Apache-2.0 */
/* Socket addresses of hosts: made of bytes or text, compared, named. Pure functions. */
#ifndef VVCQL_ADDRESS_H
#define VVCQL_ADDRESS_H

#include "error.h"

#include <sys/socket.h>

/* Of 4 or 16 bytes in network order; false for another size. */
VVCQL_MUST_CHECK bool vvcql_address_set(struct sockaddr_storage *address, struct vvcql_bytes bytes,
                                        uint16_t port);
/* Of an IP address as text; false when it isn't one. */
VVCQL_MUST_CHECK bool vvcql_address_parse(struct sockaddr_storage *address, const char *text,
                                          uint16_t port);
void vvcql_address_set_port(struct sockaddr_storage *address, uint16_t port);
/* "127.0.0.1:9042" or "[::1]:9042". */
void vvcql_address_name(const struct sockaddr_storage *address, char name_out[VVCQL_HOST_MAX]);
/* Address and port. */
bool vvcql_address_equal(const struct sockaddr_storage *a, const struct sockaddr_storage *b);
/* 0.0.0.0 or :: */
bool vvcql_address_is_any(const struct sockaddr_storage *address);

#endif
