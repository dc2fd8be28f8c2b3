/* SPDX-License-Identifier: Apache-2.0 */
/* Settings as the command line gives them: --config, then --set. Main thread only. */
#ifndef VV_CLI_CONFIG_H
#define VV_CLI_CONFIG_H

#include "cli/arguments.h"
#include "settings/settings.h"

/* The command must have the options config and set. Not checked as a whole yet. */
VV_MUST_CHECK enum vv_status vv_config_read(const struct vv_arguments *arguments,
                                            struct vv_settings *settings_out,
                                            struct vv_error *error);
/* Says what is wrong with the settings; returns the exit code. */
int vv_config_fail(enum vv_status status, const struct vv_error *error);

#endif
