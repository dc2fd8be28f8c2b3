/* SPDX-License-Identifier: Apache-2.0 */
/* An era that is over and left alone is merged into one run of files, once, if that is worth it and
 * the disk has room for it. */
#include "store/rocksdb/rocksdb.h"

#include <ftw.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cmocka.h>

#define SPANS     24
#define PAGE      4096 /* of a block: large enough for files to differ in what they take */
#define BEGIN     (20000 * VV_DAY)
#define OVER      (20070 * VV_DAY) /* the era of BEGIN is */
#define A_WAIT    VV_HOUR
#define KEPT_FREE (UINT64_C(1) << 20)

static char folder[64];
static struct vv_store *store;
static uint64_t free_bytes; /* what the disk says; 0: the truth */

/* A merge that takes until it is told to end. */
static bool merges_last;
static atomic_bool merge_is_told;

void __real_rocksdb_compact_range_cf_opt(rocksdb_t *database,
                                         rocksdb_column_family_handle_t *family,
                                         rocksdb_compactoptions_t *options, const char *from,
                                         size_t from_size, const char *to, size_t to_size);
void __wrap_rocksdb_compact_range_cf_opt(rocksdb_t *database,
                                         rocksdb_column_family_handle_t *family,
                                         rocksdb_compactoptions_t *options, const char *from,
                                         size_t from_size, const char *to, size_t to_size);
void __real_rocksdb_disable_manual_compaction(rocksdb_t *database);
void __wrap_rocksdb_disable_manual_compaction(rocksdb_t *database);

void __wrap_rocksdb_compact_range_cf_opt(rocksdb_t *database,
                                         rocksdb_column_family_handle_t *family,
                                         rocksdb_compactoptions_t *options, const char *from,
                                         size_t from_size, const char *to, size_t to_size)
{
    while (merges_last && !atomic_load(&merge_is_told)) {
        sched_yield();
    }
    __real_rocksdb_compact_range_cf_opt(database, family, options, from, from_size, to, to_size);
}

void __wrap_rocksdb_disable_manual_compaction(rocksdb_t *database)
{
    atomic_store(&merge_is_told, true);
    __real_rocksdb_disable_manual_compaction(database);
}

int __real_statvfs(const char *path, struct statvfs *out);
int __wrap_statvfs(const char *path, struct statvfs *out);

int __wrap_statvfs(const char *path, struct statvfs *out)
{
    int result = __real_statvfs(path, out);
    if (free_bytes > 0) {
        out->f_bavail = free_bytes / out->f_frsize;
    }
    return result;
}

static void open_store(int64_t merge_after_ns)
{
    const struct vv_store_options options = {.folder = folder,
                                             .cache_bytes = 1u << 20,
                                             .write_buffer_bytes = 1u << 20,
                                             .eras = 8,
                                             .merge_after_ns = merge_after_ns,
                                             .keep_free_bytes = KEPT_FREE};
    assert_int_equal(vv_store_rocksdb_open(&options, &store, NULL), VV_OK);
}

static int set_up(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/varve-cold-XXXXXX");
    assert_non_null(mkdtemp(folder));
    free_bytes = 0;
    merges_last = false;
    atomic_store(&merge_is_told, false);
    open_store(A_WAIT);
    return 0;
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *place)
{
    (void)about, (void)kind, (void)place;
    return remove(path);
}

static int tear_down(void **state)
{
    (void)state;
    store->ops->close(store);
    return nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static struct vv_span_key span_of(uint32_t source, int at)
{
    return (struct vv_span_key){{1, source, BEGIN, VV_DAY, 0, 0}, 1, BEGIN + at * (VV_DAY / SPANS)};
}

/* Sets *is_broken_out where the store takes nothing. */
static void put_spans_try(bool *is_broken_out)
{
    const struct vv_piece block = {
        .kind = VV_PIECE_BLOCK, .key = span_of(3, 0), .bytes = VV_STR_LITERAL("try")};
    *is_broken_out = *is_broken_out || store->ops->put_blocks(store, &block, 1, NULL) != VV_OK;
}

/* Of the source all spans, by one file: it overlaps those of other sources in no key, but those
 * that were put before of this one. */
static void put_spans(uint32_t source, char letter, int n)
{
    static char text[PAGE];
    static struct vv_piece blocks[SPANS];
    memset(text, letter, sizeof text);
    for (int i = 0; i < n; i++) {
        blocks[i] = (struct vv_piece){
            .kind = VV_PIECE_BLOCK, .key = span_of(source, i), .bytes = {text, sizeof text}};
    }
    assert_int_equal(store->ops->put_blocks(store, blocks, (size_t)n, NULL), VV_OK);
}

static const struct vv_rocksdb *inside(void)
{
    return vv_rocksdb_of(store);
}

/* Sorted runs of the one era. */
static size_t runs(void)
{
    size_t n = 0;
    assert_int_equal(inside()->eras.n, 1);
    rocksdb_column_family_metadata_t *family =
        rocksdb_get_column_family_metadata_cf(inside()->database, inside()->eras.list[0]->family);
    for (size_t i = 0; i < rocksdb_column_family_metadata_get_level_count(family); i++) {
        rocksdb_level_metadata_t *level =
            rocksdb_column_family_metadata_get_level_metadata(family, i);
        size_t files = rocksdb_level_metadata_get_file_count(level);
        n += rocksdb_level_metadata_get_level(level) == 0 ? files : files > 0;
        rocksdb_level_metadata_destroy(level);
    }
    rocksdb_column_family_metadata_destroy(family);
    return n;
}

static void expire(int64_t now_ns)
{
    bool more;
    assert_int_equal(store->ops->expire(store, now_ns, 1u << 20, &more, NULL), VV_OK);
}

/* Looks at that time, and awaits what is begun; whether something was. */
static bool look(int64_t now_ns)
{
    expire(now_ns);
    bool is_begun = inside()->reclaim.era != NULL;
    while (inside()->reclaim.era) {
        sched_yield();
        expire(now_ns);
    }
    return is_begun;
}

struct seen {
    char letter;
    int n;
};

static enum vv_status see(void *context, const struct vv_piece *piece)
{
    struct seen *seen = context;
    assert_int_equal(piece->bytes.size, PAGE);
    seen->n += piece->bytes.data[0] == seen->letter;
    return VV_OK;
}

static void expect_spans(uint32_t source, char letter, int n)
{
    struct seen seen = {.letter = letter};
    const struct vv_span_key span = span_of(source, 0);
    const struct vv_store_read read = {.partition = span.partition,
                                       .measurement = 1,
                                       .span_from = INT64_MIN,
                                       .span_to = INT64_MAX};
    assert_int_equal(store->ops->read(store, &read, see, &seen, NULL), VV_OK);
    assert_int_equal(seen.n, n);
}

/* Three runs of like size: each is put over what the one before has. */
static void put_three(void)
{
    for (int i = 0; i < 3; i++) {
        put_spans(1, (char)('a' + i), SPANS);
    }
    assert_true(runs() > 1);
}

static void what_is_over_and_left_alone_is_merged_once(void **state)
{
    (void)state;
    put_three();
    assert_false(look(OVER)); /* seen for the first time */
    assert_false(look(OVER + A_WAIT - 1));
    assert_true(look(OVER + A_WAIT));
    assert_int_equal(runs(), 1);
    expect_spans(1, 'c', SPANS);
    assert_false(look(OVER + 10 * A_WAIT));
}

static void what_is_written_to_waits(void **state)
{
    (void)state;
    put_three();
    assert_false(look(OVER));
    put_spans(1, 'd', SPANS);
    assert_false(look(OVER + A_WAIT));
    assert_false(look(OVER + 2 * A_WAIT - 1));
    assert_true(look(OVER + 2 * A_WAIT));
    expect_spans(1, 'd', SPANS);
    put_spans(1, 'e', SPANS); /* late */
    assert_int_equal(runs(), 2);
    assert_false(look(OVER + 3 * A_WAIT));
    assert_true(look(OVER + 4 * A_WAIT));
    assert_int_equal(runs(), 1);
    expect_spans(1, 'e', SPANS);
}

static void what_is_not_over_waits(void **state)
{
    (void)state;
    put_three();
    for (int i = 0; i < 4; i++) {
        assert_false(look(BEGIN + VV_HOUR + i * A_WAIT));
    }
    assert_true(runs() > 1);
}

static void a_few_late_ones_are_left(void **state)
{
    (void)state;
    for (uint32_t source = 1; source <= 8; source++) {
        put_spans(source, 'a', SPANS);
    }
    put_spans(1, 'b', SPANS);
    assert_false(look(OVER));
    assert_true(look(OVER + A_WAIT));
    put_spans(1, 'c', 2);
    assert_int_equal(runs(), 2);
    assert_false(look(OVER + 2 * A_WAIT));
    assert_false(look(OVER + 4 * A_WAIT));
    assert_int_equal(runs(), 2);
    expect_spans(1, 'c', 2);
}

static void without_room_it_waits(void **state)
{
    (void)state;
    put_three();
    free_bytes = KEPT_FREE / 2;
    assert_false(look(OVER));
    assert_false(look(OVER + A_WAIT));
    free_bytes = KEPT_FREE + (uint64_t)5 * SPANS * PAGE;
    assert_false(look(OVER + A_WAIT));
    free_bytes = KEPT_FREE + (uint64_t)7 * SPANS * PAGE;
    assert_true(look(OVER + 2 * A_WAIT));
    assert_int_equal(runs(), 1);
}

static void it_can_be_switched_off(void **state)
{
    (void)state;
    store->ops->close(store);
    open_store(0);
    put_three();
    assert_false(look(OVER));
    assert_false(look(OVER + 1000 * A_WAIT));
    assert_true(runs() > 1);
}

/* What was not merged before a restart is, some time after it. */
static void a_restart_forgets_nothing(void **state)
{
    (void)state;
    put_three();
    assert_false(look(OVER));
    store->ops->close(store);
    open_store(A_WAIT);
    assert_false(look(OVER + A_WAIT));
    assert_true(look(OVER + 2 * A_WAIT));
    assert_int_equal(runs(), 1);
}

/* So many small files that each makes durable what was put. */
static void confirm_some(int n)
{
    for (int i = 0; i < n; i++) {
        char name[16];
        int size = snprintf(name, sizeof name, "%d", i);
        const struct vv_str key = {name, (size_t)size};
        assert_int_equal(store->ops->put_meta(store, 1, key, key, NULL), VV_OK);
        assert_int_equal(store->ops->confirm(store, NULL), VV_OK);
    }
}

/* RocksDB merges these files itself, unless its only thread for that is held. */
static void a_merge_gives_way_before_small_files_stall_writes(void **state)
{
    rocksdb_t *database = vv_rocksdb_of(store)->database;
    (void)state;
    put_three();
    assert_false(look(OVER));
    char *message = NULL;
    const char *const names[] = {"disable_auto_compactions"};
    const char *const values[] = {"true"};
    rocksdb_set_options_cf(database, inside()->base, 1, names, values, &message);
    assert_null(message);
    merges_last = true;
    expire(OVER + A_WAIT);
    assert_non_null(inside()->reclaim.era);
    confirm_some(30);
    assert_non_null(inside()->reclaim.era);
    confirm_some(25);
    assert_null(inside()->reclaim.era);
    assert_true(runs() > 1);
    merges_last = false;
    assert_false(look(OVER + A_WAIT + VV_MINUTE));
    assert_false(look(OVER + A_WAIT + VV_HOUR));
    assert_true(look(OVER + A_WAIT + VV_MINUTE + VV_HOUR));
    assert_int_equal(runs(), 1);
}

static char damaged[512];

static int damage(const char *path, const struct stat *about, int kind, struct FTW *place)
{
    (void)kind, (void)place;
    size_t size = strlen(path);
    if (damaged[0] || about->st_size < PAGE * SPANS || size < 4 ||
        strcmp(path + size - 4, ".sst") != 0) {
        return 0;
    }
    snprintf(damaged, sizeof damaged, "%s", path);
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    assert_int_equal(fseek(file, about->st_size / 2, SEEK_SET), 0);
    assert_int_equal(fputs("damaged", file) >= 0, 1);
    return fclose(file);
}

/* What cannot be read breaks the store when it is merged, once: it recovers, and does not try
 * again. */
static void what_is_damaged_is_not_tried_again(void **state)
{
    (void)state;
    put_three();
    store->ops->close(store); /* what its cache has is not read */
    damaged[0] = 0;
    assert_int_equal(nftw(folder, damage, 16, FTW_PHYS), 0);
    assert_true(damaged[0]);
    open_store(A_WAIT);
    assert_false(look(OVER));
    assert_true(look(OVER + A_WAIT));
    assert_true(inside()->reclaim.is_off);
    bool is_broken = store->ops->confirm(store, NULL) != VV_OK;
    put_spans_try(&is_broken);
    assert_true(is_broken);
    assert_int_equal(store->ops->recover(store, NULL), VV_OK);
    for (int i = 1; i < 5; i++) {
        assert_false(look(OVER + (1 + i) * A_WAIT));
    }
    put_spans(2, 'a', SPANS);
    expect_spans(2, 'a', SPANS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_over_and_left_alone_is_merged_once, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_is_written_to_waits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_not_over_waits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_few_late_ones_are_left, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_room_it_waits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(it_can_be_switched_off, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_restart_forgets_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_merge_gives_way_before_small_files_stall_writes, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_is_damaged_is_not_tried_again, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
