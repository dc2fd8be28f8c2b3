/* SPDX-License-Identifier: Apache-2.0 */
/* Units of tiers, where they lie, and the heads of their records. */
#include "tier/unit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct vv_plan hourly = {VV_TIME_MIN, VV_DAY, VV_HOUR, 1, 0};
static const struct vv_plan daily = {VV_TIME_MIN, 8 * VV_DAY, VV_DAY, 1, 0};

static void assert_unit(struct vv_unit unit, int64_t from, int64_t to)
{
    assert_int_equal(unit.from, from);
    assert_int_equal(unit.to, to);
}

static void minutes_are_built_by_the_hour_or_day(void **state)
{
    (void)state;
    int64_t time = 100 * VV_DAY + 5 * VV_HOUR + 7;
    assert_unit(vv_unit_of(VV_SPACE_MINUTE, &hourly, 1, time), time - 7, time - 7 + VV_HOUR);
    assert_unit(vv_unit_of(VV_SPACE_MINUTE, &daily, 1, time), 100 * VV_DAY, 101 * VV_DAY);
    assert_unit(vv_unit_of(VV_SPACE_HOUR, &hourly, 1, time), 100 * VV_DAY, 101 * VV_DAY);
    assert_unit(vv_unit_of(VV_SPACE_DAY, &hourly, 1, time), 84 * VV_DAY, 112 * VV_DAY);
    assert_unit(vv_unit_of(VV_SPACE_HOUR, &hourly, 1, -1), -VV_DAY, 0);
}

static void a_unit_of_minutes_ends_with_the_plan(void **state)
{
    (void)state;
    int64_t change = 100 * VV_DAY + 5 * VV_HOUR + 15 * VV_MINUTE;
    struct vv_plan plans[] = {daily, hourly};
    plans[1].from_ns = change;
    assert_unit(vv_unit_of(VV_SPACE_MINUTE, plans, 2, change - 1), 100 * VV_DAY, change);
    assert_unit(vv_unit_of(VV_SPACE_MINUTE, plans, 2, change), change, 100 * VV_DAY + 6 * VV_HOUR);
    assert_unit(vv_unit_of(VV_SPACE_HOUR, plans, 2, change), 100 * VV_DAY, 101 * VV_DAY);
}

static void units_fill_their_tiers_buckets(void **state)
{
    (void)state;
    static const int64_t times[] = {VV_TIME_MIN, -1, 0, 1234567 * VV_MINUTE, VV_TIME_MAX};
    for (int tier = 0; tier < VV_SPACES; tier++) {
        struct vv_plan plan = vv_tier_plan((enum vv_space)tier);
        assert_int_equal(vv_plan_check(&plan, NULL), VV_OK);
        for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
            struct vv_unit unit = vv_unit_of((enum vv_space)tier, &hourly, 1, times[i]);
            struct vv_span_key key = vv_unit_key((enum vv_space)tier, 7, 3, 5, unit.from);
            struct vv_bucket bucket = vv_bucket_of(&plan, 1, unit.from);
            assert_int_equal(key.partition.bucket_start, bucket.start);
            assert_int_equal(key.partition.bucket_ns, bucket.bucket_ns);
            assert_int_equal(key.partition.tenant, 7);
            assert_int_equal(key.partition.source, 3);
            assert_int_equal(key.measurement, 5);
            assert_true(unit.from <= times[i] && times[i] < unit.to);
            assert_true(unit.to <= bucket.start + bucket.bucket_ns);
            assert_true(vv_unit_earliest((enum vv_space)tier, times[i]) <= unit.from);
        }
    }
}

static void a_record_is_read_as_it_was_written(void **state)
{
    (void)state;
    struct vv_unit unit = {-VV_HOUR, VV_DAY};
    struct vv_buffer bytes = {0};
    struct vv_unit_record record;
    struct vv_error error = {0};
    vv_unit_write(&bytes, VV_UNIT_STEPS, &unit);
    size_t head = bytes.size;
    vv_buffer_text(&bytes, "content");
    assert_int_equal(vv_unit_read((struct vv_str){(char *)bytes.data, bytes.size}, &record, &error),
                     VV_OK);
    assert_int_equal(record.kind, VV_UNIT_STEPS);
    assert_unit(record.unit, -VV_HOUR, VV_DAY);
    assert_true(vv_str_equal(record.content, VV_STR_LITERAL("content")));
    for (size_t size = 0; size < head; size++) {
        assert_int_equal(vv_unit_read((struct vv_str){(char *)bytes.data, size}, &record, &error),
                         VV_CORRUPT);
    }
    bytes.data[3] = VV_UNIT_MEMBERS + 1;
    assert_int_equal(vv_unit_read((struct vv_str){(char *)bytes.data, bytes.size}, &record, NULL),
                     VV_CORRUPT);
    bytes.data[2] = 4;
    assert_int_equal(vv_unit_read((struct vv_str){(char *)bytes.data, bytes.size}, &record, NULL),
                     VV_NEWER);
    bytes.data[0] = 0;
    assert_int_equal(vv_unit_read((struct vv_str){(char *)bytes.data, bytes.size}, &record, NULL),
                     VV_CORRUPT);
    vv_buffer_clear(&bytes);
    unit.to = unit.from; /* no time at all */
    vv_unit_write(&bytes, VV_UNIT_STALE, &unit);
    assert_int_equal(vv_unit_read((struct vv_str){(char *)bytes.data, bytes.size}, &record, NULL),
                     VV_CORRUPT);
    vv_buffer_deinit(&bytes);
}

static void what_a_record_says_is_read_with_it(void **state)
{
    (void)state;
    const struct vv_unit_record said = {.kind = VV_UNIT_ROWS,
                                        .unit = {0, VV_DAY},
                                        .applied = VV_STR_LITERAL("of the deletions"),
                                        .whole_at = 7};
    struct vv_unit_record record;
    for (unsigned i = 0; i < 4; i++) {
        struct vv_buffer bytes = {0};
        struct vv_unit_record written = said;
        written.applied.size = i & 1 ? said.applied.size : 0;
        written.whole_at = i & 2 ? said.whole_at : 0;
        vv_unit_write_head(&bytes, &written);
        assert_int_equal(bytes.data[2], i & 2 ? 3 : 1 + (i & 1)); /* the lowest that will do */
        size_t head = bytes.size;
        vv_buffer_text(&bytes, "content");
        struct vv_str all = {(char *)bytes.data, bytes.size};
        assert_int_equal(vv_unit_read(all, &record, NULL), VV_OK);
        assert_int_equal(record.kind, VV_UNIT_ROWS);
        assert_unit(record.unit, 0, VV_DAY);
        assert_true(vv_str_equal(record.applied, written.applied));
        assert_int_equal(record.whole_at, written.whole_at);
        assert_true(vv_str_equal(record.content, VV_STR_LITERAL("content")));
        for (size_t size = 0; size < head; size++) {
            assert_int_equal(vv_unit_read((struct vv_str){all.data, size}, &record, NULL),
                             VV_CORRUPT);
        }
        vv_buffer_deinit(&bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(minutes_are_built_by_the_hour_or_day),
        cmocka_unit_test(a_unit_of_minutes_ends_with_the_plan),
        cmocka_unit_test(units_fill_their_tiers_buckets),
        cmocka_unit_test(a_record_is_read_as_it_was_written),
        cmocka_unit_test(what_a_record_says_is_read_with_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
