/* SPDX-License-Identifier: Apache-2.0 */
/* `varve query`, `latest`, `sources`, `metrics`, `tags`: options become parameters of the HTTP API,
 * the answer is streamed to standard output. */
#include "cli/commands.h"

#include "cli/client.h"
#include "cli/interrupt.h"
#include "cli/tail.h"
#include "cli/terminal.h"
#include "cli/view.h"

#include <stdlib.h>

struct question {
    const struct vv_arguments *arguments;
    const char *path;
    const char *word; /* the parameter that plain words are */
    bool units;       /* asks for the units too */
    bool in_url;      /* GET; else a form */
};

enum form { FORM_TABLE, FORM_CSV, FORM_JSON };

struct answer {
    enum form form;
    struct vv_view *view;
    struct vv_tail tail; /* where it says that it is not complete */
    struct vv_error error;
};

static enum form read_form(const struct vv_arguments *arguments)
{
    const char *word = vv_arguments_text(arguments, "format", NULL);
    if (!word) {
        return vv_terminal_is(stdout) ? FORM_TABLE : FORM_CSV;
    }
    return strcmp(word, "json") == 0 ? FORM_JSON : strcmp(word, "csv") == 0 ? FORM_CSV : FORM_TABLE;
}

/* "group-by" as "group_by". */
static void parameter_name(const char *option, char *out, size_t out_size)
{
    snprintf(out, out_size, "%s", option);
    for (char *at = out; *at; at++) {
        *at = *at == '-' ? '_' : *at;
    }
}

/* Those that are not words of the API. */
static bool is_own_option(const struct vv_option *option)
{
    static const char *const own[] = {"format", "server", "tenant", "unit", "description", "file"};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        if (strcmp(option->name, own[i]) == 0) {
            return true;
        }
    }
    return false;
}

static void add_parameters(const struct question *question, const char *tenant, const char *format,
                           struct vv_buffer *form)
{
    const struct vv_arguments *arguments = question->arguments;
    vv_form_add(form, "tenant", vv_str_of(tenant));
    vv_form_add(form, "format", vv_str_of(format));
    for (size_t i = 0; i < arguments->n_words; i++) {
        vv_form_add(form, question->word, vv_str_of(arguments->words[i]));
    }
    for (size_t i = 0; i < arguments->n_given; i++) {
        const struct vv_given *given = &arguments->given[i];
        if (!is_own_option(given->option)) {
            char name[64];
            parameter_name(given->option->name, name, sizeof name);
            vv_form_add(form, name, vv_str_of(given->value ? given->value : "true"));
        }
    }
}

/* ---- the answer ---- */

static enum vv_status on_bytes(void *context, const char *bytes, size_t size)
{
    struct answer *answer = context;
    if (answer->form == FORM_TABLE) {
        return vv_view_feed(answer->view, bytes, size, &answer->error);
    }
    vv_tail_add(&answer->tail, bytes, size);
    if (fwrite(bytes, 1, size, stdout) != size) {
        return vv_error_set(&answer->error, VV_FULL, "cannot write to standard output");
    }
    return VV_OK;
}

static enum vv_status end_answer(struct answer *answer)
{
    if (answer->form == FORM_TABLE) {
        enum vv_status status = vv_view_end(answer->view, &answer->error);
        if (status == VV_OK && vv_view_rows(answer->view) == 0) {
            vv_say_note("nothing was found");
        }
        return status;
    }
    bool broken = answer->form == FORM_CSV ? vv_tail_has(&answer->tail, "\n# error: ")
                                           : vv_tail_has(&answer->tail, "\"complete\":false") ||
                                                 vv_tail_has(&answer->tail, "\"complete\": false");
    return broken
               ? vv_error_set(&answer->error, VV_IO, "the answer is not complete; its end says why")
               : VV_OK;
}

/* ---- the question ---- */

static enum vv_status ask(struct vv_client *client, const struct question *question,
                          const struct vv_buffer *form, vv_client_sink sink, void *context,
                          struct vv_response *response_out, struct vv_error *error)
{
    char path[3600];
    struct vv_str parameters = {(const char *)form->data, form->size};
    int size = snprintf(path, sizeof path, "%s%s%.*s", question->path, question->in_url ? "?" : "",
                        question->in_url ? (int)form->size : 0, parameters.data);
    *response_out = (struct vv_response){0};
    if (size < 0 || (size_t)size >= sizeof path) {
        return vv_error_set(error, VV_INVALID, "too many words for one request");
    }
    const struct vv_call call = {
        .method = question->in_url ? "GET" : "POST",
        .path = path,
        .content_type = question->in_url ? NULL : "application/x-www-form-urlencoded",
        .body = question->in_url ? (struct vv_str){0} : parameters,
        .sink = sink,
        .context = context,
    };
    return vv_client_call(client, &call, response_out, error);
}

/* The list of metrics in CSV, for their units; without it the table has none. */
static void ask_units(struct vv_client *client, const struct question *question, const char *tenant,
                      struct vv_response *response_out)
{
    const struct question metrics = {.path = "/api/v1/metrics", .in_url = true};
    const char *metric;
    struct vv_buffer form = {0};
    struct vv_error error = {0};
    *response_out = (struct vv_response){0};
    vv_form_add(&form, "tenant", vv_str_of(tenant));
    vv_form_add(&form, "format", VV_STR_LITERAL("csv"));
    for (size_t i = 0; i < question->arguments->n_words; i++) {
        vv_form_add(&form, "metric", vv_str_of(question->arguments->words[i]));
    }
    for (size_t at = 0; (metric = vv_arguments_next(question->arguments, "metric", &at));) {
        vv_form_add(&form, "metric", vv_str_of(metric));
    }
    if (vv_buffer_status(&form) != VV_OK ||
        ask(client, &metrics, &form, NULL, NULL, response_out, &error) != VV_OK ||
        response_out->code != 200 || vv_buffer_status(&response_out->body) != VV_OK) {
        vv_buffer_clear(&response_out->body);
    }
    vv_buffer_deinit(&form);
}

static enum vv_status make_view(struct answer *answer, const struct vv_response *units)
{
    const struct vv_view_options options = {
        .file = stdout,
        .columns = vv_terminal_is(stdout) ? vv_terminal_columns(stdout) : 0,
        .units = {(const char *)units->body.data, units->body.size},
    };
    return vv_view_create(&options, &answer->view);
}

/* What is said when the connection or the answer broke. */
static int explain(const struct vv_client_options *options, enum vv_status status, long code,
                   const struct vv_error *error)
{
    if (status == VV_IO && code == 200) { /* the server was reached, it is the answer */
        vv_say_error("%s", error->message);
        return VV_EXIT_FAILED;
    }
    return vv_client_fail(options, status, error);
}

/* Asks and prints; the exit code. */
static int ask_and_print(struct vv_client *client, const struct vv_client_options *options,
                         const struct question *question, struct answer *answer)
{
    struct vv_buffer form = {0};
    struct vv_response response = {0};
    add_parameters(question, options->tenant, answer->form == FORM_JSON ? "json" : "csv", &form);
    enum vv_status status = vv_buffer_status(&form);
    if (status == VV_OK) {
        status = ask(client, question, &form, on_bytes, answer, &response, &answer->error);
    } else {
        (void)vv_error_set(&answer->error, status, "out of memory");
    }
    vv_buffer_deinit(&form);
    int code = VV_EXIT_OK;
    if (status == VV_OK && response.code / 100 != 2) {
        code = vv_response_fail(&response);
    } else {
        status = status == VV_OK ? end_answer(answer) : status;
        code =
            status == VV_OK ? VV_EXIT_OK : explain(options, status, response.code, &answer->error);
    }
    vv_response_deinit(&response);
    return code;
}

static int run(const struct question *question)
{
    struct vv_client_options options;
    struct vv_client *client = NULL;
    struct vv_response units = {0};
    struct answer answer = {.form = read_form(question->arguments)};
    int code;
    vv_interrupt_catch();
    enum vv_status status = vv_client_configure(question->arguments, &options, &answer.error);
    if (status == VV_OK) {
        status = vv_client_setup(&answer.error);
    }
    if (status == VV_OK) {
        status = vv_client_create(&options, &client);
    }
    if (status == VV_OK && answer.form == FORM_TABLE) {
        if (question->units) {
            ask_units(client, question, options.tenant, &units);
        }
        status = make_view(&answer, &units);
    }
    if (status == VV_OK) {
        code = ask_and_print(client, &options, question, &answer);
    } else {
        code = vv_client_fail(&options, status, &answer.error);
    }
    vv_view_destroy(answer.view);
    vv_response_deinit(&units);
    vv_client_destroy(client);
    return code;
}

int vv_query_run(const struct vv_arguments *arguments)
{
    const struct question question = {
        .arguments = arguments, .path = "/api/v1/query", .word = "metric", .units = true};
    return run(&question);
}

int vv_latest_run(const struct vv_arguments *arguments)
{
    const struct question question = {
        .arguments = arguments, .path = "/api/v1/latest", .word = "metric", .units = true};
    return run(&question);
}

int vv_sources_run(const struct vv_arguments *arguments)
{
    const struct question question = {
        .arguments = arguments, .path = "/api/v1/sources", .word = "source"};
    return run(&question);
}

int vv_tags_run(const struct vv_arguments *arguments)
{
    const struct question question = {
        .arguments = arguments, .path = "/api/v1/tags", .word = "key"};
    return run(&question);
}

int vv_metrics_list(const struct vv_arguments *arguments)
{
    const struct question question = {
        .arguments = arguments, .path = "/api/v1/metrics", .word = "metric", .in_url = true};
    return run(&question);
}
