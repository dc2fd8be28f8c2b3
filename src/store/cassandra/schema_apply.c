/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes what is missing. The order makes it safe to be cut off anywhere and done again: steps from
 * older versions (each can be repeated), then what is missing, and last the record of the version.
 */
#include "store/cassandra/schema_private.h"

#include <stdio.h>

#define AGREEMENT_TIMEOUT_MS 60000

/* Tables that are new are made like all that are missing; 2: of late points, 5: of places, 6: of
 * purges, 8: of moves. */
static const char *const step_2[] = {NULL};
/* 3: runs that sources share, and by how many bits they do. */
static const char *const step_3[] = {
    "ALTER TABLE {keyspace}.plans ADD IF NOT EXISTS share_bits int", NULL};
/* 4: nothing is made: a program from before cohorts would leave them as they are. */
static const char *const step_4[] = {NULL};
static const char *const step_5[] = {"ALTER TABLE {keyspace}.nodes ADD IF NOT EXISTS partial int",
                                     NULL};
/* 6: purging by copying. */
static const char *const step_6[] = {"ALTER TABLE {keyspace}.seals ADD IF NOT EXISTS purges blob",
                                     "ALTER TABLE {keyspace}.nodes ADD IF NOT EXISTS tables int",
                                     NULL};
/* 7: tails of records. Those that are there keep theirs in `data`. */
static const char *const step_7[] = {"ALTER TABLE {keyspace}.{blocks} ADD IF NOT EXISTS tail blob",
                                     NULL};
/* 8: measurements change their class. */
static const char *const step_8[] = {NULL};
static const struct vv_schema_step all_steps[] = {
    {2, step_2}, {3, step_3}, {4, step_4}, {5, step_5}, {6, step_6}, {7, step_7}, {8, step_8}};
static const size_t n_all_steps = sizeof all_steps / sizeof all_steps[0];

/* ---- one statement ---- */

static void tell(const struct vv_schema_runner *runner, const char *kind, struct vv_str name,
                 const char *done)
{
    char what[128];
    if (runner->progress) {
        snprintf(what, sizeof what, "%s %.*s", kind, VV_STR_ARG(name));
        runner->progress(runner->progress_context, what, done);
    }
}

/* Runs what the buffer holds and empties it. */
static enum vv_status run(const struct vv_schema_runner *runner, struct vv_buffer *cql,
                          struct vv_error *error)
{
    vv_buffer_u8(cql, '\0');
    enum vv_status status = vv_buffer_status(cql);
    if (status == VV_OK) {
        status = runner->run(runner->context, (const char *)cql->data, error);
    } else {
        (void)vv_error_set(error, status, "out of memory");
    }
    vv_buffer_clear(cql);
    return status;
}

static enum vv_status put_version(const struct vv_schema_runner *runner, const char *keyspace,
                                  int32_t version, const char *done, struct vv_error *error)
{
    char number[16];
    struct vv_buffer cql = {0};
    vv_schema_put_version(&cql, keyspace, version);
    enum vv_status status = run(runner, &cql, error);
    vv_buffer_deinit(&cql);
    if (status == VV_OK) {
        snprintf(number, sizeof number, "%d", version);
        tell(runner, "version", vv_str_of(number), done);
    }
    return status;
}

/* ---- steps from older versions ---- */

/* The text with a value for each {name}; `table` for {blocks}. */
static void expand(struct vv_buffer *out, const char *text, const char *keyspace,
                   struct vv_str table)
{
    static const char keyspace_mark[] = "{keyspace}";
    static const char blocks_mark[] = "{blocks}";
    while (*text) {
        if (strncmp(text, keyspace_mark, sizeof keyspace_mark - 1) == 0) {
            vv_buffer_text(out, keyspace);
            text += sizeof keyspace_mark - 1;
        } else if (strncmp(text, blocks_mark, sizeof blocks_mark - 1) == 0) {
            vv_buffer_str(out, table);
            text += sizeof blocks_mark - 1;
        } else {
            vv_buffer_u8(out, (uint8_t)*text++);
        }
    }
}

static enum vv_status run_text(const struct vv_schema_runner *runner, const char *text,
                               const char *keyspace, struct vv_str table, struct vv_error *error)
{
    struct vv_buffer cql = {0};
    expand(&cql, text, keyspace, table);
    enum vv_status status = run(runner, &cql, error);
    vv_buffer_deinit(&cql);
    return status;
}

static bool begins_with(struct vv_str text, const char *prefix)
{
    size_t size = strlen(prefix);
    return text.size > size && memcmp(text.data, prefix, size) == 0;
}

/* Tables of classes that are not configured any more have blocks too, and those of late points. */
static bool is_blocks(struct vv_str table)
{
    return begins_with(table, "blocks_") || begins_with(table, "late_");
}

static enum vv_status run_step_text(const struct vv_schema_runner *runner, const char *text,
                                    const struct vv_schema *found, struct vv_error *error)
{
    if (!strstr(text, "{blocks}")) {
        return run_text(runner, text, found->keyspace, (struct vv_str){0}, error);
    }
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < found->n_tables && status == VV_OK; i++) {
        if (is_blocks(found->tables[i].name)) {
            status = run_text(runner, text, found->keyspace, found->tables[i].name, error);
        }
    }
    return status;
}

static enum vv_status run_steps(const struct vv_schema_runner *runner,
                                const struct vv_schema *found, const struct vv_schema_step *steps,
                                size_t n_steps, struct vv_error *error)
{
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < n_steps && status == VV_OK; i++) {
        if (steps[i].version <= found->version) {
            continue;
        }
        for (const char *const *text = steps[i].statements; *text && status == VV_OK; text++) {
            status = run_step_text(runner, *text, found, error);
        }
        if (status == VV_OK) {
            status = put_version(runner, found->keyspace, steps[i].version, "reached", error);
        }
    }
    return status;
}

/* ---- what is missing ---- */

static enum vv_status make_keyspace(const struct vv_schema_runner *runner,
                                    const struct vv_schema *wanted, struct vv_error *error)
{
    struct vv_buffer cql = {0};
    vv_schema_put_keyspace(&cql, wanted);
    enum vv_status status = run(runner, &cql, error);
    vv_buffer_deinit(&cql);
    if (status == VV_OK) {
        tell(runner, "keyspace", vv_str_of(wanted->keyspace), "created");
    }
    return status;
}

static enum vv_status make_tables(const struct vv_schema_runner *runner,
                                  const struct vv_schema *wanted, const struct vv_schema *found,
                                  struct vv_error *error)
{
    struct vv_buffer cql = {0};
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < wanted->n_tables && status == VV_OK; i++) {
        const struct vv_schema_table *table = &wanted->tables[i];
        if (vv_schema_find_table(found, table->name)) {
            continue;
        }
        vv_schema_put_table(&cql, wanted->keyspace, table);
        status = run(runner, &cql, error);
        if (status == VV_OK) {
            tell(runner, "table", table->name, "created");
        }
    }
    vv_buffer_deinit(&cql);
    return status;
}

/* Whether what is there, and can't be mended by making things, is as reading and writing need it:
 * a keyspace of other people's tables must not get our version. */
static enum vv_status check_usable(const struct vv_schema *wanted, const struct vv_schema *found,
                                   bool *usable_out)
{
    struct vv_schema_report report = {0};
    enum vv_status status = vv_schema_compare(wanted, found, &report);
    *usable_out = true;
    for (size_t i = 0; i < report.n; i++) {
        if (report.differences[i].breaks && report.differences[i].mend != VV_MEND_APPLY) {
            *usable_out = false;
        }
    }
    vv_schema_report_deinit(&report);
    return status;
}

enum vv_status vv_schema_bring(const struct vv_schema_runner *runner,
                               const struct vv_schema *wanted, const struct vv_schema *found,
                               const struct vv_schema_step *steps, size_t n_steps,
                               struct vv_error *error)
{
    enum vv_status status = VV_OK;
    bool migrated = found->version > 0 && found->version < wanted->version;
    if (migrated) {
        status = run_steps(runner, found, steps, n_steps, error);
    }
    if (status == VV_OK && !found->exists) {
        status = make_keyspace(runner, wanted, error);
    }
    if (status == VV_OK) {
        status = make_tables(runner, wanted, found, error);
    }
    if (status != VV_OK || found->version > 0) {
        return status;
    }
    bool usable;
    status = check_usable(wanted, found, &usable);
    if (status != VV_OK) {
        return vv_error_set(error, status, "out of memory");
    }
    return usable ? put_version(runner, wanted->keyspace, wanted->version, "written", error)
                  : VV_OK;
}

/* ---- with Cassandra ---- */

static enum vv_status run_and_agree(void *context, const char *cql, struct vv_error *error)
{
    struct vvcql_session *session = context;
    struct vvcql_result *result;
    struct vvcql_error cql_error = {0};
    enum vv_status status = vv_schema_change(session, cql, "changing the schema", &result, error);
    if (status != VV_OK) {
        return status;
    }
    vvcql_result_destroy(result);
    if (vvcql_wait_for_schema(session, AGREEMENT_TIMEOUT_MS, &cql_error) != VVCQL_OK) {
        return vv_schema_failed(&cql_error, "waiting until all hosts have the same schema", error);
    }
    return VV_OK;
}

enum vv_status vv_schema_apply(struct vvcql_session *session,
                               const struct vv_schema_options *options, vv_schema_progress progress,
                               void *context, struct vv_schema_report *report_out,
                               struct vv_error *error)
{
    const struct vv_schema_runner runner = {run_and_agree, session, progress, context};
    struct vv_schema wanted = {0};
    struct vv_schema found = {0};
    *report_out = (struct vv_schema_report){0};
    enum vv_status status = vv_schema_options_check(options, error);
    if (status == VV_OK && vv_schema_want(options, &wanted) != VV_OK) {
        status = vv_error_set(error, VV_NO_MEMORY, "out of memory");
    }
    if (status == VV_OK) {
        status = vv_schema_find(session, options->keyspace, &found, error);
    }
    if (status == VV_OK) {
        status = vv_schema_refuse_newer(&found, wanted.version, error);
    }
    if (status == VV_OK) {
        status = vv_schema_bring(&runner, &wanted, &found, all_steps, n_all_steps, error);
    }
    vv_schema_deinit(&found);
    vv_schema_deinit(&wanted);
    return status == VV_OK ? vv_schema_inspect(session, options, report_out, error) : status;
}
