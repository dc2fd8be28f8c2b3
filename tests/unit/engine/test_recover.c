/* SPDX-License-Identifier: Apache-2.0 */
/* Restarts after failures that the simulation meets only now and then; one step at a time. */
#include "base/log.h"
#include "engine/engine.h"
#include "ingest/line_protocol.h"
#include "simulation/sim_clock.h"
#include "simulation/sim_disk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct machine {
    struct vv_sim_clock clock;
    struct vv_sim_disk *sim;
    struct vv_store *store;
    struct vv_engine *engine;
};

static void start(struct machine *machine)
{
    struct vv_settings settings;
    struct vv_error error = {0};
    vv_settings_init(&settings);
    snprintf(settings.data, sizeof settings.data, "/data");
    settings.disk_reserve_bytes = 0;
    struct vv_engine_options options = {.settings = &settings,
                                        .disk = vv_sim_disk_interface(machine->sim),
                                        .clock = &machine->clock.clock,
                                        .store = machine->store,
                                        .manual = true};
    if (vv_engine_open(&options, &machine->engine, &error) != VV_OK ||
        vv_engine_recover(machine->engine, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
}

static void kill_process(struct machine *machine)
{
    vv_engine_close(machine->engine);
    vv_sim_disk_restart(machine->sim);
    vv_sim_disk_heal(machine->sim);
    vv_store_memory_fail(machine->store, VV_OK, 0);
}

static void init(struct machine *machine)
{
    memset(machine, 0, sizeof *machine);
    vv_log_level_set(VV_LOG_OFF);
    vv_sim_clock_init(&machine->clock, 20000 * VV_DAY);
    machine->sim = vv_sim_disk_create(1);
    struct vv_disk *disk = vv_sim_disk_interface(machine->sim);
    assert_int_equal(disk->ops->make_folder(disk, "/data", NULL), VV_OK);
    assert_int_equal(disk->ops->make_folder(disk, "/data/journal", NULL), VV_OK);
    struct vv_store_options options = {.folder = "/data/store", .eras = 24};
    assert_int_equal(vv_store_memory_open(&options, &machine->store, NULL), VV_OK);
    start(machine);
}

static void deinit(struct machine *machine)
{
    vv_engine_close(machine->engine);
    machine->store->ops->close(machine->store);
    vv_sim_disk_destroy(machine->sim);
}

static void keep_status(void *context, enum vv_status status, const char *message)
{
    (void)message;
    *(enum vv_status *)context = status;
}

static enum vv_status write_line(struct machine *machine, const char *text)
{
    struct vv_staging staging;
    struct vv_line_parser *parser;
    enum vv_status status = VV_OVERLOAD;
    assert_int_equal(vv_engine_stage(machine->engine, VV_STR_LITERAL("t"), &staging, NULL), VV_OK);
    assert_int_equal(vv_line_parser_create(&staging, 1, &parser), VV_OK);
    assert_int_equal(vv_line_parser_feed(parser, text, strlen(text)), VV_OK);
    assert_int_equal(vv_line_parser_finish(parser), VV_OK);
    vv_line_parser_destroy(parser);
    vv_engine_account(machine->engine, &staging);
    struct vv_batch *batch = vv_staging_take_batch(&staging);
    vv_staging_deinit(&staging);
    vv_engine_submit(machine->engine, batch, keep_status, &status);
    assert_int_equal(vv_engine_step(machine->engine, VV_TASK_COMMIT, NULL), VV_OK);
    return status;
}

static uint64_t accepted(struct machine *machine)
{
    struct vv_account account;
    vv_engine_read_account(machine->engine, 0, &account);
    return account.accepted;
}

/*
 * A write that the journal refuses uses up a stamp; a flush after it that fails half way may leave
 * that stamp in the store. When the clock stands still (or steps back) over the restart, the next
 * life's batches must still count as newer.
 */
static void what_comes_after_a_refused_write_and_a_flush_cut_short_is_counted(void **state)
{
    (void)state;
    /* Of a flush's writes to the store, whichever is the last that succeeds. */
    for (uint32_t writes = 0; writes < 16; writes++) {
        struct machine machine;
        init(&machine);
        assert_int_equal(write_line(&machine, "m,host=a f=1 1700000000000000000\n"), VV_OK);
        for (int i = 0; i < 5; i++) {
            vv_sim_disk_fail_call(machine.sim, VV_SIM_WRITE, 1, VV_IO);
            assert_int_equal(write_line(&machine, "m,host=a f=2 1700000001000000000\n"), VV_IO);
        }
        vv_store_memory_fail_later(machine.store, VV_IO, writes, 1);
        struct vv_error error = {0};
        (void)!vv_engine_step(machine.engine, VV_TASK_FLUSH, &error);
        kill_process(&machine);
        start(&machine);
        assert_int_equal(accepted(&machine), 1);
        assert_int_equal(write_line(&machine, "m,host=a f=3 1700000002000000000\n"), VV_OK);
        kill_process(&machine);
        start(&machine);
        assert_int_equal(accepted(&machine), 2);
        deinit(&machine);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_comes_after_a_refused_write_and_a_flush_cut_short_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
