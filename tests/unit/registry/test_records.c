/* SPDX-License-Identifier: Apache-2.0 */
/* Records: everything comes back, in any order and any number of times; damage is found. */
#include "base/random.h"
#include "registry_fixture.h"

struct record {
    enum vv_registry_kind kind;
    uint32_t number;
    struct vv_buffer bytes;
};

struct records {
    struct record *items;
    size_t n;
};

static void records_add(struct records *records, struct vv_registry *registry,
                        enum vv_registry_kind kind, uint32_t number)
{
    records->items = realloc(records->items, (records->n + 1) * sizeof *records->items);
    assert_non_null(records->items);
    struct record *record = &records->items[records->n];
    *record = (struct record){.kind = kind, .number = number};
    uint64_t version = vv_registry_encode(registry, kind, number, &record->bytes);
    assert_int_equal(vv_buffer_status(&record->bytes), VV_OK);
    records->n += record->bytes.size > 0;
    assert_int_equal(version > 0, record->bytes.size > 0);
}

static void records_of_kind(struct records *records, struct vv_registry *registry,
                            enum vv_registry_kind kind)
{
    for (uint32_t number = 0; number < 600; number++) {
        records_add(records, registry, kind, number);
    }
}

/* The present state of everything. */
static struct records records_of(struct vv_registry *registry)
{
    struct records records = {0};
    for (int kind = VV_REGISTRY_TENANT; kind <= VV_REGISTRY_TIMES; kind++) {
        records_of_kind(&records, registry, (enum vv_registry_kind)kind);
    }
    return records;
}

static void records_free(struct records *records)
{
    for (size_t i = 0; i < records->n; i++) {
        vv_buffer_deinit(&records->items[i].bytes);
    }
    free(records->items);
}

static struct vv_str bytes_of(const struct record *record)
{
    return (struct vv_str){(const char *)record->bytes.data, record->bytes.size};
}

static enum vv_status apply(struct vv_registry *registry, const struct record *record)
{
    struct vv_error error = {0};
    enum vv_status status = vv_registry_apply(registry, record->kind, bytes_of(record), &error);
    assert_int_equal(status != VV_OK, error.message[0] != '\0');
    return status;
}

static void assert_same_records(const struct records *a, const struct records *b)
{
    assert_int_equal(a->n, b->n);
    for (size_t i = 0; i < a->n; i++) {
        assert_int_equal(a->items[i].kind, b->items[i].kind);
        assert_int_equal(a->items[i].number, b->items[i].number);
        assert_int_equal(a->items[i].bytes.size, b->items[i].bytes.size);
        assert_memory_equal(a->items[i].bytes.data, b->items[i].bytes.data, a->items[i].bytes.size);
    }
}

static void make_metrics(struct vv_registry *registry, uint32_t tenant)
{
    for (int m = 0; m < 5; m++) {
        char name[32];
        snprintf(name, sizeof name, "measurement%d", m);
        uint32_t measurement = fixture_measurement(registry, tenant, name);
        for (int f = 0; f < 4; f++) {
            snprintf(name, sizeof name, "field%d", f);
            uint32_t metric =
                fixture_metric(registry, measurement, name, f % 2 ? VV_INT64 : VV_FLOAT64);
            if (f > 1) {
                assert_int_equal(
                    vv_registry_describe(registry, metric, TEXT("m/s"), TEXT("how fast"), NULL),
                    VV_OK);
            }
        }
    }
}

static void make_source(struct vv_registry *registry, uint32_t tenant, struct vv_random *random)
{
    char text[256];
    bool by_id = vv_random_below(random, 3) > 0;
    int size = by_id ? sprintf(text, "id=s%u,", (unsigned)vv_random_below(random, 80)) : 0;
    snprintf(text + size, sizeof text - (size_t)size, "a=%u,b=%u,c=x y",
             (unsigned)vv_random_below(random, 9), (unsigned)vv_random_below(random, 9));
    uint32_t source =
        fixture_source(registry, tenant, text, (int64_t)vv_random_below(random, 1000) - 100);
    if (vv_random_below(random, 2)) {
        int64_t first = (int64_t)vv_random_below(random, 1000) - 500;
        vv_registry_source_observe(registry, source, first, first + 5);
    }
    if (vv_random_below(random, 2)) {
        const struct vv_plan plans[] = {
            {VV_TIME_MIN, VV_DAY, VV_HOUR, 1, 0},
            {(int64_t)vv_random_below(random, 50) * VV_DAY, VV_HOUR, VV_HOUR, 3, 0},
        };
        assert_int_equal(
            vv_registry_source_set_plans(registry, source, plans, 1 + vv_random_below(random, 2)),
            VV_OK);
    }
}

static struct vv_registry *registry_with_everything(struct vv_random *random)
{
    struct vv_registry *registry = fixture_open("id");
    for (int t = 0; t < 3; t++) {
        char name[32];
        snprintf(name, sizeof name, "tenant%d", t);
        uint32_t tenant = fixture_tenant(registry, name);
        vv_registry_set_retention(registry, tenant, t * VV_DAY);
        vv_registry_set_late(registry, tenant, (struct vv_late){VV_LATE_REFUSE, (1 + t) * VV_HOUR});
        make_metrics(registry, tenant);
        for (int i = 0; i < 150; i++) {
            make_source(registry, tenant, random);
        }
    }
    return registry;
}

static void shuffle(struct records *records, struct vv_random *random)
{
    for (size_t i = records->n; i > 1; i--) {
        size_t other = vv_random_below(random, i);
        if (records->items[other].kind == records->items[i - 1].kind) {
            struct record moved = records->items[other];
            records->items[other] = records->items[i - 1];
            records->items[i - 1] = moved;
        }
    }
}

static void apply_all(struct vv_registry *registry, const struct records *records)
{
    for (size_t i = 0; i < records->n; i++) {
        assert_int_equal(apply(registry, &records->items[i]), VV_OK);
        assert_true(
            vv_registry_settled(registry, records->items[i].kind, records->items[i].number));
    }
}

static void everything_comes_back(void **state)
{
    (void)state;
    const uint64_t seed = 21;
    print_message("seed %llu\n", (unsigned long long)seed);
    struct vv_random random = {seed};
    struct vv_registry *registry = registry_with_everything(&random);
    struct records records = records_of(registry);
    for (int round = 0; round < 4; round++) {
        struct records shuffled = records_of(registry);
        shuffle(&shuffled, &random);
        struct vv_registry *again = fixture_open("id");
        apply_all(again, &shuffled);
        apply_all(again, &shuffled); /* again: nothing changes */
        struct records after = records_of(again);
        assert_same_records(&records, &after);
        struct vv_registry_figures a;
        struct vv_registry_figures b;
        vv_registry_read_figures(registry, &a);
        vv_registry_read_figures(again, &b);
        assert_int_equal(a.tag_values, b.tag_values);
        assert_int_equal(a.sources, b.sources);
        assert_int_equal(a.metrics, b.metrics);
        records_free(&after);
        records_free(&shuffled);
        vv_registry_destroy(again);
    }
    records_free(&records);
    vv_registry_destroy(registry);
}

static void all_versions_in_any_order_give_the_last_one(void **state)
{
    (void)state;
    const uint64_t seed = 22;
    print_message("seed %llu\n", (unsigned long long)seed);
    struct vv_random random = {seed};
    struct vv_registry *registry = fixture_open("id");
    uint32_t tenant = fixture_tenant(registry, "a");
    uint32_t cpu = fixture_measurement(registry, tenant, "cpu");
    uint32_t metric = fixture_metric(registry, cpu, "user", VV_FLOAT64);
    struct records all = {0};
    records_add(&all, registry, VV_REGISTRY_MEASUREMENT, cpu);
    for (int i = 0; i < 40; i++) {
        char text[64];
        snprintf(text, sizeof text, "id=p,n=%d,k%d=x", i, i % 5);
        fixture_source(registry, tenant, text, i);
        snprintf(text, sizeof text, "text %d", i);
        assert_int_equal(vv_registry_describe(registry, metric, TEXT("s"), vv_str_of(text), NULL),
                         VV_OK);
        vv_registry_set_retention(registry, tenant, i * VV_HOUR);
        records_add(&all, registry, VV_REGISTRY_TENANT, tenant);
        records_add(&all, registry, VV_REGISTRY_METRIC, metric);
        records_add(&all, registry, VV_REGISTRY_SOURCE, 0);
    }
    struct records last = records_of(registry);
    for (int round = 0; round < 10; round++) {
        struct vv_registry *again = fixture_open("id");
        shuffle(&all, &random);
        for (int kind = VV_REGISTRY_TENANT; kind <= VV_REGISTRY_SOURCE; kind++) {
            for (size_t i = 0; i < all.n; i++) {
                if ((int)all.items[i].kind == kind) {
                    assert_int_equal(apply(again, &all.items[i]), VV_OK);
                }
            }
        }
        struct records after = records_of(again);
        assert_same_records(&last, &after);
        struct vv_registry_figures figures;
        vv_registry_read_figures(again, &figures);
        assert_int_equal(figures.tag_values, VV_TAG_HISTORY_MAX + 5);
        records_free(&after);
        vv_registry_destroy(again);
    }
    records_free(&last);
    records_free(&all);
    vv_registry_destroy(registry);
}

static void numbers_go_on_after_the_highest(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open(NULL);
    uint32_t tenant = fixture_tenant(registry, "a");
    struct records records = {0};
    records_add(&records, registry, VV_REGISTRY_TENANT, tenant);
    for (int i = 0; i < 9000; i++) {
        char text[32];
        snprintf(text, sizeof text, "h=%d", i);
        fixture_source(registry, tenant, text, 0);
    }
    records_add(&records, registry, VV_REGISTRY_SOURCE, 8999); /* the others are holes */
    vv_registry_destroy(registry);

    struct vv_registry *again = fixture_open(NULL);
    apply_all(again, &records);
    records_free(&records);
    assert_int_equal(vv_registry_source_count(again), 9000);
    assert_int_equal(vv_registry_source_id(again, 5).size, 0);
    assert_str(vv_registry_source_id(again, 8999), "h=8999");
    assert_int_equal(fixture_source(again, tenant, "h=8999", 0), 8999);
    assert_int_equal(fixture_source(again, tenant, "h=5", 0), 9000);
    uint32_t *sources = NULL;
    size_t n = 0;
    const struct vv_selector all = {0};
    assert_int_equal(
        vv_registry_select(again, tenant, &all, VV_REGISTRY_NONE, 99, &sources, &n, NULL), VV_OK);
    assert_int_equal(n, 2);
    assert_int_equal(sources[0], 8999);
    free(sources);
    struct vv_registry_figures figures;
    vv_registry_read_figures(again, &figures);
    assert_int_equal(figures.sources, 2);
    vv_registry_destroy(again);
}

static void versions_go_on_after_the_applied_one(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open("id");
    uint32_t tenant = fixture_tenant(registry, "a");
    fixture_source(registry, tenant, "id=p,n=1", 1);
    fixture_source(registry, tenant, "id=p,n=2", 2);
    struct records records = records_of(registry);
    struct vv_registry *again = fixture_open("id");
    apply_all(again, &records);
    fixture_source(again, tenant, "id=p,n=3", 3);
    assert_false(vv_registry_settled(again, VV_REGISTRY_SOURCE, 0));
    apply_all(registry, &records); /* older or equal versions: nothing changes */
    assert_tags(registry, 0, "n=2");
    struct records newer = records_of(again);
    for (size_t i = 0; i < newer.n; i++) {
        assert_int_equal(apply(registry, &newer.items[i]), VV_OK);
    }
    assert_tags(registry, 0, "n=3");
    assert_history(registry, 0, "1:n=1;2:n=2;3:n=3");
    records_free(&newer);
    records_free(&records);
    vv_registry_destroy(again);
    vv_registry_destroy(registry);
}

static void limits_do_not_hinder_what_is_stored(void **state)
{
    (void)state;
    const uint64_t seed = 23;
    struct vv_random random = {seed};
    struct vv_registry *registry = registry_with_everything(&random);
    struct records records = records_of(registry);
    struct vv_registry_options options = {.id_tag = "id", .bytes_max = 1};
    struct vv_registry *again = NULL;
    assert_int_equal(vv_registry_create(&options, &again), VV_OK);
    apply_all(again, &records);
    struct vv_error error = {0};
    uint32_t number = 0;
    assert_int_equal(vv_registry_tenant(again, TEXT("new"), true, &number, &error), VV_TOO_LARGE);
    assert_int_equal(fixture_try_source(again, 0, "new=source", 0, &number, &error), VV_TOO_LARGE);
    records_free(&records);
    vv_registry_destroy(again);
    vv_registry_destroy(registry);
}

static void damage_is_found_or_harmless(void **state)
{
    (void)state;
    const uint64_t seed = 24;
    print_message("seed %llu\n", (unsigned long long)seed);
    struct vv_random random = {seed};
    struct vv_registry *registry = registry_with_everything(&random);
    struct records records = records_of(registry);
    struct vv_registry *again = fixture_open("id");
    size_t refused = 0;
    for (size_t i = 0; i < records.n; i++) {
        struct record *record = &records.items[i];
        for (size_t cut = 0; cut < record->bytes.size; cut++) {
            struct record part = *record;
            part.bytes.size = cut;
            assert_int_equal(apply(again, &part), VV_CORRUPT);
        }
        for (int flip = 0; flip < 20; flip++) {
            size_t at = vv_random_below(&random, record->bytes.size);
            uint8_t was = record->bytes.data[at];
            record->bytes.data[at] = (uint8_t)vv_random_next(&random);
            enum vv_status status = apply(again, record);
            assert_true(status == VV_OK || status == VV_CORRUPT || status == VV_NEWER);
            refused += status != VV_OK;
            record->bytes.data[at] = was;
        }
        struct vv_buffer longer = {0};
        vv_buffer_str(&longer, bytes_of(record));
        vv_buffer_u8(&longer, 0);
        const struct record one = {.kind = record->kind, .bytes = longer};
        if (record->kind != VV_REGISTRY_SOURCE) { /* of a known version only the head is read */
            assert_int_equal(apply(again, &one), VV_CORRUPT);
        }
        vv_buffer_deinit(&longer);
    }
    assert_true(refused > records.n);
    records_free(&records);
    vv_registry_destroy(again);
    vv_registry_destroy(registry);
}

static void newer_forms_are_told(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open(NULL);
    fixture_tenant(registry, "a");
    struct records records = records_of(registry);
    records.items[0].bytes.data[0] = 11;
    struct vv_error error = {0};
    assert_int_equal(
        vv_registry_apply(registry, VV_REGISTRY_TENANT, bytes_of(&records.items[0]), &error),
        VV_NEWER);
    assert_non_null(strstr(error.message, "newer program"));
    assert_int_equal(
        vv_registry_apply(registry, (enum vv_registry_kind)9, bytes_of(&records.items[0]), &error),
        VV_NEWER);
    records_free(&records);
    vv_registry_destroy(registry);
}

/* A record of one registry whose name or number another object has in the other one. */
static void contradictions_are_found(void **state)
{
    (void)state;
    struct vv_registry *a = fixture_open("id");
    struct vv_registry *b = fixture_open("id");
    uint32_t of_a = fixture_tenant(a, "x");
    uint32_t of_b = fixture_tenant(b, "x");
    uint32_t cpu = fixture_measurement(a, of_a, "cpu");
    uint32_t disk = fixture_measurement(b, of_b, "disk");
    fixture_measurement(b, of_b, "cpu");
    fixture_metric(a, cpu, "v", VV_FLOAT64);
    fixture_metric(b, disk, "w", VV_FLOAT64);
    fixture_source(a, of_a, "id=1", 0);
    fixture_source(a, of_a, "id=2", 0);
    fixture_source(b, of_b, "id=2", 0);
    fixture_source(b, of_b, "c=1", 0);
    struct records records = records_of(a);
    for (size_t i = 0; i < records.n; i++) {
        enum vv_status expected = records.items[i].kind == VV_REGISTRY_TENANT ? VV_OK : VV_CORRUPT;
        assert_int_equal(apply(b, &records.items[i]), expected);
    }
    struct vv_registry *empty = fixture_open("id");
    for (size_t i = 0; i < records.n; i++) { /* their tenant is missing */
        if (records.items[i].kind != VV_REGISTRY_TENANT) {
            assert_int_equal(apply(empty, &records.items[i]), VV_CORRUPT);
        }
    }
    vv_registry_destroy(empty);
    records_free(&records);
    vv_registry_destroy(b);
    vv_registry_destroy(a);
}

static void a_repeated_record_of_the_same_version_changes_nothing_else(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open("id");
    uint32_t tenant = fixture_tenant(registry, "a");
    uint32_t source = fixture_source(registry, tenant, "id=p,n=1", 1);
    vv_registry_source_observe(registry, source, 5, 9);
    struct records records = records_of(registry);
    struct vv_registry *again = fixture_open("id");
    apply_all(again, &records);
    vv_registry_source_observe(again, source, 3, 4);
    for (size_t i = 0; i < records.n; i++) {
        assert_int_equal(apply(again, &records.items[i]), VV_OK);
    }
    assert_false(vv_registry_settled(again, VV_REGISTRY_TIMES, source));
    int64_t first = 0;
    int64_t last = 0;
    assert_true(vv_registry_source_times(again, source, &first, &last));
    assert_int_equal(first, 3);
    assert_int_equal(last, 9);
    records_free(&records);
    vv_registry_destroy(again);
    vv_registry_destroy(registry);
}

static void a_new_source_costs_little_in_the_journal(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open(NULL);
    uint32_t tenant = fixture_tenant(registry, "a");
    uint32_t source = fixture_source(registry, tenant, "hostname=host_12345,os=Debian,rack=7", 0);
    struct vv_buffer buffer = {0};
    vv_registry_encode(registry, VV_REGISTRY_SOURCE, source, &buffer);
    assert_true(buffer.size <= vv_registry_source_id(registry, source).size + 8);
    vv_buffer_deinit(&buffer);
    vv_registry_destroy(registry);
}

static void the_number_is_read_without_the_rest(void **state)
{
    (void)state;
    const uint64_t seed = 25;
    struct vv_random random = {seed};
    struct vv_registry *registry = registry_with_everything(&random);
    struct records records = records_of(registry);
    uint32_t number = 0;
    for (size_t i = 0; i < records.n; i++) {
        const struct record *record = &records.items[i];
        assert_int_equal(vv_registry_record_number(record->kind, bytes_of(record), &number), VV_OK);
        assert_int_equal(number, record->number);
        const struct vv_str cut = {(const char *)record->bytes.data, 1};
        assert_int_equal(vv_registry_record_number(record->kind, cut, &number), VV_CORRUPT);
    }
    records.items[0].bytes.data[0] = 11;
    assert_int_equal(
        vv_registry_record_number(VV_REGISTRY_TENANT, bytes_of(&records.items[0]), &number),
        VV_CORRUPT);
    records_free(&records);
    vv_registry_destroy(registry);
}

static void keys_sort_by_number(void **state)
{
    (void)state;
    uint8_t key[4];
    vv_registry_key(0x01020304, key);
    assert_memory_equal(key, "\x01\x02\x03\x04", 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_comes_back),
        cmocka_unit_test(all_versions_in_any_order_give_the_last_one),
        cmocka_unit_test(numbers_go_on_after_the_highest),
        cmocka_unit_test(versions_go_on_after_the_applied_one),
        cmocka_unit_test(limits_do_not_hinder_what_is_stored),
        cmocka_unit_test(damage_is_found_or_harmless),
        cmocka_unit_test(newer_forms_are_told),
        cmocka_unit_test(contradictions_are_found),
        cmocka_unit_test(a_repeated_record_of_the_same_version_changes_nothing_else),
        cmocka_unit_test(a_new_source_costs_little_in_the_journal),
        cmocka_unit_test(the_number_is_read_without_the_rest),
        cmocka_unit_test(keys_sort_by_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
