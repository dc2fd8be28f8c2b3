/* SPDX-License-Identifier: Apache-2.0 */
/* Files to load: which format they have, and reading them one after the other. */
#include "cli/load_private.h"

#include "base/clock.h"
#include "cli/line_scan.h"
#include "cli/terminal.h"

#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

int64_t vv_load_now_ns(void)
{
    struct vv_clock *clock = vv_clock_system();
    return clock->monotonic_ns(clock);
}

/* ---- for the readers of formats ---- */

void vv_load_tick(void *context)
{
    struct vv_load *load = context;
    int64_t now = vv_load_now_ns();
    if (!vv_progress_is_due(&load->progress, now)) {
        return;
    }
    char trouble[128] = "";
    if (load->sender) {
        vv_sender_trouble(load->sender, trouble);
    }
    pthread_mutex_lock(&load->report.lock);
    uint64_t points = load->sender ? load->report.accepted : load->report.lines;
    pthread_mutex_unlock(&load->report.lock);
    const struct vv_progress_state state = {
        .bytes = load->bytes_before + (load->input ? vv_input_position(load->input) : 0),
        .points = points,
        .file = load->file ? load->file : "",
        .trouble = trouble,
    };
    vv_progress_draw(&load->progress, &state, now);
}

void vv_load_count_line(struct vv_load *load, uint64_t line)
{
    load->report.lines += line > load->skip_line;
}

void vv_load_refuse(struct vv_load *load, const struct vv_load_refusal *refusal)
{
    struct vv_str reason = vv_str_of(refusal->reason);
    if (refusal->line <= load->skip_line) {
        return;
    }
    vv_load_report_refuse(&load->report, reason, refusal->points);
    if (refusal->is_record) {
        vv_load_report_keep_record(&load->report, reason, load->file, refusal->line,
                                   refusal->detail, refusal->text);
    } else {
        vv_load_report_keep(&load->report, reason, load->file, refusal->line, refusal->detail,
                            refusal->text);
    }
    vv_load_report_example(&load->report, reason, load->file, refusal->line, refusal->column,
                           refusal->detail);
}

void vv_load_note(struct vv_load *load, const char *format, ...)
{
    char message[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (!load->quiet) {
        vv_progress_clear(&load->progress);
        vv_say_note("%s", message);
    }
}

/* ---- formats ---- */

static bool has_csv_option(const struct vv_arguments *arguments)
{
    static const char *const names[] = {
        "csv",   "measurement", "time-column", "tag",    "tag-columns", "field-columns",
        "field", "int-columns", "delimiter",   "header", "time-format"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (vv_arguments_flag(arguments, names[i])) {
            return true;
        }
    }
    return false;
}

enum vv_status vv_load_read_format(struct vv_load *load, struct vv_error *error)
{
    const char *format = vv_arguments_text(load->arguments, "format", "");
    bool csv = has_csv_option(load->arguments);
    if (strcmp(format, "line") == 0 && csv) {
        return vv_error_set(error, VV_INVALID, "options of CSV do not go with --format line");
    }
    load->format = csv || strcmp(format, "csv") == 0 ? VV_LOAD_CSV
                   : *format                         ? VV_LOAD_LINES
                                                     : VV_LOAD_GUESS;
    return VV_OK;
}

/* By the ending of the name, before that of the compression. */
static enum vv_load_format format_of_name(const char *file)
{
    static const char *const csv[] = {".csv", ".tsv"};
    static const char *const lines[] = {".lp", ".line", ".influx"};
    const char *slash = strrchr(file, '/');
    const char *base = slash ? slash + 1 : file;
    for (size_t i = 0; i < sizeof csv / sizeof csv[0]; i++) {
        if (strstr(base, csv[i])) {
            return VV_LOAD_CSV;
        }
    }
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        if (strstr(base, lines[i])) {
            return VV_LOAD_LINES;
        }
    }
    return VV_LOAD_GUESS;
}

/* By the first line that is not blank: only line protocol has an `=` behind a space. */
static enum vv_load_format format_of_content(struct vv_text_reader *reader)
{
    bool at_end;
    struct vv_line_scan scan = {.blank = true};
    struct vv_str rest = vv_text_reader_window(reader, &at_end);
    while (scan.blank && rest.size > 0 && vv_line_scan(rest, true, &scan)) {
        if (!scan.blank) {
            break;
        }
        rest = (struct vv_str){rest.data + scan.next, rest.size - scan.next};
    }
    bool commas = rest.size > 0 && memchr(rest.data, ',', scan.blank ? rest.size : scan.size);
    return scan.fields == 0 && commas ? VV_LOAD_CSV : VV_LOAD_LINES;
}

/* ---- files ---- */

static enum vv_status read_text(struct vv_load *load, struct vv_text_reader *reader,
                                struct vv_error *error)
{
    enum vv_load_format format = load->format;
    enum vv_status status = vv_text_reader_fill(reader, error);
    if (status != VV_OK) {
        return status == VV_DONE ? VV_OK : status;
    }
    if (format == VV_LOAD_GUESS) {
        format = format_of_name(load->file);
    }
    if (format == VV_LOAD_GUESS) {
        format = format_of_content(reader);
    }
    return format == VV_LOAD_CSV ? vv_load_csv(load, reader, error)
                                 : vv_load_lines(load, reader, error);
}

enum vv_status vv_load_file(struct vv_load *load, const char *path, struct vv_error *error)
{
    struct vv_text_reader reader;
    load->file = strcmp(path, "-") == 0 ? "standard input" : path;
    enum vv_status status = vv_input_open(path, &load->input, error);
    if (status != VV_OK) {
        return status;
    }
    status = vv_text_reader_init(&reader, load->input);
    status = status == VV_OK ? read_text(load, &reader, error)
                             : vv_error_set(error, status, "out of memory");
    vv_text_reader_deinit(&reader);
    load->bytes_before += vv_input_position(load->input);
    vv_input_close(load->input);
    load->input = NULL;
    return status;
}

/* All sizes together; 0 when one cannot be known. */
uint64_t vv_load_total_bytes(const struct vv_arguments *arguments)
{
    uint64_t total = 0;
    for (size_t i = 0; i < arguments->n_words; i++) {
        struct stat info;
        bool standard = strcmp(arguments->words[i], "-") == 0;
        if ((standard ? fstat(STDIN_FILENO, &info) : stat(arguments->words[i], &info)) != 0 ||
            !S_ISREG(info.st_mode)) {
            return 0;
        }
        total += (uint64_t)info.st_size;
    }
    return total;
}

/* Before anything is loaded, so that a mistyped name does not come up after an hour. */
enum vv_status vv_load_check_files(const struct vv_arguments *arguments, struct vv_error *error)
{
    for (size_t i = 0; i < arguments->n_words; i++) {
        const char *path = arguments->words[i];
        struct vv_input *input;
        if (strcmp(path, "-") != 0) {
            enum vv_status status = vv_input_open(path, &input, error);
            if (status != VV_OK) {
                return status;
            }
            vv_input_close(input);
        }
    }
    return VV_OK;
}

/* The present time for lines without one. */
void vv_load_set_stamp(struct vv_load *load)
{
    static const struct {
        const char *word;
        int64_t unit_ns;
    } units[] = {{"ns", 1},        {"us", VV_MICROSECOND}, {"ms", VV_MILLISECOND},
                 {"s", VV_SECOND}, {"m", VV_MINUTE},       {"h", VV_HOUR}};
    const char *precision = vv_arguments_text(load->arguments, "precision", "ns");
    struct vv_clock *clock = vv_clock_system();
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (vv_arguments_flag(load->arguments, "now") && strcmp(units[i].word, precision) == 0) {
            snprintf(load->stamp, sizeof load->stamp, "%" PRId64,
                     clock->wall_ns(clock) / units[i].unit_ns);
        }
    }
}

/* Whether a server is there at all, before files are read for it. */
enum vv_status vv_load_reach_server(const struct vv_load *load, struct vv_error *error)
{
    struct vv_client *client;
    struct vv_response response;
    const struct vv_call call = {.method = "GET", .path = "/ping"};
    enum vv_status status = vv_client_create(&load->client, &client);
    if (status != VV_OK) {
        return vv_error_set(error, status, "out of memory");
    }
    status = vv_client_call(client, &call, &response, error);
    vv_response_deinit(&response);
    vv_client_destroy(client);
    return status;
}
