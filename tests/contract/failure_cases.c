/* SPDX-License-Identifier: Apache-2.0 */
/* Failed writes, recover(), and a disk that is really full. */
#include "contract.h"

#include "base/random.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

static bool is_failure(enum vv_status status)
{
    return status == VV_FULL || status == VV_IO;
}

static void assert_all_changes_fail(struct contract *c)
{
    struct vv_store *store = c->store;
    struct vv_span_key key = span_of(1, 1, 10, 3);
    const struct vv_piece run = {VV_PIECE_RUN, key, 1, 0, vv_str_of("a"), 0, 0};
    const struct vv_piece block = {VV_PIECE_BLOCK, key, 0, 0, vv_str_of("a"), 0, 0};
    const struct vv_mark mark = {5, key, VV_HOUR, 1, false};
    struct vv_str name = vv_str_of("k");
    bool more;
    assert_true(is_failure(store->ops->put_run(store, &run, NULL)));
    assert_true(is_failure(store->ops->put_mark(store, &mark, NULL)));
    assert_true(is_failure(store->ops->put_meta(store, 1, name, name, NULL)));
    assert_true(is_failure(store->ops->remove_meta(store, 1, name, NULL)));
    assert_true(is_failure(store->ops->confirm(store, NULL)));
    assert_true(is_failure(store->ops->put_blocks(store, &block, 1, NULL)));
    assert_true(is_failure(store->ops->remove_runs(store, &run, 1, NULL)));
    assert_true(is_failure(store->ops->retire_marks(store, &mark, 1, NULL)));
    assert_true(is_failure(store->ops->set_retention(store, 1, VV_DAY, NULL)));
    assert_true(is_failure(store->ops->expire(store, 0, 1000, &more, NULL)));
}

/* Nothing later may be stored after something earlier was lost. */
static void after_a_failure_nothing_is_written_until_recover(void **state)
{
    struct contract *c = *state;
    struct vv_span_key key = span_of(1, 1, 10, 3);
    put_run(c, &key, 1, 0, "confirmed");
    put_meta(c, 1, "k", "confirmed");
    put_block(c, &key, "block");
    confirm(c);
    put_run(c, &key, 2, 0, "unconfirmed");
    c->backend->break_writes(c);
    fail_to_write(c);
    assert_all_changes_fail(c);
    c->backend->heal_writes(c);
    contract_recover(c);
    const char *text = pieces_text(c, &key.partition);
    if (strcmp(text, "R3.1.0=confirmed B3.0=block") != 0) {
        assert_string_equal(text, "R3.1.0=confirmed R3.2.0=unconfirmed B3.0=block");
    }
    assert_string_equal(meta_text(c, 1, ""), "k=confirmed");
    put_run(c, &key, 2, 0, "again");
    confirm(c);
    contract_crash(c, 1);
    assert_string_equal(pieces_text(c, &key.partition), "R3.1.0=confirmed R3.2.0=again B3.0=block");
}

static void recover_is_repeated_until_it_succeeds(void **state)
{
    struct contract *c = *state;
    struct vv_span_key key = span_of(1, 1, 10, 3);
    struct vv_store_figures figures;
    put_meta(c, 1, "k", "v");
    confirm(c);
    for (uint64_t round = 1; round <= 3; round++) {
        c->backend->break_writes(c);
        fail_to_write(c);
        for (int i = 0; i < 3; i++) {
            struct vv_error error = {0};
            assert_true(is_failure(c->store->ops->recover(c->store, &error)));
            assert_true(error.message[0] != 0);
        }
        c->backend->heal_writes(c);
        contract_recover(c);
        c->store->ops->read_figures(c->store, &figures);
        assert_int_equal(figures.recoveries, round);
        put_run(c, &key, round, 0, "a");
        confirm(c);
    }
    assert_string_equal(pieces_text(c, &key.partition), "R3.1.0=a R3.2.0=a R3.3.0=a");
    assert_string_equal(meta_text(c, 1, ""), "k=v");
}

static enum vv_status ignore_piece(void *context, const struct vv_piece *piece)
{
    (void)context;
    (void)piece;
    return VV_OK;
}

/* A reader may be told to come again, but is never shown less than what is confirmed. */
static void readers_are_served_or_put_off_while_the_store_fails(void **state)
{
    struct contract *c = *state;
    struct vv_span_key key = span_of(1, 1, 10, 3);
    const struct vv_store_read read = {
        .partition = key.partition, .measurement = 1, .span_from = INT64_MIN, .span_to = INT64_MAX};
    put_run(c, &key, 1, 0, "a");
    confirm(c);
    c->backend->break_writes(c);
    fail_to_write(c);
    assert_string_equal(pieces_text(c, &key.partition), "R3.1.0=a");
    enum vv_status status = c->store->ops->recover(c->store, NULL);
    assert_true(status == VV_OK || is_failure(status));
    status = c->store->ops->read(c->store, &read, ignore_piece, NULL, NULL);
    assert_true(status == VV_OK || status == VV_OVERLOAD);
    c->backend->heal_writes(c);
    contract_recover(c);
    assert_string_equal(pieces_text(c, &key.partition), "R3.1.0=a");
}

static void a_store_that_failed_can_be_closed(void **state)
{
    struct contract *c = *state;
    c->backend->break_writes(c);
    fail_to_write(c);
    if ((c->backend->abilities & IS_EMBEDDED)) {
        contract_close(c);
    }
    c->backend->heal_writes(c);
}

static void recover_without_a_failure_does_nothing(void **state)
{
    struct contract *c = *state;
    struct vv_span_key key = span_of(1, 1, 10, 3);
    put_run(c, &key, 1, 0, "a");
    contract_recover(c);
    confirm(c);
    contract_crash(c, 1);
    assert_string_equal(pieces_text(c, &key.partition), "R3.1.0=a");
}

/* ---- a small file system */

/* Writes a file of zeros until the disk is full. */
static void fill(const char *path)
{
    static const char zeros[4096];
    int file = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    assert_true(file >= 0);
    while (write(file, zeros, sizeof zeros) > 0) {
    }
    close(file);
}

/* Puts runs and blocks until one fails; counts what was confirmed. */
static void work_until_full(struct contract *c, uint32_t *confirmed_out, uint32_t *blocks_out)
{
    static char bytes[20000];
    struct vv_random random = {.state = *confirmed_out + 1};
    for (uint32_t i = *confirmed_out; i < *confirmed_out + 2000; i++) {
        for (size_t at = 0; at < sizeof bytes; at++) {
            bytes[at] = (char)vv_random_next(&random);
        }
        struct vv_span_key key = span_of(1, i, 10, 3);
        const struct vv_piece run = {VV_PIECE_RUN, key, 1, 0, {bytes, sizeof bytes}, 0, 0};
        const struct vv_piece block = {VV_PIECE_BLOCK, key, 0, 0, {bytes, sizeof bytes}, 0, 0};
        if (c->store->ops->put_run(c->store, &run, NULL) != VV_OK) {
            return;
        }
        if (i % 10 == 9) {
            if (c->store->ops->confirm(c->store, NULL) != VV_OK) {
                return;
            }
            *confirmed_out = i + 1;
        }
        if (c->store->ops->put_blocks(c->store, &block, 1, NULL) != VV_OK) {
            return;
        }
        *blocks_out = i + 1;
    }
    fail_msg("the disk did not become full");
}

static void count_pieces(struct contract *c, uint32_t runs, uint32_t blocks)
{
    for (uint32_t i = 0; i < (runs > blocks ? runs : blocks); i++) {
        struct vv_partition partition = partition_of(1, i, 10);
        const char *text = pieces_text(c, &partition);
        assert_true(i >= runs || strstr(text, "R3.1.0=") != NULL);
        assert_true(i >= blocks || strstr(text, "B3.0=") != NULL);
    }
}

static void a_full_disk_loses_nothing_that_was_confirmed(void **state)
{
    struct contract *c = *state;
    contract_close(c);
    char folder[sizeof c->folder];
    memcpy(folder, c->folder, sizeof folder);
    if (mount("none", folder, "tmpfs", 0, "size=24m") != 0) {
        print_message("SKIPPED: a small file system cannot be mounted here (%s): run as root\n",
                      strerror(errno));
        skip();
    }
    snprintf(c->folder, sizeof c->folder, "%.200s/store", folder);
    contract_open(c);
    char filler[sizeof c->folder];
    snprintf(filler, sizeof filler, "%.200s/filler", folder);
    uint32_t confirmed = 0;
    uint32_t blocks = 0;
    for (int round = 0; round < 3; round++) {
        if (round > 0) {
            fill(filler);
        }
        work_until_full(c, &confirmed, &blocks);
        if (round == 0) {
            /* Full by its own data: some of it must go, so it begins anew. */
            contract_close(c);
            contract_remove_folder(c->folder);
            contract_open(c);
            confirmed = 0;
            blocks = 0;
            struct vv_span_key key = span_of(1, 0, 10, 3);
            put_run(c, &key, 1, 0, "a");
            confirm(c);
            confirmed = 1;
            continue;
        }
        fill(filler); /* what the failure gave back, too */
        for (int i = 0; i < 3; i++) {
            assert_true(is_failure(c->store->ops->recover(c->store, NULL)));
            count_pieces(c, confirmed, blocks); /* a full disk can be read */
        }
        assert_int_equal(unlink(filler), 0);
        contract_recover(c);
        count_pieces(c, confirmed, blocks);
        struct vv_span_key key = span_of(2, (uint32_t)round, 10, 3);
        put_run(c, &key, 1, 0, "a");
        put_block(c, &key, "b");
        confirm(c);
    }
    contract_close(c);
    memcpy(c->folder, folder, sizeof folder);
    assert_int_equal(umount(folder), 0);
}

const struct contract_case failure_cases[] = {
    CONTRACT_CASE(after_a_failure_nothing_is_written_until_recover),
    CONTRACT_CASE(recover_is_repeated_until_it_succeeds),
    CONTRACT_CASE_NEEDS(READS_ON, readers_are_served_or_put_off_while_the_store_fails),
    CONTRACT_CASE(a_store_that_failed_can_be_closed),
    CONTRACT_CASE(recover_without_a_failure_does_nothing),
    CONTRACT_CASE_NEEDS(IS_EMBEDDED, a_full_disk_loses_nothing_that_was_confirmed),
    {0},
};
