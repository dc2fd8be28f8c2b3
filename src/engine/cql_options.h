/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of the section `cassandra` as options of a CQL session. Any thread. */
#ifndef VV_ENGINE_CQL_OPTIONS_H
#define VV_ENGINE_CQL_OPTIONS_H

#include "cql/session.h"
#include "settings/settings.h"

/* The options borrow from the settings and from password_out, which is filled here and should be
 * wiped after use. VV_INVALID, VV_IO with a message. */
VV_MUST_CHECK enum vv_status vv_cql_options_of(const struct vv_settings *settings,
                                               char password_out[VV_SETTING_TEXT_MAX],
                                               struct vvcql_options *options_out,
                                               struct vv_error *error);

#endif
