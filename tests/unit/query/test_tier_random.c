/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random worlds with tiers that are built in part, out of date in part, and of rows in part: the
 * answers to random requests must be those of raw points alone.
 */
#include "query_world.h"
#include "tier_world.h"

#define WORLDS   10
#define REQUESTS 30

struct used {
    uint64_t steps[VV_SPACES];
    uint64_t raw_parts;
    uint64_t rows;
};

static uint32_t measurement_of(const struct model *m, int metric)
{
    struct vv_metric_info info;
    vv_registry_metric_info(m->f.registry, m->metrics[metric], &info);
    return info.measurement;
}

/* ---- a world ---- */

static void build_some(struct model *m, struct tiers *t, int source, int metric, enum vv_space tier,
                       uint64_t missing_percent)
{
    int64_t at = m->start - 2 * VV_DAY;
    uint32_t measurement = measurement_of(m, metric);
    while (at < m->start + m->length + 8 * VV_DAY) {
        struct vv_unit unit = tiers_unit(t, m->sources[source], tier, at);
        uint64_t chance = vv_random_below(&m->random, 100);
        if (chance >= missing_percent + 20) {
            tiers_build_steps(t, m->sources[source], measurement, tier, &unit);
        } else if (chance >= missing_percent) {
            tiers_build_rows(t, m->sources[source], measurement, tier, &unit);
        }
        at = unit.to;
    }
}

static void build_tiers(struct model *m, struct tiers *t)
{
    static const uint64_t missing[] = {0, 10, 40};
    for (int source = 0; source < MODEL_SOURCES; source++) {
        for (int metric = 2; metric < MODEL_METRICS; metric++) { /* one of each measurement */
            for (int tier = 0; tier < VV_SPACES; tier++) {
                uint64_t percent = missing[vv_random_below(&m->random, 3)];
                build_some(m, t, source, metric, (enum vv_space)tier, percent);
            }
        }
    }
}

/* Points that come after the tiers were built. Those that are flushed say so in the tiers. */
static void write_late(struct model *m, struct tiers *t, bool flushed)
{
    int64_t times[40];
    uint64_t values[40];
    int source = (int)vv_random_below(&m->random, MODEL_SOURCES);
    int metric = (int)vv_random_below(&m->random, MODEL_METRICS);
    uint64_t counter = vv_random_below(&m->random, 5000);
    int64_t gap = vv_random_below(&m->random, 2) ? VV_SECOND : 20 * VV_MINUTE;
    int64_t time = m->start + (int64_t)vv_random_below(&m->random, (uint64_t)m->length);
    size_t n = 1 + (size_t)vv_random_below(&m->random, 40);
    for (size_t i = 0; i < n; i++) {
        times[i] = time;
        values[i] = model_value(m, metric, &counter);
        model_keep(m, (struct model_point){source, metric, time, values[i]});
        time += gap;
    }
    fixture_write(&m->f, m->sources[source], m->metrics[metric], times, values, n);
    if (flushed) {
        fixture_flush(&m->f);
        for (size_t i = 0; i < n; i++) {
            tiers_soil(t, m->sources[source], measurement_of(m, metric), times[i]);
        }
    }
}

static void init_world(struct model *m, struct tiers *t, uint64_t seed)
{
    model_init(m, seed);
    tiers_init(t, &m->f);
    fixture_flush(&m->f);
    build_tiers(m, t);
    for (int i = 0; i < 4; i++) {
        write_late(m, t, true);
    }
    for (int i = 0; i < 3; i++) {
        write_late(m, t, false);
    }
    for (int tier = 0; tier < VV_SPACES; tier++) {
        if (vv_random_below(&m->random, 5) == 0) {
            tiers_keep(t, (enum vv_space)tier, VV_SPACE_OFF_NS);
        }
    }
}

/* ---- requests ---- */

/* Its words point into itself: it is not to be moved. */
static void choose(struct model *m, struct model_query *q_out)
{
    struct model_query q = model_request(m, true, (int)vv_random_below(&m->random, 4));
    int n = 0;
    q.where = 0;
    for (int i = 0; i < q.n_agg; i++) {
        if (q.agg[i] < MODEL_RATE) {
            q.agg[n++] = q.agg[i];
        }
    }
    q.n_agg = n;
    if (n == 0) {
        q.agg[q.n_agg++] = 4;
    }
    *q_out = q;
    model_write_words(q_out);
}

static size_t count_words(const struct model_query *q)
{
    size_t n = 0;
    while (q->list[n]) {
        n++;
    }
    return n;
}

static void check(struct model *m, struct model_query *q, struct used *used)
{
    size_t n = count_words(q);
    json_t *tiered = ask_json(&m->f, VV_REQUEST_QUERY, q->list);
    for (int tier = 0; tier < VV_SPACES; tier++) {
        used->steps[tier] += m->f.facts.tiers[tier].steps;
    }
    used->raw_parts += m->f.facts.n_tiers > 0 ? m->f.facts.tiers[VV_SPACES].parts : 0;
    q->list[n] = "tier=raw";
    q->list[n + 1] = NULL;
    json_t *raw = ask_json(&m->f, VV_REQUEST_QUERY, q->list);
    assert_int_equal(m->f.facts.n_tiers, 0);
    q->list[n] = NULL;
    /* With infinite values, these have no value that is worth comparing. */
    tiers_compare(tiered, raw, "press.level", q->fill == 4);
    used->rows += m->f.facts.rows;
    json_decref(tiered);
    json_decref(raw);
}

static void tiers_answer_as_raw_points_do(void **state)
{
    (void)state;
    struct used used = {0};
    static struct model m;
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        struct tiers t;
        init_world(&m, &t, 7700 + seed);
        struct vv_store_ops ops = *m.f.store->ops;
        ops.buckets_max = (uint32_t)seed % 6; /* that are read at once */
        m.f.store->ops = &ops;
        for (int i = 0; i < REQUESTS; i++) {
            struct model_query q;
            choose(&m, &q);
            printf("world %llu, request %d:", (unsigned long long)(7700 + seed), i);
            for (size_t word = 0; q.list[word]; word++) {
                printf(" %s", q.list[word]);
            }
            printf("\n");
            check(&m, &q, &used);
        }
        tiers_deinit(&t);
        fixture_deinit(&m.f);
    }
    printf("steps of minutes %llu, hours %llu, days %llu; raw parts %llu; rows %llu\n",
           (unsigned long long)used.steps[0], (unsigned long long)used.steps[1],
           (unsigned long long)used.steps[2], (unsigned long long)used.raw_parts,
           (unsigned long long)used.rows);
    assert_true(used.steps[VV_SPACE_MINUTE] > 1000);
    assert_true(used.steps[VV_SPACE_HOUR] > 1000);
    assert_true(used.steps[VV_SPACE_DAY] > 100);
    assert_true(used.raw_parts > 100);
    assert_true(used.rows > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiers_answer_as_raw_points_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
