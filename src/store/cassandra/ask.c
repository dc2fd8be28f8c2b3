/* SPDX-License-Identifier: Apache-2.0 */
/* Several questions at once, and waiting for all their answers. */
#include "store/cassandra/cassandra.h"

struct asking {
    struct vv_cassandra *store;
    pthread_mutex_t lock;
    pthread_cond_t answered;
    size_t left;
    enum vv_status status;
    struct vv_error *error;
};

struct question {
    struct asking *asking;
    struct vvcql_result **result_out;
};

/* In the session's thread. */
static void answer(void *context, struct vvcql_result *take_result, const struct vvcql_error *error)
{
    struct question *question = context;
    struct asking *asking = question->asking;
    if (error) {
        (void)vv_dead_note(&asking->store->dead, error, VV_DEAD_BY_READ);
    }
    pthread_mutex_lock(&asking->lock);
    *question->result_out = take_result;
    if (error && asking->status == VV_OK) {
        asking->status = vv_cassandra_status(error, "reading", asking->error);
    }
    asking->left--;
    pthread_cond_signal(&asking->answered);
    pthread_mutex_unlock(&asking->lock);
}

enum vv_status vv_cassandra_ask_any(struct vv_cassandra *store,
                                    struct vvcql_statement *const *take_statements, size_t n,
                                    struct vvcql_result **results_out, struct vv_error *error)
{
    struct question questions[VV_CASSANDRA_ASK_MAX];
    struct asking asking = {.store = store, .left = n, .status = VV_OK, .error = error};
    vv_invariant(n <= VV_CASSANDRA_ASK_MAX);
    vv_invariant(pthread_mutex_init(&asking.lock, NULL) == 0);
    vv_invariant(pthread_cond_init(&asking.answered, NULL) == 0);
    for (size_t i = 0; i < n; i++) {
        results_out[i] = NULL;
        questions[i] = (struct question){&asking, &results_out[i]};
        vvcql_execute(store->session, take_statements[i], answer, &questions[i]);
    }
    pthread_mutex_lock(&asking.lock);
    while (asking.left > 0) {
        pthread_cond_wait(&asking.answered, &asking.lock);
    }
    pthread_mutex_unlock(&asking.lock);
    pthread_cond_destroy(&asking.answered);
    pthread_mutex_destroy(&asking.lock);
    return asking.status;
}

enum vv_status vv_cassandra_ask(struct vv_cassandra *store,
                                struct vvcql_statement *const *take_statements, size_t n,
                                struct vvcql_result **results_out, struct vv_error *error)
{
    enum vv_status status = vv_cassandra_ask_any(store, take_statements, n, results_out, error);
    for (size_t i = 0; i < n && status != VV_OK; i++) {
        vvcql_result_destroy(results_out[i]);
        results_out[i] = NULL;
    }
    return status;
}
