/* SPDX-License-Identifier: Apache-2.0 */
/* What the server's answers to a write mean, and the report that comes of them. */
#include "cli/parcel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

struct fixture {
    struct vv_parcel parcel;
    struct vv_load_report report;
};

static int set_up(void **state)
{
    static struct fixture fixture;
    static const struct {
        const char *text;
        uint64_t number;
        uint32_t newlines;
    } lines[] = {{"a v=1 1", 10, 1}, {"a s=\"x\ny\",v=2 2", 12, 2}, {"a v=x 3", 20, 1}};
    vv_load_report_init(&fixture.report);
    fixture.parcel = (struct vv_parcel){.file = "f.lp", .precision = "ns"};
    for (size_t i = 0; i < 3; i++) {
        const struct vv_sender_line line = {
            .text = vv_str_of(lines[i].text),
            .series_size = 1,
            .points = 1 + (uint32_t)(i == 1),
            .newlines = lines[i].newlines,
            .number = lines[i].number,
            .stamp = vv_str_of(i == 0 ? "77" : ""),
        };
        assert_int_equal(vv_parcel_add(&fixture.parcel, &line), VV_OK);
    }
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    vv_parcel_deinit(&fixture->parcel);
    vv_load_report_deinit(&fixture->report);
    return 0;
}

static enum vv_verdict judge(struct fixture *fixture, long code, const char *body,
                             struct vv_error *error)
{
    struct vv_response response = {.code = code, .accepted = -1};
    vv_buffer_text(&response.body, body);
    enum vv_verdict verdict = vv_parcel_judge(&fixture->parcel, &response, &fixture->report, error);
    vv_response_deinit(&response);
    return verdict;
}

static void lines_are_put_together(void **state)
{
    struct fixture *fixture = *state;
    static const char expected[] = "a v=1 1 77\na s=\"x\ny\",v=2 2\na v=x 3\n";
    assert_int_equal(fixture->parcel.text.size, strlen(expected));
    assert_memory_equal(fixture->parcel.text.data, expected, strlen(expected));
    assert_int_equal(fixture->parcel.n_lines, 4);
    assert_int_equal(fixture->parcel.points, 4);
    assert_int_equal(fixture->parcel.numbers[2], 13);
    assert_int_equal(fixture->parcel.numbers[3], 20);
}

static void success_counts_what_the_server_says(void **state)
{
    struct fixture *fixture = *state;
    struct vv_response response = {.code = 204, .accepted = 3};
    snprintf(response.refused, sizeof response.refused, "string=2 unsigned=1 fields=a,b=c");
    assert_int_equal(vv_parcel_judge(&fixture->parcel, &response, &fixture->report, NULL),
                     VV_VERDICT_DONE);
    assert_int_equal(fixture->report.accepted, 3);
    assert_int_equal(fixture->report.refused, 3);
    assert_string_equal(fixture->report.reasons[0].name, "string");
    assert_int_equal(fixture->report.reasons[0].points, 2);
    assert_string_equal(fixture->report.reasons[0].examples[0], "f.lp: fields=a,b=c");
    /* another server than Varve says nothing: then all of it was stored */
    assert_int_equal(judge(fixture, 204, "", NULL), VV_VERDICT_DONE);
    assert_int_equal(fixture->report.accepted, 3 + 4);
}

static void refusals_name_the_line_of_the_file(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(judge(fixture, 400,
                           "{\"code\":\"invalid\",\"message\":\"m\",\"accepted\":3,\"refused\":{"
                           "\"syntax\":1},\"lines\":[{\"line\":4,\"column\":5,\"reason\":"
                           "\"syntax\",\"detail\":\"not a value\"},{\"line\":99,\"reason\":"
                           "\"future\",\"detail\":\"late\"}]}",
                           NULL),
                     VV_VERDICT_DONE);
    assert_int_equal(fixture->report.accepted, 3);
    assert_int_equal(fixture->report.refused, 1);
    assert_int_equal(fixture->report.n_reasons, 2);
    assert_string_equal(fixture->report.reasons[0].examples[0], "f.lp:20:5: not a value");
    assert_string_equal(fixture->report.reasons[1].examples[0], "f.lp: late");
}

static void other_answers_are_tried_again_or_not(void **state)
{
    struct fixture *fixture = *state;
    struct vv_error error = {0};
    static const struct {
        long code;
        enum vv_verdict verdict;
    } cases[] = {{503, VV_VERDICT_AGAIN}, {500, VV_VERDICT_AGAIN}, {429, VV_VERDICT_AGAIN},
                 {504, VV_VERDICT_AGAIN}, {400, VV_VERDICT_FATAL}, {404, VV_VERDICT_FATAL},
                 {413, VV_VERDICT_FATAL}, {302, VV_VERDICT_FATAL}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(judge(fixture, cases[i].code, "{\"message\":\"because\"}", &error),
                         cases[i].verdict);
        assert_string_equal(error.message, "because");
    }
    assert_int_equal(judge(fixture, 400, "<html>", &error), VV_VERDICT_FATAL);
    assert_non_null(strstr(error.message, "the server answered 400"));
    assert_int_equal(judge(fixture, 400, "{\"accepted\":-5}", &error), VV_VERDICT_FATAL);
    assert_int_equal(fixture->report.accepted + fixture->report.refused, 0);
}

static void the_summary_says_it_all(void **state)
{
    struct fixture *fixture = *state;
    struct vv_load_report *report = &fixture->report;
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    report->lines = 1234;
    report->requests = 9;
    report->retries = 2;
    vv_load_report_accept(report, 2000000);
    vv_load_report_refuse(report, VV_STR_LITERAL("syntax"), 2);
    for (int i = 0; i < 9; i++) {
        vv_load_report_example(report, VV_STR_LITERAL("syntax"), "f", 17, 3, "a \x1b[1m b");
    }
    vv_load_report_print(report, 2, 4, file);
    fclose(file);
    assert_non_null(strstr(text, "stored 2,000,000 points of 1,234 lines from 2 files in 4.00 s "
                                 "(500 k points/s)\n"
                                 "refused 2 points\n"
                                 "  syntax: 2\n"
                                 "    f:17:3: a "));
    assert_null(strchr(text, '\x1b'));
    assert_non_null(strstr(text, "repeated 2 of 9 requests"));
    free(text);
}

static void reasons_without_room_share_the_last_row(void **state)
{
    struct fixture *fixture = *state;
    for (unsigned i = 0; i < 40; i++) {
        char name[8];
        snprintf(name, sizeof name, "r%u", i);
        vv_load_report_refuse(&fixture->report, vv_str_of(name), 1);
    }
    assert_int_equal(fixture->report.refused, 40);
    assert_int_equal(fixture->report.n_reasons, VV_LOAD_REASONS_MAX);
    assert_int_equal(fixture->report.reasons[VV_LOAD_REASONS_MAX - 1].points,
                     40 - VV_LOAD_REASONS_MAX + 1);
}

static void groups_that_are_refused_together_are_split(void **state)
{
    (void)state;
    static const char body[] = "{\"accepted\":0,\"refused\":{\"type\":6},\"lines\":[{\"line\":2,"
                               "\"reason\":\"type\",\"detail\":\"no\"}]}";
    static const char *const lines[] = {"a v=1 1", "a v=2 2", "b v=3 1",
                                        "b v=4 2", "b v=5 3", "c v=6 1"};
    static struct fixture fixture = {.parcel = {.file = "", .precision = "ns"}};
    struct vv_error error = {0};
    vv_load_report_init(&fixture.report);
    fixture.report.refused_file = tmpfile();
    assert_non_null(fixture.report.refused_file);
    for (size_t i = 0; i < 6; i++) {
        const struct vv_sender_line line = {.text = vv_str_of(lines[i]),
                                            .series_size = 1,
                                            .points = 1,
                                            .newlines = 1,
                                            .number = 10 + i};
        assert_int_equal(vv_parcel_add(&fixture.parcel, &line), VV_OK);
        if (i == 1 || i >= 4) {
            assert_int_equal(vv_parcel_end_group(&fixture.parcel), VV_OK);
            assert_int_equal(vv_parcel_end_group(&fixture.parcel), VV_OK); /* nothing */
        }
    }
    struct vv_parcel whole = fixture.parcel;
    assert_int_equal(whole.n_ends, 3);
    assert_int_equal(judge(&fixture, 400, body, &error), VV_VERDICT_SPLIT);
    assert_int_equal(fixture.report.refused, 0);
    fixture.parcel = vv_parcel_part(&whole, 1, 2);
    assert_int_equal(judge(&fixture, 400, body, &error), VV_VERDICT_SPLIT);
    assert_int_equal(fixture.parcel.points, 4);
    fixture.parcel = vv_parcel_part(&whole, 1, 1);
    assert_int_equal(judge(&fixture, 400, body, &error), VV_VERDICT_DONE);
    char kept[400] = "";
    rewind(fixture.report.refused_file);
    assert_true(fread(kept, 1, sizeof kept - 1, fixture.report.refused_file) > 0);
    assert_string_equal(kept, "# :12: type: it goes with others that are refused\nb v=3 1\n"
                              "# :13: type: no\nb v=4 2\n"
                              "# :14: type: it goes with others that are refused\nb v=5 3\n");
    fixture.parcel = whole;
    fclose(fixture.report.refused_file);
    vv_parcel_deinit(&fixture.parcel);
    vv_load_report_deinit(&fixture.report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lines_are_put_together, set_up, tear_down),
        cmocka_unit_test_setup_teardown(success_counts_what_the_server_says, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refusals_name_the_line_of_the_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_answers_are_tried_again_or_not, set_up, tear_down),
        cmocka_unit_test(groups_that_are_refused_together_are_split),
        cmocka_unit_test_setup_teardown(the_summary_says_it_all, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reasons_without_room_share_the_last_row, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
