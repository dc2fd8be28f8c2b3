/* SPDX-License-Identifier: Apache-2.0 */
/* Hostile YAML: it is refused with a message, or what it gave is printed and read back the same. */
#include "settings/settings.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vv_settings settings;
    struct vv_settings before;
    struct vv_error error = {0};
    vv_settings_init(&settings);
    before = settings;
    struct vv_str text = {(const char *)data, size};
    if (vv_settings_parse(&settings, text, "input", &error) != VV_OK) {
        vv_invariant(error.message[0] != '\0');
        vv_invariant(memcmp(&settings, &before, sizeof settings) == 0);
        return 0;
    }
    memset(settings.cassandra_password, 0, sizeof settings.cassandra_password); /* not printed */
    char *printed = NULL;
    size_t printed_size = 0;
    FILE *file = open_memstream(&printed, &printed_size);
    vv_invariant(file != NULL);
    vv_settings_print(&settings, file);
    fclose(file);
    struct vv_settings again;
    (void)!vv_settings_check(&settings, NULL);
    vv_settings_init(&again);
    text = (struct vv_str){printed, printed_size};
    vv_invariant(vv_settings_parse(&again, text, "printed", &error) == VV_OK);
    vv_invariant(memcmp(&again, &settings, sizeof settings) == 0);
    free(printed);
    return 0;
}
