/* SPDX-License-Identifier: Apache-2.0 */
/* `varve delete`: asks first, with what a dry run says. */
#include "cli/commands.h"

#include "cli/lists.h"
#include "cli/load_report.h"
#include "cli/terminal.h"

#include <inttypes.h>
#include <jansson.h>
#include <strings.h>

struct deletion {
    const struct vv_arguments *arguments;
    struct vv_session session;
};

/* ---- the request ---- */

static void make_form(const struct deletion *deletion, bool dry_run, struct vv_buffer *form)
{
    static const char *const options[] = {"metric", "measurement", "source", "tag",
                                          "from",   "to",          "epoch"};
    const struct vv_arguments *arguments = deletion->arguments;
    vv_form_add(form, "tenant", vv_str_of(deletion->session.options.tenant));
    vv_form_add_options(form, arguments, options, sizeof options / sizeof options[0]);
    if (vv_arguments_flag(arguments, "all")) {
        vv_form_add(form, "all", VV_STR_LITERAL("true"));
    }
    if (vv_arguments_flag(arguments, "all-time")) {
        vv_form_add(form, "time", VV_STR_LITERAL("all"));
    }
    vv_form_add(form, "dry_run", vv_str_of(dry_run ? "true" : "false"));
}

/* What the server says of a 400 is in its words; these are the command's. */
static void hint_for(const struct vv_response *response)
{
    const char *body = (const char *)response->body.data;
    json_t *root = json_loadb(body ? body : "", response->body.size, 0, NULL);
    const char *text = json_string_value(json_object_get(root, "message"));
    if (response->code == 400 && text && strstr(text, "all=true")) {
        vv_say_hint("--source, --tag, --metric, --measurement, or --all");
    } else if (response->code == 400 && text && strstr(text, "time=all")) {
        vv_say_hint("--from and --to, or --all-time");
    } else if (response->code == 404) {
        vv_say_hint("`varve metrics` and `varve sources` list what there is; patterns such as "
                    "'pump.*' may match nothing");
    }
    json_decref(root);
}

/* One request; *root_out, the answer, is the caller's, and NULL unless it went well. */
static int call(struct deletion *deletion, bool dry_run, json_t **root_out, bool print)
{
    struct vv_buffer form = {0};
    struct vv_response response = {0};
    *root_out = NULL;
    make_form(deletion, dry_run, &form);
    enum vv_status status = vv_buffer_status(&form);
    int code;
    if (status == VV_OK) {
        const struct vv_call call = {
            .method = "POST",
            .path = "/api/v1/delete",
            .content_type = "application/x-www-form-urlencoded",
            .body = {(const char *)form.data, form.size},
        };
        code = vv_session_call(&deletion->session, &call, &response);
    } else {
        struct vv_error error = {0};
        vv_error_set(&error, status, "out of memory");
        code = vv_client_fail(&deletion->session.options, status, &error);
    }
    if (code != VV_EXIT_OK) {
        hint_for(&response);
    }
    if (code == VV_EXIT_OK) {
        *root_out = vv_answer_object(&response);
        code = *root_out ? VV_EXIT_OK : VV_EXIT_FAILED;
    }
    if (code == VV_EXIT_OK && print) {
        fwrite(response.body.data, 1, response.body.size, stdout);
    }
    vv_buffer_deinit(&form);
    vv_response_deinit(&response);
    return code;
}

/* ---- the answer ---- */

static const char *time_of(const json_t *root, const char *name, const char *otherwise)
{
    const char *text = json_string_value(json_object_get(root, name));
    return text ? text : otherwise;
}

static void say(FILE *file, const json_t *root, const char *verb)
{
    char sources[VV_COUNT_TEXT_SIZE];
    char metrics[VV_COUNT_TEXT_SIZE];
    uint64_t n = (uint64_t)json_integer_value(json_object_get(root, "sources"));
    uint64_t m = (uint64_t)json_integer_value(json_object_get(root, "metrics"));
    fprintf(file, "%s: %s %s of %s %s, from %s to %s\n", verb, vv_count_text(m, metrics),
            m == 1 ? "metric" : "metrics", vv_count_text(n, sources), n == 1 ? "source" : "sources",
            time_of(root, "from", "the beginning"), time_of(root, "to", "the end of time"));
    const json_t *tiers = json_object_get(root, "only_tiers");
    if (tiers) {
        fprintf(
            file,
            "from %s to %s points may be gone already: there whole steps of the tiers go, in the "
            "background\n",
            time_of(tiers, "from", "the beginning"), time_of(tiers, "to", "the end of time"));
    }
}

static bool is_yes(const char *answer)
{
    return strncasecmp(answer, "y\n", 2) == 0 || strncasecmp(answer, "yes\n", 4) == 0;
}

/* Says what a dry run finds, and asks; *agreed_out. */
static int ask(struct deletion *deletion, bool *agreed_out)
{
    char answer[16];
    json_t *root;
    int code = call(deletion, true, &root, false);
    *agreed_out = false;
    if (code == VV_EXIT_OK) {
        say(stderr, root, "to be deleted");
        fputs("It cannot be brought back. Delete it? [y/N] ", stderr);
        fflush(stderr);
        *agreed_out = fgets(answer, sizeof answer, stdin) && is_yes(answer);
        if (!*agreed_out) {
            vv_say_note("nothing was deleted");
        }
    }
    json_decref(root);
    return code;
}

static int run(struct deletion *deletion)
{
    const struct vv_arguments *arguments = deletion->arguments;
    bool json = strcmp(vv_arguments_text(arguments, "format", "text"), "json") == 0;
    bool dry_run = vv_arguments_flag(arguments, "dry-run");
    bool agreed = dry_run || vv_arguments_flag(arguments, "yes");
    json_t *root;
    int code = agreed ? VV_EXIT_OK : ask(deletion, &agreed);
    if (code != VV_EXIT_OK || !agreed) {
        return code != VV_EXIT_OK ? code : VV_EXIT_FAILED;
    }
    code = call(deletion, dry_run, &root, json);
    if (code == VV_EXIT_OK && !json) {
        say(stdout, root, dry_run ? "would be deleted" : "deleted");
    }
    json_decref(root);
    return code;
}

int vv_delete_run(const struct vv_arguments *arguments)
{
    struct deletion deletion = {.arguments = arguments};
    struct vv_error error = {0};
    bool agreed = vv_arguments_flag(arguments, "yes") || vv_arguments_flag(arguments, "dry-run");
    if (!agreed && !vv_terminal_is(stdin)) {
        return vv_usage_fail(arguments->command,
                             "nobody can be asked whether to delete: say --yes, or --dry-run",
                             NULL);
    }
    enum vv_status status = vv_session_open(arguments, &deletion.session, &error);
    int code = status == VV_OK ? run(&deletion)
                               : vv_client_fail(&deletion.session.options, status, &error);
    vv_client_destroy(deletion.session.client);
    return code;
}
