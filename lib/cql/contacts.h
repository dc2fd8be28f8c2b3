/* SPDX-License-Identifier: Apache-2.0 */
/* Contact points as an operator writes them: "host[:port], …"; IPv6 with a port in brackets. */
#ifndef VVCQL_CONTACTS_H
#define VVCQL_CONTACTS_H

#include "error.h"

#include <sys/socket.h>

struct vvcql_contact {
    char *host; /* an IP address, without brackets, or a name */
    uint16_t port;
    bool is_address; /* no name: `address` is set */
    struct sockaddr_storage address;
};

/* The caller frees *contacts_out with vvcql_contacts_free(). VVCQL_INVALID for a text that is none,
 * the message says which part of it; VVCQL_NO_MEMORY. */
VVCQL_MUST_CHECK enum vvcql_status vvcql_contacts_parse(const char *text, uint16_t default_port,
                                                        struct vvcql_contact **contacts_out,
                                                        size_t *n_out, struct vvcql_error *error);
void vvcql_contacts_free(struct vvcql_contact *contacts, size_t n);

#endif
