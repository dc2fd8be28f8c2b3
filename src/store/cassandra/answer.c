/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A read that was asked for: the first pages of runs, of blocks from all of the tenant's classes,
 * and of rows, all at once. What follows these pages is asked for when they are visited.
 *
 * So runs may be read when a span has been sealed, and its block before that was: then a cover
 * hides runs that are in no block that was seen. Who visits them looks for that (give_hidden in
 * read.c).
 */
#include "store/cassandra/answer.h"

#include <stdlib.h>

/* ---- questions ---- */

int64_t vv_cassandra_ms_from(int64_t time_ns)
{
    int64_t ms = time_ns / VV_MILLISECOND;
    return ms * VV_MILLISECOND < time_ns ? ms + 1 : ms;
}

struct vvcql_statement *vv_cassandra_question(const struct vv_store_answer *answer,
                                              const struct vvcql_prepared *prepared,
                                              int64_t from_ms, int32_t page_size,
                                              enum vv_status *status_out, struct vv_error *error)
{
    const struct vv_store_read *read = &answer->read;
    struct vvcql_statement *statement = vvcql_statement_prepared(prepared);
    *status_out =
        prepared == vv_cassandra_read_runs(answer)
            ? vv_cassandra_add_runs_partition(answer->store, statement, &read->partition, error)
            : vv_cassandra_add_partition(answer->store, statement, &read->partition, error);
    vv_cassandra_add_str(statement, vv_cassandra_measurement(answer->store, read->measurement));
    vvcql_add_timestamp(statement, from_ms);
    vvcql_add_timestamp(statement, vv_cassandra_ms_from(read->span_to));
    vvcql_set_page_size(statement, page_size);
    vvcql_set_idempotent(statement, true);
    return statement;
}

const struct vvcql_prepared *vv_cassandra_read_blocks(const struct vv_store_answer *answer,
                                                      uint8_t class, uint32_t table)
{
    const struct vv_region_view *view = answer->view;
    return answer->is_late           ? view->read_late[class][table]
           : answer->read.heads_only ? view->read_heads[class][table]
                                     : view->read_blocks[class][table];
}

const struct vvcql_prepared *vv_cassandra_read_runs(const struct vv_store_answer *answer)
{
    return vv_split_share_bits(answer->read.partition.split) > 0 ? answer->view->read_shared_runs
                                                                 : answer->view->read_runs;
}

/* ---- answers, in the session's thread ---- */

static void release(struct vv_store_answer *answer)
{
    if (atomic_fetch_sub(&answer->references, 1) > 1) {
        return;
    }
    vvcql_result_destroy(answer->runs);
    for (uint32_t i = 0; i < answer->classes.n; i++) {
        vvcql_result_destroy(answer->blocks[i][0]);
        vvcql_result_destroy(answer->blocks[i][1]);
        vvcql_result_destroy(answer->rows[i]);
    }
    vv_rows_kept_deinit(&answer->kept);
    vv_parked_runs_deinit(&answer->parked);
    pthread_cond_destroy(&answer->complete);
    pthread_mutex_destroy(&answer->lock);
    free(answer);
}

static int64_t monotonic(const struct vv_cassandra *store)
{
    return store->clock->monotonic_ns(store->clock);
}

/* One question is answered; the last one completes the answer. */
static void settle(struct vv_store_answer *answer, const struct vvcql_error *error)
{
    if (error) {
        (void)vv_dead_note(&answer->store->dead, error, VV_DEAD_BY_READ);
    }
    pthread_mutex_lock(&answer->lock);
    if (error && answer->status == VV_OK) {
        answer->status = vv_cassandra_status(error, "reading", &answer->error);
    }
    answer->left--;
    answer->answered_ns = monotonic(answer->store);
    pthread_cond_signal(&answer->complete);
    pthread_mutex_unlock(&answer->lock);
    release(answer);
}

/* One more question, which settle() ends. */
static void await(struct vv_store_answer *answer)
{
    atomic_fetch_add(&answer->references, 1);
    pthread_mutex_lock(&answer->lock);
    answer->left++;
    pthread_mutex_unlock(&answer->lock);
}

static void take_page(void *context, struct vvcql_result *take_result,
                      const struct vvcql_error *error)
{
    struct vv_question *question = context;
    *question->page_out = take_result;
    settle(question->answer, error);
}

static void ask_page(struct vv_store_answer *answer, struct vvcql_statement *take_statement,
                     struct vvcql_result **page_out)
{
    struct vv_question *question = &answer->questions[answer->n_questions++];
    *question = (struct vv_question){answer, page_out};
    await(answer);
    vvcql_execute(answer->store->session, take_statement, take_page, question);
}

static void ask_table(struct vv_store_answer *answer, uint32_t i, uint32_t table)
{
    enum vv_status status;
    struct vvcql_statement *statement = vv_cassandra_question(
        answer, vv_cassandra_read_blocks(answer, answer->classes.classes[i], table),
        vv_cassandra_ms_from(answer->read.span_from), VV_CASSANDRA_BLOCKS_OF_A_PAGE, &status, NULL);
    ask_page(answer, statement, &answer->blocks[i][table]);
}

static void ask_blocks(struct vv_store_answer *answer)
{
    uint32_t tables = vv_cassandra_tables(answer->store);
    for (uint32_t i = 0; i < answer->classes.n; i++) {
        uint8_t class = answer->classes.classes[i];
        if (!vv_regions_has_class(answer->view, class, answer->is_late)) {
            continue;
        }
        for (uint32_t j = 0; j < tables; j++) {
            ask_table(answer, i, j);
        }
    }
}

/* ---- asking ---- */

static enum vv_status ask_runs(struct vv_store_answer *answer, struct vv_error *error)
{
    if ((answer->classes.layouts & VV_LAYOUT_BLOCKS) == 0) {
        return VV_OK;
    }
    enum vv_status status;
    struct vvcql_statement *statement = vv_cassandra_question(
        answer, vv_cassandra_read_runs(answer), vv_cassandra_ms_from(answer->read.span_from),
        VV_CASSANDRA_RUNS_OF_A_PAGE, &status, error);
    if (status != VV_OK) {
        vvcql_statement_destroy(statement);
        return status;
    }
    ask_page(answer, statement, &answer->runs);
    ask_blocks(answer);
    return VV_OK;
}

static enum vv_status ask_rows(struct vv_store_answer *answer, struct vv_error *error)
{
    if ((answer->classes.layouts & VV_LAYOUT_ROWS) == 0 || answer->read.span_ns == 0) {
        return VV_OK;
    }
    enum vv_status status = VV_OK;
    for (uint32_t i = 0; i < answer->classes.n && status == VV_OK; i++) {
        uint8_t class = answer->classes.classes[i];
        if (!vv_regions_has_class(answer->view, class, answer->is_late)) {
            continue;
        }
        struct vvcql_statement *statement =
            vv_cassandra_rows_question(answer, class, &status, error);
        if (status == VV_OK) {
            ask_page(answer, statement, &answer->rows[i]);
        } else {
            vvcql_statement_destroy(statement);
        }
    }
    return status;
}

/* ---- life ---- */

enum vv_status vv_cassandra_begin_read(struct vv_store *base, const struct vv_store_read *read,
                                       struct vv_store_answer **answer_out, struct vv_error *error)
{
    struct vv_cassandra *store = vv_cassandra_of(base);
    struct vv_store_answer *answer = calloc(1, sizeof *answer);
    enum vv_status status = vv_cassandra_see_own(store, error);
    status = status == VV_OK ? vv_purge_check_read(store, error) : status;
    if (!answer || status != VV_OK) {
        free(answer);
        return status != VV_OK ? vv_cassandra_put_off(status)
                               : vv_error_set(error, VV_NO_MEMORY, "out of memory while reading");
    }
    answer->store = store;
    answer->read = *read;
    answer->view = vv_regions_view(store, read->partition.region);
    answer->begun_ns = monotonic(store);
    answer->answered_ns = answer->begun_ns;
    answer->classes = vv_cassandra_classes_of(store, read->partition.tenant);
    answer->is_late = vv_cassandra_is_late(store, read->partition.tenant);
    vv_invariant(pthread_mutex_init(&answer->lock, NULL) == 0);
    vv_invariant(pthread_cond_init(&answer->complete, NULL) == 0);
    atomic_store(&answer->references, 1);
    *answer_out = answer;
    if (read->span_from >= read->span_to || !answer->view) {
        return VV_OK;
    }
    atomic_fetch_add_explicit(&store->reads, 1, memory_order_relaxed);
    status = vv_parked_collect(store, read, &answer->parked, error);
    if (status == VV_OK) {
        status = ask_rows(answer, error);
    }
    if (status == VV_OK) {
        status = ask_runs(answer, error);
    }
    if (status != VV_OK) {
        release(answer);
    }
    return status;
}

enum vv_status vv_cassandra_wait_answer(struct vv_store_answer *answer, struct vv_error *error)
{
    pthread_mutex_lock(&answer->lock);
    while (answer->left > 0) {
        pthread_cond_wait(&answer->complete, &answer->lock);
    }
    enum vv_status status = answer->status;
    if (status != VV_OK && error) {
        *error = answer->error;
    }
    int64_t duration_ns = answer->answered_ns - answer->begun_ns;
    pthread_mutex_unlock(&answer->lock);
    /* What was known of where to look may not have held for so long (turn.c). */
    if (status == VV_OK && answer->store->lead_ns > 0 && duration_ns > answer->store->lead_ns / 2) {
        return vv_error_set(error, VV_IO, "reading took %lld s: try again",
                            (long long)(duration_ns / VV_SECOND));
    }
    return status;
}

/* The page after `before`, the first one if that is NULL; *page_out is the caller's. */
static enum vv_status ask_one(const struct vv_answer_rows *rows, const struct vvcql_result *before,
                              struct vvcql_result **page_out, struct vv_error *error)
{
    enum vv_status status;
    struct vvcql_statement *statement =
        rows->prepared ? vv_cassandra_question(rows->answer, rows->prepared, rows->from_ms,
                                               rows->page_size, &status, error)
                       : vv_cassandra_rows_question(rows->answer, rows->class, &status, error);
    if (status != VV_OK) {
        vvcql_statement_destroy(statement);
        return status;
    }
    if (before) {
        struct vvcql_bytes state = vvcql_result_paging_state(before);
        vvcql_set_paging_state(statement, state.data, state.size);
    }
    return vv_cassandra_ask(rows->answer->store, &statement, 1, page_out, error);
}

enum vv_status vv_answer_rows_begin(struct vv_answer_rows *rows, struct vvcql_result *first,
                                    struct vv_error *error)
{
    enum vv_status status = VV_OK;
    rows->own = NULL;
    if (first) {
        vvcql_rewind(first);
    } else {
        status = ask_one(rows, NULL, &rows->own, error);
    }
    rows->page = first ? first : rows->own;
    return status == VV_OK ? vv_answer_rows_next(rows, error) : status;
}

enum vv_status vv_answer_rows_next(struct vv_answer_rows *rows, struct vv_error *error)
{
    while (!vvcql_next_row(rows->page)) {
        struct vvcql_result *next;
        if (vvcql_result_paging_state(rows->page).size == 0) {
            vv_answer_rows_end(rows);
            return VV_OK;
        }
        enum vv_status status = ask_one(rows, rows->page, &next, error);
        if (status != VV_OK) {
            return status;
        }
        vv_answer_rows_end(rows);
        rows->page = rows->own = next;
    }
    return VV_OK;
}

void vv_answer_rows_end(struct vv_answer_rows *rows)
{
    vvcql_result_destroy(rows->own);
    rows->own = NULL;
    rows->page = NULL;
}

void vv_cassandra_end_read(struct vv_store_answer *answer)
{
    if (answer) {
        release(answer);
    }
}
