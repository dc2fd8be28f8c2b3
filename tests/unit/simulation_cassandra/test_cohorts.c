/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What many sources have together, where nodes share the store: as the sources say, whichever node
 * is asked and whatever it has learnt, at any moment; and read at once where it can be.
 */
#include "cohorts_fixture.h"

#include <openssl/evp.h>

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

/* Builds with one of the nodes only; how many parts of cohorts there are then. */
static uint64_t build_with(size_t builder, int64_t limit)
{
    sources_max[builder] = limit;
    begin_empty(9);
    if (in_class) {
        make_like_tenant();
    }
    int64_t begun = now_ns();
    for (int round = 0; round < 10; round++) { /* it knows those that it has room for */
        for (size_t i = 0; i < SOURCES; i++) {
            size_t writer = i < SOURCES - 1 ? builder : 1 - builder;
            write_source(&nodes[writer], sources[i], begun + round * VV_MINUTE);
        }
        work(&nodes[builder]);
        work(&nodes[1 - builder]);
    }
    for (int i = 0; i < 4; i++) {
        advance(7 * VV_HOUR);
        work(&nodes[0]);
        work(&nodes[1]);
    }
    for (int i = 0; i < 4; i++) {
        seal(&nodes[builder]);
    }
    uint64_t parts = assert_same(&nodes[1 - builder], "built by one");
    assert_int_equal(ask(&nodes[1 - builder], "all", NULL, NULL).count, written);
    struct vv_engine_health health;
    vv_engine_read_health(nodes[builder].rig.engine, &health);
    assert_int_equal(strstr(health.reason, "fleet_not_learnt") != NULL, limit > 0);
    end();
    sources_max[builder] = 0;
    return parts;
}

/* Its limit leaves out one that the other has points of. */
static void who_had_to_leave_out_a_source_makes_no_record_without_it(void **state)
{
    int times = 0;
    (void)state;
    for (size_t builder = 0; builder < 2; builder++) {
        times += build_with(builder, 0) > 0;
        assert_int_equal(build_with(builder, SOURCES - 1), 0);
    }
    assert_true(times > 0);
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

static enum vv_status count_run(void *context, const struct vv_piece *piece)
{
    *(size_t *)context += piece->kind == VV_PIECE_RUN;
    return VV_OK;
}

/* Of the first source's cohort, the hours' unit that has the time. */
static struct vv_span_key cohort_key(struct node *node, int64_t time_ns)
{
    struct vv_store *store = node->rig.engine->store;
    struct vv_registry *registry = node->rig.engine->registry;
    uint32_t tenant;
    uint32_t source;
    uint32_t cohort;
    uint32_t measurement;
    uint64_t id;
    assert_int_equal(vv_registry_tenant(registry, VV_STR_LITERAL("t"), false, &tenant, NULL),
                     VV_OK);
    assert_int_equal(vv_registry_source_by_id(registry, tenant, VV_STR_LITERAL("id=9"), &source),
                     VV_OK);
    assert_int_equal(
        vv_registry_measurement(registry, tenant, VV_STR_LITERAL("m"), false, &measurement, NULL),
        VV_OK);
    assert_int_equal(store->ops->shared->cohort_of(store, tenant, source, &cohort, &id), VV_OK);
    struct vv_tiers tiers =
        vv_registry_tiers(registry, vv_registry_first_place(registry, measurement));
    return vv_unit_key(VV_SPACE_HOUR, tiers.spaces[VV_SPACE_HOUR], cohort, measurement,
                       vv_time_floor(time_ns, VV_DAY));
}

static size_t stale_runs(struct node *node, int64_t time_ns)
{
    struct vv_store *store = node->rig.engine->store;
    const struct vv_span_key key = cohort_key(node, time_ns);
    size_t n = 0;
    const struct vv_store_read read = {.partition = key.partition,
                                       .measurement = key.measurement,
                                       .span_from = key.span_start,
                                       .span_to = key.span_start + 1};
    assert_int_equal(store->ops->read(store, &read, count_run, &n, NULL), VV_OK);
    return n;
}

static uint64_t units_built(void)
{
    struct vv_seal_figures figures[2];
    for (size_t i = 0; i < 2; i++) {
        vv_sealer_read_figures(nodes[i].rig.engine->sealer, &figures[i]);
    }
    return figures[0].units + figures[1].units;
}

/* The runs with which it came may have expired: nothing else tells that its record is old. */
static void a_unit_that_is_only_marked_is_built(void **state)
{
    (void)state;
    begin(8);
    int64_t begun = now_ns();
    build_all();
    struct vv_store *store = nodes[0].rig.engine->store;
    const struct vv_mark mark = {.key = cohort_key(&nodes[0], begun),
                                 .due_ns = now_ns(),
                                 .span_ns = VV_DAY,
                                 .run = vv_stamp_make((uint64_t)(now_ns() / VV_MICROSECOND), 0)};
    uint64_t before = units_built();
    assert_int_equal(store->ops->put_mark(store, &mark, NULL), VV_OK);
    assert_int_equal(store->ops->confirm(store, NULL), VV_OK);
    seal(&nodes[0]);
    seal(&nodes[1]);
    assert_int_equal(units_built(), before + 1);
    assert_true(assert_same(&nodes[0], "built again") > 0);
    end();
}

/* Each node that tells of it has one run of each part, whatever it tells. */
static void what_makes_a_unit_stale_does_not_grow_with_what_comes_late(void **state)
{
    (void)state;
    begin(5);
    int64_t begun = now_ns();
    build_all();
    assert_int_equal(stale_runs(&nodes[0], begun), 0);
    for (int i = 0; i < 20; i++) {
        write_all(&nodes[0], begun);
        work(&nodes[0]);
        advance(VV_SECOND);
    }
    assert_in_range(stale_runs(&nodes[0], begun), 1, 4);
    assert_int_equal(assert_same(&nodes[0], "late"), 0);
    build_all();
    assert_int_equal(stale_runs(&nodes[0], begun), 0);
    assert_true(assert_same(&nodes[0], "built again") > 0);
    end();
}

/* Whether the source is of the same cohort as all others here: see store/cassandra/names.c. */
static bool is_member(unsigned number)
{
    static const char purpose[] = "varve source\0t"; /* each with its zero */
    char text[48];
    unsigned char hashes[2][32];
    const unsigned numbers[] = {9, number};
    memcpy(text, purpose, sizeof purpose);
    for (size_t i = 0; i < 2; i++) {
        int n = snprintf(text + sizeof purpose, sizeof text - sizeof purpose, "id=%u", numbers[i]);
        assert_int_equal(
            EVP_Digest(text, sizeof purpose + (size_t)n, hashes[i], NULL, EVP_sha256(), NULL), 1);
    }
    return hashes[0][0] / 4 == hashes[1][0] / 4;
}

/* So many others have another measurement. */
static void write_others(size_t n, int64_t time_ns)
{
    for (unsigned number = 1000; n > 0; number++) {
        char name[16];
        snprintf(name, sizeof name, "%u", number);
        if (is_member(number)) {
            write_measurement(&nodes[n % 2], "other", name, time_ns);
            n--;
        }
    }
    work(&nodes[0]);
    work(&nodes[1]);
}

static void not_more_is_looked_for_than_may_be(void **state)
{
    (void)state;
    begin(6);
    write_others(600, now_ns() - 20 * VV_DAY); /* nothing in the unit */
    build_all();
    assert_int_equal(assert_same(&nodes[0], "too much to look for"), 0);
    end();
}

/* Both nodes seal; how many requests that takes. */
static uint64_t requests_of_sealing(void)
{
    struct vv_sim_cassandra_figures figures;
    vv_sim_cassandra_read_figures(model, &figures);
    uint64_t before = figures.requests;
    seal(&nodes[0]);
    seal(&nodes[1]);
    vv_sim_cassandra_read_figures(model, &figures);
    return figures.requests - before;
}

/* Others have something there, but not of this measurement: all would be looked at each time. */
static void what_was_too_much_to_look_for_is_not_looked_for_at_once_again(void **state)
{
    (void)state;
    begin(7);
    int64_t begun = now_ns();
    write_others(400, begun);
    build_all();
    advance(VV_HOUR);
    uint64_t requests[2];
    for (size_t i = 0; i < 2; i++) {
        write_source(&nodes[0], sources[0], begun);
        work(&nodes[0]);
        requests[i] = requests_of_sealing();
    }
    assert_true(requests[1] + 400 < requests[0]);
    assert_int_equal(assert_same(&nodes[0], "too much to look for"), 0);
    assert_int_equal(ask(&nodes[0], "all", NULL, NULL).count, written - 400);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_sources_are_read_at_once_on_every_node),
        cmocka_unit_test(what_another_node_adds_late_is_there_at_once),
        cmocka_unit_test(a_record_with_a_source_that_is_not_known_answers_nothing),
        cmocka_unit_test(
            sources_with_nothing_of_a_measurement_are_looked_at_where_they_have_anything),
        cmocka_unit_test(who_had_to_leave_out_a_source_makes_no_record_without_it),
        cmocka_unit_test(what_makes_a_unit_stale_does_not_grow_with_what_comes_late),
        cmocka_unit_test(a_unit_that_is_only_marked_is_built),
        cmocka_unit_test(not_more_is_looked_for_than_may_be),
        cmocka_unit_test(what_was_too_much_to_look_for_is_not_looked_for_at_once_again),
    };
    const struct CMUnitTest in_class_too[] = {
        cmocka_unit_test(all_sources_are_read_at_once_on_every_node),
        cmocka_unit_test(what_another_node_adds_late_is_there_at_once),
        cmocka_unit_test(a_record_with_a_source_that_is_not_known_answers_nothing),
        cmocka_unit_test(who_had_to_leave_out_a_source_makes_no_record_without_it),
        cmocka_unit_test(what_makes_a_unit_stale_does_not_grow_with_what_comes_late),
        cmocka_unit_test(a_unit_that_is_only_marked_is_built),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    in_class = true; /* of a measurement that is in a class */
    return failed + cmocka_run_group_tests(in_class_too, NULL, NULL);
}
