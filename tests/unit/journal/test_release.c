/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of giving segments back. */
#include "unit/journal/journal_fixture.h"

#include <pthread.h>
#include <stdatomic.h>

static void commit_and_cut(struct journal_fixture *fixture, const char *text)
{
    fixture_must_commit(fixture, text);
    (void)vv_journal_cut(fixture->journal);
}

static void test_only_whole_segments_go(void **state)
{
    struct journal_fixture *fixture = *state;
    fixture_open(fixture);
    fixture_must_commit(fixture, "a");
    struct vv_journal_position middle = vv_journal_end(fixture->journal);
    commit_and_cut(fixture, "b");
    commit_and_cut(fixture, "c");
    fixture_must_commit(fixture, "d");
    assert_int_equal(vv_journal_release(fixture->journal, middle, NULL), VV_OK);
    assert_true(fixture_exists(fixture, 1));
    struct vv_journal_position next = {2, 64};
    assert_int_equal(vv_journal_release(fixture->journal, next, NULL), VV_OK);
    assert_false(fixture_exists(fixture, 1));
    assert_true(fixture_exists(fixture, 2));
    struct vv_journal_position end = vv_journal_end(fixture->journal);
    assert_int_equal(vv_journal_release(fixture->journal, end, NULL), VV_OK);
    assert_false(fixture_exists(fixture, 2));
    assert_true(fixture_exists(fixture, 3)); /* it is open */
    fixture_close(fixture);
    fixture_open(fixture);
    fixture_check(fixture, "d");
}

static void test_a_cut_lets_all_go(void **state)
{
    struct journal_fixture *fixture = *state;
    fixture_open(fixture);
    fixture_must_commit(fixture, "a");
    struct vv_journal_position cut = vv_journal_cut(fixture->journal);
    assert_true(cut.segment == 1 && cut.offset == 64 + 48);
    struct vv_journal_position again = vv_journal_cut(fixture->journal);
    assert_memory_equal(&cut, &again, sizeof cut);
    assert_int_equal(vv_journal_release(fixture->journal, cut, NULL), VV_OK);
    assert_int_equal(fixture_figures(fixture).bytes, 0);
    assert_int_equal(fixture_figures(fixture).oldest_ns, 0);
    fixture_must_commit(fixture, "b");
    assert_int_equal(fixture_file_size(fixture, 1), 64); /* its space went back */
    cut = vv_journal_cut(fixture->journal);
    assert_int_equal(vv_journal_release(fixture->journal, cut, NULL), VV_OK);
    assert_false(fixture_exists(fixture, 1));
    fixture_close(fixture);
    assert_int_equal(fixture_file_size(fixture, 2), 64);
    fixture_open(fixture);
    fixture_check(fixture, "");
    fixture_must_commit(fixture, "c"); /* numbers go on */
    assert_int_equal(vv_journal_end(fixture->journal).segment, 3);
    fixture_crash(fixture);
    fixture_open(fixture);
    fixture_check(fixture, "c");
}

static void test_what_was_released_does_not_come_back_after_the_next_commit(void **state)
{
    struct journal_fixture *fixture = *state;
    fixture_open(fixture);
    fixture_must_commit(fixture, "a");
    struct vv_journal_position cut = vv_journal_cut(fixture->journal);
    assert_int_equal(vv_journal_release(fixture->journal, cut, NULL), VV_OK);
    /* The old segment cannot even be emptied: the new one's header counts. */
    vv_sim_disk_fail_call(fixture->sim, VV_SIM_TRUNCATE, 1, VV_IO);
    fixture_must_commit(fixture, "b");
    assert_true(fixture_file_size(fixture, 1) > 64);
    fixture_crash(fixture);
    fixture_open(fixture);
    fixture_check(fixture, "b");
}

static void test_a_failed_removal_is_tried_again(void **state)
{
    struct journal_fixture *fixture = *state;
    fixture_open(fixture);
    commit_and_cut(fixture, "a");
    commit_and_cut(fixture, "b");
    fixture_must_commit(fixture, "c");
    struct vv_journal_position end = vv_journal_end(fixture->journal);
    vv_sim_disk_fail_call(fixture->sim, VV_SIM_REMOVE, 1, VV_IO);
    assert_int_equal(vv_journal_release(fixture->journal, end, &fixture->error), VV_IO);
    assert_int_equal(fixture_figures(fixture).segments, 3);
    vv_sim_disk_fail_call(fixture->sim, VV_SIM_SYNC_FOLDER, 1, VV_IO);
    assert_int_equal(vv_journal_release(fixture->journal, end, &fixture->error), VV_IO);
    assert_int_equal(vv_journal_release(fixture->journal, end, &fixture->error), VV_OK);
    assert_int_equal(fixture_figures(fixture).segments, 1);
    fixture_crash(fixture);
    fixture_open(fixture);
    assert_string_equal(fixture->texts[fixture->replayed - 1], "c");
}

static void test_a_segment_that_is_gone_already_counts_as_removed(void **state)
{
    struct journal_fixture *fixture = *state;
    fixture_open(fixture);
    commit_and_cut(fixture, "a");
    fixture_must_commit(fixture, "b");
    assert_int_equal(fixture->disk->ops->remove(fixture->disk, "/j/0000000000000001.seg", NULL),
                     VV_OK);
    struct vv_journal_position end = vv_journal_end(fixture->journal);
    assert_int_equal(vv_journal_release(fixture->journal, end, NULL), VV_OK);
    assert_int_equal(fixture_figures(fixture).segments, 1);
}

static void test_positions_beyond_the_end_do_no_harm(void **state)
{
    struct journal_fixture *fixture = *state;
    fixture_open(fixture);
    commit_and_cut(fixture, "a");
    fixture_must_commit(fixture, "b");
    struct vv_journal_position beyond = {UINT64_MAX, UINT64_MAX};
    assert_int_equal(vv_journal_release(fixture->journal, beyond, NULL), VV_OK);
    fixture_must_commit(fixture, "c");
    fixture_crash(fixture);
    fixture_open(fixture);
    fixture_check(fixture, "b c");
}

struct releaser {
    struct vv_journal *journal;
    _Atomic uint64_t segment; /* before it all may go */
    atomic_bool stop;
    atomic_bool wrong; /* asserts are for the main thread only */
};

/* The first life's removal is not durable yet when the second life removes the next one. */
static void test_removals_before_and_after_a_kill_leave_no_gap(void **state)
{
    struct journal_fixture *fixture = *state;
    for (int turn = 0; turn < 50; turn++) {
        fixture_open(fixture);
        commit_and_cut(fixture, "a");
        struct vv_journal_position first = vv_journal_end(fixture->journal);
        commit_and_cut(fixture, "b");
        struct vv_journal_position second = vv_journal_end(fixture->journal);
        commit_and_cut(fixture, "c");
        assert_int_equal(vv_journal_release(fixture->journal, first, NULL), VV_OK);
        fixture_kill(fixture);
        fixture_open(fixture);
        assert_int_equal(vv_journal_release(fixture->journal, second, NULL), VV_OK);
        fixture_crash(fixture);
    }
    fixture_open(fixture);
}

/* The next segment was given up when its name was not durable; a crash may bring it back. It says
 * where the one before ends, so that one must not have been emptied. */
static void test_a_segment_that_was_given_up_may_come_back(void **state)
{
    struct journal_fixture *fixture = *state;
    for (int turn = 0; turn < 50; turn++) {
        fixture_open(fixture);
        commit_and_cut(fixture, "a");
        vv_sim_disk_fail_call(fixture->sim, VV_SIM_SYNC_FOLDER, 1, VV_IO);
        assert_int_equal(fixture_commit(fixture, "b"), VV_IO);
        struct vv_journal_position end = vv_journal_end(fixture->journal);
        assert_int_equal(vv_journal_release(fixture->journal, end, NULL), VV_OK);
        fixture_close(fixture);
        vv_sim_disk_crash(fixture->sim);
    }
    fixture_open(fixture);
}

static void *release_all(void *argument)
{
    struct releaser *releaser = argument;
    while (!atomic_load(&releaser->stop)) {
        struct vv_journal_position position = {atomic_load(&releaser->segment), 0};
        enum vv_status status = vv_journal_release(releaser->journal, position, NULL);
        struct vv_journal_figures figures;
        vv_journal_read_figures(releaser->journal, &figures);
        if (status != VV_OK || figures.bytes > figures.file_bytes) {
            atomic_store(&releaser->wrong, true);
        }
        (void)vv_journal_end(releaser->journal);
    }
    return NULL;
}

static void test_others_release_while_the_owner_commits(void **state)
{
    struct journal_fixture *fixture = *state;
    fixture->options.segment_bytes = 300;
    fixture_open(fixture);
    struct releaser releaser = {.journal = fixture->journal};
    pthread_t threads[2];
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, release_all, &releaser), 0);
    }
    for (unsigned i = 0; i < 2000; i++) {
        fixture_must_commit(fixture, "x");
        struct vv_journal_position end =
            i % 7 ? vv_journal_end(fixture->journal) : vv_journal_cut(fixture->journal);
        atomic_store(&releaser.segment, i % 3 ? end.segment : end.segment + 1);
    }
    atomic_store(&releaser.stop, true);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_false(atomic_load(&releaser.wrong));
    fixture_must_commit(fixture, "last");
    fixture_crash(fixture);
    fixture_open(fixture);
    assert_string_equal(fixture->texts[fixture->replayed - 1], "last");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        JOURNAL_TEST(test_only_whole_segments_go),
        JOURNAL_TEST(test_a_cut_lets_all_go),
        JOURNAL_TEST(test_what_was_released_does_not_come_back_after_the_next_commit),
        JOURNAL_TEST(test_a_failed_removal_is_tried_again),
        JOURNAL_TEST(test_a_segment_that_is_gone_already_counts_as_removed),
        JOURNAL_TEST(test_positions_beyond_the_end_do_no_harm),
        JOURNAL_TEST(test_a_segment_that_was_given_up_may_come_back),
        JOURNAL_TEST(test_removals_before_and_after_a_kill_leave_no_gap),
        JOURNAL_TEST(test_others_release_while_the_owner_commits),
    };
    return cmocka_run_group_tests_name("release", tests, NULL, NULL);
}
