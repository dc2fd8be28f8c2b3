/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the sender: the lines of one request, and what an answer says about them. One thread
 * at a time. */
#ifndef VV_CLI_PARCEL_H
#define VV_CLI_PARCEL_H

#include "cli/client.h"
#include "cli/load_report.h"
#include "cli/sender.h"

/* Where a group of lines ends that the server takes as a whole. */
struct vv_parcel_end {
    size_t bytes;
    size_t lines;
    uint64_t points;
};

struct vv_parcel {
    struct vv_buffer text;
    uint64_t *numbers; /* of each line of text: its line in the file */
    size_t n_lines;
    size_t lines_capacity;
    uint64_t points;
    const char *file;
    const char *precision;
    struct vv_parcel_end *ends; /* of groups, if its lines have some: then of all lines */
    size_t n_ends;
    size_t ends_capacity;
};

void vv_parcel_deinit(struct vv_parcel *parcel);
VV_MUST_CHECK enum vv_status vv_parcel_add(struct vv_parcel *parcel,
                                           const struct vv_sender_line *line);
/* What was added since the last group ended is one; nothing: there is none. */
VV_MUST_CHECK enum vv_status vv_parcel_end_group(struct vv_parcel *parcel);
/* A parcel of n of its groups, which borrows its texts and is not destroyed; it says of no groups
 * in it, but how many there are. */
struct vv_parcel vv_parcel_part(const struct vv_parcel *parcel, size_t first, size_t n);

enum vv_verdict {
    VV_VERDICT_DONE,  /* counted in the report */
    VV_VERDICT_AGAIN, /* try again later */
    VV_VERDICT_FATAL, /* trying again will not help; error says why */
    VV_VERDICT_SPLIT, /* of several groups nothing was stored, as something is wrong with one of
                         them: send fewer; nothing is counted */
};
/* What an answer to the parcel means. */
enum vv_verdict vv_parcel_judge(const struct vv_parcel *parcel, const struct vv_response *response,
                                struct vv_load_report *report, struct vv_error *error);

#endif
