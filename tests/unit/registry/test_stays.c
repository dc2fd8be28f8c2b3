/* SPDX-License-Identifier: Apache-2.0 */
/* Stays: where a measurement's points lie by their time, how that changes, and its records. */
#include "registry_fixture.h"

#define NOON (INT64_C(1767225600) * VV_SECOND + VV_DAY / 2) /* 2026-01-01T12 */
#define DAY1 (NOON + VV_DAY / 2)
#define DAY2 (DAY1 + VV_DAY)

struct rig {
    struct vv_registry *registry;
    uint32_t plant;
    uint32_t debug;
    uint32_t other;
    uint32_t measurement;
};

static void settle(struct vv_registry *registry, enum vv_registry_kind kind, uint32_t number)
{
    struct vv_buffer record = {0};
    uint64_t version = vv_registry_encode(registry, kind, number, &record);
    vv_registry_settle(registry, kind, number, version);
    vv_buffer_deinit(&record);
}

static uint32_t make_class(struct rig *rig, const char *name)
{
    uint32_t class = VV_REGISTRY_NONE;
    assert_int_equal(
        vv_registry_make_class(rig->registry, rig->plant, vv_str_of(name), VV_DAY, &class, NULL),
        VV_OK);
    settle(rig->registry, VV_REGISTRY_TENANT, class);
    return class;
}

static void begin(struct rig *rig)
{
    rig->registry = fixture_open(NULL);
    rig->plant = fixture_tenant(rig->registry, "plant");
    settle(rig->registry, VV_REGISTRY_TENANT, rig->plant);
    rig->debug = make_class(rig, "debug");
    rig->other = make_class(rig, "other");
    assert_int_equal(vv_registry_measurement(rig->registry, rig->plant, TEXT("m"), true,
                                             &rig->measurement, NULL),
                     VV_OK);
    settle(rig->registry, VV_REGISTRY_MEASUREMENT, rig->measurement);
}

static void move(struct rig *rig, uint32_t place, int64_t from)
{
    const struct vv_moves *before;
    assert_int_equal(vv_registry_move(rig->registry, rig->measurement, place, from, &before, NULL),
                     VV_OK);
}

static uint32_t place_at(const struct rig *rig, int64_t time)
{
    return vv_registry_stay(rig->registry, rig->measurement, time).place;
}

static size_t count(const struct rig *rig)
{
    struct vv_stay stays[VV_STAYS_MAX];
    return vv_registry_stays(rig->registry, rig->measurement, stays);
}

static void a_measurement_lies_in_one_place_at_a_time(void **state)
{
    (void)state;
    struct rig rig;
    struct vv_stay stays[VV_STAYS_MAX];
    begin(&rig);
    struct vv_stay all = vv_registry_stay(rig.registry, rig.measurement, 0);
    assert_int_equal(all.place, rig.plant);
    assert_int_equal(all.from, INT64_MIN);
    assert_int_equal(all.to, INT64_MAX);
    assert_true(vv_registry_settled(rig.registry, VV_REGISTRY_MEASUREMENT, rig.measurement));
    move(&rig, rig.debug, DAY1);
    assert_false(vv_registry_settled(rig.registry, VV_REGISTRY_MEASUREMENT, rig.measurement));
    move(&rig, rig.other, DAY2);
    assert_int_equal(place_at(&rig, INT64_MIN), rig.plant);
    assert_int_equal(place_at(&rig, DAY1 - 1), rig.plant);
    assert_int_equal(place_at(&rig, DAY1), rig.debug);
    assert_int_equal(place_at(&rig, DAY2 - 1), rig.debug);
    assert_int_equal(place_at(&rig, DAY2), rig.other);
    assert_int_equal(place_at(&rig, INT64_MAX), rig.other);
    assert_int_equal(vv_registry_first_place(rig.registry, rig.measurement), rig.plant);
    assert_int_equal(vv_registry_place_named(rig.registry, rig.plant, TEXT("m"), DAY1 + VV_HOUR),
                     rig.debug);
    assert_int_equal(vv_registry_stays(rig.registry, rig.measurement, stays), 3);
    for (size_t i = 0; i < 3; i++) {
        struct vv_stay same = vv_registry_stay(rig.registry, rig.measurement, stays[i].from);
        assert_int_equal(same.place, stays[i].place);
        assert_int_equal(same.to, stays[i].to);
        assert_true(i == 0 || stays[i - 1].to == stays[i].from);
    }
    assert_int_equal(vv_registry_stay(rig.registry, 77, 0).place, VV_REGISTRY_NONE);
    assert_int_equal(vv_registry_stays(rig.registry, 77, stays), 0);
    assert_false(vv_registry_stays_in(rig.registry, 77, rig.plant, INT64_MIN, INT64_MAX));
    vv_registry_destroy(rig.registry);
}

static void a_range_may_meet_several_places(void **state)
{
    (void)state;
    struct rig rig;
    begin(&rig);
    move(&rig, rig.debug, DAY1);
    const struct {
        uint32_t place;
        int64_t from;
        int64_t to;
        bool meets;
    } cases[] = {
        {rig.plant, INT64_MIN, DAY1, true},  {rig.plant, DAY1, INT64_MAX, false},
        {rig.debug, INT64_MIN, DAY1, false}, {rig.debug, INT64_MIN, DAY1 + 1, true},
        {rig.plant, DAY1 - 1, DAY2, true},   {rig.other, INT64_MIN, INT64_MAX, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(vv_registry_stays_in(rig.registry, rig.measurement, cases[i].place,
                                              cases[i].from, cases[i].to),
                         cases[i].meets);
    }
    vv_registry_destroy(rig.registry);
}

/* What was to begin then, or later, is no more. */
static void a_later_change_takes_the_place_of_what_lies_ahead(void **state)
{
    (void)state;
    struct rig rig;
    begin(&rig);
    move(&rig, rig.debug, DAY1);
    move(&rig, rig.other, DAY1);
    assert_int_equal(count(&rig), 2);
    assert_int_equal(place_at(&rig, DAY1), rig.other);
    move(&rig, rig.plant, DAY1);
    assert_int_equal(count(&rig), 1);
    move(&rig, rig.other, DAY2);
    move(&rig, rig.debug, DAY1);
    assert_int_equal(count(&rig), 2);
    assert_int_equal(place_at(&rig, DAY2), rig.debug);
    move(&rig, rig.debug, DAY2); /* where it is anyway */
    assert_int_equal(count(&rig), 2);
    vv_registry_destroy(rig.registry);
}

static void a_measurement_moves_a_number_of_times(void **state)
{
    (void)state;
    struct rig rig;
    struct vv_error error = {0};
    begin(&rig);
    for (int i = 1; i < VV_STAYS_MAX; i++) {
        move(&rig, i % 2 ? rig.debug : rig.other, DAY1 + i * VV_DAY);
    }
    assert_int_equal(count(&rig), VV_STAYS_MAX);
    int64_t next = DAY1 + VV_STAYS_MAX * VV_DAY;
    const struct vv_moves *before;
    assert_int_equal(
        vv_registry_move(rig.registry, rig.measurement, rig.plant, next, &before, &error),
        VV_EXISTS);
    assert_non_null(strstr(error.message, "15 times"));
    assert_int_equal(count(&rig), VV_STAYS_MAX);
    assert_int_equal(place_at(&rig, next), rig.debug);
    assert_int_equal(vv_registry_move(rig.registry, 77, rig.plant, DAY1, &before, NULL),
                     VV_NOT_FOUND);
    vv_registry_destroy(rig.registry);
}

static void a_move_that_is_taken_back_was_none(void **state)
{
    (void)state;
    struct rig rig;
    const struct vv_moves *before;
    begin(&rig);
    move(&rig, rig.debug, DAY1);
    move(&rig, rig.other, DAY2);
    for (int i = 0; i < 2; i++) { /* also where it takes the place of others */
        assert_int_equal(vv_registry_move(rig.registry, rig.measurement, rig.plant,
                                          i ? DAY1 : DAY2 + VV_DAY, &before, NULL),
                         VV_OK);
        settle(rig.registry, VV_REGISTRY_MEASUREMENT, rig.measurement);
        vv_registry_take_back(rig.registry, rig.measurement, before);
        assert_int_equal(count(&rig), 3);
        assert_int_equal(place_at(&rig, DAY1), rig.debug);
        assert_int_equal(place_at(&rig, DAY2), rig.other);
        assert_false(vv_registry_settled(rig.registry, VV_REGISTRY_MEASUREMENT, rig.measurement));
    }
    vv_registry_destroy(rig.registry);
}

/* ---- records ---- */

static void copy(const struct rig *rig, struct vv_registry *to, enum vv_registry_kind kind,
                 uint32_t number)
{
    struct vv_buffer record = {0};
    vv_registry_encode(rig->registry, kind, number, &record);
    assert_int_equal(
        vv_registry_apply(to, kind, (struct vv_str){(char *)record.data, record.size}, NULL),
        VV_OK);
    vv_buffer_deinit(&record);
}

static struct vv_registry *copy_places(const struct rig *rig)
{
    struct vv_registry *to = fixture_open(NULL);
    copy(rig, to, VV_REGISTRY_TENANT, rig->plant);
    copy(rig, to, VV_REGISTRY_TENANT, rig->debug);
    copy(rig, to, VV_REGISTRY_TENANT, rig->other);
    return to;
}

static void records_keep_the_stays(void **state)
{
    (void)state;
    struct rig rig;
    struct vv_buffer before = {0};
    begin(&rig);
    struct rig copied = rig;
    copied.registry = copy_places(&rig);
    vv_registry_encode(rig.registry, VV_REGISTRY_MEASUREMENT, rig.measurement, &before);
    copy(&rig, copied.registry, VV_REGISTRY_MEASUREMENT, rig.measurement);
    move(&rig, rig.debug, DAY1);
    move(&rig, rig.other, DAY2);
    copy(&rig, copied.registry, VV_REGISTRY_MEASUREMENT, rig.measurement);
    assert_int_equal(count(&copied), 3);
    assert_int_equal(place_at(&copied, DAY1), rig.debug);
    assert_int_equal(place_at(&copied, DAY2), rig.other);
    assert_true(vv_registry_settled(copied.registry, VV_REGISTRY_MEASUREMENT, rig.measurement));
    /* An older one comes later: it changes nothing. */
    assert_int_equal(vv_registry_apply(copied.registry, VV_REGISTRY_MEASUREMENT,
                                       (struct vv_str){(char *)before.data, before.size}, NULL),
                     VV_OK);
    assert_int_equal(count(&copied), 3);
    /* A newer one that has none is one that took them back. */
    move(&rig, rig.plant, DAY1);
    copy(&rig, copied.registry, VV_REGISTRY_MEASUREMENT, rig.measurement);
    assert_int_equal(count(&copied), 1);
    /* And one of which nothing is known yet. */
    move(&rig, rig.debug, DAY2);
    struct rig fresh = rig;
    fresh.registry = copy_places(&rig);
    copy(&rig, fresh.registry, VV_REGISTRY_MEASUREMENT, rig.measurement);
    assert_int_equal(count(&fresh), 2);
    assert_int_equal(place_at(&fresh, DAY2), rig.debug);
    vv_buffer_deinit(&before);
    vv_registry_destroy(fresh.registry);
    vv_registry_destroy(copied.registry);
    vv_registry_destroy(rig.registry);
}

/* A record with these moves, as registry/records.c has it. */
static enum vv_status apply(const struct rig *rig, uint64_t n, const int64_t *times,
                            const uint32_t *places, size_t given)
{
    struct vv_registry *to = copy_places(rig);
    struct vv_buffer record = {0};
    vv_buffer_u8(&record, 4);
    vv_buffer_varint(&record, 0);
    vv_buffer_varint(&record, 1);
    vv_buffer_varint(&record, rig->plant);
    vv_buffer_sized(&record, TEXT("m"));
    vv_buffer_varint(&record, rig->plant);
    vv_buffer_varint(&record, n);
    for (size_t i = 0; i < given; i++) {
        vv_buffer_zigzag(&record, times[i]);
        vv_buffer_varint(&record, places[i]);
    }
    enum vv_status status = vv_registry_apply(
        to, VV_REGISTRY_MEASUREMENT, (struct vv_str){(char *)record.data, record.size}, NULL);
    vv_buffer_deinit(&record);
    vv_registry_destroy(to);
    return status;
}

static void damaged_stays_are_refused(void **state)
{
    (void)state;
    struct rig rig;
    begin(&rig);
    const uint32_t places[] = {rig.debug, rig.other};
    const uint32_t unknown[] = {rig.debug, 99};
    const int64_t good[] = {DAY1, DAY2};
    const int64_t backwards[] = {DAY2, DAY1};
    const int64_t inside[] = {DAY1, DAY2 + 1};
    const int64_t outside[] = {DAY1, INT64_MAX - INT64_MAX % VV_DAY};
    assert_int_equal(apply(&rig, 2, good, places, 2), VV_OK);
    assert_int_equal(apply(&rig, 2, backwards, places, 2), VV_CORRUPT);
    assert_int_equal(apply(&rig, 2, inside, places, 2), VV_CORRUPT);
    assert_int_equal(apply(&rig, 2, outside, places, 2), VV_CORRUPT);
    assert_int_equal(apply(&rig, 2, good, unknown, 2), VV_CORRUPT);
    assert_int_equal(apply(&rig, 2, good, places, 1), VV_CORRUPT);
    assert_int_equal(apply(&rig, 1, good, places, 2), VV_CORRUPT);
    assert_int_equal(apply(&rig, 0, good, places, 0), VV_CORRUPT);
    assert_int_equal(apply(&rig, VV_STAYS_MAX, good, places, 2), VV_CORRUPT);
    assert_int_equal(apply(&rig, UINT64_MAX, good, places, 2), VV_CORRUPT);
    vv_registry_destroy(rig.registry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_measurement_lies_in_one_place_at_a_time),
        cmocka_unit_test(a_range_may_meet_several_places),
        cmocka_unit_test(a_later_change_takes_the_place_of_what_lies_ahead),
        cmocka_unit_test(a_measurement_moves_a_number_of_times),
        cmocka_unit_test(a_move_that_is_taken_back_was_none),
        cmocka_unit_test(records_keep_the_stays),
        cmocka_unit_test(damaged_stays_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
