/* SPDX-License-Identifier: Apache-2.0 */
/* Which spans are not tried for a while. */
#include "seal/put_off.h"

void vv_put_off_add(struct vv_put_off *put_off, const struct vv_span_key *key, int64_t now_ns,
                    const struct vv_error *why)
{
    int64_t until = now_ns + VV_PUT_OFF_NS;
    if (why) {
        put_off->why = *why;
    }
    if (put_off->n == VV_PUT_OFF_MAX) {
        put_off->rest_until_ns = until;
        return;
    }
    put_off->spans[put_off->n++] = (struct vv_put_off_span){*key, until, false};
}

void vv_put_off_wait(struct vv_put_off *put_off, const struct vv_span_key *key, int tier,
                     int64_t now_ns, const struct vv_error *why)
{
    int64_t until = now_ns + VV_PUT_OFF_NS;
    if (put_off->n_waiting < VV_WAITING_MAX && put_off->n < VV_PUT_OFF_MAX) {
        put_off->spans[put_off->n++] = (struct vv_put_off_span){*key, until, true};
        put_off->n_waiting++;
    } else {
        bool rests_coarser = vv_put_off_rests(put_off, tier, now_ns) && put_off->tier < tier;
        put_off->tier = rests_coarser ? put_off->tier : tier;
        put_off->tier_until_ns = until;
    }
    if (why) {
        put_off->why = *why;
    }
}

bool vv_put_off_rests(const struct vv_put_off *put_off, int tier, int64_t now_ns)
{
    return now_ns < put_off->tier_until_ns && tier >= put_off->tier;
}

void vv_put_off_forget(struct vv_put_off *put_off, int64_t now_ns)
{
    size_t kept = 0;
    put_off->n_waiting = 0;
    for (size_t i = 0; i < put_off->n; i++) {
        if (put_off->spans[i].until_ns > now_ns) {
            put_off->n_waiting += put_off->spans[i].waits;
            put_off->spans[kept++] = put_off->spans[i];
        }
    }
    put_off->n = kept;
}

bool vv_put_off_has(const struct vv_put_off *put_off, const struct vv_span_key *key)
{
    for (size_t i = 0; i < put_off->n; i++) {
        if (vv_span_key_compare(&put_off->spans[i].key, key) == 0) {
            return true;
        }
    }
    return false;
}
