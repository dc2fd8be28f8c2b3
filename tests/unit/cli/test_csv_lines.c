/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of CSV as line protocol: columns, roles, options, and what is refused. */
#include "cli/csv_lines.h"

#include "cli/commands.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define EXAMPLE "2013-12-02T21:15:00Z, with at most nine digits of fraction"

/* Converts text with the options of `varve load`; lines end with newlines, refusals are "!column
 * message", columns left out "?name". */
static void convert(const char *text, char **options, struct vv_buffer *out)
{
    struct vv_arguments arguments;
    struct vv_usage usage;
    struct vv_error error = {0};
    struct vv_csv_lines *lines = NULL;
    struct vv_csv_reader csv;
    char *argv[32] = {"file"};
    int argc = 1;
    for (; *options; options++) {
        argv[argc++] = *options;
    }
    assert_int_equal(vv_arguments_parse(vv_command_find("load"), argc, argv, &arguments, &usage),
                     VV_OK);
    assert_int_equal(vv_csv_reader_init(&csv, ','), VV_OK);
    enum vv_status status = vv_csv_lines_create(&arguments, "m", &lines, &error);
    bool begun = false;
    for (struct vv_str rest = vv_str_of(text); status == VV_OK && rest.size > 0;) {
        bool header = false;
        assert_int_equal(vv_csv_reader_next(&csv, rest, true), VV_OK);
        rest = (struct vv_str){rest.data + csv.next, rest.size - csv.next};
        if (!begun) {
            status = vv_csv_lines_begin(lines, &csv, &header, &error);
            begun = true;
        }
        if (status == VV_OK && !header) {
            struct vv_csv_line line;
            assert_int_equal(vv_csv_lines_append(lines, &csv, out, &line), VV_OK);
            vv_buffer_text(out, line.fields ? "\n" : "");
            if (line.refused) {
                vv_buffer_format(out, "!%u %s%s\n", line.column, line.problem.message,
                                 line.timeless ? " (timeless)" : "");
            }
            const char *name;
            while ((name = vv_csv_lines_left_out(lines))) {
                vv_buffer_format(out, "?%s\n", name);
            }
        }
    }
    if (status != VV_OK) {
        vv_buffer_format(out, "error: %s\n", error.message);
    }
    vv_buffer_u8(out, '\0');
    assert_int_equal(vv_buffer_status(out), VV_OK);
    vv_csv_lines_destroy(lines);
    vv_csv_reader_deinit(&csv);
    vv_arguments_deinit(&arguments);
}

/* The options end with NULL. */
#define EXPECT(text, expected, ...) expect(text, expected, (char *[]){__VA_ARGS__})

static void expect(const char *text, const char *expected, char **options)
{
    struct vv_buffer out = {0};
    convert(text, options, &out);
    assert_string_equal((const char *)out.data, expected);
    vv_buffer_deinit(&out);
}

static void a_plain_file_needs_no_options(void **state)
{
    (void)state;
    EXPECT("timestamp,value\n2013-12-02 21:15:00,73.96732207\n\xEF\xBB\xBF,1\n",
           "m value=73.96732207 1386018900000000000\n"
           "!1 '\xEF\xBB\xBF' is not a time: write it as " EXAMPLE "\n",
           NULL);
}

static void options_name_everything(void **state)
{
    (void)state;
    EXPECT("when;x,site name,t,p,starts\n"
           "1,a b,1.5,2,3\n"
           "2,\"c,d=\",,2.25,\n",
           "pu\\ mp,machine=press\\ 4,site\\ name=a\\ b temperature=1.5,p=2,starts=3i 1000000000\n"
           "pu\\ mp,machine=press\\ 4,site\\ name=c\\,d\\= p=2.25 2000000000\n",
           "--measurement", "pu mp", "--tag", "machine=press 4", "--time-column", "when;x",
           "--time-format", "s", "--tag-columns", "site name", "--int-columns", "starts", "--field",
           "t=temperature", NULL);
}

static void columns_may_be_numbers(void **state)
{
    (void)state;
    EXPECT("2013-12-02,7,8\n", "m 2=7,three=8 1385942400000000000\n", "--field", "3=three", NULL);
    EXPECT("7,2013-12-02\n", "m 1=7 1385942400000000000\n", "--time-column", "2", "--header", "no",
           NULL);
}

static void text_columns_are_left_out_once(void **state)
{
    (void)state;
    EXPECT("time,status,v\n2013-12-02,ok,1\n2013-12-03,ok,2\n",
           "m v=1 1385942400000000000\n?status\nm v=2 1386028800000000000\n", NULL);
    EXPECT("time,a,v\n2013-12-02,,1\n2013-12-03,5,\n2013-12-04,x,3\n",
           "m v=1 1385942400000000000\nm a=5 1386028800000000000\nm v=3 1386115200000000000\n"
           "!2 column a: 'x' is not a number\n",
           NULL);
}

static void listed_fields_leave_out_the_others(void **state)
{
    (void)state;
    EXPECT("time,a,b\n2013-12-02,1,2\n", "m b=2 1385942400000000000\n", "--field-columns", "b",
           NULL);
}

static void what_is_wrong_costs_one_row_or_cell(void **state)
{
    (void)state;
    EXPECT("time,v,w\n2013-12-02,1,2\n,3,4\nnever,5,6\n2013-12-03,7\n2013-12-04,a,8\n\"x\"y,1,2\n",
           "m v=1,w=2 1385942400000000000\n"
           "!1 no time in column time (timeless)\n"
           "!1 'never' is not a time: write it as " EXAMPLE "\n"
           "!0 2 cells, but 3 columns\n"
           "m w=8 1386115200000000000\n"
           "!2 column v: 'a' is not a number\n"
           "!0 text behind a closing quote\n",
           NULL);
    EXPECT("time,v,t\n2013-12-02,1,\"a\nb\"\n2013-12-02,1,c\\\n",
           "!3 column t: a tag cannot hold control characters or end in a backslash\n"
           "!3 column t: a tag cannot hold control characters or end in a backslash\n",
           "--tag-columns", "t", NULL);
    EXPECT("time,v\n2013-12-02,1.5\n", "!2 column v: '1.5' is not a whole number\n",
           "--int-columns", "v", NULL);
}

static void wrong_options_are_errors(void **state)
{
    (void)state;
    EXPECT("time,v\n", "error: --tag-columns: there is no column 'x'; there are: time, v\n",
           "--tag-columns", "x", NULL);
    EXPECT("time,v\n", "error: --tag: 'x' is not KEY=VALUE\n", "--tag", "x", NULL);
    EXPECT("time,v\n", "error: --field: 'v=' is not COLUMN=NAME\n", "--field", "v=", NULL);
    EXPECT("time\n", "error: no column is left for values\n", NULL);
    EXPECT("time,v\n", "error: --measurement: '' cannot be a name\n", "--measurement", "", NULL);
    EXPECT("\n", "error: the first record has no columns\n", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_file_needs_no_options),
        cmocka_unit_test(options_name_everything),
        cmocka_unit_test(columns_may_be_numbers),
        cmocka_unit_test(text_columns_are_left_out_once),
        cmocka_unit_test(listed_fields_leave_out_the_others),
        cmocka_unit_test(what_is_wrong_costs_one_row_or_cell),
        cmocka_unit_test(wrong_options_are_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
