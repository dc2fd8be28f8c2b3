/* SPDX-License-Identifier: Apache-2.0 */
/* `varve schema`: the tables in Cassandra, printed, made or compared; over CQL, without a server.
 */
#include "cli/commands.h"

#include "cli/config.h"
#include "cli/table_print.h"
#include "cli/terminal.h"
#include "engine/cql_options.h"
#include "engine/schema_options.h"
#include "store/cassandra/hint.h"

#include <jansson.h>
#include <stdlib.h>

struct schema_command {
    bool apply;
    bool check;
    bool json;
    struct vv_settings settings;
    struct vv_schema_setup setup;
    json_t *done;  /* with json: what was made */
    size_t n_done; /* else printed at once */
};

static json_t *json_of(struct vv_str text)
{
    json_t *string = json_stringn(text.data, text.size);
    return string ? string : json_string("?"); /* Cassandra's texts are UTF-8 */
}

static int print_json(json_t *take_root)
{
    char *text = take_root ? json_dumps(take_root, JSON_INDENT(2)) : NULL;
    json_decref(take_root);
    if (!text) {
        vv_say_error("out of memory");
        return VV_EXIT_FAILED;
    }
    puts(text);
    free(text);
    return VV_EXIT_OK;
}

/* ---- printing the statements ---- */

static enum vv_status collect(void *context, struct vv_str what, struct vv_str cql)
{
    json_t *statement = json_pack("{s:o, s:o}", "what", json_of(what), "cql", json_of(cql));
    return json_array_append_new(context, statement) == 0 ? VV_OK : VV_NO_MEMORY;
}

static int print_statements_json(const struct vv_schema_options *options)
{
    struct vv_error error = {0};
    json_t *statements = json_array();
    enum vv_status status = vv_schema_statements(options, collect, statements, &error);
    if (status != VV_OK) {
        json_decref(statements);
        vv_say_error("%s", error.message);
        return VV_EXIT_FAILED;
    }
    return print_json(
        json_pack("{s:i, s:o}", "version", VV_SCHEMA_VERSION, "statements", statements));
}

static int print_statements(const struct schema_command *command)
{
    struct vv_error error = {0};
    struct vv_buffer text = {0};
    if (command->json) {
        return print_statements_json(&command->setup.options);
    }
    enum vv_status status = vv_schema_print(&command->setup.options, &text, &error);
    if (status == VV_OK) {
        fwrite(text.data, 1, text.size, stdout);
    } else {
        vv_say_error("%s", error.message);
    }
    vv_buffer_deinit(&text);
    return status == VV_OK ? VV_EXIT_OK : VV_EXIT_FAILED;
}

/* ---- differences ---- */

static const char *mend_word(enum vv_schema_mend mend)
{
    return mend == VV_MEND_APPLY ? "apply" : mend == VV_MEND_ALTER ? "alter" : "none";
}

static json_t *json_of_difference(const struct vv_schema_difference *difference)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:b, s:s, s:o}", "table", json_of(difference->table),
                     "what", json_of(difference->what), "found", json_of(difference->found),
                     "wanted", json_of(difference->wanted), "breaks", difference->breaks, "mend",
                     mend_word(difference->mend), "statement", json_of(difference->statement));
}

static int print_report_json(struct schema_command *command, const struct vv_schema_report *report)
{
    json_t *differences = json_array();
    for (size_t i = 0; i < report->n; i++) {
        json_array_append_new(differences, json_of_difference(&report->differences[i]));
    }
    return print_json(json_pack("{s:s, s:i, s:O, s:o}", "keyspace", command->setup.options.keyspace,
                                "version", report->version, "done", command->done, "differences",
                                differences));
}

static enum vv_status add_row(struct vv_table *table, const struct vv_schema_difference *difference)
{
    static const char *const mends[] = {"varve schema --apply", "the statement below",
                                        "only a new table"};
    const struct vv_str cells[] = {
        difference->table.size > 0 ? difference->table : vv_str_of("keyspace"),
        difference->what,
        difference->found,
        difference->wanted,
        vv_str_of(difference->breaks ? "breaks it" : "works"),
        vv_str_of(mends[difference->mend]),
    };
    return vv_table_row(table, cells);
}

static enum vv_status print_differences(const struct vv_schema_report *report)
{
    static const struct vv_str header[] = {{"table", 5},     {"what", 4},   {"is", 2},
                                           {"should be", 9}, {"effect", 6}, {"mended by", 9}};
    const struct vv_table_options options = {
        .file = stdout, .columns = vv_terminal_is(stdout) ? vv_terminal_columns(stdout) : 0};
    struct vv_table *table;
    enum vv_status status =
        vv_table_create(&options, header, sizeof header / sizeof header[0], &table);
    if (status != VV_OK) {
        return status;
    }
    for (size_t i = 0; i < report->n && status == VV_OK; i++) {
        status = add_row(table, &report->differences[i]);
    }
    status = status == VV_OK ? vv_table_end(table) : status;
    vv_table_destroy(table);
    return status;
}

/* Whether an earlier difference has the same statement. */
static bool is_repeated(const struct vv_schema_report *report, size_t i)
{
    for (size_t j = 0; j < i; j++) {
        if (vv_str_equal(report->differences[j].statement, report->differences[i].statement)) {
            return true;
        }
    }
    return false;
}

static bool begins(struct vv_str text, const char *words)
{
    return text.size >= strlen(words) && memcmp(text.data, words, strlen(words)) == 0;
}

/* What mends, ready for cqlsh. */
static void print_mends(const struct vv_schema_report *report, const char *keyspace)
{
    bool any = false;
    for (size_t i = 0; i < report->n; i++) {
        const struct vv_schema_difference *difference = &report->differences[i];
        if (difference->mend != VV_MEND_ALTER || is_repeated(report, i)) {
            continue;
        }
        fputs(any ? "" : "\n", stdout);
        any = true;
        if (vv_str_equal(difference->wanted, VV_STR_LITERAL("no such column"))) {
            puts("-- deletes what is in that column:");
        }
        vv_terminal_print(stdout, difference->statement);
        puts(";");
        if (begins(difference->what, "replication.")) {
            printf("-- then on each host: nodetool repair --full %s\n", keyspace);
        }
    }
}

/* Says how it ended; the exit code. */
static int conclude(const struct schema_command *command, const struct vv_schema_report *report)
{
    const char *keyspace = command->setup.options.keyspace;
    size_t n_breaking = 0;
    if (report->n == 0) {
        if (!command->json) {
            printf("keyspace %s: %s, version %d\n", keyspace,
                   !command->apply        ? "as it should be"
                   : command->n_done == 0 ? "nothing to do"
                                          : "ready",
                   report->version);
        }
        return VV_EXIT_OK;
    }
    for (size_t i = 0; i < report->n; i++) {
        n_breaking += report->differences[i].breaks;
    }
    vv_say_error("keyspace %s differs in %zu place%s%s", keyspace, report->n,
                 report->n == 1 ? "" : "s",
                 n_breaking > 0 ? ", and can't be used as it is" : "; it can be used");
    return VV_EXIT_FAILED;
}

static int show_report(struct schema_command *command, const struct vv_schema_report *report)
{
    if (command->json) {
        int code = print_report_json(command, report);
        return code == VV_EXIT_OK ? conclude(command, report) : code;
    }
    if (report->n > 0) {
        if (print_differences(report) != VV_OK) {
            vv_say_error("out of memory");
            return VV_EXIT_FAILED;
        }
        print_mends(report, command->setup.options.keyspace);
    }
    return conclude(command, report);
}

/* ---- with Cassandra ---- */

static void on_progress(void *context, const char *what, const char *done)
{
    struct schema_command *command = context;
    command->n_done++;
    if (command->json) {
        json_array_append_new(command->done, json_pack("{s:s, s:s}", "what", what, "done", done));
    } else {
        printf("%s: %s\n", what, done);
        fflush(stdout);
    }
}

static int refuse_connection(const struct vvcql_error *error)
{
    const char *hint = vv_cassandra_hint(error);
    vv_say_error("%s", error->message);
    if (hint) {
        vv_say_hint("%s", hint);
    }
    return error->status == VVCQL_INVALID       ? VV_EXIT_USAGE
           : error->status == VVCQL_UNREACHABLE ? VV_EXIT_UNREACHABLE
                                                : VV_EXIT_FAILED;
}

static int compare(struct schema_command *command, struct vvcql_session *session)
{
    struct vv_error error = {0};
    struct vv_schema_report report;
    const struct vv_schema_options *options = &command->setup.options;
    enum vv_status status =
        command->apply ? vv_schema_apply(session, options, on_progress, command, &report, &error)
                       : vv_schema_inspect(session, options, &report, &error);
    int code = VV_EXIT_FAILED;
    if (status == VV_OK) {
        code = show_report(command, &report);
    } else {
        vv_say_error("%s", error.message);
    }
    vv_schema_report_deinit(&report);
    return code;
}

static int connect_and_compare(struct schema_command *command)
{
    char password[VV_SETTING_TEXT_MAX];
    struct vvcql_options options;
    struct vvcql_session *session = NULL;
    struct vvcql_error cql_error = {0};
    struct vv_error error = {0};
    enum vv_status status = vv_cql_options_of(&command->settings, password, &options, &error);
    if (status != VV_OK) {
        return vv_config_fail(status, &error);
    }
    enum vvcql_status opened = vvcql_session_open(&options, false, &session, &cql_error);
    explicit_bzero(password, sizeof password);
    if (opened != VVCQL_OK) {
        return refuse_connection(&cql_error);
    }
    int code = compare(command, session);
    vvcql_session_close(session);
    return code;
}

int vv_schema_run(const struct vv_arguments *arguments)
{
    struct vv_error error = {0};
    struct schema_command command = {
        .apply = vv_arguments_flag(arguments, "apply"),
        .check = vv_arguments_flag(arguments, "check"),
        .json = vv_arguments_flag(arguments, "json"),
    };
    if (command.apply && command.check) {
        return vv_usage_fail(arguments->command, "--apply and --check are two commands",
                             "--apply checks too, at its end");
    }
    enum vv_status status = vv_config_read(arguments, &command.settings, &error);
    if (status == VV_OK) {
        status = vv_settings_check(&command.settings, &error);
    }
    if (status == VV_OK) {
        status = vv_schema_setup_of(&command.settings, &command.setup, &error);
    }
    if (status != VV_OK) {
        return vv_config_fail(status, &error);
    }
    if (!command.apply && !command.check) {
        return print_statements(&command);
    }
    command.done = json_array();
    int code = connect_and_compare(&command);
    json_decref(command.done);
    explicit_bzero(&command.settings, sizeof command.settings);
    return code;
}
