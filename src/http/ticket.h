/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ticket: what the engine holds of a batch that an exchange has handed in. It outlives the
 * exchange when the server stops before the engine has an outcome.
 */
#ifndef VV_HTTP_TICKET_H
#define VV_HTTP_TICKET_H

#include "base/status.h"

#include <stdatomic.h>
#include <stdint.h>

struct vv_batch;
struct vv_exchange;

struct vv_ticket {
    struct vv_exchange *exchange; /* for the engine's side, while it waits */
    uint64_t points;
    enum vv_status status; /* once it is decided */
    char message[256];
    /* private */
    atomic_int phase;
    atomic_int references;
};

/* NULL when memory is out. The ticket has two references: the exchange's and the engine's. */
struct vv_ticket *vv_ticket_create(struct vv_exchange *exchange, uint64_t points);
/* The engine's callback (vv_write_done): decides, resumes the exchange, drops its reference. */
void vv_ticket_done(void *ticket, enum vv_status status, const char *message);
/* For a server that stops: decides for "unknown"; false when it was decided before. */
bool vv_ticket_abandon(struct vv_ticket *ticket);
/* Once the exchange was resumed. */
enum vv_status vv_ticket_outcome(struct vv_ticket *ticket);
void vv_ticket_release(struct vv_ticket *ticket);

#endif
