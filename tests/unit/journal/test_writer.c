/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of commits that fail: what the answer says must be true after a restart. */
#include "unit/journal/journal_fixture.h"

static void test_a_failed_write_stores_nothing(void **state)
{
    struct journal_fixture *fixture = *state;
    static const enum vv_status causes[] = {VV_FULL, VV_IO};
    fixture_open(fixture);
    fixture_must_commit(fixture, "a");
    for (size_t i = 0; i < 2; i++) {
        vv_sim_disk_fail_call(fixture->sim, VV_SIM_WRITE, 1, causes[i]);
        assert_int_equal(fixture_commit(fixture, "refused"), causes[i]);
        assert_string_not_equal(fixture->error.message, "");
        assert_int_equal(fixture_file_size(fixture, 1), 64 + 48);
    }
    fixture_must_commit(fixture, "b"); /* in the same segment */
    assert_int_equal(vv_journal_end(fixture->journal).segment, 1);
    assert_int_equal(fixture_figures(fixture).file_bytes, 4096); /* it has its space again */
    fixture_crash(fixture);
    fixture_open(fixture);
    fixture_check(fixture, "a b");
}

static void test_a_failed_sync_stores_nothing_when_the_tail_is_cut(void **state)
{
    struct journal_fixture *fixture = *state;
    fixture_open(fixture);
    fixture_must_commit(fixture, "a");
    vv_sim_disk_fail_call(fixture->sim, VV_SIM_SYNC, 1, VV_IO);
    assert_int_equal(fixture_commit(fixture, "refused"), VV_IO);
    assert_int_equal(fixture_figures(fixture).sync_failures, 1);
    fixture_must_commit(fixture, "b");
    fixture_crash(fixture);
    fixture_open(fixture);
    fixture_check(fixture, "a b");
}

/* The sync fails, and then `call`, which the cutting off of the tail needs. */
static void fail_to_cut(struct journal_fixture *fixture, enum vv_sim_call call)
{
    vv_sim_disk_fail_call(fixture->sim, VV_SIM_WRITE, 1, VV_IO);
    vv_sim_disk_fail_call(fixture->sim, call, 1, VV_IO);
    assert_int_equal(fixture_commit(fixture, "unknown"), VV_UNKNOWN);
    assert_non_null(strstr(fixture->error.message, "not known"));
}

static void test_an_uncut_tail_is_unknown(void **state)
{
    struct journal_fixture *fixture = *state;
    fixture_open(fixture);
    fixture_must_commit(fixture, "a");
    fail_to_cut(fixture, VV_SIM_TRUNCATE);
    assert_int_equal(vv_journal_end(fixture->journal).offset, 64 + 48);
    fixture_must_commit(fixture, "b"); /* goes on in a new segment */
    assert_int_equal(vv_journal_end(fixture->journal).segment, 2);
    fail_to_cut(fixture, VV_SIM_SYNC);
    fixture_must_commit(fixture, "c");
    assert_int_equal(vv_journal_end(fixture->journal).segment, 3);
    assert_int_equal(fixture_figures(fixture).unknown, 2);
    fixture_crash(fixture);
    fixture_open(fixture); /* the tails are not taken for damage */
    fixture_check(fixture, "a b c");
}

/* Written whole, not synced, not cut off: after a kill it is there, after another commit it is
 * not, although its bytes still are. */
static void test_an_unknown_record_is_decided_by_the_next_commit(void **state)
{
    struct journal_fixture *fixture = *state;
    for (unsigned commit_after = 0; commit_after < 2; commit_after++) {
        fixture_open(fixture);
        fixture_must_commit(fixture, "a");
        vv_sim_disk_fail_call(fixture->sim, VV_SIM_SYNC, 1, VV_IO);
        vv_sim_disk_fail_call(fixture->sim, VV_SIM_TRUNCATE, 1, VV_IO);
        assert_int_equal(fixture_commit(fixture, "unknown"), VV_UNKNOWN);
        if (commit_after) {
            fixture_must_commit(fixture, "b");
        }
        fixture_kill(fixture);
        fixture_open(fixture);
        fixture_check(fixture, commit_after ? "a unknown a b" : "a unknown");
        fixture_crash(fixture);
        fixture_open(fixture); /* what was replayed once stays */
        fixture_check(fixture, commit_after ? "a unknown a b" : "a unknown");
        fixture_close(fixture);
    }
}

static void test_each_step_of_a_new_segment_may_fail(void **state)
{
    struct journal_fixture *fixture = *state;
    static const enum vv_sim_call calls[] = {VV_SIM_OPEN, VV_SIM_WRITE, VV_SIM_SYNC, VV_SIM_RENAME,
                                             VV_SIM_SYNC_FOLDER};
    fixture_open(fixture);
    fixture_must_commit(fixture, "a");
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        (void)vv_journal_cut(fixture->journal);
        vv_sim_disk_fail_call(fixture->sim, calls[i], 1, VV_FULL);
        assert_int_equal(fixture_commit(fixture, "refused"), VV_FULL);
        vv_sim_disk_fail_call(fixture->sim, calls[i], 1, VV_EXISTS);
        assert_int_equal(fixture_commit(fixture, "refused"), VV_IO);
        uint64_t files;
        uint64_t bytes;
        vv_sim_disk_usage(fixture->sim, &files, &bytes);
        assert_int_equal(files, 1 + i); /* nothing is left behind */
        fixture_must_commit(fixture, "b");
        assert_int_equal(vv_journal_end(fixture->journal).segment, 2 + i);
    }
    fixture_crash(fixture);
    fixture_open(fixture);
    fixture_check(fixture, "a b b b b b");
}

/* The header of a segment whose making failed may be on the disk and say where the one before ends:
 * that one must not grow any more. */
static void test_nothing_is_added_behind_a_segment_that_was_to_follow(void **state)
{
    struct journal_fixture *fixture = *state;
    fixture_open(fixture);
    char large[4033];
    memset(large, 'L', sizeof large);
    large[sizeof large - 1] = '\0';
    fixture_must_commit(fixture, "a");
    vv_sim_disk_fail_call(fixture->sim, VV_SIM_SYNC_FOLDER, 1, VV_IO);
    vv_sim_disk_fail_call(fixture->sim, VV_SIM_REMOVE, 2,
                          VV_IO); /* the first is of an old ".new" */
    vv_sim_disk_fail_rate(fixture->sim, VV_SIM_REMOVE, 1000000);
    assert_int_equal(fixture_commit(fixture, large), VV_IO); /* needs a new segment */
    assert_true(fixture_exists(fixture, 2));
    vv_sim_disk_heal(fixture->sim);
    fixture_must_commit(fixture, "b"); /* would have found room in the first */
    fixture_crash(fixture);
    fixture_open(fixture);
    fixture_check(fixture, "a b");
}

static void test_a_full_disk_refuses_and_recovers(void **state)
{
    struct journal_fixture *fixture = *state;
    fixture_open(fixture);
    vv_sim_disk_set_capacity(fixture->sim, 4095);
    assert_int_equal(fixture_commit(fixture, "refused"), VV_FULL);
    vv_sim_disk_set_capacity(fixture->sim, 4096);
    for (unsigned i = 0; i < 84; i++) {
        fixture_must_commit(fixture, "x"); /* has its space */
    }
    assert_int_equal(fixture_commit(fixture, "refused"), VV_FULL);
    struct vv_journal_position end = vv_journal_end(fixture->journal);
    assert_int_equal(vv_journal_release(fixture->journal, end, NULL), VV_OK);
    vv_sim_disk_set_capacity(fixture->sim, 4096 + 64);
    fixture_must_commit(fixture, "y"); /* the released segment's space went to it */
    fixture_crash(fixture);
    fixture_open(fixture);
    fixture_check(fixture, "y");
}

static void test_a_full_disk_without_preallocation(void **state)
{
    struct journal_fixture *fixture = *state;
    vv_sim_disk_set_allocates(fixture->sim, false);
    fixture_open(fixture);
    fixture_must_commit(fixture, "a");
    vv_sim_disk_set_capacity(fixture->sim, 64 + 48 + 20);
    assert_int_equal(fixture_commit(fixture, "refused"), VV_FULL);
    vv_sim_disk_set_capacity(fixture->sim, 64 + 48 + 48);
    fixture_must_commit(fixture, "b");
    fixture_crash(fixture);
    fixture_open(fixture);
    fixture_check(fixture, "a b");
}

/* An abandoned segment that could not be cut still takes its space on the disk. */
static void test_unknown_space_is_counted(void **state)
{
    struct journal_fixture *fixture = *state;
    vv_sim_disk_set_allocates(fixture->sim, false);
    fixture_open(fixture);
    fixture_must_commit(fixture, "a");
    vv_sim_disk_fail_call(fixture->sim, VV_SIM_SYNC, 1, VV_IO);
    vv_sim_disk_fail_call(fixture->sim, VV_SIM_TRUNCATE, 1, VV_IO);
    assert_int_equal(fixture_commit(fixture, "unknown"), VV_UNKNOWN);
    assert_int_equal(fixture_figures(fixture).file_bytes, 64 + 48 + 48);
    assert_int_equal(fixture_figures(fixture).bytes, 48);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        JOURNAL_TEST(test_a_failed_write_stores_nothing),
        JOURNAL_TEST(test_a_failed_sync_stores_nothing_when_the_tail_is_cut),
        JOURNAL_TEST(test_an_uncut_tail_is_unknown),
        JOURNAL_TEST(test_an_unknown_record_is_decided_by_the_next_commit),
        JOURNAL_TEST(test_each_step_of_a_new_segment_may_fail),
        JOURNAL_TEST(test_nothing_is_added_behind_a_segment_that_was_to_follow),
        JOURNAL_TEST(test_a_full_disk_refuses_and_recovers),
        JOURNAL_TEST(test_a_full_disk_without_preallocation),
        JOURNAL_TEST(test_unknown_space_is_counted),
    };
    return cmocka_run_group_tests_name("writer", tests, NULL, NULL);
}
