/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of `purges`, and what stands of purges in rows of `seals` and `nodes`. */
#include "store/cassandra/cassandra.h"
#include "store/keys.h"

#define PART_OF_CLASS (-1)
#define NUMBER_SIZE   16

/* ---- numbers ---- */

bool vv_purge_numbers_decode(struct vvcql_bytes bytes, struct vv_purge_numbers *numbers_out)
{
    numbers_out->n = 0;
    if (bytes.size % NUMBER_SIZE != 0 || bytes.size / NUMBER_SIZE > VV_PURGE_NUMBERS_MAX) {
        return false;
    }
    for (size_t at = 0; at < bytes.size; at += NUMBER_SIZE) {
        numbers_out->of[numbers_out->n].retention_ns = (int64_t)vv_key_get_u64(bytes.data + at);
        numbers_out->of[numbers_out->n].number = (int64_t)vv_key_get_u64(bytes.data + at + 8);
        numbers_out->n++;
    }
    return true;
}

void vv_purge_numbers_encode(const struct vv_purge_numbers *numbers, struct vv_buffer *out)
{
    for (uint32_t i = 0; i < numbers->n; i++) {
        vv_buffer_be64(out, (uint64_t)numbers->of[i].retention_ns);
        vv_buffer_be64(out, (uint64_t)numbers->of[i].number);
    }
}

int64_t vv_purge_number_of(const struct vv_purge_numbers *numbers, int64_t retention_ns)
{
    for (uint32_t i = 0; i < numbers->n; i++) {
        if (numbers->of[i].retention_ns == retention_ns) {
            return numbers->of[i].number;
        }
    }
    return 0;
}

bool vv_purge_number_set(struct vv_purge_numbers *numbers, int64_t retention_ns, int64_t number)
{
    uint32_t at = 0;
    while (at < numbers->n && numbers->of[at].retention_ns != retention_ns) {
        at++;
    }
    if (at == VV_PURGE_NUMBERS_MAX) {
        return false;
    }
    numbers->n = at == numbers->n ? at + 1 : numbers->n;
    numbers->of[at].retention_ns = retention_ns;
    numbers->of[at].number = number;
    return true;
}

/* ---- statements ---- */

bool vv_purge_prepare(struct vv_cassandra *store)
{
    struct vv_purge_statements *statements = &store->purge.statements;
    *statements = (struct vv_purge_statements){
        .read_class = vv_cassandra_prepare(store,
                                           "SELECT number, state, since, asked, node, "
                                           "WRITETIME(state) FROM @ "
                                           "WHERE region = ? AND class = ? AND part = ?",
                                           "purges"),
        .move_class = vv_cassandra_prepare(store,
                                           "UPDATE @ SET number = ?, state = ?, since = ?, "
                                           "node = ? WHERE region = ? AND class = ? AND part = ? "
                                           "IF number = ? AND state = ? AND since = ?",
                                           "purges"),
        .ask_class = vv_cassandra_prepare(store,
                                          "UPDATE @ SET asked = ? "
                                          "WHERE region = ? AND class = ? AND part = ?",
                                          "purges"),
        .read_ranges = vv_cassandra_prepare(store,
                                            "SELECT part, number FROM @ WHERE region = ? AND "
                                            "class = ? AND part >= ?",
                                            "purges"),
        .put_range = vv_cassandra_prepare(store,
                                          "INSERT INTO @ (region, class, part, number, node) "
                                          "VALUES (?, ?, ?, ?, ?) USING TIMESTAMP ?",
                                          "purges"),
    };
    return statements->read_class && statements->move_class && statements->ask_class &&
           statements->read_ranges && statements->put_range;
}

static void add_key(const struct vv_cassandra *store, struct vvcql_statement *statement,
                    size_t class, int32_t part)
{
    char name[VV_CLASS_NAME_SIZE];
    vv_schema_class_name(store->classes[class].retention_ns, name);
    vv_cassandra_add_str(statement, vv_str_of(store->shared.region));
    vv_cassandra_add_str(statement, vv_str_of(name));
    vvcql_add_int(statement, part);
}

static enum vv_status ask_one(struct vv_cassandra *store, struct vvcql_statement *take_statement,
                              struct vvcql_result **result_out, struct vv_error *error)
{
    return vv_cassandra_ask(store, &take_statement, 1, result_out, error);
}

/* ---- a class ---- */

/* A row that somebody asked for before it was made has no number. */
static void read_row(struct vvcql_result *result, struct vv_purge_row *row_out)
{
    int32_t state = 0;
    int32_t node = 0;
    *row_out = (struct vv_purge_row){0};
    if (!vvcql_next_row(result)) {
        return;
    }
    row_out->exists = vvcql_get_bigint(result, 0, &row_out->number) &&
                      vvcql_get_int(result, 1, &state) &&
                      vvcql_get_bigint(result, 2, &row_out->since_ms);
    (void)vvcql_get_bigint(result, 3, &row_out->asked_ms);
    (void)vvcql_get_int(result, 4, &node);
    (void)vvcql_get_bigint(result, 5, &row_out->set_us);
    row_out->state = (enum vv_purge_state)state;
    row_out->node = (uint32_t)node;
}

enum vv_status vv_purge_read(struct vv_cassandra *store, struct vv_purge_row *rows_out,
                             struct vv_error *error)
{
    struct vvcql_statement *statements[VV_CASSANDRA_CLASSES_MAX + 1];
    struct vvcql_result *results[VV_CASSANDRA_CLASSES_MAX + 1];
    for (size_t i = 0; i < store->n_classes; i++) {
        statements[i] = vvcql_statement_prepared(store->purge.statements.read_class);
        add_key(store, statements[i], i, PART_OF_CLASS);
        vvcql_set_consistency(statements[i], VVCQL_LOCAL_SERIAL);
        vvcql_set_idempotent(statements[i], true);
    }
    enum vv_status status = vv_cassandra_ask(store, statements, store->n_classes, results, error);
    for (size_t i = 0; i < store->n_classes && status == VV_OK; i++) {
        read_row(results[i], &rows_out[i]);
        vvcql_result_destroy(results[i]);
    }
    return status;
}

static struct vvcql_statement *move_statement(const struct vv_cassandra *store, size_t class,
                                              const struct vv_purge_row *row,
                                              const struct vv_purge_row *wanted)
{
    struct vvcql_statement *statement =
        vvcql_statement_prepared(store->purge.statements.move_class);
    vvcql_add_bigint(statement, wanted->number);
    vvcql_add_int(statement, (int32_t)wanted->state);
    vvcql_add_timestamp(statement, wanted->since_ms);
    vvcql_add_int(statement, (int32_t)wanted->node);
    add_key(store, statement, class, PART_OF_CLASS);
    if (row->exists) {
        vvcql_add_bigint(statement, row->number);
        vvcql_add_int(statement, (int32_t)row->state);
        vvcql_add_timestamp(statement, row->since_ms);
    } else { /* where there is nothing, all is null */
        vvcql_add_null(statement);
        vvcql_add_null(statement);
        vvcql_add_null(statement);
    }
    return statement;
}

enum vv_status vv_purge_move(struct vv_cassandra *store, size_t class, struct vv_purge_row *row,
                             enum vv_purge_state state, int64_t number, bool *moved_out,
                             struct vv_error *error)
{
    int64_t now_ms = store->clock->wall_ns(store->clock) / VV_MILLISECOND;
    struct vv_purge_row wanted = *row;
    wanted.exists = true;
    wanted.number = number;
    wanted.state = row->exists ? state : VV_PURGE_IDLE;
    wanted.node = store->shared.node;
    /* It tells one turn from the next of the same state. */
    wanted.since_ms = now_ms > row->since_ms ? now_ms : row->since_ms + 1;
    struct vvcql_statement *statement = move_statement(store, class, row, &wanted);
    struct vvcql_result *result;
    *moved_out = false;
    vvcql_set_serial_consistency(statement, VVCQL_LOCAL_SERIAL);
    enum vv_status status = ask_one(store, statement, &result, error);
    if (status == VV_OK) {
        bool applied = false;
        *moved_out = vvcql_next_row(result) && vvcql_get_boolean(result, 0, &applied) && applied;
        vvcql_result_destroy(result);
    }
    if (*moved_out) {
        *row = wanted;
    }
    return status;
}

static enum vv_status put(struct vv_cassandra *store, struct vvcql_statement *take_statement,
                          struct vv_error *error)
{
    struct vvcql_result *result;
    vvcql_set_idempotent(take_statement, true);
    enum vv_status status = ask_one(store, take_statement, &result, error);
    if (status == VV_OK) {
        vvcql_result_destroy(result);
    }
    return status;
}

/* Of the state that it is to end, whatever this node's clock says: each asks for one. */
enum vv_status vv_purge_put_asked(struct vv_cassandra *store, size_t class,
                                  const struct vv_purge_row *row, struct vv_error *error)
{
    struct vvcql_statement *statement = vvcql_statement_prepared(store->purge.statements.ask_class);
    vvcql_add_timestamp(statement, row->since_ms);
    add_key(store, statement, class, PART_OF_CLASS);
    return put(store, statement, error);
}

/* ---- ranges ---- */

enum vv_status vv_purge_read_ranges(struct vv_cassandra *store, size_t class, int64_t number,
                                    bool done_out[VV_PURGE_RANGES], struct vv_error *error)
{
    struct vvcql_statement *statement =
        vvcql_statement_prepared(store->purge.statements.read_ranges);
    struct vvcql_result *result;
    add_key(store, statement, class, 0);
    vvcql_set_idempotent(statement, true);
    memset(done_out, 0, VV_PURGE_RANGES * sizeof *done_out);
    enum vv_status status = ask_one(store, statement, &result, error);
    int32_t part;
    int64_t done;
    while (status == VV_OK && vvcql_next_row(result)) {
        if (vvcql_get_int(result, 0, &part) && part >= 0 && part < VV_PURGE_RANGES) {
            done_out[part] = vvcql_get_bigint(result, 1, &done) && done == number;
        }
    }
    if (status == VV_OK) {
        vvcql_result_destroy(result);
    }
    return status;
}

/* With the time that Cassandra has given to the state as timestamp: what a later purge says wins,
 * whoever's clock is wrong. */
enum vv_status vv_purge_put_range(struct vv_cassandra *store, size_t class,
                                  const struct vv_purge_row *row, uint32_t range,
                                  struct vv_error *error)
{
    struct vvcql_statement *statement = vvcql_statement_prepared(store->purge.statements.put_range);
    add_key(store, statement, class, (int32_t)range);
    vvcql_add_bigint(statement, row->number);
    vvcql_add_int(statement, (int32_t)store->shared.node);
    vvcql_add_bigint(statement, row->set_us);
    return put(store, statement, error);
}

/* ---- nodes ---- */

/* Until it has been silent for a day: one that pauses goes on as it was. One that has never had a
 * beat has just joined, or never will. */
static bool is_alive(struct vv_cassandra *store, uint32_t number, int64_t beat_us)
{
    const struct vv_region_view *view = &store->views[0];
    int64_t now = store->clock->monotonic_ns(store->clock);
    bool is_gone = false;
    if (beat_us > 0) {
        return beat_us > (store->clock->wall_ns(store->clock) - VV_DAY) / 1000;
    }
    pthread_mutex_lock(&store->shared.lock);
    for (size_t i = 0; i < view->n_nodes; i++) {
        is_gone |= view->nodes[i].node == number &&
                   now - view->nodes[i].heard_ns > vv_purge_rest_ns(store);
    }
    pthread_mutex_unlock(&store->shared.lock);
    return !is_gone;
}

/* FNV-1a, as http://www.isthe.com/chongo/tech/comp/fnv/ has it. */
static uint32_t hash_with(uint32_t hash, int64_t value)
{
    for (int i = 0; i < 8; i++) {
        hash = (hash ^ (uint32_t)(value >> 8 * i & 0xff)) * 16777619U;
    }
    return hash;
}

int32_t vv_purge_tables(const struct vv_cassandra *store)
{
    uint32_t hash = hash_with(2166136261U, vv_cassandra_tables(store));
    hash = hash_with(hash, store->lead_ns);
    for (size_t i = 0; i < store->n_classes; i++) {
        hash = hash_with(hash, store->classes[i].retention_ns);
    }
    return (int32_t)(hash & INT32_MAX);
}

enum vv_status vv_purge_check_nodes(struct vv_cassandra *store, uint32_t *node_out,
                                    struct vv_error *error)
{
    struct vvcql_statement *statement = vvcql_statement_prepared(store->views[0].read_nodes);
    struct vvcql_result *result;
    vv_cassandra_add_str(statement, vv_str_of(store->shared.region));
    vvcql_set_idempotent(statement, true);
    *node_out = 0;
    enum vv_status status = ask_one(store, statement, &result, error);
    while (status == VV_OK && *node_out == 0 && vvcql_next_row(result)) {
        int32_t node = 0;
        int32_t tables = 0;
        int64_t beat_us = 0;
        (void)vvcql_get_int(result, 0, &node);
        (void)vvcql_get_bigint(result, 2, &beat_us);
        (void)vvcql_get_int(result, 6, &tables);
        *node_out = tables != vv_purge_tables(store) && is_alive(store, (uint32_t)node, beat_us)
                        ? (uint32_t)node
                        : 0;
    }
    if (status == VV_OK) {
        vvcql_result_destroy(result);
    }
    return status;
}

enum vv_status vv_purge_check_partitioner(struct vv_cassandra *store, struct vv_error *error)
{
    struct vvcql_result *result;
    struct vvcql_statement *statement =
        vvcql_statement_create("SELECT partitioner FROM system.local");
    vvcql_set_idempotent(statement, true);
    enum vv_status status = ask_one(store, statement, &result, error);
    if (status != VV_OK) {
        return status;
    }
    struct vv_str name =
        vvcql_next_row(result) ? vv_cassandra_text(result, 0) : (struct vv_str){"", 0};
    static const char murmur[] = "Murmur3Partitioner";
    size_t size = sizeof murmur - 1;
    bool is_right = name.size >= size && memcmp(name.data + name.size - size, murmur, size) == 0;
    if (!is_right) {
        status = vv_error_set(error, VV_INVALID,
                              "purging by copying goes by tokens of Murmur3Partitioner, and this "
                              "cluster has %.*s: set cassandra.purge_every to 0s",
                              VV_STR_ARG(name));
    }
    vvcql_result_destroy(result);
    return status;
}

/* First said, then looked: whoever begins a purge looks for what is said after that has begun. */
enum vv_status vv_purge_join(struct vv_cassandra *store, struct vv_error *error)
{
    struct vv_purge_row rows[VV_CASSANDRA_CLASSES_MAX + 1];
    enum vv_status status = vv_shared_say_slot(store, error);
    if (status == VV_OK && !store->purges) {
        status = vv_purge_read(store, rows, error);
    }
    for (size_t i = 0; i < store->n_classes && status == VV_OK && !store->purges; i++) {
        if (rows[i].exists) { /* blocks without TTL may be there */
            status = vv_error_set(error, VV_INVALID,
                                  "tables of keyspace %s are purged by copying: set "
                                  "cassandra.purge_every as on the other nodes",
                                  store->keyspace);
        }
    }
    vv_purge_note_look(store);
    return status;
}
