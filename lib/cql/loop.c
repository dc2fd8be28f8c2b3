/* SPDX-License-Identifier: Apache-2.0 */
/* The loop's own handles: a timer behind all deadlines, and what is done before each wait. */
#include "loop.h"

#include "connection.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LOG_TEXT_MAX 640

static void flush_dirty(struct vvcql_loop *loop)
{
    while (loop->dirty != NULL) {
        struct vvcql_connection *connection = loop->dirty;
        struct vvcql_connection **next = vvcql_connection_next_dirty(connection);
        loop->dirty = *next;
        *next = NULL;
        vvcql_connection_flush(connection);
    }
}

static void on_timer(uv_timer_t *timer)
{
    struct vvcql_loop *loop = timer->data;
    vvcql_deadlines_run(&loop->deadlines, uv_now(&loop->uv));
}

static void arm_timer(struct vvcql_loop *loop)
{
    uint64_t next_ms = vvcql_deadlines_next(&loop->deadlines);
    uint64_t now_ms = uv_now(&loop->uv);
    if (next_ms == UINT64_MAX) {
        (void)uv_timer_stop(&loop->timer);
    } else {
        /* Fails only for a timer that is closing. */
        (void)uv_timer_start(&loop->timer, on_timer, next_ms > now_ms ? next_ms - now_ms : 0, 0);
    }
}

static void on_prepare(uv_prepare_t *prepare)
{
    struct vvcql_loop *loop = prepare->data;
    flush_dirty(loop);
    arm_timer(loop);
}

bool vvcql_loop_init(struct vvcql_loop *loop, uint64_t seed)
{
    memset(loop, 0, sizeof *loop);
    if (uv_loop_init(&loop->uv) != 0) {
        return false;
    }
    loop->random_state = seed != 0 ? seed : 1;
    /* These never fail. */
    (void)uv_timer_init(&loop->uv, &loop->timer);
    (void)uv_prepare_init(&loop->uv, &loop->prepare);
    (void)uv_prepare_start(&loop->prepare, on_prepare);
    loop->timer.data = loop;
    loop->prepare.data = loop;
    uv_unref((uv_handle_t *)&loop->timer);
    uv_unref((uv_handle_t *)&loop->prepare);
    return true;
}

void vvcql_loop_run(struct vvcql_loop *loop)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
    (void)uv_run(&loop->uv, UV_RUN_DEFAULT);
}

void vvcql_loop_deinit(struct vvcql_loop *loop)
{
    uv_close((uv_handle_t *)&loop->timer, NULL);
    uv_close((uv_handle_t *)&loop->prepare, NULL);
    (void)uv_run(&loop->uv, UV_RUN_DEFAULT);
    (void)uv_loop_close(&loop->uv);
    vvcql_deadlines_deinit(&loop->deadlines);
}

uint64_t vvcql_loop_now(const struct vvcql_loop *loop)
{
    return uv_now(&loop->uv);
}

void vvcql_loop_log(const struct vvcql_loop *loop, const char *event, const char *format, ...)
{
    if (loop->log == NULL) {
        return;
    }
    char text[LOG_TEXT_MAX];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    loop->log(loop->log_context, event, text);
}
