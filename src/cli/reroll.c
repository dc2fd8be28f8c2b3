/* SPDX-License-Identifier: Apache-2.0 */
/* `varve reroll`: begins one at the server, follows it, and says what was found. */
#include "cli/commands.h"

#include "base/clock.h"
#include "cli/interrupt.h"
#include "cli/lists.h"
#include "cli/load_report.h"
#include "cli/progress.h"
#include "cli/terminal.h"

#include <inttypes.h>
#include <time.h>

#define POLL_NS (200 * VV_MILLISECOND)

struct reroll {
    const struct vv_arguments *arguments;
    struct vv_session session;
    struct vv_progress progress;
    bool check;
    bool json;
};

static int64_t now_ns(void)
{
    struct vv_clock *clock = vv_clock_system();
    return clock->monotonic_ns(clock);
}

/* ---- requests ---- */

static void make_form(const struct reroll *reroll, struct vv_buffer *form)
{
    static const char *const options[] = {"source", "tag",   "measurement", "from",
                                          "to",     "epoch", "tier"};
    vv_form_add(form, "tenant", vv_str_of(reroll->session.options.tenant));
    vv_form_add_options(form, reroll->arguments, options, sizeof options / sizeof options[0]);
    vv_form_add(form, "dry_run", vv_str_of(reroll->check ? "true" : "false"));
}

/* *root_out, the answer, is the caller's, and NULL unless it went well. */
static int call(struct reroll *reroll, const struct vv_call *call, json_t **root_out)
{
    struct vv_response response = {0};
    struct vv_error error = {0};
    *root_out = NULL;
    enum vv_status status = vv_client_call(reroll->session.client, call, &response, &error);
    if (status != VV_OK || response.code / 100 != 2) {
        vv_progress_clear(&reroll->progress);
    }
    int code = status != VV_OK            ? vv_client_fail(&reroll->session.options, status, &error)
               : response.code / 100 != 2 ? vv_response_fail(&response)
                                          : VV_EXIT_OK;
    if (code == VV_EXIT_OK) {
        *root_out = vv_answer_object(&response);
        code = *root_out ? VV_EXIT_OK : VV_EXIT_FAILED;
    }
    vv_response_deinit(&response);
    return code;
}

static int begin(struct reroll *reroll, json_t **root_out)
{
    struct vv_buffer form = {0};
    make_form(reroll, &form);
    const struct vv_call post = {.method = "POST",
                                 .path = "/api/v1/reroll",
                                 .content_type = "application/x-www-form-urlencoded",
                                 .body = {(const char *)form.data, form.size}};
    int code = VV_EXIT_FAILED;
    *root_out = NULL;
    if (vv_buffer_status(&form) == VV_OK) {
        code = call(reroll, &post, root_out);
    } else {
        vv_say_error("out of memory");
    }
    vv_buffer_deinit(&form);
    return code;
}

/* ---- following it ---- */

static uint64_t number_of(const json_t *root, const char *group, const char *name)
{
    const json_t *from = group ? json_object_get(root, group) : root;
    return (uint64_t)json_integer_value(json_object_get(from, name));
}

static uint64_t sum_of(const json_t *root, const char *group)
{
    const char *name;
    json_t *value;
    uint64_t sum = 0;
    json_object_foreach(json_object_get(root, group), name, value)
    {
        sum += (uint64_t)json_integer_value(value);
    }
    return sum;
}

static bool is_running(const json_t *root)
{
    const char *state = json_string_value(json_object_get(root, "state"));
    return state && strcmp(state, "running") == 0;
}

static void draw(struct reroll *reroll, const json_t *root)
{
    int64_t now = now_ns();
    reroll->progress.bytes_total = number_of(root, NULL, "sources");
    if (vv_progress_is_due(&reroll->progress, now)) {
        const struct vv_progress_state state = {
            .bytes = number_of(root, NULL, "sources_done"),
            .points = sum_of(root, "units") + sum_of(root, "refused"),
            .file = reroll->check ? "comparing" : "comparing and repairing",
        };
        vv_progress_draw(&reroll->progress, &state, now);
    }
}

/* Ends it at the server, too; as well as it can. */
static void cancel(struct reroll *reroll, uint64_t id)
{
    char path[64];
    struct vv_client *client;
    struct vv_response response = {0};
    struct vv_error error = {0};
    snprintf(path, sizeof path, "/api/v1/reroll?id=%" PRIu64 "&cancel=true", id);
    const struct vv_call put = {.method = "PUT", .path = path};
    if (vv_client_create(&reroll->session.options, &client) == VV_OK) {
        (void)!vv_client_call(client, &put, &response, &error);
        vv_response_deinit(&response);
        vv_client_destroy(client);
    }
}

/* Asks until it has ended; *root is replaced by the last answer. */
static int follow(struct reroll *reroll, json_t **root)
{
    char path[64];
    uint64_t id = number_of(*root, NULL, "id");
    int code = VV_EXIT_OK;
    snprintf(path, sizeof path, "/api/v1/reroll?id=%" PRIu64, id);
    const struct vv_call get = {.method = "GET", .path = path};
    while (code == VV_EXIT_OK && is_running(*root) && !vv_interrupted()) {
        draw(reroll, *root);
        nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
        json_decref(*root);
        *root = NULL;
        if (!vv_interrupted()) {
            code = call(reroll, &get, root);
        }
    }
    vv_progress_clear(&reroll->progress);
    if (vv_interrupted()) {
        cancel(reroll, id);
        vv_say_error("interrupted: what was repaired until now stays so");
        code = VV_EXIT_INTERRUPTED;
    }
    return code;
}

/* ---- the end ---- */

static void print_text(const json_t *example, const char *name, const char *before)
{
    const char *text = json_string_value(json_object_get(example, name));
    if (text) {
        fputs(before, stdout);
        vv_terminal_print(stdout, vv_str_of(text));
    }
}

static void print_example(const json_t *example)
{
    print_text(example, "verdict", "  ");
    print_text(example, "tier", ": ");
    print_text(example, "source", " of ");
    print_text(example, "measurement", " ");
    print_text(example, "from", " from ");
    print_text(example, "to", " to ");
    if (json_object_get(example, "what")) {
        printf(", %" PRIu64 " steps, first", number_of(example, NULL, "steps"));
        print_text(example, "metric", " ");
        print_text(example, "step", " at ");
        print_text(example, "what", ": ");
    }
    fputs(json_is_true(json_object_get(example, "repaired")) ? ", repaired\n" : "\n", stdout);
}

static void print_summary(const json_t *root)
{
    static const char *const reasons[] = {
        "expired",
        "what is below has expired, or has gaps from before that tier was on, which may be losses",
        "unsealed",
        "what is below waits to be sealed: try again later",
        "damaged",
        "what is below can't be read",
        "away",
        "another node may have more of it, or a part of the store is away"};
    char text[VV_COUNT_TEXT_SIZE];
    size_t i;
    json_t *example;
    uint64_t wrong = number_of(root, "units", "different") + number_of(root, "units", "missing");
    printf("%s units are as they should be, ",
           vv_count_text(number_of(root, "units", "same"), text));
    printf("%s are not, ", vv_count_text(wrong, text));
    printf("%s were repaired\n", vv_count_text(number_of(root, NULL, "repaired"), text));
    uint64_t later = number_of(root, "units", "open") + number_of(root, "units", "waiting");
    if (later > 0) {
        printf("%s are not over, or are being built anyway\n", vv_count_text(later, text));
    }
    for (i = 0; i < sizeof reasons / sizeof reasons[0]; i += 2) {
        uint64_t n = number_of(root, "refused", reasons[i]);
        if (n > 0) {
            printf("%s refused: %s\n", vv_count_text(n, text), reasons[i + 1]);
        }
    }
    json_array_foreach(json_object_get(root, "examples"), i, example)
    {
        print_example(example);
    }
    uint64_t told = wrong + sum_of(root, "refused");
    if (told > json_array_size(json_object_get(root, "examples"))) {
        uint64_t more = told - json_array_size(json_object_get(root, "examples"));
        printf("  and %s more\n", vv_count_text(more, text));
    }
}

static int judge(const json_t *root)
{
    const char *state = json_string_value(json_object_get(root, "state"));
    const char *error = json_string_value(json_object_get(root, "error"));
    uint64_t wrong = number_of(root, "units", "different") + number_of(root, "units", "missing");
    if (!state || strcmp(state, "done") != 0) {
        vv_say_error("it was not done to its end: %s", error ? error : state ? state : "");
        return VV_EXIT_FAILED;
    }
    return wrong > number_of(root, NULL, "repaired") ? VV_EXIT_FAILED
           : sum_of(root, "refused") > 0             ? VV_EXIT_REFUSED
                                                     : VV_EXIT_OK;
}

static int run(struct reroll *reroll)
{
    json_t *root = NULL;
    int code = begin(reroll, &root);
    if (code == VV_EXIT_OK) {
        code = follow(reroll, &root);
    }
    if (code == VV_EXIT_OK && reroll->json) {
        json_dumpf(root, stdout, JSON_PRESERVE_ORDER);
        fputc('\n', stdout);
    } else if (code == VV_EXIT_OK) {
        print_summary(root);
    }
    code = code == VV_EXIT_OK ? judge(root) : code;
    json_decref(root);
    return code;
}

int vv_reroll_run(const struct vv_arguments *arguments)
{
    struct vv_error error = {0};
    struct reroll reroll = {.arguments = arguments, .check = vv_arguments_flag(arguments, "check")};
    reroll.json = strcmp(vv_arguments_text(arguments, "format", "text"), "json") == 0;
    vv_progress_init(&reroll.progress, vv_terminal_is(stderr), 0, now_ns());
    reroll.progress.unit = "units";
    enum vv_status status = vv_session_open(arguments, &reroll.session, &error);
    int code =
        status == VV_OK ? run(&reroll) : vv_client_fail(&reroll.session.options, status, &error);
    vv_client_destroy(reroll.session.client);
    return code;
}
