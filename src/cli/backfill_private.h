/* SPDX-License-Identifier: Apache-2.0 */
/* Private to `varve backfill`: one run of it, in its three phases. Main thread. */
#ifndef VV_CLI_BACKFILL_PRIVATE_H
#define VV_CLI_BACKFILL_PRIVATE_H

#include "cli/history.h"
#include "cli/load_private.h"

#include <jansson.h>

#define VV_BACKFILL_STATE     "state.json"
#define VV_BACKFILL_NEW_STATE "state.json.new" /* being written */
#define VV_BACKFILL_PROGRAM                                                                        \
    "varve backfill" /* which the state says, so that it is known as one                           \
                      */

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
    uint64_t points;        /* in the runs */
    uint64_t damaged_files; /* which were read up to where they are damaged … */
    uint64_t damaged_file;  /* … and the first of them */
    char refused_name[32];  /* of the file of refused lines … */
    uint64_t refused_bytes; /* … and how long it is */
    /* With --replace-frozen: days that end then or before are replaced, as the server said when it
     * began, so that each is sent in one way however often it is gone on with. */
    int64_t frozen_until;
    char id_tag[256];       /* the server's, "" if it has none */
    uint64_t frozen_points; /* of those days, in the runs */
    bool lacks_some;        /* of what the files hold: lines were refused, or files are damaged */
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
    bool replaces; /* what is frozen */
    bool goes_on;  /* from a state that was there */
    int64_t begun_ns;
    int64_t unit_ns;               /* of the times of the file that is being read */
    struct vv_buffer line;         /* that is being staged */
    struct vv_error staging_error; /* of a run that could not be written */
    uint64_t open;                 /* spans that are not over at the end */
    uint64_t damaged;              /* that can't be sealed */
    uint64_t kept;                 /* units of tiers that lack what came for them */
    uint64_t later;                /* whose turn to be sealed has not come at the end */
};

/* ---- backfill_state.c ---- */

/* Fills the state by what is stored. VV_INVALID: it is another command's; VV_NEWER; VV_CORRUPT. */
VV_MUST_CHECK enum vv_status vv_backfill_read_state(struct vv_backfill *backfill,
                                                    const json_t *root, struct vv_error *error);
/* Writes the state and the report's counts, durably. VV_IO, VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_backfill_save(struct vv_backfill *backfill, struct vv_error *error);

/* ---- backfill_folder.c ---- */

/* The path of a name in the folder. */
void vv_backfill_path(const struct vv_backfill *backfill, const char *name,
                      char out[VV_HISTORY_PATH_SIZE]);
/* Makes the folder, locks it for this process, and reads what is there of the same command, if
 * anything (`goes_on`) and not with `restart`. VV_INVALID: it is another command's, or has other
 * files; VV_LOCKED; VV_CORRUPT; VV_IO. */
VV_MUST_CHECK enum vv_status vv_backfill_open(struct vv_backfill *backfill, bool restart,
                                              struct vv_error *error);
/* From here on the folder is this backfill's: opens its file of refused lines, writes the state,
 * and removes runs of which the state does not know. After vv_backfill_open. VV_IO, VV_NO_MEMORY.
 */
VV_MUST_CHECK enum vv_status vv_backfill_begin(struct vv_backfill *backfill,
                                               struct vv_error *error);
/* Whether a file lies in the folder. */
bool vv_backfill_holds(const struct vv_backfill *backfill, const char *input);
/* Removes all but the refused lines, if there are any; and the folder if it is empty then. */
void vv_backfill_remove(struct vv_backfill *backfill);

/* ---- backfill_frozen.c ---- */

#define VV_BACKFILL_LATER   INT64_MAX /* the slice of what is loaded as usual */
#define VV_BACKFILL_NOTHING INT64_MIN

/* Asks the server which days are frozen, into the state. VV_INVALID: it can't replace any;
 * VV_IO … */
VV_MUST_CHECK enum vv_status vv_backfill_ask_frozen(struct vv_backfill *backfill,
                                                    struct vv_error *error);
/* VV_INVALID when days that are frozen would be made of a part of what the files hold. */
VV_MUST_CHECK enum vv_status vv_backfill_check_frozen(const struct vv_backfill *backfill,
                                                      struct vv_error *error);
/* Whether lines of this time replace what there is of their day; then which lines go together. */
bool vv_backfill_is_frozen(const struct vv_backfill *backfill, int64_t time);
void vv_backfill_group(const struct vv_backfill *backfill, struct vv_history_line *line);
/* Says what would be replaced and what would be loaded of what is staged and left. */
VV_MUST_CHECK enum vv_status vv_backfill_tell_plan(struct vv_backfill *backfill,
                                                   struct vv_error *error);

/* ---- the phases ---- */

/* VV_OK; VV_CANCELLED: interrupted; what is said in the error otherwise. */
VV_MUST_CHECK enum vv_status vv_backfill_stage(struct vv_backfill *backfill,
                                               struct vv_error *error);
VV_MUST_CHECK enum vv_status vv_backfill_send(struct vv_backfill *backfill, struct vv_error *error);
VV_MUST_CHECK enum vv_status vv_backfill_wait(struct vv_backfill *backfill, struct vv_error *error);

#endif
