/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passes: before spans of a shard are read to be sealed, the shard's stamp goes up by compare-and-
 * set. Blocks are written with it, so those of a pass that began later win, whenever they are
 * written; and marks are retired only while no later pass has begun, since one that begins after
 * that check reads all that this one has read.
 *
 * The stamp is in µs and of the same remainder as the node's number, so no two nodes have one. With
 * it goes a lease: others leave the shard alone until it ends, by when a node that is silent is
 * gone for them. That saves work; clocks that go wrong cost work only.
 */
#include "store/cassandra/cassandra.h"

#define LEASE_NS_MAX (30 * VV_SECOND)
#define STEP_US      (VV_STAMP_NODE_MAX + 1) /* stamps of a node are so far apart */
#define TRIES_MAX    3

static int64_t wall(const struct vv_cassandra *store)
{
    return store->clock->wall_ns(store->clock);
}

static int64_t lease_ns(const struct vv_cassandra *store)
{
    return store->gone_ns < LEASE_NS_MAX ? store->gone_ns : LEASE_NS_MAX;
}

/* ---- questions about several shards at once ---- */

static size_t list_shards(const bool shards[VV_CASSANDRA_SHARDS],
                          uint8_t list_out[VV_CASSANDRA_SHARDS])
{
    size_t n = 0;
    for (uint32_t i = 0; i < VV_CASSANDRA_SHARDS; i++) {
        if (shards[i]) {
            list_out[n++] = (uint8_t)i;
        }
    }
    return n;
}

/* Unknown to a node that reads one table of each class where another one may be written. */
static void read_seal(const struct vv_cassandra *store, struct vv_shard *shard,
                      struct vvcql_result *row)
{
    int32_t node;
    int64_t lease_ms;
    struct vvcql_bytes purges = {0};
    shard->purges.n = 0;
    shard->exists = vvcql_next_row(row) && vvcql_get_int(row, 0, &node) &&
                    vvcql_get_bigint(row, 1, &lease_ms) && vvcql_get_bigint(row, 2, &shard->seal);
    if (shard->exists) {
        shard->sealer = (uint32_t)node;
        shard->lease_ns = lease_ms * VV_MILLISECOND;
        (void)vvcql_get_bytes(row, 3, &purges);
    } else {
        shard->seal = 0;
    }
    shard->is_known =
        vv_purge_numbers_decode(purges, &shard->purges) && (store->purges || shard->purges.n == 0);
}

static struct vvcql_statement *look_statement(const struct vv_cassandra *store, uint8_t number,
                                              enum vvcql_consistency consistency)
{
    struct vvcql_statement *statement = vvcql_statement_prepared(store->shared.read_seal);
    vv_cassandra_add_str(statement, vv_str_of(store->shared.region));
    vvcql_add_int(statement, number);
    vvcql_set_consistency(statement, consistency);
    vvcql_set_idempotent(statement, true);
    return statement;
}

/* VVCQL_LOCAL_SERIAL: as it is now, with what stands in progress finished first. What a dead set
 * keeps from being known stays unknown. */
static enum vv_status look_at_each(struct vv_cassandra *store, const uint8_t *shards, size_t n,
                                   enum vvcql_consistency consistency, struct vv_error *error)
{
    struct vvcql_statement *statements[VV_CASSANDRA_SHARDS] = {NULL};
    struct vvcql_result *results[VV_CASSANDRA_SHARDS];
    enum vv_status statuses[VV_CASSANDRA_SHARDS];
    for (size_t i = 0; i < n; i++) {
        statements[i] = look_statement(store, shards[i], consistency);
        store->shared.shards[shards[i]].is_known = false;
    }
    enum vv_status status =
        vv_cassandra_ask_each(store, VV_DEAD_BY_READ, statements, n, results, statuses, error);
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        if (statuses[i] == VV_OK) {
            read_seal(store, &store->shared.shards[shards[i]], results[i]);
            vvcql_result_destroy(results[i]);
        }
    }
    return status;
}

/* All of them, or it fails. */
static enum vv_status look(struct vv_cassandra *store, const uint8_t *shards, size_t n,
                           enum vvcql_consistency consistency, struct vv_error *error)
{
    enum vv_status status = look_at_each(store, shards, n, consistency, error);
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        if (!store->shared.shards[shards[i]].is_known) {
            status = vv_error_set(error, VV_IO, "too few hosts answer for a shard of the sources");
        }
    }
    return status;
}

/* ---- beginning ---- */

static int64_t next_seal(const struct vv_cassandra *store, const struct vv_shard *shard)
{
    int64_t now_us = wall(store) / 1000;
    int64_t least = shard->seal + 1 > now_us ? shard->seal + 1 : now_us;
    int64_t node = (int64_t)store->shared.node;
    return least + ((node - least) % STEP_US + STEP_US) % STEP_US;
}

/* With the numbers of purges unless they are NULL: these stay as they are. */
static struct vvcql_statement *move_statement(const struct vv_cassandra *store, uint8_t number,
                                              int64_t seal, int64_t leased_ns,
                                              const struct vv_buffer *purges)
{
    const struct vv_cassandra_shared *shared = &store->shared;
    const struct vv_shard *shard = &shared->shards[number];
    int64_t lease_ms = (wall(store) + leased_ns) / VV_MILLISECOND;
    struct vvcql_statement *statement =
        vvcql_statement_prepared(shard->exists ? (purges ? shared->move_purge : shared->move_seal)
                                               : (purges ? shared->make_purge : shared->make_seal));
    if (!shard->exists) {
        vv_cassandra_add_str(statement, vv_str_of(shared->region));
        vvcql_add_int(statement, number);
    }
    vvcql_add_int(statement, (int32_t)shared->node);
    vvcql_add_timestamp(statement, lease_ms);
    vvcql_add_bigint(statement, seal);
    if (purges) {
        vvcql_add_bytes(statement, purges->data, purges->size);
    }
    if (shard->exists) {
        vv_cassandra_add_str(statement, vv_str_of(shared->region));
        vvcql_add_int(statement, number);
        vvcql_add_bigint(statement, shard->seal);
    }
    vvcql_set_serial_consistency(statement, VVCQL_LOCAL_SERIAL);
    return statement;
}

/* Another node has it, and lives as far as its lease tells. */
static bool is_leased(struct vv_cassandra *store, struct vv_shard *shard)
{
    bool is = shard->exists && shard->sealer != store->shared.node &&
              shard->lease_ns > wall(store) && shard->lease_ns <= wall(store) + 2 * LEASE_NS_MAX;
    shard->leave_until_ns = is ? shard->lease_ns : 0;
    return is;
}

/* Into which tables a pass writes that begins where purges are so far. */
static uint32_t second_tables(const struct vv_cassandra *store,
                              const struct vv_purge_numbers *purges)
{
    uint32_t classes = 0;
    for (size_t i = 0; i < store->n_classes; i++) {
        int64_t number = vv_purge_number_of(purges, store->classes[i].retention_ns);
        classes |= (uint32_t)(number & 1) << i;
    }
    return classes;
}

/* Moves the stamps of shards whose present ones are known; those that did not come about are
 * unknown afterwards. */
static void move(struct vv_cassandra *store, const uint8_t *shards, size_t n, bool is_taken)
{
    struct vvcql_statement *statements[VV_CASSANDRA_SHARDS] = {NULL};
    struct vvcql_result *results[VV_CASSANDRA_SHARDS];
    enum vv_status statuses[VV_CASSANDRA_SHARDS];
    int64_t wanted[VV_CASSANDRA_SHARDS];
    for (size_t i = 0; i < n; i++) {
        wanted[i] = next_seal(store, &store->shared.shards[shards[i]]);
        statements[i] =
            move_statement(store, shards[i], wanted[i], is_taken ? 0 : lease_ns(store), NULL);
    }
    (void)!vv_cassandra_ask_each(store, VV_DEAD_BY_TRANSACTION, statements, n, results, statuses,
                                 NULL);
    for (size_t i = 0; i < n; i++) {
        struct vv_shard *shard = &store->shared.shards[shards[i]];
        bool applied = false;
        bool told = statuses[i] == VV_OK && results[i] && vvcql_next_row(results[i]) &&
                    vvcql_get_boolean(results[i], 0, &applied);
        vvcql_result_destroy(statuses[i] == VV_OK ? results[i] : NULL);
        shard->is_known = told && applied;
        if (shard->is_known) {
            shard->exists = true;
            shard->sealer = store->shared.node;
            shard->seal = wanted[i];
            shard->pass = wanted[i];
            shard->pass_second = second_tables(store, &shard->purges);
            shard->is_fresh = true;
        }
    }
}

/* One try; those that are done, not for this node, or of a dead set leave the list. A move whose
 * outcome was lost is not looked for: another one, above it, is as good. */
static enum vv_status try_passes(struct vv_cassandra *store, uint8_t *shards, size_t *n,
                                 bool is_taken, struct vv_error *error)
{
    uint8_t unknown[VV_CASSANDRA_SHARDS];
    size_t n_unknown = 0;
    for (size_t i = 0; i < *n; i++) {
        if (!store->shared.shards[shards[i]].is_known) {
            unknown[n_unknown++] = shards[i];
        }
    }
    enum vv_status status =
        n_unknown > 0 ? look_at_each(store, unknown, n_unknown, VVCQL_LOCAL_SERIAL, error) : VV_OK;
    size_t kept = 0;
    for (size_t i = 0; i < *n && status == VV_OK; i++) {
        if (store->shared.shards[shards[i]].is_known &&
            (is_taken || !is_leased(store, &store->shared.shards[shards[i]]))) {
            shards[kept++] = shards[i];
        }
    }
    *n = status == VV_OK ? kept : *n;
    if (status != VV_OK || kept == 0) {
        return status;
    }
    move(store, shards, kept, is_taken);
    size_t left = 0;
    for (size_t i = 0; i < kept; i++) {
        if (!store->shared.shards[shards[i]].is_known) {
            shards[left++] = shards[i];
        }
    }
    *n = left;
    return VV_OK;
}

/* Shards that another node has just moved are left to it, unless they are taken: then it need not
 * wait for a lease to go on with them. */
static enum vv_status begin(struct vv_cassandra *store, const bool shards[VV_CASSANDRA_SHARDS],
                            bool is_taken, struct vv_error *error)
{
    uint8_t list[VV_CASSANDRA_SHARDS];
    size_t n = list_shards(shards, list);
    enum vv_status status = VV_OK;
    for (int i = 0; i < TRIES_MAX && n > 0 && status == VV_OK; i++) {
        status = try_passes(store, list, &n, is_taken, error);
    }
    return status;
}

bool vv_shared_is_span_away(struct vv_cassandra *store, const struct vv_partition *partition)
{
    return vv_dead_any(&store->dead) &&
           (vv_dead_is(&store->dead, vv_cassandra_partition_set(store, partition),
                       VV_DEAD_BY_READ) ||
            vv_dead_is(&store->dead, vv_cassandra_blocks_set(store, partition), VV_DEAD_BY_READ));
}

/* The span itself, runs and blocks, its shard's stamp, and the ledger's part that it stands in. */
bool vv_shared_is_away(struct vv_cassandra *store, const struct vv_mark *mark, uint8_t shard)
{
    if (!vv_dead_any(&store->dead)) {
        return false;
    }
    const struct vv_partition *partition = &mark->key.partition;
    struct vv_mark_out out = {.mark = *mark};
    if (vv_cassandra_source_id(store, partition->tenant, partition->source, out.source, NULL) !=
        VV_OK) {
        return false;
    }
    struct vvcql_statement *seal = look_statement(store, shard, VVCQL_LOCAL_SERIAL);
    struct vvcql_statement *ledger = vv_ledger_mark_statement(store, &out);
    bool is = vv_cassandra_is_away(store, seal, VV_DEAD_BY_READ) ||
              vv_cassandra_is_away(store, ledger, VV_DEAD_BY_READ) ||
              vv_shared_is_span_away(store, partition);
    vvcql_statement_destroy(seal);
    vvcql_statement_destroy(ledger);
    return is;
}

/* Rows have no marks: where there is one, somebody has put runs, though this node may not have
 * learnt yet that the tenant has more than rows. Without them the span would seem empty, and be
 * retired. */
static enum vv_status note_blocks(struct vv_cassandra *store, uint32_t tenant,
                                  struct vv_error *error)
{
    bool found;
    struct vv_tenant_classes classes = vv_cassandra_recorded(store, tenant, &found);
    if (!found || (classes.layouts & VV_LAYOUT_BLOCKS)) {
        return VV_OK;
    }
    classes.layouts |= VV_LAYOUT_BLOCKS;
    return vv_cassandra_keep_classes(store, &classes, error);
}

static enum vv_status begin_marks(struct vv_store *base, const struct vv_mark *marks, size_t n,
                                  bool is_taken, bool *mine_out, struct vv_error *error)
{
    struct vv_cassandra *store = vv_cassandra_of(base);
    bool shards[VV_CASSANDRA_SHARDS] = {false};
    enum vv_status status = vv_cassandra_check(store, error);
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        uint8_t shard;
        status = vv_cassandra_shard(store, &marks[i].key.partition, &shard, error);
        mine_out[i] = status == VV_OK && !vv_shared_is_away(store, &marks[i], shard);
        if (status == VV_OK) {
            status = note_blocks(store, marks[i].key.partition.tenant, error);
        }
        if (status == VV_OK) {
            shards[shard] = shards[shard] || mine_out[i];
            store->shared.shards[shard].is_fresh = false;
        }
    }
    if (status == VV_OK) {
        status = begin(store, shards, is_taken, error);
    }
    /* Where others put blocks before this pass, this node must know; what they put afterwards has a
     * higher stamp. */
    bool is_current = vv_cassandra_is_current(store);
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        uint8_t shard;
        status = vv_cassandra_shard(store, &marks[i].key.partition, &shard, error);
        mine_out[i] =
            mine_out[i] && status == VV_OK && is_current && store->shared.shards[shard].is_fresh;
    }
    return vv_cassandra_put_off(status);
}

enum vv_status vv_shared_begin_seal(struct vv_store *base, const struct vv_mark *marks, size_t n,
                                    bool *mine_out, struct vv_error *error)
{
    return begin_marks(base, marks, n, false, mine_out, error);
}

enum vv_status vv_shared_take_seal(struct vv_store *base, const struct vv_mark *mark,
                                   bool *mine_out, struct vv_error *error)
{
    return begin_marks(base, mark, 1, true, mine_out, error);
}

/* ---- writing, and afterwards ---- */

enum vv_status vv_shared_take_passes(struct vv_cassandra *store,
                                     const bool shards[VV_CASSANDRA_SHARDS], struct vv_error *error)
{
    bool missing[VV_CASSANDRA_SHARDS] = {false};
    for (size_t i = 0; i < VV_CASSANDRA_SHARDS; i++) {
        missing[i] = shards[i] && !store->shared.shards[i].is_fresh;
    }
    enum vv_status status = begin(store, missing, false, error);
    for (size_t i = 0; i < VV_CASSANDRA_SHARDS && status == VV_OK; i++) {
        if (shards[i] && !store->shared.shards[i].is_fresh) {
            status = vv_error_set(error, VV_OVERLOAD,
                                  "another node seals this shard of the sources: try again later");
        }
    }
    for (size_t i = 0; i < VV_CASSANDRA_SHARDS && status == VV_OK; i++) {
        store->shared.shards[i].is_fresh &= !shards[i];
    }
    return status;
}

/* Not at LOCAL_SERIAL, which costs as much as a pass: a pass is committed at a quorum before its
 * node reads the first span, so one that is not seen here reads all that was written before. */
enum vv_status vv_shared_check_passes(struct vv_cassandra *store,
                                      const bool shards[VV_CASSANDRA_SHARDS],
                                      bool current_out[VV_CASSANDRA_SHARDS], struct vv_error *error)
{
    uint8_t list[VV_CASSANDRA_SHARDS];
    size_t n = list_shards(shards, list);
    enum vv_status status = n > 0 ? look(store, list, n, VVCQL_LOCAL_QUORUM, error) : VV_OK;
    for (size_t i = 0; i < VV_CASSANDRA_SHARDS && status == VV_OK; i++) {
        const struct vv_shard *shard = &store->shared.shards[i];
        current_out[i] = shards[i] && (shard->pass == 0 || shard->seal == shard->pass);
    }
    return status;
}

/* ---- purges ---- */

enum vv_status vv_shared_read_purges(struct vv_cassandra *store, int64_t retention_ns,
                                     int64_t numbers_out[VV_CASSANDRA_SHARDS],
                                     struct vv_error *error)
{
    uint8_t list[VV_CASSANDRA_SHARDS];
    for (size_t i = 0; i < VV_CASSANDRA_SHARDS; i++) {
        list[i] = (uint8_t)i;
    }
    enum vv_status status = look(store, list, VV_CASSANDRA_SHARDS, VVCQL_LOCAL_SERIAL, error);
    for (size_t i = 0; i < VV_CASSANDRA_SHARDS && status == VV_OK; i++) {
        numbers_out[i] = vv_purge_number_of(&store->shared.shards[i].purges, retention_ns);
    }
    return status;
}

/* The stamp goes up, too: passes that have begun are none any more, and who moves the shard for an
 * older purge, and was held up, comes too late. */
enum vv_status vv_shared_move_purge(struct vv_cassandra *store,
                                    const bool shards[VV_CASSANDRA_SHARDS], int64_t retention_ns,
                                    int64_t number, struct vv_error *error)
{
    uint8_t list[VV_CASSANDRA_SHARDS];
    size_t n = list_shards(shards, list);
    struct vvcql_statement *statements[VV_CASSANDRA_SHARDS] = {NULL};
    struct vvcql_result *results[VV_CASSANDRA_SHARDS];
    enum vv_status statuses[VV_CASSANDRA_SHARDS];
    enum vv_status status = VV_OK;
    size_t made = 0;
    for (; made < n && status == VV_OK; made++) {
        struct vv_shard *shard = &store->shared.shards[list[made]];
        struct vv_buffer bytes = {0};
        struct vv_purge_numbers purges = shard->purges;
        bool fits = vv_purge_number_set(&purges, retention_ns, number);
        vv_purge_numbers_encode(&purges, &bytes);
        statements[made] = move_statement(store, list[made], next_seal(store, shard), 0, &bytes);
        status = fits ? vv_buffer_status(&bytes) : VV_TOO_LARGE;
        vv_buffer_deinit(&bytes);
        shard->is_known = false;
        shard->is_fresh = false;
    }
    if (status != VV_OK) {
        for (size_t i = 0; i < made; i++) {
            vvcql_statement_destroy(statements[i]);
        }
        return vv_error_set(error, status, "the shards of a purge can't be moved");
    }
    status = vv_cassandra_ask_each(store, VV_DEAD_BY_TRANSACTION, statements, n, results, statuses,
                                   error);
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        vvcql_result_destroy(statuses[i] == VV_OK ? results[i] : NULL);
    }
    return status;
}
