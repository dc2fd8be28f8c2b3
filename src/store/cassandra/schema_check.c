/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a keyspace has the schema that is wanted. */
#include "store/cassandra/schema_private.h"

#include "base/clock.h"
#include "base/log.h"

#include <stdio.h>

#define LOGGED_MAX 10 /* differences */
#define NAMED_MAX  3  /* in a message */

enum vv_status vv_schema_refuse_newer(const struct vv_schema *found, int32_t version,
                                      struct vv_error *error)
{
    if (found->version <= version) {
        return VV_OK;
    }
    return vv_error_set(error, VV_NEWER,
                        "keyspace %s has the schema of a newer Varve (version %d, this one knows "
                        "%d): upgrade Varve",
                        found->keyspace, found->version, version);
}

enum vv_status vv_schema_inspect(struct vvcql_session *session,
                                 const struct vv_schema_options *options,
                                 struct vv_schema_report *report_out, struct vv_error *error)
{
    struct vv_schema wanted = {0};
    struct vv_schema found = {0};
    *report_out = (struct vv_schema_report){0};
    enum vv_status status = vv_schema_options_check(options, error);
    if (status == VV_OK) {
        status = vv_schema_find(session, options->keyspace, &found, error);
    }
    if (status == VV_OK) {
        status = vv_schema_refuse_newer(&found, VV_SCHEMA_VERSION, error);
    }
    if (status == VV_OK) {
        status = vv_schema_want(options, &wanted);
        status = status == VV_OK ? vv_schema_compare(&wanted, &found, report_out) : status;
        (void)(status == VV_OK ? VV_OK : vv_error_set(error, status, "out of memory"));
    }
    vv_schema_deinit(&found);
    vv_schema_deinit(&wanted);
    return status;
}

/* ---- before it is used ---- */

static enum vv_status refuse_missing(const struct vv_schema_report *report,
                                     const struct vv_schema_difference *difference,
                                     const char *keyspace, struct vv_error *error)
{
    if (report->version == 0) {
        return vv_error_set(error, VV_NOT_FOUND,
                            "keyspace %s has no schema of Varve: run `varve schema --apply`, or "
                            "give what `varve schema` prints to cqlsh",
                            keyspace);
    }
    if (report->version < VV_SCHEMA_VERSION) {
        return vv_error_set(error, VV_NOT_FOUND,
                            "keyspace %s has an older schema (version %d of %d): run `varve schema "
                            "--apply`",
                            keyspace, report->version, VV_SCHEMA_VERSION);
    }
    return vv_error_set(error, VV_NOT_FOUND,
                        "the %.*s %s.%.*s is missing: run `varve schema --apply`",
                        VV_STR_ARG(difference->what), keyspace, VV_STR_ARG(difference->table));
}

/* "runs: column data is text, and should be blob; …" */
static enum vv_status refuse_changed(const struct vv_schema_report *report, const char *keyspace,
                                     struct vv_error *error)
{
    struct vv_buffer text = {0};
    size_t n = 0;
    for (size_t i = 0; i < report->n; i++) {
        const struct vv_schema_difference *difference = &report->differences[i];
        if (difference->breaks && n++ < NAMED_MAX) {
            vv_buffer_format(&text, "%s%.*s%s%.*s is %.60s, and should be %.60s", n > 1 ? "; " : "",
                             VV_STR_ARG(difference->table), difference->table.size > 0 ? ": " : "",
                             VV_STR_ARG(difference->what), difference->found.data,
                             difference->wanted.data);
        }
    }
    enum vv_status status =
        vv_error_set(error, VV_INVALID,
                     "the schema of keyspace %s was changed, and can't be used: %.*s%s; `varve "
                     "schema --check` shows all, and what mends it",
                     keyspace, text.size > 320 ? 320 : (int)text.size,
                     text.data ? (const char *)text.data : "", n > NAMED_MAX ? "; …" : "");
    vv_buffer_deinit(&text);
    return status;
}

static void log_difference(const struct vv_schema_difference *difference, const char *keyspace)
{
    char quoted[4][160];
    const struct vv_str texts[] = {difference->table, difference->what, difference->found,
                                   difference->wanted};
    for (size_t i = 0; i < 4; i++) {
        (void)vv_log_quote(texts[i].data, texts[i].size, quoted[i], sizeof quoted[i]);
    }
    vv_log(VV_LOG_WARN, "schema_differs", "keyspace=%s table=%s what=%s found=%s wanted=%s",
           keyspace, quoted[0], quoted[1], quoted[2], quoted[3]);
}

static enum vv_status judge(const struct vv_schema_report *report, const char *keyspace,
                            struct vv_error *error)
{
    const struct vv_schema_difference *missing = NULL;
    bool changed = false;
    for (size_t i = 0; i < report->n; i++) {
        const struct vv_schema_difference *difference = &report->differences[i];
        if (difference->breaks && difference->mend == VV_MEND_APPLY) {
            missing = missing ? missing : difference;
        } else if (difference->breaks) {
            changed = true;
        }
    }
    if (missing) { /* first: without a version the rest is not ours */
        return refuse_missing(report, missing, keyspace, error);
    }
    if (changed) {
        return refuse_changed(report, keyspace, error);
    }
    for (size_t i = 0; i < report->n && i < LOGGED_MAX; i++) {
        log_difference(&report->differences[i], keyspace);
    }
    if (report->n > LOGGED_MAX) {
        vv_log(VV_LOG_WARN, "schema_differs", "keyspace=%s more=%zu", keyspace,
               report->n - LOGGED_MAX);
    }
    return VV_OK;
}

enum vv_status vv_schema_verify(struct vvcql_session *session,
                                const struct vv_schema_options *options, struct vv_error *error)
{
    struct vv_schema_report report;
    enum vv_status status = vv_schema_inspect(session, options, &report, error);
    if (status == VV_OK) {
        status = judge(&report, options->keyspace, error);
    }
    vv_schema_report_deinit(&report);
    return status;
}

enum vv_status vv_schema_check(struct vvcql_session *session, const char *keyspace,
                               struct vv_error *error)
{
    const struct vv_schema_options options = {.keyspace = keyspace, .run_life_ns = VV_DAY};
    return vv_schema_verify(session, &options, error);
}
