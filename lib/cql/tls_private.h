/* SPDX-License-Identifier: Apache-2.0 */
/* What a channel of TLS needs of its context. */
#ifndef VVCQL_TLS_PRIVATE_H
#define VVCQL_TLS_PRIVATE_H

#include "tls.h"

#include <openssl/ssl.h>

struct vvcql_tls_context {
    SSL_CTX *ssl;
    bool skip_name_check;
    char *ca_file;      /* NULL: the system's authorities */
    char *key_password; /* NULL: none */
    bool key_is_locked; /* the key's file asked for a password */
};

#endif
