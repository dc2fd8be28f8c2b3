/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removing deleted values from rows, so that no client of Cassandra sees them any more.
 *
 * Each statement has the clock of the deletion's stamp as its CQL timestamp, as each row has that
 * of its value: whichever comes first, a value written before the deletion is gone and one written
 * after it stays. The node in a stamp is lost here, so values of the very same µs go, too.
 *
 * Tombstones: a deletion of a whole source is one range of a partition, and at most two more where
 * its ends do not lie on whole ms. What is deleted of some metrics only is read, and removed row by
 * row: as many tombstones as there were values, so at most as many as a partition has. A range
 * over times would also take what another node puts there of other metrics later. TWCS drops them
 * with their table.
 */
#include "store/cassandra/answer.h"

#include "model/deletion.h"

#define ROWS_OF_A_PAGE 5000

struct removing {
    struct vv_cassandra *store;
    const struct vv_value_removal *removal;
    int64_t from;
    int64_t to;
    int64_t us;
    uint8_t class;
    struct vv_error *error;
};

static enum vv_status no_memory(struct vv_error *error)
{
    return vv_error_set(error, VV_NO_MEMORY, "out of memory while removing values");
}

/* Takes the statement; of a set of replicas that is away nothing is removed now. */
static enum vv_status send(const struct removing *removing, struct vvcql_statement *take_statement)
{
    struct vv_cassandra *store = removing->store;
    if (!take_statement) {
        return no_memory(removing->error);
    }
    vvcql_set_idempotent(take_statement, true);
    if (vv_cassandra_is_away(store, take_statement, VV_DEAD_BY_WRITE)) {
        vvcql_statement_destroy(take_statement);
        return vv_error_set(removing->error, VV_OVERLOAD,
                            "too few hosts of Cassandra answer for values that are deleted");
    }
    const struct vv_partition partition =
        vv_cassandra_rows_partition(&removing->removal->partition);
    return vv_cassandra_failed(store,
                               vv_cassandra_gather(store, &partition, VV_ROWS_BATCH_BYTES_MAX,
                                                   take_statement, removing->error));
}

static struct vvcql_statement *begin(const struct vv_cassandra *store,
                                     const struct vvcql_prepared *prepared,
                                     const struct vv_partition *partition, int64_t us,
                                     struct vv_error *error)
{
    struct vvcql_statement *statement = vvcql_statement_prepared(prepared);
    if (statement) {
        vvcql_add_bigint(statement, us);
        if (vv_cassandra_add_rows_partition(store, statement, partition, error) != VV_OK) {
            vvcql_statement_destroy(statement);
            statement = NULL;
        }
    }
    return statement;
}

struct vvcql_statement *vv_cassandra_remove_value(const struct vv_cassandra *store, uint8_t class,
                                                  const struct vv_partition *partition,
                                                  int64_t time, struct vv_str metric, int64_t us,
                                                  struct vv_error *error)
{
    int64_t whole = vv_time_floor(time, VV_MILLISECOND);
    struct vvcql_statement *statement =
        begin(store, store->classes[class].remove_value, partition, us, error);
    if (statement) {
        vvcql_add_timestamp(statement, whole / VV_MILLISECOND);
        vvcql_add_int(statement, (int32_t)(time - whole));
        vv_cassandra_add_str(statement, metric);
    }
    return statement;
}

/* ---- whole sources ---- */

/* Of one ms, nanoseconds [from, to). */
static enum vv_status remove_parts(const struct removing *removing, int64_t ms, int64_t from,
                                   int64_t to)
{
    const struct vv_class *class = &removing->store->classes[removing->class];
    struct vvcql_statement *statement =
        begin(removing->store, class->remove_parts, &removing->removal->partition, removing->us,
              removing->error);
    if (statement) {
        vvcql_add_timestamp(statement, ms);
        vvcql_add_int(statement, (int32_t)from);
        vvcql_add_int(statement, (int32_t)(to - 1));
    }
    return send(removing, statement);
}

static enum vv_status remove_ms(const struct removing *removing, int64_t first, int64_t last)
{
    const struct vv_class *class = &removing->store->classes[removing->class];
    struct vvcql_statement *statement =
        begin(removing->store, class->remove_range, &removing->removal->partition, removing->us,
              removing->error);
    if (statement) {
        vvcql_add_timestamp(statement, first);
        vvcql_add_timestamp(statement, last);
    }
    return send(removing, statement);
}

static enum vv_status remove_all(const struct removing *removing)
{
    int64_t from = vv_time_floor(removing->from, VV_MILLISECOND);
    int64_t to = vv_time_floor(removing->to, VV_MILLISECOND);
    int64_t first = from / VV_MILLISECOND;
    int64_t last = to / VV_MILLISECOND; /* that is not whole */
    int64_t before = removing->from - from;
    int64_t behind = removing->to - to;
    if (first == last) {
        return remove_parts(removing, first, before, behind);
    }
    enum vv_status status = VV_OK;
    if (before > 0) {
        status = remove_parts(removing, first++, before, VV_MILLISECOND);
    }
    if (status == VV_OK && behind > 0) {
        status = remove_parts(removing, last, 0, behind);
    }
    return status == VV_OK && first < last ? remove_ms(removing, first, last - 1) : status;
}

/* ---- some metrics ---- */

static bool is_meant(const struct removing *removing, struct vv_str name)
{
    const struct vv_value_removal *removal = removing->removal;
    const struct vv_store_names *names = &removing->store->names;
    uint32_t metric;
    uint32_t measurement;
    enum vv_value_type type;
    if (!names->metric_named(names->context, removal->partition.tenant, name, &metric)) {
        return false;
    }
    return names->field(names->context, metric, &measurement, &type).size > 0 &&
           measurement == removal->measurement &&
           (removal->metric == VV_VALUES_ALL || removal->metric == metric);
}

/* Whether one of its two columns is no younger. */
static bool is_old(const struct removing *removing, struct vvcql_result *row)
{
    int64_t us;
    bool is = false;
    for (size_t i = 0; i < 2; i++) {
        is |= vvcql_get_bigint(row, 4 + 2 * i, &us) && us <= removing->us;
    }
    return is;
}

static enum vv_status remove_row(const struct removing *removing, struct vvcql_result *row)
{
    int64_t ms;
    int32_t nanos;
    struct vvcql_bytes bytes;
    if (!vvcql_get_bigint(row, 0, &ms) || !vvcql_get_int(row, 1, &nanos) ||
        !vvcql_get_bytes(row, 2, &bytes)) {
        return VV_OK; /* not as Varve writes it: answers say so */
    }
    int64_t time = ms * VV_MILLISECOND + nanos;
    struct vv_str name = {(const char *)bytes.data, bytes.size};
    if (time < removing->from || time >= removing->to || !is_old(removing, row) ||
        !is_meant(removing, name)) {
        return VV_OK;
    }
    return send(removing, vv_cassandra_remove_value(removing->store, removing->class,
                                                    &removing->removal->partition, time, name,
                                                    removing->us, removing->error));
}

static enum vv_status ask_page(const struct removing *removing, struct vvcql_result *before,
                               struct vvcql_result **page_out)
{
    const struct vv_store_answer question = {
        .store = removing->store,
        .view = &removing->store->views[0],
        .read = {.partition = removing->removal->partition,
                 .span_from = removing->from,
                 .span_to = removing->to},
    };
    enum vv_status status;
    struct vvcql_statement *statement =
        vv_cassandra_rows_question(&question, removing->class, &status, removing->error);
    if (status != VV_OK || !statement) {
        vvcql_statement_destroy(statement);
        return status != VV_OK ? status : no_memory(removing->error);
    }
    vvcql_set_page_size(statement, ROWS_OF_A_PAGE);
    if (before) {
        struct vvcql_bytes state = vvcql_result_paging_state(before);
        vvcql_set_paging_state(statement, state.data, state.size);
    }
    return vv_cassandra_put_off(
        vv_cassandra_ask(removing->store, &statement, 1, page_out, removing->error));
}

static enum vv_status remove_some(const struct removing *removing)
{
    struct vvcql_result *page = NULL;
    bool goes_on = true;
    enum vv_status status = VV_OK;
    while (status == VV_OK && goes_on) {
        struct vvcql_result *next = NULL;
        status = ask_page(removing, page, &next);
        vvcql_result_destroy(page);
        page = next;
        while (status == VV_OK && vvcql_next_row(page)) {
            status = remove_row(removing, page);
        }
        goes_on = status == VV_OK && vvcql_result_paging_state(page).size > 0;
    }
    vvcql_result_destroy(page);
    return status;
}

/* ---- both ---- */

enum vv_status vv_cassandra_remove_values(struct vv_store *base,
                                          const struct vv_value_removal *removal,
                                          struct vv_error *error)
{
    struct vv_cassandra *store = vv_cassandra_of(base);
    const struct vv_partition *partition = &removal->partition;
    struct vv_tenant_classes classes = vv_cassandra_classes_of(store, partition->tenant);
    int64_t end = partition->bucket_start + partition->bucket_ns;
    struct removing removing = {
        .store = store,
        .removal = removal,
        .from = removal->from > partition->bucket_start ? removal->from : partition->bucket_start,
        .to = removal->to < end ? removal->to : end,
        .us = (int64_t)vv_stamp_clock_us(removal->stamp),
        .error = error,
    };
    enum vv_status status = vv_cassandra_check(store, error);
    if (status != VV_OK || !(classes.layouts & VV_LAYOUT_ROWS) || removing.from >= removing.to) {
        return status;
    }
    bool is_all = removal->measurement == VV_VALUES_ALL;
    status = is_all ? VV_OK : vv_cassandra_see_own(store, error);
    for (uint32_t i = 0; i < classes.n && status == VV_OK; i++) {
        removing.class = classes.classes[i];
        status = is_all ? remove_all(&removing) : remove_some(&removing);
    }
    return status;
}
