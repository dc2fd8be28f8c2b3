/* SPDX-License-Identifier: Apache-2.0 */
/* Settings as options of a CQL session. */
#include "engine/cql_options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void set(struct vv_settings *settings, const char *name, const char *value)
{
    struct vv_error error = {0};
    if (vv_settings_set(settings, name, value, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
}

static void what_is_not_set_is_null_or_off(void **state)
{
    (void)state;
    struct vv_settings settings;
    char password[VV_SETTING_TEXT_MAX];
    struct vvcql_options options;
    struct vv_error error = {0};
    vv_settings_init(&settings);
    assert_int_equal(vv_cql_options_of(&settings, password, &options, &error), VV_OK);
    assert_string_equal(options.contact_points, "127.0.0.1:9042");
    assert_null(options.local_datacenter);
    assert_null(options.user);
    assert_false(options.tls.enabled);
    assert_null(options.tls.ca_file);
    assert_null(options.tls.certificate_file);
    assert_null(options.tls.key_file);
    assert_int_equal(options.consistency, VVCQL_LOCAL_QUORUM);
    assert_int_equal(options.request_timeout_ms, 12000);
    assert_int_equal(options.speculative_delay_ms, 500);
    assert_false(options.speculative_writes);
    assert_true(options.heartbeat_ms > 0 && options.heartbeat_ms < options.request_timeout_ms);
}

static void what_is_set_is_handed_on(void **state)
{
    (void)state;
    struct vv_settings settings;
    char password[VV_SETTING_TEXT_MAX];
    struct vvcql_options options;
    struct vv_error error = {0};
    vv_settings_init(&settings);
    set(&settings, "cassandra.contact_points", "a,b:9043");
    set(&settings, "cassandra.local_datacenter", "dc1");
    set(&settings, "cassandra.user", "somebody");
    set(&settings, "cassandra.password", "secret");
    set(&settings, "cassandra.tls", "true");
    set(&settings, "cassandra.tls_ca", "/ca.pem");
    set(&settings, "cassandra.consistency", "QUORUM");
    set(&settings, "cassandra.request_timeout", "3s");
    set(&settings, "cassandra.speculative_delay", "250ms");
    assert_int_equal(vv_cql_options_of(&settings, password, &options, &error), VV_OK);
    assert_string_equal(options.contact_points, "a,b:9043");
    assert_string_equal(options.local_datacenter, "dc1");
    assert_string_equal(options.user, "somebody");
    assert_ptr_equal(options.password, password);
    assert_string_equal(password, "secret");
    assert_true(options.tls.enabled);
    assert_string_equal(options.tls.ca_file, "/ca.pem");
    assert_int_equal(options.consistency, VVCQL_QUORUM);
    assert_int_equal(options.request_timeout_ms, 3000);
    assert_int_equal(options.speculative_delay_ms, 250);
}

static void a_password_that_cannot_be_read_is_told(void **state)
{
    (void)state;
    struct vv_settings settings;
    char password[VV_SETTING_TEXT_MAX];
    struct vvcql_options options;
    struct vv_error error = {0};
    vv_settings_init(&settings);
    set(&settings, "cassandra.password_file", "/nowhere/at/all");
    assert_int_equal(vv_cql_options_of(&settings, password, &options, &error), VV_IO);
    assert_non_null(strstr(error.message, "/nowhere/at/all"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_set_is_null_or_off),
        cmocka_unit_test(what_is_set_is_handed_on),
        cmocka_unit_test(a_password_that_cannot_be_read_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
