/* SPDX-License-Identifier: Apache-2.0 */
/* What is tried again and again is logged when it begins to fail and when it works again. */
#include "engine/engine_private.h"

#include "base/log.h"

void vv_outage_note(bool *failing, const struct vv_outage *outage, enum vv_status status,
                    const struct vv_error *error)
{
    if (status != VV_OK && !*failing) {
        char text[600];
        vv_log(VV_LOG_WARN, outage->begins, "status=%s message=%s", vv_status_name(status),
               vv_log_quote(error->message, strlen(error->message), text, sizeof text));
    } else if (status == VV_OK && *failing) {
        vv_log(VV_LOG_INFO, outage->ends, "%s", outage->end_text);
    }
    *failing = status != VV_OK;
}
