/* SPDX-License-Identifier: Apache-2.0 */
/* Counting and printing what became of the points. */
#include "cli/load_report.h"

#include "cli/terminal.h"

#include <inttypes.h>

void vv_load_report_init(struct vv_load_report *report)
{
    *report = (struct vv_load_report){0};
    vv_invariant(pthread_mutex_init(&report->lock, NULL) == 0);
}

void vv_load_report_deinit(struct vv_load_report *report)
{
    pthread_mutex_destroy(&report->lock);
}

void vv_load_report_accept(struct vv_load_report *report, uint64_t points)
{
    pthread_mutex_lock(&report->lock);
    report->accepted += points;
    pthread_mutex_unlock(&report->lock);
}

void vv_load_report_time(struct vv_load_report *report, int64_t time)
{
    pthread_mutex_lock(&report->lock);
    report->first = !report->has_times || time < report->first ? time : report->first;
    report->last = !report->has_times || time > report->last ? time : report->last;
    report->has_times = true;
    pthread_mutex_unlock(&report->lock);
}

/* Text from anywhere, cut anywhere: what is no UTF-8 in it becomes a sign. */
static void make_utf8(char *text)
{
    while (*text) {
        uint32_t point;
        size_t length = vv_terminal_decode(vv_str_of(text), &point);
        *text = point == UINT32_MAX ? '?' : *text;
        text += length;
    }
}

/* The row of a reason; the last row takes those for which there is no room. */
static struct vv_load_reason *find_reason(struct vv_load_report *report, struct vv_str name)
{
    for (size_t i = 0; i < report->n_reasons; i++) {
        if (vv_str_equal(vv_str_of(report->reasons[i].name), name)) {
            return &report->reasons[i];
        }
    }
    if (report->n_reasons == VV_LOAD_REASONS_MAX) {
        return &report->reasons[VV_LOAD_REASONS_MAX - 1];
    }
    struct vv_load_reason *reason = &report->reasons[report->n_reasons++];
    snprintf(reason->name, sizeof reason->name, "%.*s", VV_STR_ARG(name));
    make_utf8(reason->name);
    return reason;
}

void vv_load_report_refuse(struct vv_load_report *report, struct vv_str reason, uint64_t points)
{
    pthread_mutex_lock(&report->lock);
    report->refused += points;
    find_reason(report, reason)->points += points;
    pthread_mutex_unlock(&report->lock);
}

/* Where a place is. */
static const char *file_of(const struct vv_load_report *report, const char *file, uint64_t *line)
{
    if (report->files && *line > 0) {
        file = report->files[*line / VV_PLACE_LINES];
        *line %= VV_PLACE_LINES;
    }
    return file;
}

/* The rest of a comment, which ends with its line. */
static void put_comment(FILE *file, struct vv_str text)
{
    for (size_t i = 0; i < text.size; i++) {
        fputc(text.data[i] == '\n' || text.data[i] == '\r' ? ' ' : text.data[i], file);
    }
    fputc('\n', file);
}

static void keep(struct vv_load_report *report, struct vv_str reason, const char *file,
                 uint64_t line, const char *detail, struct vv_str text, bool is_record)
{
    if (!report->refused_file) {
        return;
    }
    pthread_mutex_lock(&report->lock);
    file = file_of(report, file, &line);
    fputs("# ", report->refused_file);
    if (line > 0) {
        fprintf(report->refused_file, "%s:%" PRIu64 ": ", file, line);
    } else if (file[0] != '\0') {
        fprintf(report->refused_file, "%s: ", file);
    }
    fprintf(report->refused_file, "%.*s: ", VV_STR_ARG(reason));
    put_comment(report->refused_file, vv_str_of(detail));
    if (text.size > 0 && is_record) {
        fputs("# the record: ", report->refused_file);
        put_comment(report->refused_file, text);
    } else if (text.size > 0) {
        fwrite(text.data, 1, text.size, report->refused_file);
        fputc('\n', report->refused_file);
    }
    pthread_mutex_unlock(&report->lock);
}

void vv_load_report_keep(struct vv_load_report *report, struct vv_str reason, const char *file,
                         uint64_t line, const char *detail, struct vv_str text)
{
    keep(report, reason, file, line, detail, text, false);
}

void vv_load_report_keep_record(struct vv_load_report *report, struct vv_str reason,
                                const char *file, uint64_t line, const char *detail,
                                struct vv_str record)
{
    keep(report, reason, file, line, detail, record, true);
}

void vv_load_report_example(struct vv_load_report *report, struct vv_str reason, const char *file,
                            uint64_t line, uint32_t column, const char *detail)
{
    pthread_mutex_lock(&report->lock);
    struct vv_load_reason *row = find_reason(report, reason);
    if (row->n_examples < VV_LOAD_EXAMPLES_MAX) {
        char place[48] = "";
        file = file_of(report, file, &line);
        if (line > 0 && column > 0) {
            snprintf(place, sizeof place, ":%" PRIu64 ":%" PRIu32, line, column);
        } else if (line > 0) {
            snprintf(place, sizeof place, ":%" PRIu64, line);
        }
        char *example = row->examples[row->n_examples++];
        bool is_placed = file[0] != '\0' || place[0] != '\0'; /* else it is of several files */
        snprintf(example, sizeof row->examples[0], "%.90s%s%s%.110s", file, place,
                 is_placed ? ": " : "", detail);
        make_utf8(example);
    }
    pthread_mutex_unlock(&report->lock);
}

const char *vv_count_text(uint64_t count, char *out)
{
    char digits[24];
    size_t n = (size_t)snprintf(digits, sizeof digits, "%" PRIu64, count);
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0) {
            out[used++] = ',';
        }
        out[used++] = digits[i];
    }
    out[used] = '\0';
    return out;
}

const char *vv_rate_text(double rate, char *out)
{
    static const char *const units[] = {"", " k", " M", " G"};
    size_t unit = 0;
    while (rate >= 999.5 && unit < 3) {
        rate /= 1000;
        unit++;
    }
    int decimals = unit == 0 || rate >= 99.95 ? 0 : rate >= 9.995 ? 1 : 2;
    snprintf(out, VV_COUNT_TEXT_SIZE, "%.*f%s", decimals, rate, units[unit]);
    return out;
}

static void print_reason(const struct vv_load_reason *reason, FILE *file)
{
    char count[VV_COUNT_TEXT_SIZE];
    fprintf(file, "  %s: %s\n", reason->name, vv_count_text(reason->points, count));
    for (size_t i = 0; i < reason->n_examples; i++) {
        fputs("    ", file);
        vv_terminal_print(file, vv_str_of(reason->examples[i]));
        fputc('\n', file);
    }
}

void vv_load_report_print(struct vv_load_report *report, size_t files, double seconds, FILE *file)
{
    char lines[VV_COUNT_TEXT_SIZE];
    char points[VV_COUNT_TEXT_SIZE];
    char rate[VV_COUNT_TEXT_SIZE];
    pthread_mutex_lock(&report->lock);
    double per_second = seconds > 0 ? (double)report->accepted / seconds : 0;
    fprintf(file, "stored %s points of %s lines from %zu file%s in %.*f s (%s points/s)\n",
            vv_count_text(report->accepted, points), vv_count_text(report->lines, lines), files,
            files == 1 ? "" : "s", seconds < 10 ? 2 : 0, seconds, vv_rate_text(per_second, rate));
    if (report->refused > 0) {
        fprintf(file, "refused %s points\n", vv_count_text(report->refused, points));
    }
    for (size_t i = 0; i < report->n_reasons; i++) {
        print_reason(&report->reasons[i], file);
    }
    if (report->retries > 0) {
        fprintf(file, "repeated %s of %s requests because the server was busy or lost\n",
                vv_count_text(report->retries, points), vv_count_text(report->requests, lines));
    }
    pthread_mutex_unlock(&report->lock);
}
