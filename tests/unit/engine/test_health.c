/* SPDX-License-Identifier: Apache-2.0 */
/* Health says why writes are refused before anything fails: while what waits for the store fills
 * the memory or the journal, and no longer. Step by step over the memory store. */
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

#define START      (INT64_C(1767225600) * VV_SECOND)
#define LINES      200
#define WRITES_MAX 1000

struct place {
    struct vv_sim_disk *disk;
    struct vv_sim_clock clock;
    struct vv_store *store;
    struct vv_engine *engine;
    int n_lines;
    int n_answers;
    enum vv_status status; /* of the last write */
};

static void begin(struct place *place, int64_t head_bytes_max, int64_t journal_bytes_max)
{
    struct vv_settings settings;
    struct vv_store_options store_options = {.folder = "/data/store", .eras = 24};
    vv_log_level_set(VV_LOG_OFF);
    *place = (struct place){.disk = vv_sim_disk_create(1)};
    struct vv_disk *disk = vv_sim_disk_interface(place->disk);
    assert_int_equal(disk->ops->make_folder(disk, "/data", NULL), VV_OK);
    assert_int_equal(disk->ops->make_folder(disk, "/data/journal", NULL), VV_OK);
    vv_sim_clock_init(&place->clock, START);
    assert_int_equal(vv_store_memory_open(&store_options, &place->store, NULL), VV_OK);
    vv_settings_init(&settings);
    strcpy(settings.data, "/data");
    settings.disk_reserve_bytes = 0;
    settings.head_bytes_max = head_bytes_max;
    settings.journal_bytes_max = journal_bytes_max;
    settings.journal_segment_bytes = 64 << 10;
    struct vv_engine_options options = {.settings = &settings,
                                        .disk = disk,
                                        .clock = &place->clock.clock,
                                        .store = place->store,
                                        .manual = true};
    place->engine = start_engine(&options);
}

static void end(struct place *place)
{
    vv_engine_close(place->engine);
    place->store->ops->close(place->store);
    vv_sim_disk_destroy(place->disk);
}

static void answer(void *context, enum vv_status status, const char *message)
{
    struct place *place = context;
    (void)message;
    place->status = status;
    place->n_answers++;
}

/* As a door does; how it was answered. */
static enum vv_status write_some(struct place *place)
{
    char line[64];
    struct vv_staging staging;
    struct vv_line_parser *parser;
    struct vv_error error = {0};
    enum vv_status status = vv_engine_admit(place->engine, &error);
    if (status != VV_OK) {
        return status;
    }
    assert_int_equal(vv_engine_stage(place->engine, VV_STR_LITERAL("t"), &staging, NULL), VV_OK);
    assert_int_equal(vv_line_parser_create(&staging, 1, &parser), VV_OK);
    for (int i = 0; i < LINES; i++, place->n_lines++) {
        snprintf(line, sizeof line, "m,h=x v=%d %lld\n", place->n_lines,
                 (long long)(START - (int64_t)place->n_lines * VV_MILLISECOND));
        assert_int_equal(vv_line_parser_feed(parser, line, strlen(line)), VV_OK);
    }
    assert_int_equal(vv_line_parser_finish(parser), VV_OK);
    vv_staging_decide(&staging);
    vv_line_parser_destroy(parser);
    vv_engine_account(place->engine, &staging);
    int before = place->n_answers;
    vv_engine_submit(place->engine, vv_staging_take_batch(&staging), answer, place);
    vv_staging_deinit(&staging);
    while (place->n_answers == before) {
        assert_int_equal(vv_engine_step(place->engine, VV_TASK_COMMIT, &error), VV_OK);
    }
    return place->status;
}

/* It is ready, as queries work and writes will again soon; "" stands for no reason. */
static void expect_reason(struct place *place, const char *part)
{
    struct vv_engine_health health;
    vv_engine_read_health(place->engine, &health);
    assert_true(health.live && health.ready);
    if (part[0] ? !strstr(health.reason, part) : health.reason[0] != '\0') {
        fail_msg("'%s', expected '%s'", health.reason, part);
    }
}

/* Writes until one is refused, then lets the store catch up. */
static void check_pressure(struct place *place, enum vv_status refusal, const char *reason)
{
    struct vv_error error = {0};
    for (int round = 0; round < 2; round++) {
        enum vv_status status = VV_OK;
        expect_reason(place, "");
        for (int i = 0; i < WRITES_MAX && status == VV_OK; i++) {
            status = write_some(place);
        }
        assert_int_equal(status, refusal);
        expect_reason(place, reason);
        assert_int_equal(write_some(place), refusal);
        expect_reason(place, reason);
        assert_int_equal(vv_engine_step(place->engine, VV_TASK_FLUSH, &error), VV_OK);
        expect_reason(place, "");
        assert_int_equal(write_some(place), VV_OK);
    }
}

static void memory_that_is_full_is_told_until_the_store_has_caught_up(void **state)
{
    (void)state;
    struct place place;
    begin(&place, 256 << 10, 64 << 20);
    check_pressure(&place, VV_OVERLOAD, "head.bytes_max");
    end(&place);
}

static void a_journal_that_is_full_is_told_until_the_store_has_caught_up(void **state)
{
    (void)state;
    struct place place;
    begin(&place, 64 << 20, 256 << 10);
    check_pressure(&place, VV_FULL, "journal.bytes_max");
    end(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_that_is_full_is_told_until_the_store_has_caught_up),
        cmocka_unit_test(a_journal_that_is_full_is_told_until_the_store_has_caught_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
