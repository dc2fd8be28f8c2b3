/* SPDX-License-Identifier: Apache-2.0 */
/* Short commands over one or two requests: units, tenants, nodes, flush, health. */
#include "cli/commands.h"

#include "base/clock.h"
#include "cli/client.h"
#include "cli/input.h"
#include "cli/interrupt.h"
#include "cli/load_report.h"
#include "cli/table_print.h"
#include "cli/terminal.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <time.h>

#define FILE_BYTES_MAX (8u << 20)

struct session {
    struct vv_client_options options;
    struct vv_client *client;
};

static enum vv_status open_session(const struct vv_arguments *arguments, struct session *session,
                                   struct vv_error *error)
{
    *session = (struct session){0};
    vv_interrupt_catch();
    enum vv_status status = vv_client_configure(arguments, &session->options, error);
    if (status == VV_OK) {
        status = vv_client_setup(error);
    }
    if (status == VV_OK && vv_client_create(&session->options, &session->client) != VV_OK) {
        status = vv_error_set(error, VV_NO_MEMORY, "out of memory");
    }
    return status;
}

/* One request of a whole command; *response_out is only for VV_EXIT_OK, and deinited by the caller
 * in any case. */
static int call_once(const struct vv_arguments *arguments, const struct vv_call *call,
                     struct vv_response *response_out)
{
    struct session session;
    struct vv_error error = {0};
    *response_out = (struct vv_response){0};
    enum vv_status status = open_session(arguments, &session, &error);
    if (status == VV_OK) {
        status = vv_client_call(session.client, call, response_out, &error);
    }
    int code = status != VV_OK                 ? vv_client_fail(&session.options, status, &error)
               : response_out->code / 100 != 2 ? vv_response_fail(response_out)
                                               : VV_EXIT_OK;
    vv_client_destroy(session.client);
    return code;
}

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
    int code = call_once(arguments, &call, &response);
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

/* ---- lists ---- */

/* What a list of the server is printed as. */
struct list_table {
    const struct vv_str *header;
    size_t columns;
    enum vv_status (*print_row)(struct vv_table *table, json_t *item);
};

static enum vv_status print_items(const struct list_table *how, json_t *list)
{
    struct vv_table *table;
    size_t i;
    json_t *item;
    const struct vv_table_options options = {
        .file = stdout, .columns = vv_terminal_is(stdout) ? vv_terminal_columns(stdout) : 0};
    enum vv_status status = vv_table_create(&options, how->header, how->columns, &table);
    if (status != VV_OK) {
        return status;
    }
    json_array_foreach(list, i, item)
    {
        status = status == VV_OK ? how->print_row(table, item) : status;
    }
    status = status == VV_OK ? vv_table_end(table) : status;
    vv_table_destroy(table);
    return status;
}

/* Asks for a list and prints it as a table, or as it came. */
static int print_list(const struct vv_arguments *arguments, const char *path, const char *name,
                      const struct list_table *how)
{
    struct vv_response response;
    const struct vv_call call = {.method = "GET", .path = path};
    const char *format = vv_arguments_text(arguments, "format", "table");
    int code = call_once(arguments, &call, &response);
    if (code == VV_EXIT_OK && strcmp(format, "json") == 0) {
        fwrite(response.body.data, 1, response.body.size, stdout);
    } else if (code == VV_EXIT_OK) {
        const char *text = (const char *)response.body.data;
        json_t *root = json_loadb(text ? text : "", response.body.size, 0, NULL);
        json_t *list = json_object_get(root, name);
        if (!json_is_array(list) || print_items(how, list) != VV_OK) {
            vv_say_error("the answer of the server cannot be read");
            code = VV_EXIT_FAILED;
        }
        json_decref(root);
    }
    vv_response_deinit(&response);
    return code;
}

/* ---- tenants ---- */

static uint64_t sum_of(json_t *object)
{
    const char *key;
    json_t *value;
    uint64_t sum = 0;
    json_object_foreach(object, key, value)
    {
        sum += (uint64_t)json_integer_value(value);
    }
    return sum;
}

static enum vv_status print_tenant(struct vv_table *table, json_t *tenant)
{
    char numbers[4][24];
    json_t *account = json_object_get(tenant, "account");
    const char *name = json_string_value(json_object_get(tenant, "tenant"));
    const char *retention = json_string_value(json_object_get(tenant, "retention"));
    const uint64_t counts[] = {
        (uint64_t)json_integer_value(json_object_get(account, "accepted")),
        (uint64_t)json_integer_value(json_object_get(account, "received")),
        sum_of(json_object_get(account, "refused")),
        (uint64_t)json_integer_value(json_object_get(account, "unknown")),
    };
    struct vv_str cells[6] = {vv_str_of(name ? name : ""), vv_str_of(retention ? retention : "")};
    for (size_t i = 0; i < 4; i++) {
        snprintf(numbers[i], sizeof numbers[i], "%" PRIu64, counts[i]);
        cells[2 + i] = vv_str_of(numbers[i]);
    }
    return vv_table_row(table, cells);
}

static const struct vv_str tenants_header[] = {{"tenant", 6},   {"retention", 9}, {"stored", 6},
                                               {"received", 8}, {"refused", 7},   {"unknown", 7}};
static const struct list_table tenants_table = {tenants_header, 6, print_tenant};

static int set_tenant(const struct vv_arguments *arguments)
{
    struct vv_response response = {0};
    const char *retention = vv_arguments_text(arguments, "retention", NULL);
    json_t *object =
        json_pack("{s:s, s:s*}", "tenant", arguments->words[1], "retention", retention);
    char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;
    json_decref(object);
    if (!text) {
        vv_say_error("the tenant's name is not UTF-8");
        return VV_EXIT_USAGE;
    }
    const struct vv_call call = {
        .method = "PUT",
        .path = "/api/v1/tenants",
        .content_type = "application/json",
        .body = vv_str_of(text),
    };
    int code = call_once(arguments, &call, &response);
    free(text);
    vv_response_deinit(&response);
    return code;
}

int vv_tenants_run(const struct vv_arguments *arguments)
{
    if (arguments->n_words == 0 && !vv_arguments_flag(arguments, "retention")) {
        return print_list(arguments, "/api/v1/tenants", "tenants", &tenants_table);
    }
    if (arguments->n_words == 2 && strcmp(arguments->words[0], "set") == 0) {
        return set_tenant(arguments);
    }
    return vv_usage_fail(arguments->command, "`varve tenants` takes nothing, or set NAME",
                         "varve tenants set plant1 --retention 30d");
}

/* ---- nodes ---- */

static enum vv_status print_node(struct vv_table *table, json_t *node)
{
    char number[24];
    char age[VV_TIME_TEXT_SIZE] = "";
    const char *state = json_string_value(json_object_get(node, "state"));
    const char *until = json_string_value(json_object_get(node, "flushed_until"));
    bool self = json_is_true(json_object_get(node, "self"));
    snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT,
             json_integer_value(json_object_get(node, "node")));
    if (until) {
        double seconds = json_number_value(json_object_get(node, "age_seconds"));
        vv_duration_format(seconds < 1e9 ? (int64_t)seconds * VV_SECOND : INT64_MAX, age);
    }
    const struct vv_str cells[4] = {vv_str_of(number),
                                    vv_str_of(self    ? "this node"
                                              : state ? state
                                                      : ""),
                                    vv_str_of(until ? until : ""), vv_str_of(age)};
    return vv_table_row(table, cells);
}

static const struct vv_str nodes_header[] = {
    {"node", 4}, {"state", 5}, {"flushed until", 13}, {"age", 3}};
static const struct list_table nodes_table = {nodes_header, 4, print_node};

int vv_nodes_run(const struct vv_arguments *arguments)
{
    return print_list(arguments, "/api/v1/nodes", "nodes", &nodes_table);
}

/* ---- flush ---- */

int vv_flush_run(const struct vv_arguments *arguments)
{
    struct vv_response response;
    bool seal = vv_arguments_flag(arguments, "seal");
    const struct vv_call call = {.method = "POST",
                                 .path = seal ? "/api/v1/flush?seal=true" : "/api/v1/flush"};
    int code = call_once(arguments, &call, &response);
    vv_response_deinit(&response);
    return code;
}

/* ---- health ---- */

static int64_t now_ns(void)
{
    struct vv_clock *clock = vv_clock_system();
    return clock->monotonic_ns(clock);
}

/* The server's word for how it is, and why, if it is not ready. */
static void read_health(const struct vv_response *response, struct vv_error *text_out)
{
    const char *body = (const char *)response->body.data;
    json_t *root = json_loadb(body ? body : "", response->body.size, 0, NULL);
    const char *reason = json_string_value(json_object_get(root, "reason"));
    if (response->code == 200) {
        (void)vv_error_set(text_out, VV_OK, "ready");
    } else if (reason) {
        (void)vv_error_set(text_out, VV_OK, "not ready: %s", reason);
    } else {
        vv_response_message(response, text_out);
    }
    json_decref(root);
}

/* Asks until it is ready or the time is over. */
static enum vv_status wait_ready(struct session *session, int64_t wait_ns,
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
    struct session session;
    struct vv_error error = {0};
    struct vv_error text = {0};
    struct vv_response response = {0};
    int64_t wait_ns = 0;
    if (vv_arguments_duration(arguments, "wait", 0, VV_DAY, &wait_ns, &error) != VV_OK) {
        return vv_usage_fail(arguments->command, error.message, NULL);
    }
    enum vv_status status = open_session(arguments, &session, &error);
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
