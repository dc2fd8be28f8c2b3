/* SPDX-License-Identifier: Apache-2.0 */
/* Which texts are allowed, and the canonical form of tag sets. */
#include "registry/text.h"

#include "base/random.h"
#include "registry_fixture.h"

static const struct vv_str no_id_tag = {NULL, 0};

static bool is_allowed(const char *text, size_t size)
{
    char *exact = malloc(size ? size : 1); /* reads behind the end are found by ASan */
    assert_non_null(exact);
    memcpy(exact, text, size);
    struct vv_error error = {0};
    enum vv_status status = vv_text_check((struct vv_str){exact, size}, "the text", &error);
    assert_true(status == VV_OK || status == VV_INVALID);
    assert_int_equal(strlen(error.message) > 0, status == VV_INVALID);
    free(exact);
    return status == VV_OK;
}

#define ALLOWED(literal) is_allowed((literal), sizeof(literal) - 1)

static void utf8_without_control_characters(void **state)
{
    (void)state;
    assert_true(ALLOWED(""));
    assert_true(ALLOWED("plain text, with = and \\ and \" and /"));
    assert_true(ALLOWED("gr\xC3\xBC\xC3\x9F"));
    assert_true(ALLOWED("\xE2\x82\xAC \xF0\x9F\x8C\xA1 \xF4\x8F\xBF\xBF \xEF\xBF\xBF"));
    assert_true(ALLOWED("\xC2\xA0"));
    assert_false(ALLOWED("a\nb"));
    assert_false(ALLOWED("a\tb"));
    assert_false(ALLOWED("a\0b"));
    assert_false(ALLOWED("\x7F"));
    assert_false(ALLOWED("\xC2\x80")); /* C1 controls */
    assert_false(ALLOWED("\xC2\x9B"));
    assert_false(ALLOWED("\x80"));
    assert_false(ALLOWED("\xC3"));
    assert_false(ALLOWED("\xC3("));
    assert_false(ALLOWED("\xC0\xAF"));         /* overlong */
    assert_false(ALLOWED("\xE0\x80\xAF"));     /* overlong */
    assert_false(ALLOWED("\xF0\x80\x80\xAF")); /* overlong */
    assert_false(ALLOWED("\xED\xA0\x80"));     /* surrogate */
    assert_false(ALLOWED("\xF4\x90\x80\x80")); /* beyond Unicode */
    assert_false(ALLOWED("\xF8\x88\x80\x80\x80"));
    assert_false(ALLOWED("\xFF"));
    assert_false(ALLOWED("\xE2\x82"));
    assert_false(ALLOWED("\xF0\x9F\x8C"));
}

static void names_have_a_size(void **state)
{
    (void)state;
    struct vv_error error = {0};
    assert_int_equal(vv_name_check(TEXT(""), 4, "the name", &error), VV_INVALID);
    assert_non_null(strstr(error.message, "the name is empty"));
    assert_int_equal(vv_name_check(TEXT("abcd"), 4, "the name", &error), VV_OK);
    assert_int_equal(vv_name_check(TEXT("abcde"), 4, "the name", &error), VV_TOO_LARGE);
    assert_non_null(strstr(error.message, "5 bytes"));
    assert_str(vv_text_cut(TEXT("abcde"), 4), "abcd");
    assert_str(vv_text_cut(TEXT("abc"), 4), "abc");
    assert_str(vv_text_cut(TEXT("ab\xE2\x82\xAC"), 4), "ab");
    assert_str(vv_text_cut(TEXT("ab\xE2\x82\xAC"), 5), "ab\xE2\x82\xAC");
}

static void assert_canonical(const char *text, const char *expected)
{
    struct vv_tag tags[VV_TAGS_MAX];
    struct vv_canonical canonical;
    size_t n = fixture_tags(text, tags);
    assert_int_equal(vv_canonical_make(tags, n, no_id_tag, &canonical, NULL), VV_OK);
    assert_false(canonical.by_id_tag);
    assert_str(canonical.id, expected);
}

static void canonical_texts(void **state)
{
    (void)state;
    assert_canonical("", "-");
    assert_canonical("a=1", "a=1");
    assert_canonical("b=2,a=1", "a=1,b=2");
    assert_canonical("c=3,b=2,a=1,d=4", "a=1,b=2,c=3,d=4");
    assert_canonical("a=1,a=2", "a=2");
    assert_canonical("a=2,b=1,a=1", "a=1,b=1");
    assert_canonical("a=,b=1", "b=1");
    assert_canonical("a=1,a=", "-");
    assert_canonical("a=,a=1", "a=1");
    assert_canonical("a=x y,b=\\", "a=x\\ y,b=\\\\");
}

static void the_id_tag_is_taken_out(void **state)
{
    (void)state;
    struct vv_tag tags[VV_TAGS_MAX];
    struct vv_canonical canonical;
    size_t n = fixture_tags("z=1,device=pump-7,a=2", tags);
    assert_int_equal(vv_canonical_make(tags, n, TEXT("device"), &canonical, NULL), VV_OK);
    assert_true(canonical.by_id_tag);
    assert_str(canonical.id, "pump-7");
    assert_int_equal(canonical.n, 2);
    assert_str(canonical.tags[0].key, "a");
    assert_str(canonical.tags[1].key, "z");
    n = fixture_tags("z=1,device=,a=2", tags);
    assert_int_equal(vv_canonical_make(tags, n, TEXT("device"), &canonical, NULL), VV_OK);
    assert_false(canonical.by_id_tag);
    assert_str(canonical.id, "a=2,z=1");
}

static void limits_of_tag_sets(void **state)
{
    (void)state;
    static struct vv_tag tags[VV_TAGS_MAX + 1];
    static char keys[VV_TAGS_MAX + 1][8];
    struct vv_canonical canonical;
    struct vv_error error = {0};
    for (size_t i = 0; i <= VV_TAGS_MAX; i++) {
        int size = snprintf(keys[i], sizeof keys[i], "k%zu", VV_TAGS_MAX - i);
        tags[i] = (struct vv_tag){{keys[i], (size_t)size}, TEXT("v")};
    }
    assert_int_equal(vv_canonical_make(tags, VV_TAGS_MAX, no_id_tag, &canonical, &error), VV_OK);
    assert_int_equal(canonical.n, VV_TAGS_MAX);
    assert_int_equal(vv_canonical_make(tags, VV_TAGS_MAX + 1, no_id_tag, &canonical, &error),
                     VV_TOO_LARGE);
    assert_non_null(strstr(error.message, "257 tags"));

    static char large[VV_SOURCE_ID_BYTES_MAX];
    memset(large, 'x', sizeof large);
    tags[0] = (struct vv_tag){TEXT("k"), {large, sizeof large - 2}};
    assert_int_equal(vv_canonical_make(tags, 1, no_id_tag, &canonical, &error), VV_OK);
    assert_int_equal(canonical.id.size, VV_SOURCE_ID_BYTES_MAX);
    large[0] = ' ';
    assert_int_equal(vv_canonical_make(tags, 1, no_id_tag, &canonical, &error), VV_TOO_LARGE);
    tags[0] = (struct vv_tag){TEXT(""), TEXT("v")};
    assert_int_equal(vv_canonical_make(tags, 1, no_id_tag, &canonical, &error), VV_INVALID);
    assert_non_null(strstr(error.message, "empty key"));
}

static void bad_texts_are_named(void **state)
{
    (void)state;
    struct vv_tag tags[VV_TAGS_MAX];
    struct vv_canonical canonical;
    struct vv_error error = {0};
    size_t n = fixture_tags("host=a\nb", tags);
    assert_int_equal(vv_canonical_make(tags, n, no_id_tag, &canonical, &error), VV_OK);
    assert_int_equal(vv_canonical_check(&canonical, &error), VV_INVALID);
    assert_non_null(strstr(error.message, "the value of tag 'host'"));
    assert_non_null(strstr(error.message, "U+000A"));
    n = fixture_tags("\xFF=a", tags);
    assert_int_equal(vv_canonical_make(tags, n, no_id_tag, &canonical, &error), VV_OK);
    assert_int_equal(vv_canonical_check(&canonical, &error), VV_INVALID);
    assert_int_equal(vv_text_check(vv_str_of(error.message), "", NULL), VV_OK);
    n = fixture_tags("id=\x01", tags);
    assert_int_equal(vv_canonical_make(tags, n, TEXT("id"), &canonical, &error), VV_OK);
    assert_int_equal(vv_canonical_check(&canonical, &error), VV_INVALID);
    assert_non_null(strstr(error.message, "the id of the source"));
}

static void random_text(struct vv_random *random, struct vv_str *out, char *room)
{
    static const char alphabet[] = "ab,= \\-";
    size_t size = 1 + vv_random_below(random, 4);
    for (size_t i = 0; i < size; i++) {
        room[i] = alphabet[vv_random_below(random, sizeof alphabet - 1)];
    }
    *out = (struct vv_str){room, size};
}

static bool same_tags(const struct vv_canonical *a, const struct vv_canonical *b)
{
    bool same = a->n == b->n;
    for (size_t i = 0; i < a->n && same; i++) {
        same = vv_str_equal(a->tags[i].key, b->tags[i].key) &&
               vv_str_equal(a->tags[i].value, b->tags[i].value);
    }
    return same;
}

static void random_canonical(struct vv_random *random, char room[6][2][4], struct vv_canonical *out)
{
    struct vv_tag tags[6];
    size_t n = vv_random_below(random, 4);
    for (size_t i = 0; i < n; i++) {
        random_text(random, &tags[i].key, room[i][0]);
        random_text(random, &tags[i].value, room[i][1]);
    }
    assert_int_equal(vv_canonical_make(tags, n, no_id_tag, out, NULL), VV_OK);
}

static void texts_are_equal_exactly_when_sets_are_and_can_be_taken_apart(void **state)
{
    (void)state;
    const uint64_t seed = 99;
    print_message("seed %llu\n", (unsigned long long)seed);
    struct vv_random random = {seed};
    int equal = 0;
    for (int i = 0; i < 20000; i++) {
        char rooms[2][6][2][4];
        struct vv_canonical a;
        struct vv_canonical b;
        random_canonical(&random, rooms[0], &a);
        random_canonical(&random, rooms[1], &b);
        assert_int_equal(vv_str_equal(a.id, b.id), same_tags(&a, &b));
        equal += same_tags(&a, &b);

        char room[VV_SOURCE_ID_BYTES_MAX];
        struct vv_canonical again = {0};
        again.n = vv_canonical_count(a.id);
        assert_int_equal(again.n, a.n);
        assert_int_equal(vv_canonical_parse(a.id, room, again.tags, again.n), VV_OK);
        assert_true(same_tags(&a, &again));
    }
    assert_true(equal > 100);
}

static void other_texts_are_not_taken_apart(void **state)
{
    (void)state;
    static const char *const texts[] = {"",     "a",     "a=",    "=b",      "a=b,",
                                        ",a=b", "a=b,c", "a\\=b", "a=b\\,c", "a,b=c"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct vv_str text = vv_str_of(texts[i]);
        struct vv_tag tags[8];
        char room[64];
        size_t n = vv_canonical_count(text);
        enum vv_status status = vv_canonical_parse(text, room, tags, n);
        if (i == 8) { /* one tag with a comma in its value */
            assert_int_equal(status, VV_OK);
            assert_str(tags[0].value, "b,c");
        } else {
            assert_int_equal(status, VV_CORRUPT);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(utf8_without_control_characters),
        cmocka_unit_test(names_have_a_size),
        cmocka_unit_test(canonical_texts),
        cmocka_unit_test(the_id_tag_is_taken_out),
        cmocka_unit_test(limits_of_tag_sets),
        cmocka_unit_test(bad_texts_are_named),
        cmocka_unit_test(texts_are_equal_exactly_when_sets_are_and_can_be_taken_apart),
        cmocka_unit_test(other_texts_are_not_taken_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
