/* SPDX-License-Identifier: Apache-2.0 */
/* From settings to the options of a schema. */
#include "engine/schema_options.h"

#include "base/clock.h"

#include <assert.h>

#define USUAL_BUCKET VV_DAY /* runs live until their bucket ends, and the slack longer */

static_assert(VV_SETTINGS_CLASSES_MAX <= VV_SCHEMA_CLASSES_MAX, "classes fit");
static_assert(VV_SETTINGS_REPLICAS_MAX <= VV_SCHEMA_REPLICAS_MAX, "data centres fit");

enum vv_status vv_schema_setup_of(const struct vv_settings *settings,
                                  struct vv_schema_setup *setup_out, struct vv_error *error)
{
    struct vv_settings_replicas replicas[VV_SETTINGS_REPLICAS_MAX];
    struct vv_schema_options *options = &setup_out->options;
    int64_t bucket_ns = settings->bucket_ns > 0 ? settings->bucket_ns : USUAL_BUCKET;
    *options = (struct vv_schema_options){
        .replication = setup_out->replication,
        .classes_ns = setup_out->classes_ns,
        .run_life_ns = bucket_ns + settings->cassandra_slack_ns,
        .repair_interval_ns = settings->cassandra_repair_interval_ns,
        .gc_grace_min_ns = settings->cassandra_gc_grace_min_ns,
        .purges = settings->cassandra_purge_every_ns > 0,
    };
    enum vv_status status =
        vv_settings_classes(settings, setup_out->classes_ns, &options->n_classes, error);
    if (status == VV_OK) {
        status = vv_settings_regions(settings, &setup_out->regions, error);
    }
    if (status == VV_OK) {
        options->keyspace = setup_out->regions.regions[setup_out->regions.own].keyspace;
        status = vv_settings_replication(settings, replicas, &options->n_replication, error);
    }
    for (size_t i = 0; status == VV_OK && i < options->n_replication; i++) {
        setup_out->replication[i] =
            (struct vv_schema_replicas){replicas[i].datacenter, replicas[i].replicas};
    }
    return status == VV_OK ? vv_schema_options_check(options, error) : status;
}
