/* SPDX-License-Identifier: Apache-2.0 */
/* The pool of workers: order, jobs that hand themselves in again, cancelling. */
#include "http/workers.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <cmocka.h>

struct counting {
    struct vv_job job; /* first */
    struct vv_workers *workers;
    int left;
    atomic_int runs;
    atomic_int cancels;
    pthread_mutex_t *gate; /* held by the test while the job must not go on */
    atomic_int *finished;
};

static void count(struct vv_job *job, bool cancelled)
{
    struct counting *counting = (struct counting *)job;
    if (cancelled) {
        atomic_fetch_add(&counting->cancels, 1);
        return;
    }
    if (counting->gate) {
        pthread_mutex_lock(counting->gate);
        pthread_mutex_unlock(counting->gate);
    }
    atomic_fetch_add(&counting->runs, 1);
    if (--counting->left > 0) {
        vv_workers_submit(counting->workers, job);
        return;
    }
    atomic_fetch_add(counting->finished, 1);
}

static struct vv_workers *pool(int threads)
{
    struct vv_workers *workers = NULL;
    struct vv_error error = {0};
    assert_int_equal(vv_workers_create("test", threads, &workers, &error), VV_OK);
    return workers;
}

static void test_jobs_run_and_come_again(void **state)
{
    (void)state;
    struct vv_workers *workers = pool(3);
    static struct counting jobs[50];
    atomic_int finished = 0;
    for (size_t i = 0; i < 50; i++) {
        jobs[i] = (struct counting){
            .job.run = count, .workers = workers, .left = 20, .finished = &finished};
        vv_workers_submit(workers, &jobs[i].job);
    }
    while (atomic_load(&finished) < 50) {
        sched_yield();
    }
    vv_workers_stop(workers);
    vv_workers_destroy(workers);
    for (size_t i = 0; i < 50; i++) {
        assert_int_equal(atomic_load(&jobs[i].runs), 20);
        assert_int_equal(atomic_load(&jobs[i].cancels), 0);
    }
}

struct stopper {
    struct vv_workers *workers;
};

static void *stop(void *context)
{
    struct stopper *stopper = context;
    vv_workers_stop(stopper->workers);
    return NULL;
}

/* One job runs, the others wait when the pool stops: these are cancelled, once each. */
static void test_waiting_jobs_are_cancelled(void **state)
{
    (void)state;
    struct vv_workers *workers = pool(1);
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    static struct counting jobs[10];
    atomic_int finished = 0;
    pthread_mutex_lock(&gate);
    for (size_t i = 0; i < 10; i++) {
        jobs[i] = (struct counting){
            .job.run = count, .workers = workers, .left = 1, .gate = &gate, .finished = &finished};
        vv_workers_submit(workers, &jobs[i].job);
    }
    struct stopper stopper = {workers};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, stop, &stopper), 0);
    pthread_mutex_unlock(&gate);
    pthread_join(thread, NULL);
    int runs = 0;
    int cancels = 0;
    for (size_t i = 0; i < 10; i++) {
        runs += atomic_load(&jobs[i].runs);
        cancels += atomic_load(&jobs[i].cancels);
        assert_int_equal(atomic_load(&jobs[i].runs) + atomic_load(&jobs[i].cancels), 1);
    }
    assert_int_equal(runs + cancels, 10);
    /* After the stop, a job is cancelled where it is handed in. */
    jobs[0] =
        (struct counting){.job.run = count, .workers = workers, .left = 1, .finished = &finished};
    vv_workers_submit(workers, &jobs[0].job);
    assert_int_equal(atomic_load(&jobs[0].cancels), 1);
    vv_workers_destroy(workers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jobs_run_and_come_again),
        cmocka_unit_test(test_waiting_jobs_are_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
