/* SPDX-License-Identifier: Apache-2.0 */
/* Widths of characters, and that text from elsewhere cannot steer a terminal. */
#include "cli/terminal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void widths(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t width;
    } cases[] = {{"", 0},         {"abc", 3},      {"°C", 2},          {"ü", 1},    {"…▁█", 3},
                 {"温度", 4},     {"🌡", 2},     {"e\xCC\x81", 1},   {"\xFF", 1}, {"\xC3", 1},
                 {"\xE2\x82", 2}, {"\xC0\x80", 2}, {"\xED\xA0\x80", 3}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (vv_terminal_width(vv_str_of(cases[i].text)) != cases[i].width) {
            fail_msg("case %zu", i);
        }
    }
}

static void control_characters_are_not_printed(void **state)
{
    (void)state;
    static const char text[] = "a\x1b[31mb\nc\rd\x07\xC2\x9Bq\xE2\x80\xAEr\xFFs\x7F°\t";
    setenv("LC_ALL", "C.UTF-8", 1);
    char *out = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&out, &size);
    assert_non_null(file);
    vv_terminal_print(file, VV_STR_LITERAL(text));
    fclose(file);
    assert_string_equal(out, "a\xEF\xBF\xBD[31mb\xEF\xBF\xBD"
                             "c\xEF\xBF\xBD"
                             "d\xEF\xBF\xBD\xEF\xBF\xBDq\xEF\xBF\xBDr\xEF\xBF\xBDs\xEF\xBF\xBD"
                             "°\xEF\xBF\xBD");
    free(out);
}

static void the_locale_decides(void **state)
{
    (void)state;
    setenv("LC_ALL", "", 1);
    unsetenv("LC_CTYPE");
    setenv("LANG", "de_DE.utf8", 1);
    assert_true(vv_terminal_utf8());
    setenv("LC_ALL", "C", 1);
    assert_false(vv_terminal_utf8());
}

static void a_file_has_no_colours(void **state)
{
    (void)state;
    char escape[16];
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_false(vv_terminal_is(file));
    assert_string_equal(vv_terminal_colour(file, VV_COLOUR_RED, escape), "");
    assert_int_equal(vv_terminal_columns(file), 80);
    fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(widths),
        cmocka_unit_test(control_characters_are_not_printed),
        cmocka_unit_test(the_locale_decides),
        cmocka_unit_test(a_file_has_no_colours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
