/* SPDX-License-Identifier: Apache-2.0 */
/* The grammar of line protocol, case by case: what is staged and what is refused. */
#include "ingest_fixture.h"

struct grammar_case {
    const char *text;
    const char *rows;
    const char *refusals;
};

static const struct grammar_case cases[] = {
    /* the usual */
    {"cpu,host=a usage=1.5,n=3i 100\n", "cpu|host=a|cpu.usage=1.5 cpu.n=3i|100\n", ""},
    {"cpu usage=1 100\n", "cpu|-|cpu.usage=1|100\n", ""},
    {"cpu usage=1 100", "cpu|-|cpu.usage=1|100\n", ""},
    {"cpu usage=1 100\r\n", "cpu|-|cpu.usage=1|100\n", ""},
    {"cpu usage=1 100\r", "cpu|-|cpu.usage=1|100\n", ""},
    {"cpu,b=2,a=1 usage=1 100\n", "cpu|a=1,b=2|cpu.usage=1|100\n", ""},
    {"a f=1 1\nb f=2 2\na f=3 3\n", "a|-|a.f=1|1\na|-|a.f=3|3\nb|-|b.f=2|2\n", ""},

    /* no time: now */
    {"cpu usage=1\n", "cpu|-|cpu.usage=1|1000000000000000000\n", ""},
    {"cpu usage=1  \n", "cpu|-|cpu.usage=1|1000000000000000000\n", ""},
    {"cpu usage=1\r\n", "cpu|-|cpu.usage=1|1000000000000000000\n", ""},

    /* white space */
    {"", "", ""},
    {"\n\n\r\n  \n \t \n", "", ""},
    {"  cpu usage=1 1\n", "cpu|-|cpu.usage=1|1\n", ""},
    {"\tcpu usage=1 1\n", "cpu|-|cpu.usage=1|1\n", ""},
    {"cpu   usage=1    1   \n", "cpu|-|cpu.usage=1|1\n", ""},
    {"# a comment with \"quotes\n  # another = one\ncpu f=1 1\n#last", "cpu|-|cpu.f=1|1\n", ""},

    /* times */
    {"m f=1 -5\n", "m|-|m.f=1|-5\n", ""},
    {"m f=1 0\n", "m|-|m.f=1|0\n", ""},
    {"m f=1 -0\n", "m|-|m.f=1|0\n", ""},
    {"m f=1 1.5\n", "", "1:8 syntax\n"},
    {"m f=1 1e9\n", "", "1:8 syntax\n"},
    {"m f=1 12i\n", "", "1:9 syntax\n"},
    {"m f=1 x\n", "", "1:7 syntax\n"},
    {"m f=1 -\n", "", "1:7 syntax\n"},
    {"m f=1 1 2\n", "", "1:9 syntax\n"},
    {"m f=1 9999999999999999999\n", "", "1:0 future\n"},
    {"m f=1 99999999999999999999999999\n", "", "1:0 future\n"},
    {"m f=1 -9999999999999999999\n", "", "1:0 past\n"},
    {"m f=1 -9223372036854775808\n", "", "1:0 past\n"},

    /* numbers */
    {"m f=-0 1\n", "m|-|m.f=-0|1\n", ""},
    {"m f=1e3 1\n", "m|-|m.f=1000|1\n", ""},
    {"m f=1.5E-3 1\n", "m|-|m.f=0.0015|1\n", ""},
    {"m f=.5,g=5. 1\n", "m|-|m.f=0.5 m.g=5|1\n", ""},
    {"m f=-9223372036854775808i 1\n", "m|-|m.f=-9223372036854775808i|1\n", ""},
    {"m f=9223372036854775807u 1\n", "m|-|m.f=9223372036854775807i|1\n", ""},
    {"m f=9223372036854775808i 1\n", "", "1:5 syntax\n"},
    {"m f=9223372036854775808u,g=1 1\n", "m|-|m.g=1|1\n", "1:3 unsigned\n"},
    {"m f=18446744073709551616u 1\n", "", "1:5 syntax\n"},
    {"m f=-1u 1\n", "", "1:6 syntax\n"},
    {"m f=NaN 1\n", "", "1:5 syntax\n"},
    {"m f=nan 1\n", "", "1:5 syntax\n"},
    {"m f=inf 1\n", "", "1:5 syntax\n"},
    {"m f=-Inf 1\n", "", "1:5 syntax\n"},
    {"m f=1e999 1\n", "", "1:5 syntax\n"},
    {"m f=+1 1\n", "", "1:5 syntax\n"},
    {"m f=0x10 1\n", "", "1:6 syntax\n"},
    {"m f=1_000 1\n", "", "1:6 syntax\n"},
    {"m f=1,2 1\n", "", "1:7 syntax\n"},
    {"m f=1.0i 1\n", "", "1:8 syntax\n"},
    {"m f=1e 1\n", "", "1:6 syntax\n"},
    {"m f=- 1\n", "", "1:5 syntax\n"},

    /* booleans */
    {"m a=t,b=T,c=true,d=True,e=TRUE 1\n", "m|-|m.a=1i m.b=1i m.c=1i m.d=1i m.e=1i|1\n", ""},
    {"m a=f,b=F,c=false,d=False,e=FALSE 1\n", "m|-|m.a=0i m.b=0i m.c=0i m.d=0i m.e=0i|1\n", ""},
    {"m a=tRUE 1\n", "", "1:5 syntax\n"},
    {"m a=truex 1\n", "", "1:5 syntax\n"},
    {"m a=tr 1\n", "", "1:5 syntax\n"},
    {"m a=yes 1\n", "", "1:5 syntax\n"},

    /* strings */
    {"m s=\"text\" 1\n", "", "1:3 string\n"},
    {"m s=\"\",f=1 1\n", "m|-|m.f=1|1\n", "1:3 string\n"},
    {"m s=\"a,b=c d\",f=1 1\n", "m|-|m.f=1|1\n", "1:3 string\n"},
    {"m s=\"a \\\" b\",f=1 1\n", "m|-|m.f=1|1\n", "1:3 string\n"},
    {"m s=\"a\\\\\",f=1 1\n", "m|-|m.f=1|1\n", "1:3 string\n"},
    {"m s=\"a\\\\\\\"\",f=1 1\n", "m|-|m.f=1|1\n", "1:3 string\n"},
    {"m s=\"\\n\",f=1 1\n", "m|-|m.f=1|1\n", "1:3 string\n"},
    {"m s=\"a\nb\",f=1 1\nm f=2 2\n", "m|-|m.f=1|1\nm|-|m.f=2|2\n", "1:3 string\n"},
    {"m s=\"\n\n\",f=1,t=\"\r\n\" 1\nm f 2\n", "m|-|m.f=1|1\n",
     "1:3 string\n1:14 string\n5:3 syntax\n"},
    {"m s=\"a\nm f=1 1\nm f=2 2", "m|-|m.f=1|1\nm|-|m.f=2|2\n", "1:5 syntax\n"},
    {"m s=\"a\n\",t=\"b\nm f=2 2", "m|-|m.f=2|2\n", "1:12 syntax\n2:7 syntax\n"},
    {"m s=\"a\nm s=\"b\" 1\nm f=2 2\n", "m|-|m.f=2|2\n", "1:13 syntax\n"},
    {"m s=\"a 1\nm f=1 1\n", "m|-|m.f=1|1\n", "1:5 syntax\n"},
    {"m s=\"a\"b 1\n", "", "1:8 syntax\n"},
    {"m s='a' 1\n", "", "1:5 syntax\n"},
    {"m f=a\"b 1\nm f=1 1\n", "m|-|m.f=1|1\n", "1:5 syntax\n"},
    {"m,t=\"a f=1 1\n", "m|t=\"a|m.f=1|1\n", ""},
    {"m f\"=1 1\n", "m|-|m.f\"=1|1\n", ""},

    /* escapes */
    {"m\\,x\\ y f=1 1\n", "m,x y|-|m,x y.f=1|1\n", ""},
    {"m\\=x=y f=1 1\n", "m\\=x=y|-|m\\=x=y.f=1|1\n", ""},
    {"m f\\,\\=\\ g=1 1\n", "m|-|m.f,= g=1|1\n", ""},
    {"m\\x f\\y=1 1\n", "m\\x|-|m\\x.f\\y=1|1\n", ""},
    {"m f\\\\=1 1\n", "", "1:3 syntax\n"},
    {"m f\\\\x=1 1\n", "m|-|m.f\\\\x=1|1\n", ""},
    {"m\\ f=1 1\n", "", "1:8 syntax\n"},
    {"m,a=b\\ f=1 1\n", "", "1:9 syntax\n"},
    {"m f\\=1 1\n", "", "1:3 syntax\n"},

    /* keys and tags */
    {"m,t= f=1 1\n", "m|-|m.f=1|1\n", ""},
    {"m,t=a,t=b f=1 1\n", "m|t=b|m.f=1|1\n", ""},
    {"m, f=1 1\n", "", "1:3 syntax\n"},
    {"m,t f=1 1\n", "", "1:3 syntax\n"},
    {"m,=a f=1 1\n", "", "1:3 syntax\n"},
    {"m,t=a=b f=1 1\n", "", "1:6 syntax\n"},
    {"m,t=a,,u=b f=1 1\n", "", "1:7 syntax\n"},
    {",t=a f=1 1\n", "", "1:1 syntax\n"},
    {"m\n", "", "1:2 syntax\n"},
    {"m \n", "", "1:3 syntax\n"},
    {"m,t=a\n", "", "1:6 syntax\n"},
    {"hello world\n", "", "1:7 syntax\n"},

    /* fields */
    {"m f=1,f=2 1\n", "m|-|m.f=2|1\n", ""},
    {"m f=1,g=5,f=2 1\n", "m|-|m.g=5 m.f=2|1\n", ""},
    {"m f=1,f=\"x\" 1\n", "", "1:7 string\n"},
    {"m f=\"x\",f=1 1\n", "m|-|m.f=1|1\n", ""},
    {"m f=\"x\",f=\"y\" 1\n", "", "1:9 string\n"},
    {"m f= 1\n", "", "1:5 syntax\n"},
    {"m f=,g=1 1\n", "", "1:5 syntax\n"},
    {"m =1 1\n", "", "1:3 syntax\n"},
    {"m f=1, 1\n", "", "1:7 syntax\n"},
    {"m f=1,\n", "", "1:7 syntax\n"},
    {"m ,f=1 1\n", "", "1:3 syntax\n"},
    {"m f=1 g=2\n", "", "1:7 syntax\n"},
    {"m f=1\tg=2\n", "", "1:6 syntax\n"},
    {"m b=2,a=1 1\nm a=3,b=4 2\nm a=5 3\nm b=6,a=7 4\n",
     "m|-|m.b=2 m.a=1|1\nm|-|m.b=4 m.a=3|2\nm|-|m.b=6 m.a=7|4\nm|-|m.a=5|3\n", ""},

    /* one bad line is one bad line */
    {"m f=1 1\nbad\nm f=2 2\n\n#x\nm f=3x 3\nm f=4 4", "m|-|m.f=1|1\nm|-|m.f=2|2\nm|-|m.f=4|4\n",
     "2:4 syntax\n6:6 syntax\n"},

    /* types */
    {"m f=1 1\nm f=2i 2\nm f=9007199254740993i 3\nm f=true 4\n",
     "m|-|m.f=1|1\nm|-|m.f=2|2\nm|-|m.f=1|4\n", "3:3 type\n"},
    {"m f=1i 1\nm f=2.0 2\nm f=t 3\nm f=-5i 4\n", "m|-|m.f=1i|1\nm|-|m.f=1i|3\nm|-|m.f=-5i|4\n",
     "2:3 type\n"},
    {"m f=1i,g=1 1\nm f=2,g=2 2\n", "m|-|m.f=1i m.g=1|1\nm|-|m.g=2|2\n", "2:3 type\n"},
    {"m f=t 1\nm f=7i 2\n", "m|-|m.f=1i|1\nm|-|m.f=7i|2\n", ""},
    {"m f=1,f=2i 1\n", "m|-|m.f=2i|1\n", ""},
    {"m f=1 1\nm f=9223372036854775807i 2\nm f=-9223372036854775808i 3\nm f=9007199254740994i 4\n",
     "m|-|m.f=1|1\nm|-|m.f=-9.2233720368547758e+18|3\nm|-|m.f=9007199254740994|4\n", "2:3 type\n"},

    /* names that the registry refuses */
    {"m\x01 f=1 1\nm f=2 2\n", "m|-|m.f=2|2\n", "1:1 syntax\n"},
    {"m,a=\x02 f=1,g=2 1\nm f=2 2\n", "m|-|m.f=2|2\n", "1:1 syntax\n"},
    {"m f\x03=1,g=2 1\n", "m|-|m.g=2|1\n", "1:3 syntax\n"},
};

static bool check_case(const struct grammar_case *c)
{
    struct ingest_fixture fixture;
    fixture_init(&fixture);
    fixture_lines(&fixture, c->text, strlen(c->text), SIZE_MAX, 0, 1);
    bool right = strcmp(fixture_rows(&fixture), c->rows) == 0 &&
                 strcmp(fixture_refusals(&fixture), c->refusals) == 0;
    if (!right) {
        print_error("for\n%s\nrows\n%sexpected\n%srefusals\n%sexpected\n%s\n", c->text,
                    fixture_rows(&fixture), c->rows, fixture_refusals(&fixture), c->refusals);
    }
    fixture_deinit(&fixture);
    return right;
}

static void test_grammar(void **state)
{
    (void)state;
    size_t wrong = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        wrong += !check_case(&cases[i]);
    }
    assert_int_equal(wrong, 0);
}

/* However the text is cut, rows, refusals and their texts are the same. */
static void check_cuts(const struct grammar_case *c)
{
    size_t size = strlen(c->text);
    struct ingest_fixture fixture;
    fixture_init(&fixture);
    struct vv_staging whole = fixture_lines(&fixture, c->text, size, SIZE_MAX, 0, 1);
    for (size_t cut = 0; cut <= size + 1; cut++) {
        struct ingest_fixture other;
        fixture_init(&other);
        struct vv_staging pieces =
            fixture_lines(&other, c->text, size, cut, cut == size + 1 ? 1 : 0, 1);
        assert_string_equal(fixture_rows(&other), c->rows);
        assert_string_equal(fixture_refusals(&other), c->refusals);
        assert_memory_equal(pieces.refused, whole.refused, sizeof whole.refused);
        assert_int_equal(pieces.lines, whole.lines);
        assert_int_equal(pieces.lines_refused, whole.lines_refused);
        for (size_t i = 0; i < whole.n_refusals; i++) {
            assert_string_equal(pieces.refusals[i].detail, whole.refusals[i].detail);
        }
        fixture_deinit(&other);
    }
    fixture_deinit(&fixture);
}

static void test_cut_anywhere(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_cuts(&cases[i]);
    }
}

/* A second time all series are known by their bytes and all fields are predicted. */
static void test_again_with_known_series(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ingest_fixture fixture;
        fixture_init(&fixture);
        size_t size = strlen(cases[i].text);
        fixture_lines(&fixture, cases[i].text, size, SIZE_MAX, 0, 1);
        fixture_lines(&fixture, cases[i].text, size, SIZE_MAX, 0, 1);
        if (!strstr(cases[i].text, "f=1,f=2i")) { /* there the type is fixed differently */
            assert_string_equal(fixture_rows(&fixture), cases[i].rows);
            assert_string_equal(fixture_refusals(&fixture), cases[i].refusals);
        }
        fixture_deinit(&fixture);
    }
}

static void test_account_of_a_mixed_body(void **state)
{
    (void)state;
    struct ingest_fixture fixture;
    fixture_init(&fixture);
    const char *text = "m f=1,g=2,s=\"x\" 1\n"                  /* two staged, one string */
                       "broken\n"                               /* one malformed */
                       "m f=1i,g=99u 2\n"                       /* two staged */
                       "m f=1,g=2,s=\"\" 9999999999999999999\n" /* three in the future */
                       "m f=1,f=2,f=3 3\n";                     /* one staged */
    struct vv_staging account = fixture_lines(&fixture, text, strlen(text), SIZE_MAX, 0, 1);
    assert_int_equal(account.lines, 5);
    assert_int_equal(account.lines_refused, 1);
    assert_int_equal(account.points_received, 10);
    assert_int_equal(account.points_staged, 5);
    assert_int_equal(account.refused[VV_REASON_STRING], 1);
    assert_int_equal(account.refused[VV_REASON_SYNTAX], 1);
    assert_int_equal(account.refused[VV_REASON_FUTURE], 3);
    assert_int_equal(account.refused_strict, 4);
    assert_string_equal(account.lenient_fields, "s");
    fixture_deinit(&fixture);
}

/* A refusal says what was found and what is allowed. */
static void test_texts_help(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *words[3];
    } helps[] = {
        {"m f=abc 1", {"not a value", "12i", "found 'abc 1'"}},
        {"m f=tru 1", {"booleans", "FALSE", "found 'tru 1'"}},
        {"m", {"no fields", "field=value", "line ends"}},
        {"m f=1 tomorrow", {"not a time", "precision", "tomorrow"}},
        {"m f=1 99999999999999999999", {"1684 to 2255", "precision", ""}},
        {"m f=1 1000000000000000000000", {"precision", "", ""}},
        {"m f=1 1100000000000000000", {"1h in the future", "2004", "precision"}},
        {"m f=\"abc", {"never closed", "\\\"", "found '\"abc'"}},
        {"m,host=a,host f=1", {"tag without '='", ",name=value", "found 'host f=1'"}},
        {"m f=1.5,f=9223372036854775808i", {"beyond int64", "9223372036854775807", ""}},
        {"m \xff\x01,", {"without '='", "found '??,'", ""}},
    };
    for (size_t i = 0; i < sizeof helps / sizeof helps[0]; i++) {
        struct ingest_fixture fixture;
        fixture_init(&fixture);
        struct vv_staging account =
            fixture_lines(&fixture, helps[i].text, strlen(helps[i].text), SIZE_MAX, 0, 1);
        assert_int_equal(account.n_refusals, 1);
        for (size_t w = 0; w < 3; w++) {
            if (!strstr(account.refusals[0].detail, helps[i].words[w])) {
                fail_msg("'%s' is not in '%s'", helps[i].words[w], account.refusals[0].detail);
            }
        }
        fixture_deinit(&fixture);
    }
}

static void test_precision(void **state)
{
    (void)state;
    static const struct {
        const char *word;
        int64_t unit;
    } words[] = {{"ns", 1},
                 {"n", 1},
                 {"us", 1000},
                 {"u", 1000},
                 {"\xc2\xb5", 1000},
                 {"\xc2\xb5s", 1000},
                 {"ms", 1000000},
                 {"s", 1000000000},
                 {"m", INT64_C(60000000000)},
                 {"h", INT64_C(3600000000000)}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        int64_t unit = 0;
        assert_int_equal(vv_precision_parse(vv_str_of(words[i].word), &unit, NULL), VV_OK);
        assert_int_equal(unit, words[i].unit);
    }
    static const char *const bad[] = {"", "S", "sec", "d", "nss", "m "};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        int64_t unit = 0;
        struct vv_error error = {0};
        assert_int_equal(vv_precision_parse(vv_str_of(bad[i]), &unit, &error), VV_INVALID);
        assert_non_null(strstr(error.message, "ms, s, m, h"));
    }
}

static void test_precision_applies(void **state)
{
    (void)state;
    struct ingest_fixture fixture;
    fixture_init(&fixture);
    const char *text = "m f=1 5\nm f=2 -5\nm f=3\nm f=4 9223372036854775807\n";
    fixture_lines(&fixture, text, strlen(text), SIZE_MAX, 0, INT64_C(60000000000));
    assert_string_equal(fixture_rows(&fixture), "m|-|m.f=1|300000000000\nm|-|m.f=2|-300000000000\n"
                                                "m|-|m.f=3|1000000000000000000\n");
    assert_string_equal(fixture_refusals(&fixture), "4:0 future\n");
    fixture_deinit(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grammar),
        cmocka_unit_test(test_cut_anywhere),
        cmocka_unit_test(test_again_with_known_series),
        cmocka_unit_test(test_account_of_a_mixed_body),
        cmocka_unit_test(test_texts_help),
        cmocka_unit_test(test_precision),
        cmocka_unit_test(test_precision_applies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
