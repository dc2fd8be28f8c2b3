/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiers for the tests of queries: records of units are made of what is stored by now, and what is
 * written later says that they are to be built again, as flushes do.
 */
#ifndef TESTS_UNIT_QUERY_TIER_WORLD_H
#define TESTS_UNIT_QUERY_TIER_WORLD_H

#include "query_fixture.h"

#include "query/scan.h"
#include "tier/record_metrics.h"
#include "tier/rollup.h"
#include "tier/unit.h"

struct tiers {
    struct fixture *f;
    uint32_t spaces[VV_SPACES];
    struct vv_rollup *rollup;
    double alpha;
    uint64_t records; /* put so far */
};

/* A tier that is kept for `retention_ns`; VV_SPACE_OFF_NS: off. */
static inline void tiers_keep(struct tiers *t, enum vv_space tier, int64_t retention_ns)
{
    vv_registry_set_retention(t->f->registry, t->spaces[tier], retention_ns);
}

/* All tiers on, for ever. */
static inline void tiers_init(struct tiers *t, struct fixture *f)
{
    *t = (struct tiers){.f = f, .alpha = VV_SKETCH_ALPHA_DEFAULT};
    for (int tier = 0; tier < VV_SPACES; tier++) {
        assert_int_equal(vv_registry_space(f->registry, f->tenant, (enum vv_space)tier, true,
                                           &t->spaces[tier], NULL),
                         VV_OK);
        tiers_keep(t, (enum vv_space)tier, 0);
        struct vv_buffer record = {0}; /* as if it had been journaled */
        uint64_t version =
            vv_registry_encode(f->registry, VV_REGISTRY_TENANT, t->spaces[tier], &record);
        vv_registry_settle(f->registry, VV_REGISTRY_TENANT, t->spaces[tier], version);
        vv_buffer_deinit(&record);
    }
    assert_int_equal(vv_rollup_create(t->alpha, &t->rollup), VV_OK);
}

static inline void tiers_deinit(struct tiers *t)
{
    vv_rollup_destroy(t->rollup);
}

static inline struct vv_unit tiers_unit(struct tiers *t, uint32_t source, enum vv_space tier,
                                        int64_t time)
{
    static const struct vv_plan none = {.from_ns = VV_TIME_MIN, .span_ns = VV_HOUR};
    struct vv_plans plans = vv_registry_source_plans(t->f->registry, source);
    return plans.n > 0 ? vv_unit_of(tier, plans.plans, plans.n, time)
                       : vv_unit_of(tier, &none, 1, time);
}

/* Puts bytes as they are: a part of a unit's record, or that it is to be built again. */
static inline void tiers_put(struct tiers *t, uint32_t source, uint32_t measurement,
                             enum vv_space tier, const struct vv_unit *unit, uint32_t part,
                             bool stale, const struct vv_buffer *bytes)
{
    struct fixture *f = t->f;
    struct vv_error error = {0};
    assert_int_equal(vv_buffer_status(bytes), VV_OK);
    f->stamp = vv_stamp_next(f->stamp, 0, 0);
    struct vv_piece piece = {
        .kind = stale ? VV_PIECE_RUN : VV_PIECE_BLOCK,
        .key = vv_unit_key(tier, t->spaces[tier], source, measurement, unit->from),
        .run = stale ? f->stamp : 0,
        .part = part,
        .bytes = {(const char *)bytes->data, bytes->size},
    };
    piece.head_size = vv_record_head_size(piece.bytes); /* what a store may leave out is left out */
    enum vv_status status = stale ? f->store->ops->put_run(f->store, &piece, &error)
                                  : f->store->ops->put_blocks(f->store, &piece, 1, &error);
    assert_string_equal(error.message, "");
    assert_int_equal(status, VV_OK);
    assert_int_equal(f->store->ops->confirm(f->store, &error), VV_OK);
}

/* Says that the units which hold `time` are to be built again. */
static inline void tiers_soil(struct tiers *t, uint32_t source, uint32_t measurement, int64_t time)
{
    for (int tier = 0; tier < VV_SPACES; tier++) {
        struct vv_buffer bytes = {0};
        struct vv_unit unit = tiers_unit(t, source, (enum vv_space)tier, time);
        vv_unit_write(&bytes, VV_UNIT_STALE, &unit);
        tiers_put(t, source, measurement, (enum vv_space)tier, &unit, 0, true, &bytes);
        vv_buffer_deinit(&bytes);
    }
}

#define TIERS_RUNS_MAX 1024

struct tiers_runs {
    struct vv_piece runs[TIERS_RUNS_MAX];
    size_t n;
};

static inline enum vv_status tiers_take_run(void *context, const struct vv_piece *piece)
{
    struct tiers_runs *found = context;
    if (piece->kind == VV_PIECE_RUN) {
        assert_true(found->n < TIERS_RUNS_MAX);
        found->runs[found->n] = *piece;
        found->runs[found->n++].bytes = (struct vv_str){NULL, 0};
    }
    return VV_OK;
}

/* A unit that was built need not be built again. */
static inline void tiers_clean(struct tiers *t, uint32_t source, uint32_t measurement,
                               enum vv_space tier, const struct vv_unit *unit)
{
    static struct tiers_runs found;
    struct vv_store *store = t->f->store;
    struct vv_store_read read = {
        .partition = vv_unit_key(tier, t->spaces[tier], source, measurement, unit->from).partition,
        .measurement = measurement,
        .span_from = unit->from,
        .span_to = unit->to,
    };
    found.n = 0;
    assert_int_equal(store->ops->read(store, &read, tiers_take_run, &found, NULL), VV_OK);
    assert_int_equal(store->ops->remove_runs(store, found.runs, found.n, NULL), VV_OK);
    assert_int_equal(store->ops->confirm(store, NULL), VV_OK);
}

/* ---- records ---- */

#define TIERS_METRICS_MAX 16
#define TIERS_PARTS_MAX   4096

struct tiers_reading {
    uint32_t metrics[TIERS_METRICS_MAX];
    enum vv_value_type types[TIERS_METRICS_MAX];
    size_t n;
    struct vv_result_facts facts;
    struct vv_scan *scan;
};

/* Of all metrics of the measurement. */
static inline void tiers_read(struct tiers *t, uint32_t source, uint32_t measurement,
                              const struct vv_unit *unit, struct tiers_reading *reading)
{
    memset(reading, 0, sizeof *reading);
    for (uint32_t i = 0; i < vv_registry_metric_count(t->f->registry); i++) {
        struct vv_metric_info info = {0};
        vv_registry_metric_info(t->f->registry, i, &info);
        if (info.name.size > 0 && info.measurement == measurement) {
            reading->metrics[reading->n] = info.metric;
            reading->types[reading->n++] = info.type;
        }
    }
    const struct vv_scan_options options = {
        .place = t->f->tenant,
        .source = source,
        .measurement = measurement,
        .metrics = reading->metrics,
        .types = reading->types,
        .n_metrics = reading->n,
        .from = unit->from,
        .to = unit->to,
        .memory_max = 64 << 20,
    };
    assert_int_equal(vv_scan_open(&t->f->context, &options, &reading->facts, &reading->scan),
                     VV_OK);
}

static inline void tiers_write_rows(const struct vv_rows *rows, const struct vv_unit *unit,
                                    struct vv_buffer *out)
{
    struct vv_block_options options = {0};
    size_t size;
    vv_unit_write(out, VV_UNIT_ROWS, unit);
    size_t capacity = vv_block_bound(rows);
    uint8_t *at = vv_buffer_reserve(out, capacity);
    assert_non_null(at);
    assert_int_equal(vv_block_encode(rows, &options, at, capacity, &size), VV_BLOCK_OK);
    out->size += size;
}

/* All parts of a unit's record of rows; they are put at once, or the last would be all. */
static inline void tiers_put_parts(struct tiers *t, uint32_t source, uint32_t measurement,
                                   enum vv_space tier, const struct vv_unit *unit,
                                   const struct vv_buffer *parts, size_t n)
{
    static struct vv_piece pieces[TIERS_PARTS_MAX];
    for (uint32_t i = 0; i < n; i++) {
        pieces[i] = (struct vv_piece){
            .kind = VV_PIECE_BLOCK,
            .key = vv_unit_key(tier, t->spaces[tier], source, measurement, unit->from),
            .part = i,
            .bytes = {(const char *)parts[i].data, parts[i].size},
        };
    }
    struct fixture *f = t->f;
    assert_int_equal(f->store->ops->put_blocks(f->store, pieces, n, NULL), VV_OK);
}

static inline void tiers_build_rows(struct tiers *t, uint32_t source, uint32_t measurement,
                                    enum vv_space tier, const struct vv_unit *unit)
{
    struct tiers_reading reading;
    static struct vv_buffer parts[TIERS_PARTS_MAX];
    size_t n = 0;
    const struct vv_rows *rows;
    enum vv_status status;
    tiers_read(t, source, measurement, unit, &reading);
    while ((status = vv_scan_next(reading.scan, &rows, NULL)) == VV_OK) {
        assert_true(n < TIERS_PARTS_MAX);
        if (rows) {
            tiers_write_rows(rows, unit, &parts[n++]);
        }
    }
    assert_int_equal(status, VV_DONE);
    vv_scan_close(reading.scan);
    if (n > 0) {
        tiers_put_parts(t, source, measurement, tier, unit, parts, n);
        tiers_clean(t, source, measurement, tier, unit);
        t->records++;
    }
    for (size_t i = 0; i < n; i++) {
        vv_buffer_deinit(&parts[i]);
    }
}

static inline void tiers_build_steps(struct tiers *t, uint32_t source, uint32_t measurement,
                                     enum vv_space tier, const struct vv_unit *unit)
{
    struct tiers_reading reading;
    struct vv_error error = {0};
    struct vv_buffer bytes = {0};
    const struct vv_rows *rows;
    enum vv_status status;
    tiers_read(t, source, measurement, unit, &reading);
    vv_rollup_begin(t->rollup, vv_tier_step_ns(tier));
    while ((status = vv_scan_next(reading.scan, &rows, NULL)) == VV_OK) {
        if (rows) {
            assert_int_equal(vv_rollup_add_rows(t->rollup, rows, &error), VV_OK);
        }
    }
    assert_int_equal(status, VV_DONE);
    vv_scan_close(reading.scan);
    vv_unit_write(&bytes, VV_UNIT_STEPS, unit);
    size_t before = bytes.size;
    assert_int_equal(vv_rollup_encode(t->rollup, 0, 1, &bytes, &error), VV_OK);
    if (bytes.size > before) {
        tiers_put(t, source, measurement, tier, unit, 0, false, &bytes);
        tiers_clean(t, source, measurement, tier, unit);
        t->records++;
    }
    vv_buffer_deinit(&bytes);
}

/* Records of all units that begin in [from, to). */
static inline void tiers_build(struct tiers *t, uint32_t source, uint32_t measurement,
                               enum vv_space tier, int64_t from, int64_t to)
{
    while (from < to) {
        struct vv_unit unit = tiers_unit(t, source, tier, from);
        tiers_build_steps(t, source, measurement, tier, &unit);
        from = unit.to;
    }
}

/* ---- comparing answers ---- */

static inline double tiers_number(const json_t *cell)
{
    const char *text = json_string_value(cell);
    if (json_is_null(cell)) {
        return -1234567.25;
    }
    if (text) {
        return text[0] == 'N' ? NAN : text[0] == '-' ? -INFINITY : INFINITY;
    }
    return json_number_value(cell);
}

/* Values are between -50 and 200, or counts: a percentile lies between two of them that are off by
 * the sketches' error each. */
static inline bool tiers_are_near(double a, double b, bool percentile)
{
    if (isnan(a) || isnan(b) || isinf(a) || isinf(b)) {
        return percentile || (isnan(a) && isnan(b)) || a == b;
    }
    double bound = percentile ? 0.0101 * (fabs(b) + 200) : 1e-9 * (fabs(a) + fabs(b) + 200);
    return fabs(a - b) <= bound;
}

static inline void tiers_compare_row(const json_t *columns, const json_t *row, const json_t *raw,
                                     const char *metric, bool loose, bool all_loose)
{
    assert_int_equal(json_integer_value(json_array_get(row, 0)),
                     json_integer_value(json_array_get(raw, 0)));
    assert_int_equal(json_array_size(row), json_array_size(raw));
    for (size_t i = 1; i < json_array_size(raw); i++) {
        const char *agg = json_string_value(json_array_get(columns, i));
        double a = tiers_number(json_array_get(row, i));
        double b = tiers_number(json_array_get(raw, i));
        bool passes = loose && (all_loose || strcmp(agg, "stddev") == 0);
        bool percentile = agg[0] == 'p' || strcmp(agg, "median") == 0;
        if (strstr(agg, "_time") && !json_equal(json_array_get(row, i), json_array_get(raw, i))) {
            fail_msg("%s of %s: %.0f, not %.0f", agg, metric, a, b);
        }
        if (!passes && !tiers_are_near(a, b, percentile)) {
            fail_msg("%s of %s: %.17g, not %.17g", agg, metric, a, b);
        }
    }
}

/* Times as integers. Of the metric that is `loose` standard deviations are not compared, or with
 * `all_loose` no values. */
static inline void tiers_compare(const json_t *tiered, const json_t *raw, const char *loose,
                                 bool all_loose)
{
    const json_t *a = json_object_get(tiered, "series");
    const json_t *b = json_object_get(raw, "series");
    assert_int_equal(json_array_size(a), json_array_size(b));
    for (size_t i = 0; i < json_array_size(b); i++) {
        const json_t *x = json_array_get(a, i);
        const json_t *y = json_array_get(b, i);
        const char *metric = json_string_value(json_object_get(y, "metric"));
        assert_string_equal(json_string_value(json_object_get(x, "metric")), metric);
        assert_true(json_equal(json_object_get(x, "source"), json_object_get(y, "source")));
        assert_true(json_equal(json_object_get(x, "tags"), json_object_get(y, "tags")));
        const json_t *rows = json_object_get(x, "points");
        const json_t *raw_rows = json_object_get(y, "points");
        assert_int_equal(json_array_size(rows), json_array_size(raw_rows));
        for (size_t row = 0; row < json_array_size(raw_rows); row++) {
            tiers_compare_row(json_object_get(y, "columns"), json_array_get(rows, row),
                              json_array_get(raw_rows, row), metric, strcmp(metric, loose) == 0,
                              all_loose);
        }
    }
}

#endif
