/* SPDX-License-Identifier: Apache-2.0 */
/* One request, and its list as a table. */
#include "cli/lists.h"

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/terminal.h"

enum vv_status vv_session_open(const struct vv_arguments *arguments, struct vv_session *session,
                               struct vv_error *error)
{
    *session = (struct vv_session){0};
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

int vv_session_call(struct vv_session *session, const struct vv_call *call,
                    struct vv_response *response_out)
{
    struct vv_error error = {0};
    *response_out = (struct vv_response){0};
    enum vv_status status = vv_client_call(session->client, call, response_out, &error);
    if (status != VV_OK) {
        return vv_client_fail(&session->options, status, &error);
    }
    return response_out->code / 100 != 2 ? vv_response_fail(response_out) : VV_EXIT_OK;
}

int vv_call_once(const struct vv_arguments *arguments, const struct vv_call *call,
                 struct vv_response *response_out)
{
    struct vv_session session;
    struct vv_error error = {0};
    *response_out = (struct vv_response){0};
    enum vv_status status = vv_session_open(arguments, &session, &error);
    int code = status == VV_OK ? vv_session_call(&session, call, response_out)
                               : vv_client_fail(&session.options, status, &error);
    vv_client_destroy(session.client);
    return code;
}

json_t *vv_answer_object(const struct vv_response *response)
{
    const char *text = (const char *)response->body.data;
    json_t *root = json_loadb(text ? text : "", response->body.size, 0, NULL);
    if (!json_is_object(root)) {
        vv_say_error("the answer of the server cannot be read");
        json_decref(root);
        root = NULL;
    }
    return root;
}

/* ---- lists ---- */

static enum vv_status print_items(const struct vv_list_table *how, json_t *list)
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

int vv_list_answer(const struct vv_arguments *arguments, const struct vv_call *call,
                   const char *name, const struct vv_list_table *how)
{
    struct vv_response response;
    const char *format = vv_arguments_text(arguments, "format", "table");
    int code = vv_call_once(arguments, call, &response);
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

int vv_list_print(const struct vv_arguments *arguments, const char *path, const char *name,
                  const struct vv_list_table *how)
{
    const struct vv_call call = {.method = "GET", .path = path};
    return vv_list_answer(arguments, &call, name, how);
}
