/* SPDX-License-Identifier: Apache-2.0 */
/* Two nodes with tiers on the model of Cassandra, whose points of two days are gone, and days of
 * which are replaced. */
#ifndef TESTS_SIMULATION_CASSANDRA_REPLACE_FIXTURE_H
#define TESTS_SIMULATION_CASSANDRA_REPLACE_FIXTURE_H

#include "tiers_fixture.h"

static long long others; /* points of the day that is not replaced */

/* n points in each hour of the day, of value i each. */
static inline enum vv_status try_replace_as(struct node *node, const char *series, int64_t day,
                                            int n, struct vv_error *error)
{
    struct vv_engine *engine = node->rig.engine;
    struct vv_staging staging;
    struct vv_line_parser *parser;
    enum vv_status status = vv_engine_stage_frozen(engine, VV_STR_LITERAL("t"), &staging, error);
    if (status != VV_OK) {
        return status;
    }
    assert_int_equal(vv_line_parser_create(&staging, 1, &parser), VV_OK);
    for (int i = 0; i < 24 * n; i++) {
        char line[96];
        snprintf(line, sizeof line, "%s v=%di %lld\n", series, i,
                 (long long)(day + i * (VV_HOUR / n)));
        assert_int_equal(vv_line_parser_feed(parser, line, strlen(line)), VV_OK);
    }
    assert_int_equal(vv_line_parser_finish(parser), VV_OK);
    vv_line_parser_destroy(parser);
    assert_int_equal(staging.n_refusals, 0);
    status = vv_engine_replace(engine, vv_staging_take_batch(&staging), error);
    vv_staging_deinit(&staging);
    return status;
}

static inline enum vv_status try_replace(struct node *node, int64_t day, int n)
{
    struct vv_error error = {0};
    return try_replace_as(node, "m,id=x", day, n, &error);
}

static inline void replace(struct node *node, int64_t day, int n)
{
    struct vv_error error = {0};
    if (try_replace_as(node, "m,id=x", day, n, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
}

/* All that is marked is built, whoever owns it. */
static inline void build_all(void)
{
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < 2; i++) {
            if (is_up(&nodes[i])) {
                work(&nodes[i]);
                seal(&nodes[i]);
            }
        }
    }
}

static inline void assert_tiers(long long count)
{
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(count_by(&nodes[i], VV_SPACE_MINUTE), count);
        assert_int_equal(count_by(&nodes[i], VV_SPACE_HOUR), count);
        assert_int_equal(count_by(&nodes[i], VV_SPACE_DAY), count);
    }
}

/* The first day, which is replaced; points are gone, minutes are kept. */
static inline int64_t begin_frozen(uint64_t seed)
{
    begin("blocks", seed);
    (void)fill_minutes(&nodes[1]);
    keep_minutes_for_ever();
    long long before = written;
    (void)fill_minutes(&nodes[1]);
    others = written - before;
    live_long(3, VV_DAY);
    live_long(11, 5 * VV_DAY);
    build_all();
    assert_tiers(written);
    return vv_time_floor(RIG_START, VV_DAY);
}

/* What the first day has is n points an hour. */
static inline void assert_day_has(int n)
{
    assert_tiers(others + 24 * n);
}

#endif
