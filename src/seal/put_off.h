/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans that could not be sealed, since their part of a shared store is away, or since they wait
 * for what they are built of, and are not tried again for some seconds. Bounded: when there are
 * more, all sealing rests for as long, or, of those that wait, that of their tier and of coarser
 * ones. Private to src/seal; one thread.
 */
#ifndef VV_SEAL_PUT_OFF_H
#define VV_SEAL_PUT_OFF_H

#include "base/clock.h"
#include "store/store.h"

#define VV_PUT_OFF_MAX 512
#define VV_PUT_OFF_NS  (5 * VV_SECOND)
#define VV_WAITING_MAX (VV_PUT_OFF_MAX / 4)

struct vv_put_off_span {
    struct vv_span_key key;
    int64_t until_ns;
    bool waits; /* for finer units */
};

/* Zero-initialised is empty. Times are monotonic. */
struct vv_put_off {
    struct vv_put_off_span spans[VV_PUT_OFF_MAX];
    size_t n;
    int64_t rest_until_ns;
    size_t n_waiting; /* of the spans */
    int tier;         /* units of this tier and of coarser ones rest until then */
    int64_t tier_until_ns;
    struct vv_error why; /* as of the last one */
};

void vv_put_off_add(struct vv_put_off *put_off, const struct vv_span_key *key, int64_t now_ns,
                    const struct vv_error *why);
/* The same of a unit of a tier that waits for finer ones. */
void vv_put_off_wait(struct vv_put_off *put_off, const struct vv_span_key *key, int tier,
                     int64_t now_ns, const struct vv_error *why);
bool vv_put_off_rests(const struct vv_put_off *put_off, int tier, int64_t now_ns);
/* Forgets those that may be tried again. */
void vv_put_off_forget(struct vv_put_off *put_off, int64_t now_ns);
bool vv_put_off_has(const struct vv_put_off *put_off, const struct vv_span_key *key);

#endif
