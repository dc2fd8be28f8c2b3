/* SPDX-License-Identifier: Apache-2.0 */
/* The statements of loaders. */
#include "base/clock.h"
#include "base/random.h"
#include "http/influxql.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void check_create(const char *text, const char *name, bool has_duration, int64_t duration)
{
    struct vv_str rest = vv_str_of(text);
    struct vv_influxql_statement statement;
    struct vv_error error = {0};
    if (vv_influxql_next(&rest, &statement, &error) != VV_OK) {
        fail_msg("%s: %s", text, error.message);
    }
    assert_int_equal(statement.verb, VV_INFLUXQL_CREATE_DATABASE);
    assert_string_equal(statement.name, name);
    assert_int_equal(statement.name_size, strlen(name));
    assert_int_equal(statement.has_duration, has_duration);
    assert_int_equal(statement.duration_ns, duration);
    assert_int_equal(vv_influxql_next(&rest, &statement, &error), VV_DONE);
}

static void test_create(void **state)
{
    (void)state;
    check_create("CREATE DATABASE telegraf", "telegraf", false, 0);
    check_create("  create\n database \"my plant\" ; ", "my plant", false, 0);
    check_create("CREATE DATABASE \"a\\\"b\\\\c;d\"", "a\"b\\c;d", false, 0);
    check_create("CREATE DATABASE IF NOT EXISTS x", "x", false, 0);
    check_create("CREATE DATABASE plant-7.eu", "plant-7.eu", false, 0);
    check_create("CREATE DATABASE x WITH DURATION 30d", "x", true, 30 * VV_DAY);
    check_create("CREATE DATABASE x WITH DURATION INF REPLICATION 1", "x", true, 0);
    check_create("CREATE DATABASE x WITH REPLICATION 2 SHARD DURATION 1h NAME \"two years\"", "x",
                 false, 0);
    check_create("CREATE DATABASE x WITH DURATION 1w SHARD DURATION 1d NAME y;", "x", true,
                 7 * VV_DAY);
}

static void test_several(void **state)
{
    (void)state;
    struct vv_str rest = VV_STR_LITERAL(";CREATE DATABASE a;;SHOW DATABASES; create database b");
    struct vv_influxql_statement statement;
    struct vv_error error = {0};
    assert_int_equal(vv_influxql_next(&rest, &statement, &error), VV_OK);
    assert_string_equal(statement.name, "a");
    assert_int_equal(vv_influxql_next(&rest, &statement, &error), VV_OK);
    assert_int_equal(statement.verb, VV_INFLUXQL_SHOW_DATABASES);
    assert_int_equal(vv_influxql_next(&rest, &statement, &error), VV_OK);
    assert_string_equal(statement.name, "b");
    assert_int_equal(vv_influxql_next(&rest, &statement, &error), VV_DONE);
}

static void test_refuses_the_rest(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "SELECT * FROM cpu",
        "DROP DATABASE x",
        "CREATE DATABASE",
        "CREATE DATABASE ;",
        "CREATE DATABASE x y",
        "CREATE DATABASE x WITH",
        "CREATE DATABASE \"x",
        "CREATE DATABASE x WITH DURATION",
        "CREATE RETENTION POLICY",
        "CREATE DATABASE x WITH DURATION soon",
        "SHOW",
        "SHOW MEASUREMENTS",
        "SHOW DATABASES x",
        "CREATE DATABASE x WITH SHARD 1h",
        "CREATE DATABASE 'x'",
        "\"\"",
        "CREATE DATABASE x WITH NAME",
        "(((",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct vv_str rest = vv_str_of(bad[i]);
        struct vv_influxql_statement statement;
        struct vv_error error = {0};
        enum vv_status status = vv_influxql_next(&rest, &statement, &error);
        if (status != VV_INVALID || error.message[0] == '\0') {
            fail_msg("%s gives %d", bad[i], status);
        }
    }
}

static void test_long_names(void **state)
{
    (void)state;
    char text[400];
    snprintf(text, sizeof text, "CREATE DATABASE %0*d", VV_INFLUXQL_NAME_MAX, 7);
    struct vv_str rest = vv_str_of(text);
    struct vv_influxql_statement statement;
    struct vv_error error = {0};
    assert_int_equal(vv_influxql_next(&rest, &statement, &error), VV_OK);
    assert_int_equal(statement.name_size, VV_INFLUXQL_NAME_MAX);
    snprintf(text, sizeof text, "CREATE DATABASE %0*d", VV_INFLUXQL_NAME_MAX + 1, 7);
    rest = vv_str_of(text);
    assert_int_equal(vv_influxql_next(&rest, &statement, &error), VV_INVALID);
}

/* Every text comes to an end, within its own bytes. */
static void test_random_texts_end(void **state)
{
    (void)state;
    static const char *const words[] = {"CREATE ", "DATABASE ", "x ",  "\"",    "\\",  ";",
                                        "WITH ",   "DURATION ", "1d ", "SHOW ", "IF ", "\n"};
    struct vv_random random = {99};
    for (int round = 0; round < 20000; round++) {
        struct vv_buffer text = {0};
        size_t n = (size_t)vv_random_below(&random, 12);
        for (size_t i = 0; i < n; i++) {
            vv_buffer_text(&text, words[vv_random_below(&random, 12)]);
        }
        char *copy = malloc(text.size + 1); /* exact, for AddressSanitizer */
        memcpy(copy, text.data ? text.data : (const uint8_t *)"", text.size);
        struct vv_str rest = {copy, text.size};
        struct vv_influxql_statement statement;
        struct vv_error error = {0};
        size_t steps = 0;
        while (vv_influxql_next(&rest, &statement, &error) == VV_OK) {
            assert_true(++steps <= n);
        }
        free(copy);
        vv_buffer_deinit(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_create),           cmocka_unit_test(test_several),
        cmocka_unit_test(test_refuses_the_rest), cmocka_unit_test(test_long_names),
        cmocka_unit_test(test_random_texts_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
