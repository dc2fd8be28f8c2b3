/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loader for benchmarks of Cassandra by lib/cql alone, without Varve:
 *
 *   value  one row of a bigint and a double a request
 *   blob   one row of a bigint and a blob of --size random bytes a request
 *   rows   points as the field keeps them, one row each: unlogged batches of one partition
 *   runs   a row of --size random bytes with the key and the columns of Varve's runs, of --sources
 *          partitions in turn
 *   marks  rows of Varve's ledger, of --sources in batches of --batch rows; marks_in_columns: what
 *          they say in a column for each thing, as it once was
 *
 * The tables are there already (bench/cassandra_client.py, bench/cassandra_writing.py). Requests
 * are sent by the main thread, --window of them under way. CPU seconds are of the whole process
 * from the first request to the last answer. Prints one JSON object.
 */
#include "base/random.h"
#include "base/status.h"
#include "cql/session.h"

#include <inttypes.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define METRICS   10
#define BLOB_MAX  (1u << 20)
#define BATCH_MAX 10000

struct options {
    const char *contact_points;
    const char *mode;
    size_t requests; /* of value, blob and runs */
    size_t size;     /* of a blob, a run */
    size_t window;
    size_t sources;
    size_t reports; /* of each source */
    size_t batch;   /* rows of a request */
    int64_t start_s;
};

struct load {
    const struct options *options;
    struct vvcql_session *session;
    const struct vvcql_prepared *insert;
    struct vv_random random;
    sem_t room;
    _Atomic size_t failures;
    size_t requests;
    size_t rows;
    uint8_t *blob;
};

/* ---- sending ---- */

/* In the session's thread. */
static void land(void *context, struct vvcql_result *take_result, const struct vvcql_error *error)
{
    struct load *load = context;
    if (error && atomic_fetch_add(&load->failures, 1) == 0) {
        fprintf(stderr, "cql_load: %s\n", error->message);
    }
    vvcql_result_destroy(take_result);
    sem_post(&load->room);
}

static void send_statement(struct load *load, struct vvcql_statement *take_statement)
{
    while (sem_wait(&load->room) != 0) {
    }
    vvcql_set_idempotent(take_statement, true);
    load->requests++;
    vvcql_execute(load->session, take_statement, land, load);
}

static void wait_for_all(struct load *load)
{
    for (size_t i = 0; i < load->options->window; i++) {
        while (sem_wait(&load->room) != 0) {
        }
    }
}

/* ---- what is sent ---- */

static void send_values(struct load *load)
{
    for (size_t i = 0; i < load->options->requests; i++) {
        struct vvcql_statement *statement = vvcql_statement_prepared(load->insert);
        vvcql_add_bigint(statement, (int64_t)i);
        vvcql_add_double(statement, (double)i * 0.5);
        send_statement(load, statement);
        load->rows++;
    }
}

static void send_blobs(struct load *load)
{
    size_t size = load->options->size;
    for (size_t i = 0; i < load->options->requests; i++) {
        /* Another part of the random bytes each time. */
        const uint8_t *data = load->blob + vv_random_below(&load->random, BLOB_MAX - size);
        struct vvcql_statement *statement = vvcql_statement_prepared(load->insert);
        vvcql_add_bigint(statement, (int64_t)i);
        vvcql_add_bytes(statement, data, size);
        send_statement(load, statement);
        load->rows++;
    }
}

static struct vvcql_statement *point(struct load *load, size_t source, size_t report, size_t metric)
{
    char name[32];
    int64_t time_s = load->options->start_s + (int64_t)report * 10;
    uint8_t uuid[16] = {0};
    struct vvcql_statement *statement = vvcql_statement_prepared(load->insert);
    snprintf(name, sizeof name, "cpu.usage_%zu", metric);
    memcpy(uuid + 8, &source, sizeof source);
    vvcql_add_text(statement, "bench");
    vvcql_add_uuid(statement, uuid);
    vvcql_add_timestamp(statement, time_s / 86400 * 86400 * 1000); /* bucket: a day */
    vvcql_add_smallint(statement, 0);                              /* split */
    vvcql_add_timestamp(statement, time_s * 1000);
    vvcql_add_int(statement, 0); /* nanos */
    vvcql_add_text(statement, name);
    vvcql_add_bigint(statement, (int64_t)vv_random_below(&load->random, 100));
    vvcql_add_bigint(statement, (int64_t)load->rows + 1000); /* timestamp */
    return statement;
}

/* As many reports of one source as fill a batch, source by source, then the next ones. */
static void send_rows(struct load *load)
{
    const struct options *options = load->options;
    size_t together = options->batch / METRICS > 0 ? options->batch / METRICS : 1;
    for (size_t first = 0; first < options->reports; first += together) {
        size_t end = first + together < options->reports ? first + together : options->reports;
        for (size_t source = 0; source < options->sources; source++) {
            struct vvcql_statement *batch = vvcql_batch_create(VVCQL_BATCH_UNLOGGED);
            for (size_t report = first; report < end; report++) {
                for (size_t metric = 0; metric < METRICS; metric++) {
                    vvcql_batch_add(batch, point(load, source, report, metric));
                    load->rows++;
                }
            }
            send_statement(load, batch);
        }
    }
}

static struct vvcql_statement *run_of(struct load *load, size_t source, int64_t number)
{
    const uint8_t *data =
        load->blob + vv_random_below(&load->random, BLOB_MAX - load->options->size);
    struct vvcql_statement *statement = vvcql_statement_prepared(load->insert);
    struct vv_random scattered = {source};
    uint64_t id = vv_random_next(&scattered);
    uint8_t uuid[16] = {0};
    memcpy(uuid, &id, sizeof id);
    vvcql_add_text(statement, "");      /* region */
    vvcql_add_text(statement, "bench"); /* tenant */
    vvcql_add_uuid(statement, uuid);
    vvcql_add_timestamp(statement, load->options->start_s * 1000); /* bucket: 8 days */
    vvcql_add_int(statement, 8 * 86400);
    vvcql_add_smallint(statement, 0); /* split */
    vvcql_add_text(statement, "cpu");
    vvcql_add_timestamp(statement, load->options->start_s * 1000); /* span */
    vvcql_add_bigint(statement, number);
    vvcql_add_bigint(statement, 0);                /* part */
    vvcql_add_bytes(statement, data, METRICS * 8); /* ids of metrics */
    vvcql_add_bytes(statement, data, load->options->size);
    vvcql_add_bigint(statement, number);     /* version */
    vvcql_add_int(statement, 10 * 86400);    /* TTL */
    vvcql_add_bigint(statement, number + 1); /* timestamp */
    return statement;
}

static void send_runs(struct load *load)
{
    for (size_t i = 0; i < load->options->requests; i++) {
        send_statement(load, run_of(load, i % load->options->sources, (int64_t)i));
        load->rows++;
    }
}

/* What all forms of a mark have in front. */
static struct vvcql_statement *begin_mark(struct load *load)
{
    struct vvcql_statement *statement = vvcql_statement_prepared(load->insert);
    vvcql_add_int(statement, 10 * 86400);             /* TTL */
    vvcql_add_bigint(statement, (int64_t)load->rows); /* timestamp */
    return statement;
}

static void add_slot(struct load *load, struct vvcql_statement *statement, size_t part)
{
    vvcql_add_text(statement, ""); /* region */
    vvcql_add_int(statement, (int32_t)part);
    vvcql_add_timestamp(statement, load->options->start_s * 1000);
    vvcql_add_int(statement, 1); /* node */
}

/* As Varve writes them: one column says what is marked, one cell what is new. */
static struct vvcql_statement *mark_text(struct load *load, size_t part, size_t source)
{
    char text[128];
    uint8_t newest[24] = {0};
    struct vvcql_statement *statement = begin_mark(load);
    snprintf(text, sizeof text,
             "%" PRId64
             "000000000\t1699920000\t691200\t0\t1700000000\tbench\tcpu\thostname=host_%zu",
             load->options->start_s, source);
    memcpy(newest, &load->rows, sizeof load->rows);
    vvcql_add_bytes(statement, newest, sizeof newest);
    add_slot(load, statement, part);
    vvcql_add_text(statement, text);
    return statement;
}

/* The same in columns. */
static struct vvcql_statement *mark_columns(struct load *load, size_t part, size_t source)
{
    char text[32];
    uint8_t uuid[16] = {0};
    struct vvcql_statement *statement = begin_mark(load);
    int64_t start_ms = load->options->start_s * 1000;
    snprintf(text, sizeof text, "hostname=host_%zu", source);
    memcpy(uuid, &source, sizeof source);
    vvcql_add_text(statement, text);
    vvcql_add_bigint(statement, INT64_C(3600000000000));
    vvcql_add_bigint(statement, (int64_t)load->rows);
    vvcql_add_bigint(statement, (int64_t)load->rows);
    add_slot(load, statement, part);
    vvcql_add_bigint(statement, start_ms * 1000000); /* due */
    vvcql_add_text(statement, "bench");
    vvcql_add_uuid(statement, uuid);
    vvcql_add_timestamp(statement, start_ms); /* bucket */
    vvcql_add_int(statement, 8 * 86400);
    vvcql_add_smallint(statement, 0); /* split */
    vvcql_add_text(statement, "cpu");
    vvcql_add_timestamp(statement, start_ms); /* span */
    return statement;
}

/* --reports times the marks of all sources, those of a partition of the ledger in a batch. */
static void send_marks(struct load *load,
                       struct vvcql_statement *(*mark)(struct load *, size_t, size_t))
{
    const struct options *options = load->options;
    size_t parts = options->sources / options->batch > 0 ? options->sources / options->batch : 1;
    for (size_t report = 0; report < options->reports; report++) {
        for (size_t part = 0; part < parts; part++) {
            struct vvcql_statement *batch = vvcql_batch_create(VVCQL_BATCH_UNLOGGED);
            for (size_t source = part; source < options->sources; source += parts) {
                vvcql_batch_add(batch, mark(load, part, source));
                load->rows++;
            }
            send_statement(load, batch);
        }
    }
}

static void send_marks_as_text(struct load *load)
{
    send_marks(load, mark_text);
}

static void send_marks_in_columns(struct load *load)
{
    send_marks(load, mark_columns);
}

static const struct {
    const char *name;
    const char *insert;
    void (*send)(struct load *load);
} modes[] = {
    {"value", "INSERT INTO bench.value (id, value) VALUES (?, ?)", send_values},
    {"blob", "INSERT INTO bench.blob (id, data) VALUES (?, ?)", send_blobs},
    {"rows",
     "INSERT INTO bench.rows (tenant, source, bucket, split, event_time, nanos, metric, integer) "
     "VALUES (?, ?, ?, ?, ?, ?, ?, ?) USING TIMESTAMP ?",
     send_rows},
    {"runs",
     "INSERT INTO bench.runs (region, tenant, source, bucket, bucket_s, split, measurement, span, "
     "run, part, metrics, data, written) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) USING TTL "
     "? "
     "AND TIMESTAMP ?",
     send_runs},
    {"marks",
     "UPDATE bench.marks USING TTL ? AND TIMESTAMP ? SET newest = ? WHERE region = ? AND part = ? "
     "AND slot = ? AND node = ? AND mark = ?",
     send_marks_as_text},
    {"marks_in_columns",
     "UPDATE bench.marks_in_columns USING TTL ? AND TIMESTAMP ? SET id = ?, span_ns = ?, run = ?, "
     "put = ? WHERE region = ? AND part = ? AND slot = ? AND node = ? AND due = ? AND tenant = ? "
     "AND source = ? AND bucket = ? AND bucket_s = ? AND split = ? AND measurement = ? AND span = "
     "?",
     send_marks_in_columns},
};

/* ---- the program ---- */

static double seconds_of(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static double cpu_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

static double now_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void usage(void)
{
    fprintf(stderr,
            "usage: cql_load HOST:PORT value|blob|rows|runs|marks|marks_in_columns [--requests N] "
            "[--size BYTES] "
            "[--window N] [--sources N] [--reports N] [--batch ROWS] [--start UNIX_S]\n");
    exit(2);
}

static struct options parse(int argc, char **argv)
{
    struct options options = {.requests = 100000,
                              .size = 7200,
                              .window = 128,
                              .sources = 100,
                              .reports = 60,
                              .batch = 50,
                              .start_s = 1700000000};
    if (argc < 3 || argc % 2 == 0) {
        usage();
    }
    options.contact_points = argv[1];
    options.mode = argv[2];
    for (int i = 3; i + 1 < argc; i += 2) {
        size_t value = strtoull(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--requests") == 0) {
            options.requests = value;
        } else if (strcmp(argv[i], "--size") == 0) {
            options.size = value;
        } else if (strcmp(argv[i], "--window") == 0) {
            options.window = value;
        } else if (strcmp(argv[i], "--sources") == 0) {
            options.sources = value;
        } else if (strcmp(argv[i], "--reports") == 0) {
            options.reports = value;
        } else if (strcmp(argv[i], "--batch") == 0) {
            options.batch = value;
        } else if (strcmp(argv[i], "--start") == 0) {
            options.start_s = (int64_t)value;
        } else {
            usage();
        }
    }
    if (options.sources < 1 || options.window < 1 || options.window > 4096 ||
        options.size >= BLOB_MAX || options.batch < 1 || options.batch > BATCH_MAX) {
        usage();
    }
    return options;
}

static void make_blob(struct load *load)
{
    load->blob = malloc(BLOB_MAX);
    vv_invariant(load->blob != NULL);
    for (size_t i = 0; i < BLOB_MAX; i++) {
        load->blob[i] = (uint8_t)vv_random_below(&load->random, 256);
    }
}

static void open_session(struct load *load)
{
    struct vvcql_options options = {.contact_points = load->options->contact_points};
    struct vvcql_error error = {0};
    if (vvcql_session_open(&options, false, &load->session, &error) != VVCQL_OK) {
        fprintf(stderr, "cql_load: %s\n", error.message);
        exit(1);
    }
    vv_invariant(sem_init(&load->room, 0, (unsigned)load->options->window) == 0);
}

/* Returns the exit code. */
static int run(struct load *load, void (*send)(struct load *load))
{
    double cpu = cpu_seconds();
    double start = now_seconds();
    send(load);
    wait_for_all(load);
    double seconds = now_seconds() - start;
    cpu = cpu_seconds() - cpu;
    struct vvcql_counters counters;
    vvcql_session_counters(load->session, &counters);
    printf("{\"requests\": %zu, \"rows\": %zu, \"failures\": %zu, \"seconds\": %.3f, "
           "\"cpu_seconds\": %.3f, \"bytes_sent\": %" PRIu64 ", \"bytes_received\": %" PRIu64
           ", \"warnings\": %" PRIu64 "}\n",
           load->requests, load->rows, load->failures, seconds, cpu, counters.bytes_sent,
           counters.bytes_received, counters.warnings);
    return load->failures > 0;
}

int main(int argc, char **argv)
{
    struct options options = parse(argc, argv);
    struct load load = {.options = &options, .random = {1}};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        if (strcmp(options.mode, modes[i].name) == 0) {
            make_blob(&load);
            open_session(&load);
            load.insert = vvcql_prepare(load.session, modes[i].insert);
            vv_invariant(load.insert != NULL);
            int code = run(&load, modes[i].send);
            vvcql_session_close(load.session);
            free(load.blob);
            return code;
        }
    }
    usage();
}
