/* SPDX-License-Identifier: Apache-2.0 */
/* Sparklines of short, long, flat and broken series. */
#include "cli/spark.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void expect(const struct vv_spark *spark, size_t columns, bool backwards, bool utf8,
                   const char *bars)
{
    struct vv_buffer out = {0};
    vv_spark_draw(spark, columns, backwards, utf8, &out);
    vv_buffer_u8(&out, '\0');
    assert_string_equal((const char *)out.data, bars);
    vv_buffer_deinit(&out);
}

static void values_become_bars(void **state)
{
    (void)state;
    struct vv_spark spark;
    vv_spark_init(&spark);
    for (int i = 0; i < 8; i++) {
        vv_spark_add(&spark, i);
    }
    expect(&spark, 60, false, true, "▁▂▃▄▅▆▇█");
    expect(&spark, 60, true, true, "█▇▆▅▄▃▂▁");
    expect(&spark, 60, false, false, "_.,-=+*#");
    expect(&spark, 4, false, true, "▁▃▆█");
    assert_true(spark.least == 0 && spark.most == 7 && spark.values == 8);
}

static void gaps_are_blank(void **state)
{
    (void)state;
    struct vv_spark spark;
    vv_spark_init(&spark);
    vv_spark_add(&spark, 1);
    vv_spark_add(&spark, NAN);
    vv_spark_add(&spark, INFINITY);
    vv_spark_add(&spark, 2);
    expect(&spark, 60, false, true, "▁ █");
    vv_spark_init(&spark);
    expect(&spark, 60, false, true, "");
    vv_spark_add(&spark, NAN);
    expect(&spark, 60, false, true, " ");
    vv_spark_add(&spark, 5);
    vv_spark_add(&spark, 5);
    expect(&spark, 60, false, true, " ▄▄");
}

static void long_series_take_no_more_room(void **state)
{
    (void)state;
    struct vv_spark spark;
    vv_spark_init(&spark);
    const int n = 1000000;
    for (int i = 0; i < n; i++) {
        vv_spark_add(&spark, i < n / 2 ? 0 : 1);
    }
    assert_true(spark.used <= VV_SPARK_CELLS && spark.used > VV_SPARK_CELLS / 3);
    assert_int_equal(spark.values, n);
    struct vv_buffer out = {0};
    vv_spark_draw(&spark, 20, false, false, &out);
    assert_int_equal(out.size, 20);
    assert_memory_equal(out.data, "________", 8);
    assert_memory_equal(out.data + 12, "########", 8);
    vv_buffer_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_become_bars),
        cmocka_unit_test(gaps_are_blank),
        cmocka_unit_test(long_series_take_no_more_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
