/* SPDX-License-Identifier: Apache-2.0 */
/* How far a backfill is: state.json, replaced as a whole, durably. It has what `struct
 * vv_backfill_state` has, the counts of the report, and the command that it belongs to. */
#include "cli/backfill_private.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#define STATE_VERSION 1

/* ---- the command ---- */

/* What does not change what is loaded, and what the state names by itself. */
static bool is_of_no_matter(const char *option)
{
    static const char *const names[] = {
        "connections", "batch-lines", "batch-bytes", "retry", "rate", "quiet", "staging",
        "memory",      "dry-run",     "restart",     "json",  "ack",  "server"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(option, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* JSON is UTF-8; names of files need not be. The caller's. */
static json_t *describe_text(const char *text)
{
    json_t *plain = json_string(text);
    struct vv_buffer hex = {0};
    if (plain) {
        return plain;
    }
    vv_buffer_text(&hex, "bytes ");
    for (const char *at = text; *at; at++) {
        vv_buffer_format(&hex, "%02x", (unsigned)(unsigned char)*at);
    }
    if (vv_buffer_status(&hex) == VV_OK) {
        plain = json_stringn((const char *)hex.data, hex.size);
    }
    vv_buffer_deinit(&hex);
    return plain;
}

static json_t *describe_file(const char *path)
{
    struct stat info = {0};
    (void)!stat(path, &info);
    return json_pack("[o, I, I]", describe_text(path), (json_int_t)info.st_size,
                     (json_int_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec);
}

/* The server, the files as they are now, and what they are read by; the caller's. */
static json_t *describe_command(const struct vv_backfill *backfill)
{
    const struct vv_arguments *arguments = backfill->load.arguments;
    json_t *files = json_array();
    json_t *options = json_array();
    for (size_t i = 0; i < arguments->n_words; i++) {
        json_array_append_new(files, describe_file(arguments->words[i]));
    }
    for (size_t i = 0; i < arguments->n_given; i++) {
        const struct vv_given *given = &arguments->given[i];
        if (!is_of_no_matter(given->option->name)) {
            json_array_append_new(options,
                                  json_pack("[s, o]", given->option->name,
                                            describe_text(given->value ? given->value : "")));
        }
    }
    return json_pack("{s:o, s:o, s:o, s:o}", "server", describe_text(backfill->load.client.server),
                     "tenant", describe_text(backfill->load.client.tenant), "files", files,
                     "options", options);
}

/* ---- writing ---- */

static json_t *describe_runs(const struct vv_history_runs *runs)
{
    json_t *list = json_array();
    for (size_t i = 0; i < runs->n; i++) {
        const struct vv_history_run *run = &runs->items[i];
        json_array_append_new(list, json_pack("[I, I, I]", (json_int_t)run->number,
                                              (json_int_t)run->bytes, (json_int_t)run->at));
    }
    return list;
}

static json_t *describe_reasons(const struct vv_load_report *report)
{
    json_t *list = json_array();
    for (size_t i = 0; i < report->n_reasons; i++) {
        const struct vv_load_reason *reason = &report->reasons[i];
        json_t *examples = json_array();
        for (size_t j = 0; j < reason->n_examples; j++) {
            json_array_append_new(examples, json_string(reason->examples[j]));
        }
        json_array_append_new(
            list, json_pack("[s, I, o]", reason->name, (json_int_t)reason->points, examples));
    }
    return list;
}

static json_t *describe_report(struct vv_load_report *report)
{
    pthread_mutex_lock(&report->lock);
    json_t *root =
        json_pack("{s:I, s:I, s:I, s:I, s:I, s:o}", "lines", (json_int_t)report->lines, "accepted",
                  (json_int_t)report->accepted, "refused", (json_int_t)report->refused, "requests",
                  (json_int_t)report->requests, "retries", (json_int_t)report->retries, "reasons",
                  describe_reasons(report));
    if (report->has_times) {
        json_object_set_new(root, "first", json_integer(report->first));
        json_object_set_new(root, "last", json_integer(report->last));
    }
    pthread_mutex_unlock(&report->lock);
    return root;
}

static json_t *describe_state(struct vv_backfill *backfill)
{
    const struct vv_backfill_state *state = &backfill->state;
    return json_pack(
        "{s:s, s:i, s:o, s:i, s:I, s:I, s:o, s:I, s:I, s:I, s:I, s:s, s:I, s:I, s:o, s:I, s:b, "
        "s:o}",
        "program", VV_BACKFILL_PROGRAM, "version", STATE_VERSION, "command",
        describe_command(backfill), "phase", (int)state->phase, "file", (json_int_t)state->file,
        "line", (json_int_t)state->line, "runs", describe_runs(&state->runs), "next",
        (json_int_t)state->runs.next, "points", (json_int_t)state->points, "damaged_files",
        (json_int_t)state->damaged_files, "damaged_file", (json_int_t)state->damaged_file,
        "refused", state->refused_name, "refused_bytes", (json_int_t)state->refused_bytes,
        "frozen_until", (json_int_t)state->frozen_until, "id_tag", describe_text(state->id_tag),
        "frozen_points", (json_int_t)state->frozen_points, "lacks_some", (int)state->lacks_some,
        "report", describe_report(&backfill->load.report));
}

static bool sync_file(const char *path, int flags)
{
    int descriptor = open(path, flags | O_CLOEXEC);
    bool good = descriptor >= 0 && fsync(descriptor) == 0;
    if (descriptor >= 0) {
        close(descriptor);
    }
    return good;
}

/* What is in the file of refused lines is durable before the state says so. */
static bool settle_refused(struct vv_backfill *backfill)
{
    FILE *file = backfill->load.report.refused_file;
    bool good = !file || (fflush(file) == 0 && fsync(fileno(file)) == 0);
    off_t size = file ? ftello(file) : 0;
    backfill->state.refused_bytes = size > 0 ? (uint64_t)size : 0;
    return good;
}

enum vv_status vv_backfill_save(struct vv_backfill *backfill, struct vv_error *error)
{
    char path[VV_HISTORY_PATH_SIZE];
    char new_path[VV_HISTORY_PATH_SIZE];
    vv_backfill_path(backfill, VV_BACKFILL_STATE, path);
    vv_backfill_path(backfill, VV_BACKFILL_NEW_STATE, new_path);
    bool good = settle_refused(backfill);
    json_t *root = describe_state(backfill);
    if (!root) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory");
    }
    good = good && json_dump_file(root, new_path, JSON_INDENT(1)) == 0 &&
           sync_file(new_path, O_RDONLY) && rename(new_path, path) == 0 &&
           sync_file(backfill->folder, O_RDONLY | O_DIRECTORY);
    json_decref(root);
    return good ? VV_OK
                : vv_error_set(error, VV_IO, "%.200s: writing failed: %s", path, strerror(errno));
}

/* ---- reading ---- */

static uint64_t number_of(const json_t *root, const char *name)
{
    return (uint64_t)json_integer_value(json_object_get(root, name));
}

static bool read_runs(const json_t *list, struct vv_history_runs *runs)
{
    size_t i;
    json_t *item;
    if (!json_is_array(list) || json_array_size(list) > VV_HISTORY_RUNS_MAX) {
        return false;
    }
    json_array_foreach(list, i, item)
    {
        runs->items[runs->n++] = (struct vv_history_run){
            .number = (uint64_t)json_integer_value(json_array_get(item, 0)),
            .bytes = (uint64_t)json_integer_value(json_array_get(item, 1)),
            .at = (uint64_t)json_integer_value(json_array_get(item, 2)),
        };
    }
    return true;
}

static void read_reason(struct vv_load_report *report, const json_t *item)
{
    struct vv_load_reason *reason = &report->reasons[report->n_reasons++];
    const char *name = json_string_value(json_array_get(item, 0));
    json_t *examples = json_array_get(item, 2);
    snprintf(reason->name, sizeof reason->name, "%s", name ? name : "other");
    reason->points = (uint64_t)json_integer_value(json_array_get(item, 1));
    for (size_t i = 0; i < json_array_size(examples) && i < VV_LOAD_EXAMPLES_MAX; i++) {
        const char *text = json_string_value(json_array_get(examples, i));
        snprintf(reason->examples[reason->n_examples++], sizeof reason->examples[0], "%s",
                 text ? text : "");
    }
}

static void read_report(struct vv_load_report *report, const json_t *root)
{
    json_t *reasons = json_object_get(root, "reasons");
    report->lines = number_of(root, "lines");
    report->accepted = number_of(root, "accepted");
    report->refused = number_of(root, "refused");
    report->requests = number_of(root, "requests");
    report->retries = number_of(root, "retries");
    report->has_times = json_is_integer(json_object_get(root, "first"));
    report->first = (int64_t)number_of(root, "first");
    report->last = (int64_t)number_of(root, "last");
    for (size_t i = 0; i < json_array_size(reasons) && i < VV_LOAD_REASONS_MAX; i++) {
        read_reason(report, json_array_get(reasons, i));
    }
}

enum vv_status vv_backfill_read_state(struct vv_backfill *backfill, const json_t *root,
                                      struct vv_error *error)
{
    const char *refused = json_string_value(json_object_get(root, "refused"));
    const char *id_tag = json_string_value(json_object_get(root, "id_tag"));
    struct vv_backfill_state *state = &backfill->state;
    json_int_t version = json_integer_value(json_object_get(root, "version"));
    uint64_t phase = number_of(root, "phase");
    if (version > STATE_VERSION) {
        return vv_error_set(error, VV_NEWER,
                            "the staging folder is of a newer version of varve: use that one, or "
                            "begin anew with --restart");
    }
    if (!read_runs(json_object_get(root, "runs"), &state->runs) || phase > VV_BACKFILL_SEALING ||
        number_of(root, "damaged_file") >= backfill->load.arguments->n_words) {
        return vv_error_set(error, VV_CORRUPT,
                            "the staging folder is damaged: begin anew with --restart");
    }
    json_t *command = describe_command(backfill);
    bool is_same = command && json_equal(command, json_object_get(root, "command"));
    json_decref(command);
    if (!is_same) {
        return vv_error_set(
            error, VV_INVALID,
            "in '%.200s' there is a backfill of other files, to another server or "
            "with other options (or a file has changed since): finish that one first, name another "
            "folder with --staging, or begin anew with --restart",
            backfill->folder);
    }
    state->phase = (enum vv_backfill_phase)phase;
    state->file = number_of(root, "file");
    state->line = number_of(root, "line");
    state->runs.next = number_of(root, "next");
    state->points = number_of(root, "points");
    state->damaged_files = number_of(root, "damaged_files");
    state->damaged_file = number_of(root, "damaged_file");
    snprintf(state->refused_name, sizeof state->refused_name, "%s", refused ? refused : "");
    state->refused_bytes = number_of(root, "refused_bytes");
    state->frozen_until = (int64_t)number_of(root, "frozen_until");
    state->frozen_points = number_of(root, "frozen_points");
    state->lacks_some = json_is_true(json_object_get(root, "lacks_some"));
    snprintf(state->id_tag, sizeof state->id_tag, "%s", id_tag ? id_tag : "");
    read_report(&backfill->load.report, json_object_get(root, "report"));
    backfill->goes_on = true;
    return VV_OK;
}
