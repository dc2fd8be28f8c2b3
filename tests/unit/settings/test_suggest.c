/* SPDX-License-Identifier: Apache-2.0 */
/* Which words are near to a mistyped one. */
#include "settings/suggest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const char *nearest(const char *word)
{
    static const char *const words[] = {"serve", "load", "query", "sources", "metrics", "health"};
    struct vv_suggestion suggestion;
    vv_suggestion_init(&suggestion, vv_str_of(word));
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        vv_suggestion_offer(&suggestion, words[i]);
    }
    return suggestion.best ? suggestion.best : "";
}

static void near_words_are_found(void **state)
{
    (void)state;
    assert_string_equal(nearest("serv"), "serve");
    assert_string_equal(nearest("sevre"), "serve"); /* two letters swapped are one step */
    assert_string_equal(nearest("laod"), "load");
    assert_string_equal(nearest("querry"), "query");
    assert_string_equal(nearest("source"), "sources");
    assert_string_equal(nearest("health"), "health");
}

static void far_words_are_not(void **state)
{
    (void)state;
    assert_string_equal(nearest("x"), "");
    assert_string_equal(nearest(""), "");
    assert_string_equal(nearest("banana"), "");
    char huge[1000];
    memset(huge, 's', sizeof huge - 1);
    huge[sizeof huge - 1] = '\0';
    assert_string_equal(nearest(huge), "");
}

static void distances_are_exact(void **state)
{
    (void)state;
    static const struct {
        const char *a;
        const char *b;
        size_t distance;
    } cases[] = {{"kitten", "sitting", 3},
                 {"abcdefghi", "bacdefgih", 2},
                 {"aaaaaaa", "aaaaaaa", 0},
                 {"abcdefg", "abcdefgh", 1},
                 {"abcdefgh", "abcdefg", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct vv_suggestion suggestion;
        vv_suggestion_init(&suggestion, vv_str_of(cases[i].a));
        suggestion.distance_most = 10;
        assert_true(vv_suggestion_offer(&suggestion, cases[i].b));
        assert_int_equal(suggestion.distance, cases[i].distance);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(near_words_are_found),
        cmocka_unit_test(far_words_are_not),
        cmocka_unit_test(distances_are_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
