/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random worlds and random requests, for comparing answers with the naive model: all points are
 * kept in one array as well.
 */
#ifndef TESTS_UNIT_QUERY_WORLD_H
#define TESTS_UNIT_QUERY_WORLD_H

#include "query_fixture.h"

#define MODEL_SOURCES    5
#define MODEL_METRICS    4
#define MODEL_POINTS_MAX 6000
#define MODEL_AGG_MAX    13

struct model_point {
    int source;
    int metric;
    int64_t time;
    uint64_t bits;
};

struct model {
    struct fixture f;
    struct vv_random random;
    uint32_t sources[MODEL_SOURCES];
    uint32_t metrics[MODEL_METRICS];
    struct model_point points[MODEL_POINTS_MAX]; /* ascending by (source, metric, time) */
    size_t n;
    int64_t start; /* about where the points lie */
    int64_t length;
};

static const char *const model_ids[MODEL_SOURCES] = {"a", "b", "c d,e", "\"q\"", "empty"};
static const char *const model_sites[MODEL_SOURCES] = {"north", "south", "north", NULL, "south"};
static const char *const model_names[MODEL_METRICS] = {"press.count", "press.level", "press.temp",
                                                       "pump.flow"};
static const enum vv_value_type model_types[MODEL_METRICS] = {VV_INT64, VV_FLOAT64, VV_FLOAT64,
                                                              VV_FLOAT64};

/* ---- a random world ---- */

static bool model_hides; /* half of what is written is as if by another node */

static inline void model_keep(struct model *m, struct model_point point)
{
    size_t at = 0;
    while (at < m->n &&
           (m->points[at].source < point.source ||
            (m->points[at].source == point.source &&
             (m->points[at].metric < point.metric ||
              (m->points[at].metric == point.metric && m->points[at].time < point.time))))) {
        at++;
    }
    if (at < m->n && m->points[at].source == point.source && m->points[at].metric == point.metric &&
        m->points[at].time == point.time) {
        m->points[at].bits = point.bits;
        return;
    }
    assert_true(m->n < MODEL_POINTS_MAX);
    memmove(&m->points[at + 1], &m->points[at], (m->n - at) * sizeof m->points[0]);
    m->points[at] = point;
    m->n++;
}

static inline uint64_t model_value(struct model *m, int metric, uint64_t *counter)
{
    uint64_t chance = vv_random_below(&m->random, 100);
    if (metric == 0) { /* a counter that is reset now and then */
        *counter = chance < 5 ? vv_random_below(&m->random, 50)
                              : *counter + vv_random_below(&m->random, 1000);
        return *counter;
    }
    if (metric == 1 && chance < 12) {
        double odd = chance < 6 ? NAN : chance < 9 ? INFINITY : -INFINITY;
        return vv_bits_of_double(odd);
    }
    double decimals = (double)vv_random_below(&m->random, 2000) / 10;
    return vv_bits_of_double(chance < 50 ? decimals : 200 * vv_random_unit(&m->random) - 50);
}

/* Written to a fixture whose sources and metrics have the model's numbers. */
static inline void model_burst_in(struct model *m, struct fixture *f)
{
    static const int64_t gaps[] = {VV_SECOND, 10 * VV_SECOND, VV_MINUTE, 7 * VV_MINUTE, VV_HOUR};
    int source = (int)vv_random_below(&m->random, MODEL_SOURCES - 1);
    int metric = (int)vv_random_below(&m->random, MODEL_METRICS);
    int64_t gap = gaps[vv_random_below(&m->random, 5)];
    int64_t time = m->start + (int64_t)vv_random_below(&m->random, (uint64_t)m->length);
    uint64_t counter = vv_random_below(&m->random, 5000);
    time -= vv_random_below(&m->random, 2) ? time % gap : 0;
    size_t n = 1 + (size_t)vv_random_below(&m->random, 120);
    int64_t times[121];
    uint64_t values[121];
    for (size_t i = 0; i < n; i++) {
        times[i] = time;
        values[i] = model_value(m, metric, &counter);
        model_keep(m, (struct model_point){source, metric, time, values[i]});
        time += gap + (vv_random_below(&m->random, 10) == 0 ? gap / 3 : 0);
    }
    f->unseen = model_hides && vv_random_below(&m->random, 2) == 0;
    fixture_write(f, m->sources[source], m->metrics[metric], times, values, n);
}

/* The model's sources and metrics, in an empty fixture. */
static inline void model_names_in(struct model *m, struct fixture *f)
{
    for (int i = 0; i < MODEL_SOURCES; i++) {
        m->sources[i] = fixture_source(f, model_ids[i], model_sites[i]);
    }
    for (int i = 0; i < MODEL_METRICS; i++) {
        const char *point = strchr(model_names[i], '.');
        char measurement[16];
        snprintf(measurement, sizeof measurement, "%.*s", (int)(point - model_names[i]),
                 model_names[i]);
        m->metrics[i] = fixture_metric(f, measurement, point + 1, model_types[i]);
    }
}

/* Without points. */
static inline void model_begin(struct model *m, uint64_t seed)
{
    memset(m, 0, sizeof *m);
    fixture_init(&m->f);
    m->random.state = seed;
    m->start = FIXTURE_NOW - 200 * VV_DAY; /* 2024-03-18: a change of the clock is near */
    m->length = 20 * VV_DAY;
    model_names_in(m, &m->f);
}

static inline void model_init(struct model *m, uint64_t seed)
{
    static const int64_t buckets[] = {0, VV_HOUR, 6 * VV_HOUR, VV_DAY};
    model_begin(m, seed);
    m->f.flush.bucket_ns = buckets[vv_random_below(&m->random, 4)];
    if (m->f.flush.bucket_ns) {
        m->f.flush.span_ns = vv_random_below(&m->random, 2) ? VV_HOUR : m->f.flush.bucket_ns;
        m->f.flush.splits = (uint16_t)(1 + vv_random_below(&m->random, 3));
    }
    for (int i = 0; i < 40; i++) {
        model_burst_in(m, &m->f);
        uint64_t what = vv_random_below(&m->random, 8);
        if (what < 2) {
            fixture_flush(&m->f);
        }
        if (what == 0) {
            fixture_seal(&m->f);
        }
    }
}

/* ---- a random request ---- */

struct model_query {
    bool has_from, has_to;
    int64_t from, to;
    bool descending;
    uint64_t limit; /* 0: none */
    int where;      /* index of model_wheres, 0: none */
    int64_t step;   /* 0: none */
    bool berlin;
    int n_agg;
    int agg[MODEL_AGG_MAX]; /* of model_aggs */
    int fill;
    int group; /* of model_groups */
    char words[16][128];
    const char *list[20];
};

static const char *const model_wheres[] = {NULL, "value>20", "value<=80.5", "value!=0"};
static const char *const model_aggs[] = {"count",  "sum",   "min",      "max",  "mean",
                                         "stddev", "first", "last",     "p0",   "median",
                                         "p99.9",  "rate",  "increase", "delta"};
#define MODEL_RATE 11
static const char *const model_fills[] = {"none", "null", "zero", "previous", "linear"};
static const char *const model_groups[] = {NULL, "site", "all", "source,site"};
#define MODEL_BY_SITE   1
#define MODEL_ALL       2
#define MODEL_WITH_SITE 3

static inline void model_word(struct model_query *q, int *n, const char *format, ...)
    VV_PRINTF(3, 4);
static inline void model_word(struct model_query *q, int *n, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(q->words[*n], sizeof q->words[0], format, arguments);
    va_end(arguments);
    q->list[*n] = q->words[*n];
    q->list[++*n] = NULL;
}

static inline int64_t model_time(struct model *m)
{
    int64_t time = m->start + (int64_t)vv_random_below(&m->random, (uint64_t)m->length * 5 / 4);
    return vv_random_below(&m->random, 2) ? time : time - time % VV_HOUR;
}

static inline void model_choose_aggs(struct model *m, struct model_query *q)
{
    int first = (int)vv_random_below(&m->random, 14);
    int n = 1 + (int)vv_random_below(&m->random, MODEL_AGG_MAX);
    for (int i = 0; i < n; i++) {
        q->agg[q->n_agg++] = (first + i) % 14;
    }
}

/* With `aggregates` false: points. */
static inline struct model_query model_request(struct model *m, bool aggregates, int group)
{
    static const int64_t steps[] = {0,      VV_MINUTE,  7 * VV_MINUTE, VV_HOUR,
                                    VV_DAY, 2 * VV_DAY, 7 * VV_DAY,    5 * VV_HOUR};
    struct model_query q = {.group = group};
    struct vv_random *random = &m->random;
    q.has_from = vv_random_below(random, 3) > 0;
    q.has_to = vv_random_below(random, 3) > 0;
    q.from = q.has_from ? model_time(m) : VV_TIME_MIN;
    q.to = q.has_to ? model_time(m) : FIXTURE_NOW + 10 * VV_MINUTE + 1;
    if (q.from >= q.to) {
        int64_t swap = q.from;
        q.from = q.to;
        q.to = swap + 1;
    }
    q.descending = vv_random_below(random, 2);
    q.limit = vv_random_below(random, 2) ? 1 + vv_random_below(random, 40) : 0;
    q.where = (int)vv_random_below(random, 6);
    q.where = q.where > 3 ? 0 : q.where;
    if (aggregates) {
        q.step = steps[vv_random_below(random, 8)];
        q.berlin = vv_random_below(random, 2);
        q.fill = q.step >= VV_HOUR ? (int)vv_random_below(random, 5) : 0;
        model_choose_aggs(m, &q);
    }
    return q;
}

static inline void model_write_words(struct model_query *q)
{
    int n = 0;
    char aggs[128] = "";
    model_word(q, &n, "tenant=t");
    model_word(q, &n, "time_format=ns");
    if (q->has_from) {
        model_word(q, &n, "from=%lld", (long long)q->from);
    }
    if (q->has_to) {
        model_word(q, &n, "to=%lld", (long long)q->to);
    }
    model_word(q, &n, "order=%s", q->descending ? "desc" : "asc");
    if (q->limit) {
        model_word(q, &n, "limit=%llu", (unsigned long long)q->limit);
    }
    if (q->where) {
        model_word(q, &n, "where=%s", model_wheres[q->where]);
    }
    if (q->step) {
        model_word(q, &n, "step=%llds", (long long)(q->step / VV_SECOND));
        model_word(q, &n, "tz=%s", q->berlin ? "Europe/Berlin" : "UTC");
        model_word(q, &n, "fill=%s", model_fills[q->fill]);
    }
    for (int i = 0; i < q->n_agg; i++) {
        strcat(aggs, i ? "," : "");
        strcat(aggs, model_aggs[q->agg[i]]);
    }
    if (q->n_agg) {
        model_word(q, &n, "agg=%s", aggs);
    }
    if (q->group) {
        model_word(q, &n, "group_by=%s", model_groups[q->group]);
    }
}

#endif
