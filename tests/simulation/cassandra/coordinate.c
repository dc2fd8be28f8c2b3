/* SPDX-License-Identifier: Apache-2.0 */
/* What the host that gets a statement does with it: to which replicas it goes, and what it says. */
#include "simulation/cassandra/model.h"

#include "cql/prepared.h"
#include "cql/statement_private.h"
#include "simulation/sim_memory.h"

#include <stdlib.h>

#define PARTS_MAX   4096
#define PENDING_MAX 65536

bool cass_happens(struct vv_sim_cassandra *cassandra, uint32_t in_a_million)
{
    return in_a_million > 0 && vv_random_below(&cassandra->random, 1000000) < in_a_million;
}

uint32_t cass_replicas_needed(enum vvcql_consistency consistency)
{
    switch (consistency) {
    case VVCQL_ANY:
    case VVCQL_ONE:
    case VVCQL_LOCAL_ONE:
        return 1;
    case VVCQL_ALL:
    case VVCQL_THREE:
        return CASS_REPLICAS;
    default:
        return CASS_QUORUM;
    }
}

/* ---- replicas ---- */

void cass_apply(uint32_t replica, struct cass_table *table, const struct cass_partition *write)
{
    struct cass_partition *partition =
        cass_partitions_find(table, &table->replicas[replica], write, true);
    cass_partition_merge(table, partition, write);
    if (write->n_ranges > 0 || write->deleted_at != CASS_NEVER) {
        cass_partition_clean(table, partition);
    }
}

void cass_pend(struct cass_pending_list *list, uint32_t replica, struct cass_table *table,
               struct cass_partition *write)
{
    vv_invariant(list->n < PENDING_MAX);
    if (list->n == list->capacity) {
        list->capacity = list->capacity ? list->capacity * 2 : 16;
        list->items = vv_sim_realloc(list->items, list->capacity * sizeof *list->items);
    }
    write->references++;
    list->items[list->n++] = (struct cass_pending_write){replica, table, write};
}

void cass_pending_clear(struct cass_pending_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        cass_partition_drop(list->items[i].table, list->items[i].write);
    }
    free(list->items);
    *list = (struct cass_pending_list){0};
}

void cass_deliver_hint(struct vv_sim_cassandra *cassandra, size_t i)
{
    struct cass_pending_write hint = cassandra->hints.items[i];
    cassandra->hints.items[i] = cassandra->hints.items[--cassandra->hints.n];
    cass_apply(hint.replica, hint.table, hint.write);
    cass_partition_drop(hint.table, hint.write);
    cassandra->figures.hints++;
}

void cass_read_replicas(struct vv_sim_cassandra *cassandra, struct cass_table *table,
                        uint32_t replicas, struct cass_partition *into)
{
    uint32_t first = (uint32_t)vv_random_below(&cassandra->random, CASS_REPLICAS);
    for (uint32_t i = 0; i < replicas; i++) {
        const struct cass_partition *part =
            cass_partitions_find(table, &table->replicas[(first + i) % CASS_REPLICAS], into, false);
        if (part) {
            cass_partition_merge(table, into, part);
        }
    }
}

/* ---- writing ---- */

/* One partition's part of a write; how many replicas have it. */
static uint32_t write_replicas(struct vv_sim_cassandra *cassandra, struct cass_table *table,
                               struct cass_partition *write)
{
    uint32_t written = 0;
    for (uint32_t r = 0; r < CASS_REPLICAS; r++) {
        if (!cass_happens(cassandra, cassandra->faults.write_lost)) {
            cass_apply(r, table, write);
            written++;
            continue;
        }
        cassandra->figures.writes_lost++;
        if (cass_happens(cassandra, cassandra->faults.write_late)) {
            cass_pend(&cassandra->hints, r, table, write);
        }
    }
    return written;
}

static void time_out(struct cass_outcome *outcome, uint32_t written, uint32_t needed, bool is_batch)
{
    vvcql_buffer_clear(&outcome->body);
    cass_refuse(outcome, VVCQL_CODE_WRITE_TIMEOUT, "%u of %u replicas answered", written, needed);
    outcome->error.received = (int32_t)written;
    outcome->error.required = (int32_t)needed;
    outcome->error.write_type = is_batch ? VVCQL_WRITE_UNLOGGED_BATCH : VVCQL_WRITE_SIMPLE;
    outcome->error.outcome_unknown = true;
}

static struct cass_partition *partition_of(struct cass_call *call, struct cass_partition **writes,
                                           struct cass_table **tables, size_t n,
                                           const struct cass_partition *like)
{
    for (size_t i = 0; i < n; i++) {
        struct cass_partitions one = {&writes[i], 1, 1};
        if (tables[i] == call->table && cass_partitions_find(call->table, &one, like, false)) {
            return writes[i];
        }
    }
    return NULL;
}

/* Each partition of a batch is written as a whole or not, by itself. */
static size_t build_writes(struct cass_call *calls, size_t n, struct cass_partition **writes,
                           struct cass_table **tables, struct cass_outcome *outcome)
{
    size_t n_writes = 0;
    for (size_t i = 0; i < n && outcome->error.status == VVCQL_OK; i++) {
        struct cass_partition *write = cass_build_write(&calls[i], outcome);
        struct cass_partition *same =
            write ? partition_of(&calls[i], writes, tables, n_writes, write) : NULL;
        if (same) {
            cass_partition_merge(calls[i].table, same, write);
            cass_partition_drop(calls[i].table, write);
        } else if (write) {
            tables[n_writes] = calls[i].table;
            writes[n_writes++] = write;
        }
    }
    return n_writes;
}

static void write_all(struct cass_call *calls, size_t n, enum vvcql_consistency consistency,
                      struct cass_outcome *outcome)
{
    struct vv_sim_cassandra *cassandra = calls->cassandra;
    struct cass_partition **writes = vv_sim_calloc(n, sizeof(*writes));
    struct cass_table **tables = vv_sim_calloc(n, sizeof(*tables));
    uint32_t needed = cass_replicas_needed(consistency);
    uint32_t written = CASS_REPLICAS;
    size_t n_writes = build_writes(calls, n, writes, tables, outcome);
    for (size_t i = 0; i < n_writes && outcome->error.status == VVCQL_OK; i++) {
        if (cass_is_unavailable(cassandra, writes[i]->token) && needed > 1) {
            cass_refuse(outcome, VVCQL_CODE_UNAVAILABLE, "too few replicas are alive");
        }
    }
    for (size_t i = 0; i < n_writes && outcome->error.status == VVCQL_OK; i++) {
        uint32_t one = write_replicas(cassandra, tables[i], writes[i]);
        written = one < written ? one : written;
    }
    if (outcome->error.status == VVCQL_OK) {
        cass_put_void(&outcome->body);
        if (written < needed || cass_happens(cassandra, cassandra->faults.write_silent)) {
            time_out(outcome, written, needed, n > 1);
        }
    }
    for (size_t i = 0; i < n_writes; i++) {
        cass_partition_drop(tables[i], writes[i]);
    }
    free(writes);
    free(tables);
}

/* ---- statements ---- */

static void find_table(struct cass_call *call)
{
    const struct cass_ast *ast = call->ast;
    if (ast->kind == CASS_CREATE_KEYSPACE || ast->kind == CASS_CREATE_TABLE) {
        return;
    }
    call->table = cass_table_find(call->cassandra, ast->keyspace, ast->table);
}

const struct cass_ast *cass_parsed(struct vv_sim_cassandra *cassandra, struct vv_str text)
{
    size_t slot = 5381;
    for (size_t i = 0; i < text.size; i++) {
        slot = slot * 33 + (unsigned char)text.data[i];
    }
    for (slot %= CASS_TEXTS; cassandra->texts[slot]; slot = (slot + 1) % CASS_TEXTS) {
        if (vv_str_equal(cassandra->texts[slot]->text, text)) {
            return cassandra->texts[slot];
        }
    }
    vv_invariant(++cassandra->n_texts < CASS_TEXTS / 2);
    return cassandra->texts[slot] = cass_parse(text);
}

static void call_init(struct cass_call *call, struct vv_sim_cassandra *cassandra,
                      const struct vvcql_statement *statement, uint32_t host)
{
    int64_t now_us =
        (cassandra->clock->wall_ns(cassandra->clock) + cassandra->skews_ns[host]) / 1000;
    struct vv_str text = {(const char *)statement->text.data, statement->text.size};
    bool is_prepared = statement->kind == VVCQL_KIND_EXECUTE;
    *call = (struct cass_call){
        .cassandra = cassandra,
        .ast = is_prepared ? cass_parsed(cassandra, vv_str_of(statement->prepared->text))
                           : cass_parse(text),
        .owns_ast = !is_prepared,
        .values = statement,
        .now_us = now_us,
    };
    int64_t *last = &cassandra->last_us[host];
    *last = now_us > *last ? now_us : *last + 1;
    call->write_us = statement->has_timestamp ? statement->timestamp_us : *last;
    find_table(call);
    if (call->ast->n_markers != statement->n_values) {
        cass_give_up(call->ast, "%zu values for %u markers", statement->n_values,
                     call->ast->n_markers);
    }
}

static void call_deinit(struct cass_call *call)
{
    cass_ast_destroy(call->owns_ast ? call->ast : NULL);
    vv_arena_deinit(&call->arena);
}

static bool is_known(struct cass_call *calls, size_t n, struct cass_outcome *outcome)
{
    for (size_t i = 0; i < n; i++) {
        const struct cass_ast *ast = calls[i].ast;
        if (!calls[i].table && ast->kind != CASS_CREATE_KEYSPACE &&
            ast->kind != CASS_CREATE_TABLE) {
            cass_refuse(outcome, VVCQL_CODE_INVALID, "table %.*s does not exist",
                        VV_STR_ARG(ast->table));
            return false;
        }
    }
    return true;
}

static void carry_out(struct cass_call *calls, size_t n, enum vvcql_consistency consistency,
                      struct cass_outcome *outcome)
{
    struct vv_sim_cassandra *cassandra = calls->cassandra;
    bool is_conditional = false;
    for (size_t i = 0; i < n; i++) {
        is_conditional = is_conditional || cass_is_conditional(calls[i].ast);
    }
    if (calls->ast->kind >= CASS_CREATE_KEYSPACE) {
        cass_change_schema(calls, outcome);
    } else if (calls->ast->kind == CASS_SELECT) {
        if (cass_happens(cassandra, cassandra->faults.read_fails)) {
            cass_refuse(outcome, VVCQL_CODE_READ_TIMEOUT, "the replicas did not answer");
        } else {
            cass_select(calls, consistency, outcome);
        }
    } else if (is_conditional) {
        cass_transact(calls, n, outcome);
    } else {
        write_all(calls, n, consistency, outcome);
    }
}

void cass_coordinate(struct vv_sim_cassandra *cassandra, const struct vvcql_statement *statement,
                     enum vvcql_consistency consistency, struct cass_outcome *outcome)
{
    bool is_batch = statement->kind == VVCQL_KIND_BATCH;
    size_t n = is_batch ? statement->n_parts : 1;
    uint32_t host = (uint32_t)vv_random_below(&cassandra->random, CASS_REPLICAS);
    vv_invariant(n <= PARTS_MAX);
    while (cassandra->hints.n > 0 && vv_random_below(&cassandra->random, 8) == 0) {
        cass_deliver_hint(cassandra, vv_random_below(&cassandra->random, cassandra->hints.n));
    }
    if (n == 0) {
        cass_put_void(&outcome->body);
        return;
    }
    struct cass_call *calls = vv_sim_calloc(n, sizeof *calls);
    const struct vvcql_statement *part = is_batch ? statement->parts_first : statement;
    for (size_t i = 0; i < n; i++, part = part->next) {
        call_init(&calls[i], cassandra, part, host);
        if (is_batch) { /* one µs for all, and no others than these in it */
            calls[i].write_us =
                statement->has_timestamp ? statement->timestamp_us : calls[0].write_us;
            vv_invariant(calls[i].ast->kind >= CASS_INSERT && calls[i].ast->kind <= CASS_DELETE);
        }
    }
    if (is_known(calls, n, outcome)) {
        carry_out(calls, n, consistency, outcome);
    }
    for (size_t i = 0; i < n; i++) {
        call_deinit(&calls[i]);
    }
    free(calls);
}
