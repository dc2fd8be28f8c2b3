/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of ingest share: a registry, a staging, and a text form of what was staged and
 * refused, so that a test compares texts. One row a line, in the order of frames:
 *   measurement|source|metric=value metric=value|time
 * floats with the bits that "%.17g" keeps, integers with an `i`. One refusal a line:
 *   line:column reason
 */
#ifndef TESTS_UNIT_INGEST_INGEST_FIXTURE_H
#define TESTS_UNIT_INGEST_INGEST_FIXTURE_H

#include "ingest/json_points.h"
#include "ingest/line_protocol.h"
#include "ingest/staging.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define FIXTURE_NOW INT64_C(1000000000000000000)

struct ingest_fixture {
    struct vv_registry *registry;
    struct vv_staging_options options;
    struct vv_staging staging;
    struct vv_buffer rows;     /* of the batches taken */
    struct vv_buffer refusals; /* zero-terminated by fixture_finish */
};

static inline struct vv_registry *fixture_registry(void)
{
    struct vv_registry_options options = {
        .tenants_max = 100,
        .sources_max = 10000,
        .metrics_max = 10000,
        .cache_bytes = 1 << 16,
    };
    struct vv_registry *registry = NULL;
    assert_int_equal(vv_registry_create(&options, &registry), VV_OK);
    return registry;
}

/* Ready to stage: any past, an hour of future, lines of 1,000 bytes, 100 fields. */
static inline void fixture_init(struct ingest_fixture *fixture)
{
    *fixture = (struct ingest_fixture){.registry = fixture_registry()};
    fixture->options = (struct vv_staging_options){
        .registry = fixture->registry,
        .now_ns = FIXTURE_NOW,
        .future_ns_max = INT64_C(3600000000000),
        .fields_max = 100,
        .line_bytes_max = 1000,
    };
    assert_int_equal(vv_registry_tenant(fixture->registry, VV_STR_LITERAL("tenant"), true,
                                        &fixture->options.tenant, NULL),
                     VV_OK);
}

static inline void fixture_begin(struct ingest_fixture *fixture)
{
    vv_buffer_clear(&fixture->rows);
    vv_buffer_clear(&fixture->refusals);
    assert_int_equal(vv_staging_init(&fixture->staging, &fixture->options), VV_OK);
}

static inline void fixture_deinit(struct ingest_fixture *fixture)
{
    vv_registry_destroy(fixture->registry);
    vv_buffer_deinit(&fixture->rows);
    vv_buffer_deinit(&fixture->refusals);
}

static inline void fixture_add_value(struct ingest_fixture *fixture, uint32_t metric, uint64_t bits,
                                     bool first)
{
    struct vv_metric_info info;
    vv_registry_metric_info(fixture->registry, metric, &info);
    vv_buffer_format(&fixture->rows, "%s%.*s=", first ? "" : " ", VV_STR_ARG(info.name));
    if (info.type == VV_INT64) {
        vv_buffer_format(&fixture->rows, "%lldi", (long long)bits);
    } else {
        double value;
        memcpy(&value, &bits, sizeof value);
        vv_buffer_format(&fixture->rows, "%.17g", value);
    }
}

static inline void fixture_add_row(struct ingest_fixture *fixture, const struct vv_frame *frame,
                                   size_t row)
{
    struct vv_registry *registry = fixture->registry;
    vv_buffer_str(&fixture->rows, vv_registry_measurement_name(registry, frame->measurement));
    vv_buffer_text(&fixture->rows, "|");
    vv_buffer_str(&fixture->rows, vv_registry_source_id(registry, frame->sources[row]));
    vv_buffer_text(&fixture->rows, "|");
    for (uint32_t i = 0; i < frame->n_metrics; i++) {
        fixture_add_value(fixture, frame->metrics[i], frame->values[row * frame->n_metrics + i],
                          i == 0);
    }
    vv_buffer_format(&fixture->rows, "|%lld\n", (long long)frame->times[row]);
}

/* Takes what has been staged so far. */
static inline void fixture_take(struct ingest_fixture *fixture)
{
    struct vv_batch *batch = vv_staging_take_batch(&fixture->staging);
    uint64_t points = 0;
    for (size_t i = 0; batch && i < batch->n_frames; i++) {
        const struct vv_frame *frame = &batch->frames[i];
        for (size_t row = 0; row < frame->n_rows; row++) {
            fixture_add_row(fixture, frame, row);
            points += frame->n_metrics;
        }
    }
    if (batch) {
        assert_int_equal(batch->points, points);
        assert_true(points > 0);
    }
    vv_batch_destroy(batch);
}

static inline void fixture_check_account(const struct vv_staging *staging)
{
    uint64_t refused = 0;
    uint64_t strict = 0;
    for (int reason = 0; reason < VV_REASON_COUNT; reason++) {
        refused += staging->refused[reason];
        strict += vv_reason_is_lenient((enum vv_reason)reason) ? 0 : staging->refused[reason];
    }
    assert_int_equal(staging->points_received, staging->points_staged + refused);
    assert_int_equal(staging->refused_strict, strict);
    assert_true(staging->lines_refused <= staging->lines);
    assert_true(staging->n_refusals <= VV_REFUSALS_KEPT);
}

/* Takes the rest, writes down the refusals and ends the staging, whose account is copied. */
static inline struct vv_staging fixture_finish(struct ingest_fixture *fixture)
{
    fixture_take(fixture);
    vv_buffer_u8(&fixture->rows, 0);
    struct vv_staging *staging = &fixture->staging;
    fixture_check_account(staging);
    for (size_t i = 0; i < staging->n_refusals; i++) {
        const struct vv_refusal *refusal = &staging->refusals[i];
        assert_true(strlen(refusal->detail) > 0);
        vv_buffer_format(&fixture->refusals, "%llu:%u %s\n", (unsigned long long)refusal->line,
                         refusal->column, vv_reason_name(refusal->reason));
    }
    vv_buffer_u8(&fixture->refusals, 0);
    assert_int_equal(vv_buffer_status(&fixture->rows), VV_OK);
    assert_int_equal(vv_buffer_status(&fixture->refusals), VV_OK);
    struct vv_staging account = *staging;
    vv_staging_deinit(staging);
    account.row = NULL;
    return account;
}

static inline const char *fixture_rows(const struct ingest_fixture *fixture)
{
    return (const char *)fixture->rows.data;
}

static inline const char *fixture_refusals(const struct ingest_fixture *fixture)
{
    return (const char *)fixture->refusals.data;
}

/* A copy of bytes without anything behind it, for sanitizers. */
static inline char *fixture_copy(const char *bytes, size_t size)
{
    char *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    return copy;
}

/* Parses line protocol, cut at a position, or by step when that is not 0, into a fresh staging. */
static inline struct vv_staging fixture_lines(struct ingest_fixture *fixture, const char *bytes,
                                              size_t size, size_t cut, size_t step, int64_t unit)
{
    fixture_begin(fixture);
    struct vv_line_parser *parser = NULL;
    assert_int_equal(vv_line_parser_create(&fixture->staging, unit, &parser), VV_OK);
    for (size_t at = 0; at < size;) {
        size_t piece = step ? step : at < cut ? cut - at : size - at;
        piece = piece < size - at ? piece : size - at;
        char *copy = fixture_copy(bytes + at, piece);
        assert_int_equal(vv_line_parser_feed(parser, copy, piece), VV_OK);
        free(copy);
        at += piece;
    }
    assert_int_equal(vv_line_parser_finish(parser), VV_OK);
    vv_line_parser_destroy(parser);
    return fixture_finish(fixture);
}

/* The same for JSON. */
static inline struct vv_staging fixture_json(struct ingest_fixture *fixture, const char *bytes,
                                             size_t size, size_t cut, size_t step, int64_t unit)
{
    fixture_begin(fixture);
    struct vv_json_parser *parser = NULL;
    assert_int_equal(vv_json_parser_create(&fixture->staging, unit, &parser), VV_OK);
    for (size_t at = 0; at < size;) {
        size_t piece = step ? step : at < cut ? cut - at : size - at;
        piece = piece < size - at ? piece : size - at;
        char *copy = fixture_copy(bytes + at, piece);
        assert_int_equal(vv_json_parser_feed(parser, copy, piece), VV_OK);
        free(copy);
        at += piece;
    }
    assert_int_equal(vv_json_parser_finish(parser), VV_OK);
    vv_json_parser_destroy(parser);
    return fixture_finish(fixture);
}

#endif
