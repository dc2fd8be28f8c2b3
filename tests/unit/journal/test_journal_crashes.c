/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guarantee 1 (acknowledged is durable) for the journal: hundreds of seeded histories of commits,
 * cuts, releases, faults, kills and losses of power over the simulated disk. At each open, what is
 * replayed is compared with what was answered:
 *   acknowledged        replayed exactly once, in order, unless it was released
 *   certainly refused   never replayed
 *   unknown             replayed or not; once replayed it stays, once a later commit succeeded
 *                       without it, it is gone
 */
#include "base/log.h"
#include "base/random.h"
#include "journal/journal.h"
#include "simulation/sim_clock.h"
#include "simulation/sim_disk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define SEEDS            1000u
#define LIVES            10u
#define STEPS_MAX        40u
#define RECORDS_MAX      5u
#define ENTRIES_MAX      (LIVES * STEPS_MAX * RECORDS_MAX)
#define PAYLOAD_SIZE_MAX 3000u

enum fate { ACKNOWLEDGED, REFUSED, UNKNOWN };

struct entry {
    enum fate fate;
    bool released;
    struct vv_journal_position end; /* when acknowledged */
};

struct totals {
    uint64_t acknowledged;
    uint64_t refused_full;
    uint64_t refused_io;
    uint64_t unknown;
    uint64_t unknown_replayed;
    uint64_t replayed;
    uint64_t crashes;
    uint64_t kills;
    uint64_t opens_failed;
};

struct world {
    uint64_t seed;
    struct vv_random random;
    struct vv_sim_disk *disk;
    struct vv_sim_clock clock;
    struct vv_journal_options options;
    struct vv_journal *journal;
    struct entry entries[ENTRIES_MAX]; /* by id */
    size_t count;
    bool replayed[ENTRIES_MAX];
    size_t replay_next; /* the least id that may come next */
    bool replay_wrong;
    uint64_t bytes_at_open;
    struct totals *totals;
};

static uint64_t below(struct world *world, uint64_t bound)
{
    return vv_random_below(&world->random, bound);
}

static size_t payload_size(size_t id)
{
    struct vv_random random = {id * 7919};
    return (size_t)vv_random_below(&random, vv_random_below(&random, 8) ? 200 : PAYLOAD_SIZE_MAX);
}

static void payload_fill(size_t id, uint8_t *out, size_t size)
{
    struct vv_random random = {id};
    for (size_t i = 0; i < size; i++) {
        out[i] = (uint8_t)vv_random_next(&random);
    }
}

static enum vv_status on_replay(void *context, const struct vv_journal_record *record,
                                struct vv_journal_position position)
{
    struct world *world = context;
    size_t id = (size_t)vv_stamp_clock_us(record->stamp);
    uint8_t expected[PAYLOAD_SIZE_MAX];
    bool fine = id >= world->replay_next && id < world->count && record->size == payload_size(id) &&
                record->kind == 1 + id % 7;
    if (fine) {
        payload_fill(id, expected, record->size);
        fine = record->size == 0 || memcmp(expected, record->bytes, record->size) == 0;
        fine = fine && world->entries[id].fate != REFUSED;
    }
    if (!fine) {
        printf("seed %llu: record %zu (fate %d) replayed, expected at least %zu of %zu\n",
               (unsigned long long)world->seed, id,
               id < world->count ? (int)world->entries[id].fate : -1, world->replay_next,
               world->count);
        world->replay_wrong = true;
        return VV_CANCELLED;
    }
    world->replayed[id] = true;
    world->entries[id].end = position;
    world->replay_next = id + 1;
    return VV_OK;
}

static void check_replay(struct world *world)
{
    for (size_t id = 0; id < world->count; id++) {
        struct entry *entry = &world->entries[id];
        if (entry->fate == ACKNOWLEDGED && !entry->released && !world->replayed[id]) {
            fail_msg("seed %llu: record %zu of %zu was acknowledged and is lost",
                     (unsigned long long)world->seed, id, world->count);
        }
        if (world->replayed[id]) {
            world->totals->replayed++;
            world->totals->unknown_replayed += entry->fate == UNKNOWN;
            entry->fate = ACKNOWLEDGED;
            entry->released = false;
        }
    }
}

static void set_faults(struct world *world)
{
    static const uint32_t rates[VV_SIM_CALLS] = {
        [VV_SIM_OPEN] = 20000,    [VV_SIM_READ] = 1000,      [VV_SIM_WRITE] = 40000,
        [VV_SIM_SYNC] = 60000,    [VV_SIM_TRUNCATE] = 50000, [VV_SIM_ALLOCATE] = 50000,
        [VV_SIM_REMOVE] = 100000, [VV_SIM_RENAME] = 50000,   [VV_SIM_SYNC_FOLDER] = 50000,
    };
    vv_sim_disk_heal(world->disk);
    vv_sim_disk_set_allocates(world->disk, below(world, 4) != 0);
    uint64_t factor = below(world, 3) ? below(world, 5) : 0;
    for (unsigned call = 0; call < VV_SIM_CALLS; call++) {
        vv_sim_disk_fail_rate(world->disk, (enum vv_sim_call)call,
                              (uint32_t)(rates[call] * factor));
    }
    if (below(world, 4) == 0) {
        vv_sim_disk_set_capacity(world->disk, below(world, 100000));
    }
    if (below(world, 2) == 0) {
        vv_sim_disk_power_off_after(world->disk, 1 + below(world, 60));
    }
}

/* The end of a life: the machine stops, or only the process. */
static void stop(struct world *world)
{
    if (world->journal) {
        if (below(world, 4) != 0) {
            vv_sim_disk_power_off_after(world->disk, 0); /* close changes nothing any more */
        }
        vv_journal_close(world->journal);
        world->journal = NULL;
    }
    if (below(world, 3) == 0) {
        vv_sim_disk_restart(world->disk);
        world->totals->kills++;
    } else {
        vv_sim_disk_crash(world->disk);
        world->totals->crashes++;
    }
}

static void start(struct world *world)
{
    for (unsigned attempt = 0; !world->journal; attempt++) {
        if (attempt < 4) {
            set_faults(world);
        } else {
            vv_sim_disk_heal(world->disk);
        }
        memset(world->replayed, 0, sizeof world->replayed);
        world->replay_next = 0;
        struct vv_error error = {0};
        enum vv_status status =
            vv_journal_open(&world->options, on_replay, world, &world->journal, &error);
        if (world->replay_wrong || (status != VV_OK && status != VV_IO && status != VV_FULL) ||
            (status != VV_OK && attempt >= 4)) {
            fail_msg("seed %llu: open gives %s: %s", (unsigned long long)world->seed,
                     vv_status_name(status), error.message);
        }
        if (status != VV_OK) {
            world->totals->opens_failed++;
            stop(world);
        }
    }
    check_replay(world);
    struct vv_journal_figures figures;
    vv_journal_read_figures(world->journal, &figures);
    world->bytes_at_open = figures.bytes;
}

static void settle_unknown(struct world *world, size_t before)
{
    for (size_t id = 0; id < before; id++) {
        if (world->entries[id].fate == UNKNOWN) {
            world->entries[id].fate = REFUSED;
        }
    }
}

static void count_outcome(struct world *world, enum vv_status status, size_t n)
{
    world->totals->acknowledged += status == VV_OK ? n : 0;
    world->totals->refused_full += status == VV_FULL ? n : 0;
    world->totals->refused_io += status == VV_IO ? n : 0;
    world->totals->unknown += status == VV_UNKNOWN ? n : 0;
}

static void commit(struct world *world)
{
    static uint8_t payloads[RECORDS_MAX][PAYLOAD_SIZE_MAX];
    struct vv_journal_record records[RECORDS_MAX];
    size_t n = 1 + (size_t)below(world, RECORDS_MAX);
    size_t first = world->count;
    for (size_t i = 0; i < n; i++) {
        size_t id = first + i;
        size_t size = payload_size(id);
        payload_fill(id, payloads[i], size);
        records[i] = (struct vv_journal_record){.stamp = vv_stamp_make(id, 3),
                                                .kind = (uint8_t)(1 + id % 7),
                                                .bytes = payloads[i],
                                                .size = size};
    }
    struct vv_journal_position end = {0, 0};
    enum vv_status status = vv_journal_commit(world->journal, records, n, &end, NULL);
    enum fate fate = status == VV_OK ? ACKNOWLEDGED : status == VV_UNKNOWN ? UNKNOWN : REFUSED;
    if (status != VV_OK && status != VV_UNKNOWN && status != VV_IO && status != VV_FULL) {
        fail_msg("seed %llu: commit gives %s", (unsigned long long)world->seed,
                 vv_status_name(status));
    }
    for (size_t i = 0; i < n; i++) {
        world->entries[world->count++] = (struct entry){.fate = fate, .end = end};
    }
    count_outcome(world, status, n);
    if (status == VV_OK) {
        settle_unknown(world, first);
    }
}

static bool is_before(struct vv_journal_position a, struct vv_journal_position b)
{
    return a.segment < b.segment || (a.segment == b.segment && a.offset <= b.offset);
}

static void release(struct world *world)
{
    struct vv_journal_position position = vv_journal_end(world->journal);
    if (below(world, 2) == 0) {
        position = vv_journal_cut(world->journal);
    } else if (world->count > 0) {
        const struct entry *entry = &world->entries[below(world, world->count)];
        position = entry->fate == ACKNOWLEDGED ? entry->end : position;
    }
    for (size_t id = 0; id < world->count; id++) {
        struct entry *entry = &world->entries[id];
        entry->released |= entry->fate == ACKNOWLEDGED && is_before(entry->end, position);
    }
    enum vv_status status = vv_journal_release(world->journal, position, NULL);
    assert_true(status == VV_OK || status == VV_IO);
}

static void check_figures(struct world *world)
{
    struct vv_journal_figures figures;
    vv_journal_read_figures(world->journal, &figures);
    assert_true(figures.bytes <= figures.file_bytes);
    assert_true(figures.damaged == 0);
    /* A removal that a crash undid may bring back more than the limit. */
    uint64_t bytes_max = world->options.bytes_max < world->bytes_at_open ? world->bytes_at_open
                                                                         : world->options.bytes_max;
    if (world->options.bytes_max != 0 && figures.bytes > bytes_max) {
        fail_msg("seed %llu: %llu bytes of records, at most %llu", (unsigned long long)world->seed,
                 (unsigned long long)figures.bytes, (unsigned long long)bytes_max);
    }
}

static void live(struct world *world)
{
    start(world);
    size_t steps = 1 + (size_t)below(world, STEPS_MAX);
    for (size_t i = 0; i < steps && !vv_sim_disk_is_off(world->disk); i++) {
        vv_sim_clock_advance(&world->clock, (int64_t)below(world, 1000000));
        uint64_t choice = below(world, 20);
        if (choice == 0) {
            vv_sim_clock_jump(&world->clock, (int64_t)below(world, 2000000000));
        } else if (choice == 1) {
            (void)vv_journal_cut(world->journal);
        } else if (choice == 2) {
            release(world);
        } else if (choice == 3) {
            set_faults(world);
        } else {
            commit(world);
        }
        check_figures(world);
    }
    stop(world);
}

static void run_seed(uint64_t seed, struct totals *totals)
{
    static const uint64_t segment_bytes[] = {0, 300, 1024, 4096, 16384, 65536};
    static const uint64_t bytes_max[] = {0, 0, 20000, 100000};
    struct world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    world->seed = seed;
    world->random.state = seed;
    world->totals = totals;
    world->disk = vv_sim_disk_create(seed);
    vv_sim_clock_init(&world->clock, 1000000000);
    struct vv_disk *disk = vv_sim_disk_interface(world->disk);
    assert_int_equal(disk->ops->make_folder(disk, "/journal", NULL), VV_OK);
    assert_int_equal(disk->ops->sync_folder(disk, "/", NULL), VV_OK);
    world->options = (struct vv_journal_options){
        .disk = disk,
        .clock = &world->clock.clock,
        .folder = "/journal",
        .segment_bytes = segment_bytes[below(world, 6)],
        .bytes_max = bytes_max[below(world, 4)],
    };
    for (unsigned i = 0; i < LIVES; i++) {
        live(world);
    }
    start(world);
    vv_journal_close(world->journal);
    vv_sim_disk_destroy(world->disk);
    free(world);
}

static void test_every_history_is_replayed_right(void **state)
{
    (void)state;
    const char *only = getenv("VARVE_TEST_SEED");
    struct totals totals = {0};
    uint64_t first = only ? strtoull(only, NULL, 10) : 1;
    uint64_t last = only ? first : SEEDS;
    for (uint64_t seed = first; seed <= last; seed++) {
        run_seed(seed, &totals);
    }
    printf("seeds %llu to %llu: acknowledged %llu, refused full %llu io %llu, unknown %llu "
           "(replayed %llu), replayed %llu, crashes %llu, kills %llu, opens failed %llu\n",
           (unsigned long long)first, (unsigned long long)last,
           (unsigned long long)totals.acknowledged, (unsigned long long)totals.refused_full,
           (unsigned long long)totals.refused_io, (unsigned long long)totals.unknown,
           (unsigned long long)totals.unknown_replayed, (unsigned long long)totals.replayed,
           (unsigned long long)totals.crashes, (unsigned long long)totals.kills,
           (unsigned long long)totals.opens_failed);
    if (!only) { /* each kind of outcome was met */
        assert_true(totals.acknowledged > 0 && totals.refused_full > 0 && totals.refused_io > 0);
        assert_true(totals.unknown > 0 && totals.unknown_replayed > 0);
        assert_true(totals.unknown_replayed < totals.unknown);
        assert_true(totals.crashes > 0 && totals.kills > 0 && totals.opens_failed > 0);
    }
}

int main(void)
{
    vv_log_level_set(VV_LOG_OFF);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_history_is_replayed_right),
    };
    return cmocka_run_group_tests_name("journal crashes", tests, NULL, NULL);
}
