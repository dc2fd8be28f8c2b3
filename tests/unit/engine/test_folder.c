/* SPDX-License-Identifier: Apache-2.0 */
/* The data folder: made once, locked, and refused clearly when it is not right. */
#include "engine/folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static char base[64];

static int make_base(void **state)
{
    (void)state;
    strcpy(base, "/tmp/varve-folder-XXXXXX");
    return mkdtemp(base) ? 0 : -1;
}

static int remove_base(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", base);
    return system(command);
}

static void write_text(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", base, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static enum vv_status open_base(struct vv_folder **folder, struct vv_error *error)
{
    return vv_folder_open(base, folder, error);
}

static void an_empty_folder_becomes_varves_and_opens_again(void **state)
{
    (void)state;
    struct vv_folder *folder;
    struct vv_error error = {0};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(open_base(&folder, &error), VV_OK);
        struct stat info;
        assert_int_equal(stat(vv_folder_journal(folder), &info), 0);
        assert_int_equal(stat(vv_folder_store(folder), &info), 0);
        vv_folder_close(folder);
    }
}

static void a_second_server_is_told_so(void **state)
{
    (void)state;
    struct vv_folder *folder;
    struct vv_folder *second;
    struct vv_error error = {0};
    assert_int_equal(open_base(&folder, &error), VV_OK);
    assert_int_equal(open_base(&second, &error), VV_LOCKED);
    assert_non_null(strstr(error.message, "another Varve server"));
    vv_folder_close(folder);
    assert_int_equal(open_base(&second, &error), VV_OK);
    vv_folder_close(second);
}

static void a_newer_format_is_refused(void **state)
{
    (void)state;
    struct vv_folder *folder;
    struct vv_error error = {0};
    write_text("VARVE", "varve data folder\nformat: 2\n");
    assert_int_equal(open_base(&folder, &error), VV_NEWER);
    assert_non_null(strstr(error.message, "upgrade"));
}

static void a_strangers_folder_is_refused(void **state)
{
    (void)state;
    struct vv_folder *folder;
    struct vv_error error = {0};
    write_text("thesis.tex", "\\documentclass{book}");
    assert_int_equal(open_base(&folder, &error), VV_INVALID);
    assert_non_null(strstr(error.message, "not a data folder"));
    write_text("VARVE", "something else\n");
    assert_int_equal(open_base(&folder, &error), VV_INVALID);
    write_text("VARVE", "");
    assert_int_equal(open_base(&folder, &error), VV_INVALID);
}

static void a_file_in_place_of_the_folder_is_an_error(void **state)
{
    (void)state;
    struct vv_folder *folder;
    struct vv_error error = {0};
    char path[128];
    write_text("file", "x");
    snprintf(path, sizeof path, "%s/file", base);
    assert_int_equal(vv_folder_open(path, &folder, &error), VV_IO);
    snprintf(path, sizeof path, "%s/no/such/parent", base);
    assert_int_equal(vv_folder_open(path, &folder, &error), VV_IO);
}

#define WITH_BASE(test) cmocka_unit_test_setup_teardown(test, make_base, remove_base)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_BASE(an_empty_folder_becomes_varves_and_opens_again),
        WITH_BASE(a_second_server_is_told_so),
        WITH_BASE(a_newer_format_is_refused),
        WITH_BASE(a_strangers_folder_is_refused),
        WITH_BASE(a_file_in_place_of_the_folder_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
