/* SPDX-License-Identifier: Apache-2.0 */
/* A session's life, its thread, and how requests get to it. */
#include "session_private.h"

#include <stdlib.h>
#include <string.h>

static _Thread_local const struct vvcql_session *own_session;

bool vvcql_session_is_own_thread(const struct vvcql_session *session)
{
    return own_session == session;
}

/* ---- in the session's thread ---- */

static void tell_refused(struct vvcql_session *session, struct vvcql_submission *submission)
{
    struct vvcql_submission copy = *submission;
    struct vvcql_error error;
    if (submission != &session->spare) {
        free(submission);
    } else {
        pthread_mutex_lock(&session->lock);
        session->spare_is_used = false;
        pthread_cond_broadcast(&session->changed);
        pthread_mutex_unlock(&session->lock);
    }
    if (copy.refused == VVCQL_OVERLOADED)
        vvcql_error_set(&error, copy.refused, "%u requests are under way already: requests_max",
                        session->settings.options.requests_max);
    else
        vvcql_error_set(&error, copy.refused, "no memory for a request");
    copy.done(copy.context, NULL, &error);
}

static void start_submitted(struct vvcql_session *session)
{
    pthread_mutex_lock(&session->lock);
    struct vvcql_submission *submission = session->submitted_first;
    session->submitted_first = NULL;
    session->submitted_last = NULL;
    pthread_mutex_unlock(&session->lock);
    while (submission != NULL) {
        struct vvcql_submission *next = submission->next;
        if (submission->refused == VVCQL_OK)
            vvcql_execution_start(&session->executor, submission);
        else
            tell_refused(session, submission);
        submission = next;
    }
}

static void on_wake(uv_async_t *wake)
{
    struct vvcql_session *session = wake->data;
    start_submitted(session);
    pthread_mutex_lock(&session->lock);
    bool close_wanted = session->close_wanted;
    pthread_mutex_unlock(&session->lock);
    if (close_wanted && !session->is_closing) {
        session->is_closing = true;
        vvcql_executor_close(&session->executor);
        vvcql_cluster_close(&session->cluster);
    }
}

static void on_room(void *context)
{
    struct vvcql_session *session = context;
    vvcql_executor_pump(&session->executor);
}

static void on_opened(void *context, const struct vvcql_error *error)
{
    struct vvcql_session *session = context;
    pthread_mutex_lock(&session->lock);
    session->opening = error == NULL ? VVCQL_OPENED : VVCQL_OPENING_FAILED;
    if (error != NULL)
        session->opening_error = *error;
    pthread_cond_broadcast(&session->changed);
    pthread_mutex_unlock(&session->lock);
}

/* No connection is left, so no request is under way; what callbacks submitted meanwhile is ended
 * too, and the loop with its last handle. */
static void on_cluster_closed(void *context)
{
    struct vvcql_session *session = context;
    bool is_empty = false;
    while (!is_empty) {
        start_submitted(session);
        pthread_mutex_lock(&session->lock);
        is_empty = session->submitted_first == NULL;
        pthread_mutex_unlock(&session->lock);
    }
    uv_close((uv_handle_t *)&session->wake, NULL);
}

static void *run(void *context)
{
    struct vvcql_session *session = context;
    own_session = session;
    vvcql_cluster_start(&session->cluster);
    vvcql_loop_run(&session->loop);
    return NULL;
}

/* ---- life ---- */

/* Each step is undone by the one of the same number in `destroy`. */
enum made { MADE_NOTHING, MADE_SETTINGS, MADE_LOCK, MADE_PREPARED, MADE_LOOP, MADE_CLUSTER };

static void destroy(struct vvcql_session *session, enum made made)
{
    if (made >= MADE_CLUSTER) {
        if (!session->has_thread)
            uv_close((uv_handle_t *)&session->wake, NULL);
        vvcql_cluster_deinit(&session->cluster);
    }
    if (made >= MADE_LOOP)
        vvcql_loop_deinit(&session->loop);
    if (made >= MADE_PREPARED)
        vvcql_prepared_deinit(&session->prepared);
    if (made >= MADE_LOCK) {
        pthread_cond_destroy(&session->changed);
        pthread_mutex_destroy(&session->lock);
    }
    if (made >= MADE_SETTINGS) {
        vvcql_tls_context_destroy(session->tls);
        vvcql_settings_deinit(&session->settings);
    }
    vvcql_executor_deinit(&session->executor);
    free(session);
}

static enum vvcql_status make_settings(struct vvcql_session *session,
                                       const struct vvcql_options *options,
                                       struct vvcql_error *error)
{
    enum vvcql_status status = vvcql_settings_init(&session->settings, options, error);
    if (status != VVCQL_OK || !options->tls.enabled)
        return status;
    status = vvcql_tls_context_create(&session->settings.options.tls, &session->tls, error);
    if (status != VVCQL_OK)
        vvcql_settings_deinit(&session->settings);
    return status;
}

static bool make_lock(struct vvcql_session *session)
{
    if (pthread_mutex_init(&session->lock, NULL) != 0)
        return false;
    if (pthread_cond_init(&session->changed, NULL) == 0)
        return true;
    pthread_mutex_destroy(&session->lock);
    return false;
}

static bool make_loop(struct vvcql_session *session)
{
    const struct vvcql_options *options = &session->settings.options;
    if (!vvcql_loop_init(&session->loop, options->seed))
        return false;
    session->loop.log = options->log;
    session->loop.log_context = options->log_context;
    return true;
}

static bool make_cluster(struct vvcql_session *session, bool patient)
{
    struct vvcql_cluster *cluster = &session->cluster;
    cluster->loop = &session->loop;
    cluster->settings = &session->settings;
    cluster->tls = session->tls;
    cluster->context = session;
    cluster->on_room = on_room;
    cluster->on_opened = on_opened;
    cluster->on_closed = on_cluster_closed;
    cluster->is_patient = patient;
    session->executor.cluster = cluster;
    if (!vvcql_cluster_init(cluster))
        return false;
    if (uv_async_init(&session->loop.uv, &session->wake, on_wake) != 0) {
        vvcql_cluster_deinit(cluster);
        return false;
    }
    session->wake.data = session;
    return true;
}

/* All but the thread. */
static enum vvcql_status make(const struct vvcql_options *options, bool patient,
                              struct vvcql_session **session_out, struct vvcql_error *error)
{
    struct vvcql_session *session = calloc(1, sizeof(*session));
    if (session == NULL)
        return vvcql_error_set(error, VVCQL_NO_MEMORY, "no memory for a session");
    enum made made = MADE_NOTHING;
    enum vvcql_status status = make_settings(session, options, error);
    if (status != VVCQL_OK) {
        destroy(session, made);
        return status;
    }
    made = MADE_SETTINGS;
    if (make_lock(session))
        made = MADE_LOCK;
    if (made == MADE_LOCK && vvcql_prepared_init(&session->prepared))
        made = MADE_PREPARED;
    if (made == MADE_PREPARED && make_loop(session))
        made = MADE_LOOP;
    if (made == MADE_LOOP && make_cluster(session, patient))
        made = MADE_CLUSTER;
    if (made != MADE_CLUSTER) {
        destroy(session, made);
        return vvcql_error_set(error, VVCQL_NO_MEMORY,
                               "no memory or file descriptors for a session");
    }
    *session_out = session;
    return VVCQL_OK;
}

static enum vvcql_status await_opening(struct vvcql_session *session, struct vvcql_error *error)
{
    enum vvcql_status status = VVCQL_OK;
    pthread_mutex_lock(&session->lock);
    while (session->opening == VVCQL_OPENING)
        pthread_cond_wait(&session->changed, &session->lock);
    if (session->opening == VVCQL_OPENING_FAILED) {
        status = session->opening_error.status;
        if (error != NULL)
            *error = session->opening_error;
    }
    pthread_mutex_unlock(&session->lock);
    return status;
}

enum vvcql_status vvcql_session_open(const struct vvcql_options *options, bool patient,
                                     struct vvcql_session **session_out, struct vvcql_error *error)
{
    struct vvcql_session *session = NULL;
    *session_out = NULL;
    enum vvcql_status status = make(options, patient, &session, error);
    if (status != VVCQL_OK)
        return status;
    if (pthread_create(&session->thread, NULL, run, session) != 0) {
        destroy(session, MADE_CLUSTER);
        return vvcql_error_set(error, VVCQL_NO_MEMORY, "no thread can be started for a session");
    }
    session->has_thread = true;
    if (!patient)
        status = await_opening(session, error);
    if (status != VVCQL_OK) {
        vvcql_session_close(session);
        return status;
    }
    *session_out = session;
    return VVCQL_OK;
}

void vvcql_session_close(struct vvcql_session *session)
{
    if (session == NULL)
        return;
    pthread_mutex_lock(&session->lock);
    session->close_wanted = true;
    pthread_mutex_unlock(&session->lock);
    (void)uv_async_send(&session->wake);
    pthread_join(session->thread, NULL);
    destroy(session, MADE_CLUSTER);
}

/* ---- requests ---- */

const struct vvcql_prepared *vvcql_prepare(struct vvcql_session *session, const char *cql)
{
    return vvcql_prepared_find(&session->prepared, cql);
}

static void submit(struct vvcql_session *session, struct vvcql_submission *submission)
{
    submission->next = NULL;
    pthread_mutex_lock(&session->lock);
    bool was_empty = session->submitted_first == NULL;
    if (was_empty)
        session->submitted_first = submission;
    else
        session->submitted_last->next = submission;
    session->submitted_last = submission;
    pthread_mutex_unlock(&session->lock);
    if (was_empty)
        (void)uv_async_send(&session->wake);
}

/* Waits until the spare is free, which takes the session's thread a moment. That thread itself
 * can't wait: NULL. */
static struct vvcql_submission *take_spare(struct vvcql_session *session)
{
    if (vvcql_session_is_own_thread(session))
        return NULL;
    pthread_mutex_lock(&session->lock);
    while (session->spare_is_used)
        pthread_cond_wait(&session->changed, &session->lock);
    session->spare_is_used = true;
    pthread_mutex_unlock(&session->lock);
    return &session->spare;
}

static void refuse(struct vvcql_session *session, enum vvcql_status status, vvcql_done done,
                   void *context)
{
    struct vvcql_tally *tally = &session->loop.tally;
    vvcql_tally_add(&tally->requests, 1);
    vvcql_tally_add(&tally->errors, 1);
    vvcql_tally_add(&tally->overloaded, status == VVCQL_OVERLOADED);
    struct vvcql_submission *submission = malloc(sizeof(*submission));
    if (submission == NULL)
        submission = take_spare(session);
    if (submission == NULL) {
        struct vvcql_error error;
        vvcql_error_set(&error, VVCQL_NO_MEMORY, "no memory for a request");
        done(context, NULL, &error);
        return;
    }
    *submission = (struct vvcql_submission){.done = done, .context = context, .refused = status};
    submit(session, submission);
}

void vvcql_execute(struct vvcql_session *session, struct vvcql_statement *take_statement,
                   vvcql_done done, void *context)
{
    struct vvcql_tally *tally = &session->loop.tally;
    const struct vvcql_options *options = &session->settings.options;
    bool has_room = atomic_fetch_add_explicit(&tally->in_flight, 1, memory_order_relaxed) <
                    options->requests_max;
    struct vvcql_submission *submission = NULL;
    if (has_room && take_statement != NULL)
        submission = vvcql_execution_create(
            take_statement,
            options->speculative_delay_ms != UINT32_MAX ? options->speculative_max : 0, done,
            context);
    if (submission != NULL) {
        submit(session, submission);
        return;
    }
    vvcql_tally_subtract(&tally->in_flight, 1);
    vvcql_statement_destroy(take_statement);
    refuse(session, has_room ? VVCQL_NO_MEMORY : VVCQL_OVERLOADED, done, context);
}
