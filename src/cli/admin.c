/* SPDX-License-Identifier: Apache-2.0 */
/* Short commands over one or two requests: units, nodes, flush, health. */
#include "cli/commands.h"

#include "base/clock.h"
#include "cli/input.h"
#include "cli/interrupt.h"
#include "cli/lists.h"
#include "cli/load_report.h"
#include "cli/terminal.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <time.h>

#define FILE_BYTES_MAX (8u << 20)

/* "/api/v1/metrics?tenant=…". */
static enum vv_status tenant_path(const struct vv_arguments *arguments, const char *base, char *out,
                                  size_t out_size)
{
    struct vv_client_options options;
    struct vv_buffer form = {0};
    enum vv_status status = vv_client_configure(arguments, &options, NULL);
    if (status == VV_OK) {
        vv_form_add(&form, "tenant", vv_str_of(options.tenant));
        status = vv_buffer_status(&form);
        snprintf(out, out_size, "%s?%.*s", base, (int)form.size, (const char *)form.data);
    }
    vv_buffer_deinit(&form);
    return status;
}

/* ---- metrics set ---- */

/* The whole file. */
static enum vv_status read_file(const char *path, struct vv_buffer *buffer, struct vv_error *error)
{
    struct vv_input *input;
    enum vv_status status = vv_input_open(path, &input, error);
    if (status != VV_OK) {
        return status;
    }
    buffer->limit = FILE_BYTES_MAX;
    while (status == VV_OK) {
        size_t size = 0;
        uint8_t *room = vv_buffer_reserve(buffer, 65536);
        if (!room) {
            status = vv_error_set(error, VV_TOO_LARGE, "%.200s is larger than 8 MiB", path);
            break;
        }
        status = vv_input_read(input, room, 65536, &size, error);
        buffer->size += size;
    }
    vv_input_close(input);
    return status == VV_DONE ? VV_OK : status;
}

static enum vv_status describe_one(const struct vv_arguments *arguments, struct vv_buffer *body)
{
    const char *unit = vv_arguments_text(arguments, "unit", NULL);
    const char *description = vv_arguments_text(arguments, "description", NULL);
    json_t *object = json_pack("{s:s}", "metric", arguments->words[1]);
    if (unit) {
        json_object_set_new(object, "unit", json_string(unit));
    }
    if (description) {
        json_object_set_new(object, "description", json_string(description));
    }
    char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;
    if (text) {
        vv_buffer_text(body, text);
    }
    free(text);
    json_decref(object);
    return text ? vv_buffer_status(body) : VV_INVALID;
}

static int set_metrics(const struct vv_arguments *arguments)
{
    char path[1100];
    struct vv_error error = {0};
    struct vv_buffer body = {0};
    struct vv_response response = {0};
    const char *file = vv_arguments_text(arguments, "file", NULL);
    bool described =
        vv_arguments_flag(arguments, "unit") || vv_arguments_flag(arguments, "description");
    if (arguments->n_words != (file ? 1 : 2) || (file != NULL) == described) {
        return vv_usage_fail(arguments->command,
                             "`varve metrics set` needs a metric with --unit or --description, or "
                             "--file alone",
                             "varve metrics set machine.temperature --unit °C");
    }
    enum vv_status status = file ? read_file(file, &body, &error) : describe_one(arguments, &body);
    if (status == VV_OK) {
        status = tenant_path(arguments, "/api/v1/metrics", path, sizeof path);
    }
    if (status != VV_OK) {
        vv_say_error("%s", error.message[0] ? error.message : "the text is not UTF-8");
        vv_buffer_deinit(&body);
        return VV_EXIT_FAILED;
    }
    const struct vv_call call = {
        .method = "PUT",
        .path = path,
        .content_type = file ? "text/csv" : "application/json",
        .body = {(const char *)body.data, body.size},
    };
    int code = vv_call_once(arguments, &call, &response);
    vv_buffer_deinit(&body);
    vv_response_deinit(&response);
    return code;
}

int vv_metrics_run(const struct vv_arguments *arguments)
{
    if (arguments->n_words > 0 && strcmp(arguments->words[0], "set") == 0) {
        return set_metrics(arguments);
    }
    if (vv_arguments_flag(arguments, "unit") || vv_arguments_flag(arguments, "description") ||
        vv_arguments_flag(arguments, "file")) {
        return vv_usage_fail(arguments->command,
                             "--unit, --description and --file belong to `varve metrics set`",
                             "varve metrics set machine.temperature --unit °C");
    }
    return vv_metrics_list(arguments);
}

/* ---- nodes ---- */

static enum vv_status print_node(struct vv_table *table, json_t *node)
{
    char number[24];
    char age[VV_TIME_TEXT_SIZE] = "";
    char shown[48];
    const char *state = json_string_value(json_object_get(node, "state"));
    const char *until = json_string_value(json_object_get(node, "flushed_until"));
    bool self = json_is_true(json_object_get(node, "self"));
    bool partial = json_is_true(json_object_get(node, "partial"));
    state = self ? "this node" : state;
    snprintf(shown, sizeof shown, "%.30s%s", state ? state : "", partial ? ", partial" : "");
    snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT,
             json_integer_value(json_object_get(node, "node")));
    if (until) {
        double seconds = json_number_value(json_object_get(node, "age_seconds"));
        vv_duration_format(seconds < 1e9 ? (int64_t)seconds * VV_SECOND : INT64_MAX, age);
    }
    const char *region = json_string_value(json_object_get(node, "region"));
    const struct vv_str cells[5] = {vv_str_of(number), vv_str_of(region ? region : ""),
                                    vv_str_of(shown), vv_str_of(until ? until : ""),
                                    vv_str_of(age)};
    return vv_table_row(table, cells);
}

static const struct vv_str nodes_header[] = {
    {"node", 4}, {"region", 6}, {"state", 5}, {"flushed until", 13}, {"age", 3}};
static const struct vv_list_table nodes_table = {nodes_header, 5, print_node};

int vv_nodes_run(const struct vv_arguments *arguments)
{
    return vv_list_print(arguments, "/api/v1/nodes", "nodes", &nodes_table);
}

/* ---- plans ---- */

static enum vv_status print_plan(struct vv_table *table, json_t *plan)
{
    static const char *const names[] = {"from", "bucket", "span"};
    char splits[24];
    struct vv_str cells[5];
    for (size_t i = 0; i < 3; i++) {
        const char *text = json_string_value(json_object_get(plan, names[i]));
        cells[i] = vv_str_of(text ? text : "");
    }
    snprintf(splits, sizeof splits, "%" JSON_INTEGER_FORMAT,
             json_integer_value(json_object_get(plan, "splits")));
    const char *state = json_string_value(json_object_get(plan, "state"));
    cells[3] = vv_str_of(splits);
    cells[4] = vv_str_of(state ? state : "");
    return vv_table_row(table, cells);
}

static const struct vv_str plans_header[] = {
    {"from", 4}, {"bucket", 6}, {"span", 4}, {"splits", 6}, {"state", 5}};
static const struct vv_list_table plans_table = {plans_header, 5, print_plan};

int vv_plan_run(const struct vv_arguments *arguments)
{
    static const char *const options[] = {"bucket", "span", "splits"};
    struct vv_client_options client;
    struct vv_error error = {0};
    struct vv_buffer path = {0};
    if (vv_client_configure(arguments, &client, &error) != VV_OK) {
        return vv_usage_fail(arguments->command, error.message, NULL);
    }
    vv_buffer_text(&path, "/api/v1/plans?");
    struct vv_buffer form = {0};
    vv_form_add(&form, "tenant", vv_str_of(client.tenant));
    vv_form_add(&form, "source", vv_str_of(arguments->words[0]));
    size_t size = form.size;
    vv_form_add_options(&form, arguments, options, sizeof options / sizeof options[0]);
    bool changes = form.size > size;
    vv_buffer_append(&path, form.data, form.size);
    vv_buffer_u8(&path, 0);
    int code = VV_EXIT_FAILED;
    if (vv_buffer_status(&form) == VV_OK && vv_buffer_status(&path) == VV_OK) {
        const struct vv_call call = {.method = changes ? "PUT" : "GET",
                                     .path = (const char *)path.data};
        code = vv_list_answer(arguments, &call, "plans", &plans_table);
    } else {
        vv_say_error("out of memory");
    }
    vv_buffer_deinit(&form);
    vv_buffer_deinit(&path);
    return code;
}

/* ---- flush ---- */

int vv_flush_run(const struct vv_arguments *arguments)
{
    struct vv_response response;
    bool seal = vv_arguments_flag(arguments, "seal");
    const struct vv_call call = {.method = "POST",
                                 .path = seal ? "/api/v1/flush?seal=true" : "/api/v1/flush"};
    int code = vv_call_once(arguments, &call, &response);
    vv_response_deinit(&response);
    return code;
}

/* ---- health ---- */

static int64_t now_ns(void)
{
    struct vv_clock *clock = vv_clock_system();
    return clock->monotonic_ns(clock);
}

/* The server's word for how it is, and why, if it is not ready, or ready in spite of something. */
static void read_health(const struct vv_response *response, struct vv_error *text_out)
{
    const char *body = (const char *)response->body.data;
    json_t *root = json_loadb(body ? body : "", response->body.size, 0, NULL);
    const char *reason = json_string_value(json_object_get(root, "reason"));
    if (response->code == 200) {
        (void)vv_error_set(text_out, VV_OK, "ready%s%s", reason ? ", but: " : "",
                           reason ? reason : "");
    } else if (reason) {
        (void)vv_error_set(text_out, VV_OK, "not ready: %s", reason);
    } else {
        vv_response_message(response, text_out);
    }
    json_decref(root);
}

/* Asks until it is ready or the time is over. */
static enum vv_status wait_ready(struct vv_session *session, int64_t wait_ns,
                                 struct vv_response *response, struct vv_error *error)
{
    const struct vv_call call = {.method = "GET", .path = "/ready"};
    int64_t until = now_ns() + wait_ns;
    for (;;) {
        enum vv_status status = vv_client_call(session->client, &call, response, error);
        bool ready = status == VV_OK && response->code == 200;
        if (ready || now_ns() >= until || vv_interrupted()) {
            return status;
        }
        vv_response_deinit(response);
        nanosleep(&(struct timespec){.tv_nsec = 100 * VV_MILLISECOND}, NULL);
    }
}

int vv_health_run(const struct vv_arguments *arguments)
{
    struct vv_session session;
    struct vv_error error = {0};
    struct vv_error text = {0};
    struct vv_response response = {0};
    int64_t wait_ns = 0;
    if (vv_arguments_duration(arguments, "wait", 0, VV_DAY, &wait_ns, &error) != VV_OK) {
        return vv_usage_fail(arguments->command, error.message, NULL);
    }
    enum vv_status status = vv_session_open(arguments, &session, &error);
    if (status == VV_OK) {
        status = wait_ready(&session, wait_ns, &response, &error);
    }
    int code;
    if (status != VV_OK) {
        code = vv_client_fail(&session.options, status, &error);
    } else {
        read_health(&response, &text);
        printf("%s: %s\n", session.options.server, text.message);
        code = response.code == 200 ? VV_EXIT_OK : VV_EXIT_FAILED;
    }
    vv_response_deinit(&response);
    vv_client_destroy(session.client);
    return code;
}
