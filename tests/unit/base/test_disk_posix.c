/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the real disk, in a folder of its own that is removed afterwards. */
#include "base/disk.h"
#include "simulation/sim_memory.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

struct fixture {
    struct vv_disk *disk;
    char folder[256];
    char path[300];
    char other[300];
};

static int set_up(void **state)
{
    static struct fixture fixture;
    const char *base = getenv("TMPDIR");
    fixture.disk = vv_disk_posix();
    snprintf(fixture.folder, sizeof fixture.folder, "%s/varve-disk-XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(fixture.folder)) {
        return -1;
    }
    snprintf(fixture.path, sizeof fixture.path, "%s/file", fixture.folder);
    snprintf(fixture.other, sizeof fixture.other, "%s/other", fixture.folder);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    (void)remove(fixture->path);
    (void)remove(fixture->other);
    return rmdir(fixture->folder);
}

static struct vv_file *make_file(struct fixture *fixture)
{
    struct vv_file *file = NULL;
    assert_int_equal(
        fixture->disk->ops->open(fixture->disk, fixture->path, VV_OPEN_CREATE, &file, NULL), VV_OK);
    return file;
}

static void test_what_is_written_is_read(void **state)
{
    struct vv_file *file = make_file(*state);
    char bytes[16] = {0};
    size_t size = 99;
    uint64_t file_size;
    assert_int_equal(file->ops->write(file, 5, "hello", 5, NULL), VV_OK);
    assert_int_equal(file->ops->write(file, 100, "", 0, NULL), VV_OK);
    assert_int_equal(file->ops->sync(file, NULL), VV_OK);
    assert_int_equal(file->ops->size(file, &file_size, NULL), VV_OK);
    assert_int_equal(file_size, 10);
    assert_int_equal(file->ops->read(file, 3, bytes, sizeof bytes, &size, NULL), VV_OK);
    assert_int_equal(size, 7);
    assert_memory_equal(bytes, "\0\0hello", 7);
    assert_int_equal(file->ops->read(file, 10, bytes, sizeof bytes, &size, NULL), VV_OK);
    assert_int_equal(size, 0);
    file->ops->close(file);
}

static void test_sizes_change(void **state)
{
    struct vv_file *file = make_file(*state);
    uint64_t size;
    enum vv_status status = file->ops->allocate(file, 100000, NULL);
    assert_true(status == VV_OK || status == VV_IO); /* not every file system can */
    if (status == VV_OK) {
        assert_int_equal(file->ops->size(file, &size, NULL), VV_OK);
        assert_int_equal(size, 100000);
    }
    assert_int_equal(file->ops->allocate(file, 0, NULL), VV_OK);
    assert_int_equal(file->ops->write(file, 0, "abcdef", 6, NULL), VV_OK);
    assert_int_equal(file->ops->truncate(file, 3, NULL), VV_OK);
    assert_int_equal(file->ops->sync(file, NULL), VV_OK);
    assert_int_equal(file->ops->size(file, &size, NULL), VV_OK);
    assert_int_equal(size, 3);
    char bytes[8];
    size_t got;
    assert_int_equal(file->ops->truncate(file, 6, NULL), VV_OK);
    assert_int_equal(file->ops->read(file, 0, bytes, 8, &got, NULL), VV_OK);
    assert_int_equal(got, 6);
    assert_memory_equal(bytes, "abc\0\0\0", 6);
    file->ops->close(file);
}

static void test_open_modes(void **state)
{
    struct fixture *fixture = *state;
    struct vv_disk *disk = fixture->disk;
    struct vv_file *file;
    struct vv_error error = {0};
    assert_int_equal(disk->ops->open(disk, fixture->path, VV_OPEN_READ, &file, &error),
                     VV_NOT_FOUND);
    assert_non_null(strstr(error.message, fixture->path));
    assert_int_equal(disk->ops->open(disk, fixture->path, VV_OPEN_WRITE, &file, &error),
                     VV_NOT_FOUND);
    file = make_file(fixture);
    file->ops->close(file);
    assert_int_equal(disk->ops->open(disk, fixture->path, VV_OPEN_CREATE, &file, &error),
                     VV_EXISTS);
    assert_int_equal(disk->ops->open(disk, fixture->path, VV_OPEN_READ, &file, &error), VV_OK);
    assert_int_equal(file->ops->write(file, 0, "x", 1, &error), VV_IO);
    file->ops->close(file);
    vv_sim_memory_fail(1);
    assert_int_equal(disk->ops->open(disk, fixture->path, VV_OPEN_READ, &file, &error),
                     VV_NO_MEMORY);
    vv_sim_memory_fail(2);
    assert_int_equal(disk->ops->open(disk, fixture->path, VV_OPEN_READ, &file, &error),
                     VV_NO_MEMORY);
    assert_true(vv_sim_memory_failed());
}

static enum vv_status count_name(void *context, const char *name)
{
    unsigned *counts = context;
    counts[0] += strcmp(name, "file") == 0;
    counts[1] += strcmp(name, "other") == 0;
    counts[2]++;
    return VV_OK;
}

static enum vv_status refuse_name(void *context, const char *name)
{
    (void)context;
    (void)name;
    return VV_CANCELLED;
}

static void test_names(void **state)
{
    struct fixture *fixture = *state;
    struct vv_disk *disk = fixture->disk;
    struct vv_file *file = make_file(fixture);
    file->ops->close(file);
    struct vv_error error = {0};
    assert_int_equal(disk->ops->make_folder(disk, fixture->other, NULL), VV_OK);
    assert_int_equal(disk->ops->make_folder(disk, fixture->other, NULL), VV_EXISTS);
    unsigned counts[3] = {0};
    assert_int_equal(disk->ops->list(disk, fixture->folder, count_name, counts, NULL), VV_OK);
    assert_int_equal(counts[0], 1);
    assert_int_equal(counts[1], 1);
    assert_int_equal(counts[2], 2);
    assert_int_equal(disk->ops->list(disk, fixture->folder, refuse_name, NULL, NULL), VV_CANCELLED);
    assert_int_equal(disk->ops->remove(disk, fixture->other, NULL), VV_OK);
    assert_int_equal(disk->ops->rename(disk, fixture->path, fixture->other, NULL), VV_OK);
    assert_int_equal(disk->ops->rename(disk, fixture->path, fixture->other, &error), VV_NOT_FOUND);
    assert_int_equal(disk->ops->sync_folder(disk, fixture->folder, NULL), VV_OK);
    assert_int_equal(disk->ops->sync_folder(disk, fixture->other, NULL), VV_IO);
    assert_int_equal(disk->ops->list(disk, fixture->path, count_name, counts, NULL), VV_NOT_FOUND);
    assert_int_equal(disk->ops->remove(disk, fixture->other, NULL), VV_OK);
    assert_int_equal(disk->ops->remove(disk, fixture->other, &error), VV_NOT_FOUND);
}

static void test_free_bytes(void **state)
{
    struct fixture *fixture = *state;
    struct vv_disk *disk = fixture->disk;
    uint64_t left = 0;
    uint64_t total = 0;
    assert_int_equal(disk->ops->free_bytes(disk, fixture->folder, &left, &total, NULL), VV_OK);
    assert_true(total > 0 && left <= total);
    assert_int_equal(disk->ops->free_bytes(disk, fixture->path, &left, &total, NULL), VV_NOT_FOUND);
}

/* The limit on the size of files stands for a full disk. */
static void test_no_space_is_full(void **state)
{
    struct vv_file *file = make_file(*state);
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit limit = {8192, before.rlim_max};
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    static const char bytes[10000];
    struct vv_error error = {0};
    enum vv_status written = file->ops->write(file, 0, bytes, sizeof bytes, &error);
    enum vv_status allocated = file->ops->allocate(file, 20000, NULL);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, handler);
    assert_int_equal(written, VV_FULL);
    assert_non_null(strstr(error.message, "ulimit -f"));
    assert_true(allocated == VV_FULL || allocated == VV_IO);
    file->ops->close(file);
}

static void test_a_full_device_is_full(void **state)
{
    struct fixture *fixture = *state;
    struct vv_disk *disk = fixture->disk;
    struct vv_file *file;
    if (disk->ops->open(disk, "/dev/full", VV_OPEN_WRITE, &file, NULL) != VV_OK) {
        skip();
    }
    struct vv_error error = {0};
    assert_int_equal(file->ops->write(file, 0, "x", 1, &error), VV_FULL);
    assert_non_null(strstr(error.message, "free space"));
    file->ops->close(file);
}

int main(void)
{
#define DISK_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        DISK_TEST(test_what_is_written_is_read),
        DISK_TEST(test_sizes_change),
        DISK_TEST(test_open_modes),
        DISK_TEST(test_names),
        DISK_TEST(test_free_bytes),
        DISK_TEST(test_no_space_is_full),
        DISK_TEST(test_a_full_device_is_full),
    };
    return cmocka_run_group_tests_name("disk_posix", tests, NULL, NULL);
}
