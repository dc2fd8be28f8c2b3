/* SPDX-License-Identifier: Apache-2.0 */
/* Files of CSV: records become lines of line protocol with times in ns. */
#include "cli/csv_lines.h"
#include "cli/interrupt.h"
#include "cli/load_private.h"

struct csv_load {
    struct vv_load *load;
    struct vv_text_reader *reader;
    struct vv_csv_lines *lines;
    struct vv_csv_reader csv;
    struct vv_buffer line;
    struct vv_str record; /* being taken */
    bool begun;           /* the columns are known */
};

/* The file's name without folders and endings. */
static void measurement_of(const char *file, char *out, size_t out_size)
{
    const char *slash = strrchr(file, '/');
    const char *base = slash ? slash + 1 : file;
    size_t size = strcspn(base, ".");
    snprintf(out, out_size, "%.*s", (int)size, base);
}

/* A character, or "tab"; by the file's name if it is not given. 0: neither. */
static char delimiter_of(const struct vv_load *load)
{
    const char *text = vv_arguments_text(load->arguments, "delimiter", NULL);
    if (!text) {
        return strstr(load->file, ".tsv") ? '\t' : ',';
    }
    if (strcmp(text, "tab") == 0 || strcmp(text, "\\t") == 0) {
        return '\t';
    }
    bool good = strlen(text) == 1 && text[0] != '"' && text[0] != '\n' && text[0] != '\r';
    return good ? text[0] : '\0';
}

static void announce_left_out(struct csv_load *state)
{
    const char *name;
    while ((name = vv_csv_lines_left_out(state->lines))) {
        vv_load_note(state->load,
                     "%s: column '%s' holds text and is left out; --tag-columns makes it a tag",
                     state->load->file, name);
    }
}

static enum vv_status send_record(struct csv_load *state, struct vv_error *error)
{
    struct vv_csv_line line;
    struct vv_load *load = state->load;
    uint64_t number = state->reader->line;
    vv_buffer_clear(&state->line);
    enum vv_status status = vv_csv_lines_append(state->lines, &state->csv, &state->line, &line);
    if (status != VV_OK) {
        return vv_error_set(error, status, "out of memory");
    }
    vv_load_count_line(load, number);
    if (line.refused > 0) {
        const struct vv_load_refusal refusal = {
            .reason = line.timeless ? "no_time" : "syntax",
            .detail = line.problem.message,
            .points = line.refused,
            .line = number,
            .column = line.column,
            .text = state->record,
            .is_record = true,
        };
        vv_load_refuse(load, &refusal);
    }
    announce_left_out(state);
    if (line.fields == 0) {
        return VV_OK;
    }
    const struct vv_sender_line out = {
        .text = {(const char *)state->line.data, state->line.size},
        .series_size = line.series_size,
        .points = line.fields,
        .newlines = 1,
        .number = number,
    };
    return load->sink.add(load->sink.context, &out);
}

static enum vv_status take_record(struct csv_load *state, struct vv_error *error)
{
    enum vv_status status = VV_OK;
    bool is_header = false;
    if (state->csv.n == 0 && !state->csv.problem) {
        return VV_OK; /* a blank line */
    }
    if (!state->begun) {
        status = vv_csv_lines_begin(state->lines, &state->csv, &is_header, error);
        if (status != VV_OK) {
            return vv_error_prefix(error, status, "%.100s", state->load->file);
        }
        state->begun = true;
    }
    return is_header ? VV_OK : send_record(state, error);
}

static enum vv_status take_window(struct csv_load *state, struct vv_str window, bool at_end,
                                  struct vv_error *error)
{
    enum vv_status status = vv_csv_reader_next(&state->csv, window, at_end);
    if (status != VV_OK) {
        return status == VV_DONE ? VV_DONE : vv_error_set(error, status, "out of memory");
    }
    if (state->csv.next >= VV_RECORD_BYTES_MAX) {
        const struct vv_load_refusal refusal = {.reason = "limit",
                                                .detail = "a record longer than 4 MiB",
                                                .points = 1,
                                                .line = state->reader->line};
        vv_load_refuse(state->load, &refusal);
        status = vv_text_reader_skip_line(state->reader, error);
        return status == VV_DONE ? VV_OK : status;
    }
    state->record = (struct vv_str){window.data, state->csv.next};
    status = take_record(state, error);
    vv_text_reader_skip(state->reader, state->csv.next, state->csv.newlines);
    return status;
}

static enum vv_status read_records(struct csv_load *state, struct vv_error *error)
{
    for (;;) {
        bool at_end;
        struct vv_str window = vv_text_reader_window(state->reader, &at_end);
        enum vv_status status =
            window.size > 0 ? take_window(state, window, at_end, error) : VV_DONE;
        if (status == VV_DONE) {
            vv_load_tick(state->load);
            status = vv_interrupted() ? VV_CANCELLED : vv_text_reader_fill(state->reader, error);
        }
        if (status != VV_OK) {
            return status == VV_DONE ? VV_OK : status;
        }
    }
}

enum vv_status vv_load_csv(struct vv_load *load, struct vv_text_reader *reader,
                           struct vv_error *error)
{
    char measurement[256];
    struct csv_load state = {.load = load, .reader = reader};
    char delimiter = delimiter_of(load);
    measurement_of(load->file, measurement, sizeof measurement);
    if (delimiter == '\0') {
        return vv_error_set(error, VV_INVALID, "--delimiter needs one character, or tab");
    }
    enum vv_status status = vv_csv_lines_create(load->arguments, measurement, &state.lines, error);
    if (status != VV_OK) {
        return status;
    }
    status = vv_csv_reader_init(&state.csv, delimiter);
    if (status != VV_OK) {
        (void)vv_error_set(error, status, "out of memory");
    } else {
        status = load->sink.begin_file(load->sink.context, load->file, "ns");
    }
    if (status == VV_OK) {
        status = read_records(&state, error);
    }
    vv_csv_reader_deinit(&state.csv);
    vv_buffer_deinit(&state.line);
    vv_csv_lines_destroy(state.lines);
    return status;
}
