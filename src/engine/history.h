/* SPDX-License-Identifier: Apache-2.0 */
/*
 * History gives way to live data. A write is history when all its points are old; any other is
 * live. While live data comes, the work that history makes rests after each piece of it for so long
 * that it takes its share of the time (but 5 s at most); when none comes, it takes what it likes.
 *
 * What an acknowledgement waits for is a sync of the disk and a turn on a processor. Beside a
 * flush, or a span that is sealed, either may take some milliseconds more, whatever the priorities:
 * this is met by few live writes only if it is seldom.
 *
 * Writing history (journal and flush) and sealing it rest separately, so that neither keeps the
 * other from its turn. Pure; the caller's lock.
 */
#ifndef VV_ENGINE_HISTORY_H
#define VV_ENGINE_HISTORY_H

#include "base/clock.h"
#include "model/batch.h"

#define VV_HISTORY_LIVE_NS     (10 * VV_SECOND) /* so long after a live write live data "comes" */
#define VV_HISTORY_REST_NS_MAX (5 * VV_SECOND)
#define VV_HISTORY_TURN_NS     (20 * VV_MILLISECOND) /* that writing waits for its turn */

enum vv_history_work { VV_HISTORY_WRITES, VV_HISTORY_SEALS, VV_HISTORY_WORKS };

struct vv_history {
    int64_t percent;       /* 1 to 99, of each work; 100: nothing counts as history */
    int64_t live_until_ns; /* monotonic, as what follows: live data comes until then */
    int64_t rest_until_ns[VV_HISTORY_WORKS];
    bool is_turn; /* of writing history: live data has just been answered */
};

/* Whether a batch is history: it has points, all of them before this time. */
bool vv_history_has(const struct vv_batch *batch, int64_t before_ns);

/* Whether live data comes. */
bool vv_history_is_live(const struct vv_history *history, int64_t now_ns);
/* Live data has come. */
void vv_history_note_live(struct vv_history *history, int64_t now_ns);
/* Live data has been answered. Behind that, next live data is least likely to come at once, so it
 * is the turn of writing history; without any it has a turn some time after its rest. */
void vv_history_note_answered(struct vv_history *history);
/* The turn is over, used or not. */
void vv_history_end_turn(struct vv_history *history);
/* How long this work has to rest still; 0: it may begin. */
int64_t vv_history_rest_ns(const struct vv_history *history, enum vv_history_work work,
                           int64_t now_ns);
/* A piece of it took so long, until now. */
void vv_history_spend(struct vv_history *history, enum vv_history_work work, int64_t now_ns,
                      int64_t spent_ns);

#endif
