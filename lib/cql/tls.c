/* SPDX-License-Identifier: Apache-2.0 */
/* A TLS channel over two buffers of OpenSSL: what came from the socket, what goes to it. */
#include "tls_private.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Encrypted at once; then it is moved on, so that OpenSSL's buffer stays small. */
#define SEND_SIZE ((size_t)64 << 10)
/* The largest record's content. */
#define RECORD_SIZE ((size_t)16 << 10)

struct vvcql_tls {
    struct vvcql_tls_context *context;
    SSL *ssl;
    BIO *received; /* the two belong to ssl */
    BIO *to_send;
    char address[VVCQL_HOST_MAX];
    char *name;
    bool certificate_asked; /* the host asked for the client's */
    bool is_ready;
};

/* ---- the host's certificate ---- */

static bool names_host(const struct vvcql_tls *tls, X509 *certificate)
{
    return X509_check_ip_asc(certificate, tls->address, 0) == 1 ||
           (tls->name != NULL && X509_check_host(certificate, tls->name, 0, 0, NULL) == 1);
}

/* Within OpenSSL's check of the chain, so that the host gets an alert, and nothing of ours. */
static int on_verify(int is_valid, X509_STORE_CTX *store)
{
    SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
    const struct vvcql_tls *tls = SSL_get_app_data(ssl);
    if (is_valid == 0 || X509_STORE_CTX_get_error_depth(store) != 0 ||
        tls->context->skip_name_check) {
        return is_valid;
    }
    if (!names_host(tls, X509_STORE_CTX_get_current_cert(store))) {
        X509_STORE_CTX_set_error(store, X509_V_ERR_HOSTNAME_MISMATCH);
        return 0;
    }
    return 1;
}

static int on_certificate_asked(SSL *ssl, void *context)
{
    (void)ssl;
    struct vvcql_tls *tls = context;
    tls->certificate_asked = true;
    return 1;
}

/* ---- life ---- */

static bool set_up(struct vvcql_tls *tls, const char *name)
{
    tls->name = name != NULL ? strdup(name) : NULL;
    tls->ssl = SSL_new(tls->context->ssl);
    if (tls->ssl == NULL || (name != NULL && tls->name == NULL)) {
        return false;
    }
    tls->received = BIO_new(BIO_s_mem());
    tls->to_send = BIO_new(BIO_s_mem());
    if (tls->received == NULL || tls->to_send == NULL) {
        BIO_free(tls->received);
        BIO_free(tls->to_send);
        return false;
    }
    /* An empty buffer means that more is to come, not the end. */
    BIO_set_mem_eof_return(tls->received, -1);
    BIO_set_mem_eof_return(tls->to_send, -1);
    SSL_set_bio(tls->ssl, tls->received, tls->to_send);
    SSL_set_app_data(tls->ssl, tls);
    SSL_set_verify(tls->ssl, SSL_VERIFY_PEER, on_verify);
    SSL_set_cert_cb(tls->ssl, on_certificate_asked, tls);
    SSL_set_connect_state(tls->ssl);
    return name == NULL || SSL_set_tlsext_host_name(tls->ssl, name) == 1;
}

struct vvcql_tls *vvcql_tls_create(struct vvcql_tls_context *context, const char *address,
                                   const char *name)
{
    struct vvcql_tls *tls = calloc(1, sizeof *tls);
    if (tls == NULL) {
        return NULL;
    }
    tls->context = context;
    (void)snprintf(tls->address, sizeof tls->address, "%s", address);
    if (!set_up(tls, name)) {
        vvcql_tls_destroy(tls);
        return NULL;
    }
    return tls;
}

void vvcql_tls_destroy(struct vvcql_tls *tls)
{
    if (tls != NULL) {
        SSL_free(tls->ssl);
        free(tls->name);
        free(tls);
    }
}

/* ---- what went wrong ---- */

static enum vvcql_status refuse_certificate(const struct vvcql_tls *tls, long reason,
                                            struct vvcql_error *error)
{
    switch (reason) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
        return vvcql_error_set(error, VVCQL_REFUSED,
                               "the certificate of %s is not for that address%s%s%s", tls->address,
                               tls->name != NULL ? ", nor for the name '" : "",
                               tls->name != NULL ? tls->name : "", tls->name != NULL ? "'" : "");
    case X509_V_ERR_CERT_HAS_EXPIRED:
        return vvcql_error_set(error, VVCQL_REFUSED, "the certificate of %s has expired",
                               tls->address);
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
        return vvcql_error_set(
            error, VVCQL_REFUSED,
            "the certificate of %s is signed by an authority that is not in %s", tls->address,
            tls->context->ca_file != NULL ? tls->context->ca_file : "the system's list");
    default:
        return vvcql_error_set(error, VVCQL_REFUSED, "the certificate of %s can't be trusted: %s",
                               tls->address, X509_verify_cert_error_string(reason));
    }
}

/* Alerts with which a host turns a client's certificate, or the lack of one, away. */
static bool is_about_certificate(int alert)
{
    return alert == SSL_AD_CERTIFICATE_REQUIRED || alert == SSL_AD_BAD_CERTIFICATE ||
           alert == SSL_AD_HANDSHAKE_FAILURE || alert == SSL_AD_NO_CERTIFICATE;
}

static const char *text_of_alert(int alert)
{
    /* OpenSSL 3.0 has no words for this one. */
    return alert == SSL_AD_CERTIFICATE_REQUIRED ? "certificate required"
                                                : SSL_alert_desc_string_long(alert);
}

static enum vvcql_status refuse_alert(const struct vvcql_tls *tls, int alert,
                                      struct vvcql_error *error)
{
    bool has_certificate = SSL_get_certificate(tls->ssl) != NULL;
    if (tls->certificate_asked && !has_certificate && is_about_certificate(alert)) {
        return vvcql_error_set(error, VVCQL_REFUSED,
                               "%s wants a client certificate, and none is configured (TLS alert: "
                               "%s)",
                               tls->address, text_of_alert(alert));
    }
    return vvcql_error_set(
        error, VVCQL_REFUSED, "%s refuses the TLS connection%s: %s", tls->address,
        tls->certificate_asked && has_certificate ? " with this client certificate" : "",
        text_of_alert(alert));
}

/* After an operation of OpenSSL that failed with SSL_ERROR_SSL. */
static enum vvcql_status explain(const struct vvcql_tls *tls, struct vvcql_error *error)
{
    unsigned long code = ERR_peek_error();
    int reason = ERR_GET_REASON(code);
    if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED) {
        return refuse_certificate(tls, SSL_get_verify_result(tls->ssl), error);
    }
    if (ERR_GET_LIB(code) == ERR_LIB_SSL && reason >= SSL_AD_REASON_OFFSET) {
        return refuse_alert(tls, reason - SSL_AD_REASON_OFFSET, error);
    }
    if (reason == ERR_R_MALLOC_FAILURE) {
        return vvcql_error_set(error, VVCQL_NO_MEMORY, "no memory for TLS");
    }
    if (reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_HTTP_REQUEST) {
        return vvcql_error_set(error, VVCQL_PROTOCOL, "%s does not answer with TLS on this port",
                               tls->address);
    }
    const char *text = ERR_reason_error_string(code);
    return vvcql_error_set(error, VVCQL_PROTOCOL, "TLS with %s failed: %s", tls->address,
                           text != NULL ? text : "no reason is known");
}

/* VVCQL_OK when more bytes are needed. */
static enum vvcql_status check(const struct vvcql_tls *tls, int result, struct vvcql_error *error)
{
    switch (SSL_get_error(tls->ssl, result)) {
    case SSL_ERROR_NONE:
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        return VVCQL_OK;
    case SSL_ERROR_ZERO_RETURN:
        return vvcql_error_set(error, VVCQL_LOST, "%s closed the TLS channel", tls->address);
    default:
        return explain(tls, error);
    }
}

/* ---- moving bytes ---- */

static enum vvcql_status no_memory(struct vvcql_error *error)
{
    return vvcql_error_set(error, VVCQL_NO_MEMORY, "no memory for TLS");
}

static enum vvcql_status take_in(struct vvcql_tls *tls, struct vvcql_bytes received,
                                 struct vvcql_error *error)
{
    size_t written;
    if (received.size > 0 &&
        (BIO_write_ex(tls->received, received.data, received.size, &written) != 1 ||
         written != received.size)) {
        return no_memory(error);
    }
    return VVCQL_OK;
}

static enum vvcql_status give_out(struct vvcql_tls *tls, struct vvcql_buffer *cipher_out,
                                  struct vvcql_error *error)
{
    size_t size = BIO_ctrl_pending(tls->to_send);
    if (size == 0) {
        return VVCQL_OK;
    }
    uint8_t *at = vvcql_buffer_reserve(cipher_out, size);
    size_t taken;
    if (at == NULL || BIO_read_ex(tls->to_send, at, size, &taken) != 1) {
        return no_memory(error);
    }
    cipher_out->size += taken;
    return VVCQL_OK;
}

static enum vvcql_status shake_hands(struct vvcql_tls *tls, struct vvcql_error *error)
{
    if (tls->is_ready) {
        return VVCQL_OK;
    }
    int result = SSL_do_handshake(tls->ssl);
    tls->is_ready = result == 1;
    return tls->is_ready ? VVCQL_OK : check(tls, result, error);
}

static enum vvcql_status read_plain(struct vvcql_tls *tls, struct vvcql_buffer *plain_out,
                                    struct vvcql_error *error)
{
    for (;;) {
        uint8_t *at = vvcql_buffer_reserve(plain_out, RECORD_SIZE);
        if (at == NULL) {
            return no_memory(error);
        }
        size_t size;
        int result = SSL_read_ex(tls->ssl, at, RECORD_SIZE, &size);
        if (result != 1) {
            return check(tls, result, error);
        }
        plain_out->size += size;
    }
}

enum vvcql_status vvcql_tls_receive(struct vvcql_tls *tls, struct vvcql_bytes received,
                                    struct vvcql_buffer *plain_out, struct vvcql_buffer *cipher_out,
                                    bool *ready_out, struct vvcql_error *error)
{
    ERR_clear_error();
    enum vvcql_status status = take_in(tls, received, error);
    if (status == VVCQL_OK) {
        status = shake_hands(tls, error);
    }
    if (status == VVCQL_OK && tls->is_ready) {
        status = read_plain(tls, plain_out, error);
    }
    *ready_out = tls->is_ready;
    /* After a failure too: an alert may be there. */
    enum vvcql_status given = give_out(tls, cipher_out, status == VVCQL_OK ? error : NULL);
    return status != VVCQL_OK ? status : given;
}

enum vvcql_status vvcql_tls_send(struct vvcql_tls *tls, struct vvcql_bytes plain,
                                 struct vvcql_buffer *cipher_out, struct vvcql_error *error)
{
    ERR_clear_error();
    enum vvcql_status status = VVCQL_OK;
    for (size_t sent = 0; sent < plain.size && status == VVCQL_OK;) {
        size_t left = plain.size - sent;
        size_t size;
        int result =
            SSL_write_ex(tls->ssl, plain.data + sent, left < SEND_SIZE ? left : SEND_SIZE, &size);
        if (result != 1) {
            status = check(tls, result, error);
            return status != VVCQL_OK ? status : no_memory(error);
        }
        sent += size;
        status = give_out(tls, cipher_out, error);
    }
    return status;
}
