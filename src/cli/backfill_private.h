/* SPDX-License-Identifier: Apache-2.0 */
/* Private to `varve backfill`: one run of it, in its three phases. Main thread. */
#ifndef VV_CLI_BACKFILL_PRIVATE_H
#define VV_CLI_BACKFILL_PRIVATE_H

#include "cli/history.h"
#include "cli/load_private.h"

enum vv_backfill_phase {
    VV_BACKFILL_STAGING, /* files → sorted runs */
    VV_BACKFILL_LOADING, /* runs → the server */
    VV_BACKFILL_SEALING, /* the server makes blocks and tiers of it */
};

/* What the staging folder's state file has. */
struct vv_backfill_state {
    enum vv_backfill_phase phase;
    uint64_t file; /* staging: the file that is being read … */
    uint64_t line; /* … of which all lines up to this one are dealt with */
    struct vv_history_runs runs;
    uint64_t points; /* in the runs */
    int64_t first;   /* the least and the greatest time in them; only with points */
    int64_t last;
    uint64_t refused_bytes; /* of the file of refused lines */
};

struct vv_backfill {
    struct vv_load load; /* first: its sink's context is the whole */
    struct vv_backfill_state state;
    struct vv_history_writer *writer;
    const char *folder;
    char refused_path[VV_HISTORY_PATH_SIZE];
    int64_t memory_max;
    int64_t connections;
    int64_t batch_lines;
    int64_t batch_bytes;
    int64_t retry_ns;
    int64_t rate; /* points a second; 0: as fast as it goes */
    bool json;
    bool goes_on; /* from a state that was there */
    int64_t begun_ns;
    int64_t unit_ns;               /* of the times of the file that is being read */
    struct vv_buffer line;         /* that is being staged */
    struct vv_error staging_error; /* of a run that could not be written */
    uint64_t open;                 /* spans that are not over at the end */
    uint64_t damaged;              /* that can't be sealed */
};

/* ---- backfill_state.c ---- */

/* Makes the folder, locks it for this process, and reads what is there of the same command, if
 * anything (`goes_on`). VV_INVALID: it is another command's; VV_LOCKED; VV_CORRUPT; VV_IO. */
VV_MUST_CHECK enum vv_status vv_backfill_open(struct vv_backfill *backfill, bool restart,
                                              struct vv_error *error);
/* Writes the state and the report's counts, durably. VV_IO, VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_backfill_save(struct vv_backfill *backfill, struct vv_error *error);
/* Removes all but the refused lines, if there are any; and the folder if it is empty then. */
void vv_backfill_remove(struct vv_backfill *backfill);

/* ---- the phases ---- */

/* VV_OK; VV_CANCELLED: interrupted; what is said in the error otherwise. */
VV_MUST_CHECK enum vv_status vv_backfill_stage(struct vv_backfill *backfill,
                                               struct vv_error *error);
VV_MUST_CHECK enum vv_status vv_backfill_send(struct vv_backfill *backfill, struct vv_error *error);
VV_MUST_CHECK enum vv_status vv_backfill_wait(struct vv_backfill *backfill, struct vv_error *error);

#endif
