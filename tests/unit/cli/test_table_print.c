/* SPDX-License-Identifier: Apache-2.0 */
/* Tables: widths, points below each other, captions, cuts, and rows beyond those that are kept. */
#include "cli/table_print.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* Prints rows of `n` cells each, the header first, up to a NULL; for the caller to free. */
static char *print(struct vv_table_options options, size_t n, const char *const *cells)
{
    char *text = NULL;
    size_t size = 0;
    struct vv_str row[8];
    struct vv_table *table = NULL;
    setenv("LC_ALL", "C.UTF-8", 1);
    options.file = open_memstream(&text, &size);
    assert_non_null(options.file);
    for (; *cells; cells += n) {
        for (size_t i = 0; i < n; i++) {
            row[i] = vv_str_of(cells[i]);
        }
        assert_int_equal(
            table ? vv_table_row(table, row) : vv_table_create(&options, row, n, &table), VV_OK);
    }
    assert_int_equal(vv_table_end(table), VV_OK);
    vv_table_destroy(table);
    fclose(options.file);
    return text;
}

static void expect(struct vv_table_options options, size_t n, const char *const *cells,
                   const char *expected)
{
    char *text = print(options, n, cells);
    assert_string_equal(text, expected);
    free(text);
}

static void columns_are_aligned(void **state)
{
    (void)state;
    expect((struct vv_table_options){0}, 3,
           (const char *[]){"name", "value", "note", "a", "73.96732207", "x", "Ünicode", "5", "",
                            "c", "", "", "d", "NaN", "y", NULL},
           "name       value  note\n"
           "a        73.9673  x\n"
           "Ünicode   5\n"
           "c\n"
           "d            NaN  y\n");
}

static void words_among_numbers_make_it_text(void **state)
{
    (void)state;
    expect((struct vv_table_options){0}, 2,
           (const char *[]){"v", "w", "1.123456789", "a", "host", "b", NULL},
           "v            w\n1.123456789  a\nhost         b\n");
}

static void what_all_rows_share_is_a_caption(void **state)
{
    (void)state;
    expect((struct vv_table_options){.captioned = 2}, 3,
           (const char *[]){"source", "metric", "value", "h", "cpu", "1", "h", "cpu", "2", NULL},
           "h  cpu\nvalue\n    1\n    2\n");
    expect((struct vv_table_options){.captioned = 2}, 3,
           (const char *[]){"source", "metric", "value", "", "cpu", "1", "", "mem", "2", NULL},
           "metric  value\ncpu         1\nmem         2\n");
    expect((struct vv_table_options){.captioned = 1}, 2, (const char *[]){"a", "b", NULL},
           "a  b\n");
}

static void texts_are_cut_to_the_terminal(void **state)
{
    (void)state;
    const char *const cells[] = {"source", "value", "a-very-long-name-of-a-source", "1", "short",
                                 "2",      NULL};
    expect((struct vv_table_options){.columns = 24}, 2, cells,
           "source             value\n"
           "a-very-long-name…      1\n"
           "short                  2\n");
    expect((struct vv_table_options){.columns = 5}, 2, cells,
           "source        value\n"
           "a-very-long…      1\n"
           "short             2\n");
}

static void later_rows_are_printed_as_they_come(void **state)
{
    (void)state;
    expect((struct vv_table_options){.rows_kept = 2, .captioned = 2}, 2,
           (const char *[]){"a", "b", "x", "1", "x", "2", "longer than before", "300000", "y", "c",
                            NULL},
           "a  b\nx  1\nx  2\nlonger than before  300000\ny  c\n");
}

static void numbers_have_six_digits(void **state)
{
    (void)state;
    static const struct {
        const char *cell;
        const char *shown;
    } cases[] = {{"74.93588199999998", "74.9359"},
                 {"1234567.891", "1234568"},
                 {"12345678901234567890", "12345678901234567890"},
                 {"0.00012345678", "0.000123"},
                 {"0.000012345678", "1.23457e-05"},
                 {"1e20", "1e+20"},
                 {"5", "5"},
                 {"-0.5", "-0.5"},
                 {"2.0", "2"},
                 {"100.0", "100"},
                 {"0.0", "0"},
                 {"1e2", "100"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char out[VV_TABLE_NUMBER_SIZE];
        assert_true(vv_table_number(vv_str_of(cases[i].cell), out));
        assert_string_equal(out, cases[i].shown);
    }
    static const char *const words[] = {"",   "-",   "a",   "2013-12-02", "1e",
                                        "e5", "NaN", "1 2", "--5"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        char out[VV_TABLE_NUMBER_SIZE];
        assert_false(vv_table_number(vv_str_of(words[i]), out));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_aligned),
        cmocka_unit_test(words_among_numbers_make_it_text),
        cmocka_unit_test(what_all_rows_share_is_a_caption),
        cmocka_unit_test(texts_are_cut_to_the_terminal),
        cmocka_unit_test(later_rows_are_printed_as_they_come),
        cmocka_unit_test(numbers_have_six_digits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
