/* SPDX-License-Identifier: Apache-2.0 */
/* Settings as a whole: defaults, one by name, and what must hold between them. */
#include "settings/settings.h"

#include "base/clock.h"
#include "settings/table.h"

void vv_settings_init(struct vv_settings *settings)
{
    memset(settings, 0, sizeof *settings);
    for (size_t i = 0; i < vv_setting_count; i++) {
        const struct vv_setting *row = &vv_setting_table[i];
        vv_invariant(vv_setting_read(row, vv_str_of(row->preset), settings, NULL) == VV_OK);
    }
}

enum vv_status vv_settings_set(struct vv_settings *settings, const char *name, const char *value,
                               struct vv_error *error)
{
    const struct vv_setting *row = vv_setting_find(vv_str_of(name));
    row = row ? row : vv_setting_kind_of(vv_str_of(name));
    if (row) {
        return vv_setting_read(row, vv_str_of(value), settings, error);
    }
    const char *nearest = vv_setting_nearest(vv_str_of(name));
    if (*nearest) {
        return vv_error_set(error, VV_INVALID, "there is no setting '%.64s'; did you mean %s?",
                            name, nearest);
    }
    return vv_error_set(error, VV_INVALID,
                        "there is no setting '%.64s'; `varve config` lists all of them", name);
}

/* The present value of a setting that exists. */
static void write_value(const char *name, const struct vv_settings *settings, char *out)
{
    const struct vv_setting *row = vv_setting_find(vv_str_of(name));
    vv_invariant(row != NULL);
    vv_setting_write(row, settings, out);
}

/* "a must be at least N times b", with both present values. */
static enum vv_status refuse_pair(const char *larger, const char *smaller, int64_t times,
                                  const struct vv_settings *settings, struct vv_error *error)
{
    char larger_text[VV_SETTING_WRITTEN_SIZE];
    char smaller_text[VV_SETTING_WRITTEN_SIZE];
    write_value(larger, settings, larger_text);
    write_value(smaller, settings, smaller_text);
    return vv_error_set(error, VV_INVALID,
                        "%s (%.40s) must be at least %d times %s (%.40s): raise the one or lower "
                        "the other",
                        larger, larger_text, (int)times, smaller, smaller_text);
}

static enum vv_status check_partition(const struct vv_settings *settings, struct vv_error *error)
{
    if (settings->span_ns == 0) {
        return VV_OK;
    }
    if (settings->bucket_ns == 0) {
        return vv_error_set(error, VV_INVALID,
                            "partition.span is set and partition.bucket is not: set both or none");
    }
    if (settings->bucket_ns % settings->span_ns != 0) {
        return vv_error_set(error, VV_INVALID,
                            "partition.span must divide partition.bucket without a rest, "
                            "such as 1h and 1d");
    }
    return VV_OK;
}

int64_t vv_settings_raw_ns(const struct vv_settings *settings)
{
    bool preset = settings->tiers_default && settings->retention_raw_ns == 0;
    return preset ? 7 * VV_DAY : settings->retention_raw_ns;
}

static enum vv_status check_late(const struct vv_settings *settings, struct vv_error *error)
{
    return settings->late_limit_ns % VV_SECOND == 0
               ? VV_OK
               : vv_error_set(error, VV_INVALID, "late.limit must be whole seconds, such as 90s");
}

/* What is kept for a time needs a table of its own. */
static enum vv_status check_tier_classes(const struct vv_settings *settings, struct vv_error *error)
{
    int64_t classes_ns[VV_SETTINGS_CLASSES_MAX];
    size_t n;
    enum vv_status status = vv_settings_classes(settings, classes_ns, &n, error);
    if (status == VV_OK && (n == 0 || classes_ns[n - 1] < 365 * VV_DAY)) {
        return vv_error_set(
            error, VV_INVALID,
            "tiers.default keeps hours for 365d, and cassandra.classes has no class "
            "as long: add 365d, or leave out tiers.default");
    }
    return status;
}

static enum vv_status check_tiers(const struct vv_settings *settings, struct vv_error *error)
{
    if (!settings->tiers_default) {
        return VV_OK;
    }
    if (settings->retention_raw_ns > 0 && settings->retention_raw_ns < 2 * VV_DAY) {
        return vv_error_set(error, VV_INVALID,
                            "retention.raw is shorter than 2d, too short for tiers to be built: "
                            "set 2d or more, or leave out tiers.default");
    }
    return strcmp(settings->store_kind, "cassandra") == 0 ? check_tier_classes(settings, error)
                                                          : VV_OK;
}

int64_t vv_settings_hearing_ns(const struct vv_settings *settings)
{
    return 2 * settings->fleet_poll_ns + 3 * VV_SECOND;
}

/* A query knows what was told before it began, and each of its requests takes its time. */
int64_t vv_settings_lead_ns(const struct vv_settings *settings)
{
    return vv_settings_hearing_ns(settings) + settings->query_time_ns_max +
           settings->cassandra_request_timeout_ns;
}

enum vv_status vv_settings_check(const struct vv_settings *settings, struct vv_error *error)
{
    const struct {
        const char *larger;
        int64_t larger_value;
        int64_t times;
        const char *smaller;
        int64_t smaller_value;
    } pairs[] = {
        {"head.bytes_max", settings->head_bytes_max, 2, "head.flush_bytes",
         settings->head_flush_bytes},
        {"journal.bytes_max", settings->journal_bytes_max, 4, "journal.segment_bytes",
         settings->journal_segment_bytes},
        {"http.body_bytes_max", settings->http_body_bytes_max, 1, "ingest.line_bytes_max",
         settings->line_bytes_max},
        {"head.bytes_max", settings->head_bytes_max, 4, "ingest.batch_bytes_max",
         settings->batch_bytes_max},
        {"fleet.gone_after", settings->fleet_gone_ns, 2, "fleet.beat", settings->fleet_beat_ns},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        if (pairs[i].larger_value / pairs[i].times < pairs[i].smaller_value) {
            return refuse_pair(pairs[i].larger, pairs[i].smaller, pairs[i].times, settings, error);
        }
    }
    enum vv_status status = check_partition(settings, error);
    status = status == VV_OK ? check_tiers(settings, error) : status;
    status = status == VV_OK ? check_late(settings, error) : status;
    return status == VV_OK ? vv_settings_check_cassandra(settings, error) : status;
}
