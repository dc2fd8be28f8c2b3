/* SPDX-License-Identifier: Apache-2.0 */
/* The clusters that there are, their clients, and requests: carried out, tried again, answered. */
#include "simulation/cassandra/requests.h"

#include "cql/policy.h"
#include "cql/prepared.h"
#include "cql/responses.h"
#include "cql/statement_private.h"
#include "simulation/sim_memory.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

struct cass_request {
    struct cass_request *next;
    struct cass_client *client;
    struct vvcql_statement *statement;
    vvcql_done done;
    void *context;
    bool is_sent; /* before its client was cut off */
};

static struct {
    pthread_mutex_t lock;
    struct vv_sim_cassandra *first;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Atomic size_t n_waiting;
static _Atomic size_t n_alone;

/* ---- clusters ---- */

static void lock(struct vv_sim_cassandra *cassandra)
{
    pthread_mutex_lock(&cassandra->lock);
}

static void unlock(struct vv_sim_cassandra *cassandra)
{
    pthread_mutex_unlock(&cassandra->lock);
}

struct vv_sim_cassandra *vv_sim_cassandra_create(const char *name, uint64_t seed,
                                                 struct vv_clock *clock)
{
    struct vv_sim_cassandra *cassandra = vv_sim_calloc(1, sizeof *cassandra);
    snprintf(cassandra->name, sizeof cassandra->name, "%s", name);
    cassandra->clock = clock;
    cassandra->random.state = seed;
    cassandra->unavailable_from = 1;
    vv_invariant(pthread_mutex_init(&cassandra->lock, NULL) == 0);
    cass_tables_init(cassandra);
    pthread_mutex_lock(&all.lock);
    cassandra->next = all.first;
    all.first = cassandra;
    pthread_mutex_unlock(&all.lock);
    return cassandra;
}

void vv_sim_cassandra_destroy(struct vv_sim_cassandra *cassandra)
{
    vv_invariant(cassandra->sessions == 0 && !cassandra->requests);
    vv_sim_cassandra_set_alone(cassandra, false);
    pthread_mutex_lock(&all.lock);
    struct vv_sim_cassandra **link = &all.first;
    while (*link != cassandra) {
        link = &(*link)->next;
    }
    *link = cassandra->next;
    pthread_mutex_unlock(&all.lock);
    cass_pending_clear(&cassandra->hints);
    cass_pending_clear(&cassandra->open);
    cass_tables_deinit(cassandra);
    for (size_t i = 0; i < CASS_TEXTS; i++) {
        cass_ast_destroy(cassandra->texts[i]);
    }
    pthread_mutex_destroy(&cassandra->lock);
    free(cassandra);
}

void vv_sim_cassandra_set_faults(struct vv_sim_cassandra *cassandra,
                                 const struct vv_sim_cassandra_faults *faults)
{
    lock(cassandra);
    cassandra->faults = faults ? *faults : (struct vv_sim_cassandra_faults){0};
    uint64_t reach = (uint64_t)cassandra->faults.skew_ns;
    for (size_t i = 0; i < CASS_REPLICAS && reach > 0; i++) {
        cassandra->skews_ns[i] =
            (int64_t)vv_random_below(&cassandra->random, 2 * reach + 1) - (int64_t)reach;
    }
    unlock(cassandra);
}

void vv_sim_cassandra_set_unavailable(struct vv_sim_cassandra *cassandra, int64_t from, int64_t to)
{
    lock(cassandra);
    cassandra->unavailable_from = from;
    cassandra->unavailable_to = to;
    unlock(cassandra);
}

void vv_sim_cassandra_set_away(struct vv_sim_cassandra *cassandra, uint32_t sets)
{
    lock(cassandra);
    cassandra->sets_away = sets;
    unlock(cassandra);
}

void vv_sim_cassandra_settle(struct vv_sim_cassandra *cassandra)
{
    lock(cassandra);
    while (cassandra->hints.n > 0) {
        cass_deliver_hint(cassandra, vv_random_below(&cassandra->random, cassandra->hints.n));
    }
    unlock(cassandra);
}

void vv_sim_cassandra_set_deferred(struct vv_sim_cassandra *cassandra, bool deferred)
{
    lock(cassandra);
    cassandra->deferred = deferred;
    unlock(cassandra);
}

void vv_sim_cassandra_set_alone(struct vv_sim_cassandra *cassandra, bool alone)
{
    lock(cassandra);
    if (alone != cassandra->alone) {
        atomic_fetch_add(&n_alone, alone ? 1 : SIZE_MAX);
    }
    cassandra->alone = alone;
    unlock(cassandra);
}

static void set_cut(struct vv_sim_cassandra *cassandra, uint32_t client, bool cut)
{
    vv_invariant(client < VV_SIM_CASSANDRA_CLIENTS);
    lock(cassandra);
    cassandra->is_cut[client] = cut;
    unlock(cassandra);
}

void vv_sim_cassandra_cut(struct vv_sim_cassandra *cassandra, uint32_t client)
{
    set_cut(cassandra, client, true);
}

void vv_sim_cassandra_join(struct vv_sim_cassandra *cassandra, uint32_t client)
{
    set_cut(cassandra, client, false);
}

bool vv_sim_cassandra_is_cut(struct vv_sim_cassandra *cassandra, uint32_t client)
{
    lock(cassandra);
    bool cut = cassandra->is_cut[client];
    unlock(cassandra);
    return cut;
}

void vv_sim_cassandra_set_hook(struct vv_sim_cassandra *cassandra, vv_sim_cassandra_hook hook,
                               void *context)
{
    cassandra->hook = hook;
    cassandra->hook_context = context;
}

static uint64_t count_cells(const struct vv_sim_cassandra *cassandra)
{
    uint64_t cells = 0;
    for (const struct cass_table *table = cassandra->tables; table; table = table->next) {
        for (uint32_t r = 0; r < CASS_REPLICAS; r++) {
            for (size_t i = 0; i < table->replicas[r].n; i++) {
                cells += table->replicas[r].items[i]->n_rows * (1 + table->n_regular);
            }
        }
    }
    return cells;
}

void vv_sim_cassandra_read_figures(struct vv_sim_cassandra *cassandra,
                                   struct vv_sim_cassandra_figures *figures_out)
{
    lock(cassandra);
    *figures_out = cassandra->figures;
    figures_out->cells = count_cells(cassandra);
    unlock(cassandra);
}

/* ---- answers ---- */

static void tell_failure(struct cass_request *request, const struct vvcql_error *error)
{
    request->done(request->context, NULL, error);
}

static void tell(struct cass_request *request, struct cass_outcome *outcome)
{
    struct vvcql_result *result = NULL;
    vv_invariant(!outcome->body.failed);
    if (outcome->error.status == VVCQL_OK) {
        struct vvcql_frame frame = {.opcode = VVCQL_OP_RESULT,
                                    .body = {outcome->body.data, outcome->body.size}};
        struct vvcql_error error;
        if (vvcql_result_create(&frame, "model:9042", &result, &error) != VVCQL_OK) {
            outcome->error = error;
        }
    }
    if (result) {
        request->done(request->context, result, NULL);
    } else {
        tell_failure(request, &outcome->error);
    }
}

static bool may_change(const struct vvcql_statement *statement)
{
    struct vv_str text = {(const char *)statement->text.data, statement->text.size};
    if (statement->kind == VVCQL_KIND_EXECUTE) {
        text = vv_str_of(statement->prepared->text);
    }
    return statement->kind == VVCQL_KIND_BATCH || text.size < 6 ||
           memcmp(text.data, "SELECT", 6) != 0;
}

static void lose(struct cass_request *request, struct cass_outcome *outcome)
{
    vvcql_buffer_clear(&outcome->body);
    vvcql_error_set(&outcome->error, VVCQL_LOST, "the connection ended before the answer");
    outcome->error.outcome_unknown = may_change(request->statement);
}

/* ---- carrying out ---- */

static void call_hook(struct cass_client *client)
{
    struct vv_sim_cassandra *cassandra = client->cassandra;
    if (cassandra->hook) {
        cassandra->hook(cassandra->hook_context, client->number);
    }
}

/* One attempt, with the lock. */
static void attempt(struct cass_request *request, struct cass_outcome *outcome)
{
    struct vv_sim_cassandra *cassandra = request->client->cassandra;
    const struct vvcql_statement *statement = request->statement;
    vvcql_buffer_clear(&outcome->body);
    outcome->error = (struct vvcql_error){.status = VVCQL_OK, .code = VVCQL_CODE_NONE};
    cass_coordinate(cassandra, statement,
                    statement->has_consistency ? statement->consistency
                                               : request->client->consistency,
                    outcome);
    if (cass_happens(cassandra, cassandra->faults.connection_lost)) {
        lose(request, outcome);
    }
}

/* As lib/cql tries again, with its own rules. */
static void attempt_again(struct cass_request *request, struct cass_outcome *outcome)
{
    struct vvcql_attempt so_far = {
        .is_idempotent = request->statement->is_idempotent,
        .is_conditional = request->statement->has_serial_consistency,
        .was_sent = true,
        .retries_max = request->client->retries_max,
    };
    attempt(request, outcome);
    while (outcome->error.status != VVCQL_OK && so_far.retries < so_far.retries_max &&
           vvcql_retry_after(&so_far, &outcome->error) != VVCQL_RETRY_NO) {
        so_far.retries++;
        attempt(request, outcome);
    }
}

static void carry_out(struct cass_request *request)
{
    struct cass_client *client = request->client;
    struct vv_sim_cassandra *cassandra = client->cassandra;
    struct cass_outcome outcome = {.error = {.status = VVCQL_OK}};
    uint64_t paused = vv_sim_memory_pause(); /* memory that fails is the store's, not Cassandra's */
    call_hook(client);
    lock(cassandra);
    bool was_cut = cassandra->is_cut[client->number];
    if (!was_cut || (request->is_sent && vv_random_below(&cassandra->random, 2) == 0)) {
        attempt_again(request, &outcome);
    }
    unlock(cassandra);
    if (!was_cut) {
        call_hook(client);
    }
    (void)sched_yield(); /* threads that ask without a pause leave none to others otherwise */
    lock(cassandra);
    cassandra->figures.requests++;
    if (!request->is_sent) {
        vvcql_error_set(&outcome.error, VVCQL_UNREACHABLE, "no host is connected");
    } else if (cassandra->is_cut[client->number]) {
        lose(request, &outcome);
    }
    cassandra->figures.failures += outcome.error.status != VVCQL_OK;
    outcome.error.replicas =
        outcome.error.status != VVCQL_OK ? cass_replica_set(cassandra, request->statement) : 0;
    unlock(cassandra);
    tell(request, &outcome);
    vvcql_buffer_deinit(&outcome.body);
    vvcql_statement_destroy(request->statement);
    free(request);
    vv_sim_memory_resume(paused);
}

/* ---- requests that wait ---- */

bool cass_has_requests(void)
{
    return atomic_load(&n_waiting) > 0;
}

bool cass_is_alone(void)
{
    return atomic_load(&n_alone) > 0;
}

/* Takes the i-th out of the queue, of this client's only unless it is NULL; NULL when there are
 * fewer. With the lock. */
static struct cass_request *take(struct vv_sim_cassandra *cassandra,
                                 const struct cass_client *client, uint64_t i)
{
    struct cass_request **link = &cassandra->requests;
    while (*link && ((client && (*link)->client != client) || i-- > 0)) {
        link = &(*link)->next;
    }
    struct cass_request *request = *link;
    if (request) {
        *link = request->next;
        cassandra->n_requests--;
        atomic_fetch_sub(&n_waiting, 1);
    }
    return request;
}

void cass_carry_out_any(void)
{
    struct cass_request *request = NULL;
    pthread_mutex_lock(&all.lock);
    for (struct vv_sim_cassandra *one = all.first; one && !request; one = one->next) {
        lock(one);
        if (one->n_requests > 0) {
            request = take(one, NULL, vv_random_below(&one->random, one->n_requests));
        }
        unlock(one);
    }
    pthread_mutex_unlock(&all.lock);
    if (request) {
        carry_out(request);
    }
}

/* ---- clients ---- */

bool cass_client_open(struct cass_client *client, const char *contact_point)
{
    size_t size = strcspn(contact_point, "/");
    pthread_mutex_lock(&all.lock);
    struct vv_sim_cassandra *cassandra = all.first;
    while (cassandra &&
           (strlen(cassandra->name) != size || memcmp(cassandra->name, contact_point, size) != 0)) {
        cassandra = cassandra->next;
    }
    pthread_mutex_unlock(&all.lock);
    client->cassandra = cassandra;
    client->number =
        contact_point[size] == '/' ? (uint32_t)strtoul(contact_point + size + 1, NULL, 10) : 0;
    vv_invariant(client->number < VV_SIM_CASSANDRA_CLIENTS);
    if (!cassandra) {
        return false;
    }
    lock(cassandra);
    bool is_cut = cassandra->is_cut[client->number];
    cassandra->sessions++;
    unlock(cassandra);
    return !is_cut;
}

static void close_one(struct cass_request *request)
{
    struct vv_sim_cassandra *cassandra = request->client->cassandra;
    struct cass_outcome outcome = {.error = {.status = VVCQL_OK}};
    struct vvcql_error error = {.code = VVCQL_CODE_NONE};
    uint64_t paused = vv_sim_memory_pause();
    lock(cassandra);
    if (request->is_sent && vv_random_below(&cassandra->random, 2) == 0) {
        attempt(request, &outcome);
    }
    unlock(cassandra);
    vvcql_error_set(&error, VVCQL_CLOSED, "the session is closing");
    error.outcome_unknown = request->is_sent && may_change(request->statement);
    tell_failure(request, &error);
    vvcql_buffer_deinit(&outcome.body);
    vvcql_statement_destroy(request->statement);
    free(request);
    vv_sim_memory_resume(paused);
}

void cass_client_close(struct cass_client *client)
{
    struct vv_sim_cassandra *cassandra = client->cassandra;
    struct cass_request *request = NULL;
    if (!cassandra) {
        return;
    }
    do {
        lock(cassandra);
        request = take(cassandra, client, 0);
        unlock(cassandra);
        if (request) {
            close_one(request);
        }
    } while (request);
    lock(cassandra);
    cassandra->sessions--;
    unlock(cassandra);
}

static void refuse(vvcql_done done, void *context)
{
    struct vvcql_error error = {.code = VVCQL_CODE_NONE};
    vvcql_error_set(&error, VVCQL_UNREACHABLE, "no host is connected");
    done(context, NULL, &error);
}

void cass_client_ask(struct cass_client *client, struct vvcql_statement *take_statement,
                     vvcql_done done, void *context)
{
    struct vv_sim_cassandra *cassandra = client->cassandra;
    if (!cassandra) {
        vvcql_statement_destroy(take_statement);
        refuse(done, context);
        return;
    }
    struct cass_request *request = vv_sim_malloc(sizeof *request);
    *request = (struct cass_request){NULL, client, take_statement, done, context, false};
    lock(cassandra);
    request->is_sent = !cassandra->is_cut[client->number];
    bool deferred = cassandra->deferred;
    if (deferred) {
        struct cass_request **link = &cassandra->requests;
        while (*link) {
            link = &(*link)->next;
        }
        *link = request;
        cassandra->n_requests++;
        atomic_fetch_add(&n_waiting, 1);
    }
    unlock(cassandra);
    if (!deferred) {
        carry_out(request);
    }
}
