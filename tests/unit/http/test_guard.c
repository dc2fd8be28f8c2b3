/* SPDX-License-Identifier: Apache-2.0 */
/* The guard: deadlines shut connections down; lingering reads what still comes, to its end. */
#include "http/guard.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static int64_t now_ns(void)
{
    struct vv_clock *clock = vv_clock_system();
    return clock->monotonic_ns(clock);
}

static struct vv_guard *make_guard(void)
{
    struct vv_guard *guard = NULL;
    struct vv_error error = {0};
    assert_int_equal(vv_guard_create(&guard, &error), VV_OK);
    return guard;
}

static void pair(int fds[2])
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
}

static void test_deadline_shuts_down(void **state)
{
    (void)state;
    struct vv_guard *guard = make_guard();
    int late[2];
    int patient[2];
    pair(late);
    pair(patient);
    struct vv_door *kept = vv_guard_open(guard, patient[0], VV_GUARD_NEVER);
    struct vv_door *door = vv_guard_open(guard, late[0], VV_GUARD_NEVER);
    atomic_store(&door->deadline_ns, now_ns());
    char byte;
    assert_int_equal(read(late[1], &byte, 1), 0); /* waits for the end */
    assert_int_equal(write(patient[0], "x", 1), 1);
    assert_int_equal(read(patient[1], &byte, 1), 1);
    vv_guard_close(guard, door);
    vv_guard_close(guard, kept);
    vv_guard_close(guard, NULL);
    vv_guard_destroy(guard);
    for (int i = 0; i < 2; i++) {
        close(late[i]);
        close(patient[i]);
    }
}

/* The server's descriptor is closed while the client still sends: without lingering, the client's
 * next write fails and what was answered is lost. */
static void test_linger_reads_to_the_end(void **state)
{
    (void)state;
    struct vv_guard *guard = make_guard();
    int fds[2];
    pair(fds);
    assert_int_equal(write(fds[0], "answer", 6), 6);
    vv_guard_linger(guard, fds[0]);
    shutdown(fds[0], SHUT_WR);
    close(fds[0]);
    char block[4096] = {0};
    size_t sent = 0;
    while (sent < (4u << 20)) { /* far more than a socket holds: somebody must read it */
        ssize_t n = send(fds[1], block, sizeof block, MSG_NOSIGNAL);
        assert_true(n > 0);
        sent += (size_t)n;
    }
    assert_int_equal(read(fds[1], block, sizeof block), 6);
    assert_memory_equal(block, "answer", 6);
    assert_int_equal(read(fds[1], block, sizeof block), 0);
    close(fds[1]);
    vv_guard_destroy(guard);
}

static void test_more_than_it_can_linger_on(void **state)
{
    (void)state;
    struct vv_guard *guard = make_guard();
    enum { MANY = 200 };
    static int fds[MANY][2];
    for (int i = 0; i < MANY; i++) {
        pair(fds[i]);
        vv_guard_linger(guard, fds[i][0]);
        close(fds[i][0]);
    }
    for (int i = 0; i < MANY; i++) {
        close(fds[i][1]);
    }
    vv_guard_destroy(guard);
}

static void *churn(void *context)
{
    struct vv_guard *guard = context;
    for (int i = 0; i < 500; i++) {
        int fds[2];
        pair(fds);
        struct vv_door *door = vv_guard_open(guard, fds[0], i % 2 ? VV_GUARD_NEVER : now_ns());
        if (i % 7 == 0) {
            vv_guard_linger(guard, fds[0]);
        }
        vv_guard_close(guard, door);
        close(fds[0]);
        close(fds[1]);
    }
    return NULL;
}

static void test_many_threads(void **state)
{
    (void)state;
    struct vv_guard *guard = make_guard();
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, churn, guard), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    vv_guard_destroy(guard);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deadline_shuts_down),
        cmocka_unit_test(test_linger_reads_to_the_end),
        cmocka_unit_test(test_more_than_it_can_linger_on),
        cmocka_unit_test(test_many_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
