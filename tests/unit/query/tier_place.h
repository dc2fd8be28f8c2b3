/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A place with two sources and three metrics for the tests of tiers: points every four minutes of
 * eighteen days, in the store; of the tiers nothing is built yet.
 */
#ifndef TESTS_UNIT_QUERY_TIER_PLACE_H
#define TESTS_UNIT_QUERY_TIER_PLACE_H

#include "slow_store.h"
#include "tier_world.h"

#define START   (FIXTURE_NOW - FIXTURE_NOW % VV_DAY - 20 * VV_DAY) /* 2024-09-14 */
#define DAYS    18
#define GAP     (4 * VV_MINUTE)
#define SOURCES 2
#define METRICS 3

struct place {
    struct fixture f;
    struct tiers t;
    uint32_t sources[SOURCES];
    uint32_t metrics[METRICS]; /* press.count, press.temp, pump.flow */
    uint32_t press;
    uint32_t pump;
};

/* Words of a request, with integers for times. */
#define ASK(...) WORDS("time_format=ns", __VA_ARGS__)
#define ALL_AGG  "agg=count,sum,min,max,mean,stddev,first,last,first_time,last_time,p0,median,p99"

static inline uint64_t value_at(int metric, int64_t time)
{
    uint64_t random = (uint64_t)(time / VV_SECOND) * 2654435761u + (uint64_t)metric * 97;
    random = (random ^ (random >> 13)) * 0x9E3779B97F4A7C15u;
    int64_t number = (int64_t)(random >> 40) % 2000;
    return metric == 0 ? (uint64_t)number : vv_bits_of_double((double)number / 10);
}

static inline void write_series(struct place *p, int source, int metric, int64_t from, int64_t to,
                                int64_t gap)
{
    size_t n = (size_t)((to - from + gap - 1) / gap);
    int64_t *times = calloc(n, sizeof *times);
    uint64_t *values = calloc(n, sizeof *values);
    assert_non_null(times);
    assert_non_null(values);
    for (size_t i = 0; i < n; i++) {
        times[i] = from + (int64_t)i * gap;
        values[i] = value_at(metric, times[i] + source * VV_SECOND);
    }
    fixture_write(&p->f, p->sources[source], p->metrics[metric], times, values, n);
    free(times);
    free(values);
}

/* The sources and metrics, without points. */
static inline void place_name(struct place *p)
{
    fixture_init(&p->f);
    p->sources[0] = fixture_source(&p->f, "a", "north");
    p->sources[1] = fixture_source(&p->f, "b", "south");
    p->metrics[0] = fixture_metric(&p->f, "press", "count", VV_INT64);
    p->metrics[1] = fixture_metric(&p->f, "press", "temp", VV_FLOAT64);
    p->metrics[2] = fixture_metric(&p->f, "pump", "flow", VV_FLOAT64);
    struct vv_metric_info info;
    vv_registry_metric_info(p->f.registry, p->metrics[0], &info);
    p->press = info.measurement;
    vv_registry_metric_info(p->f.registry, p->metrics[2], &info);
    p->pump = info.measurement;
}

/* Points of all series, in the store. */
static inline void place_init(struct place *p)
{
    place_name(p);
    for (int source = 0; source < SOURCES; source++) {
        for (int metric = 0; metric < METRICS; metric++) {
            write_series(p, source, metric, START + 7 * VV_SECOND, START + DAYS * VV_DAY, GAP);
        }
    }
    fixture_flush(&p->f);
    tiers_init(&p->t, &p->f);
}

static inline void place_deinit(struct place *p)
{
    tiers_deinit(&p->t);
    fixture_deinit(&p->f);
}

static inline void build(struct place *p, enum vv_space tier, int64_t from, int64_t to)
{
    for (int source = 0; source < SOURCES; source++) {
        tiers_build(&p->t, p->sources[source], p->press, tier, from, to);
        tiers_build(&p->t, p->sources[source], p->pump, tier, from, to);
    }
}

static inline void build_all(struct place *p)
{
    build(p, VV_SPACE_MINUTE, START, START + DAYS * VV_DAY);
    build(p, VV_SPACE_HOUR, START, START + DAYS * VV_DAY);
    build(p, VV_SPACE_DAY, START, START + DAYS * VV_DAY);
}

/* The same of a store that is asked ahead. */
static inline json_t *ask_ahead(struct place *p, const char *const *words)
{
    struct slow slow;
    slow_init(&slow, &p->f, 1);
    slow.may_read = true; /* finer tiers */
    json_t *answer = ask_json(&p->f, VV_REQUEST_QUERY, words);
    assert_int_equal(slow.unused, 0);
    p->f.context.store = p->f.store;
    return answer;
}

/* The answer must be that of raw points; the facts are those of the tiers' answer. */
static inline void check_same(struct place *p, const char *const *words)
{
    const char *raw_words[32];
    size_t n = 0;
    for (; words[n]; n++) {
        raw_words[n] = words[n];
    }
    raw_words[n] = "tier=raw";
    raw_words[n + 1] = NULL;
    json_t *raw = ask_json(&p->f, VV_REQUEST_QUERY, raw_words);
    assert_true(p->f.facts.rows > 0);
    json_t *ahead = ask_ahead(p, words);
    tiers_compare(ahead, raw, "", false);
    json_decref(ahead);
    json_t *tiered = ask_json(&p->f, VV_REQUEST_QUERY, words);
    tiers_compare(tiered, raw, "", false);
    json_decref(raw);
    json_decref(tiered);
}

static inline uint64_t steps_of(const struct place *p, enum vv_space tier)
{
    return p->f.facts.tiers[tier].steps;
}

static inline uint64_t raw_parts(const struct place *p)
{
    return p->f.facts.tiers[VV_SPACES].parts;
}

#endif
