/* SPDX-License-Identifier: Apache-2.0 */
/* `varve bench`: generated points to a server, and how fast it took them. */
#include "cli/commands.h"

#include "base/clock.h"
#include "cli/bench_data.h"
#include "cli/interrupt.h"
#include "cli/latency.h"
#include "cli/progress.h"
#include "cli/sender.h"
#include "cli/terminal.h"

#include <inttypes.h>
#include <time.h>

#define DURATION_POINTS INT64_MAX

struct bench {
    const struct vv_arguments *arguments;
    struct vv_client_options client;
    struct vv_bench_data data;
    struct vv_latency latency;
    struct vv_load_report report;
    struct vv_progress progress;
    struct vv_sender *sender;
    int64_t hosts;
    int64_t interval_ns;
    int64_t start_ns;
    int64_t points;      /* to send */
    int64_t duration_ns; /* to run; 0: until all points are sent */
    int64_t rate;        /* points a second; 0: any */
    int64_t lanes;
    int64_t lines;
    int64_t seed;
    int64_t begun_ns;
};

static int64_t now_ns(void)
{
    struct vv_clock *clock = vv_clock_system();
    return clock->monotonic_ns(clock);
}

static enum vv_status read_numbers(struct bench *bench, struct vv_error *error)
{
    const struct {
        const char *name;
        int64_t least;
        int64_t most;
        int64_t *value;
    } numbers[] = {
        {"hosts", 1, 10000000, &bench->hosts},     {"points", 1, INT64_C(1) << 50, &bench->points},
        {"rate", 1, 1000000000, &bench->rate},     {"connections", 1, 256, &bench->lanes},
        {"batch-lines", 1, 100000, &bench->lines}, {"seed", 0, INT64_MAX, &bench->seed},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        enum vv_status status =
            vv_arguments_int(bench->arguments, numbers[i].name, numbers[i].least, numbers[i].most,
                             numbers[i].value, error);
        if (status != VV_OK) {
            return status;
        }
    }
    return VV_OK;
}

static enum vv_status read_options(struct bench *bench, struct vv_error *error)
{
    const struct vv_arguments *arguments = bench->arguments;
    const char *start = vv_arguments_text(arguments, "start", "2016-01-01T00:00:00Z");
    bool timed = vv_arguments_flag(arguments, "duration");
    bench->points = timed && !vv_arguments_flag(arguments, "points") ? DURATION_POINTS : 1000000;
    enum vv_status status = read_numbers(bench, error);
    if (status == VV_OK) {
        status = vv_arguments_duration(arguments, "interval", VV_MILLISECOND, VV_DAY,
                                       &bench->interval_ns, error);
    }
    if (status == VV_OK) {
        status = vv_arguments_duration(arguments, "duration", VV_SECOND, 30 * VV_DAY,
                                       &bench->duration_ns, error);
    }
    if (status == VV_OK && vv_time_parse(vv_str_of(start), &bench->start_ns, error) != VV_OK) {
        status = vv_error_prefix(error, VV_INVALID, "--start");
    }
    return status;
}

/* ---- printing lines ---- */

static int print_lines(struct bench *bench)
{
    struct vv_buffer line = {0};
    for (int64_t sent = 0; sent < bench->points && !vv_interrupted() && !ferror(stdout);
         sent += VV_BENCH_METRICS) {
        vv_buffer_clear(&line);
        vv_bench_data_append(&bench->data, &line);
        vv_buffer_u8(&line, '\n');
        fwrite(line.data, 1, line.size, stdout);
    }
    bool good = vv_buffer_status(&line) == VV_OK;
    vv_buffer_deinit(&line);
    return good ? VV_EXIT_OK : VV_EXIT_FAILED;
}

/* ---- sending ---- */

static void on_answer(void *context, int64_t duration_ns)
{
    struct bench *bench = context;
    vv_latency_add(&bench->latency, duration_ns);
}

static void on_tick(void *context)
{
    struct bench *bench = context;
    int64_t now = now_ns();
    if (!vv_progress_is_due(&bench->progress, now)) {
        return;
    }
    char trouble[128];
    vv_sender_trouble(bench->sender, trouble);
    pthread_mutex_lock(&bench->report.lock);
    uint64_t points = bench->report.accepted;
    pthread_mutex_unlock(&bench->report.lock);
    const struct vv_progress_state state = {
        /* Points, or time, take the place of bytes: the share is what counts. */
        .bytes = bench->duration_ns > 0 ? (uint64_t)(now - bench->begun_ns) : points,
        .points = points,
        .file = "",
        .trouble = trouble,
    };
    vv_progress_draw(&bench->progress, &state, now);
}

/* With --rate: waits until `sent` points are due. */
static void keep_rate(struct bench *bench, int64_t sent)
{
    if (bench->rate == 0) {
        return;
    }
    double due = (double)sent / (double)bench->rate * 1e9;
    for (;;) {
        int64_t left = bench->begun_ns + (int64_t)due - now_ns();
        if (left <= 0 || vv_interrupted()) {
            return;
        }
        left = left < 50 * VV_MILLISECOND ? left : 50 * VV_MILLISECOND;
        nanosleep(&(struct timespec){.tv_nsec = left}, NULL);
        on_tick(bench);
    }
}

static enum vv_status add_line(struct bench *bench, struct vv_buffer *line, uint64_t number)
{
    vv_buffer_clear(line);
    size_t series_size = vv_bench_data_append(&bench->data, line);
    if (vv_buffer_status(line) != VV_OK) {
        return VV_NO_MEMORY;
    }
    const struct vv_sender_line out = {
        .text = {(const char *)line->data, line->size},
        .series_size = series_size,
        .points = VV_BENCH_METRICS,
        .newlines = 1,
        .number = number,
    };
    return vv_sender_add(bench->sender, &out);
}

static bool is_over(const struct bench *bench, int64_t sent)
{
    return sent >= bench->points || vv_interrupted() ||
           (bench->duration_ns > 0 && now_ns() - bench->begun_ns >= bench->duration_ns);
}

static enum vv_status send_all(struct bench *bench, struct vv_error *error)
{
    struct vv_buffer line = {0};
    int64_t sent = 0;
    enum vv_status status = vv_sender_begin_file(bench->sender, "generated", "ns");
    for (uint64_t number = 1; status == VV_OK && !is_over(bench, sent); number++) {
        keep_rate(bench, sent);
        status = add_line(bench, &line, number);
        sent += VV_BENCH_METRICS;
        if (number % 256 == 0) {
            on_tick(bench);
        }
    }
    vv_buffer_deinit(&line);
    enum vv_status finished = vv_sender_finish(bench->sender, error);
    return finished != VV_OK ? finished : status;
}

/* ---- figures ---- */

static void print_text(const struct bench *bench, double seconds)
{
    char points[VV_COUNT_TEXT_SIZE];
    char rate[VV_COUNT_TEXT_SIZE];
    char requests[VV_COUNT_TEXT_SIZE];
    static const struct {
        const char *name;
        double share;
    } quantiles[] = {{"median", 0.5}, {"p95", 0.95}, {"p99", 0.99}, {"max", 1}};
    printf("stored   %s points in %.2f s: %s points/s\n",
           vv_count_text(bench->report.accepted, points), seconds,
           vv_rate_text((double)bench->report.accepted / seconds, rate));
    if (bench->report.refused > 0) {
        printf("refused  %s points\n", vv_count_text(bench->report.refused, points));
    }
    printf("requests %s of %" PRId64 " lines over %" PRId64 " connections, %" PRIu64 " repeated\n",
           vv_count_text(bench->report.requests, requests), bench->lines, bench->lanes,
           bench->report.retries);
    printf("latency ");
    for (size_t i = 0; i < sizeof quantiles / sizeof quantiles[0]; i++) {
        int64_t ns = vv_latency_quantile(&bench->latency, quantiles[i].share);
        printf(" %s %.2f ms%s", quantiles[i].name, (double)ns / 1e6, i < 3 ? "," : "\n");
    }
}

static void print_json(const struct bench *bench, double seconds)
{
    printf("{\"points\":%" PRIu64 ",\"refused\":%" PRIu64
           ",\"seconds\":%.3f,\"points_per_second\":%.0f,\"requests\":%" PRIu64
           ",\"repeated\":%" PRIu64 ",\"latency_ms\":{\"p50\":%.3f,\"p95\":%.3f,\"p99\":%.3f,"
           "\"max\":%.3f}}\n",
           bench->report.accepted, bench->report.refused, seconds,
           (double)bench->report.accepted / seconds, bench->report.requests, bench->report.retries,
           (double)vv_latency_quantile(&bench->latency, 0.5) / 1e6,
           (double)vv_latency_quantile(&bench->latency, 0.95) / 1e6,
           (double)vv_latency_quantile(&bench->latency, 0.99) / 1e6,
           (double)vv_latency_quantile(&bench->latency, 1) / 1e6);
}

static int run(struct bench *bench)
{
    struct vv_error error = {0};
    const char *format = vv_arguments_text(bench->arguments, "format", "text");
    uint64_t total = (uint64_t)(bench->duration_ns > 0 ? bench->duration_ns : bench->points);
    bench->begun_ns = now_ns();
    vv_progress_init(&bench->progress, vv_terminal_is(stderr), total, bench->begun_ns);
    enum vv_status status = send_all(bench, &error);
    double seconds = (double)(now_ns() - bench->begun_ns) / 1e9;
    vv_progress_clear(&bench->progress);
    if (status == VV_OK || bench->report.accepted > 0) {
        strcmp(format, "json") == 0 ? print_json(bench, seconds) : print_text(bench, seconds);
    }
    if (status != VV_OK) {
        return vv_client_fail(&bench->client, status, &error);
    }
    return bench->report.refused > 0 ? VV_EXIT_REFUSED : VV_EXIT_OK;
}

static enum vv_status open_bench(struct bench *bench, struct vv_error *error)
{
    enum vv_status status = vv_client_configure(bench->arguments, &bench->client, error);
    if (status == VV_OK) {
        status = vv_client_setup(error);
    }
    if (status != VV_OK) {
        return status;
    }
    const struct vv_sender_options options = {
        .client = &bench->client,
        .lanes = (size_t)bench->lanes,
        .lines_max = (size_t)bench->lines,
        .bytes_max = 64 << 20,
        .retry_ns = 10 * VV_SECOND,
        .report = &bench->report,
        .tick = on_tick,
        .tick_context = bench,
        .answered = on_answer,
        .answered_context = bench,
    };
    return vv_sender_create(&options, &bench->sender, error);
}

int vv_bench_run(const struct vv_arguments *arguments)
{
    static struct bench bench; /* the histogram is too large for a stack */
    struct vv_error error = {0};
    bench = (struct bench){.arguments = arguments,
                           .hosts = 100,
                           .interval_ns = 10 * VV_SECOND,
                           .lanes = 2,
                           .lines = 1000,
                           .seed = 1};
    bool whole = strcmp(vv_arguments_text(arguments, "values", "int"), "int") == 0;
    if (read_options(&bench, &error) != VV_OK) {
        return vv_usage_fail(arguments->command, error.message, NULL);
    }
    vv_load_report_init(&bench.report);
    vv_interrupt_catch();
    int code;
    enum vv_status status = vv_bench_data_init(&bench.data, (size_t)bench.hosts, bench.start_ns,
                                               bench.interval_ns, whole, (uint64_t)bench.seed);
    if (status != VV_OK) {
        (void)vv_error_set(&error, status, "out of memory");
    }
    bool print = vv_arguments_flag(arguments, "print");
    status = status == VV_OK && !print ? open_bench(&bench, &error) : status;
    if (status != VV_OK) {
        code = vv_client_fail(&bench.client, status, &error);
    } else {
        code = print ? print_lines(&bench) : run(&bench);
    }
    vv_sender_destroy(bench.sender);
    vv_bench_data_deinit(&bench.data);
    vv_load_report_deinit(&bench.report);
    return code;
}
