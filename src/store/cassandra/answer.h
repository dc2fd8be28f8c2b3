/* SPDX-License-Identifier: Apache-2.0 */
/* A read under way. Private to answer.c and what visits answers. */
#ifndef VV_STORE_CASSANDRA_ANSWER_H
#define VV_STORE_CASSANDRA_ANSWER_H

#include "store/cassandra/rows.h"

#define VV_CASSANDRA_RUNS_OF_A_PAGE   512
#define VV_CASSANDRA_BLOCKS_OF_A_PAGE 64

struct vv_question {
    struct vv_store_answer *answer;
    struct vvcql_result **page_out;
};

/* The reader holds one reference, each question that is not answered another. */
struct vv_store_answer {
    struct vv_cassandra *store;
    const struct vv_region_view *view; /* NULL: nothing is read */
    struct vv_store_read read;
    struct vv_tenant_classes classes;
    bool is_late; /* of a space of late points */
    _Atomic uint32_t references;
    pthread_mutex_t lock;
    pthread_cond_t complete;
    uint32_t left;       /* questions that are not answered */
    int64_t begun_ns;    /* monotonic */
    int64_t answered_ns; /* the same: the last question */
    enum vv_status status;
    struct vv_error error;
    /* First pages; NULL where nothing was asked. */
    struct vvcql_result *runs;
    struct vvcql_result *blocks[VV_CASSANDRA_CLASSES_MAX + 1][2]; /* by table */
    struct vvcql_result *rows[VV_CASSANDRA_CLASSES_MAX + 1];
    struct vv_rows_kept kept; /* what the rows are, once they were visited */
    struct vv_parked_runs parked;
    struct vv_question questions[1 + 3 * (VV_CASSANDRA_CLASSES_MAX + 1)];
    uint32_t n_questions;
};

/* Rounded up: spans start at whole ms. */
int64_t vv_cassandra_ms_from(int64_t time_ns);
/* The answer's read as values of a statement; *status_out as vv_cassandra_add_partition. */
struct vvcql_statement *vv_cassandra_question(const struct vv_store_answer *answer,
                                              const struct vvcql_prepared *prepared,
                                              int64_t from_ms, int32_t page_size,
                                              enum vv_status *status_out, struct vv_error *error);
/* What asks for the blocks of a class (an index) in one of its tables. */
const struct vvcql_prepared *vv_cassandra_read_blocks(const struct vv_store_answer *answer,
                                                      uint8_t class, uint32_t table);
/* What asks for the runs. */
const struct vvcql_prepared *vv_cassandra_read_runs(const struct vv_store_answer *answer);
/* Until all first pages are there; the failure of any. */
VV_MUST_CHECK enum vv_status vv_cassandra_wait_answer(struct vv_store_answer *answer,
                                                      struct vv_error *error);
/* The rows that a question of the answer gives, page after page. The first five are given. */
struct vv_answer_rows {
    const struct vv_store_answer *answer;
    uint8_t class;                         /* an index: whose values are asked for, or */
    const struct vvcql_prepared *prepared; /* runs or blocks: not NULL */
    int64_t from_ms;                       /* of runs or blocks */
    int32_t page_size;                     /* the same */
    struct vvcql_result *page; /* stands at the row that comes next; NULL: there is none */
    struct vvcql_result *own;  /* the same, unless it is the answer's; NULL then */
};

/* The first page is the answer's, which it must keep; NULL: it is to be asked for. To be ended
 * after a failure, too. */
VV_MUST_CHECK enum vv_status vv_answer_rows_begin(struct vv_answer_rows *rows,
                                                  struct vvcql_result *first,
                                                  struct vv_error *error);
/* Past the row at which the page stands; that row's bytes are gone then. */
VV_MUST_CHECK enum vv_status vv_answer_rows_next(struct vv_answer_rows *rows,
                                                 struct vv_error *error);
void vv_answer_rows_end(struct vv_answer_rows *rows);

#endif
