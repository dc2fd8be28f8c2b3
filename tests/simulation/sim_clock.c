/* SPDX-License-Identifier: Apache-2.0 */
/* The clock of simulations. */
#include "simulation/sim_clock.h"

static int64_t wall_ns(struct vv_clock *clock)
{
    return atomic_load(&((struct vv_sim_clock *)clock)->wall_ns);
}

static int64_t monotonic_ns(struct vv_clock *clock)
{
    return atomic_load(&((struct vv_sim_clock *)clock)->monotonic_ns);
}

void vv_sim_clock_init(struct vv_sim_clock *sim, int64_t start_ns)
{
    sim->clock = (struct vv_clock){wall_ns, monotonic_ns};
    atomic_init(&sim->wall_ns, start_ns);
    atomic_init(&sim->monotonic_ns, 0);
}

void vv_sim_clock_advance(struct vv_sim_clock *sim, int64_t duration_ns)
{
    vv_invariant(duration_ns >= 0);
    atomic_fetch_add(&sim->wall_ns, duration_ns);
    atomic_fetch_add(&sim->monotonic_ns, duration_ns);
}

void vv_sim_clock_jump(struct vv_sim_clock *sim, int64_t new_wall_ns)
{
    atomic_store(&sim->wall_ns, new_wall_ns);
}
