/* SPDX-License-Identifier: Apache-2.0 */
/* Worker threads over a linked queue. */
#include "http/workers.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct vv_workers {
    pthread_mutex_t lock;
    pthread_cond_t arrived;
    struct vv_job *first;
    struct vv_job **last;
    bool stopping;
    size_t n_threads;
    pthread_t threads[];
};

static struct vv_job *take(struct vv_workers *workers)
{
    struct vv_job *job = workers->first;
    if (job) {
        workers->first = job->next;
        if (!workers->first) {
            workers->last = &workers->first;
        }
    }
    return job;
}

static void *work(void *context)
{
    struct vv_workers *workers = context;
    pthread_mutex_lock(&workers->lock);
    while (!workers->stopping) {
        struct vv_job *job = take(workers);
        if (!job) {
            pthread_cond_wait(&workers->arrived, &workers->lock);
            continue;
        }
        pthread_mutex_unlock(&workers->lock);
        job->run(job, false);
        pthread_mutex_lock(&workers->lock);
    }
    pthread_mutex_unlock(&workers->lock);
    return NULL;
}

static bool start_thread(struct vv_workers *workers, const char *name)
{
    pthread_t *thread = &workers->threads[workers->n_threads];
    if (pthread_create(thread, NULL, work, workers) != 0) {
        return false;
    }
    pthread_setname_np(*thread, name);
    workers->n_threads++;
    return true;
}

enum vv_status vv_workers_create(const char *name, int64_t threads, struct vv_workers **workers_out,
                                 struct vv_error *error)
{
    vv_invariant(threads > 0 && threads <= 1024);
    size_t size = sizeof(struct vv_workers) + (size_t)threads * sizeof(pthread_t);
    struct vv_workers *workers = calloc(1, size);
    if (!workers) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory while starting threads");
    }
    workers->last = &workers->first;
    pthread_mutex_init(&workers->lock, NULL);
    pthread_cond_init(&workers->arrived, NULL);
    for (int64_t i = 0; i < threads; i++) {
        if (!start_thread(workers, name)) {
            vv_workers_stop(workers);
            vv_workers_destroy(workers);
            return vv_error_set(error, VV_NO_MEMORY,
                                "cannot start %lld threads; raise the limit of processes, or lower "
                                "query.threads",
                                (long long)threads);
        }
    }
    *workers_out = workers;
    return VV_OK;
}

void vv_workers_submit(struct vv_workers *workers, struct vv_job *job)
{
    pthread_mutex_lock(&workers->lock);
    bool stopping = workers->stopping;
    if (!stopping) {
        job->next = NULL;
        *workers->last = job;
        workers->last = &job->next;
        pthread_cond_signal(&workers->arrived);
    }
    pthread_mutex_unlock(&workers->lock);
    if (stopping) {
        job->run(job, true);
    }
}

void vv_workers_stop(struct vv_workers *workers)
{
    pthread_mutex_lock(&workers->lock);
    workers->stopping = true;
    pthread_cond_broadcast(&workers->arrived);
    pthread_mutex_unlock(&workers->lock);
    for (size_t i = 0; i < workers->n_threads; i++) {
        pthread_join(workers->threads[i], NULL);
    }
    for (struct vv_job *job = take(workers); job; job = take(workers)) {
        job->run(job, true);
    }
}

void vv_workers_destroy(struct vv_workers *workers)
{
    if (workers) {
        pthread_cond_destroy(&workers->arrived);
        pthread_mutex_destroy(&workers->lock);
        free(workers);
    }
}
