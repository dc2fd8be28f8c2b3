/* SPDX-License-Identifier: Apache-2.0 */
/* Whole nodes on the model of Cassandra with sources of one cohort: writing, building, asking. */
#ifndef TESTS_SIMULATION_CASSANDRA_COHORTS_FIXTURE_H
#define TESTS_SIMULATION_CASSANDRA_COHORTS_FIXTURE_H

#include "engines_fixture.h"

#include "engine/engine_private.h"
#include "registry/shared.h"
#include "tier/cohort.h"

#define SOURCES  3
#define SETS_MAX VV_SIM_CASSANDRA_SETS
#define ALWAYS   "2100-01-01T00:00:00Z"

static const char *const sources[] = {"9", "18", "42", "71"}; /* of one cohort */
static const char *asked_to = ALWAYS;
static const char *asked_metric = "m.v";
static bool in_class; /* m is in a class of the tenant, with tiers like those of the tenant */

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

/* Two nodes, and nothing written. */
static inline void begin_empty(uint64_t seed)
{
    has_tiers = true;
    make_cluster(seed);
    for (uint32_t i = 0; i < 2; i++) {
        rows_tenants[i] = "";
        (void)make_node(i);
    }
}

static inline uint32_t place_of(struct node *node, const char *measurement)
{
    struct vv_registry *registry = node->rig.engine->registry;
    uint32_t tenant;
    uint32_t number;
    assert_int_equal(vv_registry_tenant(registry, VV_STR_LITERAL("t"), false, &tenant, NULL),
                     VV_OK);
    assert_int_equal(
        vv_registry_measurement(registry, tenant, vv_str_of(measurement), false, &number, NULL),
        VV_OK);
    assert_true(vv_registry_is_placed(registry, number));
    return vv_registry_first_place(registry, number);
}

static inline void assert_place(const char *measurement, const char *expected)
{
    for (size_t i = 0; i < 2; i++) {
        char text[80];
        struct vv_str name = vv_registry_tenant_name(nodes[i].rig.engine->registry,
                                                     place_of(&nodes[i], measurement));
        snprintf(text, sizeof text, "%.*s", VV_STR_ARG(name));
        assert_string_equal(text, expected);
    }
}

static inline bool is_ready(struct node *node)
{
    struct vv_registry *registry = node->rig.engine->registry;
    uint32_t tenant;
    uint32_t class = VV_REGISTRY_NONE;
    if (vv_registry_tenant(registry, VV_STR_LITERAL("t"), false, &tenant, NULL) == VV_OK) {
        class = vv_registry_class(registry, tenant, VV_STR_LITERAL("c"));
    }
    return class != VV_REGISTRY_NONE && vv_registry_class_is_ready(registry, class);
}

/* The class c, which takes m; until all nodes know it. */
static inline void make_class(const struct vv_retentions *retentions)
{
    struct vv_error error = {0};
    struct vv_class_effect effect;
    struct vv_class_wish wish = {.name = VV_STR_LITERAL("c"),
                                 .has_measurements = true,
                                 .measurements = VV_STR_LITERAL("m\n"),
                                 .retentions = *retentions};
    work(&nodes[0]);
    work(&nodes[1]);
    if (vv_engine_set_class(nodes[0].rig.engine, VV_STR_LITERAL("t"), &wish, &effect, &error) !=
        VV_OK) {
        fail_msg("%s", error.message);
    }
    for (int i = 0; i < 20 && !(is_ready(&nodes[0]) && is_ready(&nodes[1])); i++) {
        work(&nodes[0]);
        work(&nodes[1]);
        advance(VV_SECOND);
    }
    assert_true(is_ready(&nodes[0]) && is_ready(&nodes[1]));
}

static inline void make_like_tenant(void)
{
    static const struct vv_retentions retentions = {
        VV_RETENTION_AS_IS, {VV_RETENTION_AS_IS, 250 * VV_DAY, VV_RETENTION_AS_IS}};
    make_class(&retentions);
}

/* Minutes of an hour: so many that hours are kept as steps. */
static inline void begin(uint64_t seed)
{
    begin_empty(seed);
    if (in_class) {
        make_like_tenant();
    }
    for (int round = 0; round < 10; round++) {
        write_all(&nodes[round % 2], now_ns());
        work(&nodes[0]);
        work(&nodes[1]);
        advance(VV_MINUTE);
    }
    assert_place("m", in_class ? "t/@c" : "t");
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
        {VV_STR_LITERAL("metric"), vv_str_of(asked_metric)},
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
        const char *values = strstr(line, asked_metric);
        values = values ? strchr(values + strlen(asked_metric) + 1, ',') : NULL;
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

/* ---- while a part of Cassandra is away ---- */

/* Late points of all sources, while a set is away; some of them wait with the first node. */
static inline void add_while_away(uint32_t set, int *times)
{
    begin(4 + set);
    int64_t begun = now_ns();
    build_all();
    vv_sim_cassandra_set_away(model, UINT32_C(1) << set);
    write_all(&nodes[0], begun);
    work(&nodes[0]);
    *times += parked(&nodes[0]) > 0;
    (void)compare_ways(&nodes[1], "away", true);
    if (parked(&nodes[0]) == 0) {
        end();
        return;
    }
    vv_sim_cassandra_set_away(model, 0);
    for (size_t i = 0; i < 2; i++) {
        (void)assert_same(&nodes[i], "back");
    }
    for (int i = 0; i < 3; i++) { /* the other one builds what has come so far */
        seal(&nodes[1]);
        (void)assert_same(&nodes[1], "built without the rest");
    }
    for (int i = 0; i < 10 && parked(&nodes[0]) > 0; i++) {
        advance(11 * VV_SECOND);
        (void)rig_step(&nodes[0].rig, VV_TASK_LEARN);
        (void)rig_step(&nodes[0].rig, VV_TASK_DELIVER);
        for (size_t node = 0; node < 2; node++) {
            (void)assert_same(&nodes[node], "being delivered");
        }
        (void)rig_step(&nodes[0].rig, VV_TASK_BEAT);
    }
    assert_int_equal(parked(&nodes[0]), 0);
    build_all();
    (void)assert_same(&nodes[1], "doubted");
    advance(9 * VV_DAY); /* until what was doubted is so no more */
    for (size_t i = 0; i < 2; i++) {
        assert_true(assert_same(&nodes[i], "built") > 0);
        assert_int_equal(ask(&nodes[i], "all", NULL, NULL).count, written);
    }
    end();
}

/* Late points of all sources while a set is away; the first node seals what it can of what it owns,
 * delivers nothing of what waits with it, and is lost. Then for so long that all expires that only
 * says of units that they are stale. Tiers have what is left of raw data, or more: of that the lost
 * node may have had the mark. */
static inline void lose_while_away(uint32_t set, int *times)
{
    begin(20 + set);
    int64_t begun = now_ns();
    build_all();
    vv_sim_cassandra_set_away(model, UINT32_C(1) << set);
    write_all(&nodes[0], begun);
    work(&nodes[0]);
    bool has_parked = parked(&nodes[0]) > 0;
    *times += has_parked;
    if (has_parked) {
        seal(&nodes[0]);
        vv_sim_cassandra_set_away(model, 0);
        for (int days = 1; days < 10; days += 3) { /* 1, 4, 7 */
            advance(days * VV_DAY);
            seal(&nodes[1]);
            (void)rig_step(&nodes[1].rig, VV_TASK_EXPIRE);
        }
        long long there = ask_tier(&nodes[1], "raw", "source", NULL, NULL).count;
        assert_in_range(there, written - SOURCES, written);
        (void)assert_same(&nodes[1], "lost");
        assert_true(ask(&nodes[1], "source", NULL, NULL).count >= there);
        assert_true(ask(&nodes[1], "all", NULL, NULL).count >= there);
    }
    end();
}

/* ---- tests, of a measurement in a class and of others ---- */

static inline void what_is_parked_of_a_source_is_missing_in_no_answer_together(void **state)
{
    int times = 0;
    (void)state;
    for (uint32_t set = 0; set < SETS_MAX; set++) {
        add_while_away(set, &times);
    }
    assert_true(times > 0);
}

static inline void what_a_lost_node_had_parked_leaves_no_record_as_it_was(void **state)
{
    int times = 0;
    (void)state;
    for (uint32_t set = 0; set < SETS_MAX; set++) {
        lose_while_away(set, &times);
    }
    assert_true(times > 0);
}

#endif
