/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line of progress at a terminal, on standard error, drawn over itself a few times a second; on
 * anything else nothing at all. Main thread only.
 */
#ifndef VV_CLI_PROGRESS_H
#define VV_CLI_PROGRESS_H

#include "base/bytes.h"

struct vv_progress {
    const char *unit; /* of what is counted; NULL: points */
    bool on;
    bool drawn;
    uint64_t bytes_total; /* 0: not known */
    int64_t begun_ns;
    int64_t drawn_ns;
    uint64_t points_before; /* at the last drawing */
    double rate;            /* points a second, smoothed */
};

struct vv_progress_state {
    uint64_t bytes;
    uint64_t points;
    const char *file;
    const char *trouble; /* what is waited for, "" for nothing */
};

void vv_progress_init(struct vv_progress *progress, bool on, uint64_t bytes_total, int64_t now_ns);
/* Whether it is time to draw again. */
bool vv_progress_is_due(const struct vv_progress *progress, int64_t now_ns);
void vv_progress_draw(struct vv_progress *progress, const struct vv_progress_state *state,
                      int64_t now_ns);
/* Takes the line away, before anything else is printed. */
void vv_progress_clear(struct vv_progress *progress);

/* The line without colours, cut to `columns`; for the drawing and its test. */
void vv_progress_format(const struct vv_progress *progress, const struct vv_progress_state *state,
                        int64_t now_ns, size_t columns, bool utf8, struct vv_buffer *out);

#endif
