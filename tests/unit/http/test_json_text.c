/* SPDX-License-Identifier: Apache-2.0 */
/* JSON strings: what comes out is JSON, and reads back as what went in. */
#include "base/random.h"
#include "http/json_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>
#include <jansson.h>

static char *quoted(const char *text, size_t size)
{
    struct vv_buffer buffer = {0};
    vv_json_text(&buffer, (struct vv_str){text, size});
    vv_buffer_u8(&buffer, 0);
    assert_int_equal(vv_buffer_status(&buffer), VV_OK);
    return (char *)buffer.data;
}

static void check(const char *text, size_t size, const char *expected)
{
    char *got = quoted(text, size);
    assert_string_equal(got, expected);
    free(got);
}

static void test_escapes(void **state)
{
    (void)state;
    check("", 0, "\"\"");
    check("plain", 5, "\"plain\"");
    check("a\"b\\c", 5, "\"a\\\"b\\\\c\"");
    check("\n\r\t", 3, "\"\\n\\r\\t\"");
    check("\0\x1f\x7f", 3, "\"\\u0000\\u001f\\u007f\"");
    check("\xC2\xB0"
          "C",
          3,
          "\"\xC2\xB0"
          "C\"");
}

static void test_mends_what_is_not_utf8(void **state)
{
    (void)state;
    check("a\xFFz", 3, "\"a\xEF\xBF\xBDz\"");
    check("\xC2", 1, "\"\xEF\xBF\xBD\"");                                 /* cut */
    check("\xC0\x80", 2, "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");                 /* overlong */
    check("\xED\xA0\x80", 3, "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""); /* surrogate */
    check("\xF4\x8F\xBF\xBF", 4, "\"\xF4\x8F\xBF\xBF\"");                 /* the last one */
    check("\xF4\x90\x80\x80", 4, "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");
}

/* Whatever the bytes are, the text is JSON; and well-formed input comes back unchanged. */
static void test_random_bytes_are_json(void **state)
{
    (void)state;
    struct vv_random random = {20240611};
    for (int round = 0; round < 20000; round++) {
        char text[40];
        size_t size = (size_t)vv_random_below(&random, sizeof text);
        bool ascii = round % 2 == 0;
        for (size_t i = 0; i < size; i++) {
            text[i] = (char)vv_random_below(&random, ascii ? 128 : 256);
        }
        char *got = quoted(text, size);
        json_error_t problem;
        json_t *value = json_loads(got, JSON_DECODE_ANY | JSON_ALLOW_NUL, &problem);
        if (!value) {
            fail_msg("round %d: %s is not JSON: %s", round, got, problem.text);
        }
        if (ascii) {
            assert_int_equal(json_string_length(value), size);
            assert_memory_equal(json_string_value(value), text, size);
        }
        json_decref(value);
        free(got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_escapes),
        cmocka_unit_test(test_mends_what_is_not_utf8),
        cmocka_unit_test(test_random_bytes_are_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
