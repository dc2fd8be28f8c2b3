/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The accepted count across crashes: it moves with the batches, wherever a flush is cut short. The
 * store keeps any prefix of what a flush wrote before it was confirmed.
 */
#include "base/log.h"
#include "ingest/line_protocol.h"
#include "simulation/sim_clock.h"
#include "simulation/sim_disk.h"
#include "start.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define TENANTS 3
#define SEEDS   12

struct place {
    struct vv_sim_disk *disk;
    struct vv_sim_clock clock;
    struct vv_store *store;
    struct vv_engine *engine;
};

static void open_engine(struct place *place)
{
    struct vv_settings settings;
    vv_settings_init(&settings);
    strcpy(settings.data, "/data");
    settings.disk_reserve_bytes = 0;
    /* Hundreds of engines are opened: large memory costs ThreadSanitizer most of a second each. */
    settings.series_cache_bytes = 1 << 20;
    settings.journal_segment_bytes = 64 << 10;
    struct vv_engine_options options = {.settings = &settings,
                                        .disk = vv_sim_disk_interface(place->disk),
                                        .clock = &place->clock.clock,
                                        .store = place->store,
                                        .manual = true};
    place->engine = start_engine(&options);
}

static void begin(struct place *place)
{
    vv_log_level_set(VV_LOG_OFF);
    place->disk = vv_sim_disk_create(1);
    struct vv_disk *disk = vv_sim_disk_interface(place->disk);
    assert_int_equal(disk->ops->make_folder(disk, "/data", NULL), VV_OK);
    assert_int_equal(disk->ops->make_folder(disk, "/data/journal", NULL), VV_OK);
    vv_sim_clock_init(&place->clock, INT64_C(1767225600) * VV_SECOND);
    struct vv_store_options options = {.folder = "/data/store", .eras = 24};
    assert_int_equal(vv_store_memory_open(&options, &place->store, NULL), VV_OK);
    open_engine(place);
}

static void end(struct place *place)
{
    vv_engine_close(place->engine);
    place->store->ops->close(place->store);
    vv_sim_disk_destroy(place->disk);
}

/* kill -9: the journal is as it was written; the store has all, or (from a seed) some prefix, of
 * its last changes. */
static void crash(struct place *place, const uint64_t *seed)
{
    vv_engine_close(place->engine);
    vv_store_memory_fail(place->store, VV_OK, 0);
    if (seed) {
        vv_store_memory_crash(place->store, *seed);
    }
    vv_sim_disk_restart(place->disk);
    vv_sim_disk_heal(place->disk);
    open_engine(place);
}

static void keep_status(void *context, enum vv_status status, const char *message)
{
    (void)message;
    *(enum vv_status *)context = status;
}

/* Two points for each tenant; each write has this outcome. */
static void write_for_all(struct place *place, enum vv_status expected)
{
    static const char line[] = "m,h=x v=1,w=2 1767225600000000000\n";
    for (int i = 0; i < TENANTS; i++) {
        char name[16];
        struct vv_staging staging;
        struct vv_line_parser *parser;
        enum vv_status outcome = VV_UNKNOWN;
        snprintf(name, sizeof name, "t%d", i);
        assert_int_equal(vv_engine_stage(place->engine, vv_str_of(name), &staging, NULL), VV_OK);
        assert_int_equal(vv_line_parser_create(&staging, 1, &parser), VV_OK);
        assert_int_equal(vv_line_parser_feed(parser, line, sizeof line - 1), VV_OK);
        assert_int_equal(vv_line_parser_finish(parser), VV_OK);
        vv_staging_decide(&staging);
        vv_line_parser_destroy(parser);
        vv_engine_account(place->engine, &staging);
        vv_engine_submit(place->engine, vv_staging_take_batch(&staging), keep_status, &outcome);
        vv_staging_deinit(&staging);
        if (expected != VV_OK) {
            vv_sim_disk_fail_call(place->disk, VV_SIM_WRITE, 1, expected);
        }
        assert_int_equal(vv_engine_step(place->engine, VV_TASK_COMMIT, NULL), VV_OK);
        assert_int_equal(outcome, expected);
    }
}

static void write_some(struct place *place)
{
    write_for_all(place, VV_OK);
}

static void assert_accepted(struct place *place, uint64_t points)
{
    for (uint32_t i = 0; i < TENANTS; i++) {
        struct vv_account account;
        vv_engine_read_account(place->engine, i, &account);
        if (account.accepted != points) {
            fail_msg("tenant %u: %llu points instead of %llu", i,
                     (unsigned long long)account.accepted, (unsigned long long)points);
        }
    }
}

static enum vv_status flush(struct place *place)
{
    struct vv_error error = {0};
    return vv_engine_step(place->engine, VV_TASK_FLUSH, &error);
}

/* Cuts a flush short after `changes` changes; false when it has no more. */
static bool flush_is_cut_short(struct place *place, uint32_t changes)
{
    vv_store_memory_fail_later(place->store, VV_IO, changes, 1000);
    enum vv_status status = flush(place);
    assert_true(status == VV_OK || status == VV_IO);
    return status == VV_IO;
}

static void accepted_moves_with_the_batches_wherever_a_flush_is_cut_short(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        bool more = true;
        for (uint32_t changes = 0; more; changes++) {
            struct place place;
            begin(&place);
            write_some(&place);
            assert_int_equal(flush(&place), VV_OK);
            write_some(&place);
            more = flush_is_cut_short(&place, changes);
            crash(&place, &seed);
            assert_accepted(&place, 4);
            write_some(&place);
            assert_int_equal(flush(&place), VV_OK);
            assert_accepted(&place, 6);
            uint64_t next = seed + 1;
            crash(&place, &next);
            assert_accepted(&place, 6);
            end(&place);
        }
    }
}

/*
 * A write that the journal refuses uses up a stamp; a flush after it that is cut short may leave
 * that stamp in the store. When the clock stands still (or steps back) over the restart, the next
 * life's batches must still count as newer.
 */
static void what_comes_after_a_refused_write_and_a_flush_cut_short_is_counted(void **state)
{
    (void)state;
    bool more = true;
    for (uint32_t changes = 0; more; changes++) {
        struct place place;
        begin(&place);
        write_some(&place);
        for (int i = 0; i < 5; i++) {
            write_for_all(&place, VV_IO);
        }
        more = flush_is_cut_short(&place, changes);
        crash(&place, NULL);
        assert_accepted(&place, 2);
        write_some(&place);
        crash(&place, NULL);
        assert_accepted(&place, 4);
        end(&place);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepted_moves_with_the_batches_wherever_a_flush_is_cut_short),
        cmocka_unit_test(what_comes_after_a_refused_write_and_a_flush_cut_short_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
