/* SPDX-License-Identifier: Apache-2.0 */
/* Starting and stopping of the door. */
#include "base/log.h"
#include "base/turns.h"
#include "http/http_private.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CONNECTION_MEMORY_BYTES (256u << 10)
#define ADMIN_THREADS           2
#define LOOK_THREADS            4 /* they mostly wait */
#define WARNING_INTERVAL_NS     (10 * VV_SECOND)
#define CLOSING_NS              (VV_SECOND / 4) /* for answers that are ready to leave */

/* libmicrohttpd's threads ask for 128 events at once and, when they get just as many, wait for more
 * of them before they serve these: clients that all wait for their answers would wait until they
 * count as idle. A thread with fewer sources of events never gets so many; two of its sources are
 * the listening socket and its own wake-up. */
#define MHD_EVENTS             128
#define CONNECTIONS_PER_THREAD (MHD_EVENTS - 1 - 2)

int64_t vv_http_now_ns(void)
{
    struct vv_clock *clock = vv_clock_system();
    return clock->monotonic_ns(clock);
}

bool vv_http_recovered(struct vv_http *http)
{
    if (atomic_load_explicit(&http->recovered, memory_order_acquire)) {
        return true;
    }
    struct vv_engine_health health;
    vv_engine_read_health(http->engine, &health);
    if (!health.recovering) {
        atomic_store_explicit(&http->recovered, true, memory_order_release);
    }
    return !health.recovering;
}

/* ---- libmicrohttpd's callbacks ---- */

static void log_message(void *context, const char *format, va_list arguments) VV_PRINTF(2, 0);
/* What libmicrohttpd says is nearly always about what a client did: for debugging only. What ran
 * out here is worth a warning, but not one for each connection. */
static void log_message(void *context, const char *format, va_list arguments)
{
    struct vv_http *http = context;
    char text[512];
    char quoted[640];
    vsnprintf(text, sizeof text, format, arguments);
    text[strcspn(text, "\n")] = '\0';
    enum vv_log_level level = VV_LOG_DEBUG;
    if (!atomic_load_explicit(&http->started, memory_order_relaxed)) {
        level = VV_LOG_WARN;
    } else if (strstr(text, "resource limit") || strstr(text, "allocating memory") ||
               strstr(text, "epoll") || strstr(text, "thread")) {
        int64_t now = vv_http_now_ns();
        int64_t last = atomic_load_explicit(&http->warned_ns, memory_order_relaxed);
        if (now - last >= WARNING_INTERVAL_NS &&
            atomic_compare_exchange_strong(&http->warned_ns, &last, now)) {
            level = VV_LOG_WARN;
        }
    }
    vv_log(level, "http", "message=%s", vv_log_quote(text, strlen(text), quoted, sizeof quoted));
}

static void connection_changed(void *context, struct MHD_Connection *connection,
                               void **socket_context, enum MHD_ConnectionNotificationCode code)
{
    struct vv_http *http = context;
    vv_turns_shorten(); /* of the thread that serves it */
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        vv_guard_close(http->guard, *socket_context);
        *socket_context = NULL;
        vv_traffic_add(&http->traffic.closed, 1);
        return;
    }
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    int64_t deadline = vv_http_now_ns() + 2 * http->settings.http_idle_ns_max;
    *socket_context = info ? vv_guard_open(http->guard, info->connect_fd, deadline) : NULL;
    vv_traffic_add(&http->traffic.accepted, 1);
}

/* ---- starting ---- */

static unsigned idle_seconds(const struct vv_settings *settings)
{
    int64_t seconds = (settings->http_idle_ns_max + VV_SECOND - 1) / VV_SECOND;
    return seconds < 1 ? 1 : seconds > 86400 ? 86400 : (unsigned)seconds;
}

static unsigned thread_count(const struct vv_settings *settings)
{
    int64_t least =
        (settings->http_connections_max + CONNECTIONS_PER_THREAD - 1) / CONNECTIONS_PER_THREAD;
    return (unsigned)(settings->http_threads > least ? settings->http_threads : least);
}

static enum vv_status start_daemon(struct vv_http *http, struct vv_error *error)
{
    const struct vv_settings *settings = &http->settings;
    unsigned threads = thread_count(settings);
    struct MHD_OptionItem options[] = {
        {MHD_OPTION_LISTEN_SOCKET, http->listener.fd, NULL},
        {MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_MEMORY_BYTES, NULL},
        {MHD_OPTION_CONNECTION_LIMIT, (intptr_t)settings->http_connections_max, NULL},
        {MHD_OPTION_CONNECTION_TIMEOUT, (intptr_t)idle_seconds(settings), NULL},
        /* A pool of one is refused; without the option there is one thread. */
        {threads > 1 ? MHD_OPTION_THREAD_POOL_SIZE : MHD_OPTION_END, (intptr_t)threads, NULL},
        {MHD_OPTION_END, 0, NULL}};
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
    http->daemon =
        MHD_start_daemon(flags, 0, NULL, NULL, vv_exchange_handle, http, MHD_OPTION_EXTERNAL_LOGGER,
                         log_message, http, MHD_OPTION_NOTIFY_COMPLETED, vv_exchange_completed,
                         http, MHD_OPTION_NOTIFY_CONNECTION, connection_changed, http,
                         MHD_OPTION_ARRAY, options, MHD_OPTION_END);
    if (!http->daemon) { /* it may have closed the listening socket, or not: that stays as it is */
        return vv_error_set(error, VV_IO,
                            "cannot start the HTTP server on %s; see the log for the cause",
                            http->listener.address);
    }
    atomic_store_explicit(&http->started, true, memory_order_relaxed);
    return VV_OK;
}

static void destroy(struct vv_http *http)
{
    vv_workers_destroy(http->query_workers);
    vv_workers_destroy(http->admin_workers);
    vv_workers_destroy(http->look_workers);
    vv_guard_destroy(http->guard);
    pthread_cond_destroy(&http->changed);
    pthread_mutex_destroy(&http->lock);
    free(http);
}

static void stop_workers(struct vv_http *http)
{
    struct vv_workers *all[] = {http->query_workers, http->admin_workers, http->look_workers};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i]) {
            vv_workers_stop(all[i]);
        }
    }
}

static enum vv_status start_parts(struct vv_http *http, struct vv_error *error)
{
    enum vv_status status = vv_guard_create(&http->guard, error);
    if (status == VV_OK) {
        status = vv_workers_create("http-query", http->settings.query_threads, &http->query_workers,
                                   error);
    }
    if (status == VV_OK) {
        status = vv_workers_create("http-admin", ADMIN_THREADS, &http->admin_workers, error);
    }
    if (status == VV_OK) {
        status = vv_workers_create("http-look", LOOK_THREADS, &http->look_workers, error);
    }
    if (status == VV_OK) {
        status = vv_listen_open(http->settings.listen, &http->listener, error);
    }
    return status == VV_OK ? start_daemon(http, error) : status;
}

static struct vv_http *create(const struct vv_settings *settings, struct vv_engine *engine)
{
    struct vv_http *http = calloc(1, sizeof *http);
    if (!http) {
        return NULL;
    }
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&http->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&http->lock, NULL);
    http->settings = *settings;
    http->engine = engine;
    struct vv_clock *clock = vv_clock_system();
    http->started_wall_ns = clock->wall_ns(clock);
    http->started_ns = vv_http_now_ns();
    atomic_init(&http->warned_ns, http->started_ns - WARNING_INTERVAL_NS);
    return http;
}

enum vv_status vv_http_start(const struct vv_settings *settings, struct vv_engine *engine,
                             struct vv_http **http_out, struct vv_error *error)
{
    struct vv_http *http = create(settings, engine);
    if (!http) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory while starting");
    }
    enum vv_status status = start_parts(http, error);
    if (status != VV_OK) {
        stop_workers(http);
        destroy(http);
        return status;
    }
    if (!http->listener.local) {
        vv_log(VV_LOG_WARN, "no_authentication",
               "address=%s message=\"anyone who reaches this address can read and write; keep it "
               "behind a proxy or a firewall\"",
               http->listener.address);
    }
    *http_out = http;
    return VV_OK;
}

const char *vv_http_address(const struct vv_http *http)
{
    return http->listener.address;
}

/* ---- stopping ---- */

/* Takes no new connections. MHD_quiesce_daemon is not used: with a pool of threads it races with
 * them for the socket's place in their epoll sets, and the loser ends the process. Putting a silent
 * socket in the place of the listening one closes that at once, whatever the threads are doing. */
static void stop_listening(struct vv_http *http)
{
    int silence = -1;
    struct vv_error error = {0};
    if (vv_listen_silence(&silence, &error) == VV_OK) {
        dup3(silence, http->listener.fd, O_CLOEXEC);
        close(silence);
    }
}

/* Waits until no request is under way, up to the time given. */
static void wait_idle(struct vv_http *http, int64_t wait_ns)
{
    int64_t until_ns = vv_http_now_ns() + wait_ns;
    struct timespec until = {.tv_sec = until_ns / VV_SECOND, .tv_nsec = until_ns % VV_SECOND};
    pthread_mutex_lock(&http->lock);
    int result = 0;
    while (http->active > 0 && result == 0) {
        result = pthread_cond_timedwait(&http->changed, &http->lock, &until);
    }
    pthread_mutex_unlock(&http->lock);
}

void vv_http_stop(struct vv_http *http, int64_t grace_ns)
{
    atomic_store_explicit(&http->stopping, true, memory_order_relaxed);
    stop_listening(http);
    wait_idle(http, grace_ns);
    pthread_mutex_lock(&http->lock);
    http->stopped = true;
    pthread_mutex_unlock(&http->lock);
    stop_workers(http);
    vv_exchange_abandon_all(http);
    wait_idle(http, CLOSING_NS);
    MHD_stop_daemon(http->daemon); /* closes the silent socket, too */
    destroy(http);
}
