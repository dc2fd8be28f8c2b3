/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where measurements lie, and do from a day on: a lightweight transaction for each. Who asked first
 * has chosen; where the answer is lost, or somebody was faster, the row tells.
 */
#include "store/cassandra/cassandra.h"

static bool is_move(const struct vv_place_wish *wish)
{
    return wish->from_ns != VV_TIME_MIN;
}

static void add_key(const struct vv_cassandra *store, struct vvcql_statement *statement,
                    const struct vv_place_wish *wish)
{
    vv_cassandra_add_str(statement, vv_str_of(store->shared.region));
    vv_cassandra_add_str(statement, wish->tenant);
    vv_cassandra_add_str(statement, wish->measurement);
    if (is_move(wish)) {
        vvcql_add_bigint(statement, wish->from_ns);
    }
}

static struct vvcql_statement *put_statement(const struct vv_cassandra *store,
                                             const struct vv_place_wish *wish)
{
    struct vvcql_statement *statement =
        vvcql_statement_prepared(is_move(wish) ? store->shared.put_move : store->shared.put_place);
    add_key(store, statement, wish);
    vv_cassandra_add_str(statement, vv_str_of(wish->class_name));
    vvcql_set_serial_consistency(statement, VVCQL_LOCAL_SERIAL);
    return statement;
}

/* With what stands in progress finished first. */
static struct vvcql_statement *read_statement(const struct vv_cassandra *store,
                                              const struct vv_place_wish *wish)
{
    struct vvcql_statement *statement = vvcql_statement_prepared(
        is_move(wish) ? store->shared.read_move : store->shared.read_place);
    add_key(store, statement, wish);
    vvcql_set_consistency(statement, VVCQL_LOCAL_SERIAL);
    vvcql_set_idempotent(statement, true);
    return statement;
}

static bool is_applied(struct vvcql_result *result)
{
    bool applied = false;
    return vvcql_next_row(result) && vvcql_get_boolean(result, 0, &applied) && applied;
}

static enum vv_status read_place(const struct vv_cassandra *store, struct vvcql_result *row,
                                 struct vv_place_wish *wish, struct vv_error *error)
{
    if (!vvcql_next_row(row)) {
        return vv_error_set(error, VV_IO, "Cassandra does not say where a measurement lies");
    }
    struct vv_str class_name = vv_cassandra_text(row, 0);
    if (class_name.size > 0 && !vv_space_is_class_name(class_name)) {
        return vv_error_set(error, VV_CORRUPT,
                            "the class of measurement %.*s of tenant %.*s in %s.%s is not one",
                            VV_STR_ARG(wish->measurement), VV_STR_ARG(wish->tenant),
                            store->keyspace, is_move(wish) ? "moves" : "places");
    }
    memset(wish->class_name, 0, sizeof wish->class_name);
    if (class_name.size > 0) { /* an empty text has no bytes */
        memcpy(wish->class_name, class_name.data, class_name.size);
    }
    return VV_OK;
}

/* Those that are not certainly this node's own are read. */
static enum vv_status agree(struct vv_cassandra *store, struct vv_place_wish *wishes, size_t n,
                            struct vv_error *error)
{
    struct vvcql_statement *statements[VV_PLACES_AT_ONCE] = {NULL};
    struct vvcql_result *results[VV_PLACES_AT_ONCE] = {NULL};
    enum vv_status statuses[VV_PLACES_AT_ONCE];
    struct vv_place_wish *left[VV_PLACES_AT_ONCE] = {NULL};
    size_t n_left = 0;
    for (size_t i = 0; i < n; i++) {
        statements[i] = put_statement(store, &wishes[i]);
    }
    bool asked = vv_cassandra_ask_each(store, VV_DEAD_BY_TRANSACTION, statements, n, results,
                                       statuses, NULL) == VV_OK;
    for (size_t i = 0; i < n; i++) {
        bool is_ours = asked && statuses[i] == VV_OK && is_applied(results[i]);
        vvcql_result_destroy(asked && statuses[i] == VV_OK ? results[i] : NULL);
        if (!is_ours) {
            statements[n_left] = read_statement(store, &wishes[i]);
            left[n_left++] = &wishes[i];
        }
    }
    enum vv_status all = n_left > 0 ? vv_cassandra_ask_each(store, VV_DEAD_BY_WRITE, statements,
                                                            n_left, results, statuses, error)
                                    : VV_OK;
    enum vv_status status = all;
    for (size_t i = 0; i < n_left && all == VV_OK; i++) {
        if (status == VV_OK) {
            status = statuses[i] == VV_OK
                         ? read_place(store, results[i], left[i], error)
                         : vv_error_set(error, VV_IO,
                                        "too few hosts answer for where a measurement of "
                                        "tenant %.*s is to lie",
                                        VV_STR_ARG(left[i]->tenant));
        }
        vvcql_result_destroy(statuses[i] == VV_OK ? results[i] : NULL);
    }
    return status;
}

enum vv_status vv_shared_agree_places(struct vv_store *base, struct vv_place_wish *wishes, size_t n,
                                      struct vv_error *error)
{
    struct vv_cassandra *store = vv_cassandra_of(base);
    enum vv_status status = vv_cassandra_check(store, error);
    for (size_t at = 0; at < n && status == VV_OK;) {
        size_t some = n - at < VV_PLACES_AT_ONCE ? n - at : VV_PLACES_AT_ONCE;
        status = agree(store, wishes + at, some, error);
        at += some;
    }
    return vv_cassandra_failed(store, status);
}
