/* SPDX-License-Identifier: Apache-2.0 */
/* The series cache: it never answers wrongly, stays in its bounds, and keeps what is used. */
#include "base/random.h"
#include "registry/registry_private.h"
#include "registry_fixture.h"

static struct vv_registry *open_with_cache(size_t bytes, const char *id_tag)
{
    struct vv_registry_options options = fixture_defaults;
    options.cache_bytes = bytes;
    options.id_tag = id_tag;
    struct vv_registry *registry = NULL;
    assert_int_equal(vv_registry_create(&options, &registry), VV_OK);
    return registry;
}

static void keep(struct vv_registry *registry, uint32_t tenant, const char *raw, uint32_t source,
                 uint32_t measurement)
{
    vv_series_cache_keep(registry, tenant, vv_str_of(raw), (struct vv_series){source, measurement},
                         0);
}

/* The source, or -1. */
static int64_t find(struct vv_registry *registry, uint32_t tenant, const char *raw)
{
    struct vv_series series = {0};
    bool found = vv_registry_series_find(registry, tenant, vv_str_of(raw), &series);
    return found ? (int64_t)series.source : -1;
}

static void what_is_kept_is_found(void **state)
{
    (void)state;
    struct vv_registry *registry = open_with_cache(1 << 20, NULL);
    struct vv_series series = {0};
    assert_int_equal(find(registry, 1, "cpu,host=a"), -1);
    keep(registry, 1, "cpu,host=a", 7, 3);
    keep(registry, 2, "cpu,host=a", 8, 4);
    keep(registry, 1, "cpu,host=b", 9, 5);
    keep(registry, 1, "", 10, 6);
    assert_true(vv_registry_series_find(registry, 1, TEXT("cpu,host=a"), &series));
    assert_int_equal(series.source, 7);
    assert_int_equal(series.measurement, 3);
    assert_int_equal(find(registry, 2, "cpu,host=a"), 8);
    assert_int_equal(find(registry, 1, "cpu,host=b"), 9);
    assert_int_equal(find(registry, 2, "cpu,host=b"), -1);
    assert_int_equal(find(registry, 1, "cpu,host="), -1);
    assert_int_equal(find(registry, 1, ""), 10);
    struct vv_registry_figures figures;
    vv_registry_read_figures(registry, &figures);
    assert_int_equal(figures.cache_hits, 4);
    assert_int_equal(figures.cache_misses, 3);
    vv_registry_destroy(registry);
}

static void no_cache_finds_nothing(void **state)
{
    (void)state;
    struct vv_registry *registry = open_with_cache(0, NULL);
    keep(registry, 1, "cpu", 7, 3);
    assert_int_equal(find(registry, 1, "cpu"), -1);
    vv_registry_destroy(registry);
}

/* Raw bytes of some length that tell their number. */
static void raw_of(uint32_t number, char *out)
{
    size_t size = (size_t)sprintf(out, "cpu,host=%u", number);
    memset(out + size, 'x', number % 300);
    out[size + number % 300] = '\0';
}

static void any_traffic_is_answered_rightly(void **state)
{
    (void)state;
    const uint64_t seed = 8;
    print_message("seed %llu\n", (unsigned long long)seed);
    struct vv_random random = {seed};
    static const size_t sizes[] = {4096, 10000, 300000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct vv_registry *registry = open_with_cache(sizes[i], NULL);
        size_t found = 0;
        for (int step = 0; step < 60000; step++) {
            char raw[400];
            uint32_t number =
                (uint32_t)vv_random_below(&random, 1 + vv_random_below(&random, 3000));
            raw_of(number, raw);
            int64_t source = find(registry, 5, raw);
            assert_true(source == -1 || source == number);
            found += source != -1;
            if (source == -1) {
                keep(registry, 5, raw, number, 0);
                assert_int_equal(find(registry, 5, raw), number);
            }
        }
        assert_true(found > 500);
        struct vv_registry_figures figures;
        vv_registry_read_figures(registry, &figures);
        assert_true(figures.bytes < (2 << 20) + sizes[i]);
        vv_registry_destroy(registry);
    }
}

static void what_is_used_outlives_what_is_not(void **state)
{
    (void)state;
    struct vv_registry *registry = open_with_cache(64 << 10, NULL);
    size_t kept = 0;
    for (uint32_t i = 0; i < 20000; i++) {
        char raw[64];
        snprintf(raw, sizeof raw, "once,host=%u", i);
        keep(registry, 1, raw, i, 0);
        for (uint32_t hot = 0; hot < 20; hot++) {
            snprintf(raw, sizeof raw, "hot,host=%u", hot);
            if (find(registry, 1, raw) == -1) {
                keep(registry, 1, raw, hot, 0);
                kept++;
            }
        }
    }
    assert_in_range(kept, 20, 100); /* without a second chance: thousands */
    vv_registry_destroy(registry);
}

static void very_long_bytes_are_not_kept(void **state)
{
    (void)state;
    struct vv_registry *registry = open_with_cache(1 << 20, NULL);
    char *raw = malloc(70000);
    assert_non_null(raw);
    memset(raw, 'x', 70000);
    for (size_t size = 1; size < 70000; size = size * 3 / 2 + 1) {
        struct vv_series series = {0};
        vv_series_cache_keep(registry, 1, (struct vv_str){raw, size}, (struct vv_series){4, 4}, 0);
        bool found = vv_registry_series_find(registry, 1, (struct vv_str){raw, size}, &series);
        assert_int_equal(found, size <= 4096);
    }
    free(raw);
    vv_registry_destroy(registry);
}

/* ---- where tags can change ---- */

/* What staging does with a line; tells whether the cache answered. */
static bool write_line(struct vv_registry *registry, uint32_t tenant, const char *raw, int64_t time)
{
    struct vv_series series = {0};
    if (vv_registry_series_find(registry, tenant, vv_str_of(raw), &series)) {
        assert_int_equal(series.measurement, 77);
        return true;
    }
    struct vv_tag tags[4];
    size_t n = fixture_tags(raw, tags);
    assert_int_equal(vv_registry_series(registry, tenant, vv_str_of(raw), 77, tags, n, time,
                                        &series.source, NULL),
                     VV_OK);
    return false;
}

static void lines_are_known_from_the_second_one_on(void **state)
{
    (void)state;
    struct vv_registry *registry = open_with_cache(1 << 20, NULL);
    uint32_t tenant = fixture_tenant(registry, "a");
    assert_false(write_line(registry, tenant, "id=p,hall=1", 10));
    assert_true(write_line(registry, tenant, "id=p,hall=1", 10));
    assert_false(write_line(registry, tenant, "hall=1,id=p", 10));
    assert_true(write_line(registry, tenant, "hall=1,id=p", 10));
    assert_true(write_line(registry, tenant, "id=p,hall=1", 5));
    assert_int_equal(vv_registry_source_count(registry), 1);
    uint32_t source = 0;
    const struct vv_tag bad = {TEXT("k"), TEXT("\n")};
    assert_int_equal(
        vv_registry_series(registry, tenant, TEXT("bad"), 77, &bad, 1, 0, &source, NULL),
        VV_INVALID);
    assert_int_equal(source, VV_REGISTRY_NONE);
    assert_int_equal(find(registry, tenant, "bad"), -1);
    vv_registry_destroy(registry);
}

static void changes_of_tags_are_not_hidden(void **state)
{
    (void)state;
    struct vv_registry *registry = open_with_cache(1 << 20, "id");
    uint32_t tenant = fixture_tenant(registry, "a");
    assert_false(write_line(registry, tenant, "id=p,hall=1", 10));
    assert_true(write_line(registry, tenant, "id=p,hall=1", 12));
    assert_false(write_line(registry, tenant, "id=p,hall=2", 20));
    assert_false(write_line(registry, tenant, "id=p,hall=1", 30));
    assert_false(write_line(registry, tenant, "id=p,hall=2", 40));
    assert_true(write_line(registry, tenant, "id=p,hall=2", 42));
    assert_history(registry, 0, "10:hall=1;20:hall=2;30:hall=1;40:hall=2");
    assert_false(write_line(registry, tenant, "id=p", 50)); /* mentions nothing */
    assert_true(write_line(registry, tenant, "id=p", 51));
    assert_true(write_line(registry, tenant, "id=p,hall=2", 52));
    vv_registry_destroy(registry);
}

static void late_tags_do_not_become_known_as_present_ones(void **state)
{
    (void)state;
    struct vv_registry *registry = open_with_cache(1 << 20, "id");
    uint32_t tenant = fixture_tenant(registry, "a");
    assert_false(write_line(registry, tenant, "id=p,hall=1", 10));
    for (int i = 0; i < 5; i++) {
        assert_false(write_line(registry, tenant, "id=p,hall=2", 5)); /* late: changes nothing */
        assert_true(write_line(registry, tenant, "id=p,hall=1", 11)); /* and disturbs nothing */
    }
    assert_history(registry, 0, "10:hall=1");
    assert_false(write_line(registry, tenant, "id=p,hall=2", 50));
    assert_history(registry, 0, "10:hall=1;50:hall=2");
    vv_registry_destroy(registry);
}

static void random_lines_leave_the_tags_that_were_written_last(void **state)
{
    (void)state;
    const uint64_t seed = 17;
    print_message("seed %llu\n", (unsigned long long)seed);
    struct vv_random random = {seed};
    struct vv_registry *registry = open_with_cache(1 << 20, "id");
    uint32_t tenant = fixture_tenant(registry, "a");
    int halls[4] = {0};
    for (int time = 1; time < 20000; time++) {
        unsigned source = (unsigned)vv_random_below(&random, 4);
        if (vv_random_below(&random, 6) == 0) {
            halls[source] = (int)vv_random_below(&random, 3);
        }
        char raw[64];
        snprintf(raw, sizeof raw, "id=p%u,hall=%d", source, halls[source]);
        write_line(registry, tenant, raw, time);
        uint32_t number = 0;
        char id[8];
        snprintf(id, sizeof id, "p%u", source);
        assert_int_equal(vv_registry_source_by_id(registry, tenant, vv_str_of(id), &number), VV_OK);
        assert_tags(registry, number, strchr(raw, ',') + 1);
    }
    struct vv_registry_figures figures;
    vv_registry_read_figures(registry, &figures);
    assert_true(figures.cache_hits > 5000);
    vv_registry_destroy(registry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_kept_is_found),
        cmocka_unit_test(no_cache_finds_nothing),
        cmocka_unit_test(any_traffic_is_answered_rightly),
        cmocka_unit_test(what_is_used_outlives_what_is_not),
        cmocka_unit_test(very_long_bytes_are_not_kept),
        cmocka_unit_test(lines_are_known_from_the_second_one_on),
        cmocka_unit_test(changes_of_tags_are_not_hidden),
        cmocka_unit_test(late_tags_do_not_become_known_as_present_ones),
        cmocka_unit_test(random_lines_leave_the_tags_that_were_written_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
