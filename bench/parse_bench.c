/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast text becomes batches, on one thread, with the registry's lookups and batch building, in
 * a steady state: all series, metrics and definitions are known. Prints points per second and
 * nanoseconds of CPU time per point for several kinds of bodies; the best of some rounds.
 *
 *   parse_bench [hosts [kind of body, from 0]]
 */
#include "base/clock.h"
#include "base/random.h"
#include "ingest/json_points.h"
#include "ingest/line_protocol.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROUNDS          7
#define LINES           40000
#define PIECE_BYTES     ((size_t)64 * 1024)
#define BATCH_BYTES_MAX ((size_t)1 << 20)
#define START_SECONDS   INT64_C(1451606400)

static const char *const fields[] = {
    "usage_user", "usage_system",  "usage_idle",  "usage_nice",  "usage_iowait",
    "usage_irq",  "usage_softirq", "usage_steal", "usage_guest", "usage_guest_nice",
};

enum body_kind {
    BODY_INTEGERS,
    BODY_FLOATS,
    BODY_SHORT_FLOATS,
    BODY_ONE_FIELD,
    BODY_CHANGING, /* a field is left out now and then, and there is a string */
    BODY_REQUESTS, /* every line is a request of its own */
    BODY_JSON,
};

struct body {
    enum body_kind kind;
    const char *name;
    size_t n_fields;
};

static const struct body bodies[] = {
    {BODY_INTEGERS, "lines of 10 integers, 10 tags", 10},
    {BODY_FLOATS, "lines of 10 floats of 17 digits, 10 tags", 10},
    {BODY_SHORT_FLOATS, "lines of 10 floats with 2 decimals, 10 tags", 10},
    {BODY_ONE_FIELD, "lines of 1 float, 10 tags", 1},
    {BODY_CHANGING, "lines of 8 or 9 floats and a string, 10 tags", 9},
    {BODY_REQUESTS, "requests of one line of 10 floats", 10},
    {BODY_JSON, "JSON points of 10 floats, 2 tags", 10},
};

static void check(enum vv_status status)
{
    if (status != VV_OK) {
        fprintf(stderr, "parse_bench: %s\n", vv_status_name(status));
        exit(1);
    }
}

/* Other programs on the machine take no part in it. */
static int64_t cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * VV_SECOND + now.tv_nsec;
}

static void append_value(struct vv_buffer *body, enum body_kind kind, struct vv_random *random)
{
    double value = vv_random_unit(random) * 100;
    switch (kind) {
    case BODY_INTEGERS:
        vv_buffer_format(body, "%di", (int)value);
        break;
    case BODY_FLOATS:
        vv_buffer_format(body, "%.17g", value);
        break;
    default:
        vv_buffer_format(body, "%.2f", value);
        break;
    }
}

static void append_line(struct vv_buffer *body, enum body_kind kind, size_t n_fields, uint64_t host,
                        int64_t time, struct vv_random *random)
{
    vv_buffer_format(
        body,
        "cpu,hostname=host_%llu,region=eu-central-1,datacenter=eu-central-1a,rack=%llu,"
        "os=Ubuntu15.10,arch=x86,team=SF,service=%llu,service_version=1,"
        "service_environment=test ",
        (unsigned long long)host, (unsigned long long)(host % 100),
        (unsigned long long)(host % 20));
    size_t left_out = kind == BODY_CHANGING ? 1 + vv_random_below(random, 2 * n_fields) : n_fields;
    for (size_t i = 0; i < n_fields; i++) {
        if (i != left_out) {
            vv_buffer_format(body, "%s%s=", i ? "," : "", fields[i]);
            append_value(body, kind, random);
        }
    }
    vv_buffer_text(body, kind == BODY_CHANGING ? ",status=\"all is well\"" : "");
    vv_buffer_format(body, " %lld\n", (long long)(time * VV_SECOND));
}

static void append_point(struct vv_buffer *body, size_t n_fields, uint64_t host, int64_t time,
                         struct vv_random *random)
{
    vv_buffer_format(body,
                     "%c{\"measurement\":\"cpu\",\"tags\":{\"hostname\":\"host_%llu\","
                     "\"region\":\"eu-central-1\"},\"time\":%lld,\"fields\":{",
                     body->size ? ',' : '[', (unsigned long long)host,
                     (long long)(time * VV_SECOND));
    for (size_t i = 0; i < n_fields; i++) {
        vv_buffer_format(body, "%s\"%s\":", i ? "," : "", fields[i]);
        append_value(body, BODY_SHORT_FLOATS, random);
    }
    vv_buffer_text(body, "}}");
}

static struct vv_buffer make_body(enum body_kind kind, size_t n_fields, uint64_t hosts)
{
    struct vv_buffer body = {0};
    struct vv_random random = {42};
    for (uint64_t i = 0; i < LINES; i++) {
        int64_t time = START_SECONDS + (int64_t)(i / hosts) * 10;
        if (kind == BODY_JSON) {
            append_point(&body, n_fields, i % hosts, time, &random);
        } else {
            append_line(&body, kind, n_fields, i % hosts, time, &random);
        }
    }
    if (kind == BODY_JSON) {
        vv_buffer_text(&body, "]");
    }
    check(vv_buffer_status(&body));
    return body;
}

/* What a committer does with new objects, so that they are settled afterwards. */
static void settle(struct vv_registry *registry, const struct vv_batch *batch)
{
    struct vv_buffer record = {0};
    for (size_t i = 0; i < batch->n_definitions; i++) {
        enum vv_registry_kind kind = (enum vv_registry_kind)batch->definitions[i].kind;
        uint32_t number = batch->definitions[i].number;
        uint64_t version = vv_registry_encode(registry, kind, number, &record);
        vv_registry_settle(registry, kind, number, version);
    }
    vv_buffer_deinit(&record);
}

static void take(struct vv_staging *staging)
{
    struct vv_batch *batch = vv_staging_take_batch(staging);
    if (batch) {
        settle(staging->options.registry, batch);
        vv_batch_destroy(batch);
    }
}

static void feed(struct vv_staging *staging, enum body_kind kind, struct vv_str body)
{
    struct vv_line_parser *lines = NULL;
    struct vv_json_parser *json = NULL;
    check(kind == BODY_JSON ? vv_json_parser_create(staging, 1, &json)
                            : vv_line_parser_create(staging, 1, &lines));
    for (size_t at = 0; at < body.size; at += PIECE_BYTES) {
        const char *piece = body.data + at;
        size_t size = body.size - at < PIECE_BYTES ? body.size - at : PIECE_BYTES;
        check(json ? vv_json_parser_feed(json, piece, size)
                   : vv_line_parser_feed(lines, piece, size));
        if (staging->batch && staging->batch->bytes > BATCH_BYTES_MAX) {
            take(staging);
        }
    }
    check(json ? vv_json_parser_finish(json) : vv_line_parser_finish(lines));
    take(staging);
    vv_line_parser_destroy(lines);
    vv_json_parser_destroy(json);
}

/* One request; returns the points that were staged. */
static uint64_t run_request(const struct vv_staging_options *options, enum body_kind kind,
                            struct vv_str body)
{
    struct vv_staging staging;
    check(vv_staging_init(&staging, options));
    feed(&staging, kind, body);
    if (staging.refused_strict > 0) {
        fprintf(stderr, "parse_bench: refused: %s\n", staging.refusals[0].detail);
        exit(1);
    }
    vv_staging_deinit(&staging);
    return staging.points_staged;
}

/* Returns the CPU time. */
static int64_t run_once(const struct vv_staging_options *options, enum body_kind kind,
                        struct vv_str body, uint64_t *points_out)
{
    int64_t start = cpu_ns();
    *points_out = 0;
    while (body.size > 0) {
        struct vv_str request = body;
        if (kind == BODY_REQUESTS) {
            const char *newline = memchr(body.data, '\n', body.size);
            request.size = (size_t)(newline - body.data) + 1;
        }
        *points_out += run_request(options, kind, request);
        body = (struct vv_str){body.data + request.size, body.size - request.size};
    }
    return cpu_ns() - start;
}

static void measure(const struct body *body, const struct vv_staging_options *options,
                    struct vv_str text)
{
    uint64_t points = 0;
    int64_t best = INT64_MAX;
    run_once(options, body->kind, text, &points); /* makes everything known */
    for (int i = 0; i < ROUNDS; i++) {
        int64_t duration = run_once(options, body->kind, text, &points);
        best = duration < best ? duration : best;
    }
    double seconds = (double)best / 1e9;
    printf("%-46s %11.0f points/s %7.1f ns/point %8.1f MB/s\n", body->name,
           (double)points / seconds, (double)best / (double)points,
           (double)text.size / seconds / 1e6);
}

static void run(const struct body *body, uint64_t hosts)
{
    struct vv_registry_options registry_options = {
        .tenants_max = 1,
        .sources_max = 1000000,
        .metrics_max = 1000,
        .cache_bytes = (size_t)256 << 20,
    };
    struct vv_staging_options options = {
        .now_ns = (START_SECONDS + 10 * LINES) * VV_SECOND,
        .fields_max = 100,
        .line_bytes_max = 65536,
    };
    check(vv_registry_create(&registry_options, &options.registry));
    check(
        vv_registry_tenant(options.registry, VV_STR_LITERAL("bench"), true, &options.tenant, NULL));
    struct vv_buffer text = make_body(body->kind, body->n_fields, hosts);
    measure(body, &options, (struct vv_str){(const char *)text.data, text.size});
    vv_buffer_deinit(&text);
    vv_registry_destroy(options.registry);
}

int main(int argc, char **argv)
{
    size_t n_bodies = sizeof bodies / sizeof bodies[0];
    uint64_t hosts = argc > 1 ? strtoull(argv[1], NULL, 10) : 4000;
    size_t only = argc > 2 ? strtoull(argv[2], NULL, 10) : n_bodies;
    if (hosts == 0 || only > n_bodies) {
        fprintf(stderr, "usage: parse_bench [hosts [kind of body, 0 to %zu]]\n", n_bodies - 1);
        return 2;
    }
    for (size_t i = 0; i < n_bodies; i++) {
        if (only == n_bodies || only == i) {
            run(&bodies[i], hosts);
        }
    }
    return 0;
}
