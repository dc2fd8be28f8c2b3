/* SPDX-License-Identifier: Apache-2.0 */
/* Private to `varve load` and `varve backfill`: one run of it, and how files of each format are
 * read. Main thread. */
#ifndef VV_CLI_LOAD_PRIVATE_H
#define VV_CLI_LOAD_PRIVATE_H

#include "cli/arguments.h"
#include "cli/csv_reader.h"
#include "cli/load_report.h"
#include "cli/progress.h"
#include "cli/sender.h"
#include "cli/text_reader.h"

enum vv_load_format { VV_LOAD_GUESS, VV_LOAD_LINES, VV_LOAD_CSV };

/* Where the lines that are read go; what it returns, unless VV_OK, ends the reading. */
struct vv_load_sink {
    /* The following lines come from this file, and have times of this precision. */
    enum vv_status (*begin_file)(void *context, const char *file, const char *precision);
    enum vv_status (*add)(void *context, const struct vv_sender_line *line);
    void *context;
};

struct vv_load {
    const struct vv_arguments *arguments;
    enum vv_load_format format;
    struct vv_client_options client;
    struct vv_load_sink sink;
    struct vv_sender *sender; /* NULL while nothing is sent */
    struct vv_load_report report;
    struct vv_progress progress;
    bool quiet;
    char stamp[32];   /* the time for lines without one; "" to refuse them */
    const char *file; /* being read, as messages name it */
    struct vv_input *input;
    uint64_t bytes_before; /* of the files before it */
    uint64_t skip_line;    /* lines of it up to this one were counted before, and are not again */
};

int64_t vv_load_now_ns(void); /* monotonic */
/* Draws the progress when it is time. */
void vv_load_tick(void *load);
/* Counts a line that has something. */
void vv_load_count_line(struct vv_load *load, uint64_t line);
/* Points that are refused here. */
struct vv_load_refusal {
    const char *reason;
    const char *detail;
    uint64_t points;
    uint64_t line;
    uint32_t column;    /* 0: none */
    struct vv_str text; /* the line or record; empty: it is too long to be kept */
    bool is_record;     /* of CSV */
};
/* Counts them, with an example, and keeps their text where refused lines are kept. */
void vv_load_refuse(struct vv_load *load, const struct vv_load_refusal *refusal);
/* A note above the progress. */
void vv_load_note(struct vv_load *load, const char *format, ...) VV_PRINTF(2, 3);

/* What the options say of the format; VV_INVALID. */
VV_MUST_CHECK enum vv_status vv_load_read_format(struct vv_load *load, struct vv_error *error);
/* Whether all files can be opened, before anything is loaded: so that a mistyped name does not come
 * up after an hour. */
VV_MUST_CHECK enum vv_status vv_load_check_files(const struct vv_arguments *arguments,
                                                 struct vv_error *error);
/* All sizes together; 0 when one cannot be known. */
uint64_t vv_load_total_bytes(const struct vv_arguments *arguments);
/* With --now, the present time for lines without one. */
void vv_load_set_stamp(struct vv_load *load);
/* Whether a server is there at all, before files are read for it. */
VV_MUST_CHECK enum vv_status vv_load_reach_server(const struct vv_load *load,
                                                  struct vv_error *error);
/* Reads a file of whatever format to its end, into the sink. VV_CORRUPT: it is damaged from some
 * place on. */
VV_MUST_CHECK enum vv_status vv_load_file(struct vv_load *load, const char *path,
                                          struct vv_error *error);

/* Read one file to its end. VV_OK; what the sender or the input returned. */
VV_MUST_CHECK enum vv_status vv_load_lines(struct vv_load *load, struct vv_text_reader *reader,
                                           struct vv_error *error);
VV_MUST_CHECK enum vv_status vv_load_csv(struct vv_load *load, struct vv_text_reader *reader,
                                         struct vv_error *error);

#endif
