/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A unit that is open when it is rerolled, or of which other nodes may have more: what was sealed
 * before its tier was on has told nobody that it is to be built, and perhaps nothing comes any more
 * that will. So it is marked, if there is anything below it, as the sealer does with what it seals.
 */
#include "seal/reroll_private.h"

/* Alone an open unit is stale anyway until it is over; beside other nodes it is only marked. */
static enum vv_status mark(struct vv_look *look, enum vv_space tier, int64_t now_ns, int64_t from,
                           int64_t over_at)
{
    struct vv_stale_options options = vv_reroll_stale_options(look->reroll);
    struct vv_stale_list list = {0};
    struct vv_stale stale;
    bool is_shared = options.store->ops->shared != NULL;
    options.is_whole = true;
    vv_stale_begin(&stale, &options, look->place, look->source, look->measurement,
                   vv_stamp_make((uint64_t)(now_ns / VV_MICROSECOND), 0));
    stale.open_at = is_shared ? INT64_MAX : over_at;
    stale.later = is_shared ? &list : NULL;
    stale.marks_open = true;
    enum vv_status status = vv_stale_unit_put(&stale, tier, from, look->error);
    if (status == VV_OK && is_shared) {
        status = vv_stale_put_list(&options, &list, over_at, look->error);
    }
    vv_stale_list_deinit(&list);
    return status;
}

enum vv_status vv_reroll_mark_open(struct vv_look *look, enum vv_space tier, int64_t now_ns,
                                   int64_t over_at, struct vv_reroll_result *result)
{
    /* As if it were over. */
    enum vv_status status = vv_reroll_build(look, tier, result->unit.to, VV_VERSION_NONE, result);
    return status == VV_OK && vv_reroll_has_built(look->reroll)
               ? mark(look, tier, now_ns, result->unit.from, over_at)
               : status;
}
