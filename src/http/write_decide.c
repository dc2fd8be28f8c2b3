/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a write that are in doubt: a worker of their own pool asks the store, which may take its
 * time, with the connection suspended. */
#include "http/write.h"

static void run(struct vv_job *job, bool cancelled)
{
    struct vv_write *write = (struct vv_write *)((char *)job - offsetof(struct vv_write, decider));
    if (cancelled) {
        vv_staging_forget_doubt(&write->staging);
        write->staging.out_of_memory = true;
        (void)!vv_error_set(&write->staging.failure, VV_CANCELLED,
                            "the server is stopping; send the request again");
    } else {
        vv_staging_decide(&write->staging);
    }
    vv_exchange_resume(write->exchange);
}

void vv_write_decide(struct vv_write *write)
{
    struct vv_exchange *exchange = write->exchange;
    if (!vv_exchange_suspend(exchange, NULL)) {
        vv_write_fail(write, VV_CANCELLED, "the server is stopping; send the request again");
        return;
    }
    write->decider.run = run;
    vv_workers_submit(exchange->http->look_workers, &write->decider);
}
