/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pool of threads and one queue of jobs, first in, first out. A job is embedded in what it works
 * on and may be handed in again from its own run.
 */
#ifndef VV_HTTP_WORKERS_H
#define VV_HTTP_WORKERS_H

#include "base/status.h"

#include <stdint.h>

struct vv_workers;

struct vv_job {
    /* Called by one worker; with `cancelled` when the pool is stopping: then it must end what it
     * works on, quickly, and not hand itself in again. */
    void (*run)(struct vv_job *job, bool cancelled);
    struct vv_job *next; /* private */
};

VV_MUST_CHECK enum vv_status vv_workers_create(const char *name, int64_t threads,
                                               struct vv_workers **workers_out,
                                               struct vv_error *error);
/* Any thread. The job is run, or cancelled in the caller's thread if the pool has stopped. */
void vv_workers_submit(struct vv_workers *workers, struct vv_job *job);
/* Waits for the jobs that are running and cancels those that wait. Once. */
void vv_workers_stop(struct vv_workers *workers);
/* After the stop. NULL is allowed. */
void vv_workers_destroy(struct vv_workers *workers);

#endif
