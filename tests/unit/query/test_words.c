/* SPDX-License-Identifier: Apache-2.0 */
/* Words: splitting with escapes, what messages show of hostile input, and guesses. */
#include "query/words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void splits_at_unescaped_separators(void **state)
{
    (void)state;
    static const char *const expected[] = {"a", "", "b\\,c", "d\\\\", "e\\"};
    struct vv_str rest = vv_str_of("a,,b\\,c,d\\\\,e\\");
    struct vv_str part;
    bool started = false;
    size_t n = 0;
    while (vv_words_next(&rest, ',', &started, &part)) {
        assert_true(n < 5);
        assert_true(vv_str_equal(part, vv_str_of(expected[n++])));
    }
    assert_int_equal(n, 5);
}

static void an_empty_text_has_one_empty_part(void **state)
{
    (void)state;
    struct vv_str rest = {NULL, 0};
    struct vv_str part;
    bool started = false;
    assert_true(vv_words_next(&rest, ',', &started, &part));
    assert_int_equal(part.size, 0);
    assert_false(vv_words_next(&rest, ',', &started, &part));
}

static void a_separator_at_the_end_leaves_an_empty_part(void **state)
{
    (void)state;
    struct vv_str rest = vv_str_of("a,");
    struct vv_str part;
    bool started = false;
    assert_true(vv_words_next(&rest, ',', &started, &part));
    assert_true(vv_words_next(&rest, ',', &started, &part));
    assert_int_equal(part.size, 0);
    assert_false(vv_words_next(&rest, ',', &started, &part));
}

static void unescapes(void **state)
{
    (void)state;
    struct vv_arena arena = {0};
    struct vv_str text = vv_words_unescape(&arena, vv_str_of("a\\|b\\\\c\\"));
    assert_true(vv_str_equal(text, vv_str_of("a|b\\c\\")));
    vv_arena_deinit(&arena);
}

static void shows_hostile_input_harmlessly(void **state)
{
    (void)state;
    char shown[VV_SHOWN_SIZE];
    assert_string_equal(vv_shown(vv_str_of("°C ü 漢"), shown), "°C ü 漢");
    assert_string_equal(vv_shown((struct vv_str){"a\0b\n\x7f", 5}, shown), "a?b??");
    assert_string_equal(vv_shown(vv_str_of("\xc3"), shown), "?");           /* cut short */
    assert_string_equal(vv_shown(vv_str_of("\xc0\x80"), shown), "??");      /* overlong */
    assert_string_equal(vv_shown(vv_str_of("\xed\xa0\x80"), shown), "???"); /* surrogate */
    assert_string_equal(vv_shown(vv_str_of("\xf4\x90\x80\x80"), shown), "????");
}

static void shows_long_input_cut(void **state)
{
    (void)state;
    char shown[VV_SHOWN_SIZE];
    char text[200];
    for (size_t size = 0; size < sizeof text; size += 2) {
        memset(text, 0, sizeof text);
        for (size_t i = 0; i < size; i += 2) {
            memcpy(text + i, "\xc3\xbc", 2);
        }
        vv_shown((struct vv_str){text, size}, shown);
        assert_true(strlen(shown) < VV_SHOWN_SIZE);
        size_t dots = size > 60 ? 3 : 0;
        assert_int_equal((strlen(shown) - dots) % 2, 0); /* no character is cut in two */
    }
    assert_non_null(strstr(shown, "..."));
}

static void guesses_what_was_meant(void **state)
{
    (void)state;
    static const char *const words[] = {"metric", "source", "step", "to"};
    struct vv_error error;
    assert_int_equal(vv_words_unknown(&error, "parameter", vv_str_of("metrik"), words, 4),
                     VV_INVALID);
    assert_string_equal(error.message, "parameter 'metrik' is unknown; did you mean 'metric'? "
                                       "allowed: metric, source, step, to");
    (void)vv_words_unknown(&error, "parameter", vv_str_of("soruce"), words, 4);
    assert_non_null(strstr(error.message, "did you mean 'source'?"));
    (void)vv_words_unknown(&error, "parameter", vv_str_of("xyz"), words, 4);
    assert_null(strstr(error.message, "did you mean"));
    (void)vv_words_unknown(&error, "parameter", vv_str_of(""), words, 4);
    assert_null(strstr(error.message, "did you mean"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(splits_at_unescaped_separators),
        cmocka_unit_test(an_empty_text_has_one_empty_part),
        cmocka_unit_test(a_separator_at_the_end_leaves_an_empty_part),
        cmocka_unit_test(unescapes),
        cmocka_unit_test(shows_hostile_input_harmlessly),
        cmocka_unit_test(shows_long_input_cut),
        cmocka_unit_test(guesses_what_was_meant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
