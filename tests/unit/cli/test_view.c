/* SPDX-License-Identifier: Apache-2.0 */
/* Streamed CSV as a table: units, sparklines, errors at the end, any cut. */
#include "cli/view.h"

#include "cli/units.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define UNITS "metric,measurement,unit\nm.a,m,°C\nm.b,m,\n\"m,c\",m,\"a,b\"\n"

/* Feeds text in pieces; what is printed, for the caller to free. */
static char *view(const char *text, size_t piece, enum vv_status expected, struct vv_error *error)
{
    char *printed = NULL;
    size_t printed_size = 0;
    struct vv_view *view = NULL;
    setenv("LC_ALL", "C.UTF-8", 1);
    const struct vv_view_options options = {
        .file = open_memstream(&printed, &printed_size),
        .columns = 100,
        .units = VV_STR_LITERAL(UNITS),
    };
    assert_int_equal(vv_view_create(&options, &view), VV_OK);
    enum vv_status status = VV_OK;
    size_t size = strlen(text);
    for (size_t at = 0; status == VV_OK && at < size; at += piece) {
        status = vv_view_feed(view, text + at, piece < size - at ? piece : size - at, error);
    }
    status = status == VV_OK ? vv_view_end(view, error) : status;
    assert_int_equal(status, expected);
    vv_view_destroy(view);
    fclose(options.file);
    return printed;
}

static void expect(const char *text, const char *expected)
{
    for (size_t piece = 1; piece <= strlen(text); piece++) {
        char *printed = view(text, piece, VV_OK, NULL);
        assert_string_equal(printed, expected);
        free(printed);
    }
}

static void a_series_has_units_and_a_line(void **state)
{
    (void)state;
    expect("source,metric,time,value\nh,m.a,t1,1\nh,m.a,t2,2.5\nh,m.a,t3,9\n",
           "h  m.a  °C\ntime  value\nt1      1\nt2      2.5\nt3      9\n\n"
           "value  ▁▂█  1 … 9\n");
}

static void each_series_has_its_line(void **state)
{
    (void)state;
    expect("source,metric,time,count,mean\n"
           "a,m.a,t3,5,3\na,m.a,t2,5,2\na,m.a,t1,5,1\n"
           "b,m.a,t3,5,1\nb,m.a,t2,5,2\nb,m.a,t1,5,3\n"
           "b,m.b,t1,1,1\n",
           "source  metric  unit  time  count  mean\n"
           "a       m.a     °C    t3        5     3\n"
           "a       m.a     °C    t2        5     2\n"
           "a       m.a     °C    t1        5     1\n"
           "b       m.a     °C    t3        5     1\n"
           "b       m.a     °C    t2        5     2\n"
           "b       m.a     °C    t1        5     3\n"
           "b       m.b           t1        1     1\n\n"
           "a  m.a                                mean  ▁▄█  1 … 3\n"
           "b  m.a                                mean  █▄▁  1 … 3\n");
}

/* Long labels are told apart by what they end in, and series beyond those drawn are counted. */
static void many_series_are_counted(void **state)
{
    (void)state;
    struct vv_buffer text = {0};
    vv_buffer_text(&text, "source,metric,time,value\n");
    for (int series = 0; series < 30; series++) {
        for (int row = 0; row < 5; row++) {
            vv_buffer_format(&text, "%0600d,m.%d,t%d,%d\n", 7, series, row, row);
        }
    }
    vv_buffer_u8(&text, '\0');
    char *printed = view((const char *)text.data, 1000, VV_OK, NULL);
    assert_non_null(strstr(printed, "\nand 6 more series\n"));
    free(printed);
    vv_buffer_deinit(&text);
}

static void lists_have_neither(void **state)
{
    (void)state;
    expect("source,tags\na,\"x=1,y=2\"\nb,\n", "source  tags\na       x=1,y=2\nb\n");
    expect("metric,unit\nm.a,K\n", "metric  unit\nm.a     K\n");
}

static void no_rows_print_nothing(void **state)
{
    (void)state;
    expect("source,metric,time,value\n", "");
}

static void remarks_are_printed_below(void **state)
{
    (void)state;
    expect("source,tags\na,b\n# complete until t1\n# node 3 is gone\n",
           "source  tags\na       b\n\ncomplete until t1\nnode 3 is gone\n");
    expect("source,tags\n# complete until t1", "complete until t1\n");
    expect("source,tags\n\"# a\",b\n", "source  tags\n# a     b\n");
}

static void an_error_comes_after_remarks(void **state)
{
    (void)state;
    struct vv_error error = {0};
    char *printed =
        view("source,tags\na,b\n# complete until t1\n# error: timeout: late\n", 3, VV_IO, &error);
    assert_string_equal(printed, "source  tags\na       b\n\ncomplete until t1\n");
    assert_string_equal(error.message, "the answer is not complete: timeout: late");
    free(printed);
}

static void an_error_at_the_end_is_told(void **state)
{
    (void)state;
    struct vv_error error = {0};
    static const char text[] = "source,tags\na,b\n# error: timeout: 30s are over, narrow it\n";
    for (size_t piece = 1; piece < sizeof text; piece++) {
        char *printed = view(text, piece, VV_IO, &error);
        assert_string_equal(printed, "source  tags\na       b\n");
        assert_string_equal(error.message,
                            "the answer is not complete: timeout: 30s are over, narrow it");
        free(printed);
    }
}

static void what_is_no_csv_is_refused(void **state)
{
    (void)state;
    struct vv_error error = {0};
    free(view("a,b\n1\n", 100, VV_INVALID, &error));
    assert_non_null(strstr(error.message, "1 cells below 2 columns"));
    free(view("a,b\n\"x\"y,1\n", 100, VV_INVALID, &error));
    assert_non_null(strstr(error.message, "closing quote"));
}

static void units_are_found_by_metric(void **state)
{
    (void)state;
    struct vv_units units;
    assert_int_equal(vv_units_read(&units, VV_STR_LITERAL(UNITS)), VV_OK);
    assert_true(vv_str_equal(vv_units_find(&units, VV_STR_LITERAL("m.a")), VV_STR_LITERAL("°C")));
    assert_true(vv_str_equal(vv_units_find(&units, VV_STR_LITERAL("m,c")), VV_STR_LITERAL("a,b")));
    assert_int_equal(vv_units_find(&units, VV_STR_LITERAL("m.b")).size, 0);
    assert_int_equal(vv_units_find(&units, VV_STR_LITERAL("m")).size, 0);
    vv_units_deinit(&units);
    assert_int_equal(vv_units_read(&units, VV_STR_LITERAL("{\"json\": 1}")), VV_OK);
    assert_false(units.any);
    vv_units_deinit(&units);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_series_has_units_and_a_line),
        cmocka_unit_test(each_series_has_its_line),
        cmocka_unit_test(many_series_are_counted),
        cmocka_unit_test(lists_have_neither),
        cmocka_unit_test(no_rows_print_nothing),
        cmocka_unit_test(remarks_are_printed_below),
        cmocka_unit_test(an_error_comes_after_remarks),
        cmocka_unit_test(an_error_at_the_end_is_told),
        cmocka_unit_test(what_is_no_csv_is_refused),
        cmocka_unit_test(units_are_found_by_metric),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
