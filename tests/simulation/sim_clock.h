/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A clock that stands still until the test moves it. The wall time may be set to anything; the
 * monotonic time only goes on. Any thread may read, and move it.
 */
#ifndef VV_SIMULATION_SIM_CLOCK_H
#define VV_SIMULATION_SIM_CLOCK_H

#include "base/clock.h"

#include <stdatomic.h>

struct vv_sim_clock {
    struct vv_clock clock; /* first: pass &sim.clock */
    _Atomic int64_t wall_ns;
    _Atomic int64_t monotonic_ns;
};

void vv_sim_clock_init(struct vv_sim_clock *sim, int64_t wall_ns);
/* Both go on by duration_ns ≥ 0. */
void vv_sim_clock_advance(struct vv_sim_clock *sim, int64_t duration_ns);
/* The wall time jumps, as after a correction; the monotonic time stays. */
void vv_sim_clock_jump(struct vv_sim_clock *sim, int64_t wall_ns);

#endif
