/* SPDX-License-Identifier: Apache-2.0 */
/* What to do about failures, by the words of the CQL client. */
#include "store/cassandra/hint.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char *hint_of(enum vvcql_status status, int32_t code, const char *message)
{
    struct vvcql_error error = {0};
    (void)vvcql_error_set(&error, status, "%s", message);
    error.code = code;
    const char *hint = vv_cassandra_hint(&error);
    return hint ? hint : "";
}

static void expect_hint(enum vvcql_status status, int32_t code, const char *message,
                        const char *needle)
{
    const char *hint = hint_of(status, code, message);
    if (!strstr(hint, needle)) {
        fail_msg("%s: \"%s\" is not in \"%s\"", message, needle, hint);
    }
}

static void refusals_name_the_setting(void **state)
{
    (void)state;
    static const struct {
        const char *message;
        const char *needle;
    } cases[] = {
        {"Provided username a and/or password are incorrect", "cassandra.password_file"},
        {"10.0.0.1:9042 needs user and password (its authenticator is X)", "cassandra.user"},
        {"the certificate of 10.0.0.1 has expired", "renew"},
        {"the certificate of 10.0.0.1 is signed by an authority that is not in x", "tls_ca"},
        {"the certificate of 10.0.0.1 is not for that address", "contact_points"},
        {"10.0.0.1 wants a client certificate, and none is configured", "tls_certificate"},
        {"10.0.0.1 refuses the TLS connection with this client certificate: x", "tls_certificate"},
        {"10.0.0.1 refuses the TLS connection: unknown", "tls_key"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect_hint(VVCQL_REFUSED, VVCQL_CODE_NONE, cases[i].message, cases[i].needle);
    }
    assert_string_equal(hint_of(VVCQL_REFUSED, VVCQL_CODE_NONE, "something else"), "");
}

static void answers_and_silence_have_hints(void **state)
{
    (void)state;
    expect_hint(VVCQL_SERVER, VVCQL_CODE_UNAUTHORIZED, "no permission", "grant");
    expect_hint(VVCQL_SERVER, VVCQL_CODE_UNAVAILABLE, "QUORUM", "copies");
    expect_hint(VVCQL_SERVER, VVCQL_CODE_CONFIG_ERROR, "dc9", "cassandra.replication");
    expect_hint(VVCQL_UNREACHABLE, VVCQL_CODE_NONE, "refused", "contact_points");
    expect_hint(VVCQL_LOST, VVCQL_CODE_NONE, "closed", "cassandra.tls");
    expect_hint(VVCQL_INVALID, VVCQL_CODE_NONE, "ca_file 'x' can't be read", "cassandra.tls_ca");
    assert_string_equal(hint_of(VVCQL_INVALID, VVCQL_CODE_NONE, "too many"), "");
    assert_string_equal(hint_of(VVCQL_SERVER, VVCQL_CODE_SYNTAX_ERROR, "no"), "");
    assert_string_equal(hint_of(VVCQL_TIMEOUT, VVCQL_CODE_NONE, "late"), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals_name_the_setting),
        cmocka_unit_test(answers_and_silence_have_hints),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
