/* SPDX-License-Identifier: Apache-2.0 */
/* Options and words: every way to write them, and what is said about wrong ones. */
#include "cli/arguments.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static const struct vv_option options[] = {
    {"listen", 'l', "HOST:PORT", false, NULL, "where"},
    {"set", 0, "NAME=VALUE", true, NULL, "one"},
    {"format", 'f', "FORMAT", false, "table|csv", "how"},
    {"quiet", 'q', NULL, false, NULL, "less"},
};

static const struct vv_command command = {
    .name = "test",
    .words = "FILE…",
    .words_least = 1,
    .words_most = 3,
    .summary = "a test",
    .options = options,
    .n_options = 4,
    .client = true,
};

#define PARSE(arguments, usage, ...) parse((char *[]){__VA_ARGS__, NULL}, &(arguments), &(usage))

static enum vv_status parse(char **argv, struct vv_arguments *arguments, struct vv_usage *usage)
{
    int argc = 0;
    while (argv[argc]) {
        argc++;
    }
    return vv_arguments_parse(&command, argc, argv, arguments, usage);
}

static void options_are_written_in_every_way(void **state)
{
    (void)state;
    struct vv_arguments arguments;
    struct vv_usage usage;
    assert_int_equal(PARSE(arguments, usage, "a", "--listen", "x:1", "-f", "csv", "--set=b=c", "-",
                           "--set", "-6h", "-q"),
                     VV_OK);
    assert_int_equal(arguments.n_words, 2);
    assert_string_equal(arguments.words[0], "a");
    assert_string_equal(arguments.words[1], "-");
    assert_string_equal(vv_arguments_text(&arguments, "listen", ""), "x:1");
    assert_string_equal(vv_arguments_text(&arguments, "format", ""), "csv");
    assert_true(vv_arguments_flag(&arguments, "quiet"));
    size_t at = 0;
    assert_string_equal(vv_arguments_next(&arguments, "set", &at), "b=c");
    assert_string_equal(vv_arguments_next(&arguments, "set", &at), "-6h");
    assert_null(vv_arguments_next(&arguments, "set", &at));
    assert_string_equal(vv_arguments_text(&arguments, "tenant", "none"), "none");
    vv_arguments_deinit(&arguments);
}

static void the_last_one_counts(void **state)
{
    (void)state;
    struct vv_arguments arguments;
    struct vv_usage usage;
    assert_int_equal(PARSE(arguments, usage, "-l", "a:1", "w", "--listen=b:2"), VV_OK);
    assert_string_equal(vv_arguments_text(&arguments, "listen", ""), "b:2");
    vv_arguments_deinit(&arguments);
}

static void two_dashes_end_options(void **state)
{
    (void)state;
    struct vv_arguments arguments;
    struct vv_usage usage;
    assert_int_equal(PARSE(arguments, usage, "--", "--listen", "-x"), VV_OK);
    assert_int_equal(arguments.n_words, 2);
    assert_string_equal(arguments.words[0], "--listen");
    assert_false(vv_arguments_flag(&arguments, "listen"));
    vv_arguments_deinit(&arguments);
}

static void expect_usage(char **argv, const char *message, const char *hint)
{
    struct vv_arguments arguments;
    struct vv_usage usage;
    assert_int_equal(parse(argv, &arguments, &usage), VV_INVALID);
    if (!strstr(usage.message, message) || !strstr(usage.hint, hint)) {
        fail_msg("\"%s\", \"%s\"", usage.message, usage.hint);
    }
    vv_arguments_deinit(&arguments);
}

static void what_is_wrong_is_said(void **state)
{
    (void)state;
    expect_usage((char *[]){"a", "--lisen", "x", NULL}, "no option --lisen", "mean --listen?");
    expect_usage((char *[]){"a", "--sever=x", NULL}, "no option --sever", "mean --server?");
    expect_usage((char *[]){"a", "--zzzzzz", NULL}, "no option --zzzzzz", "varve help test");
    expect_usage((char *[]){"a", "-x", NULL}, "no option --x", "varve help test");
    expect_usage((char *[]){"a", "-qf", NULL}, "no option", "");
    expect_usage((char *[]){"a", "--listen", NULL}, "--listen needs a value", "HOST:PORT");
    expect_usage((char *[]){"a", "--quiet=1", NULL}, "--quiet takes no value", "alone");
    expect_usage((char *[]){"a", "--format", "xml", NULL}, "'xml'", "allowed: table, csv");
    expect_usage((char *[]){NULL}, "needs FILE…", "varve test FILE…");
    expect_usage((char *[]){"a", "b", "c", "d", NULL}, "does not take 'd'", "varve test FILE…");
}

static void numbers_have_ranges(void **state)
{
    (void)state;
    struct vv_arguments arguments;
    struct vv_usage usage;
    struct vv_error error = {0};
    int64_t value = 7;
    assert_int_equal(PARSE(arguments, usage, "a", "--listen", "12"), VV_OK);
    assert_int_equal(vv_arguments_int(&arguments, "set", 0, 9, &value, &error), VV_OK);
    assert_int_equal(value, 7);
    assert_int_equal(vv_arguments_int(&arguments, "listen", 0, 12, &value, &error), VV_OK);
    assert_int_equal(value, 12);
    assert_int_equal(vv_arguments_int(&arguments, "listen", 0, 11, &value, &error), VV_INVALID);
    assert_string_equal(error.message, "--listen: '12' is not a number from 0 to 11");
    assert_int_equal(vv_arguments_size(&arguments, "listen", 0, 1 << 20, &value, &error), VV_OK);
    assert_int_equal(vv_arguments_size(&arguments, "listen", 1024, 1 << 20, &value, &error),
                     VV_INVALID);
    assert_string_equal(error.message, "--listen: '12' is not a size from 1KiB to 1MiB");
    assert_int_equal(vv_arguments_duration(&arguments, "listen", 0, VV_DAY, &value, &error),
                     VV_INVALID);
    assert_string_equal(error.message, "--listen: '12' is not a duration from 0s to 1d");
    vv_arguments_deinit(&arguments);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_are_written_in_every_way),
        cmocka_unit_test(the_last_one_counts),
        cmocka_unit_test(two_dashes_end_options),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(numbers_have_ranges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
