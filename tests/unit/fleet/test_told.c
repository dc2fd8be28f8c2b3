/* SPDX-License-Identifier: Apache-2.0 */
/* The form of what is told: everything comes back, damage and newer forms are found. */
#include "fleet_fixture.h"

static struct vv_told_content content; /* large */
static struct vv_told_content again;

static enum vv_status decode(const struct vv_told *told)
{
    struct vv_error error = {0};
    enum vv_status status = vv_told_decode(told, &again, &error);
    assert_int_equal(status != VV_OK, error.message[0] != '\0');
    return status;
}

/* Encodes the content; its bytes come back as `told`'s value. */
static struct vv_told told_of(struct vv_buffer *buffer, const char *name, int64_t item)
{
    vv_buffer_clear(buffer);
    vv_told_encode(&content, buffer);
    assert_int_equal(vv_buffer_status(buffer), VV_OK);
    return (struct vv_told){.node = 2,
                            .kind = (uint8_t)content.kind,
                            .tenant = TEXT("t"),
                            .name = vv_str_of(name),
                            .item = item,
                            .value = {(const char *)buffer->data, buffer->size}};
}

/* All that is cut off, and all with something behind, is damaged. */
static void assert_exact(struct vv_told told, struct vv_buffer *buffer)
{
    assert_int_equal(decode(&told), VV_OK);
    size_t size = told.value.size;
    for (told.value.size = 0; told.value.size < size; told.value.size++) {
        assert_int_equal(decode(&told), VV_CORRUPT);
    }
    vv_buffer_u8(buffer, 0);
    told.value = (struct vv_str){(const char *)buffer->data, size + 1};
    assert_int_equal(decode(&told), VV_CORRUPT);
    uint8_t form = buffer->data[0];
    buffer->data[0] = told.kind == VV_TOLD_TENANT ? 9 : told.kind == VV_TOLD_MEASUREMENT ? 3 : 2;
    told.value.size = size;
    assert_int_equal(decode(&told), VV_NEWER);
    buffer->data[0] = 0;
    assert_int_equal(decode(&told), VV_CORRUPT);
    buffer->data[0] = form;
    assert_int_equal(decode(&told), VV_OK);
}

static void a_tenant_comes_back(void **state)
{
    (void)state;
    struct vv_buffer buffer = {0};
    content = (struct vv_told_content){
        .kind = VV_TOLD_TENANT, .retention_ns = 7 * VV_DAY, .retention_stamp = 12345};
    struct vv_told told = told_of(&buffer, "", 0);
    assert_exact(told, &buffer);
    assert_int_equal(again.retention_ns, 7 * VV_DAY);
    assert_int_equal(again.retention_stamp, 12345);
    told.name = TEXT("x");
    assert_int_equal(decode(&told), VV_CORRUPT);
    told.name = TEXT("");
    told.item = 1;
    assert_int_equal(decode(&told), VV_CORRUPT);
    content.late = (struct vv_late){VV_LATE_REFUSE, VV_HOUR};
    content.late_stamp = 9;
    told = told_of(&buffer, "", 0);
    assert_int_equal(buffer.data[0], 2); /* one without is in form 1, which older nodes know */
    assert_exact(told, &buffer);
    assert_int_equal(again.late.policy, VV_LATE_REFUSE);
    assert_int_equal(again.late.limit_ns, VV_HOUR);
    assert_int_equal(again.late_stamp, 9);
    assert_int_equal(again.whole.n, 0);
    content.whole = (struct vv_whole){.longer = {{5 * VV_DAY, VV_HOUR, 0, 0}}, .n = 1};
    told = told_of(&buffer, "", 0);
    assert_int_equal(buffer.data[0], 3);
    assert_exact(told, &buffer);
    assert_int_equal(again.whole.n, 1);
    assert_int_equal(again.whole.longer[0].from, 5 * VV_DAY);
    assert_int_equal(again.whole.longer[0].kept_ns, VV_HOUR);
    assert_int_equal(again.late_stamp, 9);
    const struct vv_shortened shorter[] = {{6 * VV_DAY, 9 * VV_DAY}, {7 * VV_DAY, 8 * VV_DAY}};
    memcpy(content.whole.shorter, shorter, sizeof shorter);
    content.whole.n_shorter = 2;
    told = told_of(&buffer, "", 0);
    assert_int_equal(buffer.data[0], 7);
    assert_exact(told, &buffer);
    assert_int_equal(again.whole.longer[0].from, 5 * VV_DAY);
    assert_int_equal(again.whole.n, 1);
    assert_int_equal(again.whole.n_shorter, 2);
    assert_memory_equal(again.whole.shorter, shorter, sizeof shorter);
    content.whole.shorter[1].before_ns = -1;
    told = told_of(&buffer, "", 0);
    assert_int_equal(decode(&told), VV_CORRUPT);
    content.whole = (struct vv_whole){.shorter = {shorter[0]}, .n_shorter = 1}; /* never longer */
    told = told_of(&buffer, "", 0);
    assert_exact(told, &buffer);
    assert_int_equal(again.whole.n, 0);
    assert_int_equal(again.whole.n_shorter, 1);
    content.whole = (struct vv_whole){.longer = {{5 * VV_DAY, VV_HOUR, 0, 0}}, .n = 1};
    content.whole.longer[0].kept_ns = -1;
    told = told_of(&buffer, "", 0);
    assert_int_equal(decode(&told), VV_CORRUPT);
    const struct vv_whole often = {.longer = {{5 * VV_DAY, VV_HOUR, 0, 0},
                                              {6 * VV_DAY, VV_DAY, 0, 0},
                                              {7 * VV_DAY, 2 * VV_DAY, 0, 0}},
                                   .n = 3};
    content.whole = often;
    told = told_of(&buffer, "", 0);
    assert_int_equal(buffer.data[0], 6);
    assert_exact(told, &buffer);
    assert_int_equal(again.whole.n, 3);
    assert_memory_equal(again.whole.longer, often.longer, sizeof often.longer);
    content.whole.longer[2].from = 6 * VV_DAY - 1; /* they ascend */
    told = told_of(&buffer, "", 0);
    assert_int_equal(decode(&told), VV_CORRUPT);
    content.whole = often;
    content.whole.longer[1].until = VV_TIME_MAX + 1;
    told = told_of(&buffer, "", 0);
    assert_int_equal(decode(&told), VV_CORRUPT);
    content.whole = often;
    content.whole.built = (struct vv_rebuilt){7 * VV_DAY, VV_TIME_MIN};
    told = told_of(&buffer, "", 0);
    assert_int_equal(buffer.data[0], 8);
    assert_exact(told, &buffer);
    assert_memory_equal(again.whole.longer, often.longer, sizeof often.longer);
    assert_int_equal(again.whole.built.longer_from, 7 * VV_DAY);
    assert_int_equal(again.whole.built.from, VV_TIME_MIN);
    content.whole.built.from = 7 * VV_DAY; /* before that, or nothing was built */
    told = told_of(&buffer, "", 0);
    assert_int_equal(decode(&told), VV_CORRUPT);
    content.whole = (struct vv_whole){0};
    content.retention_ns = -1;
    told = told_of(&buffer, "", 0);
    assert_int_equal(decode(&told), VV_CORRUPT);
    content.retention_ns = 1;
    content.retention_stamp = UINT64_MAX;
    told = told_of(&buffer, "", 0);
    assert_int_equal(decode(&told), VV_CORRUPT);
    vv_buffer_deinit(&buffer);
}

static void a_metric_comes_back(void **state)
{
    (void)state;
    struct vv_buffer buffer = {0};
    content = (struct vv_told_content){.kind = VV_TOLD_METRIC,
                                       .type = VV_INT64,
                                       .measurement_size = 4,
                                       .described = {.unit = TEXT("bar"),
                                                     .unit_stamp = 7,
                                                     .description = TEXT("in the pipe"),
                                                     .description_stamp = 9}};
    struct vv_told told = told_of(&buffer, "pump.in.pressure", 0);
    assert_exact(told, &buffer);
    assert_int_equal(again.type, VV_INT64);
    assert_int_equal(again.measurement_size, 4);
    assert_true(vv_str_equal(again.described.unit, TEXT("bar")));
    assert_int_equal(again.described.unit_stamp, 7);
    assert_true(vv_str_equal(again.described.description, TEXT("in the pipe")));
    assert_int_equal(again.described.description_stamp, 9);
    const char *const names[] = {"", "pump", "pump.", "pumpe.x", "p", ".x"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        told.name = vv_str_of(names[i]);
        assert_int_equal(decode(&told), VV_CORRUPT);
    }
    content.measurement_size = SIZE_MAX;
    told = told_of(&buffer, "pump.in.pressure", 0);
    assert_int_equal(decode(&told), VV_CORRUPT);
    vv_buffer_deinit(&buffer);
}

static void sources_come_back(void **state)
{
    (void)state;
    struct vv_buffer buffer = {0};
    content = (struct vv_told_content){.kind = VV_TOLD_SOURCE, .canonical = true};
    struct vv_told told = told_of(&buffer, "a=b", 0);
    assert_exact(told, &buffer);
    assert_true(again.canonical);
    buffer.data[1] = 2;
    assert_int_equal(decode(&told), VV_CORRUPT);

    content = (struct vv_told_content){.kind = VV_TOLD_TAGS, .n = 2};
    content.tags[0] = (struct vv_tag){TEXT("a"), TEXT("1")};
    content.tags[1] = (struct vv_tag){TEXT("b"), TEXT("2")};
    told = told_of(&buffer, "s", -5);
    assert_exact(told, &buffer);
    assert_int_equal(again.n, 2);
    assert_true(vv_str_equal(again.tags[1].value, TEXT("2")));

    content = (struct vv_told_content){.kind = VV_TOLD_MEASUREMENT};
    told = told_of(&buffer, "m", 0);
    assert_exact(told, &buffer);
    vv_buffer_deinit(&buffer);
}

static void plans_come_back(void **state)
{
    (void)state;
    struct vv_buffer buffer = {0};
    content = (struct vv_told_content){.kind = VV_TOLD_PLAN, .canonical = true, .n = 2};
    content.plans[0] = (struct vv_plan){VV_TIME_MIN, VV_DAY, VV_HOUR, 1, 0};
    content.plans[1] = (struct vv_plan){5 * VV_DAY, VV_HOUR, VV_HOUR, 3, 0};
    struct vv_told told = told_of(&buffer, "s", 5 * VV_DAY);
    assert_exact(told, &buffer);
    assert_true(again.canonical);
    assert_int_equal(again.n, 2);
    assert_int_equal(again.plans[0].from_ns, VV_TIME_MIN);
    assert_int_equal(again.plans[1].bucket_ns, VV_HOUR);
    assert_int_equal(again.plans[1].splits, 3);
    told.item = VV_DAY; /* not the last one's */
    assert_int_equal(decode(&told), VV_CORRUPT);
    content.plans[1].splits = VV_SPLITS_MAX + 1;
    told = told_of(&buffer, "s", 5 * VV_DAY);
    assert_int_equal(decode(&told), VV_CORRUPT);
    content.n = 0;
    told = told_of(&buffer, "s", 0);
    assert_int_equal(decode(&told), VV_CORRUPT);
    vv_buffer_deinit(&buffer);
}

static void markers_come_back(void **state)
{
    (void)state;
    struct vv_buffer buffer = {0};
    content = (struct vv_told_content){.kind = VV_TOLD_MARKERS, .canonical = true, .n = 3};
    content.markers[0].marker = (struct vv_marker){.from = VV_TIME_MIN,
                                                   .to = VV_TIME_MAX + 1,
                                                   .stamp = 77,
                                                   .scope = VV_DELETION_SOURCE,
                                                   .is_swept = true};
    content.markers[1] = (struct vv_told_marker){
        .marker = {.from = -5, .to = 5, .stamp = 78, .scope = VV_DELETION_MEASUREMENT},
        .measurement = TEXT("pump.house")};
    content.markers[2] = (struct vv_told_marker){
        .marker = {.from = 10, .to = 11, .stamp = 79, .scope = VV_DELETION_METRIC},
        .measurement = TEXT("pump"),
        .field = TEXT("in.temp"),
        .type = VV_INT64};
    struct vv_told told = told_of(&buffer, "host=a", 0);
    assert_exact(told, &buffer);
    assert_int_equal(again.n, 3);
    assert_true(again.canonical);
    assert_true(again.markers[0].marker.is_swept);
    assert_int_equal(again.markers[0].marker.to, VV_TIME_MAX + 1);
    assert_false(again.markers[1].marker.is_swept);
    assert_int_equal(again.markers[1].marker.from, -5);
    assert_int_equal(again.markers[1].marker.stamp, 78);
    assert_true(vv_str_equal(again.markers[1].measurement, TEXT("pump.house")));
    assert_true(vv_str_equal(again.markers[2].field, TEXT("in.temp")));
    assert_int_equal(again.markers[2].type, VV_INT64);
    told.item = 1; /* another part */
    assert_int_equal(decode(&told), VV_OK);
    told.item = -1;
    assert_int_equal(decode(&told), VV_CORRUPT);
    told.item = 0;
    told.name = TEXT("");
    assert_int_equal(decode(&told), VV_CORRUPT);
    content.markers[1].marker.to = -5; /* nothing */
    told = told_of(&buffer, "host=a", 0);
    assert_int_equal(decode(&told), VV_CORRUPT);
    content.markers[1].marker.to = 5;
    content.markers[1].marker.stamp = UINT64_MAX;
    told = told_of(&buffer, "host=a", 0);
    assert_int_equal(decode(&told), VV_CORRUPT);
    vv_buffer_deinit(&buffer);
}

static void unknown_kinds_are_newer_and_sizes_are_bounded(void **state)
{
    (void)state;
    static char large[VV_TOLD_VALUE_MAX + 1];
    large[0] = 1;
    struct vv_told told = {.kind = VV_TOLD_MOVE + 1, .name = TEXT("x"), .value = {large, 1}};
    assert_int_equal(decode(&told), VV_NEWER);
    told.kind = 0;
    assert_int_equal(decode(&told), VV_CORRUPT);
    told.kind = VV_TOLD_TAGS;
    told.value.size = sizeof large;
    assert_int_equal(decode(&told), VV_CORRUPT);
    /* 256 tags of the largest size that a source may have fit. */
    struct vv_buffer buffer = {0};
    char value[32];
    memset(value, 'x', sizeof value);
    content = (struct vv_told_content){.kind = VV_TOLD_TAGS, .n = VV_TAGS_MAX};
    for (size_t i = 0; i < VV_TAGS_MAX; i++) {
        content.tags[i] = (struct vv_tag){{value, 16}, {value, 16}};
    }
    told = told_of(&buffer, "s", 0);
    assert_int_equal(decode(&told), VV_OK);
    vv_buffer_deinit(&buffer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tenant_comes_back),
        cmocka_unit_test(a_metric_comes_back),
        cmocka_unit_test(sources_come_back),
        cmocka_unit_test(plans_come_back),
        cmocka_unit_test(markers_come_back),
        cmocka_unit_test(unknown_kinds_are_newer_and_sizes_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
