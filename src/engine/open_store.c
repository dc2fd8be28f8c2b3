/* SPDX-License-Identifier: Apache-2.0 */
/* The store that the settings name. */
#include "engine/cql_options.h"
#include "engine/engine_private.h"

#include "base/log.h"

#include <stdlib.h>

static enum vv_status open_embedded(struct vv_engine *engine, struct vv_store **store_out,
                                    struct vv_error *error)
{
    struct vv_store_options options = {
        .folder = vv_folder_store(engine->folder),
        .cache_bytes = (uint64_t)engine->settings.store_cache_bytes,
        .write_buffer_bytes = (uint64_t)engine->settings.store_write_buffer_bytes,
        .eras = (int)engine->settings.store_eras,
        .merge_after_ns = engine->settings.store_merge_after_ns,
        .keep_free_bytes = (uint64_t)engine->settings.disk_reserve_bytes,
    };
    return vv_store_rocksdb_open(&options, store_out, error);
}

/* ---- Cassandra ---- */

/* A host that hangs fails what it was asked until it is given up: after twice that. */
#define HEARTBEAT_MS 5000

/* In the CQL session's thread. */
static void log_event(void *context, const char *event, const char *text)
{
    (void)context;
    char quoted[600];
    vv_log(VV_LOG_INFO, event, "message=%s",
           vv_log_quote(text, strlen(text), quoted, sizeof quoted));
}

static const char *unless_empty(const char *text)
{
    return text[0] ? text : NULL;
}

enum vv_status vv_cql_options_of(const struct vv_settings *settings,
                                 char password_out[VV_SETTING_TEXT_MAX],
                                 struct vvcql_options *options_out, struct vv_error *error)
{
    enum vv_status status = vv_settings_password(settings, password_out, error);
    if (status != VV_OK) {
        return status;
    }
    *options_out = (struct vvcql_options){
        .contact_points = settings->cassandra_contact_points,
        .local_datacenter = unless_empty(settings->cassandra_datacenter),
        .remote_hosts = settings->cassandra_remote_hosts,
        .user = unless_empty(settings->cassandra_user),
        .password = password_out,
        .tls = {.enabled = settings->cassandra_tls,
                .ca_file = unless_empty(settings->cassandra_tls_ca),
                .certificate_file = unless_empty(settings->cassandra_tls_certificate),
                .key_file = unless_empty(settings->cassandra_tls_key),
                .skip_name_check = settings->cassandra_tls_skip_name_check},
        .connections_per_host = (uint32_t)settings->cassandra_connections_per_host,
        .heartbeat_ms = HEARTBEAT_MS,
        .request_timeout_ms = (uint32_t)(settings->cassandra_request_timeout_ns / VV_MILLISECOND),
        .speculative_delay_ms =
            (uint32_t)(settings->cassandra_speculative_delay_ns / VV_MILLISECOND),
    };
    if (!vvcql_consistency_of(settings->cassandra_consistency, &options_out->consistency)) {
        return vv_error_set(error, VV_INVALID, "cassandra.consistency is not a level");
    }
    return VV_OK;
}

static enum vv_status open_cassandra(struct vv_engine *engine, struct vv_store *take_local,
                                     struct vv_error *error)
{
    const struct vv_settings *settings = &engine->settings;
    char password[VV_SETTING_TEXT_MAX];
    int64_t classes[VV_SETTINGS_CLASSES_MAX];
    struct vv_cassandra_options options = {
        .classes_ns = classes,
        .rows_tenants = settings->cassandra_rows_tenants,
        .slack_ns = settings->cassandra_slack_ns,
        .fold_ns = settings->late_fold_every_ns,
        .purge_every_ns = settings->cassandra_purge_every_ns,
        .lead_ns = vv_settings_lead_ns(settings),
        .gone_ns = settings->fleet_gone_ns,
        .requests_max = (uint32_t)settings->cassandra_requests_max,
        .bytes_max = (size_t)settings->cassandra_bytes_max,
        .parked_max = (uint64_t)settings->cassandra_parked_max,
    };
    enum vv_status status = vv_settings_classes(settings, classes, &options.n_classes, error);
    if (status == VV_OK) {
        status = vv_cql_options_of(settings, password, &options.cql, error);
    }
    if (status == VV_OK) {
        engine->names = vv_names_create();
        engine->schema = calloc(1, sizeof *engine->schema);
        bool made = engine->names && engine->schema;
        status = made ? vv_schema_setup_of(settings, engine->schema, error)
                      : vv_error_set(error, VV_NO_MEMORY, "out of memory");
    }
    if (status != VV_OK) {
        take_local->ops->close(take_local);
        return status;
    }
    options.cql.log = log_event;
    options.schema = &engine->schema->options;
    options.own_region = engine->schema->regions.own;
    options.n_regions = engine->schema->regions.n;
    for (size_t i = 0; i < options.n_regions; i++) {
        const struct vv_settings_region *one = &engine->schema->regions.regions[i];
        options.regions[i] = (struct vv_cassandra_region){one->name, one->keyspace};
    }
    struct vv_store_names names = vv_names_of_store(engine->names);
    status =
        vv_store_cassandra_open(&options, take_local, &names, engine->clock, &engine->store, error);
    explicit_bzero(password, sizeof password);
    return status;
}

/* The store of this node's own files: the whole store, or beside Cassandra. */
static enum vv_status open_own(struct vv_engine *engine, struct vv_store *take_local,
                               struct vv_store **store_out, struct vv_error *error)
{
    if (take_local) {
        *store_out = take_local;
        return VV_OK;
    }
    enum vv_status status = vv_folder_open(engine->settings.data, &engine->folder, error);
    return status == VV_OK ? open_embedded(engine, store_out, error) : status;
}

enum vv_status vv_engine_open_store(struct vv_engine *engine,
                                    const struct vv_engine_options *options, struct vv_error *error)
{
    if (options->store) {
        engine->store = options->store;
        return VV_OK;
    }
    struct vv_store *own;
    enum vv_status status = open_own(engine, options->take_local, &own, error);
    if (status != VV_OK) {
        return status;
    }
    engine->owns_store = true;
    engine->outlasts_store = strcmp(engine->settings.store_kind, "cassandra") == 0;
    if (!engine->outlasts_store) {
        engine->store = own;
        return VV_OK;
    }
    status = open_cassandra(engine, own, error);
    engine->owns_store = status == VV_OK;
    return status;
}
