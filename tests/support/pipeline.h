/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts between a batch and the store, over the memory store and a standing clock: for tests of
 * the flush and of sealing. One measurement `m` with int64 metrics 0 … n of tenant `t`.
 */
#ifndef TESTS_SUPPORT_PIPELINE_H
#define TESTS_SUPPORT_PIPELINE_H

#include "flush/flush.h"
#include "seal/sealer.h"
#include "simulation/sim_clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define PIPELINE_METRICS 3
#ifndef PIPELINE_VOLUMES_AFTER_NS
#define PIPELINE_VOLUMES_AFTER_NS 0 /* none are made */
#endif

struct pipeline {
    struct vv_sim_clock clock;
    struct vv_registry *registry;
    struct vv_head *head;
    struct vv_store *store;
    struct vv_deletions *deletions;
    struct vv_sealer *sealer;
    struct vv_flush_options flush;
    struct vv_flush_figures figures;
    uint32_t tenant;
    uint32_t measurement;
    uint32_t metrics[PIPELINE_METRICS];
    vv_stamp stamp;
};

static inline void pipeline_init(struct pipeline *p, int64_t now_ns)
{
    memset(p, 0, sizeof *p);
    vv_sim_clock_init(&p->clock, now_ns);
    struct vv_registry_options options = {
        .tenants_max = 10, .sources_max = 1000, .metrics_max = 1000, .cache_bytes = 1 << 16};
    assert_int_equal(vv_registry_create(&options, &p->registry), VV_OK);
    assert_int_equal(vv_registry_tenant(p->registry, VV_STR_LITERAL("t"), true, &p->tenant, NULL),
                     VV_OK);
    assert_int_equal(vv_registry_measurement(p->registry, p->tenant, VV_STR_LITERAL("m"), true,
                                             &p->measurement, NULL),
                     VV_OK);
    for (int i = 0; i < PIPELINE_METRICS; i++) {
        char name[16];
        enum vv_value_type type;
        snprintf(name, sizeof name, "f%d", i);
        assert_int_equal(vv_registry_metric(p->registry, p->measurement, vv_str_of(name), VV_INT64,
                                            true, &p->metrics[i], &type, NULL),
                         VV_OK);
    }
    assert_int_equal(vv_head_create(&p->head), VV_OK);
    struct vv_store_options store_options = {.folder = "", .eras = 24};
    assert_int_equal(vv_store_memory_open(&store_options, &p->store, NULL), VV_OK);
    struct vv_ledger_rule rule = {
        .lateness_ns = VV_MINUTE, .spread_ns = 1, .quiet_ns = VV_SECOND, .overdue_ns = VV_HOUR};
    p->flush = (struct vv_flush_options){
        .registry = p->registry, .store = p->store, .ledger = rule, .clock = &p->clock.clock};
    assert_int_equal(vv_deletions_create(1000, &p->deletions), VV_OK);
    struct vv_sealer_options sealer_options = {.registry = p->registry,
                                               .deletions = p->deletions,
                                               .store = p->store,
                                               .clock = &p->clock.clock,
                                               .ledger = rule,
                                               .volumes_after_ns = PIPELINE_VOLUMES_AFTER_NS,
                                               .block_bytes_max = 1024,
                                               .percentile_error = 0.01};
    assert_int_equal(vv_sealer_create(&sealer_options, &p->sealer), VV_OK);
    p->stamp = vv_stamp_make((uint64_t)(now_ns / 1000), 0);
}

static inline void pipeline_deinit(struct pipeline *p)
{
    vv_sealer_destroy(p->sealer);
    vv_deletions_destroy(p->deletions);
    vv_head_destroy(p->head);
    vv_registry_destroy(p->registry);
    p->store->ops->close(p->store);
}

/* Switches a tier on, as if it had been journaled. */
static inline uint32_t pipeline_tier(struct pipeline *p, enum vv_space tier)
{
    uint32_t space;
    struct vv_buffer record = {0};
    assert_int_equal(vv_registry_space(p->registry, p->tenant, tier, true, &space, NULL), VV_OK);
    uint64_t version = vv_registry_encode(p->registry, VV_REGISTRY_TENANT, space, &record);
    vv_registry_settle(p->registry, VV_REGISTRY_TENANT, space, version);
    vv_buffer_deinit(&record);
    return space;
}

/* As while a batch is staged that is not journaled yet. */
static inline uint32_t pipeline_staged_source(struct pipeline *p, const char *host)
{
    struct vv_tag tag = {VV_STR_LITERAL("host"), vv_str_of(host)};
    uint32_t source;
    assert_int_equal(vv_registry_source(p->registry, p->tenant, &tag, 1, 0, &source, NULL), VV_OK);
    return source;
}

/* As if it had been journaled. */
static inline void pipeline_settle_source(struct pipeline *p, uint32_t source)
{
    struct vv_buffer record = {0};
    uint64_t version = vv_registry_encode(p->registry, VV_REGISTRY_SOURCE, source, &record);
    vv_registry_settle(p->registry, VV_REGISTRY_SOURCE, source, version);
    vv_buffer_deinit(&record);
}

static inline uint32_t pipeline_source(struct pipeline *p, const char *host)
{
    uint32_t source = pipeline_staged_source(p, host);
    pipeline_settle_source(p, source);
    return source;
}

/* One point, applied to the head under the next stamp. */
static inline void pipeline_write(struct pipeline *p, uint32_t source, int metric, int64_t time,
                                  uint64_t value)
{
    struct vv_batch *batch;
    size_t frame;
    assert_int_equal(vv_batch_create(p->tenant, &batch), VV_OK);
    assert_int_equal(vv_batch_frame(batch, p->measurement, &p->metrics[metric], 1, &frame), VV_OK);
    assert_int_equal(vv_batch_row(batch, frame, source, time, &value), VV_OK);
    p->stamp = vv_stamp_next(p->stamp, p->clock.clock.wall_ns(&p->clock.clock), 0);
    assert_int_equal(vv_head_prepare(p->head, batch, p->stamp), VV_OK);
    vv_head_publish(p->head);
    vv_registry_source_observe(p->registry, source, time, time);
    vv_batch_destroy(batch);
}

static inline enum vv_status pipeline_flush(struct pipeline *p)
{
    struct vv_generation *generation;
    struct vv_error error = {0};
    assert_int_equal(vv_head_cut(p->head, &generation), VV_OK);
    enum vv_status status =
        vv_flush_generation(&p->flush, generation, p->stamp, &p->figures, &error);
    if (status == VV_OK) {
        status = p->store->ops->confirm(p->store, &error);
    }
    vv_head_drop(p->head, generation);
    return status;
}

/* What a partition's span holds. */
struct pieces {
    size_t runs;
    size_t blocks;
    size_t rows;
    int64_t time_min;
    int64_t time_max;
};

static inline enum vv_status pipeline_count(void *context, const struct vv_piece *piece)
{
    struct pieces *pieces = context;
    struct vv_block block;
    assert_int_equal(vv_block_open((const uint8_t *)piece->bytes.data, piece->bytes.size, &block),
                     VV_BLOCK_OK);
    bool first = pieces->runs + pieces->blocks == 0;
    pieces->runs += piece->kind == VV_PIECE_RUN;
    pieces->blocks += piece->kind == VV_PIECE_BLOCK;
    pieces->rows += block.n_rows;
    pieces->time_min =
        first || block.time_min < pieces->time_min ? block.time_min : pieces->time_min;
    pieces->time_max =
        first || block.time_max > pieces->time_max ? block.time_max : pieces->time_max;
    return VV_OK;
}

/* The pieces of the span that holds `time`, in all splits. */
static inline struct pieces pipeline_pieces(struct pipeline *p, uint32_t source, int64_t time)
{
    struct pieces pieces = {0};
    struct vv_plans plans = vv_registry_source_plans(p->registry, source);
    assert_true(plans.n > 0);
    struct vv_bucket bucket = vv_bucket_of(plans.plans, plans.n, time);
    for (uint16_t split = 0; split < bucket.splits; split++) {
        struct vv_store_read read = {.partition = {.tenant = p->tenant,
                                                   .source = source,
                                                   .bucket_start = bucket.start,
                                                   .bucket_ns = bucket.bucket_ns,
                                                   .split = vv_split_name(&bucket, split)},
                                     .measurement = p->measurement,
                                     .span_from = vv_span_of(&bucket, time),
                                     .span_to = vv_span_of(&bucket, time) + 1};
        assert_int_equal(p->store->ops->read(p->store, &read, pipeline_count, &pieces, NULL),
                         VV_OK);
    }
    return pieces;
}

static inline enum vv_status pipeline_count_mark(void *context, const struct vv_mark *mark)
{
    (void)mark;
    *(size_t *)context += 1;
    return VV_OK;
}

static inline size_t pipeline_marks(struct pipeline *p)
{
    size_t n = 0;
    assert_int_equal(
        p->store->ops->scan_marks(p->store, INT64_MAX, NULL, pipeline_count_mark, &n, NULL), VV_OK);
    return n;
}

#endif
