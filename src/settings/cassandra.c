/* SPDX-License-Identifier: Apache-2.0 */
/* The section cassandra: texts that are lists, the password, and what must hold between them. */
#include "settings/settings.h"

#include "base/clock.h"
#include "settings/list.h"
#include "settings/table.h"
#include "settings/value.h"

#include <errno.h>

#define REPLICAS_MAX     100
#define REFRESH_ATTEMPTS 16 /* in the slack: four in its last quarter */
#define CLASS_LEAST_NS   VV_MINUTE
#define CLASS_MOST_NS    (20 * 365 * VV_DAY) /* Cassandra takes no longer TTL */

/* ---- classes ---- */

static enum vv_status refuse_class(struct vv_str text, const char *what, struct vv_error *error)
{
    return vv_error_set(error, VV_INVALID,
                        "cassandra.classes: '%.*s' %s; allowed: up to %d durations of 1m to 7300d, "
                        "ascending, such as 7d,30d",
                        text.size > 32 ? 32 : (int)text.size, text.data, what,
                        VV_SETTINGS_CLASSES_MAX);
}

enum vv_status vv_settings_classes(const struct vv_settings *settings,
                                   int64_t classes_ns_out[VV_SETTINGS_CLASSES_MAX], size_t *n_out,
                                   struct vv_error *error)
{
    struct vv_str rest = vv_list_trim(vv_str_of(settings->cassandra_classes));
    struct vv_str element;
    size_t n = 0;
    rest = rest.size > 0 ? rest : (struct vv_str){0}; /* only what is kept for ever */
    while (vv_list_next(&rest, &element)) {
        int64_t class_ns;
        if (vv_duration_parse(element, &class_ns, NULL) != VV_OK) {
            return refuse_class(element, "is not a duration", error);
        }
        if (class_ns < CLASS_LEAST_NS || class_ns > CLASS_MOST_NS || class_ns % VV_SECOND != 0) {
            return refuse_class(element, "is not whole seconds in that range", error);
        }
        if (n > 0 && class_ns <= classes_ns_out[n - 1]) {
            return refuse_class(element, "is not longer than the one before", error);
        }
        if (n == VV_SETTINGS_CLASSES_MAX) {
            return refuse_class(element, "is one too many", error);
        }
        classes_ns_out[n++] = class_ns;
    }
    *n_out = n;
    return VV_OK;
}

/* ---- replication ---- */

static enum vv_status refuse_replication(struct vv_str text, const char *what,
                                         struct vv_error *error)
{
    return vv_error_set(error, VV_INVALID,
                        "cassandra.replication: '%.*s' %s; allowed: DATACENTRE:COPIES, several "
                        "with commas, such as dc1:3,dc2:3",
                        text.size > 64 ? 64 : (int)text.size, text.data, what);
}

static bool is_among(const struct vv_settings_replicas *replicas, size_t n, struct vv_str name)
{
    for (size_t i = 0; i < n; i++) {
        if (vv_str_equal(replicas[i].datacenter, name)) {
            return true;
        }
    }
    return false;
}

enum vv_status vv_settings_replication(
    const struct vv_settings *settings,
    struct vv_settings_replicas replicas_out[VV_SETTINGS_REPLICAS_MAX], size_t *n_out,
    struct vv_error *error)
{
    struct vv_str rest = vv_str_of(settings->cassandra_replication);
    struct vv_str element;
    size_t n = 0;
    while (vv_list_next(&rest, &element)) {
        const char *colon = memchr(element.data, ':', element.size);
        size_t size = colon ? (size_t)(colon - element.data) : element.size;
        struct vv_str name = vv_list_trim((struct vv_str){element.data, size});
        struct vv_str count = {0};
        if (colon) {
            count = vv_list_trim((struct vv_str){colon + 1, element.size - size - 1});
        }
        int64_t replicas;
        if (name.size == 0 || !vv_int_parse(count, &replicas) || replicas < 1 ||
            replicas > REPLICAS_MAX) {
            return refuse_replication(element, "is no data centre with a number of copies", error);
        }
        if (is_among(replicas_out, n, name)) {
            return refuse_replication(name, "is named twice", error);
        }
        if (n == VV_SETTINGS_REPLICAS_MAX) {
            return refuse_replication(name, "is one too many", error);
        }
        replicas_out[n++] = (struct vv_settings_replicas){name, replicas};
    }
    *n_out = n;
    return VV_OK;
}

/* ---- rows_tenants ---- */

/* Patterns are not meant: what looks like one is refused, rather than be a name that nobody has. */
static enum vv_status check_rows_tenants(const char *list, struct vv_error *error)
{
    struct vv_str rest = vv_list_trim(vv_str_of(list));
    struct vv_str element;
    rest = rest.size > 0 ? rest : (struct vv_str){0};
    while (vv_list_next(&rest, &element)) {
        bool is_all = vv_str_equal(element, VV_STR_LITERAL("*"));
        if (element.size == 0 || (!is_all && memchr(element.data, '*', element.size))) {
            return vv_error_set(error, VV_INVALID,
                                "cassandra.rows_tenants: '%.*s' is no name; allowed: names of "
                                "tenants with commas, or * for all",
                                element.size > 64 ? 64 : (int)element.size, element.data);
        }
    }
    return VV_OK;
}

/* ---- password ---- */

static enum vv_status read_password(FILE *file, const char *path,
                                    char password_out[VV_SETTING_TEXT_MAX], struct vv_error *error)
{
    char line[VV_SETTING_TEXT_MAX + 2]; /* and the end of the line */
    if (!fgets(line, sizeof line, file)) {
        line[0] = '\0';
    }
    if (ferror(file)) {
        return vv_error_set(error, VV_IO, "cassandra.password_file: cannot read %.200s: %s", path,
                            strerror(errno));
    }
    line[strcspn(line, "\r\n")] = '\0';
    size_t size = strlen(line);
    if (size == 0 || size >= VV_SETTING_TEXT_MAX) {
        return vv_error_set(error, VV_INVALID,
                            "cassandra.password_file: the first line of %.200s is %s", path,
                            size == 0 ? "empty" : "too long for a password");
    }
    memcpy(password_out, line, size + 1);
    return VV_OK;
}

enum vv_status vv_settings_password(const struct vv_settings *settings,
                                    char password_out[VV_SETTING_TEXT_MAX], struct vv_error *error)
{
    const char *path = settings->cassandra_password_file;
    if (!*path) {
        memcpy(password_out, settings->cassandra_password, VV_SETTING_TEXT_MAX);
        return VV_OK;
    }
    FILE *file = fopen(path, "re");
    if (!file) {
        return vv_error_set(error, VV_IO, "cassandra.password_file: cannot open %.200s: %s", path,
                            strerror(errno));
    }
    enum vv_status status = read_password(file, path, password_out, error);
    fclose(file);
    return status;
}

/* ---- checks ---- */

static enum vv_status check_login(const struct vv_settings *settings, struct vv_error *error)
{
    bool password = *settings->cassandra_password;
    bool file = *settings->cassandra_password_file;
    if (password && file) {
        return vv_error_set(error, VV_INVALID,
                            "cassandra.password and cassandra.password_file are both set: keep one "
                            "of them");
    }
    if (*settings->cassandra_user && !password && !file) {
        return vv_error_set(error, VV_INVALID,
                            "cassandra.user is set and there is no password: set "
                            "cassandra.password_file");
    }
    if (!*settings->cassandra_user && (password || file)) {
        return vv_error_set(error, VV_INVALID,
                            "there is a password for Cassandra and no cassandra.user: set it too");
    }
    return VV_OK;
}

static enum vv_status check_tls(const struct vv_settings *settings, struct vv_error *error)
{
    bool certificate = *settings->cassandra_tls_certificate;
    if (certificate != (*settings->cassandra_tls_key != '\0')) {
        return vv_error_set(error, VV_INVALID,
                            "cassandra.tls_certificate and cassandra.tls_key belong together: set "
                            "both or none");
    }
    if (!settings->cassandra_tls &&
        (certificate || *settings->cassandra_tls_ca || settings->cassandra_tls_skip_name_check)) {
        return vv_error_set(error, VV_INVALID,
                            "there are settings of TLS and cassandra.tls is off: set it to true, "
                            "or remove them");
    }
    return VV_OK;
}

/* Runs that wait are written again from half the slack on, so often: by then most must be sealed,
 * and none may expire before it is due. Spans that are chosen for a source are not known here. */
static enum vv_status check_slack(const struct vv_settings *settings, struct vv_error *error)
{
    int64_t spread_ns = settings->seal_spread_ns ? settings->seal_spread_ns : settings->span_ns;
    if (strcmp(settings->store_kind, "cassandra") != 0 ||
        settings->seal_lateness_ns + spread_ns <= settings->cassandra_slack_ns / 4) {
        return VV_OK;
    }
    return vv_error_set(error, VV_INVALID,
                        "seal.lateness and seal.spread (0s: partition.span) together are longer "
                        "than a quarter of cassandra.slack, so runs could expire unsealed: raise "
                        "cassandra.slack, or lower them");
}

/* Runs that wait are written again after three quarters of the slack at the latest, if all goes
 * well when it is tried; which it is so often. */
static enum vv_status check_interval(const struct vv_settings *settings, struct vv_error *error)
{
    if (strcmp(settings->store_kind, "cassandra") != 0 ||
        settings->expire_interval_ns <= settings->cassandra_slack_ns / REFRESH_ATTEMPTS) {
        return VV_OK;
    }
    return vv_error_set(error, VV_INVALID,
                        "retention.interval is longer than a %dth of cassandra.slack, so runs that "
                        "wait to be sealed could expire before they are written again: lower it, "
                        "or raise cassandra.slack",
                        REFRESH_ATTEMPTS);
}

/* What only one copy has may not be seen by who copies, and be gone with the table. */
static enum vv_status check_purge(const struct vv_settings *settings,
                                  const struct vv_settings_regions *regions, struct vv_error *error)
{
    if (settings->cassandra_purge_every_ns == 0) {
        return VV_OK;
    }
    if (regions->n > 1) {
        return vv_error_set(error, VV_INVALID,
                            "cassandra.purge_every is set, and cassandra.regions names several: "
                            "only a region that stands alone can be purged by copying");
    }
    if (!strstr(settings->cassandra_consistency, "QUORUM") &&
        strcmp(settings->cassandra_consistency, "ALL") != 0) {
        return vv_error_set(error, VV_INVALID,
                            "cassandra.purge_every is set, and cassandra.consistency is %s: set "
                            "it to LOCAL_QUORUM, QUORUM or ALL, so that what is copied is all",
                            settings->cassandra_consistency);
    }
    return VV_OK;
}

enum vv_status vv_settings_check_cassandra(const struct vv_settings *settings,
                                           struct vv_error *error)
{
    int64_t classes[VV_SETTINGS_CLASSES_MAX];
    struct vv_settings_replicas replicas[VV_SETTINGS_REPLICAS_MAX];
    size_t n;
    struct vv_settings_regions regions;
    enum vv_status status = vv_settings_regions(settings, &regions, error);
    if (status == VV_OK) {
        status = vv_settings_classes(settings, classes, &n, error);
    }
    if (status == VV_OK) {
        status = vv_settings_replication(settings, replicas, &n, error);
    }
    if (status == VV_OK) {
        status = check_rows_tenants(settings->cassandra_rows_tenants, error);
    }
    if (status == VV_OK) {
        status = check_login(settings, error);
    }
    if (status == VV_OK) {
        status = check_slack(settings, error);
    }
    if (status == VV_OK) {
        status = check_interval(settings, error);
    }
    if (status == VV_OK) {
        status = check_purge(settings, &regions, error);
    }
    return status == VV_OK ? check_tls(settings, error) : status;
}
