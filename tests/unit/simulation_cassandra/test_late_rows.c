/* SPDX-License-Identifier: Apache-2.0 */
/* Late points that are kept apart of a tenant whose values are rows: its rows are what came in
 * time, and all answers have both. */
#include "tiers_fixture.h"

#include "model/merge.h"

#define LATE 20

static int64_t begun; /* where the 300 points are that came in time */

static void set_late(enum vv_late_policy policy, int64_t limit_ns)
{
    const struct vv_late_wish wish = {.has_policy = true, .policy = policy, .limit_ns = limit_ns};
    struct vv_error error = {0};
    if (vv_engine_set_late(nodes[0].rig.engine, VV_STR_LITERAL("t"), &wish, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
    for (int i = 0; i < 2; i++) {
        work(&nodes[0]);
        work(&nodes[1]);
        advance(VV_SECOND);
    }
}

/* What came in time is in the tiers before anything comes late. */
static void begin_rows(void)
{
    begin("rows", 1);
    begun = fill_minutes(&nodes[1]);
    live_long(2, 12 * VV_HOUR);
    assert_int_equal(count_by_hours(&nodes[0]), written);
    set_late(VV_LATE_SEPARATE, VV_HOUR);
}

/* ---- what there is ---- */

/* The value at a time; -1: none. */
static long long value_at(struct node *node, int64_t time, bool with_deleted)
{
    char ends[2][24];
    snprintf(ends[0], sizeof ends[0], "%lld", (long long)time);
    snprintf(ends[1], sizeof ends[1], "%lld", (long long)time + 1);
    const struct vv_parameter parameters[] = {
        {VV_STR_LITERAL("tenant"), VV_STR_LITERAL("t")},
        {VV_STR_LITERAL("metric"), VV_STR_LITERAL("m.v")},
        {VV_STR_LITERAL("from"), vv_str_of(ends[0])},
        {VV_STR_LITERAL("to"), vv_str_of(ends[1])},
    };
    struct vv_request *request;
    struct vv_result *result;
    struct vv_query_limits limits;
    struct vv_buffer text = {0};
    struct vv_error error = {0};
    vv_engine_query_limits(node->rig.engine, &limits);
    vv_engine_query_begin(node->rig.engine);
    struct vv_query_context context = *vv_engine_query_context(node->rig.engine);
    context.deletions = with_deleted ? NULL : context.deletions;
    assert_int_equal(vv_request_parse(VV_REQUEST_QUERY, parameters, 4, now_ns(), &request, &error),
                     VV_OK);
    assert_int_equal(vv_result_open(&context, &limits, request, VV_FORMAT_CSV, &result, &error),
                     VV_OK);
    enum vv_status status;
    while ((status = vv_result_write(result, &text, 65536, &error)) == VV_OK) {
    }
    vv_result_close(result);
    assert_int_equal(status, VV_DONE);
    vv_buffer_u8(&text, 0);
    assert_int_equal(vv_buffer_status(&text), VV_OK);
    const char *found = strstr((char *)text.data, "id=x,");
    long long value = found ? atoll(strrchr(found, ',') + 1) : -1;
    vv_buffer_deinit(&text);
    return value;
}

static uint64_t outstanding(struct node *node)
{
    struct vv_result_facts facts;
    struct vv_buffer text = {0};
    (void)rig_query(&node->rig, &text, &facts);
    vv_buffer_deinit(&text);
    return facts.late_outstanding;
}

static enum vv_status count_values(void *context, const struct vv_piece *piece)
{
    struct vv_block block;
    assert_int_equal(vv_block_open((const uint8_t *)piece->bytes.data, piece->bytes.size, &block),
                     VV_BLOCK_OK);
    *(long long *)context += block.n_rows;
    return VV_OK;
}

/* How many rows the tenant's own tables have of the bucket of `begun`. */
static long long rows_of(struct node *node)
{
    long long n = 0;
    visit_at(node, begun, count_values, &n);
    return n;
}

static void assert_both_have(long long hours)
{
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(count_points(&nodes[i]), hours);
        assert_int_equal(count_by_hours(&nodes[i]), hours);
    }
}

/* ---- what is done ---- */

static void write_value(struct node *node, int64_t time, long long value)
{
    char line[80];
    snprintf(line, sizeof line, "m,id=x v=%lldi %lld\n", value, (long long)time);
    rig_write_line(&node->rig, line);
    work(node);
    (void)rig_step(&nodes[0].rig, VV_TASK_LEARN);
    (void)rig_step(&nodes[1].rig, VV_TASK_LEARN);
}

static void write_late(void)
{
    for (int i = 0; i < LATE; i++) {
        write_at(&nodes[0], begun + 10 * VV_MINUTE + i * VV_SECOND);
    }
    work(&nodes[0]);
    work(&nodes[1]);
}

/* What is due is sealed, by whoever owns it. */
static void seal_due(void)
{
    for (int i = 0; i < 60; i++) {
        advance(10 * VV_SECOND);
        for (size_t n = 0; n < 2; n++) {
            (void)rig_step(&nodes[n].rig, VV_TASK_LEARN);
            (void)rig_step(&nodes[n].rig, VV_TASK_SEAL);
            (void)rig_step(&nodes[n].rig, VV_TASK_BEAT);
        }
    }
}

/* ---- tests ---- */

static void what_comes_late_is_beside_the_rows_and_in_all_answers(void **state)
{
    (void)state;
    begin_rows();
    long long in_time = rows_of(&nodes[0]);
    assert_true(in_time >= SECONDS_FULL);
    write_late();
    for (int folded = 0; folded < 2; folded++) {
        assert_both_have(written);
        assert_int_equal(rows_of(&nodes[0]), in_time);
        assert_int_equal(rows_of(&nodes[1]), in_time);
        assert_int_equal(outstanding(&nodes[1]) == 0, folded);
        seal_due(); /* the fold is not due … */
        assert_int_equal(outstanding(&nodes[0]) == 0, folded);
        assert_both_have(written);
        advance(folded ? 0 : VV_DAY); /* … but now */
        seal_due();
        assert_int_equal(outstanding(&nodes[0]), 0);
    }
    live_long(4, VV_DAY); /* all runs have expired */
    assert_both_have(written);
    assert_int_equal(rows_of(&nodes[0]), in_time);
    end();
}

static void of_a_row_and_what_came_late_the_later_one_counts(void **state)
{
    (void)state;
    begin_rows();
    int64_t at = begun + 30 * VV_MINUTE;
    long long in_time = rows_of(&nodes[0]);
    write_value(&nodes[0], at, 1);
    assert_int_equal(rows_of(&nodes[0]), in_time);
    for (long long value = 2; value < 8; value++) {
        bool is_late = value % 2 == 1;
        set_late(VV_LATE_SEPARATE, is_late ? VV_HOUR : 30 * VV_DAY);
        write_value(&nodes[value % 4 / 2], at, value);
        if (value > 4) { /* folded in between, too */
            advance(VV_DAY);
            seal_due();
        }
        for (size_t i = 0; i < 2; i++) {
            assert_int_equal(value_at(&nodes[i], at, false), value);
        }
        assert_int_equal(rows_of(&nodes[0]), in_time + 1);
    }
    seal(&nodes[0]);
    assert_both_have(written + 1);
    end();
}

static void what_comes_late_can_be_deleted_with_rows(void **state)
{
    (void)state;
    for (int folds = 0; folds < 2; folds++) {
        begin_rows();
        write_late();
        int64_t at = begun + 10 * VV_MINUTE;
        int64_t late = at + VV_MINUTE;
        write_value(&nodes[1], late, 5000);
        advance(folds ? VV_DAY : 0);
        seal_due();
        assert_int_equal(outstanding(&nodes[0]) == 0, folds);
        assert_int_equal(value_at(&nodes[0], late, false), 5000);
        delete_between(&nodes[1], begun + VV_MINUTE, begun + 20 * VV_MINUTE);
        long long left = 0;
        for (int round = 0; round < 3; round++) {
            sweep();
            work(&nodes[0]);
            for (int i = 0; i < 30; i++) {
                (void)rig_step(&nodes[0].rig, VV_TASK_SWEEP);
                advance(2 * VV_SECOND);
            }
            seal(&nodes[1]);
            left = count_points(&nodes[1]);
            assert_true(left < written - LATE);
            assert_both_have(left);
        }
        for (size_t i = 0; i < 2; i++) {
            assert_int_equal(value_at(&nodes[i], late, false), -1);
            assert_int_equal(value_at(&nodes[i], late, true), -1); /* nor is it stored */
        }
        write_value(&nodes[0], late, 6000); /* late again, and no longer deleted */
        assert_int_equal(value_at(&nodes[1], late, false), 6000);
        seal(&nodes[0]);
        assert_both_have(left + 1);
        end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_comes_late_is_beside_the_rows_and_in_all_answers),
        cmocka_unit_test(of_a_row_and_what_came_late_the_later_one_counts),
        cmocka_unit_test(what_comes_late_can_be_deleted_with_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
