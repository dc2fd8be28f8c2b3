/* SPDX-License-Identifier: Apache-2.0 */
/* Private to `varve load`: one run of it, and how files of each format are read. Main thread. */
#ifndef VV_CLI_LOAD_PRIVATE_H
#define VV_CLI_LOAD_PRIVATE_H

#include "cli/arguments.h"
#include "cli/csv_reader.h"
#include "cli/load_report.h"
#include "cli/progress.h"
#include "cli/sender.h"
#include "cli/text_reader.h"

enum vv_load_format { VV_LOAD_GUESS, VV_LOAD_LINES, VV_LOAD_CSV };

struct vv_load {
    const struct vv_arguments *arguments;
    enum vv_load_format format;
    struct vv_client_options client;
    struct vv_sender *sender;
    struct vv_load_report report;
    struct vv_progress progress;
    bool quiet;
    char stamp[32];   /* the time for lines without one; "" to refuse them */
    const char *file; /* being read, as messages name it */
    struct vv_input *input;
    uint64_t bytes_before; /* of the files before it */
};

/* Draws the progress when it is time. */
void vv_load_tick(void *load);
/* Counts points refused here, with an example. */
void vv_load_refuse(struct vv_load *load, const char *reason, uint64_t points, uint64_t line,
                    uint32_t column, const char *detail);
/* A note above the progress. */
void vv_load_note(struct vv_load *load, const char *format, ...) VV_PRINTF(2, 3);

/* Read one file to its end. VV_OK; what the sender or the input returned. */
VV_MUST_CHECK enum vv_status vv_load_lines(struct vv_load *load, struct vv_text_reader *reader,
                                           struct vv_error *error);
VV_MUST_CHECK enum vv_status vv_load_csv(struct vv_load *load, struct vv_text_reader *reader,
                                         struct vv_error *error);

#endif
