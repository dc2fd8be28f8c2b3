/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reader that is held up between its look at where a tenant's blocks lie and its opening of that,
 * while all of them move to another retention's class, or a block is replaced. The other thread's
 * work is done where the reader makes its iterator, or looks up a part (--wrap).
 */
#include "store/store.h"

#include <ftw.h>
#include <rocksdb/c.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

struct fixture {
    struct vv_store *store;
    char folder[64];
};

static const struct vv_span_key span = {{1, 1, 100 * VV_DAY, VV_DAY, 0, 0}, 1, 100 * VV_DAY};

/* What is done before the n-th iterator from now on; 0: nothing any more. */
static unsigned move_before;
static int64_t new_retention;
static bool only_begins;     /* the move: nothing is moved yet */
static const char *new_text; /* it is replaced, and stays where it is */
static struct vv_store *moved_store;

static void replace(void)
{
    const struct vv_piece block = {VV_PIECE_BLOCK, span, 0, 0, vv_str_of(new_text), 0, 4};
    assert_int_equal(moved_store->ops->put_blocks(moved_store, &block, 1, NULL), VV_OK);
}

static void move_on(void)
{
    bool more = true;
    while (more) {
        assert_int_equal(moved_store->ops->expire(moved_store, 101 * VV_DAY, 1u << 20, &more, NULL),
                         VV_OK);
    }
}

static void move_all(void)
{
    assert_int_equal(moved_store->ops->set_retention(moved_store, 1, new_retention, NULL), VV_OK);
    if (!only_begins) {
        move_on();
    }
}

rocksdb_iterator_t *__real_rocksdb_create_iterator_cf(rocksdb_t *database,
                                                      const rocksdb_readoptions_t *options,
                                                      rocksdb_column_family_handle_t *family);
rocksdb_iterator_t *__wrap_rocksdb_create_iterator_cf(rocksdb_t *database,
                                                      const rocksdb_readoptions_t *options,
                                                      rocksdb_column_family_handle_t *family);

rocksdb_iterator_t *__wrap_rocksdb_create_iterator_cf(rocksdb_t *database,
                                                      const rocksdb_readoptions_t *options,
                                                      rocksdb_column_family_handle_t *family)
{
    if (move_before > 0 && --move_before == 0) {
        (new_text ? replace : move_all)();
    }
    return __real_rocksdb_create_iterator_cf(database, options, family);
}

rocksdb_pinnableslice_t *__real_rocksdb_get_pinned_cf(rocksdb_t *database,
                                                      const rocksdb_readoptions_t *options,
                                                      rocksdb_column_family_handle_t *family,
                                                      const char *key, size_t size, char **error);
rocksdb_pinnableslice_t *__wrap_rocksdb_get_pinned_cf(rocksdb_t *database,
                                                      const rocksdb_readoptions_t *options,
                                                      rocksdb_column_family_handle_t *family,
                                                      const char *key, size_t size, char **error);

static unsigned move_before_get;

rocksdb_pinnableslice_t *__wrap_rocksdb_get_pinned_cf(rocksdb_t *database,
                                                      const rocksdb_readoptions_t *options,
                                                      rocksdb_column_family_handle_t *family,
                                                      const char *key, size_t size, char **error)
{
    if (move_before_get > 0 && --move_before_get == 0) {
        move_all();
    }
    return __real_rocksdb_get_pinned_cf(database, options, family, key, size, error);
}

static int set_up(void **state)
{
    static struct fixture f;
    strcpy(f.folder, "/tmp/varve-moves-XXXXXX");
    assert_non_null(mkdtemp(f.folder));
    const struct vv_store_options options = {
        .folder = f.folder, .cache_bytes = 1u << 20, .write_buffer_bytes = 1u << 20, .eras = 8};
    const struct vv_piece block = {VV_PIECE_BLOCK, span, 0, 0, vv_str_of("head and tail"), 0, 4};
    assert_int_equal(vv_store_rocksdb_open(&options, &f.store, NULL), VV_OK);
    assert_int_equal(f.store->ops->put_blocks(f.store, &block, 1, NULL), VV_OK);
    moved_store = f.store;
    *state = &f;
    return 0;
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *place)
{
    (void)about, (void)kind, (void)place;
    return remove(path);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    f->store->ops->close(f->store);
    return nftw(f->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static enum vv_status count_piece(void *context, const struct vv_piece *piece)
{
    (*(int *)context) += vv_str_equal(piece->bytes, vv_str_of("head and tail"));
    return VV_OK;
}

/* Moves all before each of the iterators that a call opens, one after the other. */
static void try_all_between(struct fixture *f, int64_t one, int64_t other,
                            void (*check)(struct fixture *f))
{
    unsigned at = 0;
    do {
        move_before = ++at;
        new_retention = at % 2 ? one : other;
        check(f);
    } while (move_before == 0);
    move_before = 0;
    assert_true(at > 2); /* that of runs, and of blocks */
}

static void try_all(struct fixture *f, void (*check)(struct fixture *f))
{
    try_all_between(f, 40000 * VV_DAY, 30000 * VV_DAY, check);
}

static void check_read(struct fixture *f)
{
    const struct vv_store_read read = {.partition = span.partition,
                                       .measurement = 1,
                                       .span_from = INT64_MIN,
                                       .span_to = INT64_MAX};
    int n = 0;
    assert_int_equal(f->store->ops->read(f->store, &read, count_piece, &n, NULL), VV_OK);
    assert_int_equal(n, 1);
}

static void a_block_is_read_when_all_moves_before_it_is_opened(void **state)
{
    try_all(*state, check_read);
}

/* Parts that are looked up. Behind the first one there may be others, which moved since. */
static void a_part_is_read_when_all_moves_before_it_is_looked_up(void **state)
{
    struct fixture *f = *state;
    struct vv_piece parts[2];
    for (uint32_t i = 0; i < 2; i++) {
        parts[i] = (struct vv_piece){VV_PIECE_BLOCK, span, 0, i, vv_str_of("head and tail"), 0, 0};
        parts[i].key.partition.source = 2;
    }
    assert_int_equal(f->store->ops->put_blocks(f->store, parts, 2, NULL), VV_OK);
    struct vv_store_read read = {.partition = parts[0].key.partition,
                                 .measurement = 1,
                                 .span_from = INT64_MIN,
                                 .span_to = INT64_MAX,
                                 .part_to = 1};
    for (unsigned turn = 0; turn < 8; turn++) {
        int n = 0;
        new_retention = (turn % 2 ? 40000 : 30000) * VV_DAY;
        move_before_get = 1;
        read.part_to = turn < 4 ? 1 : 2;
        assert_int_equal(f->store->ops->read(f->store, &read, count_piece, &n, NULL), VV_OK);
        assert_int_equal(move_before_get, 0);
        assert_int_equal(n, turn < 4 ? 1 : 2);
        n = 0;
        move_before_get = 2; /* the others' */
        new_retention = (turn % 2 ? 50000 : 60000) * VV_DAY;
        enum vv_status status = f->store->ops->read(f->store, &read, count_piece, &n, NULL);
        assert_true(turn < 4 ? status == VV_OK && n == 1 : status == VV_OVERLOAD || n == 2);
    }
    move_before_get = 0;
}

static enum vv_status take_text(void *context, const struct vv_piece *piece)
{
    snprintf(context, 32, "%.*s", VV_STR_ARG(piece->bytes));
    return VV_OK;
}

static void check_whole(struct fixture *f)
{
    const struct vv_store_read read = {
        .partition = span.partition, .measurement = 1, .span_to = INT64_MAX};
    char text[32] = "";
    assert_int_equal(f->store->ops->read(f->store, &read, take_text, text, NULL), VV_OK);
    assert_true(strcmp(text, "head and tail") == 0 || strcmp(text, "HEAD AND TAIL") == 0);
    new_text = strcmp(new_text, "head and tail") == 0 ? "HEAD AND TAIL" : "head and tail";
}

static void head_and_tail_are_of_one_block_when_it_is_replaced_meanwhile(void **state)
{
    new_text = "HEAD AND TAIL";
    try_all(*state, check_whole);
    new_text = NULL;
}

/* ---- several buckets ---- */

#define BUCKETS 6

struct buckets {
    char days[256];
    size_t size;
};

static enum vv_status take_day(void *context, const struct vv_piece *piece)
{
    struct buckets *found = context;
    bool is_whole = vv_str_equal(piece->bytes, vv_str_of("head and tail"));
    found->size +=
        (size_t)snprintf(found->days + found->size, sizeof found->days - found->size, " %d%s",
                         (int)(piece->key.span_start / VV_DAY), is_whole ? "" : "?");
    return VV_OK;
}

static void check_buckets(struct fixture *f)
{
    struct buckets found = {{0}, 0};
    const struct vv_store_read read = {
        .partition = span.partition, .measurement = 1, .span_to = INT64_MAX, .n_buckets = BUCKETS};
    assert_int_equal(f->store->ops->read(f->store, &read, take_day, &found, NULL), VV_OK);
    assert_string_equal(found.days, " 100 101 103 104 105");
    move_on();
}

/* Each once, whether they lie in one era or in several, and before or behind the first head. */
static void each_of_several_buckets_is_read_once_when_all_moves_meanwhile(void **state)
{
    struct fixture *f = *state;
    for (int day = 0; day < BUCKETS; day++) {
        struct vv_piece block = {VV_PIECE_BLOCK, span, 0, 0, vv_str_of("head and tail"), 0, 0};
        block.key.partition.bucket_start += day * VV_DAY;
        block.key.span_start += day * VV_DAY;
        block.bytes.size = day == 2 ? 0 : block.bytes.size;
        block.head_size = day == 3 || day == 5 ? 4 : 0;
        assert_int_equal(f->store->ops->put_blocks(f->store, &block, 1, NULL), VV_OK);
    }
    for (int i = 0; i < 2; i++) {
        only_begins = i == 1;
        try_all(f, check_buckets);
        try_all_between(f, 16 * VV_DAY, 4 * VV_DAY, check_buckets);
        try_all_between(f, 16 * VV_DAY, 17 * VV_DAY, check_buckets);
    }
    only_begins = false;
}

static void check_nearest(struct fixture *f)
{
    int64_t start = 0;
    assert_int_equal(f->store->ops->nearest(f->store, 0, 1, 1, 0, true, &start, NULL), VV_OK);
    assert_int_equal(start, 100 * VV_DAY);
}

static void a_bucket_is_found_when_all_moves_before_it_is_looked_for(void **state)
{
    try_all(*state, check_nearest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_part_is_read_when_all_moves_before_it_is_looked_up,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_block_is_read_when_all_moves_before_it_is_opened, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            head_and_tail_are_of_one_block_when_it_is_replaced_meanwhile, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            each_of_several_buckets_is_read_once_when_all_moves_meanwhile, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_bucket_is_found_when_all_moves_before_it_is_looked_for,
                                        set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
