/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans: a lightweight transaction for each, by the time from which it holds. Who asked first has
 * chosen; where the answer is lost, or somebody was faster, the row tells.
 */
#include "store/cassandra/cassandra.h"

static enum vv_status add_source(struct vv_cassandra *store, struct vvcql_statement *statement,
                                 const struct vv_first_plan *wish, struct vv_error *error)
{
    vv_cassandra_add_str(statement, vv_str_of(store->shared.region));
    return vv_cassandra_add_source(store, statement, wish->tenant, wish->source, error);
}

static enum vv_status add_key(struct vv_cassandra *store, struct vvcql_statement *statement,
                              const struct vv_first_plan *wish, struct vv_error *error)
{
    enum vv_status status = add_source(store, statement, wish, error);
    vvcql_add_bigint(statement, wish->plan.from_ns);
    return status;
}

static struct vvcql_statement *put_statement(struct vv_cassandra *store,
                                             const struct vv_first_plan *wish,
                                             enum vv_status *status_out, struct vv_error *error)
{
    struct vvcql_statement *statement = vvcql_statement_prepared(store->shared.put_plan);
    *status_out = add_key(store, statement, wish, error);
    vvcql_add_bigint(statement, wish->plan.bucket_ns);
    vvcql_add_bigint(statement, wish->plan.span_ns);
    vvcql_add_int(statement, wish->plan.splits);
    vvcql_add_int(statement, wish->plan.share_bits);
    vvcql_set_serial_consistency(statement, VVCQL_LOCAL_SERIAL);
    return statement;
}

/* With what stands in progress finished first. */
static struct vvcql_statement *read_statement(struct vv_cassandra *store,
                                              const struct vv_first_plan *wish,
                                              enum vv_status *status_out, struct vv_error *error)
{
    struct vvcql_statement *statement = vvcql_statement_prepared(store->shared.read_plan);
    *status_out = add_key(store, statement, wish, error);
    vvcql_set_consistency(statement, VVCQL_LOCAL_SERIAL);
    vvcql_set_idempotent(statement, true);
    return statement;
}

/* All of the source, likewise. */
static struct vvcql_statement *read_all_statement(struct vv_cassandra *store,
                                                  const struct vv_first_plan *wish,
                                                  enum vv_status *status_out,
                                                  struct vv_error *error)
{
    struct vvcql_statement *statement = vvcql_statement_prepared(store->shared.read_plans);
    *status_out = add_source(store, statement, wish, error);
    vvcql_set_consistency(statement, VVCQL_LOCAL_SERIAL);
    vvcql_set_idempotent(statement, true);
    return statement;
}

typedef struct vvcql_statement *(*make_statement)(struct vv_cassandra *store,
                                                  const struct vv_first_plan *wish,
                                                  enum vv_status *status_out,
                                                  struct vv_error *error);

/* Some plans, by their indexes in `plans`. */
struct asked {
    struct vv_first_plan *plans;
    size_t indexes[VV_PLANS_AT_ONCE];
    size_t n;
};

static enum vv_status ask_all(struct vv_cassandra *store, const struct asked *asked,
                              enum vv_dead_by by, make_statement make,
                              struct vvcql_result **results_out, enum vv_status *statuses_out,
                              struct vv_error *error)
{
    struct vvcql_statement *statements[VV_PLANS_AT_ONCE] = {NULL};
    enum vv_status status = VV_OK;
    size_t made = 0;
    while (made < asked->n && status == VV_OK) {
        statements[made] = make(store, &asked->plans[asked->indexes[made]], &status, error);
        made++;
    }
    if (status == VV_OK) {
        return vv_cassandra_ask_each(store, by, statements, made, results_out, statuses_out, error);
    }
    for (size_t i = 0; i < made; i++) {
        vvcql_statement_destroy(statements[i]);
    }
    return status;
}

/* From two columns; who wrote before there was a second one shared nothing. */
static bool read_division(struct vvcql_result *row, size_t column, struct vv_plan *plan_out)
{
    int32_t splits = 0;
    int32_t share_bits = 0;
    (void)vvcql_get_int(row, column, &splits);
    (void)vvcql_get_int(row, column + 1, &share_bits);
    return splits > 0 && splits <= VV_SPLITS_MAX && share_bits >= 0 &&
           share_bits <= VV_SHARE_BITS_MAX &&
           vv_plan_divide(plan_out, (uint64_t)splits | (uint64_t)share_bits << 8);
}

static enum vv_status read_plan(struct vv_cassandra *store, struct vvcql_result *row,
                                struct vv_first_plan *plan, struct vv_error *error)
{
    struct vv_plan found = {.from_ns = plan->plan.from_ns};
    if (!vvcql_next_row(row)) {
        return vv_error_set(error, VV_IO, "Cassandra does not say which plan a source has");
    }
    bool whole = vvcql_get_bigint(row, 0, &found.bucket_ns) &&
                 vvcql_get_bigint(row, 1, &found.span_ns) && read_division(row, 2, &found);
    if (!whole || vv_plan_check(&found, NULL) != VV_OK) {
        return vv_error_set(error, VV_CORRUPT,
                            "a plan of source %.*s of tenant %.*s in "
                            "%s.plans is not one",
                            VV_STR_ARG(store->names.source(store->names.context, plan->source)),
                            VV_STR_ARG(vv_cassandra_tenant(store, plan->tenant)), store->keyspace);
    }
    plan->plan = found;
    return VV_OK;
}

/* Leaves those in the list whose plan is not this node's own yet. */
static enum vv_status put_plans(struct vv_cassandra *store, struct asked *asked)
{
    struct vvcql_result *results[VV_PLANS_AT_ONCE];
    enum vv_status statuses[VV_PLANS_AT_ONCE];
    size_t left = 0;
    enum vv_status status =
        ask_all(store, asked, VV_DEAD_BY_TRANSACTION, put_statement, results, statuses, NULL);
    if (status != VV_OK) {
        return VV_OK; /* they are read */
    }
    for (size_t i = 0; i < asked->n; i++) {
        bool applied = false;
        bool is_ours = statuses[i] == VV_OK && vvcql_next_row(results[i]) &&
                       vvcql_get_boolean(results[i], 0, &applied) && applied;
        vvcql_result_destroy(statuses[i] == VV_OK ? results[i] : NULL);
        if (!is_ours) {
            asked->indexes[left++] = asked->indexes[i];
        }
    }
    asked->n = left;
    return VV_OK;
}

/* What was tentative before stays so: nothing that is new waits for it. */
static enum vv_status not_read(struct vv_cassandra *store, struct vv_first_plan *plan,
                               struct vv_error *error)
{
    plan->is_tentative = vv_parking_is_tentative(&store->parking, plan->tenant, plan->source);
    return plan->is_tentative
               ? VV_OK
               : vv_error_set(error, VV_IO, "too few hosts answer for the plan of a source");
}

static enum vv_status read_plans(struct vv_cassandra *store, const struct asked *asked,
                                 struct vv_error *error)
{
    struct vvcql_result *results[VV_PLANS_AT_ONCE];
    enum vv_status statuses[VV_PLANS_AT_ONCE];
    enum vv_status all =
        ask_all(store, asked, VV_DEAD_BY_WRITE, read_statement, results, statuses, error);
    enum vv_status status = all;
    for (size_t i = 0; i < asked->n && all == VV_OK; i++) {
        if (status == VV_OK && statuses[i] == VV_OK) {
            status = read_plan(store, results[i], &asked->plans[asked->indexes[i]], error);
        } else if (status == VV_OK) {
            status = not_read(store, &asked->plans[asked->indexes[i]], error);
        }
        vvcql_result_destroy(statuses[i] == VV_OK ? results[i] : NULL);
    }
    return status;
}

/* A change waits, also where it could be agreed on but not be told: from the time on that it has,
 * others would place points without it. What fails first is a write that says nothing. */
static enum vv_status check_change(struct vv_cassandra *store, struct vv_first_plan *plan,
                                   struct vv_error *error)
{
    if (plan->is_tentative || vv_told_is_away(store) ||
        vv_told_source_is_away(store, plan->tenant, plan->source)) {
        plan->is_tentative = false;
        return vv_error_set(error, VV_OVERLOAD,
                            "too few hosts answer for the plans of this source, or for what "
                            "other nodes are told of them: try again later");
    }
    return vv_told_try(store, error);
}

/* A plan that nobody can be asked for, as its set is known to be away, is this node's own until it
 * can; nothing that follows it leaves this node before. */
static enum vv_status choose(struct vv_cassandra *store, struct asked *asked, size_t index,
                             struct vv_error *error)
{
    struct vv_first_plan *plan = &asked->plans[index];
    enum vv_status status = VV_OK;
    plan->is_tentative = false;
    if (vv_dead_any(&store->dead)) {
        struct vvcql_statement *statement = put_statement(store, plan, &status, error);
        plan->is_tentative =
            status == VV_OK && vv_cassandra_is_away(store, statement, VV_DEAD_BY_WRITE);
        vvcql_statement_destroy(statement);
    }
    if (status == VV_OK && plan->plan.from_ns != VV_TIME_MIN) {
        status = check_change(store, plan, error);
    }
    if (status == VV_OK && plan->is_tentative) {
        return vv_park_plan(store, plan, error);
    }
    asked->indexes[asked->n++] = index;
    return status;
}

static enum vv_status agree(struct vv_cassandra *store, struct vv_first_plan *plans, size_t n,
                            struct vv_error *error)
{
    struct asked asked = {.plans = plans};
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        status = choose(store, &asked, i, error);
    }
    if (status == VV_OK && asked.n > 0) {
        status = put_plans(store, &asked);
    }
    return status == VV_OK && asked.n > 0 ? read_plans(store, &asked, error) : status;
}

enum vv_status vv_shared_agree_plans(struct vv_store *base, struct vv_first_plan *plans, size_t n,
                                     struct vv_error *error)
{
    struct vv_cassandra *store = vv_cassandra_of(base);
    enum vv_status status = vv_cassandra_check(store, error);
    for (size_t at = 0; at < n && status == VV_OK;) {
        size_t some = n - at < VV_PLANS_AT_ONCE ? n - at : VV_PLANS_AT_ONCE;
        status = agree(store, plans + at, some, error);
        at += some;
    }
    return vv_cassandra_failed(store, status);
}

/* ---- doubts ---- */

static bool is_known(const struct vv_plan_doubt *doubt, struct vvcql_result *row, int64_t from_ns)
{
    struct vv_plan found = {.from_ns = from_ns};
    (void)vvcql_get_bigint(row, 1, &found.bucket_ns);
    (void)vvcql_get_bigint(row, 2, &found.span_ns);
    bool is_plan = read_division(row, 3, &found);
    for (size_t i = 0; is_plan && i < doubt->n; i++) {
        if (doubt->plans[i].from_ns == from_ns) {
            return vv_plan_divides_alike(&doubt->plans[i], &found);
        }
    }
    return false;
}

/* One that nobody tells may have been left by a node that ended, and never hold: who has not heard
 * the others can't know. */
static enum vv_status compare_plans(struct vv_cassandra *store, struct vv_plan_doubt *doubt,
                                    struct vv_first_plan *first, struct vvcql_result *rows,
                                    struct vv_error *error)
{
    bool holds = false;
    doubt->is_whole = vvcql_result_paging_state(rows).size == 0;
    while (vvcql_next_row(rows)) {
        int64_t from_ns = VV_TIME_MIN;
        if (!vvcql_get_bigint(rows, 0, &from_ns) || !is_known(doubt, rows, from_ns)) {
            doubt->is_whole = false;
            holds |= from_ns <= doubt->until_ns;
        }
    }
    if (!holds) {
        return VV_OK;
    }
    first->is_tentative = true;
    return vv_park_plan(store, first, error);
}

static enum vv_status ask_doubted(struct vv_cassandra *store, const struct asked *asked,
                                  struct vv_plan_doubt *doubts, struct vv_error *error)
{
    struct vvcql_result *results[VV_PLANS_AT_ONCE];
    enum vv_status statuses[VV_PLANS_AT_ONCE];
    enum vv_status all =
        ask_all(store, asked, VV_DEAD_BY_WRITE, read_all_statement, results, statuses, error);
    enum vv_status status = all;
    for (size_t i = 0; i < asked->n && all == VV_OK; i++) {
        size_t index = asked->indexes[i];
        if (status == VV_OK && statuses[i] == VV_OK) {
            status = compare_plans(store, &doubts[index], &asked->plans[index], results[i], error);
        } else if (status == VV_OK) {
            status = not_read(store, &asked->plans[index], error);
        }
        vvcql_result_destroy(statuses[i] == VV_OK ? results[i] : NULL);
    }
    return status;
}

static enum vv_status doubt_some(struct vv_cassandra *store, struct vv_plan_doubt *doubts, size_t n,
                                 struct vv_error *error)
{
    struct vv_first_plan firsts[VV_PLANS_AT_ONCE];
    struct asked asked = {.plans = firsts};
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        doubts[i].is_whole = false;
        firsts[i] =
            (struct vv_first_plan){doubts[i].tenant, doubts[i].source, doubts[i].plans[0], false};
        status = choose(store, &asked, i, error);
    }
    if (status == VV_OK && asked.n > 0) {
        status = ask_doubted(store, &asked, doubts, error);
    }
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        doubts[i].is_tentative = firsts[i].is_tentative;
    }
    return status;
}

enum vv_status vv_shared_doubt_plans(struct vv_store *base, struct vv_plan_doubt *doubts, size_t n,
                                     struct vv_error *error)
{
    struct vv_cassandra *store = vv_cassandra_of(base);
    enum vv_status status = vv_cassandra_check(store, error);
    for (size_t at = 0; at < n && status == VV_OK;) {
        size_t some = n - at < VV_PLANS_AT_ONCE ? n - at : VV_PLANS_AT_ONCE;
        status = doubt_some(store, doubts + at, some, error);
        at += some;
    }
    return vv_cassandra_failed(store, status);
}
