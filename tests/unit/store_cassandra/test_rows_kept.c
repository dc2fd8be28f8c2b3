/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces that are kept for another visit. */
#include "simulation/sim_memory.h"
#include "store/cassandra/rows.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct vv_store_read wanted = {
    .partition = {.tenant = 1, .source = 2, .bucket_start = 3, .bucket_ns = 4, .split = 5},
    .measurement = 6};

static void add(struct vv_rows_kept *kept, int64_t span, uint32_t part, const char *bytes,
                size_t size)
{
    const struct vv_piece piece = {.kind = VV_PIECE_RUN,
                                   .key = {.span_start = span},
                                   .run = 1000 + part,
                                   .part = part,
                                   .bytes = {bytes, size}};
    vv_rows_kept_add(kept, &piece);
}

struct seen {
    char text[256];
    int stop_at;
};

static enum vv_status see(void *context, const struct vv_piece *piece)
{
    struct seen *seen = context;
    size_t used = strlen(seen->text);
    assert_int_equal(piece->kind, VV_PIECE_RUN);
    assert_memory_equal(&piece->key.partition, &wanted.partition, sizeof wanted.partition);
    assert_int_equal(piece->key.measurement, 6);
    snprintf(seen->text + used, sizeof seen->text - used, "%lld.%llu.%u=%.*s ",
             (long long)piece->key.span_start, (unsigned long long)piece->run, piece->part,
             VV_STR_ARG(piece->bytes));
    return --seen->stop_at == 0 ? VV_DONE : VV_OK;
}

static void pieces_come_back_in_their_order(void **state)
{
    (void)state;
    struct vv_rows_kept kept = {0};
    struct seen seen = {.stop_at = 0};
    vv_rows_kept_begin(&kept);
    add(&kept, 1, 0, "forgotten", 9);
    vv_rows_kept_begin(&kept);
    add(&kept, 7, 0, "one", 3);
    add(&kept, 7, 1, "", 0);
    assert_false(kept.is_whole);
    add(&kept, -5, 2, "three", 5);
    vv_rows_kept_end(&kept);
    assert_true(kept.is_whole);
    for (int i = 0; i < 2; i++) {
        seen = (struct seen){0};
        assert_int_equal(vv_rows_kept_visit(&kept, &wanted, see, &seen), VV_OK);
        assert_string_equal(seen.text, "7.1000.0=one 7.1001.1= -5.1002.2=three ");
    }
    seen = (struct seen){.stop_at = 2};
    assert_int_equal(vv_rows_kept_visit(&kept, &wanted, see, &seen), VV_DONE);
    assert_string_equal(seen.text, "7.1000.0=one 7.1001.1= ");
    vv_rows_kept_deinit(&kept);
}

static void nothing_is_whole_too(void **state)
{
    (void)state;
    struct vv_rows_kept kept = {0};
    struct seen seen = {.stop_at = 0};
    vv_rows_kept_begin(&kept);
    vv_rows_kept_end(&kept);
    assert_true(kept.is_whole);
    assert_int_equal(vv_rows_kept_visit(&kept, &wanted, see, &seen), VV_OK);
    assert_string_equal(seen.text, "");
    vv_rows_kept_deinit(&kept);
}

static void what_is_too_large_is_not_kept(void **state)
{
    (void)state;
    struct vv_rows_kept kept = {0};
    static char bytes[1 << 20];
    vv_rows_kept_begin(&kept);
    for (uint32_t i = 0; i < 4; i++) {
        add(&kept, 0, i, bytes, sizeof bytes);
        assert_false(kept.is_too_large);
    }
    add(&kept, 0, 4, bytes, 1);
    assert_true(kept.is_too_large);
    assert_null(kept.bytes.data);
    add(&kept, 0, 5, bytes, 1);
    vv_rows_kept_end(&kept);
    assert_false(kept.is_whole);
    vv_rows_kept_deinit(&kept);
}

static void without_memory_it_is_not_kept(void **state)
{
    (void)state;
    for (uint64_t k = 1; k < 4; k++) {
        struct vv_rows_kept kept = {0};
        vv_rows_kept_begin(&kept);
        vv_sim_memory_fail(k);
        add(&kept, 0, 0, "piece", 5);
        add(&kept, 0, 1, "piece", 5);
        bool failed = vv_sim_memory_failed();
        vv_rows_kept_end(&kept);
        assert_int_equal(kept.is_whole, !failed);
        assert_true(failed || k > 2);
        vv_rows_kept_deinit(&kept);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_come_back_in_their_order),
        cmocka_unit_test(nothing_is_whole_too),
        cmocka_unit_test(what_is_too_large_is_not_kept),
        cmocka_unit_test(without_memory_it_is_not_kept),
    };
    return cmocka_run_group_tests_name("store_cassandra/rows_kept", tests, NULL, NULL);
}
