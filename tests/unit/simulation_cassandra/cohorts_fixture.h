/* SPDX-License-Identifier: Apache-2.0 */
/* Whole nodes on the model of Cassandra with sources of one cohort: writing, building, asking. */
#ifndef TESTS_SIMULATION_CASSANDRA_COHORTS_FIXTURE_H
#define TESTS_SIMULATION_CASSANDRA_COHORTS_FIXTURE_H

#include "engines_fixture.h"

#include "engine/engine_private.h"
#include "tier/cohort.h"

#define SOURCES 3
#define ALWAYS  "2100-01-01T00:00:00Z"

static const char *const sources[] = {"9", "18", "42", "71"}; /* of one cohort */
static const char *asked_to = ALWAYS;

static inline void write_measurement(struct node *node, const char *measurement, const char *source,
                                     int64_t time_ns)
{
    char line[80];
    written++;
    snprintf(line, sizeof line, "%s,id=%s v=%lldi %lld\n", measurement, source, written,
             (long long)time_ns + written);
    rig_write_line(&node->rig, line);
}

static inline void write_source(struct node *node, const char *source, int64_t time_ns)
{
    write_measurement(node, "m", source, time_ns);
}

static inline void write_all(struct node *node, int64_t time_ns)
{
    for (size_t i = 0; i < SOURCES; i++) {
        write_source(node, sources[i], time_ns);
    }
}

/* Minutes of an hour: so many that hours are kept as steps. */
static inline void begin(uint64_t seed)
{
    has_tiers = true;
    make_cluster(seed);
    for (uint32_t i = 0; i < 2; i++) {
        rows_tenants[i] = "";
        (void)make_node(i);
    }
    for (int round = 0; round < 10; round++) {
        write_all(&nodes[round % 2], now_ns());
        work(&nodes[0]);
        work(&nodes[1]);
        advance(VV_MINUTE);
    }
}

static inline void end(void)
{
    drop_cluster();
    has_tiers = false;
}

static inline void seal(struct node *node)
{
    for (int i = 0; i < 60; i++) { /* the ledger is read in parts */
        advance(10 * VV_SECOND);
        (void)rig_step(&node->rig, VV_TASK_LEARN);
        (void)rig_step(&node->rig, VV_TASK_SEAL_ALL);
        (void)rig_step(&node->rig, VV_TASK_BEAT);
    }
}

/* The day is over, and what is not sealed yet has not expired. */
static inline void build_all(void)
{
    for (int i = 0; i < 4; i++) {
        advance(7 * VV_HOUR);
        work(&nodes[0]);
        work(&nodes[1]);
    }
    for (size_t i = 0; i < 4; i++) {
        seal(&nodes[i % 2]);
    }
}

struct answer {
    bool is_there;
    long long count;
    long long sum;
    struct vv_result_facts facts;
};

/* Counts and sums of all hours. name: of one more parameter, or NULL. */
static inline struct answer ask_tier(struct node *node, const char *tier, const char *group_by,
                                     const char *name, const char *value)
{
    const struct vv_parameter parameters[] = {
        {VV_STR_LITERAL("tenant"), VV_STR_LITERAL("t")},
        {VV_STR_LITERAL("metric"), VV_STR_LITERAL("m.v")},
        {VV_STR_LITERAL("to"), vv_str_of(asked_to)},
        {VV_STR_LITERAL("agg"), VV_STR_LITERAL("count,sum")},
        {VV_STR_LITERAL("step"), vv_str_of(strcmp(tier, "day") == 0 ? "1d" : "1h")},
        {VV_STR_LITERAL("group_by"), vv_str_of(group_by)},
        {VV_STR_LITERAL("tier"), vv_str_of(tier)},
        {vv_str_of(name ? name : ""), vv_str_of(value ? value : "")},
    };
    struct vv_request *request;
    struct vv_result *result;
    struct vv_query_limits limits;
    struct vv_buffer text = {0};
    struct vv_error error = {0};
    struct answer answer = {.is_there = false};
    vv_engine_query_limits(node->rig.engine, &limits);
    vv_engine_query_begin(node->rig.engine);
    assert_int_equal(
        vv_request_parse(VV_REQUEST_QUERY, parameters, name ? 8 : 7, now_ns(), &request, &error),
        VV_OK);
    enum vv_status status = vv_result_open(vv_engine_query_context(node->rig.engine), &limits,
                                           request, VV_FORMAT_CSV, &result, &error);
    if (status != VV_OK) {
        return answer;
    }
    while ((status = vv_result_write(result, &text, 65536, &error)) == VV_OK) {
    }
    vv_result_read_facts(result, &answer.facts);
    vv_result_close(result);
    vv_buffer_u8(&text, 0);
    assert_int_equal(vv_buffer_status(&text), VV_OK);
    answer.is_there = status == VV_DONE;
    char *rest = NULL;
    for (char *line = strtok_r((char *)text.data, "\r\n", &rest); line;
         line = strtok_r(NULL, "\r\n", &rest)) {
        long long count;
        long long sum;
        const char *values = strstr(line, "m.v,");
        values = values ? strchr(values + 4, ',') : NULL;
        if (line[0] != '#' && values && sscanf(values, ",%lld,%lld", &count, &sum) == 2) {
            answer.count += count;
            answer.sum += sum;
        }
    }
    vv_buffer_deinit(&text);
    return answer;
}

static inline struct answer ask(struct node *node, const char *group_by, const char *name,
                                const char *value)
{
    return ask_tier(node, "hour", group_by, name, value);
}

/* How many parts were read of the cohort; what it says is what the sources say, one by one.
 * may_fail: while a part of Cassandra is away there may be no answer. */
static inline uint64_t compare_ways(struct node *node, const char *when, bool may_fail)
{
    struct answer together = ask(node, "all", NULL, NULL);
    struct answer apart = ask(node, "source", NULL, NULL);
    if (!may_fail && !(together.is_there && apart.is_there)) {
        fail_msg("%s: no answer", when);
    }
    if (together.is_there && apart.is_there &&
        (together.count != apart.count || together.sum != apart.sum)) {
        fail_msg("%s: together %lld values of %lld, one by one %lld of %lld", when, together.count,
                 together.sum, apart.count, apart.sum);
    }
    return together.facts.tiers[VV_SPACE_HOUR].cohorts;
}

static inline uint64_t assert_same(struct node *node, const char *when)
{
    return compare_ways(node, when, false);
}

static inline uint64_t parked(struct node *node)
{
    return vv_engine_parked(node->rig.engine).n;
}

#endif
