/* SPDX-License-Identifier: Apache-2.0 */
/* Work that may block, done by the administration's workers. */
#include "http/blocking.h"

#include "http/http_private.h"

#include <stdlib.h>

struct blocking {
    struct vv_job job; /* first: a job is a blocking */
    struct vv_exchange *exchange;
    void (*work)(struct vv_exchange *exchange);
};

static void run(struct vv_job *job, bool cancelled)
{
    struct blocking *blocking = (struct blocking *)job;
    struct vv_exchange *exchange = blocking->exchange;
    if (cancelled) {
        vv_exchange_fail(exchange, VV_CANCELLED, "the server is stopping; try again soon");
    } else {
        blocking->work(exchange);
        vv_invariant(exchange->reply.code);
    }
    vv_exchange_resume(exchange);
}

void vv_blocking_finish(struct vv_exchange *exchange, void (*work)(struct vv_exchange *exchange))
{
    struct blocking *blocking = calloc(1, sizeof *blocking);
    if (!blocking) {
        vv_exchange_fail(exchange, VV_NO_MEMORY, "out of memory; try again later");
        return;
    }
    blocking->job.run = run;
    blocking->exchange = exchange;
    blocking->work = work;
    exchange->blocking = blocking;
    if (!vv_exchange_suspend(exchange, NULL)) {
        vv_exchange_fail(exchange, VV_CANCELLED, "the server is stopping; try again soon");
        return;
    }
    vv_workers_submit(exchange->http->admin_workers, &blocking->job);
}

void vv_blocking_release(struct vv_exchange *exchange)
{
    free(exchange->blocking);
    exchange->blocking = NULL;
}
