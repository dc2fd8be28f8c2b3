/* SPDX-License-Identifier: Apache-2.0 */
/* A session's options as it keeps them: checked, texts copied, defaults in place of zeros. Set
 * once, read by any thread. */
#ifndef VVCQL_SETTINGS_H
#define VVCQL_SETTINGS_H

#include "contacts.h"
#include "session.h"

struct vvcql_settings {
    struct vvcql_options options; /* texts belong to the settings */
    struct vvcql_contact *contacts;
    size_t n_contacts;
};

/* VVCQL_INVALID for options that cannot be, VVCQL_NO_MEMORY; nothing is held then. */
VVCQL_MUST_CHECK enum vvcql_status vvcql_settings_init(struct vvcql_settings *settings,
                                                       const struct vvcql_options *options,
                                                       struct vvcql_error *error);
void vvcql_settings_deinit(struct vvcql_settings *settings);

#endif
