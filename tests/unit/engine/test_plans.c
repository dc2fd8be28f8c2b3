/* SPDX-License-Identifier: Apache-2.0 */
/* Plans that change: from when, how often, by themselves, and what a restart leaves of them. */
#include "nodes_rig.h"

#define SOURCE "id=x"
#define FUTURE (10 * VV_MINUTE) /* ingest.future_max */

static struct vv_plans plans_of(struct rig *rig)
{
    struct vv_registry *registry = vv_engine_query_context(rig->engine)->registry;
    uint32_t tenant;
    uint32_t source;
    assert_int_equal(vv_registry_tenant(registry, VV_STR_LITERAL("t"), false, &tenant, NULL),
                     VV_OK);
    assert_int_equal(vv_registry_source_by_id(registry, tenant, vv_str_of(SOURCE), &source), VV_OK);
    return vv_registry_source_plans(registry, source);
}

static enum vv_status change(struct rig *rig, int64_t bucket_ns, struct vv_plan *plan_out)
{
    const struct vv_plan_wish wish = {.bucket_ns = bucket_ns};
    struct vv_error error = {0};
    return vv_engine_change_plan(rig->engine, VV_STR_LITERAL("t"), vv_str_of(SOURCE), &wish,
                                 plan_out, &error);
}

static void begin(struct rig *rig, uint32_t node)
{
    rig_init(rig, node, false);
    rig_write(rig);
    (void)rig_step(rig, VV_TASK_LEARN);
    assert_int_equal(rig_step(rig, VV_TASK_FLUSH), VV_OK);
    assert_int_equal(plans_of(rig).n, 1);
}

static int64_t now_of(struct rig *rig)
{
    return rig->clock.clock.wall_ns(&rig->clock.clock);
}

static void a_change_lies_ahead_of_what_is_accepted(void **state)
{
    (void)state;
    struct rig rig;
    struct vv_plan plan;
    begin(&rig, 0);
    assert_int_equal(change(&rig, VV_HOUR, &plan), VV_OK);
    assert_true(plan.from_ns >= now_of(&rig) + FUTURE);
    assert_true(plan.from_ns < now_of(&rig) + FUTURE + VV_HOUR);
    assert_int_equal(plan.from_ns % VV_HOUR, 0);
    assert_int_equal(plans_of(&rig).n, 2);
    assert_int_equal(plans_of(&rig).plans[0].from_ns, VV_TIME_MIN);
    assert_int_equal(plans_of(&rig).plans[1].from_ns, plan.from_ns);
    rig_deinit(&rig);
}

/* Beside others: polls, and clocks that differ. */
static void beside_other_nodes_it_waits_until_they_know(void **state)
{
    (void)state;
    struct rig rig;
    struct vv_plan plan;
    begin(&rig, 3);
    assert_int_equal(change(&rig, VV_MINUTE, &plan), VV_OK);
    struct vv_settings settings;
    vv_settings_init(&settings);
    int64_t least = now_of(&rig) + FUTURE + vv_settings_lead_ns(&settings) + 5 * VV_MINUTE;
    assert_true(plan.from_ns >= least && plan.from_ns < least + VV_MINUTE);
    rig_deinit(&rig);
}

static void the_next_change_lies_behind_the_last_one(void **state)
{
    (void)state;
    struct rig rig;
    struct vv_plan first;
    struct vv_plan second;
    begin(&rig, 0);
    assert_int_equal(change(&rig, 7 * VV_DAY, &first), VV_OK);
    assert_int_equal(change(&rig, VV_HOUR, &second), VV_OK);
    assert_true(second.from_ns > first.from_ns);
    assert_int_equal(change(&rig, VV_HOUR, &first), VV_OK); /* it is so already */
    assert_int_equal(first.from_ns, second.from_ns);
    assert_int_equal(plans_of(&rig).n, 3);
    rig_deinit(&rig);
}

static void what_is_refused_changes_nothing(void **state)
{
    (void)state;
    struct rig rig;
    struct vv_plan plan;
    struct vv_plan_wish wish = {.bucket_ns = VV_HOUR, .span_ns = 7 * VV_MINUTE};
    begin(&rig, 0);
    assert_int_equal(vv_engine_change_plan(rig.engine, VV_STR_LITERAL("t"), vv_str_of(SOURCE),
                                           &wish, &plan, NULL),
                     VV_INVALID);
    wish = (struct vv_plan_wish){.splits = 65};
    assert_int_equal(vv_engine_change_plan(rig.engine, VV_STR_LITERAL("t"), vv_str_of(SOURCE),
                                           &wish, &plan, NULL),
                     VV_INVALID);
    assert_int_equal(vv_engine_change_plan(rig.engine, VV_STR_LITERAL("t"), VV_STR_LITERAL("y"),
                                           &wish, &plan, NULL),
                     VV_NOT_FOUND);
    assert_int_equal(vv_engine_set_retention(rig.engine, VV_STR_LITERAL("t"), 8 * VV_DAY, NULL),
                     VV_OK);
    assert_int_equal(change(&rig, 2 * VV_DAY, &plan), VV_INVALID); /* an eighth is a day */
    assert_int_equal(plans_of(&rig).n, 1);
    rig_deinit(&rig);
}

static void a_history_does_not_grow_without_end(void **state)
{
    (void)state;
    struct rig rig;
    struct vv_plan plan;
    begin(&rig, 0);
    enum vv_status status = VV_OK;
    for (int i = 0; i < 2 * VV_PLANS_MAX && status == VV_OK; i++) {
        status = change(&rig, i % 2 ? VV_HOUR : 2 * VV_HOUR, &plan);
        vv_sim_clock_advance(&rig.clock, VV_HOUR);
    }
    assert_int_equal(status, VV_TOO_LARGE);
    assert_in_range(plans_of(&rig).n, 40, VV_PLANS_MAX - 4);
    rig_deinit(&rig);
}

static void a_change_outlasts_a_crash(void **state)
{
    (void)state;
    struct rig rig;
    struct vv_plan plan;
    begin(&rig, 0);
    assert_int_equal(change(&rig, VV_HOUR, &plan), VV_OK);
    rig_restart(&rig, 5);
    assert_int_equal(plans_of(&rig).n, 2);
    assert_int_equal(plans_of(&rig).plans[1].from_ns, plan.from_ns);
    rig_deinit(&rig);
}

/* What other nodes may have changed is not known: what lies so late must wait. */
static void nothing_is_placed_beyond_what_is_known(void **state)
{
    (void)state;
    struct rig rig;
    begin(&rig, 3);
    vv_sim_clock_advance(&rig.clock, VV_HOUR);
    rig_write(&rig); /* in the past: known from before */
    assert_int_equal(rig_step(&rig, VV_TASK_FLUSH), VV_OK);
    rig_deinit(&rig);
}

static void change_with_threads(void **state)
{
    (void)state;
    struct rig rig;
    struct vv_plan plan;
    rig_init(&rig, 0, true);
    rig_write(&rig);
    assert_int_equal(vv_engine_flush(rig.engine, false, NULL), VV_OK);
    assert_int_equal(change(&rig, VV_HOUR, &plan), VV_OK);
    assert_int_equal(plans_of(&rig).n, 2);
    assert_int_equal(change(&rig, 7 * VV_SECOND, &plan), VV_INVALID);
    rig_deinit(&rig);
}

/* ---- by itself ---- */

/* So many points a second for a minute; then time has gone on by as much. */
static void write_minute(struct rig *rig, int rate)
{
    struct rig_outcome outcome = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false,
                                  VV_UNKNOWN};
    struct vv_staging staging;
    struct vv_line_parser *parser;
    struct vv_buffer text = {0};
    for (int64_t i = 0; i < 60 * rate; i++) {
        vv_buffer_format(&text, "m,id=x v=1i %lld\n",
                         (long long)(now_of(rig) + i * VV_SECOND / rate));
    }
    assert_int_equal(vv_engine_stage(rig->engine, VV_STR_LITERAL("t"), &staging, NULL), VV_OK);
    assert_int_equal(vv_line_parser_create(&staging, 1, &parser), VV_OK);
    assert_int_equal(vv_line_parser_feed(parser, (const char *)text.data, text.size), VV_OK);
    assert_int_equal(vv_line_parser_finish(parser), VV_OK);
    vv_staging_decide(&staging);
    vv_line_parser_destroy(parser);
    vv_engine_account(rig->engine, &staging);
    vv_engine_submit(rig->engine, vv_staging_take_batch(&staging), rig_set_outcome, &outcome);
    vv_staging_deinit(&staging);
    vv_buffer_deinit(&text);
    assert_int_equal(rig_step(rig, VV_TASK_COMMIT), VV_OK);
    assert_int_equal(outcome.status, VV_OK);
    assert_int_equal(rig_step(rig, VV_TASK_FLUSH), VV_OK);
    (void)rig_step(rig, VV_TASK_PLANS);
    vv_sim_clock_advance(&rig->clock, VV_MINUTE);
}

static void a_source_that_outgrows_its_plan_gets_another_one(void **state)
{
    (void)state;
    struct rig rig;
    begin(&rig, 0); /* one point says nothing: a day */
    assert_int_equal(plans_of(&rig).plans[0].bucket_ns, VV_DAY);
    int minutes = 0;
    while (plans_of(&rig).n == 1 && minutes++ < 100) {
        write_minute(&rig, 50);
    }
    struct vv_plans plans = plans_of(&rig);
    assert_int_equal(plans.n, 2);
    assert_true(minutes * 60 * 50 < VV_SPLIT_LOAD_MAX); /* before it hurts */
    assert_true(plans.plans[1].bucket_ns < VV_DAY);
    assert_true(plans.plans[1].from_ns > now_of(&rig));
    for (int i = 0; i < 40; i++) { /* and not one after the other */
        write_minute(&rig, 50);
    }
    assert_int_equal(plans_of(&rig).n, 2);
    struct vv_result_facts facts;
    assert_int_equal(rig_count(&rig, &facts), 1 + (minutes + 40) * 60 * 50);
    rig_deinit(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_change_lies_ahead_of_what_is_accepted),
        cmocka_unit_test(beside_other_nodes_it_waits_until_they_know),
        cmocka_unit_test(the_next_change_lies_behind_the_last_one),
        cmocka_unit_test(what_is_refused_changes_nothing),
        cmocka_unit_test(a_history_does_not_grow_without_end),
        cmocka_unit_test(a_change_outlasts_a_crash),
        cmocka_unit_test(nothing_is_placed_beyond_what_is_known),
        cmocka_unit_test(change_with_threads),
        cmocka_unit_test(a_source_that_outgrows_its_plan_gets_another_one),
    };
    return cmocka_run_group_tests_name("engine/plans", tests, NULL, NULL);
}
