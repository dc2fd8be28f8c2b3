/* SPDX-License-Identifier: Apache-2.0 */
/* `varve load`: options, one file after the other, the summary. */
#include "cli/commands.h"

#include "base/clock.h"
#include "cli/interrupt.h"
#include "cli/load_private.h"
#include "cli/terminal.h"

#define CONNECTIONS_MAX 64

static enum vv_status open_sender(struct vv_load *load, struct vv_error *error)
{
    const struct vv_arguments *arguments = load->arguments;
    int64_t lanes = 2;
    int64_t lines = 5000;
    int64_t bytes = 1 << 20;
    int64_t retry = 2 * VV_MINUTE;
    enum vv_status status =
        vv_arguments_int(arguments, "connections", 1, CONNECTIONS_MAX, &lanes, error);
    if (status == VV_OK) {
        status = vv_arguments_int(arguments, "batch-lines", 1, 1000000, &lines, error);
    }
    if (status == VV_OK) {
        status = vv_arguments_size(arguments, "batch-bytes", 1024, 64 << 20, &bytes, error);
    }
    if (status == VV_OK) {
        status = vv_arguments_duration(arguments, "retry", 0, VV_DAY, &retry, error);
    }
    if (status != VV_OK) {
        return status;
    }
    const struct vv_sender_options options = {
        .client = &load->client,
        .ack = vv_arguments_text(arguments, "ack", NULL),
        .lanes = (size_t)lanes,
        .lines_max = (size_t)lines,
        .bytes_max = (size_t)bytes,
        .retry_ns = retry,
        .report = &load->report,
        .tick = vv_load_tick,
        .tick_context = load,
    };
    return vv_sender_create(&options, &load->sender, error);
}

static enum vv_status prepare(struct vv_load *load, struct vv_error *error)
{
    enum vv_status status = vv_client_configure(load->arguments, &load->client, error);
    if (status == VV_OK) {
        status = vv_load_read_format(load, error);
    }
    if (status == VV_OK) {
        status = vv_load_check_files(load->arguments, error);
    }
    if (status == VV_OK) {
        status = vv_client_setup(error);
    }
    return status == VV_OK ? open_sender(load, error) : status;
}

static enum vv_status begin_file(void *context, const char *file, const char *precision)
{
    struct vv_load *load = context;
    return vv_sender_begin_file(load->sender, file, precision);
}

static enum vv_status add_line(void *context, const struct vv_sender_line *line)
{
    struct vv_load *load = context;
    return vv_sender_add(load->sender, line);
}

/* How loading ended: the first thing that went wrong with a file, and with the server. */
struct outcome {
    enum vv_status file;
    enum vv_status server;
    struct vv_error file_error;
    struct vv_error server_error;
};

/* All files; one that is damaged does not keep the others from being loaded. */
static void load_files(struct vv_load *load, struct outcome *outcome)
{
    for (size_t i = 0; i < load->arguments->n_words; i++) {
        struct vv_error error = {0};
        enum vv_status status = vv_load_file(load, load->arguments->words[i], &error);
        if (status != VV_OK && outcome->file == VV_OK) {
            outcome->file = status;
            outcome->file_error = error;
        }
        if (status != VV_OK && status != VV_CORRUPT) {
            break;
        }
    }
    /* What the sender returned to a reader of a file, it says again here. */
    outcome->server = vv_sender_finish(load->sender, &outcome->server_error);
}

static int explain_server(const struct outcome *outcome)
{
    if (outcome->server == VV_CANCELLED) {
        vv_say_error("interrupted");
    } else {
        vv_say_error("%s", outcome->server_error.message);
    }
    if (outcome->server != VV_INVALID) {
        vv_say_hint("start it again when the cause is gone: nothing is stored twice");
    }
    switch (outcome->server) {
    case VV_CANCELLED:
        return VV_EXIT_INTERRUPTED;
    case VV_IO:
    case VV_UNKNOWN:
        return VV_EXIT_UNREACHABLE;
    default:
        return VV_EXIT_FAILED;
    }
}

static int explain(const struct vv_load *load, const struct outcome *outcome)
{
    if (outcome->server != VV_OK) {
        return explain_server(outcome);
    }
    if (outcome->file != VV_OK) {
        vv_say_error("%s", outcome->file_error.message);
        return outcome->file == VV_INVALID ? VV_EXIT_USAGE : VV_EXIT_FAILED;
    }
    return load->report.refused > 0 ? VV_EXIT_REFUSED : VV_EXIT_OK;
}

static int run(struct vv_load *load)
{
    struct outcome outcome = {0};
    int64_t begun = vv_load_now_ns();
    vv_progress_init(&load->progress, !load->quiet && vv_terminal_is(stderr),
                     vv_load_total_bytes(load->arguments), begun);
    load_files(load, &outcome);
    vv_progress_clear(&load->progress);
    bool nothing = load->report.lines == 0 && outcome.file != VV_OK;
    if (!load->quiet && !nothing) {
        double seconds = (double)(vv_load_now_ns() - begun) / 1e9;
        vv_load_report_print(&load->report, load->arguments->n_words, seconds, stdout);
    }
    return explain(load, &outcome);
}

int vv_load_run(const struct vv_arguments *arguments)
{
    struct vv_error error = {0};
    struct vv_load load = {.arguments = arguments, .quiet = vv_arguments_flag(arguments, "quiet")};
    int code;
    load.sink = (struct vv_load_sink){.begin_file = begin_file, .add = add_line, .context = &load};
    vv_load_report_init(&load.report);
    vv_interrupt_catch();
    vv_load_set_stamp(&load);
    enum vv_status status = prepare(&load, &error);
    if (status != VV_OK) {
        vv_say_error("%s", error.message);
        code = status == VV_INVALID ? VV_EXIT_USAGE : VV_EXIT_FAILED;
    } else if ((status = vv_load_reach_server(&load, &error)) != VV_OK) {
        code = vv_client_fail(&load.client, status, &error);
    } else {
        code = run(&load);
    }
    vv_sender_destroy(load.sender);
    vv_load_report_deinit(&load.report);
    return code;
}
