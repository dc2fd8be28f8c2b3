/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `varve serve`: settings, engine, HTTP door, signals. The main thread waits for signals; another
 * replays the journal, so that a signal is heard meanwhile too.
 */
#include "cli/commands.h"

#include "base/clock.h"
#include "base/log.h"
#include "cli/config.h"
#include "cli/terminal.h"
#include "http/server.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define FILES_WANTED  65536
#define STOP_GRACE_NS (5 * VV_SECOND)

struct server {
    struct vv_settings settings;
    struct vv_engine *engine;
    struct vv_http *http;
    int signals;   /* readable when a signal is there */
    int recovered; /* readable when recovery has ended */
    pthread_t recovery;
    enum vv_status recovery_status; /* written before `recovered` */
    struct vv_error recovery_error;
};

static enum vv_status read_settings(const struct vv_arguments *arguments,
                                    struct vv_settings *settings_out, struct vv_error *error)
{
    const char *data = vv_arguments_text(arguments, "data", NULL);
    const char *listen = vv_arguments_text(arguments, "listen", NULL);
    enum vv_status status = vv_config_read(arguments, settings_out, error);
    if (status == VV_OK && data) {
        status = vv_settings_set(settings_out, "data", data, error);
    }
    if (status == VV_OK && listen) {
        status = vv_settings_set(settings_out, "http.listen", listen, error);
    }
    return status == VV_OK ? vv_settings_check(settings_out, error) : status;
}

static void set_log_level(const char *word)
{
    static const char *const words[] = {"debug", "info", "warn", "error"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(words[i], word) == 0) {
            vv_log_level_set((enum vv_log_level)i);
        }
    }
}

/* Connections and the store's files need descriptors; what is not allowed is not needed to start.
 */
static void raise_file_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < FILES_WANTED) {
        rlim_t wanted = FILES_WANTED;
        limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
        if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
            vv_log(VV_LOG_WARN, "file_limit", "files=%llu", (unsigned long long)limit.rlim_cur);
        }
    }
}

/* All threads inherit the mask, so the signals come to the descriptor only. */
static enum vv_status open_signals(struct server *server, struct vv_error *error)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    signal(SIGPIPE, SIG_IGN);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    server->signals = signalfd(-1, &set, SFD_CLOEXEC);
    server->recovered = eventfd(0, EFD_CLOEXEC);
    if (server->signals < 0 || server->recovered < 0) {
        return vv_error_set(error, VV_IO, "cannot wait for signals: %s", strerror(errno));
    }
    return VV_OK;
}

/* From here on a signal has its ordinary effect: it ends the process at once. */
static void release_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static void *recover(void *context)
{
    struct server *server = context;
    server->recovery_status = vv_engine_recover(server->engine, &server->recovery_error);
    vv_invariant(eventfd_write(server->recovered, 1) == 0);
    return NULL;
}

static enum vv_status start(struct server *server, struct vv_error *error)
{
    const struct vv_engine_options options = {.settings = &server->settings};
    const char *data = server->settings.data;
    char quoted[VV_SETTING_TEXT_MAX * 2];
    vv_log(VV_LOG_INFO, "starting", "version=%s pid=%d data=%s", VARVE_VERSION, (int)getpid(),
           vv_log_quote(data, strlen(data), quoted, sizeof quoted));
    enum vv_status status = vv_engine_open(&options, &server->engine, error);
    if (status != VV_OK) {
        return status;
    }
    status = vv_http_start(&server->settings, server->engine, &server->http, error);
    if (status != VV_OK) {
        return status;
    }
    vv_log(VV_LOG_INFO, "listening", "address=%s", vv_http_address(server->http));
    if (pthread_create(&server->recovery, NULL, recover, server) != 0) {
        return vv_error_set(error, VV_NO_MEMORY, "cannot start a thread");
    }
    return VV_OK;
}

/* Waits until one of the two can be read; true: it was a signal. */
static bool wait_for_event(struct server *server, bool recovering)
{
    struct pollfd files[] = {{.fd = server->signals, .events = POLLIN},
                             {.fd = server->recovered, .events = POLLIN}};
    int n;
    do {
        n = poll(files, recovering ? 2 : 1, -1);
    } while (n < 0 && errno == EINTR);
    return files[0].revents != 0;
}

static const char *take_signal(struct server *server)
{
    struct signalfd_siginfo info = {0};
    ssize_t size = read(server->signals, &info, sizeof info);
    return size == (ssize_t)sizeof info && info.ssi_signo == SIGINT ? "SIGINT" : "SIGTERM";
}

/* Replays, then serves until a signal comes. */
static enum vv_status serve(struct server *server, struct vv_error *error)
{
    if (wait_for_event(server, true)) {
        /* Replay only reads the journal: leaving it in the middle loses nothing. */
        vv_log(VV_LOG_INFO, "stopped", "signal=%s during=recovery", take_signal(server));
        _exit(VV_EXIT_OK);
    }
    pthread_join(server->recovery, NULL);
    if (server->recovery_status != VV_OK) {
        *error = server->recovery_error;
        return server->recovery_status;
    }
    vv_log(VV_LOG_INFO, "ready", "address=%s", vv_http_address(server->http));
    while (!wait_for_event(server, false)) {
    }
    vv_log(VV_LOG_INFO, "stopping", "signal=%s", take_signal(server));
    return VV_OK;
}

static void stop(struct server *server)
{
    release_signals();
    if (server->http) {
        vv_http_stop(server->http, STOP_GRACE_NS);
    }
    if (server->engine) {
        vv_engine_close(server->engine);
    }
    if (server->signals >= 0) {
        close(server->signals);
    }
    if (server->recovered >= 0) {
        close(server->recovered);
    }
}

int vv_serve_run(const struct vv_arguments *arguments)
{
    static struct server server; /* the recovery thread may outlive this function in _exit */
    struct vv_error error = {0};
    server.signals = server.recovered = -1;
    enum vv_status status = read_settings(arguments, &server.settings, &error);
    if (status != VV_OK) {
        return vv_config_fail(status, &error);
    }
    set_log_level(server.settings.log_level);
    raise_file_limit();
    status = open_signals(&server, &error);
    if (status == VV_OK) {
        status = start(&server, &error);
    }
    if (status == VV_OK) {
        status = serve(&server, &error);
    }
    stop(&server);
    if (status != VV_OK) {
        vv_say_error("%s", error.message);
        return VV_EXIT_FAILED;
    }
    vv_log(VV_LOG_INFO, "stopped", "pid=%d", (int)getpid());
    return VV_EXIT_OK;
}
