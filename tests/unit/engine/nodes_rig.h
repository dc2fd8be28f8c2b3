/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine that thinks it is one of several nodes, operated by hand: simulated disk and clock, a
 * fake shared store. Time stands still unless the test moves it.
 */
#ifndef TESTS_UNIT_ENGINE_NODES_RIG_H
#define TESTS_UNIT_ENGINE_NODES_RIG_H

#include "base/log.h"
#include "ingest/line_protocol.h"
#include "simulation/sim_clock.h"
#include "simulation/sim_disk.h"
#include "start.h"
#include "support/fake_shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define RIG_START (INT64_C(1767225600) * VV_SECOND) /* 2026-01-01 */

struct rig;
typedef void (*rig_prepare)(struct rig *rig, struct vv_settings *settings,
                            struct vv_engine_options *options);

struct rig {
    rig_prepare prepare; /* what is otherwise, each time that the engine is opened; or NULL */
    struct vv_sim_disk *disk;
    struct vv_sim_clock clock;
    struct vv_clock *other_clock; /* instead of clock, when it is set */
    struct fake_shared *fake;     /* NULL: the store is this node's alone */
    struct vv_store *store;
    struct vv_engine *engine;
    bool threads;
    int64_t ack_timeout_ns; /* 0: as it is by default */
    int64_t points;         /* written */
};

static inline void rig_open(struct rig *rig)
{
    struct vv_settings settings;
    vv_settings_init(&settings);
    settings.history_share = 100; /* the clock stands still: nothing would end a rest */
    strcpy(settings.data, "/data");
    settings.disk_reserve_bytes = 0;
    settings.journal_segment_bytes = 1 << 20; /* each is filled */
    settings.ack_timeout_ns = rig->ack_timeout_ns ? rig->ack_timeout_ns : settings.ack_timeout_ns;
    struct vv_engine_options options = {.settings = &settings,
                                        .disk = vv_sim_disk_interface(rig->disk),
                                        .clock =
                                            rig->other_clock ? rig->other_clock : &rig->clock.clock,
                                        .store = rig->store,
                                        .manual = !rig->threads};
    if (rig->prepare) {
        rig->prepare(rig, &settings, &options);
    }
    rig->engine = start_engine(&options);
}

/* node 0: the store is not shared. */
static inline void rig_init(struct rig *rig, uint32_t node, bool threads)
{
    vv_log_level_set(VV_LOG_OFF);
    *rig = (struct rig){.disk = vv_sim_disk_create(1), .threads = threads};
    struct vv_disk *disk = vv_sim_disk_interface(rig->disk);
    assert_int_equal(disk->ops->make_folder(disk, "/data", NULL), VV_OK);
    assert_int_equal(disk->ops->make_folder(disk, "/data/journal", NULL), VV_OK);
    vv_sim_clock_init(&rig->clock, RIG_START);
    struct vv_store_options options = {.folder = "/data/store", .eras = 24};
    assert_int_equal(vv_store_memory_open(&options, &rig->store, NULL), VV_OK);
    rig->fake = node ? fake_shared_wrap(rig->store, node) : NULL;
    rig_open(rig);
}

static inline void rig_deinit(struct rig *rig)
{
    vv_engine_close(rig->engine);
    rig->store->ops->close(rig->store);
    vv_sim_disk_destroy(rig->disk);
}

/* kill -9; of what the store had not confirmed some prefix is left. */
static inline void rig_restart(struct rig *rig, uint64_t seed)
{
    vv_engine_close(rig->engine);
    if (rig->fake) {
        fake_shared_fail(rig->fake, VV_OK, 0);
        fake_shared_crash(rig->fake, seed);
    }
    vv_sim_disk_restart(rig->disk);
    rig_open(rig);
}

struct rig_outcome {
    pthread_mutex_t lock;
    pthread_cond_t wakes;
    bool known;
    enum vv_status status;
};

static inline void rig_set_outcome(void *context, enum vv_status status, const char *message)
{
    (void)message;
    struct rig_outcome *outcome = context;
    pthread_mutex_lock(&outcome->lock);
    outcome->status = status;
    outcome->known = true;
    pthread_cond_signal(&outcome->wakes);
    pthread_mutex_unlock(&outcome->lock);
}

/* Stages and submits a line. */
static inline void rig_submit_line(struct rig *rig, const char *line, struct rig_outcome *outcome)
{
    struct vv_staging staging;
    struct vv_line_parser *parser;
    assert_int_equal(vv_engine_stage(rig->engine, VV_STR_LITERAL("t"), &staging, NULL), VV_OK);
    assert_int_equal(vv_line_parser_create(&staging, 1, &parser), VV_OK);
    assert_int_equal(vv_line_parser_feed(parser, line, strlen(line)), VV_OK);
    assert_int_equal(vv_line_parser_finish(parser), VV_OK);
    vv_staging_decide(&staging);
    vv_line_parser_destroy(parser);
    vv_engine_account(rig->engine, &staging);
    struct vv_batch *batch = vv_staging_take_batch(&staging);
    vv_staging_deinit(&staging);
    assert_non_null(batch);
    vv_engine_submit(rig->engine, batch, rig_set_outcome, outcome);
}

static inline void rig_next_line(struct rig *rig, char *line, size_t size)
{
    snprintf(line, size, "m,id=x v=%lldi %lld\n", (long long)rig->points,
             (long long)(RIG_START - VV_HOUR + rig->points * VV_SECOND));
    rig->points++;
}

/* Stages and submits one new point. */
static inline void rig_submit(struct rig *rig, struct rig_outcome *outcome)
{
    char line[80];
    rig_next_line(rig, line, sizeof line);
    rig_submit_line(rig, line, outcome);
}

/* A line, acknowledged. */
static inline void rig_write_line(struct rig *rig, const char *line)
{
    struct rig_outcome outcome = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false,
                                  VV_UNKNOWN};
    rig_submit_line(rig, line, &outcome);
    if (!rig->threads) {
        assert_int_equal(vv_engine_step(rig->engine, VV_TASK_COMMIT, NULL), VV_OK);
    }
    pthread_mutex_lock(&outcome.lock);
    while (!outcome.known) {
        pthread_cond_wait(&outcome.wakes, &outcome.lock);
    }
    pthread_mutex_unlock(&outcome.lock);
    assert_int_equal(outcome.status, VV_OK);
}

/* One point, acknowledged. */
static inline void rig_write(struct rig *rig)
{
    char line[80];
    rig_next_line(rig, line, sizeof line);
    rig_write_line(rig, line);
}

static inline enum vv_status rig_step(struct rig *rig, enum vv_engine_task task)
{
    struct vv_error error = {0};
    return vv_engine_step(rig->engine, task, &error);
}

/* What a query finds, added to the buffer as CSV; how many points. */
static inline uint64_t rig_query(struct rig *rig, struct vv_buffer *text,
                                 struct vv_result_facts *facts_out)
{
    const struct vv_parameter parameters[] = {
        {VV_STR_LITERAL("tenant"), VV_STR_LITERAL("t")},
    };
    struct vv_clock *clock = rig->other_clock ? rig->other_clock : &rig->clock.clock;
    struct vv_request *request;
    struct vv_result *result = NULL;
    struct vv_query_limits limits;
    struct vv_error error = {0};
    vv_engine_query_limits(rig->engine, &limits);
    enum vv_status status =
        vv_request_parse(VV_REQUEST_QUERY, parameters, 1, clock->wall_ns(clock), &request, &error);
    if (status == VV_OK) {
        status = vv_result_open(vv_engine_query_context(rig->engine), &limits, request,
                                VV_FORMAT_CSV, &result, &error);
    }
    while (status == VV_OK) {
        status = vv_result_write(result, text, 4096, &error);
    }
    if (status != VV_DONE) {
        fail_msg("%s", error.message);
    }
    vv_result_read_facts(result, facts_out);
    vv_result_close(result);
    return facts_out->rows;
}

/* How many points a query finds. */
static inline uint64_t rig_count(struct rig *rig, struct vv_result_facts *facts_out)
{
    struct vv_buffer text = {0};
    uint64_t n = rig_query(rig, &text, facts_out);
    vv_buffer_deinit(&text);
    return n;
}

#endif
