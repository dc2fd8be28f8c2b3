/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the simulated disk and clock: a simulation is worth what its disk is worth. */
#include "simulation/sim_clock.h"
#include "simulation/sim_disk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define FATES 200u /* seeds, enough to meet every fate */

static struct vv_file *open_file(struct vv_sim_disk *sim, const char *path, enum vv_open_mode mode)
{
    struct vv_disk *disk = vv_sim_disk_interface(sim);
    struct vv_file *file = NULL;
    assert_int_equal(disk->ops->open(disk, path, mode, &file, NULL), VV_OK);
    return file;
}

/* A disk with a durable file "/f" that holds "old", open for writing. */
static struct vv_sim_disk *make_disk(uint64_t seed, struct vv_file **file_out)
{
    struct vv_sim_disk *sim = vv_sim_disk_create(seed);
    struct vv_disk *disk = vv_sim_disk_interface(sim);
    *file_out = open_file(sim, "/f", VV_OPEN_CREATE);
    assert_int_equal((*file_out)->ops->write(*file_out, 0, "old", 3, NULL), VV_OK);
    assert_int_equal((*file_out)->ops->sync(*file_out, NULL), VV_OK);
    assert_int_equal(disk->ops->sync_folder(disk, "/", NULL), VV_OK);
    return sim;
}

/* Reads "/f" into out, which holds 8192 bytes; returns its size, or -1 when it is not there. */
static long content(struct vv_sim_disk *sim, char *out)
{
    struct vv_disk *disk = vv_sim_disk_interface(sim);
    struct vv_file *file;
    if (disk->ops->open(disk, "/f", VV_OPEN_READ, &file, NULL) != VV_OK) {
        return -1;
    }
    size_t size = 0;
    assert_int_equal(file->ops->read(file, 0, out, 8192, &size, NULL), VV_OK);
    file->ops->close(file);
    return (long)size;
}

static void test_what_was_synced_survives(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < FATES; seed++) {
        struct vv_file *file;
        struct vv_sim_disk *sim = make_disk(seed, &file);
        assert_int_equal(file->ops->write(file, 0, "new!", 4, NULL), VV_OK);
        assert_int_equal(file->ops->sync(file, NULL), VV_OK);
        file->ops->close(file);
        vv_sim_disk_crash(sim);
        char bytes[8192];
        assert_int_equal(content(sim, bytes), 4);
        assert_memory_equal(bytes, "new!", 4);
        vv_sim_disk_destroy(sim);
    }
}

static void test_what_was_not_synced_is_kept_lost_or_torn(void **state)
{
    (void)state;
    static char large[4096];
    memset(large, 'n', sizeof large);
    unsigned kept = 0;
    unsigned lost = 0;
    unsigned torn = 0;
    for (uint64_t seed = 0; seed < FATES; seed++) {
        struct vv_file *file;
        struct vv_sim_disk *sim = make_disk(seed, &file);
        assert_int_equal(file->ops->write(file, 3, large, sizeof large, NULL), VV_OK);
        file->ops->close(file);
        vv_sim_disk_crash(sim);
        char bytes[8192];
        long size = content(sim, bytes);
        assert_memory_equal(bytes, "old", 3);
        bool whole = size == 3 + (long)sizeof large && memcmp(bytes + 3, large, sizeof large) == 0;
        kept += whole;
        lost += size == 3;
        torn += !whole && size != 3;
        vv_sim_disk_destroy(sim);
    }
    assert_true(kept > 0 && lost > 0 && torn > 0);
}

static void test_a_kill_loses_nothing_that_was_written(void **state)
{
    (void)state;
    struct vv_file *file;
    struct vv_sim_disk *sim = make_disk(3, &file);
    assert_int_equal(file->ops->write(file, 0, "new", 3, NULL), VV_OK);
    vv_sim_disk_restart(sim);
    assert_int_equal(file->ops->write(file, 0, "bad", 3, NULL), VV_IO); /* an old handle */
    file->ops->close(file);
    char bytes[8192];
    assert_int_equal(content(sim, bytes), 3);
    assert_memory_equal(bytes, "new", 3);
    vv_sim_disk_destroy(sim);
}

static void test_a_failed_sync_may_lose_what_is_still_seen(void **state)
{
    (void)state;
    unsigned lost = 0;
    unsigned kept = 0;
    for (uint64_t seed = 0; seed < FATES; seed++) {
        struct vv_file *file;
        struct vv_sim_disk *sim = make_disk(seed, &file);
        assert_int_equal(file->ops->write(file, 0, "new", 3, NULL), VV_OK);
        vv_sim_disk_fail_call(sim, VV_SIM_SYNC, 1, VV_IO);
        assert_int_equal(file->ops->sync(file, NULL), VV_IO);
        char bytes[8192];
        assert_int_equal(content(sim, bytes), 3);
        assert_memory_equal(bytes, "new", 3);
        assert_int_equal(file->ops->sync(file, NULL), VV_OK); /* and says nothing */
        file->ops->close(file);
        vv_sim_disk_crash(sim);
        assert_int_equal(content(sim, bytes), 3);
        lost += memcmp(bytes, "old", 3) == 0;
        kept += memcmp(bytes, "new", 3) == 0;
        vv_sim_disk_destroy(sim);
    }
    assert_true(lost > 0 && kept > 0 && lost + kept == FATES);
}

static void test_names_need_a_sync_of_their_folder(void **state)
{
    (void)state;
    unsigned there = 0;
    for (uint64_t seed = 0; seed < FATES; seed++) {
        struct vv_sim_disk *sim = vv_sim_disk_create(seed);
        struct vv_disk *disk = vv_sim_disk_interface(sim);
        struct vv_file *file = open_file(sim, "/new", VV_OPEN_CREATE);
        assert_int_equal(file->ops->write(file, 0, "x", 1, NULL), VV_OK);
        assert_int_equal(file->ops->sync(file, NULL), VV_OK);
        assert_int_equal(disk->ops->rename(disk, "/new", "/f", NULL), VV_OK);
        if (seed % 2) {
            assert_int_equal(disk->ops->sync_folder(disk, "/", NULL), VV_OK);
        }
        file->ops->close(file);
        vv_sim_disk_crash(sim);
        char bytes[8192];
        long size = content(sim, bytes);
        assert_true(size == 1 || seed % 2 == 0);
        there += size == 1;
        vv_sim_disk_destroy(sim);
    }
    assert_in_range(there, FATES / 2 + 1, FATES - 1);
}

static void test_a_removal_may_be_undone(void **state)
{
    (void)state;
    unsigned there = 0;
    for (uint64_t seed = 0; seed < FATES; seed++) {
        struct vv_file *file;
        struct vv_sim_disk *sim = make_disk(seed, &file);
        struct vv_disk *disk = vv_sim_disk_interface(sim);
        file->ops->close(file);
        assert_int_equal(disk->ops->remove(disk, "/f", NULL), VV_OK);
        char bytes[8192];
        assert_int_equal(content(sim, bytes), -1);
        vv_sim_disk_crash(sim);
        there += content(sim, bytes) == 3;
        vv_sim_disk_destroy(sim);
    }
    assert_in_range(there, 1, FATES - 1);
}

static void test_faults_come_when_asked_for(void **state)
{
    (void)state;
    struct vv_file *file;
    struct vv_sim_disk *sim = make_disk(5, &file);
    vv_sim_disk_fail_call(sim, VV_SIM_WRITE, 2, VV_FULL);
    assert_int_equal(file->ops->write(file, 0, "a", 1, NULL), VV_OK);
    assert_int_equal(file->ops->write(file, 0, "b", 1, NULL), VV_FULL);
    assert_int_equal(file->ops->write(file, 0, "c", 1, NULL), VV_OK);
    vv_sim_disk_fail_rate(sim, VV_SIM_READ, 1000000);
    char bytes[4];
    size_t size;
    assert_int_equal(file->ops->read(file, 0, bytes, 4, &size, NULL), VV_IO);
    vv_sim_disk_set_allocates(sim, false);
    assert_int_equal(file->ops->allocate(file, 100, NULL), VV_IO);
    vv_sim_disk_heal(sim);
    assert_int_equal(file->ops->read(file, 0, bytes, 4, &size, NULL), VV_OK);
    assert_int_equal(file->ops->allocate(file, 100, NULL), VV_OK);
    file->ops->close(file);
    vv_sim_disk_destroy(sim);
}

static void test_a_full_disk_takes_what_fits(void **state)
{
    (void)state;
    struct vv_file *file;
    struct vv_sim_disk *sim = make_disk(5, &file);
    struct vv_disk *disk = vv_sim_disk_interface(sim);
    vv_sim_disk_set_capacity(sim, 10);
    assert_int_equal(file->ops->allocate(file, 11, NULL), VV_FULL);
    assert_int_equal(file->ops->write(file, 3, "12345678", 8, NULL), VV_FULL);
    char bytes[8192];
    assert_int_equal(content(sim, bytes), 10);
    assert_memory_equal(bytes, "old1234567", 10);
    assert_int_equal(file->ops->write(file, 0, "new", 3, NULL), VV_OK); /* in place */
    uint64_t left;
    uint64_t total;
    assert_int_equal(disk->ops->free_bytes(disk, "/", &left, &total, NULL), VV_OK);
    assert_int_equal(left, 0);
    assert_int_equal(total, 10);
    file->ops->close(file);
    vv_sim_disk_destroy(sim);
}

static void test_power_off_ends_all_calls(void **state)
{
    (void)state;
    struct vv_file *file;
    struct vv_sim_disk *sim = make_disk(5, &file);
    struct vv_disk *disk = vv_sim_disk_interface(sim);
    vv_sim_disk_power_off_after(sim, 2);
    assert_int_equal(file->ops->write(file, 0, "a", 1, NULL), VV_OK);
    assert_false(vv_sim_disk_is_off(sim));
    assert_int_equal(file->ops->sync(file, NULL), VV_IO);
    assert_true(vv_sim_disk_is_off(sim));
    char bytes[8192];
    size_t size;
    struct vv_file *other;
    assert_int_equal(file->ops->read(file, 0, bytes, 4, &size, NULL), VV_IO);
    assert_int_equal(disk->ops->open(disk, "/f", VV_OPEN_READ, &other, NULL), VV_IO);
    file->ops->close(file);
    vv_sim_disk_crash(sim);
    assert_int_equal(content(sim, bytes), 3);
    vv_sim_disk_destroy(sim);
}

static void test_the_clock_moves_when_told(void **state)
{
    (void)state;
    struct vv_sim_clock sim;
    vv_sim_clock_init(&sim, 100);
    struct vv_clock *clock = &sim.clock;
    assert_int_equal(clock->wall_ns(clock), 100);
    vv_sim_clock_advance(&sim, 5);
    vv_sim_clock_jump(&sim, 50);
    assert_int_equal(clock->wall_ns(clock), 50);
    assert_int_equal(clock->monotonic_ns(clock), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_synced_survives),
        cmocka_unit_test(test_what_was_not_synced_is_kept_lost_or_torn),
        cmocka_unit_test(test_a_kill_loses_nothing_that_was_written),
        cmocka_unit_test(test_a_failed_sync_may_lose_what_is_still_seen),
        cmocka_unit_test(test_names_need_a_sync_of_their_folder),
        cmocka_unit_test(test_a_removal_may_be_undone),
        cmocka_unit_test(test_faults_come_when_asked_for),
        cmocka_unit_test(test_a_full_disk_takes_what_fits),
        cmocka_unit_test(test_power_off_ends_all_calls),
        cmocka_unit_test(test_the_clock_moves_when_told),
    };
    return cmocka_run_group_tests_name("simulated disk", tests, NULL, NULL);
}
