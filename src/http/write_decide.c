/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of a write that are in doubt: a worker of their own pool asks the store, which may take its
 * time, with the connection suspended. Writes take turns, and none takes longer than its client, or
 * the server, has patience.
 */
#include "http/write.h"

#define TURN_NS   (50 * VV_MILLISECOND)
#define DECIDE_NS (20 * VV_SECOND)

static bool is_over(void *context)
{
    const int64_t *until_ns = context;
    return vv_http_now_ns() >= *until_ns;
}

/* What was found is known for a while: when it is sent again it goes further. */
static void give_up(struct vv_write *write, const char *why)
{
    vv_staging_forget_doubt(&write->staging);
    write->staging.out_of_memory = true;
    (void)!vv_error_set(&write->staging.failure, VV_OVERLOAD, "%s", why);
}

static void run(struct vv_job *job, bool cancelled)
{
    struct vv_write *write = (struct vv_write *)((char *)job - offsetof(struct vv_write, decider));
    struct vv_exchange *exchange = write->exchange;
    int64_t now = vv_http_now_ns();
    int64_t until = now + TURN_NS;
    if (cancelled) {
        give_up(write, "the server is stopping; send the request again");
    } else if (vv_exchange_client_gone(exchange)) {
        give_up(write, "the client has gone");
    } else if (now >= write->decide_until_ns) {
        give_up(write, "looking up whether spans are frozen takes too long; send fewer sources and "
                       "hours in a request, and this one again");
    } else if (!vv_staging_decide_some(&write->staging, is_over, &until)) {
        vv_workers_submit(exchange->http->look_workers, job);
        return;
    }
    vv_exchange_resume(exchange);
}

void vv_write_decide(struct vv_write *write)
{
    struct vv_exchange *exchange = write->exchange;
    if (!vv_exchange_suspend(exchange, NULL)) {
        vv_write_fail(write, VV_CANCELLED, "the server is stopping; send the request again");
        return;
    }
    write->decider.run = run;
    write->decide_until_ns = vv_http_now_ns() + DECIDE_NS;
    vv_workers_submit(exchange->http->look_workers, &write->decider);
}
