/* SPDX-License-Identifier: Apache-2.0 */
/* What a shared registry has beside: stamps and wider types in records, versions of tags that are
 * learnt. Nodes that tell each other: tests/unit/fleet. */
#include "registry/shared.h"
#include "registry_fixture.h"

static vv_stamp next_stamp = 100;

static vv_stamp stamp_of_test(void *context)
{
    (void)context;
    return next_stamp;
}

static struct vv_buffer record_of(struct vv_registry *registry, enum vv_registry_kind kind,
                                  uint32_t number)
{
    struct vv_buffer record = {0};
    assert_true(vv_registry_encode(registry, kind, number, &record) > 0);
    assert_int_equal(vv_buffer_status(&record), VV_OK);
    return record;
}

static enum vv_status apply(struct vv_registry *registry, enum vv_registry_kind kind,
                            const struct vv_buffer *record)
{
    struct vv_str bytes = {(const char *)record->data, record->size};
    return vv_registry_apply(registry, kind, bytes, NULL);
}

static void settings_have_stamps_above_those_before(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open(NULL);
    vv_registry_share(registry, stamp_of_test, NULL);
    uint32_t tenant = fixture_tenant(registry, "a");
    int64_t retention_ns;
    vv_stamp stamp;
    vv_registry_stamped_retention(registry, tenant, &retention_ns, &stamp);
    assert_int_equal(stamp, 0);
    vv_registry_set_retention(registry, tenant, VV_DAY);
    vv_registry_stamped_retention(registry, tenant, &retention_ns, &stamp);
    assert_int_equal(stamp, 100);
    vv_registry_set_retention(registry, tenant, VV_DAY); /* the same */
    vv_registry_stamped_retention(registry, tenant, &retention_ns, &stamp);
    assert_int_equal(stamp, 100);
    assert_int_equal(vv_registry_learn_retention(registry, tenant, VV_HOUR, 99, NULL), VV_OK);
    assert_int_equal(vv_registry_retention(registry, tenant), VV_DAY);
    assert_int_equal(vv_registry_learn_retention(registry, tenant, VV_HOUR, 500, NULL), VV_OK);
    assert_int_equal(vv_registry_retention(registry, tenant), VV_HOUR);
    vv_registry_set_retention(registry, tenant, VV_DAY); /* the clock is behind */
    vv_registry_stamped_retention(registry, tenant, &retention_ns, &stamp);
    assert_int_equal(stamp, 501);
    assert_int_equal(vv_registry_learn_retention(registry, tenant, VV_HOUR, 501, NULL), VV_OK);
    assert_int_equal(vv_registry_retention(registry, tenant), VV_DAY); /* the longer */
    assert_int_equal(vv_registry_learn_retention(registry, tenant, -1, 900, NULL), VV_INVALID);
    assert_int_equal(vv_registry_learn_retention(registry, 77, 1, 900, NULL), VV_NOT_FOUND);
    vv_registry_destroy(registry);
}

static void policies_for_late_points_are_learnt_by_stamp(void **state)
{
    (void)state;
    const struct vv_late hour = {VV_LATE_REFUSE, VV_HOUR};
    const struct vv_late day = {VV_LATE_REFUSE, VV_DAY};
    struct vv_registry *registry = fixture_open(NULL);
    vv_registry_share(registry, stamp_of_test, NULL);
    uint32_t tenant = fixture_tenant(registry, "a");
    struct vv_late late;
    vv_stamp stamp;
    vv_registry_stamped_late(registry, tenant, &late, &stamp);
    assert_int_equal(late.policy, VV_LATE_ACCEPT);
    assert_int_equal(stamp, 0);
    vv_registry_set_late(registry, tenant, hour);
    vv_registry_stamped_late(registry, tenant, &late, &stamp);
    assert_int_equal(late.limit_ns, VV_HOUR);
    assert_int_equal(stamp, 100);
    assert_int_equal(vv_registry_learn_late(registry, tenant, day, 99, NULL), VV_OK);
    assert_int_equal(vv_registry_late(registry, tenant).limit_ns, VV_HOUR);
    assert_int_equal(vv_registry_learn_late(registry, tenant, day, 100, NULL), VV_OK);
    assert_int_equal(vv_registry_late(registry, tenant).limit_ns, VV_DAY); /* the greater */
    struct vv_late accept = {VV_LATE_ACCEPT, 0};
    assert_int_equal(vv_registry_learn_late(registry, tenant, accept, 101, NULL), VV_OK);
    assert_int_equal(vv_registry_late(registry, tenant).policy, VV_LATE_ACCEPT);
    struct vv_buffer record = record_of(registry, VV_REGISTRY_TENANT, tenant);
    assert_int_equal(record.data[0], 3); /* with the stamp of that */
    struct vv_late bad = {VV_LATE_REFUSE, 1};
    assert_int_equal(vv_registry_learn_late(registry, tenant, bad, 900, NULL), VV_INVALID);
    assert_int_equal(vv_registry_learn_late(registry, 77, day, 900, NULL), VV_NOT_FOUND);
    vv_buffer_deinit(&record);
    vv_registry_destroy(registry);
}

static void stamps_come_back_in_records(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open(NULL);
    uint32_t tenant = fixture_tenant(registry, "a");
    uint32_t cpu = fixture_measurement(registry, tenant, "cpu");
    uint32_t metric = fixture_metric(registry, cpu, "user", VV_INT64);
    assert_int_equal(vv_registry_describe(registry, metric, TEXT("s"), TEXT("t"), NULL), VV_OK);
    struct vv_buffer plain = record_of(registry, VV_REGISTRY_METRIC, metric);
    assert_int_equal(plain.data[0], 1); /* as a single node writes it */
    vv_registry_share(registry, stamp_of_test, NULL);
    vv_registry_set_retention(registry, tenant, VV_DAY);
    assert_int_equal(vv_registry_describe(registry, metric, TEXT("ms"), TEXT("t"), NULL), VV_OK);
    struct vv_buffer records[] = {record_of(registry, VV_REGISTRY_TENANT, tenant),
                                  record_of(registry, VV_REGISTRY_MEASUREMENT, cpu),
                                  record_of(registry, VV_REGISTRY_METRIC, metric)};
    struct vv_registry *again = fixture_open(NULL);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(apply(again, (enum vv_registry_kind)(VV_REGISTRY_TENANT + i), &records[i]),
                         VV_OK);
    }
    assert_int_equal(apply(again, VV_REGISTRY_METRIC, &plain), VV_OK); /* older: changes nothing */
    struct vv_described described;
    int64_t retention_ns;
    vv_stamp stamp;
    vv_registry_described(again, metric, &described);
    assert_int_equal(described.unit_stamp, 100);
    assert_int_equal(described.description_stamp, 0);
    assert_str(described.unit, "ms");
    vv_registry_stamped_retention(again, tenant, &retention_ns, &stamp);
    assert_int_equal(stamp, 100);
    for (int i = 0; i < 3; i++) {
        records[i].size--;
        assert_int_equal(apply(again, (enum vv_registry_kind)(VV_REGISTRY_TENANT + i), &records[i]),
                         VV_CORRUPT);
        vv_buffer_deinit(&records[i]);
    }
    vv_buffer_deinit(&plain);
    vv_registry_destroy(again);
    vv_registry_destroy(registry);
}

static enum vv_value_type type_of(struct vv_registry *registry, uint32_t metric)
{
    struct vv_metric_info info;
    vv_registry_metric_info(registry, metric, &info);
    return info.type;
}

static void ints_become_floats_and_stay_so(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open(NULL);
    uint32_t tenant = fixture_tenant(registry, "a");
    uint32_t cpu = fixture_measurement(registry, tenant, "cpu");
    uint32_t metric = fixture_metric(registry, cpu, "user", VV_INT64);
    struct vv_buffer ints = record_of(registry, VV_REGISTRY_METRIC, metric);
    struct vv_buffer owner = record_of(registry, VV_REGISTRY_MEASUREMENT, cpu);
    struct vv_buffer first = record_of(registry, VV_REGISTRY_TENANT, tenant);
    vv_registry_settle(registry, VV_REGISTRY_METRIC, metric, 1);
    assert_int_equal(vv_registry_metric_widen(registry, metric, NULL), VV_OK);
    assert_int_equal(type_of(registry, metric), VV_FLOAT64);
    assert_false(vv_registry_settled(registry, VV_REGISTRY_METRIC, metric));
    struct vv_buffer floats = record_of(registry, VV_REGISTRY_METRIC, metric);
    assert_int_equal(vv_registry_metric_widen(registry, metric, NULL), VV_OK);
    assert_int_equal(vv_registry_metric_widen(registry, 99, NULL), VV_NOT_FOUND);
    for (int order = 0; order < 2; order++) {
        struct vv_registry *again = fixture_open(NULL);
        assert_int_equal(apply(again, VV_REGISTRY_TENANT, &first), VV_OK);
        assert_int_equal(apply(again, VV_REGISTRY_MEASUREMENT, &owner), VV_OK);
        assert_int_equal(apply(again, VV_REGISTRY_METRIC, order ? &floats : &ints), VV_OK);
        assert_int_equal(apply(again, VV_REGISTRY_METRIC, order ? &ints : &floats), VV_OK);
        assert_int_equal(type_of(again, metric), VV_FLOAT64);
        ints.data[2] = 9; /* a higher version that is of integers again: cannot be */
        assert_int_equal(apply(again, VV_REGISTRY_METRIC, &ints), VV_CORRUPT);
        ints.data[2] = 1;
        vv_registry_destroy(again);
    }
    vv_buffer_deinit(&ints);
    vv_buffer_deinit(&floats);
    vv_buffer_deinit(&owner);
    vv_buffer_deinit(&first);
    vv_registry_destroy(registry);
}

static void learn(struct vv_registry *registry, uint32_t source, int64_t from_ns, const char *text)
{
    struct vv_tag tags[VV_TAGS_MAX];
    struct vv_tag_version version = {from_ns, fixture_tags(text, tags), tags};
    assert_int_equal(vv_registry_learn_tags(registry, source, &version, NULL), VV_OK);
}

static void versions_of_tags_are_put_in_their_places(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open("id");
    vv_registry_share(registry, stamp_of_test, NULL);
    uint32_t tenant = fixture_tenant(registry, "a");
    uint32_t source;
    assert_int_equal(vv_registry_learn_source(registry, tenant, TEXT("p"), false, &source, NULL),
                     VV_OK);
    assert_history(registry, source, "-9000000000000000000:"); /* nothing is known of them */
    learn(registry, source, 20, "a=2");
    assert_history(registry, source, "20:a=2");
    learn(registry, source, 10, "a=1");
    learn(registry, source, 30, "a=3");
    learn(registry, source, 20, "a=0,b=1");
    learn(registry, source, 20, "z=9");
    assert_history(registry, source, "10:a=1;20:a=0,b=1;30:a=3");
    fixture_source(registry, tenant, "id=p,c=1", 40);
    assert_history(registry, source, "10:a=1;20:a=0,b=1;30:a=3;40:a=3,c=1");
    struct vv_arena arena = {0};
    struct vv_tag_version unknown[VV_TAG_HISTORY_MAX];
    size_t n;
    assert_int_equal(vv_registry_unknown_tags(registry, source, &arena, unknown, &n), VV_OK);
    assert_int_equal(n, 1);
    assert_int_equal(unknown[0].from_ns, 40);
    vv_registry_note_known(registry, source, &unknown[0]);
    assert_int_equal(vv_registry_unknown_tags(registry, source, &arena, unknown, &n), VV_OK);
    assert_int_equal(n, 0);
    vv_registry_forget_known(registry, source);
    assert_int_equal(vv_registry_unknown_tags(registry, source, &arena, unknown, &n), VV_OK);
    assert_int_equal(n, 4);
    vv_arena_deinit(&arena);
    struct vv_registry_figures figures;
    vv_registry_read_figures(registry, &figures);
    assert_int_equal(figures.tag_values, 5); /* what was replaced is gone from the index */
    vv_registry_destroy(registry);
}

/* A single node goes on as ever: the last of one time counts. */
static void without_sharing_the_last_counts(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open("id");
    uint32_t tenant = fixture_tenant(registry, "a");
    uint32_t source = fixture_source(registry, tenant, "id=p,a=2", 5);
    fixture_source(registry, tenant, "id=p,a=1", 5);
    assert_history(registry, source, "5:a=1");
    vv_registry_destroy(registry);
}

/* What was put before a retention was made shorter may be there as long as it was to. */
static void the_longest_retention_is_that_of_what_may_be_there(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open(NULL);
    vv_registry_share(registry, stamp_of_test, NULL);
    uint32_t plant = fixture_tenant(registry, "plant");
    vv_registry_set_retention(registry, plant, 60 * VV_DAY);
    assert_int_equal(vv_registry_longest_retention(registry, plant), 60 * VV_DAY);
    vv_registry_note_whole(registry, plant,
                           (struct vv_whole){.shorter = {{5, 90 * VV_DAY}}, .n_shorter = 1});
    assert_int_equal(vv_registry_longest_retention(registry, plant), 90 * VV_DAY);
    vv_registry_note_whole(registry, plant,
                           (struct vv_whole){.shorter = {{6, 70 * VV_DAY}}, .n_shorter = 1});
    assert_int_equal(vv_registry_longest_retention(registry, plant), 90 * VV_DAY);
    vv_registry_note_whole(registry, plant, (struct vv_whole){.shorter = {{6, 0}}, .n_shorter = 1});
    assert_int_equal(vv_registry_longest_retention(registry, plant), 0);
    vv_registry_destroy(registry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_have_stamps_above_those_before),
        cmocka_unit_test(policies_for_late_points_are_learnt_by_stamp),
        cmocka_unit_test(stamps_come_back_in_records),
        cmocka_unit_test(ints_become_floats_and_stay_so),
        cmocka_unit_test(versions_of_tags_are_put_in_their_places),
        cmocka_unit_test(without_sharing_the_last_counts),
        cmocka_unit_test(the_longest_retention_is_that_of_what_may_be_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
