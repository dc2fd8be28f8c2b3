/* SPDX-License-Identifier: Apache-2.0 */
/* Every allocation of every call fails once: the call says so, and nothing is half done. */
#include "store/store.h"

#include "simulation/sim_memory.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define STEPS 14

struct fixture {
    enum vv_status (*open)(const struct vv_store_options *, struct vv_store **, struct vv_error *);
    struct vv_store *store;
    char folder[64];
    uint32_t round;
};

static struct vv_span_key span_of(uint32_t tenant, uint32_t source)
{
    return (struct vv_span_key){{tenant, source, 100 * VV_DAY, VV_DAY, 0, 0}, 1, 100 * VV_DAY};
}

static enum vv_status count_piece(void *context, const struct vv_piece *piece)
{
    (void)piece;
    (*(int *)context)++;
    return VV_OK;
}

static enum vv_status count_mark(void *context, const struct vv_mark *mark)
{
    (void)mark;
    (*(int *)context)++;
    return VV_OK;
}

static enum vv_status count_meta(void *context, struct vv_str key, struct vv_str value)
{
    (void)key;
    (void)value;
    (*(int *)context)++;
    return VV_OK;
}

static enum vv_status put_blocks(struct fixture *f)
{
    const struct vv_piece pieces[] = {
        {VV_PIECE_BLOCK, span_of(1, 1), 0, 0, vv_str_of("one"), 0, 1},
        {VV_PIECE_BLOCK, span_of(1, 1), 0, 1, vv_str_of("two"), 0, 2},
        {VV_PIECE_BLOCK, span_of(1, 2 + f->round % 100), 0, 0, vv_str_of("c"), 0, 0},
    };
    return f->store->ops->put_blocks(f->store, pieces, 3, NULL);
}

static enum vv_status get_meta(struct fixture *f)
{
    struct vv_buffer value = {0};
    enum vv_status status = f->store->ops->get_meta(f->store, 1, vv_str_of("k"), &value, NULL);
    vv_buffer_deinit(&value);
    return status;
}

/* One call of each kind; what it writes differs from round to round. */
static enum vv_status run_step(struct fixture *f, int step)
{
    struct vv_store *store = f->store;
    const struct vv_piece run = {VV_PIECE_RUN, span_of(1, 1), f->round, 0, vv_str_of("r"), 0, 0};
    const struct vv_mark mark = {f->round % 7, span_of(1, 1), VV_HOUR, f->round, false};
    const struct vv_store_read read = {.partition = run.key.partition,
                                       .measurement = 1,
                                       .span_from = INT64_MIN,
                                       .span_to = INT64_MAX};
    int count = 0;
    bool more;
    int64_t start;
    switch (step) {
    case 0:
        return store->ops->put_run(store, &run, NULL);
    case 1:
        return store->ops->put_mark(store, &mark, NULL);
    case 2:
        return store->ops->put_meta(store, 1, vv_str_of("k"), vv_str_of("v"), NULL);
    case 3:
        return store->ops->confirm(store, NULL);
    case 4:
        return put_blocks(f);
    case 5:
        return store->ops->set_retention(store, 1, (1 + f->round % 5) * VV_DAY, NULL);
    case 6:
        return store->ops->expire(store, 100 * VV_DAY, 1u << 20, &more, NULL);
    case 7:
        return store->ops->read(store, &read, count_piece, &count, NULL);
    case 8:
        return store->ops->nearest(store, 0, 1, 1, 0, true, &start, NULL);
    case 9:
        return store->ops->scan_marks(store, INT64_MAX, NULL, count_mark, &count, NULL);
    case 10:
        return get_meta(f);
    case 11:
        return store->ops->scan_meta(store, 1, vv_str_of(""), count_meta, &count, NULL);
    case 12:
        return store->ops->retire_marks(store, &mark, 1, NULL);
    default:
        return store->ops->remove_runs(store, &run, 1, NULL);
    }
}

/* Blocks of the span with two parts: 0 or 2, never 1. */
static int parts(struct fixture *f)
{
    const struct vv_store_read read = {.partition = span_of(1, 1).partition,
                                       .measurement = 1,
                                       .span_from = INT64_MIN,
                                       .span_to = INT64_MAX};
    int all = 0;
    assert_int_equal(f->store->ops->read(f->store, &read, count_piece, &all, NULL), VV_OK);
    return all;
}

static void try_step(struct fixture *f, int step)
{
    for (uint64_t k = 1; k < 10000; k++) {
        f->round++;
        vv_sim_memory_fail(k);
        enum vv_status status = run_step(f, step);
        if (!vv_sim_memory_failed()) {
            assert_int_equal(status, VV_OK);
            return;
        }
        assert_true(status == VV_NO_MEMORY || status == VV_OK);
        assert_int_equal(f->store->ops->recover(f->store, NULL), VV_OK);
    }
    fail_msg("step %d never had enough memory", step);
}

static void calls_survive_without_memory(void **state)
{
    struct fixture *f = *state;
    for (int pass = 0; pass < 3; pass++) {
        for (int step = 0; step < STEPS; step++) {
            try_step(f, step);
        }
        int found = parts(f);
        assert_true(found >= 2);
    }
}

static void opening_survives_without_memory(void **state)
{
    struct fixture *f = *state;
    f->store->ops->close(f->store);
    f->store = NULL;
    const struct vv_store_options options = {.folder = f->folder};
    for (uint64_t k = 1; !f->store; k++) {
        assert_true(k < 1000);
        vv_sim_memory_fail(k);
        enum vv_status status = f->open(&options, &f->store, NULL);
        assert_int_equal(status == VV_OK, f->store != NULL);
        assert_true(status == VV_OK || status == VV_NO_MEMORY);
        assert_true(vv_sim_memory_failed() || status == VV_OK);
    }
}

static int remove_entry(const char *path, const struct stat *about, int kind, struct FTW *walk)
{
    (void)about;
    (void)kind;
    (void)walk;
    return remove(path);
}

static int setup(void **state, enum vv_status (*open)(const struct vv_store_options *,
                                                      struct vv_store **, struct vv_error *))
{
    struct fixture *f = calloc(1, sizeof *f);
    if (!f) {
        return -1;
    }
    f->open = open;
    snprintf(f->folder, sizeof f->folder, "/tmp/varve-memory-XXXXXX");
    if (!mkdtemp(f->folder)) {
        return -1;
    }
    *state = f;
    const struct vv_store_options options = {.folder = f->folder};
    return open(&options, &f->store, NULL) == VV_OK ? 0 : -1;
}

static int setup_memory(void **state)
{
    return setup(state, vv_store_memory_open);
}

static int setup_rocksdb(void **state)
{
    return setup(state, vv_store_rocksdb_open);
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    if (f->store) {
        f->store->ops->close(f->store);
    }
    nftw(f->folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    free(f);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(calls_survive_without_memory, setup_memory, teardown),
        cmocka_unit_test_setup_teardown(opening_survives_without_memory, setup_memory, teardown),
        cmocka_unit_test_setup_teardown(calls_survive_without_memory, setup_rocksdb, teardown),
        cmocka_unit_test_setup_teardown(opening_survives_without_memory, setup_rocksdb, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
