/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of opening what is damaged, torn, missing or foreign. */
#include "simulation/sim_memory.h"
#include "unit/journal/journal_fixture.h"

#include <xxhash.h>

/* One-letter records take 48 bytes: the first begins at 64, the second at 112, … */
#define RECORD_AT(i) (64u + 48u * (i))

/* Each letter is a commit of its own, all in one segment; then the journal is closed. */
static void write_commits(struct journal_fixture *fixture, const char *letters)
{
    fixture_open(fixture);
    for (const char *letter = letters; *letter; letter++) {
        fixture_must_commit(fixture, (const char[]){*letter, '\0'});
    }
    fixture_close(fixture);
}

static void test_a_damaged_last_commit_is_a_torn_tail(void **state)
{
    struct journal_fixture *fixture = *state;
    write_commits(fixture, "abc");
    fixture_damage(fixture, 1, RECORD_AT(2) + 40);
    fixture_open(fixture);
    fixture_check(fixture, "a b");
    assert_int_equal(fixture_figures(fixture).damaged, 0);
    assert_int_equal(fixture_file_size(fixture, 1), RECORD_AT(2)); /* cut off */
    fixture_must_commit(fixture, "d");
    fixture_crash(fixture);
    fixture_open(fixture);
    fixture_check(fixture, "a b d");
}

static void test_damage_before_a_later_commit_is_corrupt(void **state)
{
    struct journal_fixture *fixture = *state;
    write_commits(fixture, "abc");
    for (uint64_t offset = RECORD_AT(1); offset < RECORD_AT(1) + 41; offset++) {
        fixture_damage(fixture, 1, offset);
        assert_int_equal(fixture_try_open(fixture), VV_CORRUPT);
        assert_non_null(strstr(fixture->error.message, "offset 112 of /j/0000000000000001.seg"));
        assert_non_null(strstr(fixture->error.message, "skip_damaged"));
        fixture_check(fixture, "a");
        fixture_damage(fixture, 1, offset); /* turns the bit back */
    }
    fixture_open(fixture);
    fixture_check(fixture, "a b c");
}

static void test_skipped_damage_is_reported_and_stays_skipped(void **state)
{
    struct journal_fixture *fixture = *state;
    write_commits(fixture, "abc");
    fixture_damage(fixture, 1, RECORD_AT(1) + 5);
    fixture->options.skip_damaged = true;
    fixture_open(fixture);
    fixture_check(fixture, "a");
    assert_int_equal(fixture_figures(fixture).damaged, 1);
    assert_int_equal(fixture_file_size(fixture, 1), RECORD_AT(3)); /* kept for who wants to look */
    fixture_must_commit(fixture, "d");
    fixture_close(fixture);
    fixture->options.skip_damaged = false;
    fixture_open(fixture); /* the next segment says where this one ends */
    fixture_check(fixture, "a d");
}

static void test_damage_in_an_earlier_segment_is_corrupt(void **state)
{
    struct journal_fixture *fixture = *state;
    write_commits(fixture, "ab");
    write_commits(fixture, "cd");
    fixture_damage(fixture, 1, RECORD_AT(1) + 40); /* the last record, but of a segment before */
    assert_int_equal(fixture_try_open(fixture), VV_CORRUPT);
    fixture->options.skip_damaged = true;
    fixture_open(fixture);
    fixture_check(fixture, "a c d");
    assert_int_equal(fixture_figures(fixture).damaged, 1);
}

static void test_a_shortened_segment_is_corrupt(void **state)
{
    struct journal_fixture *fixture = *state;
    write_commits(fixture, "ab");
    write_commits(fixture, "cd");
    struct vv_file *file;
    char path[64];
    fixture_path(1, path);
    assert_int_equal(fixture->disk->ops->open(fixture->disk, path, VV_OPEN_WRITE, &file, NULL),
                     VV_OK);
    assert_int_equal(file->ops->truncate(file, RECORD_AT(2) - 1, NULL), VV_OK);
    file->ops->close(file);
    assert_int_equal(fixture_try_open(fixture), VV_CORRUPT);
    assert_non_null(strstr(fixture->error.message, "offset 112"));
}

static void test_a_torn_commit_of_many_records_gives_its_first_ones(void **state)
{
    struct journal_fixture *fixture = *state;
    write_commits(fixture, "a");
    fixture_open(fixture);
    struct vv_journal_record records[4] = {fixture_record("p"), fixture_record("q"),
                                           fixture_record("r"), fixture_record("s")};
    struct vv_journal_position end;
    assert_int_equal(vv_journal_commit(fixture->journal, records, 4, &end, NULL), VV_OK);
    fixture_close(fixture);
    fixture_damage(fixture, 2, RECORD_AT(2) + 33);
    fixture_open(fixture);
    fixture_check(fixture, "a p q");
    fixture_must_commit(fixture, "z");
    fixture_crash(fixture);
    fixture_open(fixture);
    fixture_check(fixture, "a p q z");
}

static void test_a_torn_commit_with_a_later_one_is_corrupt(void **state)
{
    struct journal_fixture *fixture = *state;
    fixture_open(fixture);
    struct vv_journal_record records[2] = {fixture_record("p"), fixture_record("q")};
    struct vv_journal_position end;
    assert_int_equal(vv_journal_commit(fixture->journal, records, 2, &end, NULL), VV_OK);
    fixture_must_commit(fixture, "r");
    fixture_close(fixture);
    fixture_damage(fixture, 1, RECORD_AT(1));
    assert_int_equal(fixture_try_open(fixture), VV_CORRUPT);
}

static void test_a_damaged_header_is_corrupt(void **state)
{
    struct journal_fixture *fixture = *state;
    write_commits(fixture, "a");
    write_commits(fixture, "b");
    write_commits(fixture, "c");
    for (uint64_t number = 1; number <= 3; number++) {
        fixture_damage(fixture, number, 17);
        assert_int_equal(fixture_try_open(fixture), VV_CORRUPT);
        assert_non_null(strstr(fixture->error.message, "header"));
        fixture_damage(fixture, number, 17);
    }
    fixture_damage(fixture, 2, 3);
    fixture->options.skip_damaged = true;
    fixture_open(fixture);
    fixture_check(fixture, "a c");
    assert_int_equal(fixture_figures(fixture).damaged, 1);
}

static void test_a_skipped_last_segment_stays_skipped(void **state)
{
    struct journal_fixture *fixture = *state;
    write_commits(fixture, "a");
    write_commits(fixture, "b");
    fixture_damage(fixture, 2, 3);
    fixture->options.skip_damaged = true;
    fixture_open(fixture);
    fixture_check(fixture, "a");
    fixture_must_commit(fixture, "c");
    assert_int_equal(vv_journal_end(fixture->journal).segment, 3);
    fixture_close(fixture);
    fixture->options.skip_damaged = false;
    fixture_open(fixture);
    fixture_check(fixture, "a c");
}

static void test_a_newer_version_is_refused(void **state)
{
    struct journal_fixture *fixture = *state;
    write_commits(fixture, "a");
    char path[64];
    fixture_path(1, path);
    struct vv_file *file;
    assert_int_equal(fixture->disk->ops->open(fixture->disk, path, VV_OPEN_WRITE, &file, NULL),
                     VV_OK);
    struct vv_segment_header header = {.number = 1};
    uint8_t bytes[VV_SEGMENT_HEADER_SIZE];
    vv_segment_header_encode(&header, bytes);
    bytes[8] = 2;
    uint64_t checksum = XXH3_64bits(bytes, VV_SEGMENT_CHECKSUM_AT);
    for (size_t i = 0; i < 8; i++) {
        bytes[VV_SEGMENT_CHECKSUM_AT + i] = (uint8_t)(checksum >> (8 * i));
    }
    assert_int_equal(file->ops->write(file, 0, bytes, sizeof bytes, NULL), VV_OK);
    file->ops->close(file);
    fixture->options.skip_damaged = true; /* does not help: it is not damage */
    assert_int_equal(fixture_try_open(fixture), VV_NEWER);
    assert_non_null(strstr(fixture->error.message, "version 2"));
}

static void test_a_missing_segment_is_corrupt(void **state)
{
    struct journal_fixture *fixture = *state;
    write_commits(fixture, "a");
    write_commits(fixture, "b");
    write_commits(fixture, "c");
    char path[64];
    fixture_path(2, path);
    assert_int_equal(fixture->disk->ops->remove(fixture->disk, path, NULL), VV_OK);
    assert_int_equal(fixture_try_open(fixture), VV_CORRUPT);
    assert_non_null(strstr(fixture->error.message, "missing"));
    fixture->options.skip_damaged = true;
    fixture_open(fixture);
    fixture_check(fixture, "a c");
    assert_int_equal(fixture_figures(fixture).damaged, 1);
}

static void test_a_segment_under_another_name_is_corrupt(void **state)
{
    struct journal_fixture *fixture = *state;
    write_commits(fixture, "a");
    assert_int_equal(fixture->disk->ops->rename(fixture->disk, "/j/0000000000000001.seg",
                                                "/j/0000000000000007.seg", NULL),
                     VV_OK);
    assert_int_equal(fixture_try_open(fixture), VV_CORRUPT);
    assert_int_equal(fixture->disk->ops->rename(fixture->disk, "/j/0000000000000007.seg",
                                                "/j/0000000000000000.seg", NULL),
                     VV_OK);
    assert_int_equal(fixture_try_open(fixture), VV_CORRUPT);
}

static void create_file(struct journal_fixture *fixture, const char *path)
{
    struct vv_file *file;
    assert_int_equal(fixture->disk->ops->open(fixture->disk, path, VV_OPEN_CREATE, &file, NULL),
                     VV_OK);
    assert_int_equal(file->ops->write(file, 0, "?", 1, NULL), VV_OK);
    file->ops->close(file);
}

static void test_leftovers_go_and_other_files_stay(void **state)
{
    struct journal_fixture *fixture = *state;
    write_commits(fixture, "a");
    create_file(fixture, "/j/0000000000000002.new");
    create_file(fixture, "/j/0000000000000009.new");
    create_file(fixture, "/j/README");
    fixture_open(fixture);
    fixture_check(fixture, "a");
    uint64_t files;
    uint64_t bytes;
    vv_sim_disk_usage(fixture->sim, &files, &bytes);
    assert_int_equal(files, 2);
}

static enum vv_status refuse(void *context, const struct vv_journal_record *record,
                             struct vv_journal_position position)
{
    (void)record;
    (void)position;
    return *(enum vv_status *)context;
}

static void test_the_owner_can_stop_the_replay(void **state)
{
    struct journal_fixture *fixture = *state;
    write_commits(fixture, "ab");
    static const enum vv_status all[] = {VV_NO_MEMORY, VV_CORRUPT, VV_DONE, VV_CANCELLED};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        enum vv_status status = all[i];
        struct vv_error error = {0};
        assert_int_equal(
            vv_journal_open(&fixture->options, refuse, &status, &fixture->journal, &error), all[i]);
        assert_null(fixture->journal);
        assert_non_null(strstr(error.message, "replay"));
    }
    assert_int_equal(vv_journal_open(&fixture->options, NULL, NULL, &fixture->journal, NULL),
                     VV_OK);
    assert_int_equal(fixture_figures(fixture).replayed, 2);
}

static void test_failed_allocations_and_reads_end_the_open(void **state)
{
    struct journal_fixture *fixture = *state;
    write_commits(fixture, "ab");
    write_commits(fixture, "cd");
    uint64_t k = 1;
    for (bool failed = true; failed; k++) {
        vv_sim_memory_fail(k);
        enum vv_status status = fixture_try_open(fixture);
        failed = vv_sim_memory_failed();
        assert_int_equal(status, failed ? VV_NO_MEMORY : VV_OK);
    }
    assert_true(k > 5);
    fixture_close(fixture);
    for (k = 1;; k++) {
        vv_sim_disk_fail_call(fixture->sim, VV_SIM_READ, k, VV_IO);
        enum vv_status status = fixture_try_open(fixture);
        if (status == VV_OK) {
            break;
        }
        assert_int_equal(status, VV_IO);
    }
    assert_true(k > 4);
    fixture_check(fixture, "a b c d");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        JOURNAL_TEST(test_a_damaged_last_commit_is_a_torn_tail),
        JOURNAL_TEST(test_damage_before_a_later_commit_is_corrupt),
        JOURNAL_TEST(test_skipped_damage_is_reported_and_stays_skipped),
        JOURNAL_TEST(test_damage_in_an_earlier_segment_is_corrupt),
        JOURNAL_TEST(test_a_shortened_segment_is_corrupt),
        JOURNAL_TEST(test_a_torn_commit_of_many_records_gives_its_first_ones),
        JOURNAL_TEST(test_a_torn_commit_with_a_later_one_is_corrupt),
        JOURNAL_TEST(test_a_damaged_header_is_corrupt),
        JOURNAL_TEST(test_a_skipped_last_segment_stays_skipped),
        JOURNAL_TEST(test_a_newer_version_is_refused),
        JOURNAL_TEST(test_a_missing_segment_is_corrupt),
        JOURNAL_TEST(test_a_segment_under_another_name_is_corrupt),
        JOURNAL_TEST(test_leftovers_go_and_other_files_stay),
        JOURNAL_TEST(test_the_owner_can_stop_the_replay),
        JOURNAL_TEST(test_failed_allocations_and_reads_end_the_open),
    };
    return cmocka_run_group_tests_name("replay", tests, NULL, NULL);
}
