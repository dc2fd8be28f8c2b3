/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of history come back sorted, whatever memory and runs there were, and from where they were
 * left. */
#include "cli/history.h"

#include "base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

struct fixture {
    char folder[64];
    struct vv_history_runs runs;
    struct vv_history_writer *writer;
};

static int set_up(void **state)
{
    static struct fixture fixture;
    fixture = (struct fixture){.folder = "/tmp/varve-history-XXXXXX"};
    assert_non_null(mkdtemp(fixture.folder));
    assert_int_equal(vv_history_writer_create(fixture.folder, 4096, &fixture.writer), VV_OK);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    vv_history_writer_destroy(fixture->writer);
    vv_history_remove(fixture->folder, NULL);
    assert_int_equal(rmdir(fixture->folder), 0); /* nothing else is left behind */
    return 0;
}

static void flush(struct fixture *fixture)
{
    struct vv_error error = {0};
    if (vv_history_write(fixture->writer, &fixture->runs, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
}

static void add(struct fixture *fixture, int64_t time, uint64_t place)
{
    char text[64];
    snprintf(text, sizeof text, "m v=%llu", (unsigned long long)place);
    const struct vv_history_line line = {.time = time,
                                         .place = place,
                                         .text = vv_str_of(text),
                                         .series_size = 1,
                                         .points = 1,
                                         .newlines = 1};
    enum vv_status status = vv_history_add(fixture->writer, &line);
    if (status == VV_FULL) {
        flush(fixture);
        status = vv_history_add(fixture->writer, &line);
    }
    assert_int_equal(status, VV_OK);
}

static struct vv_history_merge *merged(struct fixture *fixture)
{
    struct vv_history_merge *merge;
    struct vv_error error = {0};
    if (vv_history_merge_create(fixture->folder, &fixture->runs, &merge, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
    return merge;
}

/* Many more runs than are read at once, and as many files as are read. */
static void test_lines_come_back_in_the_order_of_time_and_place(void **state)
{
    enum { N = 30000 };
    struct fixture *fixture = *state;
    struct vv_random random = {1};
    for (uint64_t place = 1; place <= N; place++) {
        add(fixture, (int64_t)vv_random_below(&random, 1000) - 500, place);
    }
    flush(fixture);
    vv_history_remove(fixture->folder, &fixture->runs);
    assert_true(fixture->runs.n > 1 && fixture->runs.n <= VV_HISTORY_RUNS_MAX);
    assert_true(fixture->runs.next > VV_HISTORY_RUNS_MAX);
    struct vv_history_merge *merge = merged(fixture);
    struct vv_history_line line;
    static bool seen[N + 1];
    memset(seen, 0, sizeof seen);
    int64_t time = INT64_MIN;
    uint64_t place = 0;
    for (size_t i = 0; i < N; i++) {
        char text[64];
        assert_int_equal(vv_history_next(merge, &line, NULL), VV_OK);
        assert_true(line.time > time || (line.time == time && line.place > place));
        time = line.time;
        place = line.place;
        assert_true(place <= N && !seen[place]);
        seen[place] = true;
        snprintf(text, sizeof text, "m v=%llu", (unsigned long long)place);
        assert_true(vv_str_equal(line.text, vv_str_of(text)));
    }
    assert_int_equal(vv_history_next(merge, &line, NULL), VV_DONE);
    assert_int_equal(vv_history_next(merge, &line, NULL), VV_DONE);
    vv_history_merge_destroy(merge);
}

static void test_reading_goes_on_where_it_was_left(void **state)
{
    enum { N = 1000 };
    struct fixture *fixture = *state;
    struct vv_random random = {2};
    for (uint64_t place = 1; place <= N; place++) {
        add(fixture, (int64_t)vv_random_below(&random, N), place);
    }
    flush(fixture);
    size_t n = 0;
    int64_t time = INT64_MIN;
    enum vv_status status = VV_OK;
    while (status == VV_OK) {
        struct vv_history_merge *merge = merged(fixture);
        for (size_t i = 0; i < 77 && status == VV_OK; i++) {
            struct vv_history_line line;
            status = vv_history_next(merge, &line, NULL);
            if (status == VV_OK) {
                assert_true(line.time >= time);
                time = line.time;
                n++;
            }
        }
        vv_history_merge_destroy(merge);
    }
    assert_int_equal(status, VV_DONE);
    assert_int_equal(n, N);
}

static void test_a_run_that_was_cut_is_an_error(void **state)
{
    struct fixture *fixture = *state;
    char path[128];
    struct vv_history_merge *merge;
    struct vv_error error = {0};
    add(fixture, 1, 1);
    flush(fixture);
    snprintf(path, sizeof path, "%s/run-0", fixture->folder);
    assert_int_equal(truncate(path, (off_t)fixture->runs.items[0].bytes - 1), 0);
    assert_int_equal(vv_history_merge_create(fixture->folder, &fixture->runs, &merge, &error),
                     VV_CORRUPT);
    assert_non_null(strstr(error.message, "--restart"));
    vv_history_merge_destroy(merge);
}

/* Whatever stands in the file. */
static void test_damaged_lengths_are_errors(void **state)
{
    struct fixture *fixture = *state;
    char path[128];
    add(fixture, 1, 1);
    add(fixture, 2, 2);
    flush(fixture);
    snprintf(path, sizeof path, "%s/run-0", fixture->folder);
    for (long at = 8; at < (long)fixture->runs.items[0].bytes; at++) {
        struct vv_history_merge *merge;
        FILE *file = fopen(path, "r+b");
        assert_non_null(file);
        fseek(file, at, SEEK_SET);
        int byte = fgetc(file);
        fseek(file, at, SEEK_SET);
        fputc(byte ^ 0xff, file);
        fclose(file);
        fixture->runs.items[0].at = 8;
        enum vv_status status =
            vv_history_merge_create(fixture->folder, &fixture->runs, &merge, NULL);
        struct vv_history_line line;
        while (status == VV_OK) {
            status = vv_history_next(merge, &line, NULL);
        }
        assert_true(status == VV_DONE || status == VV_CORRUPT);
        vv_history_merge_destroy(merge);
        file = fopen(path, "r+b");
        assert_non_null(file);
        fseek(file, at, SEEK_SET);
        fputc(byte, file);
        fclose(file);
    }
}

static void test_a_folder_that_cannot_be_written_loses_nothing(void **state)
{
    struct fixture *fixture = *state;
    struct vv_error error = {0};
    struct vv_history_runs before = fixture->runs;
    char path[128];
    snprintf(path, sizeof path, "%s-away", fixture->folder);
    add(fixture, 1, 1);
    assert_int_equal(rename(fixture->folder, path), 0);
    assert_int_equal(vv_history_write(fixture->writer, &fixture->runs, &error), VV_IO);
    assert_memory_equal(&before, &fixture->runs, sizeof before);
    assert_int_equal(rename(path, fixture->folder), 0);
    flush(fixture);
    assert_int_equal(fixture->runs.n, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_lines_come_back_in_the_order_of_time_and_place, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_reading_goes_on_where_it_was_left, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_run_that_was_cut_is_an_error, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_damaged_lengths_are_errors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_folder_that_cannot_be_written_loses_nothing, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
