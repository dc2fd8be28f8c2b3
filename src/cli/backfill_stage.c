/* SPDX-License-Identifier: Apache-2.0 */
/* Staging: lines of all files, with times in ns, become sorted runs. */
#include "cli/backfill_private.h"

#include "base/clock.h"
#include "settings/value.h"

#include <sys/stat.h>

/* ---- a line ---- */

static int64_t unit_of(const char *precision)
{
    static const struct {
        const char *word;
        int64_t unit_ns;
    } units[] = {{"us", VV_MICROSECOND},
                 {"ms", VV_MILLISECOND},
                 {"s", VV_SECOND},
                 {"m", VV_MINUTE},
                 {"h", VV_HOUR}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(precision, units[i].word) == 0) {
            return units[i].unit_ns;
        }
    }
    return 1;
}

/* Makes `line` the text with its time in ns; false: the time is none. */
static bool write_line(struct vv_backfill *backfill, const struct vv_sender_line *line,
                       int64_t *time_out)
{
    struct vv_buffer *out = &backfill->line;
    size_t size = line->text.size;
    int64_t time;
    struct vv_str stamp = line->stamp;
    if (stamp.size == 0) {
        while (size > 0 && line->text.data[size - 1] == ' ') {
            size--;
        }
        size_t at = size;
        while (at > 0 && line->text.data[at - 1] != ' ') {
            at--;
        }
        stamp = (struct vv_str){line->text.data + at, size - at};
        size = at;
    }
    while (size > 0 && line->text.data[size - 1] == ' ') {
        size--;
    }
    if (!vv_int_parse(stamp, &time) || __builtin_mul_overflow(time, backfill->unit_ns, &time)) {
        return false;
    }
    vv_buffer_clear(out);
    vv_buffer_append(out, line->text.data, size);
    vv_buffer_format(out, " %lld", (long long)time);
    *time_out = time;
    return true;
}

/* ---- runs ---- */

/* Writes what was collected; lines up to `line` of the file are dealt with then. */
static enum vv_status write_run(struct vv_backfill *backfill, uint64_t line, struct vv_error *error)
{
    enum vv_status status = vv_history_write(backfill->writer, &backfill->state.runs, error);
    if (status == VV_OK) {
        backfill->state.line = line;
        status = vv_backfill_save(backfill, error);
    }
    if (status == VV_OK) {
        vv_history_remove(backfill->folder, &backfill->state.runs);
    }
    return status;
}

static enum vv_status begin_file(void *context, const char *file, const char *precision)
{
    struct vv_backfill *backfill = context;
    (void)file;
    backfill->unit_ns = unit_of(precision);
    return VV_OK;
}

static enum vv_status refuse(struct vv_backfill *backfill, const struct vv_sender_line *line,
                             const char *reason, const char *detail)
{
    const struct vv_load_refusal refusal = {.reason = reason,
                                            .detail = detail,
                                            .points = line->points > 0 ? line->points : 1,
                                            .line = line->number,
                                            .text = line->text};
    vv_load_refuse(&backfill->load, &refusal);
    return VV_OK;
}

static enum vv_status add_line(void *context, const struct vv_sender_line *line)
{
    struct vv_backfill *backfill = context;
    struct vv_load *load = &backfill->load;
    struct vv_history_line out = {.series_size = (uint32_t)line->series_size,
                                  .points = line->points,
                                  .newlines = line->newlines,
                                  .place = vv_place(backfill->state.file, line->number)};
    if (line->number <= load->skip_line) {
        return VV_OK; /* staged before */
    }
    if (!write_line(backfill, line, &out.time)) {
        return refuse(backfill, line, "syntax",
                      "the timestamp is no whole number, or beyond what can be stored");
    }
    if (vv_buffer_status(&backfill->line) != VV_OK) {
        return VV_NO_MEMORY;
    }
    if (backfill->line.size > VV_HISTORY_TEXT_MAX) { /* of CSV, when much of it was escaped */
        return refuse(backfill, line, "limit", "a line longer than 8 MiB");
    }
    out.text = (struct vv_str){(const char *)backfill->line.data, backfill->line.size};
    vv_backfill_group(backfill, &out);
    enum vv_status status = vv_history_add(backfill->writer, &out);
    if (status == VV_FULL) {
        /* This line is counted with the lines, and not dealt with. */
        load->report.lines--;
        status = write_run(backfill, line->number - 1, &backfill->staging_error);
        load->report.lines++;
        if (status == VV_OK) {
            status = vv_history_add(backfill->writer, &out);
        }
    }
    if (status == VV_OK) {
        backfill->state.points += out.points;
        backfill->state.frozen_points += out.slice < VV_BACKFILL_LATER ? out.points : 0;
    }
    return status;
}

/* ---- files ---- */

static uint64_t bytes_of(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 ? (uint64_t)info.st_size : 0;
}

static enum vv_status stage_file(struct vv_backfill *backfill, const char *path,
                                 struct vv_error *error)
{
    struct vv_load *load = &backfill->load;
    struct vv_backfill_state *state = &backfill->state;
    enum vv_status status = vv_load_file(load, path, error);
    if (status != VV_OK && backfill->staging_error.message[0] != '\0') {
        *error = backfill->staging_error;
    } else if (status == VV_CORRUPT) { /* the other files are loaded all the same, as by `load` */
        vv_load_note(load, "%s", error->message);
        state->damaged_file = state->damaged_files++ == 0 ? state->file : state->damaged_file;
        *error = (struct vv_error){0};
        status = VV_OK;
    }
    if (status == VV_NO_MEMORY && error->message[0] == '\0') {
        (void)vv_error_set(error, status, "out of memory");
    }
    if (status == VV_OK) {
        state->file++;
        state->line = 0;
        load->skip_line = 0;
    }
    return status;
}

enum vv_status vv_backfill_stage(struct vv_backfill *backfill, struct vv_error *error)
{
    struct vv_load *load = &backfill->load;
    const struct vv_arguments *arguments = load->arguments;
    if (vv_history_writer_create(backfill->folder, (size_t)backfill->memory_max,
                                 &backfill->writer) != VV_OK) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory");
    }
    load->sink =
        (struct vv_load_sink){.begin_file = begin_file, .add = add_line, .context = backfill};
    load->progress.unit = "lines";
    load->skip_line = backfill->state.line;
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < arguments->n_words && status == VV_OK; i++) {
        if (i < backfill->state.file) {
            load->bytes_before += bytes_of(arguments->words[i]);
        } else {
            status = stage_file(backfill, arguments->words[i], error);
        }
    }
    if (status == VV_OK) {
        backfill->state.phase = VV_BACKFILL_LOADING;
        backfill->state.lacks_some =
            load->report.n_reasons > 0 || backfill->state.damaged_files > 0;
        status = write_run(backfill, 0, error);
        backfill->state.phase = status == VV_OK ? VV_BACKFILL_LOADING : VV_BACKFILL_STAGING;
    }
    vv_history_writer_destroy(backfill->writer);
    backfill->writer = NULL;
    return status;
}
