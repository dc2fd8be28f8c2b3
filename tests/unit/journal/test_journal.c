/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of committing and reading back, without faults. */
#include "simulation/sim_memory.h"
#include "unit/journal/journal_fixture.h"

static void test_an_empty_journal_has_nothing(void **state)
{
    struct journal_fixture *fixture = *state;
    fixture_open(fixture);
    struct vv_journal_position end = vv_journal_end(fixture->journal);
    assert_true(end.segment == 0 && end.offset == 0);
    assert_int_equal(fixture_figures(fixture).file_bytes, 0);
    end = vv_journal_cut(fixture->journal);
    assert_true(end.segment == 0 && end.offset == 0);
    assert_int_equal(vv_journal_release(fixture->journal, end, NULL), VV_OK);
    assert_int_equal(vv_journal_commit(fixture->journal, NULL, 0, &end, NULL), VV_OK);
    assert_int_equal(fixture_figures(fixture).segments, 0);
}

static void test_records_come_back_in_order(void **state)
{
    struct journal_fixture *fixture = *state;
    fixture_open(fixture);
    struct vv_journal_record records[3] = {fixture_record("one"), fixture_record(""),
                                           fixture_record("three")};
    struct vv_journal_position end;
    assert_int_equal(vv_journal_commit(fixture->journal, records, 3, &end, NULL), VV_OK);
    assert_true(end.segment == 1 && end.offset == 64 + 48 + 40 + 48);
    fixture_must_commit(fixture, "four");
    struct vv_journal_position last = vv_journal_end(fixture->journal);
    fixture_crash(fixture);
    fixture_open(fixture);
    fixture_check(fixture, "one  three four");
    assert_int_equal(fixture->sizes[1], 0);
    assert_memory_equal(&fixture->positions[2], &end, sizeof end);
    assert_memory_equal(&fixture->positions[3], &last, sizeof last);
    struct vv_journal_position now = vv_journal_end(fixture->journal);
    assert_memory_equal(&now, &last, sizeof last);
    assert_int_equal(fixture_figures(fixture).replayed, 4);
}

static enum vv_status check_record(void *context, const struct vv_journal_record *record,
                                   struct vv_journal_position position)
{
    (void)position;
    const struct vv_journal_record *expected = context;
    assert_true(record->stamp == expected->stamp);
    assert_int_equal(record->kind, expected->kind);
    assert_int_equal(record->size, expected->size);
    assert_memory_equal(record->bytes, expected->bytes, expected->size);
    return VV_OK;
}

static void test_a_record_keeps_all_its_parts(void **state)
{
    struct journal_fixture *fixture = *state;
    fixture_open(fixture);
    struct vv_journal_record record = {
        .stamp = UINT64_MAX - 3, .kind = 255, .bytes = "\0binary\xff", .size = 8};
    struct vv_journal_position end;
    assert_int_equal(vv_journal_commit(fixture->journal, &record, 1, &end, NULL), VV_OK);
    fixture_close(fixture);
    assert_int_equal(
        vv_journal_open(&fixture->options, check_record, &record, &fixture->journal, NULL), VV_OK);
    assert_int_equal(fixture_figures(fixture).replayed, 1);
}

static void test_a_full_segment_is_followed_by_another(void **state)
{
    struct journal_fixture *fixture = *state;
    fixture_open(fixture);
    char words[4096] = "";
    size_t used = 0;
    for (unsigned i = 0; i < 200; i++) {
        char text[16];
        snprintf(text, sizeof text, "r%u", i);
        used += (size_t)snprintf(words + used, sizeof words - used, "%s%s", i ? " " : "", text);
        fixture_must_commit(fixture, text);
        assert_true(vv_journal_end(fixture->journal).offset <= 4096);
    }
    struct vv_journal_figures figures = fixture_figures(fixture);
    assert_int_equal(figures.segments, 3); /* (4096 − 64) / 48 = 84 records each */
    assert_int_equal(figures.bytes, 200 * 48);
    assert_int_equal(figures.file_bytes, 2 * (64 + 84 * 48) + 4096);
    assert_int_equal(figures.records, 200);
    assert_int_equal(figures.syncs, 200);
    fixture_crash(fixture);
    fixture_open(fixture);
    fixture_check(fixture, words);
}

static void test_each_open_begins_a_new_segment(void **state)
{
    struct journal_fixture *fixture = *state;
    for (unsigned i = 1; i <= 5; i++) {
        fixture_open(fixture);
        assert_int_equal(fixture->replayed, i - 1);
        fixture_must_commit(fixture, "x");
        assert_int_equal(vv_journal_end(fixture->journal).segment, i);
        fixture_close(fixture);
        assert_int_equal(fixture_file_size(fixture, i), 64 + 48);
    }
    fixture_open(fixture); /* without a commit, nothing is added */
    fixture_close(fixture);
    assert_false(fixture_exists(fixture, 6));
}

static void test_a_large_commit_gets_a_large_segment(void **state)
{
    struct journal_fixture *fixture = *state;
    fixture_open(fixture);
    fixture_must_commit(fixture, "small");
    size_t size = 3000001;
    char *bytes = malloc(size);
    assert_non_null(bytes);
    memset(bytes, 'L', size);
    struct vv_journal_record records[2] = {fixture_record("before"), fixture_record("")};
    records[1].bytes = bytes;
    records[1].size = size;
    struct vv_journal_position end;
    assert_int_equal(vv_journal_commit(fixture->journal, records, 2, &end, NULL), VV_OK);
    assert_int_equal(end.segment, 2);
    fixture_must_commit(fixture, "after");
    assert_int_equal(vv_journal_end(fixture->journal).segment, 3);
    fixture_crash(fixture);
    fixture_open(fixture);
    fixture_check(fixture, "small before LLLLLLLLLLLLLLLLLLLLLLLLLLLLLLL after");
    assert_int_equal(fixture->sizes[2], size);
    free(bytes);
}

static void test_a_record_beyond_the_limit_is_too_large(void **state)
{
    struct journal_fixture *fixture = *state;
    fixture_open(fixture);
    struct vv_journal_record records[2] = {fixture_record("fine"), fixture_record("too large")};
    records[1].size = VV_JOURNAL_RECORD_BYTES_MAX + 1; /* its bytes are not looked at */
    struct vv_journal_position end;
    assert_int_equal(vv_journal_commit(fixture->journal, records, 2, &end, &fixture->error),
                     VV_TOO_LARGE);
    assert_non_null(strstr(fixture->error.message, "67108864"));
    assert_int_equal(fixture_figures(fixture).segments, 0);
}

static void test_without_preallocation_files_grow(void **state)
{
    struct journal_fixture *fixture = *state;
    vv_sim_disk_set_allocates(fixture->sim, false);
    fixture_open(fixture);
    fixture_must_commit(fixture, "a");
    fixture_must_commit(fixture, "b");
    assert_int_equal(fixture_file_size(fixture, 1), 64 + 96);
    assert_int_equal(fixture_figures(fixture).file_bytes, 64 + 96);
    fixture_crash(fixture);
    fixture_open(fixture);
    fixture_check(fixture, "a b");
}

static void test_the_limit_of_bytes_holds(void **state)
{
    struct journal_fixture *fixture = *state;
    fixture->options.bytes_max = 4096 + 64 + 48 * 3 + 10;
    fixture_open(fixture);
    unsigned stored = 0;
    while (fixture_commit(fixture, "x") == VV_OK) {
        stored++;
        assert_true(fixture_figures(fixture).file_bytes <= fixture->options.bytes_max);
    }
    assert_int_equal(fixture_commit(fixture, "x"), VV_FULL);
    assert_non_null(strstr(fixture->error.message, "limit of 4314 bytes"));
    assert_int_equal(stored, 84 + 3); /* the rest of the first segment was given back */
    struct vv_journal_position cut = vv_journal_cut(fixture->journal);
    assert_int_equal(vv_journal_release(fixture->journal, cut, NULL), VV_OK);
    fixture_must_commit(fixture, "again");
    fixture_crash(fixture);
    fixture_open(fixture);
    fixture_check(fixture, "again");
}

static void test_figures_tell_the_oldest(void **state)
{
    struct journal_fixture *fixture = *state;
    fixture_open(fixture);
    assert_int_equal(fixture_figures(fixture).oldest_ns, 0);
    for (uint64_t i = 0; i < 3; i++) {
        struct vv_journal_record record = fixture_record("x");
        record.stamp = vv_stamp_make(1000 + i, 4);
        struct vv_journal_position end;
        assert_int_equal(vv_journal_commit(fixture->journal, &record, 1, &end, NULL), VV_OK);
        (void)vv_journal_cut(fixture->journal);
    }
    assert_int_equal(fixture_figures(fixture).oldest_ns, 1000000);
    struct vv_journal_position first = {1, 64 + 48};
    assert_int_equal(vv_journal_release(fixture->journal, first, NULL), VV_OK);
    assert_int_equal(fixture_figures(fixture).oldest_ns, 1001000);
    fixture_close(fixture);
    fixture_open(fixture);
    assert_int_equal(fixture_figures(fixture).oldest_ns, 1001000);
    assert_int_equal(fixture_figures(fixture).bytes, 96);
}

static void test_failed_allocations_store_nothing_or_all(void **state)
{
    struct journal_fixture *fixture = *state;
    unsigned stored = 0;
    bool failed = true;
    for (uint64_t k = 1; failed; k++) {
        vv_sim_memory_fail(k);
        fixture->replayed = 0;
        enum vv_status status = fixture_try_open(fixture);
        failed = vv_sim_memory_failed();
        if (status != VV_OK) {
            assert_true(failed);
            assert_int_equal(status, VV_NO_MEMORY);
            continue;
        }
        assert_int_equal(fixture->replayed, stored);
        static const char large[5000] = "large";
        struct vv_journal_record record = {.kind = 1, .bytes = large, .size = sizeof large};
        struct vv_journal_position end;
        if (!failed) {
            break;
        }
        status = vv_journal_commit(fixture->journal, &record, 1, &end, NULL);
        stored += status == VV_OK;
        fixture_close(fixture);
    }
    if (fixture->journal) {
        fixture_close(fixture);
    }
    for (uint64_t k = 1; k < 12; k++) {
        fixture_open(fixture);
        assert_int_equal(fixture->replayed, stored);
        vv_sim_memory_fail(k);
        enum vv_status status = fixture_commit(fixture, "x");
        failed = vv_sim_memory_failed();
        assert_true(status == VV_OK || (failed && status == VV_NO_MEMORY));
        stored += status == VV_OK;
        fixture_close(fixture);
    }
    assert_true(stored > 0);
}

static void test_a_long_folder_is_refused(void **state)
{
    struct journal_fixture *fixture = *state;
    char folder[4002];
    memset(folder, 'f', sizeof folder);
    folder[sizeof folder - 1] = '\0';
    fixture->options.folder = folder;
    assert_int_equal(fixture_try_open(fixture), VV_TOO_LARGE);
    fixture->options.folder = "/missing";
    assert_int_equal(fixture_try_open(fixture), VV_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        JOURNAL_TEST(test_an_empty_journal_has_nothing),
        JOURNAL_TEST(test_records_come_back_in_order),
        JOURNAL_TEST(test_a_record_keeps_all_its_parts),
        JOURNAL_TEST(test_a_full_segment_is_followed_by_another),
        JOURNAL_TEST(test_each_open_begins_a_new_segment),
        JOURNAL_TEST(test_a_large_commit_gets_a_large_segment),
        JOURNAL_TEST(test_a_record_beyond_the_limit_is_too_large),
        JOURNAL_TEST(test_without_preallocation_files_grow),
        JOURNAL_TEST(test_the_limit_of_bytes_holds),
        JOURNAL_TEST(test_figures_tell_the_oldest),
        JOURNAL_TEST(test_failed_allocations_store_nothing_or_all),
        JOURNAL_TEST(test_a_long_folder_is_refused),
    };
    return cmocka_run_group_tests_name("journal", tests, NULL, NULL);
}
