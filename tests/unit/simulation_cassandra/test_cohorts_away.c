/* SPDX-License-Identifier: Apache-2.0 */
/* What sources have together where parts of Cassandra are away, for however long, and where nodes
 * are lost with what waited with them. */
#include "cohorts_fixture.h"

/* Kinds of records in the local store (store/cassandra/parking.h). */
#define PARKED_BUCKET 213
#define PARKED_TOLD   214

/* Lives for so long, with what nodes do then; what is parked is delivered when it can be. */
static void live_on(int64_t duration_ns)
{
    for (int64_t until = now_ns() + duration_ns; now_ns() < until;) {
        advance(6 * VV_HOUR);
        for (size_t i = 0; i < 2; i++) {
            work(&nodes[i]);
            (void)rig_step(&nodes[i].rig, VV_TASK_SEAL_ALL);
            (void)rig_step(&nodes[i].rig, VV_TASK_EXPIRE);
        }
    }
}

/* Nothing is sealed yet, and only what would say of units above that they are stale is away. */
static void raw_points_outlive_that_what_is_above_is_away(void **state)
{
    int times = 0;
    (void)state;
    for (uint32_t set = 0; set < SETS_MAX; set++) {
        begin(60 + set);
        vv_sim_cassandra_set_away(model, UINT32_C(1) << set);
        struct answer away = ask_tier(&nodes[1], "raw", "source", NULL, NULL);
        if (away.is_there && away.count == written) {
            live_on(5 * VV_DAY);
            times += ask_tier(&nodes[1], "raw", "source", NULL, NULL).facts.pieces_read > 3;
            vv_sim_cassandra_set_away(model, 0);
            live_on(2 * VV_DAY);
            assert_int_equal(ask_tier(&nodes[1], "raw", "source", NULL, NULL).count, written);
        }
        end();
    }
    assert_true(times > 0);
}

/* The set that keeps the cohort, but nothing of its sources; names are always the same. */
static uint32_t set_of_cohort(void)
{
    uint32_t found = SETS_MAX;
    begin(80);
    build_all();
    assert_true(assert_same(&nodes[0], "built") > 0);
    for (uint32_t set = 0; set < SETS_MAX && found == SETS_MAX; set++) {
        vv_sim_cassandra_set_away(model, UINT32_C(1) << set);
        struct answer all = ask(&nodes[0], "all", NULL, NULL);
        bool is_of_cohort = all.is_there && all.facts.tiers[VV_SPACE_HOUR].cohorts == 0;
        found = is_of_cohort ? set : found;
        vv_sim_cassandra_set_away(model, 0);
        advance(VV_MINUTE);
    }
    end();
    assert_in_range(found, 0, SETS_MAX - 1);
    return found;
}

/* One of the nodes has built what came late of the sources that it owns when the cohort's part goes
 * away; what says that its record is old has expired when it comes back. */
static void a_record_that_could_not_be_built_for_long_is_right_again(void **state)
{
    uint32_t set = set_of_cohort();
    (void)state;
    for (size_t builder = 0; builder < 2; builder++) {
        begin(80);
        int64_t begun = now_ns();
        build_all();
        write_all(&nodes[1], begun);
        work(&nodes[1]);
        for (int i = 0; i < 60; i++) { /* the ledger is read in parts */
            advance(2 * VV_SECOND);
            (void)rig_step(&nodes[builder].rig, VV_TASK_LEARN);
            (void)rig_step(&nodes[builder].rig, VV_TASK_SEAL_ALL);
            (void)rig_step(&nodes[0].rig, VV_TASK_BEAT);
            (void)rig_step(&nodes[1].rig, VV_TASK_BEAT);
        }
        vv_sim_cassandra_set_away(model, UINT32_C(1) << set);
        live_on(9 * VV_DAY);
        vv_sim_cassandra_set_away(model, 0);
        advance(VV_MINUTE);
        build_all();
        (void)assert_same(&nodes[0], "back");
        (void)assert_same(&nodes[1], "back");
        end();
    }
}

/* Units are open, as most are, when points of one source wait; the others go on. */
static void what_waits_does_not_grow_with_each_flush(void **state)
{
    int times = 0;
    (void)state;
    for (uint32_t set = 0; set < SETS_MAX; set++) {
        begin(100 + set);
        vv_sim_cassandra_set_away(model, UINT32_C(1) << set);
        write_all(&nodes[0], now_ns() - 3 * VV_DAY);
        work(&nodes[0]);
        uint64_t waiting = parked(&nodes[0]);
        for (int i = 0; i < 12 && waiting > 0; i++) {
            advance(VV_MINUTE);
            write_source(&nodes[0], sources[0], now_ns());
            work(&nodes[0]);
            waiting = i == 1 ? parked(&nodes[0]) : waiting;
        }
        /* What the source itself has is there, so that nothing new has to wait. */
        bool goes_on = ask_tier(&nodes[1], "raw", "all", "tag", "id=9").is_there;
        times += waiting > 0 && goes_on;
        if (waiting > 0 && goes_on) {
            assert_int_equal(parked(&nodes[0]), waiting);
        }
        vv_sim_cassandra_set_away(model, 0);
        end();
    }
    assert_true(times > 0);
}

static enum vv_status count_record(void *context, struct vv_str key, struct vv_str value)
{
    (void)key;
    (void)value;
    ++*(uint64_t *)context;
    return VV_OK;
}

/* How many records of a kind wait with the node. */
static uint64_t parked_of(struct node *node, uint8_t kind)
{
    uint64_t n = 0;
    assert_int_equal(
        node->local->ops->scan_meta(node->local, kind, (struct vv_str){0}, count_record, &n, NULL),
        VV_OK);
    return n;
}

/* A source that is new sends to the first node while sets are away. Whether others know of it, but
 * not of its bucket. */
static bool begin_hidden(uint32_t away)
{
    begin(140);
    vv_sim_cassandra_set_away(model, away);
    write_source(&nodes[0], "182", now_ns());
    work(&nodes[0]);
    return parked_of(&nodes[0], PARKED_BUCKET) > 0 && parked_of(&nodes[0], PARKED_TOLD) == 0;
}

/* All of the day; of other days' parts none need be there. */
static struct answer ask_day(struct node *node, const char *group_by)
{
    asked_to = "2026-01-02T00:00:00Z";
    struct answer answer = ask(node, group_by, "from", "2026-01-01T00:00:00Z");
    asked_to = ALWAYS;
    return answer;
}

/* One set comes back, and the second node builds what the first has not told of; the other one, in
 * which the source's points are, stays away. True: it built them without these. */
static bool hide_bucket(uint32_t set, uint32_t other)
{
    bool was_hidden = begin_hidden(UINT32_C(1) << set | UINT32_C(1) << other);
    vv_sim_cassandra_set_away(model, UINT32_C(1) << other);
    for (int i = 0; i < 4; i++) {
        advance(7 * VV_HOUR);
        work(&nodes[1]);
    }
    for (int i = 0; i < 4; i++) {
        seal(&nodes[1]);
    }
    struct answer before = ask_day(&nodes[1], "all");
    for (int i = 0; i < 10 && parked(&nodes[0]) > 0; i++) {
        advance(11 * VV_SECOND);
        work(&nodes[0]);
    }
    (void)rig_step(&nodes[1].rig, VV_TASK_LEARN);
    bool is_found = true;
    for (size_t i = 0; i < 2 && was_hidden && parked(&nodes[0]) == 0; i++) {
        struct answer together = ask_day(&nodes[i], "all");
        struct answer apart = ask_day(&nodes[i], "source");
        is_found = is_found && apart.is_there;
        if (together.is_there) {
            assert_int_equal(together.count, apart.is_there ? apart.count : written);
        }
    }
    vv_sim_cassandra_set_away(model, 0);
    live_on(2 * VV_DAY);
    (void)assert_same(&nodes[0], "back");
    assert_int_equal(ask(&nodes[1], "all", NULL, NULL).count, written);
    end();
    return !is_found && before.is_there && before.count < written &&
           before.facts.tiers[VV_SPACE_HOUR].cohorts > 0;
}

/* What has no record is looked for where its buckets are listed. */
static void what_others_could_not_find_comes_with_its_bucket(void **state)
{
    int times = 0;
    (void)state;
    for (uint32_t set = 0; set < SETS_MAX && times == 0; set++) {
        bool is_hidden = begin_hidden(UINT32_C(1) << set);
        end();
        for (uint32_t other = 0; other < SETS_MAX && is_hidden && times == 0; other++) {
            times += set != other && hide_bucket(set, other);
        }
    }
    assert_true(times > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_parked_of_a_source_is_missing_in_no_answer_together),
        cmocka_unit_test(what_a_lost_node_had_parked_leaves_no_record_as_it_was),
        cmocka_unit_test(raw_points_outlive_that_what_is_above_is_away),
        cmocka_unit_test(a_record_that_could_not_be_built_for_long_is_right_again),
        cmocka_unit_test(what_waits_does_not_grow_with_each_flush),
        cmocka_unit_test(what_others_could_not_find_comes_with_its_bucket),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
