/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of queries share: the parts between a batch and an answer, over the memory store
 * and a standing clock. Tenant `t`; ids are the value of the tag `id`.
 */
#ifndef TESTS_UNIT_QUERY_FIXTURE_H
#define TESTS_UNIT_QUERY_FIXTURE_H

#include "base/bits.h"
#include "base/random.h"
#include "flush/flush.h"
#include "query/query.h"
#include "seal/sealer.h"
#include "simulation/sim_clock.h"
#include "simulation/sim_memory.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#define FIXTURE_NOW (20000 * VV_DAY + 12 * VV_HOUR) /* 2024-10-04T12:00:00Z */

struct fixture {
    struct vv_sim_clock clock;
    struct vv_registry *registry;
    struct vv_head *head;
    struct vv_store *store;
    struct vv_sealer *sealer;
    struct vv_flush_options flush;
    struct vv_flush_figures flushed;
    struct vv_query_context context;
    struct vv_query_limits limits;
    uint32_t tenant;
    vv_stamp stamp;
    bool unseen;           /* times that are written are not noticed, as those of another node */
    struct vv_error error; /* of the last query */
    struct vv_result_facts facts;
};

static inline void fixture_init(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    vv_sim_clock_init(&f->clock, FIXTURE_NOW);
    struct vv_registry_options options = {.id_tag = "id",
                                          .tenants_max = 10,
                                          .sources_max = 100000,
                                          .metrics_max = 1000,
                                          .cache_bytes = 1 << 16};
    assert_int_equal(vv_registry_create(&options, &f->registry), VV_OK);
    assert_int_equal(vv_registry_tenant(f->registry, VV_STR_LITERAL("t"), true, &f->tenant, NULL),
                     VV_OK);
    assert_int_equal(vv_head_create(&f->head), VV_OK);
    struct vv_store_options store_options = {.folder = "", .eras = 24};
    assert_int_equal(vv_store_memory_open(&store_options, &f->store, NULL), VV_OK);
    struct vv_ledger_rule rule = {
        .lateness_ns = VV_MINUTE, .spread_ns = 1, .quiet_ns = VV_SECOND, .overdue_ns = VV_HOUR};
    f->flush = (struct vv_flush_options){
        .registry = f->registry, .store = f->store, .ledger = rule, .clock = &f->clock.clock};
    struct vv_sealer_options sealer_options = {.registry = f->registry,
                                               .store = f->store,
                                               .clock = &f->clock.clock,
                                               .ledger = rule,
                                               .block_bytes_max = 4096,
                                               .percentile_error = 0.01};
    assert_int_equal(vv_sealer_create(&sealer_options, &f->sealer), VV_OK);
    f->stamp = vv_stamp_make((uint64_t)(FIXTURE_NOW / 1000), 0);
    f->context = (struct vv_query_context){
        .registry = f->registry, .head = f->head, .store = f->store, .clock = &f->clock.clock};
    f->limits = (struct vv_query_limits){.time_ns_max = 30 * VV_SECOND,
                                         .memory_bytes_max = 64 << 20,
                                         .series_max = 100000,
                                         .future_ns_max = 10 * VV_MINUTE};
}

static inline void fixture_deinit(struct fixture *f)
{
    vv_sealer_destroy(f->sealer);
    vv_head_destroy(f->head);
    vv_registry_destroy(f->registry);
    f->store->ops->close(f->store);
}

/* A source of the tenant with an id and perhaps a tag `site`. */
static inline uint32_t fixture_source(struct fixture *f, const char *id, const char *site)
{
    struct vv_tag tags[2] = {{VV_STR_LITERAL("id"), vv_str_of(id)},
                             {VV_STR_LITERAL("site"), vv_str_of(site ? site : "")}};
    uint32_t source;
    assert_int_equal(vv_registry_source(f->registry, f->tenant, tags, 2, 0, &source, NULL), VV_OK);
    return source;
}

static inline uint32_t fixture_metric(struct fixture *f, const char *measurement, const char *field,
                                      enum vv_value_type type)
{
    uint32_t number;
    uint32_t metric;
    enum vv_value_type known;
    assert_int_equal(vv_registry_measurement(f->registry, f->tenant, vv_str_of(measurement), true,
                                             &number, NULL),
                     VV_OK);
    assert_int_equal(vv_registry_metric(f->registry, number, vv_str_of(field), type, true, &metric,
                                        &known, NULL),
                     VV_OK);
    assert_int_equal(known, type);
    return metric;
}

/* n points of one series in one batch. */
static inline void fixture_write(struct fixture *f, uint32_t source, uint32_t metric,
                                 const int64_t *times, const uint64_t *values, size_t n)
{
    struct vv_metric_info info;
    struct vv_batch *batch;
    size_t frame;
    vv_registry_metric_info(f->registry, metric, &info);
    assert_int_equal(vv_batch_create(f->tenant, &batch), VV_OK);
    assert_int_equal(vv_batch_frame(batch, info.measurement, &metric, 1, &frame), VV_OK);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(vv_batch_row(batch, frame, source, times[i], &values[i]), VV_OK);
        if (!f->unseen) {
            vv_registry_source_observe(f->registry, source, times[i], times[i]);
        }
    }
    f->stamp = vv_stamp_next(f->stamp, f->clock.clock.wall_ns(&f->clock.clock), 0);
    assert_int_equal(vv_head_prepare(f->head, batch, f->stamp), VV_OK);
    vv_head_publish(f->head);
    vv_batch_destroy(batch);
}

static inline void fixture_point(struct fixture *f, uint32_t source, uint32_t metric, int64_t time,
                                 double value)
{
    uint64_t bits = vv_bits_of_double(value);
    fixture_write(f, source, metric, &time, &bits, 1);
}

static inline void fixture_integer(struct fixture *f, uint32_t source, uint32_t metric,
                                   int64_t time, int64_t value)
{
    uint64_t bits = (uint64_t)value;
    fixture_write(f, source, metric, &time, &bits, 1);
}

/* Moves the head into the store, if it has anything. */
static inline void fixture_flush(struct fixture *f)
{
    struct vv_generation *generation;
    struct vv_error error = {0};
    enum vv_status status = vv_head_cut(f->head, &generation);
    if (status == VV_DONE) {
        return;
    }
    assert_int_equal(status, VV_OK);
    f->stamp = vv_stamp_next(f->stamp, 0, 0);
    status = vv_flush_generation(&f->flush, generation, f->stamp, &f->flushed, &error);
    assert_string_equal(error.message, "");
    assert_int_equal(status, VV_OK);
    assert_int_equal(f->store->ops->confirm(f->store, &error), VV_OK);
    vv_head_drop(f->head, generation);
}

static inline void fixture_seal(struct fixture *f)
{
    struct vv_error error = {0};
    enum vv_status status = VV_OK;
    while (status == VV_OK) {
        status = vv_sealer_step(f->sealer, VV_SEAL_ALL, 64, &error);
    }
    assert_int_equal(status, VV_DONE);
}

/* ---- asking ---- */

/* "name=value" texts, the last one NULL. */
static inline enum vv_status fixture_request(struct fixture *f, enum vv_request_kind kind,
                                             const char *const *words,
                                             struct vv_request **request_out)
{
    struct vv_parameter parameters[64];
    size_t n = 0;
    for (; words[n]; n++) {
        const char *equals = strchr(words[n], '=');
        parameters[n] =
            (struct vv_parameter){{words[n], (size_t)(equals - words[n])}, vv_str_of(equals + 1)};
    }
    f->error.message[0] = '\0';
    int64_t now = f->clock.clock.wall_ns(&f->clock.clock);
    return vv_request_parse(kind, parameters, n, now, request_out, &f->error);
}

/* The whole answer as text, for the caller to free; written `enough` bytes at a time. On an error
 * the status, and NULL. */
static inline enum vv_status fixture_answer(struct fixture *f, enum vv_request_kind kind,
                                            const char *const *words, size_t enough,
                                            char **text_out)
{
    struct vv_request *request;
    struct vv_result *result;
    struct vv_buffer buffer = {0};
    *text_out = NULL;
    enum vv_status status = fixture_request(f, kind, words, &request);
    if (status == VV_OK) {
        status =
            vv_result_open(&f->context, &f->limits, request, VV_FORMAT_JSON, &result, &f->error);
    }
    if (status != VV_OK) {
        return status;
    }
    while (status == VV_OK) {
        status = vv_result_write(result, &buffer, enough, &f->error);
    }
    vv_result_read_facts(result, &f->facts);
    vv_result_close(result);
    if (status == VV_DONE) {
        vv_buffer_u8(&buffer, 0);
        assert_int_equal(vv_buffer_status(&buffer), VV_OK);
        *text_out = (char *)buffer.data;
        return VV_OK;
    }
    vv_buffer_deinit(&buffer);
    return status;
}

#define WORDS(...) ((const char *const[]){"tenant=t", __VA_ARGS__, NULL})

/* Takes out the lines that tell which tiers an answer in CSV was made of. */
static inline void cut_facts(char *text)
{
    static const char word[] = "# tier ";
    for (char *line = text; *line != '\0';) {
        char *next = strchr(line, '\n');
        next = next ? next + 1 : line + strlen(line);
        if (strncmp(line, word, sizeof word - 1) == 0) {
            memmove(line, next, strlen(next) + 1);
        } else {
            line = next;
        }
    }
}

/* An answer in CSV must be exactly this, but for what it is made of. */
static inline void expect_csv(struct fixture *f, enum vv_request_kind kind,
                              const char *const *words, const char *expected)
{
    char *text;
    enum vv_status status = fixture_answer(f, kind, words, 1 << 20, &text);
    if (status != VV_OK) {
        fail_msg("%s: %s", vv_status_name(status), f->error.message);
    }
    cut_facts(text);
    assert_string_equal(text, expected);
    free(text);
}

/* An answer in JSON, for the caller to json_decref. */
static inline json_t *ask_json(struct fixture *f, enum vv_request_kind kind,
                               const char *const *words)
{
    char *text;
    enum vv_status status = fixture_answer(f, kind, words, 1 << 20, &text);
    if (status != VV_OK) {
        fail_msg("%s: %s", vv_status_name(status), f->error.message);
    }
    json_error_t error;
    json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (!json) {
        fail_msg("not JSON: %s in %s", error.text, text);
    }
    free(text);
    return json;
}

static inline void expect_error(struct fixture *f, enum vv_request_kind kind,
                                const char *const *words, enum vv_status status, const char *part)
{
    char *text;
    assert_int_equal(fixture_answer(f, kind, words, 1 << 20, &text), status);
    if (!strstr(f->error.message, part)) {
        fail_msg("'%s' does not say '%s'", f->error.message, part);
    }
}

#endif
