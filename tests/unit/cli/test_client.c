/* SPDX-License-Identifier: Apache-2.0 */
/* Where clients go, forms, and messages of answers; requests themselves are tested end to end. */
#include "cli/client.h"

#include "cli/commands.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static enum vv_status configure(char **options, struct vv_client_options *out)
{
    struct vv_arguments arguments;
    struct vv_usage usage;
    struct vv_error error = {0};
    int argc = 0;
    while (options[argc]) {
        argc++;
    }
    assert_int_equal(
        vv_arguments_parse(vv_command_find("flush"), argc, options, &arguments, &usage), VV_OK);
    enum vv_status status = vv_client_configure(&arguments, out, &error);
    vv_arguments_deinit(&arguments);
    return status;
}

static void the_server_comes_from_option_environment_default(void **state)
{
    (void)state;
    struct vv_client_options options;
    unsetenv("VARVE_SERVER");
    unsetenv("VARVE_TENANT");
    assert_int_equal(configure((char *[]){NULL}, &options), VV_OK);
    assert_string_equal(options.server, "http://127.0.0.1:8987");
    assert_string_equal(options.tenant, "default");
    setenv("VARVE_SERVER", "https://example.org:1/", 1);
    setenv("VARVE_TENANT", "plant", 1);
    assert_int_equal(configure((char *[]){NULL}, &options), VV_OK);
    assert_string_equal(options.server, "https://example.org:1");
    assert_string_equal(options.tenant, "plant");
    assert_int_equal(configure((char *[]){"--server", "host:5", "-t", "x", NULL}, &options), VV_OK);
    assert_string_equal(options.server, "http://host:5");
    assert_string_equal(options.tenant, "x");
    assert_int_equal(configure((char *[]){"-s", "ftp://host", NULL}, &options), VV_INVALID);
    char longer[600];
    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_int_equal(configure((char *[]){"-s", longer, NULL}, &options), VV_INVALID);
    assert_int_equal(configure((char *[]){"-t", longer, NULL}, &options), VV_INVALID);
}

static void forms_are_encoded(void **state)
{
    (void)state;
    struct vv_buffer form = {0};
    vv_form_add(&form, "metric", VV_STR_LITERAL("pump.*"));
    vv_form_add(&form, "tag", VV_STR_LITERAL("a=b c&d%\n°\0"));
    vv_form_add(&form, "x", VV_STR_LITERAL(""));
    vv_buffer_u8(&form, '\0');
    assert_string_equal((const char *)form.data,
                        "metric=pump.%2A&tag=a%3Db%20c%26d%25%0A%C2%B0%00&x=");
    vv_buffer_deinit(&form);
}

static void expect_message(long code, const char *body, const char *expected)
{
    struct vv_response response = {.code = code};
    struct vv_error error = {0};
    vv_buffer_text(&response.body, body);
    vv_response_message(&response, &error);
    assert_string_equal(error.message, expected);
    vv_response_deinit(&response);
}

static void messages_are_found(void **state)
{
    (void)state;
    static const char other[] =
        "the server answered 500, not in the words of Varve's API; is it one?";
    expect_message(404, "{\"code\":\"x\",\"message\":\"no such tenant\"}", "no such tenant");
    expect_message(400, "{\"error\":\"as InfluxDB says it\"}", "as InfluxDB says it");
    expect_message(500, "{\"message\":5}", other);
    expect_message(500, "", other);
    expect_message(500, "<html>\xFF", other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_server_comes_from_option_environment_default),
        cmocka_unit_test(forms_are_encoded),
        cmocka_unit_test(messages_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
