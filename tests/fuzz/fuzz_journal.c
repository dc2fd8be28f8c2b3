/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes opening a journal: the input is one or two segment files.
 *
 * The first byte says how it is used: 1 = checksums are put right, so that the fuzzer gets behind
 * them; 2 = damage is skipped; 4 = the input is cut in half, two segments that follow each other.
 * Whatever opens must take a commit, and give it back at the next open behind all the same records.
 */
#include "base/log.h"
#include "journal/journal.h"
#include "journal/segment.h"
#include "simulation/sim_clock.h"
#include "simulation/sim_disk.h"
#include "simulation/sim_memory.h"

#include <stdlib.h>
#include <xxhash.h>

#define USE_FIX       1u
#define USE_SKIP      2u
#define USE_TWO_FILES 4u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct replayed {
    uint64_t count;
    uint64_t sum;
    bool last_is_ours;
};

static enum vv_status on_replay(void *context, const struct vv_journal_record *record,
                                struct vv_journal_position position)
{
    struct replayed *replayed = context;
    vv_invariant(record->kind != 0 && position.offset >= VV_SEGMENT_HEADER_SIZE);
    replayed->count++;
    replayed->sum = replayed->sum * 31 + XXH3_64bits(record->bytes, record->size);
    replayed->last_is_ours = record->size == 4 && memcmp(record->bytes, "ours", 4) == 0;
    return VV_OK;
}

static void put(uint8_t *out, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        out[i] = (uint8_t)(value >> (8 * i));
    }
}

/* Makes a valid header of the first bytes; two of them choose the end of the segment before. */
static uint64_t fix_header(uint8_t *bytes, uint64_t number, uint64_t previous_size)
{
    struct vv_segment_header header = {.number = number, .created_ns = bytes[16]};
    if (number > 1) {
        uint64_t cut = (uint64_t)bytes[40] << 8 | bytes[41];
        header.previous_number = bytes[32] == 0xFF ? bytes[33] : number - 1;
        header.previous_end = cut < previous_size ? previous_size - cut : previous_size + cut;
    }
    vv_segment_header_encode(&header, bytes);
    return header.seed;
}

/* Makes a valid record of the bytes at offset, unless they ask not to. Returns what it takes. */
static size_t fix_record(uint8_t *bytes, size_t left, uint64_t seed, size_t offset,
                         uint32_t *commit)
{
    size_t payload = (size_t)(bytes[0] | (size_t)(bytes[1] & 0x0F) << 8);
    size_t payload_max = left - VV_SEGMENT_RECORD_SIZE;
    payload = payload < payload_max ? payload : payload_max;
    bool keep_header_checksum = bytes[10] == 0xFF;
    bool keep_payload_checksum = bytes[11] == 0xFF;
    put(bytes, payload, 4);
    put(bytes + 4, bytes[4] == 0xFF ? bytes[5] : *commit, 4);
    bytes[8] = bytes[8] ? bytes[8] : 1;
    bytes[9] &= VV_SEGMENT_FLAG_LAST;
    put(bytes + 10, 0, 6);
    *commit += bytes[9];
    if (!keep_payload_checksum) {
        put(bytes + 24, XXH3_64bits_withSeed(bytes + VV_SEGMENT_RECORD_SIZE, payload, seed), 8);
    }
    if (!keep_header_checksum) {
        put(bytes + VV_SEGMENT_RECORD_HEADER_AT,
            XXH3_64bits_withSeed(bytes, VV_SEGMENT_RECORD_HEADER_AT, seed + offset), 8);
    }
    return (size_t)vv_segment_record_bytes(payload);
}

static void fix(uint8_t *bytes, size_t size, uint64_t number, uint64_t previous_size)
{
    if (size < VV_SEGMENT_HEADER_SIZE) {
        return;
    }
    uint64_t seed = fix_header(bytes, number, previous_size);
    uint32_t commit = 1;
    size_t at = VV_SEGMENT_HEADER_SIZE;
    while (at < size && size - at >= VV_SEGMENT_RECORD_SIZE) {
        at += fix_record(bytes + at, size - at, seed, at, &commit);
    }
}

static void put_file(struct vv_disk *disk, uint64_t number, const uint8_t *bytes, size_t size)
{
    char path[VV_SEGMENT_PATH_SIZE];
    struct vv_file *file;
    vv_segment_path("/j", number, false, path);
    vv_invariant(disk->ops->open(disk, path, VV_OPEN_CREATE, &file, NULL) == VV_OK);
    vv_invariant(file->ops->write(file, 0, bytes, size, NULL) == VV_OK);
    vv_invariant(file->ops->sync(file, NULL) == VV_OK);
    file->ops->close(file);
}

/* What opened goes on: a commit is taken, and is there behind the rest after a loss of power. */
static void go_on(struct vv_sim_disk *sim, const struct vv_journal_options *options,
                  struct vv_journal *journal, const struct replayed *before)
{
    struct vv_journal_record record = {.stamp = 1, .kind = 1, .bytes = "ours", .size = 4};
    struct vv_journal_position end;
    vv_invariant(vv_journal_commit(journal, &record, 1, &end, NULL) == VV_OK);
    vv_sim_disk_power_off_after(sim, 0);
    vv_journal_close(journal);
    vv_sim_disk_crash(sim);
    struct replayed after = {0};
    vv_invariant(vv_journal_open(options, on_replay, &after, &journal, NULL) == VV_OK);
    vv_invariant(after.count == before->count + 1 && after.last_is_ours);
    vv_invariant(after.sum == before->sum * 31 + XXH3_64bits("ours", 4));
    vv_journal_close(journal);
}

static void open_files(const uint8_t *bytes, size_t first_size, size_t second_size, bool skip)
{
    struct vv_sim_disk *sim = vv_sim_disk_create(1);
    struct vv_disk *disk = vv_sim_disk_interface(sim);
    struct vv_sim_clock clock;
    vv_sim_clock_init(&clock, 0);
    vv_invariant(disk->ops->make_folder(disk, "/j", NULL) == VV_OK);
    put_file(disk, 1, bytes, first_size);
    if (second_size) {
        put_file(disk, 2, bytes + first_size, second_size);
    }
    vv_invariant(disk->ops->sync_folder(disk, "/", NULL) == VV_OK);
    vv_invariant(disk->ops->sync_folder(disk, "/j", NULL) == VV_OK);
    struct vv_journal_options options = {.disk = disk,
                                         .clock = &clock.clock,
                                         .folder = "/j",
                                         .segment_bytes = 4096,
                                         .skip_damaged = skip};
    struct replayed replayed = {0};
    struct vv_journal *journal;
    struct vv_error error = {0};
    enum vv_status status = vv_journal_open(&options, on_replay, &replayed, &journal, &error);
    vv_invariant(status == VV_OK || status == VV_CORRUPT || status == VV_NEWER);
    if (status == VV_OK) {
        go_on(sim, &options, journal, &replayed);
    } else {
        vv_invariant(error.message[0] != '\0' && (!skip || status == VV_NEWER));
    }
    vv_sim_disk_destroy(sim);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    vv_log_level_set(VV_LOG_OFF);
    if (size < 1) {
        return 0;
    }
    unsigned use = data[0];
    size_t files_size = size - 1;
    uint8_t *bytes = vv_sim_malloc(files_size + 1);
    memcpy(bytes, data + 1, files_size);
    size_t first_size = use & USE_TWO_FILES ? files_size / 16 * 8 : files_size;
    size_t second_size = files_size - first_size;
    if (use & USE_FIX) {
        fix(bytes, first_size, 1, 0);
        fix(bytes + first_size, second_size, 2, first_size);
    }
    open_files(bytes, first_size, second_size, (use & USE_SKIP) != 0);
    free(bytes);
    return 0;
}
