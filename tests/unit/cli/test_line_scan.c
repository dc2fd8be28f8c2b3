/* SPDX-License-Identifier: Apache-2.0 */
/* Where lines of line protocol end, whatever is in them. */
#include "cli/line_scan.h"

#include "base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define SEED 20260102

struct expected {
    const char *text;
    size_t size;
    size_t next;
    size_t series;
    uint32_t fields;
    uint32_t newlines;
    bool blank;
    bool timed;
};

static const struct expected cases[] = {
    {"cpu v=1 5\nx", 9, 10, 3, 1, 1, false, true},
    {"cpu v=1\nx", 7, 8, 3, 1, 1, false, false},
    {"cpu v=1 \nx", 8, 9, 3, 1, 1, false, false},
    {"cpu v=1 5\r\nx", 9, 11, 3, 1, 1, false, true},
    {"cpu v=1\r\nx", 7, 9, 3, 1, 1, false, false},
    {"cpu,a=b\\ c,d=e v=1,w=2i -5\n", 26, 27, 14, 2, 1, false, true},
    {"cpu s=\"a b\nc,d=e \\\" f\",v=1 5\nx", 28, 29, 3, 2, 2, false, true},
    {"cpu,t=\"x v=1 5\n", 14, 15, 8, 1, 1, false, true}, /* a quote in a tag is a byte */
    {"c\\,pu v\\ x=1,w\\=y=2 7\n", 21, 22, 5, 2, 1, false, true},
    {"cpu  v=1  5\n", 11, 12, 3, 1, 1, false, true},
    {"\n", 0, 1, 0, 0, 1, true, false},
    {"  \t\r\nx", 3, 5, 3, 0, 1, true, false},
    {"# a \"comment\nx", 12, 13, 12, 0, 1, true, false},
    {"nothing here\n", 12, 13, 7, 0, 1, false, false},
    {"nothing\n", 7, 8, 7, 0, 1, false, false},
    {"a\\\n", 2, 3, 2, 0, 1, false, false},
    {"cpu v=\"a\\\\\" 5\n", 13, 14, 3, 1, 1, false, true},
};

static void check(const struct expected *expected, const struct vv_line_scan *scan)
{
    if (scan->size != expected->size || scan->next != expected->next ||
        scan->series_size != expected->series || scan->fields != expected->fields ||
        scan->newlines != expected->newlines || scan->blank != expected->blank ||
        scan->timed != expected->timed) {
        fail_msg("%s: size %zu next %zu series %zu fields %u newlines %u blank %d timed %d",
                 expected->text, scan->size, scan->next, scan->series_size, scan->fields,
                 scan->newlines, scan->blank, scan->timed);
    }
}

/* A copy of the exact size, so that a read beyond it is seen. */
static bool scan_exact(const char *text, size_t size, bool at_end, struct vv_line_scan *scan)
{
    char *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, text, size);
    bool found = vv_line_scan((struct vv_str){copy, size}, at_end, scan);
    free(copy);
    return found;
}

static void lines_end_where_they_should(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct vv_line_scan scan;
        const char *text = cases[i].text;
        assert_true(scan_exact(text, strlen(text), false, &scan));
        check(&cases[i], &scan);
        for (size_t cut = 1; cut < cases[i].next; cut++) {
            assert_false(scan_exact(text, cut, false, &scan)); /* not before its newline */
        }
        assert_true(scan_exact(text, cases[i].next, true, &scan));
        check(&cases[i], &scan);
    }
}

static void the_end_ends_a_line(void **state)
{
    (void)state;
    struct vv_line_scan scan;
    assert_true(scan_exact("cpu v=1 5", 9, true, &scan));
    check(&(struct expected){"end", 9, 9, 3, 1, 1, false, true}, &scan);
    assert_true(scan_exact("cpu v=\\", 7, true, &scan));
    check(&(struct expected){"backslash", 7, 7, 3, 1, 1, false, false}, &scan);
}

static void an_open_string_is_one_bad_line(void **state)
{
    (void)state;
    struct vv_line_scan scan;
    static const char text[] = "cpu s=\"a 1\ncpu v=2 2\n";
    assert_false(scan_exact(text, strlen(text), false, &scan));
    assert_true(scan_exact(text, strlen(text), true, &scan));
    assert_int_equal(scan.next, 11);
    assert_int_equal(scan.newlines, 1);
}

static void any_bytes_are_consumed_line_by_line(void **state)
{
    (void)state;
    static const char letters[] = "ab=, \\\"\n\r#15\t";
    struct vv_random random = {SEED};
    for (int round = 0; round < 20000; round++) {
        char text[48];
        size_t size = 1 + vv_random_below(&random, sizeof text);
        for (size_t i = 0; i < size; i++) {
            text[i] = letters[vv_random_below(&random, sizeof letters - 1)];
        }
        uint32_t newlines = 0;
        for (size_t at = 0; at < size;) {
            struct vv_line_scan scan;
            assert_true(scan_exact(text + at, size - at, true, &scan));
            assert_true(scan.next > 0 && scan.size <= scan.next && scan.next <= size - at);
            assert_true(scan.series_size <= scan.size);
            newlines += scan.newlines;
            at += scan.next;
        }
        uint32_t counted = text[size - 1] != '\n';
        for (size_t i = 0; i < size; i++) {
            counted += text[i] == '\n';
        }
        assert_int_equal(newlines, counted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_end_where_they_should),
        cmocka_unit_test(the_end_ends_a_line),
        cmocka_unit_test(an_open_string_is_one_bad_line),
        cmocka_unit_test(any_bytes_are_consumed_line_by_line),
    };
    printf("seed %d\n", SEED);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
