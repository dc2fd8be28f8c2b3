/* SPDX-License-Identifier: Apache-2.0 */
/* The guard's thread: a poll over the sockets that it lingers on, and a sweep over the doors. */
#include "http/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define SWEEP_MS         500
#define LINGER_MAX       64u /* sockets at once; more are closed at once */
#define LINGER_NS        (5 * VV_SECOND)
#define LINGER_BYTES_MAX (64u << 20)
#define DISCARD_BYTES    65536u

struct lingering {
    int fd;
    int64_t until_ns;
    size_t bytes_left;
};

struct vv_guard {
    pthread_t thread;
    pthread_mutex_t lock;
    int wake; /* eventfd */
    struct vv_door *doors;
    struct lingering arrived[LINGER_MAX]; /* for the thread to take */
    size_t n_arrived;
    bool stopping;
    /* the thread's own */
    struct lingering lingering[LINGER_MAX];
    size_t n_lingering;
    char discard[DISCARD_BYTES];
};

static int64_t now_ns(void)
{
    struct vv_clock *clock = vv_clock_system();
    return clock->monotonic_ns(clock);
}

static void wake(struct vv_guard *guard)
{
    uint64_t one = 1;
    ssize_t written = write(guard->wake, &one, sizeof one);
    (void)written; /* fails only when the counter is full: then it is awake anyway */
}

static void clear_wake(struct vv_guard *guard)
{
    uint64_t count;
    ssize_t got = read(guard->wake, &count, sizeof count);
    (void)got;
}

/* Takes what arrived, as far as there is room, and shuts down connections past their deadline.
 * Returns false to end. */
static bool sweep(struct vv_guard *guard, int64_t now, bool *idle_out)
{
    pthread_mutex_lock(&guard->lock);
    for (size_t i = 0; i < guard->n_arrived; i++) {
        if (guard->n_lingering < LINGER_MAX) {
            guard->lingering[guard->n_lingering++] = guard->arrived[i];
        } else {
            close(guard->arrived[i].fd);
        }
    }
    guard->n_arrived = 0;
    for (struct vv_door *door = guard->doors; door; door = door->next) {
        if (atomic_load_explicit(&door->deadline_ns, memory_order_relaxed) <= now) {
            atomic_store_explicit(&door->deadline_ns, VV_GUARD_NEVER, memory_order_relaxed);
            shutdown(door->fd, SHUT_RDWR); /* libmicrohttpd sees the end and closes it */
        }
    }
    *idle_out = !guard->doors && guard->n_lingering == 0;
    bool go_on = !guard->stopping;
    pthread_mutex_unlock(&guard->lock);
    return go_on;
}

/* Whether to go on with it. */
static bool discard_some(struct vv_guard *guard, struct lingering *lingering)
{
    ssize_t got = recv(lingering->fd, guard->discard, sizeof guard->discard, MSG_DONTWAIT);
    if (got <= 0) {
        return got < 0 && (errno == EAGAIN || errno == EINTR);
    }
    if ((size_t)got >= lingering->bytes_left) {
        return false;
    }
    lingering->bytes_left -= (size_t)got;
    return true;
}

static void serve_lingering(struct vv_guard *guard, const struct pollfd *polled, int64_t now)
{
    size_t kept = 0;
    for (size_t i = 0; i < guard->n_lingering; i++) {
        struct lingering *lingering = &guard->lingering[i];
        bool keep = now < lingering->until_ns;
        if (keep && polled[i].revents) {
            keep = discard_some(guard, lingering);
        }
        if (keep) {
            guard->lingering[kept++] = *lingering;
        } else {
            close(lingering->fd);
        }
    }
    guard->n_lingering = kept;
}

static void *guard_thread(void *context)
{
    struct vv_guard *guard = context;
    bool idle = false;
    while (sweep(guard, now_ns(), &idle)) {
        struct pollfd polled[LINGER_MAX + 1];
        for (size_t i = 0; i < guard->n_lingering; i++) {
            polled[i] = (struct pollfd){.fd = guard->lingering[i].fd, .events = POLLIN};
        }
        polled[guard->n_lingering] = (struct pollfd){.fd = guard->wake, .events = POLLIN};
        int ready = poll(polled, guard->n_lingering + 1, idle ? -1 : SWEEP_MS);
        if (ready > 0 && polled[guard->n_lingering].revents) {
            clear_wake(guard);
        }
        if (ready >= 0) {
            serve_lingering(guard, polled, now_ns());
        }
    }
    return NULL;
}

enum vv_status vv_guard_create(struct vv_guard **guard_out, struct vv_error *error)
{
    struct vv_guard *guard = calloc(1, sizeof *guard);
    if (!guard) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory while starting");
    }
    guard->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (guard->wake < 0) {
        free(guard);
        return vv_error_set(error, VV_IO,
                            "cannot open an event descriptor: %s; raise the limit of "
                            "open files",
                            strerror(errno));
    }
    pthread_mutex_init(&guard->lock, NULL);
    if (pthread_create(&guard->thread, NULL, guard_thread, guard) != 0) {
        pthread_mutex_destroy(&guard->lock);
        close(guard->wake);
        free(guard);
        return vv_error_set(error, VV_NO_MEMORY, "cannot start a thread");
    }
    pthread_setname_np(guard->thread, "http-guard");
    *guard_out = guard;
    return VV_OK;
}

void vv_guard_destroy(struct vv_guard *guard)
{
    if (!guard) {
        return;
    }
    pthread_mutex_lock(&guard->lock);
    guard->stopping = true;
    pthread_mutex_unlock(&guard->lock);
    wake(guard);
    pthread_join(guard->thread, NULL);
    vv_invariant(!guard->doors);
    for (size_t i = 0; i < guard->n_lingering; i++) {
        close(guard->lingering[i].fd);
    }
    for (size_t i = 0; i < guard->n_arrived; i++) {
        close(guard->arrived[i].fd);
    }
    pthread_mutex_destroy(&guard->lock);
    close(guard->wake);
    free(guard);
}

struct vv_door *vv_guard_open(struct vv_guard *guard, int fd, int64_t deadline_ns)
{
    struct vv_door *door = calloc(1, sizeof *door);
    if (!door) {
        return NULL;
    }
    atomic_init(&door->deadline_ns, deadline_ns);
    door->fd = fd;
    pthread_mutex_lock(&guard->lock);
    bool first = !guard->doors;
    door->next = guard->doors;
    door->link = &guard->doors;
    if (door->next) {
        door->next->link = &door->next;
    }
    guard->doors = door;
    pthread_mutex_unlock(&guard->lock);
    if (first) {
        wake(guard);
    }
    return door;
}

void vv_guard_close(struct vv_guard *guard, struct vv_door *take_door)
{
    struct vv_door *door = take_door;
    if (!door) {
        return;
    }
    pthread_mutex_lock(&guard->lock);
    *door->link = door->next;
    if (door->next) {
        door->next->link = door->link;
    }
    pthread_mutex_unlock(&guard->lock);
    free(door);
}

void vv_guard_linger(struct vv_guard *guard, int fd)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (copy < 0) {
        return;
    }
    struct lingering lingering = {
        .fd = copy, .until_ns = now_ns() + LINGER_NS, .bytes_left = LINGER_BYTES_MAX};
    pthread_mutex_lock(&guard->lock);
    bool taken = guard->n_arrived < LINGER_MAX;
    if (taken) {
        guard->arrived[guard->n_arrived++] = lingering;
    }
    pthread_mutex_unlock(&guard->lock);
    if (taken) {
        wake(guard);
    } else {
        close(copy);
    }
}
