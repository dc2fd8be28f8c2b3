/* SPDX-License-Identifier: Apache-2.0 */
/* CSV: fields, quotes, line numbers, damage. */
#include "base/random.h"
#include "http/csv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void test_rows(void **state)
{
    (void)state;
    static const struct {
        uint64_t line;
        size_t n;
        const char *fields[3];
    } expected[] = {{1, 3, {"metric", "unit", "description"}},
                    {2,
                     2,
                     {"pump.t",
                      "\xC2\xB0"
                      "C",
                      NULL}},
                    {4, 3, {"a", "", ""}},
                    {5, 3, {"x,y", "say \"hi\"", "two\nlines"}},
                    {7, 1, {"last", NULL, NULL}}};
    struct vv_arena arena = {0};
    struct vv_csv csv = vv_csv_of(VV_STR_LITERAL("\xEF\xBB\xBFmetric,unit,description\r\n"
                                                 "pump.t,\xC2\xB0"
                                                 "C\n"
                                                 "\n"
                                                 "a,,\n"
                                                 "\"x,y\",\"say \"\"hi\"\"\",\"two\nlines\"\r\n"
                                                 "last"),
                                  &arena);
    struct vv_str fields[3];
    struct vv_error error = {0};
    size_t n = 0;
    for (size_t row = 0; row < sizeof expected / sizeof expected[0]; row++) {
        assert_int_equal(vv_csv_row(&csv, fields, 3, &n, &error), VV_OK);
        assert_int_equal(csv.line, expected[row].line);
        assert_int_equal(n, expected[row].n);
        for (size_t i = 0; i < n; i++) {
            assert_true(vv_str_equal(fields[i], vv_str_of(expected[row].fields[i])));
        }
    }
    assert_int_equal(vv_csv_row(&csv, fields, 3, &n, &error), VV_DONE);
    vv_arena_deinit(&arena);
}

static void check_bad(const char *text, const char *line)
{
    struct vv_arena arena = {0};
    struct vv_csv csv = vv_csv_of(vv_str_of(text), &arena);
    struct vv_str fields[3];
    struct vv_error error = {0};
    size_t n = 0;
    enum vv_status status;
    while ((status = vv_csv_row(&csv, fields, 3, &n, &error)) == VV_OK) {
    }
    assert_int_equal(status, VV_INVALID);
    assert_non_null(strstr(error.message, line));
    vv_arena_deinit(&arena);
}

static void test_damage(void **state)
{
    (void)state;
    check_bad("a,b\nc,\"d", "line 2");
    check_bad("\"a\"b,c", "line 1");
    check_bad("a\nb\n1,2,3,4", "line 3");
    check_bad("\"\"\"", "line 1");
    check_bad("\"", "line 1");
}

static void test_random_texts_end(void **state)
{
    (void)state;
    static const char alphabet[] = {'a', ',', '"', '\n', '\r'};
    struct vv_random random = {5};
    for (int round = 0; round < 50000; round++) {
        size_t size = (size_t)vv_random_below(&random, 16);
        char *text = malloc(size + 1);
        for (size_t i = 0; i < size; i++) {
            text[i] = alphabet[vv_random_below(&random, sizeof alphabet)];
        }
        char *exact = malloc(size ? size : 1);
        memcpy(exact, text, size);
        struct vv_arena arena = {0};
        struct vv_csv csv = vv_csv_of((struct vv_str){exact, size}, &arena);
        struct vv_str fields[4];
        struct vv_error error = {0};
        size_t n = 0;
        size_t rows = 0;
        while (vv_csv_row(&csv, fields, 4, &n, &error) == VV_OK) {
            assert_true(n >= 1 && n <= 4);
            assert_true(++rows <= size + 1);
        }
        vv_arena_deinit(&arena);
        free(exact);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_random_texts_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
