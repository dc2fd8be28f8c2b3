/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of the section `cassandra` as options of a schema. Any thread. */
#ifndef VV_ENGINE_SCHEMA_OPTIONS_H
#define VV_ENGINE_SCHEMA_OPTIONS_H

#include "settings/settings.h"
#include "store/cassandra/schema.h"

/* The options, and what they borrow beside the settings: not to be moved. */
struct vv_schema_setup {
    struct vv_schema_options options;
    struct vv_schema_replicas replication[VV_SETTINGS_REPLICAS_MAX];
    int64_t classes_ns[VV_SETTINGS_CLASSES_MAX];
    struct vv_settings_regions regions; /* with the keyspaces' names; the options are of the own */
};

/* VV_INVALID with a message. The settings outlive what is filled. */
VV_MUST_CHECK enum vv_status vv_schema_setup_of(const struct vv_settings *settings,
                                                struct vv_schema_setup *setup_out,
                                                struct vv_error *error);

#endif
