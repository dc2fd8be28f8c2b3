/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of log lines: standard error is led into a file and read back. */
#include "base/log.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct capture {
    int saved;
    FILE *file;
};

static struct capture capture_begin(void)
{
    struct capture capture = {dup(STDERR_FILENO), tmpfile()};
    assert_non_null(capture.file);
    assert_true(capture.saved >= 0);
    assert_true(dup2(fileno(capture.file), STDERR_FILENO) >= 0);
    return capture;
}

/* Gives what was written; for the caller to free. */
static char *capture_end(struct capture *capture)
{
    assert_true(dup2(capture->saved, STDERR_FILENO) >= 0);
    close(capture->saved);
    long size = lseek(fileno(capture->file), 0, SEEK_END);
    char *text = calloc(1, (size_t)size + 1);
    assert_non_null(text);
    assert_true(pread(fileno(capture->file), text, (size_t)size, 0) == size);
    fclose(capture->file);
    return text;
}

static void test_a_line_has_time_level_event_and_pairs(void **state)
{
    (void)state;
    struct capture capture = capture_begin();
    vv_log(VV_LOG_WARN, "disk_slow", "path=%s ms=%d", "/data", 12);
    char *text = capture_end(&capture);
    assert_string_equal(text + 24, " warn disk_slow path=/data ms=12\n");
    assert_true(text[10] == 'T' && text[19] == '.' && text[23] == 'Z');
    free(text);
}

static void test_levels_below_are_dropped(void **state)
{
    (void)state;
    struct capture capture = capture_begin();
    vv_log(VV_LOG_DEBUG, "hidden", "n=%d", 1);
    vv_log_level_set(VV_LOG_ERROR);
    vv_log(VV_LOG_WARN, "hidden", "n=%d", 2);
    vv_log(VV_LOG_ERROR, "shown", "n=%d", 3);
    vv_log_level_set(VV_LOG_OFF);
    vv_log(VV_LOG_ERROR, "hidden", "n=%d", 4);
    vv_log_level_set(VV_LOG_DEBUG);
    vv_log(VV_LOG_DEBUG, "shown", "n=%d", 5);
    vv_log_level_set(VV_LOG_INFO);
    char *text = capture_end(&capture);
    assert_null(strstr(text, "hidden"));
    assert_non_null(strstr(text, " error shown n=3\n"));
    assert_non_null(strstr(text, " debug shown n=5\n"));
    free(text);
}

static void test_one_call_is_one_line(void **state)
{
    (void)state;
    struct capture capture = capture_begin();
    vv_log(VV_LOG_INFO, "event", "a=%s", "x\ny\033[31m\r");
    char *text = capture_end(&capture);
    assert_string_equal(text + 24, " info event a=x y [31m\n");
    free(text);
}

static void test_a_long_line_is_cut_and_says_so(void **state)
{
    (void)state;
    char value[10000];
    memset(value, 'v', sizeof value);
    value[sizeof value - 1] = '\0';
    struct capture capture = capture_begin();
    vv_log(VV_LOG_INFO, "event", "value=%s", value);
    vv_log(VV_LOG_INFO, value, "n=%d", 1);
    char *text = capture_end(&capture);
    char *end = strchr(text, '\n');
    assert_non_null(end);
    assert_in_range(end - text, 4000, 4095);
    assert_memory_equal(end - 9, " cut=true", 9);
    char *second_end = strchr(end + 1, '\n');
    assert_in_range(second_end - end, 4000, 4096);
    assert_int_equal(second_end[1], '\0');
    free(text);
}

static void *write_lines(void *argument)
{
    for (int i = 0; i < 500; i++) {
        vv_log(VV_LOG_INFO, "thread", "name=%s n=%d end", (const char *)argument, i);
    }
    return NULL;
}

static void test_lines_of_threads_do_not_mix(void **state)
{
    (void)state;
    static char names[4][200];
    pthread_t threads[4];
    struct capture capture = capture_begin();
    for (size_t i = 0; i < 4; i++) {
        memset(names[i], 'a' + (int)i, sizeof names[i] - 1);
        assert_int_equal(pthread_create(&threads[i], NULL, write_lines, names[i]), 0);
    }
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    char *text = capture_end(&capture);
    size_t lines = 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        const char *name = line + strlen("2026-01-02T03:04:05.678Z info thread name=");
        assert_int_equal(strspn(name, (const char[]){name[0], '\0'}), 199);
        assert_string_equal(line + strlen(line) - 4, " end");
        lines++;
    }
    assert_int_equal(lines, 2000);
    free(text);
}

static void check_quote(const char *text, size_t size, size_t out_size, const char *expected)
{
    char out[64];
    memset(out, '#', sizeof out);
    assert_string_equal(vv_log_quote(text, size, out, out_size), expected);
    for (size_t i = out_size; i < sizeof out; i++) {
        assert_int_equal(out[i], '#');
    }
}

static void test_values_are_quoted_when_they_need_it(void **state)
{
    (void)state;
    check_quote("plain/path-1.2", 14, 64, "plain/path-1.2");
    check_quote("", 0, 64, "\"\"");
    check_quote("a b", 3, 64, "\"a b\"");
    check_quote("a=b", 3, 64, "\"a=b\"");
    check_quote("say \"hi\"\\", 9, 64, "\"say \\\"hi\\\"\\\\\"");
    check_quote("a\nb\tc\rd\0e", 9, 64, "\"a\\nb\\tc\\rd\\x00e\"");
    check_quote("\x1b[0m\x7f", 5, 64, "\"\\x1b[0m\\x7f\"");
    check_quote("Gr\xc3\xb6\xc3\x9f"
                "e",
                7, 64,
                "Gr\xc3\xb6\xc3\x9f"
                "e");
    check_quote("\xe2\x82\xac\xf0\x9f\x98\x80", 7, 64, "\xe2\x82\xac\xf0\x9f\x98\x80");
    check_quote("\xc2\x9b", 2, 64, "\"\\xc2\\x9b\"");          /* a control of C1 */
    check_quote("\xc3", 1, 64, "\"\\xc3\"");                   /* ends early */
    check_quote("\xc0\xaf", 2, 64, "\"\\xc0\\xaf\"");          /* too long for its value */
    check_quote("\xed\xa0\x80", 3, 64, "\"\\xed\\xa0\\x80\""); /* half of a pair */
    check_quote("\xf5\x80\x80\x80", 4, 64, "\"\\xf5\\x80\\x80\\x80\"");
}

static void test_values_are_cut_to_the_room(void **state)
{
    (void)state;
    check_quote("abcdef", 6, 4, "abc");
    check_quote("abcdef", 6, 1, "");
    check_quote("abcdef", 6, 0, "");
    check_quote("a b c d", 7, 6, "\"a b\"");
    check_quote("\n\n\n", 3, 6, "\"\\n\"");
    check_quote("a b", 3, 2, "");
    check_quote("\xe2\x82\xac\xe2\x82\xac", 6, 6, "\xe2\x82\xac");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_line_has_time_level_event_and_pairs),
        cmocka_unit_test(test_levels_below_are_dropped),
        cmocka_unit_test(test_one_call_is_one_line),
        cmocka_unit_test(test_a_long_line_is_cut_and_says_so),
        cmocka_unit_test(test_lines_of_threads_do_not_mix),
        cmocka_unit_test(test_values_are_quoted_when_they_need_it),
        cmocka_unit_test(test_values_are_cut_to_the_room),
    };
    return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
