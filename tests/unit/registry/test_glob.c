/* SPDX-License-Identifier: Apache-2.0 */
/* Shell patterns: examples, agreement with a plain recursive matcher, and no blow-up. */
#include "base/random.h"
#include "registry_fixture.h"

static bool matches(const char *pattern, const char *text)
{
    return vv_glob_match(vv_str_of(pattern), vv_str_of(text));
}

static void examples(void **state)
{
    (void)state;
    static const struct {
        const char *pattern;
        const char *text;
        bool expected;
    } cases[] = {
        {"", "", true},
        {"", "a", false},
        {"a", "", false},
        {"abc", "abc", true},
        {"abc", "abcd", false},
        {"abcd", "abc", false},
        {"*", "", true},
        {"*", "anything.at all", true},
        {"**", "x", true},
        {"a*", "a", true},
        {"a*c", "abbbc", true},
        {"a*c", "abbbcd", false},
        {"*c", "abcc", true},
        {"*ab*ab", "abxab", true},
        {"*ab*ab", "ab", false},
        {"?", "", false},
        {"?", "x", true},
        {"??", "x", false},
        {"a?c", "abc", true},
        {"cpu.*", "cpu.user", true},
        {"cpu.*", "cpux.user", false},
        {"\\*", "*", true},
        {"\\*", "a", false},
        {"\\?x", "?x", true},
        {"\\?x", "yx", false},
        {"a\\\\b", "a\\b", true},
        {"a\\", "a\\", true},
        {"a\\", "a", false},
        {"\\a", "a", true},
        {"*\\", "x\\", true},
        {"[a]", "a", false},
        {"[a]", "[a]", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (matches(cases[i].pattern, cases[i].text) != cases[i].expected) {
            fail_msg("'%s' and '%s'", cases[i].pattern, cases[i].text);
        }
    }
}

/* Tries everything. */
static bool slow_match(const char *pattern, const char *text)
{
    if (*pattern == '*') {
        return slow_match(pattern + 1, text) || (*text && slow_match(pattern, text + 1));
    }
    if (*pattern == '?') {
        return *text && slow_match(pattern + 1, text + 1);
    }
    if (*pattern == '\\' && pattern[1]) {
        return *text == pattern[1] && slow_match(pattern + 2, text + 1);
    }
    if (*pattern == '\0') {
        return *text == '\0';
    }
    return *pattern == *text && slow_match(pattern + 1, text + 1);
}

static void random_text(struct vv_random *random, const char *alphabet, size_t most, char *out)
{
    size_t n = vv_random_below(random, most + 1);
    for (size_t i = 0; i < n; i++) {
        out[i] = alphabet[vv_random_below(random, strlen(alphabet))];
    }
    out[n] = '\0';
}

static void agrees_with_a_plain_matcher(void **state)
{
    (void)state;
    const uint64_t seed = 5;
    print_message("seed %llu\n", (unsigned long long)seed);
    struct vv_random random = {seed};
    int matched = 0;
    for (int i = 0; i < 100000; i++) {
        char pattern[16];
        char text[16];
        random_text(&random, "ab*?\\*", 7, pattern);
        random_text(&random, "ab*\\", 8, text);
        bool expected = slow_match(pattern, text);
        matched += expected;
        if (matches(pattern, text) != expected) {
            fail_msg("'%s' and '%s'", pattern, text);
        }
    }
    assert_in_range(matched, 5000, 95000); /* both answers were tried */
}

static void many_stars_are_no_trouble(void **state)
{
    (void)state;
    char pattern[4097];
    char text[4097];
    for (size_t i = 0; i < 4096; i++) {
        pattern[i] = i % 2 ? 'a' : '*';
        text[i] = 'a';
    }
    pattern[4095] = 'b';
    pattern[4096] = '\0';
    text[4096] = '\0';
    assert_false(matches(pattern, text));
    text[4095] = 'b';
    assert_true(matches(pattern, text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples),
        cmocka_unit_test(agrees_with_a_plain_matcher),
        cmocka_unit_test(many_stars_are_no_trouble),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
