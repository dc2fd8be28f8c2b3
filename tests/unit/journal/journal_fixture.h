/* SPDX-License-Identifier: Apache-2.0 */
/* What the journal's tests share: a journal on a simulated disk, and what it replayed. */
#ifndef VV_TEST_JOURNAL_FIXTURE_H
#define VV_TEST_JOURNAL_FIXTURE_H

#include "base/log.h"
#include "journal/journal.h"
#include "journal/segment.h"
#include "simulation/sim_clock.h"
#include "simulation/sim_disk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define REPLAYED_MAX 4000u

struct journal_fixture {
    struct vv_sim_disk *sim;
    struct vv_disk *disk;
    struct vv_sim_clock clock;
    struct vv_journal_options options;
    struct vv_journal *journal;
    struct vv_error error;
    /* The records of the last open. */
    char texts[REPLAYED_MAX][32]; /* the beginning of each */
    size_t sizes[REPLAYED_MAX];
    struct vv_journal_position positions[REPLAYED_MAX];
    size_t replayed;
};

static inline int fixture_set_up(void **state)
{
    struct journal_fixture *fixture = calloc(1, sizeof *fixture);
    if (!fixture) {
        return -1;
    }
    vv_log_level_set(VV_LOG_OFF);
    fixture->sim = vv_sim_disk_create(17);
    fixture->disk = vv_sim_disk_interface(fixture->sim);
    vv_sim_clock_init(&fixture->clock, 1000 * VV_SECOND);
    fixture->options = (struct vv_journal_options){
        .disk = fixture->disk,
        .clock = &fixture->clock.clock,
        .folder = "/j",
        .segment_bytes = 4096,
    };
    *state = fixture;
    return fixture->disk->ops->make_folder(fixture->disk, "/j", NULL) == VV_OK &&
                   fixture->disk->ops->sync_folder(fixture->disk, "/", NULL) == VV_OK
               ? 0
               : -1;
}

static inline int fixture_tear_down(void **state)
{
    struct journal_fixture *fixture = *state;
    if (fixture->journal) {
        vv_journal_close(fixture->journal);
    }
    vv_sim_disk_destroy(fixture->sim);
    free(fixture);
    return 0;
}

static inline enum vv_status fixture_on_replay(void *context,
                                               const struct vv_journal_record *record,
                                               struct vv_journal_position position)
{
    struct journal_fixture *fixture = context;
    if (fixture->replayed == REPLAYED_MAX) {
        return VV_TOO_LARGE;
    }
    size_t i = fixture->replayed++;
    size_t shown =
        record->size < sizeof fixture->texts[i] - 1 ? record->size : sizeof fixture->texts[i] - 1;
    memset(fixture->texts[i], 0, sizeof fixture->texts[i]);
    if (shown) {
        memcpy(fixture->texts[i], record->bytes, shown);
    }
    fixture->sizes[i] = record->size;
    fixture->positions[i] = position;
    return VV_OK;
}

static inline enum vv_status fixture_try_open(struct journal_fixture *fixture)
{
    fixture->replayed = 0;
    fixture->error.message[0] = '\0';
    return vv_journal_open(&fixture->options, fixture_on_replay, fixture, &fixture->journal,
                           &fixture->error);
}

static inline void fixture_open(struct journal_fixture *fixture)
{
    enum vv_status status = fixture_try_open(fixture);
    if (status != VV_OK) {
        fail_msg("open gives %s: %s", vv_status_name(status), fixture->error.message);
    }
}

static inline void fixture_close(struct journal_fixture *fixture)
{
    vv_journal_close(fixture->journal);
    fixture->journal = NULL;
}

/* The machine loses its power while the journal is open. */
static inline void fixture_crash(struct journal_fixture *fixture)
{
    vv_sim_disk_power_off_after(fixture->sim, 0);
    fixture_close(fixture);
    vv_sim_disk_crash(fixture->sim);
}

/* Only the process dies. */
static inline void fixture_kill(struct journal_fixture *fixture)
{
    vv_sim_disk_power_off_after(fixture->sim, 0);
    fixture_close(fixture);
    vv_sim_disk_restart(fixture->sim);
}

static inline struct vv_journal_record fixture_record(const char *text)
{
    return (struct vv_journal_record){
        .stamp = vv_stamp_make(77, 1), .kind = 5, .bytes = text, .size = strlen(text)};
}

static inline enum vv_status fixture_commit(struct journal_fixture *fixture, const char *text)
{
    struct vv_journal_record record = fixture_record(text);
    struct vv_journal_position end;
    fixture->error.message[0] = '\0';
    return vv_journal_commit(fixture->journal, &record, 1, &end, &fixture->error);
}

static inline void fixture_must_commit(struct journal_fixture *fixture, const char *text)
{
    enum vv_status status = fixture_commit(fixture, text);
    if (status != VV_OK) {
        fail_msg("commit gives %s: %s", vv_status_name(status), fixture->error.message);
    }
}

/* Compares what was replayed with words that are separated by spaces. */
static inline void fixture_check(const struct journal_fixture *fixture, const char *words)
{
    char all[4096] = "";
    size_t used = 0;
    for (size_t i = 0; i < fixture->replayed; i++) {
        used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", i ? " " : "",
                                 fixture->texts[i]);
    }
    assert_string_equal(all, words);
}

static inline void fixture_path(uint64_t number, char out[64])
{
    snprintf(out, 64, "/j/%016llx.seg", (unsigned long long)number);
}

static inline bool fixture_exists(struct journal_fixture *fixture, uint64_t number)
{
    char path[64];
    fixture_path(number, path);
    struct vv_file *file;
    if (fixture->disk->ops->open(fixture->disk, path, VV_OPEN_READ, &file, NULL) != VV_OK) {
        return false;
    }
    file->ops->close(file);
    return true;
}

static inline uint64_t fixture_file_size(struct journal_fixture *fixture, uint64_t number)
{
    char path[64];
    fixture_path(number, path);
    struct vv_file *file;
    uint64_t size = 0;
    assert_int_equal(fixture->disk->ops->open(fixture->disk, path, VV_OPEN_READ, &file, NULL),
                     VV_OK);
    assert_int_equal(file->ops->size(file, &size, NULL), VV_OK);
    file->ops->close(file);
    return size;
}

/* Turns one bit of a byte in a segment's file, durably. */
static inline void fixture_damage(struct journal_fixture *fixture, uint64_t number, uint64_t offset)
{
    char path[64];
    fixture_path(number, path);
    struct vv_file *file;
    assert_int_equal(fixture->disk->ops->open(fixture->disk, path, VV_OPEN_WRITE, &file, NULL),
                     VV_OK);
    uint8_t byte;
    size_t size;
    assert_int_equal(file->ops->read(file, offset, &byte, 1, &size, NULL), VV_OK);
    assert_int_equal(size, 1);
    byte ^= 0x10;
    assert_int_equal(file->ops->write(file, offset, &byte, 1, NULL), VV_OK);
    assert_int_equal(file->ops->sync(file, NULL), VV_OK);
    file->ops->close(file);
}

static inline struct vv_journal_figures fixture_figures(struct journal_fixture *fixture)
{
    struct vv_journal_figures figures;
    vv_journal_read_figures(fixture->journal, &figures);
    return figures;
}

#define JOURNAL_TEST(test) cmocka_unit_test_setup_teardown(test, fixture_set_up, fixture_tear_down)

#endif
