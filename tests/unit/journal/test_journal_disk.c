/* SPDX-License-Identifier: Apache-2.0 */
/* The journal on the real disk, in a folder of its own that is removed afterwards. */
#include "base/log.h"
#include "base/random.h"
#include "journal/journal.h"

#include <dirent.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

struct fixture {
    char folder[256];
    struct vv_journal_options options;
    uint64_t sum; /* over all replayed bytes */
    uint64_t replayed;
};

static int set_up(void **state)
{
    static struct fixture fixture;
    const char *base = getenv("TMPDIR");
    vv_log_level_set(VV_LOG_OFF);
    memset(&fixture, 0, sizeof fixture);
    snprintf(fixture.folder, sizeof fixture.folder, "%s/varve-journal-XXXXXX",
             base ? base : "/tmp");
    if (!mkdtemp(fixture.folder)) {
        return -1;
    }
    fixture.options = (struct vv_journal_options){
        .disk = vv_disk_posix(),
        .clock = vv_clock_system(),
        .folder = fixture.folder,
        .segment_bytes = 1 << 20,
    };
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    DIR *folder = opendir(fixture->folder);
    if (!folder) {
        return -1;
    }
    for (struct dirent *entry; (entry = readdir(folder));) {
        char path[600];
        snprintf(path, sizeof path, "%s/%s", fixture->folder, entry->d_name);
        (void)unlink(path);
    }
    closedir(folder);
    return rmdir(fixture->folder);
}

static uint64_t sum_of(const uint8_t *bytes, size_t size)
{
    uint64_t sum = size;
    for (size_t i = 0; i < size; i++) {
        sum = sum * 31 + bytes[i];
    }
    return sum;
}

static enum vv_status on_replay(void *context, const struct vv_journal_record *record,
                                struct vv_journal_position position)
{
    (void)position;
    struct fixture *fixture = context;
    fixture->sum = fixture->sum * 7 + sum_of(record->bytes, record->size);
    fixture->replayed++;
    return VV_OK;
}

static struct vv_journal *open_journal(struct fixture *fixture)
{
    struct vv_journal *journal = NULL;
    struct vv_error error = {0};
    fixture->sum = 0;
    fixture->replayed = 0;
    if (vv_journal_open(&fixture->options, on_replay, fixture, &journal, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
    return journal;
}

static enum vv_status commit(struct vv_journal *journal, const void *bytes, size_t size,
                             struct vv_error *error)
{
    struct vv_journal_record record = {.stamp = 5, .kind = 1, .bytes = bytes, .size = size};
    struct vv_journal_position end;
    return vv_journal_commit(journal, &record, 1, &end, error);
}

static void test_records_of_all_sizes_come_back(void **state)
{
    struct fixture *fixture = *state;
    struct vv_random random = {9};
    size_t size_max = 3 << 20;
    uint8_t *bytes = malloc(size_max);
    assert_non_null(bytes);
    for (size_t i = 0; i < size_max; i++) {
        bytes[i] = (uint8_t)vv_random_next(&random);
    }
    uint64_t sum = 0;
    for (unsigned life = 0; life < 3; life++) {
        struct vv_journal *journal = open_journal(fixture);
        assert_true(fixture->sum == sum);
        for (unsigned i = 0; i < 20; i++) {
            size_t size = (size_t)vv_random_below(&random, i % 5 ? 3000 : size_max);
            assert_int_equal(commit(journal, bytes + size_max - size, size, NULL), VV_OK);
            sum = sum * 7 + sum_of(bytes + size_max - size, size);
        }
        vv_journal_close(journal);
    }
    struct vv_journal *journal = open_journal(fixture);
    assert_true(fixture->sum == sum);
    struct vv_journal_position cut = vv_journal_cut(journal);
    assert_int_equal(vv_journal_release(journal, cut, NULL), VV_OK);
    vv_journal_close(journal);
    journal = open_journal(fixture);
    assert_int_equal(fixture->replayed, 0);
    vv_journal_close(journal);
    free(bytes);
}

/* A process that is killed while it commits: all that it was told is durable is there. */
static void test_a_killed_process_loses_nothing_acknowledged(void **state)
{
    struct fixture *fixture = *state;
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct vv_journal *journal = NULL;
        bool fine = vv_journal_open(&fixture->options, NULL, NULL, &journal, NULL) == VV_OK;
        for (uint64_t i = 0; fine; i++) {
            fine = commit(journal, &i, sizeof i, NULL) == VV_OK && write(pipes[1], "x", 1) == 1;
        }
        _exit(1);
    }
    close(pipes[1]);
    uint64_t acknowledged = 0;
    char byte;
    while (acknowledged < 200 && read(pipes[0], &byte, 1) == 1) {
        acknowledged++;
    }
    assert_int_equal(kill(child, SIGKILL), 0);
    while (read(pipes[0], &byte, 1) == 1) {
        acknowledged++;
    }
    close(pipes[0]);
    assert_int_equal(waitpid(child, NULL, 0), child);
    struct vv_journal *journal = open_journal(fixture);
    assert_in_range(fixture->replayed, acknowledged, acknowledged + 1);
    assert_in_range(acknowledged, 200, UINT64_MAX);
    vv_journal_close(journal);
}

/* The limit on the size of files stands for a full disk: writes behind it fail in part. */
static void test_a_full_disk_refuses_and_loses_nothing(void **state)
{
    struct fixture *fixture = *state;
    static const char bytes[3000] = "text";
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit limit = {20000, before.rlim_max};
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    struct vv_journal *journal = open_journal(fixture);
    assert_int_equal(commit(journal, bytes, sizeof bytes, NULL), VV_OK);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    uint64_t stored = 1;
    struct vv_error error = {0};
    enum vv_status status = VV_OK;
    while (status == VV_OK && stored < 100) {
        status = commit(journal, bytes, sizeof bytes, &error);
        stored += status == VV_OK;
    }
    enum vv_status again = commit(journal, bytes, sizeof bytes, NULL);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, handler);
    assert_int_equal(status, VV_FULL);
    assert_string_not_equal(error.message, "");
    assert_int_equal(again, VV_FULL);
    assert_int_equal(stored, 6);
    assert_int_equal(commit(journal, bytes, sizeof bytes, NULL), VV_OK);
    vv_journal_close(journal);
    journal = open_journal(fixture);
    assert_int_equal(fixture->replayed, 7);
    vv_journal_close(journal);
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    if (file) {
        fputs(text, file);
        fclose(file);
    }
}

/* Mounts a small disk over the folder, for this process only. False where that is not allowed. */
static bool mount_small(const char *folder)
{
    char users[64];
    char groups[64];
    snprintf(users, sizeof users, "0 %u 1", (unsigned)getuid());
    snprintf(groups, sizeof groups, "0 %u 1", (unsigned)getgid());
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) {
        return false;
    }
    write_text("/proc/self/setgroups", "deny");
    write_text("/proc/self/uid_map", users);
    write_text("/proc/self/gid_map", groups);
    return mount("none", folder, "tmpfs", 0, "size=256k") == 0;
}

/* In the child: fills the small disk, releases, goes on. 0: all was right. */
static int fill_small_disk(struct fixture *fixture)
{
    static const char bytes[9000] = "text";
    fixture->options.segment_bytes = 64 << 10;
    struct vv_journal *journal = open_journal(fixture);
    uint64_t stored = 0;
    enum vv_status status = VV_OK;
    while (status == VV_OK && stored < 100) {
        status = commit(journal, bytes, sizeof bytes, NULL);
        stored += status == VV_OK;
    }
    if (status != VV_FULL || stored < 14) {
        return 2;
    }
    vv_journal_close(journal);
    journal = open_journal(fixture);
    if (fixture->replayed != stored) {
        return 3;
    }
    struct vv_journal_position end = vv_journal_end(journal);
    if (vv_journal_release(journal, end, NULL) != VV_OK) {
        return 4;
    }
    status = commit(journal, bytes, sizeof bytes, NULL);
    vv_journal_close(journal);
    journal = open_journal(fixture);
    vv_journal_close(journal);
    return status == VV_OK && fixture->replayed == 1 ? 0 : 5;
}

static void test_a_small_disk_fills_up_and_is_freed(void **state)
{
    struct fixture *fixture = *state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(mount_small(fixture->folder) ? fill_small_disk(fixture) : 77);
    }
    int result;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFEXITED(result));
    if (WEXITSTATUS(result) == 77) {
        skip(); /* this system lets nobody mount */
    }
    assert_int_equal(WEXITSTATUS(result), 0);
}

int main(void)
{
#define DISK_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        DISK_TEST(test_records_of_all_sizes_come_back),
        DISK_TEST(test_a_killed_process_loses_nothing_acknowledged),
        DISK_TEST(test_a_full_disk_refuses_and_loses_nothing),
        DISK_TEST(test_a_small_disk_fills_up_and_is_freed),
    };
    return cmocka_run_group_tests_name("journal on the real disk", tests, NULL, NULL);
}
