/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replica sets of which too few hosts answer. A set is noted when something fails for a reason that
 * lies with its hosts; from then on nothing is written to it but what delivering tries now and
 * then. A note that nothing renews ends by itself.
 *
 * Nothing is parked before a look has shown that others answer: what readers and transactions note
 * may be of an outage of all, which a write that fails finds out (recover).
 *
 * Timeouts may pass: a set that answers when it is looked at after its first failure is doubted,
 * and gets another try, but when it fails again before a write has succeeded it counts as dead
 * whatever it answers.
 */
#include "store/cassandra/cassandra.h"

#define TRY_NS   (5 * VV_SECOND)  /* what is parked is tried again after so long, */
#define WRITE_NS (40 * VV_SECOND) /* and what is new, when nothing is parked that tells sooner */
#define READ_NS  (5 * VV_SECOND)
#define ASK_MAX  256 /* at once */

void vv_dead_init(struct vv_dead *dead, struct vv_clock *clock, bool is_off)
{
    dead->clock = clock;
    dead->is_off = is_off;
    vv_invariant(pthread_mutex_init(&dead->lock, NULL) == 0);
}

void vv_dead_deinit(struct vv_dead *dead)
{
    pthread_mutex_destroy(&dead->lock);
}

/* ---- the list, with its lock ---- */

static struct vv_dead_set *find(struct vv_dead *dead, uint64_t set)
{
    for (uint32_t i = 0; i < dead->n; i++) {
        if (dead->sets[i].set == set) {
            return &dead->sets[i];
        }
    }
    return NULL;
}

static void forget(struct vv_dead *dead, struct vv_dead_set *one)
{
    *one = dead->sets[dead->n - 1];
    dead->n--;
    dead->is_partial &= dead->n > 0;
}

/* In a full list the one that failed longest ago makes room. */
static struct vv_dead_set *add(struct vv_dead *dead, uint64_t set)
{
    if (dead->n == VV_DEAD_MAX) {
        struct vv_dead_set *oldest = &dead->sets[0];
        for (uint32_t i = 1; i < dead->n; i++) {
            oldest = dead->sets[i].failed_at_ns < oldest->failed_at_ns ? &dead->sets[i] : oldest;
        }
        forget(dead, oldest);
    }
    struct vv_dead_set *one = &dead->sets[dead->n];
    *one = (struct vv_dead_set){.set = set};
    dead->n++;
    return one;
}

static int64_t age_of(const struct vv_dead *dead, const struct vv_dead_set *one)
{
    return dead->clock->monotonic_ns(dead->clock) - one->failed_at_ns;
}

static bool is_over(const struct vv_dead *dead, const struct vv_dead_set *one)
{
    return age_of(dead, one) >= (one->is_for_writers ? WRITE_NS : READ_NS);
}

/* ---- noting ---- */

/* Whether the hosts of the set are why it failed; *certain_out: they are known to be away. */
static bool is_of_hosts(const struct vvcql_error *error, bool *certain_out)
{
    *certain_out = error->code == VVCQL_CODE_UNAVAILABLE;
    if (error->status == VVCQL_TIMEOUT) {
        return true;
    }
    switch (error->status == VVCQL_SERVER ? error->code : VVCQL_CODE_NONE) {
    case VVCQL_CODE_UNAVAILABLE:
    case VVCQL_CODE_WRITE_TIMEOUT:
    case VVCQL_CODE_WRITE_FAILURE:
    case VVCQL_CODE_CAS_WRITE_UNKNOWN:
    case VVCQL_CODE_READ_TIMEOUT:
    case VVCQL_CODE_READ_FAILURE:
        return true;
    default:
        return false;
    }
}

bool vv_dead_note(struct vv_dead *dead, const struct vvcql_error *error, enum vv_dead_by by)
{
    bool is_certain;
    if (dead->is_off || error->replicas == 0 || !is_of_hosts(error, &is_certain)) {
        return false;
    }
    if (by == VV_DEAD_BY_TRANSACTION && !is_certain) {
        return true;
    }
    pthread_mutex_lock(&dead->lock);
    struct vv_dead_set *one = find(dead, error->replicas);
    one = one ? one : add(dead, error->replicas);
    one->failed_at_ns = dead->clock->monotonic_ns(dead->clock);
    one->is_doubted = false;
    if (by == VV_DEAD_BY_WRITE || by == VV_DEAD_BY_LOOKING || is_certain) {
        one->rounds += one->rounds == 0 || one->round != dead->round;
        one->round = dead->round;
        one->is_for_writers = true;
    }
    pthread_mutex_unlock(&dead->lock);
    return true;
}

void vv_dead_alive(struct vv_dead *dead, uint64_t set, enum vv_dead_by by)
{
    pthread_mutex_lock(&dead->lock);
    struct vv_dead_set *one = find(dead, set);
    if (one && by != VV_DEAD_BY_LOOKING && (by == VV_DEAD_BY_WRITE || !one->is_for_writers)) {
        forget(dead, one);
    }
    pthread_mutex_unlock(&dead->lock);
}

void vv_dead_doubt(struct vv_dead *dead, uint64_t set)
{
    pthread_mutex_lock(&dead->lock);
    struct vv_dead_set *one = find(dead, set);
    if (one && one->rounds <= 1) {
        one->is_doubted = true;
    }
    pthread_mutex_unlock(&dead->lock);
}

void vv_dead_next_round(struct vv_dead *dead)
{
    pthread_mutex_lock(&dead->lock);
    dead->round++;
    dead->is_partial = dead->n > 0;
    pthread_mutex_unlock(&dead->lock);
}

void vv_dead_clear(struct vv_dead *dead)
{
    pthread_mutex_lock(&dead->lock);
    dead->n = 0;
    dead->is_partial = false;
    pthread_mutex_unlock(&dead->lock);
}

/* ---- asking the list ---- */

bool vv_dead_is(struct vv_dead *dead, uint64_t set, enum vv_dead_by by)
{
    pthread_mutex_lock(&dead->lock);
    struct vv_dead_set *one = set != 0 ? find(dead, set) : NULL;
    bool is = one && !one->is_doubted &&
              (by == VV_DEAD_BY_READ || (one->is_for_writers && dead->is_partial));
    if (one && is_over(dead, one)) {
        forget(dead, one);
        is = false;
    }
    pthread_mutex_unlock(&dead->lock);
    return is;
}

bool vv_dead_is_due(struct vv_dead *dead, uint64_t set)
{
    pthread_mutex_lock(&dead->lock);
    const struct vv_dead_set *one = set != 0 ? find(dead, set) : NULL;
    bool is = !one || one->is_doubted || age_of(dead, one) >= TRY_NS;
    pthread_mutex_unlock(&dead->lock);
    return is;
}

bool vv_cassandra_is_away(struct vv_cassandra *store, const struct vvcql_statement *statement,
                          enum vv_dead_by by)
{
    return vv_dead_any(&store->dead) &&
           vv_dead_is(&store->dead, vvcql_statement_replicas(store->session, statement), by);
}

/* ---- several requests, each for itself ---- */

struct asking {
    struct vv_cassandra *store;
    enum vv_dead_by by;
    pthread_mutex_t lock;
    pthread_cond_t answered;
    size_t left;
    enum vv_status status; /* the first failure that says nothing of its set */
    struct vv_error *error;
};

struct question {
    struct asking *asking;
    uint64_t set; /* 0: nothing is noted */
    struct vvcql_result *result;
    enum vv_status status;
};

static void note_success(const struct question *question)
{
    if (question->set != 0) {
        vv_dead_alive(&question->asking->store->dead, question->set, question->asking->by);
    }
}

/* In the session's thread. */
static void answer(void *context, struct vvcql_result *take_result, const struct vvcql_error *error)
{
    struct question *question = context;
    struct asking *asking = question->asking;
    bool is_noted = error && vv_dead_note(&asking->store->dead, error, asking->by);
    if (!error) {
        note_success(question);
    }
    pthread_mutex_lock(&asking->lock);
    question->result = take_result;
    question->status = error ? VV_IO : VV_OK;
    if (error && !is_noted && asking->status == VV_OK) {
        asking->status = vv_cassandra_status(error, "asking", asking->error);
    }
    asking->left--;
    pthread_cond_signal(&asking->answered);
    pthread_mutex_unlock(&asking->lock);
}

static void ask_some(struct asking *asking, struct vvcql_statement *const *take_statements,
                     size_t n, struct question *questions)
{
    struct vv_cassandra *store = asking->store;
    asking->left = n;
    for (size_t i = 0; i < n; i++) {
        questions[i] = (struct question){.asking = asking};
        if (vv_dead_any(&store->dead)) {
            questions[i].set = vvcql_statement_replicas(store->session, take_statements[i]);
        }
        vvcql_execute(store->session, take_statements[i], answer, &questions[i]);
    }
    pthread_mutex_lock(&asking->lock);
    while (asking->left > 0) {
        pthread_cond_wait(&asking->answered, &asking->lock);
    }
    pthread_mutex_unlock(&asking->lock);
}

enum vv_status vv_cassandra_ask_each(struct vv_cassandra *store, enum vv_dead_by by,
                                     struct vvcql_statement *const *take_statements, size_t n,
                                     struct vvcql_result **results_out,
                                     enum vv_status *statuses_out, struct vv_error *error)
{
    struct question questions[ASK_MAX];
    struct asking asking = {.store = store, .by = by, .status = VV_OK, .error = error};
    vv_invariant(pthread_mutex_init(&asking.lock, NULL) == 0);
    vv_invariant(pthread_cond_init(&asking.answered, NULL) == 0);
    for (size_t at = 0; at < n; at += ASK_MAX) {
        size_t some = n - at < ASK_MAX ? n - at : ASK_MAX;
        ask_some(&asking, take_statements + at, some, questions);
        for (size_t i = 0; i < some; i++) {
            statuses_out[at + i] = questions[i].status;
            if (results_out) {
                results_out[at + i] = questions[i].result;
            } else {
                vvcql_result_destroy(questions[i].result);
            }
        }
    }
    pthread_cond_destroy(&asking.answered);
    pthread_mutex_destroy(&asking.lock);
    for (size_t i = 0; i < n && results_out && asking.status != VV_OK; i++) {
        vvcql_result_destroy(results_out[i]);
        results_out[i] = NULL;
    }
    return asking.status;
}

/* ---- looking ---- */

static struct vvcql_statement *probe_statement(const struct vv_cassandra *store, uint32_t shard)
{
    struct vvcql_statement *statement = vvcql_statement_prepared(store->shared.read_seal);
    vv_cassandra_add_str(statement, vv_str_of(store->shared.region));
    vvcql_add_int(statement, (int32_t)shard);
    vvcql_set_idempotent(statement, true);
    return statement;
}

/* One small partition of each shard: their tokens lie all over the ring. */
enum vv_status vv_cassandra_probe(struct vv_cassandra *store, struct vv_error *error)
{
    struct vvcql_statement *statements[VV_CASSANDRA_SHARDS] = {NULL};
    enum vv_status statuses[VV_CASSANDRA_SHARDS];
    uint64_t sets[VV_CASSANDRA_SHARDS];
    size_t answered = 0;
    for (uint32_t i = 0; i < VV_CASSANDRA_SHARDS; i++) {
        statements[i] = probe_statement(store, i);
        sets[i] = vvcql_statement_replicas(store->session, statements[i]);
    }
    enum vv_status status = vv_cassandra_ask_each(store, VV_DEAD_BY_LOOKING, statements,
                                                  VV_CASSANDRA_SHARDS, NULL, statuses, error);
    for (size_t i = 0; i < VV_CASSANDRA_SHARDS; i++) {
        answered += statuses[i] == VV_OK;
        if (statuses[i] == VV_OK) {
            vv_dead_doubt(&store->dead, sets[i]);
        }
    }
    if (answered > 0) {
        vv_dead_next_round(&store->dead);
        return VV_OK;
    }
    vv_dead_clear(&store->dead);
    return status == VV_OK ? vv_error_set(error, VV_IO, "too few hosts of Cassandra answer")
                           : status;
}
