/* SPDX-License-Identifier: Apache-2.0 */
/* Settings from defaults, a file and the command line; `varve config` prints them. */
#include "cli/config.h"

#include "cli/commands.h"
#include "cli/terminal.h"

/* "name=value". */
static enum vv_status set_pair(struct vv_settings *settings, const char *pair,
                               struct vv_error *error)
{
    char name[VV_SETTING_TEXT_MAX];
    const char *equals = strchr(pair, '=');
    if (!equals || (size_t)(equals - pair) >= sizeof name) {
        return vv_error_set(error, VV_INVALID, "--set needs name=value, such as head.flush_age=1m");
    }
    snprintf(name, sizeof name, "%.*s", (int)(equals - pair), pair);
    enum vv_status status = vv_settings_set(settings, name, equals + 1, error);
    return status == VV_OK ? VV_OK : vv_error_prefix(error, status, "--set");
}

enum vv_status vv_config_read(const struct vv_arguments *arguments,
                              struct vv_settings *settings_out, struct vv_error *error)
{
    vv_settings_init(settings_out);
    const char *file = vv_arguments_text(arguments, "config", NULL);
    enum vv_status status = file ? vv_settings_load(settings_out, file, error) : VV_OK;
    const char *pair;
    for (size_t at = 0; status == VV_OK && (pair = vv_arguments_next(arguments, "set", &at));) {
        status = set_pair(settings_out, pair, error);
    }
    return status;
}

int vv_config_fail(enum vv_status status, const struct vv_error *error)
{
    vv_say_error("%s", error->message);
    vv_say_hint("docs/configuration.md and `varve config` list every setting");
    return status == VV_INVALID ? VV_EXIT_USAGE : VV_EXIT_FAILED;
}

int vv_config_run(const struct vv_arguments *arguments)
{
    struct vv_settings settings;
    struct vv_error error = {0};
    if (vv_arguments_flag(arguments, "markdown")) {
        vv_settings_document(stdout);
        return VV_EXIT_OK;
    }
    enum vv_status status = vv_config_read(arguments, &settings, &error);
    if (status == VV_OK) {
        status = vv_settings_check(&settings, &error);
    }
    if (status != VV_OK) {
        return vv_config_fail(status, &error);
    }
    vv_settings_print(&settings, stdout);
    return VV_EXIT_OK;
}
