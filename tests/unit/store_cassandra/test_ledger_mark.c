/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a mark and what stands beside it: what is written is read, all else is refused. */
#include "store/cassandra/cassandra.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MARK "1700003600000000000\t1699920000\t691200\t3\t1700000000\tbench\tcpu\thostname=host_1"

static const struct vv_ledger_name example = {
    .due_ns = INT64_C(1700003600000000000),
    .bucket_s = 1699920000,
    .bucket_length_s = 691200,
    .split = 3,
    .span_s = 1700000000,
    .tenant = {"bench", 5},
    .measurement = {"cpu", 3},
    .source = {"hostname=host_1", 15},
};

static void assert_same(const struct vv_ledger_name *a, const struct vv_ledger_name *b)
{
    assert_true(a->due_ns == b->due_ns);
    assert_true(a->bucket_s == b->bucket_s);
    assert_true(a->bucket_length_s == b->bucket_length_s);
    assert_int_equal(a->split, b->split);
    assert_true(a->span_s == b->span_s);
    assert_true(vv_str_equal(a->tenant, b->tenant));
    assert_true(vv_str_equal(a->measurement, b->measurement));
    assert_true(vv_str_equal(a->source, b->source));
}

static void assert_comes_back(const struct vv_ledger_name *name)
{
    struct vv_buffer text = {0};
    struct vv_ledger_name read;
    vv_ledger_write_name(name, &text);
    assert_int_equal(vv_buffer_status(&text), VV_OK);
    assert_true(vv_ledger_read_name((struct vv_str){(char *)text.data, text.size}, &read));
    assert_same(&read, name);
    vv_buffer_deinit(&text);
}

static void a_mark_is_the_text_that_its_table_describes(void **state)
{
    (void)state;
    struct vv_buffer text = {0};
    vv_ledger_write_name(&example, &text);
    assert_true(vv_str_equal((struct vv_str){(char *)text.data, text.size}, VV_STR_LITERAL(MARK)));
    vv_buffer_deinit(&text);
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    struct vv_ledger_name name = example;
    assert_comes_back(&name);
    name.due_ns = VV_TIME_MIN;
    name.bucket_s = -86400;
    name.span_s = -60;
    name.split = VV_SHARE_BITS_MAX << 8;
    assert_comes_back(&name);
    name.due_ns = INT64_MIN;
    assert_comes_back(&name);
    name.due_ns = INT64_MAX;
    name.bucket_s = INT64_MAX / VV_SECOND;
    name.source = VV_STR_LITERAL("a=b c,d=\xc3\xa9\xe2\x82\xac");
    assert_comes_back(&name);
    name.source = VV_STR_LITERAL("");
    assert_comes_back(&name);
}

/* Of two that were due at different times, in this century and the next two. */
static void marks_are_in_the_order_of_when_they_are_due(void **state)
{
    (void)state;
    struct vv_buffer texts[2] = {0};
    struct vv_ledger_name early = example;
    struct vv_ledger_name late = example;
    late.due_ns++;
    late.bucket_s -= 86400;
    vv_ledger_write_name(&early, &texts[0]);
    vv_ledger_write_name(&late, &texts[1]);
    assert_true(vv_str_compare((struct vv_str){(char *)texts[0].data, texts[0].size},
                               (struct vv_str){(char *)texts[1].data, texts[1].size}) < 0);
    vv_buffer_deinit(&texts[0]);
    vv_buffer_deinit(&texts[1]);
}

static void what_varve_does_not_write_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "\t",
        "\t\t\t\t\t\t\t",
        "1\t2\t3\t4\t5\tbench\tcpu",         /* no source */
        "1\t2\t3\t4\tbench\tcpu\tid",        /* no span */
        "x\t2\t3\t4\t5\tbench\tcpu\tid",     /* no number */
        "1\t-\t3\t4\t5\tbench\tcpu\tid",     /* nor this */
        "1\t2 \t3\t4\t5\tbench\tcpu\tid",    /* nor this */
        "1\t2\t0\t4\t5\tbench\tcpu\tid",     /* an empty bucket */
        "1\t2\t-3\t4\t5\tbench\tcpu\tid",    /* one that ends before it begins */
        "1\t2\t3\t65536\t5\tbench\tcpu\tid", /* more than a split can be */
        "1\t2\t3\t-1\t5\tbench\tcpu\tid",
        "1\t2\t3\t64\t5\tbench\tcpu\tid",                  /* more splits than there are */
        "1\t2\t3\t1792\t5\tbench\tcpu\tid",                /* shared by 7 bits */
        "1\t2\t3\t6400\t5\tbench\tcpu\tid",                /* by 25 */
        "1\t2\t3\t2049\t5\tbench\tcpu\tid",                /* by 8, in the second split */
        "9223372036854775808\t2\t3\t4\t5\tbench\tcpu\tid", /* more than 64 bits */
        "-9223372036854775809\t2\t3\t4\t5\tbench\tcpu\tid",
        "1\t9223372037\t3\t4\t5\tbench\tcpu\tid", /* more than 64 bits in ns */
        "1\t2\t3\t4\t-9223372037\tbench\tcpu\tid",
    };
    struct vv_ledger_name name;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (vv_ledger_read_name(vv_str_of(texts[i]), &name)) {
            fail_msg("it was read: %s", texts[i]);
        }
    }
}

/* However it is cut. */
static void a_part_of_a_mark_is_read_within_its_bounds(void **state)
{
    (void)state;
    static const char mark[] = MARK;
    struct vv_ledger_name name;
    const size_t head = strlen(MARK) - strlen("hostname=host_1"); /* what follows may be any id */
    for (size_t size = 0; size < head; size++) {
        assert_false(vv_ledger_read_name((struct vv_str){mark, size}, &name));
    }
    assert_true(vv_ledger_read_name((struct vv_str){mark, head}, &name));
}

static void what_is_newest_has_three_numbers(void **state)
{
    (void)state;
    static const char bytes[] = "\0\0\0\0\0\0\0\1"
                                "\0\0\0\0\0\0\1\0"
                                "\0\0\0\0\0\1\0\0";
    struct vv_mark mark = {0};
    int64_t put_us;
    assert_true(vv_ledger_read_newest((struct vv_str){bytes, 24}, &mark, &put_us));
    assert_true(put_us == 1);
    assert_true(mark.run == 256);
    assert_true(mark.span_ns == 65536);
    assert_false(vv_ledger_read_newest((struct vv_str){bytes, 23}, &mark, &put_us));
    assert_false(vv_ledger_read_newest((struct vv_str){bytes, 25}, &mark, &put_us));
    assert_false(vv_ledger_read_newest((struct vv_str){bytes, 0}, &mark, &put_us));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mark_is_the_text_that_its_table_describes),
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(marks_are_in_the_order_of_when_they_are_due),
        cmocka_unit_test(what_varve_does_not_write_is_refused),
        cmocka_unit_test(a_part_of_a_mark_is_read_within_its_bounds),
        cmocka_unit_test(what_is_newest_has_three_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
