/* SPDX-License-Identifier: Apache-2.0 */
/* Tickets: one of two sides decides, each drops its reference. */
#include "http/ticket.h"

#include "http/exchange.h"

#include <stdio.h>
#include <stdlib.h>

enum { WAITING, DECIDING, DECIDED };

struct vv_ticket *vv_ticket_create(struct vv_exchange *exchange, uint64_t points)
{
    struct vv_ticket *ticket = calloc(1, sizeof *ticket);
    if (ticket) {
        ticket->exchange = exchange;
        ticket->points = points;
        atomic_init(&ticket->phase, WAITING);
        atomic_init(&ticket->references, 2);
    }
    return ticket;
}

static bool decide(struct vv_ticket *ticket, enum vv_status status, const char *message)
{
    int waiting = WAITING;
    if (!atomic_compare_exchange_strong(&ticket->phase, &waiting, DECIDING)) {
        return false;
    }
    ticket->status = status;
    snprintf(ticket->message, sizeof ticket->message, "%s", message ? message : "");
    atomic_store(&ticket->phase, DECIDED);
    return true;
}

void vv_ticket_done(void *context, enum vv_status status, const char *message)
{
    struct vv_ticket *ticket = context;
    if (decide(ticket, status, message)) {
        vv_exchange_resume(ticket->exchange);
    }
    vv_ticket_release(ticket);
}

bool vv_ticket_abandon(struct vv_ticket *ticket)
{
    return decide(ticket, VV_UNKNOWN, "the server stopped before the write was finished");
}

enum vv_status vv_ticket_outcome(struct vv_ticket *ticket)
{
    vv_invariant(atomic_load(&ticket->phase) == DECIDED);
    return ticket->status;
}

void vv_ticket_release(struct vv_ticket *ticket)
{
    if (atomic_fetch_sub(&ticket->references, 1) == 1) {
        free(ticket);
    }
}
