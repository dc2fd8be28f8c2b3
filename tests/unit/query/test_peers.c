/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers of one of several nodes: what they say of the others, and that they find what the others
 * wrote. Another node's points come into the store through a registry that does not notice them.
 */
#include "query_model.h"
#include "support/fake_shared.h"

#define NOON FIXTURE_NOW

struct place {
    struct fixture f;
    struct fake_shared *fake;
    uint32_t source;
    uint32_t metric;
};

static void begin(struct place *p)
{
    fixture_init(&p->f);
    p->fake = fake_shared_wrap(p->f.store, 1);
    p->source = fixture_source(&p->f, "a", NULL);
    p->metric = fixture_metric(&p->f, "m", "v", VV_INT64);
    p->f.flush.bucket_ns = VV_HOUR;
    p->f.flush.span_ns = VV_HOUR;
}

static void end(struct place *p)
{
    fixture_deinit(&p->f);
}

/* A point of another node: in the store, and this node knows nothing of it. */
static void write_elsewhere(struct place *p, int64_t time, int64_t value)
{
    struct vv_batch *batch;
    struct vv_metric_info info;
    struct vv_generation *generation;
    size_t frame;
    uint64_t bits = (uint64_t)value;
    struct fixture *f = &p->f;
    struct vv_head *other;
    struct vv_error error = {0};
    vv_registry_metric_info(f->registry, p->metric, &info);
    assert_int_equal(vv_head_create(&other), VV_OK);
    assert_int_equal(vv_batch_create(f->tenant, &batch), VV_OK);
    assert_int_equal(vv_batch_frame(batch, info.measurement, &p->metric, 1, &frame), VV_OK);
    assert_int_equal(vv_batch_row(batch, frame, p->source, time, &bits), VV_OK);
    f->stamp = vv_stamp_next(f->stamp, 0, 2);
    assert_int_equal(vv_head_prepare(other, batch, f->stamp), VV_OK);
    vv_head_publish(other);
    assert_int_equal(vv_head_cut(other, &generation), VV_OK);
    f->stamp = vv_stamp_next(f->stamp, 0, 2);
    assert_int_equal(vv_flush_generation(&f->flush, generation, f->stamp, &f->flushed, &error),
                     VV_OK);
    assert_int_equal(f->store->ops->confirm(f->store, &error), VV_OK);
    vv_head_drop(other, generation);
    vv_batch_destroy(batch);
    vv_head_destroy(other);
}

/* ---- finding what others wrote ---- */

static void points_beyond_the_known_times_are_found(void **state)
{
    (void)state;
    struct place p;
    begin(&p);
    fixture_integer(&p.f, p.source, p.metric, NOON - VV_DAY, 2);
    fixture_flush(&p.f);
    write_elsewhere(&p, NOON - 300 * VV_DAY, 1);
    write_elsewhere(&p, NOON - VV_HOUR, 3);
    fixture_integer(&p.f, p.source, p.metric, NOON - VV_DAY + VV_HOUR, 9); /* in the head */
    expect_csv(&p.f, VV_REQUEST_QUERY, WORDS("format=csv", "time_format=s"),
               "source,metric,time,value\n"
               "a,m.v,1702123200,1\na,m.v,1727956800,2\na,m.v,1727960400,9\na,m.v,1728039600,3\n");
    expect_csv(&p.f, VV_REQUEST_QUERY, WORDS("format=csv", "time_format=s", "order=desc"),
               "source,metric,time,value\n"
               "a,m.v,1728039600,3\na,m.v,1727960400,9\na,m.v,1727956800,2\na,m.v,1702123200,1\n");
    expect_csv(&p.f, VV_REQUEST_QUERY, WORDS("format=csv", "agg=sum", "group_by=all"),
               "source,metric,time,sum\n,m.v,2023-12-09T12:00:00Z,15\n");
    end(&p);
}

static void a_source_that_only_others_wrote_is_found(void **state)
{
    (void)state;
    struct place p;
    begin(&p);
    write_elsewhere(&p, NOON - 300 * VV_DAY, 1);
    write_elsewhere(&p, NOON - VV_HOUR, 3);
    expect_csv(&p.f, VV_REQUEST_QUERY, WORDS("format=csv", "time_format=s"),
               "source,metric,time,value\na,m.v,1702123200,1\na,m.v,1728039600,3\n");
    expect_csv(&p.f, VV_REQUEST_LATEST, WORDS("format=csv", "time_format=s"),
               "source,metric,time,value\na,m.v,1728039600,3\n");
    end(&p);
}

/* This node's newest point is in its head; another node's is newer, or of the same instant. */
static void the_newest_value_may_be_of_another_node(void **state)
{
    (void)state;
    struct place p;
    begin(&p);
    fixture_integer(&p.f, p.source, p.metric, NOON - VV_HOUR, 1);
    expect_csv(&p.f, VV_REQUEST_LATEST, WORDS("format=csv", "time_format=s"),
               "source,metric,time,value\na,m.v,1728039600,1\n");
    write_elsewhere(&p, NOON - VV_HOUR, 2); /* later */
    expect_csv(&p.f, VV_REQUEST_LATEST, WORDS("format=csv", "time_format=s"),
               "source,metric,time,value\na,m.v,1728039600,2\n");
    write_elsewhere(&p, NOON - VV_MINUTE, 3);
    expect_csv(&p.f, VV_REQUEST_LATEST, WORDS("format=csv", "time_format=s"),
               "source,metric,time,value\na,m.v,1728043140,3\n");
    end(&p);
}

static void answers_equal_a_naive_model(void **state)
{
    (void)state;
    static struct model m;
    model_hides = true;
    for (uint64_t seed = 301; seed <= 312; seed++) {
        model_init(&m, seed);
        (void)fake_shared_wrap(m.f.store, 1);
        for (int i = 0; i < 40; i++) {
            int group = vv_random_below(&m.random, 2) ? MODEL_WITH_SITE : 0;
            struct model_query q = model_request(&m, vv_random_below(&m.random, 2) == 0, group);
            model_write_words(&q);
            model_print(seed, &q);
            model_check(&m, &q);
        }
        fixture_deinit(&m.f);
    }
    model_hides = false;
}

/* ---- what answers say ---- */

static json_t *facts_of(struct place *p, enum vv_request_kind kind, json_t **answer_out)
{
    bool plain = kind == VV_REQUEST_METRICS || kind == VV_REQUEST_TAGS;
    *answer_out = ask_json(&p->f, kind, plain ? WORDS(NULL) : WORDS("time_format=s"));
    return json_object_get(*answer_out, "facts");
}

static long long number_of(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    assert_true(json_is_integer(value));
    return json_integer_value(value);
}

static void without_other_nodes_nothing_is_said(void **state)
{
    (void)state;
    struct place p;
    json_t *answer;
    begin(&p);
    const json_t *facts = facts_of(&p, VV_REQUEST_QUERY, &answer);
    assert_true(json_is_true(json_object_get(facts, "complete")));
    assert_null(json_object_get(facts, "complete_until"));
    assert_null(json_object_get(facts, "gone"));
    assert_false(p.f.facts.has_peers);
    json_decref(answer);
    end(&p);
}

static void complete_until_is_the_least_of_the_others(void **state)
{
    (void)state;
    static const enum vv_request_kind kinds[] = {VV_REQUEST_QUERY, VV_REQUEST_LATEST,
                                                 VV_REQUEST_SOURCES, VV_REQUEST_METRICS,
                                                 VV_REQUEST_TAGS};
    struct place p;
    json_t *answer;
    begin(&p);
    fake_shared_set_peer(p.fake, 2, false, 500 * VV_SECOND);
    fake_shared_set_peer(p.fake, 3, false, 400 * VV_SECOND);
    fake_shared_set_peer(p.fake, 7, false, 600 * VV_SECOND);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const json_t *facts = facts_of(&p, kinds[i], &answer);
        assert_non_null(json_object_get(facts, "complete_until"));
        assert_int_equal(p.f.facts.complete_until_ns, 400 * VV_SECOND);
        assert_int_equal(number_of(facts, "nodes_gone"), 0);
        assert_int_equal(json_array_size(json_object_get(facts, "gone")), 0);
        json_decref(answer);
    }
    fake_shared_set_peer(p.fake, 2, true, 300 * VV_SECOND);
    fake_shared_set_peer(p.fake, 7, true, 600 * VV_SECOND);
    const json_t *facts = facts_of(&p, VV_REQUEST_QUERY, &answer);
    assert_int_equal(number_of(facts, "complete_until"), 300);
    assert_int_equal(number_of(facts, "nodes_gone"), 2);
    const json_t *gone = json_object_get(facts, "gone");
    assert_int_equal(json_array_size(gone), 2);
    assert_int_equal(number_of(json_array_get(gone, 0), "node"), 2);
    assert_int_equal(number_of(json_array_get(gone, 1), "node"), 7);
    assert_int_equal(number_of(json_array_get(gone, 1), "complete_until"), 600);
    json_decref(answer);
    end(&p);
}

static void csv_says_it_in_its_last_lines(void **state)
{
    (void)state;
    struct place p;
    begin(&p);
    fake_shared_set_peer(p.fake, 2, false, 500 * VV_SECOND);
    fake_shared_set_peer(p.fake, 3, true, 400 * VV_SECOND);
    expect_csv(&p.f, VV_REQUEST_METRICS, WORDS("format=csv"),
               "metric,measurement,type,unit,description\nm.v,m,integer,,\n"
               "# complete until 1970-01-01T00:06:40Z\n"
               "# node 3 is gone: what it took since 1970-01-01T00:06:40Z is missing\n");
    expect_csv(&p.f, VV_REQUEST_SOURCES, WORDS("format=csv", "time_format=s"),
               "source,tags,first,last\na,,,\n"
               "# complete until 400\n"
               "# node 3 is gone: what it took since 400 is missing\n"
               "# first and last are of points that this node took\n");
    end(&p);
}

/* Its bytes depend on the points alone. */
static void an_export_says_nothing(void **state)
{
    (void)state;
    struct place p;
    begin(&p);
    fake_shared_set_peer(p.fake, 2, true, 500 * VV_SECOND);
    write_elsewhere(&p, NOON, 1);
    expect_csv(&p.f, VV_REQUEST_EXPORT, WORDS("format=csv"),
               "source,measurement,field,time,type,value\n"
               "a,m,v,1728043200000000000,int,1\n");
    end(&p);
}

static void times_of_sources_are_said_to_be_this_nodes(void **state)
{
    (void)state;
    struct place p;
    json_t *answer;
    begin(&p);
    const json_t *facts = facts_of(&p, VV_REQUEST_SOURCES, &answer);
    assert_null(json_object_get(facts, "first_and_last"));
    json_decref(answer);
    fake_shared_set_peer(p.fake, 2, false, 500 * VV_SECOND);
    facts = facts_of(&p, VV_REQUEST_SOURCES, &answer);
    assert_string_equal(json_string_value(json_object_get(facts, "first_and_last")),
                        "of this node");
    json_decref(answer);
    facts = facts_of(&p, VV_REQUEST_METRICS, &answer);
    assert_null(json_object_get(facts, "first_and_last"));
    json_decref(answer);
    end(&p);
}

/* ---- other regions ---- */

static void add_regions(struct place *p)
{
    fake_shared_add_region(p->fake, "home", VV_REGION_READABLE, NULL);
    fake_shared_add_region(p->fake, "east", VV_REGION_READABLE, NULL);
    fake_shared_add_region(p->fake, "west", VV_REGION_ABSENT, NULL);
    fake_shared_add_region(p->fake, "\"up\"", VV_REGION_UNKNOWN, NULL);
}

static void other_regions_are_named(void **state)
{
    (void)state;
    struct place p;
    json_t *answer;
    begin(&p);
    add_regions(&p);
    const json_t *facts = facts_of(&p, VV_REQUEST_QUERY, &answer);
    const json_t *regions = json_object_get(facts, "regions");
    assert_int_equal(json_array_size(regions), 3);
    static const char *const expected[] = {"{\"name\": \"east\", \"state\": \"readable\"}",
                                           "{\"name\": \"west\", \"state\": \"absent\"}",
                                           "{\"name\": \"\\\"up\\\"\", \"state\": \"unknown\"}"};
    for (size_t i = 0; i < 3; i++) {
        char *text = json_dumps(json_array_get(regions, i), JSON_PRESERVE_ORDER);
        assert_string_equal(text, expected[i]);
        free(text);
    }
    assert_null(json_object_get(facts, "complete_until")); /* no nodes of the own region */
    json_decref(answer);
    facts = facts_of(&p, VV_REQUEST_SOURCES, &answer);
    assert_string_equal(json_string_value(json_object_get(facts, "first_and_last")),
                        "of this node");
    json_decref(answer);
    expect_csv(&p.f, VV_REQUEST_METRICS, WORDS("format=csv"),
               "metric,measurement,type,unit,description\nm.v,m,integer,,\n"
               "# region east was not heard of yet\n"
               "# data of region west is not kept in this data centre\n"
               "# region \"up\" was not heard of yet\n");
    expect_csv(&p.f, VV_REQUEST_EXPORT, WORDS("format=csv"),
               "source,measurement,field,time,type,value\n");
    end(&p);
}

static uint32_t the_first_other_one(void *context)
{
    (void)context;
    return 1u << 1 | 1u << 2; /* the latter is not read at all */
}

/* What it keeps in classes of measurements: the answer is complete without it as little as without
 * what is not kept here. */
static void a_region_of_which_a_part_can_t_be_read_is_named(void **state)
{
    (void)state;
    struct place p;
    json_t *answer;
    begin(&p);
    add_regions(&p);
    fake_shared_set_peer_in(p.fake, 1, 2, false, 300 * VV_SECOND);
    p.f.context.regions_in_part = the_first_other_one;
    const json_t *facts = facts_of(&p, VV_REQUEST_QUERY, &answer);
    const json_t *regions = json_object_get(facts, "regions");
    static const char *const expected[] = {
        "{\"name\": \"east\", \"state\": \"in_part\", \"heard_until\": 300}",
        "{\"name\": \"west\", \"state\": \"absent\"}"};
    for (size_t i = 0; i < 2; i++) {
        char *text = json_dumps(json_array_get(regions, i), JSON_PRESERVE_ORDER);
        assert_string_equal(text, expected[i]);
        free(text);
    }
    json_decref(answer);
    expect_csv(&p.f, VV_REQUEST_METRICS, WORDS("format=csv"),
               "metric,measurement,type,unit,description\nm.v,m,integer,,\n"
               "# data of region east that is in classes is not read here\n"
               "# region east was heard until 1970-01-01T00:05:00Z\n"
               "# data of region west is not kept in this data centre\n"
               "# region \"up\" was not heard of yet\n");
    end(&p);
}

/* What nodes of other regions say makes no promise: only this region's make complete_until. */
static void each_region_was_heard_until_a_time_of_its_own(void **state)
{
    (void)state;
    struct place p;
    json_t *answer;
    begin(&p);
    add_regions(&p);
    fake_shared_set_peer_in(p.fake, 1, 2, false, 300 * VV_SECOND);
    fake_shared_set_peer_in(p.fake, 0, 3, false, 500 * VV_SECOND);
    fake_shared_set_peer_in(p.fake, 1, 4, false, 200 * VV_SECOND);
    fake_shared_set_peer_in(p.fake, 1, 5, true, 100 * VV_SECOND);
    fake_shared_set_peer_in(p.fake, 2, 6, true, 50 * VV_SECOND); /* absent now */
    for (int gone = 0; gone < 2; gone++) {
        const json_t *facts = facts_of(&p, VV_REQUEST_QUERY, &answer);
        const json_t *regions = json_object_get(facts, "regions");
        assert_int_equal(number_of(facts, "complete_until"), 500);
        assert_int_equal(number_of(facts, "nodes_gone"), 0);
        assert_int_equal(number_of(json_array_get(regions, 0), "heard_until"), gone ? 300 : 200);
        assert_null(json_object_get(json_array_get(regions, 1), "heard_until"));
        assert_null(json_object_get(json_array_get(regions, 2), "heard_until"));
        json_decref(answer);
        fake_shared_set_peer_in(p.fake, 1, 2, true, 300 * VV_SECOND); /* none is heard of */
        fake_shared_set_peer_in(p.fake, 1, 4, true, 200 * VV_SECOND);
    }
    expect_csv(&p.f, VV_REQUEST_METRICS, WORDS("format=csv"),
               "metric,measurement,type,unit,description\nm.v,m,integer,,\n"
               "# complete until 1970-01-01T00:08:20Z\n"
               "# region east was heard until 1970-01-01T00:05:00Z\n"
               "# data of region west is not kept in this data centre\n"
               "# region \"up\" was not heard of yet\n");
    end(&p);
}

/* More than are named, and more than are looked at with little memory. */
static void many_nodes(void **state)
{
    (void)state;
    struct place p;
    json_t *answer;
    begin(&p);
    for (uint32_t i = 0; i < 50; i++) {
        fake_shared_set_peer(p.fake, 2 + i, i >= 20, (1000 - i) * VV_SECOND);
    }
    const json_t *facts = facts_of(&p, VV_REQUEST_QUERY, &answer);
    assert_int_equal(number_of(facts, "complete_until"), 951);
    assert_int_equal(number_of(facts, "nodes_gone"), 30);
    const json_t *gone = json_object_get(facts, "gone");
    assert_int_equal(json_array_size(gone), VV_GONE_MAX);
    assert_int_equal(number_of(json_array_get(gone, 0), "node"), 22);
    json_decref(answer);
    char *text;
    assert_int_equal(fixture_answer(&p.f, VV_REQUEST_TAGS, WORDS("format=csv"), 1 << 20, &text),
                     VV_OK);
    assert_non_null(strstr(text, "\n# 14 more nodes are gone\n"));
    free(text);
    end(&p);
}

/* What no time can be is shown as the first or last that can. */
static void odd_times_are_bounded(void **state)
{
    (void)state;
    struct place p;
    json_t *answer;
    begin(&p);
    fake_shared_set_peer(p.fake, 2, false, INT64_MIN);
    (void)facts_of(&p, VV_REQUEST_QUERY, &answer);
    assert_int_equal(p.f.facts.complete_until_ns, VV_TIME_MIN);
    json_decref(answer);
    fake_shared_set_peer(p.fake, 2, false, INT64_MAX);
    (void)facts_of(&p, VV_REQUEST_QUERY, &answer);
    assert_int_equal(p.f.facts.complete_until_ns, VV_TIME_MAX);
    json_decref(answer);
    end(&p);
}

/* A node that flushes between the two has its points in the answer though it is not said; the
 * other way round the answer would claim points that it may not have. */
static void peers_are_asked_before_the_store_is_read(void **state)
{
    (void)state;
    static const enum vv_request_kind kinds[] = {VV_REQUEST_QUERY, VV_REQUEST_LATEST};
    struct place p;
    json_t *answer;
    begin(&p);
    fixture_integer(&p.f, p.source, p.metric, NOON - VV_DAY, 2);
    fixture_flush(&p.f);
    fake_shared_set_peer(p.fake, 2, false, 500 * VV_SECOND);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        fake_shared_forget_calls(p.fake);
        (void)facts_of(&p, kinds[i], &answer);
        assert_true(p.fake->peers_asked_at > 0);
        assert_true(p.fake->read_first_at > p.fake->peers_asked_at);
        json_decref(answer);
    }
    end(&p);
}

/* ---- a store that cannot say where it has something ---- */

static enum vv_status busy_nearest(struct vv_store *store, uint8_t region, uint32_t tenant,
                                   uint32_t source, int64_t bucket_start, bool forward,
                                   int64_t *bucket_start_out, struct vv_error *error)
{
    (void)store;
    (void)region;
    (void)tenant;
    (void)source;
    (void)bucket_start;
    (void)forward;
    (void)bucket_start_out;
    return vv_error_set(error, VV_OVERLOAD, "at a bad time");
}

static enum vv_status busy_read(struct vv_store *store, const struct vv_store_read *read,
                                vv_piece_visit visit, void *context, struct vv_error *error)
{
    (void)store;
    (void)read;
    (void)visit;
    (void)context;
    return vv_error_set(error, VV_OVERLOAD, "at a bad time");
}

static void a_partial_answer_leaves_out_what_lies_elsewhere(void **state)
{
    (void)state;
    static const char *const orders[] = {"order=asc", "order=desc"};
    struct place p;
    begin(&p);
    fixture_integer(&p.f, p.source, p.metric, NOON - VV_DAY, 2);
    fixture_integer(&p.f, p.source, p.metric, NOON - VV_DAY + VV_HOUR, 3);
    fixture_flush(&p.f);
    write_elsewhere(&p, NOON - 300 * VV_DAY, 1);
    fixture_integer(&p.f, p.source, p.metric, NOON, 4); /* in the head */
    p.fake->ops.nearest = busy_nearest;
    expect_error(&p.f, VV_REQUEST_QUERY, WORDS("format=csv"), VV_OVERLOAD, "bad time");
    for (size_t i = 0; i < 2; i++) {
        char *text;
        const char *const words[] = {"tenant=t", "format=csv", "partial=allowed", orders[i], NULL};
        p.fake->ops.read = fake_shared_read;
        assert_int_equal(fixture_answer(&p.f, VV_REQUEST_QUERY, words, 1 << 20, &text), VV_OK);
        assert_int_equal(p.f.facts.rows, 3);
        assert_true(p.f.facts.partitions_missing > 0 && p.f.facts.partitions_missing < 8);
        free(text);
        p.fake->ops.read = busy_read;
        assert_int_equal(fixture_answer(&p.f, VV_REQUEST_QUERY, words, 1 << 20, &text), VV_OK);
        assert_int_equal(p.f.facts.rows, 1);
        assert_true(p.f.facts.partitions_missing > 0 && p.f.facts.partitions_missing < 40);
        free(text);
    }
    end(&p);
}

/* A text that begins as a remark does is quoted. */
static void remarks_are_told_from_texts(void **state)
{
    (void)state;
    struct place p;
    begin(&p);
    (void)fixture_source(&p.f, "# complete until", NULL);
    expect_csv(&p.f, VV_REQUEST_SOURCES, WORDS("format=csv"),
               "source,tags,first,last\na,,,\n\"# complete until\",,,\n");
    end(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_beyond_the_known_times_are_found),
        cmocka_unit_test(a_source_that_only_others_wrote_is_found),
        cmocka_unit_test(the_newest_value_may_be_of_another_node),
        cmocka_unit_test(answers_equal_a_naive_model),
        cmocka_unit_test(without_other_nodes_nothing_is_said),
        cmocka_unit_test(complete_until_is_the_least_of_the_others),
        cmocka_unit_test(csv_says_it_in_its_last_lines),
        cmocka_unit_test(an_export_says_nothing),
        cmocka_unit_test(times_of_sources_are_said_to_be_this_nodes),
        cmocka_unit_test(other_regions_are_named),
        cmocka_unit_test(a_region_of_which_a_part_can_t_be_read_is_named),
        cmocka_unit_test(each_region_was_heard_until_a_time_of_its_own),
        cmocka_unit_test(many_nodes),
        cmocka_unit_test(odd_times_are_bounded),
        cmocka_unit_test(peers_are_asked_before_the_store_is_read),
        cmocka_unit_test(a_partial_answer_leaves_out_what_lies_elsewhere),
        cmocka_unit_test(remarks_are_told_from_texts),
    };
    setenv("TZ", "Europe/Berlin", 1); /* the model's calendar */
    tzset();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
