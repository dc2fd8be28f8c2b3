/* SPDX-License-Identifier: Apache-2.0 */
/* The CQL client and a Cassandra that wants passwords, and certificates of both sides. */
#include "cql_fixture.h"

static char paths[8][512];
static size_t n_paths;

/* A file of tools/cassandra/certificates.py; valid until the test ends. */
static const char *file(const char *name)
{
    const char *folder = getenv("VARVE_CASSANDRA_DIR");
    assert_non_null(folder);
    char *path = paths[n_paths++ % 8];
    (void)snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static struct vvcql_options right(void)
{
    return (struct vvcql_options){
        .contact_points = getenv("VARVE_CASSANDRA"),
        .user = "cassandra",
        .password = "cassandra",
        .tls = {.enabled = true,
                .ca_file = file("ca.pem"),
                .certificate_file = file("client.pem"),
                .key_file = file("client.key")},
    };
}

static enum vvcql_status opening(const struct vvcql_options *options)
{
    enum vvcql_status status = vvcql_session_open(options, false, &session, &error);
    assert_int_equal(status == VVCQL_OK, session != NULL);
    return status;
}

static void test_right_certificate_and_password(void **state)
{
    (void)state;
    struct vvcql_options options = right();
    if (opening(&options) != VVCQL_OK) {
        fail_msg("%s", error.message);
    }
    struct vvcql_result *result =
        query(vvcql_statement_create("SELECT role FROM system_auth.roles"));
    assert_true(vvcql_result_rows(result) >= 1);
    vvcql_result_destroy(result);
    vvcql_session_close(session);
}

static void test_wrong_passwords(void **state)
{
    (void)state;
    struct vvcql_options options = right();
    options.password = "wrong";
    assert_int_equal(opening(&options), VVCQL_REFUSED);
    assert_non_null(strstr(error.message, "password"));
    options.user = "nobody";
    assert_int_equal(opening(&options), VVCQL_REFUSED);
    options.user = NULL;
    options.password = NULL;
    assert_int_equal(opening(&options), VVCQL_REFUSED);
}

static void test_wrong_certificates(void **state)
{
    (void)state;
    struct vvcql_options options = right();
    options.tls.ca_file = file("other-ca.pem");
    assert_int_equal(opening(&options), VVCQL_REFUSED);
    options = right();
    options.tls.certificate_file = file("other-client.pem");
    options.tls.key_file = file("other-client.key");
    assert_int_equal(opening(&options), VVCQL_REFUSED);
    options = right();
    options.tls.certificate_file = NULL;
    options.tls.key_file = NULL;
    assert_int_equal(opening(&options), VVCQL_REFUSED);
    options = right();
    options.tls.key_file = file("other-client.key"); /* not of the certificate */
    assert_int_equal(opening(&options), VVCQL_INVALID);
    options.tls.key_file = file("none.key");
    assert_int_equal(opening(&options), VVCQL_INVALID);
    assert_non_null(strstr(error.message, "none.key"));
}

static void test_without_tls(void **state)
{
    (void)state;
    struct vvcql_options options = right();
    options.tls.enabled = false;
    options.connect_timeout_ms = 3000;
    enum vvcql_status status = opening(&options);
    assert_true(status == VVCQL_UNREACHABLE || status == VVCQL_REFUSED);
}

static int skip_without_servers(void **state)
{
    (void)state;
    if (getenv("VARVE_CASSANDRA") == NULL || getenv("VARVE_CASSANDRA_DIR") == NULL) {
        exit(EXIT_SKIPPED);
    }
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_right_certificate_and_password),
        cmocka_unit_test(test_wrong_passwords),
        cmocka_unit_test(test_wrong_certificates),
        cmocka_unit_test(test_without_tls),
    };
    return cmocka_run_group_tests(tests, skip_without_servers, NULL);
}
