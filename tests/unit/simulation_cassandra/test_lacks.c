/* SPDX-License-Identifier: Apache-2.0 */
/* Where nodes share the store, too, who asks for what a tier lacks since it was changed is told, by
 * all of them. */
#include "tiers_fixture.h"

/* What is said of a query that begins then; VV_OK: it is answered. */
static enum vv_status ask(struct node *node, int64_t from, const char *step, struct vv_error *error)
{
    char begin[24];
    snprintf(begin, sizeof begin, "%lld", (long long)from);
    const struct vv_parameter parameters[] = {
        {VV_STR_LITERAL("tenant"), VV_STR_LITERAL("t")},
        {VV_STR_LITERAL("metric"), VV_STR_LITERAL("m.v")},
        {VV_STR_LITERAL("from"), vv_str_of(begin)},
        {VV_STR_LITERAL("agg"), VV_STR_LITERAL("count")},
        {VV_STR_LITERAL("step"), vv_str_of(step)},
    };
    struct vv_request *request;
    struct vv_result *result = NULL;
    struct vv_query_limits limits;
    vv_engine_query_limits(node->rig.engine, &limits);
    vv_engine_query_begin(node->rig.engine);
    assert_int_equal(vv_request_parse(VV_REQUEST_QUERY, parameters, 5, now_ns(), &request, error),
                     VV_OK);
    enum vv_status status = vv_result_open(vv_engine_query_context(node->rig.engine), &limits,
                                           request, VV_FORMAT_CSV, &result, error);
    if (status == VV_OK) {
        vv_result_close(result);
    }
    return status;
}

static void expect_minutes(int64_t from)
{
    for (size_t n = 0; n < 2; n++) {
        struct vv_error error = {0};
        if (ask(&nodes[n], from, "1m", &error) != VV_OK) {
            fail_msg("node %zu: %s", n, error.message);
        }
    }
}

static void expect_no_minutes(int64_t from)
{
    for (size_t n = 0; n < 2; n++) {
        struct vv_error error = {0};
        assert_int_equal(ask(&nodes[n], from, "1m", &error), VV_INVALID);
        assert_non_null(strstr(error.message, "take a step of 1h"));
        assert_int_equal(ask(&nodes[n], from, "1h", &error), VV_OK);
    }
}

static void set_minutes(struct node *node, int64_t kept_ns)
{
    const int64_t wanted[VV_SPACES] = {kept_ns, VV_RETENTION_AS_IS, VV_RETENTION_AS_IS};
    struct vv_error error = {0};
    (void)rig_step(&node->rig, VV_TASK_LEARN);
    if (vv_engine_set_tiers(node->rig.engine, VV_STR_LITERAL("t"), wanted, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
    hear_each_other();
}

static void restart_both(void)
{
    restart_node(&nodes[0], 3);
    restart_node(&nodes[1], 4);
    hear_each_other();
}

/* They are kept for 30 days at first, as points are for 40. */
static void one_that_is_kept_for_longer_lacks_what_had_expired(void **state)
{
    (void)state;
    begin("blocks", 1);
    int64_t from = fill_minutes(&nodes[1]);
    live_long(5, 9 * VV_DAY);
    hear_each_other();
    expect_no_minutes(from);
    set_minutes(&nodes[0], 0);
    expect_no_minutes(from);
    restart_both();
    live_long(2, 9 * VV_DAY);
    hear_each_other();
    expect_no_minutes(from);
    end();
}

static void one_that_could_be_built_again_lacks_nothing(void **state)
{
    (void)state;
    begin("blocks", 1);
    int64_t from = fill_minutes(&nodes[1]);
    live_long(2, 9 * VV_DAY);
    set_minutes(&nodes[0], 0);
    live_long(5, 9 * VV_DAY);
    hear_each_other();
    expect_minutes(from);
    set_minutes(&nodes[0], VV_SPACE_OFF_NS);
    set_minutes(&nodes[0], 0); /* it went on */
    expect_minutes(from);
    keep_for(&nodes[0], 10 * VV_DAY); /* nor since then, when the points have gone, too */
    hear_each_other();
    live_long(2, 9 * VV_DAY);
    hear_each_other();
    expect_minutes(from);
    end();
}

static void one_that_is_switched_on_again_lacks_what_it_is_built_of(void **state)
{
    (void)state;
    begin("blocks", 1);
    int64_t from = fill_minutes(&nodes[1]);
    set_minutes(&nodes[0], 0);
    live_long(6, 9 * VV_DAY);
    hear_each_other();
    expect_minutes(from);
    int64_t later = fill_minutes(&nodes[1]);
    live_long(2, 2 * VV_DAY);
    set_minutes(&nodes[0], VV_SPACE_OFF_NS);
    expect_no_minutes(from);
    live_long(2, 2 * VV_DAY); /* until then it goes on */
    set_minutes(&nodes[1], 0);
    expect_no_minutes(from);
    expect_minutes(later); /* there are points */
    restart_both();
    expect_no_minutes(from);
    live_long(2, 9 * VV_DAY);
    hear_each_other();
    expect_no_minutes(from);
    expect_minutes(later);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_is_kept_for_longer_lacks_what_had_expired),
        cmocka_unit_test(one_that_could_be_built_again_lacks_nothing),
        cmocka_unit_test(one_that_is_switched_on_again_lacks_what_it_is_built_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
