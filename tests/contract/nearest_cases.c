/* SPDX-License-Identifier: Apache-2.0 */
/* The bucket nearest to a time. */
#include "contract.h"

#include "base/random.h"

#define NONE INT64_C(-999999)

/* The day of the nearest bucket, NONE when there is none. */
static int64_t nearest(struct contract *c, uint32_t tenant, uint32_t source, int64_t from,
                       bool forward)
{
    int64_t found = 0;
    enum vv_status status =
        c->store->ops->nearest(c->store, 0, tenant, source, from, forward, &found, NULL);
    assert_true(status == VV_OK || status == VV_DONE);
    return status == VV_DONE ? NONE : found / VV_DAY;
}

static void nearest_finds_runs_and_blocks_both_ways(void **state)
{
    struct contract *c = *state;
    struct vv_span_key run = span_of(1, 5, 10, 3);
    struct vv_span_key block = span_of(1, 5, 20, 3);
    struct vv_span_key before = span_of(1, 4, 15, 3);
    struct vv_span_key behind = span_of(1, 6, 15, 3);
    struct vv_span_key tenant = span_of(2, 5, 15, 3);
    assert_int_equal(nearest(c, 1, 5, 15 * VV_DAY, true), NONE);
    put_run(c, &run, 1, 0, "a");
    put_block(c, &block, "b");
    const struct vv_span_key *const others[] = {&before, &behind, &tenant};
    for (size_t i = 0; i < 3; i++) {
        put_run(c, others[i], 1, 0, "c");
        put_block(c, others[i], "d");
    }
    assert_int_equal(nearest(c, 1, 5, 15 * VV_DAY, true), 20);
    assert_int_equal(nearest(c, 1, 5, 15 * VV_DAY, false), 10);
    assert_int_equal(nearest(c, 1, 5, 10 * VV_DAY, true), 10);
    assert_int_equal(nearest(c, 1, 5, 10 * VV_DAY, false), 10);
    assert_int_equal(nearest(c, 1, 5, 10 * VV_DAY + 1, true), 20);
    assert_int_equal(nearest(c, 1, 5, 20 * VV_DAY - 1, false), 10);
    assert_int_equal(nearest(c, 1, 5, 20 * VV_DAY + 1, true), NONE);
    assert_int_equal(nearest(c, 1, 5, 10 * VV_DAY - 1, false), NONE);
    assert_int_equal(nearest(c, 1, 5, INT64_MIN, true), 10);
    assert_int_equal(nearest(c, 1, 5, INT64_MAX, false), 20);
    assert_int_equal(nearest(c, 1, 5, INT64_MAX, true), NONE);
    assert_int_equal(nearest(c, 1, 5, INT64_MIN, false), NONE);
    put_span(c, &block, 0, NULL);
    assert_int_equal(nearest(c, 1, 5, 15 * VV_DAY, true), NONE);
    remove_run(c, &run, 1, 0);
    assert_int_equal(nearest(c, 1, 5, 15 * VV_DAY, false), NONE);
}

/* Against a plain search, over eras and classes, with buckets of several lengths. */
static void nearest_is_the_nearest_of_all_eras(void **state)
{
    struct contract *c = *state;
    struct vv_random random = {.state = 77};
    int64_t starts[60];
    size_t n = 0;
    for (int part = 0; part < 3; part++) {
        set_retention(c, 1, part == 0 ? 0 : part == 1 ? 200 * VV_DAY : 400 * VV_DAY);
        for (int i = 0; i < 20; i++) {
            static const int64_t days[] = {1, 5, 30, 90};
            int64_t length = days[vv_random_below(&random, 4)] * VV_DAY;
            int64_t time = (int64_t)vv_random_below(&random, 1000) * VV_DAY - 300 * VV_DAY;
            int64_t start = vv_time_floor(time, length);
            struct vv_span_key key = {{1, 1, start, length, 0, 0}, 1, start};
            put_block(c, &key, "a");
            starts[n++] = start;
        }
        bool more;
        assert_ok(c->store->ops->expire(c->store, -900 * VV_DAY, 500, &more, NULL));
    }
    for (int i = 0; i < 400; i++) {
        int64_t from = (int64_t)vv_random_below(&random, 1100) * VV_DAY - 350 * VV_DAY;
        int64_t after = INT64_MAX;
        int64_t before = INT64_MIN;
        for (size_t j = 0; j < n; j++) {
            after = starts[j] >= from && starts[j] < after ? starts[j] : after;
            before = starts[j] <= from && starts[j] > before ? starts[j] : before;
        }
        assert_int_equal(nearest(c, 1, 1, from, true), after == INT64_MAX ? NONE : after / VV_DAY);
        assert_int_equal(nearest(c, 1, 1, from, false),
                         before == INT64_MIN ? NONE : before / VV_DAY);
    }
}

const struct contract_case nearest_cases[] = {
    CONTRACT_CASE_NEEDS(FORGETS_BUCKETS, nearest_finds_runs_and_blocks_both_ways),
    CONTRACT_CASE(nearest_is_the_nearest_of_all_eras),
    {0},
};
