/* SPDX-License-Identifier: Apache-2.0 */
/* Between control.c, which says where the control connection goes, and reading.c, what it reads. */
#ifndef VVCQL_CONTROL_PRIVATE_H
#define VVCQL_CONTROL_PRIVATE_H

#include "control.h"

/* ---- reading.c ---- */

/* false: no memory. */
VVCQL_MUST_CHECK bool vvcql_control_init_reading(struct vvcql_control *control);
/* Reads hosts and keyspaces now; on failure the connection is closed. */
void vvcql_control_read(struct vvcql_control *control);
/* At the latest after wait_ms, once more when it is being done already. */
void vvcql_control_read_in(struct vvcql_control *control, uint64_t wait_ms);
/* Gives up what is being read. */
void vvcql_control_forget(struct vvcql_control *control);

/* ---- control.c ---- */

/* Why a candidate failed; a refusal stays. */
void vvcql_control_note_error(struct vvcql_control *control, const struct vvcql_error *error);
void vvcql_control_note(struct vvcql_control *control, enum vvcql_status status,
                        const char *message);

#endif
