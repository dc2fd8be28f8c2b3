/* SPDX-License-Identifier: Apache-2.0 */
/* Notes of buckets where a part of Cassandra is away while retentions change: they live as long as
 * what is in the buckets, whichever of the two was put first. Of single values, which live by the
 * retention of when they are put. */
#include "parking_fixture.h"

#include "model/merge.h"
#include "model/piece.h"

#define LONG_NS  (25 * VV_DAY)
#define SHORT_NS (2 * VV_DAY)

static int set_up_rows(void **state)
{
    int failed = set_up(state);
    close_node(&a);
    a.rows_tenants = tenant_names[TENANT];
    open_node(&a);
    return failed;
}

static void keep_for(struct node *node, int64_t retention_ns)
{
    struct vv_error error = {0};
    assert_int_equal(node->store->ops->set_retention(node->store, TENANT, retention_ns, &error),
                     VV_OK);
}

/* A value of each source, some of which are parked. */
static void write_all(void)
{
    struct vv_piece_encoder encoder = {0};
    struct vv_rows rows;
    struct vv_str bytes;
    struct vv_error error = {0};
    assert_int_equal(vv_rows_alloc(1, 1, &rows), VV_OK);
    rows.times[0] = START + VV_MINUTE;
    rows.stamps[0] = 1000;
    rows.columns[0].metric = 7;
    rows.columns[0].type = VV_INT64;
    rows.columns[0].values[0] = 42;
    vv_column_mark(&rows.columns[0], 0);
    assert_int_equal(vv_piece_encode(&encoder, &rows, 0, 1, &bytes, &error), VV_OK);
    enum vv_status status = VV_IO;
    for (int i = 0; i < 20 && status != VV_OK; i++) {
        status = VV_OK;
        for (uint32_t source = 0; source < SOURCES && status == VV_OK; source++) {
            status = put(&a, source, 0, 1, bytes);
        }
        status = status == VV_OK ? confirm(&a) : status;
        assert_int_equal(status == VV_OK ? VV_OK : recover(&a), VV_OK);
    }
    assert_int_equal(status, VV_OK);
    vv_piece_encoder_deinit(&encoder);
    vv_rows_free(&rows);
}

static enum vv_status count_piece(void *context, const struct vv_piece *piece)
{
    (void)piece;
    ++*(uint32_t *)context;
    return VV_OK;
}

static bool has_value(struct node *node, uint32_t source)
{
    uint32_t n = 0;
    struct vv_error error = {0};
    const struct vv_span_key key = span_of(source, 0);
    const struct vv_store_read read = {.partition = key.partition,
                                       .measurement = 1,
                                       .span_from = key.span_start,
                                       .span_to = key.span_start + VV_DAY,
                                       .span_ns = VV_HOUR};
    assert_int_equal(node->store->ops->read(node->store, &read, count_piece, &n, &error), VV_OK);
    return n > 0;
}

/* Of the sources that have their value; the other node has parked nothing. */
static void assert_buckets_are_named(void)
{
    uint32_t n = 0;
    b.rows_tenants = a.rows_tenants;
    close_node(&b);
    open_node(&b);
    keep_for(&b, LONG_NS);
    for (uint32_t source = 0; source < SOURCES; source++) {
        int64_t at = 0;
        struct vv_error error = {0};
        if (has_value(&b, source)) {
            n++;
            assert_int_equal(
                b.store->ops->nearest(b.store, 0, TENANT, source, START, true, &at, &error), VV_OK);
            assert_int_equal(at, START);
        }
    }
    assert_in_range(n, SOURCES / 5, SOURCES);
}

static void deliver_what_waits(void)
{
    assert_true(parked(&a) > 0);
    set_away(0);
    deliver_all(&a);
    assert_int_equal(parked(&a), 0);
}

static void one_that_waits_is_put_for_what_it_was_made_for(void **state)
{
    (void)state;
    keep_for(&a, LONG_NS);
    set_away(HALF);
    write_all();
    keep_for(&a, SHORT_NS);
    write_all(); /* it is made again, for less */
    deliver_what_waits();
    advance(15 * VV_DAY);
    assert_buckets_are_named();
}

static void a_restart_keeps_what_it_was_made_for(void **state)
{
    (void)state;
    keep_for(&a, LONG_NS);
    set_away(HALF);
    write_all();
    keep_for(&a, SHORT_NS);
    set_away(0);
    crash_node(&a, 1);
    deliver_what_waits();
    advance(15 * VV_DAY);
    assert_buckets_are_named();
}

/* Their bucket was noted for less. */
static void values_that_wait_are_noted_when_they_are_put_for_longer(void **state)
{
    (void)state;
    keep_for(&a, SHORT_NS);
    set_away(HALF);
    write_all();
    keep_for(&a, LONG_NS);
    deliver_what_waits();
    advance(15 * VV_DAY);
    assert_buckets_are_named();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_that_waits_is_put_for_what_it_was_made_for, set_up_rows,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_restart_keeps_what_it_was_made_for, set_up_rows,
                                        tear_down),
        cmocka_unit_test_setup_teardown(values_that_wait_are_noted_when_they_are_put_for_longer,
                                        set_up_rows, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
