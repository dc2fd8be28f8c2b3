/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What many sources have together, where nodes share the store: as the sources say, whichever node
 * is asked and whatever it has learnt, at any moment; and read at once where it can be.
 */
#include "engines_fixture.h"

#include "engine/engine_private.h"
#include "tier/cohort.h"

#define SETS_MAX VV_SIM_CASSANDRA_SETS
#define SOURCES  3

static const char *const sources[] = {"9", "18", "42", "71"}; /* of one cohort */

static void write_measurement(struct node *node, const char *measurement, const char *source,
                              int64_t time_ns)
{
    char line[80];
    written++;
    snprintf(line, sizeof line, "%s,id=%s v=%lldi %lld\n", measurement, source, written,
             (long long)time_ns + written);
    rig_write_line(&node->rig, line);
}

static void write_source(struct node *node, const char *source, int64_t time_ns)
{
    write_measurement(node, "m", source, time_ns);
}

static void write_all(struct node *node, int64_t time_ns)
{
    for (size_t i = 0; i < SOURCES; i++) {
        write_source(node, sources[i], time_ns);
    }
}

/* Minutes of an hour: so many that hours are kept as steps. */
static void begin(uint64_t seed)
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

static void end(void)
{
    drop_cluster();
    has_tiers = false;
}

static void seal(struct node *node)
{
    for (int i = 0; i < 60; i++) { /* the ledger is read in parts */
        advance(10 * VV_SECOND);
        (void)rig_step(&node->rig, VV_TASK_LEARN);
        (void)rig_step(&node->rig, VV_TASK_SEAL_ALL);
        (void)rig_step(&node->rig, VV_TASK_BEAT);
    }
}

/* The day is over, and what is not sealed yet has not expired. */
static void build_all(void)
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
static struct answer ask_tier(struct node *node, const char *tier, const char *group_by,
                              const char *name, const char *value)
{
    const struct vv_parameter parameters[] = {
        {VV_STR_LITERAL("tenant"), VV_STR_LITERAL("t")},
        {VV_STR_LITERAL("metric"), VV_STR_LITERAL("m.v")},
        {VV_STR_LITERAL("to"), VV_STR_LITERAL("2100-01-01T00:00:00Z")},
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

static struct answer ask(struct node *node, const char *group_by, const char *name,
                         const char *value)
{
    return ask_tier(node, "hour", group_by, name, value);
}

/* They have nothing of the measurement, and what they have lies at the unit's end: buckets before
 * that are not looked into one by one, or there would be too many. */
static void sources_with_nothing_of_a_measurement_are_looked_at_where_they_have_anything(
    void **state)
{
    static const char *const others[] = {"88",  "100", "157", "182", "287", "312", "409",
                                         "444", "447", "472", "498", "656", "659", "669",
                                         "738", "757", "892", "937", "944", "961"};
    (void)state;
    begin(3);
    for (int day = 0; day < 22; day++) {
        for (size_t i = 0; i < sizeof others / sizeof others[0] && day == 12; i++) {
            write_measurement(&nodes[i % 2], "other", others[i], now_ns());
        }
        work(&nodes[0]);
        work(&nodes[1]);
        seal(&nodes[day % 2]);
        advance(VV_DAY);
    }
    for (size_t i = 0; i < 2; i++) {
        struct answer all = ask_tier(&nodes[i], "day", "all", NULL, NULL);
        assert_int_equal(all.facts.tiers[VV_SPACE_DAY].cohorts, 1);
        assert_int_equal(all.count, ask_tier(&nodes[i], "day", "source", NULL, NULL).count);
        assert_true(all.count > 0);
    }
    end();
}

/* How many parts were read of the cohort; what it says is what the sources say, one by one. */
static uint64_t assert_same(struct node *node, const char *when)
{
    struct answer together = ask(node, "all", NULL, NULL);
    struct answer apart = ask(node, "source", NULL, NULL);
    if (together.is_there && apart.is_there &&
        (together.count != apart.count || together.sum != apart.sum)) {
        fail_msg("%s: together %lld values of %lld, one by one %lld of %lld", when, together.count,
                 together.sum, apart.count, apart.sum);
    }
    return together.facts.tiers[VV_SPACE_HOUR].cohorts;
}

static void all_sources_are_read_at_once_on_every_node(void **state)
{
    (void)state;
    begin(1);
    build_all();
    for (size_t i = 0; i < 2; i++) {
        assert_true(assert_same(&nodes[i], "built") > 0);
        struct answer all = ask(&nodes[i], "all", NULL, NULL);
        struct answer apart = ask(&nodes[i], "source", NULL, NULL);
        assert_int_equal(all.count, written);
        assert_int_equal(all.facts.partitions_read, 1);
        assert_int_equal(apart.facts.partitions_read, SOURCES);
        struct answer some = ask(&nodes[i], "all", "tag", "id!=9");
        assert_int_equal(some.facts.tiers[VV_SPACE_HOUR].cohorts, 0);
        assert_int_equal(some.facts.partitions_read, SOURCES - 1);
        assert_in_range(some.count, 1, written - 1);
    }
    end();
}

static void what_another_node_adds_late_is_there_at_once(void **state)
{
    (void)state;
    begin(2);
    int64_t begun = now_ns();
    build_all();
    assert_true(assert_same(&nodes[0], "built") > 0);
    write_source(&nodes[1], sources[1], begun);
    work(&nodes[1]);
    assert_int_equal(assert_same(&nodes[0], "late"), 0);
    assert_int_equal(ask(&nodes[0], "all", NULL, NULL).count, written);
    build_all();
    assert_true(assert_same(&nodes[0], "built again") > 0);
    assert_int_equal(ask(&nodes[0], "all", NULL, NULL).count, written);
    end();
}

/* It has not learnt of the source, and so cannot say whether it belongs to what is asked for. A
 * reader learns at most every 200 ms, so time stands still. */
static void a_record_with_a_source_that_is_not_known_answers_nothing(void **state)
{
    (void)state;
    begin(3);
    int64_t begun = now_ns();
    build_all();
    long long before = written;
    assert_true(assert_same(&nodes[1], "built") > 0);
    for (int i = 0; i < 10; i++) {
        write_source(&nodes[0], sources[SOURCES], begun);
    }
    assert_int_equal(rig_step(&nodes[0].rig, VV_TASK_FLUSH), VV_OK);
    for (int i = 0; i < 20; i++) {
        (void)rig_step(&nodes[0].rig, VV_TASK_SEAL_ALL);
    }
    assert_true(assert_same(&nodes[0], "known") > 0);
    assert_int_equal(ask(&nodes[0], "all", NULL, NULL).count, written);
    assert_int_equal(assert_same(&nodes[1], "not known"), 0);
    assert_int_equal(ask(&nodes[1], "all", NULL, NULL).count, before);
    (void)rig_step(&nodes[1].rig, VV_TASK_LEARN);
    assert_true(assert_same(&nodes[1], "learnt") > 0);
    assert_int_equal(ask(&nodes[1], "all", NULL, NULL).count, written);
    end();
}

static uint64_t parked(struct node *node)
{
    return vv_engine_parked(node->rig.engine).n;
}

/* Late points of all sources, while a set is away; some of them wait with the first node. */
static void add_while_away(uint32_t set, int *times)
{
    begin(4 + set);
    int64_t begun = now_ns();
    build_all();
    vv_sim_cassandra_set_away(model, UINT32_C(1) << set);
    write_all(&nodes[0], begun);
    work(&nodes[0]);
    *times += parked(&nodes[0]) > 0;
    (void)assert_same(&nodes[1], "away");
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

static void what_is_parked_of_a_source_is_missing_in_no_answer_together(void **state)
{
    int times = 0;
    (void)state;
    for (uint32_t set = 0; set < SETS_MAX; set++) {
        add_while_away(set, &times);
    }
    assert_true(times > 0);
}

/* Late points of all sources while a set is away; the first node seals what it can of what it owns,
 * delivers nothing of what waits with it, and is lost. Then for so long that all expires that only
 * says of units that they are stale. Tiers have what is left of raw data, or more: of that the lost
 * node may have had the mark. */
static void lose_while_away(uint32_t set, int *times)
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

static void what_a_lost_node_had_parked_leaves_no_record_as_it_was(void **state)
{
    int times = 0;
    (void)state;
    for (uint32_t set = 0; set < SETS_MAX; set++) {
        lose_while_away(set, &times);
    }
    assert_true(times > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_sources_are_read_at_once_on_every_node),
        cmocka_unit_test(what_another_node_adds_late_is_there_at_once),
        cmocka_unit_test(a_record_with_a_source_that_is_not_known_answers_nothing),
        cmocka_unit_test(
            sources_with_nothing_of_a_measurement_are_looked_at_where_they_have_anything),
        cmocka_unit_test(what_is_parked_of_a_source_is_missing_in_no_answer_together),
        cmocka_unit_test(what_a_lost_node_had_parked_leaves_no_record_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
