/* SPDX-License-Identifier: Apache-2.0 */
/* Many threads at once: one tag set is one source, whatever its order and whoever comes first, and
 * readers see whole objects. Meant to run under ThreadSanitizer, too. */
#include "base/random.h"
#include "registry/registry_private.h"
#include "registry/shared.h"
#include "registry_fixture.h"

#include <pthread.h>
#include <stdatomic.h>

#define THREADS 4
#define SETS    400
#define STEPS   6000

struct shared {
    struct vv_registry *registry;
    uint32_t tenants[2];
    _Atomic int wrong_line; /* the first check that failed */
};

struct worker {
    struct shared *shared;
    uint64_t seed;
    bool observes;
    uint32_t sources[2][SETS]; /* what this thread was told; NONE: not asked */
    uint32_t metrics[SETS];
};

static void check_at(struct shared *shared, bool good, int line)
{
    int none = 0;
    if (!good) {
        atomic_compare_exchange_strong(&shared->wrong_line, &none, line);
    }
}

#define CHECK(shared, good) check_at((shared), (good), __LINE__)

/* Set number `set` in a random order of its tags. */
static size_t tags_of(uint32_t set, struct vv_random *random, char room[4][24],
                      struct vv_tag tags[4])
{
    static const char *const keys[] = {"host", "region", "rack", "os"};
    const uint32_t values[] = {set, set % 7, set % 50, set % 3};
    for (size_t i = 0; i < 4; i++) {
        int size = snprintf(room[i], 24, "v%u", values[i]);
        tags[i] = (struct vv_tag){vv_str_of(keys[i]), {room[i], (size_t)size}};
    }
    for (size_t i = 4; i > 1; i--) {
        size_t other = vv_random_below(random, i);
        struct vv_tag moved = tags[other];
        tags[other] = tags[i - 1];
        tags[i - 1] = moved;
    }
    return 4;
}

static void ask_for_source(struct worker *worker, struct vv_random *random)
{
    struct shared *shared = worker->shared;
    char room[4][24];
    struct vv_tag tags[4];
    uint32_t set = (uint32_t)vv_random_below(random, SETS);
    size_t t = vv_random_below(random, 2);
    size_t n = tags_of(set, random, room, tags);
    uint32_t source = VV_REGISTRY_NONE;
    enum vv_status status =
        vv_registry_source(shared->registry, shared->tenants[t], tags, n, 1, &source, NULL);
    CHECK(shared, status == VV_OK);
    uint32_t *known = &worker->sources[t][set];
    CHECK(shared, *known == VV_REGISTRY_NONE || *known == source);
    CHECK(shared, vv_registry_source_tenant(shared->registry, source) == shared->tenants[t]);
    CHECK(shared, vv_registry_source_id(shared->registry, source).size > 20);
    *known = source;
}

static void use_cache(struct worker *worker, struct vv_random *random)
{
    struct shared *shared = worker->shared;
    uint32_t number = (uint32_t)vv_random_below(random, 3000);
    char raw[32];
    snprintf(raw, sizeof raw, "cpu,host=%u", number);
    struct vv_series series = {0};
    if (vv_registry_series_find(shared->registry, 0, vv_str_of(raw), &series)) {
        CHECK(shared, series.source == number && series.measurement == number + 1);
    } else {
        vv_series_cache_keep(shared->registry, 0, vv_str_of(raw),
                             (struct vv_series){number, number + 1}, 0);
    }
}

static void ask_for_metric(struct worker *worker, struct vv_random *random)
{
    struct shared *shared = worker->shared;
    uint32_t which = (uint32_t)vv_random_below(random, SETS);
    char name[16];
    snprintf(name, sizeof name, "m%u", which % 10);
    uint32_t measurement = VV_REGISTRY_NONE;
    CHECK(shared, vv_registry_measurement(shared->registry, shared->tenants[0], vv_str_of(name),
                                          true, &measurement, NULL) == VV_OK);
    snprintf(name, sizeof name, "f%u", which);
    uint32_t metric = VV_REGISTRY_NONE;
    enum vv_value_type type = VV_FLOAT64;
    CHECK(shared, vv_registry_metric(shared->registry, measurement, vv_str_of(name), VV_INT64, true,
                                     &metric, &type, NULL) == VV_OK);
    CHECK(shared, type == VV_INT64);
    CHECK(shared, worker->metrics[which] == VV_REGISTRY_NONE || worker->metrics[which] == metric);
    worker->metrics[which] = metric;
    struct vv_metric_info info;
    vv_registry_metric_info(shared->registry, metric, &info);
    CHECK(shared, info.measurement == measurement && info.name.size > 3);
    CHECK(shared, vv_registry_describe(shared->registry, metric, TEXT("s"), vv_str_of(name),
                                       NULL) == VV_OK);
}

static void look_around(struct worker *worker, struct vv_random *random)
{
    struct shared *shared = worker->shared;
    struct vv_str pattern = TEXT("v1*");
    const struct vv_matcher matcher = {
        TEXT("host"), vv_random_below(random, 2) ? VV_MATCH_GLOB : VV_MATCH_NOT_GLOB, &pattern, 1};
    const struct vv_selector selector = {.matchers = &matcher, .n_matchers = 1};
    uint32_t *found = NULL;
    size_t n = 0;
    CHECK(shared, vv_registry_select(shared->registry, shared->tenants[0], &selector,
                                     VV_REGISTRY_NONE, 1000, &found, &n, NULL) == VV_OK);
    for (size_t i = 1; i < n; i++) {
        CHECK(shared, found[i - 1] < found[i]);
    }
    free(found);
    uint32_t *metrics = NULL;
    CHECK(shared, vv_registry_find_metrics(shared->registry, shared->tenants[0], NULL, 0, &metrics,
                                           &n, NULL) == VV_OK);
    free(metrics);
    struct vv_registry_figures figures;
    vv_registry_read_figures(shared->registry, &figures);
    CHECK(shared, figures.sources <= 2 * SETS);
}

static void work_on_a_source(struct worker *worker, struct vv_random *random)
{
    struct shared *shared = worker->shared;
    struct vv_registry *registry = shared->registry;
    uint32_t source = (uint32_t)vv_random_below(random, 2 * SETS);
    struct vv_buffer buffer = {0};
    uint64_t version = vv_registry_encode(registry, VV_REGISTRY_SOURCE, source, &buffer);
    vv_registry_settle(registry, VV_REGISTRY_SOURCE, source, version);
    vv_buffer_deinit(&buffer);
    if (version == 0) {
        return; /* not made yet */
    }
    struct vv_arena arena = {0};
    struct vv_tag_version tags;
    CHECK(shared, vv_registry_source_tags(registry, source, &arena, &tags) == VV_OK);
    CHECK(shared, tags.n_tags == 4);
    vv_arena_deinit(&arena);
    struct vv_plan plans[2] = {{VV_TIME_MIN, VV_DAY, VV_HOUR, 1, 0}, {0, VV_HOUR, VV_HOUR, 1, 0}};
    CHECK(shared, vv_registry_source_set_plans(registry, source, plans,
                                               1 + vv_random_below(random, 2)) == VV_OK);
    struct vv_plans known = vv_registry_source_plans(registry, source);
    CHECK(shared, known.n >= 1 && known.plans[known.n - 1].span_ns == VV_HOUR);
    uint8_t region = (uint8_t)(1 + vv_random_below(random, VV_REGIONS_MAX - 1));
    CHECK(shared, vv_registry_learn_plans(registry, source, region, plans,
                                          1 + vv_random_below(random, 2), NULL) == VV_OK);
    known = vv_registry_source_plans_in(registry, source, region);
    CHECK(shared, known.n >= 1 && known.plans[0].bucket_ns == VV_DAY);
    CHECK(shared, vv_registry_plan_regions(registry) > region);
    int64_t first = 0;
    int64_t last = 0;
    if (worker->observes) {
        int64_t time = (int64_t)vv_random_below(random, 1000);
        vv_registry_source_observe(registry, source, time, time);
    } else if (vv_registry_source_times(registry, source, &first, &last)) {
        CHECK(shared, first >= 0 && last < 1000);
    }
}

static void *run(void *context)
{
    struct worker *worker = context;
    struct vv_random random = {worker->seed};
    for (int step = 0; step < STEPS; step++) {
        uint64_t what = vv_random_below(&random, 100);
        if (what < 50) {
            ask_for_source(worker, &random);
        } else if (what < 70) {
            use_cache(worker, &random);
        } else if (what < 80) {
            ask_for_metric(worker, &random);
        } else if (what < 99) {
            work_on_a_source(worker, &random);
        } else {
            look_around(worker, &random);
        }
    }
    return NULL;
}

static void run_all(struct shared *shared, struct worker *workers, void *(*what)(void *))
{
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        workers[i].shared = shared;
        workers[i].seed = 1000 + i;
        workers[i].observes = i == 0;
        memset(workers[i].sources, 0xFF, sizeof workers[i].sources);
        memset(workers[i].metrics, 0xFF, sizeof workers[i].metrics);
        assert_int_equal(pthread_create(&threads[i], NULL, what, &workers[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(shared->wrong_line, 0);
}

static struct worker workers[THREADS];

static void one_tag_set_is_one_source_for_all_threads(void **state)
{
    (void)state;
    print_message("seeds 1000 to %d\n", 1000 + THREADS - 1);
    struct shared shared = {.registry = fixture_open(NULL)};
    shared.tenants[0] = fixture_tenant(shared.registry, "a");
    shared.tenants[1] = fixture_tenant(shared.registry, "b");
    run_all(&shared, workers, run);

    uint32_t made = 0;
    for (size_t t = 0; t < 2; t++) {
        for (size_t set = 0; set < SETS; set++) {
            uint32_t source = VV_REGISTRY_NONE;
            for (size_t i = 0; i < THREADS; i++) {
                uint32_t told = workers[i].sources[t][set];
                assert_true(told == VV_REGISTRY_NONE || source == VV_REGISTRY_NONE ||
                            told == source);
                source = told != VV_REGISTRY_NONE ? told : source;
            }
            made += source != VV_REGISTRY_NONE;
        }
    }
    assert_int_equal(vv_registry_source_count(shared.registry), made);
    for (size_t i = 1; i < THREADS; i++) {
        for (size_t k = 0; k < SETS; k++) {
            assert_true(workers[i].metrics[k] == VV_REGISTRY_NONE ||
                        workers[0].metrics[k] == VV_REGISTRY_NONE ||
                        workers[i].metrics[k] == workers[0].metrics[k]);
        }
    }
    vv_registry_destroy(shared.registry);
}

/* ---- with tags that change ---- */

static void *flap(void *context)
{
    struct worker *worker = context;
    struct shared *shared = worker->shared;
    struct vv_random random = {worker->seed};
    for (int step = 0; step < STEPS / 2; step++) {
        char raw[64];
        unsigned id = (unsigned)vv_random_below(&random, 8);
        snprintf(raw, sizeof raw, "id=p%u,n=%u", id, (unsigned)vv_random_below(&random, 40));
        struct vv_series series = {0};
        if (!vv_registry_series_find(shared->registry, shared->tenants[0], vv_str_of(raw),
                                     &series)) {
            struct vv_tag tags[4];
            size_t n = fixture_tags(raw, tags);
            CHECK(shared, vv_registry_series(shared->registry, shared->tenants[0], vv_str_of(raw),
                                             0, tags, n, step, &series.source, NULL) == VV_OK);
        }
        struct vv_arena arena = {0};
        struct vv_tag_version versions[VV_TAG_HISTORY_MAX];
        size_t n = 0;
        CHECK(shared, vv_registry_source_history(shared->registry, series.source, &arena, versions,
                                                 &n) == VV_OK);
        CHECK(shared, n >= 1 && versions[n - 1].n_tags == 1);
        for (size_t i = 1; i < n; i++) {
            CHECK(shared, versions[i - 1].from_ns < versions[i].from_ns);
        }
        vv_arena_deinit(&arena);
        if (step % 100 == 0) {
            look_around(worker, &random);
        }
    }
    return NULL;
}

static void changing_tags_are_seen_whole(void **state)
{
    (void)state;
    struct shared shared = {.registry = fixture_open("id")};
    shared.tenants[0] = fixture_tenant(shared.registry, "a");
    run_all(&shared, workers, flap);
    struct vv_registry_figures figures;
    vv_registry_read_figures(shared.registry, &figures);
    assert_int_equal(figures.sources, 8);
    assert_true(figures.tag_changes > 0 && figures.tag_values <= 40);
    vv_registry_destroy(shared.registry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_tag_set_is_one_source_for_all_threads),
        cmocka_unit_test(changing_tags_are_seen_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
