/* SPDX-License-Identifier: Apache-2.0 */
/* What a session is inside; for session.c, looking.c and wait.c. */
#ifndef VVCQL_SESSION_PRIVATE_H
#define VVCQL_SESSION_PRIVATE_H

#include "execution.h"
#include "prepared.h"

enum vvcql_opening { VVCQL_OPENING, VVCQL_OPENED, VVCQL_OPENING_FAILED };

struct vvcql_session {
    /* Set once: */
    struct vvcql_settings settings;
    struct vvcql_tls_context *tls; /* NULL: none */
    pthread_t thread;
    bool has_thread;
    /* With a lock of their own: */
    struct vvcql_prepared_texts prepared;
    /* The session's thread only, but for what their headers say: */
    struct vvcql_loop loop;
    struct vvcql_cluster cluster;
    struct vvcql_executor executor;
    uv_async_t wake; /* any thread may send it */
    bool is_closing;
    /* Under the lock: */
    pthread_mutex_t lock;
    pthread_cond_t changed; /* opening, or the spare is free */
    enum vvcql_opening opening;
    struct vvcql_error opening_error;
    bool close_wanted;
    struct vvcql_submission *submitted_first;
    struct vvcql_submission *submitted_last;
    struct vvcql_submission spare; /* tells of a refusal when there is no memory for that */
    bool spare_is_used;
};

/* Whether the calling thread is the session's. */
bool vvcql_session_is_own_thread(const struct vvcql_session *session);

#endif
