/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes with tiers on the model of Cassandra, whose retentions change; all that is taken is
 * counted. */
#ifndef TESTS_SIMULATION_CASSANDRA_LONGER_FIXTURE_H
#define TESTS_SIMULATION_CASSANDRA_LONGER_FIXTURE_H

#include "replace_fixture.h"

#include "base/random.h"

static enum vv_engine_task seal_task = VV_TASK_SEAL_ALL; /* VV_TASK_SEAL: only what is due */

/* All is flushed, built and known. */
static inline void settle(void)
{
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < NODES_MAX; i++) {
            if (is_up(&nodes[i])) {
                work(&nodes[i]);
                seal_by(&nodes[i], seal_task);
            }
        }
    }
    hear_each_other();
}

static inline void live_all(int times, int64_t length_ns)
{
    for (int i = 0; i < times; i++) {
        advance(length_ns);
        settle();
    }
}

/* Of a source, one a minute; how many are taken, and these are durable. */
static inline uint64_t write_some(struct node *node, const char *series, int64_t from,
                                  int64_t apart_ns, int n)
{
    struct vv_staging staging;
    struct vv_line_parser *parser;
    struct rig_outcome outcome = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false,
                                  VV_UNKNOWN};
    assert_int_equal(vv_engine_stage(node->rig.engine, VV_STR_LITERAL("t"), &staging, NULL), VV_OK);
    assert_int_equal(vv_line_parser_create(&staging, 1, &parser), VV_OK);
    for (int i = 0; i < n; i++) {
        char line[96];
        snprintf(line, sizeof line, "%s v=%di %lld\n", series, i, (long long)(from + i * apart_ns));
        assert_int_equal(vv_line_parser_feed(parser, line, strlen(line)), VV_OK);
    }
    assert_int_equal(vv_line_parser_finish(parser), VV_OK);
    vv_line_parser_destroy(parser);
    vv_staging_decide(&staging);
    if (staging.out_of_memory) {
        fail_msg("%s", staging.failure.message);
    }
    vv_engine_account(node->rig.engine, &staging);
    struct vv_batch *batch = vv_staging_take_batch(&staging);
    uint64_t taken = batch ? batch->points : 0;
    assert_int_equal(staging.refused[VV_REASON_RETENTION], (uint64_t)n - taken);
    vv_staging_deinit(&staging);
    if (batch) {
        vv_engine_submit(node->rig.engine, batch, rig_set_outcome, &outcome);
        assert_int_equal(rig_step(&node->rig, VV_TASK_COMMIT), VV_OK);
        assert_int_equal(outcome.status, VV_OK);
    }
    return taken;
}

/* ---- whatever comes and goes ---- */

#define APART  (10 * VV_DAY) /* old points are of hours that have so much between them … */
#define PASSED 4             /* … and are so often as old at most */

static struct vv_random random_state;
static uint32_t n_nodes = 2;
static int64_t n_requests; /* each is of times of its own: no point is of that of another one */

static inline uint64_t below(uint64_t bound)
{
    return vv_random_below(&random_state, bound);
}

static inline struct node *any_node(void)
{
    return &nodes[below(n_nodes)];
}

static inline bool try_lives(struct node *node, const struct vv_retentions *retentions)
{
    struct vv_error error = {0};
    enum vv_status status =
        vv_engine_set_retentions(node->rig.engine, VV_STR_LITERAL("t"), retentions, &error);
    if (status != VV_OK && status != VV_INVALID) {
        fail_msg("%s", error.message);
    }
    hear_each_other();
    return status == VV_OK;
}

static inline int64_t any_of(const int64_t *lives, uint64_t n)
{
    return lives[below(n)];
}

/* Days are kept for ever, and made of what there is. */
static inline void change_tiers(void)
{
    static const int64_t raw[] = {VV_RETENTION_AS_IS, 5 * VV_DAY, 40 * VV_DAY, 60 * VV_DAY};
    static const int64_t tiers[] = {VV_SPACE_OFF_NS, VV_SPACE_OFF_NS, 40 * VV_DAY, 0};
    struct vv_retentions retentions;
    do {
        retentions =
            (struct vv_retentions){any_of(raw, 4), {any_of(tiers, 4), any_of(tiers, 4), 0}};
    } while (!try_lives(any_node(), &retentions));
    if (below(2) == 0) {
        let_all_know();
    }
}

/* Points of a request, one a minute; of those that are refused all others are younger. */
struct request {
    int64_t from;
    uint64_t n;
    uint64_t taken;
};

/* Within an hour. */
static inline struct request write_any_request(void)
{
    char series[16];
    int64_t hour = vv_time_floor(now_ns(), VV_HOUR) - VV_HOUR;
    int n = 1 + (int)below(40);
    if (below(3) > 0) { /* one of few, so that much belongs together */
        int64_t age = (int64_t)(1 + below(PASSED)) * APART;
        hour = vv_time_floor(now_ns() - age, APART) + (int64_t)below(2) * VV_HOUR;
    }
    snprintf(series, sizeof series, "m,id=%c", 'a' + (int)below(2));
    int64_t from = hour + ++n_requests;
    return (struct request){from, (uint64_t)n, write_some(any_node(), series, from, VV_MINUTE, n)};
}

/* How many are refused. */
static inline uint64_t write_any(void)
{
    struct request request = write_any_request();
    written += (long long)request.taken;
    return request.n - request.taken;
}

static inline void add_nodes(uint32_t n)
{
    n_nodes = n;
    for (uint32_t i = 0; i < n; i++) {
        (void)make_node(i);
    }
    hear_each_other();
}

/* Nobody is there yet. */
static inline void begin_walk(uint64_t seed)
{
    random_state = (struct vv_random){seed};
    n_requests = 0;
    has_tiers = true;
    make_cluster(seed);
}

/* FIRST, and SEEDS, in the environment: others than those in which something was wrong once; false:
 * there are none. */
static inline bool walk_those_asked_for(void (*walk)(uint64_t seed))
{
    const char *first = getenv("FIRST");
    const char *seeds = getenv("SEEDS");
    uint64_t n = seeds ? strtoull(seeds, NULL, 10) : 1;
    for (uint64_t i = 0; first && i < n; i++) {
        walk(strtoull(first, NULL, 10) + i);
    }
    return first != NULL;
}

#endif
