/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/history.h"

bool vv_history_has(const struct vv_batch *batch, int64_t before_ns)
{
    for (size_t i = 0; i < batch->n_frames; i++) {
        const struct vv_frame *frame = &batch->frames[i];
        for (size_t row = 0; row < frame->n_rows; row++) {
            if (frame->times[row] >= before_ns) {
                return false;
            }
        }
    }
    return batch->points > 0;
}

bool vv_history_is_live(const struct vv_history *history, int64_t now_ns)
{
    return now_ns < history->live_until_ns;
}

void vv_history_note_live(struct vv_history *history, int64_t now_ns)
{
    history->live_until_ns = now_ns + VV_HISTORY_LIVE_NS;
}

void vv_history_note_answered(struct vv_history *history)
{
    history->is_turn = true;
}

void vv_history_end_turn(struct vv_history *history)
{
    history->is_turn = false;
}

int64_t vv_history_rest_ns(const struct vv_history *history, enum vv_history_work work,
                           int64_t now_ns)
{
    int64_t left_ns = history->rest_until_ns[work] - now_ns;
    if (work == VV_HISTORY_WRITES && left_ns <= 0 && !history->is_turn) {
        left_ns += VV_HISTORY_TURN_NS;
    }
    return vv_history_is_live(history, now_ns) && left_ns > 0 ? left_ns : 0;
}

void vv_history_spend(struct vv_history *history, enum vv_history_work work, int64_t now_ns,
                      int64_t spent_ns)
{
    if (!vv_history_is_live(history, now_ns) || spent_ns <= 0) {
        return;
    }
    int64_t *until_ns = &history->rest_until_ns[work];
    int64_t last_ns = now_ns + VV_HISTORY_REST_NS_MAX;
    *until_ns = *until_ns > now_ns ? *until_ns : now_ns;
    spent_ns = spent_ns < VV_HISTORY_REST_NS_MAX ? spent_ns : VV_HISTORY_REST_NS_MAX;
    *until_ns += spent_ns / history->percent * (100 - history->percent);
    *until_ns = *until_ns < last_ns ? *until_ns : last_ns;
}
