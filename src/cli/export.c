/* SPDX-License-Identifier: Apache-2.0 */
/* `varve export`: all points of a tenant, streamed from the server to a file. */
#include "cli/commands.h"

#include "base/clock.h"
#include "cli/client.h"
#include "cli/interrupt.h"
#include "cli/load_report.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/tail.h"
#include "cli/terminal.h"

struct export
{
    const struct vv_arguments *arguments;
    struct vv_client_options client;
    const char *path; /* NULL: standard output */
    struct vv_output *output;
    struct vv_progress progress;
    struct vv_tail tail;
    uint64_t lines;
    uint64_t bytes;
    struct vv_error error;
};

static int64_t now_ns(void)
{
    struct vv_clock *clock = vv_clock_system();
    return clock->monotonic_ns(clock);
}

/* ---- the stream ---- */

static uint64_t count_lines(const char *bytes, size_t size)
{
    uint64_t n = 0;
    const char *end = bytes + size;
    for (const char *at = bytes; (at = memchr(at, '\n', (size_t)(end - at))); at++) {
        n++;
    }
    return n;
}

static enum vv_status on_bytes(void *context, const char *bytes, size_t size)
{
    struct export *export = context;
    vv_tail_add(&export->tail, bytes, size);
    export->lines += count_lines(bytes, size);
    export->bytes += size;
    enum vv_status status = vv_output_write(export->output, bytes, size, &export->error);
    int64_t now = now_ns();
    if (status == VV_OK && vv_progress_is_due(&export->progress, now)) {
        const struct vv_progress_state state = {.bytes = export->bytes,
                                                .points = export->lines,
                                                .file = export->path ? export->path : ""};
        vv_progress_draw(&export->progress, &state, now);
    }
    return status;
}

static bool begins_with(struct vv_str text, const char *word)
{
    size_t size = strlen(word);
    return text.size >= size && memcmp(text.data, word, size) == 0;
}

/* The stream has ended well as far as HTTP goes; its last line tells whether it is all. */
static enum vv_status check_end(struct export *export)
{
    static const char comment[] = "# error: ";
    bool ended;
    struct vv_str line = vv_tail_line(&export->tail, &ended);
    if (begins_with(line, comment) || begins_with(line, "{\"error\":")) {
        bool json = line.data[0] == '{';
        size_t skipped = json ? 0 : sizeof comment - 1;
        return vv_error_set(&export->error, VV_UNKNOWN, "the export is not complete: %.*s",
                            (int)(line.size - skipped), line.data + skipped);
    }
    if (export->bytes > 0 && !ended) {
        return vv_error_set(&export->error, VV_UNKNOWN,
                            "the export is not complete: it ends in the middle of a line");
    }
    return VV_OK;
}

/* ---- the request ---- */

static void make_form(const struct export *export, struct vv_buffer *form)
{
    static const char *const options[] = {"measurement", "metric", "source", "tag",
                                          "from",        "to",     "epoch",  "format"};
    const struct vv_arguments *arguments = export->arguments;
    vv_form_add(form, "tenant", vv_str_of(export->client.tenant));
    for (size_t i = 0; i < arguments->n_words; i++) {
        vv_form_add(form, "measurement", vv_str_of(arguments->words[i]));
    }
    vv_form_add_options(form, arguments, options, sizeof options / sizeof options[0]);
}

static enum vv_status ask(struct export *export, struct vv_client *client,
                          struct vv_response *response_out)
{
    struct vv_buffer form = {0};
    make_form(export, &form);
    const struct vv_call call = {
        .method = "POST",
        .path = "/api/v1/export",
        .content_type = "application/x-www-form-urlencoded",
        .body = {(const char *)form.data, form.size},
        .sink = on_bytes,
        .context = export,
    };
    enum vv_status status = vv_buffer_status(&form);
    status = status == VV_OK ? vv_client_call(client, &call, response_out, &export->error)
                             : vv_error_set(&export->error, status, "out of memory");
    vv_buffer_deinit(&form);
    return status;
}

/* ---- the run ---- */

/* What the export's own side did wrong is no matter of reaching the server. */
static int explain(const struct export *export, enum vv_status status, long code)
{
    if (code / 100 == 2 && status != VV_CANCELLED) {
        vv_say_error("%s", export->error.message);
        return VV_EXIT_FAILED;
    }
    return vv_client_fail(&export->client, status, &export->error);
}

static void summarise(const struct export *export, double seconds)
{
    char lines[VV_COUNT_TEXT_SIZE];
    char bytes[VV_COUNT_TEXT_SIZE];
    vv_say_note("exported %s lines, %s bytes in %.1f s%s%s", vv_count_text(export->lines, lines),
                vv_count_text(export->bytes, bytes), seconds, export->path ? " to " : "",
                export->path ? export->path : "");
}

static int run_export(struct export *export, struct vv_client *client)
{
    struct vv_response response = {0};
    bool quiet = vv_arguments_flag(export->arguments, "quiet");
    bool visible = !quiet && vv_terminal_is(stderr) && (export->path || !vv_terminal_is(stdout));
    int64_t begun = now_ns();
    enum vv_status status = vv_output_open(export->path, &export->output, &export->error);
    if (status != VV_OK) {
        vv_say_error("%s", export->error.message);
        return VV_EXIT_FAILED;
    }
    vv_progress_init(&export->progress, visible, 0, begun);
    export->progress.unit = "lines";
    status = ask(export, client, &response);
    vv_progress_clear(&export->progress);
    int code = VV_EXIT_OK;
    if (status == VV_OK && response.code / 100 != 2) {
        code = vv_response_fail(&response);
    } else {
        status = status == VV_OK ? check_end(export) : status;
        if (status == VV_OK) {
            struct vv_output *output = export->output;
            export->output = NULL;
            status = vv_output_finish(output, &export->error);
        }
        code = status == VV_OK ? VV_EXIT_OK : explain(export, status, response.code);
    }
    if (code == VV_EXIT_OK && !quiet && (visible || export->path)) {
        summarise(export, (double)(now_ns() - begun) / 1e9);
    }
    vv_output_discard(export->output);
    vv_response_deinit(&response);
    return code;
}

int vv_export_run(const struct vv_arguments *arguments)
{
    struct export export = {.arguments = arguments,
                            .path = vv_arguments_text(arguments, "output", NULL)};
    struct vv_client *client = NULL;
    if (export.path && strcmp(export.path, "-") == 0) {
        export.path = NULL;
    }
    vv_interrupt_catch();
    enum vv_status status = vv_client_configure(arguments, &export.client, &export.error);
    if (status == VV_OK) {
        status = vv_client_setup(&export.error);
    }
    if (status == VV_OK && vv_client_create(&export.client, &client) != VV_OK) {
        status = vv_error_set(&export.error, VV_NO_MEMORY, "out of memory");
    }
    int code = status == VV_OK ? run_export(&export, client)
                               : vv_client_fail(&export.client, status, &export.error);
    vv_client_destroy(client);
    return code;
}
