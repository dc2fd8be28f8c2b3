/* SPDX-License-Identifier: Apache-2.0 */
/* Sealing: due spans become blocks, late points are folded in, crashes in between are harmless. */
#include "support/pipeline.h"

static const int64_t noon = 20000 * VV_DAY + 12 * VV_HOUR;

static void fill_hour(struct pipeline *p, uint32_t source, int64_t start)
{
    for (int64_t i = 0; i < 360; i++) {
        pipeline_write(p, source, 0, start + i * 10 * VV_SECOND, (uint64_t)i);
    }
    assert_int_equal(pipeline_flush(p), VV_OK);
}

static void init_hours(struct pipeline *p)
{
    pipeline_init(p, noon);
    p->flush.bucket_ns = VV_DAY;
    p->flush.span_ns = VV_HOUR;
}

static void a_span_is_sealed_when_it_is_over_and_quiet(void **state)
{
    (void)state;
    struct pipeline p;
    init_hours(&p);
    uint32_t source = pipeline_source(&p, "a");
    fill_hour(&p, source, noon);
    assert_int_equal(vv_sealer_step(p.sealer, VV_SEAL_DUE, 64, NULL), VV_DONE); /* not over */
    vv_sim_clock_advance(&p.clock, VV_HOUR + 2 * VV_MINUTE);
    pipeline_write(&p, source, 0, noon + VV_SECOND, 9);
    assert_int_equal(pipeline_flush(&p), VV_OK);
    assert_int_equal(vv_sealer_step(p.sealer, VV_SEAL_DUE, 64, NULL), VV_DONE); /* not quiet */
    vv_sim_clock_advance(&p.clock, 2 * VV_SECOND);
    assert_int_equal(vv_sealer_step(p.sealer, VV_SEAL_DUE, 64, NULL), VV_OK);
    assert_int_equal(vv_sealer_step(p.sealer, VV_SEAL_DUE, 64, NULL), VV_DONE);
    struct pieces pieces = pipeline_pieces(&p, source, noon);
    assert_int_equal(pieces.runs, 0);
    assert_true(pieces.blocks > 1); /* cut at block_bytes_max */
    assert_int_equal(pieces.rows, 361);
    assert_int_equal(pipeline_marks(&p), 0);
    pipeline_deinit(&p);
}

static void late_points_are_folded_into_the_block(void **state)
{
    (void)state;
    struct pipeline p;
    init_hours(&p);
    uint32_t source = pipeline_source(&p, "a");
    fill_hour(&p, source, noon - 400 * VV_DAY); /* history, loaded years afterwards */
    vv_sim_clock_advance(&p.clock, 2 * VV_SECOND);
    assert_int_equal(vv_sealer_step(p.sealer, VV_SEAL_DUE, 64, NULL), VV_OK);
    pipeline_write(&p, source, 1, noon - 400 * VV_DAY + 5, 1);
    pipeline_write(&p, source, 0, noon - 400 * VV_DAY, 500); /* a correction */
    assert_int_equal(pipeline_flush(&p), VV_OK);
    assert_int_equal(pipeline_marks(&p), 1);
    vv_sim_clock_advance(&p.clock, 2 * VV_SECOND);
    assert_int_equal(vv_sealer_step(p.sealer, VV_SEAL_DUE, 64, NULL), VV_OK);
    struct pieces pieces = pipeline_pieces(&p, source, noon - 400 * VV_DAY);
    assert_int_equal(pieces.runs, 0);
    assert_int_equal(pieces.rows, 361);
    struct vv_seal_figures figures;
    vv_sealer_read_figures(p.sealer, &figures);
    assert_int_equal(figures.spans, 2);
    assert_int_equal(figures.again, 1);
    pipeline_deinit(&p);
}

static void nothing_is_lost_whichever_write_fails(void **state)
{
    (void)state;
    for (uint32_t attempt = 0; attempt < 20; attempt++) {
        struct pipeline p;
        init_hours(&p);
        uint32_t source = pipeline_source(&p, "a");
        fill_hour(&p, source, noon);
        fill_hour(&p, source, noon + VV_HOUR);
        /* The attempt-th crash: after that many failing calls, and with a prefix kept. */
        vv_store_memory_fail(p.store, VV_IO, attempt % 4);
        (void)!vv_sealer_step(p.sealer, VV_SEAL_ALL, 64, NULL);
        vv_store_memory_fail(p.store, VV_OK, 0);
        vv_store_memory_crash(p.store, attempt);
        assert_int_equal(p.store->ops->recover(p.store, NULL), VV_OK);
        while (vv_sealer_step(p.sealer, VV_SEAL_ALL, 64, NULL) == VV_OK) {
        }
        for (int64_t hour = 0; hour < 2; hour++) {
            struct pieces pieces = pipeline_pieces(&p, source, noon + hour * VV_HOUR);
            assert_int_equal(pieces.runs, 0);
            assert_int_equal(pieces.rows, 360);
        }
        assert_int_equal(pipeline_marks(&p), 0);
        pipeline_deinit(&p);
    }
}

static void expired_spans_are_cleared_away_unsealed(void **state)
{
    (void)state;
    struct pipeline p;
    init_hours(&p);
    vv_registry_set_retention(p.registry, p.tenant, 30 * VV_DAY);
    uint32_t source = pipeline_source(&p, "a");
    fill_hour(&p, source, noon - 29 * VV_DAY);
    vv_sim_clock_advance(&p.clock, 5 * VV_DAY);
    assert_int_equal(vv_sealer_step(p.sealer, VV_SEAL_DUE, 64, NULL), VV_OK);
    struct pieces pieces = pipeline_pieces(&p, source, noon - 29 * VV_DAY);
    assert_int_equal(pieces.runs + pieces.blocks, 0);
    assert_int_equal(pipeline_marks(&p), 0);
    pipeline_deinit(&p);
}

static void a_damaged_run_stops_no_other_span(void **state)
{
    (void)state;
    struct pipeline p;
    init_hours(&p);
    uint32_t source = pipeline_source(&p, "a");
    fill_hour(&p, source, noon);
    fill_hour(&p, source, noon + VV_HOUR);
    struct vv_piece bad = {.kind = VV_PIECE_RUN,
                           .key = {.partition = {.tenant = p.tenant,
                                                 .source = source,
                                                 .bucket_start = noon - 12 * VV_HOUR,
                                                 .bucket_ns = VV_DAY},
                                   .measurement = p.measurement,
                                   .span_start = noon},
                           .run = 1,
                           .bytes = VV_STR_LITERAL("not a block")};
    assert_int_equal(p.store->ops->put_run(p.store, &bad, NULL), VV_OK);
    assert_int_equal(vv_sealer_step(p.sealer, VV_SEAL_ALL, 64, NULL), VV_OK);
    assert_int_equal(vv_sealer_step(p.sealer, VV_SEAL_ALL, 64, NULL), VV_DONE);
    assert_int_equal(pipeline_pieces(&p, source, noon + VV_HOUR).runs, 0);
    assert_int_equal(pipeline_marks(&p), 1);
    struct vv_seal_figures figures;
    vv_sealer_read_figures(p.sealer, &figures);
    assert_int_equal(figures.damaged, 1);
    pipeline_deinit(&p);
}

/* So a request to seal everything ends while others go on writing. */
static void only_spans_whose_runs_are_old_enough_are_asked_for(void **state)
{
    (void)state;
    struct pipeline p;
    init_hours(&p);
    uint32_t a = pipeline_source(&p, "a");
    uint32_t b = pipeline_source(&p, "b");
    fill_hour(&p, a, noon);
    vv_stamp until = p.stamp;
    fill_hour(&p, b, noon);
    assert_int_equal(vv_sealer_step(p.sealer, until, 64, NULL), VV_OK);
    assert_int_equal(pipeline_pieces(&p, a, noon).runs, 0);
    pipeline_write(&p, a, 0, noon, 1); /* marked again, by a newer run */
    assert_int_equal(pipeline_flush(&p), VV_OK);
    assert_int_equal(vv_sealer_step(p.sealer, until, 64, NULL), VV_DONE);
    assert_int_equal(pipeline_pieces(&p, a, noon).runs, 1);
    assert_int_equal(pipeline_pieces(&p, b, noon).runs, 1);
    assert_int_equal(pipeline_marks(&p), 2);
    pipeline_deinit(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_span_is_sealed_when_it_is_over_and_quiet),
        cmocka_unit_test(late_points_are_folded_into_the_block),
        cmocka_unit_test(nothing_is_lost_whichever_write_fails),
        cmocka_unit_test(expired_spans_are_cleared_away_unsealed),
        cmocka_unit_test(a_damaged_run_stops_no_other_span),
        cmocka_unit_test(only_spans_whose_runs_are_old_enough_are_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
