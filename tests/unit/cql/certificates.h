/* SPDX-License-Identifier: Apache-2.0 */
/* Keys and certificates for tests of TLS, made with OpenSSL; some written to files. */
#ifndef VARVE_TEST_CQL_CERTIFICATES_H
#define VARVE_TEST_CQL_CERTIFICATES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#define DAY_SECONDS (24L * 3600)

struct identity {
    EVP_PKEY *key;
    X509 *certificate;
};

static inline void add_extension(X509 *certificate, int nid, const char *value)
{
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, certificate, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    assert_non_null(extension);
    assert_int_equal(X509_add_ext(certificate, extension, -1), 1);
    X509_EXTENSION_free(extension);
}

/* Valid from from_day to until_day, counted from now. issuer NULL: signed by itself. hosts: the
 * alternative names ("IP:127.0.0.1,DNS:x"); NULL: it is an authority. */
static inline struct identity make_identity(const char *name, const struct identity *issuer,
                                            const char *hosts, long from_day, long until_day)
{
    static long serial = 1;
    struct identity made = {.key = EVP_EC_gen("P-256"), .certificate = X509_new()};
    X509 *certificate = made.certificate;
    assert_non_null(made.key);
    assert_non_null(certificate);
    (void)X509_set_version(certificate, X509_VERSION_3);
    (void)ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial++);
    (void)X509_gmtime_adj(X509_getm_notBefore(certificate), from_day * DAY_SECONDS);
    (void)X509_gmtime_adj(X509_getm_notAfter(certificate), until_day * DAY_SECONDS);
    (void)X509_set_pubkey(certificate, made.key);
    X509_NAME *subject = X509_get_subject_name(certificate);
    (void)X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const uint8_t *)name, -1, -1, 0);
    const X509 *from = issuer != NULL ? issuer->certificate : certificate;
    (void)X509_set_issuer_name(certificate, X509_get_subject_name(from));
    if (hosts == NULL) {
        add_extension(certificate, NID_basic_constraints, "critical,CA:TRUE");
        add_extension(certificate, NID_key_usage, "critical,keyCertSign,cRLSign");
    } else {
        add_extension(certificate, NID_basic_constraints, "CA:FALSE");
        add_extension(certificate, NID_subject_alt_name, hosts);
    }
    EVP_PKEY *signer = issuer != NULL ? issuer->key : made.key;
    assert_true(X509_sign(certificate, signer, EVP_sha256()) > 0);
    return made;
}

static inline void free_identity(struct identity *identity)
{
    EVP_PKEY_free(identity->key);
    X509_free(identity->certificate);
    *identity = (struct identity){0};
}

/* Writes what isn't NULL to a file in the folder; password NULL: a plain key. */
static inline void write_pem(const char *folder, const char *name, const X509 *certificate,
                             const EVP_PKEY *key, const char *password)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    if (certificate != NULL) {
        assert_int_equal(PEM_write_X509(file, certificate), 1);
    }
    if (key != NULL) {
        const EVP_CIPHER *cipher = password != NULL ? EVP_aes_128_cbc() : NULL;
        assert_int_equal(PEM_write_PKCS8PrivateKey(file, key, cipher, password,
                                                   password != NULL ? (int)strlen(password) : 0,
                                                   NULL, NULL),
                         1);
    }
    assert_int_equal(fclose(file), 0);
}

/* A server that shows the certificate. client_authority: whose clients it wants; NULL: any. */
static inline SSL_CTX *make_server_tls(const struct identity *identity,
                                       const struct identity *client_authority)
{
    SSL_CTX *tls = SSL_CTX_new(TLS_server_method());
    assert_non_null(tls);
    assert_int_equal(SSL_CTX_use_certificate(tls, identity->certificate), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey(tls, identity->key), 1);
    if (client_authority != NULL) {
        X509_STORE *store = SSL_CTX_get_cert_store(tls);
        assert_int_equal(X509_STORE_add_cert(store, client_authority->certificate), 1);
        SSL_CTX_set_verify(tls, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    }
    return tls;
}

#endif
