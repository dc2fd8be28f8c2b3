/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Up to when the other nodes have been heard, kept beside what they told: a node that is started
 * while they cannot be heard goes on from there.
 *
 * Metadata of kind VV_META_FLEET, key "heard": i64 wall time. It goes in with a confirm that has
 * all that was learnt until then, not with each.
 */
#include "fleet/fleet_private.h"

#define HEARD_KEY   VV_STR_LITERAL("heard")
#define KEPT_NS     (10 * VV_SECOND) /* no oftener: it need not be exact */
#define KEPT_NS_MAX (5 * VV_MINUTE)  /* beyond it, it is worth a confirm of its own */

/* How far what is kept lies behind; also after a clock that went back. */
static int64_t age_of_kept(const struct vv_fleet *fleet)
{
    int64_t heard = atomic_load_explicit(&fleet->heard_wall_ns, memory_order_acquire);
    int64_t kept = atomic_load_explicit(&fleet->heard_kept_ns, memory_order_relaxed);
    int64_t age;
    if (heard == INT64_MIN || heard == kept) {
        return 0;
    }
    return heard < kept || __builtin_sub_overflow(heard, kept, &age) ? INT64_MAX : age;
}

bool vv_fleet_heard_is_old(const struct vv_fleet *fleet)
{
    return atomic_load_explicit(&fleet->heard_kept_ns, memory_order_relaxed) != INT64_MIN &&
           age_of_kept(fleet) >= KEPT_NS_MAX;
}

enum vv_status vv_fleet_put_heard(struct vv_fleet *fleet, int64_t *heard_out,
                                  struct vv_error *error)
{
    struct vv_buffer value = {0};
    *heard_out = atomic_load_explicit(&fleet->heard_kept_ns, memory_order_relaxed);
    if (age_of_kept(fleet) < KEPT_NS) {
        return VV_OK;
    }
    *heard_out = atomic_load_explicit(&fleet->heard_wall_ns, memory_order_acquire);
    vv_buffer_u64(&value, (uint64_t)*heard_out);
    enum vv_status status = vv_buffer_status(&value);
    if (status == VV_OK) {
        status = fleet->store->ops->put_meta(fleet->store, VV_META_FLEET, HEARD_KEY,
                                             (struct vv_str){(const char *)value.data, value.size},
                                             error);
    } else {
        vv_error_set(error, status, "out of memory while keeping what was learnt");
    }
    vv_buffer_deinit(&value);
    return status;
}

enum vv_status vv_fleet_load_heard(struct vv_fleet *fleet, struct vv_error *error)
{
    struct vv_buffer value = {0};
    enum vv_status status =
        fleet->store->ops->get_meta(fleet->store, VV_META_FLEET, HEARD_KEY, &value, error);
    struct vv_reader reader = vv_reader_of(value.data, value.size);
    int64_t heard = (int64_t)vv_reader_u64(&reader);
    if (status == VV_OK && !reader.failed) {
        atomic_store_explicit(&fleet->heard_wall_ns, heard, memory_order_release);
        atomic_store_explicit(&fleet->heard_kept_ns, heard, memory_order_relaxed);
    }
    vv_buffer_deinit(&value);
    return status == VV_NOT_FOUND ? VV_OK : status;
}
