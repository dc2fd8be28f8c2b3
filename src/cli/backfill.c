/* SPDX-License-Identifier: Apache-2.0 */
/* `varve backfill`: options, the three phases, the summary. */
#include "cli/backfill_private.h"
#include "cli/commands.h"

#include "base/clock.h"
#include "cli/interrupt.h"
#include "cli/terminal.h"

#include <inttypes.h>
#include <jansson.h>
#include <sys/statvfs.h>

#define DEFAULT_FOLDER  "varve-backfill"
#define CONNECTIONS_MAX 64
#define KEPT_UNITS_TOLD 256 /* no server tells of more */

/* ---- options ---- */

static enum vv_status read_numbers(struct vv_backfill *backfill, struct vv_error *error)
{
    const struct vv_arguments *arguments = backfill->load.arguments;
    enum vv_status status = vv_arguments_int(arguments, "connections", 1, CONNECTIONS_MAX,
                                             &backfill->connections, error);
    if (status == VV_OK) {
        status =
            vv_arguments_int(arguments, "batch-lines", 1, 1000000, &backfill->batch_lines, error);
    }
    if (status == VV_OK) {
        status = vv_arguments_size(arguments, "batch-bytes", 1024, 64 << 20, &backfill->batch_bytes,
                                   error);
    }
    if (status == VV_OK) {
        status =
            vv_arguments_duration(arguments, "retry", 0, 7 * VV_DAY, &backfill->retry_ns, error);
    }
    if (status == VV_OK) {
        status = vv_arguments_size(arguments, "memory", 64 << 10, INT64_C(64) << 30,
                                   &backfill->memory_max, error);
    }
    if (status == VV_OK) {
        status =
            vv_arguments_int(arguments, "rate", 1, INT64_C(1000000000), &backfill->rate, error);
    }
    return status;
}

static enum vv_status prepare(struct vv_backfill *backfill, struct vv_error *error)
{
    struct vv_load *load = &backfill->load;
    const struct vv_arguments *arguments = load->arguments;
    backfill->folder = vv_arguments_text(arguments, "staging", DEFAULT_FOLDER);
    if (strlen(backfill->folder) > 1000) {
        return vv_error_set(error, VV_INVALID, "the name of the staging folder is too long");
    }
    enum vv_status status = read_numbers(backfill, error);
    if (status == VV_OK) {
        status = vv_client_configure(arguments, &load->client, error);
    }
    if (status == VV_OK) {
        status = vv_load_read_format(load, error);
    }
    if (status == VV_OK) {
        status = vv_client_setup(error);
    }
    return status;
}

/* ---- before it begins ---- */

static bool is_packed(const char *path)
{
    size_t size = strlen(path);
    return (size > 3 && strcmp(path + size - 3, ".gz") == 0) ||
           (size > 4 && strcmp(path + size - 4, ".zst") == 0);
}

/* How much of the disk staging needs, as far as it can be told. */
static enum vv_status look_at_space(struct vv_backfill *backfill, struct vv_error *error)
{
    const struct vv_arguments *arguments = backfill->load.arguments;
    uint64_t total = vv_load_total_bytes(arguments);
    bool at_least = false;
    struct statvfs info;
    for (size_t i = 0; i < arguments->n_words; i++) {
        at_least = at_least || is_packed(arguments->words[i]);
    }
    if (total == 0 || statvfs(backfill->folder, &info) != 0) {
        return VV_OK; /* it will show */
    }
    uint64_t free_bytes = (uint64_t)info.f_bavail * info.f_frsize;
    uint64_t need = total + total / 2;
    if (total > (uint64_t)backfill->memory_max * VV_HISTORY_RUNS_MAX) {
        need += total; /* runs are merged */
    }
    if (!backfill->load.quiet) {
        vv_say_note("staging in '%s' takes %s %.1f MiB, of %.1f MiB that are free",
                    backfill->folder, at_least ? "more than" : "about", (double)need / 1048576,
                    (double)free_bytes / 1048576);
    }
    if (need > free_bytes) {
        return vv_error_set(error, VV_FULL,
                            "there is too little room in '%.200s': --staging names another folder, "
                            "or load the files one after the other",
                            backfill->folder);
    }
    return VV_OK;
}

/* Standard input can't be read again. */
static enum vv_status check_inputs(const struct vv_backfill *backfill, struct vv_error *error)
{
    const struct vv_arguments *arguments = backfill->load.arguments;
    for (size_t i = 0; i < arguments->n_words && backfill->goes_on; i++) {
        if (strcmp(arguments->words[i], "-") == 0) {
            return vv_error_set(error, VV_INVALID,
                                "standard input was not read to its end the last time, and can't "
                                "be read again: begin anew with --restart, and all of it");
        }
    }
    for (size_t i = 0; i < arguments->n_words; i++) {
        if (vv_backfill_holds(backfill, arguments->words[i])) {
            return vv_error_set(error, VV_INVALID,
                                "'%.200s' lies in the staging folder: move it elsewhere, or name "
                                "another folder with --staging",
                                arguments->words[i]);
        }
    }
    return vv_load_check_files(arguments, error);
}

#define WORD_SIZE 32

/* What the tenant wants done with late points. */
struct policy {
    char word[WORD_SIZE];  /* empty: not known */
    char limit[WORD_SIZE]; /* empty: there is none */
};

static void keep_word(const json_t *item, const char *name, char word_out[WORD_SIZE])
{
    const char *word = json_string_value(json_object_get(item, name));
    snprintf(word_out, WORD_SIZE, "%s", word ? word : "");
}

static struct policy policy_in(const struct vv_backfill *backfill, const json_t *root)
{
    size_t i;
    json_t *item;
    struct policy policy = {.word = ""};
    json_array_foreach(json_object_get(root, "tenants"), i, item)
    {
        const char *name = json_string_value(json_object_get(item, "tenant"));
        if (name && strcmp(name, backfill->load.client.tenant) == 0) {
            keep_word(item, "late", policy.word);
            keep_word(item, "late_limit", policy.limit);
        }
    }
    return policy;
}

/* Asked for what is said only: a failure is none. */
static struct policy ask_policy(const struct vv_backfill *backfill)
{
    struct vv_client *client;
    struct vv_response response = {0};
    struct vv_error error = {0};
    struct policy policy = {.word = ""};
    const struct vv_call call = {.method = "GET", .path = "/api/v1/tenants"};
    if (vv_client_create(&backfill->load.client, &client) != VV_OK) {
        return policy;
    }
    if (vv_client_call(client, &call, &response, &error) == VV_OK && response.code == 200) {
        json_t *root = json_loadb((const char *)response.body.data, response.body.size, 0, NULL);
        policy = policy_in(backfill, root);
        json_decref(root);
    }
    vv_response_deinit(&response);
    vv_client_destroy(client);
    return policy;
}

/* A tenant that refuses late points refuses history; better said before hours of staging. */
static void look_at_tenant(const struct vv_backfill *backfill)
{
    const char *tenant = backfill->load.client.tenant;
    if (backfill->load.quiet) {
        return;
    }
    struct policy policy = ask_policy(backfill);
    if (strcmp(policy.word, "refuse") == 0) {
        vv_say_note("the tenant %s refuses what is older than %s when it comes: to take history, "
                    "`varve tenants set %s --late accept` first",
                    tenant, policy.limit[0] ? policy.limit : "its limit", tenant);
    } else if (strcmp(policy.word, "separate") == 0) {
        vv_say_note("the tenant %s keeps late points apart: tiers have them when the server folds "
                    "them next (late.fold_every), or behind `varve flush --seal`",
                    tenant);
    }
}

static enum vv_status begin(struct vv_backfill *backfill, struct vv_error *error)
{
    static const char *const phases[] = {"staging", "loading", "sealing"};
    struct vv_load *load = &backfill->load;
    bool restart = vv_arguments_flag(load->arguments, "restart");
    enum vv_status status = vv_backfill_open(backfill, restart, error);
    if (status != VV_OK) {
        return status;
    }
    if (backfill->goes_on && !load->quiet) {
        vv_say_note("goes on with what is in '%s': %s", backfill->folder,
                    phases[backfill->state.phase]);
    }
    if (backfill->state.phase == VV_BACKFILL_STAGING) {
        status = check_inputs(backfill, error);
    }
    if (status == VV_OK && !backfill->goes_on) {
        status = look_at_space(backfill, error);
        look_at_tenant(backfill);
    }
    if (status == VV_OK && !backfill->goes_on && backfill->replaces) {
        status = vv_backfill_ask_frozen(backfill, error);
    }
    return status == VV_OK ? vv_backfill_begin(backfill, error) : status;
}

/* ---- the end ---- */

static void print_json(struct vv_backfill *backfill, double seconds)
{
    struct vv_load_report *report = &backfill->load.report;
    char first[VV_TIME_TEXT_SIZE] = "";
    char last[VV_TIME_TEXT_SIZE] = "";
    json_t *refused = json_object();
    for (size_t i = 0; i < report->n_reasons; i++) {
        json_object_set_new(refused, report->reasons[i].name,
                            json_integer((json_int_t)report->reasons[i].points));
    }
    if (report->has_times) {
        vv_time_format(report->first, first);
        vv_time_format(report->last, last);
    }
    json_t *sealed = json_boolean(backfill->damaged == 0 && backfill->later == 0);
    json_t *root = json_pack(
        "{s:I, s:I, s:I, s:o, s:s?, s:s?, s:s?, s:o, s:I, s:I, s:I, s:I, s:b, s:f}", "lines",
        (json_int_t)report->lines, "frozen_points", (json_int_t)backfill->state.frozen_points,
        "accepted", (json_int_t)report->accepted, "refused", refused, "refused_file",
        backfill->state.refused_bytes > 0 ? backfill->refused_path : NULL, "first",
        first[0] ? first : NULL, "last", last[0] ? last : NULL, "sealed", sealed, "open",
        (json_int_t)backfill->open, "later", (json_int_t)backfill->later, "damaged",
        (json_int_t)backfill->damaged, "kept", (json_int_t)backfill->kept, "resumed",
        (int)backfill->goes_on, "seconds", seconds);
    if (root) {
        json_dumpf(root, stdout, JSON_PRESERVE_ORDER);
        fputc('\n', stdout);
    }
    json_decref(root);
}

static void print_text(struct vv_backfill *backfill, double seconds)
{
    struct vv_load_report *report = &backfill->load.report;
    char first[VV_TIME_TEXT_SIZE];
    char last[VV_TIME_TEXT_SIZE];
    char count[VV_COUNT_TEXT_SIZE];
    vv_load_report_print(report, backfill->load.arguments->n_words, seconds, stdout);
    if (backfill->state.refused_bytes > 0) {
        printf("refused lines, and why, are in %s\n", backfill->refused_path);
    }
    if (backfill->state.frozen_points > 0) {
        printf("%s of the points were of frozen days: what tiers had of these was replaced\n",
               vv_count_text(backfill->state.frozen_points, count));
    }
    if (!report->has_times) {
        return;
    }
    vv_time_format(report->first, first);
    vv_time_format(report->last, last);
    if (backfill->damaged > 0) {
        printf(
            "from %s to %s: %s spans can't be sealed, since stored data is damaged; the server's "
            "log says more\n",
            first, last, vv_count_text(backfill->damaged, count));
    } else if (backfill->later > 0) {
        bool is_apart = strcmp(ask_policy(backfill).word, "separate") == 0;
        printf(
            "from %s to %s: sealed but for %s spans and units, %s, and what they hold is answered "
            "all the same\n",
            first, last, vv_count_text(backfill->later, count),
            is_apart ? "as late points of this tenant are kept apart until the server folds them "
                       "(late.fold_every; `varve flush --seal` does it at once)"
                     : "which are hardly over: their turn comes in some hours");
    } else if (backfill->kept > 0) {
        printf(
            "from %s to %s: sealed, but %s%s units of tiers keep what they had: points that they "
            "were built of have expired, and what came for them is in raw points alone\n",
            first, last, vv_count_text(backfill->kept, count),
            backfill->kept < KEPT_UNITS_TOLD ? "" : " or more");
    } else {
        printf("from %s to %s: sealed, all tiers are built\n", first, last);
    }
    if (backfill->open > 0) {
        printf("%s spans are not over yet, and are sealed later\n",
               vv_count_text(backfill->open, count));
    }
}

static int explain(struct vv_backfill *backfill, enum vv_status status,
                   const struct vv_error *error)
{
    if (status == VV_CANCELLED) {
        vv_say_error("interrupted");
    } else {
        vv_say_error("%s", error->message);
    }
    if (status != VV_INVALID && status != VV_CORRUPT && status != VV_NEWER) {
        vv_say_hint("the same command goes on from here: nothing is stored twice");
    }
    switch (status) {
    case VV_CANCELLED:
        return VV_EXIT_INTERRUPTED;
    case VV_UNKNOWN:
        return VV_EXIT_UNREACHABLE;
    case VV_IO: /* of the server, unless files are being read */
        return backfill->state.phase == VV_BACKFILL_STAGING ? VV_EXIT_FAILED : VV_EXIT_UNREACHABLE;
    default:
        return VV_EXIT_FAILED;
    }
}

/* ---- the run ---- */

static bool is_dry(const struct vv_backfill *backfill)
{
    return vv_arguments_flag(backfill->load.arguments, "dry-run");
}

static enum vv_status run_phases(struct vv_backfill *backfill, struct vv_error *error)
{
    struct vv_load *load = &backfill->load;
    enum vv_status status = VV_OK;
    vv_progress_init(&load->progress, !load->quiet && vv_terminal_is(stderr),
                     vv_load_total_bytes(load->arguments), backfill->begun_ns);
    if (backfill->state.phase == VV_BACKFILL_STAGING) {
        status = vv_backfill_stage(backfill, error);
        vv_progress_clear(&load->progress);
    }
    if (status == VV_OK) {
        status = vv_backfill_check_frozen(backfill, error);
    }
    if (status == VV_OK && is_dry(backfill)) {
        return vv_backfill_tell_plan(backfill, error);
    }
    if (status == VV_OK && backfill->state.phase == VV_BACKFILL_LOADING) {
        status = vv_backfill_send(backfill, error);
    }
    return status == VV_OK ? vv_backfill_wait(backfill, error) : status;
}

static int run(struct vv_backfill *backfill)
{
    struct vv_error error = {0};
    backfill->begun_ns = vv_load_now_ns();
    enum vv_status status = run_phases(backfill, &error);
    if (status != VV_OK) {
        return explain(backfill, status, &error);
    }
    if (is_dry(backfill)) {
        return VV_EXIT_OK; /* what is staged stays */
    }
    double seconds = (double)(vv_load_now_ns() - backfill->begun_ns) / 1e9;
    if (backfill->json) {
        print_json(backfill, seconds);
    } else if (!backfill->load.quiet) {
        print_text(backfill, seconds);
    }
    if (backfill->state.damaged_files > 0) {
        vv_say_error("%" PRIu64 " of the files are damaged, the first is '%s': loaded up to there",
                     backfill->state.damaged_files,
                     backfill->load.arguments->words[backfill->state.damaged_file]);
    }
    vv_backfill_remove(backfill);
    return backfill->damaged > 0 || backfill->state.damaged_files > 0 ? VV_EXIT_FAILED
           : backfill->load.report.refused > 0 || backfill->kept > 0  ? VV_EXIT_REFUSED
                                                                      : VV_EXIT_OK;
}

int vv_backfill_run(const struct vv_arguments *arguments)
{
    struct vv_error error = {0};
    struct vv_backfill backfill = {
        .load = {.arguments = arguments, .quiet = vv_arguments_flag(arguments, "quiet")},
        .memory_max = 64 << 20,
        .connections = 1,
        .batch_lines = 1000,
        .batch_bytes = 1 << 20,
        .retry_ns = VV_HOUR,
        .json = vv_arguments_flag(arguments, "json"),
        .replaces = vv_arguments_flag(arguments, "replace-frozen"),
    };
    int code;
    vv_load_report_init(&backfill.load.report);
    vv_interrupt_catch();
    enum vv_status status = prepare(&backfill, &error);
    if (status != VV_OK) {
        vv_say_error("%s", error.message);
        code = status == VV_INVALID ? VV_EXIT_USAGE : VV_EXIT_FAILED;
    } else if ((status = vv_load_reach_server(&backfill.load, &error)) != VV_OK) {
        code = vv_client_fail(&backfill.load.client, status, &error);
    } else if ((status = begin(&backfill, &error)) != VV_OK) {
        vv_say_error("%s", error.message);
        code = status == VV_INVALID || status == VV_NOT_FOUND ? VV_EXIT_USAGE : VV_EXIT_FAILED;
    } else {
        code = run(&backfill);
    }
    if (backfill.load.report.refused_file) {
        fclose(backfill.load.report.refused_file);
    }
    vv_buffer_deinit(&backfill.line);
    vv_load_report_deinit(&backfill.load.report);
    return code;
}
