/* SPDX-License-Identifier: Apache-2.0 */
/*
 * First plans: a lightweight transaction for each source that has none yet. Who asked first has
 * chosen; where the answer is lost, or somebody was faster, the row tells.
 */
#include "store/cassandra/cassandra.h"

static enum vv_status add_key(struct vv_cassandra *store, struct vvcql_statement *statement,
                              const struct vv_first_plan *wish, struct vv_error *error)
{
    vv_cassandra_add_str(statement, vv_str_of(store->shared.region));
    enum vv_status status =
        vv_cassandra_add_source(store, statement, wish->tenant, wish->source, error);
    vvcql_add_bigint(statement, VV_TIME_MIN);
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

typedef struct vvcql_statement *(*make_statement)(struct vv_cassandra *store,
                                                  const struct vv_first_plan *wish,
                                                  enum vv_status *status_out,
                                                  struct vv_error *error);

static enum vv_status ask_all(struct vv_cassandra *store, const struct vv_first_plan *plans,
                              size_t n, make_statement make, struct vvcql_result **results_out,
                              struct vv_error *error)
{
    struct vvcql_statement *statements[VV_CASSANDRA_ASK_MAX];
    enum vv_status status = VV_OK;
    size_t made = 0;
    while (made < n && status == VV_OK) {
        statements[made] = make(store, &plans[made], &status, error);
        made++;
    }
    if (status == VV_OK) {
        return vv_cassandra_ask(store, statements, n, results_out, error);
    }
    for (size_t i = 0; i < made; i++) {
        vvcql_statement_destroy(statements[i]);
    }
    return status;
}

static enum vv_status read_plan(struct vv_cassandra *store, struct vvcql_result *row,
                                struct vv_first_plan *plan, struct vv_error *error)
{
    struct vv_plan found = {.from_ns = VV_TIME_MIN};
    int32_t splits = 0;
    if (!vvcql_next_row(row)) {
        return vv_error_set(error, VV_IO, "Cassandra does not say which plan a source has");
    }
    bool whole = vvcql_get_bigint(row, 0, &found.bucket_ns) &&
                 vvcql_get_bigint(row, 1, &found.span_ns) && vvcql_get_int(row, 2, &splits) &&
                 splits > 0 && splits <= VV_SPLITS_MAX;
    found.splits = (uint16_t)splits;
    if (!whole || vv_plan_check(&found, NULL) != VV_OK) {
        return vv_error_set(error, VV_CORRUPT,
                            "the first plan of source %.*s of tenant %.*s in "
                            "%s.plans is not one",
                            VV_STR_ARG(store->names.source(store->names.context, plan->source)),
                            VV_STR_ARG(vv_cassandra_tenant(store, plan->tenant)), store->keyspace);
    }
    plan->plan = found;
    return VV_OK;
}

static enum vv_status agree(struct vv_cassandra *store, struct vv_first_plan *plans, size_t n,
                            struct vv_error *error)
{
    struct vvcql_result *results[VV_CASSANDRA_ASK_MAX];
    enum vv_status status = ask_all(store, plans, n, put_statement, results, NULL);
    bool all_ours = status == VV_OK;
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        bool applied = false;
        all_ours &=
            vvcql_next_row(results[i]) && vvcql_get_boolean(results[i], 0, &applied) && applied;
        vvcql_result_destroy(results[i]);
    }
    if (all_ours) {
        return VV_OK;
    }
    status = ask_all(store, plans, n, read_statement, results, error);
    enum vv_status asked = status;
    for (size_t i = 0; i < n && asked == VV_OK; i++) {
        if (status == VV_OK) {
            status = read_plan(store, results[i], &plans[i], error);
        }
        vvcql_result_destroy(results[i]);
    }
    return status;
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
