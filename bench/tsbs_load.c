/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loader for benchmarks: the shape of TSBS "cpu-only" (Time Series Benchmark Suite) in line
 * protocol, from a seed, sent over HTTP to any server that takes InfluxDB's /write.
 *
 * Ten integer metrics of each host every interval, as random walks between 0 and 100, ten tags. All
 * request bodies are made before the clock starts; each connection is a thread with a blocking
 * socket, so the loader costs little CPU beside the server. With --flush-every, all that came
 * before is flushed after each so many steps of time (Varve only). Prints one JSON object.
 */
#include "base/random.h"
#include "base/status.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define METRICS         10
#define CONNECTIONS_MAX 64

static const char *const fields[METRICS] = {
    "usage_user", "usage_system",  "usage_idle",  "usage_nice",  "usage_iowait",
    "usage_irq",  "usage_softirq", "usage_steal", "usage_guest", "usage_guest_nice"};

struct options {
    const char *path;
    uint16_t port;
    size_t hosts;
    int64_t interval_s;
    int64_t duration_s;
    int64_t start_s;
    size_t batch_rows;
    size_t connections;
    size_t flush_steps; /* 0: never */
    uint64_t seed;
};

struct body {
    char *text;
    size_t size;
    bool flush; /* all before it, and it, are flushed next */
};

struct load {
    const struct options *options;
    struct body *bodies;
    size_t n_bodies;
    _Atomic size_t next;
    size_t end;            /* of the bodies that are sent before the next flush */
    int64_t *latencies_ns; /* by body */
    _Atomic size_t failures;
};

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* ---- generating ---- */

struct host {
    char tags[256];
    double values[METRICS];
};

/* The same for each seed, which only changes what they report. */
static struct host *make_hosts(const struct options *options)
{
    struct vv_random own = {1};
    struct vv_random *random = &own;
    static const char *const regions[] = {"eu-central-1", "us-west-2", "ap-south-1", "sa-east-1"};
    static const char *const systems[] = {"Ubuntu16.10", "Ubuntu16.04LTS", "Ubuntu15.10"};
    static const char *const teams[] = {"SF", "NYC", "LON", "CHI"};
    struct host *hosts = calloc(options->hosts, sizeof *hosts);
    vv_invariant(hosts != NULL);
    for (size_t i = 0; i < options->hosts; i++) {
        const char *region = regions[vv_random_below(random, 4)];
        snprintf(hosts[i].tags, sizeof hosts[i].tags,
                 "cpu,hostname=host_%zu,region=%s,datacenter=%s%c,rack=%d,os=%s,arch=%s,team=%s,"
                 "service=%d,service_version=%d,service_environment=%s",
                 i, region, region, 'a' + (int)vv_random_below(random, 3),
                 (int)vv_random_below(random, 100), systems[vv_random_below(random, 3)],
                 vv_random_below(random, 2) ? "x64" : "x86", teams[vv_random_below(random, 4)],
                 (int)vv_random_below(random, 20), (int)vv_random_below(random, 2),
                 vv_random_below(random, 2) ? "production" : "test");
        for (size_t m = 0; m < METRICS; m++) {
            hosts[i].values[m] = 100 * vv_random_unit(random);
        }
    }
    return hosts;
}

/* About a normal step with deviation 1: the sum of twelve uniform numbers less six. */
static double step(struct vv_random *random)
{
    double sum = -6;
    for (int i = 0; i < 12; i++) {
        sum += vv_random_unit(random);
    }
    return sum;
}

static size_t write_row(char *out, struct host *host, int64_t time_s, struct vv_random *random)
{
    size_t size = (size_t)sprintf(out, "%s", host->tags);
    for (size_t m = 0; m < METRICS; m++) {
        double value = host->values[m] + step(random);
        host->values[m] = value < 0 ? 0 : value > 100 ? 100 : value;
        size +=
            (size_t)sprintf(out + size, "%c%s=%di", m ? ',' : ' ', fields[m], (int)host->values[m]);
    }
    return size + (size_t)sprintf(out + size, " %" PRId64 "000000000\n", time_s);
}

static void keep_body(struct load *load, const char *text, size_t size, bool flush)
{
    struct body *body = &load->bodies[load->n_bodies++];
    *body = (struct body){malloc(size), size, flush};
    vv_invariant(body->text != NULL);
    memcpy(body->text, text, size);
}

static void make_bodies(struct load *load)
{
    const struct options *options = load->options;
    struct vv_random random = {options->seed};
    struct host *hosts = make_hosts(options);
    size_t steps = (size_t)(options->duration_s / options->interval_s);
    size_t flush_steps = options->flush_steps > 0 ? options->flush_steps : steps;
    size_t rows = steps * options->hosts;
    size_t bodies_max = rows / options->batch_rows + steps / flush_steps + 2;
    load->bodies = calloc(bodies_max, sizeof *load->bodies);
    load->latencies_ns = calloc(bodies_max, sizeof *load->latencies_ns);
    char *text = malloc(options->batch_rows * 640);
    vv_invariant(load->bodies && load->latencies_ns && text);
    size_t size = 0;
    size_t in_body = 0;
    for (size_t row = 0; row < rows; row++) {
        size_t step = row / options->hosts;
        int64_t time = options->start_s + (int64_t)step * options->interval_s;
        size += write_row(text + size, &hosts[row % options->hosts], time, &random);
        bool ends_step = (row + 1) % options->hosts == 0;
        bool flush = ends_step && (step + 1) % flush_steps == 0;
        if (++in_body == options->batch_rows || flush || row + 1 == rows) {
            keep_body(load, text, size, flush);
            size = 0;
            in_body = 0;
        }
    }
    free(text);
    free(hosts);
}

/* ---- sending ---- */

static int dial(uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int one = 1;
    int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connection < 0 || connect(connection, (struct sockaddr *)&address, sizeof address) != 0 ||
        setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) != 0) {
        perror("connect");
        exit(1);
    }
    return connection;
}

static bool send_all(int connection, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t sent = send(connection, bytes, size, MSG_NOSIGNAL);
        if (sent <= 0) {
            return false;
        }
        bytes += sent;
        size -= (size_t)sent;
    }
    return true;
}

/* Reads one answer; true when it is a 204 (which has no body). Anything else ends the run. */
static bool read_answer(int connection)
{
    char answer[8192];
    size_t size = 0;
    while (size < sizeof answer - 1) {
        ssize_t got = recv(connection, answer + size, sizeof answer - 1 - size, 0);
        if (got <= 0) {
            return false;
        }
        size += (size_t)got;
        answer[size] = '\0';
        if (strstr(answer, "\r\n\r\n")) {
            break;
        }
    }
    bool good = strncmp(answer, "HTTP/1.1 204", 12) == 0;
    if (!good) {
        fprintf(stderr, "unexpected answer: %.300s\n", answer);
    }
    return good;
}

static bool post(int connection, const char *path, const struct body *body)
{
    char head[512];
    int head_size = snprintf(head, sizeof head,
                             "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %zu\r\n"
                             "\r\n",
                             path, body->size);
    return send_all(connection, head, (size_t)head_size) &&
           send_all(connection, body->text, body->size) && read_answer(connection);
}

static void *run_connection(void *context)
{
    struct load *load = context;
    int connection = dial(load->options->port);
    for (size_t b; (b = atomic_fetch_add(&load->next, 1)) < load->end;) {
        int64_t start = now_ns();
        if (!post(connection, load->options->path, &load->bodies[b])) {
            atomic_fetch_add(&load->failures, 1);
            break;
        }
        load->latencies_ns[b] = now_ns() - start;
    }
    close(connection);
    return NULL;
}

static void flush(struct load *load)
{
    int connection = dial(load->options->port);
    if (!post(connection, "/api/v1/flush", &(struct body){0})) {
        atomic_fetch_add(&load->failures, 1);
    }
    close(connection);
}

/* The bodies up to the next flush, and the flush; false when there was nothing left. */
static bool run_part(struct load *load)
{
    size_t first = load->end;
    if (first == load->n_bodies || load->failures > 0) {
        return false;
    }
    while (load->end < load->n_bodies &&
           (load->end == first || !load->bodies[load->end - 1].flush)) {
        load->end++;
    }
    atomic_store(&load->next, first);
    pthread_t threads[CONNECTIONS_MAX];
    size_t connections = load->options->connections;
    for (size_t i = 0; i < connections; i++) {
        vv_invariant(pthread_create(&threads[i], NULL, run_connection, load) == 0);
    }
    for (size_t i = 0; i < connections; i++) {
        pthread_join(threads[i], NULL);
    }
    if (load->options->flush_steps > 0 && load->bodies[load->end - 1].flush) {
        flush(load);
    }
    return true;
}

/* ---- figures ---- */

static int compare_latency(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static double latency_ms(const struct load *load, double share)
{
    size_t index = (size_t)(share * (double)(load->n_bodies - 1));
    return (double)load->latencies_ns[index] / 1e6;
}

static void usage(void)
{
    fprintf(stderr, "usage: tsbs_load PORT PATH [--hosts N] [--interval S] [--duration S] "
                    "[--start UNIX_S] [--batch ROWS] [--connections N] [--flush-every STEPS] "
                    "[--seed N]\n");
    exit(2);
}

static struct options parse(int argc, char **argv)
{
    struct options options = {.hosts = 100,
                              .interval_s = 10,
                              .duration_s = 86400,
                              .batch_rows = 1000,
                              .connections = 4,
                              .seed = 1};
    if (argc < 3 || argc % 2 == 0) {
        usage();
    }
    options.port = (uint16_t)atoi(argv[1]);
    options.path = argv[2];
    options.start_s = time(NULL) / 10 * 10 - 86400;
    for (int i = 3; i + 1 < argc; i += 2) {
        int64_t value = atoll(argv[i + 1]);
        if (strcmp(argv[i], "--hosts") == 0) {
            options.hosts = (size_t)value;
        } else if (strcmp(argv[i], "--interval") == 0) {
            options.interval_s = value;
        } else if (strcmp(argv[i], "--duration") == 0) {
            options.duration_s = value;
        } else if (strcmp(argv[i], "--start") == 0) {
            options.start_s = value;
        } else if (strcmp(argv[i], "--batch") == 0) {
            options.batch_rows = (size_t)value;
        } else if (strcmp(argv[i], "--connections") == 0) {
            options.connections = (size_t)value;
        } else if (strcmp(argv[i], "--flush-every") == 0) {
            options.flush_steps = (size_t)value;
        } else if (strcmp(argv[i], "--seed") == 0) {
            options.seed = (uint64_t)value;
        } else {
            usage();
        }
    }
    if (options.hosts < 1 || options.interval_s < 1 || options.batch_rows < 1 ||
        options.duration_s < options.interval_s || options.connections < 1 ||
        options.connections > CONNECTIONS_MAX) {
        usage();
    }
    return options;
}

int main(int argc, char **argv)
{
    struct options options = parse(argc, argv);
    struct load load = {.options = &options};
    make_bodies(&load);
    int64_t start = now_ns();
    while (run_part(&load)) {
    }
    double seconds = (double)(now_ns() - start) / 1e9;
    if (load.failures) {
        fprintf(stderr, "%zu requests failed\n", load.failures);
        return 1;
    }
    qsort(load.latencies_ns, load.n_bodies, sizeof *load.latencies_ns, compare_latency);
    size_t rows = options.hosts * (size_t)(options.duration_s / options.interval_s);
    printf("{\"points\": %zu, \"rows\": %zu, \"requests\": %zu, \"seconds\": %.6f, "
           "\"points_per_second\": %.0f, \"latency_ms_p50\": %.3f, \"latency_ms_p99\": %.3f}\n",
           rows * METRICS, rows, load.n_bodies, seconds, (double)(rows * METRICS) / seconds,
           latency_ms(&load, 0.5), latency_ms(&load, 0.99));
    for (size_t b = 0; b < load.n_bodies; b++) {
        free(load.bodies[b].text);
    }
    free(load.bodies);
    free(load.latencies_ns);
    return 0;
}
