/* SPDX-License-Identifier: Apache-2.0 */
/* The flush: rows become runs inside spans, with marks; plans are chosen and stored first. */
#include "support/pipeline.h"

static const int64_t noon = 20000 * VV_DAY + 12 * VV_HOUR;

static void a_run_never_crosses_a_span(void **state)
{
    (void)state;
    struct pipeline p;
    pipeline_init(&p, noon);
    p.flush.bucket_ns = VV_DAY;
    p.flush.span_ns = VV_HOUR;
    uint32_t source = pipeline_source(&p, "a");
    for (int64_t i = 0; i < 300; i++) { /* five hours, a minute apart */
        pipeline_write(&p, source, 0, noon + i * VV_MINUTE, (uint64_t)i);
    }
    assert_int_equal(pipeline_flush(&p), VV_OK);
    assert_int_equal(p.figures.rows, 300);
    assert_int_equal(pipeline_marks(&p), 5);
    for (int64_t hour = 0; hour < 5; hour++) {
        struct pieces pieces = pipeline_pieces(&p, source, noon + hour * VV_HOUR);
        assert_int_equal(pieces.runs, 1);
        assert_int_equal(pieces.rows, 60);
        assert_int_equal(pieces.time_min, noon + hour * VV_HOUR);
        assert_int_equal(pieces.time_max, noon + hour * VV_HOUR + 59 * VV_MINUTE);
    }
    pipeline_deinit(&p);
}

static void the_plan_follows_what_is_seen(void **state)
{
    (void)state;
    struct pipeline p;
    pipeline_init(&p, noon);
    uint32_t fast = pipeline_source(&p, "fast");
    uint32_t slow = pipeline_source(&p, "slow");
    for (int64_t i = 0; i < 200; i++) {
        pipeline_write(&p, fast, 0, noon + i * VV_SECOND, 1);
        pipeline_write(&p, slow, 0, noon + i * 5 * VV_MINUTE, 1);
    }
    assert_int_equal(pipeline_flush(&p), VV_OK);
    assert_int_equal(p.figures.plans, 2);
    struct vv_plan fast_plan = vv_registry_source_plans(p.registry, fast).plans[0];
    struct vv_plan slow_plan = vv_registry_source_plans(p.registry, slow).plans[0];
    assert_int_equal(fast_plan.span_ns, VV_HOUR);
    assert_int_equal(slow_plan.span_ns, VV_DAY);
    assert_true(slow_plan.bucket_ns > fast_plan.bucket_ns);
    struct vv_buffer record = {0};
    uint8_t key[4];
    vv_registry_key(slow, key);
    assert_int_equal(p.store->ops->get_meta(p.store, VV_REGISTRY_SOURCE,
                                            (struct vv_str){(char *)key, 4}, &record, NULL),
                     VV_OK);
    vv_buffer_deinit(&record);
    pipeline_deinit(&p);
}

static void a_bucket_is_at_most_an_eighth_of_the_retention(void **state)
{
    (void)state;
    struct pipeline p;
    pipeline_init(&p, noon);
    vv_registry_set_retention(p.registry, p.tenant, 8 * VV_HOUR);
    uint32_t source = pipeline_source(&p, "a");
    for (int64_t i = 0; i < 100; i++) {
        pipeline_write(&p, source, 0, noon + i * VV_MINUTE, 1);
    }
    assert_int_equal(pipeline_flush(&p), VV_OK);
    assert_true(vv_registry_source_plans(p.registry, source).plans[0].bucket_ns <= VV_HOUR);
    pipeline_deinit(&p);
}

static void splits_share_a_bucket_and_a_retry_lands_in_the_same(void **state)
{
    (void)state;
    struct pipeline p;
    pipeline_init(&p, noon);
    p.flush.bucket_ns = VV_HOUR;
    p.flush.span_ns = VV_HOUR;
    p.flush.splits = 4;
    uint32_t source = pipeline_source(&p, "a");
    for (int again = 0; again < 2; again++) {
        for (int64_t i = 0; i < 60; i++) {
            pipeline_write(&p, source, 0, noon + i * VV_MINUTE, (uint64_t)i);
        }
        assert_int_equal(pipeline_flush(&p), VV_OK);
    }
    struct pieces pieces = pipeline_pieces(&p, source, noon);
    assert_int_equal(pieces.rows, 120);
    assert_true(pipeline_marks(&p) > 1); /* of several splits */
    assert_int_equal(vv_sealer_step(p.sealer, VV_SEAL_ALL, 64, NULL), VV_OK);
    pieces = pipeline_pieces(&p, source, noon);
    assert_int_equal(pieces.runs, 0);
    assert_int_equal(pieces.rows, 60); /* the second write of a point met the first */
    pipeline_deinit(&p);
}

static void unordered_rows_and_overwrites_are_resolved(void **state)
{
    (void)state;
    struct pipeline p;
    pipeline_init(&p, noon);
    uint32_t source = pipeline_source(&p, "a");
    for (int64_t i = 99; i >= 0; i--) {
        pipeline_write(&p, source, (int)(i % 3), noon + i / 2 * VV_SECOND, (uint64_t)i);
    }
    pipeline_write(&p, source, 0, noon, 77);
    assert_int_equal(pipeline_flush(&p), VV_OK);
    struct pieces pieces = pipeline_pieces(&p, source, noon);
    assert_int_equal(pieces.time_min, noon);
    assert_int_equal(pieces.time_max, noon + 49 * VV_SECOND);
    assert_true(pieces.rows >= 50 && pieces.rows <= 100); /* values keep their stamps */
    pipeline_deinit(&p);
}

static void a_failed_flush_is_done_again_as_a_whole(void **state)
{
    (void)state;
    struct pipeline p;
    pipeline_init(&p, noon);
    uint32_t source = pipeline_source(&p, "a");
    for (int64_t i = 0; i < 100; i++) {
        pipeline_write(&p, source, 0, noon + i * VV_SECOND, (uint64_t)i);
    }
    struct vv_generation *generation;
    struct vv_error error = {0};
    assert_int_equal(vv_head_cut(p.head, &generation), VV_OK);
    for (uint32_t failing = 1; failing <= 4; failing++) {
        vv_store_memory_fail(p.store, VV_IO, failing);
        assert_int_equal(vv_flush_generation(&p.flush, generation, p.stamp, &p.figures, &error),
                         VV_IO);
        vv_store_memory_fail(p.store, VV_OK, 0);
        assert_int_equal(p.store->ops->recover(p.store, &error), VV_OK);
    }
    assert_int_equal(vv_flush_generation(&p.flush, generation, p.stamp, &p.figures, &error), VV_OK);
    assert_int_equal(p.store->ops->confirm(p.store, &error), VV_OK);
    vv_head_drop(p.head, generation);
    struct vv_buffer record = {0}; /* the plan was chosen by an attempt that failed */
    uint8_t key[4];
    vv_registry_key(source, key);
    assert_int_equal(p.store->ops->get_meta(p.store, VV_REGISTRY_SOURCE,
                                            (struct vv_str){(char *)key, 4}, &record, NULL),
                     VV_OK);
    vv_buffer_deinit(&record);
    assert_int_equal(pipeline_pieces(&p, source, noon).rows, 100);
    pipeline_deinit(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_never_crosses_a_span),
        cmocka_unit_test(the_plan_follows_what_is_seen),
        cmocka_unit_test(a_bucket_is_at_most_an_eighth_of_the_retention),
        cmocka_unit_test(splits_share_a_bucket_and_a_retry_lands_in_the_same),
        cmocka_unit_test(unordered_rows_and_overwrites_are_resolved),
        cmocka_unit_test(a_failed_flush_is_done_again_as_a_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
