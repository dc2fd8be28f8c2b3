/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes with tiers on the model of Cassandra: raw data is kept for 40 days. */
#ifndef TESTS_SIMULATION_CASSANDRA_TIERS_FIXTURE_H
#define TESTS_SIMULATION_CASSANDRA_TIERS_FIXTURE_H

#include "engines_fixture.h"

/* How many points all steps of a tier together have, by it where it has them; -1: unknown now. */
static inline long long count_by(struct node *node, enum vv_space tier)
{
    static const char *const steps[VV_SPACES] = {"1m", "1h", "1d"};
    static const char *const words[VV_SPACES] = {"minute", "hour", "day"};
    const struct vv_parameter parameters[] = {
        {VV_STR_LITERAL("tenant"), VV_STR_LITERAL("t")},
        {VV_STR_LITERAL("metric"), VV_STR_LITERAL("m.v")},
        {VV_STR_LITERAL("to"), VV_STR_LITERAL("2100-01-01T00:00:00Z")},
        {VV_STR_LITERAL("agg"), VV_STR_LITERAL("count")},
        {VV_STR_LITERAL("step"), vv_str_of(steps[tier])},
        {VV_STR_LITERAL("tier"), vv_str_of(words[tier])},
    };
    struct vv_request *request;
    struct vv_result *result;
    struct vv_query_limits limits;
    struct vv_buffer text = {0};
    struct vv_error error = {0};
    vv_engine_query_limits(node->rig.engine, &limits);
    vv_engine_query_begin(node->rig.engine);
    assert_int_equal(vv_request_parse(VV_REQUEST_QUERY, parameters, 6, now_ns(), &request, &error),
                     VV_OK);
    enum vv_status status = vv_result_open(vv_engine_query_context(node->rig.engine), &limits,
                                           request, VV_FORMAT_CSV, &result, &error);
    if (status != VV_OK) {
        return -1;
    }
    while ((status = vv_result_write(result, &text, 65536, &error)) == VV_OK) {
    }
    vv_result_close(result);
    vv_buffer_u8(&text, 0);
    assert_int_equal(vv_buffer_status(&text), VV_OK);
    long long n = status == VV_DONE ? 0 : -1;
    char *rest = NULL;
    for (char *line = strtok_r((char *)text.data, "\r\n", &rest); line && n >= 0;
         line = strtok_r(NULL, "\r\n", &rest)) {
        const char *last = strrchr(line, ',');
        n += line[0] != '#' && last ? atoll(last + 1) : 0;
    }
    vv_buffer_deinit(&text);
    return n;
}

static inline long long count_by_hours(struct node *node)
{
    return count_by(node, VV_SPACE_HOUR);
}

static inline void seal_by(struct node *node, enum vv_engine_task task)
{
    for (int i = 0; i < 60; i++) { /* the ledger is read in parts */
        advance(10 * VV_SECOND);
        (void)rig_step(&node->rig, VV_TASK_LEARN);
        (void)rig_step(&node->rig, task);
        (void)rig_step(&node->rig, VV_TASK_BEAT);
    }
}

static inline void seal(struct node *node)
{
    seal_by(node, VV_TASK_SEAL_ALL);
}

static inline void work_all(void)
{
    for (size_t i = 0; i < NODES_MAX; i++) {
        if (is_up(&nodes[i])) {
            work(&nodes[i]);
        }
    }
}

/* All nodes, of what the others told. */
static inline void hear_each_other(void)
{
    for (int i = 0; i < 12; i++) {
        advance(10 * VV_SECOND);
        work_all();
    }
}

/* From then on a longer retention counts, and a tier may be taken for whole. */
static inline void let_all_know(void)
{
    advance(20 * VV_MINUTE);
    hear_each_other();
}

static inline void restart_node(struct node *node, uint64_t seed)
{
    kill_node(node);
    bury_node(node, seed);
    rig_open(&node->rig);
}

static inline void begin_with(const char *layout, uint64_t seed, bool tiers)
{
    has_tiers = tiers;
    make_cluster(seed);
    for (uint32_t i = 0; i < 2; i++) {
        rows_tenants[i] = strcmp(layout, "rows") == 0 ? "t" : "";
        (void)make_node(i);
    }
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < 2; i++) {
            write_at(&nodes[i], now_ns());
            work(&nodes[i]);
        }
        advance(VV_SECOND);
    }
}

static inline void begin(const char *layout, uint64_t seed)
{
    begin_with(layout, seed, true);
}

static inline void end(void)
{
    drop_cluster();
    has_tiers = false;
}

static inline enum vv_status try_delete(struct node *node, int64_t from, int64_t to,
                                        struct vv_error *error)
{
    char ends[2][24];
    snprintf(ends[0], sizeof ends[0], "%lld", (long long)from);
    snprintf(ends[1], sizeof ends[1], "%lld", (long long)to);
    const struct vv_parameter parameters[] = {
        {VV_STR_LITERAL("tenant"), VV_STR_LITERAL("t")},
        {VV_STR_LITERAL("metric"), VV_STR_LITERAL("m.v")},
        {VV_STR_LITERAL("from"), vv_str_of(ends[0])},
        {VV_STR_LITERAL("to"), vv_str_of(ends[1])},
    };
    struct vv_request *request;
    struct vv_deleted deleted;
    assert_int_equal(vv_request_parse(VV_REQUEST_DELETE, parameters, 4, now_ns(), &request, error),
                     VV_OK);
    enum vv_status status = vv_engine_delete(node->rig.engine, request, &deleted, error);
    assert_true(status != VV_OK || deleted.markers > 0);
    vv_request_destroy(request);
    return status;
}

static inline void delete_between(struct node *node, int64_t from, int64_t to)
{
    struct vv_error error = {0};
    if (try_delete(node, from, to, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
}

/* Until the spans are marked, and all know. */
static inline void sweep(void)
{
    for (int i = 0; i < 30; i++) {
        work(&nodes[1]);
        (void)rig_step(&nodes[1].rig, VV_TASK_SWEEP);
        advance(2 * VV_SECOND);
    }
}

#define SECONDS_FULL 300

/* So many points that steps are kept of them, one each second. */
static inline int64_t fill_minutes(struct node *node)
{
    int64_t from = vv_time_floor(now_ns(), VV_HOUR) + VV_HOUR;
    advance(from + SECONDS_FULL * VV_SECOND - now_ns());
    for (int i = 0; i < SECONDS_FULL; i++) {
        write_at(node, from + i * VV_SECOND);
    }
    work(node);
    return from;
}

static inline void live_long(int times, int64_t length_ns)
{
    for (int i = 0; i < times; i++) {
        advance(length_ns);
        work(&nodes[1]);
        seal(&nodes[1]);
    }
}

static inline void set_tiers(struct node *node, const int64_t kept_ns[VV_SPACES])
{
    struct vv_error error = {0};
    if (vv_engine_set_tiers(node->rig.engine, VV_STR_LITERAL("t"), kept_ns, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
}

static inline void keep_minutes_for_ever(void)
{
    const int64_t kept_ns[VV_SPACES] = {0, VV_RETENTION_AS_IS, VV_RETENTION_AS_IS};
    (void)rig_step(&nodes[1].rig, VV_TASK_LEARN);
    set_tiers(&nodes[1], kept_ns);
    live_long(2, VV_DAY);
}

static inline uint64_t parked(struct node *node)
{
    return vv_engine_parked(node->rig.engine).n;
}

static inline void deliver_all(struct node *node)
{
    for (int i = 0; i < 10 && parked(node) > 0; i++) {
        advance(11 * VV_SECOND);
        (void)rig_step(&node->rig, VV_TASK_LEARN);
        (void)rig_step(&node->rig, VV_TASK_DELIVER);
        (void)rig_step(&node->rig, VV_TASK_BEAT);
    }
    assert_int_equal(parked(node), 0);
}

#endif
