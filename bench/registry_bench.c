/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a source costs: memory with the tag index, making, looking up, cache hits, selecting.
 *
 *   registry_bench [SOURCES [ID_TAG]]
 *
 * Sources have five tags as in TSBS's cpu data; with an ID_TAG of `hostname` the tags are versions.
 */
#include "base/clock.h"
#include "base/random.h"
#include "registry/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define N_TAGS      5
#define RAW_MAX     160
#define CACHE_BYTES ((size_t)192 << 20)
#define HOT_SOURCES 4000

struct source_text {
    char values[N_TAGS][32];
    struct vv_tag tags[N_TAGS];
    char raw[RAW_MAX]; /* the line's beginning */
    size_t raw_size;
};

struct bench {
    struct vv_registry *registry;
    uint32_t sources;
    uint32_t tenant;
    char *raws;      /* RAW_MAX each */
    int64_t text_ns; /* what writing all texts takes: not the registry's */
};

static void fail(const char *what, const struct vv_error *error)
{
    fprintf(stderr, "registry_bench: %s: %s\n", what, error->message);
    exit(1);
}

static void make_text(uint32_t i, struct source_text *out)
{
    static const char *const keys[N_TAGS] = {"hostname", "os", "rack", "region", "service"};
    static const char *const regions[] = {"us-east-1",      "us-west-1",      "us-west-2",
                                          "eu-west-1",      "eu-central-1",   "ap-southeast-1",
                                          "ap-southeast-2", "ap-northeast-1", "sa-east-1"};
    snprintf(out->values[0], sizeof out->values[0], "host_%u", (unsigned)i);
    snprintf(out->values[1], sizeof out->values[1], "Ubuntu16.%u", (unsigned)i % 3);
    snprintf(out->values[2], sizeof out->values[2], "%u", (unsigned)i % 100);
    snprintf(out->values[3], sizeof out->values[3], "%s", regions[i % 9]);
    snprintf(out->values[4], sizeof out->values[4], "service-%u", (unsigned)i % 20);
    out->raw_size = (size_t)snprintf(out->raw, RAW_MAX, "cpu");
    for (size_t k = 0; k < N_TAGS; k++) {
        out->tags[k] = (struct vv_tag){vv_str_of(keys[k]), vv_str_of(out->values[k])};
        out->raw_size += (size_t)snprintf(out->raw + out->raw_size, RAW_MAX - out->raw_size,
                                          ",%s=%s", keys[k], out->values[k]);
    }
}

static double resident_bytes(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%*s %ld", &pages) != 1) {
        pages = 0;
    }
    if (file) {
        fclose(file);
    }
    return (double)pages * 4096;
}

/* CPU time: what else runs on the machine counts less. */
static int64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (int64_t)time.tv_sec * VV_SECOND + time.tv_nsec;
}

static void report(const char *what, int64_t elapsed_ns, uint32_t n)
{
    printf("%-34s %8.0f ns each\n", what, (double)elapsed_ns / n);
}

static void measure_texts(struct bench *bench)
{
    int64_t start_ns = now_ns();
    for (uint32_t i = 0; i < bench->sources; i++) {
        struct source_text text;
        make_text(i, &text);
        memcpy(bench->raws + (size_t)i * RAW_MAX, text.raw, text.raw_size + 1);
    }
    bench->text_ns = now_ns() - start_ns;
}

static void make_all(struct bench *bench, const char *what)
{
    const struct vv_plan plan = {VV_TIME_MIN, VV_DAY, VV_HOUR, 1, 0};
    struct vv_error error = {0};
    int64_t start_ns = now_ns();
    for (uint32_t i = 0; i < bench->sources; i++) {
        struct source_text text;
        uint32_t source = 0;
        make_text(i, &text);
        if (vv_registry_source(bench->registry, bench->tenant, text.tags, N_TAGS, i, &source,
                               &error) != VV_OK ||
            vv_registry_source_set_plans(bench->registry, source, &plan, 1) != VV_OK) {
            fail("a source", &error);
        }
    }
    report(what, now_ns() - start_ns - bench->text_ns, bench->sources);
}

static void fill_cache(struct bench *bench)
{
    struct vv_error error = {0};
    for (uint32_t i = 0; i < bench->sources; i++) {
        struct source_text text;
        uint32_t source = 0;
        make_text(i, &text);
        if (vv_registry_series(bench->registry, bench->tenant,
                               (struct vv_str){text.raw, text.raw_size}, 0, text.tags, N_TAGS, i,
                               &source, &error) != VV_OK) {
            fail("a series", &error);
        }
    }
}

static void find_series(struct bench *bench, const char *what, uint32_t among, bool in_order)
{
    struct vv_random random = {1};
    uint32_t hits = 0;
    int64_t start_ns = now_ns();
    for (uint32_t i = 0; i < bench->sources; i++) {
        uint32_t source = in_order ? i : (uint32_t)vv_random_below(&random, among);
        struct vv_series series;
        const struct vv_str raw = vv_str_of(bench->raws + (size_t)source * RAW_MAX);
        hits += vv_registry_series_find(bench->registry, bench->tenant, raw, &series);
    }
    report(what, now_ns() - start_ns, bench->sources);
    if (hits < bench->sources) {
        printf("  (%u of %u hits)\n", (unsigned)hits, (unsigned)bench->sources);
    }
}

static void select_sources(struct bench *bench, const char *key, enum vv_match_op op,
                           const char *value)
{
    const struct vv_str values = vv_str_of(value);
    const struct vv_matcher matcher = {vv_str_of(key), op, &values, 1};
    const struct vv_selector selector = {.matchers = &matcher, .n_matchers = 1};
    uint32_t *sources = NULL;
    size_t n = 0;
    struct vv_error error = {0};
    int64_t start_ns = now_ns();
    if (vv_registry_select(bench->registry, bench->tenant, &selector, VV_REGISTRY_NONE, SIZE_MAX,
                           &sources, &n, &error) != VV_OK) {
        fail("selecting", &error);
    }
    printf("select %s %s: %zu sources in %.3f ms\n", key, value, n,
           (double)(now_ns() - start_ns) / 1e6);
    free(sources);
}

int main(int argc, char **argv)
{
    struct bench bench = {.sources = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1000000};
    const struct vv_registry_options options = {.id_tag = argc > 2 ? argv[2] : NULL,
                                                .tenants_max = 10,
                                                .sources_max = bench.sources,
                                                .metrics_max = 1000,
                                                .cache_bytes = CACHE_BYTES};
    struct vv_error error = {0};
    bench.raws = malloc((size_t)bench.sources * RAW_MAX + 1);
    if (!bench.raws || vv_registry_create(&options, &bench.registry) != VV_OK ||
        vv_registry_tenant(bench.registry, VV_STR_LITERAL("bench"), true, &bench.tenant, &error)) {
        fail("the registry", &error);
    }
    measure_texts(&bench);
    double before = resident_bytes();
    make_all(&bench, "make (with a plan)");
    printf("%-34s %8.0f bytes a source\n", "memory",
           (resident_bytes() - before) / (double)bench.sources);
    make_all(&bench, "find by tags");
    fill_cache(&bench);
    find_series(&bench, "cache hit, in order", bench.sources, true);
    find_series(&bench, "cache hit, random", bench.sources, false);
    find_series(&bench, "cache hit, random among 4,000",
                bench.sources < HOT_SOURCES ? bench.sources : HOT_SOURCES, false);
    select_sources(&bench, "region", VV_MATCH_IN, "eu-west-1");
    select_sources(&bench, "hostname", VV_MATCH_GLOB, "host_99*");
    vv_registry_destroy(bench.registry);
    free(bench.raws);
    return 0;
}
