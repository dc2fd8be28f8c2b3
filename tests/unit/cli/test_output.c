/* SPDX-License-Identifier: Apache-2.0 */
/* Files that appear when they are whole, and the end of a stream. */
#include "cli/output.h"
#include "cli/tail.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/varve-output-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static const char *path_of(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static size_t files(void)
{
    size_t n = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *each = readdir(dir); each; each = readdir(dir)) {
        n += each->d_name[0] != '.';
    }
    closedir(dir);
    return n;
}

/* Plain or compressed. */
static void expect_content(const char *name, const char *content)
{
    char found[256] = "";
    gzFile file = gzopen(path_of(name), "rb");
    assert_non_null(file);
    assert_true(gzread(file, found, sizeof found - 1) >= 0);
    gzclose(file);
    assert_string_equal(found, content);
}

static struct vv_output *open_output(const char *name)
{
    struct vv_output *output;
    struct vv_error error = {0};
    if (vv_output_open(path_of(name), &output, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
    return output;
}

static void a_file_has_its_name_when_it_is_whole(void **state)
{
    (void)state;
    static const char *const names[] = {"plain", "packed.gz", ".gz"};
    for (size_t i = 0; i < 3; i++) {
        struct vv_error error = {0};
        static char path[128];
        strcpy(path, path_of(names[i]));
        struct vv_output *output;
        assert_int_equal(vv_output_open(path, &output, &error), VV_OK);
        assert_int_equal(vv_output_write(output, "one ", 4, &error), VV_OK);
        assert_int_equal(vv_output_write(output, "two\n", 4, &error), VV_OK);
        assert_int_equal(access(path, F_OK), -1);
        assert_int_equal(vv_output_finish(output, &error), VV_OK);
        expect_content(names[i], "one two\n");
        struct stat info;
        mode_t mask = umask(0);
        umask(mask);
        assert_int_equal(stat(path, &info), 0);
        assert_int_equal(info.st_mode & 0777, 0666 & ~mask);
    }
}

static void what_was_there_stays_until_then(void **state)
{
    (void)state;
    struct vv_error error = {0};
    FILE *before = fopen(path_of("file"), "w");
    fputs("before", before);
    fclose(before);
    struct vv_output *output = open_output("file");
    assert_int_equal(vv_output_write(output, "after", 5, &error), VV_OK);
    expect_content("file", "before");
    vv_output_discard(output);
    expect_content("file", "before");
    assert_int_equal(files(), 1); /* nothing is left over */
    vv_output_discard(NULL);
}

static void what_is_no_file_is_not_replaced(void **state)
{
    (void)state;
    struct vv_error error = {0};
    struct vv_output *output;
    struct stat info;
    assert_int_equal(symlink("/dev/null", path_of("sink")), 0);
    static char path[128];
    strcpy(path, path_of("sink"));
    assert_int_equal(vv_output_open(path, &output, &error), VV_OK);
    assert_int_equal(vv_output_write(output, "x", 1, &error), VV_OK);
    assert_int_equal(vv_output_finish(output, &error), VV_OK);
    assert_int_equal(lstat(path, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
}

static void failures_are_told(void **state)
{
    (void)state;
    struct vv_error error = {0};
    struct vv_output *output;
    assert_int_equal(vv_output_open("/nowhere/file", &output, &error), VV_IO);
    assert_non_null(strstr(error.message, "/nowhere/file"));
    assert_int_equal(vv_output_open("/dev/full", &output, &error), VV_OK);
    assert_int_equal(vv_output_write(output, "x", 1, &error), VV_IO);
    assert_non_null(strstr(error.message, "/dev/full"));
    vv_output_discard(output);
}

/* ---- tails ---- */

static void expect_line(const struct vv_tail *tail, const char *line, bool ended)
{
    bool found_end;
    struct vv_str found = vv_tail_line(tail, &found_end);
    assert_true(vv_str_equal(found, vv_str_of(line)));
    assert_int_equal(found_end, ended);
}

static void the_last_line_is_kept(void **state)
{
    (void)state;
    struct vv_tail tail = {0};
    expect_line(&tail, "", false);
    vv_tail_add(&tail, "a", 1);
    expect_line(&tail, "a", false);
    vv_tail_add(&tail, "\nb", 2);
    expect_line(&tail, "b", false);
    vv_tail_add(&tail, "c\n", 2);
    expect_line(&tail, "bc", true);
    char large[VV_TAIL_BYTES + 10];
    memset(large, 'x', sizeof large);
    vv_tail_add(&tail, large, sizeof large);
    assert_int_equal(tail.size, VV_TAIL_BYTES);
    vv_tail_add(&tail, "\n# error: y\n", 12);
    expect_line(&tail, "# error: y", true);
    assert_true(vv_tail_has(&tail, "\n# error: "));
    assert_false(vv_tail_has(&tail, "bc"));
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(a_file_has_its_name_when_it_is_whole),
        WITH_FOLDER(what_was_there_stays_until_then),
        WITH_FOLDER(what_is_no_file_is_not_replaced),
        WITH_FOLDER(failures_are_told),
        cmocka_unit_test(the_last_line_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
