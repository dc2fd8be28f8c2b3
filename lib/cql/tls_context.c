/* SPDX-License-Identifier: Apache-2.0 */
/* Authorities, certificate and key, read from their files. */
#include "tls_private.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum vvcql_status no_memory(struct vvcql_error *error)
{
    return vvcql_error_set(error, VVCQL_NO_MEMORY, "no memory for TLS");
}

/* The reason that OpenSSL gave first. */
static enum vvcql_status cannot_use(const char *what, const char *file, struct vvcql_error *error)
{
    const char *reason = ERR_reason_error_string(ERR_peek_error());
    return vvcql_error_set(error, VVCQL_INVALID, "%s '%s' can't be used: %s", what, file,
                           reason != NULL ? reason : "no reason is known");
}

static enum vvcql_status check_readable(const char *what, const char *file,
                                        struct vvcql_error *error)
{
    FILE *stream = fopen(file, "re");
    if (stream == NULL) {
        return vvcql_error_set(error, VVCQL_INVALID, "%s '%s' can't be read: %s", what, file,
                               strerror(errno));
    }
    (void)fclose(stream);
    return VVCQL_OK;
}

/* For OpenSSL, which would ask at the terminal otherwise. */
static int give_password(char *out, int capacity, int is_writing, void *user_data)
{
    (void)is_writing;
    struct vvcql_tls_context *context = user_data;
    const char *password = context->key_password;
    context->key_is_locked = true;
    if (password == NULL || capacity < 0) {
        return -1;
    }
    size_t size = strlen(password);
    if (size > (size_t)capacity) {
        return -1;
    }
    memcpy(out, password, size);
    return (int)size;
}

static enum vvcql_status load_authorities(struct vvcql_tls_context *context,
                                          struct vvcql_error *error)
{
    if (context->ca_file == NULL) {
        return SSL_CTX_set_default_verify_paths(context->ssl) == 1 ? VVCQL_OK : no_memory(error);
    }
    enum vvcql_status status = check_readable("ca_file", context->ca_file, error);
    if (status != VVCQL_OK) {
        return status;
    }
    if (SSL_CTX_load_verify_file(context->ssl, context->ca_file) != 1) {
        return cannot_use("ca_file", context->ca_file, error);
    }
    return VVCQL_OK;
}

static enum vvcql_status check_expiry(SSL_CTX *ssl, const char *file, struct vvcql_error *error)
{
    const ASN1_TIME *until = X509_get0_notAfter(SSL_CTX_get0_certificate(ssl));
    if (X509_cmp_current_time(until) > 0) {
        return VVCQL_OK;
    }
    struct tm tm = {0};
    (void)ASN1_TIME_to_tm(until, &tm);
    return vvcql_error_set(error, VVCQL_INVALID,
                           "certificate_file '%s' has expired on %04d-%02d-%02d", file,
                           tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday);
}

static enum vvcql_status load_certificate(SSL_CTX *ssl, const char *file, struct vvcql_error *error)
{
    enum vvcql_status status = check_readable("certificate_file", file, error);
    if (status != VVCQL_OK) {
        return status;
    }
    if (SSL_CTX_use_certificate_chain_file(ssl, file) != 1) {
        return cannot_use("certificate_file", file, error);
    }
    return check_expiry(ssl, file, error);
}

static enum vvcql_status load_key(struct vvcql_tls_context *context, const char *file,
                                  struct vvcql_error *error)
{
    enum vvcql_status status = check_readable("key_file", file, error);
    if (status != VVCQL_OK) {
        return status;
    }
    SSL_CTX_set_default_passwd_cb(context->ssl, give_password);
    SSL_CTX_set_default_passwd_cb_userdata(context->ssl, context);
    if (SSL_CTX_use_PrivateKey_file(context->ssl, file, SSL_FILETYPE_PEM) == 1) {
        return VVCQL_OK;
    }
    int reason = ERR_GET_REASON(ERR_peek_error());
    if (reason == X509_R_KEY_VALUES_MISMATCH || reason == X509_R_KEY_TYPE_MISMATCH) {
        return vvcql_error_set(error, VVCQL_INVALID,
                               "key_file '%s' is not the key of the certificate", file);
    }
    if (context->key_is_locked) {
        return vvcql_error_set(error, VVCQL_INVALID, "key_file '%s' %s", file,
                               context->key_password != NULL ? "can't be read with key_password"
                                                             : "needs key_password");
    }
    return cannot_use("key_file", file, error);
}

static enum vvcql_status load_identity(struct vvcql_tls_context *context,
                                       const struct vvcql_tls_options *options,
                                       struct vvcql_error *error)
{
    if ((options->certificate_file == NULL) != (options->key_file == NULL)) {
        return vvcql_error_set(error, VVCQL_INVALID,
                               "certificate_file and key_file are needed together");
    }
    if (options->certificate_file == NULL) {
        return VVCQL_OK;
    }
    enum vvcql_status status = load_certificate(context->ssl, options->certificate_file, error);
    return status == VVCQL_OK ? load_key(context, options->key_file, error) : status;
}

/* false: no memory. NULL is copied as NULL. */
static bool copy_text(const char *text, char **copy_out)
{
    size_t size = text != NULL ? strlen(text) + 1 : 0;
    *copy_out = text != NULL ? malloc(size) : NULL;
    if (*copy_out != NULL) {
        memcpy(*copy_out, text, size);
    }
    return (*copy_out != NULL) == (text != NULL);
}

static enum vvcql_status set_up(struct vvcql_tls_context *context,
                                const struct vvcql_tls_options *options, struct vvcql_error *error)
{
    context->skip_name_check = options->skip_name_check;
    context->ssl = SSL_CTX_new(TLS_client_method());
    if (context->ssl == NULL || !copy_text(options->ca_file, &context->ca_file) ||
        !copy_text(options->key_password, &context->key_password) ||
        SSL_CTX_set_min_proto_version(context->ssl, TLS1_2_VERSION) != 1) {
        return no_memory(error);
    }
    (void)SSL_CTX_set_options(context->ssl, SSL_OP_NO_RENEGOTIATION);
    (void)SSL_CTX_set_mode(context->ssl, SSL_MODE_RELEASE_BUFFERS);
    enum vvcql_status status = load_authorities(context, error);
    return status == VVCQL_OK ? load_identity(context, options, error) : status;
}

enum vvcql_status vvcql_tls_context_create(const struct vvcql_tls_options *options,
                                           struct vvcql_tls_context **context_out,
                                           struct vvcql_error *error)
{
    *context_out = NULL;
    struct vvcql_tls_context *context = calloc(1, sizeof *context);
    if (context == NULL) {
        return no_memory(error);
    }
    ERR_clear_error();
    enum vvcql_status status = set_up(context, options, error);
    ERR_clear_error();
    if (status != VVCQL_OK) {
        vvcql_tls_context_destroy(context);
        return status;
    }
    *context_out = context;
    return VVCQL_OK;
}

void vvcql_tls_context_destroy(struct vvcql_tls_context *context)
{
    if (context != NULL) {
        SSL_CTX_free(context->ssl);
        free(context->ca_file);
        if (context->key_password != NULL) {
            OPENSSL_cleanse(context->key_password, strlen(context->key_password));
        }
        free(context->key_password);
        free(context);
    }
}
