/* SPDX-License-Identifier: Apache-2.0 */
/* How long what is there lives on when retentions are changed (retentions.c). */
#ifndef VV_ENGINE_LIVES_H
#define VV_ENGINE_LIVES_H

#include "engine/engine_private.h"

struct vv_retention_change {
    uint32_t place;             /* a tenant, or a class of one */
    uint32_t spaces[VV_SPACES]; /* VV_REGISTRY_NONE: there is none yet */
    struct vv_retentions before;
    struct vv_retentions after;
    bool is_new;             /* it began with this change */
    bool goes_on[VV_SPACES]; /* it was off, and still has all; unless its life has just ended */
};

/* On an embedded store what is there lives on for so long at least when it is kept for less, unless
 * nothing is to be built of it (lives_end.c). What is shortened is built of within a day and a
 * half by itself (stale.c: lateness, spread); the rest is for a node that is away, or busy with a
 * backfill. */
#define VV_LIVES_ON_NS (4 * VV_DAY)

/* How much longer than by default spans wait for being sealed, at most. */
int64_t vv_lives_longer_wait_ns(const struct vv_settings *settings);
/* How long a unit of a tier waits for being built on an embedded store, at most. */
int64_t vv_lives_due_ns(enum vv_space tier);
/* Whether a tier that is off can go on as if nothing had been. */
bool vv_lives_go_on(struct vv_engine *engine, uint32_t space);
/* The retentions of a place, with what lives on at a time on an embedded store. */
struct vv_retentions vv_lives_retentions(const struct vv_engine *engine, uint32_t place,
                                         int64_t at_ns);
/* The same as if nothing held up their ends: for whoever looks for what does. */
struct vv_retentions vv_lives_by_clock(const struct vv_engine *engine, uint32_t place,
                                       int64_t at_ns);
/* Takes off what is older at a time than the retentions keep. */
void vv_lives_limit(struct vv_reroll_bounds *bounds, const struct vv_retentions *kept,
                    int64_t at_ns);
/* Before the change is made; nothing for one that begins a place. */
void vv_lives_note(struct vv_engine *engine, const struct vv_retention_change *change);
/* Behind a change of retentions: what was about to end by those before does not. */
void vv_lives_changed(struct vv_engine *engine);

/* Whether all that vv_engine_flush_before asks for has its marks. The storage thread. */
bool vv_lives_are_flushed(struct vv_engine *engine);
/* Ends what lives on and is not needed any more: see lives_end.c. The storage thread. */
VV_MUST_CHECK enum vv_status vv_lives_end(struct vv_engine *engine, struct vv_error *error);
/* Whether a batch may be committed: else some of its points are late, and were judged by what has
 * ended since, or is about to end. The committer. */
bool vv_lives_are_judged(struct vv_engine *engine, const struct vv_batch *batch);

#endif
